/* Rasterisation of shapes, compiled as C and as OpenCL C, and the data that host and raster.cl
 * share.
 *
 * A pixel keeps the minimum of all keys: the depth, then the index of the triangle among those of
 * all items. The order in which keys are written does not matter.
 */
#ifndef ABUTI_RASTER_DRAW_SHARED_H
#define ABUTI_RASTER_DRAW_SHARED_H

#include "raster/raster_shared.h"

#define RASTER_ITEMS 64 /* work-items per group: a block of 8 x 8 pixels */
#define RASTER_SMALL 64 /* pixels: shapes with a larger bounding box are drawn by work-groups, */
#define RASTER_PARTS 32 /* at most so many per shape, */
#define RASTER_PART_BLOCKS 16 /* each with at least so many blocks */

/* An item with its transformation to the image. */
typedef struct raster_placed {
    raster_frame frame;
    word32 first;                        /* first triangle among those of all items */
    word32 first_vertex, first_triangle; /* of its mesh on the device */
    word32 unused;
} raster_placed;

/* A range of rows of an image that is drawn on a device. */
typedef struct raster_job {
    raster_camera camera;
    raster_rect in;
    word32 items, triangles;
    word32 touching; /* conservative: every pixel that a triangle touches */
    word32 parts;    /* maximum per large shape */
    word32 room;     /* capacity of their list */
    word32 unused;
} raster_job;

typedef struct raster_large {
    raster_shape shape;
    word32 part, parts;
} raster_large;

/* What is written: first all depths, then the triangles at these depths. */
enum { RASTER_PASS_DEPTHS = 0, RASTER_PASS_TRIANGLES = 1 };
/* Requested images. */
enum { RASTER_WANT_DEPTHS = 1, RASTER_WANT_ITEMS = 2, RASTER_WANT_TRIANGLES = 4 };

/* A shape prepared for rasterisation: bounding box in pixels, and edge functions. */
typedef struct raster_setup {
    raster_rect box;
    raster_side side[3];
} raster_setup;

static inline raster_setup raster_setup_of(const raster_lens *lens, const raster_shape *s,
                                           raster_rect in, int touching) {
    raster_setup pen;
    pen.box = raster_rect_clip(raster_rect_of(lens, s, touching), in);
    for (int k = 0; k < 3; k++)
        pen.side[k] = touching ? raster_wide_side_of(lens, s, k) : raster_side_of(lens, s, k);
    return pen;
}

/* The edge function in the centre of a pixel, and whether the centre is inside all three. */
static inline int64 raster_at(const raster_side *side, int x, int y) {
    return side->at + side->dx * x + side->dy * y;
}
static inline int raster_covers(const raster_side side[3], int x, int y) {
    return (raster_at(&side[0], x, y) | raster_at(&side[1], x, y) | raster_at(&side[2], x, y)) >= 0;
}

/* The depth of a pixel: in its centre, or the minimum in its square for conservative
 * rasterisation. */
static inline word32 raster_draw_depth(const raster_shape *s, int x, int y, int touching) {
    word32 lo, hi;
    if (!touching)
        return raster_depth_at(s, x, y);
    raster_depth_range(s, x, y, &lo, &hi);
    return lo;
}

/* The item of a triangle. */
static inline word32 raster_item_of(ABUTI_GLOBAL const raster_placed *items, word32 count,
                                    word32 triangle) {
    word32 lo = 0, hi = count;
    while (hi - lo > 1) {
        word32 middle = lo + (hi - lo) / 2;
        if (items[middle].first <= triangle)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

#endif
