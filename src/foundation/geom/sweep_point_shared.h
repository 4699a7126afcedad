/* The point at which two features touch, for C and OpenCL C. */
#ifndef ABUTI_GEOM_SWEEP_POINT_SHARED_H
#define ABUTI_GEOM_SWEEP_POINT_SHARED_H

#include "base/math_shared.h"

/* A weighted mean, which cannot overflow. */
static inline vec3 sweep_mean(vec3 a, vec3 b, real t) {
    return v3_add(v3_scale(a, REAL(1.0) - t), v3_scale(b, t));
}

/* The middle of the closest points at the time of a hit: of two edges, or of a vertex and a face;
 * weights as in abut_sweep_result. */
static inline vec3 sweep_point(int edges, const vec3 *start, const vec3 *end, real time,
                               const real *weights) {
    vec3 p[4], first, second;
    for (int k = 0; k < 4; k++)
        p[k] = sweep_mean(start[k], end[k], time);
    if (edges) {
        first = sweep_mean(p[0], p[1], weights[0]);
        second = sweep_mean(p[2], p[3], weights[1]);
    } else {
        first = p[0];
        second = v3_along(v3_along(v3_scale(p[1], weights[0]), weights[1], p[2]), weights[2], p[3]);
    }
    return sweep_mean(first, second, REAL(0.5));
}

#endif
