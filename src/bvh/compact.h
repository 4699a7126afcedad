/* The compact tree: sixteen children a node and their boxes in 16 bits, over the same leaves.
 *
 * A search for one point near the surface does little but go down the tree, where each node waits
 * for the one above: with sixteen children there are four of them instead of eight or nine. All of
 * it takes some 5 bytes a triangle, so that it stays in a cache where nodes of floats do not.
 *
 * Units are the leaves, then the nodes, from the lowest level to the root, which is the last: node
 * i is unit leaf_count + i. The children of a node are consecutive units of the level below, and
 * all leaves are equally deep. Boxes are steps inside the box of all children, rounded outwards by
 * less than 1.05 steps: good for culling, and for the corners of the leaf's block.
 *
 * Hierarchies have one where searches use it (sixteen lanes), unless the whole would take more than
 * 40 bytes a triangle and 400, as odd trees do.
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

/* Boxes of a node's children in floats; there are sixteen, whatever they are. */
typedef struct bvh_wide_rows {
    float lo[3][BVH_COMPACT_WIDTH], hi[3][BVH_COMPACT_WIDTH];
} bvh_wide_rows;

/* Whether there is one to search in. The first question after a build or a refit fits the boxes,
 * which takes a fifth of a refit's time; those of other threads go another way meanwhile. */
static inline bool bvh_compact_ready(const abut_bvh *bvh) {
    return bvh->compact &&
           (atomic_load_explicit(&bvh->compact->state, memory_order_acquire) == BVH_COMPACT_READY ||
            abuti_bvh_compact_fit(bvh));
}

/* compact_16.c: fits a node to them. */
void abuti_bvh_wide_fit_16(bvh_wide_node *node, const bvh_wide_rows *rows);

_Static_assert(sizeof(bvh_compact) == 64 && sizeof(bvh_wide_node) == 224,
               "rows of a node are in one line of a cache each");

#endif
