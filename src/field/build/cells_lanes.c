/* The last step of a field, compiled for 4, 8 and 16 lanes; see cells.h. */
#include "field/build/cells.h"

#include "base/simd_lanes.h"

/* The only feature of a list that has the nearest of every cell. */
static void set_winner(regions_winners *w) {
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        store(w->bound + i, all(0));
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
static bool settle(const regions_table *table, const uint32_t *names, uint32_t count,
                   const cells_lanes *const at[3], const regions_winners *w, const cells_rule *rule,
                   uint32_t i, float *value) {
    const double p[3] = {at[0]->exact[i], at[1]->exact[i], at[2]->exact[i]};
    const float reach_sq = regions_reach_sq(w, rule->margin, i);
    if (count > REGIONS_KEPT || w->best[i] == INFINITY)
        return false;
    double lowest = INFINITY, highest = 0, most_of_it = INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        if (!(w->square[k][i] <= reach_sq))
            continue;
        const feature_support *f = &table->features.exact[names[k]];
        double d = distance_from(f->place, f->vector, f->is_face, p);
        lowest = d < lowest ? d : lowest;
        highest = d > highest ? d : highest;
        if (!(f->is_face > 0))
            most_of_it = d < most_of_it ? d : most_of_it;
        if (f->is_marked > 0)
            return false;
    }
    most_of_it = sqrt(most_of_it * most_of_it + 4 * (double)rule->margin * rule->margin);
    float other;
    highest = highest < most_of_it ? highest : most_of_it;
    return cells_value(rule, lowest, value) && cells_value(rule, highest, &other) &&
           *value == other;
}

#if LANES == 16

/* What wins each cell, a number of all cells side by side. */
static inline void put_columns(const regions_table *table, const uint32_t *names,
                               const float *place, double column[8][CELLS_COUNT]) {
    _Static_assert(sizeof(feature_support) == 8 * sizeof(double), "eight numbers and no more");
    for (uint32_t i = 0; i < CELLS_COUNT; i += 8) {
        const double *row[8];
        d8 turned[8];
        for (uint32_t k = 0; k < 8; k++)
            row[k] =
                (const double *)(const void *)&table->features.exact[names[(int32_t)place[i + k]]];
        d8_columns(row, turned);
        for (uint32_t k = 0; k < 8; k++)
            d8_store(column[k] + i, turned[k]);
    }
}

#else

static inline void put_columns(const regions_table *table, const uint32_t *names,
                               const float *place, double column[8][CELLS_COUNT]) {
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        const feature_support *f = &table->features.exact[names[(int32_t)place[i]]];
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
static unsigned distances_of_each(const regions_table *table, const uint32_t *names,
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
static unsigned measure_winners(const regions_table *table, const uint32_t *names,
                                const cells_lanes *const at[3], const regions_winners *w,
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
        bits = distances_of_one(&table->features.exact[names[(int32_t)w->place[0]]], at, d);
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
        wide best = load(w->best + i),
             reach = add(fw_sqrt(load(w->bound + i)), all(2 * rule->margin));
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

static unsigned measure(const regions_table *table, const uint32_t *names, uint32_t count,
                        const cells_lanes *const at[3], const cells_rule *rule, regions_winners *w,
                        float values[CELLS_COUNT]) {
    if (count == 1 && rule->band == INFINITY)
        set_winner(w);
    else
        BY_LANES(abuti_regions)
            .winners(table->rows, names, count,
                     (const float *const[3]){at[0]->rounded, at[1]->rounded, at[2]->rounded},
                     rule->margin, w);
    unsigned doubtful = measure_winners(table, names, at, w, rule, values), left = 0;
    for (uint32_t i = 0; doubtful >> i; i++)
        if (doubtful >> i & 1 && !settle(table, names, count, at, w, rule, i, &values[i]))
            left |= 1u << i;
    return left;
}

const cells_kernel BY_LANES(abuti_cells) = {measure};
