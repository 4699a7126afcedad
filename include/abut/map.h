/* Surface distance maps: the distance from every point of a surface to other bodies, as a texture
 * on that surface.
 *
 * Method: surface distance maps (Sud, Govindaraju, Gayle and Manocha 2006, "Surface Distance
 * Maps"). Each triangle of a mesh has a region in a square atlas of texels, with one affine map for
 * each triangle. The region stays the same while the mesh deforms. The centre of each of its texels
 * is a sample of the surface. A query computes for each sample the distance to the nearest feature
 * of other bodies, the vector to the closest point, and the feature. It uses a closest-point search
 * for each sample, where the paper rasterises distance functions. Other queries compute self-
 * proximity and wall thickness.
 *
 * Guarantee at a sample: the distance of abut_nearest_point(), or of abut_sign_nearest() if signs
 * are prepared, rounded once to a float.
 *
 * Guarantee between samples: no point of a triangle is farther from a sample of that triangle than
 * its reach, so that distances differ by at most the reach. abut_map_info.reach is the maximum over
 * all triangles.
 *
 * Guarantee of exact measures: that of abut_pair_distance().
 *
 * Results do not depend on the number of threads or on the device.
 *
 * A map must be used by one thread at a time. Its computations run on all threads of its context.
 */
#ifndef ABUT_MAP_H
#define ABUT_MAP_H

#include <abut/base.h>
#include <abut/bvh.h>
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
    uint32_t resolution;      /* texels along each side of the atlas, at most 16384; 0 = 512, or as
                               * many as are needed for 4 texels for each triangle */
    const double *importance; /* one weight above 0 for each triangle, which multiplies its number
                               * of samples for its area; null = equal weights */
    abut_device *device;      /* null = the CPU */
    double precision; /* largest reach of the map at rest, so that distances between samples have at
                       * most this error; determines the resolution, which must be 0. 0 = none */
    const double *uv; /* texture coordinates u, v of the three corners of each triangle, from 0 to
                       * 1, from the upper left corner as in glTF; null = own layout. Only read by
                       * abut_map_create() */
    bool uv_fallback; /* if `uv` has no valid layout, use the own one; see abut_map_info.uses_uv */
} abut_map_options;

ABUT_DEFAULT(abut_map_options)

/* Creates a map: lays out the atlas of a mesh and keeps a reference to the mesh. Triangles receive
 * texels in proportion to their area, and at least one. The samples of a degenerate triangle are on
 * the segment or point to which it collapses. `options` may be null.
 *
 * `precision` inverts the error bound: the resolution is found by bisection to a 64th. The reach of
 * a deformed mesh may exceed the precision. abut_map_replace_mesh() keeps the resolution.
 *
 * With `uv` each triangle is where its texture coordinates are, rounded to 1/256 of a texel. So the
 * texels of the map are those of a texture of the mesh. A layout is valid if each triangle has an
 * area and at least one texel, and none has a texel of another one. Otherwise returns
 * ABUT_ERROR_LIMIT if a higher resolution may help, and ABUT_ERROR_ARGUMENT for an overlap, for a
 * triangle without area in the texture, and together with `importance`. New triangles of
 * abut_map_replace_mesh() do not have texture coordinates: then all triangles get the own layout.
 *
 * Returns ABUT_ERROR_LIMIT if the atlas has too few texels; the message contains a sufficient
 * resolution. Also returns it if a precision needs more than 16384 texels along each side. Returns
 * ABUT_ERROR_ARGUMENT if a coordinate exceeds 1e30, or if the longest side of the bounding box is
 * below 1e-30 and not 0. Distances, which are floats, need these limits. Returns ABUT_ERROR_DEVICE
 * if the device lacks doubles or rounds differently from the CPU. Uses the context of the mesh.
 * Thread-safe. */
ABUT_API abut_status abut_map_create(abut_mesh *mesh, const abut_map_options *options,
                                     abut_map **map);
/* Destroys a map. Null is allowed. One thread at a time for each map. */
ABUT_API void abut_map_destroy(abut_map *map);

/* Updates a map to a deformed mesh with the same triangles and new positions. The distances of the
 * last query become invalid. Returns ABUT_ERROR_ARGUMENT if the triangles differ (see
 * abut_map_replace_mesh()), and for the sizes that abut_map_create() rejects. On failure the map
 * does not change. One thread at a time for each map. */
ABUT_API abut_status abut_map_set_mesh(abut_map *map, abut_mesh *mesh);
/* Updates a map to a mesh with other triangles. from[i] is the triangle of the old mesh whose
 * region triangle i keeps, each at most once, or ABUT_NONE for a new triangle; null = all are new.
 * Only new triangles are placed, in regions that are free. If these are too small, all triangles
 * are placed again; see abut_map_info.placed. New triangles receive texels by area, without
 * importance. On failure the map does not change. One thread at a time for each map. */
