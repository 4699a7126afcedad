/* The layout of a hierarchy for C and OpenCL C alike; bvh.h says what it means. Kernels read the
 * four children of a node as vectors. */
#ifndef ABUTI_BVH_SHARED_H
#define ABUTI_BVH_SHARED_H

#include "base/math_shared.h"

#define BVH_WIDTH 4
#define BVH_LEAF 0x80000000u
#define BVH_STEPS 65535

/* Splits by cost stop at this depth of the binary tree, and halves take over. */
#define BVH_COST_DEPTH 40
/* Halves of at most 2^30 / 4 leaves: 28 levels more, and one for rounding. Collapsing four children
 * into a node makes no path longer. */
#define BVH_DEPTH (BVH_COST_DEPTH + 29)
/* A traversal takes one child from the stack and puts at most four back, so a level leaves at most
 * three there: this never overflows. */
#define BVH_STACK_OF(depth) (3 * (depth) + 4)
#define BVH_STACK BVH_STACK_OF(BVH_DEPTH)

#ifdef __OPENCL_C_VERSION__
typedef float4 bvh_floats;
typedef uint4 bvh_words;
typedef ushort4 bvh_shorts;
/* Before a long function: a CPU's compiler takes up to ten seconds to put it into a kernel, and
 * gains nothing. */
#ifdef APART
#define ABUTI_APART static __attribute__((noinline))
#else
#define ABUTI_APART static inline
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
    bvh_floats lo[3], hi[3]; /* of an empty slot: lo = infinity, hi = -infinity */
    bvh_words child;         /* a node, BVH_LEAF + a leaf, or ABUT_NONE */
} bvh_node;

typedef struct bvh_block {
    bvh_shorts step[3][3]; /* corner, axis, triangle */
} bvh_block;

#endif
