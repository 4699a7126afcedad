/* Many queries, each with a list of results of unknown length: the lists are contiguous in the
 * array of the caller, that of query i from offsets[i] to offsets[i + 1] (exclusive). */
#ifndef ABUTI_BVH_GATHER_H
#define ABUTI_BVH_GATHER_H

#include "bvh/bvh.h"

typedef struct bvh_gather {
    const char *function, *stage; /* for error messages and progress */
    const char *what; /* results: the name of the array of the caller, also used as a noun */
    const abut_bvh *bvh;
    size_t count; /* of queries */
    uint64_t capacity;
    abut_array offsets, results; /* of the caller, and */
    uint64_t *total;             /* the number of results */
    size_t result_bytes;
    const void *user;
    /* Returns the number of results of a query; with `write` also writes them to the array from
     * `at` on. */
    uint32_t (*compute)(const void *user, size_t query, bool write, uint64_t at);
} bvh_gather;

/* Validates the arrays of the caller. */
abut_status abuti_gather_check(const bvh_gather *g);
/* Stores the total. Fails with ABUT_ERROR_BUFFER if it exceeds the capacity. */
abut_status abuti_gather_check_capacity(const bvh_gather *g, uint64_t total);

/* Runs all queries on all threads: counts, and then writes offsets and lists if the capacity is
 * sufficient. */
abut_status abuti_gather_run(const bvh_gather *g);

/* ---- device_all.c ---- */

/* The triangles in many boxes, on a device. Arguments have been validated, except for boxes in a
 * buffer. */
abut_status abuti_bvh_boxes_on_device(const bvh_gather *gather, abut_array boxes);

#endif
