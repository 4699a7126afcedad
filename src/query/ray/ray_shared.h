/* Rays in kernels, and constants that the host shares: which boxes and triangles of a BVH a ray can
 * intersect, in floats.
 *
 * Frame: that of the BVH, so that the mesh is within 2 of 0 on every axis, and a direction scaled
 * by a power of two to a largest coordinate from 1 to 2. A ray that begins far away is moved along
 * itself, in doubles, to where it is about to enter the ball of radius 4 around 0, which contains
 * the mesh. It then begins at p, at most P <= 16 from 0 on each axis, and hits, if at all, at a
 * parameter of at most 8. The rounding error of the move is below 2^-30 (|o| < 2^20, some ten
 * roundings of 2^-53 each).
 *
 * Boxes: slabs as in cull.h, but a plane x is crossed at x / d - p / d by one fused operation. p /
 * d is rounded, which is as if p had an error of 2^-24 P, once or twice; so is p itself. The origin
 * is an interval wider by m = 2^-21 (P + 2) on either side, more than twice the sum of these
 * errors. The rest allows for boxes that a device without denormal numbers flushes to 0, and for
 * directions below 2^-60, along which a ray moves less than 2^-57. The remaining errors are
 * relative: d by 2^-24, its reciprocal by 2.5 ulp, the sum by 2^-24: 2^-21 for an entry and an exit
 * each; SLACK is twice the sum.
 *
 * Triangles: projected along the ray (Woop, Benthin & Wald 2013, "Watertight ray/triangle
 * intersection"). With k the axis of the largest coordinate d_k of the direction, x = c_i - c_k d_i
 * / d_k and z = c_k / d_k, minus the same of p: x and y of a corner are its position relative to
 * the ray, z is the parameter at which the ray passes it. With u = 2^-24: c has an error of u, -d_i
 * / d_k of u, the projection of p of 2 u P and 2^-29, and two sums of at most 4 + 2 P are rounded:
 * in total less than u (6 P + 13), and the margin is m again. z has an error of less than m / 2.
 * The rest is derived in pierce_cl.h; a parameter has an error of 2 m in addition to that of the
 * weights. If it is uncertain, it is in the range of z, as for every point of a triangle.
 */
#ifndef ABUTI_RAY_SHARED_H
#define ABUTI_RAY_SHARED_H

#define RAY_GROUP 128                           /* work-items of a work-group */
#define RAY_POOL 16                             /* rays per work-item, at most */
#define AIMED_BYTES 64                          /* of aimed_ray */
#define RAY_MEASURE_BYTES (44 * RAY_GROUP + 16) /* local memory of ray_measure per work-group */
#define RAY_CANDIDATES 8                        /* triangles that may be hit first, per ray */

#ifdef __OPENCL_C_VERSION__

#include "bvh/node_cl.h"
#include "geom/path_shared.h"
#include "geom/pierce_cl.h"

#if ABUTI_REAL_BITS == 64

#define MAX_FLOAT_ORIGIN 0x1p20 /* rays that begin further away are left to doubles */
#define BALL_RADIUS 4.0         /* contains the mesh */
#define MAX_UNMOVED_ORIGIN \
    2.25 /* a ray that begins within this on each axis begins less than 4 from 0 */
#define PARAMETER_MAX 16.0 /* no parameter is larger */
#define PARALLEL 0x1p-60
#define DIRECTION_EXPONENT_MIN -300 /* exponent of directions that are left to doubles */
#define SLACK (1.0f + 0x1p-19f)

/* A ray in the frame, and the power of two by which its parameters are longer there. */
typedef struct framed_ray {
    vec3 origin, direction;
    int exponent;
} framed_ray;

/* Rays are six doubles each, aligned to 16 bytes. */
static inline framed_ray frame_ray(__global const double *ray, mesh_frame frame) {
    __global const double2 *pairs = (__global const double2 *)ray;
    double2 first = pairs[0], second = pairs[1], third = pairs[2];
    framed_ray r;
    vec3 d = v3(second.y, third.x, third.y);
    vec3 middle = v3(frame.origin[0], frame.origin[1], frame.origin[2]);
    r.origin = v3_scale(v3_sub(v3(first.x, first.y, second.x), middle), frame.scale);
    r.exponent = (int)(as_ulong(v3_max_abs(d)) >> 52) - 1023; /* not above 300 for a valid ray */
    if (r.exponent > DIRECTION_EXPONENT_MIN) {
        r.direction = v3_scale(d, as_double((ulong)(1023 - r.exponent) << 52));
    } else {
        r.exponent = ilogb(v3_max_abs(d));
        r.direction = v3(ldexp(d.x, -r.exponent), ldexp(d.y, -r.exponent), ldexp(d.z, -r.exponent));
    }
    return r;
}

