/* A second tree for batches of rays on the CPU: as many children a node, and triangles a leaf, as
 * the processor has lanes. It is made of that of the hierarchy and kept with it as a part, for each
 * number of lanes its own. See walk_lanes.c for how it is asked.
 *
 * Boxes are those of the hierarchy. Corners are floats in its frame, rounded to the nearest: good
 * for bounds, never for an answer. In each node stands for every octant of directions in which
 * order its children are pushed, the farthest first (Fuetterling and others 2017, "Accelerated
 * single ray tracing for wide vector units").
 */
#ifndef ABUTI_RAY_WIDE_H
#define ABUTI_RAY_WIDE_H

#include "bvh/gather.h"

#include <abut/ray.h>

typedef struct ray_wide {
    bvh_attachment part;
    uint32_t node_count, leaf_count;
    void *nodes, *leaves;
} ray_wide;

#ifdef LANES

typedef struct wide_node {
    float planes[6][LANES]; /* low ends, high ends; of an empty slot infinity, -infinity */
    uint32_t child[LANES];  /* a node, BVH_LEAF + a leaf, or ABUT_NONE */
    uint8_t order[8][LANES];
} wide_node;

typedef struct wide_leaf {
    float corner[3][3][LANES]; /* corner, axis; no numbers where there is no triangle */
    uint32_t triangle[LANES];
} wide_leaf;

#endif

extern const bvh_attachment_kind abuti_ray_wide_4, abuti_ray_wide_8, abuti_ray_wide_16;

/* What is asked of a row of rays. */
typedef enum ray_quest { RAY_FIRST, RAY_ANY, RAY_ALL } ray_quest;

enum { RAYS_A_TASK = 256 };

/* One of all hits: a ray of the row, and its triangle. Where it is, is not known yet. */
typedef struct ray_found {
    uint32_t ray : 16, certain : 1; /* certain: the line pierces the triangle properly */
    uint32_t triangle;
} ray_found;

typedef struct ray_row {
    const abut_bvh *bvh;
    const ray_wide *tree;
    const abut_ray *rays;
    uint32_t count; /* at most RAYS_A_TASK */
    ray_quest what;
    double limit;       /* of RAY_ALL infinite */
    abut_ray_hit *hits; /* of RAY_FIRST */
    bool *any;          /* of RAY_ANY */
    /* of RAY_ALL: how many each ray hits, and the first so many of them all */
    uint32_t *counts, found_most, found_count;
    ray_found *found;
    /* rays that have not been answered, for whatever reason */
    uint32_t left_count, left[RAYS_A_TASK];
} ray_row;

/* Answers a row of rays that are legal, but for some. */
void abuti_ray_walk_4(ray_row *row);
void abuti_ray_walk_8(ray_row *row);
void abuti_ray_walk_16(ray_row *row);

/* One hit that is certain to be; where, is not known yet. */
typedef struct ray_pierce {
    const abut_ray *ray;
    uint32_t triangle;
    abut_ray_hit *hit;
} ray_pierce;

/* Where hits are, to the bits of path_pierce() in geom/path_shared.h. */
enum { RAY_PIERCES = 8 };
void abuti_ray_pierce_4(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);
void abuti_ray_pierce_8(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);
void abuti_ray_pierce_16(const abut_mesh *mesh, const ray_pierce *hits, uint32_t count);

/* ---- all.c ---- */

/* All hits of many rays by way of the tree; arguments have been checked. */
abut_status abuti_ray_all_run(const bvh_gather *gather, const ray_wide *tree, const abut_ray *rays);

/* ---- ray.c ---- */

/* Gives how many triangles a ray hits; writes the hits, sorted, unless null. */
uint32_t abuti_ray_all_hits(const abut_bvh *bvh, const abut_ray *ray, abut_ray_hit *hits);
/* Whether one hit comes after another. */
bool abuti_ray_hit_after(const void *one, const void *other);

/* Whether a ray hits a triangle, and where. */
bool abuti_ray_meet(const abut_mesh *mesh, const abut_ray *ray, uint32_t triangle,
                    abut_ray_hit *hit);
/* Where it does, if that is known. */
void abuti_ray_pierce(const abut_mesh *mesh, const ray_pierce *hit);

#endif
