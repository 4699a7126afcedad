/* Pairs of a point and a triangle that are measured in doubles, several at once, with the bits of
 * triangle_closest_point().
 *
 * If the feature of the nearest point is known, part of the computation is sufficient. If it is a
 * corner, weights are 1 and 0, and the distance is the length of the vector to it. If it is inside
 * an edge, not near its ends, and the other edges are further by more than rounding errors, the
 * foot on that edge is the nearest point. Corners are loaded in the order in which that corner, or
 * the edge, is the first. Everything else is the same, except that weights_at() chooses the first
 * of two equal weights: such pairs are left to the scalar function.
 */
#ifndef ABUTI_NEAREST_PAIRS_H
#define ABUTI_NEAREST_PAIRS_H

#include "bvh/bvh.h"
#include "geom/closest_shared.h"

typedef struct nearest_pair {
    uint32_t point, triangle;
    uint32_t corner;            /* the nearest one, or the beginning of the edge; otherwise 0 */
    double distance, weight[3]; /* as triangle_closest_point() computes them */
    vec3 closest;
} nearest_pair;

static inline void nearest_measure_pair(const abut_mesh *mesh, const vec3 *points,
                                        nearest_pair *pair) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(mesh, pair->triangle), points[pair->point]);
    pair->distance = closest.distance;
    pair->closest = closest.point;
    for (int k = 0; k < 3; k++)
        pair->weight[k] = closest.barycentric[k];
}

/* The known feature of the nearest points of some pairs. For faces and boundaries it need not be
 * correct, and only saves time. */
typedef enum pairs_kind {
    PAIRS_FACE,
    PAIRS_BOUNDARY,
    PAIRS_EDGE,
    PAIRS_CORNER,
    PAIRS_KINDS
} pairs_kind;

typedef struct pairs_kernel {
    /* Measures pairs of a kind. Points are absolute. */
    void (*exact)(const abut_mesh *mesh, const vec3 *points, pairs_kind kind, nearest_pair *pairs,
                  uint32_t count);
} pairs_kernel;

/* pairs_lanes.c; ABUTI_BY_LANES(abuti_pairs) is the fastest that this processor can run. */
extern const pairs_kernel abuti_pairs_4, abuti_pairs_8, abuti_pairs_16;

#endif
