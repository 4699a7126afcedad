/* Queries against a world: ray casts, overlap tests, closest points and shape casts against all of
 * its items.
 *
 *     abut_world_prepare_queries(world);                 // after each change of the world
 *     abut_world_ray_first(world, abut_array_host(rays), count, HUGE_VAL, NULL, hits, NULL);
 *
 * Queries see the items where they are now: meshes and bodies with a BVH, primitives, sheets of
 * cloth, and characters. They do not change the world. Filters select items by group, id or
 * callback.
 *
 * Rays and closest points see surfaces: a ray that starts inside a body hits where it leaves the
 * body, and a point inside a body has the distance of its surface. Overlap tests, distances of
 * colliders and shape casts see solids, as in <abut/pair.h>. To find the items that contain a
 * point, test the overlap of a sphere with radius 0.
 *
 * Method: the trees of the broad phase select items by their bounding boxes, nearest first. Meshes
 * and hulls are then tested by the functions for one mesh (<abut/ray.h>, <abut/nearest.h>,
 * <abut/pair.h>, <abut/sweep.h>), and primitives in closed form.
 *
 * Guarantee: results equal those of a loop over all items. They depend neither on the number of
 * threads nor on the history of the world. Points and rays are converted to the coordinates of
 * each item, which rounds them; whether the converted ray hits a triangle is exact. Cylinders
 * against meshes and hulls are circumscribed prisms, which exceed them by 0.0013 of the radius.
 *
 * Where order or ties depend on ids, they depend on their indices (abut_world_index()).
 *
 * Items that queries cannot see are counted in abut_world_query_report: bodies without a BVH, and
 * characters whose vertices the world does not have. Queries run on the CPU, also if the world has
 * a device.
 *
 * Threads: any number of threads may query one world at once, while no thread changes it. Batches
 * use the threads of the context of the world, and report progress as stage "queries". If the
 * callback cancels, some results have been written.
 */
#ifndef ABUT_WORLD_QUERY_H
#define ABUT_WORLD_QUERY_H

#include <abut/base.h>
#include <abut/collider.h>
#include <abut/geom.h>
#include <abut/sweep.h>
#include <abut/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- preparation and filters ---- */

/* Prepares a world for queries: downloads poses and sheets, fits the trees of the broad phase, and
 * refits the surfaces of characters. Call it after items are added, replaced, removed, moved or
 * deformed, and after abut_world_step() and abut_world_sweep(). Without it queries return
 * ABUT_ERROR_ARGUMENT. It does nothing if the world is prepared. Contacts and events keep the
 * preparation. Not thread-safe. */
ABUT_API abut_status abut_world_prepare_queries(abut_world *world);

/* Returns whether a query may see an item. It is called on several threads at once, and only for
 * items that the rest of the filter accepts. It must return the same value for an id throughout a
 * query, and must not change the world. */
typedef bool abut_world_accept(void *user, uint32_t id);

/* Which items a query sees. The motion of an item does not matter. */
typedef struct abut_world_query_options {
    size_t size;
    uint32_t mask;           /* one bit for each group that the query sees; 0 = all groups */
    uint32_t group;          /* groups of the query: it sees only items whose mask has one of these
                              * bits; 0 = items with any mask, also those that collide with nothing */
    bool skip_sensors;       /* do not see sensors */
    const uint32_t *ignored; /* ids of items that it does not see. They are compared one by one */
    size_t ignored_count;
    abut_world_accept *accept; /* null = all */
    void *user;                /* for `accept` */
} abut_world_query_options;

ABUT_DEFAULT(abut_world_query_options)

typedef struct abut_world_query_report {
    size_t size;                  /* sizeof(abut_world_query_report), set by the default function */
    uint64_t unseen_count;        /* items that the filter accepts but that queries cannot see */
    abut_reliability reliability; /* lowest level of all pairs that an overlap test has tested, and
                                   * of all results of distances and casts; guaranteed for rays
                                   * and points */
} abut_world_query_report;

ABUT_DEFAULT(abut_world_query_report)

