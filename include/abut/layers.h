/* Layers: which of many closed solids interpenetrate, and by how much: found in images of them, or
 * exactly from their triangles.
 *
 * Rays through the pixels of one or more views cross all surfaces; sorted by depth, the crossings
 * of a ray tell where it is inside of which solids: entered more often than left, so that nested
 * shells and cavities are right. Where it is inside two at once, they overlap. Nothing is prepared:
 * cost grows linearly with solids and triangles, whatever their shape and however they deform.
 * After CInDeR (Knott and Pai 2003; Malmsten and Klasen 2005), but for every pair along a ray
 * instead of one a pixel, and with lengths, volumes and normals.
 *
 * What a query promises
 *   plain     every pair that overlaps along a ray by more than the tolerance, and no other; an
 *             overlap smaller than a pixel may lie between the rays of all views
 *   exact     the pairs that overlap or touch, neither more nor fewer: candidate pairs, whose
 *             bounding boxes overlap, are decided by abut_pair_overlap(); measures are from images
 *   volume    the same pairs by abut_pair_measure(), with measures from the triangles. No image is
 *             drawn unless `is_exact`, `find_self`, `count_edges` or `find_hits` is set too
 * Answers of images are whole numbers until the end: they depend neither on threads nor on a
 * device.
 *
 * An object of this type is for one user at a time; its work runs on all threads of its context.
 */
#ifndef ABUT_LAYERS_H
#define ABUT_LAYERS_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/mesh.h>
#include <abut/pair.h>
#include <abut/raster.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_layers abut_layers;

typedef struct abut_layers_options {
    size_t size;
    abut_device *device; /* null = the CPU */
    bool cap;            /* holes of meshes are closed by fans; otherwise such meshes are refused */
} abut_layers_options;

ABUT_DEFAULT(abut_layers_options)

/* Creates an empty set of solids. `options` may be null. Thread-safe. */
ABUT_API abut_status abut_layers_create(abut_context *context, const abut_layers_options *options,
                                        abut_layers **layers);
/* Null is allowed. */
ABUT_API void abut_layers_destroy(abut_layers *layers);

typedef struct abut_layers_item {
    const abut_mesh *mesh; /* closed; held. Those that face inwards are turned. Many items may have
                            * the same */
    abut_pose pose;
    uint32_t group; /* as in abut_world_item: a bit for each group; 0 = the first alone */
    uint32_t mask;  /* a bit for each group that it is tried with; 0 = all */
    uint32_t value; /* goes into the hits of its edges */
} abut_layers_item;

/* Adds a solid. Its id is the one that became free last, or else the number of items so far.
 * Refused: meshes with holes (see abut_layers_options.cap), or whose neighbours face opposite ways,
 * and poses that are not finite. `id` may be null. */
ABUT_API abut_status abut_layers_add(abut_layers *layers, const abut_layers_item *item,
                                     uint32_t *id);
/* Takes a solid out. Its id is free for another. */
ABUT_API abut_status abut_layers_remove(abut_layers *layers, uint32_t id);
/* Gives `count` items new poses (abut_pose); null ids mean 0 to count - 1. All of them or, on
 * failure, none. Poses may be in a buffer of the device, from where they come to the host. */
ABUT_API abut_status abut_layers_set_poses(abut_layers *layers, const uint32_t *ids,
                                           abut_array poses, size_t count);
/* Gives the vertices of one item new positions (abut_vec3, absolute as those of
 * abut_mesh_create(), before the pose); null = those of its mesh again. Positions may be in a
 * buffer of the device: from the second time on they stay there, until a query needs them on the
 * host (exact, volume, hits, images). Refused: positions that abut_mesh_create() refuses. If the
 * device fails meanwhile, the item has the positions
 * from before or, where these had stayed on the device, those of its mesh. */
ABUT_API abut_status abut_layers_set_positions(abut_layers *layers, uint32_t id,
                                               abut_array positions);

/* ---- queries ---- */

typedef struct abut_layers_query {
    size_t size;
    const abut_raster_view *views; /* null = three parallel ones, along x, y and z. A view whose
                                    * region is empty is fitted to all solids */
    uint32_t view_count;
    uint32_t resolution; /* of the larger side where a view does not say; 0 = 1024 */
    double tolerance;    /* overlaps along a ray that are no longer are none: flush contact. 0 = one
                          * millionth of the depth of the view */
    bool every_pixel;    /* draw all of every solid. Otherwise pixels over which no two boxes of
                          * solids overlap cost nothing; pairs are the same */
    bool find_self;      /* also solids that overlap themselves; draws every pixel */
    bool count_edges;    /* also count edges that are inside another solid, as CInDeR does */
    bool find_hits;      /* and list them */
    bool is_exact;       /* decide each pair whose boxes overlap in all views by
                          * abut_pair_overlap(): all that overlap or touch, and no other */
    bool measure_volume; /* the same by abut_pair_measure(): kind, volume, area, normal, centre and
                          * box are from the triangles. Faces within the tolerance are flush.
                          * Without `is_exact`, `find_self`, `count_edges` and `find_hits` no image
                          * is drawn, and what images measure is 0: pixels, intervals, lengths and
                          * depth */
} abut_layers_query;

