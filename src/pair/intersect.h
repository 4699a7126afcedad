/* What the traversal of two hierarchies for triangles that meet (intersect_lanes.c) is asked, and
 * tells (intersect.c). */
#ifndef ABUTI_PAIR_INTERSECT_H
#define ABUTI_PAIR_INTERSECT_H

#include "pair/pair.h"

typedef struct meet_search {
    const pair_frame *frame;
    bool all; /* or only the first */
    uint64_t capacity, count;
    abut_pair_intersection *meetings;
    uint32_t triangle[2]; /* the first */
    pair_visit *visit;    /* told of pairs that may meet, instead of asking exactly; or null */
    void *data;
} meet_search;

/* Asks exactly whether two triangles meet, and notes them; true where the search is over. */
bool abuti_pair_meet_exactly(meet_search *s, uint32_t a, uint32_t b);

/* intersect_lanes.c; ABUTI_BY_LANES(abuti_pair_meet) is the quickest that runs here. */
void abuti_pair_meet_4(meet_search *s);
void abuti_pair_meet_8(meet_search *s);
void abuti_pair_meet_16(meet_search *s);

#endif
