/* What the search for triangles of one mesh that meet each other (self_intersection.c) shares with
 * its inner loops, which are compiled for 4, 8 and 16 lanes (self_intersection_lanes.c). */
#ifndef ABUTI_PAIR_SELF_INTERSECTION_H
#define ABUTI_PAIR_SELF_INTERSECTION_H

#include "pair/pair.h"

#include <stdatomic.h>

enum {
    ITSELF_STEPS = 2048,     /* of a task; */
    ITSELF_WORK = 16384,     /* it ends at the step after so much work on pairs of triangles, */
    ITSELF_FOUND_MAX = 2048, /* or where the next step might find more than this */
};

/* Opening a pair takes one from the stack and puts at most 16 there; one of the two goes a level
 * down each time. */
#define ITSELF_PENDING_MAX (15 * 2 * BVH_DEPTH + 16)
#define ITSELF_NOT_CLEAN UINT32_MAX /* no vertex of a mesh has this number */

/* The boxes of a leaf's triangles, in the frame, rounded outwards; of an empty slot as in nodes.
 * A corner is a vertex that is clean, or ITSELF_NOT_CLEAN. */
typedef struct itself_leaf {
    float lo[3][BVH_WIDTH], hi[3][BVH_WIDTH];
    uint32_t corner[3][BVH_WIDTH];
    float all_lo[3], all_hi[3];
} itself_leaf;

/* Two references as in nodes, leaf or not; the same one twice: everything below against itself. */
typedef struct node_pair {
    uint32_t a, b;
} node_pair;

static inline bool is_leaf_pair(node_pair pair) {
    return pair.a & pair.b & BVH_LEAF;
}

/* With the part of the whole work that it is, as guessed for progress. */
typedef struct portion {
    node_pair pair;
    float weight;
} portion;

/* What one task did. */
typedef struct share_out {
    node_pair pending[ITSELF_PENDING_MAX]; /* what is left of the portion before `next` */
    uint64_t found[ITSELF_FOUND_MAX];      /* lower << 32 | higher */
    uint32_t pending_count, found_count, work;
    size_t next, end; /* portions that it has not come to */
    double done;
} share_out;

typedef struct itself_search {
    const abut_bvh *bvh;
    bool by_index;
    bool any; /* the first pair ends it */
    uint64_t limit;
    itself_leaf *leaves;
    unsigned char *clean; /* see abuti_pair_stars */
    share_out *shares;    /* task_most of them */
    portion *taken;       /* from the end of the pool for the tasks that run */
    size_t task_most;
    portion *pool;
    size_t pool_count, pool_room;
    atomic_bool stop;
    double done; /* of 1 */
    uint64_t work, count;
    unsigned char *marks; /* for every triangle whether it is in a pair, unless null */
    uint64_t *keys;       /* what was found, unsorted; null = only counted */
    size_t keys_room, keys_most;
} itself_search;

/* Asks exactly whether two triangles meet although they need not, and notes them. */
void abuti_itself_try(itself_search *s, share_out *out, uint32_t a, uint32_t b);

/* self_intersection_lanes.c: the boxes of leaves; what a pair consists of, not for two leaves, onto
 * a stack, whose new height it gives; and a task of the search. All give the same bits. */
#define ITSELF_LANES(lanes)                                                                      \
    void abuti_itself_leaves_##lanes(void *search, size_t chunk, size_t begin, size_t end);      \
    uint32_t abuti_itself_open_##lanes(const itself_search *s, node_pair pair, node_pair *stack, \
                                       uint32_t used);                                           \
    void abuti_itself_task_##lanes(void *search, size_t chunk, size_t begin, size_t end);
ITSELF_LANES(4)
ITSELF_LANES(8)
ITSELF_LANES(16)
#undef ITSELF_LANES

#endif
