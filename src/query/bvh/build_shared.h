/* Structs and constants that the host shares with the kernels of the BVH build; see bvh_levels.cl.
 */
#ifndef ABUTI_BVH_BUILD_SHARED_H
#define ABUTI_BVH_BUILD_SHARED_H

#include "bvh/bvh_shared.h"
#include "device/tools_shared.h"

#define GROUP GROUP_ITEMS
#define CHUNK 256 /* triangles that one work-group finishes */

/* Depth. The host launches ceil(log2(n / 256)) + EXTRA_LEVELS levels, at most 25 for 2^30
 * triangles, and a chunk adds at most CHUNK_LEVELS: 43 binary levels, below BVH_DEPTH.
 *
 * EXTRA_LEVELS is the number of levels beyond those that halving would need: on all models tested
 * two were enough for every split to be chosen by cost only. */
#define EXTRA_LEVELS 3
#define LEVEL_MAX 25
#define CHUNK_LEVELS 18 /* 12 by cost, then halves of at most 52 leaves */
#define CHUNK_COST_LEVELS 12

#define BINS 32
#define BIN_WORDS 7 /* minimum of lo, complement of the maximum of hi, complement of the count */
#define SEGMENT_BINS (3 * BINS * BIN_WORDS)

/* Indices in `counters`: segments of each level, then these. */
#define CHUNK_COUNT 32
#define NODE_COUNT 33
#define DEPTH 34
#define COUNTERS 36

typedef struct segment {
    word32 begin, end, node;  /* positions; its node of the binary tree */
    word32 axis;              /* 3 = halved in the current order */
    word32 low, border, high; /* last non-empty bin at or before the plane, the plane, first
                                 non-empty bin behind it */
    word32 cut;               /* from the beginning */
    word32 start[4]; /* destination of the triangles of each category, from the beginning */
    word32 child[2], unused[2]; /* segments of the next level, or ABUT_NONE */
    bvh_floats lo, hi;          /* range of the bins */
} segment;

/* The split of a segment that a work-group chooses, in local memory. */
typedef struct choice {
    word32 cost, who; /* of the best plane so far */
    word32 axis, low, border, high, cut;
    word32 start[4];
    word32 box[12]; /* lo and hi of the left side, then of the right */
} choice;

/* As in bvh.c: the cost of a node that may fill up to k + 1 slots, the number of four-wide nodes of
 * that plan, and the same for the plan with the fewest nodes. `left` has the slots of the left
 * child, two bits each: four by cost, then four by count. */
typedef struct plan {
    float cost[4];
    word32 nodes[4], few[4];
    word32 left, unused[3];
} plan;

/* Local memory of a work-group: slots, counts and bins; boxes and words of a chunk. */
#define CHOOSE_WORDS (2 + 8)
#define CHOOSE_BYTES (4 * (CHOOSE_WORDS + SEGMENT_BINS) + 2 * sizeof(choice))
#define MOVE_WORDS (2 + 4)
#define MOVE_BYTES (4 * (MOVE_WORDS + 4 * SEGMENT_BINS))
#define CHUNK_BYTES (CHUNK * (2 * 16 + 2 * 4) + 4)

#endif
