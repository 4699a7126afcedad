/* From the binary tree to nodes of four. See bvh_levels.cl for the whole.
 *
 * Every binary node finds out for itself what becomes of it, by a walk to the root. No node waits
 * for its parent, so one launch does it all.
 */
#include "bvh/build_cl.h"

static inline uint left_of(uint left, uint slots) {
    return left >> 2 * (slots - 1) & 3;
}

/* The nodes of segments, from level `last` up to `first`. Several levels need a single group. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_plan(__global const segment *segments, __global const uint *counters,
           __global const uint *right, __global float4 *node_boxes, __global plan *plans, uint room,
           uint first, uint last, float node_cost) {
    for (uint level = last + 1; level-- > first;) {
        uint count = counters[level];
        for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
            join_children(segments[(size_t)level * room + i].node, right, node_boxes, plans,
                          node_cost);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* ---- nodes ---- */

/* How many slots a node really fills when it may fill `slots`; 1 = it is a node of four itself. */
static inline uint real_slots(uint left, uint slots) {
    while (slots > 1 && !left_of(left, slots))
        slots--;
    return slots;
}

static inline uint nodes_below(__global const plan *p, uint slots, bool few) {
    return few ? p->few[slots - 1] : p->nodes[slots - 1];
}

/* Walks from a binary node to the root. What the node becomes depends on how many slots it gets,
 * and that on what its parent gets; so on the way up four answers are kept, one for each number of
 * slots of the ancestor that has been reached. The root gets one. */
typedef struct walk {
    uint slots, before, depth; /* nodes of four before it, and above it */
} walk;

static inline walk walk_up(uint node, __global const uint *right, __global const uint *parent,
                           __global const plan *plans, bool few) {
    walk at[4];
    for (uint k = 0; k < 4; k++) {
        at[k].slots = k + 1;
        at[k].before = at[k].depth = 0;
    }
    for (uint up = parent[node]; up != ABUT_NONE; node = up, up = parent[up]) {
        walk next[4];
        bool is_right = right[up] == node;
        uint left = plans[up].left >> (few ? 8 : 0) & 255;
        for (uint k = 0; k < 4; k++) {
            uint slots = real_slots(left, k + 1), first = left_of(left, slots);
            uint mine = is_right ? (slots == 1 ? BVH_WIDTH : slots) - first : first;
            next[k].slots = mine == 1 ? at[0].slots : mine == 2 ? at[1].slots : at[2].slots;
            next[k].before = mine == 1 ? at[0].before : mine == 2 ? at[1].before : at[2].before;
            next[k].depth = mine == 1 ? at[0].depth : mine == 2 ? at[1].depth : at[2].depth;
            next[k].before += slots == 1;
            next[k].depth += slots == 1;
            if (is_right)
                next[k].before += nodes_below(&plans[(size_t)up + 1], first, few);
        }
        for (uint k = 0; k < 4; k++)
            at[k] = next[k];
    }
    return at[0];
}

/* The children of a node of four, from left to right. */
static inline uint open_node(uint node, __global const uint *right, __global const plan *plans,
                             bool few, uint *children) {
    uint stack[BVH_WIDTH], slots[BVH_WIDTH], used = 0, count = 0, shift = few ? 8 : 0;
    uint first = left_of(plans[node].left >> shift & 255, 1);
    stack[used] = right[node];
    slots[used++] = BVH_WIDTH - first;
    stack[used] = node + 1;
    slots[used++] = first;
    while (used) {
        uint at = stack[--used], left = plans[at].left >> shift & 255;
        uint here = real_slots(left, slots[used]);
        if (here == 1) {
            children[count++] = at;
            continue;
        }
        first = left_of(left, here);
        stack[used] = right[at];
        slots[used++] = here - first;
        stack[used] = at + 1;
        slots[used++] = first;
    }
    return count;
}

static inline void write_slot(__global bvh_node *to, __global uint2 *slot_ranges, uint slot,
                              float4 lo, float4 hi, uint child, uint2 range) {
    write_box(to, slot, lo, hi);
    BVH_AT(uint, to->child, slot) = child;
    slot_ranges[slot] = range;
}

static inline void write_node(uint node, uint number, __global const uint *right,
                              __global const uint2 *ranges, __global const float4 *node_boxes,
                              __global const plan *plans, bool few, __global bvh_node *to,
                              __global uint2 *slot_ranges) {
    uint children[BVH_WIDTH], count = 1, next = number + 1;
    children[0] = node; /* the whole tree is a leaf */
    if (right[node])
        count = open_node(node, right, plans, few, children);
    for (uint slot = 0; slot < BVH_WIDTH; slot++) {
        if (slot >= count) {
            float4 none = (float4)(INFINITY);
            write_slot(to, slot_ranges, slot, none, -none, ABUT_NONE, (uint2)(0, 0));
            continue;
        }
        size_t child = children[slot];
        bool leaf = right[child] == 0;
        write_slot(to, slot_ranges, slot, node_boxes[2 * child], node_boxes[2 * child + 1],
                   leaf ? BVH_LEAF | ranges[child].x : next, ranges[child]);
        next += leaf ? 0 : nodes_below(&plans[child], 1, few);
    }
}

/* One item a binary node. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_nodes(__global const uint *right, __global const uint *parent, __global const uint2 *ranges,
            __global const float4 *node_boxes, __global const plan *plans, __global bvh_node *nodes,
            __global uint2 *slot_ranges, __global uint *counters, uint count, uint room,
            __local uint *deepest) {
    uint node = (uint)get_global_id(0);
    bool few = plans[0].nodes[0] > room; /* hostile: as few as can be */
    if (get_local_id(0) == 0)
        *deepest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (node < count && (right[node] || count == 1)) {
        walk at = walk_up(node, right, parent, plans, few);
        uint left = plans[node].left >> (few ? 8 : 0) & 255;
        if (real_slots(left, at.slots) == 1 && at.before < room) {
            write_node(node, at.before, right, ranges, node_boxes, plans, few, nodes + at.before,
                       slot_ranges + (size_t)at.before * BVH_WIDTH);
            atomic_max(deepest, at.depth + 1);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_max(&counters[DEPTH], *deepest);
    if (node == 0)
        counters[NODE_COUNT] = count == 1 ? 1 : few ? plans[0].few[0] : plans[0].nodes[0];
}
