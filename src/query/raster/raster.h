/* Private functions of the raster module that other modules use: cameras of views. The rest is in
 * the _shared.h files. */
#ifndef ABUTI_RASTER_H
#define ABUTI_RASTER_H

#include "collider/collider.h"
#include "mesh/mesh.h"
#include "raster/draw_shared.h"

#include <abut/raster.h>

/* Computes the camera of a view, fitted to `region` if the view has none, with `resolution` pixels
 * if the view has no size. */
abut_status abuti_raster_camera(const char *function, const abut_raster_view *view, box3 region,
                                uint32_t resolution, raster_camera *camera);
/* Rejects a camera whose depths do not fit floats. */
abut_status abuti_raster_check_depths(const char *function, const raster_camera *camera);
/* Reads the view of the caller, with defaults. */
abut_status abuti_raster_view_read(const abut_raster_view *theirs, const char *what,
                                   abut_raster_view *ours);

static inline raster_motion raster_motion_of(const abut_pose *at) {
    abuti_motion motion = abuti_motion_of(at);
    return (raster_motion){.rotation = motion.rotation,
                           .translation = motion.translation,
                           .rotates = motion.rotates};
}
/* Sets the size of an image and the precision of its coordinates, at most RASTER_BITS: corners may
 * be up to four times the larger side outside, and the remaining bits are fractions of a pixel. */
ABUTI_API void abuti_raster_size(raster_lens *lens, uint32_t width, uint32_t height, uint32_t bits);

/* The point at a depth and a position in pixels. */
vec3 abuti_raster_point(const raster_camera *camera, double x, double y, double z);

/* ---- the object ---- */

/* A mesh at a pose. */
typedef struct raster_item {
    const abut_mesh *mesh;
    abut_pose pose;
} raster_item;

/* A validated draw call. */
typedef struct raster_drawing {
    raster_camera camera;
    raster_item *items;
    raster_placed
        *placed; /* one per item; the position of its mesh is set by the device back end */
    uint32_t item_count, triangle_count;
} raster_drawing;

typedef struct raster_backend {
    abut_status (*create)(abut_raster *raster);
    void (*destroy)(abut_raster *raster);
    abut_status (*draw)(abut_raster *raster, const raster_drawing *drawing,
                        abut_raster_image *image);
} raster_backend;

extern const raster_backend abuti_raster_on_device;

struct abut_raster {
    abut_context *context; /* reference */
    abut_raster_options options;
    const raster_backend *backend;
    struct raster_device *device; /* null on the CPU */
    uint64_t part_pixels;         /* on a device: pixels that are drawn at once */
};

#endif
