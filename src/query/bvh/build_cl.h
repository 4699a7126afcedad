/* Functions that the kernels of the BVH build share: layout, segments, plans; see bvh_levels.cl. */
#ifndef ABUTI_BVH_BUILD_CL_H
#define ABUTI_BVH_BUILD_CL_H

#include "bvh/build_shared.h"
#include "device/group_cl.h"

#define FLAT 0x1p-100f

/* ---- numbers ---- */

/* 1 / x for x from FLAT to 4 within two roundings. It has the same bits on all devices, unlike a
 * quotient: Newton steps from an approximation that is accurate to an eighth. */
static inline float reciprocal(float x) {
    float r = as_float(0x7ef311c3u - as_uint(x));
    for (uint i = 0; i < 4; i++)
        r = r * (2.0f - x * r);
    return r;
}

/* Half the surface area. */
static inline float half_area(float4 lo, float4 hi) {
    float4 d = hi - lo;
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

static inline uint leaf_count_of(uint count) {
    return (count + BVH_WIDTH - 1) / BVH_WIDTH;
}

static inline float component_of(float4 v, uint axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Writes the box of a slot of a node. */
static inline void write_box(__global bvh_node *to, uint slot, float4 lo, float4 hi) {
    BVH_AT(float, to->lo[0], slot) = lo.x;
    BVH_AT(float, to->lo[1], slot) = lo.y;
    BVH_AT(float, to->lo[2], slot) = lo.z;
    BVH_AT(float, to->hi[0], slot) = hi.x;
    BVH_AT(float, to->hi[1], slot) = hi.y;
    BVH_AT(float, to->hi[2], slot) = hi.z;
}

/* ---- plans: from two children to four ---- */

static inline void share_slots_by_cost(const plan *a, const plan *b, uint count, float *min_cost,
                                       uint *left) {
    *min_cost = INFINITY;
    for (uint k = 1; k < count; k++) {
        float sum = a->cost[k - 1] + b->cost[count - k - 1];
        if (sum < *min_cost) {
            *min_cost = sum;
            *left = k;
        }
    }
}

static inline void share_slots_by_count(const plan *a, const plan *b, uint count, uint *min_cost,
                                        uint *left) {
    *min_cost = ABUT_NONE;
    for (uint k = 1; k < count; k++) {
        uint sum = a->few[k - 1] + b->few[count - k - 1];
        if (sum < *min_cost) {
            *min_cost = sum;
            *left = k;
        }
    }
}

static inline plan leaf_plan(void) {
    plan p;
    for (uint k = 0; k < 4; k++) {
        p.cost[k] = 0.0f;
        p.nodes[k] = p.few[k] = 0;
    }
    p.left = p.unused[0] = p.unused[1] = p.unused[2] = 0;
    return p;
}

static inline plan join_plans(const plan *a, const plan *b, float own_cost) {
    plan p = leaf_plan();
    uint left = 0;
    share_slots_by_cost(a, b, BVH_WIDTH, &p.cost[0], &left);
    p.cost[0] += own_cost;
    p.nodes[0] = 1 + a->nodes[left - 1] + b->nodes[BVH_WIDTH - left - 1];
    p.left = left;
    share_slots_by_count(a, b, BVH_WIDTH, &p.few[0], &left);
    p.few[0]++;
    p.left |= left << 8;
    for (uint k = 2; k <= BVH_WIDTH; k++) {
        share_slots_by_cost(a, b, k, &p.cost[k - 1], &left);
        if (p.cost[k - 1] < p.cost[k - 2]) {
            p.left |= left << 2 * (k - 1);
            p.nodes[k - 1] = a->nodes[left - 1] + b->nodes[k - left - 1];
        } else {
            p.cost[k - 1] = p.cost[k - 2];
            p.nodes[k - 1] = p.nodes[k - 2];
        }
        share_slots_by_count(a, b, k, &p.few[k - 1], &left);
        if (p.few[k - 1] < p.few[k - 2])
            p.left |= left << (2 * (k - 1) + 8);
        else
            p.few[k - 1] = p.few[k - 2];
    }
    return p;
}

/* Computes box and plan of a node whose children have theirs. */
static inline void join_children(uint node, __global const uint *right, __global float4 *node_boxes,
                                 __global plan *plans, float node_cost) {
    size_t a = (size_t)node + 1, b = right[node];
    float4 lo = fmin(node_boxes[2 * a], node_boxes[2 * b]);
    float4 hi = fmax(node_boxes[2 * a + 1], node_boxes[2 * b + 1]);
    plan first = plans[a], second = plans[b];
    node_boxes[2 * (size_t)node] = lo;
    node_boxes[2 * (size_t)node + 1] = hi;
    plans[node] = join_plans(&first, &second, half_area(lo, hi) + node_cost);
}

#endif
