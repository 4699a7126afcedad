/* Pairs of bodies of a world whose boxes overlap: what broad.c finds of them on the host.
 *
 * world_check     whether poses are sound
 * world_turn      poses that have changed, to those of all items
 * world_boxes     motions and boxes of items
 * world_curve     where items are along a Morton curve, by which they are sorted
 * world_leaves    a tree of WORLD_CHILDREN children a node over that order: its lowest nodes, and
 * world_parents   those above, level by level
 * world_meet      each item asks the tree for those that it meets
 * world_place     pairs, each to the place of its lower item; then they are sorted
 *
 * Any order of items gives the same pairs; one that was good a while ago is good still. Of two
 * items the smaller asks, so that a large one with many others on it keeps no one waiting. Boxes of
 * nodes are floats, rounded outwards; those of items are the doubles that the host has.
 */
#include "world/world_shared.h"

#if ABUTI_REAL_BITS == 64

__kernel void world_check(__global const pose *poses, __global uint *bad, uint count, real most) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    pose p = poses[i];
    bool sound = fabs(p.rotation.x) <= DBL_MAX && fabs(p.rotation.y) <= DBL_MAX &&
                 fabs(p.rotation.z) <= DBL_MAX && fabs(p.rotation.w) <= DBL_MAX &&
                 fabs(p.translation.x) <= most && fabs(p.translation.y) <= most &&
                 fabs(p.translation.z) <= most;
    if (!sound)
        atomic_min(bad, i);
}

/* last[item]: its new pose, or ABUT_NONE. */
__kernel void world_turn(__global const pose *poses, __global const uint *last, __global pose *to,
                         uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count && last[i] != ABUT_NONE)
        to[i] = poses[last[i]];
}

/* Also begins to count: partners[item], and totals. */
__kernel void world_boxes(__global const world_body *bodies, __global const pose *poses,
                          __global contact_motion *motions, __global box3 *boxes,
                          __global uint *partners, __global uint *totals, uint count, real margin) {
    uint i = (uint)get_global_id(0);
    if (i < WORLD_MEET_TOTALS)
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
    boxes[i] = bodies[i].filter.group ? world_box(bodies[i].box, &m, margin) : none;
}

/* ---- order ---- */

static bool is_empty(box3 box) {
    return box.lo.x > box.hi.x;
}

