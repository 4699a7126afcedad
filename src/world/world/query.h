/* Queries against a world: what the files query*.c share. */
#ifndef ABUTI_WORLD_QUERY_H
#define ABUTI_WORLD_QUERY_H

#include "geom/types_shared.h"
#include "world/world.h"

#include <abut/world_query.h>

/* ---- primitives in closed form, in local coordinates; query_primitive.c ---- */

/* The points where a line origin + t direction crosses the surface of a primitive, at most two, in
 * ascending order, with outward normals. */
typedef struct query_crossings {
    uint32_t count;
    double parameter[2];
    vec3 normal[2];
} query_crossings;

/* Finds the crossings at all parameters, also below 0. */
void abuti_query_cross_primitive(const abut_collider *primitive, const abut_ray *ray,
                                 query_crossings *crossings);
/* The closest point of the surface of a primitive. */
signed_closest abuti_query_closest_on_primitive(const abut_collider *primitive, vec3 point);

/* ---- one call; query.c ---- */

typedef struct world_query world_query;

/* The results of consecutive queries, and scratch memory. */
typedef struct query_chunk {
    abuti_vector results;
    abuti_vector ids; /* uint32_t: candidates */
    abut_reliability reliability;
    abut_status status;
    size_t failed; /* the query with that status */
} query_chunk;

/* A call of a public function. */
struct world_query {
    const char *function;
    const abut_world *world;
    abut_world_query_options options;
    size_t count;        /* of queries */
    size_t grain;        /* per task */
    size_t result_bytes; /* 0: each query has one result, which `run` stores */
    const char *name;    /* of the list of results */
    /* Computes a query, and appends its results to those of the chunk. */
    abut_status (*run)(const world_query *q, size_t index, query_chunk *chunk);
    const void *data;
    uint64_t *counts; /* of the results of each query */
    query_chunk *chunks;
};

/* Validates the arguments that all functions have. Then the world is ready for queries. */
abut_status abuti_query_begin(world_query *q, const char *function, const abut_world *world,
                              const abut_world_query_options *options,
                              const abut_world_query_report *report);
/* Fails if the offsets of a list are null, unless only its length is wanted. */
abut_status abuti_query_check_offsets(const char *function, const uint64_t *offsets,
                                      uint64_t capacity);
/* Runs all queries with one result each on all threads, and completes the report. */
abut_status abuti_query_run(world_query *q, abut_world_query_report *report);
/* The same for queries with many results. `list` is the list of the caller with its capacity. */
abut_status abuti_query_run_lists(world_query *q, uint64_t *offsets, void *list, uint64_t capacity,
                                  uint64_t *count, abut_world_query_report *report);

/* Whether the filter of a query accepts an item. */
bool abuti_query_accepts(const world_query *q, uint32_t index);

/* Searches name items by index. This replaces the index of a result by the id of the item. */
#define QUERY_SET_ID(q, result)                                      \
    do {                                                             \
        if ((result)->id != ABUT_NONE)                               \
            (result)->id = world_items((q)->world)[(result)->id].id; \
    } while (0)

/* The BVH of an item, at its pose; null for primitives other than hulls, and for items that queries
 * cannot see. */
const abut_bvh *abuti_query_bvh(const world_item *item);

/* The radius of a sphere, capsule or cylinder; otherwise 0. */
double abuti_query_round_radius(const abut_collider *c);

/* ---- traversal of the trees; query_tree.c ---- */

/* What the boxes of items are tested against. The bound of a box is a lower bound of the results
 * for items in it. */
typedef struct query_region {
    /* The bound of a box; infinite if nothing in it can be a result. */
    double (*bound)(const struct query_region *region, const box3 *box);
    double limit; /* items with larger bounds are skipped; a visitor may reduce it, -INFINITY ends
                   * the search */
    box3 box;     /* distances: from this box. Paths: the moving box at the parameter 0 */
    vec3 shift;   /* paths: per unit of the parameter */
    double pad;   /* paths: rounding errors of positions */
} query_region;

/* Boxes at a distance; the bound is the distance. */
query_region abuti_query_distance_region(box3 box, double limit);
/* Boxes that a moving box touches; the bound is the first parameter from 0 on. */
query_region abuti_query_path_region(box3 box, vec3 shift, double limit);

/* The parameters from 0 to the limit at which the moving box touches a box; false if there are
 * none. */
bool abuti_query_path_interval(const query_region *region, const box3 *box, double interval[2]);

typedef abut_status query_visit(void *data, uint32_t id, query_region *region);
/* Visits all items that the filter accepts and whose bounds are at most the limit; those with small
 * bounds first, as far as the trees determine them. Planes are always visited. Ends with the first
 * error. */
abut_status abuti_query_traverse(const world_query *q, query_region *region, query_visit *visit,
                                 void *data);

/* ---- colliders that query; query_collider.c ---- */

/* The BVH of a collider or item, possibly of a primitive, and a radius around it. */
typedef struct query_core {
    const abut_bvh *bvh;
    abut_bvh *owned; /* the same, or null */
    double radius;
} query_core;

typedef struct query_collider {
    abut_collider is; /* of a mesh: a body */
    abut_bvh *built;  /* of a mesh; owned, or null */
    const abut_bvh *bvh;
    query_core core;  /* created when the first item with a BVH is tested */
    query_core swept; /* likewise, for sweeps */
    contact_motion motion;
    box3 local, box; /* in local and in world coordinates, rounded outwards */
} query_collider;

/* Validates a collider. `index` is its index for messages, or SIZE_MAX. */
abut_status abuti_query_collider_check(const char *function, const abut_collider *collider,
                                       size_t index);
/* Validates a pose of a collider, except that of a mesh without BVH. */
abut_status abuti_query_check_pose(const char *function, const char *what,
                                   const abut_collider *collider, const abut_pose *at);
/* Prepares a valid collider, and builds the BVH of a mesh. Afterwards it must be released, also
 * after a failure. */
abut_status abuti_query_collider_read(const world_query *q, const abut_collider *collider,
                                      query_collider *to);
void abuti_query_collider_release(query_collider *collider);

#endif
