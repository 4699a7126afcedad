/* The side of a surface on which a point is, by a normal, for C and OpenCL C: see normals.c. */
#ifndef ABUTI_SIGN_SIDE_SHARED_H
#define ABUTI_SIGN_SIDE_SHARED_H

#include "base/math_shared.h"

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
