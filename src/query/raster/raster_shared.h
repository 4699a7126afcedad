/* From triangles to fragments, compiled as C and as OpenCL C. On a device ABUTI_REAL_BITS is 64.
 *
 * Image coordinates are x to the right and y down in pixels, and a depth z in steps, of which a
 * view has 2^32. Vertices are rounded to steps of 2^-shift of a pixel, with as many bits as
 * possible: 17 for 1,024 pixels. From there on, coverage uses integers: 64-bit edge functions
 * (Pineda 1988), which are exact. A centre on an edge belongs to the triangle of which this is a
 * top or left edge. This is the limit of centres that are shifted by an infinitesimal distance up
 * and to the left, so that every sheet is covered exactly once.
 *
 * Depths are those of the plane through the corners before rounding, clamped to the range of the
 * corners. Coplanar triangles have equal depths up to rounding of doubles, wherever their corners
 * are.
 *
 * Conservative rasterisation. A point of the triangle is a weighted mean of its corners, so that
 * rounding moves it by at most half a step, and the projection in doubles by much less. So the
 * triangle touches a pixel only if the rounded triangle touches its square extended by RASTER_SLACK
 * = 1 step. There its depth is within that of the plane in the centre -+ (|zx| + |zy|) times half
 * the extended square, and within the range of the corners.
 */
#ifndef ABUTI_RASTER_SHARED_H
#define ABUTI_RASTER_SHARED_H

#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef long int64;
#else
typedef int64_t int64;
#endif

#define RASTER_SLACK 1 /* steps */
#define RASTER_BITS \
    29 /* of coordinates in steps, without sign: sums of products of two fit 64 bits */
#define RASTER_DEPTHS 4294967295.0

/* The map from positions of a mesh to the image. Orthographic: the rows are x, y, z. Perspective:
 * the third row is the distance w, by which x and y have to be divided. */
typedef struct raster_frame {
    double row[3][4];
} raster_frame;

/* The image. */
typedef struct raster_lens {
    double middle_x, middle_y; /* pixels */
    double depth;              /* steps per unit of z, or of 1 / w */
    double near;               /* 0 = orthographic */
    double guard;              /* pixels: bound of the coordinates of corners */
    word32 width, height;
    word32 shift; /* a pixel has 2^shift steps */
    word32 unused;
} raster_lens;

typedef struct raster_point {
    double x, y, z;
} raster_point;

/* A triangle or an edge, prepared for rasterisation. */
typedef struct raster_shape {
    int x[3], y[3];   /* steps. A triangle is clockwise on the image; an edge has two points */
    double z, zx, zy; /* depth at pixel x, y: z + zx x + zy y, clamped to: */
    word32 z_lo, z_hi;
    word32 owner; /* the item, with the kind in the lowest two bits */
    word32 part;  /* triangle; for an edge 4 x triangle + edge */
} raster_shape;

/* Kinds of shapes and of their fragments. */
enum {
    RASTER_LEAVES = 0, /* rays leave the solid */
    RASTER_ENTERS = 1,
    RASTER_EDGE = 2,
    RASTER_THIN = 3 /* no area on the image: touches pixels, but covers none */
};

/* The camera of a view. */
typedef struct raster_camera {
    raster_lens lens;
    mat3 axes;    /* right, down, forward: a right-handed frame */
    vec3 origin;  /* centre of the region, or the eye */
    double scale; /* pixels per unit; perspective: at distance 1 */
    double begin; /* orthographic: depth 0 is so far before the origin */
} raster_camera;

/* A pose for many points, see abuti_motion. */
typedef struct raster_motion {
    mat3 rotation;
    vec3 translation;
    word32 rotates, unused;
} raster_motion;

static inline raster_point raster_apply(const raster_frame *f, vec3 p) {
    raster_point q;
    q.x = f->row[0][0] * p.x + f->row[0][1] * p.y + f->row[0][2] * p.z + f->row[0][3];
    q.y = f->row[1][0] * p.x + f->row[1][1] * p.y + f->row[1][2] * p.z + f->row[1][3];
    q.z = f->row[2][0] * p.x + f->row[2][1] * p.y + f->row[2][2] * p.z + f->row[2][3];
    return q;
}

/* Projection to the image; perspective: only for w >= near. */
static inline raster_point raster_project(const raster_lens *lens, raster_point p) {
    if (lens->near > 0.0) {
        double w = p.z;
        p.x /= w;
        p.y /= w;
        p.z = (1.0 / lens->near - 1.0 / w) * lens->depth;
    }
    p.x += lens->middle_x;
    p.y += lens->middle_y;
    return p;
}

