/* Types that closest-point searches share. */
#ifndef ABUTI_NEAREST_H
#define ABUTI_NEAREST_H

#include "bvh/wide.h"
#include "nearest/nearest_shared.h"

#include <abut/nearest.h>

/* The warm start of a query, kept from one point of a batch to the next. */
typedef struct bvh_hint {
    bool known;
    vec3 point; /* a point of the mesh, relative to the local origin */
} bvh_hint;

/* The closest point for validated arguments. */
void abuti_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                         abut_nearest *nearest);

/* The k nearest triangles within a radius, sorted, for validated arguments; returns their number.
 */
uint32_t abuti_nearest_k(const abut_bvh *bvh, vec3 point, double radius, uint32_t k,
                         abut_nearest *nearest);

/* ---- search_lanes.c ---- */

typedef struct nearest_found {
    double distance, weight[3]; /* infinite if no triangle is within the radius; of its corners */
    uint32_t triangle;          /* or ABUT_NONE */
} nearest_found;

/* Finds the nearest triangle to a point that is not far. The hint may be null. */
typedef void nearest_search(const abut_bvh *bvh, const bvh_wide *tree, vec3 point, double radius,
                            const bvh_hint *hint, nearest_found *found);
nearest_search abuti_nearest_search_4, abuti_nearest_search_8, abuti_nearest_search_16;

/* A pair of a point and a triangle, with the results of triangle_closest_point(). */
typedef struct nearest_pair {
    vec3 point;
    uint32_t triangle;
    uint32_t index; /* of the point; for the caller */
    double distance, weight[3];
} nearest_pair;

/* Measures pairs in doubles, several at once. */
typedef void nearest_measure(const abut_mesh *mesh, nearest_pair *pairs, uint32_t count);
nearest_measure abuti_nearest_measure_4, abuti_nearest_measure_8, abuti_nearest_measure_16;

#endif
