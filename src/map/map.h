/* What the files of surface distance maps share.
 *
 * Samples are numbered in the order of the hierarchy of the surface, triangle by triangle and row
 * by row, so that a run of them is compact in space; answers are kept in that order.
 */
#ifndef ABUTI_MAP_H
#define ABUTI_MAP_H

#include "bvh/bvh.h"
#include "map/map_shared.h"

#include <abut/map.h>

#include <math.h>

/* ---- atlas.c: where triangles are ---- */

typedef struct map_rectangle {
    uint32_t x, y, width, height;
} map_rectangle;

typedef struct map_atlas {
    uint32_t resolution, triangle_count;
    map_place *places; /* of each triangle */
    double scale;      /* texels for a unit of length */
    double uneven;
    map_place *left; /* places that triangles have left */
    size_t left_count;
    map_rectangle *free; /* rectangles that no place is in */
    size_t free_count, free_room;
} map_atlas;

/* Lays out all triangles of a mesh; `importance` may be null. `function` stands first in errors. */
abut_status abuti_map_atlas_create(const char *function, const abut_mesh *mesh, uint32_t resolution,
                                   const double *importance, map_atlas *atlas);
/* Places the triangles of another mesh: `from` as in abut_map_replace_mesh(). Where there is no
 * room for those that are new the atlas is empty; else `placed` gets their number. */
abut_status abuti_map_atlas_change(const map_atlas *old, const abut_mesh *mesh,
                                   const uint32_t *from, map_atlas *atlas, uint32_t *placed);
void abuti_map_atlas_destroy(abut_context *context, map_atlas *atlas);

/* A bound for the distance of any point of a triangle from the nearest of its samples. */
double abuti_map_reach(const map_place *place, const abut_mesh *mesh, uint32_t triangle);
double abuti_map_area(const abut_mesh *mesh, uint32_t triangle);

/* ---- find.c: bodies ---- */

/* From the coordinates of the map to those of a body, and directions back. */
typedef struct map_motion {
    pose inverse;
    mat3 turn;
    bool moved; /* else both are the same */
} map_motion;
map_motion abuti_map_motion(const abut_pose *given);
/* No point of the surface is nearer to the body. */
double abuti_map_gap(const abut_map *map, const abut_posed *posed);

/* ---- back ends ---- */

/* How a query about other bodies is answered, and where answers are. */
typedef struct map_backend {
    abut_status (*create)(abut_map *map);
    void (*destroy)(abut_map *map);
    /* All has been checked; answers become those of the bodies. */
    abut_status (*find)(abut_map *map, const abut_posed *others, uint32_t count, double limit);
    /* The same for the surface itself: triangles of the part of a sample do not count. Null = the
     * host does it. */
    abut_status (*find_apart)(abut_map *map, double limit);
    /* Answers come to the host, where they are not there. */
    abut_status (*fetch)(const abut_map *map);
    /* What the samples of each block of ranked triangles say; and the answers of the nearest and
     * the farthest of all, where there are such. */
    abut_status (*tally)(const abut_map *map, double within, map_block *blocks,
                         abut_map_texel extremes[2]);
} map_backend;

extern const map_backend abuti_map_on_cpu;    /* find.c */
extern const map_backend abuti_map_on_device; /* device.c */

/* ---- map.c ---- */

/* Who asked last; kept for exact measures. */
typedef enum map_question { MAP_NOTHING = 0, MAP_OTHERS, MAP_SELF, MAP_THICKNESS } map_question;

/* A body of the last query, and its mesh as it was then; both are held. */
typedef struct map_other {
    abut_posed posed;
    abut_mesh *mesh;
} map_other;