static inline int raster_is_inside(const raster_lens *lens, raster_point p) {
    return p.x >= -lens->guard && p.x <= lens->guard && p.y >= -lens->guard && p.y <= lens->guard;
}

/* Rounds to steps, half up. The offset makes the number positive, so that truncation, which is one
 * instruction on every processor, rounds correctly. */
static inline int raster_round(const raster_lens *lens, double x) {
    return (int)((int64)(x * (double)(1 << lens->shift) + (1073741824.0 + 0.5)) - 1073741824);
}

/* A vertex in the image. */
typedef struct raster_corner {
    raster_point at;    /* raster_apply() */
    raster_point image; /* raster_project(), and rounded to steps; not set unless it is inside */
    int x, y;
    int inside; /* in front of the near plane, and within the guard */
} raster_corner;

static inline raster_corner raster_corner_of(const raster_lens *lens, const raster_frame *frame,
                                             vec3 p) {
    raster_corner c;
    c.at = c.image = raster_apply(frame, p);
    c.x = c.y = 0;
    c.inside = lens->near <= 0.0 || c.at.z >= lens->near;
    if (c.inside) {
        c.image = raster_project(lens, c.at);
        c.inside = raster_is_inside(lens, c.image);
    }
    if (c.inside) {
        c.x = raster_round(lens, c.image.x);
        c.y = raster_round(lens, c.image.y);
    }
    return c;
}

static inline word32 raster_depth(double z) {
    return z <= 0.0 ? 0u : z >= RASTER_DEPTHS ? 0xffffffffu : (word32)z;
}

