/* The loops over lists of features, for any number of lanes; see cells.h. Included once by each
 * file that has a kernel, after it has set LANES to 4, 8 or 16. */
#include "base/simd_laned.h"
#include "field/cells.h"

/* ---- gather ---- */

static void gather(const cells_row *rows, cells_list *list) {
    const uint32_t count = list->count, *names = list->names;
    for (uint32_t i = 0; i < count; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = rows[names[i + k < count ? i + k : count - 1]].column;
        for (uint32_t c = 0; c < CELLS_COLUMNS; c += 4) {
            wide column[4];
            LANED(columns)(row, c, column);
            for (uint32_t k = 0; k < 4; k++)
                store(list->columns + (size_t)(c + k) * list->stride + i, column[k]);
        }
    }
}

#if LANES == 16

/* Columns are near by, rows may be anywhere. */
static void take(const cells_row *rows, const cells_list *from, const uint32_t *places,
                 cells_list *list) {
    (void)rows;
    float *to = list->columns;
    for (uint32_t i = 0; i < list->count;) {
        uint32_t group = places[i] / LANES * LANES, begin = i;
        unsigned bits = 0;
        for (; i < list->count && places[i] < group + LANES; i++)
            bits |= 1u << (places[i] - group);
        for (uint32_t c = 0; c < CELLS_COLUMNS; c++)
            f16_pack(to + (size_t)c * list->stride + begin, bits,
                     load(from->columns + (size_t)c * from->stride + group));
    }
    for (uint32_t c = 0; c < CELLS_COLUMNS; c++, to += list->stride)
        store(to + list->count, all(to[list->count - 1]));
}

#else

static void take(const cells_row *rows, const cells_list *from, const uint32_t *places,
                 cells_list *list) {
    (void)from;
    (void)places;
    gather(rows, list);
}

#endif

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
        const float *from = list->columns + i;
#define COLUMN(c) load(from + (size_t)(c)*list->stride)
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

