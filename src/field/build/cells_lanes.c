/* The loops over lists of features, compiled for 4, 8 and 16 lanes; see cells.h. */
#include "field/build/cells.h"

#include "base/simd_lanes.h"
#include "nearest/feature_lanes_shared.h"

#include <math.h>

/* ---- gather ---- */

static void gather(const cells_row *rows, cells_list *list) {
    const uint32_t count = list->count, *names = list->names;
    for (uint32_t i = 0; i < count; i += LANES) {
        const float *row[LANES];
        for (uint32_t k = 0; k < LANES; k++)
            row[k] = rows[names[i + k < count ? i + k : count - 1]].column;
        for (uint32_t c = 0; c < CELLS_COLUMNS; c += 4) {
            wide column[4];
            fw_columns(row, c, column);
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
            fw_pack(to + (size_t)c * list->stride + begin, bits,
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

/* Features of a list from the i-th on, and where a point is from each. */
static inline feature_lanes load_features(const cells_list *list, uint32_t i, const wide p[3],
                                          wide r[3]) {
    const float *from = list->columns + i;
#define COLUMN(c) load(from + (size_t)(c)*list->stride)
    const wide offset = COLUMN(CELLS_OFFSET);
    const feature_lanes f = {
        .first = {COLUMN(CELLS_FIRST), COLUMN(CELLS_FIRST + 1), COLUMN(CELLS_FIRST + 2)},
        .second = {COLUMN(CELLS_SECOND), COLUMN(CELLS_SECOND + 1), COLUMN(CELLS_SECOND + 2)},
        .third = {COLUMN(CELLS_THIRD_X), COLUMN(CELLS_THIRD_Y), COLUMN(CELLS_THIRD_Z)},
        .fourth = {COLUMN(CELLS_FOURTH), COLUMN(CELLS_FOURTH + 1), COLUMN(CELLS_FOURTH + 2)},
        .length = magnitude(offset),
        .face = is_less(offset, all(0))};
    for (uint32_t k = 0; k < 3; k++)
        r[k] = sub(p[k], COLUMN(CELLS_PLACE + k));
#undef COLUMN
    return f;
}

/* For each feature: the square of its distance from the centre of the box, infinite where the box
 * is outside its region, and by how much a point of the box may be nearer. Gives the square of the
 * distance of the centre from the mesh, or more. */
static float look_from_centre(const cells_list *list, const cells_box *box, float radius,
                              float *scratch) {
    const wide endless = all(INFINITY), margin = all(box->margin), rho = all(radius);
    wide centre[3], half[3], r[3], best = endless;
    for (int k = 0; k < 3; k++) {
        centre[k] = all(box->centre[k]);
        half[k] = all(box->half[k]);
    }
    for (uint32_t i = 0; i < list->count; i += LANES) {
        const feature_lanes f = load_features(list, i, centre, r);
        const feature_look l = feature_look_at(&f, r);
        const wide deep = feature_extent(half, f.third);
        const wide out = feature_outside_box(&f, &l, half, deep);
        best = least(best, feature_bound_sq(&l, margin));
        store(scratch + 2 * (size_t)i, choose(is_less_equal(out, margin), l.distance_sq, endless));
        store(scratch + 2 * (size_t)i + LANES, choose(f.face, deep, rho));
    }
    return fw_least(best);
}

static uint32_t filter(const cells_list *list, const cells_box *box, float *scratch, uint32_t *kept,
                       float *nearest) {
    float radius = sqrtf(box->half[0] * box->half[0] + box->half[1] * box->half[1] +
                         box->half[2] * box->half[2]) *
                   NEAREST_SLACK;
    *nearest = sqrtf(look_from_centre(list, box, radius, scratch));
    float upper = *nearest * NEAREST_SLACK + radius;
    upper = (upper < box->reach ? upper : box->reach) + 4 * box->margin;
    const wide limit = all(upper * NEAREST_SLACK);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i += LANES) {
        wide sq = load(scratch + 2 * (size_t)i),
             reach = add(limit, load(scratch + 2 * (size_t)i + LANES));
        count += fw_number(kept + count, i, mask_bits(is_less(sq, mul(reach, reach))));
    }
    while (count && kept[count - 1] >= list->count) /* what the last group is filled up with */
        count--;
    return count;
}

/* ---- measure ---- */

static inline wide dot_row(const float *row, const wide r[3]) {
    return fused(all(row[0]), r[0], fused(all(row[1]), r[1], mul(all(row[2]), r[2])));
}

static void find_winners(const cells_row *rows, const uint32_t *names, uint32_t count,
                         const cells_lanes *const at[3], float m, cells_winners *w) {
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
                sq = feature_dot(q, q);
            } else {
                out = most(most(out, t2), most(dot_row(row + CELLS_FIRST, r), along));
                sq = feature_dot(r, r);
            }
            sq = choose(is_less_equal(out, margin), sq, endless);
            store(w->square[k % CELLS_KEPT] + i, sq);
            next = least(next, most(best, sq));
            place = choose(is_less(sq, best), all((float)k), place);
            best = least(sq, best);
        }
        store(w->best + i, best);
        store(w->next + i, next);
        store(w->place + i, place);
    }
}

