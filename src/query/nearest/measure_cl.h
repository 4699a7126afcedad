/* Measuring triangles in doubles, for kernels: the end of every closest-point search. */
#ifndef ABUTI_NEAREST_MEASURE_CL_H
#define ABUTI_NEAREST_MEASURE_CL_H

#include "bvh/node_cl.h"
#include "geom/closest_shared.h"

/* As abut_nearest. */
typedef struct nearest_result {
    double distance;
    double point[3];
    double barycentric[3];
    uint triangle, feature;
} nearest_result;

typedef struct measured {
    vec3 point;
    double radius;
    double best;
    uint winner;
    closest_on_triangle closest;
} measured;

ABUTI_NOINLINE void measure(measured *m, __global const double *corners, uint triangle) {
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

/* For calls that do not justify another inlined copy: compilers are slow on each. */
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

/* A result is four vectors of 16 bytes: whole stores take a quarter of the time. */
static inline void store(const measured *m, __global nearest_result *result) {
    bool found = m->winner != ABUT_NONE;
    vec3 point = found ? m->closest.point : m->point;
    double weight[3];
    for (int i = 0; i < 3; i++)
        weight[i] = found ? m->closest.barycentric[i] : 0.0;
    uint feature = found ? (uint)m->closest.feature : (uint)ABUT_FEATURE_FACE;
    __global ulong2 *to = (__global ulong2 *)result;
    to[0] = (ulong2)(as_ulong(m->best), as_ulong(point.x));
    to[1] = (ulong2)(as_ulong(point.y), as_ulong(point.z));
    to[2] = (ulong2)(as_ulong(weight[0]), as_ulong(weight[1]));
    to[3] = (ulong2)(as_ulong(weight[2]), as_ulong((uint2)(m->winner, feature)));
}

/* ---- searches in doubles, for distant points ---- */

typedef struct far_point {
    double at[3];     /* in units of the search: nothing is further than 4 */
    double unit;      /* factor from world distances to these units */
    double per_frame; /* factor from coordinates of the frame to these units */
} far_point;

static inline far_point make_far_point(vec3 point, mesh_frame frame) {
    vec3 p = v3_sub(point, v3(frame.origin[0], frame.origin[1], frame.origin[2]));
    far_point f;
    f.unit = real_min(1.0 / v3_max_abs(p), frame.scale);
    f.per_frame = f.unit / frame.scale;
    f.at[0] = p.x * f.unit;
    f.at[1] = p.y * f.unit;
    f.at[2] = p.z * f.unit;
    return f;
}

static inline double far_box_sq(const far_point *f, __global const bvh_node *n, uint slot) {
    __global const float *lo = (__global const float *)n->lo, *hi = (__global const float *)n->hi;
    double sum = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        double below = lo[4 * axis + slot] * f->per_frame - f->at[axis];
        double above = f->at[axis] - hi[4 * axis + slot] * f->per_frame;
        double d = real_max(real_max(below, above), 0.0);
        sum += d * d;
    }
    return sum;
}

/* Pushes the children within the limit, the nearest last. */
static uint far_children(const far_point *f, __global const bvh_node *n, double limit_sq,
                         double *distances, uint *children, uint used) {
    uint first = used;
    for (uint slot = 0; slot < BVH_WIDTH; slot++) {
        uint child = BVH_AT(const uint, n->child, slot);
        if (child == ABUT_NONE)
            continue;
        double sum = far_box_sq(f, n, slot);
        if (sum > limit_sq)
            continue;
        uint i = used++;
        for (; i > first && distances[i - 1] < sum; i--) {
            distances[i] = distances[i - 1];
            children[i] = children[i - 1];
        }
        distances[i] = sum;
        children[i] = child;
    }
    return used;
}

#endif
