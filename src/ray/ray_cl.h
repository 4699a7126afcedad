/* How kernels see rays: which boxes and triangles of a hierarchy a ray can meet, in floats.
 *
 * Frame: that of the hierarchy, so that the mesh is within 2 of 0 on every axis, and a direction
 * scaled by a power of two to a largest coordinate from 1 to 2. A ray that begins far off is moved
 * along itself, in doubles, to where it is about to enter the ball of radius 4 around 0, which
 * holds the mesh. It then begins at p, at most P <= 16 from 0 on each axis, and hits, if at all, at
 * a parameter of at most 8. What moving rounds is below 2^-30 (|o| < 2^20, some ten roundings of
 * 2^-53 each).
 *
 * Boxes: slabs as in cull.h. The origin is an interval wider by 2^-22 (P + 1) on either side, which
 * is twice what p was rounded by, and the rest allows for boxes that a device without denormal
 * numbers takes for 0, and for directions below 2^-60, along which a ray moves less than 2^-57.
 *
 * Triangles: seen along the ray (Woop, Benthin & Wald 2013, "Watertight ray/triangle
 * intersection"). With k the axis of the largest coordinate d_k of the direction, x = c_i - c_k d_i
 * / d_k and z = c_k / d_k, less the same of p: x and y of a corner tell how it lies to the ray, z
 * is the parameter at which the ray passes it. With u = 2^-24: c is wrong by u, -d_i / d_k by u,
 * the shadow of p by 2 u P and 2^-29, and two sums of at most 4 + 2 P are rounded: in all less than
 * u (6 P + 13), and the margin m is 2^-21 (P + 2). z is wrong by less than m / 2. From there
 * on see pierce_cl.h; a parameter is wrong by 2 m more than weights make it. In doubt it is in
 * the range of z: every point of a triangle is.
 */
#ifndef ABUTI_RAY_RAY_CL_H
#define ABUTI_RAY_RAY_CL_H

#include "bvh/node_cl.h"
#include "geom/path_shared.h"
#include "geom/pierce_cl.h"

#if ABUTI_REAL_BITS == 64

#define FAR 0x1p20 /* beyond this floats do not see a ray */
#define BALL 4.0   /* holds the mesh */
#define LIMIT 16.0 /* beyond this no parameter is */
#define PARALLEL 0x1p-60
#define SLACK (1.0f + 0x1p-19f)

/* A ray in the frame, and how much longer its parameters are there, as a power of two. */
typedef struct framed_ray {
    vec3 origin, direction;
    int exponent;
} framed_ray;

static inline framed_ray frame_ray(__global const double *ray, mesh_frame frame) {
    framed_ray r;
    vec3 d = load_point(ray + 3), middle = v3(frame.origin[0], frame.origin[1], frame.origin[2]);
    r.origin = v3_scale(v3_sub(load_point(ray), middle), frame.scale);
    r.exponent = ilogb(v3_max_abs(d));
    r.direction = v3(ldexp(d.x, -r.exponent), ldexp(d.y, -r.exponent), ldexp(d.z, -r.exponent));
    return r;
}

/* ---- in floats ---- */

typedef struct sight {
    float4 x, y, z;        /* what corners are seen by: three weights and what is added */
    float near[3], far[3]; /* ends of the origin's interval, for the entry and the exit */
    float inverse[3];
    uint behind[3]; /* 3 where the direction is negative: entries are at the upper ends of boxes */
    float margin;
} sight;

/* Moves a ray near to the mesh; gives by how much, or less than 0 where it passes for certain. */
static inline double approach(framed_ray *r) {
    double per_length = 1.0 / v3_dot(r->direction, r->direction);
    double middle = -v3_dot(r->origin, r->direction) * per_length;
    double by = real_max(0.0, middle - BALL);
    vec3 nearest = v3_along(r->origin, real_max(0.0, middle), r->direction);
    if (v3_dot(nearest, nearest) > BALL * BALL)
        return -1.0;
    if (by > 0.0)
        r->origin = v3_along(r->origin, by, r->direction);
    return by;
}

static inline void aim_slabs(sight *s, const framed_ray *r) {
    double wide = 0x1p-22 * (v3_max_abs(r->origin) + 1.0);
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(r->direction, axis), at = v3_get(r->origin, axis);
        bool parallel = fabs(d) < PARALLEL, negative = d < 0.0 && !parallel;
        s->inverse[axis] = parallel ? 0x1p100f : (float)(1.0 / d);
        s->near[axis] = (float)(negative ? at - wide : at + wide);
        s->far[axis] = (float)(negative ? at + wide : at - wide);
        s->behind[axis] = negative ? 3 : 0;
    }
}

