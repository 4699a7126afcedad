/* Broad phase of bodies on a device: the pairs that broad.c finds on the host.
 *
 * world_check         validates poses
 * world_update_poses  copies changed poses to those of all items
 * world_boxes         motions and bounding boxes of items
 * world_curve         positions of items along a Morton curve, by which they are sorted
 * world_leaves        a tree of WORLD_CHILDREN children per node over that order: items, and
 * world_parents       nodes above, level by level
 * world_visits        nodes of a level that an item has to visit: one work-item per child
 * world_find_pairs    items of those nodes that it overlaps
 * world_place_pairs   moves pairs to the range of their lower item, where they are sorted
 *
 * Any order of items gives the same pairs; an order of an earlier step is still good. The smaller
 * of two items searches for the larger, so that a large item with many partners causes no long
 * list for one work-item. Boxes of nodes are floats, rounded outwards; those of items are the
 * doubles of the host.
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

/* ---- order ---- */

static bool is_empty(box3 box) {
    return box.lo.x > box.hi.x;
}

/* Spreads ten bits to every third position. */
static uint spread_bits(uint x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

/* Like choose_frame() in broad.c: three times as wide as the range of seven eighths of a sample of
 * the items. Each group computes it: a work-item has one element of the sample and counts those
 * below. */
__kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void
world_curve(__global const box3 *boxes, __global uint *keys, __global uint *order, uint count,
            __local real *room) {
    uint item = (uint)get_local_id(0), i = (uint)get_global_id(0);
    box3 sample = boxes[(ulong)item * count / WORLD_ITEMS];
    box3 own = boxes[i < count ? i : 0];
    uint key = 0;
    for (int axis = 0; axis < 3; axis++) {
        real middle = is_empty(sample) ? 0 : v3_get(box_centre(sample), axis);
        real extent = is_empty(sample) ? 0 : v3_get(v3_sub(sample.hi, sample.lo), axis);
        barrier(CLK_LOCAL_MEM_FENCE);
        room[item] = middle;
        room[WORLD_ITEMS + item] = extent;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint rank = 0;
        real largest = 0;
        for (uint k = 0; k < WORLD_ITEMS; k++) {
            rank += room[k] < middle || (room[k] == middle && k < item);
            largest = real_max(largest, room[WORLD_ITEMS + k]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (rank == WORLD_ITEMS / 16)
            room[0] = middle;
        if (rank == WORLD_ITEMS - 1 - WORLD_ITEMS / 16)
            room[1] = middle;
        barrier(CLK_LOCAL_MEM_FENCE);
        real width = room[1] - room[0] + largest, lo = room[0] - width;
        real place = (v3_get(box_centre(own), axis) - lo) / (3 * width);
        uint cell = width > 0 ? (uint)(real_clamp(place, 0, 1) * 1023) : 0;
        key |= spread_bits(cell) << axis;
    }
    if (i < count) {
        keys[i] = is_empty(own) ? ABUT_NONE : key;
        order[i] = i;
    }
}

/* ---- the tree ---- */

/* The longest side. The smaller of two items searches for the larger. */
static float longest_side(box3 box) {
    vec3 size = v3_sub(box.hi, box.lo);
    return is_empty(box) ? -1.0f : convert_float_rtz(real_max(size.x, real_max(size.y, size.z)));
}

static world_node empty_node(void) {
    world_node n;
    for (int axis = 0; axis < 3; axis++) {
        n.lo[axis] = FLT_MAX;
        n.hi[axis] = -FLT_MAX;
    }
    n.size = -1.0f;
    n.unused = 0;
    return n;
}

static world_node node_of(box3 box) {
    world_node n = empty_node();
    if (is_empty(box))
        return n;
    for (int axis = 0; axis < 3; axis++) {
        n.lo[axis] = convert_float_rtn(v3_get(box.lo, axis));
        n.hi[axis] = convert_float_rtp(v3_get(box.hi, axis));
    }
    n.size = longest_side(box);
    return n;
}

static world_node join_nodes(world_node a, world_node b) {
    for (int axis = 0; axis < 3; axis++) {
        a.lo[axis] = fmin(a.lo[axis], b.lo[axis]);
        a.hi[axis] = fmax(a.hi[axis], b.hi[axis]);
    }
    a.size = fmax(a.size, b.size);
    return a;
}

__kernel void world_leaves(__global const box3 *boxes, __global const uint *order,
                           __global world_node *nodes, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        nodes[i] = node_of(boxes[order[i]]);
}

/* Nodes from `to` on have `count` children, from `from` on. */
__kernel void world_parents(__global world_node *nodes, uint from, uint to, uint count) {
    uint i = (uint)get_global_id(0), begin = i * WORLD_CHILDREN;
    if (begin >= count)
        return;
    world_node all = empty_node();
    for (uint k = begin; k < min(begin + WORLD_CHILDREN, count); k++)
        all = join_nodes(all, nodes[from + k]);
    nodes[to + i] = all;
}

/* ---- traversal ---- */

static bool node_overlaps(world_node a, world_node b) {
    return a.lo[0] <= b.hi[0] && b.lo[0] <= a.hi[0] && a.lo[1] <= b.hi[1] && b.lo[1] <= a.hi[1] &&
           a.lo[2] <= b.hi[2] && b.lo[2] <= a.hi[2];
}

static bool is_ignored(__global const ulong *ignored, uint slots, uint a, uint b) {
    ulong key = world_ignored_key(a, b);
    uint slot = slots ? (uint)world_ignored_slot(key, slots) : 0;
    while (slots && ignored[slot] && ignored[slot] != key)
        slot = (slot + 1) & (slots - 1);
    return slots && ignored[slot] == key;
}

/* The nodes of a level, from `first_node` on, that an item has to visit: children of the listed
 * nodes of the level above, or, at the top, all. */
GROUP_OF_ITEMS world_visits(__global const world_node *nodes, __global const world_visit *from,
                            uint from_room, __global uint *totals, uint level, uint first_node,
                            uint node_count, uint items, int at_top, __global world_visit *to,
                            uint to_room, __local uint *room) {
    uint all =
        at_top ? items * node_count : list_length(totals, level + 1, from_room) * WORLD_CHILDREN;
    uint step = (uint)get_num_groups(0) * WORLD_ITEMS;
    for (uint first = (uint)get_group_id(0) * WORLD_ITEMS; first < all; first += step) {
        uint i = first + (uint)get_local_id(0), at = 0, node = node_count;
        if (i < all && at_top) {
            at = i / node_count;
            node = i % node_count;
        } else if (i < all) {
            world_visit parent = from[i / WORLD_CHILDREN];
            at = parent.at;
            node = parent.node * WORLD_CHILDREN + i % WORLD_CHILDREN;
        }
        bool wants = false;
        if (node < node_count) {
            world_node own = nodes[at], other = nodes[first_node + node];
            wants = other.size >= own.size && node_overlaps(own, other);
        }
        uint place = reserve_entry(wants, totals, level, to_room, room);
        if (place != ABUT_NONE) {
            to[place].at = at;
            to[place].node = node;
        }
    }
}

/* Whether an item searches for another, given by their positions in the order, and overlaps it. */
static bool is_pair(uint at, uint other, __global const world_node *nodes,
                    __global const uint *order, __global const world_body *bodies,
                    __global const box3 *boxes, __global const ulong *ignored, uint slots) {
    world_node own = nodes[at], node = nodes[other];
    if (own.size < 0 || node.size < own.size || (node.size == own.size && other <= at) ||
        !node_overlaps(own, node))
        return false;
    uint p = order[at], q = order[other];
    world_body a = bodies[p], b = bodies[q];
    return box_overlaps(boxes[p], boxes[q]) && world_may_collide(&a.filter, &b.filter) &&
           world_has_fields(a.filter.traits, b.filter.traits) &&
           !(a.ignored && b.ignored && is_ignored(ignored, slots, p, q));
}

/* The same for items instead of nodes. */
GROUP_OF_ITEMS world_find_pairs(__global const world_body *bodies, __global const box3 *boxes,
                                __global const uint *order, __global const world_node *nodes,
                                __global const ulong *ignored, uint slots,
                                __global const world_visit *from, uint from_room,
                                __global uint *totals, uint items, int at_top,
                                __global uint *partners, __global world_found_pair *met,
                                uint met_room, __local uint *room) {
    uint all = at_top ? items * items : list_length(totals, 1, from_room) * WORLD_CHILDREN;
    uint step = (uint)get_num_groups(0) * WORLD_ITEMS;
    for (uint first = (uint)get_group_id(0) * WORLD_ITEMS; first < all; first += step) {
        uint i = first + (uint)get_local_id(0), at = 0, other = items;
        if (i < all && at_top) {
            at = i / items;
            other = i % items;
        } else if (i < all) {
            at = from[i / WORLD_CHILDREN].at;
            other = from[i / WORLD_CHILDREN].node * WORLD_CHILDREN + i % WORLD_CHILDREN;
        }
        bool wants =
            other < items && is_pair(at, other, nodes, order, bodies, boxes, ignored, slots);
        uint place = reserve_entry(wants, totals, WORLD_PAIR_COUNT, met_room, room);
        if (wants) {
            uint p = order[at], q = order[other], a = min(p, q);
            uint rank = atomic_inc(&partners[a]);
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

#endif
