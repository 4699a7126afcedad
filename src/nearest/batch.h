/* What the files of a batch of nearest points share. */
#ifndef ABUTI_NEAREST_BATCH_H
#define ABUTI_NEAREST_BATCH_H

#include "bvh/gather.h"
#include "bvh/points.h"
#include "nearest/nearest.h"

/* What the points of a batch tell each other: a ball around one of them, throughout which something
 * holds that who completes answers knows. */
typedef struct nearest_ball {
    bool is, holds;
    vec3 point;
    double radius;
} nearest_ball;

typedef struct nearest_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    abut_nearest *nearest;
    const bvh_sorted_point *places; /* the order of others, where lists are used */
    /* Completes the answer to a point, with what the last one has left; null = it is complete. */
    void (*finish)(const abut_bvh *bvh, vec3 point, nearest_ball *ball, abut_nearest *nearest);
    /* Instead of points and answers in memory, of which the count alone stands: makes `count`
     * points from `begin` on, and takes their answers. They come in a good order. Any thread may
     * call. */
    void (*read)(void *user, size_t begin, uint32_t count, vec3 *points);
    void (*keep)(void *user, size_t begin, uint32_t count, const vec3 *points,
                 const abut_nearest *answers);
    void *user;
} nearest_batch;

/* Answers all points, which have been checked; `bounds` is their box, or null where they are made.
 */
abut_status abuti_batch_nearest(nearest_batch *b, const box3 *bounds);

/* Answers all points with lists. Reports progress. */
abut_status abuti_batch_lists(const nearest_batch *b);

/* ---- device_nearest.c and device_many.c: on a device; all has been checked, but points of a
 * buffer ---- */

abut_status abuti_nearest_there(const char *function, bvh_on_device *there,
                                const bvh_points *points, double radius, abut_array nearest);
abut_status abuti_nearest_many_there(const bvh_gather *gather, const bvh_points *points,
                                     double radius, uint32_t k, abut_array counts);
abut_status abuti_nearest_within_there(const bvh_gather *gather, const bvh_points *points,
                                       double radius);

#endif
