/* The triangles of a leaf in floats, four at once, in the axes of either side: for searches in two
 * BVHs. */
#ifndef ABUTI_PAIR_LEAF_H
#define ABUTI_PAIR_LEAF_H

#include "pair/pair.h"
#include "pair/triangles_shared.h"

static inline wide3 broadcast3(float x, float y, float z) {
    return make3(f4_all(x), f4_all(y), f4_all(z));
}

/* The corners of the four triangles of the leaf at a place, relative to the lowest corner of its
 * box. */
static inline void pair_quantised_corners(const pair_side *side, uint32_t place, wide3 corner[3]) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    const bvh_block *block = &side->bvh->blocks[node->child[slot] & ~BVH_LEAF];
    f4 step[3];
    for (int axis = 0; axis < 3; axis++)
        step[axis] =
            f4_all((node->hi[axis][slot] - node->lo[axis][slot]) * (side->unit / BVH_STEPS));
    for (int k = 0; k < 3; k++)
        corner[k] = make3(f4_mul(f4_load_u16(block->step[k][0]), step[0]),
                          f4_mul(f4_load_u16(block->step[k][1]), step[1]),
                          f4_mul(f4_load_u16(block->step[k][2]), step[2]));
}

/* The largest quantisation step of a leaf: a bound of the error of its corners. */
static inline float leaf_step(const pair_side *side, uint32_t place) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    float longest = 0;
    for (int axis = 0; axis < 3; axis++) {
        float extent = node->hi[axis][slot] - node->lo[axis][slot];
        longest = extent > longest ? extent : longest;
    }
    return longest * (side->unit / BVH_STEPS);
}

/* The corners of the four triangles of the leaf at a place, from the quantised blocks, in common
 * units. Returns the largest quantisation step: each coordinate has an error of at most half of its
 * own. */
static inline float pair_corners(const pair_side *side, uint32_t place, wide3 corner[3]) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    const uint32_t slot = place % BVH_WIDTH;
    const wide3 lo = broadcast3(node->lo[0][slot] * side->unit, node->lo[1][slot] * side->unit,
                                node->lo[2][slot] * side->unit);
    pair_quantised_corners(side, place, corner);
    for (int k = 0; k < 3; k++)
        corner[k] = add3(lo, corner[k]);
    return leaf_step(side, place);
}

/* The projections of the four triangles of a leaf on a direction n of its side. */
static inline void project_leaf(const pair_side *side, uint32_t place, const float n[3], f4 *lo,
                                f4 *hi) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    const bvh_block *block = &side->bvh->blocks[node->child[slot] & ~BVH_LEAF];
    float start = 0, step[3];
    for (int axis = 0; axis < 3; axis++) {
        float low = node->lo[axis][slot], along = n[axis] * side->unit;
        start += along * low;
        step[axis] = along * ((node->hi[axis][slot] - low) * (1.0f / BVH_STEPS));
    }
    f4 at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = f4_all(start);
        for (int axis = 0; axis < 3; axis++)
            at[k] = f4_add(at[k], f4_mul(f4_load_u16(block->step[k][axis]), f4_all(step[axis])));
    }
    *lo = f4_min(f4_min(at[0], at[1]), at[2]);
    *hi = f4_max(f4_max(at[0], at[1]), at[2]);
}

/* One of four triangles, in all lanes. */
static inline void broadcast_triangle(const wide3 from[3], uint32_t lane, wide3 to[3]) {
    float x[4], y[4], z[4];
    for (int k = 0; k < 3; k++) {
        f4_store(x, from[k].x);
        f4_store(y, from[k].y);
        f4_store(z, from[k].z);
        to[k] = broadcast3(x[lane], y[lane], z[lane]);
    }
}

/* Points of the other side in the axes of this side, relative to a given origin r. */
static inline wide3 pair_transform_from(const pair_side *side, wide3 p, wide3 r) {
    r = add_scaled3(r, p.x,
                    broadcast3(side->rotation[0][0], side->rotation[0][1], side->rotation[0][2]));
    r = add_scaled3(r, p.y,
                    broadcast3(side->rotation[1][0], side->rotation[1][1], side->rotation[1][2]));
    return add_scaled3(r, p.z,
                       broadcast3(side->rotation[2][0], side->rotation[2][1],
                                  side->rotation[2][2]));
}

static inline wide3 pair_transform4(const pair_side *side, wide3 p) {
    return pair_transform_from(side, p, broadcast3(side->shift[0], side->shift[1], side->shift[2]));
}

#endif
