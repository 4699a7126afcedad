/* Storing of cell values, for kernels. */
#ifndef ABUTI_FIELD_BUILD_VALUES_CL_H
#define ABUTI_FIELD_BUILD_VALUES_CL_H

#include "field/build/grid_cl.h"

#if ABUTI_REAL_BITS == 64

/* The value of a cell whose distance is uncertain. */
#define UNCERTAIN NAN

static inline double3 centre_of(const field_grid *g, uint x, uint y, uint z) {
    return (double3)(g->origin[0] + g->cell * (x + g->first[0]),
                     g->origin[1] + g->cell * (y + g->first[1]),
                     g->origin[2] + g->cell * (z + g->first[2]));
}

/* Squared distances above this cannot be nearest if there is one of `bound`. */
static inline float reach_of(const field_grid *g, float bound) {
    float reach = fmin(sqrt(bound) + 2.0f * g->margin, g->reach + 4.0f * g->margin);
    return reach * reach * NEAREST_SLACK;
}

/* Destination of values, and the range of those of the work-item. */
typedef struct results {
    __global float *values;
    __global uint *doubts;
    uint doubts_max;
    volatile __global uint *counters;
    uint least, most; /* as words that sort like floats, the second complemented */
} results;

/* How the crossings decide the side for a block; with boundary edges by the results of
 * field_sides.cl. */
typedef struct inside_rule {
    float shift, facing; /* shift: NaN if each cell has its own result */
    bool has_border;
} inside_rule;

static inline inside_rule rule_of(const field_grid *g, __global const float *coarse,
                                  __global const float *fine, float facing, uint x, uint y,
                                  uint z) {
    inside_rule r = {0.0f, facing, facing != 0.0f};
    if (r.has_border)
        r.shift =
            coarse[block_at(g, FIELD_COARSE, x / FIELD_COARSE, y / FIELD_COARSE, z / FIELD_COARSE)];
    if (isnan(r.shift))
        r.shift = fine[block_at(g, 8, x / 8, y / 8, z / 8)];
    return r;
}

/* Words that sort like their floats. */
static inline uint sortable(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static inline size_t cell_at(const field_grid *g, uint x, uint y, uint z) {
    return x + (size_t)g->count[0] * (y + (size_t)g->count[1] * z);
}

/* Stores a value with its sign. */
static inline void store_value(results *r, inside_rule rule, size_t at, float value) {
    int winding = ((__global const int *)r->values)[at];
    bool inside = winding != 0, each = rule.has_border && isnan(rule.shift);
    if (rule.has_border && !each)
        inside = ((float)winding - rule.shift) * rule.facing > 0.5f;
    value = inside ? -value : value;
    r->values[at] = value;
    r->least = min(r->least, sortable(value));
    r->most = min(r->most, ~sortable(value));
}

/* A distance of 0 has no sign. */
static inline void store_zero(results *r, size_t at) {
    r->values[at] = 0.0f;
    r->least = min(r->least, sortable(0.0f));
    r->most = min(r->most, ~sortable(0.0f));
}

/* Stores a value, or appends the cell if the value is uncertain. */
static inline void store_cell(const field_grid *g, results *r, inside_rule rule, uint x, uint y,
                              uint z, float value) {
    if (x >= g->count[0] || y >= g->count[1] || z >= g->count[2])
        return;
    size_t at = cell_at(g, x, y, z);
    if (!isnan(value)) {
        store_value(r, rule, at, value);
        return;
    }
    uint to = atomic_inc(&r->counters[FIELD_COUNT_DOUBTFUL]);
    if (to < r->doubts_max)
        r->doubts[to] = (uint)at;
}

/* Reduces the range of values over the work-group. `room`: two words. All work-items call it. */
static inline void reduce_extremes(const results *r, __local uint *room) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 2)
        room[get_local_id(0)] = ABUT_NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_min(&room[0], r->least);
    atomic_min(&room[1], r->most);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && room[0] != ABUT_NONE) {
        atomic_max(&r->counters[FIELD_COUNT_LOWEST], ~room[0]); /* counters start at 0 */
        atomic_max(&r->counters[FIELD_COUNT_HIGHEST], ~room[1]);
    }
}

#endif
#endif
