/* Interference detection for many closed solids: which pairs interpenetrate, and by how much. The
 * results come from images of the solids, or exactly from their triangles.
 *
 * Method: rays through the pixels of one or more views intersect all surfaces. The crossings of a
 * ray, sorted by depth, give the depth intervals in which it is inside each solid. A ray is inside
 * a solid if it has entered it more often than left it, so that nested shells and cavities are
 * handled. Two solids overlap where their depth intervals overlap. There is no preprocessing: the
 * cost is linear in the number of solids and triangles, also for deforming solids. The method
 * extends CInDeR (Knott and Pai 2003; Malmsten and Klasen 2005, "Practical Collision Detection on
 * the GPU"). It finds every pair along a ray instead of one for each pixel, and computes lengths,
 * volumes and normals.
 *
 * Guarantees of a query:
 *
 * A plain query finds every pair that overlaps along a ray by more than the tolerance, and no
 * other. It can miss an overlap smaller than a pixel, between the rays of all views.
 *
 * With `is_exact` a query finds exactly the pairs that overlap or touch. abut_pair_overlap()
 * decides each candidate pair, whose bounding boxes overlap. Measures come from images.
 *
 * With `measure_volume` a query finds the same pairs by abut_pair_measure(), with measures from the
 * triangles. It draws no image unless `is_exact`, `find_self`, `count_edges` or `find_hits` is set
 * too.
 *
 * Images are evaluated in integer arithmetic until the final conversion: results do not depend on
 * the number of threads or on the device.
 *
 * A set of layers must be used by one thread at a time. Its computations run on all threads of its
 * context.
 */
#ifndef ABUT_LAYERS_H
#define ABUT_LAYERS_H

#include <abut/base.h>
#include <abut/collider.h>
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
    bool cap;            /* close holes of meshes by triangle fans; otherwise meshes with holes are
                          * rejected */
} abut_layers_options;

ABUT_DEFAULT(abut_layers_options)

/* Creates an empty set of solids. `options` may be null. Returns ABUT_ERROR_DEVICE if the device
 * lacks doubles or rounds differently from the CPU. Thread-safe. */
ABUT_API abut_status abut_layers_create(abut_context *context, const abut_layers_options *options,
                                        abut_layers **layers);
/* Destroys a set of solids. Null is allowed. One thread at a time for each set. */
ABUT_API void abut_layers_destroy(abut_layers *layers);

typedef struct abut_layers_item {
    size_t size;
    abut_collider collider; /* a mesh, a hull, or a body with a BVH, whose mesh must be closed; the
                             * set keeps a reference to the mesh. A mesh that faces inwards is
                             * inverted. Items can share a mesh */
    uint32_t group; /* bit mask of the groups of this item, as in abut_world_item; 0 = the first
                     * group */
    uint32_t mask;  /* bit mask of the groups that it is tested against; 0 = all */
    uint32_t value; /* user value, copied to the hits of its edges */
} abut_layers_item;

ABUT_DEFAULT(abut_layers_item)

/* Adds a solid. Its id is the one that became free last, or else the current number of items. `id`
 * may be null. Returns ABUT_ERROR_ARGUMENT for other kinds of colliders, if the mesh has holes (see
 * abut_layers_options.cap), if neighbouring triangles have opposite orientation, or if the pose is
 * not finite. Returns ABUT_ERROR_LIMIT if there are more than 2^30 solids. One thread at a time for
 * each set. */
ABUT_API abut_status abut_layers_add(abut_layers *layers, const abut_layers_item *item,
                                     uint32_t *id);
/* Removes a solid. Its id becomes free. Returns ABUT_ERROR_ARGUMENT if there is no such item. One
 * thread at a time for each set. */
ABUT_API abut_status abut_layers_remove(abut_layers *layers, uint32_t id);
/* Sets the poses (abut_pose) of `count` items; null ids mean 0 to count - 1. On failure no pose
 * changes. If an id occurs twice, the last pose counts. Poses can be in a buffer of the device,
 * from which they are downloaded. One thread at a time for each set. */
ABUT_API abut_status abut_layers_set_poses(abut_layers *layers, const uint32_t *ids,
                                           abut_array poses, size_t count);
/* Sets the positions (abut_vec3) of the vertices of one item, absolute as in abut_mesh_create(),
 * before the pose. Null restores those of its mesh. Positions can be in a buffer of the device,
 * from which they are downloaded.
 *
 * Returns ABUT_ERROR_ARGUMENT for positions that abut_mesh_create() rejects. On failure the item
 * keeps its previous positions. One thread at a time for each set. */
ABUT_API abut_status abut_layers_set_positions(abut_layers *layers, uint32_t id,
                                               abut_array positions);

/* ---- queries ---- */

typedef struct abut_layers_query {
    size_t size;
    const abut_raster_view *views; /* null = three orthographic views, along x, y and z. A view with
                                    * an empty region is fitted to all solids */
    uint32_t view_count;
    uint32_t resolution; /* pixels along the longer side of a view without its own size; 0 = 1024 */
    double tolerance;    /* overlaps along a ray up to this length count as flush contact. 0 = one
                          * millionth of the depth of the view */
    bool every_pixel;    /* draw every pixel of every solid. Otherwise pixels in which no two
                          * bounding boxes overlap are skipped; the pairs are the same */
    bool find_self;      /* also find solids that overlap themselves; draws every pixel */
    bool count_edges;    /* also count edges inside another solid, as CInDeR does */
    bool find_hits;      /* also list these edges */
    bool is_exact; /* decide each pair whose bounding boxes overlap by abut_pair_overlap(): all
                    * pairs that overlap or touch, and no other, also outside the views */
    bool measure_volume; /* decide the same pairs by abut_pair_measure(): kind, volume, area,
                          * normal, centre and box come from the triangles. Faces within the
                          * tolerance are flush. If no other flag draws images, what they measure is
                          * 0: pixels, intervals, lengths and depth */
} abut_layers_query;

