/* Raster: what parallel or perspective rays through the pixels of an image hit.
 *
 * Triangles become fragments, one for each pixel whose centre they cover. Vertices are rounded to
 * steps of a pixel (2^-17 of it for 1,024 pixels, 2^-10 for 100,000) and coverage is counted in
 * whole numbers (Pineda 1988), with the top-left rule: neighbours leave no holes and do not
 * overlap, so that rays enter a closed surface as often as they leave it. Depths are those of the
 * plane of the triangle as it was before rounding, in steps of 2^-32 of the depth of the view.
 * Answers depend neither on the number of threads nor on a device.
 *
 * An object of this type is for one user at a time; its work runs on all threads of its context, or
 * on its device, which keeps the triangles of the meshes that were drawn last.
 */
#ifndef ABUT_RASTER_H
#define ABUT_RASTER_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_raster abut_raster;

typedef struct abut_raster_options {
    size_t size;
    abut_device *device; /* where it draws; null = the CPU. Images are the same */
} abut_raster_options;

ABUT_DEFAULT(abut_raster_options)

/* Creates what draws. `options` may be null. Fails with ABUT_ERROR_DEVICE for a device that has no
 * doubles or rounds otherwise than this CPU. Thread-safe. */
ABUT_API abut_status abut_raster_create(abut_context *context, const abut_raster_options *options,
                                        abut_raster **raster);
/* Null is allowed. */
ABUT_API void abut_raster_destroy(abut_raster *raster);

/* Where rays begin and which way they go. Pixels are squares; x goes to the right and y down. */
typedef struct abut_raster_view {
    size_t size;
    abut_vec3 direction; /* of parallel rays, or of that through the middle; zero = along -z */
    abut_vec3 up;        /* of the image; zero = z, or y where the direction is along z */
    abut_box region;     /* what is to be seen. Parallel rays: the image holds all of it, and depths
                          * begin and end with it. Perspective: depths end with it */
    bool perspective;    /* rays from `eye` */
    abut_vec3 eye;
    double angle;           /* between rays at the top and the bottom, radians; 0 = 1 */
    double near_distance;   /* rays begin so far before the eye; 0 = 1/1000 of the way to the end */
    uint32_t width, height; /* pixels, at most ABUT_RASTER_MAX. Where one is 0, it fits the region
                             * (perspective: as many as the other); both: the larger is 1024 */
} abut_raster_view;

ABUT_DEFAULT(abut_raster_view)

#define ABUT_RASTER_MAX 100000

/* A mesh somewhere. */
typedef struct abut_raster_item {
    const abut_mesh *mesh;
    abut_pose pose;
} abut_raster_item;

/* An image of the nearest surfaces, row by row from the top. Arrays may be in buffers of the
 * device, and each may be missing. */
typedef struct abut_raster_image {
    uint32_t width, height; /* out: as the view has them */
    uint64_t capacity;      /* pixels that there is room for */
    bool conservative;      /* draw each pixel whose square a triangle touches, if only along an
                             * edge, with a depth that nothing of the triangle there is before */
    abut_array depths;      /* float: along the direction, from the begin of rays; infinity =
                             * nothing */
    abut_array items;       /* uint32_t; ABUT_NONE = nothing */
    abut_array triangles;   /* uint32_t */
} abut_raster_image;

/* Draws the nearest surface of each pixel. Of several at one depth that of the lowest item, then
 * triangle. `view` may be null. Sets width and height, and fails with ABUT_ERROR_BUFFER where the
 * capacity is less than their product. Fails with ABUT_ERROR_ARGUMENT for a view without direction
 * or region, an eye that sees nothing of it, or, if depths are wanted, depths that do not end
 * between 1e-30 and 1e30; and with ABUT_ERROR_LIMIT for 2^32 triangles and more (2^29 on a device).
 * If a device fails half-way, part of the image has been written. Reports progress as stage
 * "pixels". */
ABUT_API abut_status abut_raster_draw(abut_raster *raster, const abut_raster_view *view,
                                      const abut_raster_item *items, size_t count,
                                      abut_raster_image *image);

#ifdef __cplusplus
}
#endif

#endif
