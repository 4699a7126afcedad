/* Ray casts against a mesh: the first hit, any hit, all hits, for one ray or millions; and an
 * estimate of wall thickness by rays.
 *
 * Method: traversal with bounds in single precision (Ize 2013; Woop and others 2013); exact
 * predicates where single precision cannot decide.
 *
 * Guarantee: whether a ray hits a triangle is exact, so no ray passes between neighbouring
 * triangles (watertight). Touching counts as a hit.
 */
#ifndef ABUT_RAY_H
#define ABUT_RAY_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rays ---- */

typedef struct abut_ray_hit {
    double parameter;      /* hit = origin + parameter direction; infinity on a miss */
    double barycentric[3]; /* of the hit in its triangle */
    uint32_t triangle;     /* ABUT_NONE on a miss */
} abut_ray_hit;

ABUT_LIST(abut_ray_hit)

/* Finds the first triangle that a ray hits at a parameter of at most `limit` (HUGE_VAL = no limit).
 * Among hits at the same parameter the lowest triangle is returned. Returns ABUT_ERROR_ARGUMENT if
 * the limit is negative or NaN, the direction is zero, or a coordinate is not finite or beyond
 * ABUT_COORDINATE_MAX. Allocates no memory. Thread-safe. */
ABUT_API abut_status abut_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit,
                                    abut_ray_hit *hit);
/* Tests whether a ray hits any triangle at a parameter of at most `limit`. Errors are as in
 * abut_ray_first(). Thread-safe. */
ABUT_API abut_status abut_ray_any(const abut_bvh *bvh, const abut_ray *ray, double limit,
                                  bool *any);
/* Finds all triangles that a ray hits, sorted by parameter, then by index. Thread-safe. */
ABUT_API abut_status abut_ray_all(const abut_bvh *bvh, const abut_ray *ray,
                                  abut_ray_hit_list *hits);
/* abut_ray_first() for `count` rays (abut_ray) on all threads: hits[i] (abut_ray_hit) belongs to
 * rays[i]. All rays are validated before any result is written. On the CPU, rays and closest points
 * use a wider tree, which a refit updates if it is in use (ABUT_PREPARE_RAYS in <abut/bvh.h>).
 * Reports progress as stage "rays". If the callback cancels, some results have been written.
 * Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_ray_first_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                          double limit, abut_array hits);
/* abut_ray_any() for `count` rays: any[i] (bool) belongs to rays[i]. Everything else is as in
 * abut_ray_first_batch(). Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_ray_any_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                        double limit, abut_array any);

/* abut_ray_all() for `count` rays on all threads. The hits of rays[i] are hits[offsets[i]] up to
 * but not including hits[offsets[i + 1]]; `offsets` (uint64_t) has count + 1 elements. Sets `total`
 * to the number of all hits. Returns ABUT_ERROR_BUFFER if that exceeds `capacity`; `offsets` and
 * `hits` are then unchanged. Both may be null if the capacity is 0. All rays are validated before
 * any result is written. Needs at most 40 temporary bytes per ray. Reports progress as stage
 * "rays". If the callback cancels, some results have been written. Thread-safe; on a device one
 * batch at a time. */
ABUT_API abut_status abut_ray_all_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                        uint64_t capacity, abut_array offsets, abut_array hits,
                                        uint64_t *total);

/* ---- wall thickness ---- */

/* Estimates the 1st percentile (p1) of the wall thickness of a closed, outward-facing mesh: on one
 * hundredth of the surface the opposite wall is at most this far, against the normal. Walls count
 * if their normals are opposite to within 45 degrees. Infinity if fewer samples have such a wall.
 * Uses 2,048 rays, the same in each call. Walls thinner than 1e-6 of the diagonal of the bounding
 * box are not detected. A signed distance field resolves both sides of a wall that is two cells
 * thick. Needs 8 temporary bytes per triangle. Thread-safe. */
ABUT_API abut_status abut_ray_thickness(const abut_bvh *bvh, double *thickness);

#ifdef __cplusplus
}
#endif

#endif
