/* Data that the host and the kernels of the sweep module share, with the same layout on both sides.
 *
 * Features of the three kinds are numbered consecutively: vertices, edges, faces. Sorted along a
 * curve, they form blocks of SWEEP_BLOCK; each kind starts with a new block. Blocks have bounding
 * boxes, and so do groups of SWEEP_BLOCK blocks, and so on. These are the levels of an implicit
 * tree, for edges and for faces.
 */
#ifndef ABUTI_SWEEP_DEVICE_SHARED_H
#define ABUTI_SWEEP_DEVICE_SHARED_H

#include "base/math_shared.h"

#define SWEEP_BLOCK 32
#define SWEEP_BLOCK_LEVELS 6 /* 32^6 blocks, more than there are indices */

enum { SWEEP_VERTICES, SWEEP_EDGES, SWEEP_FACES, SWEEP_KINDS };

typedef struct sweep_layout {
    word32 count[SWEEP_KINDS]; /* features */
    word32 first[SWEEP_KINDS]; /* index of the first feature of the kind in the joint numbering */
    word32 levels[SWEEP_KINDS];
    word32 nodes[SWEEP_KINDS]
                [SWEEP_BLOCK_LEVELS]; /* number of nodes by level; level 0 has the blocks */
    word32 node_first[SWEEP_KINDS][SWEEP_BLOCK_LEVELS];
} sweep_layout;

/* A box in floats, see sweep_boxes.cl. `feature` is the index within its kind; boxes of blocks have
 * their owner there, or SWEEP_MIXED. `sets` has the sets of all faces around the feature, or of all
 * features of a block. */
typedef struct sweep_box {
    float lo[3];
    word32 feature;
    float hi[3];
    word32 sets;
} sweep_box;

/* The owner of features with several owners; that of all without skip_self. See abut_sweep. */
#define SWEEP_MIXED 0xffffffffu

/* Sets of faces restrict which pairs are searched: pairs of which one face is in ANY, and pairs of
 * which one is in FIRST and the other in SECOND. A feature is in all sets of the faces around it.
 * So a pair of features is searched if any pair of their faces is. Without sets, all features are
 * in ANY. */
enum { SWEEP_SET_FIRST = 1, SWEEP_SET_ANY = 4 | 8 }; /* SECOND is 2 */

static inline int sweep_sets_pair(word32 a, word32 b) {
    return (((a | b) & SWEEP_SET_ANY) | ((a & SWEEP_SET_FIRST) & (b >> 1)) |
            ((a >> 1) & (b & SWEEP_SET_FIRST))) != 0;
}

/* Where the sets of each kind begin; `used` = 0: there are none. */
typedef struct sweep_sets {
    word32 first[SWEEP_KINDS];
    word32 used;
} sweep_sets;

/* Counters of the device, as words of one buffer. */
enum {
    SWEEP_COUNT_BLOCKS_256,  /* pairs of blocks in units of 256, rounded up for each block */
    SWEEP_COUNT_BLOCKS,      /* pairs of blocks */
    SWEEP_COUNT_EDGE_EDGE,   /* candidates */
    SWEEP_COUNT_VERTEX_FACE, /* stored from the end of the same list */
    SWEEP_COUNT_HITS,
    SWEEP_COUNT_LATEST,   /* a float: later hits are discarded */
    SWEEP_COUNT_FILTERED, /* two, as in the next line, after the first filter */
    SWEEP_COUNT_OPEN =
        SWEEP_COUNT_FILTERED + 2, /* two per round: pairs of edges, of vertices and faces */
    SWEEP_COUNTS = 32
};
enum { SWEEP_ROUNDS = (SWEEP_COUNTS - SWEEP_COUNT_OPEN) / 2 - 1 };

/* A range of the pairs of blocks: the fractions from / of to to / of of all, in listed or in
 * permuted order. */
typedef struct sweep_part {
    word32 from, to, of, mixed;
} sweep_part;

/* The searched part of a step. */
typedef struct sweep_scene {
    real origin[3]; /* positions are relative to it */
    real scale;     /* cells of the curve per unit of length */
    real margin;    /* around boxes */
    real window;    /* the part of the step that is searched: from 0 to window */
} sweep_scene;

/* Result of one work-group that checks positions. */
typedef struct sweep_position_check {
    real lo[3], hi[3];
    word32 bad;     /* first position that is not finite or too large; 2^32 - 1 = none */
    word32 differs; /* not 0: some position differs from the last end */
} sweep_position_check;

/* Same layout as motion_hit. */
typedef struct sweep_hit {
    real time;
    word32 kind, first, second, unused;
    vec3 point, normal;
    real weights[3];
} sweep_hit;

enum { SWEEP_NO_SELF = 1, SWEEP_NO_OTHERS = 2 };

/* Sizes of work-groups, and words of local memory per group. */
#define SWEEP_ITEMS 256        /* of kernels without a size below */
#define SWEEP_NARROW_GROUP 128 /* of the filter and the sweep */
#define SWEEP_NARROW_WORDS 2
#define SWEEP_BOX_WORDS (8 * SWEEP_BLOCK) /* a block of boxes: six bounds, sets, owner */
#define SWEEP_STACK (SWEEP_BLOCK * (SWEEP_BLOCK_LEVELS + 1))
#define SWEEP_WALK_WORDS (SWEEP_STACK + 1)
#define SWEEP_KEPT_WORDS (11 * SWEEP_BLOCK)              /* features of a block that are kept */
#define SWEEP_LIST_WORDS (SWEEP_BLOCK * SWEEP_BLOCK / 2) /* pairs of these, two per word */
#define SWEEP_CANDIDATE_WORDS (2 * SWEEP_KEPT_WORDS + SWEEP_LIST_WORDS + 4)

#endif
