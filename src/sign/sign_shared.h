/* What inside.cl, winding.cl and the host agree on. */
#ifndef ABUTI_SIGN_SHARED_H
#define ABUTI_SIGN_SHARED_H

#include "bvh/bvh_shared.h"

#define SIGN_GROUP 128    /* items of a work-group */
#define SIGN_CANDIDATES 8 /* triangles that are left to doubles, a point */

/* What is asked: the sign of a distance, a byte, a double. */
#define QUEST_SIGN 1
#define QUEST_INSIDE 2
#define QUEST_WINDING 3

/* By how much floats in the frame are wrong, boxes of nodes and points together; see inside.cl. */
#define SIGN_MARGIN 0x1p-20f

/* What the four children of a node look like from afar: the coefficients of a polynomial in the
 * unit vector from the query to the middle of the child's box, of degrees 1, 2 and 3 (see
 * winding.c). Only children of the hierarchy's own node are meant, so the two arrays go together.
 */
typedef struct bvh_far_node {
    bvh_floats n[3];    /* x y z */
    bvh_floats m[6];    /* xx yy zz xy yz zx */
    bvh_floats k[10];   /* xxx yyy zzz xxy yyz zzx xyy yzz zxx xyz */
    bvh_floats near_sq; /* squares of the distances from their middles beyond which they are far */
} bvh_far_node;

#endif
