/* Proofs that a vertex and a face, or two edges, in linear motion stay apart over a time interval.
 *
 * Method: features are apart if some direction n has n.(a_i - b_j) > 0 for all vertices a_i of the
 * first and b_j of the second; with a separation s, > s |n|. Every n is a proof, no matter how it
 * was found. Three kinds of n prove many times at once. The gaps are polynomials in time, which
 * over an interval are never below the smallest of their Bernstein coefficients:
 * - n is fixed. The gap of each pair of vertices is linear.
 * - n is the normal of the face, or the common normal of the edges, at each time. Then all gaps are
 *   equal to the volume of the four vertices, which is cubic.
 * - n rotates with an edge e(t): n(t) = w x e(t) for a fixed w, linear. The gaps are quadratic.
 *
 * Proof. Let u = 2^-53, p_k the vertices, q_k = fl(p_k - p_r) at time 0 or 1 for a fixed vertex r,
 * M the largest |coordinate| of all q, |n| the length of n and |n|_1 the sum of its |coordinates|.
 *
 * Fixed direction. (1) A difference is rounded once, relative to itself, and never underflows: |q_k
 * - (p_k - p_r)| <= 1.01 u M in each coordinate. (2) x_k = fl(n.q_k) is three products and two
 * sums: its error relative to n.q_k is below 3.01 u |n|_1 M, and 3 x 2^-1075 for products that
 * underflow. (3) g = fl(x_i - x_j) has an error of u |g|, |g| <= 2.01 |n|_1 M. In total the error
 * of g relative to the true n.(p_i - p_j) is below (2 x 1.01 + 2 x 3.01 + 2.01) u |n|_1 M < 10.1 u
 * |n|_1 M, and 2^-1072. (4) G = fl(g - B) with B = fl(16 u |n|_1 M + (1 + 8u) |n| s + 2^-1022). Of
 * 16 u, 3.8 remain for the roundings in this part of B and for that of G, u |G| <= u (2.01 |n|_1 M
 * + B); of 8 u in the other part, its root, products and sum need 5.6. Hence G <= n.(p_i - p_j) -
 * |n| s at both ends. (5) The true gap at t in [0, 1] is (1 - t) times that at 0 plus t times that
 * at 1, so it suffices that (1 - t) G(0) + t G(1) > 0: for all t if both are positive, otherwise on
 * one side of c = G(0) / (G(0) - G(1)). c is rounded twice relative to itself; 4 u and 2^-1022 (for
 * underflow) are subtracted or added, whichever is conservative. t is never rounded: a time is the
 * double that it is, and no position at a time enters a proof.
 *
 * Rotating direction. n(0) and n(1) are doubles, and n(t) between them is their exact
 * interpolation. The middle coefficient is a mean of two x_k, with an error of 5.03 u |n|_1 M
 * (|n|_1 the larger), so that of g is 12.1 u |n|_1 M. The coefficients over the rest of the step
 * are two rounds of de Casteljau's means, each with an error of 3.01 u of at most 2.02 |n|_1 M:
 * 24.3 u, with the last subtraction 26.4 u. The bound is 32 u. |n(t)| is at most the larger of its
 * ends.
 *
 * Volume, in the same way: edges e have errors of 4.01 u M and magnitudes of at most 2.01 M;
 * normals 20.2 u M^2 and at most 4.1 M^2, the middle one twice that and a sum; coefficients 156 u
 * M^3 and at most 12.3 M^3; after three rounds of means 268 u M^3, after the last subtraction 281 u
 * M^3. The bound is 512 u M^3, and 2^-900 for underflow. |n(t)| is at most the longest of its
 * coefficients, which have an error of 43 u M^2 in length; the bound is 128 u M^2.
 *
 * A polynomial is not below the convex hull of its coefficients. The time at which the hull first
 * reaches zero consists of quotients of positive numbers, with an error below the 16 u that are
 * subtracted.
 *
 * Range. A power of two keeps M between 2^-150 and 2^150, so that no operation overflows.
 * Coordinates that are scaled down lose less than 2^-1074 each, which is far below u^2 M. A NaN
 * makes every comparison false, which proves nothing.
 */