ABUT_DEFAULT(abut_layers_query)

/* Two solids that overlap. Lengths are along rays. */
typedef struct abut_layers_pair {
    uint32_t a, b;               /* a < b; a == b if a solid overlaps itself */
    abut_pair_relation relation; /* with `is_exact`; otherwise ABUT_PAIR_INTERSECTING */
    abut_pair_kind kind;         /* with `measure_volume`; otherwise ABUT_PAIR_KIND_OVERLAP */
    uint32_t view_count;         /* views with a ray inside both solids */
    uint64_t pixels;             /* pixels of all views whose rays are inside both */
    uint64_t intervals;          /* depth intervals; more than `pixels` if rays are inside both
                                  * several times */
    uint64_t edges_a;            /* pixels of edges of a inside b: a penetrates b. With
                                  * `count_edges` */
    uint64_t edges_b;
    double length;       /* maximum length over all views */
    double depth;        /* minimum over the views of the maximum length in a view */
    double mean_length;  /* mean length over the pixels of that view */
    double volume;       /* from the view with the smallest error bound */
    double volume_error; /* error bound of the volume of a convex overlap: pixel size x (width +
                          * height of the overlap in the image) x maximum length */
    double flush_area;   /* area of flush faces; with `measure_volume` */
    double surface;      /* surface area of the intersection of the solids; with `measure_volume` */
    double area;         /* length of the area vector of the part of a's surface inside b; from
                          * orthographic views */
    abut_vec3 normal;    /* opposite to that vector: from b to a. Zero = unknown, for example if the
                          * view directions do not span space */
    abut_vec3 centre;
    abut_box box; /* bounding box of the overlap, with an error below one pixel. If no ray is inside
                   * both, the intersection of their bounding boxes, and its centre */
} abut_layers_pair;

ABUT_LIST(abut_layers_pair)

/* A pixel of an edge that is inside another solid. */
typedef struct abut_layers_hit {
    uint32_t penetrating, penetrated; /* the item with the edge, and the item that contains it */
    uint32_t triangle, edge;          /* triangle and edge: edge k joins corners k and k + 1 */
    uint32_t value;                   /* user value of the penetrating item */
    uint32_t view, x, y;
    abut_vec3 point;
    abut_vec3 normal; /* normal of the triangle */
} abut_layers_hit;

ABUT_LIST(abut_layers_hit)

/* The result of a query, with three output lists. `size` must be set. */
typedef struct abut_layers_result {
    size_t size;                 /* sizeof(abut_layers_result), set by the default function */
    abut_layers_pair_list pairs; /* sorted by a, then b */
    abut_layers_pair_list own;   /* solids that overlap themselves, sorted by id; a == b */
    abut_layers_hit_list hits;   /* sorted by penetrating, penetrated, view, y, x and triangle */
    uint64_t fragments;          /* ray crossings that were processed */
    uint64_t candidates; /* candidate pairs that were tested, with `is_exact` or `measure_volume` */
    double tolerance;    /* tolerance that was used, the maximum over all views; that of the query
                          * if no image was drawn */
    abut_reliability reliability; /* the lowest of all meshes; with `measure_volume` also lowered
                                   * if a mesh intersects itself */
} abut_layers_result;

ABUT_DEFAULT(abut_layers_result)

/* Finds the pairs of solids that overlap. `query` may be null. If a list is too short, returns
 * ABUT_ERROR_BUFFER and writes only the counts, all of them. With `is_exact` or `measure_volume` a
 * pair can have no pixels. Returns ABUT_ERROR_ARGUMENT if the tolerance is not a length, and
 * ABUT_ERROR_LIMIT if the resolution exceeds ABUT_RASTER_MAX. One thread at a time for each set. */
ABUT_API abut_status abut_layers_find(abut_layers *layers, const abut_layers_query *query,
                                      abut_layers_result *result);

/* Content of an image; figures 9 to 13 of Malmsten and Klasen (2005). */
typedef enum abut_layers_show {
    ABUT_LAYERS_COUNT = 0, /* number of surfaces along the ray */
    ABUT_LAYERS_NEAREST,   /* distance of the first surface; infinity = none */
    ABUT_LAYERS_EDGES,     /* distance of the nearest edge; infinity = none */
    ABUT_LAYERS_INSIDE,    /* number of solids that contain an edge: the maximum over the edges at
                            * that pixel */
    ABUT_LAYERS_LENGTH,    /* sum of the lengths of overlaps along the ray */
    ABUT_LAYERS_PAIRS,     /* number of pairs of solids that overlap along the ray */
    ABUT_LAYERS_FIRST,     /* id of the first solid of the nearest overlap; -1 = none */
    ABUT_LAYERS_SECOND     /* id of the second solid; -1 = none */
} abut_layers_show;

/* Returns the name of an image, or null if the enum lacks it. Thread-safe. */
ABUT_API const char *abut_layers_show_name(abut_layers_show show);

/* Renders an image of a view, row by row from the top, and sets width and height. `view` may be
 * null: a view of all solids. Returns ABUT_ERROR_BUFFER if the capacity is smaller than width x
 * height. For images of lengths (NEAREST, EDGES, LENGTH), returns ABUT_ERROR_ARGUMENT if the depth
 * of the view is not between 1e-30 and 1e30. One thread at a time for each set. */
ABUT_API abut_status abut_layers_image(abut_layers *layers, const abut_raster_view *view,
                                       abut_layers_show show, uint64_t capacity, float *pixels,
                                       uint32_t *width, uint32_t *height);

#ifdef __cplusplus
}
#endif

#endif
