/* Sums over the rays of a view, for C and OpenCL C. All are integers, so the order of additions
 * does not matter.
 *
 * With W = ABUT_RASTER_MAX pixels a side there are fewer than 2^34 rays, and lengths, positions and
 * depths are below 2^32. So sums of products of two need 98 bits and get 128. */
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

/* The sort key of a crossing: depth, solid, kind. At equal depths, exits are sorted by descending
 * solid, other crossings by ascending solid. So if two surfaces coincide, both ends of an overlap
 * count as those of the higher solid, and rays enter and leave it equally often. */
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

/* Sums of a pair in a view. */
typedef struct layers_sum {
    word32 a, b;
    word64 pixels, intervals;
    word64 edges_a, edges_b;    /* edges of a inside b, and of b inside a */
    word64 enters_a, leaves_a;  /* intervals that begin or end at the surface of a */
    word64 last_pixel;          /* not a sum: the pixel that was counted last */
    word64 view;                /* not a sum: index of the view */
    layers_wide length, volume; /* along rays */
    layers_wide x, y, z;        /* weighted by volume */
    word32 longest;
    word32 x0, x1, y0, y1, z0, z1; /* ranges of pixels and depths, ends included */
} layers_sum;

static inline layers_sum layers_empty_sum(word32 a, word32 b) {
    layers_sum s = {0};
    s.a = a;
    s.b = b;
    s.x0 = s.y0 = s.z0 = 0xffffffffu;
    return s;
}

/* Adds an overlap along a ray to lengths, volumes and ranges. */
static inline void layers_add_overlap(layers_sum *s, word32 x, word32 y, word32 from, word32 to,
                                      word32 length, word32 volume) {
    s->intervals++;
    layers_add(&s->length, length);
    layers_add(&s->volume, volume);
    layers_add(&s->x, (word64)volume * x);
    layers_add(&s->y, (word64)volume * y);
    layers_add(&s->z, (word64)volume * (from + (to - from) / 2));
    s->longest = length > s->longest ? length : s->longest;
    s->x0 = x < s->x0 ? x : s->x0;
    s->x1 = x > s->x1 ? x : s->x1;
    s->y0 = y < s->y0 ? y : s->y0;
    s->y1 = y > s->y1 ? y : s->y1;
    s->z0 = from < s->z0 ? from : s->z0;
    s->z1 = to > s->z1 ? to : s->z1;
}

/* A view and its division into tiles. */
typedef struct layers_view {
    raster_camera camera;
    double length_unit; /* of lengths in sums */
    double volume_unit; /* of volumes in sums, per area of a pixel */
    word32 tolerance;   /* in units of length */
    word32 tile;        /* pixels a side */
    word32 columns, rows;
} layers_view;

/* The length of an interval, and its volume per area of a pixel, in integer units. */
static inline void layers_measure(ABUTI_GLOBAL const layers_view *v, word32 x, word32 y,
                                  word32 from, word32 to, word32 *length, word32 *volume) {
    ABUTI_GLOBAL const raster_camera *c = &v->camera;
    if (c->lens.near <= 0.0) {
        *length = *volume = to - from;
        return;
    }
    double a = raster_distance(c, (double)from) + c->lens.near;
    double b = raster_distance(c, (double)to) + c->lens.near;
    double right = ((double)x + 0.5 - c->lens.middle_x) / c->scale;
    double down = ((double)y + 0.5 - c->lens.middle_y) / c->scale;
    double slant = real_sqrt(1.0 + right * right + down * down);
    *length = raster_depth((b - a) * slant / v->length_unit);
    *volume = raster_depth((b * b * b - a * a * a) / 3.0 / v->volume_unit);
}

/* ---- solids that can overlap ---- */

/* The box of a solid in the view: parts of pixels, so that many solids in few pixels have few
 * candidates, and depths in units of a similar size. Pixels of edges may be 2 outside the solid. */
static inline box3 layers_box_in_view(double extent[2][2], const word32 depth[2], int edges) {
    const double depth_unit = 0x1p-22, slack = edges ? 2.0 : 0.0;
    box3 box;
    box.lo = v3(extent[0][0] - slack, extent[1][0] - slack, depth_unit * (double)depth[0]);
    box.hi = v3(extent[0][1] + slack, extent[1][1] + slack, depth_unit * (double)depth[1]);
    return box;
}

/* ---- tiles and windows ---- */

/* The smallest tile size, and the maximum number of tiles of a view, which may enlarge tiles. */
#define LAYERS_TILE 16
#define LAYERS_TILES (1 << 20)

/* The pixels of a tile. */
static inline raster_rect layers_tile(const raster_lens *lens, word32 side, word32 column,
                                      word32 row) {
    raster_rect r, image;
    r.x0 = (int)(column * side);
    r.y0 = (int)(row * side);
    r.x1 = r.x0 + (int)side - 1;
    r.y1 = r.y0 + (int)side - 1;
    image.x0 = image.y0 = 0;
    image.x1 = (int)lens->width - 1;
    image.y1 = (int)lens->height - 1;
    return raster_rect_clip(r, image);
}

/* Extends a window, which may be empty, by a rectangle. */
static inline void layers_extend_window(raster_rect *window, raster_rect r) {
    if (raster_rect_empty(*window))
        *window = r;
    window->x0 = window->x0 < r.x0 ? window->x0 : r.x0;
    window->y0 = window->y0 < r.y0 ? window->y0 : r.y0;
    window->x1 = window->x1 > r.x1 ? window->x1 : r.x1;
    window->y1 = window->y1 > r.y1 ? window->y1 : r.y1;
}

#endif