#ifndef ABUTI_GEOM_SWEEP_PROOF_SHARED_H
#define ABUTI_GEOM_SWEEP_PROOF_SHARED_H

#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

/* The value is the number of vertices of the first feature. */
enum { SWEEP_VERTEX_FACE = 1, SWEEP_EDGE_EDGE = 2 };

typedef struct sweep_limits {
    real separation, tolerance; /* lengths; the tolerance is positive */
    real latest; /* a hit after this time may be reported as free; 1 reports all hits */
    int steps;
} sweep_limits;

/* The two features relative to a vertex of the second one: the vertex and corners 1 and 2 of the
 * face relative to its corner 0; or both ends of the first edge and the second end of the other
 * relative to its first end. */
typedef struct sweep_frame {
    vec3 q[2][3]; /* at the start and at the end */
    real extent;  /* M */
    real separation, tolerance;
} sweep_frame;

#define SWEEP_EXTENT_MIN 0x1p-150
#define SWEEP_EXTENT_MAX 0x1p150

static inline void sweep_relative(int kind, const vec3 *p, real scale, vec3 *q) {
    vec3 r = v3_scale(p[kind], scale);
    q[0] = v3_sub(v3_scale(p[0], scale), r);
    q[1] = v3_sub(v3_scale(p[kind == SWEEP_EDGE_EDGE ? 1 : 2], scale), r);
    q[2] = v3_sub(v3_scale(p[3], scale), r);
}

static inline real sweep_extent(const sweep_frame *frame) {
    real extent = REAL(0.0);
    for (int k = 0; k < 3; k++)
        extent = real_max(extent, real_max(v3_max_abs(frame->q[0][k]), v3_max_abs(frame->q[1][k])));
    return extent;
}

static inline void sweep_frame_of(int kind, const vec3 *start, const vec3 *end,
                                  const sweep_limits *limits, sweep_frame *frame) {
    real scale = REAL(1.0);
    sweep_relative(kind, start, scale, frame->q[0]);
    sweep_relative(kind, end, scale, frame->q[1]);
    frame->extent = sweep_extent(frame);
    while (!(frame->extent <= SWEEP_EXTENT_MAX) && scale > REAL(0x1p-1000)) {
        scale *= REAL(0x1p-250);
        sweep_relative(kind, start, scale, frame->q[0]);
        sweep_relative(kind, end, scale, frame->q[1]);
        frame->extent = sweep_extent(frame);
    }
    while (frame->extent < SWEEP_EXTENT_MIN && scale < REAL(0x1p1000)) {
        scale *= REAL(0x1p250); /* scales differences: coordinates may be too large for it */
        for (int k = 0; k < 3; k++) {
            frame->q[0][k] = v3_scale(frame->q[0][k], REAL(0x1p250));
            frame->q[1][k] = v3_scale(frame->q[1][k], REAL(0x1p250));
        }
        frame->extent *= REAL(0x1p250);
    }
    frame->separation = limits->separation * scale;
    frame->tolerance = limits->tolerance * scale;
}

/* ---- a fixed direction ---- */

/* The time up to which n proves the features apart, from `time` on. The result itself is not
 * proven. Returns 2 if the whole rest of the step is proven, and `time` if n proves nothing. */
