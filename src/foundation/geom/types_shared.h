/* The value types of <abut/geom.h> in `real`, for C and OpenCL C. In C at 64 bits they are the
 * public types themselves. */
#ifndef ABUTI_GEOM_TYPES_SHARED_H
#define ABUTI_GEOM_TYPES_SHARED_H

#include "base/math_shared.h"

#ifndef __OPENCL_C_VERSION__
#include <abut/geom.h>
#else
typedef enum abut_feature {
    ABUT_FEATURE_FACE = 0,
    ABUT_FEATURE_EDGE_0,
    ABUT_FEATURE_EDGE_1,
    ABUT_FEATURE_EDGE_2,
    ABUT_FEATURE_VERTEX_0,
    ABUT_FEATURE_VERTEX_1,
    ABUT_FEATURE_VERTEX_2
} abut_feature;
typedef enum abut_intersection {
    ABUT_INTERSECTION_NONE = 0,
    ABUT_INTERSECTION_POINT,
    ABUT_INTERSECTION_SEGMENT,
    ABUT_INTERSECTION_COPLANAR
} abut_intersection;
#endif

#if !defined(__OPENCL_C_VERSION__) && ABUTI_REAL_BITS == 64
typedef abut_triangle triangle3;
typedef abut_segment segment3;
typedef abut_ray ray3;
typedef abut_closest_on_segment closest_on_segment;
typedef abut_closest_on_triangle closest_on_triangle;
typedef abut_closest_pair closest_pair;
typedef abut_ray_triangle_hit ray_hit;
typedef abut_signed_closest signed_closest;
#else
typedef struct triangle3 {
    vec3 corner[3];
} triangle3;
typedef struct segment3 {
    vec3 end[2];
} segment3;
typedef struct ray3 {
    vec3 origin, direction;
} ray3;
typedef struct closest_on_segment {
    real distance;
    vec3 point;
    real parameter;
} closest_on_segment;
typedef struct closest_on_triangle {
    real distance;
    vec3 point;
    real barycentric[3];
    abut_feature feature;
} closest_on_triangle;
typedef struct closest_pair {
    real distance;
    vec3 point_a, point_b;
} closest_pair;
typedef struct ray_hit {
    real parameter;
    real barycentric[3];
} ray_hit;
typedef struct signed_closest {
    real distance;
    vec3 point;
} signed_closest;
#endif

static inline int v3_equal(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

#endif