static inline void aim_view(sight *s, const framed_ray *r) {
    vec3 d = r->direction, p = r->origin;
    double size_x = fabs(d.x), size_y = fabs(d.y), size_z = fabs(d.z);
    if (size_x >= size_y && size_x >= size_z) {
        double along_y = d.y / d.x, along_z = d.z / d.x;
        s->x = (float4)((float)-along_y, 1.0f, 0.0f, (float)(p.x * along_y - p.y));
        s->y = (float4)((float)-along_z, 0.0f, 1.0f, (float)(p.x * along_z - p.z));
        s->z = (float4)((float)(1.0 / d.x), 0.0f, 0.0f, (float)(-p.x / d.x));
    } else if (size_y >= size_z) {
        double along_z = d.z / d.y, along_x = d.x / d.y;
        s->x = (float4)(0.0f, (float)-along_z, 1.0f, (float)(p.y * along_z - p.z));
        s->y = (float4)(1.0f, (float)-along_x, 0.0f, (float)(p.y * along_x - p.x));
        s->z = (float4)(0.0f, (float)(1.0 / d.y), 0.0f, (float)(-p.y / d.y));
    } else {
        double along_x = d.x / d.z, along_y = d.y / d.z;
        s->x = (float4)(1.0f, 0.0f, (float)-along_x, (float)(p.z * along_x - p.x));
        s->y = (float4)(0.0f, 1.0f, (float)-along_y, (float)(p.z * along_y - p.y));
        s->z = (float4)(0.0f, 0.0f, (float)(1.0 / d.z), (float)(-p.z / d.z));
    }
    s->margin = 0x1p-21f * ((float)v3_max_abs(p) + 2.0f);
}

static inline float seen(float4 by, float4 c) {
    return fma(by.x, c.x, fma(by.y, c.y, fma(by.z, c.z, by.w)));
}

/* Whether a triangle may be hit at a parameter of at most `most`, between which parameters, and
 * whether the line meets it for certain. */
static inline bool may_hit(const sight *s, float4 a, float4 b, float4 c, float most, float *least,
                           float *greatest, bool *certain) {
    float m = s->margin;
    piercing p;
    if (!pierce((float4)(seen(s->x, a), seen(s->y, a), 0.0f, 0.0f),
                (float4)(seen(s->x, b), seen(s->y, b), 0.0f, 0.0f),
                (float4)(seen(s->x, c), seen(s->y, c), 0.0f, 0.0f), m, &p))
        return false;
    float az = seen(s->z, a), bz = seen(s->z, b), cz = seen(s->z, c);
    float low = fmin(az, fmin(bz, cz)), high = fmax(az, fmax(bz, cz));
    *least = low - m;
    *greatest = high + m;
    *certain = p.certain;
    if (p.certain) {
        float wrong, t = pierce_height(&p, az, bz, cz, high - low, &wrong);
        *least = fmax(*least, t - (wrong + 2.0f * m));
        *greatest = fmin(*greatest, t + (wrong + 2.0f * m));
    }
    return !(*greatest < 0.0f || *least > most);
}

/* Where the ray enters the boxes of four children, as whole numbers that sort alike, a little less
 * than they are, with the number of the child in the lowest bits; ABUT_NONE where it does not. */
static inline uint4 child_keys(const sight *s, __global const bvh_node *n, float most) {
    __global const float4 *planes = (__global const float4 *)n; /* three lower, three upper */
    float4 enter = 0.0f, leave = most;
    for (int axis = 0; axis < 3; axis++) {
        float4 first = planes[axis + s->behind[axis]], last = planes[axis + 3 - s->behind[axis]];
        enter = fmax(enter, (first - s->near[axis]) * s->inverse[axis]);
        leave = fmin(leave, (last - s->far[axis]) * s->inverse[axis]);
    }
    uint4 keys = (as_uint4(enter) & ~3u) | (uint4)(0, 1, 2, 3);
    return select((uint4)ABUT_NONE, keys, enter <= leave * SLACK);
}

/* ---- in doubles, for rays that begin far away ---- */

/* Slabs in doubles: near, far and inverse as above, but 1 / 0 is infinite. */
typedef struct exact_slabs {
    double near[3], far[3], inverse[3];
    uint behind[3];
} exact_slabs;

static inline void start_slabs(exact_slabs *b, const framed_ray *r) {
    double reach = 2.0 * v3_max_abs(r->origin) + 8.0;
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(r->direction, axis), at = v3_get(r->origin, axis);
        bool parallel = fabs(d) < 0x1p-100, negative = d < 0.0 && !parallel;
        double wide = 0x1p-50 * fabs(at) + (parallel ? fabs(d) * reach : 0.0);
        b->inverse[axis] = parallel ? (double)INFINITY : 1.0 / d;
        b->near[axis] = negative ? at - wide : at + wide;
        b->far[axis] = negative ? at + wide : at - wide;
        b->behind[axis] = negative ? 3 : 0;
    }
}

/* Where the ray enters the box of a child, or less than 0 where it does not. */
static inline double entry_of(const exact_slabs *b, __global const bvh_node *n, uint slot,
                              double limit) {
    __global const float *planes = (__global const float *)n;
    double enter = 0.0, leave = limit;
    for (uint axis = 0; axis < 3; axis++) {
        double first = planes[4 * (axis + b->behind[axis]) + slot];
        double last = planes[4 * (axis + 3 - b->behind[axis]) + slot];
        enter = fmax(enter, (first - b->near[axis]) * b->inverse[axis]); /* no number: no limit */
        leave = fmin(leave, (last - b->far[axis]) * b->inverse[axis]);
    }
    return enter * (1.0 - 0x1p-46) <= leave * (1.0 + 0x1p-46) + DBL_MIN ? enter : -1.0;
}

#endif
#endif
