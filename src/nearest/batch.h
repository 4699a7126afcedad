/* What the files of a batch of nearest points share. */
#ifndef ABUTI_NEAREST_BATCH_H
#define ABUTI_NEAREST_BATCH_H

#include "bvh/gather.h"
#include "bvh/points.h"
#include "nearest/nearest.h"

typedef struct nearest_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    abut_nearest *nearest;
    bool sign;               /* distances are negative inside */
    const bvh_place *places; /* their order, where lists are used */
} nearest_batch;

/* Answers all points, which have been checked; `bounds` is their box. */
abut_status abuti_batch_nearest(nearest_batch *b, const box3 *bounds);

/* Answers points one by one, each with a hint from the last. */
void abuti_batch_single(const nearest_batch *b, const bvh_place *places, size_t begin, size_t end);

/* Answers all points with lists. Reports progress. */
abut_status abuti_batch_lists(const nearest_batch *b);

/* ---- device_nearest.c and device_many.c: on a device; all has been checked ---- */

abut_status abuti_nearest_there(bvh_on_device *there, const bvh_points *points,
                                double radius, abut_nearest *nearest);
abut_status abuti_nearest_many_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, double radius, uint32_t k,
                                     abut_nearest *nearest, uint32_t *counts);
abut_status abuti_nearest_within_there(bvh_on_device *there, const bvh_gather *gather,
                                       const bvh_points *points, double radius,
                                       abut_nearest *nearest);
/* Points that are on the device, close together, to answers that stay there. */
abut_status abuti_nearest_buffer(const abut_bvh *bvh, const abut_buffer *points,
                                 abut_scalar_type type, size_t count, double radius,
                                 abut_buffer *nearest);

#endif
