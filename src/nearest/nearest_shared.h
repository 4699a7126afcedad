/* Numbers of the search for nearest points that the host and kernels have to agree on. */
#ifndef ABUTI_NEAREST_SHARED_H
#define ABUTI_NEAREST_SHARED_H

#define POINT_GROUP 256 /* items of kernels that look at points one by one */
#define FIND_GROUP 128  /* of those that walk, and of a block */
#define SEED_GROUP 32   /* of those that seed blocks */

/* Triangles that may win, a point; more are left to nearest_complete. */
#define CANDIDATES 16
#define COMPLETE 255  /* instead of a count */
#define SEEDS_EACH 32 /* points that share a seed */
#define KEY_BITS 30   /* of a place along Hilbert's curve */

/* Beyond this many times the size of the mesh a point is far. */
#define NEAREST_FAR 64.0
/* 32 roundings of a float, and more than products and sums of a few. */
#define NEAREST_MARGIN 0x1p-19f
#define NEAREST_SLACK (1.0f + 0x1p-20f)
/* More than the errors of squares of distances in doubles. */
#define SLACK_FAR (1.0 + 0x1p-44)
#define MARGIN_FAR 0x1p-48 /* where coordinates are at most 2 */

#define POINT_BLOCK 512      /* points whose features are collected together */
#define POINT_SMALL_BLOCK 32 /* of a second try */

/* What a block has room for in local memory, in words: features; leaves, and lists of its parts;
 * nodes, and points of its parts; and 16 more. */
#define REGION_LIST 1024
#define REGION_LEAVES 512
#define REGION_WAITING 512
#define REGION_BYTES (4 * (REGION_LIST + REGION_LEAVES + REGION_WAITING + 16))

#endif
