/* What the files of a batch share. */
#ifndef ABUTI_BATCH_H
#define ABUTI_BATCH_H

#include "bvh/bvh.h"

#include <stdatomic.h>

typedef struct place {
    uint32_t key, point; /* on a Morton curve; number of the point */
} place;

typedef struct batch {
    const abut_bvh *bvh;
    const unsigned char *points;
    abut_scalar_type type;
    size_t stride, count;
    double radius;
    abut_nearest *nearest;
    box3 bounds;           /* of the points */
    place *places, *spare; /* sorted, and as much again; null = as they come */
    size_t begin;          /* of the part that runs */
} batch;

static inline vec3 batch_point(const batch *b, size_t i) {
    const unsigned char *at = b->points + i * b->stride;
    vec3 p;
    if (b->type == ABUT_SCALAR_FLOAT32) {
        float f[3];
        memcpy(f, at, sizeof f);
        return v3(f[0], f[1], f[2]);
    }
    memcpy(&p, at, sizeof p);
    return p;
}

/* Answers the sorted points one by one, each with a hint from the last. */
void abuti_batch_single(const batch *b, const place *places, size_t count);

/* Answers all points, sorted, with lists. Reports progress. */
abut_status abuti_batch_lists(batch *b);

#endif
