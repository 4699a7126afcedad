/* The solver of a cloth on a device; see solver_shared.h, and solver.c for the same on the CPU.
 * Five launches per substep, and two more if there is pressure. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "cloth/solver_shared.h"

#define GROUP CLOTH_GROUP
#define GROUP_OF(items) __attribute__((reqd_work_group_size(items, 1, 1)))

/* ---- contacts ---- */

__kernel GROUP_OF(GROUP) void cloth_insert(cloth_search s, uint triangles,
                                           __global const uint *corners, __global const vec3 *x,
                                           __global uint *heads, __global cloth_face *list) {
    uint i = (uint)get_global_id(0);
    if (i >= triangles)
        return;
    cloth_face face = cloth_face_at(i, corners, x);
    face.link = atomic_xchg(&heads[cloth_bucket_at(face.centre, &s)], i);
    list[i] = face;
}

/* Writes a contact of vertex v and lists it with the corners of its face. */
static void write_contact(const cloth_search *s, const cloth_sheets *all, uint v, uint side,
                          const cloth_found *best, __global cloth_self *selves,
                          __global uint *corner_heads, __global uint *corner_chain,
                          __global cloth_totals *totals) {
    const uint i = 2 * v + side;
    cloth_self self;
    double gap = cloth_self_of(s, all, v, best, &self);
    if (self.vertex[0] == ABUT_NONE) {
        selves[i].vertex[0] = ABUT_NONE;
        return;
    }
    selves[i] = self;
    for (uint k = 0; k < 3; k++)
        corner_chain[3 * i + k] = atomic_xchg(&corner_heads[self.vertex[k]], 3 * i + k);
    atomic_min(&totals->thinnest, as_uint((float)gap));
    atomic_inc(&totals->contacts);
}

/* CELL_LANES work-items per vertex. Each lists the faces in reach in one cell around the vertex;
 * then each tests some faces of the list, whose lengths in the cells differ. On each side of the
 * sheet the nearest face of all counts. */
__kernel GROUP_OF(GROUP) void cloth_find_selves(
    cloth_search s, uint vertices, __global const uint *heads, __global const cloth_face *list,
    __global const uint *corners, __global const uint *begin, __global const uint *faces,
    __global const uint *part_of, __global const cloth_part *parts, __global const vec3 *rest,
    __global const vec3 *x, __global const uint *knot_begin, __global const cloth_knot *knots,
    __local uint *counts, __local uint *found, __local double *sqs, __local uint *best_faces,
    __local uint *lanes, __global cloth_self *selves, __global uint *corner_heads,
    __global uint *corner_chain, __global cloth_totals *totals) {
    const cloth_sheets all = {corners, begin, faces, part_of, parts, rest, x, knot_begin, knots};
    const uint v = (uint)get_global_id(0) / CELL_LANES, item = (uint)get_local_id(0);
    const uint lane = item % CELL_LANES;
    __local uint *count = counts + item / CELL_LANES,
                 *mine = found + item / CELL_LANES * LIST_FACES;
    cloth_found best[2], nearest[2];
    uint winner[2];
    vec3 normal = v3(0, 0, 0);
    best[0] = best[1] = cloth_found_none(&s);
    if (lane == 0)
        *count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v < vertices) {
        const vec3 at = x[v];
        normal = cloth_normal_at(&all, v);
        const cloth_spot spot = cloth_spot_at(&s, at);
        const uint bucket =
            lane < CLOTH_CELLS ? cloth_bucket_near(&s, &spot, (int)lane) : ABUT_NONE;
        for (uint f = bucket == ABUT_NONE ? ABUT_NONE : heads[bucket]; f != ABUT_NONE;
             f = list[f].link)
            if (cloth_is_in_reach(&list[f], at, s.range)) {
                const uint k = atomic_inc(count);
                if (k < LIST_FACES)
                    mine[k] = f;
                else
                    cloth_try_face(&s, &all, v, f, normal, best);
            }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lane; k < *count && k < LIST_FACES; k += CELL_LANES)
        cloth_try_face(&s, &all, v, mine[k], normal, best);
    for (uint side = 0; side < 2; side++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        sqs[item] = best[side].sq;
        best_faces[item] = best[side].face;
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
        nearest[side].sq = sqs[item - lane];
        nearest[side].face = best_faces[item - lane];
        winner[side] = lanes[item - lane];
    }
    if (v >= vertices)
        return;
    cloth_choose_sides(&all, v, nearest);
    for (uint side = 0; side < 2; side++) {
        best[side].face = nearest[side].face;
        if (lane == winner[side])
            write_contact(&s, &all, v, side, &best[side], selves, corner_heads, corner_chain,
                          totals);
    }
}

