/* Which of a node's four boxes can matter to a query: for boxes and for straight lines.
 *
 * Boxes are tested in floats, four at once, and never one too few: what is rounded is rounded
 * outwards.
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
        /* The difference is rounded before the product is: one step more. */
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
 * Slabs. Along an axis a ray from o with direction d is inside [lo, hi] while (lo - o) / d <= t <=
 * (hi - o) / d, the two exchanged for negative d. o is known as an interval of floats, and the end
 * that gives the longer stay is taken: what is left are the roundings of d, 1 / d, the difference
 * and the product, each 2^-24 relative, so that signs are right and times err by 4 x 2^-24
 * relative. Both ends are moved apart by twice that (Ize 2013, "Robust BVH ray traversal"). Where d
 * is so small that 1 / d is no float, the ray moves less than the interval is widened by until it
 * has left the mesh along its longest direction, so the axis only asks whether the interval meets
 * the slab: 1 / d is infinite there, and 0 x infinity, which is no number, sets no limit.
 */

#define BVH_SLAB_SLACK 0x1p-20f
/* Directions below this, where the largest is from 1/2 to 2, count as 0. */
#define BVH_SLAB_PARALLEL 0x1p-100
/* Beyond this the origin does not fit floats; boxes are then not looked at. */
#define BVH_SLAB_FAR 0x1p40

typedef struct bvh_slab {
    bool culls;            /* boxes can be tested in floats */
    float near[3], far[3]; /* the ends of the origin's interval, for the entry and the exit */
    float inverse[3];
    bool negative[3];
} bvh_slab;

/* A ray in the frame; the largest of the direction is from 1/2 to 2 in magnitude. The origin may be
 * wrong by `widen` on each axis. */
static inline bvh_slab bvh_slab_of(vec3 origin, vec3 direction, double widen) {
    bvh_slab b;
    b.culls = v3_max_abs(origin) < BVH_SLAB_FAR;
    for (int axis = 0; axis < 3 && b.culls; axis++) {
        double at = v3_get(origin, axis), towards = v3_get(direction, axis), wide = widen;
        bool parallel = !(fabs(towards) >= BVH_SLAB_PARALLEL);
        if (parallel) /* |d| t, where t reaches from the origin to the end of the mesh */
            wide += fabs(towards) * (2 * (v3_max_abs(origin) + widen) + 8);
        float below = bvh_float_below(at - wide), above = bvh_float_above(at + wide);
        if (parallel || widen > 0) {
            below = nextafterf(below, -INFINITY);
            above = nextafterf(above, INFINITY);
        }
        b.negative[axis] = towards < 0 && !parallel;
        b.inverse[axis] = parallel ? INFINITY : (float)(1 / towards);
        b.near[axis] = b.negative[axis] ? below : above;
        b.far[axis] = b.negative[axis] ? above : below;
    }
    return b;
}

/* Which of four boxes the ray may meet before `most`, and where it enters them. Never an empty
 * slot, which it would enter at infinity. */
static inline m4 bvh_slab_meets(const bvh_slab *b, const bvh_node *node, float most, f4 *entry) {
    f4 enter = f4_all(0), leave = f4_all(most);
    for (int axis = 0; axis < 3; axis++) {
        const float *first = b->negative[axis] ? node->hi[axis] : node->lo[axis];
        const float *last = b->negative[axis] ? node->lo[axis] : node->hi[axis];
        f4 inverse = f4_all(b->inverse[axis]);
        f4 in = f4_mul(f4_sub(f4_load(first), f4_all(b->near[axis])), inverse);
        f4 out = f4_mul(f4_sub(f4_load(last), f4_all(b->far[axis])), inverse);
        enter = f4_max(in, enter); /* no number sets no limit */
        leave = f4_min(out, leave);
    }
    *entry = enter;
    return f4_less_equal(f4_mul(enter, f4_all(1 - BVH_SLAB_SLACK)),
                         f4_add(f4_mul(leave, f4_all(1 + BVH_SLAB_SLACK)), f4_all(FLT_MIN)));
}

static inline unsigned bvh_slab_boxes(const bvh_slab *b, const bvh_node *node, float most,
                                      float *entry) {
    f4 enter;
    unsigned met = m4_bits(bvh_slab_meets(b, node, most, &enter));
    f4_store(entry, enter);
    return met;
}

#endif
