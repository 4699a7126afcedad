/* What the floors above use of raster: views made ready; the rest is in the _shared.h files. */
#ifndef ABUTI_RASTER_H
#define ABUTI_RASTER_H

#include "mesh/mesh.h"
#include "raster/draw_shared.h"

#include <abut/raster.h>

/* Makes a view ready, fitted to `region` where its own is empty; `resolution` pixels where it has
 * none. */
abut_status abuti_raster_camera(const char *function, const abut_raster_view *view, box3 region,
                                uint32_t resolution, raster_camera *camera);
/* Refuses a camera whose depths do not fit floats. */
abut_status abuti_raster_check_depths(const char *function, const raster_camera *camera);
/* A view as it is for people who ask for nothing: their own or defaults. */
abut_status abuti_raster_view_read(const abut_raster_view *theirs, const char *what,
                                   abut_raster_view *ours);

static inline raster_motion raster_motion_of(const abut_pose *at) {
    abuti_motion motion = abuti_motion_of(at);
    return (raster_motion){.rotation = motion.rotation,
                           .translation = motion.translation,
                           .rotates = motion.rotates};
}
/* Gives an image its size, and its coordinates so many bits, RASTER_BITS at most: corners may be up
 * to four times the larger side out, and the rest of the bits are steps. */
void abuti_raster_size(raster_lens *lens, uint32_t width, uint32_t height, uint32_t bits);

/* The point at a depth of a place of the image, in pixels. */
vec3 abuti_raster_point(const raster_camera *camera, double x, double y, double z);

/* ---- cover_lanes.c: many triangles at once ---- */

/* Triangles are near if they are less than so many steps wide and high. */
static inline int raster_near(const raster_lens *lens) {
    return 1 << ((28 + lens->shift) / 2);
}

/* Triangles, and which pixels of a rectangle have their centres in their boxes. Afterwards those
 * that are near run clockwise. */
enum { RASTER_BOXES = 32 };
typedef struct raster_boxes {
    int x[3][RASTER_BOXES], y[3][RASTER_BOXES]; /* corners, steps */
    int rect[4][RASTER_BOXES];                  /* as raster_rect */
    int wanted[RASTER_BOXES]; /* there are such pixels, and it has an area or may have one */
    int near[RASTER_BOXES];   /* it is near, and then: */
    int enters[RASTER_BOXES]; /* it ran anticlockwise */
} raster_boxes;

/* Blocks of 4 x 4 pixels, each with a triangle that is near and runs clockwise: which of the pixels
 * it covers, bit 4 y + x. The first pixel is in the box of the triangle. */
enum { RASTER_BLOCKS = 256 };
typedef struct raster_blocks {
    int count;
    int x[3][RASTER_BLOCKS], y[3][RASTER_BLOCKS]; /* corners, steps */
    int x0[RASTER_BLOCKS], y0[RASTER_BLOCKS];     /* the first pixel */
    uint32_t mask[RASTER_BLOCKS];                 /* pixels that are asked for, and then covered */
    uint32_t covered[RASTER_BLOCKS];              /* how many */
} raster_blocks;

typedef struct raster_kernel {
    void (*find_boxes)(const raster_lens *lens, raster_rect within, raster_boxes *boxes);
    void (*cover)(const raster_lens *lens, raster_blocks *blocks);
} raster_kernel;
extern const raster_kernel abuti_raster_kernel_4, abuti_raster_kernel_8, abuti_raster_kernel_16;
/* The quickest that runs here. (camera.c) */
const raster_kernel *abuti_raster_kernel(void);

/* ---- the object ---- */

/* What is to be drawn, after all checks. */
typedef struct raster_drawing {
    raster_camera camera;
    const abut_raster_item *items;
    raster_placed *placed; /* one an item, but for where its mesh is on a device */
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
    abut_context *context; /* held */
    abut_raster_options options;
    const raster_backend *backend;
    struct raster_device *device; /* null on the CPU */
    bool narrow;                  /* there: it has no atomics of 64 bits */
    uint64_t part_pixels;         /* there: of an image that is drawn at once */
};

#endif