ABUT_API abut_status abut_map_replace_mesh(abut_map *map, abut_mesh *mesh, const uint32_t *from);

typedef struct abut_map_info {
    size_t size; /* sizeof(abut_map_info), set by the default function */
    uint32_t resolution;
    uint32_t sample_count; /* texels that belong to a triangle */
    uint32_t placed;       /* triangles placed by the last create or replace */
    double used;           /* fraction of texels that belong to a triangle */
    double area;           /* area of the surface */
    double density;        /* samples for each unit of area, at rest */
    double uneven;         /* largest relative deviation of a triangle's density from the mean at
                            * rest, for triangles with at least 16 texels: 0.1 = 10%. With
                            * importance, from the density that it requests */
    double reach;          /* no point of the surface is farther from a sample */
    double reach_at_rest;  /* the reach when the atlas was laid out */
    bool has_distances;    /* a query was computed for the current positions */
    bool has_sign;         /* distances may be negative */
    abut_reliability reliability; /* of the last query: the lowest reliability of the signs of
                                   * all bodies, or that of thickness; magnitudes always have the
                                   * guarantee above */
    bool uses_uv; /* the layout is that of the texture coordinates in abut_map_options */
} abut_map_info;

ABUT_DEFAULT(abut_map_info)

/* Stores the properties of a map. `info->size` must be set. One thread at a time for each map. */
ABUT_API abut_status abut_map_get_info(const abut_map *map, abut_map_info *info);
/* Returns the mesh of the map, without a new reference, or null if `map` is null. One thread at a
 * time for each map. */
ABUT_API abut_mesh *abut_map_mesh(const abut_map *map);

/* Returns the corners of a triangle in the atlas, in texels from the upper left corner. They are
 * counter-clockwise if x points right and y points up. Divide them by the resolution for texture
 * coordinates. Returns ABUT_ERROR_ARGUMENT if there is no such triangle. One thread at a time for
 * each map. */
ABUT_API abut_status abut_map_corners(const abut_map *map, uint32_t triangle, double corners[3][2]);
/* Returns an upper bound of the distance from any point of a triangle to the nearest sample on that
 * triangle, for the current positions. Returns ABUT_ERROR_ARGUMENT if there is no such triangle.
 * One thread at a time for each map. */
ABUT_API abut_status abut_map_reach(const abut_map *map, uint32_t triangle, double *reach);

typedef struct abut_map_sample {
    uint32_t triangle; /* ABUT_NONE if the texel belongs to no triangle */
    double barycentric[3];
    abut_vec3 point; /* in absolute coordinates */
    double area;     /* area that the sample represents: that of the triangle divided by its number
                      * of samples */
} abut_map_sample;

/* Returns the position of the sample of a texel. Returns ABUT_ERROR_ARGUMENT if the texel is
 * outside the atlas. One thread at a time for each map. */
ABUT_API abut_status abut_map_sample_at(const abut_map *map, uint32_t x, uint32_t y,
                                        abut_map_sample *sample);

/* ---- queries ---- */

typedef struct abut_map_query {
    size_t size;
    double limit;    /* maximum distance; larger ones are not computed; 0 = no limit */
    uint32_t rings;  /* self-distance only: triangles that are connected through this many rings of
                      * vertices are excluded; 0 = 1, the triangles that share a vertex. ABUT_NONE
                      * excludes the whole component of the sample: the result is the distance to
                      * the other components, of any number of them at once */
    double geodesic; /* self-distance only: also exclude triangles all of whose vertices are nearer
                      * than this to the corners of the sample's triangle, along edges; 0 = none */
} abut_map_query;

ABUT_DEFAULT(abut_map_query)

/* Computes the distance from every sample to other bodies, the minimum over all bodies. If the
 * signs of a BVH are prepared (abut_sign_prepare()), its distances are negative inside. Each
 * body is a collider with a BVH or a hull. Poses are relative to the coordinates of the map's mesh.
 * Without bodies all distances are infinite. `query` may be null.
 *
 * Each BVH is on the CPU or on the device of the map. The map keeps references to the BVHs until
 * the next call. Returns ABUT_ERROR_ARGUMENT if a body has coordinates beyond 1e30 or an invalid
 * pose. Reports progress as stage "map". One thread at a time for each map. */
ABUT_API abut_status abut_map_compute_distance(abut_map *map, const abut_collider *others,
                                               uint32_t count, const abut_map_query *query);
