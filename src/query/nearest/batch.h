/* Types that the files of a batch of closest points share. */
#ifndef ABUTI_NEAREST_BATCH_H
#define ABUTI_NEAREST_BATCH_H

#include "bvh/gather.h"
#include "bvh/points.h"
#include "geom/closest_shared.h"
#include "nearest/nearest.h"

typedef struct nearest_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    abut_nearest *nearest;
    const bvh_sorted_point *places; /* the order of the points; used by lists */
    /* Completes the result of a point; null = it is complete. */
    void (*complete)(const abut_bvh *bvh, vec3 point, abut_nearest *nearest);
    /* Instead of points and results in memory, of which only the count is set: generates `count`
     * points from `begin` on, and receives their results. The points must be sorted. Called from
     * any thread. */
    void (*read)(void *user, size_t begin, uint32_t count, vec3 *points);
    void (*keep)(void *user, size_t begin, uint32_t count, const vec3 *points,
                 const abut_nearest *answers);
    void *user;
} nearest_batch;

/* Computes the results of all points, which have been validated. */
abut_status abuti_batch_nearest(nearest_batch *b);

/* Computes all results with feature lists. Reports progress. */
abut_status abuti_batch_lists(const nearest_batch *b);

/* ---- device_nearest.c and device_k_nearest.c: on a device; arguments have been validated, except
 * for points in a buffer ---- */

abut_status abuti_nearest_on_device(const char *function, bvh_on_device *there,
                                    const bvh_points *points, double radius, abut_array nearest);
abut_status abuti_nearest_many_on_device(const bvh_gather *gather, const bvh_points *points,
                                         double radius, uint32_t k, abut_array counts);
abut_status abuti_nearest_within_on_device(const bvh_gather *gather, const bvh_points *points,
                                           double radius);

#endif
