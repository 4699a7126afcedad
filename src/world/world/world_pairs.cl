/* Broad phase of bodies on a device: the pairs that broad_phase.c finds on the host.
 *
 * world_check         validates poses
 * world_update_poses  copies changed poses to those of all items
 * world_boxes         motions and bounding boxes of items
 * world_box_keys      keys by which items are sorted along an axis
 * world_find_pairs    items whose boxes overlap: sort and sweep (Baraff 1992, section 5.2)
 * world_place_pairs   moves pairs to the range of their lower item, where they are sorted
 * world_name_items    replaces indices in pairs and contacts by ids
 *
 * Keys are floats, rounded outwards. Boxes are compared as the doubles of the host.
 */
#include "world/world_cl.h"

#if ABUTI_REAL_BITS == 64

__kernel void world_check(__global const pose *poses, __global uint *bad, uint count, real most) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    pose p = poses[i];
    bool is_valid = fabs(p.rotation.x) <= DBL_MAX && fabs(p.rotation.y) <= DBL_MAX &&
                    fabs(p.rotation.z) <= DBL_MAX && fabs(p.rotation.w) <= DBL_MAX &&
                    fabs(p.translation.x) <= most && fabs(p.translation.y) <= most &&
                    fabs(p.translation.z) <= most;
    if (!is_valid)
        atomic_min(bad, i);
}

/* last[item]: its new pose, or ABUT_NONE. */
__kernel void world_update_poses(__global const pose *poses, __global const uint *last,
                                 __global pose *to, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count && last[i] != ABUT_NONE)
        to[i] = poses[last[i]];
}

/* Also resets the counters partners[item] and totals. */
__kernel void world_boxes(__global const world_body *bodies, __global const pose *poses,
                          __global contact_motion *motions, __global box3 *boxes,
                          __global uint *partners, __global uint *totals, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < WORLD_PAIR_TOTALS)
        totals[i] = 0;
    if (i >= count)
        return;
    pose p = poses[i];
    contact_motion m;
    m.turn = quat_matrix(p.rotation);
    m.shift = p.translation;
    motions[i] = m;
    partners[i] = 0;
    box3 none = {{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
    boxes[i] = bodies[i].filter.group ? world_box(bodies[i].box, &m, bodies[i].margin) : none;
}

/* ---- sort and sweep ---- */

static bool is_empty(box3 box) {
    return box.lo.x > box.hi.x;
}

/* An integer with the order of floats. */
static uint ordered_bits(float x) {
    uint bits = as_uint(x);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

/* The keys by which items are sorted: lower ends of their boxes along the axis on which seven
 * eighths of a sample of the items are spread farthest. Each group determines the axis: a work-item
 * has one element of the sample and counts those below. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_box_keys(__global const box3 *boxes, __global uint *keys, __global uint *order,
               __global uint *totals, uint count, __local real *room) {
    uint item = (uint)get_local_id(0), i = (uint)get_global_id(0);
    box3 sample = boxes[(ulong)item * count / WORLD_ITEMS];
    box3 own = boxes[i < count ? i : 0];
    real widest = -1;
    int axis = 0;
    for (int k = 0; k < 3; k++) {
        real middle = is_empty(sample) ? 0 : v3_get(box_centre(sample), k);
        barrier(CLK_LOCAL_MEM_FENCE);
        room[item] = middle;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint rank = 0;
        for (uint other = 0; other < WORLD_ITEMS; other++)
            rank += room[other] < middle || (room[other] == middle && other < item);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (rank == WORLD_ITEMS / 16)
            room[0] = middle;
        if (rank == WORLD_ITEMS - 1 - WORLD_ITEMS / 16)
            room[1] = middle;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (room[1] - room[0] > widest) {
            widest = room[1] - room[0];
            axis = k;
        }
    }
    if (i == 0)
        totals[WORLD_PAIR_AXIS] = (uint)axis;
    if (i < count) {
        keys[i] = is_empty(own) ? ABUT_NONE : ordered_bits(convert_float_rtn(v3_get(own.lo, axis)));
        order[i] = i;
    }
}

static bool is_ignored(__global const ulong *ignored, uint slots, uint a, uint b) {
    ulong key = world_ignored_key(a, b);
    uint slot = slots ? (uint)world_ignored_slot(key, slots) : 0;
    while (slots && ignored[slot] && ignored[slot] != key)
        slot = (slot + 1) & (slots - 1);
    return slots && ignored[slot] == key;
}

static bool is_pair(uint p, uint q, __global const world_body *bodies, __global const box3 *boxes,
                    __global const ulong *ignored, uint slots) {
    world_body a = bodies[p], b = bodies[q];
    return box_overlaps(boxes[p], boxes[q]) && world_may_collide(&a.filter, &b.filter) &&
           world_has_fields(a.filter.traits, b.filter.traits) &&
           !(a.ignored && b.ignored && is_ignored(ignored, slots, p, q));
}

/* A work-group compares one item with those that begin before it ends. */
GROUP_OF_ITEMS world_find_pairs(__global const world_body *bodies, __global const box3 *boxes,
                                __global const uint *keys, __global const uint *order,
                                __global const ulong *ignored, uint slots, uint items,
                                __global uint *totals, __global uint *partners,
                                __global world_found_pair *met, uint met_room, __local uint *room) {
    uint at = (uint)get_group_id(0), p = order[at];
    float hi = convert_float_rtp(v3_get(boxes[p].hi, (int)totals[WORLD_PAIR_AXIS]));
    uint end = keys[at] == ABUT_NONE ? 0 : ordered_bits(hi);
    for (uint first = at + 1; first < items && keys[first] <= end; first += WORLD_ITEMS) {
        uint other = first + (uint)get_local_id(0);
        uint q = other < items && keys[other] <= end ? order[other] : p;
        bool wants = q != p && is_pair(p, q, bodies, boxes, ignored, slots);
        uint place = reserve_entry(wants, totals, WORLD_PAIR_COUNT, met_room, room);
        if (wants) {
            uint a = min(p, q), rank = atomic_inc(&partners[a]);
            if (place != ABUT_NONE) {
                met[place].a = a;
                met[place].b = max(p, q);
                met[place].rank = rank;
            }
        }
    }
}

/* first[item] is the first pair of the item. */
__kernel void world_place_pairs(__global const world_found_pair *met, __global const uint *first,
                                __global world_two *pairs, uint count) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    world_found_pair m = met[i];
    pairs[first[m.a] + m.rank].a = m.a;
    pairs[first[m.a] + m.rank].b = m.b;
}

/* Replaces indices of items by their ids. */
__kernel void world_name_items(__global const world_body *bodies, __global world_two *pairs,
                               uint pair_count, __global world_contact *contacts,
                               uint contact_count) {
    uint i = (uint)get_global_id(0);
    if (i < pair_count) {
        pairs[i].a = bodies[pairs[i].a].id;
        pairs[i].b = bodies[pairs[i].b].id;
    }
    if (i < contact_count) {
        contacts[i].a = bodies[contacts[i].a].id;
        contacts[i].b = bodies[contacts[i].b].id;
    }
}

#endif
