/* Responses to results of the library itself, for C and OpenCL C. */
#ifndef ABUT_BENCH_EXACT_SHARED_H
#define ABUT_BENCH_EXACT_SHARED_H

#include "rivals_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef struct rival_signed { /* as abut_nearest */
    double distance;
    rival_point point;
    double barycentric[3];
    word32 triangle, feature;
} rival_signed;
#else
#include <abut/nearest.h>
typedef abut_nearest rival_signed;
#endif

/* Moves a particle that is inside to the closest point. */
static inline void exact_respond(ABUTI_GLOBAL const rival_signed *nearest,
                                 ABUTI_GLOBAL const rival_point *from, ABUTI_GLOBAL rival_point *to,
                                 real friction, word32 i) {
    rival_signed n = nearest[i];
    if (n.triangle == ABUT_NONE || !(n.distance < 0))
        return;
    vec3 offset =
        v3((real)(n.point.x - to[i].x), (real)(n.point.y - to[i].y), (real)(n.point.z - to[i].z));
    vec3 normal = v3_normalise(offset);
    if (v3_dot(normal, normal) > REAL(0.0))
        to[i] = rival_moved(from[i], to[i], offset, normal, friction);
}

/* A dense field of the library: the centre of its first cell, cells per unit. */
typedef struct rival_field {
    double origin[3], inverse;
    word32 count[3], unused;
} rival_field;

/* Trilinear; the surface is in the direction of the gradient. */
static inline void field_respond(const rival_field *field, ABUTI_GLOBAL const float *values,
                                 ABUTI_GLOBAL const rival_point *from, ABUTI_GLOBAL rival_point *to,
                                 real friction, word32 i) {
    rival_point p = to[i];
    real at[3] = {(real)((p.x - field->origin[0]) * field->inverse),
                  (real)((p.y - field->origin[1]) * field->inverse),
                  (real)((p.z - field->origin[2]) * field->inverse)};
    int begin[3];
    for (int k = 0; k < 3; k++) {
        begin[k] = rival_floor(at[k]);
        if (begin[k] < 0 || begin[k] + 1 >= (int)field->count[k])
            return;
    }
    real u = at[0] - (real)begin[0], v = at[1] - (real)begin[1], w = at[2] - (real)begin[2];
    size_t row = field->count[0], sheet = row * field->count[1];
    ABUTI_GLOBAL const float *c =
        values + ((size_t)begin[2] * sheet + (size_t)begin[1] * row + (size_t)begin[0]);
    real d0 = c[0], d1 = c[1], d2 = c[row], d3 = c[row + 1];
    real d4 = c[sheet], d5 = c[sheet + 1], d6 = c[sheet + row], d7 = c[sheet + row + 1];
    real x00 = d0 + u * (d1 - d0), x10 = d2 + u * (d3 - d2);
    real x01 = d4 + u * (d5 - d4), x11 = d6 + u * (d7 - d6);
    real y0 = x00 + v * (x10 - x00), y1 = x01 + v * (x11 - x01);
    real distance = y0 + w * (y1 - y0);
    if (!(distance < REAL(0.0)))
        return;
    real g0 = (d1 - d0) + v * ((d3 - d2) - (d1 - d0)), g1 = (d5 - d4) + v * ((d7 - d6) - (d5 - d4));
    vec3 normal = v3_normalise(
        v3(g0 + w * (g1 - g0), (x10 - x00) + w * ((x11 - x01) - (x10 - x00)), y1 - y0));
    if (v3_dot(normal, normal) > REAL(0.0))
        to[i] = rival_moved(from[i], p, v3_scale(normal, -distance), normal, friction);
}

#endif