static inline real sweep_proof(int kind, const sweep_frame *frame, vec3 n, real time) {
    real size = real_abs(n.x) + real_abs(n.y) + real_abs(n.z);
    real bound = REAL(8.0) * REAL_EPSILON * size * frame->extent + REAL_MIN; /* 16 u */
    if (frame->separation > REAL(0.0))
        bound += v3_length(n) * frame->separation * (REAL(1.0) + REAL(4.0) * REAL_EPSILON);
    real x[2][3], until = REAL(2.0);
    for (int k = 0; k < 3; k++) {
        x[0][k] = v3_dot(n, frame->q[0][k]);
        x[1][k] = v3_dot(n, frame->q[1][k]);
    }
    for (int k = 0; k < 2 + kind; k++) {
        int i = kind == SWEEP_EDGE_EDGE ? k & 1 : 0;
        int j = kind == SWEEP_EDGE_EDGE ? (k < 2 ? 0 : 2) : k;
        real g0 = (j ? x[0][i] - x[0][j] : x[0][i]) - bound;
        real g1 = (j ? x[1][i] - x[1][j] : x[1][i]) - bound;
        if (g0 > REAL(0.0)) {
            if (!(g1 > REAL(0.0)))
                until = real_min(until, g0 / (g0 - g1) * (REAL(1.0) - REAL(2.0) * REAL_EPSILON) -
                                            REAL_MIN);
        } else if (!(g1 > REAL(0.0)) ||
                   !(g0 / (g0 - g1) * (REAL(1.0) + REAL(2.0) * REAL_EPSILON) + REAL_MIN < time)) {
            return time;
        }
    }
    return until > time ? until : time;
}

/* ---- the volume of the four vertices ---- */

/* Its Bernstein coefficients over the step, and the bound that it must exceed. */
typedef struct sweep_volume {
    real b[4], bound;
    int ready;
} sweep_volume;

static inline void sweep_volume_of(int kind, const sweep_frame *frame, sweep_volume *volume) {
    vec3 e[2], n[3];
    const vec3 *start = frame->q[0], *end = frame->q[1];
    e[0] = kind == SWEEP_EDGE_EDGE ? v3_sub(start[1], start[0]) : start[1];
    e[1] = kind == SWEEP_EDGE_EDGE ? v3_sub(end[1], end[0]) : end[1];
    n[0] = v3_cross(e[0], start[2]);
    n[1] =
        v3_add(v3_cross(e[0], end[2]), v3_cross(e[1], start[2])); /* twice the middle coefficient */
    n[2] = v3_cross(e[1], end[2]);
    volume->b[0] = v3_dot(n[0], start[0]);
    volume->b[1] = (v3_dot(n[1], start[0]) + v3_dot(n[0], end[0])) * REAL(0x1.5555555555555p-2);
    volume->b[2] = (v3_dot(n[1], end[0]) + v3_dot(n[2], start[0])) * REAL(0x1.5555555555555p-2);
    volume->b[3] = v3_dot(n[2], end[0]);
    volume->bound =
        REAL(256.0) * REAL_EPSILON * frame->extent * frame->extent * frame->extent + REAL(0x1p-900);
    if (frame->separation > REAL(0.0)) {
        real size = real_max(v3_length_sq(n[0]), v3_length_sq(n[2]));
        size = real_max(size, REAL(0.25) * v3_length_sq(n[1]));
        volume->bound += (real_sqrt(size) * (REAL(1.0) + REAL(4.0) * REAL_EPSILON) +
                          REAL(64.0) * REAL_EPSILON * frame->extent * frame->extent) *
                         frame->separation;
    }
    volume->ready = 1;
}

/* A polynomial is at least the lower convex hull of its coefficients over an interval. Returns the
 * fraction of the interval before the hull reaches zero, more than 1 for all of it; 0 if nothing is
 * proven. */
static inline real sweep_hull(const real *c, int degree) {
    real x = REAL(2.0);
    if (!(c[0] > REAL(0.0)))
        return REAL(0.0);
    for (int k = 1; k <= degree; k++)
        if (!(c[k] > REAL(0.0)))
            for (int i = 0; i < k; i++)
                if (c[i] > REAL(0.0))
                    x = real_min(x,
                                 ((real)i + (real)(k - i) * (c[i] / (c[i] - c[k]))) / (real)degree);
    return x;
}
/* The time at this fraction of the rest of the step, rounded down. */
static inline real sweep_until(real time, real x) {
    real until =
        (time + (REAL(1.0) - time) * x) * (REAL(1.0) - REAL(8.0) * REAL_EPSILON) - REAL_MIN;
    return x > REAL(1.0) ? REAL(2.0) : until > time ? until : time;
}

