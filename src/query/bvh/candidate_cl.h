/* Lists of candidates, one per query: the kernel that finds them runs twice, first to count and
 * then to write them. It is the same kernel, so that both runs find the same. */
#ifndef ABUTI_BVH_CANDIDATE_CL_H
#define ABUTI_BVH_CANDIDATE_CL_H

typedef struct candidates {
    __global uint *to; /* the next entry of the list */
    uint count;
    uint fill;           /* 0 = only count */
    uint triangle_count; /* later places repeat the last triangle */
} candidates;

static inline candidates candidates_of(uint fill, __global const uint *begin, __global uint *places,
                                       uint query, uint triangle_count) {
    candidates c;
    c.to = fill ? places + begin[query] : places;
    c.count = 0;
    c.fill = fill;
    c.triangle_count = triangle_count;
    return c;
}

static inline void candidates_add(candidates *c, uint place) {
    if (place >= c->triangle_count)
        return;
    if (c->fill)
        c->to[c->count] = place;
    c->count++;
}

/* Adds all triangles of a leaf. */
static inline void candidates_add_leaf(candidates *c, uint leaf) {
    for (uint i = 0; i < BVH_WIDTH; i++)
        candidates_add(c, leaf * BVH_WIDTH + i);
}

static inline void candidates_end(const candidates *c, __global uint *begin, uint query) {
    if (!c->fill)
        begin[query] = c->count;
}

#endif