static inline int64 raster_floor(int64 a, int64 b) { /* b > 0 */
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* The plane of three points, as depths in the centres of pixels. If it is undefined or too steep,
 * it is constant; its depths are clamped to those of the corners anyway. */
static inline void raster_plane(raster_point a, raster_point b, raster_point c, raster_shape *to) {
    double ux = b.x - a.x, uy = b.y - a.y, uz = b.z - a.z;
    double vx = c.x - a.x, vy = c.y - a.y, vz = c.z - a.z;
    double area = ux * vy - vx * uy;
    double zx = (uz * vy - vz * uy) / area, zy = (vz * ux - uz * vx) / area;
    if (!(fabs(zx) < 1e18 && fabs(zy) < 1e18)) {
        zx = zy = 0.0;
    }
    to->zx = zx;
    to->zy = zy;
    to->z = a.z + zx * (0.5 - a.x) + zy * (0.5 - a.y);
}

/* Sets the corners of a triangle, in steps; RASTER_THIN if it has no area on the image. */
static inline void raster_corners_of(int ax, int ay, int bx, int by, int cx, int cy, word32 item,
                                     word32 triangle, raster_shape *to) {
    int64 area = (int64)(bx - ax) * (int64)(cy - ay) - (int64)(cx - ax) * (int64)(by - ay);
    to->x[0] = ax;
    to->y[0] = ay;
    to->x[1] = area < 0 ? cx : bx;
    to->y[1] = area < 0 ? cy : by;
    to->x[2] = area < 0 ? bx : cx;
    to->y[2] = area < 0 ? by : cy;
    to->owner = item << 2 | (area > 0   ? (word32)RASTER_LEAVES
                             : area < 0 ? (word32)RASTER_ENTERS
                                        : (word32)RASTER_THIN);
    to->part = triangle;
}

static inline void raster_corners(const raster_lens *lens, raster_point a, raster_point b,
                                  raster_point c, word32 item, word32 triangle, raster_shape *to) {
    raster_corners_of(raster_round(lens, a.x), raster_round(lens, a.y), raster_round(lens, b.x),
                      raster_round(lens, b.y), raster_round(lens, c.x), raster_round(lens, c.y),
                      item, triangle, to);
}

/* Sets the depths of a triangle. */
static inline void raster_depths(raster_point a, raster_point b, raster_point c, raster_shape *to) {
    raster_plane(a, b, c, to);
    double lo = a.z < b.z ? a.z : b.z, hi = a.z < b.z ? b.z : a.z;
    to->z_lo = raster_depth(lo < c.z ? lo : c.z);
    to->z_hi = raster_depth(hi > c.z ? hi : c.z);
}

/* Prepares an edge: its depth is linear along the longer axis. */
static inline void raster_edge(const raster_lens *lens, raster_point a, raster_point b, word32 item,
                               word32 part, raster_shape *to) {
    to->x[0] = raster_round(lens, a.x);
    to->y[0] = raster_round(lens, a.y);
    to->x[1] = to->x[2] = raster_round(lens, b.x);
    to->y[1] = to->y[2] = raster_round(lens, b.y);
    int wide = to->x[1] - to->x[0], high = to->y[1] - to->y[0];
    wide = wide < 0 ? -wide : wide;
    high = high < 0 ? -high : high;
    double zx = wide >= high ? (b.z - a.z) / (b.x - a.x) : 0.0;
    double zy = wide >= high ? 0.0 : (b.z - a.z) / (b.y - a.y);
    if (!(fabs(zx) < 1e18 && fabs(zy) < 1e18)) {
        zx = zy = 0.0;
    }
    to->zx = zx;
    to->zy = zy;
    to->z = a.z + zx * (0.5 - a.x) + zy * (0.5 - a.y);
    to->z_lo = raster_depth(a.z < b.z ? a.z : b.z);
    to->z_hi = raster_depth(a.z < b.z ? b.z : a.z);
    to->owner = item << 2 | RASTER_EDGE;
    to->part = part;
}

static inline word32 raster_depth_at(const raster_shape *s, int x, int y) {
    word32 z = raster_depth(s->z + s->zx * (double)x + s->zy * (double)y);
    return z < s->z_lo ? s->z_lo : z > s->z_hi ? s->z_hi : z;
}

/* The range of depths of a triangle in the extended square of a pixel. */
static inline void raster_depth_range(const raster_shape *s, int x, int y, word32 *lo, word32 *hi) {
    const double square = 0.5 + 2.0 * RASTER_SLACK / 256.0; /* steps are at most 1/256 pixel */
    double middle = s->z + s->zx * (double)x + s->zy * (double)y;
    double size = fabs(s->z) + fabs(s->zx * (double)x) + fabs(s->zy * (double)y);
    double reach = (fabs(s->zx) + fabs(s->zy)) * square + 2.0 + 1e-12 * size;
    word32 below = raster_depth(middle - reach), above = raster_depth(middle + reach);
    /* One step for the rounding of the depths of corners. A constant plane may replace an undefined
     * one. */
    word32 z_lo = s->z_lo ? s->z_lo - 1 : 0, z_hi = s->z_hi + (s->z_hi != 0xffffffffu);
    int level = s->zx == 0.0 && s->zy == 0.0;
    *lo = level || below < z_lo ? z_lo : below;
    *hi = level || above > z_hi ? z_hi : above;
    if (*lo > *hi) { /* use the range of the corners */
        *lo = z_lo;
        *hi = z_hi;
    }
}

/* An edge function: inside if at >= 0, at the centre of pixel 0, 0; and its changes per pixel. */
typedef struct raster_side {
    int64 at, dx, dy;
} raster_side;

static inline raster_side raster_side_of(const raster_lens *lens, const raster_shape *s, int k) {
    int from = k, to = k == 2 ? 0 : k + 1;
    int64 wide = (int64)s->x[to] - s->x[from], high = (int64)s->y[to] - s->y[from];
    int64 step = (int64)1 << lens->shift, middle = step / 2;
    raster_side side;
    side.at = wide * (middle - (int64)s->y[from]) - high * (middle - (int64)s->x[from]);
    /* Points on top and left edges are inside. */
    if (!(high < 0 || (high == 0 && wide > 0)))
        side.at -= 1;
    side.dx = -high * step;
    side.dy = wide * step;
    return side;
}

/* The same, inside if any point of the extended square of a pixel is. */
static inline raster_side raster_wide_side_of(const raster_lens *lens, const raster_shape *s,
                                              int k) {
    int from = k, to = k == 2 ? 0 : k + 1;
    int64 wide = (int64)s->x[to] - s->x[from], high = (int64)s->y[to] - s->y[from];
    int64 step = (int64)1 << lens->shift, middle = step / 2;
    raster_side side;
    side.at = wide * (middle - (int64)s->y[from]) - high * (middle - (int64)s->x[from]);
    side.at += ((wide < 0 ? -wide : wide) + (high < 0 ? -high : high)) * (middle + RASTER_SLACK);
    side.dx = -high * step;
    side.dy = wide * step;
    return side;
}

/* Pixels, both ends included; empty if lo > hi. */
typedef struct raster_rect {
    int x0, y0, x1, y1;
} raster_rect;

/* The pixels whose centres are in the bounding box of a shape; with `wide`, those whose extended
 * squares touch it. */
static inline raster_rect raster_rect_of(const raster_lens *lens, const raster_shape *s, int wide) {
    const int shift = (int)lens->shift, middle = 1 << (shift - 1);
    const int below = wide ? RASTER_SLACK : 1 - middle, above = wide ? RASTER_SLACK : -middle;
    int x_lo = s->x[0] < s->x[1] ? s->x[0] : s->x[1], x_hi = s->x[0] < s->x[1] ? s->x[1] : s->x[0];
    int y_lo = s->y[0] < s->y[1] ? s->y[0] : s->y[1], y_hi = s->y[0] < s->y[1] ? s->y[1] : s->y[0];
    raster_rect r;
    x_lo = s->x[2] < x_lo ? s->x[2] : x_lo;
    x_hi = s->x[2] > x_hi ? s->x[2] : x_hi;
    y_lo = s->y[2] < y_lo ? s->y[2] : y_lo;
    y_hi = s->y[2] > y_hi ? s->y[2] : y_hi;
    /* Right shifts of negative numbers round down on all supported compilers. */
    r.x0 = (x_lo - below) >> shift;
    r.y0 = (y_lo - below) >> shift;
    r.x1 = (x_hi + above) >> shift;
    r.y1 = (y_hi + above) >> shift;
    return r;
}

static inline raster_rect raster_rect_clip(raster_rect a, raster_rect b) {
    a.x0 = a.x0 > b.x0 ? a.x0 : b.x0;
    a.y0 = a.y0 > b.y0 ? a.y0 : b.y0;
    a.x1 = a.x1 < b.x1 ? a.x1 : b.x1;
    a.y1 = a.y1 < b.y1 ? a.y1 : b.y1;
    return a;
}
static inline int raster_rect_empty(raster_rect r) {
    return r.x0 > r.x1 || r.y0 > r.y1;
}

/* Pixels of an edge, one for each centre that it passes along its longer axis; at least one. Step i
 * counts from `first`; the other coordinate is an exact quotient. */
typedef struct raster_line {
    int wide;        /* along x; otherwise along y */
    int first, last; /* pixels along that axis */
    int shift;
    int64 from, across_from, along, across; /* steps */
} raster_line;

static inline raster_line raster_line_of(const raster_lens *lens, const raster_shape *s) {
    const int middle = 1 << (lens->shift - 1);
    raster_line l;
    l.shift = (int)lens->shift;
    int dx = s->x[1] - s->x[0], dy = s->y[1] - s->y[0];
    l.wide = (dx < 0 ? -dx : dx) >= (dy < 0 ? -dy : dy);
    int a = l.wide ? s->x[0] : s->y[0], b = l.wide ? s->x[1] : s->y[1];
    int p = l.wide ? s->y[0] : s->x[0], q = l.wide ? s->y[1] : s->x[1];
    if (b < a) {
        int t = a;
        a = b;
        b = t;
        t = p;
        p = q;
        q = t;
    }
    l.from = a;
    l.across_from = p;
    l.along = (int64)b - a;
    l.across = (int64)q - p;
    l.first = (a + middle - 1) >> l.shift;
    l.last = (b - middle) >> l.shift;
    if (l.first > l.last) /* shorter than a pixel: the pixel of its midpoint */
        l.first = l.last = (int)(((int64)a + b) >> (l.shift + 1));
    return l;
}

static inline void raster_line_at(const raster_line *l, int i, int *x, int *y) {
    int64 step = (int64)1 << l->shift, at = (int64)i * step + step / 2 - l->from;
    at = at < 0 ? 0 : at > l->along ? l->along : at;
    int64 other = l->across_from + (l->along > 0 ? raster_floor(at * l->across, l->along) : 0);
    int j = (int)(other >> l->shift);
    *x = l->wide ? i : j;
    *y = l->wide ? j : i;
}

/* ---- transformations ---- */

static inline vec3 raster_move(const raster_motion *m, vec3 p) {
    return v3_add(m->rotates ? m3_apply(&m->rotation, p) : p, m->translation);
}

/* The map from positions relative to an origin (see abut_mesh_local_origin()), after a motion, to
 * the image. */
static inline raster_frame raster_frame_of(const raster_camera *c, const raster_motion *motion,
                                           vec3 origin) {
    mat3 turn = m3_multiply(&c->axes, &motion->rotation);
    vec3 from = v3_sub(raster_move(motion, origin), c->origin);
    int parallel = c->lens.near <= 0.0;
    raster_frame frame;
    for (int k = 0; k < 3; k++) {
        double scale = k < 2 ? c->scale : parallel ? c->lens.depth : 1.0;
        double shift = v3_dot(c->axes.row[k], from);
        if (k == 2 && parallel)
            shift += c->begin;
        frame.row[k][0] = turn.row[k].x * scale;
        frame.row[k][1] = turn.row[k].y * scale;
        frame.row[k][2] = turn.row[k].z * scale;
        frame.row[k][3] = shift * scale;
    }
    return frame;
}

/* The distance of a depth from the beginning of rays along the direction. */
static inline double raster_distance(ABUTI_GLOBAL const raster_camera *c, double z) {
    const double near = c->lens.near, depth = c->lens.depth;
    return near > 0.0 ? 1.0 / (1.0 / near - z / depth) - near : z / depth;
}

static inline int raster_pixel(double x) { /* clamped to the range of int */
    return x < -1e9 ? -1000000000 : x > 1e9 ? 1000000000 : (int)floor(x);
}

/* Bounds of the pixels and depths that a posed bounding box and its bounding sphere may cover.
 * Returns an empty rectangle if they are outside the image. */
static inline raster_rect raster_bounds(const raster_camera *c, const raster_motion *motion,
                                        box3 box, vec3 centre, double radius, word32 *depths) {
    const raster_lens *l = &c->lens;
    raster_rect image, none, r;
    image.x0 = image.y0 = none.x0 = none.y0 = 0;
    none.x1 = none.y1 = -1;
    image.x1 = (int)l->width - 1;
    image.y1 = (int)l->height - 1;
    mat3 turn = m3_multiply(&c->axes, &motion->rotation);
    vec3 sides = v3_scale(v3_sub(box.hi, box.lo), 0.5);
    vec3 at_box = v3_sub(raster_move(motion, box_centre(box)), c->origin);
    vec3 at_ball = v3_sub(raster_move(motion, centre), c->origin);
    double lo[3], hi[3]; /* along the axes, units */
    double slack = 1e-12 * (v3_max_abs(at_box) + v3_max_abs(sides) + radius);
    for (int k = 0; k < 3; k++) {
        double middle = v3_dot(c->axes.row[k], at_box), reach = v3_dot(v3_abs(turn.row[k]), sides);
        double ball = v3_dot(c->axes.row[k], at_ball);
        lo[k] = real_max(middle - reach, ball - radius) - slack;
        hi[k] = real_min(middle + reach, ball + radius) + slack;
    }
    double z_lo, z_hi;
    if (l->near > 0.0) {
        if (hi[2] < l->near)
            return none;
        double first = real_max(lo[2], l->near);
        z_lo = (1.0 / l->near - 1.0 / first) * l->depth;
        z_hi = (1.0 / l->near - 1.0 / hi[2]) * l->depth;
        for (int k = 0; k < 2; k++) { /* the extreme quotients */
            lo[k] = lo[k] < 0.0 ? lo[k] / first : lo[k] / hi[2];
            hi[k] = hi[k] > 0.0 ? hi[k] / first : hi[k] / hi[2];
        }
    } else {
        z_lo = (lo[2] + c->begin) * l->depth;
        z_hi = (hi[2] + c->begin) * l->depth;
    }
    depths[0] = raster_depth(z_lo - 4.0);
    depths[1] = raster_depth(z_hi + 4.0);
    if (z_hi < -4.0 || z_lo > RASTER_DEPTHS + 4.0)
        return none;
    const double more = 2.0 * RASTER_SLACK / (double)(1 << l->shift);
    r.x0 = raster_pixel(lo[0] * c->scale + l->middle_x - more);
    r.y0 = raster_pixel(lo[1] * c->scale + l->middle_y - more);
    r.x1 = raster_pixel(hi[0] * c->scale + l->middle_x + more);
    r.y1 = raster_pixel(hi[1] * c->scale + l->middle_y + more);
    return raster_rect_clip(r, image);
}

/* ---- clipping: corners in front of the near plane, or beyond the guard ---- */

#define RASTER_CORNERS 8 /* of a triangle clipped by five planes */

/* Distance of a point from a clipping plane before the division, positive inside: w >= near, or
 * within the guard. For orthographic rays, w is 1. */
static inline double raster_plane_distance(const raster_lens *lens, int plane, raster_point p) {
    double w = lens->near > 0.0 ? p.z : 1.0, guard = 0.5 * lens->guard;
    return plane == 0   ? p.z - lens->near
           : plane == 1 ? p.x + guard * w
           : plane == 2 ? guard * w - p.x
           : plane == 3 ? p.y + guard * w
                        : guard * w - p.y;
}

/* Intersection of an edge with a plane, computed from the end with the lower coordinates, so that
 * neighbours get the same point. */
static inline raster_point raster_crossing(raster_point a, double at_a, raster_point b,
                                           double at_b) {
    int swap = b.x < a.x || (b.x == a.x && (b.y < a.y || (b.y == a.y && b.z < a.z)));
    raster_point p = swap ? b : a, q = swap ? a : b;
    double at_p = swap ? at_b : at_a, at_q = swap ? at_a : at_b;
    double t = at_p / (at_p - at_q);
    p.x += t * (q.x - p.x);
    p.y += t * (q.y - p.y);
    p.z += t * (q.z - p.z);
    return p;
}

/* Clips a polygon of `count` corners and returns the remaining number. Both arrays have
 * RASTER_CORNERS elements; the result is in `corners`. */
static inline int raster_clip(const raster_lens *lens, raster_point *corners, int count,
                              raster_point *spare) {
    for (int plane = lens->near > 0.0 ? 0 : 1; plane < 5; plane++) {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            raster_point a = corners[i], b = corners[i + 1 < count ? i + 1 : 0];
            double at_a = raster_plane_distance(lens, plane, a),
                   at_b = raster_plane_distance(lens, plane, b);
            if (at_a >= 0.0)
                spare[kept++] = a;
            if ((at_a >= 0.0) != (at_b >= 0.0)) {
                raster_point cut = raster_crossing(a, at_a, b, at_b);
                if (plane == 0) /* independent of rounding */
                    cut.z = lens->near;
                spare[kept++] = cut;
            }
        }
        count = kept;
        for (int i = 0; i < count; i++)
            corners[i] = spare[i];
    }
    return count;
}

