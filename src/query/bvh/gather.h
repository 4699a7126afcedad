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

typedef void bvh_task(void *data, size_t chunk, size_t begin, size_t end);
/* Runs tasks of `grain` elements on all threads, with reports of progress between them; from `done`
 * on, which is 0, or 0.5 for the second of two passes, up to `end`. */
abut_status abuti_bvh_run_tasks(abut_context *context, const char *stage, size_t count,
                                size_t grain, bvh_task *task, void *data, double done, double end);

/* Runs all queries on all threads: counts, and then writes offsets and lists if the capacity is
 * sufficient. */
abut_status abuti_gather_run(const bvh_gather *g);
/* The same by tasks of `grain` queries: one stores the number of results of each query in `counts`,
 * the other writes the results. */
abut_status abuti_gather_run_tasks(const bvh_gather *g, size_t grain, bvh_task *count_task,
                                   bvh_task *write_task, void *data, const uint32_t *counts);

/* ---- device_gather.c ---- */

/* The triangles in many boxes, on a device. Arguments have been validated, except for boxes in a
 * buffer. */
abut_status abuti_bvh_boxes_on_device(const bvh_gather *gather, abut_array boxes);

#endif
