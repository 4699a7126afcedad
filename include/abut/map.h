/* Surface distance maps: how far every point of a surface is from other bodies, as a texture on
 * that surface.
 *
 * Every triangle of a mesh has a place in a square of texels, the atlas, and keeps it while the
 * mesh deforms: one affine map a triangle (Sud, Govindaraju, Gayle and Manocha 2006). The middle of
 * each of its texels is a sample of the surface. A query gives every sample the distance to the
 * nearest feature of other bodies, the vector to the closest point there, and which feature it is.
 * Also the surface itself, beyond a ring or a way along it; and how thick the wall behind is.
 *
 * What it promises
 *   at a sample     the distance of abut_nearest_point(), or abut_sign_nearest() where signs are
 *                   prepared, rounded once to a float
 *   between them    no point of a triangle is farther from a sample of it than its reach, so that
 *                   distances differ by no more; abut_map_info.reach is the greatest of all
 *   exact measures  those of abut_pair_distance()
 * Answers depend neither on threads nor on a device.
 *
 * An object of this type is for one user at a time; its work runs on all threads of its context.
 */
#ifndef ABUT_MAP_H
#define ABUT_MAP_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/mesh.h>
#include <abut/nearest.h>
#include <abut/pair.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_map abut_map;

typedef struct abut_map_options {
    size_t size;
    uint32_t resolution;      /* texels along each side of the square, at most 16384; 0 = 512, or
                               * as many as are needed for 4 texels a triangle */
    const double *importance; /* one a triangle, above 0: how many times as many samples as others
                               * it gets for its area; null = all alike */
    abut_device *device;      /* null = the CPU */
} abut_map_options;

ABUT_DEFAULT(abut_map_options)

/* Lays out the atlas of a mesh, which it keeps: texels by area, at least one for each triangle.
 * Triangles without area get theirs along the segment, or at the point, that they are. `options`
 * may be null. Fails with ABUT_ERROR_LIMIT where there are more triangles than texels, and names
 * the resolution that is enough. Distances are floats, so refused: a mesh with coordinates beyond
 * 1e30, or whose bounding box has a longest side below 1e-30 that is not 0. Uses the context of the
 * mesh. Thread-safe. */
ABUT_API abut_status abut_map_create(abut_mesh *mesh, const abut_map_options *options,
                                     abut_map **map);
/* Null is allowed. */
ABUT_API void abut_map_destroy(abut_map *map);

/* Follows moved vertices: a mesh with the same triangles and new positions. Distances are forgotten
 * until the next query. Refused: other triangles, see abut_map_replace_mesh(), and sizes as
 * abut_map_create() does. On failure all is as before. */
ABUT_API abut_status abut_map_set_mesh(abut_map *map, abut_mesh *mesh);
/* Takes a mesh with other triangles. from[i] is the triangle of the old mesh whose place triangle i
 * keeps, each at most once, or ABUT_NONE; null = all are new. Only new triangles are placed, where
 * others have left or where there was room; if there is not enough, all are (see
 * abut_map_info.placed). Importance is not kept: new triangles get texels by their area. On failure
 * all is as before. */
ABUT_API abut_status abut_map_replace_mesh(abut_map *map, abut_mesh *mesh, const uint32_t *from);

typedef struct abut_map_info {
    size_t size; /* sizeof(abut_map_info), set by the default function */
    uint32_t resolution;
    uint32_t sample_count; /* texels that belong to a triangle */
    uint32_t placed;       /* triangles that got their place when it was made or changed last */
    double used;           /* share of texels that belong to a triangle */
    double area;           /* of the surface */
    double density;        /* samples for each unit of area, at rest */
    double uneven;         /* how much that of a triangle was off at rest, at most, of those with 16
                            * texels or more: 0.1 = a tenth; of importance, if that was given */
    double reach;          /* no point of the surface is farther from a sample */
    double reach_at_rest;  /* as it was when the atlas was laid out */
    bool has_distances;    /* a query has been answered for this state of the mesh */
    bool has_sign;         /* some of its distances may be negative */
    abut_reliability
        reliability; /* of the last query: what signs are worth, the worst of all bodies, or
                      * thickness; distances themselves are always what was promised */
} abut_map_info;

ABUT_DEFAULT(abut_map_info)

/* Gets the atlas, the sampling and the state of a map. `info->size` must be set. */
ABUT_API abut_status abut_map_get_info(const abut_map *map, abut_map_info *info);
/* The mesh that samples are on; null for null. */
ABUT_API abut_mesh *abut_map_mesh(const abut_map *map);

/* Gives the corners of a triangle in the atlas, in texels from the upper left: counter-clockwise
 * for eyes that see x to the right and y up. Texture coordinates are these over the resolution. */
ABUT_API abut_status abut_map_corners(const abut_map *map, uint32_t triangle, double corners[3][2]);
/* A bound for the distance of any point of a triangle from the nearest sample on it. */
ABUT_API abut_status abut_map_reach(const abut_map *map, uint32_t triangle, double *reach);

