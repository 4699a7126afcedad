/* What the kernels of pair queries share: nodes and triangles of two hierarchies in the common
 * frame of pair.h, as a sees them. */
#ifndef ABUTI_PAIR_PAIR_CL_H
#define ABUTI_PAIR_PAIR_CL_H

#include "base/math_shared.h"

#define WIDTH 4
#define LEAF 0x80000000u
#define NONE 0xffffffffu

typedef struct node {
    float4 lo[3], hi[3];
    uint4 child;
} node;

/* Where b is seen from a: x = turn y + shift. */
typedef struct pair_pose {
    float turn[3][3]; /* columns */
    float shift[3];
    float pad, unit_a, unit_b;
    uint skip; /* not for the device */
    /* Of distances: how much they err, how far to look, and below what the first found will do. */
    float margin, upper, sure, unused;
} pair_pose;

/* One of the two hierarchies. */
typedef struct side {
    __global const node *nodes;
    __global const float *triangles; /* 9 a place */
    __global const uint *order;      /* the triangle at a place */
    float unit;
} side;

typedef struct vec {
    float x, y, z;
} vec;

static inline vec make_vec(float x, float y, float z) {
    vec v = {x, y, z};
    return v;
}
static inline vec vec_sub(vec a, vec b) {
    return make_vec(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline vec vec_cross(vec a, vec b) {
    return make_vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline float vec_dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline float vec_sum(vec a) {
    return fabs(a.x) + fabs(a.y) + fabs(a.z);
}
static inline float vec_largest(vec a) {
    return fmax(fmax(fabs(a.x), fabs(a.y)), fabs(a.z));
}

/* y as a sees it */
static inline vec turned(const pair_pose *p, vec y) {
    return make_vec(p->shift[0] + p->turn[0][0] * y.x + p->turn[1][0] * y.y + p->turn[2][0] * y.z,
                    p->shift[1] + p->turn[0][1] * y.x + p->turn[1][1] * y.y + p->turn[2][1] * y.z,
                    p->shift[2] + p->turn[0][2] * y.x + p->turn[1][2] * y.y + p->turn[2][2] * y.z);
}

/* ---- boxes ---- */

typedef struct box {
    vec middle, half_size;
} box;

static inline box box_at(const side *s, uint place) {
    __global const node *at = s->nodes + place / WIDTH;
    __global const float *lo = (__global const float *)at->lo + place % WIDTH,
                         *hi = (__global const float *)at->hi + place % WIDTH;
    float h = 0.5f * s->unit;
    box b = {make_vec((lo[0] + hi[0]) * h, (lo[4] + hi[4]) * h, (lo[8] + hi[8]) * h),
             make_vec((hi[0] - lo[0]) * h, (hi[4] - lo[4]) * h, (hi[8] - lo[8]) * h)};
    return b;
}

static inline uint child_at(const side *s, uint place) {
    return ((__global const uint *)&s->nodes[place / WIDTH].child)[place % WIDTH];
}

/* The places of a pair after a step down, into the child in this slot of the larger box. Not for
 * two leaves. */
static inline uint2 pair_below(const side *a, const side *b, uint2 pair, uint slot) {
    uint child_a = child_at(a, pair.x), child_b = child_at(b, pair.y);
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    bool opens_b = child_a & LEAF ||
                   (!(child_b & LEAF) && vec_sum(box_b.half_size) > vec_sum(box_a.half_size));
    return opens_b ? (uint2)(pair.x, child_b * WIDTH + slot)
                   : (uint2)(child_a * WIDTH + slot, pair.y);
}

static inline bool leaves_both(const side *a, const side *b, uint2 pair) {
    return child_at(a, pair.x) & child_at(b, pair.y) & LEAF;
}

/* ---- triangles ---- */

/* The places of two triangles of two leaves: the i-th of the 16 pairs. */
static inline uint2 triangles_of(const side *a, const side *b, uint2 leaves, uint i) {
    return (uint2)((child_at(a, leaves.x) & ~LEAF) * WIDTH + i / WIDTH,
                   (child_at(b, leaves.y) & ~LEAF) * WIDTH + i % WIDTH);
}

static inline void load_corners(const side *s, uint place, vec *to) {
    __global const float *from = s->triangles + 9 * (size_t)place;
    for (int k = 0; k < 3; k++)
        to[k] =
            make_vec(from[3 * k] * s->unit, from[3 * k + 1] * s->unit, from[3 * k + 2] * s->unit);
}

/* Those of a, and those of b as a sees them. */
static inline void load_pair(const pair_pose *p, const side *a, const side *b, uint2 at, vec *to_a,
                             vec *to_b) {
    load_corners(a, at.x, to_a);
    load_corners(b, at.y, to_b);
    for (int k = 0; k < 3; k++)
        to_b[k] = turned(p, to_b[k]);
}

#endif
