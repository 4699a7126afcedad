/* What the host and the kernels of sweeps tell each other; the same layout on both sides.
 *
 * Features of the three kinds are numbered one after the other: vertices, edges, faces. Sorted
 * along a curve they stand in blocks of SWEEP_BLOCK, a kind beginning with a block of its own;
 * blocks have boxes, and so have SWEEP_BLOCK blocks, and so on: the levels of a tree without
 * pointers, for edges and for faces.
 */
#ifndef ABUTI_SWEEP_DEVICE_SHARED_H
#define ABUTI_SWEEP_DEVICE_SHARED_H

#include "base/math_shared.h"

#define SWEEP_BLOCK 32
#define SWEEP_BLOCK_LEVELS 6 /* 32^6 blocks and more than there are indices */

enum { SWEEP_VERTICES, SWEEP_EDGES, SWEEP_FACES, SWEEP_KINDS };

typedef struct sweep_layout {
    word32 count[SWEEP_KINDS]; /* features */
    word32 first[SWEEP_KINDS]; /* of the kind, where features are numbered together */
    word32 levels[SWEEP_KINDS];
    word32 nodes[SWEEP_KINDS][SWEEP_BLOCK_LEVELS]; /* how many a level has; level 0 are blocks */
    word32 node_first[SWEEP_KINDS][SWEEP_BLOCK_LEVELS];
} sweep_layout;

/* A box in floats; see sweep_boxes.cl. `feature` is its number among its kind, `sets` those of all
 * faces around it, or of all features of a block. */
typedef struct sweep_box {
    float lo[3];
    word32 feature;
    float hi[3];
    word32 sets;
} sweep_box;

/* Faces may be in sets, so that not every pair of them has to be looked at: those of which one is
 * in ANY, and those of which one is in FIRST and the other in SECOND. Features are in all sets of
 * the faces around them, so that a pair of features is looked at where one of their pairs of faces
 * is. Without sets, all are in ANY. */
enum { SWEEP_SET_FIRST = 1, SWEEP_SET_SECOND = 2, SWEEP_SET_ANY = 4 | 8 };

static inline int sweep_sets_pair(word32 a, word32 b) {
    return (((a | b) & SWEEP_SET_ANY) | ((a & SWEEP_SET_FIRST) & (b >> 1)) |
            ((a >> 1) & (b & SWEEP_SET_FIRST))) != 0;
}

/* Where the sets of a kind begin; `used` = 0: there are none. */
typedef struct sweep_sets {
    word32 first[SWEEP_KINDS];
    word32 used;
} sweep_sets;

/* What the device counts; words of one buffer. */
enum {
    SWEEP_COUNT_MANY,        /* pairs of blocks in units of 256, rounded up for each block */
    SWEEP_COUNT_BLOCKS,      /* pairs of blocks */
    SWEEP_COUNT_EDGE_EDGE,   /* candidates */
    SWEEP_COUNT_VERTEX_FACE, /* behind it */
    SWEEP_COUNT_HITS,
    SWEEP_COUNT_LATEST, /* a float: no hit later than this is of interest */
    SWEEP_COUNT_LEFT,   /* two: as below, after the first look */
    SWEEP_COUNT_OPEN =
        SWEEP_COUNT_LEFT + 2, /* for each round two: pairs of edges, of vertices and faces */
    SWEEP_COUNTS = 32
};
enum { SWEEP_ROUNDS = (SWEEP_COUNTS - SWEEP_COUNT_OPEN) / 2 - 1 };

/* Which pairs of blocks: from / of up to to / of of all, as listed or mixed over the scene. */
typedef struct sweep_part {
    word32 from, to, of, mixed;
} sweep_part;

/* What is searched. */
typedef struct sweep_scene {
    real origin[3]; /* near which the positions are */
    real scale;     /* of cells of the curve */
    real margin;    /* around boxes */
    real window;    /* how much of the step is looked at, from 0 to 1 */
} sweep_scene;

/* What a group found out about positions. */
typedef struct sweep_taken {
    real lo[3], hi[3];
    word32 bad;     /* the first that is not finite or too large; 2^32 - 1 = none */
    word32 differs; /* not 0: from the last end */
} sweep_taken;

/* As motion_hit. */
typedef struct sweep_hit {
    real time;
    word32 kind, first, second, unused;
    real normal[3], weights[3];
} sweep_hit;

/* As abut_impact. */
typedef struct sweep_impact {
    real time;
    real point[3], normal[3], weights[3];
    word32 kind, mesh[2], element[2], unused;
} sweep_impact;

enum { SWEEP_NO_SELF = 1, SWEEP_NO_OTHERS = 2 };

/* Items of a group, and words of local memory that it asks for. */
#define SWEEP_ITEMS 256        /* of what has no group below */
#define SWEEP_NARROW_GROUP 128 /* of sweeps and of what comes right before */
#define SWEEP_NARROW_WORDS 2
#define SWEEP_BOX_WORDS (7 * SWEEP_BLOCK) /* of a block of boxes: six sides and sets */
#define SWEEP_STACK (SWEEP_BLOCK * (SWEEP_BLOCK_LEVELS + 1))
#define SWEEP_WALK_WORDS (SWEEP_STACK + 1)
#define SWEEP_KEPT_WORDS (11 * SWEEP_BLOCK) /* of the features of a block that are still in */
#define SWEEP_LIST_WORDS (SWEEP_BLOCK * SWEEP_BLOCK / 2) /* of their pairs, two a word */
#define SWEEP_CANDIDATE_WORDS (2 * SWEEP_KEPT_WORDS + SWEEP_LIST_WORDS + 4)
#define SWEEP_RANK_CHUNK 512 /* hits that an item looks at */

#endif
