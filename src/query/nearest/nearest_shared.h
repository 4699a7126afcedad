/* Constants of closest-point searches that the host and the kernels share. */
#ifndef ABUTI_NEAREST_SHARED_H
#define ABUTI_NEAREST_SHARED_H

#define POINT_GROUP 256 /* work-items of kernels that process points one by one */
#define FIND_GROUP 128  /* of those that traverse the tree, and of a block */
#define SEED_GROUP 32   /* of those that seed blocks */

/* Candidate triangles per point; points with more are left to nearest_complete. */
#define CANDIDATES 16
#define COMPLETE 255  /* instead of a count */
#define SEEDS_EACH 32 /* points that share a seed */
#define KEY_BITS 30   /* of an index on the Hilbert curve */

/* In multiples of the size of the mesh: more distant points are far. */
#define NEAREST_FAR 64.0
/* 32 roundings of a float; and a factor above the error of a few products and sums. */
#define NEAREST_MARGIN 0x1p-19f
#define NEAREST_SLACK (1.0f + 0x1p-20f)
/* A factor above the error of squared distances in doubles. */
#define SLACK_FAR (1.0 + 0x1p-44)
#define MARGIN_FAR 0x1p-48 /* if coordinates are at most 2 */

#define POINT_BLOCK 512      /* points whose features are collected together */
#define POINT_SMALL_BLOCK 32 /* of a second attempt */

/* Capacity of a block in local memory, in words: features; leaves, and lists of its parts; nodes,
 * and points of its parts; and 16 more. */
#define REGION_LIST 1024
#define REGION_LEAVES 512
#define REGION_WAITING 512
#define REGION_BYTES (4 * (REGION_LIST + REGION_LEAVES + REGION_WAITING + 16))

#endif