ABUT_DEFAULT(abut_layers_query)

/* Two solids that overlap. Lengths are along rays. */
typedef struct abut_layers_pair {
    uint32_t a, b;               /* a < b; equal where a solid overlaps itself */
    abut_pair_relation relation; /* with `is_exact`; else ABUT_PAIR_INTERSECTING */
    abut_pair_kind kind;         /* with `measure_volume`; else ABUT_PAIR_KIND_OVERLAP */
    uint32_t view_count;         /* views whose rays are in both somewhere */
    uint64_t pixels;             /* of all views */
    uint64_t intervals;          /* more than pixels where rays are in both several times */
    uint64_t edges_a; /* pixels of edges of a inside b: a penetrates b. With `count_edges` */
    uint64_t edges_b;
    double length;       /* the greatest, of all views */
    double depth;        /* the greatest of that view in which it is least */
    double mean_length;  /* over pixels of that view */
    double volume;       /* of the view that bounds its error best */
    double volume_error; /* at most, where the overlap is convex: the pixel's size x (width +
                          * height of the overlap in the image) x greatest length */
    double flush_area;   /* of faces in contact; with `measure_volume` */
    double surface;      /* of the solid that they have in common; with `measure_volume` */
    double area;         /* of the part of a's surface inside b, as a vector: parallel views */
    abut_vec3 normal;    /* against that vector: from b to a; zero = unknown, as where the
                          * directions of views do not span space */
    abut_vec3 centre;
    abut_box box; /* holds the overlap but for less than a pixel. Where no ray is in both, what the
                   * boxes of both have in common, and its centre */
} abut_layers_pair;

/* A pixel of an edge inside another solid. */
typedef struct abut_layers_hit {
    uint32_t penetrating, penetrated; /* the item of the edge, and the one around it */
    uint32_t triangle, edge;          /* of the edge: edge k joins corners k and k + 1 */
    uint32_t value;                   /* of the item of the edge */
    uint32_t view, x, y;
    abut_vec3 point;
    abut_vec3 normal; /* of the triangle */
} abut_layers_hit;

/* What a query found. Lists go into the caller's memory. */
typedef struct abut_layers_result {
    abut_layers_pair *pairs; /* by a, then b */
    uint64_t capacity, count;
    abut_layers_pair *own; /* solids that overlap themselves, by id; a == b */
    uint64_t own_capacity, own_count;
    abut_layers_hit *hits; /* by penetrating, penetrated, view, y, x and triangle */
    uint64_t hit_capacity, hit_count;
    uint64_t fragments;  /* crossings of rays and surfaces that were looked at */
    uint64_t candidates; /* pairs that were asked, with `is_exact` or `measure_volume` */
    double tolerance;    /* that was used; the greatest of all views. As in the query where no image
                          * was drawn */
    abut_reliability
        reliability; /* the worst of all meshes; with `measure_volume` also where one cuts itself */
} abut_layers_result;

/* Finds the pairs of solids that overlap. `query` may be null. Where a list has too little room
 * nothing is written but the counts, all of them, and ABUT_ERROR_BUFFER is returned. With
 * `is_exact` or `measure_volume` pairs may have no pixels. */
ABUT_API abut_status abut_layers_find(abut_layers *layers, const abut_layers_query *query,
                                      abut_layers_result *result);

/* What an image shows; figures 9 to 13 of Malmsten and Klasen. */
typedef enum abut_layers_show {
    ABUT_LAYERS_COUNT = 0, /* surfaces along the ray */
    ABUT_LAYERS_NEAREST,   /* how far the first surface is; infinity = nothing */
    ABUT_LAYERS_EDGES,     /* how far the nearest edge is */
    ABUT_LAYERS_INSIDE,    /* solids that an edge is inside of: the most of all edges there */
    ABUT_LAYERS_LENGTH,    /* sum of the overlaps along the ray */
    ABUT_LAYERS_PAIRS,     /* pairs of solids that overlap along the ray */
    ABUT_LAYERS_FIRST,     /* id of the first solid of the nearest overlap; -1 = none */
    ABUT_LAYERS_SECOND     /* id of the second */
} abut_layers_show;

ABUT_API const char *abut_layers_show_name(abut_layers_show show);

/* Makes an image of a view, row by row from the top. Sets width and height; fails with
 * ABUT_ERROR_BUFFER where the capacity is less than their product. `view` may be null. Refused: of
 * lengths (NEAREST, EDGES, LENGTH), depths that do not end between 1e-30 and 1e30. */
ABUT_API abut_status abut_layers_image(abut_layers *layers, const abut_raster_view *view,
                                       abut_layers_show show, uint64_t capacity, float *pixels,
                                       uint32_t *width, uint32_t *height);

#ifdef __cplusplus
}
#endif

#endif
