/* Sums over the rays of a view, for C and OpenCL C alike: whole numbers all of them, so that their
 * order does not matter.
 *
 * With W = ABUT_RASTER_MOST pixels a side there are fewer than 2^34 rays, and lengths, places and
 * depths are below 2^32; so sums of products of two need 98 bits and get 128. */
#ifndef ABUTI_LAYERS_SHARED_H
#define ABUTI_LAYERS_SHARED_H

#include "raster/raster_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef ulong word64;
#else
typedef uint64_t word64;
#endif

typedef struct layers_wide {
    word64 low, high;
} layers_wide;

static inline void layers_add(layers_wide *sum, word64 more) {
    sum->low += more;
    sum->high += sum->low < more;
}

/* The key of a crossing: depth, solid, kind. Of several at one depth those that leave come by
 * descending solids, the others by ascending ones: so where two surfaces are in one place both ends
 * of an overlap count as those of the higher solid, and what rays enter and leave of it is equal.
 */
static inline word64 layers_key(word32 depth, word32 owner) {
    return (word64)depth << 32 | ((owner & 3) == RASTER_LEAVES ? 0xfffffffcu - owner : owner);
}
static inline word32 layers_depth(word64 key) {
    return (word32)(key >> 32);
}
static inline word32 layers_kind(word64 key) {
    return (word32)key & 3;
}
static inline word32 layers_solid_of(word64 key) {
    word32 low = (word32)key;
    return ((low & 3) == RASTER_LEAVES ? 0xfffffffcu - low : low) >> 2;
}

/* Of a pair in a view. */
typedef struct layers_sum {
    word32 a, b;
    word64 pixels, intervals;
    word64 edges_a, edges_b;    /* of a inside b, and of b inside a */
    word64 enters_a, leaves_a;  /* intervals that begin or end with the surface of a */
    word64 last_pixel;          /* not a sum: which was counted last */
    word64 view;                /* not a sum either */
    layers_wide length, volume; /* along rays */
    layers_wide x, y, z;        /* times volume */
    word32 longest;
    word32 x0, x1, y0, y1, z0, z1; /* pixels and depths, ends included */
} layers_sum;

/* A view, and how it is cut into tiles. */
typedef struct layers_view {
    raster_camera camera;
    double length_unit; /* of lengths in sums */
    double volume_unit; /* of volumes in sums, over the area of a pixel */
    word32 tolerance;   /* units of length */
    word32 tile;        /* pixels a side */
    word32 columns, rows;
} layers_view;

/* The length of an interval and its volume over the area of a pixel, as whole numbers of units. */
static inline void layers_measure(ABUTI_GLOBAL const layers_view *v, word32 x, word32 y,
                                  word32 from, word32 to, word32 *length, word32 *volume) {
    ABUTI_GLOBAL const raster_camera *c = &v->camera;
    if (c->lens.near <= 0.0) {
        *length = *volume = to - from;
        return;
    }
    double a = raster_way(c, (double)from) + c->lens.near;
    double b = raster_way(c, (double)to) + c->lens.near;
    double right = ((double)x + 0.5 - c->lens.middle_x) / c->scale;
    double down = ((double)y + 0.5 - c->lens.middle_y) / c->scale;
    double slant = real_sqrt(1.0 + right * right + down * down);
    *length = raster_depth((b - a) * slant / v->length_unit);
    *volume = raster_depth((b * b * b - a * a * a) / 3.0 / v->volume_unit);
}

/* The tile size that gives a view no more than LAYERS_TILES tiles. */
#define LAYERS_TILE 16
#define LAYERS_TILES (1 << 20)

#endif
