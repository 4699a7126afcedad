/* Frames of pair queries from colliders. */
#ifndef TESTS_PAIR_FRAME_H
#define TESTS_PAIR_FRAME_H

#include "pair/pair.h"

static inline bool init_frame(const abut_collider *a, const abut_collider *b, pair_frame *frame) {
    const abuti_posed first = {a->shape.body.bvh, a->pose}, second = {b->shape.body.bvh, b->pose};
    return abuti_pair_frame_init(&first, &second, frame);
}

static inline double largest_coordinate(const abut_mesh *mesh) {
    abut_box box = abut_mesh_bounds(mesh);
    return fmax(v3_max_abs(box.lo), v3_max_abs(box.hi));
}

/* Which triangles are below a place, by their numbers in `order`. */
static inline uint32_t list_below(const abut_bvh *bvh, uint32_t place, uint32_t *list) {
    uint32_t child = bvh->nodes[place / BVH_WIDTH].child[place % BVH_WIDTH], count = 0;
    if (child == ABUT_NONE)
        return 0;
    if (!(child & BVH_LEAF)) {
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            count += list_below(bvh, child * BVH_WIDTH + slot, list + count);
        return count;
    }
    for (uint32_t i = 0; i < bvh_leaf_fill(bvh, child & ~BVH_LEAF); i++)
        list[count++] = bvh->order[(child & ~BVH_LEAF) * BVH_WIDTH + i];
    return count;
}

#endif
