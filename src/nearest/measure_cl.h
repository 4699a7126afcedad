/* Measuring triangles in doubles, for kernels: the end of every search for a nearest point. */
#ifndef ABUTI_NEAREST_MEASURE_CL_H
#define ABUTI_NEAREST_MEASURE_CL_H

#include "bvh/node_cl.h"
#include "geom/closest_shared.h"

/* As abut_nearest. */
typedef struct nearest_answer {
    double distance;
    double point[3];
    double barycentric[3];
    uint triangle, feature;
} nearest_answer;

typedef struct measured {
    vec3 point;
    double radius;
    double best;
    uint winner;
    closest_on_triangle closest;
} measured;

/* A CPU's compiler takes ten seconds to put this into every kernel, and gains nothing. */
#ifdef APART
static __attribute__((noinline)) void measure(
#else
static inline void measure(
#endif
    measured *m, __global const double *corners, uint triangle) {
    closest_on_triangle closest =
        triangle_closest_point(load_triangle(corners, triangle), m->point);
    if (closest.distance < m->best || (closest.distance == m->best && triangle < m->winner)) {
        if (closest.distance > m->radius)
            return;
        m->best = closest.distance;
        m->winner = triangle;
        m->closest = closest;
    }
}

/* For places that are not worth a copy of it: compilers take long over each. */
static __attribute__((noinline)) void measure_apart(measured *m, __global const double *corners,
                                                    uint triangle) {
    measure(m, corners, triangle);
}

static inline void start_measure(measured *m, vec3 point, double radius) {
    m->point = point;
    m->radius = radius;
    m->best = INFINITY;
    m->winner = ABUT_NONE;
}

/* An answer is four vectors of 16 bytes: stores of a whole one take a quarter of the time. */
static inline void store(const measured *m, __global nearest_answer *answer) {
    bool found = m->winner != ABUT_NONE;
    vec3 point = found ? m->closest.point : m->point;
    double weight[3];
    for (int i = 0; i < 3; i++)
        weight[i] = found ? m->closest.barycentric[i] : 0.0;
    uint feature = found ? (uint)m->closest.feature : (uint)ABUT_FEATURE_FACE;
    __global ulong2 *to = (__global ulong2 *)answer;
    to[0] = (ulong2)(as_ulong(m->best), as_ulong(point.x));
    to[1] = (ulong2)(as_ulong(point.y), as_ulong(point.z));
    to[2] = (ulong2)(as_ulong(weight[0]), as_ulong(weight[1]));
    to[3] = (ulong2)(as_ulong(weight[2]), as_ulong((uint2)(m->winner, feature)));
}

#endif
