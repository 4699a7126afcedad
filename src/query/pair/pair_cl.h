/* Functions that the kernels of pair queries share: nodes and triangles of two BVHs in the common
 * frame of pair.h, in the axes of a. */
#ifndef ABUTI_PAIR_PAIR_CL_H
#define ABUTI_PAIR_PAIR_CL_H

#include "bvh/bvh_shared.h"
#include "pair/pair_shared.h"
#include "pair/triangles_shared.h"

/* One of the two BVHs. */
typedef struct side {
    __global const bvh_node *nodes;
    __global const float *triangles; /* 9 floats per place */
    __global const uint *order;      /* the triangle at a place */
    float unit;
} side;

/* Transforms a point of b into the axes of a. */
static inline wide3 to_side_a(const pair_pose *p, wide3 y) {
    return make3(
        p->shift[0] + p->rotation[0][0] * y.x + p->rotation[1][0] * y.y + p->rotation[2][0] * y.z,
        p->shift[1] + p->rotation[0][1] * y.x + p->rotation[1][1] * y.y + p->rotation[2][1] * y.z,
        p->shift[2] + p->rotation[0][2] * y.x + p->rotation[1][2] * y.y + p->rotation[2][2] * y.z);
}

/* ---- boxes ---- */

typedef struct box {
    wide3 centre, half_size;
} box;

static inline box box_at(const side *s, uint place) {
    __global const bvh_node *at = s->nodes + place / BVH_WIDTH;
    __global const float *lo = (__global const float *)at->lo + place % BVH_WIDTH,
                         *hi = (__global const float *)at->hi + place % BVH_WIDTH;
    float h = 0.5f * s->unit;
    box b = {make3((lo[0] + hi[0]) * h, (lo[4] + hi[4]) * h, (lo[8] + hi[8]) * h),
             make3((hi[0] - lo[0]) * h, (hi[4] - lo[4]) * h, (hi[8] - lo[8]) * h)};
    return b;
}

static inline uint child_at(const side *s, uint place) {
    return BVH_AT(const uint, s->nodes[place / BVH_WIDTH].child, place % BVH_WIDTH);
}

/* The places of a pair after a step into the child in this slot of the larger box. Not for two
 * leaves. */
static inline uint2 child_pair(const side *a, const side *b, uint2 pair, uint slot) {
    uint child_a = child_at(a, pair.x), child_b = child_at(b, pair.y);
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    bool opens_b = child_a & BVH_LEAF ||
                   (!(child_b & BVH_LEAF) && sum3(box_b.half_size) > sum3(box_a.half_size));
    return opens_b ? (uint2)(pair.x, child_b * BVH_WIDTH + slot)
                   : (uint2)(child_a * BVH_WIDTH + slot, pair.y);
}

static inline bool are_leaves(const side *a, const side *b, uint2 pair) {
    return child_at(a, pair.x) & child_at(b, pair.y) & BVH_LEAF;
}

/* ---- triangles ---- */

/* The places of the i-th of the 16 pairs of triangles of two leaves. */
static inline uint2 triangle_pair(const side *a, const side *b, uint2 leaves, uint i) {
    return (uint2)((child_at(a, leaves.x) & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH,
                   (child_at(b, leaves.y) & ~BVH_LEAF) * BVH_WIDTH + i % BVH_WIDTH);
}

static inline void load_corners(const side *s, uint place, wide3 *to) {
    __global const float *from = s->triangles + 9 * (size_t)place;
    for (int k = 0; k < 3; k++)
        to[k] = make3(from[3 * k] * s->unit, from[3 * k + 1] * s->unit, from[3 * k + 2] * s->unit);
}

/* Loads the corners of a triangle of a, and those of b in the axes of a. */
static inline void load_pair(const pair_pose *p, const side *a, const side *b, uint2 at,
                             wide3 *to_a, wide3 *to_b) {
    load_corners(a, at.x, to_a);
    load_corners(b, at.y, to_b);
    for (int k = 0; k < 3; k++)
        to_b[k] = to_side_a(p, to_b[k]);
}

#endif