/* The only feature of a list that has the nearest of every cell. */
static void set_winner(cells_winners *w) {
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        store(w->best + i, all(0));
        store(w->next + i, all(INFINITY));
        store(w->place + i, all(0));
        store(w->square[0] + i, all(0));
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
                   const cells_lanes *const at[3], const cells_winners *w, const cells_rule *rule,
                   uint32_t i, float *value) {
    const double p[3] = {at[0]->exact[i], at[1]->exact[i], at[2]->exact[i]};
    const float reach_sq = cells_reach_sq(w, rule, i);
    if (count > CELLS_KEPT || w->best[i] == INFINITY)
        return false;
    double lowest = INFINITY, highest = 0, m = rule->margin;
    for (uint32_t k = 0; k < count; k++) {
        if (!(w->square[k][i] <= reach_sq))
            continue;
        const feature_support *f = &table->exact[names[k]];
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

#if LANES == 16

/* What wins each cell, a number of all cells side by side. */
static inline void put_columns(const cells_table *table, const uint32_t *names, const float *place,
                               double column[8][CELLS_COUNT]) {
    _Static_assert(sizeof(feature_support) == 8 * sizeof(double), "eight numbers and no more");
    for (uint32_t i = 0; i < CELLS_COUNT; i += 8) {
        const double *row[8];
        d8 turned[8];
        for (uint32_t k = 0; k < 8; k++)
            row[k] = (const double *)(const void *)&table->exact[names[(int32_t)place[i + k]]];
        d8_columns(row, turned);
        for (uint32_t k = 0; k < 8; k++)
            d8_store(column[k] + i, turned[k]);
    }
}

#else

static inline void put_columns(const cells_table *table, const uint32_t *names, const float *place,
                               double column[8][CELLS_COUNT]) {
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        const feature_support *f = &table->exact[names[(int32_t)place[i]]];
        for (int k = 0; k < 3; k++) {
            column[k][i] = f->place[k];
            column[3 + k][i] = f->vector[k];
        }
        column[6][i] = f->is_face;
        column[7][i] = f->is_marked;
    }
}

#endif

/* Distances of all cells from what wins each; gives which of them are marked. Loops are plain
 * enough for compilers to make vectors of. */
static unsigned distances_of_each(const cells_table *table, const uint32_t *names,
                                  const cells_lanes *const at[3], const float *place,
                                  double d[CELLS_COUNT]) {
    double column[8][CELLS_COUNT];
    unsigned marked = 0;
    put_columns(table, names, place, column);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        const double p[3] = {at[0]->exact[i], at[1]->exact[i], at[2]->exact[i]};
        const double from[3] = {column[0][i], column[1][i], column[2][i]};
        const double vector[3] = {column[3][i], column[4][i], column[5][i]};
        d[i] = distance_from(from, vector, column[6][i], p);
    }
    for (uint32_t i = 0; i < CELLS_COUNT; i++)
        marked |= (unsigned)(column[7][i] > 0) << i;
    return marked;
}