/* Computes the distance from every sample to the surface itself, without the triangles that
 * query->rings and query->geodesic exclude. `query` may be null. The result equals a brute-force
 * search over all remaining triangles; of equally near ones it is the lowest index. Vertices with
 * equal coordinates count as one. In the result `other` is 0, and distances have no sign.
 *
 * Runs on the CPU, except for rings = ABUT_NONE, which a device can compute. For that query the
 * components are determined once and kept while the mesh deforms. If the excluded region covers
 * most of the surface, the time for each triangle is proportional to the size of the mesh. Reports
 * progress as stage "map". One thread at a time for each map. */
ABUT_API abut_status abut_map_compute_self_distance(abut_map *map, const abut_map_query *query);

typedef enum abut_map_thickness {
    ABUT_MAP_THICKNESS_RAY = 0, /* length of the ray against the normal, to the point where it
                                 * leaves the solid */
    ABUT_MAP_THICKNESS_BALL     /* diameter of the largest inscribed ball that touches the sample */
} abut_map_thickness;

/* Returns the name of a kind, or null if the enum lacks it. Thread-safe. */
ABUT_API const char *abut_map_thickness_name(abut_map_thickness kind);

/* Computes the wall thickness at every sample. The surface should be closed and face outwards. The
 * vector of a texel points to the opposite side: where the ray leaves, or where the ball touches a
 * second time. The thickness is infinite if there is no opposite side within the limit, and on
 * degenerate triangles. `query` may be null.
 *
 * RAY follows the ray against the normal of the triangle, to the first triangle that it crosses
 * from behind. Walls thinner than 1e-9 of the size of the mesh are not found.
 *
 * BALL: only triangles whose normals differ from the sample's by more than 45 degrees limit the
 * ball. Facets of a curved wall therefore do not limit it, and sides at right angles do. No such
 * triangle penetrates the ball by more than a millionth of its radius, and one touches it. The
 * result is never smaller than the largest ball. If facet normals differ from those of a curved
 * wall by an angle a (radians), the relative error is about 2 a.
 *
 * Runs on the CPU. abut_map_info.reliability has the reliability for this surface. Reports progress
 * as stage "map". One thread at a time for each map. */
ABUT_API abut_status abut_map_compute_thickness(abut_map *map, abut_map_thickness kind,
                                                const abut_map_query *query);

/* ---- results ---- */

/* The result at a sample. */
typedef struct abut_map_texel {
    float distance;    /* infinity = no surface within the limit; NaN = no sample */
    float vector[3];   /* from the sample to the closest point; zero if there is none */
    uint32_t other;    /* index of the body; ABUT_NONE if there is none */
    uint32_t triangle; /* triangle of that body */
    uint32_t feature;  /* feature of that triangle: an abut_feature */
} abut_map_texel;

/* Copies all texels, row by row: resolution x resolution. Returns ABUT_ERROR_BUFFER if the capacity
 * is smaller, and ABUT_ERROR_ARGUMENT before the first query. One thread at a time for each map. */
ABUT_API abut_status abut_map_texels(const abut_map *map, uint64_t capacity,
                                     abut_map_texel *texels);

typedef struct abut_map_value {
    double distance;     /* distance of the nearest sample, clamped to [lower, upper] */
    double lower, upper; /* bounds of the true distance; 0 and infinity for thickness */
    abut_vec3 vector;    /* from the point to the closest point of that sample */
    uint32_t x, y;       /* texel of that sample */
} abut_map_value;

/* Evaluates the distance at any point of the surface, with bounds. Barycentric coordinates are from
 * 0 to 1 and have the sum 1, within 1e-6; otherwise returns ABUT_ERROR_ARGUMENT. One thread at a
 * time for each map. */
ABUT_API abut_status abut_map_evaluate(const abut_map *map, uint32_t triangle,
                                       const double barycentric[3], abut_map_value *value);

/* A sample and its closest point. */
typedef struct abut_map_witness {
    uint32_t x, y;
    uint32_t triangle;       /* triangle of the map's mesh */
    abut_vec3 point;         /* point on that triangle */
    uint32_t other;          /* index of the body; ABUT_NONE if no sample has a distance */
    uint32_t other_triangle; /* triangle of that body */
    abut_feature feature;    /* feature of that triangle */
    abut_vec3 other_point;
    double distance;
} abut_map_witness;

typedef struct abut_map_measure_options {
    size_t size;
    double within;           /* count texels and their area up to this distance */
    const double *quantiles; /* fractions of area from 0 to 1; null if there are none */
    uint32_t quantile_count;
    bool exact; /* compute the minimum and its witness as abut_pair_distance() does. For queries of
                 * other bodies; ABUT_ERROR_ARGUMENT if one was refitted since the query. If a
                 * sample has a negative distance, the minimum remains that of the samples */
} abut_map_measure_options;

ABUT_DEFAULT(abut_map_measure_options)

