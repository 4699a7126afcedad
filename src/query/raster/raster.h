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
void abuti_raster_size(raster_lens *lens, uint32_t width, uint32_t height, uint32_t bits);

/* The point at a depth and a position in pixels. */
vec3 abuti_raster_point(const raster_camera *camera, double x, double y, double z);

/* ---- cover_lanes.c: many triangles at once ---- */

/* Triangles are small if they are less than so many steps wide and high. */
static inline int raster_near(const raster_lens *lens) {
    return 1 << ((28 + lens->shift) / 2);
}

/* Triangles, and which pixels of a rectangle have their centres in the bounding boxes. On return,
 * small triangles are clockwise. */
enum { RASTER_BOXES = 32 };
typedef struct raster_boxes {
    int x[3][RASTER_BOXES], y[3][RASTER_BOXES]; /* corners, steps */
    int rect[4][RASTER_BOXES];                  /* see raster_rect */
    int wanted[RASTER_BOXES]; /* there are such pixels, and the area is not known to be 0 */
    int near[RASTER_BOXES];   /* it is small, and then: */
    int enters[RASTER_BOXES]; /* it was counter-clockwise */
} raster_boxes;

/* Blocks of 4 x 4 pixels, each with a small clockwise triangle: which pixels it covers, bit 4 y +
 * x. The first pixel is in the bounding box of the triangle. */
enum { RASTER_BLOCKS = 256 };
typedef struct raster_blocks {
    int count;
    int x[3][RASTER_BLOCKS], y[3][RASTER_BLOCKS]; /* corners, steps */
    int x0[RASTER_BLOCKS], y0[RASTER_BLOCKS];     /* first pixel */
    uint32_t mask[RASTER_BLOCKS];                 /* in: candidate pixels; out: covered ones */
    uint32_t covered[RASTER_BLOCKS];              /* number of covered pixels */
} raster_blocks;

typedef struct raster_kernel {
    void (*find_boxes)(const raster_lens *lens, raster_rect within, raster_boxes *boxes);
    void (*cover)(const raster_lens *lens, raster_blocks *blocks);
} raster_kernel;
extern const raster_kernel abuti_raster_kernel_4, abuti_raster_kernel_8, abuti_raster_kernel_16;
/* The fastest one that this processor supports (camera.c). */
const raster_kernel *abuti_raster_kernel(void);

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
    bool lacks_atomics;           /* on a device: it has no 64-bit atomics */
    uint64_t part_pixels;         /* on a device: pixels that are drawn at once */
};

#endif