/* The ray for predicates. */
static inline path3 load_path(__global const double *ray) {
    ray3 r;
    r.origin = load_point(ray);
    r.direction = load_point(ray + 3);
    return ray_path(r);
}

/* ---- in floats ---- */

/* A ray prepared for the search, computed in doubles beforehand (ray_aim of ray.cl): a work-item
 * that starts a ray amid the searches of others does not delay them for long. */
typedef struct aimed_ray {
    float inverse[3]; /* of the direction */
    float limit;      /* of the parameter; RAY_FAR, or RAY_MISS: nothing can be hit */
    float near[3];    /* -p / d, for p moved forward by the margin */
    float margin;
    float along[2]; /* -d_i / d_k of the axes after k, cyclically */
    uint axis;      /* k */
    uint unused;
    float shift[4]; /* minus the projection of p, along these and k; and 1 / d_k */
} aimed_ray;

/* In global memory it is four vectors: the first is sufficient for a ray without hits, the first
 * two are for boxes, the last two for triangles. */
static inline void store_aimed(const aimed_ray *a, __global float4 *to) {
    to[0] = (float4)(a->inverse[0], a->inverse[1], a->inverse[2], a->limit);
    if (a->limit < 0.0f)
        return;
    to[1] = (float4)(a->near[0], a->near[1], a->near[2], a->margin);
    to[2] = (float4)(a->along[0], a->along[1], (float)a->axis, 0.0f);
    to[3] = (float4)(a->shift[0], a->shift[1], a->shift[2], a->shift[3]);
}

#define RAY_FAR (-2.0f) /* left to doubles */
#define RAY_MISS (-1.0f)

/* Moves a ray near the mesh. Returns the distance, or less than 0 if it certainly misses. */
static inline double approach(framed_ray *r) {
    if (v3_max_abs(r->origin) < MAX_UNMOVED_ORIGIN)
        return 0.0;
    double per_length = 1.0 / v3_dot(r->direction, r->direction);
    double middle = -v3_dot(r->origin, r->direction) * per_length;
    double by = real_max(0.0, middle - BALL_RADIUS);
    vec3 nearest = v3_along(r->origin, real_max(0.0, middle), r->direction);
    if (v3_dot(nearest, nearest) > BALL_RADIUS * BALL_RADIUS)
        return -1.0;
    if (by > 0.0)
        r->origin = v3_along(r->origin, by, r->direction);
    return by;
}

static inline void aim_slabs(aimed_ray *a, const framed_ray *r) {
    for (int axis = 0; axis < 3; axis++) {
        double d = v3_get(r->direction, axis), at = v3_get(r->origin, axis);
        bool parallel = fabs(d) < PARALLEL, negative = d < 0.0 && !parallel;
        a->inverse[axis] = parallel ? 0x1p100f : 1.0f / (float)d;
        a->near[axis] = -(float)(negative ? at - a->margin : at + a->margin) * a->inverse[axis];
    }
}

/* Coordinates from an axis on, cyclically. */
static inline vec3 from_axis(uint axis, vec3 v) {
    return axis == 0 ? v : axis == 1 ? v3(v.y, v.z, v.x) : v3(v.z, v.x, v.y);
}

static inline void aim_view(aimed_ray *a, const framed_ray *r) {
    double size_x = fabs(r->direction.x), size_y = fabs(r->direction.y),
           size_z = fabs(r->direction.z);
    a->axis = size_x >= size_y && size_x >= size_z ? 0 : size_y >= size_z ? 1 : 2;
    vec3 d = from_axis(a->axis, r->direction), p = from_axis(a->axis, r->origin);
    double per_d = 1.0 / d.x, along_1 = d.y * per_d, along_2 = d.z * per_d;
    a->along[0] = (float)-along_1;
    a->along[1] = (float)-along_2;
    a->shift[0] = (float)(p.x * along_1 - p.y);
    a->shift[1] = (float)(p.x * along_2 - p.z);
    a->shift[2] = (float)(-p.x * per_d);
    a->shift[3] = (float)per_d;
}

