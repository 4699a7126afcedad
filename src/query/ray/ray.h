/* Functions that the files of ray queries share. */
#ifndef ABUTI_RAY_H
#define ABUTI_RAY_H

#include "bvh/gather.h"
#include "bvh/wide.h"

#include <abut/ray.h>

#include <stddef.h>
#include <string.h>

/* ---- walk_lanes.c, pierce_lanes.c ---- */

/* The query of a row of rays. */
typedef enum ray_query_kind {
    RAY_FIRST,
    RAY_EXIT, /* the first triangle that a ray passes from behind, where it leaves a solid that it
                 starts in or on; other triangles are ignored */
    RAY_ANY,
    RAY_ALL
} ray_query_kind;

enum { RAYS_PER_TASK = 256 };

/* One of all hits: a ray of the row, and its triangle, without the hit point. */
typedef struct ray_found {
    uint32_t ray : 16, certain : 1; /* certain: the line intersects the interior of the triangle */
    uint32_t triangle;
} ray_found;

typedef struct ray_row {
    const abut_bvh *bvh;
    const bvh_wide *tree; /* null = without */
    const abut_ray *rays;
    uint32_t count; /* at most RAYS_PER_TASK */
    ray_query_kind what;
    double limit;       /* infinite for RAY_ALL */
    abut_ray_hit *hits; /* of RAY_FIRST and RAY_EXIT */
    bool *any;          /* of RAY_ANY */
    /* of RAY_ALL: the number of hits of each ray, and the first found_max of all */
    uint32_t *counts, found_max, found_count;
    ray_found *found;
    /* rays without a result, for any reason */
    uint32_t unfinished_count, unfinished[RAYS_PER_TASK];
} ray_row;

/* Searches a row of valid rays, except for the unfinished ones. */
void abuti_ray_walk_4(ray_row *row);
void abuti_ray_walk_8(ray_row *row);
void abuti_ray_walk_16(ray_row *row);

/* A certain hit whose point has not been computed yet. */
typedef struct ray_pierce {
    const abut_ray *ray;
    uint32_t triangle;
    abut_ray_hit *hit;
} ray_pierce;

/* Computes hit points, with the bits of path_pierce() in geom/path_shared.h. */
enum { RAY_PIERCES = 8 };
void abuti_ray_pierce_4(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);
void abuti_ray_pierce_8(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);
void abuti_ray_pierce_16(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);

/* ---- ray.c ---- */

/* Searches a row of valid rays. */
void abuti_ray_search(ray_row *row);
/* Searches one of its rays without the wide tree. Returns the number of hits that have been visited
 * and writes them, unsorted, or only the first hit, unless `hits` is null. */
uint32_t abuti_ray_search_plain(const ray_row *row, uint32_t index, abut_ray_hit *hits);
/* Whether one hit comes after another. */
bool abuti_ray_hit_after(const void *one, const void *other);
/* Writes a hit with zero padding, so that equal hits have equal bytes. */
static inline void ray_write_hit(abut_ray_hit *to, const abut_ray_hit *hit) {
    const size_t end = offsetof(abut_ray_hit, triangle) + sizeof hit->triangle;
    *to = *hit;
    memset((unsigned char *)to + end, 0, sizeof *to - end);
}

/* Whether a ray of a row hits a triangle within the limit, and where. */
bool abuti_ray_meet(const ray_row *row, uint32_t index, uint32_t triangle, abut_ray_hit *hit);
/* Computes the hit point of a certain hit. */
void abuti_ray_pierce(const abut_mesh *mesh, const ray_pierce *hit);

/* The results of RAY_FIRST and RAY_EXIT for one ray. For validated arguments. */
abut_ray_hit abuti_ray_first(const abut_bvh *bvh, const abut_ray *ray, double limit);
abut_ray_hit abuti_ray_find_exit(const abut_bvh *bvh, const abut_ray *ray, double limit);
/* The wall thickness at a point of the surface, as the parameter of the hit: the distance along the
 * unit vector `inwards` to where the ray leaves the solid. The ray starts at the distance `start`,
 * so that a touching surface is not hit. The triangle is ABUT_NONE if there is no wall within the
 * limit. */
abut_ray_hit abuti_ray_chord(const abut_bvh *bvh, vec3 point, vec3 inwards, double start,
                             double limit);

/* ---- device_ray.c: on a device; arguments have been validated, except for rays in a buffer ----
 */

/* First hits, or only whether there are any. */
abut_status abuti_ray_on_device(const char *function, bvh_on_device *there, abut_array rays,
                                size_t count, double limit, bool any, abut_array results);
abut_status abuti_ray_all_on_device(const bvh_gather *gather, abut_array rays);

/* ---- all.c ---- */

/* All hits of many rays, and of one; arguments have been validated. */
abut_status abuti_ray_all_run(const bvh_gather *gather, const abut_ray *rays);
abut_status abuti_ray_all_of_one(const char *function, const abut_bvh *bvh, const abut_ray *ray,
                                 abut_ray_hit_list *hits);

#endif