struct abut_map {
    abut_context *context; /* held */
    abut_map_options options;
    abut_mesh *mesh; /* held */
    abut_bvh *bvh;   /* of it, or of an earlier state: see abuti_map_bvh() */
    map_atlas atlas;
    uint32_t placed, sample_count;
    uint32_t *ranked;                  /* triangles in the order of samples */
    uint32_t *first;                   /* of the samples of ranked[i]; triangle_count + 1 */
    uint32_t *rank;                    /* of each triangle */
    uint32_t *texel;                   /* of each sample: y x resolution + x */
    uint32_t *sample;                  /* of each texel, or ABUT_NONE */
    uint32_t *parts;                   /* of triangles, where they have been asked for */
    double area, reach, reach_at_rest; /* of the surface as it is, if that was asked for */
    bool is_measured;
    map_question question;
    bool has_sign, has_points;
    bool answers_here;       /* on the host */
    vec3 *points;            /* of samples, absolute; made by a query */
    abut_map_texel *answers; /* of samples */
    const map_backend *backend;
    struct map_device *device; /* of a map on a device */
    abut_topology *topology; /* of some state of the mesh; made when contacts are first asked for */
    map_other *others;       /* of the last query */
    uint32_t other_count;
    abut_reliability reliability;
    double limit;    /* of the last query */
    double rounding; /* of coordinates, in the distances of the last query */
};

/* Of a sample: the number of its triangle among those ranked. */
uint32_t abuti_map_rank_of(const abut_map *map, uint32_t sample);

/* The door of queries: checks `query`, and forgets what was answered. */
abut_status abuti_map_open(const char *function, abut_map *map, const abut_map_query *query,
                           abut_map_query *ours);
/* The same for those that the host answers: there is memory for answers, and points are those of
 * the mesh. */
abut_status abuti_map_begin(const char *function, abut_map *map, const abut_map_query *query,
                            abut_map_query *ours);

/* The door of questions about answers, and of those that want all of them on the host. */
abut_status abuti_map_check(const char *function, const abut_map *map);
abut_status abuti_map_check_here(const char *function, const abut_map *map);
/* Refuses if a body of the last query has been refitted since then. */
abut_status abuti_map_check_others(const char *function, const abut_map *map);
/* abut_map_contacts(), which measures volumes; worlds do not. */
abut_status abuti_map_contacts(const abut_map *map, const abut_patch_options *options, bool volumes,
                               abut_patches *patches);
/* Refuses a box beyond the range of maps. */
abut_status abuti_map_check_box(const char *function, const char *what, const box3 *box);
/* What rounding may add to a distance, of the largest coordinate: 32 ulp. */
#define MAP_ROUNDING 0x1p-48
/* An upper bound of what rounding adds to a distance of that magnitude: to a float, and of the
 * coordinates that it was computed from. */
double abuti_map_rounding(const abut_map *map, double distance);
/* The point of a triangle, absolute. */
vec3 abuti_map_point(const abut_map *map, uint32_t triangle, const double weight[3]);

/* Makes sure that there is memory for answers and points on the host, and that points are those of
 * the mesh. */
abut_status abuti_map_need_points(abut_map *map);
/* The first of these alone. */
abut_status abuti_map_need_answers(abut_map *map);
/* Makes the points of samples from `begin` up to `end`. */
void abuti_map_samples(const abut_map *map, uint32_t begin, uint32_t end, vec3 *points);
/* Releases the bodies of the last query. */
void abuti_map_release_others(abut_map *map);
/* The hierarchy of the mesh as it is. */
abut_status abuti_map_bvh(abut_map *map, const abut_bvh **bvh);
/* The sample itself, absolute. */
vec3 abuti_map_sample_point(const abut_map *map, uint32_t sample);

static inline size_t map_block_count(const abut_map *map) {
    return abuti_chunk_count(map->mesh->triangle_count, MAP_BLOCK);
}

static inline abut_map_texel map_nothing(void) {
    return (abut_map_texel){INFINITY, {0, 0, 0}, ABUT_NONE, ABUT_NONE, 0};
}

/* The area that each sample of a triangle stands for. */
double abuti_map_share(const abut_map *map, uint32_t triangle);

#endif