/* Prepares a ray that is limited to the parameter `most`. */
static inline aimed_ray aim(__global const double *ray, double most, mesh_frame frame) {
    framed_ray r = frame_ray(ray, frame);
    aimed_ray a;
    double by = v3_max_abs(r.origin) < MAX_FLOAT_ORIGIN && r.exponent > DIRECTION_EXPONENT_MIN
                    ? approach(&r)
                    : -2.0;
    a.limit = by == -2.0 ? RAY_FAR : RAY_MISS;
    if (by >= 0.0) {
        double limit = most < INFINITY ? ldexp(most, r.exponent) * frame.scale - by : PARAMETER_MAX;
        limit = fmin(limit, PARAMETER_MAX);
        a.margin = 0x1p-21f * ((float)v3_max_abs(r.origin) + 2.0f);
        a.limit = limit + a.margin >= 0.0 ? fmax((float)limit, 0.0f) : RAY_MISS;
        a.unused = 0;
        aim_slabs(&a, &r);
        aim_view(&a, &r);
    }
    return a;
}

/* For boxes. */
typedef struct slabs {
    float near[3],
        far[3]; /* -p / d at both ends of the interval of the origin, for entry and exit */
    float inverse[3];
    float margin;
} slabs;

static inline slabs slabs_of(float4 inverse, float4 near) {
    slabs s = {{near.x, near.y, near.z}, {0.0f}, {inverse.x, inverse.y, inverse.z}, near.w};
    for (int i = 0; i < 3; i++)
        s.far[i] = fma(2.0f * s.margin, fabs(s.inverse[i]), s.near[i]);
    return s;
}

/* For triangles: the projection of corners, three weights and an offset. */
typedef struct view {
    float4 x, y, z;
    float margin;
} view;

static inline view view_of(float4 along, float4 shift, float margin) {
    float4 x = (float4)(along.x, 1.0f, 0.0f, shift.x), y = (float4)(along.y, 0.0f, 1.0f, shift.y),
           z = (float4)(shift.w, 0.0f, 0.0f, shift.z);
    uint axis = (uint)along.z;
    view v;
    v.x = axis == 0 ? x : axis == 1 ? x.zxyw : x.yzxw;
    v.y = axis == 0 ? y : axis == 1 ? y.zxyw : y.yzxw;
    v.z = axis == 0 ? z : axis == 1 ? z.zxyw : z.yzxw;
    v.margin = margin;
    return v;
}

static inline float seen(float4 by, float4 c) {
    return fma(by.x, c.x, fma(by.y, c.y, fma(by.z, c.z, by.w)));
}

/* Whether a triangle may be hit at a parameter of at most `most`, the bounds of that parameter, and
 * whether the line certainly intersects it. */
static inline bool may_hit(const view *s, float4 a, float4 b, float4 c, float most, float *least,
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

/* ---- nodes ---- */

/* The entry parameters of the ray into the boxes of four children, as integers of the same order,
 * with the slot of the child in the lowest two bits, so they have errors of at most 3 ulp, of which
 * SLACK covers 8; ABUT_NONE if it does not enter, as into an empty slot. */
static inline uint4 child_keys(const slabs *s, __global const bvh_node *n, float most) {
    float4 enter = 0.0f, leave = most;
    for (int axis = 0; axis < 3; axis++) {
        float inverse = s->inverse[axis];
        bool behind = inverse < 0.0f; /* entries are at the upper ends of boxes */
        float4 lo = n->lo[axis], hi = n->hi[axis];
        enter = fmax(enter, fma(behind ? hi : lo, inverse, s->near[axis]));
        leave = fmin(leave, fma(behind ? lo : hi, inverse, s->far[axis]));
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

static inline void init_exact_slabs(exact_slabs *b, const framed_ray *r) {
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

/* The entry parameter of the ray into the box of a child, or less than 0 if it does not enter. */
static inline double box_entry(const exact_slabs *b, __global const bvh_node *n, uint slot,
                               double limit) {
    __global const float *planes = (__global const float *)n + slot;
    double enter = 0.0, leave = limit;
    for (uint axis = 0; axis < 3; axis++) {
        double first = planes[4 * (axis + b->behind[axis])],
               last = planes[4 * (axis + 3 - b->behind[axis])];
        enter = fmax(enter, (first - b->near[axis]) * b->inverse[axis]); /* NaN: no limit */
        leave = fmin(leave, (last - b->far[axis]) * b->inverse[axis]);
    }
    return enter * (1.0 - 0x1p-46) <= leave * (1.0 + 0x1p-46) + DBL_MIN ? enter : -1.0;
}

#endif
#endif
#endif
