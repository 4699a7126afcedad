/* Computations of the methods, for C and OpenCL C: triangles, the nearest of several, the
 * response. In floats, for speed; positions in and out are doubles. */
#ifndef ABUT_BENCH_RIVALS_SHARED_H
#define ABUT_BENCH_RIVALS_SHARED_H

#ifndef __OPENCL_C_VERSION__
#define ABUTI_REAL_BITS 32
#endif
#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef struct rival_point {
    double x, y, z;
} rival_point;
#define RIVAL_CHANGED volatile __global
static inline word32 rival_count_up(RIVAL_CHANGED word32 *at) {
    return atomic_inc(at);
}
static inline void rival_lower(RIVAL_CHANGED word32 *at, word32 value) {
    if (value < *at) /* it only decreases */
        atomic_min(at, value);
}
static inline word32 rival_bits(float x) {
    return as_uint(x);
}
static inline float rival_float(word32 bits) {
    return as_float(bits);
}
#else
typedef abut_vec3 rival_point;
#define RIVAL_CHANGED
static inline word32 rival_count_up(word32 *at) {
    return __atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
}
static inline void rival_lower(word32 *at, word32 value) {
    word32 old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (value < old &&
           !__atomic_compare_exchange_n(at, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}
static inline word32 rival_bits(float x) {
    union {
        float x;
        word32 bits;
    } both = {x};
    return both.bits;
}
static inline float rival_float(word32 bits) {
    union {
        word32 bits;
        float x;
    } both = {bits};
    return both.x;
}
#endif

#define RIVAL_GROUP 64 /* work-items a group */

/* Without a call of libm. */
static inline int rival_floor(real x) {
    int whole = (int)x;
    return whole - (x < (real)whole);
}

static inline vec3 rival_near(rival_point p) {
    return v3((real)p.x, (real)p.y, (real)p.z);
}

/* ---- triangles ---- */

typedef struct rival_triangle {
    vec3 corner[3], normal; /* unit; zero if there is none */
} rival_triangle;

/* Not v3_normalise(), which guards against lengths that no body has. */
static inline rival_triangle rival_triangle_of(vec3 a, vec3 b, vec3 c) {
    rival_triangle t;
    vec3 n = v3_cross(v3_sub(b, a), v3_sub(c, a));
    real length = v3_length(n);
    t.corner[0] = a;
    t.corner[1] = b;
    t.corner[2] = c;
    t.normal = v3_scale(n, length > REAL(0.0) ? REAL(1.0) / length : REAL(0.0));
    return t;
}

static inline rival_triangle rival_triangle_at(ABUTI_GLOBAL const word32 *corners,
                                               ABUTI_GLOBAL const rival_point *positions,
                                               word32 i) {
    ABUTI_GLOBAL const word32 *corner = corners + 3 * (size_t)i;
    return rival_triangle_of(rival_near(positions[corner[0]]), rival_near(positions[corner[1]]),
                             rival_near(positions[corner[2]]));
}

/* The closest point to the origin of a triangle with area (Ericson 2005, section 5.1.5). */
static inline vec3 rival_nearest(vec3 a, vec3 b, vec3 c) {
    vec3 ab = v3_sub(b, a), ac = v3_sub(c, a);
    real d1 = -v3_dot(ab, a), d2 = -v3_dot(ac, a);
    if (d1 <= REAL(0.0) && d2 <= REAL(0.0))
        return a;
    real d3 = -v3_dot(ab, b), d4 = -v3_dot(ac, b);
    if (d3 >= REAL(0.0) && d4 <= d3)
        return b;
    real vc = d1 * d4 - d3 * d2;
    if (vc <= REAL(0.0) && d1 >= REAL(0.0) && d3 <= REAL(0.0))
        return v3_along(a, d1 / (d1 - d3), ab);
    real d5 = -v3_dot(ab, c), d6 = -v3_dot(ac, c);
    if (d6 >= REAL(0.0) && d5 <= d6)
        return c;
    real vb = d5 * d2 - d1 * d6;
    if (vb <= REAL(0.0) && d2 >= REAL(0.0) && d6 <= REAL(0.0))
        return v3_along(a, d2 / (d2 - d6), ac);
    real va = d3 * d6 - d5 * d4;
    if (va <= REAL(0.0) && d4 >= d3 && d5 >= d6)
        return v3_along(b, (d4 - d3) / ((d4 - d3) + (d5 - d6)), v3_sub(c, b));
    real share = REAL(1.0) / (va + vb + vc);
    return v3_along(v3_along(a, vb * share, ab), vc * share, ac);
}

/* Neighbouring triangles are equally near at their common edge or vertex, and only the one that
 * is seen less obliquely has the right side (Baerentzen & Aanaes 2005 use pseudo-normals for
 * that, which would have to be computed each frame): an oblique one counts as further by this
 * factor. */
#define RIVAL_SLANT REAL(0.0009765625)

/* The distance with that penalty, from the distance and its component along the normal. */
static inline real rival_farness(real distance, real along) {
    return distance + RIVAL_SLANT * (distance - real_abs(along));
}

/* The nearest triangle so far. */
typedef struct rival_hit {
    real farness;
    word32 triangle;
    int inside;
    vec3 offset, normal; /* from the particle to the surface */
} rival_hit;

/* No triangle yet; only those within reach count. */
static inline rival_hit rival_hit_none(real reach) {
    rival_hit hit;
    hit.farness = reach;
    hit.triangle = ABUT_NONE;
    hit.inside = 0;
    hit.offset = hit.normal = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    return hit;
}

/* Tests a triangle. The order of triangles does not matter. */
static inline void rival_look(rival_hit *hit, const rival_triangle *t, word32 triangle,
                              vec3 particle) {
    vec3 a = v3_sub(t->corner[0], particle);
    real along = v3_dot(t->normal, a);
    if (!(real_abs(along) <= hit->farness) || v3_dot(t->normal, t->normal) == REAL(0.0))
        return;
    vec3 offset = rival_nearest(a, v3_sub(t->corner[1], particle), v3_sub(t->corner[2], particle));
    real farness = rival_farness(v3_length(offset), along);
    if (!(farness < hit->farness || (farness == hit->farness && triangle < hit->triangle)))
        return;
    hit->farness = farness;
    hit->triangle = triangle;
    hit->inside = along > REAL(0.0);
    hit->offset = offset;
    hit->normal = t->normal;
}

/* ---- response ---- */

/* Equations 5 to 11: the correction of q1. `motion` is q1 - q, `offset` is from q1 to a point p
 * of the surface, with o = p. Their equations 7 and 10 move the particle along; friction must
 * oppose the motion, so V_t is subtracted here. Its direction is that of the particle's own
 * motion below the surface. */
static inline vec3 rival_response(vec3 motion, vec3 offset, vec3 normal, real friction) {
    vec3 out = v3_scale(normal, v3_dot(offset, normal)); /* V_n, (6) */
    real way = v3_dot(normal, motion);                   /* (8), as a fraction of the motion */
    real share = way == REAL(0.0) ? REAL(1.0) : v3_dot(normal, v3_add(motion, offset)) / way;
    vec3 below = v3_scale(motion, REAL(1.0) - real_clamp(share, REAL(0.0), REAL(1.0))); /* (9) */
    vec3 tangent = v3_along(below, -v3_dot(below, normal), normal);                     /* (10) */
    return v3_along(out, -friction, tangent);                                           /* (11) */
}

static inline rival_point rival_moved(rival_point from, rival_point to, vec3 offset, vec3 normal,
                                      real friction) {
    vec3 motion = v3((real)(to.x - from.x), (real)(to.y - from.y), (real)(to.z - from.z));
    vec3 way = rival_response(motion, offset, normal, friction);
    to.x += (double)way.x;
    to.y += (double)way.y;
    to.z += (double)way.z;
    return to;
}

/* Applies the response to a hit. */
static inline void rival_respond(const rival_hit *hit, ABUTI_GLOBAL const rival_point *from,
                                 ABUTI_GLOBAL rival_point *to, word32 i, real friction) {
    if (hit->inside)
        to[i] = rival_moved(from[i], to[i], hit->offset, hit->normal, friction);
}

#endif
