/* Types that the search for self-intersections of a mesh (self_intersection.c) shares with its
 * inner loops, which are compiled for 4, 8 and 16 lanes (self_intersection_lanes.c). */
#ifndef ABUTI_PAIR_SELF_INTERSECTION_H
#define ABUTI_PAIR_SELF_INTERSECTION_H

#include "pair/pair.h"

#include <stdatomic.h>

enum {
    SELF_TASK_STEPS = 2048, /* of a task; */
    SELF_TASK_WORK = 16384, /* it ends at the step after this much work on pairs of triangles, */
    SELF_FOUND_MAX = 2048,  /* or if the next step might find more than this */
};

/* Opening a pair pops one entry and pushes at most 16; each step descends by one level in one of
 * the two BVHs. */
#define SELF_PENDING_MAX (15 * 2 * BVH_DEPTH + 16)
#define SELF_NOT_CLEAN UINT32_MAX /* no vertex of a mesh has this index */

/* The boxes of the triangles of a leaf, in the frame, rounded outwards; empty slots as in nodes. A
 * corner is a vertex that is clean, or SELF_NOT_CLEAN. */
typedef struct self_leaf {
    float lo[3][BVH_WIDTH], hi[3][BVH_WIDTH];
    uint32_t corner[3][BVH_WIDTH];
    float all_lo[3], all_hi[3];
} self_leaf;

/* Two references as in nodes, leaf or not. The same one twice means everything below against
 * itself. */
typedef struct node_pair {
    uint32_t a, b;
} node_pair;

static inline bool is_leaf_pair(node_pair pair) {
    return pair.a & pair.b & BVH_LEAF;
}

/* A pair with its estimated fraction of the total work, for progress. */
typedef struct work_item {
    node_pair pair;
    float weight;
} work_item;

/* The output of one task. */
typedef struct task_output {
    node_pair pending[SELF_PENDING_MAX]; /* the rest of the work item before `next_item` */
    uint64_t found[SELF_FOUND_MAX];      /* lower << 32 | higher */
    uint32_t pending_count, found_count, work;
    size_t next_item, end; /* work items that it has not started */
    double progress;
} task_output;

typedef struct self_search {
    const abut_bvh *bvh;
    bool by_index;
    bool any; /* the first pair ends the search */
    uint64_t limit;
    self_leaf *leaves;
    unsigned char *clean;   /* see abuti_pair_clean_vertices() */
    task_output *outputs;   /* tasks_max of them */
    work_item *tasks_input; /* from the end of the pool, for the running tasks */
    size_t tasks_max;
    work_item *pool;
    size_t pool_count, pool_capacity;
    atomic_bool stop;
    double progress; /* from 0 to 1 */
    uint64_t work, count;
    unsigned char *is_in_pair; /* for every triangle whether it is in a pair; or null */
    uint64_t *keys;            /* the pairs found, unsorted; null = only counted */
    size_t keys_capacity, keys_max;
} self_search;

/* Tests exactly whether two triangles intersect in more than they share, and records them. */
void abuti_pair_self_test(self_search *s, task_output *out, uint32_t a, uint32_t b);

/* self_intersection_lanes.c: computes the boxes of leaves; runs a task of the search. All widths
 * give the same bits. */
#define SELF_LANES(lanes)                                                                      \
    void abuti_pair_self_leaves_##lanes(void *search, size_t chunk, size_t begin, size_t end); \
    void abuti_pair_self_task_##lanes(void *search, size_t chunk, size_t begin, size_t end);
SELF_LANES(4)
SELF_LANES(8)
SELF_LANES(16)
#undef SELF_LANES

#endif
