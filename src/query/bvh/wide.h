/* The wide tree: a copy of the BVH for closest points and rays, with as many children per node, and
 * triangles per leaf, as the processor has LANES. It is an attachment of the BVH, one kind for each
 * number of lanes.
 *
 * Boxes of children are quantised to 8 bits inside the box of their node, rounded outwards by at
 * least 1/64 step, except at the lower end of the node, which is exact. Corners are quantised to 16
 * bits inside the box of their leaf, with an error of half a step on each axis. Both are sufficient
 * for bounds, never for results. Everything is in the frame of the BVH (bvh.h).
 *
 * Each node has for every octant of directions the order in which a ray pushes its children, the
 * furthest first (Fuetterling and others 2017, "Accelerated single ray tracing for wide vector
 * units").
 */
#ifndef ABUTI_BVH_WIDE_H
#define ABUTI_BVH_WIDE_H

#include "bvh/bvh.h"

typedef struct bvh_wide {
    bvh_attachment attachment;
    const abut_bvh *bvh;
    atomic_bool is_used; /* since it was created or refitted; an unused tree is not refitted */
    uint32_t node_count, leaf_count;
    void *nodes, *leaves; /* children have higher indices than their parents */
} bvh_wide;

#ifdef LANES

typedef struct wide_node {
    uint8_t planes[6][LANES]; /* in steps: lower ends, upper ends */
    float origin[3], step[3];
    uint32_t count;        /* of children, which are in the first lanes */
    uint32_t child[LANES]; /* a node, or BVH_LEAF + a leaf */
    uint8_t order[8][LANES];
} wide_node;

typedef struct wide_leaf {
    float origin[3], step[3], step_max;
    uint32_t count;               /* of triangles; the other lanes repeat the last one */
    uint16_t corner[3][3][LANES]; /* in steps: corner, axis */
    uint32_t triangle[LANES];
} wide_leaf;

#endif

extern const bvh_attachment_kind abuti_bvh_wide_4, abuti_bvh_wide_8, abuti_bvh_wide_16;

/* Returns the wide tree, or null if there is none. */
const bvh_wide *abuti_bvh_find_wide(const abut_bvh *bvh);
/* The same for so many queries: creates it after enough of them, if there is memory. */
const bvh_wide *abuti_bvh_earn_wide(const abut_bvh *bvh, size_t queries);
/* The same for a batch, which fails if memory is exhausted. Thread-safe. */
abut_status abuti_bvh_prepare_wide(const abut_bvh *bvh, size_t queries);

#endif
