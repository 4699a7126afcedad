/* Cloth against radial fields on a device; see patches_shared.h. Two launches per substep. */
#include "patches_shared.h"

#define GROUP CLOTH_GROUP
#define GROUP_OF(items) __attribute__((reqd_work_group_size(items, 1, 1)))

/* ---- self-collision ---- */

__kernel GROUP_OF(GROUP) void patches_insert(cloth_search s, uint vertices, __global const vec *x,
                                             __global uint *heads, __global uint *chain) {
    uint i = (uint)get_global_id(0);
    if (i < vertices)
        chain[i] = atomic_xchg(&heads[cloth_bucket_at(x[i], &s)], i);
}

/* CELL_LANES work-items per vertex, one for each cell around it; the nearest face of all cells
 * counts. */
__kernel GROUP_OF(GROUP) void patches_find(
    cloth_search s, uint vertices, __global const uint *heads, __global const uint *chain,
    __global const uint *corners, __global const uint *begin, __global const uint *faces,
    __global const vec *rest, __global const vec *x, __local double *sqs, __local uint *best_faces,
    __local uint *lanes, __global cloth_self *selves, __global cloth_totals *totals) {
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
    double gap = cloth_self_of(&s, v, &best, corners, x, &self);
    if (self.vertex[0] == VEC_NONE) {
        selves[v].vertex[0] = VEC_NONE;
        return;
    }
    selves[v] = self;
    atomic_min(&totals->thinnest, as_uint((float)gap));
    atomic_inc(&totals->selves);
}

/* ---- a substep ---- */

/* One work-item per vertex: its free motion, without constraints. */
__kernel GROUP_OF(GROUP) void patches_move(
    cloth_substep s, uint vertices, __global const double *w, __global const uint *corners,
    __global const uint *begin, __global const uint *faces, __global const double *pressure,
    __global const uint *held_of, __global const cloth_held *held, uint has_held,
    __global const vec *velocity, __global const vec *x, __global vec *now) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    vec force = vec_of(0, 0, 0);
    for (uint k = begin[i]; k < begin[i + 1] && cloth_has_air(&s); k++)
        force = vec_add(force, cloth_push_of(&s, s.pressure > 0 ? *pressure : 0,
                                             corners + 3 * (size_t)faces[k], x, velocity));
    vec at = cloth_predicted(&s, w[i], force, velocity[i], x[i]);
    if (has_held && held_of[i] != VEC_NONE)
        at = cloth_held_at(&s, &held[held_of[i]], w[i], at);
    now[i] = at;
}

/* One work-group per patch. `x` are positions at the start of the substep, `now` after free
 * motion; `next` and `velocity` are the results. */
__kernel GROUP_OF(PATCH_LANES) void patches_solve(
    cloth_substep s, uint has_selves, __global const cloth_patch *patches,
    __global const uint *list, __global const cloth_hinge *hinges, __global const cloth_edge *edges,
    __global const double *w, __global const cloth_self *selves, __global const vec *x,
    __global const vec *now, __local vec *at, __local double *inverse, __global vec *next,
    __global vec *velocity) {
    const cloth_patch p = patches[get_group_id(0)];
    const uint item = (uint)get_local_id(0);
    cloth_hinge hinge;
    cloth_edge edge;
    hinge.vertex[0] = edge.vertex[0] = VEC_NONE;
    /* loads for the next round overlap with this one */
    if (p.hinge_rounds)
        hinge = hinges[p.first_hinge + item];
    if (p.edge_rounds)
        edge = edges[p.first_edge + item];
    for (uint i = item; i < p.all; i += PATCH_LANES) {
        uint v = list[p.first + i];
        at[i] = now[v];
        inverse[i] = w[v];
    }
    for (uint k = 0; k < p.hinge_rounds; k++) {
        cloth_hinge mine = hinge;
        if (k + 1 < p.hinge_rounds)
            hinge = hinges[p.first_hinge + (k + 1) * PATCH_LANES + item];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine.vertex[0] != VEC_NONE)
            cloth_patch_hinge(&s, mine, inverse, at);
    }
    for (uint k = 0; k < p.edge_rounds; k++) {
        cloth_edge mine = edge;
        if (k + 1 < p.edge_rounds)
            edge = edges[p.first_edge + (k + 1) * PATCH_LANES + item];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine.vertex[0] != VEC_NONE)
            cloth_patch_edge(&s, mine, inverse, at);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < p.own; i += PATCH_LANES) {
        uint v = list[p.first + i];
        vec to = at[i], was = x[v];
        if (has_selves && inverse[i] > 0 && selves[v].vertex[0] != VEC_NONE) {
            cloth_self self = selves[v];
            to = cloth_keep_off(&self, s.friction, was, to, x, now);
        }
        next[v] = to;
        velocity[v] = vec_scale(vec_sub(to, was), 1 / s.h);
    }
}

/* ---- the end of a step ---- */

/* The aims of all vertices, including those of the solid. */
__kernel GROUP_OF(GROUP) void patches_aims(uint all, uint vertices, __global const vec *x,
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

__kernel GROUP_OF(GROUP) void patches_settle(uint vertices, double seconds,
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
