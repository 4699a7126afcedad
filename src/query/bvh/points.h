/* The points of a batch: reading and validating the description of the caller. */
#ifndef ABUTI_BVH_POINTS_H
#define ABUTI_BVH_POINTS_H

#include "bvh/bvh.h"

typedef struct bvh_points {
    const unsigned char *first;
    abut_scalar_type type;
    size_t stride, count;
    const abut_buffer *buffer; /* instead of `first`; or null */
    bool ordered;              /* consecutive points are close in space: they need not be sorted */
    bool checked;              /* the points of the buffer are known to be valid */
} bvh_points;

/* The size of a packed point in bytes. */
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

/* Reads the description. Error messages begin with `function`. Fails for a buffer that a BVH (null
 * = none) cannot read. */
abut_status abuti_bvh_points_read(const char *function, const abut_bvh *bvh, abut_array points,
                                  size_t count, bvh_points *to);
/* Returns the first invalid one of some items, or SIZE_MAX; on all threads. */
typedef bool bvh_is_valid(const void *items, size_t i);
size_t abuti_bvh_find_invalid(abut_context *context, const void *items, size_t count,
                              bvh_is_valid *is_valid);
/* Fails for the first point that is not finite or too large. Points in a buffer are validated by
 * the kernel that reads them. */
abut_status abuti_bvh_points_check(const char *function, abut_context *context,
                                   const bvh_points *points);

/* ---- batch.c: visits all points in an order in which neighbours in space are close ---- */

typedef struct bvh_sorted_point {
    uint32_t key, point;
} bvh_sorted_point;

/* The index of the point at a position of the order; null = the order of the caller. */
static inline size_t bvh_point_index(const bvh_sorted_point *sorted, size_t i) {
    return sorted ? sorted[i].point : i;
}

typedef void bvh_visit(void *data, const bvh_sorted_point *sorted, size_t begin, size_t end);

/* Calls `visit` for ranges of positions that cover all points, on all threads. The ranges do not
 * depend on the number of threads. Reports progress as `stage`. */
abut_status abuti_bvh_points_visit(const abut_bvh *bvh, const bvh_points *points, const char *stage,
                                   bvh_visit *visit, void *data);

#endif
