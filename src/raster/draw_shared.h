/* How a shape is drawn, for C and OpenCL C alike, and what the host tells raster.cl.
 *
 * A pixel keeps the least of all keys: the depth, then the number of the triangle among those of
 * all items, in their order. The order in which keys come does not matter.
 */
#ifndef ABUTI_RASTER_DRAW_SHARED_H
#define ABUTI_RASTER_DRAW_SHARED_H

#include "raster/raster_shared.h"

#define RASTER_ITEMS 64       /* of a work-group: a block of 8 x 8 pixels */
#define RASTER_SMALL 64       /* pixels: what has more in its box is drawn by work-groups, */
#define RASTER_PARTS 32       /* so many a shape at most, */
#define RASTER_PART_BLOCKS 16 /* and of so many blocks at least */

/* An item where it is drawn. */
typedef struct raster_placed {
    raster_frame frame;
    word32 first;                        /* of its triangles, among those of all items */
    word32 first_vertex, first_triangle; /* of its mesh, on a device */
    word32 unused;
} raster_placed;

/* What is drawn on a device: rows of an image. */
typedef struct raster_job {
    raster_camera camera;
    raster_rect in;
    word32 items, triangles;
    word32 touching; /* each pixel that a triangle touches */
    word32 parts;    /* of a large shape, at most */
    word32 room;     /* for these */
    word32 unused;
} raster_job;

typedef struct raster_large {
    raster_shape shape;
    word32 part, parts;
} raster_large;

/* How keys get to their pixels: at once, or where a device has no atomics of 64 bits, depths before
 * triangles. */
enum { RASTER_KEYS = 0, RASTER_FIRST_DEPTHS = 1, RASTER_THEN_TRIANGLES = 2 };
/* What is counted. */
enum { RASTER_COUNT_LARGE = 0, RASTER_COUNT_NARROW, RASTER_COUNTS };
/* What is wanted of an image. */
enum { RASTER_WANT_DEPTHS = 1, RASTER_WANT_ITEMS = 2, RASTER_WANT_TRIANGLES = 4 };

/* A shape as it is drawn: the pixels it may have, and its sides. */
typedef struct raster_pen {
    raster_rect box;
    raster_side side[3];
} raster_pen;

static inline raster_pen raster_pen_of(const raster_lens *lens, const raster_shape *s,
                                       raster_rect in, int touching) {
    raster_pen pen;
    pen.box = raster_rect_cut(raster_rect_of(lens, s, touching), in);
    for (int k = 0; k < 3; k++)
        pen.side[k] = touching ? raster_wide_side_of(lens, s, k) : raster_side_of(lens, s, k);
    return pen;
}

/* A side in the centre of a pixel, and whether that is inside all three. */
static inline int64 raster_at(const raster_side *side, int x, int y) {
    return side->at + side->dx * x + side->dy * y;
}
static inline int raster_covers(const raster_side side[3], int x, int y) {
    return (raster_at(&side[0], x, y) | raster_at(&side[1], x, y) | raster_at(&side[2], x, y)) >= 0;
}

/* The depth that counts: in the centre, or the least in the square of a pixel that is touched. */
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