/* As sweep_proof(), by the volume. */
static inline real sweep_volume_proof(const sweep_volume *volume, real time) {
    /* de Casteljau: the coefficients over the rest of the step */
    real rest = REAL(1.0) - time, c[4];
    real a0 = rest * volume->b[0] + time * volume->b[1];
    real a1 = rest * volume->b[1] + time * volume->b[2];
    c[2] = rest * volume->b[2] + time * volume->b[3];
    a0 = rest * a0 + time * a1;
    c[1] = rest * a1 + time * c[2];
    c[0] = rest * a0 + time * c[1];
    c[3] = volume->b[3];
    real sign = c[0] < REAL(0.0) ? REAL(-1.0) : REAL(1.0);
    for (int k = 0; k < 4; k++)
        c[k] = sign * c[k] - volume->bound;
    return sweep_until(time, sweep_hull(c, 3));
}

/* ---- a rotating direction ---- */

/* The vectors along the edges. For two edges, 0 and 1 are the second edge and 2 and 3 the first, as
 * the candidates of sweep_shared.h for their ends; a face has three. */
static inline vec3 sweep_edge_of(int kind, const vec3 *q, int k) {
    if (kind == SWEEP_EDGE_EDGE)
        return k < 2 ? q[2] : v3_sub(q[1], q[0]);
    return k == 0 ? q[1] : k == 1 ? v3_sub(q[2], q[1]) : q[2];
}

/* As sweep_proof(), with a direction that is orthogonal to an edge at `time` and rotates with it.
 */
static inline real sweep_turning_proof(int kind, const sweep_frame *frame, int edge, vec3 normal,
                                       real time) {
    vec3 e[2], n[2];
    e[0] = sweep_edge_of(kind, frame->q[0], edge);
    e[1] = sweep_edge_of(kind, frame->q[1], edge);
    vec3 axis = v3_cross(v3_lerp(e[0], e[1], time), normal);
    real size = REAL(0.0), length_sq = REAL(0.0), x = REAL(2.0), at[3][3];
    for (int i = 0; i < 2; i++) {
        n[i] = v3_cross(axis, e[i]);
        size = real_max(size, real_abs(n[i].x) + real_abs(n[i].y) + real_abs(n[i].z));
        length_sq = real_max(length_sq, v3_length_sq(n[i]));
    }
    real bound = REAL(16.0) * REAL_EPSILON * size * frame->extent + REAL_MIN; /* 32 u */
    if (frame->separation > REAL(0.0))
        bound += real_sqrt(length_sq) * frame->separation * (REAL(1.0) + REAL(4.0) * REAL_EPSILON);
    for (int k = 0; k < 3; k++) {
        at[0][k] = v3_dot(n[0], frame->q[0][k]);
        at[1][k] = REAL(0.5) * (v3_dot(n[0], frame->q[1][k]) + v3_dot(n[1], frame->q[0][k]));
        at[2][k] = v3_dot(n[1], frame->q[1][k]);
    }
    real rest = REAL(1.0) - time;
    for (int k = 0; k < 2 + kind; k++) {
        int i = kind == SWEEP_EDGE_EDGE ? k & 1 : 0;
        int j = kind == SWEEP_EDGE_EDGE ? (k < 2 ? 0 : 2) : k;
        real g[3], c[3];
        for (int m = 0; m < 3; m++)
            g[m] = j ? at[m][i] - at[m][j] : at[m][i];
        c[1] = rest * g[1] + time * g[2];
        c[0] = rest * (rest * g[0] + time * g[1]) + time * c[1] - bound;
        c[1] -= bound;
        c[2] = g[2] - bound;
        x = real_min(x, sweep_hull(c, 2));
    }
    return sweep_until(time, x);
}

#endif
#endif
