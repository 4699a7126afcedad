/* A search in two BVHs at many poses on a device: its results, chunk by chunk. */
#ifndef ABUTI_PAIR_DEVICE_H
#define ABUTI_PAIR_DEVICE_H

#include "bvh/on_device.h"
#include "pair/pair.h"
#include "pair/pair_shared.h"

/* Pairs of triangles of all poses of a chunk, on the host. */
typedef struct pair_list {
    uint32_t (*pairs)[2];
    size_t capacity;
} pair_list;

typedef struct abuti_pair_search {
    bvh_on_device *a, *b;
    const abut_pair_poses *poses;
    bool distances; /* otherwise only whether surfaces intersect */
    bool any;       /* one pair within the limit is sufficient */
    double limit;   /* larger distances do not matter */
    uint32_t slot;  /* 0 or 1: two searches may run at once */
    /* Results at the poses of a chunk: */
    size_t begin, count;
    /* Pairs of triangles that may intersect: their first index in `uncertain` and their number, or
     * an undefined index and PAIR_INTERSECTS or PAIR_OVERFLOW. */
    uint32_t (*intersections)[2];
    pair_list uncertain;
    /* If distances are computed and surfaces may not intersect: the same for pairs that may be
     * closest, or PAIR_OVERFLOW or PAIR_WITHIN. If the device has measured them, `candidates` has
     * only the closest pair of each pose, at the index of the pose. */
    uint32_t (*closest)[2];
    pair_list candidates;
    bool is_measured;
    /* Private: */
    pair_pose *frames;
    pair_motion (*motions)[2];
    abuti_kit *kit; /* of an attachment of a, with a queue of its own */
    bool is_running;
} abuti_pair_search;

/* Allocates a search for chunks of up to `capacity` poses. The fields up to `slot` are set, all
 * others are 0. Must be closed also after a failure. */
abut_status abuti_pair_search_open(abuti_pair_search *search, size_t capacity);
void abuti_pair_search_close(abuti_pair_search *search);
/* Starts a search at `count` poses from `begin` on and returns without waiting. */
void abuti_pair_search_begin(abuti_pair_search *search, size_t begin, size_t count);
/* Waits for the results. */
abut_status abuti_pair_search_end(abuti_pair_search *search);

/* Both sides at pose i of the chunk. */
void abuti_pair_search_posed(const abuti_pair_search *search, size_t i, abuti_posed posed[2]);

#endif
