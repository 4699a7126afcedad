/* The four boxes of a node against a box or a ray, and the four triangles of a leaf.
 *
 * Boxes are tested in floats, four at once, and conservatively: everything is rounded outwards.
 */
#ifndef ABUTI_BVH_CULL_H
#define ABUTI_BVH_CULL_H

#include "base/simd.h"
#include "bvh/bvh.h"

#include <math.h>

/* ---- boxes ---- */

typedef struct bvh_region {
    float lo[3], hi[3]; /* in the frame, rounded outwards; may be infinite */
} bvh_region;

static inline bvh_region bvh_region_of(const abut_bvh *bvh, const abut_box *box) {
    bvh_region r;
    for (int axis = 0; axis < 3; axis++) {
        double origin = v3_get(bvh->mesh->origin, axis);
        /* The difference is rounded before the product: one more step. */
        r.lo[axis] =
            nextafterf(bvh_float_below((v3_get(box->lo, axis) - origin) * bvh->scale), -INFINITY);
        r.hi[axis] =
            nextafterf(bvh_float_above((v3_get(box->hi, axis) - origin) * bvh->scale), INFINITY);
    }
    return r;
}

static inline unsigned bvh_region_boxes(const bvh_region *r, const bvh_node *node) {
    f4 zero = f4_all(0);
    m4 met = f4_less_equal(zero, zero);
    for (int axis = 0; axis < 3; axis++) {
        met = m4_and(met, f4_less_equal(f4_load(node->lo[axis]), f4_all(r->hi[axis])));
        met = m4_and(met, f4_less_equal(f4_all(r->lo[axis]), f4_load(node->hi[axis])));
    }
    return m4_bits(met);
}

/* ---- rays ----
 *
 * Slab test. Along an axis a ray from o with direction d is inside [lo, hi] while (lo - o) / d <= t
 * <= (hi - o) / d, with both exchanged for negative d. o is known as an interval of floats, and the
 * end that gives the longer stay is used. The remaining errors are the roundings of d, 1 / d, the
 * difference and the product, each 2^-24 relative, so signs are correct and times have errors of 4
 * x 2^-24 relative. Both ends are moved apart by twice that (Ize 2013, "Robust BVH ray traversal").
 * If d is so small that 1 / d is no float, the ray moves less than the padding of the interval
 * until it has left the mesh along its longest direction. Then the axis only tests whether the
 * interval overlaps the slab: 1 / d is infinite, and 0 x infinity, which is NaN, sets no limit. */

#define BVH_SLAB_ROUNDING 0x1p-20f
/* Directions below this count as 0, if the largest is from 1/2 to 2. */
#define BVH_SLAB_PARALLEL 0x1p-100
/* A larger origin does not fit floats; boxes are not tested then. */
#define BVH_SLAB_ORIGIN_MAX 0x1p40

typedef struct bvh_ray_slabs {
    bool is_usable; /* boxes can be tested in floats */
    float entry_origin[3],
        exit_origin[3]; /* the ends of the interval of the origin, for the entry and the exit */
    float inverse[3];
    bool negative[3];
} bvh_ray_slabs;

/* The slabs of a ray in the frame. The largest component of the direction is from 1/2 to 2 in
 * magnitude. The origin may have an error of `widen` on each axis. */
static inline bvh_ray_slabs bvh_ray_slabs_of(vec3 origin, vec3 direction, double widen) {
    bvh_ray_slabs b;
    b.is_usable = v3_max_abs(origin) < BVH_SLAB_ORIGIN_MAX;
    for (int axis = 0; axis < 3 && b.is_usable; axis++) {
        double at = v3_get(origin, axis), towards = v3_get(direction, axis), reach = widen;
        bool parallel = !(fabs(towards) >= BVH_SLAB_PARALLEL);
        if (parallel) /* |d| t, where t is from the origin to the end of the mesh */
            reach += fabs(towards) * (2 * (v3_max_abs(origin) + widen) + 8);
        float below = bvh_float_below(at - reach), above = bvh_float_above(at + reach);
        if (parallel || widen > 0) {
            below = nextafterf(below, -INFINITY);
            above = nextafterf(above, INFINITY);
        }
        b.negative[axis] = towards < 0 && !parallel;
        b.inverse[axis] = parallel ? INFINITY : (float)(1 / towards);
        b.entry_origin[axis] = b.negative[axis] ? below : above;
        b.exit_origin[axis] = b.negative[axis] ? above : below;
    }
    return b;
}

/* Which of four boxes the ray may intersect before `max_time`, and where it enters them. Never an
 * empty slot, whose entry would be at infinity. */
static inline m4 bvh_ray_overlaps(const bvh_ray_slabs *b, const bvh_node *node, float max_time,
                                  f4 *entry) {
    f4 enter = f4_all(0), leave = f4_all(max_time);
    for (int axis = 0; axis < 3; axis++) {
        const float *first = b->negative[axis] ? node->hi[axis] : node->lo[axis];
        const float *last = b->negative[axis] ? node->lo[axis] : node->hi[axis];
        f4 inverse = f4_all(b->inverse[axis]);
        f4 in = f4_mul(f4_sub(f4_load(first), f4_all(b->entry_origin[axis])), inverse);
        f4 out = f4_mul(f4_sub(f4_load(last), f4_all(b->exit_origin[axis])), inverse);
        enter = f4_max(in, enter); /* NaN sets no limit */
        leave = f4_min(out, leave);
    }
    *entry = enter;
    return f4_less_equal(f4_mul(enter, f4_all(1 - BVH_SLAB_ROUNDING)),
                         f4_add(f4_mul(leave, f4_all(1 + BVH_SLAB_ROUNDING)), f4_all(FLT_MIN)));
}

static inline unsigned bvh_ray_overlap_mask(const bvh_ray_slabs *b, const bvh_node *node,
                                            float max_time, float *entry) {
    f4 enter;
    unsigned met = m4_bits(bvh_ray_overlaps(b, node, max_time, &enter));
    f4_store(entry, enter);
    return met;
}

/* ---- leaves: the corners of four triangles at once, for passes over all leaves ---- */

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
