/* Structs and constants that inside.cl, winding.cl and the host share. */
#ifndef ABUTI_SIGN_SHARED_H
#define ABUTI_SIGN_SHARED_H

#include "bvh/bvh_shared.h"

#define SIGN_GROUP 128    /* work-items of a work-group */
#define SIGN_CANDIDATES 8 /* triangles per point that are left to doubles */

/* The query: the sign of a distance, a byte, a double. */
#define QUEST_SIGN 1
#define QUEST_INSIDE 2
#define QUEST_WINDING 3

/* The error of floats in the frame, boxes of nodes and points together; see inside.cl. */
#define SIGN_MARGIN 0x1p-20f

/* The far fields of the four children of a node: the coefficients of a polynomial in the unit
 * vector from the query point to the centre of the box of the child, of degrees 1, 2 and 3 (see
 * winding.c). The children are those of the node of the BVH with the same index. */
typedef struct bvh_far_node {
    bvh_floats n[3];    /* x y z */
    bvh_floats m[6];    /* xx yy zz xy yz zx */
    bvh_floats k[10];   /* xxx yyy zzz xxy yyz zzx xyy yzz zxx xyz */
    bvh_floats near_sq; /* squared distances from their centres beyond which they are far */
} bvh_far_node;

#endif