/* Sorts the contacts of corners of faces, which are in any order, and adds the shares: one vertex
 * per work-item. */
__kernel GROUP_OF(GROUP) void cloth_sort_corners(uint vertices, __global uint *heads,
                                                 __global uint *chain,
                                                 __global const cloth_self *selves,
                                                 __global double *shares) {
    const uint v = (uint)get_global_id(0);
    uint head = ABUT_NONE;
    if (v >= vertices)
        return;
    for (uint i = heads[v], next; i != ABUT_NONE; i = next) {
        uint before = ABUT_NONE, after = head;
        next = chain[i];
        for (; after < i; after = chain[after])
            before = after;
        chain[i] = after;
        if (before == ABUT_NONE)
            head = i;
        else
            chain[before] = i;
    }
    heads[v] = head;
    shares[v] = cloth_shares_of(v, selves, heads, chain);
}

__kernel GROUP_OF(GROUP) void cloth_scale_contacts(uint vertices, __global const double *w,
                                                   __global const double *shares,
                                                   __global cloth_self *selves) {
    const uint v = (uint)get_global_id(0);
    for (uint i = 2 * v; i < 2 * v + 2 && v < vertices; i++)
        if (selves[i].vertex[0] != ABUT_NONE) {
            cloth_self self = selves[i];
            selves[i].scale = cloth_scale_of(&self, v, w, shares);
        }
}

__kernel GROUP_OF(GROUP) void cloth_find_touches(
    cloth_search s, uint vertices, __global const cloth_nearest *nearest,
    __global const uint *part_of, __global const cloth_part *parts,
    __global const uint *body_corners, __global const vec3 *start, __global const vec3 *body_end,
    __global cloth_touch *list, __global cloth_push *pushes, __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    cloth_touch touch;
    double gap = cloth_touch_of(&nearest[i], i, start[i], s.range, vertices, part_of, parts,
                                body_corners, start + vertices, body_end, &touch, &pushes[i]);
    if (!touch.is_near) {
        list[i].is_near = 0;
        return;
    }
    list[i] = touch;
    atomic_min(&totals->thinnest, as_uint((float)gap));
    atomic_inc(&totals->contacts);
}

/* One work-item per hold: its target at the end of the step. */
__kernel
GROUP_OF(GROUP) void cloth_place_holds(uint count, uint vertices, __global const uint *body_corners,
                                       __global const vec3 *start, __global const vec3 *body_end,
                                       __global const vec3 *given, __global cloth_hold *list) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    cloth_hold h = list[i];
    cloth_place_hold(&h, body_corners, start + vertices, body_end, given + 2 * (size_t)i,
                     start[h.vertex]);
    list[i] = h;
}

/* One work-item per seam: its length at the start of the step. */
__kernel GROUP_OF(GROUP) void cloth_measure_seams(uint count, __global const vec3 *start,
                                                  __global cloth_seam *seams,
                                                  __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        atomic_max(&totals->widest, as_uint((float)cloth_measure_seam(&seams[i], start)));
}

/* ---- a substep ---- */

