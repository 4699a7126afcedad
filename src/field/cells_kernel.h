/* The loops over lists of features, for any number of lanes; see cells.h. Included once by each
 * file that has a kernel, after it has set LANES to 4, 8 or 16. */
#include "base/simd_laned.h"
#include "field/cells.h"

/* ---- gather ---- */

static void gather(const cells_row *rows, const uint32_t *names, uint32_t count, cells_list *list) {
    uint32_t room = cells_group_count(count) * CELLS_GROUP;
    for (uint32_t i = 0; i < room; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = rows[names[i + k < count ? i + k : count - 1]].column;
        float *to = &list->groups[i / CELLS_GROUP].column[0][i % CELLS_GROUP];
        for (uint32_t c = 0; c < CELLS_COLUMNS; c += 4) {
            wide column[4];
            LANED(columns)(row, c, column);
            for (uint32_t k = 0; k < 4; k++)
                store(to + (size_t)(c + k) * CELLS_GROUP, column[k]);
        }
    }
    list->count = count;
}

/* ---- filter ---- */

static inline wide dot(const wide a[3], const wide b[3]) {
    return fused(a[0], b[0], fused(a[1], b[1], mul(a[2], b[2])));
}

/* How far a box reaches along a unit vector. */
static inline wide extent(const wide half[3], const wide v[3]) {
    const wide size[3] = {magnitude(v[0]), magnitude(v[1]), magnitude(v[2])};
    return dot(half, size);
}

/* For each feature: the square of its distance from the centre of the box, infinite where the box
 * is outside its region, and by how much a point of the box may be nearer. Gives the square of the
 * distance of the centre from the mesh, or more. */
static float look_from_centre(const cells_list *list, const cells_box *box, float radius,
                              float *scratch) {
    const wide zero = all(0), endless = all(INFINITY), margin = all(box->margin);
    const wide inside = all(-box->margin), rho = all(radius);
    wide centre[3], half[3], best = endless;
    for (int k = 0; k < 3; k++) {
        centre[k] = all(box->centre[k]);
        half[k] = all(box->half[k]);
    }
    for (uint32_t i = 0; i < list->count; i += LANES) {
        const float *from = &list->groups[i / CELLS_GROUP].column[0][i % CELLS_GROUP];
#define COLUMN(c) load(from + (size_t)(c)*CELLS_GROUP)
        const wide first[3] = {COLUMN(CELLS_FIRST), COLUMN(CELLS_FIRST + 1),
                               COLUMN(CELLS_FIRST + 2)};
        const wide second[3] = {COLUMN(CELLS_SECOND), COLUMN(CELLS_SECOND + 1),
                                COLUMN(CELLS_SECOND + 2)};
        const wide third[3] = {COLUMN(CELLS_THIRD_X), COLUMN(CELLS_THIRD_Y), COLUMN(CELLS_THIRD_Z)};
        const wide fourth[3] = {COLUMN(CELLS_FOURTH), COLUMN(CELLS_FOURTH + 1),
                                COLUMN(CELLS_FOURTH + 2)};
        const wide r[3] = {sub(centre[0], COLUMN(CELLS_PLACE)),
                           sub(centre[1], COLUMN(CELLS_PLACE + 1)),
                           sub(centre[2], COLUMN(CELLS_PLACE + 2))};
        const wide offset = COLUMN(CELLS_OFFSET), length = magnitude(offset);
#undef COLUMN
        const mask face = is_less(offset, zero);
        wide t0 = dot(first, r), t1 = dot(second, r), t2 = dot(third, r), along = dot(fourth, r);
        wide t3 = sub(along, length), s = least(most(along, zero), length);
        wide q[3] = {fused_less(s, fourth[0], r[0]), fused_less(s, fourth[1], r[1]),
                     fused_less(s, fourth[2], r[2])};
        wide sq = choose(face, mul(t2, t2), dot(q, q));
        wide beside = choose(face, most(most(t0, t1), t3), sub(zero, endless));
        best = least(best, choose(is_less(inside, beside), endless, sq));
        wide deep = extent(half, third);
        wide out = most(most(sub(t0, extent(half, first)), sub(t1, extent(half, second))),
                        sub(t3, extent(half, fourth)));
        out = most(out, choose(face, sub(zero, endless), sub(t2, deep)));
        store(scratch + 2 * (size_t)i, choose(is_less_equal(out, margin), sq, endless));
        store(scratch + 2 * (size_t)i + LANES, choose(face, deep, rho));
    }
    return LANED(least)(best);
}

static uint32_t filter(const cells_list *list, const cells_box *box, float *scratch,
                       uint32_t *kept) {
    float radius = sqrtf(box->half[0] * box->half[0] + box->half[1] * box->half[1] +
                         box->half[2] * box->half[2]) *
                   LISTS_SLACK;
    float upper = sqrtf(look_from_centre(list, box, radius, scratch)) * LISTS_SLACK + radius;
    upper = (upper < box->reach ? upper : box->reach) + 4 * box->margin;
    const wide limit = all(upper * LISTS_SLACK);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide sq = load(scratch + 2 * (size_t)i),
             reach = add(limit, load(scratch + 2 * (size_t)i + LANES));
        count += LANED(number)(kept + count, i, mask_bits(is_less(sq, mul(reach, reach))));
    }
    while (count && kept[count - 1] >= list->count) /* what the last group is filled up with */
        count--;
    return count;
}

/* ---- measure ---- */

enum { LIST_KEPT = 256 };

/* The nearest feature of each cell by its place in the list, and the squares of its distance and of
 * the next; of all features where there are not too many. */
typedef struct winners {
    float best[CELLS_COUNT], next[CELLS_COUNT], place[CELLS_COUNT];
    float square[LIST_KEPT][CELLS_COUNT];
} winners;

