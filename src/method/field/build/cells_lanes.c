/* The last step of the computation of a field, compiled for 4, 8 and 16 lanes; see cells.h. */
#include "field/build/cells.h"

#include "base/simd_lanes.h"

/* The winning feature of each cell, as a structure of arrays. */
typedef struct columns {
    float offset[CELLS_COUNT];
    float rest[4][CELLS_COUNT]; /* packed */
    float place[3][CELLS_COUNT], place_rest[3][CELLS_COUNT];
    float vector[3][CELLS_COUNT], vector_rest[3][CELLS_COUNT];
} columns;

static inline void gather_columns(const regions_table *table, const uint32_t *names,
                                  const float *place, columns *c) {
    for (uint32_t i = 0; i < CELLS_COUNT; i += LANES) {
        const float *row[LANES], *rest[LANES];
        wide of_place[4], of_rest[4], other[4], fourth[4], third[3];
        for (uint32_t k = 0; k < LANES; k++) {
            const uint32_t name = names[(int32_t)place[i + k]];
            row[k] = table->rows[name].column;
            rest[k] = table->features.rest[name].word;
        }
        fw_columns(row, REGIONS_PLACE, of_place);
        fw_columns(rest, 0, of_rest);
        fw_columns(row, REGIONS_FOURTH, fourth);
        third[2] = fourth[3];
        fw_columns(row, REGIONS_FIRST, other);
        third[0] = other[3];
        fw_columns(row, REGIONS_SECOND, other);
        third[1] = other[3];
        const mask face = v_less(of_place[3], v_all(0)), edge = v_less(v_all(0), of_place[3]);
        v_store(c->offset + i, of_place[3]);
        for (int k = 0; k < 4; k++)
            v_store(c->rest[k] + i, of_rest[k]);
        for (int k = 0; k < 3; k++) {
            v_store(c->place[k] + i, of_place[k]);
            v_store(c->vector[k] + i,
                    v_select(face, third[k], v_select(edge, fourth[k], v_all(0))));
        }
    }
}

/* Unpacks remainders from words. Returns a bit for each marked feature. */
static inline unsigned unpack_rests(columns *c) {
    uint32_t word[4][CELLS_COUNT];
    unsigned marked = 0;
    memcpy(word, c->rest, sizeof word);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        c->place_rest[0][i] = rest_high(word[0][i], REST_PLACE_STEP);
        c->place_rest[1][i] = rest_high(word[1][i], REST_PLACE_STEP);
        c->place_rest[2][i] = rest_high(word[2][i], REST_PLACE_STEP);
        c->vector_rest[0][i] = rest_low(word[0][i], word[1][i], REST_VECTOR_STEP);
        c->vector_rest[1][i] = rest_low(word[2][i], word[3][i], REST_VECTOR_STEP);
        c->vector_rest[2][i] = rest_high(word[3][i], REST_VECTOR_STEP);
    }
    for (uint32_t i = 0; i < CELLS_COUNT; i++)
        marked |= (word[3][i] & REST_MARK ? 1u : 0) << i;
    return marked;
}

/* Distances of all cells from their winners. Returns a bit for each cell whose winner is marked.
 * Loops are simple enough for compilers to vectorise. */
static unsigned measure_each_winner(const regions_table *table, const uint32_t *names,
                                    const cells_lanes *const at[3], const float *place,
                                    double d[CELLS_COUNT]) {
    columns c;
    gather_columns(table, names, place, &c);
    const unsigned marked = unpack_rests(&c);
    for (uint32_t i = 0; i < CELLS_COUNT; i++) {
        const double u = (double)c.vector[0][i] + c.vector_rest[0][i],
                     v = (double)c.vector[1][i] + c.vector_rest[1][i],
                     w = (double)c.vector[2][i] + c.vector_rest[2][i];
        const double x = at[0]->exact[i] - ((double)c.place[0][i] + c.place_rest[0][i]),
                     y = at[1]->exact[i] - ((double)c.place[1][i] + c.place_rest[1][i]),
                     z = at[2]->exact[i] - ((double)c.place[2][i] + c.place_rest[2][i]);
        const double along = x * u + y * v + z * w;
        const double qx = x - along * u, qy = y - along * v, qz = z - along * w;
        const double line = qx * qx + qy * qy + qz * qz, plane = along * along;
        d[i] = sqrt(c.offset[i] < 0 ? plane : line);
    }
    return marked;
}

/* Values of all cells from the winner of each. Returns a bit for each value that is not certain. */
static unsigned compute_winner_values(const regions_table *table, const uint32_t *names,
                                      const cells_lanes *const at[3], const regions_winners *w,
                                      const cells_rule *rule, float values[CELLS_COUNT]) {
    double d[CELLS_COUNT], lower[CELLS_COUNT], higher[CELLS_COUNT];
    float upper[CELLS_COUNT];
    const double error = rule->error, to_world = rule->to_world, band = rule->band;
    unsigned bits = measure_each_winner(table, names, at, w->place, d);
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
        wide best = v_load(w->best + i),
             reach = v_add(fw_sqrt(v_load(w->bound + i)), v_all(2 * rule->margin));
        wide reach_sq = v_mul(v_mul(reach, reach), v_all(NEAREST_SLACK)),
             value = v_load(values + i);
        unsigned here = v_mask_bits(v_less_equal(v_load(w->next + i), reach_sq)) |
                        v_mask_bits(v_less(value, v_load(upper + i))) |
                        v_mask_bits(v_less_equal(value, v_all(0)));
        bits |= here << i;
        if (band < INFINITY) { /* if no feature is in reach, the value is the band */
            mask listed = v_less(best, v_all(INFINITY));
            v_store(values + i, v_select(listed, value, v_all((float)band)));
            bits &= v_mask_bits(listed) << i | ~(((1u << LANES) - 1) << i);
        }
    }
    return bits;
}

static unsigned compute_cell_values(const regions_table *table, const uint32_t *names,
                                    uint32_t count, const cells_lanes *const at[3],
                                    const cells_rule *rule, regions_winners *w,
                                    float values[CELLS_COUNT]) {
    BY_LANES(abuti_regions)
        .winners(table->rows, names, count,
                 (const float *const[3]){at[0]->rounded, at[1]->rounded, at[2]->rounded},
                 rule->margin, w);
    const unsigned doubtful = compute_winner_values(table, names, at, w, rule, values);
    if (doubtful)
        BY_LANES(abuti_regions).candidates(count, rule->margin, doubtful, w);
    return doubtful;
}

const cells_kernel BY_LANES(abuti_cells) = {compute_cell_values};