typedef struct abut_map_sample {
    uint32_t triangle; /* ABUT_NONE where the texel belongs to none */
    double barycentric[3];
    abut_vec3 point; /* absolute */
    double area;     /* that it stands for: that of the triangle over its samples */
} abut_map_sample;

/* Tells where the sample of a texel is. Refused: a texel beyond the square. */
ABUT_API abut_status abut_map_sample_at(const abut_map *map, uint32_t x, uint32_t y,
                                        abut_map_sample *sample);

/* ---- queries ---- */

typedef struct abut_map_query {
    size_t size;
    double limit;    /* distances beyond are not looked for; 0 = all are */
    uint32_t rings;  /* of itself: triangles that can be reached through this many vertices do not
                      * count; 0 = 1, which are those that share a vertex. ABUT_NONE = all that is
                      * connected: what remains is how near other bodies of one mesh are, of any
                      * number of them at once */
    double geodesic; /* of itself: nor do triangles all of whose vertices are nearer than this to
                      * the corners of the sample's, along edges; 0 = none */
} abut_map_query;

ABUT_DEFAULT(abut_map_query)

/* Finds the distance of every sample to other bodies: the least of all. Where signs of a hierarchy
 * are prepared (abut_sign_prepare) its distances are negative inside. The pose of each is in the
 * coordinates of the mesh of the map. No bodies, or no triangles, give infinity everywhere.
 * Hierarchies may be on the CPU or on the device of the map, which keeps references to them until
 * the next query of bodies. Refused: a body with coordinates beyond 1e30. Reports progress as stage
 * "map". */
ABUT_API abut_status abut_map_compute_distance(abut_map *map, const abut_posed *others,
                                               uint32_t count, const abut_map_query *query);
/* Finds the distance of every sample to the surface itself, but for what is around it: as in a
 * complete search of all other triangles, the lowest of those that are equally near. Vertices in
 * one place count as one. Answers have 0 as the other body, and no sign. Runs on the CPU, but for
 * bodies of one mesh, whose parts are those of the mesh when they are first asked for, also when it
 * moves; rings and ways that reach over all of the surface take time for each triangle. Reports
 * progress as stage "map". */
ABUT_API abut_status abut_map_compute_self_distance(abut_map *map, const abut_map_query *query);

typedef enum abut_map_thickness {
    ABUT_MAP_THICKNESS_RAY = 0, /* straight in, to where the ray leaves the solid */
    ABUT_MAP_THICKNESS_BALL     /* diameter of the largest ball inside that touches the sample */
} abut_map_thickness;

ABUT_API const char *abut_map_thickness_name(abut_map_thickness kind);

/* Finds how thick the wall behind every sample is; the surface should be closed and face outwards.
 * The vector of a texel goes to the far side: where the ray leaves, or where the ball touches a
 * second time. Infinity where there is nothing behind within the limit, and at triangles without
 * area.
 *   RAY   against the normal of the triangle, to the first one that is passed from behind; what is
 *         thinner than 1e-9 of the size is not seen
 *   BALL  the ball is stopped by triangles that face another way than the sample's by more than 45
 *         degrees; so facets of a curved wall do not stop it, and sides at right angles do. None is
 *         in it by more than a millionth of its radius, and it touches one: never less than the
 *         largest ball. Where normals of facets are off those of a curved wall by a, so is the
 *         answer, by some 2 a (in radians) of itself.
 * Runs on the CPU. abut_map_info.reliability tells what answers are worth on this surface. Reports
 * progress as stage "map". */
ABUT_API abut_status abut_map_compute_thickness(abut_map *map, abut_map_thickness kind,
                                                const abut_map_query *query);

/* ---- answers ---- */

/* The answer at a sample. */
typedef struct abut_map_texel {
    float distance;    /* infinity = nothing within the limit; NaN = no sample */
    float vector[3];   /* from the sample to the closest point; zero where there is none */
    uint32_t other;    /* which of the bodies; ABUT_NONE where there is none */
    uint32_t triangle; /* of it */
    uint32_t feature;  /* of that: an abut_feature */
} abut_map_texel;

/* Copies all texels, row by row: resolution x resolution. Fails with ABUT_ERROR_BUFFER where the
 * capacity is less, and with ABUT_ERROR_ARGUMENT before the first query. */
ABUT_API abut_status abut_map_texels(const abut_map *map, uint64_t capacity,
                                     abut_map_texel *texels);

typedef struct abut_map_value {
    double distance;     /* of the sample, corrected by the way to its closest point: no less than
                          * the true one where that is not negative */
    double lower, upper; /* the true distance is between them */
    abut_vec3 vector;    /* to the closest point of the nearest sample */
    uint32_t x, y;       /* its texel */
} abut_map_value;

/* Tells the distance at any point of the surface: barycentric coordinates, whose sum is 1. */
ABUT_API abut_status abut_map_evaluate(const abut_map *map, uint32_t triangle,
                                       const double barycentric[3], abut_map_value *value);

