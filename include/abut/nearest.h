/* Closest points of a mesh: the closest point, the k nearest triangles (k nearest neighbours), and
 * all triangles within a radius; for one point or for millions.
 *
 * Method: depth-first traversal of the BVH with bounds in single precision; candidates are measured
 * in doubles. Large batches use lists of features instead (docs/nearest.md).
 *
 * Guarantee: results equal those of a loop over all triangles with abut_triangle_closest_point().
 * If several triangles are equally near, the one with the lowest index is returned. Results do not
 * depend on the number of threads or on the processor. For signed distances, negative inside, see
 * <abut/sign.h>.
 */
#ifndef ABUT_NEAREST_H
#define ABUT_NEAREST_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- closest point ---- */

typedef struct abut_nearest {
    double distance;       /* infinity if no triangle is within the radius */
    abut_vec3 point;       /* the closest point, absolute; the query point if there is none */
    double barycentric[3]; /* of the closest point in its triangle */
    uint32_t triangle;     /* ABUT_NONE if there is none */
    abut_feature feature;  /* the feature of the triangle that contains the closest point */
} abut_nearest;

ABUT_LIST(abut_nearest)

/* Finds the closest point of the mesh at a distance of at most `radius`, which may be infinite
 * (HUGE_VAL). Returns ABUT_ERROR_ARGUMENT if `radius` is negative or NaN, or if `point` is not
 * finite or beyond ABUT_COORDINATE_MAX. Allocates no memory. Thread-safe. */
ABUT_API abut_status abut_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius,
                                        abut_nearest *nearest);

/* The same for many points, on all threads: nearest[i] (abut_nearest) belongs to point i. Sorts the
 * points by position first, so a batch is faster than single queries for any order of points.
 * `nearest` has `count` elements; the count may be 0. All points are validated before any result is
 * written. Reports progress as stage "nearest". If the callback cancels, some results have been
 * written. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_nearest_point_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                              double radius, abut_array nearest);

/* Returns the reliability of unsigned distances, rays and intersections on a mesh: guaranteed for
 * every mesh. Thread-safe. */
ABUT_API abut_reliability abut_nearest_reliability(const abut_mesh_report *report);

/* ---- k nearest triangles, and all within a radius ---- */

/* Finds the k nearest neighbours: the k triangles nearest to a point, at a distance of at most
 * `radius`. They are sorted by distance, then by index. k is the capacity of the list, at most
 * UINT32_MAX, and more triangles are not an error: the count is at most k, and less if fewer
 * triangles are within the radius. Errors are as in abut_nearest_point(). Allocates no memory.
 * Thread-safe. */
ABUT_API abut_status abut_nearest_k(const abut_bvh *bvh, abut_vec3 point, double radius,
                                    abut_nearest_list *nearest);
/* The same for many points, on all threads. The triangles of point i begin at nearest[i x k]
 * (abut_nearest), and counts[i] (uint32_t) is their number; its other elements are unchanged. All
 * points are validated before any result is written. Returns ABUT_ERROR_LIMIT if the size of
 * `nearest` overflows. Reports progress as stage "nearest". If the callback cancels, some results
 * have been written. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_nearest_k_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                          double radius, uint32_t k, abut_array nearest,
                                          abut_array counts);
/* Finds all triangles at a distance of at most `radius`, sorted by distance, then by index. Errors
 * are as in abut_nearest_point(). Thread-safe. */
ABUT_API abut_status abut_nearest_within(const abut_bvh *bvh, abut_vec3 point, double radius,
                                         abut_nearest_list *nearest);

/* The same for many points, on all threads. The triangles of point i are nearest[offsets[i]] up to
 * but not including nearest[offsets[i + 1]] (abut_nearest); `offsets` (uint64_t) has count + 1
 * elements. Sets `total` to the number of all triangles. Returns ABUT_ERROR_BUFFER if that
 * exceeds `capacity`; `offsets` and `nearest` are then unchanged. Both may be null if the capacity
 * is 0. All points are validated before any result is written. Needs at most 8 temporary bytes per
 * point. Reports progress as stage "nearest". If the callback cancels, some results have been
 * written. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_nearest_within_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                               double radius, uint64_t capacity, abut_array offsets,
                                               abut_array nearest, uint64_t *total);

#ifdef __cplusplus
}
#endif

#endif
