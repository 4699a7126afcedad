/* Data that the host and the boundary kernels share; the layout is equal on both sides.
 *
 * Triangles of the mesh are in the order of the tree, in blocks of BOUNDARY_BLOCK. Blocks have
 * boxes, and so have groups of BOUNDARY_BLOCK blocks, and so on up to one: a tree without pointers.
 */
#ifndef ABUTI_SELF_BOUNDARY_SHARED_H
#define ABUTI_SELF_BOUNDARY_SHARED_H

#include "self/bounds_shared.h"

#define BOUNDARY_BLOCK 32
#define BOUNDARY_WALKERS 128 /* work-items per ghost */
#define BOUNDARY_LEVELS 7    /* 32^7 triangles, more than there are indices */

/* Flags of a triangle during a step. */
enum { INTERSECTS_GHOST = 1, TOUCHES_GHOST = 2, BEYOND_GHOST = 4 };

typedef struct boundary_scene {
    bounds_frame frame;
    word32 vertices, triangles, ghosts;
    word32 all_vertices; /* with those of ghosts */
    word32 slabs;
    word32 known; /* violated triangles stay violated, and the mesh is not cut into pieces */
    word32 boxes; /* box-only: a triangle near a ghost counts as intersecting it */
    word32 parts;
    word32 pairs_room, features_room;
    word32 levels, nodes[BOUNDARY_LEVELS], node_first[BOUNDARY_LEVELS];
    word32 unused;
} boundary_scene;

typedef struct boundary_node {
    float lo[4], hi[4]; /* the last of each is 0 */
} boundary_node;

/* Two features that may touch: one of a ghost and one of the mesh. */
typedef struct boundary_feature {
    word32 four[4];
    word32 what, element; /* determine the triangles that are violated in that case */
} boundary_feature;

/* A vertex or an edge of the mesh against a ghost, or a corner of a ghost against a triangle. */
enum { VERTEX_GHOST = 0, EDGE_GHOST, GHOST_FACE, TOUCHINGS };

/* Counters of the device; words of one buffer. */
enum {
    BOUNDARY_SETS,                        /* four: triangles of each set, */
    BOUNDARY_ENTERED = BOUNDARY_SETS + 4, /* that entered it, */
    BOUNDARY_LEFT = BOUNDARY_ENTERED + 4, /* and that left it */
    BOUNDARY_PAIRS = BOUNDARY_LEFT + 4,   /* of a triangle and a ghost that are near */
    BOUNDARY_FEATURES,                    /* pairs of features */
    BOUNDARY_CUTS,                        /* some triangle intersects a ghost */
    BOUNDARY_LARGEST,                     /* triangles of the largest piece, */
    BOUNDARY_BEST,                        /* and the complement of the lowest of them */
    BOUNDARY_COUNTS = 20
};

#endif
