/* Types that the files of a batch of closest points share. */
#ifndef ABUTI_NEAREST_BATCH_H
#define ABUTI_NEAREST_BATCH_H

#include "bvh/gather.h"
#include "bvh/points.h"
#include "geom/closest_shared.h"
#include "nearest/nearest.h"

/* State that passes from point to point of a batch: a ball around one of them in which a property
 * of `complete` holds everywhere. */
typedef struct nearest_ball {
    bool is, holds;
    vec3 point;
    double radius;
} nearest_ball;

typedef struct nearest_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    abut_nearest *nearest;
    const bvh_sorted_point *places; /* the order of the points; used by lists */
    /* Completes the result of a point, with the state of the previous one; null = it is complete.
     */
    void (*complete)(const abut_bvh *bvh, vec3 point, nearest_ball *ball, abut_nearest *nearest);
    /* Instead of points and results in memory, of which only the count is set: generates `count`
     * points from `begin` on, and receives their results. The points must be sorted. Called from
     * any thread. */
    void (*read)(void *user, size_t begin, uint32_t count, vec3 *points);
    void (*keep)(void *user, size_t begin, uint32_t count, const vec3 *points,
                 const abut_nearest *answers);
    void *user;
} nearest_batch;

/* Computes the results of all points, which have been validated. `bounds` is their box, or null if
 * they are generated. */
abut_status abuti_batch_nearest(nearest_batch *b, const box3 *bounds);

/* Computes all results with feature lists. Reports progress. */
abut_status abuti_batch_lists(const nearest_batch *b);

/* ---- device_nearest.c and device_k_nearest.c: on a device; arguments have been validated, except
 * for points in a buffer ---- */

abut_status abuti_nearest_on_device(const char *function, bvh_on_device *there,
                                    const bvh_points *points, double radius, abut_array nearest);
abut_status abuti_nearest_many_on_device(const bvh_gather *gather, const bvh_points *points,
                                         double radius, uint32_t k, abut_array counts);
abut_status abuti_nearest_within_on_device(const bvh_gather *gather, const bvh_points *points,
                                           double radius);

/* ---- pairs_lanes.c ----
 *
 * Pairs of a point and a triangle that are measured in doubles, several at once, with the bits of
 * triangle_closest_point().
 *
 * If the feature of the nearest point is known, part of the computation is sufficient. If it is a
 * corner, weights are 1 and 0, and the distance is the length of the vector to it. If it is inside
 * an edge, not near its ends, and the other edges are further by more than rounding errors, the
 * foot on that edge is the nearest point. Corners are loaded in the order in which that corner, or
 * the edge, is the first. Everything else is the same, except that weights_at() chooses the first
 * of two equal weights: such pairs are left to the scalar function.
 */

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