/* The same where one feature wins all, as it often does. */
static unsigned distances_of_one(const feature_support *f, const cells_lanes *const at[3],
                                 double d[CELLS_COUNT]) {
    const double *px = at[0]->exact, *py = at[1]->exact, *pz = at[2]->exact;
    const double a = f->place[0], b = f->place[1], c = f->place[2];
    const double u = f->vector[0], v = f->vector[1], w = f->vector[2];
    if (f->is_face > 0) /* needs no root */
        for (uint32_t i = 0; i < CELLS_COUNT; i++)
            d[i] = fabs((px[i] - a) * u + (py[i] - b) * v + (pz[i] - c) * w);
    else
        for (uint32_t i = 0; i < CELLS_COUNT; i++) {
            double x = px[i] - a, y = py[i] - b, z = pz[i] - c, along = x * u + y * v + z * w;
            double qx = x - along * u, qy = y - along * v, qz = z - along * w;
            d[i] = sqrt(qx * qx + qy * qy + qz * qz);
        }
    return f->is_marked > 0 ? (1u << CELLS_COUNT) - 1 : 0;
}

/* Values of all cells by the feature that wins each. Gives those that are not certain. */
static unsigned measure_winners(const cells_table *table, const uint32_t *names,
                                const cells_lanes *const at[3], const cells_winners *w,
                                const cells_rule *rule, float values[CELLS_COUNT]) {
    double d[CELLS_COUNT], lower[CELLS_COUNT], higher[CELLS_COUNT];
    float upper[CELLS_COUNT];
    const double error = rule->error, to_world = rule->to_world, band = rule->band;
    unsigned others = 0, bits;
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES)
        others |= mask_bits(is_less(load(w->place + i), all(w->place[0]))) |
                  mask_bits(is_less(all(w->place[0]), load(w->place + i)));
    if (others)
        bits = distances_of_each(table, names, at, w->place, d);
    else
        bits = distances_of_one(&table->exact[names[(int32_t)w->place[0]]], at, d);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        double lo = (d[i] - error) * to_world, hi = (d[i] + error) * to_world;
        lower[i] = lo < band ? lo : band;
        higher[i] = hi < band ? hi : band;
    }
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        values[i] = (float)lower[i];
        upper[i] = (float)higher[i];
    }
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        wide best = load(w->best + i), reach = add(fw_sqrt(best), all(2 * rule->margin));
        wide reach_sq = mul(mul(reach, reach), all(NEAREST_SLACK)), value = load(values + i);
        unsigned here = mask_bits(is_less_equal(load(w->next + i), reach_sq)) |
                        mask_bits(is_less(value, load(upper + i))) |
                        mask_bits(is_less_equal(value, all(0)));
        bits |= here << i;
        if (band < INFINITY) { /* where nothing is in reach, that is the value */
            mask listed = is_less(best, all(INFINITY));
            store(values + i, choose(listed, value, all((float)band)));
            bits &= mask_bits(listed) << i | ~(((1u << LANES) - 1) << i);
        }
    }
    return bits;
}

static unsigned measure(const cells_table *table, const uint32_t *names, uint32_t count,
                        const cells_lanes *const at[3], const cells_rule *rule, cells_winners *w,
                        float values[CELLS_COUNT]) {
    if (count == 1 && rule->band == INFINITY)
        set_winner(w);
    else
        find_winners(table->rows, names, count, at, rule->margin, w);
    unsigned doubtful = measure_winners(table, names, at, w, rule, values), left = 0;
    for (uint32_t i = 0; doubtful >> i; i++)
        if (doubtful >> i & 1 && !settle(table, names, count, at, w, rule, i, &values[i]))
            left |= 1u << i;
    return left;
}

const cells_kernel BY_LANES(abuti_cells) = {gather, take, filter, measure};
