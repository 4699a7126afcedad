/* Private types and functions of surface distance maps.
 *
 * Samples are numbered in the order of the BVH of the surface, triangle by triangle and row by row,
 * so that consecutive samples are close in space. Results are stored in that order.
 */
#ifndef ABUTI_MAP_H
#define ABUTI_MAP_H

#include "bvh/bvh.h"
#include "map/map_shared.h"
#include "pair/pair.h"

#include <abut/map.h>

#include <math.h>

/* ---- atlas.c: layout of triangles ---- */

typedef struct map_rectangle {
    uint32_t x, y, width, height;
} map_rectangle;

typedef struct map_atlas {
    uint32_t resolution, triangle_count;
    map_place *places; /* for each triangle */
    bool has_charts;   /* places are charts of the caller */
    double scale;      /* texels per unit of length */
    double uneven;
    map_place *left; /* places that removed triangles have freed */
    size_t left_count;
    map_rectangle *free; /* rectangles without places */
    size_t free_count, free_room;
} map_atlas;

/* Lays out all triangles of a mesh; `importance` may be null. Error messages begin with `function`.
 */
abut_status abuti_map_atlas_create(const char *function, const abut_mesh *mesh, uint32_t resolution,
                                   const double *importance, map_atlas *atlas);
/* The same from texture coordinates: charts.c. */
abut_status abuti_map_charts_create(const char *function, const abut_mesh *mesh,
                                    uint32_t resolution, const double *uv, map_atlas *atlas);
/* Lays out the triangles of a changed mesh; `from` as in abut_map_replace_mesh(). If the new
 * triangles do not fit, the atlas is empty; otherwise `placed` receives their number. */
abut_status abuti_map_atlas_change(const map_atlas *old, const abut_mesh *mesh,
                                   const uint32_t *from, map_atlas *atlas, uint32_t *placed);
void abuti_map_atlas_destroy(abut_context *context, map_atlas *atlas);

/* An upper bound of the distance from any point of a triangle to the nearest of its samples. */
double abuti_map_reach(const map_place *place, const abut_mesh *mesh, uint32_t triangle);
double abuti_map_area(const abut_mesh *mesh, uint32_t triangle);

/* ---- distances.c: other bodies ---- */

/* The transformation from the coordinates of the map to those of a body, and of directions back. */
typedef struct map_motion {
    pose inverse;
    mat3 turn;
    bool moved; /* false: the identity */
} map_motion;
map_motion abuti_map_motion(const abut_pose *given);
/* A lower bound of the distance between the surface and a body. */
double abuti_map_gap(const abut_map *map, const abuti_posed *posed);

/* ---- back ends ---- */

/* Computes distances to other bodies and stores the results, on the CPU or on a device. The CPU
 * needs neither `create` nor `destroy` nor `fetch`. */
typedef struct map_backend {
    abut_status (*create)(abut_map *map);
    void (*destroy)(abut_map *map);
    /* Arguments have been validated. Computes the results for these bodies. */
    abut_status (*find)(abut_map *map, const abuti_posed *others, uint32_t count, double limit);
    /* The same for the surface itself, without the triangles of the component of a sample. Null =
     * the CPU back end does it. */
    abut_status (*find_apart)(abut_map *map, double limit);
    /* Downloads the results of some samples if they are not on the host. */
    abut_status (*fetch)(const abut_map *map, uint32_t first, uint32_t count, abut_map_texel *to);
    /* Sums up the samples of each ranked triangle. */
    abut_status (*tally)(const abut_map *map, double within, map_tally *tallies);
} map_backend;

extern const map_backend abuti_map_on_cpu;    /* distances.c */
extern const map_backend abuti_map_on_device; /* device.c */

/* ---- map.c ---- */

/* The kind of the last query, for exact measures. */
typedef enum map_query_kind {
    MAP_NO_QUERY = 0,
    MAP_OTHERS,
    MAP_SELF,
    MAP_THICKNESS
} map_query_kind;

