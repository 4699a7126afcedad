/* Many questions, each with a list of answers of unknown length: the lists stand side by side in
 * the caller's array, that of question i from offsets[i] up to but not including offsets[i + 1]. */
#ifndef ABUTI_BVH_GATHER_H
#define ABUTI_BVH_GATHER_H

#include "bvh/bvh.h"

typedef struct bvh_gather {
    const char *function, *stage; /* for error sentences and reports */
    const char *what;             /* answers: the name of the caller's array, and what they are */
    const abut_bvh *bvh;
    size_t count; /* of questions */
    uint64_t capacity;
    abut_array offsets, answers; /* the caller's, and */
    uint64_t *total;             /* of answers */
    size_t answer_bytes;
    const void *user;
    /* Gives how many answers a question has; where `write`, they go to the array from `at` on. */
    uint32_t (*answer)(const void *user, size_t question, bool write, uint64_t at);
} bvh_gather;

/* Whether the caller's arrays are there. */
abut_status abuti_gather_check(const bvh_gather *g);
/* Stores the total, and fails with ABUT_ERROR_BUFFER where there are more answers than places. */
abut_status abuti_gather_fits(const bvh_gather *g, uint64_t total);

/* Asks all questions on all threads: counts, and then writes offsets and lists if there is room. */
abut_status abuti_gather_run(const bvh_gather *g);

/* ---- device_all.c ---- */

/* The triangles in many boxes, on a device; all has been checked, but boxes of a buffer. */
abut_status abuti_bvh_boxes_there(const bvh_gather *gather, abut_array boxes);

#endif
