/* From the binary tree to four-wide nodes. bvh_levels.cl describes the whole build.
 *
 * Every binary node determines its own result by a walk to the root. No node waits for its parent,
 * so one launch is sufficient.
 */
#include "bvh/build_cl.h"

static inline uint left_slots(uint left, uint slots) {
    return left >> 2 * (slots - 1) & 3;
}

/* The nodes of segments, from level `last` up to `first`. Several levels need a single work-group.
 */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_plan(__global const segment *segments, __global const uint *counters,
           __global const uint *right, __global float4 *node_boxes, __global plan *plans,
           uint node_capacity, uint first, uint last, float node_cost) {
    for (uint level = last + 1; level-- > first;) {
        uint count = counters[level];
        for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
            join_children(segments[(size_t)level * node_capacity + i].node, right, node_boxes,
                          plans, node_cost);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* ---- nodes ---- */

/* The number of slots that a node fills if it may fill `slots`; 1 = it is a four-wide node itself.
 */
static inline uint filled_slots(uint left, uint slots) {
    while (slots > 1 && !left_slots(left, slots))
        slots--;
    return slots;
}

static inline uint nodes_below(__global const plan *p, uint slots, bool use_fewest) {
    return use_fewest ? p->few[slots - 1] : p->nodes[slots - 1];
}

/* Walks from a binary node to the root. The result for a node depends on its number of slots, and
 * that on the number of its parent; so four results are kept on the way up, one for each number of
 * slots of the current ancestor. The root has one. */
typedef struct ancestor_walk {
    uint slots, before, depth; /* four-wide nodes before it, and above it */
} ancestor_walk;

static inline ancestor_walk walk_up(uint node, __global const uint *right,
                                    __global const uint *parent, __global const plan *plans,
                                    bool use_fewest) {
    ancestor_walk at[4];
    for (uint k = 0; k < 4; k++) {
        at[k].slots = k + 1;
        at[k].before = at[k].depth = 0;
    }
    for (uint up = parent[node]; up != ABUT_NONE; node = up, up = parent[up]) {
        ancestor_walk next[4];
        bool is_right = right[up] == node;
        uint left = plans[up].left >> (use_fewest ? 8 : 0) & 255;
        for (uint k = 0; k < 4; k++) {
            uint slots = filled_slots(left, k + 1), first = left_slots(left, slots);
            uint mine = is_right ? (slots == 1 ? BVH_WIDTH : slots) - first : first;
            next[k].slots = mine == 1 ? at[0].slots : mine == 2 ? at[1].slots : at[2].slots;
            next[k].before = mine == 1 ? at[0].before : mine == 2 ? at[1].before : at[2].before;
            next[k].depth = mine == 1 ? at[0].depth : mine == 2 ? at[1].depth : at[2].depth;
            next[k].before += slots == 1;
            next[k].depth += slots == 1;
            if (is_right)
                next[k].before += nodes_below(&plans[(size_t)up + 1], first, use_fewest);
        }
        for (uint k = 0; k < 4; k++)
            at[k] = next[k];
    }
    return at[0];
}

/* Collects the children of a four-wide node, from left to right. */
static inline uint collect_children(uint node, __global const uint *right,
                                    __global const plan *plans, bool use_fewest, uint *children) {
    uint stack[BVH_WIDTH], slots[BVH_WIDTH], used = 0, count = 0, shift = use_fewest ? 8 : 0;
    uint first = left_slots(plans[node].left >> shift & 255, 1);
    stack[used] = right[node];
    slots[used++] = BVH_WIDTH - first;
    stack[used] = node + 1;
    slots[used++] = first;
    while (used) {
        uint at = stack[--used], left = plans[at].left >> shift & 255;
        uint here = filled_slots(left, slots[used]);
        if (here == 1) {
            children[count++] = at;
            continue;
        }
        first = left_slots(left, here);
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
                              __global const plan *plans, bool use_fewest, __global bvh_node *to,
                              __global uint2 *slot_ranges) {
    uint children[BVH_WIDTH], count = 1, next = number + 1;
    children[0] = node; /* the whole tree is a leaf */
    if (right[node])
        count = collect_children(node, right, plans, use_fewest, children);
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
        next += leaf ? 0 : nodes_below(&plans[child], 1, use_fewest);
    }
}

/* One work-item per binary node. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_nodes(__global const uint *right, __global const uint *parent, __global const uint2 *ranges,
            __global const float4 *node_boxes, __global const plan *plans, __global bvh_node *nodes,
            __global uint2 *slot_ranges, __global uint *counters, uint count, uint node_capacity,
            __local uint *deepest) {
    uint node = (uint)get_global_id(0);
    bool use_fewest =
        plans[0].nodes[0] > node_capacity; /* adversarial input: use the fewest nodes */
    if (get_local_id(0) == 0)
        *deepest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (node < count && (right[node] || count == 1)) {
        ancestor_walk at = walk_up(node, right, parent, plans, use_fewest);
        uint left = plans[node].left >> (use_fewest ? 8 : 0) & 255;
        if (filled_slots(left, at.slots) == 1 && at.before < node_capacity) {
            write_node(node, at.before, right, ranges, node_boxes, plans, use_fewest,
                       nodes + at.before, slot_ranges + (size_t)at.before * BVH_WIDTH);
            atomic_max(deepest, at.depth + 1);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_max(&counters[DEPTH], *deepest);
    if (node == 0)
        counters[NODE_COUNT] = count == 1 ? 1 : use_fewest ? plans[0].few[0] : plans[0].nodes[0];
}
