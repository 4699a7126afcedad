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

/* ---- the side of a surface on which a point is, by a normal: see normals.c ---- */

/* Of the direction from the nearest point, relative; and of that point, relative to coordinates. */
#define NORMAL_DIRECTION_ERROR 1e-7
#define NORMAL_POSITION_ERROR 0x1p-48

/* In doubles. `normal` is not of unit length, and `weight` is the sum of the weights in it. 1
 * outside, -1 inside, 0 if rounding errors do not decide. */
static inline int normal_side(vec3 point, vec3 nearest, vec3 normal, double weight) {
    vec3 d = v3_sub(point, nearest);
    double unit = v3_max_abs(d);
    if (!(unit > 0.0))
        return 0;
    double product = v3_dot(v3_scale(d, 1.0 / unit), normal);
    double wrong = NORMAL_DIRECTION_ERROR +
                   NORMAL_POSITION_ERROR * (v3_max_abs(point) + v3_max_abs(nearest)) / unit;
    return product > 4.0 * weight * wrong ? 1 : product < -4.0 * weight * wrong ? -1 : 0;
}

#endif