static uint32_t filter(const cells_list *list, const cells_box *box, float *scratch, uint32_t *kept,
                       float *nearest) {
    float radius = sqrtf(box->half[0] * box->half[0] + box->half[1] * box->half[1] +
                         box->half[2] * box->half[2]) *
                   LISTS_SLACK;
    *nearest = sqrtf(look_from_centre(list, box, radius, scratch));
    float upper = *nearest * LISTS_SLACK + radius;
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

enum { LIST_KEPT = 1024 };

/* The nearest feature of each cell by its place in the list, and the squares of its distance and of
 * the next; of all features where there are not too many. */
typedef struct winners {
    float best[CELLS_COUNT], next[CELLS_COUNT], place[CELLS_COUNT];
    float square[LIST_KEPT][CELLS_COUNT];
} winners;

static inline wide dot_row(const float *row, const wide r[3]) {
    return fused(all(row[0]), r[0], fused(all(row[1]), r[1], mul(all(row[2]), r[2])));
}

static void find_winners(const cells_row *rows, const uint32_t *names, uint32_t count,
                         const cells_lanes *const at[3], float m, winners *w) {
    const wide zero = all(0), endless = all(INFINITY), margin = all(m);
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        const wide p[3] = {load(at[0]->rounded + i), load(at[1]->rounded + i),
                           load(at[2]->rounded + i)};
        wide best = endless, next = endless, place = zero;
        for (uint32_t k = 0; k < count; k++) {
            const float *row = rows[names[k]].column;
            const wide r[3] = {sub(p[0], all(row[CELLS_PLACE])),
                               sub(p[1], all(row[CELLS_PLACE + 1])),
                               sub(p[2], all(row[CELLS_PLACE + 2]))};
            const float offset = row[CELLS_OFFSET];
            wide t2 =
                fused(all(row[CELLS_THIRD_X]), r[0],
                      fused(all(row[CELLS_THIRD_Y]), r[1], mul(all(row[CELLS_THIRD_Z]), r[2])));
            wide along = dot_row(row + CELLS_FOURTH, r), out = dot_row(row + CELLS_SECOND, r), sq;
            if (offset < 0) { /* a face */
                out = most(out, most(dot_row(row + CELLS_FIRST, r), add(along, all(offset))));
                sq = mul(t2, t2);
            } else if (offset > 0) { /* an edge, of which the first is the fourth backwards */
                wide s = least(most(along, zero), all(offset));
                out = most(most(out, t2), most(sub(along, all(offset)), sub(zero, along)));
                wide q[3] = {fused_less(s, all(row[CELLS_FOURTH]), r[0]),
                             fused_less(s, all(row[CELLS_FOURTH + 1]), r[1]),
                             fused_less(s, all(row[CELLS_FOURTH + 2]), r[2])};
                sq = dot(q, q);
            } else {
                out = most(most(out, t2), most(dot_row(row + CELLS_FIRST, r), along));
                sq = dot(r, r);
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
static inline double distance_from(const double place[3], const double vector[3], double is_face,
                                   const double p[3]) {
    double x = p[0] - place[0], y = p[1] - place[1], z = p[2] - place[2];
    double along = x * vector[0] + y * vector[1] + z * vector[2];
    double qx = x - along * vector[0], qy = y - along * vector[1], qz = z - along * vector[2];
    double line = qx * qx + qy * qy + qz * qz, plane = along * along;
    return sqrt(is_face > 0 ? plane : line);
}

/* Finds the value of a cell that several features may be nearest to; see cells.h. */
static bool settle(const cells_table *table, const uint32_t *names, uint32_t count,
                   const cells_lanes *const at[3], const winners *w, const cells_rule *rule,
                   uint32_t i, float *value) {
    const double p[3] = {at[0]->exact[i], at[1]->exact[i], at[2]->exact[i]};
    float reach = sqrtf(w->best[i]) + 2 * rule->margin, reach_sq = reach * reach * LISTS_SLACK;
    if (w->best[i] == INFINITY) { /* nothing in the list: it is beyond the band */
        *value = (float)rule->band;
        return rule->band < INFINITY;
    }
    if (count > LIST_KEPT)
        return false;
    double lowest = INFINITY, highest = 0, m = rule->margin;
    for (uint32_t k = 0; k < count; k++) {
        if (!(w->square[k][i] <= reach_sq))
            continue;
        const cells_exact *f = &table->exact[names[k]];
        double d = distance_from(f->place, f->vector, f->is_face, p);
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

static inline void put_column(const cells_exact *f, double column[8][CELLS_COUNT], uint32_t i) {
    for (int k = 0; k < 3; k++) {
        column[k][i] = f->place[k];
        column[3 + k][i] = f->vector[k];
    }
    column[6][i] = f->is_face;
    column[7][i] = f->is_marked;
}

/* Values of all cells by the feature that wins each. Gives those that are not certain. */
static unsigned measure_winners(const cells_table *table, const uint32_t *names,
                                const cells_lanes *const at[3], const winners *w,
                                const cells_rule *rule, float values[CELLS_COUNT]) {
    double column[8][CELLS_COUNT], lower[CELLS_COUNT], higher[CELLS_COUNT];
    float upper[CELLS_COUNT], marked[CELLS_COUNT];
    const double error = rule->error, to_world = rule->to_world, band = rule->band;
    const double *px = at[0]->exact, *py = at[1]->exact, *pz = at[2]->exact;
    const cells_exact *first = &table->exact[names[(int32_t)w->place[0]]];
    unsigned others = 0; /* often one feature wins all */
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES)
        others |= mask_bits(is_less(load(w->place + i), all(w->place[0]))) |
                  mask_bits(is_less(all(w->place[0]), load(w->place + i)));
    const bool same = others == 0;
    for (uint32_t i = 0; same && i < CELLS_COUNT; i++)
        put_column(first, column, i);
    for (uint32_t i = 0; !same && i < CELLS_COUNT; i++)
        put_column(&table->exact[names[(int32_t)w->place[i]]], column, i);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) { /* plain enough for compilers to make vectors of */
        const double p[3] = {px[i], py[i], pz[i]};
        const double place[3] = {column[0][i], column[1][i], column[2][i]};
        const double vector[3] = {column[3][i], column[4][i], column[5][i]};
        double d = distance_from(place, vector, column[6][i], p);
        double lo = (d - error) * to_world, hi = (d + error) * to_world;
        lower[i] = lo < band ? lo : band;
        higher[i] = hi < band ? hi : band;
    }
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        values[i] = (float)lower[i];
        upper[i] = (float)higher[i];
        marked[i] = (float)column[7][i];
    }
    unsigned bits = 0;
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        wide reach = add(LANED(sqrt)(load(w->best + i)), all(2 * rule->margin));
        wide reach_sq = mul(mul(reach, reach), all(LISTS_SLACK)), value = load(values + i);
        unsigned here = mask_bits(is_less_equal(load(w->next + i), reach_sq)) |
                        mask_bits(is_less(value, load(upper + i))) |
                        mask_bits(is_less_equal(value, all(0))) |
                        mask_bits(is_less(all(0), load(marked + i)));
        bits |= here << i;
    }
    return bits;
}

static unsigned measure(const cells_table *table, const uint32_t *names, uint32_t count,
                        const cells_lanes *const at[3], const cells_rule *rule,
                        float values[CELLS_COUNT]) {
    winners w;
    find_winners(table->rows, names, count, at, rule->margin, &w);
    unsigned doubtful = measure_winners(table, names, at, &w, rule, values), left = 0;
    for (uint32_t i = 0; doubtful >> i; i++)
        if (doubtful >> i & 1 && !settle(table, names, count, at, &w, rule, i, &values[i]))
            left |= 1u << i;
    return left;
}
