/* The substeps of a cloth on a device; see dynamics.c. One launch per colour, except for the
 * last colours, which are so small that one work-group processes all of them. */
#include "dynamics_shared.h"

#define GROUP CLOTH_GROUP
#define GROUP_OF(items) __attribute__((reqd_work_group_size(items, 1, 1)))

/* ---- forces ---- */

__kernel GROUP_OF(GROUP) void cloth_volumes(uint blocks, uint triangles,
                                            __global const uint *corners, __global const vec *x,
                                            __global double *sums) {
    uint i = (uint)get_global_id(0);
    if (i < blocks)
        sums[i] = cloth_block_volume(corners, triangles, x, i);
}

/* One work-group. */
__kernel GROUP_OF(VOLUME_LANES) void cloth_pressure(cloth_substep s, uint blocks,
                                                    __global const double *sums,
                                                    __local double *lanes,
                                                    __global double *pressure) {
    uint i = (uint)get_local_id(0);
    lanes[i] = cloth_lane_volume(sums, blocks, i);
    for (uint half_lanes = VOLUME_LANES / 2; half_lanes; half_lanes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < half_lanes)
            lanes[i] += lanes[i + half_lanes];
    }
    if (i == 0)
        *pressure = cloth_pressure_at(&s, lanes[0]);
}

__kernel GROUP_OF(GROUP) void cloth_push(cloth_substep s, uint triangles,
                                         __global const uint *corners,
                                         __global const double *pressure, __global const vec *x,
                                         __global const vec *velocity, __global vec *push) {
    uint i = (uint)get_global_id(0);
    if (i < triangles)
        push[i] =
            cloth_push_of(&s, s.pressure > 0 ? *pressure : 0, corners + 3 * (size_t)i, x, velocity);
}

__kernel GROUP_OF(GROUP) void cloth_move(cloth_substep s, uint vertices, __global const double *w,
                                         __global const uint *begin, __global const uint *faces,
                                         __global const vec *push, __global const vec *velocity,
                                         __global vec *x, __global vec *before) {
    uint i = (uint)get_global_id(0);
    if (i < vertices)
        cloth_predict(&s, i, w[i], begin, faces, push, velocity, x, before);
}

/* ---- constraints and contacts ---- */

/* `name` processes constraints from first to end, exclusive. `name`_tail, one work-group,
 * processes all colours from one on. Not all use `before`. */
#define CONSTRAINT(name, type, hold)                                                               \
    __kernel GROUP_OF(GROUP) void name(cloth_substep s, uint first, uint end,                      \
                                       __global const type *list, __global const double *w,        \
                                       __global vec *x, __global const vec *before) {              \
        (void)before;                                                                              \
        uint i = first + (uint)get_global_id(0);                                                   \
        if (i < end)                                                                               \
            hold;                                                                                  \
    }                                                                                              \
    __kernel GROUP_OF(VOLUME_LANES) void name##_tail(cloth_substep s, uint colour, uint colours,   \
                                                     __global const uint *begin,                   \
                                                     __global const type *list,                    \
                                                     __global const double *w, __global vec *x,    \
                                                     __global const vec *before) {                 \
        (void)before;                                                                              \
        uint item = (uint)get_local_id(0);                                                         \
        for (uint k = colour; k < colours; k++) {                                                  \
            uint step = k == COLOURS - 1 ? 1 : VOLUME_LANES, end = item < step ? begin[k + 1] : 0; \
            for (uint i = begin[k] + item; i < end; i += step)                                     \
                hold;                                                                              \
            barrier(CLK_GLOBAL_MEM_FENCE);                                                         \
        }                                                                                          \
    }

CONSTRAINT(cloth_edges, cloth_edge, cloth_hold_edge(&s, list[i], w, x))
CONSTRAINT(cloth_hinges, cloth_hinge, cloth_hold_hinge(&s, list[i], w, x))
CONSTRAINT(cloth_nears, cloth_near, cloth_hold_near(&list[i], s.friction, w, x, before))

/* One work-item per hold: its target at the end of the step. */
__kernel GROUP_OF(GROUP) void cloth_place_holds(uint count, uint vertices,
                                                __global const uint *solid_corners,
                                                __global const vec *start,
                                                __global const vec *solid_end, uint solid_moves,
                                                __global const vec *given,
                                                __global cloth_held *list) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    cloth_held h = list[i];
    cloth_place_hold(&h, solid_corners, start + vertices,
                     solid_moves ? solid_end : start + vertices, given + 2 * (size_t)i,
                     start[h.vertex]);
    list[i] = h;
}

__kernel GROUP_OF(GROUP) void cloth_holds(cloth_substep s, uint count,
                                          __global const cloth_held *list, __global const double *w,
                                          __global vec *x) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        cloth_hold_held(&s, &list[i], w, x);
}

/* One work-item per vertex. Each work-group writes its smallest gap and its number of touches. */
__kernel GROUP_OF(GROUP) void cloth_find_touches(uint vertices, double thickness, double range,
                                                 __global const vec_nearest *nearest,
                                                 __global const uint *solid_corners,
                                                 __global const vec *start,
                                                 __global const vec *solid_end, uint solid_moves,
                                                 __global cloth_touch *list, __local double *gaps,
                                                 __local uint *counts, __global double *totals) {
    uint i = (uint)get_global_id(0), item = (uint)get_local_id(0);
    cloth_touch touch;
    bool found = false;
    if (i < vertices) {
        found = cloth_touch_of(&nearest[i], i, start[i], thickness, solid_corners, start + vertices,
                               solid_moves ? solid_end : start + vertices, &touch);
        if (found)
            list[i] = touch;
        else
            list[i].vertex = VEC_NONE;
    }
    gaps[item] = found && touch.gap < range ? touch.gap : range;
    counts[item] = found;
    for (uint half_items = GROUP / 2; half_items; half_items /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_items) {
            double other = gaps[item + half_items];
            gaps[item] = other < gaps[item] ? other : gaps[item];
            counts[item] += counts[item + half_items];
        }
    }
    if (item == 0) {
        totals[2 * get_group_id(0)] = gaps[0];
        totals[2 * get_group_id(0) + 1] = counts[0];
    }
}

/* ---- the ends of a substep and of a step ---- */

/* One work-item per vertex: applies its touch, if there are any, then computes its velocity. */
__kernel GROUP_OF(GROUP) void cloth_end(cloth_substep s, uint vertices, uint touches,
                                        __global const cloth_touch *list, __global const double *w,
                                        __global vec *x, __global const vec *before,
                                        __global vec *velocity) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    if (touches && list[i].vertex != VEC_NONE)
        cloth_hold_touch(&s, &list[i], w, x, before);
    velocity[i] = vec_scale(vec_sub(x[i], before[i]), 1 / s.h);
}

/* The aims of all vertices, including those of the solid. */
__kernel GROUP_OF(GROUP) void cloth_aims(uint all, uint vertices, __global const vec *x,
                                         __global const vec *start, __global const vec *solid_end,
                                         uint solid_moves, __global vec *end) {
    uint i = (uint)get_global_id(0);
    if (i >= all)
        return;
    end[i] = cloth_aim_at(i, vertices, x, start, solid_end, solid_moves != 0u);
}
