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
    double length_unit;  /* of lengths in sums */
    double volume_unit;  /* of volumes in sums, per area of a pixel */
    double depth_pixels; /* pixels per step of depth, for parallel rays */
    double slack;        /* in pixels: how far rasterised pixels may be outside the solid */
    word32 tolerance;    /* in units of length */
    word32 tile;         /* pixels a side */
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

/* ---- pixels where two solids can overlap ----
 *
 * These are within the rectangles and depth ranges of both, and within their bounding balls. The
 * intersection of two balls is contained in the ball around the circle in which they intersect, or
 * in the smaller of them. A point of a ball with given offsets from the centre along two axes has a
 * bounded offset along the third. So for two balls that barely touch only a few rays remain. */

/* A ball in an image with parallel rays, in pixels, also along the rays. radius < 0: the image has
 * no parallel rays. */
typedef struct layers_ball {
    double x, y, z, radius;
} layers_ball;

static inline layers_ball layers_ball_of(const layers_view *v, const raster_motion *motion,
                                         vec3 centre, double radius) {
    const raster_camera *c = &v->camera;
    vec3 at = v3_sub(raster_move(motion, centre), c->origin);
    layers_ball ball;
    ball.x = v3_dot(c->axes.row[0], at) * c->scale + c->lens.middle_x;
    ball.y = v3_dot(c->axes.row[1], at) * c->scale + c->lens.middle_y;
    ball.z = (v3_dot(c->axes.row[2], at) + c->begin) * c->scale;
    ball.radius = radius * c->scale + v->slack;
    ball.radius += 1e-12 * (fabs(ball.x) + fabs(ball.y) + fabs(ball.z) + ball.radius);
    if (c->lens.near > 0.0)
        ball.radius = -1.0;
    return ball;
}

/* Fixes the order of two balls, so that the bits do not depend on the order of arguments. */
static inline int layers_comes_first(const layers_ball *a, const layers_ball *b) {
    return a->radius != b->radius ? a->radius < b->radius
           : a->x != b->x         ? a->x < b->x
           : a->y != b->y         ? a->y < b->y
                                  : a->z < b->z;
}

/* The centre of a ball around the intersection of two balls, and its squared radius as the result.
 * Negative: the intersection is empty. */
static inline double layers_intersect_balls(const layers_ball *one, const layers_ball *other,
                                            vec3 *middle) {
    const int swap = layers_comes_first(other, one);
    const layers_ball a = swap ? *other : *one, b = swap ? *one : *other; /* a is not larger */
    double dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z, sum = a.radius + b.radius;
    double apart = dx * dx + dy * dy + dz * dz, square = a.radius * a.radius;
    /* The circle is at this fraction of the way from a to b. If it is behind the centre of a, a
     * itself is the result. */
    double part = 0.5 * (apart + square - b.radius * b.radius) / apart;
    *middle = v3(a.x, a.y, a.z);
    if (apart > sum * sum)
        return -1.0;
    if (!(part > 0.0)) /* also for equal centres */
        return square;
    *middle = v3_along(*middle, part, v3(dx, dy, dz));
    return real_max(square - part * part * apart, 0.0) + 1e-12 * sum * sum;
}

static inline double layers_beside(double x, double lo, double hi) {
    return x < lo ? lo - x : x > hi ? x - hi : 0.0;
}

/* The pixels of a rectangle whose centres are where two solids may overlap between two depths. */
static inline raster_rect layers_common_pixels(const layers_view *v, const layers_ball *a,
                                               const layers_ball *b, word32 near, word32 far,
                                               raster_rect r) {
    if (a->radius < 0.0 || raster_rect_empty(r))
        return r;
    vec3 m;
    double square = layers_intersect_balls(a, b, &m);
    if (!(square + fabs(m.x) + fabs(m.y) + fabs(m.z) < 1e30)) /* too far out for the arithmetic */
        return r;
    double x = layers_beside(m.x, (double)r.x0, (double)r.x1 + 1.0);
    double y = layers_beside(m.y, (double)r.y0, (double)r.y1 + 1.0);
    double z = layers_beside(m.z, (double)near * v->depth_pixels, (double)far * v->depth_pixels);
    double left = square - z * z;
    if (left < x * x + y * y) {
        r.x1 = r.x0 - 1;
        return r;
    }
    const double wide_x = real_sqrt(left - y * y), wide_y = real_sqrt(left - x * x);
    raster_rect in;
    in.x0 = raster_pixel(m.x - wide_x + 0.5);
    in.y0 = raster_pixel(m.y - wide_y + 0.5);
    in.x1 = raster_pixel(m.x + wide_x - 0.5);
    in.y1 = raster_pixel(m.y + wide_y - 0.5);
    return raster_rect_clip(r, in);
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
