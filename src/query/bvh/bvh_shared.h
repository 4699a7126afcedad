/* The layout of a BVH for C and OpenCL C; bvh.h describes it. Kernels read the four children of a
 * node as vectors. */
#ifndef ABUTI_BVH_SHARED_H
#define ABUTI_BVH_SHARED_H

#include "base/math_shared.h"

#define BVH_WIDTH 4
#define BVH_LEAF 0x80000000u
#define BVH_STEPS 65535

/* Splits by cost stop at this depth of the binary tree; below, ranges are halved. */
#define BVH_COST_DEPTH 40
/* Halving at most 2^30 / 4 leaves adds 28 levels, and one for rounding. Collapsing four children
 * into a node makes no path longer. */
#define BVH_DEPTH (BVH_COST_DEPTH + 29)
/* A traversal pops one child and pushes at most four, so each level leaves at most three on the
 * stack: this never overflows. */
#define BVH_STACK_OF(depth) (3 * (depth) + 4)
#define BVH_STACK BVH_STACK_OF(BVH_DEPTH)

#ifdef __OPENCL_C_VERSION__
typedef float4 bvh_floats;
typedef uint4 bvh_words;
typedef ushort4 bvh_shorts;
/* For a long function: the compiler of a CPU device needs up to ten seconds to inline it into a
 * kernel, without benefit. */
#ifdef APART
#define ABUTI_NOINLINE static __attribute__((noinline))
#else
#define ABUTI_NOINLINE static inline
#endif
/* One slot of such a vector in global memory. */
#define BVH_AT(type, vector, slot) (((__global type *)&(vector))[slot])
#else
typedef float bvh_floats[BVH_WIDTH];
typedef uint32_t bvh_words[BVH_WIDTH];
typedef uint16_t bvh_shorts[BVH_WIDTH];
#define BVH_AT(type, vector, slot) ((vector)[slot])
#endif

typedef struct bvh_node {
    bvh_floats lo[3], hi[3]; /* an empty slot has lo = infinity, hi = -infinity */
    bvh_words child;         /* a node, BVH_LEAF + a leaf, or ABUT_NONE */
} bvh_node;

typedef struct bvh_block {
    bvh_shorts step[3][3]; /* corner, axis, triangle */
} bvh_block;

#endif
