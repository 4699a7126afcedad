/* Nearest points of a mesh: the nearest, the k nearest triangles, all within a radius; for one
 * point or for millions.
 *
 * Answers are those of a search through all triangles with the functions of <abut/geom.h>; where
 * several triangles are equally near the one of lowest index is given. They depend neither on the
 * number of threads nor on the processor. With a sign, negative inside: <abut/sign.h>.
 */
#ifndef ABUT_NEAREST_H
#define ABUT_NEAREST_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- nearest point ---- */

typedef struct abut_nearest {
    double distance; /* infinity where nothing is within the radius */
    abut_vec3 point; /* absolute; the query itself where nothing is found */
    double barycentric[3];
    uint32_t triangle;    /* ABUT_NONE where nothing is found */
    abut_feature feature; /* of the triangle */
} abut_nearest;

/* Finds the nearest point of the mesh at a distance of at most `radius`, which may be infinite
 * (HUGE_VAL) but not negative or NaN. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius,
                                        abut_nearest *nearest);

/* The same for many points, on all threads: nearest[i], an abut_nearest, belongs to point i. Faster
 * than one after the other, in whatever order they are: they are sorted by place first. `nearest`
 * has room for points->count; no points are fine. Refused before anything is written: a point that
 * is not finite or beyond ABUT_COORDINATE_MAX. Reports progress as stage "nearest"; if that
 * cancels, part of `nearest` has been written. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_nearest_point_batch(const abut_bvh *bvh, const abut_points *points,
                                              double radius, abut_array nearest);

/* What unsigned distances, rays and pairs of triangles promise on a mesh: all, whatever it is.
 * Thread-safe. */
ABUT_API abut_reliability abut_nearest_reliability(const abut_mesh_report *report);

/* ---- several nearest ---- */

/* Finds the triangles nearest to a point, at most `k` of them, and only at a distance of at most
 * `radius`: sorted by distance, then by index. `nearest` has room for `k`; `count` gets how many
 * there are. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_nearest_k(const abut_bvh *bvh, abut_vec3 point, double radius, uint32_t k,
                                    abut_nearest *nearest, uint64_t *count);
/* The same for many points on all threads: those of point i begin at nearest[i x k] (abut_nearest),
 * and counts[i] (uint32_t) tells how many they are; what is left of its places stays as it was.
 * Refused before anything is written: a point that is not legal. Reports progress as stage
 * "nearest"; if that cancels, part has been written. Thread-safe; on a device one batch at a time.
 */
ABUT_API abut_status abut_nearest_k_batch(const abut_bvh *bvh, const abut_points *points,
                                          double radius, uint32_t k, abut_array nearest,
                                          abut_array counts);
/* Finds all triangles at a distance of at most `radius`, sorted as above. Writes them if there are
 * at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in either case.
 * `nearest` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_nearest_within(const abut_bvh *bvh, abut_vec3 point, double radius,
                                         uint64_t capacity, abut_nearest *nearest, uint64_t *count);

/* The same for many points on all threads: those of point i are nearest[offsets[i]] up to but not
 * including nearest[offsets[i + 1]]: abut_nearest, and offsets of uint64_t, with room for
 * points->count + 1. Fails with ABUT_ERROR_BUFFER where there are more than `capacity`, and
 * `offsets` and `nearest` stay as they were; `total` gets their number in either case. `offsets`
 * and `nearest` may be null with a capacity of 0. Refused before anything is written: a point that
 * is not legal. Reports progress as stage "nearest"; if that cancels, part has been written. Takes
 * at most 8 bytes a point meanwhile. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_nearest_within_batch(const abut_bvh *bvh, const abut_points *points,
                                               double radius, uint64_t capacity, abut_array offsets,
                                               abut_array nearest, uint64_t *total);

#ifdef __cplusplus
}
#endif

#endif
