/* Input and output of the traversal of two BVHs for intersecting triangles: intersect_lanes.c finds
 * candidate pairs, intersect.c decides them. */
#ifndef ABUTI_PAIR_INTERSECT_H
#define ABUTI_PAIR_INTERSECT_H

#include "pair/pair.h"

typedef struct intersect_search {
    const pair_frame *frame;
    bool find_all; /* otherwise only the first pair */
    uint64_t capacity, count;
    abut_pair_intersection *pairs;
    uint32_t triangle[2]; /* the first pair */
    pair_visit *visit;    /* receives candidate pairs instead of the exact test; or null */
    void *data;
} intersect_search;

/* Tests exactly whether two triangles intersect, and records them. Returns true if the search is
 * finished. */
bool abuti_pair_intersect_exactly(intersect_search *s, uint32_t a, uint32_t b);

/* intersect_lanes.c; ABUTI_BY_LANES(abuti_pair_intersect) is the fastest that this processor can
 * run. */
void abuti_pair_intersect_4(intersect_search *s);
void abuti_pair_intersect_8(intersect_search *s);
void abuti_pair_intersect_16(intersect_search *s);

#endif
