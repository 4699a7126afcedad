/* The compact tree: sixteen children per node with boxes in 16 bits, over the same leaves.
 *
 * A query for one point near the surface is dominated by the descent, where each node waits for the
 * one above: with sixteen children there are four levels instead of eight or nine. The tree needs
 * some 5 bytes per triangle, so it stays in caches that are too small for nodes of floats.
 *
 * Units are the leaves, then the nodes, from the lowest level to the root, which is the last: node
 * i is unit leaf_count + i. The children of a node are consecutive units of the level below, and
 * all leaves have the same depth. Boxes are quantised inside the box of all children, rounded
 * outwards by less than 1.05 steps: sufficient for culling, and for the corners of the block of a
 * leaf.
 *
 * A BVH has a compact tree if queries use it (sixteen lanes), unless both together would need more
 * than 40 bytes per triangle plus 400, as degenerate trees do.
 */
#ifndef ABUTI_BVH_COMPACT_H
#define ABUTI_BVH_COMPACT_H

#include "bvh/bvh.h"

#define BVH_COMPACT_WIDTH 16
#define BVH_COMPACT_LEVELS 12

typedef struct bvh_wide_node {
    uint16_t lo[3][BVH_COMPACT_WIDTH], hi[3][BVH_COMPACT_WIDTH];
    float origin[3], step[3];
    uint32_t first, count; /* of its children, which are units */
} bvh_wide_node;

enum { BVH_COMPACT_STALE, BVH_COMPACT_FITTING, BVH_COMPACT_READY };

struct bvh_compact {
    uint32_t leaf_count, node_count, levels;
    atomic_int state; /* of the boxes */
    uint32_t unused[12];
    bvh_wide_node nodes[];
};

/* Boxes of the children of a node in floats; always sixteen, also if some are unused. */
typedef struct bvh_wide_rows {
    float lo[3][BVH_COMPACT_WIDTH], hi[3][BVH_COMPACT_WIDTH];
} bvh_wide_rows;

/* Whether there is a compact tree with fitted boxes. The first query after a build or a refit fits
 * the boxes, which costs a fifth of a refit; queries of other threads use the BVH meanwhile. */
static inline bool bvh_compact_ready(const abut_bvh *bvh) {
    return bvh->compact &&
           (atomic_load_explicit(&bvh->compact->state, memory_order_acquire) == BVH_COMPACT_READY ||
            abuti_bvh_compact_fit(bvh));
}

/* compact_16.c: quantises the boxes of a node. */
void abuti_bvh_wide_fit_16(bvh_wide_node *node, const bvh_wide_rows *rows);

_Static_assert(sizeof(bvh_compact) == 64 && sizeof(bvh_wide_node) == 224,
               "each row of a node is in one cache line");

#endif
