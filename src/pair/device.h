/* Two hierarchies at many poses on a device: what a search there finds, part by part. */
#ifndef ABUTI_PAIR_DEVICE_H
#define ABUTI_PAIR_DEVICE_H

#include "bvh/on_device.h"
#include "pair/pair.h"
#include "pair/pair_shared.h"

/* Pairs of triangles of all poses of a part, on the host. */
typedef struct pair_list {
    uint32_t (*pairs)[2];
    size_t room;
} pair_list;

typedef struct abuti_pair_search {
    bvh_on_device *a, *b;
    const abut_pair_poses *poses;
    bool distances; /* or only whether surfaces meet */
    bool any;       /* one within the limit will do */
    double limit;   /* no pair further away matters */
    uint32_t which; /* 0 or 1: two searches may be under way at once */
    /* What was found at the poses of a part: */
    size_t begin, count;
    /* Of the pairs of triangles that may meet: where in `unsure` they begin and how many they are,
     * or any number and PAIR_MEETS or PAIR_TOO_MUCH. */
    uint32_t (*meetings)[2];
    pair_list unsure;
    /* Of distances, where surfaces may not meet, the same of those that may be closest, or any
     * number and PAIR_TOO_MUCH or PAIR_WITHIN. If the device has measured them, `candidates` has
     * only the closest, at the number of its pose. */
    uint32_t (*closest)[2];
    pair_list candidates;
    bool measured;
    /* Its own. */
    pair_pose *frames;
    pair_motion (*motions)[2];
    abuti_kit *kit; /* of a part of a, with a queue of its own */
    bool under_way;
} abuti_pair_search;

/* Makes what a search needs for parts of up to `room` poses; the fields up to `limit` are set, and
 * all others 0. To be closed in either case. */
abut_status abuti_pair_search_open(abuti_pair_search *search, size_t room);
void abuti_pair_search_close(abuti_pair_search *search);
/* Begins a search at `count` poses from `begin` on, and does not wait for it. */
void abuti_pair_search_begin(abuti_pair_search *search, size_t begin, size_t count);
/* Waits for what it finds. */
abut_status abuti_pair_search_end(abuti_pair_search *search);

/* Both sides at one pose of the part. */
void abuti_pair_search_posed(const abuti_pair_search *search, size_t i, abut_posed posed[2]);

#endif