static inline wide dot_row(const float *row, const wide r[3]) {
    return fused(all(row[0]), r[0], fused(all(row[1]), r[1], mul(all(row[2]), r[2])));
}

/* A coordinate of each cell. */
typedef struct cell_lanes {
    double x[CELLS_COUNT], y[CELLS_COUNT], z[CELLS_COUNT];
} cell_lanes;

static inline cell_lanes spread(const cells_points *points) {
    cell_lanes l;
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        l.x[i] = points->x[i % CELLS_X];
        l.y[i] = points->y[i / CELLS_X % CELLS_Y];
        l.z[i] = points->z[i / (CELLS_X * CELLS_Y)];
    }
    return l;
}

static inline wide load_rounded(const double *from) {
    float to[LANES];
    for (uint32_t i = 0; i < LANES; i++)
        to[i] = (float)from[i];
    return load(to);
}

static void find_winners(const cells_row *rows, const uint32_t *names, uint32_t count,
                         const cell_lanes *points, float m, winners *w) {
    const wide zero = all(0), endless = all(INFINITY), margin = all(m);
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        const wide p[3] = {load_rounded(points->x + i), load_rounded(points->y + i),
                           load_rounded(points->z + i)};
        wide best = endless, next = endless, place = zero;
        for (uint32_t k = 0; k < count; k++) {
            const float *row = rows[names[k]].column;
            const wide r[3] = {sub(p[0], all(row[CELLS_PLACE])),
                               sub(p[1], all(row[CELLS_PLACE + 1])),
                               sub(p[2], all(row[CELLS_PLACE + 2]))};
            wide t2 =
                fused(all(row[CELLS_THIRD_X]), r[0],
                      fused(all(row[CELLS_THIRD_Y]), r[1], mul(all(row[CELLS_THIRD_Z]), r[2])));
            wide along = dot_row(row + CELLS_FOURTH, r);
            wide out = most(dot_row(row + CELLS_FIRST, r), dot_row(row + CELLS_SECOND, r)), sq;
            if (row[CELLS_OFFSET] < 0) {
                out = most(out, add(along, all(row[CELLS_OFFSET])));
                sq = mul(t2, t2);
            } else {
                wide length = all(row[CELLS_OFFSET]), s = least(most(along, zero), length);
                out = most(most(out, t2), sub(along, length));
                wide q[3] = {fused_less(s, all(row[CELLS_FOURTH]), r[0]),
                             fused_less(s, all(row[CELLS_FOURTH + 1]), r[1]),
                             fused_less(s, all(row[CELLS_FOURTH + 2]), r[2])};
                sq = dot(q, q);
            }
            sq = choose(is_less_equal(out, margin), sq, endless);
            store(w->square[k % LIST_KEPT] + i, sq);
            next = least(next, most(best, sq));
            place = choose(is_less(sq, best), all((float)k), place);
            best = least(sq, best);
        }
        store(w->best + i, best);
        store(w->next + i, next);
        store(w->place + i, place);
    }
}

/* The distance of a cell from a plane, a line or a point. */
static inline double distance_from(const cells_exact *f, const cell_lanes *at, uint32_t i) {
    double x = at->x[i] - f->place[0], y = at->y[i] - f->place[1], z = at->z[i] - f->place[2];
    double along = x * f->vector[0] + y * f->vector[1] + z * f->vector[2];
    double qx = x - along * f->vector[0], qy = y - along * f->vector[1],
           qz = z - along * f->vector[2];
    return sqrt(f->is_face > 0 ? along * along : qx * qx + qy * qy + qz * qz);
}

/* Finds the value of a cell that several features may be nearest to; see cells.h. */
static bool settle(const cells_table *table, const uint32_t *names, uint32_t count,
                   const cell_lanes *at, const winners *w, const cells_rule *rule, uint32_t i,
                   float reach_sq, float *value) {
    double lowest = INFINITY, highest = 0, m = rule->margin;
    for (uint32_t k = 0; k < count; k++) {
        if (!(w->square[k][i] <= reach_sq))
            continue;
        const cells_exact *f = &table->exact[names[k]];
        double d = distance_from(f, at, i);
        lowest = d < lowest ? d : lowest;
        highest = d > highest ? d : highest;
        if (f->is_marked > 0)
            return false;
    }
    double most_of_it = sqrt(lowest * lowest + 4 * m * m);
    float other;
    highest = highest < most_of_it ? highest : most_of_it;
    return cells_value(rule, lowest, value) && cells_value(rule, highest, &other) &&
           *value == other;
}

static unsigned measure(const cells_table *table, const uint32_t *names, uint32_t count,
                        const cells_points *points, const cells_rule *rule,
                        float values[CELLS_COUNT]) {
    const cell_lanes at = spread(points);
    winners w;
    unsigned doubtful = 0;
    find_winners(table->rows, names, count, &at, rule->margin, &w);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        const cells_exact *f = &table->exact[names[(uint32_t)w.place[i]]];
        float reach = sqrtf(w.best[i]) + 2 * rule->margin, reach_sq = reach * reach * LISTS_SLACK;
        bool sure = cells_value(rule, distance_from(f, &at, i), &values[i]) & (f->is_marked < 1);
        if (w.best[i] == INFINITY) { /* nothing in the list: it is beyond the band */
            values[i] = (float)rule->band;
            sure = rule->band < INFINITY;
        } else if (w.next[i] <= reach_sq) {
            sure = count <= LIST_KEPT &&
                   settle(table, names, count, &at, &w, rule, i, reach_sq, &values[i]);
        }
        doubtful |= (unsigned)!sure << i;
    }
    return doubtful;
}