/* A body of the last query, and its mesh at that time; both are retained. */
typedef struct map_other {
    abuti_posed posed;
    abut_mesh *mesh;
} map_other;

struct abut_map {
    abut_context *context; /* retained */
    abut_map_options options;
    abut_mesh *mesh; /* retained */
    abut_bvh *bvh;   /* of `mesh` or of an earlier state: see abuti_map_bvh() */
    map_atlas atlas;
    uint32_t placed, sample_count;
    uint32_t *ranked;                  /* triangles in the order of samples */
    uint32_t *first;                   /* first sample of ranked[i]; triangle_count + 1 elements */
    uint32_t *rank;                    /* of each triangle */
    uint32_t *texel;                   /* of each sample: y x resolution + x */
    uint32_t *sample;                  /* of each texel, or ABUT_NONE */
    uint32_t *parts;                   /* component of each triangle; null until needed */
    double area, reach, reach_at_rest; /* of the current surface; valid if is_measured */
    bool is_measured;
    map_query_kind last_query;
    bool has_sign, has_points;
    bool results_on_host;    /* results are on the host */
    vec3 *points;            /* of samples, absolute; computed by a query */
    abut_map_texel *results; /* of samples */
    const map_backend *backend;
    struct map_device *device; /* of a map on a device */
    abut_topology *topology;   /* of some state of the mesh; created for contacts */
    map_other *others;         /* of the last query */
    uint32_t other_count;
    abut_reliability reliability;
    double limit;    /* of the last query */
    double rounding; /* bound of the rounding error of coordinates in the distances of the last
                        query */
};

/* The index in `ranked` of the triangle of a sample. */
uint32_t abuti_map_rank_of(const abut_map *map, uint32_t sample);

/* Validates `query` on entry to a query and discards previous results. */
abut_status abuti_map_begin_query(const char *function, abut_map *map, const abut_map_query *query,
                                  abut_map_query *ours);

/* Fails if the map has no results. abuti_map_check_on_host() also downloads them. */
abut_status abuti_map_check_results(const char *function, const abut_map *map);
abut_status abuti_map_check_on_host(const char *function, const abut_map *map);
/* Fails if a body of the last query was refitted since then. */
abut_status abuti_map_check_others(const char *function, const abut_map *map);
/* abut_map_contacts(); worlds do not need volumes. */
abut_status abuti_map_contacts(const abut_map *map, const abut_patch_options *options, bool volumes,
                               abut_patches *patches);
/* Fails if a box is beyond the coordinate range of maps. */
abut_status abuti_map_check_box(const char *function, const char *what, const box3 *box);
/* Rounding error of a distance, relative to the largest coordinate: 32 ulp. */
#define MAP_ROUNDING 0x1p-48
/* An upper bound of the rounding error of a distance: of the float, and of the coordinates that it
 * was computed from. */
double abuti_map_rounding(const abut_map *map, double distance);
/* A point of a triangle, absolute. */
vec3 abuti_map_point(const abut_map *map, uint32_t triangle, const double weight[3]);

/* Allocates results and points on the host, and computes the points from the current mesh. */
abut_status abuti_map_reserve_points(abut_map *map);
/* Releases the bodies of the last query. */
void abuti_map_release_others(abut_map *map);
/* Returns the BVH, refitted to the current mesh. */
abut_status abuti_map_bvh(abut_map *map, const abut_bvh **bvh);
/* The point of a sample, absolute. */
vec3 abuti_map_sample_point(const abut_map *map, uint32_t sample);

static inline abut_map_texel map_no_result(void) {
    return (abut_map_texel){INFINITY, {0, 0, 0}, ABUT_NONE, ABUT_NONE, 0};
}

/* The area that each sample of a triangle represents. */
double abuti_map_share(const abut_map *map, uint32_t triangle);

#endif
