/* Pairs of a point and a triangle, to be measured in doubles, several at once. */
#ifndef ABUTI_NEAREST_PAIRS_H
#define ABUTI_NEAREST_PAIRS_H

#include "bvh/bvh.h"
#include "geom/closest_shared.h"

typedef struct nearest_pair {
    uint32_t point, triangle;
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

typedef struct pairs_kernel {
    /* Measures pairs. Points are absolute. It is quicker where all points are over their triangles,
     * or none is. */
    void (*exact)(const abut_mesh *mesh, const vec3 *points, nearest_pair *pairs, uint32_t count);
} pairs_kernel;

/* pairs_lanes.c; ABUTI_BY_LANES(abuti_pairs) is the quickest that runs here. */
extern const pairs_kernel abuti_pairs_4, abuti_pairs_8, abuti_pairs_16;

#endif
