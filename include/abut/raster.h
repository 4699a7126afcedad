/* Rasterisation: depth images and item images of triangle meshes, by orthographic or perspective
 * rays through pixel centres.
 *
 * Method: a triangle has one fragment for each pixel whose centre it covers. Vertices are rounded
 * to subpixel steps (2^-17 of a pixel for images of 1,024 pixels, 2^-10 for 100,000). Coverage is
 * computed by integer edge functions (Pineda 1988) with the top-left rule. Depths are those of the
 * plane of the unrounded triangle, in steps of 2^-32 of the depth of the view.
 *
 * Guarantee: adjacent triangles leave no gap and do not overlap, so that every ray enters a closed
 * surface as often as it leaves it. Images do not depend on the number of threads or on the device.
 *
 * A rasteriser must be used by one thread at a time. It runs on all threads of its context, or on
 * its device, which keeps the triangles of the meshes that were drawn last.
 */
#ifndef ABUT_RASTER_H
#define ABUT_RASTER_H

#include <abut/base.h>
#include <abut/collider.h>
#include <abut/device.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_raster abut_raster;

typedef struct abut_raster_options {
    size_t size;
    abut_device *device; /* null = the CPU. Images are the same */
} abut_raster_options;

ABUT_DEFAULT(abut_raster_options)

/* Creates a rasteriser. `options` may be null. Returns ABUT_ERROR_DEVICE if the device lacks
 * doubles or rounds differently from this CPU. Thread-safe. */
ABUT_API abut_status abut_raster_create(abut_context *context, const abut_raster_options *options,
                                        abut_raster **raster);
/* Destroys a rasteriser. Null is allowed. One thread at a time for each rasteriser. */
ABUT_API void abut_raster_destroy(abut_raster *raster);

/* Origin and direction of rays. Pixels are square; x points right and y down. */
typedef struct abut_raster_view {
    size_t size;
    abut_vec3 direction; /* direction of orthographic rays, or of the central ray; zero = -z */
    abut_vec3 up;        /* up vector of the image; zero = z, or y if the direction is along z */
    abut_box region;  /* the visible box; empty = all colliders. An orthographic image contains all
                       * of it, and depths begin and end with it. Perspective depths end with it
                       */
    bool perspective; /* rays start from `eye` */
    abut_vec3 eye;
    double angle;           /* vertical field of view in radians, below 3.1; 0 = 1 */
    double near_distance;   /* distance from the eye to the near plane; 0 = 1/1000 of the
                             * far distance */
    uint32_t width, height; /* pixels, at most ABUT_RASTER_MAX. If one is 0, it is chosen to fit the
                             * region (perspective: equal to the other). If both are 0, the larger
                             * one is 1024 */
} abut_raster_view;

ABUT_DEFAULT(abut_raster_view)

#define ABUT_RASTER_MAX 100000

/* An image of the nearest surfaces, row by row from the top. Arrays may be in buffers of the
 * device. Each array may be null. */
typedef struct abut_raster_image {
    size_t size;
    uint32_t width, height; /* output: size of the image */
    uint64_t capacity;      /* number of pixels in each array */
    bool conservative;      /* draw each pixel whose square a triangle touches, even at an edge,
                             * with a lower bound of the depth of the triangle in that square */
    abut_array depths;      /* float: depth along the direction, from the start of rays; infinity =
                             * no surface */
    abut_array items;       /* uint32_t: index of the collider; ABUT_NONE = no surface */
    abut_array triangles;   /* uint32_t */
} abut_raster_image;

ABUT_DEFAULT(abut_raster_image)

/* Draws the nearest surface of each pixel. Colliders are meshes, hulls, or bodies with a BVH. Of
 * several surfaces at one depth, the one with the lowest collider, then triangle, is drawn. `view`
 * may be null. Sets width and height.
 *
 * Returns ABUT_ERROR_ARGUMENT for other kinds of colliders. Returns ABUT_ERROR_BUFFER if the
 * capacity is smaller than width x height. Returns ABUT_ERROR_ARGUMENT if the view has a value that
 * is not finite, an inverted region, or an eye that sees nothing of the region. Returns
 * ABUT_ERROR_ARGUMENT also if depths are requested and the depth of the view is not between 1e-30
 * and 1e30. Returns ABUT_ERROR_LIMIT if there are 2^32 - 1 triangles or more (2^29 on a device).
 *
 * If a device fails during the call, part of the image is written. Reports progress as stage
 * "pixels". One thread at a time for each rasteriser. */
ABUT_API abut_status abut_raster_draw(abut_raster *raster, const abut_raster_view *view,
                                      const abut_collider *colliders, size_t count,
                                      abut_raster_image *image);

#ifdef __cplusplus
}
#endif

#endif