__kernel GROUP_OF(GROUP) void cloth_volumes(uint count, __global const cloth_block *blocks,
                                            __global const uint *corners, __global const vec3 *x,
                                            __global double *sums) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        sums[i] = cloth_block_volume(corners, &blocks[i], x);
}

/* One work-group per sheet. */
__kernel GROUP_OF(VOLUME_LANES) void cloth_pressures(__global const cloth_part *parts,
                                                     __global const double *sums,
                                                     __local double *lanes,
                                                     __global double *pressures) {
    __global const cloth_part *part = parts + get_group_id(0);
    uint i = (uint)get_local_id(0);
    lanes[i] = cloth_lane_volume(part, sums, i);
    for (uint half_lanes = VOLUME_LANES / 2; half_lanes; half_lanes /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < half_lanes)
            lanes[i] += lanes[i + half_lanes];
    }
    if (i == 0)
        pressures[get_group_id(0)] = part->block_count ? cloth_pressure_at(part, lanes[0]) : 0;
}

/* One work-item per vertex: its free motion, without constraints. */
__kernel GROUP_OF(GROUP) void cloth_move(cloth_substep s, uint vertices, __global const double *w,
                                         __global const uint *corners, __global const uint *begin,
                                         __global const uint *faces, __global const uint *part_of,
                                         __global const cloth_part *parts,
                                         __global const double *pressures,
                                         __global const uint *held_of, __global cloth_hold *holds,
                                         __global const vec3 *velocity, __global const vec3 *x,
                                         __global vec3 *next) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    const uint part = part_of[i];
    const double pressure = s.has_pressure ? pressures[part] : 0;
    vec3 force = v3(0, 0, 0);
    for (uint k = begin[i]; k < begin[i + 1] && cloth_has_air(&s); k++)
        force =
            v3_add(force, cloth_push_of(&s, pressure, corners + 3 * (size_t)faces[k], x, velocity));
    __global cloth_hold *hold = s.has_holds && held_of[i] != ABUT_NONE ? &holds[held_of[i]] : 0;
    next[i] = cloth_moved(&s, parts[part].damping, w[i], force, velocity[i], x[i], hold);
}

/* One work-group per patch of a phase, which begins with patch `begin`: constraints change the
 * positions `next`. The global fence is for holds. */
#define SYNCHRONIZE() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
__kernel GROUP_OF(PATCH_LANES) void cloth_solve(
    cloth_substep s, uint begin, __global const cloth_patch *patches, __global const uint *list,
    __global const uint *rounds, __global const cloth_hinge *hinges,
    __global const cloth_edge *edges, __global const cloth_seam *seams, __global const double *w,
    __global const uint *held_of, __global cloth_hold *holds, __local vec3 *at,
    __local double *inverse, __global vec3 *next) {
    const cloth_patch p = patches[begin + get_group_id(0)];
    const uint item = (uint)get_local_id(0);
    const cloth_pins pins = {list + p.first, held_of, holds};
    for (uint i = item; i < p.count; i += PATCH_LANES) {
        uint v = list[p.first + i];
        at[i] = next[v];
        inverse[i] = w[v];
    }
    /* loads for the next round overlap with this one */
    uint from = rounds[p.first_round[CLOTH_HINGES]], to = from;
    cloth_hinge hinge;
    if (p.rounds[CLOTH_HINGES]) {
        to = rounds[p.first_round[CLOTH_HINGES] + 1];
        if (from + item < to)
            hinge = hinges[from + item];
    }
    for (uint k = 0; k < p.rounds[CLOTH_HINGES]; k++) {
        cloth_hinge mine = hinge;
        const bool has_one = from + item < to;
        from = to;
        if (k + 1 < p.rounds[CLOTH_HINGES]) {
            to = rounds[p.first_round[CLOTH_HINGES] + k + 2];
            if (from + item < to)
                hinge = hinges[from + item];
        }
        SYNCHRONIZE();
        if (has_one)
            cloth_hold_hinge(&s, mine, &pins, inverse, at);
    }
    from = to = rounds[p.first_round[CLOTH_EDGES]];
    cloth_edge edge;
    if (p.rounds[CLOTH_EDGES]) {
        to = rounds[p.first_round[CLOTH_EDGES] + 1];
        if (from + item < to)
            edge = edges[from + item];
    }
    for (uint k = 0; k < p.rounds[CLOTH_EDGES]; k++) {
        cloth_edge mine = edge;
        const bool has_one = from + item < to;
        from = to;
        if (k + 1 < p.rounds[CLOTH_EDGES]) {
            to = rounds[p.first_round[CLOTH_EDGES] + k + 2];
            if (from + item < to)
                edge = edges[from + item];
        }
        SYNCHRONIZE();
        if (has_one)
            cloth_hold_edge(&s, mine, &pins, inverse, at);
    }
    /* few, and not in most patches */
    from = rounds[p.first_round[CLOTH_SEAMS]];
    for (uint k = 0; k < p.rounds[CLOTH_SEAMS]; k++) {
        to = rounds[p.first_round[CLOTH_SEAMS] + k + 1];
        SYNCHRONIZE();
        if (from + item < to)
            cloth_hold_seam(&s, seams[from + item], &pins, inverse, at);
        from = to;
    }
    SYNCHRONIZE();
    for (uint i = item; i < p.count; i += PATCH_LANES)
        next[list[p.first + i]] = at[i];
}

