/* Rays against a mesh: the first hit, any hit, all hits; one ray or millions. Whether a triangle is
 * hit is exact, so nothing slips between neighbours.
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
    double parameter; /* hit = origin + parameter direction; infinity on a miss */
    double barycentric[3];
    uint32_t triangle; /* ABUT_NONE on a miss */
} abut_ray_hit;

/* Finds the first triangle that a ray hits at a parameter of at most `limit` (not negative or NaN;
 * HUGE_VAL = no limit). Whether a triangle is hit is exact, so nothing slips between neighbours.
 * Takes no memory. Thread-safe. */
ABUT_API abut_status abut_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit,
                                    abut_ray_hit *hit);
/* Tells whether a ray hits anything at a parameter of at most `limit`. Thread-safe. */
ABUT_API abut_status abut_ray_any(const abut_bvh *bvh, const abut_ray *ray, double limit,
                                  bool *any);
/* Finds all triangles that a ray hits, sorted by parameter, then by index. Writes them if there are
 * at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in either case.
 * `hits` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_ray_all(const abut_bvh *bvh, const abut_ray *ray, uint64_t capacity,
                                  abut_ray_hit *hits, uint64_t *count);
/* abut_ray_first for `count` rays on all threads, from an array of abut_ray to one of abut_ray_hit:
 * hits[i] belongs to rays[i]. Refused before
 * anything is written: a ray that is not legal. Reports progress as stage "rays"; if that cancels,
 * part of `hits` has been written. On the CPU, once batches of any of the three kinds have had a
 * quarter as many rays as there are triangles, a tree for rays of some 60 to 100 bytes a triangle
 * is made, which stays with the hierarchy until a refit; without memory for it answers are the
 * same, and slower. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_ray_first_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                          double limit, abut_array hits);
/* abut_ray_any for `count` rays, as abut_ray_first_batch(): any[i], a bool, belongs to rays[i].
 * Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_ray_any_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                        double limit, abut_array any);

/* abut_ray_all for `count` rays on all threads: the hits of rays[i] are hits[offsets[i]] up to
 * but not including hits[offsets[i + 1]]. `offsets`, of uint64_t, has room for count + 1. Fails
 * with ABUT_ERROR_BUFFER where there are more than `capacity`, and `offsets` and `hits` stay as
 * they were; `total` gets their number in either case. `offsets` and `hits` may be null with a
 * capacity of 0. Refused before anything is written: a ray that is not legal. Reports progress as
 * stage "rays"; if that cancels, part has been written. Takes at most 40 bytes a ray meanwhile.
 * Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_ray_all_batch(const abut_bvh *bvh, abut_array rays, size_t count,
                                        uint64_t capacity, abut_array offsets, abut_array hits,
                                        uint64_t *total);

/* ---- how thin a solid gets ---- */

/* Estimates how thin a closed, outward mesh gets: on a hundredth of its surface the wall behind,
 * straight in and facing away, is no further than this. Infinity where there are no such walls.
 * From some 2,000 rays, the same each time. A distance field tells both sides of a part where that
 * is two cells thick. Takes 8 bytes a triangle meanwhile. Thread-safe. */
ABUT_API abut_status abut_ray_thickness(const abut_bvh *bvh, double *thickness);

#ifdef __cplusplus
}
#endif

#endif