/* In the functions below `options` and `report` may be null; `report->size` must be set. Batches
 * have `count` queries, which may be 0. All inputs are validated before any result is written. */

/* ---- rays ---- */

typedef struct abut_world_hit {
    double parameter;  /* hit = origin + parameter direction; infinity on a miss */
    abut_vec3 point;   /* in world coordinates; zero on a miss */
    abut_vec3 normal;  /* unit normal of the surface: of the triangle by the order of its corners,
                        * outward for primitives. Zero on a miss and for degenerate triangles */
    uint32_t id;       /* ABUT_NONE on a miss */
    uint32_t triangle; /* ABUT_NONE for primitives other than hulls */
} abut_world_hit;

ABUT_LIST(abut_world_hit)

/* Finds the first surface that each ray (abut_ray) hits at a parameter of at most `limit` (HUGE_VAL
 * = no limit): hits[i] belongs to rays[i]. For rays of different lengths, use directions of these
 * lengths and a limit of 1. Among hits at the same parameter, the one with the lowest id, then with
 * the lowest triangle is returned. Rays are on the host. Returns ABUT_ERROR_ARGUMENT for rays and
 * limits that abut_ray_first() rejects. Thread-safe. */
ABUT_API abut_status abut_world_ray_first(const abut_world *world, abut_array rays, size_t count,
                                          double limit, const abut_world_query_options *options,
                                          abut_world_hit *hits, abut_world_query_report *report);
/* Tests whether each ray hits any item at a parameter of at most `limit`; any[i] belongs to
 * rays[i]. Errors are as in abut_world_ray_first(). Thread-safe. */
ABUT_API abut_status abut_world_ray_any(const abut_world *world, abut_array rays, size_t count,
                                        double limit, const abut_world_query_options *options,
                                        bool *any, abut_world_query_report *report);
/* Finds all hits of each ray at a parameter of at most `limit`, sorted by parameter, then by id,
 * then by triangle. A ray that touches a primitive in one point hits it once, otherwise it enters
 * and leaves it. The hits of rays[i] are hits[offsets[i]] up to but not including
 * hits[offsets[i + 1]]; `offsets` has count + 1 elements. If the list is too short, returns
 * ABUT_ERROR_BUFFER and sets only hits->count. Thread-safe. */
ABUT_API abut_status abut_world_ray_all(const abut_world *world, abut_array rays, size_t count,
                                        double limit, const abut_world_query_options *options,
                                        uint64_t *offsets, abut_world_hit_list *hits,
                                        abut_world_query_report *report);

/* ---- closest points ---- */

typedef struct abut_world_nearest {
    double distance;   /* from the surface of the item; infinity if none is within the radius */
    abut_vec3 point;   /* the closest point; the query point if there is none */
    uint32_t id;       /* ABUT_NONE if there is none */
    uint32_t triangle; /* ABUT_NONE for primitives other than hulls */
} abut_world_nearest;

/* Finds the closest point of all surfaces to each point (abut_vec3), at a distance of at most
 * `radius` (HUGE_VAL = no limit): nearest[i] belongs to point i. Of equal distances the one with
 * the lowest id is returned. Points are on the host. Returns ABUT_ERROR_ARGUMENT for points and
 * radii that abut_nearest_point() rejects. Thread-safe. */
ABUT_API abut_status abut_world_nearest_point(const abut_world *world, abut_array points,
                                              size_t count, double radius,
                                              const abut_world_query_options *options,
                                              abut_world_nearest *nearest,
                                              abut_world_query_report *report);

/* An item and its distance from a collider. */
typedef struct abut_world_separation {
    double distance;                      /* 0 if and only if they overlap */
    abut_vec3 point_collider, point_item; /* closest points; a common point if they overlap */
    uint32_t id;
    abut_reliability reliability; /* of a distance of 0 by containment, as in <abut/pair.h> */
} abut_world_separation;

ABUT_LIST(abut_world_separation)

/* Finds the items nearest to a collider, at a distance of at most `radius` (HUGE_VAL = no limit).
 * They are sorted by distance, then by id. As in abut_nearest_k(), the capacity of the list is the
 * maximum number of items, and more items are not an error. Colliders are as in
 * abut_world_overlap_all(). Thread-safe. */