/* Contacts, one work-item per vertex: from positions `next` to positions `to`, and the
 * velocities from those at the start of the substep. */
__kernel GROUP_OF(GROUP) void cloth_contacts(
    cloth_substep s, uint vertices, __global const double *w, __global const cloth_self *selves,
    __global const uint *corner_heads, __global const uint *corner_chain,
    __global const cloth_touch *touches, __global cloth_push *pushes, __global const uint *held_of,
    __global cloth_hold *holds, __global const vec3 *x, __global const vec3 *next,
    __global vec3 *to, __global vec3 *velocity) {
    const uint v = (uint)get_global_id(0);
    if (v >= vertices)
        return;
    __global cloth_hold *hold = s.has_holds && held_of[v] != ABUT_NONE ? &holds[held_of[v]] : 0;
    to[v] = cloth_keep_contacts(&s, v, w[v], selves, corner_heads, corner_chain, touches, pushes,
                                hold, x, next);
    velocity[v] = v3_scale(v3_sub(to[v], x[v]), 1 / s.h);
}

/* ---- the end of a step ---- */

/* The aims of all vertices, including those of bodies. */
__kernel GROUP_OF(GROUP) void cloth_aims(uint all, uint vertices, __global const vec3 *x,
                                         __global const vec3 *body_end, __global vec3 *aims,
                                         __global vec3 *end, __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= all)
        return;
    const vec3 to = cloth_aim_at(i, vertices, x, body_end);
    aims[i] = end[i] = to;
    if (isnan(to.x))
        atomic_or(&totals->odd, i < vertices ? 1u : 2u);
}

typedef struct cloth_hit { /* as abut_radial_hit */
    uint field;
    float time, normal[3], left;
} cloth_hit;

/* Final positions and velocities after fields have moved vertices. */
__kernel
GROUP_OF(GROUP) void cloth_apply_fields(uint vertices, double seconds, __global const double *w,
                                        __global const vec3 *start, __global const vec3 *aims,
                                        __global const cloth_hit *hits, __global vec3 *end,
                                        __global vec3 *velocity, __global cloth_totals *totals) {
    uint i = (uint)get_global_id(0);
    if (i >= vertices)
        return;
    end[i] = cloth_field_end(w[i], start[i], aims[i], end[i], seconds, &velocity[i]);
    float left = hits[i].left;
    if (left > 0)
        atomic_max(&totals->deepest, as_uint(left));
}

#endif