typedef struct abut_map_measures {
    size_t size;             /* sizeof(abut_map_measures), set by the default function */
    uint64_t samples, found; /* all samples; samples with a distance */
    uint64_t within, inside; /* samples up to `within`; samples with a negative distance */
    double area, found_area, within_area, inside_area;
    abut_map_witness min, max; /* extremes of the samples with a distance; a negative minimum is
                                * minus the largest penetration depth of a sample */
    double min_error; /* the minimum over the whole surface is at least min - min_error. 0 with
                       * `exact`, unless distances have signs and surfaces touch; infinite for
                       * thickness */
    double max_error; /* the maximum over the whole surface is at most max + max_error, if all
                       * samples have a distance; infinite for thickness */
    double mean, rms; /* weighted by area, of samples with a distance; rms of magnitudes */
} abut_map_measures;

ABUT_DEFAULT(abut_map_measures)

/* Computes statistics of the last query. values[i] receives the distance below which the fraction
 * quantiles[i] of the found area lies; infinity if that area is 0. `values` may be null without
 * quantiles. `options` may be null. `measures->size` must be set. Returns ABUT_ERROR_ARGUMENT
 * before the first query, or if `exact` is set after a query of self-distance or thickness. One
 * thread at a time for each map. */
ABUT_API abut_status abut_map_measure(const abut_map *map, const abut_map_measure_options *options,
                                      double *values, abut_map_measures *measures);

/* Bounds of the penetration of the surface into a body. */
typedef struct abut_map_depth {
    size_t size;         /* sizeof(abut_map_depth), set by the default function */
    double lower, upper; /* of the depth of the deepest point of the surface inside the body: that
                          * of the deepest sample, and no point is deeper. 0 if none is inside */
    double shift_lower, shift_upper; /* of the length of the shortest shift of the surface after
                                      * which no point of it is inside the body: the translational
                                      * penetration depth, except if the surface encloses the body.
                                      * Then no point of it is inside, and all bounds are 0 */
    abut_vec3 shift; /* one of length shift_upper, which separates the convex hulls; zero if `upper`
                      * is 0 */
} abut_map_depth;

ABUT_DEFAULT(abut_map_depth)

/* Computes bounds of the penetration depth from the last query, for body `other` of that query. The
 * bounds of the depth differ by at most the reach. A shift must move the deepest point out of the
 * body, so that `shift_lower` is `lower`. `shift_upper` is the smallest overlap of the convex hulls
 * along a number of directions. It is close for convex bodies and may be far too large for others.
 * The result is as reliable as the signs: see abut_map_info.reliability. `depth->size` must be set.
 *
 * Returns ABUT_ERROR_ARGUMENT before a query of other bodies, if there is no such body, or if
 * distances to it have no sign. One thread at a time for each map. */
ABUT_API abut_status abut_map_measure_depth(const abut_map *map, uint32_t other,
                                            abut_map_depth *depth);

/* Computes a histogram of area by distance: areas[i] is the area between lo + i w and lo + (i + 1)
 * w, with w = (hi - lo) / count. The first and last bin include the areas below and above. Samples
 * without a distance are not counted. Returns ABUT_ERROR_ARGUMENT if hi is not above lo or count is
 * 0. One thread at a time for each map. */
ABUT_API abut_status abut_map_histogram(const abut_map *map, double lo, double hi, uint32_t count,
                                        double *areas);

/* Lists all texels whose distance is at most `distance`, as sorted indices y x resolution + x. One
 * thread at a time for each map. */
ABUT_API abut_status abut_map_find_below(const abut_map *map, double distance,
                                         abut_index_list *texels);

/* Computes contact patches from the texels whose distance is at most options->margin. The surface
 * of the map is body a. Texels are connected if they are neighbours in a triangle or on both sides
 * of an edge. Texels of different bodies belong to different patches.
 *
 * Each patch has up to options->max_contacts contacts: its deepest sample, and others far from each
 * other. A contact has the kind ABUT_CONTACT_SURFACE, the triangle as element, and the index of the
 * sample in that triangle as part. Its point is halfway to the closest point, its normal along that
 * direction. If both points coincide, the normal points out of the other body. `b` of
 * a contact is options->b plus the index of the body.
 *
 * A patch has the area of its texels. The volumes of all patches of a body sum to that of
 * abut_pair_measure(), divided in proportion to the depths of their texels. Volumes are 0 (not
 * measured) if one of the surfaces is open, if distances have no sign, and for self-distances.
 *
 * Depths are those of single samples, and no test shows that a shift separates the bodies:
 * `is_verified` is false if there are patches. options->hint is ignored. Without signs no depth is
 * above 0. Returns ABUT_ERROR_ARGUMENT after a query of thickness, or if a body was refitted since
 * the query. One thread at a time for each map. */
ABUT_API abut_status abut_map_contacts(const abut_map *map, const abut_patch_options *options,
                                       abut_patches *patches);

#ifdef __cplusplus
}
#endif

#endif