ABUT_API abut_status abut_world_nearest_items(const abut_world *world,
                                              const abut_collider *collider, double radius,
                                              const abut_world_query_options *options,
                                              abut_world_separation_list *nearest,
                                              abut_world_query_report *report);

/* ---- overlap ---- */

/* Finds the items that overlap each collider, contain it, are inside it, or are at a distance of at
 * most `margin` (0 or more) from it. The ids for colliders[i] are ids[offsets[i]] up to but not
 * including ids[offsets[i + 1]], in ascending order; `offsets` has count + 1 elements. A collider
 * is a mesh, a hull, a body with a BVH, or a primitive other than a plane. For a mesh a temporary
 * BVH is built. If the list is too short, returns ABUT_ERROR_BUFFER and sets only ids->count.
 * Thread-safe. */
ABUT_API abut_status abut_world_overlap_all(const abut_world *world, const abut_collider *colliders,
                                            size_t count, double margin,
                                            const abut_world_query_options *options,
                                            uint64_t *offsets, abut_index_list *ids,
                                            abut_world_query_report *report);
/* Finds the lowest id of the items that abut_world_overlap_all() would find for each collider, and
 * stops there: ids[i] belongs to colliders[i], and is ABUT_NONE if there is no such item.
 * Thread-safe. */
ABUT_API abut_status abut_world_overlap_any(const abut_world *world, const abut_collider *colliders,
                                            size_t count, double margin,
                                            const abut_world_query_options *options, uint32_t *ids,
                                            abut_world_query_report *report);

/* ---- shape casts ---- */

/* The impact of a collider with an item. */
typedef struct abut_world_cast {
    uint32_t id;                    /* ABUT_NONE if there is no impact */
    abut_sweep_rigid_result result; /* a is the collider, b the item; the normal points from the
                                     * item to the collider */
} abut_world_cast;

ABUT_LIST(abut_world_cast)

/* Finds the first impact of each collider, which moves from its pose to ends[i] as
 * abut_pose_interpolate() describes, while all items are at rest: hits[i] belongs to colliders[i].
 * Of equal times the one with the lowest id is returned.
 *
 * Guarantee: as in abut_sweep_rigid(), no impact is missed and no time is late. A collider that
 * overlaps an item at the start has the time 0.
 *
 * `sweep` has the separation and the tolerance, and may be null. Colliders are as in
 * abut_world_overlap_all(). Returns ABUT_ERROR_ARGUMENT for poses that abut_sweep_rigid() rejects.
 * Thread-safe. */
ABUT_API abut_status abut_world_cast_first(const abut_world *world, const abut_collider *colliders,
                                           const abut_pose *ends, size_t count,
                                           const abut_sweep_rigid_options *sweep,
                                           const abut_world_query_options *options,
                                           abut_world_cast *hits, abut_world_query_report *report);
/* Tests whether each collider has an impact; any[i] belongs to colliders[i]. The reliability in the
 * report is guaranteed. Otherwise as abut_world_cast_first(). Thread-safe. */
ABUT_API abut_status abut_world_cast_any(const abut_world *world, const abut_collider *colliders,
                                         const abut_pose *ends, size_t count,
                                         const abut_sweep_rigid_options *sweep,
                                         const abut_world_query_options *options, bool *any,
                                         abut_world_query_report *report);
/* Finds the impacts of each collider with all items, as if no other item existed. They are sorted
 * by time, then by id. Offsets and list are as in abut_world_ray_all(). Otherwise as
 * abut_world_cast_first(). Thread-safe. */
ABUT_API abut_status abut_world_cast_all(const abut_world *world, const abut_collider *colliders,
                                         const abut_pose *ends, size_t count,
                                         const abut_sweep_rigid_options *sweep,
                                         const abut_world_query_options *options, uint64_t *offsets,
                                         abut_world_cast_list *hits,
                                         abut_world_query_report *report);

#ifdef __cplusplus
}
#endif

#endif
