/* Queries with lists of results on a device: the host side of gather.cl.
 *
 * Queries are processed in batches: one kernel counts the triangles that may be results and then
 * lists them (segments of tools.h), another decides each candidate with the arithmetic of the CPU,
 * and the accepted ones are sorted. Lists of candidates use the memory that they need, up to a
 * fraction of that of the device: if a batch has too many, a smaller one is tried.
 */
#ifndef ABUTI_BVH_DEVICE_GATHER_H
#define ABUTI_BVH_DEVICE_GATHER_H

#include "bvh/gather.h"
#include "bvh/on_device.h"

/* Buffers: a segment of candidates for each query. */
enum {
    GATHER_BEGIN,
    GATHER_PLACES, /* of candidates; replaced by their triangles when they have been decided */
    GATHER_OWNERS,
    GATHER_BEFORE, /* first whether each was accepted */
    GATHER_KEYS,
    GATHER_ANSWERS,
    GATHER_FROM,
    GATHER_TO,
    GATHER_LENGTHS,
    GATHER_LONGEST,
    GATHER_BUFFERS
};

typedef struct device_query {
    bvh_on_device *there;
    bvh_kit *lists;           /* set by abuti_device_gather() */
    const bvh_gather *gather; /* the query; without offsets and total if there are rows */
    uint32_t results_max;     /* results per query; UINT32_MAX = all */
    size_t batch_size;        /* queries at once, at most */
    void *user;
    /* If each query has `row` entries in the array of results: the number of its results. */
    abut_array counts;
    uint32_t row;
    /* Enqueues the upload of queries. */
    void (*upload)(const struct device_query *query, size_t begin, uint32_t count);
    /* Enqueues the kernel that writes the number of candidates of each query to `begin`, or lists
     * them in `places`. */
    void (*find)(const struct device_query *query, uint32_t count, uint32_t fill,
                 const abuti_buffer *begin, const abuti_buffer *places);
    /* Enqueues the kernel that decides `total` candidates, in the buffers of `lists`. */
    void (*decide)(const struct device_query *query, uint32_t total);
} device_query;

/* The number of queries of a batch, for queries of this many bytes and a known number of results
 * each (otherwise 0). */
size_t abuti_device_gather_batch_size(const bvh_on_device *there, size_t count, size_t query_bytes,
                                      uint32_t results);

abut_status abuti_device_gather(device_query *query);

/* Queries of six doubles each, rays or boxes, with all their results, by kernels of a kit: one that
 * rejects invalid queries (`condition` says why), one that finds candidates, and one that decides
 * them. */
typedef struct device_all {
    abuti_kit *kit;
    uint32_t check, find, decide;
    abut_array queries;
    const char *name, *condition;
} device_all;
abut_status abuti_device_run_all(const bvh_gather *gather, const device_all *all);

/* Fails for the first query of a buffer that a kernel (queries, count, ABUT_COORDINATE_MAX,
 * rejected) finds invalid. Waits. */
abut_status abuti_device_check_all(const char *function, const device_all *all, size_t count);
/* Fails if a query was rejected; ABUT_NONE = none was. */
abut_status abuti_device_reject(const char *function, const device_all *all, uint32_t refused);

#endif
