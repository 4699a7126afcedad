/* What the host and the kernels that build a hierarchy agree on; see bvh_levels.cl. */
#ifndef ABUTI_BVH_BUILD_SHARED_H
#define ABUTI_BVH_BUILD_SHARED_H

#include "bvh/bvh_shared.h"
#include "device/tools_shared.h"

#define GROUP GROUP_ITEMS
#define CHUNK 256 /* triangles that one group finishes */

/* Depth. The levels of the host are ceil(log2(n / 256)) + LEVEL_SLACK, at most 25 for 2^30
 * triangles, and a chunk adds at most CHUNK_LEVELS: 43 binary levels, below BVH_DEPTH.
 *
 * Levels beyond those that halves would need: on all models tried two were enough for every cut to
 * be taken by cost alone. */
#define LEVEL_SLACK 3
#define LEVEL_MAX 25
#define CHUNK_LEVELS 18 /* 12 by cost, then halves of at most 52 leaves */
#define CHUNK_COST_LEVELS 12

#define BINS 32
#define BIN_WORDS 7 /* least lo, complement of the greatest hi, complement of the count */
#define SEGMENT_BINS (3 * BINS * BIN_WORDS)

/* In `counters`: segments of each level, then these. */
#define CHUNK_COUNT 32
#define NODE_COUNT 33
#define DEPTH 34
#define COUNTERS 36

typedef struct segment {
    word32 begin, end, node;    /* positions; its node of the binary tree */
    word32 axis;                /* 3 = halved as it stands */
    word32 low, border, high;   /* last bin with something at or before the border; first behind */
    word32 cut;                 /* from the begin */
    word32 start[4];            /* where the triangles of each category go, from the begin */
    word32 child[2], unused[2]; /* segments of the next level, or ABUT_NONE */
    bvh_floats lo, hi;          /* range of the bins */
} segment;

/* What a group finds out of a segment, in local memory. */
typedef struct choice {
    word32 cost, who; /* of the best border so far */
    word32 axis, low, border, high, cut;
    word32 start[4];
    word32 box[12]; /* lo and hi of the left side, then of the right */
} choice;

/* As in bvh.c: what a node costs that may fill up to k + 1 slots, how many nodes of four that
 * makes, and the same for as few nodes as can be. `left`: slots of the left child, two bits each:
 * four by cost, then four by count. */
typedef struct plan {
    float cost[4];
    word32 nodes[4], few[4];
    word32 left, unused[3];
} plan;

/* Local memory of a group: slots, counts or the like, and bins; boxes and words of a chunk. */
#define CHOOSE_WORDS (2 + 8)
#define CHOOSE_BYTES (4 * (CHOOSE_WORDS + SEGMENT_BINS) + 2 * sizeof(choice))
#define MOVE_WORDS (2 + 4)
#define MOVE_BYTES (4 * (MOVE_WORDS + 4 * SEGMENT_BINS))
#define CHUNK_BYTES (CHUNK * (2 * 16 + 2 * 4) + 4)
#define PYRAMID_LEVELS 9 /* that a group goes up, from 512 entries */

#endif
