/* The solver of a cloth on a device; see solver_shared.h, and solver.c for the same on the CPU.
 * Two launches per substep, one per pass over contacts, and two more if there is pressure. */
#include "solver_shared.h"

#define GROUP CLOTH_GROUP
#define GROUP_OF(items) __attribute__((reqd_work_group_size(items, 1, 1)))

/* ---- contacts ---- */

__kernel GROUP_OF(GROUP) void cloth_insert(cloth_search s, uint vertices, __global const vec *x,
                                           __global uint *heads, __global uint *chain) {
    uint i = (uint)get_global_id(0);
    if (i < vertices)
        chain[i] = atomic_xchg(&heads[cloth_bucket_at(x[i], &s)], i);
}

/* CELL_LANES work-items per vertex, one for each cell around it; the nearest face of all cells
 * counts. */
__kernel GROUP_OF(GROUP) void cloth_find_selves(
    cloth_search s, uint vertices, __global const uint *heads, __global const uint *chain,
    __global const uint *corners, __global const uint *begin, __global const uint *faces,
    __global const vec *rest, __global const vec *x, __local double *sqs, __local uint *best_faces,
    __local uint *lanes, __global cloth_self *selves, __global uint *corner_heads,
    __global uint *corner_chain, __global cloth_totals *totals) {
    const uint v = (uint)get_global_id(0) / CELL_LANES, item = (uint)get_local_id(0);
    const uint lane = item % CELL_LANES;
    cloth_found best = cloth_found_none(&s);
    if (v < vertices && lane < CLOTH_CELLS)
        cloth_search_cell(&s, v, (int)lane, heads, chain, corners, begin, faces, rest, x, &best);
    sqs[item] = best.sq;
    best_faces[item] = best.face;
    lanes[item] = lane;
    for (uint apart = CELL_LANES / 2; apart; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < apart) {
            const uint other = item + apart;
            if (sqs[other] < sqs[item] ||
                (sqs[other] == sqs[item] && best_faces[other] < best_faces[item])) {
                sqs[item] = sqs[other];
                best_faces[item] = best_faces[other];
                lanes[item] = lanes[other];
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v >= vertices || lane != lanes[item - lane])
        return;
    cloth_self self;
    double gap = cloth_self_of(&s, v, &best, corners, rest, x, &self);
    if (self.vertex[0] == VEC_NONE) {
        selves[v].vertex[0] = VEC_NONE;
        return;
    }
    selves[v] = self;
    for (uint k = 0; k < 3; k++)
        corner_chain[3 * v + k] = atomic_xchg(&corner_heads[self.vertex[k]], 3 * v + k);
    atomic_min(&totals->thinnest, as_uint((float)gap));
    atomic_inc(&totals->contacts);
}

/* Sorts the contacts of corners of faces, which are in any order: one vertex per work-item. */
__kernel GROUP_OF(GROUP) void cloth_sort_corners(uint vertices, __global uint *heads,
                                                 __global uint *chain) {
    const uint v = (uint)get_global_id(0);
    uint head = VEC_NONE;
    if (v >= vertices)
        return;
    for (uint i = heads[v], next; i != VEC_NONE; i = next) {
        uint before = VEC_NONE, after = head;
        next = chain[i];
        for (; after < i; after = chain[after])
            before = after;
        chain[i] = after;
        if (before == VEC_NONE)
            head = i;
        else
            chain[before] = i;
    }
    heads[v] = head;
}

__kernel GROUP_OF(GROUP) void cloth_find_touches(
    cloth_search s, uint vertices, __global const vec_nearest *nearest,
    __global const uint *solid_corners, __global const vec *start, __global const vec *solid_end,
    uint solid_moves, __global cloth_touch *list, __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    cloth_touch touch;
    double gap =
        cloth_touch_of(&nearest[i], start[i], s.thickness, s.range, solid_corners, start + vertices,
                       solid_moves ? solid_end : start + vertices, &touch);
    if (!touch.is_near) {
        list[i].is_near = 0;
        return;
    }
    list[i] = touch;
    atomic_min(&totals->thinnest, as_uint((float)gap));
    atomic_inc(&totals->contacts);
}

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

/* ---- a substep ---- */

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

/* One work-item per vertex: its free motion, without constraints. */
__kernel GROUP_OF(GROUP) void cloth_move(
    cloth_substep s, uint vertices, __global const double *w, __global const uint *corners,
    __global const uint *begin, __global const uint *faces, __global const double *pressure,
    __global const uint *held_of, __global const cloth_held *held, __global const vec *velocity,
    __global const vec *x, __global vec *now) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    vec force = vec_of(0, 0, 0);
    for (uint k = begin[i]; k < begin[i + 1] && cloth_has_air(&s); k++)
        force = vec_add(force, cloth_push_of(&s, s.pressure > 0 ? *pressure : 0,
                                             corners + 3 * (size_t)faces[k], x, velocity));
    vec at = cloth_predicted(&s, w[i], force, velocity[i], x[i]);
    if (s.has_holds && held_of[i] != VEC_NONE)
        at = cloth_held_at(&s, &held[held_of[i]], w[i], at);
    now[i] = at;
}