/* Ten bits to every third. */
static uint spread_bits(uint x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

/* As choose_frame() of broad.c: three times as wide as where seven eighths of a sample of the items
 * are. Each group finds it for itself: an item takes one of the sample, and counts those below. */
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

/* The longest side: of two items the one with less of it asks. */
static float size_of(box3 box) {
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
    n.size = size_of(box);
    return n;
}

static world_node join(world_node a, world_node b) {
    for (int axis = 0; axis < 3; axis++) {
        a.lo[axis] = fmin(a.lo[axis], b.lo[axis]);
        a.hi[axis] = fmax(a.hi[axis], b.hi[axis]);
    }
    a.size = fmax(a.size, b.size);
    return a;
}

__kernel void world_leaves(__global const box3 *boxes, __global const uint *order,
                           __global world_node *nodes, uint count) {
    uint i = (uint)get_global_id(0), begin = i * WORLD_CHILDREN;
    if (begin >= count)
        return;
    world_node all = empty_node();
    for (uint k = begin; k < min(begin + WORLD_CHILDREN, count); k++)
        all = join(all, node_of(boxes[order[k]]));
    nodes[i] = all;
}

/* Nodes from `to` on have `count` children, from `from` on. */
__kernel void world_parents(__global world_node *nodes, uint from, uint to, uint count) {
    uint i = (uint)get_global_id(0), begin = i * WORLD_CHILDREN;
    if (begin >= count)
        return;
    world_node all = empty_node();
    for (uint k = begin; k < min(begin + WORLD_CHILDREN, count); k++)
        all = join(all, nodes[from + k]);
    nodes[to + i] = all;
}

/* ---- who meets whom ---- */

static bool node_overlaps(world_node a, world_node b) {
    return a.lo[0] <= b.hi[0] && b.lo[0] <= a.hi[0] && a.lo[1] <= b.hi[1] && b.lo[1] <= a.hi[1] &&
           a.lo[2] <= b.hi[2] && b.lo[2] <= a.hi[2];
}

/* What an item asks with. */
typedef struct asker {
    world_node node;
    box3 box;
    world_body body;
    uint at, item; /* its place in the order, and its number */
} asker;

static bool is_ignored(__global const ulong *ignored, uint slots, uint a, uint b) {
    ulong key = world_ignored_key(a, b);
    uint slot = slots ? (uint)world_ignored_home(key, slots) : 0;
    while (slots && ignored[slot] && ignored[slot] != key)
        slot = (slot + 1) & (slots - 1);
    return slots && ignored[slot] == key;
}

static bool meets(const asker *q, uint at, uint item, __global const world_body *bodies,
                  __global const box3 *boxes, __global const ulong *ignored, uint slots) {
    box3 box = boxes[item];
    float size = size_of(box);
    if (size < q->node.size || (size == q->node.size && at <= q->at) || !box_overlaps(q->box, box))
        return false;
    world_body body = bodies[item];
    return world_may_meet(&q->body.filter, &body.filter) &&
           world_has_fields(q->body.filter.traits, body.filter.traits) &&
           !(q->body.ignored && body.ignored && is_ignored(ignored, slots, q->item, item));
}

/* Levels of nodes one after the other, the lowest first; the last has at most WORLD_CHILDREN. */
__kernel void world_meet(__global const world_body *bodies, __global const box3 *boxes,
                         __global const uint *order, __global const world_node *nodes,
                         __global const ulong *ignored, __global uint *partners,
                         __global uint *totals, __global world_met *met, uint met_room, uint slots,
                         uint count) {
    uint place = (uint)get_global_id(0), counts[WORLD_LEVELS], firsts[WORLD_LEVELS], top = 0;
    if (place >= count)
        return;
    asker q;
    q.at = place;
    q.item = order[place];
    q.box = boxes[q.item];
    if (is_empty(q.box))
        return;
    q.node = node_of(q.box);
    q.body = bodies[q.item];
    counts[0] = (count + WORLD_CHILDREN - 1) / WORLD_CHILDREN;
    firsts[0] = 0;
    while (counts[top] > WORLD_CHILDREN && top + 1 < WORLD_LEVELS) {
        firsts[top + 1] = firsts[top] + counts[top];
        counts[top + 1] = (counts[top] + WORLD_CHILDREN - 1) / WORLD_CHILDREN;
        top++;
    }
    uint level = top, i = 0, visits = 0;
    while (level <= top && i < counts[level]) {
        world_node node = nodes[firsts[level] + i];
        bool is_near = node.size >= q.node.size && node_overlaps(node, q.node);
        visits++;
        if (is_near && level > 0) {
            level--;
            i *= WORLD_CHILDREN;
            continue;
        }
        for (uint at = i * WORLD_CHILDREN; is_near && at < min((i + 1) * WORLD_CHILDREN, count);
             at++) {
            uint other = order[at];
            if (!meets(&q, at, other, bodies, boxes, ignored, slots))
                continue;
            uint a = min(q.item, other), b = max(q.item, other);
            uint to = atomic_inc(&totals[WORLD_MET]), rank = atomic_inc(&partners[a]);
            if (to == ABUT_NONE)
                atomic_inc(&totals[WORLD_MET + 1]);
            if (to < met_room) {
                met[to].a = a;
                met[to].b = b;
                met[to].rank = rank;
            }
        }
        /* To the next one, or to that of a level above. */
        i++;
        while (level < top && (i % WORLD_CHILDREN == 0 || i == counts[level])) {
            i = (i - 1) / WORLD_CHILDREN + 1;
            level++;
        }
    }
    if (place % WORLD_ITEMS == 0)
        atomic_add(&totals[WORLD_VISITS], visits);
}

/* first[item] is where its pairs begin. */
__kernel void world_place(__global const world_met *met, __global const uint *first,
                          __global world_two *pairs, uint count) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    world_met m = met[i];
    pairs[first[m.a] + m.rank].a = m.a;
    pairs[first[m.a] + m.rank].b = m.b;
}

#endif
