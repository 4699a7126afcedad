/* The corners of the four triangles of a leaf at once, for passes over all leaves. */
#ifndef ABUTI_BVH_CORNERS_H
#define ABUTI_BVH_CORNERS_H

#include "base/simd.h"
#include "bvh/bvh.h"

enum { BVH_PREFETCH_LEAVES = 8 /* leaves */ };

/* Prefetches a later leaf, since triangles are in any order: first its indices, and half as far
 * ahead the corners that they refer to. */
static inline __attribute__((always_inline)) void
bvh_prefetch_leaf(const abut_bvh *bvh, const abut_mesh *mesh, uint32_t leaf) {
    if (leaf + BVH_PREFETCH_LEAVES >= bvh->leaf_count)
        return;
    const uint32_t *later = bvh->order + (size_t)(leaf + BVH_PREFETCH_LEAVES) * BVH_WIDTH;
    const uint32_t *soon = bvh->order + (size_t)(leaf + BVH_PREFETCH_LEAVES / 2) * BVH_WIDTH;
    for (int i = 0; i < BVH_WIDTH; i++) {
        ABUTI_PREFETCH(&mesh->indices[3 * (size_t)later[i]]);
        for (size_t k = 0; k < 3; k++)
            ABUTI_PREFETCH(&mesh->positions[mesh->indices[3 * (size_t)soon[i] + k]]);
    }
}

/* corner[axis][k] is corner k of all four on an axis, in the frame. */
static inline __attribute__((always_inline)) void
bvh_leaf_corners(const abut_bvh *bvh, const abut_mesh *mesh, uint32_t leaf, d4 corner[3][3]) {
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    d4 scale = d4_all(bvh->scale);
    bvh_prefetch_leaf(bvh, mesh, leaf);
    for (size_t k = 0; k < 3; k++) {
        const double *from[BVH_WIDTH];
        d4 at[3];
        for (int i = 0; i < BVH_WIDTH; i++)
            from[i] = &mesh->positions[mesh->indices[3 * (size_t)order[i] + k]].x;
        d4_load_three(from, at);
        for (int axis = 0; axis < 3; axis++)
            corner[axis][k] = d4_mul(at[axis], scale);
    }
}

#endif