/* One work-group per patch: the positions `next` after constraints from those after free motion. */
__kernel GROUP_OF(PATCH_LANES) void cloth_solve(
    cloth_substep s, __global const cloth_patch *patches, __global const uint *list,
    __global const cloth_hinge *hinges, __global const cloth_edge *edges, __global const double *w,
    __global const vec *now, __local vec *at, __local double *inverse, __global vec *next) {
    const cloth_patch p = patches[get_group_id(0)];
    const uint item = (uint)get_local_id(0);
    for (uint i = item; i < p.all; i += PATCH_LANES) {
        uint v = list[p.first + i];
        at[i] = now[v];
        inverse[i] = w[v];
    }
    for (uint group = 0; group < 4; group += 2) {
        /* loads for the next round overlap with this one */
        cloth_hinge hinge;
        cloth_edge edge;
        if (p.rounds[group])
            hinge = hinges[p.first_slot[group] + item];
        if (p.rounds[group + 1])
            edge = edges[p.first_slot[group + 1] + item];
        for (uint k = 0; k < p.rounds[group]; k++) {
            cloth_hinge mine = hinge;
            if (k + 1 < p.rounds[group])
                hinge = hinges[p.first_slot[group] + (k + 1) * PATCH_LANES + item];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (mine.vertex[0] != VEC_NONE)
                cloth_hold_hinge(&s, mine, inverse, at);
        }
        for (uint k = 0; k < p.rounds[group + 1]; k++) {
            cloth_edge mine = edge;
            if (k + 1 < p.rounds[group + 1])
                edge = edges[p.first_slot[group + 1] + (k + 1) * PATCH_LANES + item];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (mine.vertex[0] != VEC_NONE)
                cloth_hold_edge(&s, mine, inverse, at);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < p.own; i += PATCH_LANES)
        next[list[p.first + i]] = at[i];
}

/* A pass over contacts, one work-item per vertex: from positions `next` to positions `to`, and the
 * velocities from those at the start of the substep. */
__kernel GROUP_OF(GROUP) void cloth_contacts(
    cloth_substep s, uint vertices, __global const double *w, __global const cloth_self *selves,
    __global const uint *corner_heads, __global const uint *corner_chain,
    __global const cloth_touch *touches, __global const vec *x, __global const vec *next,
    __global vec *to, __global vec *velocity) {
    const uint v = (uint)get_global_id(0);
    if (v >= vertices)
        return;
    to[v] = cloth_keep_contacts(&s, v, w[v], selves, corner_heads, corner_chain, touches, x, next);
    velocity[v] = vec_scale(vec_sub(to[v], x[v]), 1 / s.h);
}

/* ---- the end of a step ---- */

/* The aims of all vertices, including those of the solid. */
__kernel GROUP_OF(GROUP) void cloth_aims(uint all, uint vertices, __global const vec *x,
                                         __global const vec *start, __global const vec *solid_end,
                                         uint solid_moves, __global vec *aims, __global vec *end,
                                         __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= all)
        return;
    const vec to = cloth_aim_at(i, vertices, x, start, solid_end, solid_moves != 0u);
    aims[i] = end[i] = to;
    if (isnan(to.x))
        atomic_or(&totals->odd, i < vertices ? 1u : 2u);
}

typedef struct cloth_hit { /* as abut_radial_hit */
    uint field;
    float time, normal[3], left;
} cloth_hit;

/* Final positions and velocities after fields have moved vertices. */
__kernel GROUP_OF(GROUP) void cloth_settle_all(uint vertices, double seconds,
                                               __global const double *w, __global const vec *start,
                                               __global const vec *aims,
                                               __global const cloth_hit *hits, __global vec *end,
                                               __global vec *velocity,
                                               __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    end[i] = cloth_settle(w[i], start[i], aims[i], end[i], seconds, &velocity[i]);
    float left = hits[i].left;
    if (left > 0)
        atomic_max(&totals->deepest, as_uint(left));
}
