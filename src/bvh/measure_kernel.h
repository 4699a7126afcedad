/* Measuring triangles in doubles, for kernels: the end of every search for a nearest point. */
#ifndef ABUTI_MEASURE_KERNEL_H
#define ABUTI_MEASURE_KERNEL_H

#include "geom/closest_shared.h"

#define NONE 0xffffffffu

typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

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

static inline vec3 load_point(__global const double *from) {
    return v3(from[0], from[1], from[2]);
}

/* A CPU's compiler takes ten seconds to put this into every kernel, and gains nothing. */
#ifdef APART
static __attribute__((noinline)) void measure(
#else
static inline void measure(
#endif
    measured *m, __global const double *corners, uint triangle) {
    __global const double *c = corners + 9 * (size_t)triangle;
    triangle3 t;
    t.corner[0] = load_point(c);
    t.corner[1] = load_point(c + 3);
    t.corner[2] = load_point(c + 6);
    closest_on_triangle closest = triangle_closest_point(t, m->point);
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
    m->winner = NONE;
}

/* An answer is four vectors of 16 bytes: stores of a whole one take a quarter of the time. */
static inline void store(const measured *m, __global nearest_answer *answer) {
    bool found = m->winner != NONE;
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
