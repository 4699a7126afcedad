/* Uncertain cells: the arithmetic of the closest-point query for the triangles that may be nearest.
 *
 * Method: the list of the block of a cell is in the pool. All its features that may be nearest in
 * floats are selected, and all their triangles are measured in doubles like in the query. The
 * nearest triangle of the query is among them (feature_cl.h), so the smallest distance has the bits
 * of the query.
 */
#include "base/math_shared.h"
#include "field/build/values_cl.h"
#include "field/field_shared.h"

#if ABUTI_REAL_BITS == 64
#include "nearest/measure_cl.h"

/* One work-group per cell. Cells without candidates are counted; then the host computes all cells
 * by queries. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_resolve(__global const float4 *features, __global const uint *incident_begin,
              __global const uint *incidents, __global const uint *tree_order,
              __global const double *corners, field_grid g, uint slices,
              __global const uint2 *lists, uint from, __global const uint *pool,
              __global const float *coarse, __global const float *fine, float facing,
              __global float *values, __global uint *doubts, uint doubts_max,
              volatile __global uint *counters, __local double *room) {
    __local double *distances = room;
    __local uint *least = (__local uint *)(distances + GROUP);
    results to = {values, doubts, doubts_max, counters, ABUT_NONE, ABUT_NONE};
    uint item = (uint)get_local_id(0), count = min(counters[FIELD_COUNT_DOUBTFUL], doubts_max);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        uint cell = doubts[i];
        uint x = cell % g.count[0], y = cell / g.count[0] % g.count[1],
             z = cell / g.count[0] / g.count[1];
        __global const uint2 *list = lists + from + slices * block_at(&g, 8, x / 8, y / 8, z / 8);
        double3 p = centre_of(&g, x, y, z);
        float4 at = middle_of(&g, x, y, z, 1);
        float bound = INFINITY, margin = g.margin;
        if (item == 0)
            *least = as_uint(INFINITY);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint s = 0; s < slices; s++)
            for (uint k = item; k < list[s].y; k += GROUP) {
                feature f = load_feature(features, pool[list[s].x + k]);
                look l = look_at(&f, at);
                bound = fmin(bound, feature_bound_sq(&l, margin));
            }
        atomic_min(least, as_uint(bound));
        barrier(CLK_LOCAL_MEM_FENCE);
        float reach_sq = reach_of(&g, as_float(*least));
        measured m;
        start_measure(&m, v3(p.x, p.y, p.z), INFINITY);
        for (uint s = 0; s < slices; s++)
            for (uint k = item; k < list[s].y; k += GROUP) {
                uint name = pool[list[s].x + k];
                feature f = load_feature(features, name);
                look l = look_at(&f, at);
                if (feature_outside(&l) <= margin && l.distance_sq <= reach_sq)
                    for (uint j = incident_begin[name]; j < incident_begin[name + 1]; j++)
                        measure(&m, corners, tree_order[incidents[j]]);
            }
        distances[item] = m.best;
        for (uint away = GROUP / 2; away > 0; away /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < away)
                distances[item] = fmin(distances[item], distances[item + away]);
        }
        if (item == 0) {
            double d = distances[0];
            inside_rule rule = rule_of(&g, coarse, fine, facing, x, y, z);
            if (d == 0.0)
                store_zero(&to, cell);
            else
                store_value(&to, rule, cell, (float)fmin(d, g.band));
            if (d == INFINITY && g.reach == INFINITY)
                atomic_inc(&counters[FIELD_COUNT_LEFT]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    reduce_extremes(&to, least);
}

/* ---- bricks ---- */

/* Copies the values of bricks out of a grid, one work-group per brick; `cells` has the indices of
 * their first cells. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_bricks(__global const float *values, field_grid g, __global const uint *cells,
             __global float *bricks) {
    uint brick = (uint)get_group_id(0);
    for (uint i = (uint)get_local_id(0); i < FIELD_VALUES; i += GROUP)
        bricks[FIELD_VALUES * (size_t)brick + i] =
            values[cells[brick] + cell_at(&g, i % FIELD_SIDE, i / FIELD_SIDE % FIELD_SIDE,
                                          i / (FIELD_SIDE * FIELD_SIDE))];
}

#endif