/* A sample, and what is nearest to it. */
typedef struct abut_map_witness {
    uint32_t x, y;
    uint32_t triangle;       /* of the map's mesh */
    abut_vec3 point;         /* on it */
    uint32_t other;          /* ABUT_NONE where nothing was found */
    uint32_t other_triangle; /* of it */
    abut_feature feature;    /* of that */
    abut_vec3 other_point;
    double distance;
} abut_map_witness;

typedef struct abut_map_measure_options {
    size_t size;
    double within;           /* area and texels no farther than this are counted */
    const double *quantiles; /* from 0 to 1 */
    uint32_t quantile_count;
    bool exact; /* the least distance, and its witness, as abut_pair_distance() has them: of queries
                 * about other bodies. Refused if one was refitted since the query. If a sample has
                 * a negative distance, the least one stays that of samples */
} abut_map_measure_options;

ABUT_DEFAULT(abut_map_measure_options)

typedef struct abut_map_measures {
    uint64_t samples, found; /* all; those with a distance */
    uint64_t within, inside; /* no farther than asked for; with a negative distance */
    double area, found_area, within_area, inside_area;
    abut_map_witness min, max; /* of those found; a negative one: how deep, at most */
    double min_error; /* the least distance over all the surface is no less than this below; 0
                       * with `exact`, unless distances have signs and surfaces touch */
    double max_error; /* and the greatest no more than this above, if nothing is beyond the
                       * limit */
    double mean, rms; /* by area, of those found; rms of magnitudes */
} abut_map_measures;

/* Measures the answers of the last query. The distances below which a share of the area found lies
 * go to `values`, one for each quantile; it may be null without any. `options` may be null. */
ABUT_API abut_status abut_map_measure(const abut_map *map, const abut_map_measure_options *options,
                                      double *values, abut_map_measures *measures);

/* Adds up the area of samples by distance: areas[i] is that between lo + i w and lo + (i + 1) w,
 * with w = (hi - lo) / count; below and above go to the first and the last. What was not found
 * counts nowhere. Refused: hi that is not above lo, no bins. */
ABUT_API abut_status abut_map_histogram(const abut_map *map, double lo, double hi, uint32_t count,
                                        double *areas);

/* Lists all texels no farther than `distance`, by y x resolution + x. */
ABUT_API abut_status abut_map_find_below(const abut_map *map, double distance, uint64_t capacity,
                                         uint32_t *texels, uint64_t *count);

/* Gathers texels no farther than options->margin into patches of the surface, which is a: texels
 * beside each other in a triangle, or on both sides of an edge. Of different bodies there are
 * different patches; `pair` of a contact is that of the options plus the number of the body. Each
 * has up to options->keep contacts, its deepest sample and others far from each other: kind
 * ABUT_CONTACT_SURFACE, the triangle as element, as part which sample of it; the point halfway to
 * the closest point, the normal along that way; out of the body if both are in one place. A patch
 * has its texels' area. The volumes of a body's patches sum to that of abut_pair_measure(); patches
 * share it in proportion to the depths of their texels. Volumes are 0 (not measured) if one of both
 * surfaces is open, if distances have no sign, and for a surface against itself. Refused: a body
 * that was refitted since the query. Depths are the least ways out of samples one by one; whether a
 * shift separates is not checked, and `is_verified` is false where there are patches. The hint is
 * not used. Where distances have no sign no depth is above 0. Refused: answers about thickness. */
ABUT_API abut_status abut_map_contacts(const abut_map *map, const abut_patch_options *options,
                                       abut_patches *patches);

/* ---- deviation ---- */

typedef struct abut_map_hausdorff_options {
    size_t size;
    double tolerance; /* stop when upper - lower is no more; 0 = a millionth of the greater size.
                       * Less than 2^-40 of the largest coordinate counts as that */
} abut_map_hausdorff_options;

ABUT_DEFAULT(abut_map_hausdorff_options)

typedef struct abut_map_hausdorff_result {
    double lower, upper; /* the greatest distance from a to b is between them */
    uint32_t triangle;   /* of a, */
    abut_vec3 point;     /* on it but for rounding, whose distance is `lower` or a few ulp more */
    uint32_t other_triangle; /* nearest to it */
    abut_vec3 other_point;
    uint64_t pieces; /* triangles of a, and cuts of them: what the answer took */
} abut_map_hausdorff_result;

/* Finds the point of surface a that is farthest from surface b: the one-sided Hausdorff distance,
 * between bounds that hold for all points of a, not only samples; rounding is in them. Both are 0
 * where every triangle of a is one of b. Of both ways the greater one is the Hausdorff distance.
 * `options` may be null. Both hierarchies are asked on the CPU, on all threads of the context of a.
 * Takes some 100 bytes a vertex and 32 a triangle of a, and 40 and 108 of b, meanwhile. Refused:
 * a tolerance that is negative or NaN. Reports progress as stages "nearest" and "hausdorff".
 * Thread-safe. */
ABUT_API abut_status abut_map_hausdorff(const abut_bvh *a, const abut_bvh *b,
                                        const abut_map_hausdorff_options *options,
                                        abut_map_hausdorff_result *result);

#ifdef __cplusplus
}
#endif

#endif
