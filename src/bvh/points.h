/* The points of a batch: reading and checking the caller's description of them. */
#ifndef ABUTI_BVH_POINTS_H
#define ABUTI_BVH_POINTS_H

#include "bvh/bvh.h"

typedef struct bvh_points {
    const unsigned char *first;
    abut_scalar_type type;
    size_t stride, count;
    const abut_buffer *buffer; /* instead of `first`; or null */
    bool ordered; /* points that follow each other lie together: they need not be sorted */
} bvh_points;

/* Bytes of a point that stands close to the next. */
static inline size_t bvh_point_bytes(abut_scalar_type type) {
    return type == ABUT_SCALAR_FLOAT32 ? 3 * sizeof(float) : 3 * sizeof(double);
}

static inline vec3 bvh_point_at(const bvh_points *points, size_t i) {
    const unsigned char *at = points->first + i * points->stride;
    vec3 p;
    if (points->type == ABUT_SCALAR_FLOAT32) {
        float f[3];
        memcpy(f, at, sizeof f);
        return v3(f[0], f[1], f[2]);
    }
    memcpy(&p, at, sizeof p);
    return p;
}

/* Reads the description; error sentences begin with `function`. Refuses a buffer that a hierarchy
 * (null = none) cannot read. */
abut_status abuti_bvh_points_read(const char *function, const abut_bvh *bvh,
                                  const abut_points *points, bvh_points *to);
/* Refuses the first point that is not finite or too large; finds the box of all. Those of a buffer
 * are left to who reads it. */
abut_status abuti_bvh_points_check(const char *function, abut_context *context,
                                   const bvh_points *points, box3 *bounds);

/* ---- batch.c: all of them, in an order that makes neighbours in space follow each other ---- */

typedef struct bvh_place {
    uint32_t key, point;
} bvh_place;

/* The number of the point at a place of the order; null = as they come. */
static inline size_t bvh_place_of(const bvh_place *places, size_t i) {
    return places ? places[i].point : i;
}

typedef void bvh_visit(void *data, const bvh_place *places, size_t begin, size_t end);

/* Calls `visit` for ranges of places that cover all points, on all threads; which points stand
 * together does not depend on their number. Reports progress as `stage`. */
abut_status abuti_bvh_points_visit(abut_context *context, const bvh_points *points,
                                   const box3 *bounds, const char *stage, bvh_visit *visit,
                                   void *data);

#endif
