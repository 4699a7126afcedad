/* Pairs of a point and a triangle, to be measured in doubles, several at once: bit for bit as
 * triangle_closest_point() does it.
 *
 * Where it is known what that finds, part of it is enough. If the nearest point is a corner,
 * weights are 1 and 0, and the distance is the length of the way there. If it is inside an edge,
 * clear of its ends, and the other edges are further by more than roundings, the foot on that edge
 * is what is taken. Corners are loaded in the order in which that corner, or the edge, is the
 * first. Then all is as without that, but that weights_at() takes the first of two equal weights:
 * where they are, the pair is left to the routine.
 */
#ifndef ABUTI_NEAREST_PAIRS_H
#define ABUTI_NEAREST_PAIRS_H

#include "bvh/bvh.h"
#include "geom/closest_shared.h"

typedef struct nearest_pair {
    uint32_t point, triangle;
    uint32_t corner;            /* the nearest one, or from which on the edge is; else 0 */
    double distance, weight[3]; /* as triangle_closest_point() gives them */
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

/* What is known of the nearest points of some pairs. For faces and borders it need not be so, and
 * is only quicker. */
typedef enum pairs_kind {
    PAIRS_FACE,
    PAIRS_BORDER,
    PAIRS_EDGE,
    PAIRS_CORNER,
    PAIRS_KINDS
} pairs_kind;

typedef struct pairs_kernel {
    /* Measures pairs of a kind. Points are absolute. */
    void (*exact)(const abut_mesh *mesh, const vec3 *points, pairs_kind kind, nearest_pair *pairs,
                  uint32_t count);
} pairs_kernel;

/* pairs_lanes.c; ABUTI_BY_LANES(abuti_pairs) is the quickest that runs here. */
extern const pairs_kernel abuti_pairs_4, abuti_pairs_8, abuti_pairs_16;

#endif
