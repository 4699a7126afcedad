/* What the files of a batch of nearest points share. */
#ifndef ABUTI_NEAREST_BATCH_H
#define ABUTI_NEAREST_BATCH_H

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

#endif