/* Whether a shape may have pixels `in` a rectangle. A `wide` shape has all pixels that it touches,
 * also without area. */
static inline int raster_may_have_pixels(const raster_lens *lens, const raster_shape *s, int wide,
                                         raster_rect in) {
    return (wide || (s->owner & 3) != RASTER_THIN) &&
           !raster_rect_empty(raster_rect_clip(raster_rect_of(lens, s, wide), in));
}

/* Prepares a triangle, clipped if necessary: up to RASTER_CORNERS - 2 shapes that may have pixels
 * in a rectangle. */
static inline int raster_shapes(const raster_lens *lens, const raster_corner *a,
                                const raster_corner *b, const raster_corner *c, word32 item,
                                word32 triangle, int wide, raster_rect in, raster_shape *to) {
    if (a->inside && b->inside && c->inside) {
        raster_corners_of(a->x, a->y, b->x, b->y, c->x, c->y, item, triangle, to);
        if (!raster_may_have_pixels(lens, to, wide, in))
            return 0;
        raster_depths(a->image, b->image, c->image, to);
        return 1;
    }
    raster_point corners[RASTER_CORNERS], spare[RASTER_CORNERS];
    int made = 0;
    corners[0] = a->at;
    corners[1] = b->at;
    corners[2] = c->at;
    const int count = raster_clip(lens, corners, 3, spare);
    for (int k = 0; k < count; k++)
        corners[k] = raster_project(lens, corners[k]);
    for (int k = 2; k < count; k++) {
        raster_corners(lens, corners[0], corners[k - 1], corners[k], item, triangle, &to[made]);
        if (!raster_may_have_pixels(lens, &to[made], wide, in))
            continue;
        raster_depths(corners[0], corners[k - 1], corners[k], &to[made]);
        made++;
    }
    return made;
}

/* The same for an edge: one shape or none. */
static inline int raster_edges(const raster_lens *lens, raster_point a, raster_point b, word32 item,
                               word32 part, raster_rect in, raster_shape *to) {
    raster_point corners[RASTER_CORNERS], spare[RASTER_CORNERS];
    corners[0] = a;
    corners[1] = b;
    if (raster_clip(lens, corners, 2, spare) < 2)
        return 0;
    raster_edge(lens, raster_project(lens, corners[0]), raster_project(lens, corners[1]), item,
                part, to);
    return raster_may_have_pixels(lens, to, 1, in);
}

#endif
