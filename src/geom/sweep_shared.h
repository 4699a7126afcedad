/* When do a vertex and a face, or two edges, that move along straight lines first touch? In double,
 * for C and OpenCL C alike.
 *
 * Method: a direction that separates the features over a time interval. For a fixed n, the gap
 * n.(a_i(t) - b_j(t)) of two vertices is linear in t; where it is positive for all pairs of
 * vertices, the features are apart. So the values at times 0 and 1 say for which interval n is a
 * proof, and any n will do, however it was found. The search goes forward: at a time up to which
 * the features are known to be apart, take the direction of their closest points (for two edges
 * the common normal while the closest points are inside both), which proves them apart until some
 * later time, and go on from there. Along the direction of the closest points the gap starts as
 * the distance does, with the same slope: this is Newton's method on the distance, and it cannot
 * overshoot. It ends with a hit where the distance is within the tolerance, or where no step
 * forward is possible, and with "free" where the proof reaches the end of the step.
 *
 * Guarantee: "free" is true and the time of a hit is never late, whatever the rounding. At the time
 * of a hit the features are within separation + tolerance, or the steps were spent there, or the
 * tolerance is below what rounding allows: about 100 u M, in the letters of the proof.
 *
 * Proof. Let u = 2^-53, p_k the vertices, q_k = fl(p_k - p_r) at time 0 or 1 for a fixed vertex r,
 * M the largest |coordinate| of all q, |n| the length of n and |n|_1 the sum of its |coordinates|.
 * (1) A difference is rounded once, relative to itself, and never underflows: |q_k - (p_k - p_r)|
 * <= u M (1 + u) in each coordinate. (2) x_k = fl(n.q_k) is three products and two sums: it is off
 * n.q_k by less than 3.01 u |n|_1 M, and by 3 x 2^-1075 for products that underflow. (3) g =
 * fl(x_i - x_j) is off by u |g|, |g| <= 2.01 |n|_1 M. All in all g is off the true n.(p_i - p_j) by
 * less than (2 x 1.01 + 2 x 3.01 + 2.01) u |n|_1 M + 2^-1072 < 10.1 u |n|_1 M + 2^-1072. (4) We
 * take G = fl(g - B) with B >= 16 u |n|_1 M (1 - 8u) + |n| separation (1 + u)  + 2^-1022: B is a
 * sum of positive numbers, each factor rounded relative to itself, and the factor 1 + 8u on the
 * second part covers its product and root. The last subtraction is off by u |G| <= u (2.01 |n|_1 M
 * + B). What is left of 16 u |n|_1 M, 3.8 u, covers it, and u B (u/2 of the separation's part is
 * covered by its factor). Hence G <= n.(p_i - p_j) - |n| separation at both ends.
 * (5) For t in [0, 1] the true gap at t is (1 - t) times that at 0 plus t times that at 1, hence
 * more than |n| separation wherever (1 - t) G(0) + t G(1) > 0: for all t where both are positive,
 * else on one side of c = G(0) / (G(0) - G(1)). c is rounded twice relative to itself; we take 4 u
 * and 2^-1022 (for underflow) away from it, or add them, on the side of safety. No t but c is
 * ever computed with, so that no position at a time enters a proof.
 * (6) M is kept between 2^-150 and 2^150 by a power of two, so that nothing above overflows;
 * where coordinates have to be scaled down, what they lose is below 2^-1074 while M is at least
 * 2^-150: part of what is left in (4). A NaN makes every comparison false, which proves nothing.
 */
#ifndef ABUTI_SWEEP_SHARED_H
#define ABUTI_SWEEP_SHARED_H

#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

/* How many of the four vertices are the first feature. */
enum { SWEEP_VERTEX_FACE = 1, SWEEP_EDGE_EDGE = 2 };

typedef struct sweep_limits {
    real separation, tolerance; /* lengths; the tolerance is positive */
    real latest;                /* hits later than this may be told as free; 1 for all */
    int steps;
} sweep_limits;

typedef struct sweep_answer {
    real time;   /* 0 to 1; 2 where free */
    vec3 normal; /* unit, from the second feature to the first, or zero */
    real weights[3];
    int steps;
} sweep_answer;

/* The two features relative to a vertex of the second one: vertex and corners 1 and 2 of the face
 * from its corner 0; both ends of the first edge and the second end of the other from its first. */
typedef struct sweep_frame {
    vec3 q[2][3]; /* at the start and at the end */
    real extent;  /* M */
    real separation, tolerance;
} sweep_frame;

/* The closest points of both features at some time, about. */
typedef struct sweep_near {
    vec3 n; /* from the second to the first, of any length */
    real distance;
    real weights[3];
    int inside; /* the face, or both edges */
    int edge;   /* else: which candidate it is */
} sweep_near;

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
        scale *= REAL(0x1p250); /* of differences: coordinates may be too large for it */
        for (int k = 0; k < 3; k++) {
            frame->q[0][k] = v3_scale(frame->q[0][k], REAL(0x1p250));
            frame->q[1][k] = v3_scale(frame->q[1][k], REAL(0x1p250));
        }
        frame->extent *= REAL(0x1p250);
    }
    frame->separation = limits->separation * scale;
    frame->tolerance = limits->tolerance * scale;
}

/* ---- directions: nothing here has to be right ---- */

/* Point p against the segment from 0 to e: the vector to p from the closest point, which is at s.
 */
static inline vec3 sweep_foot(vec3 p, vec3 e, real *s) {
    real ee = v3_length_sq(e), along = v3_dot(p, e);
    *s = along <= REAL(0.0) ? REAL(0.0) : along >= ee ? REAL(1.0) : along / ee;
    vec3 n = v3_along(p, -*s, e);
    /* once more, since what is left of e in a short n would turn it */
    if (along > REAL(0.0) && along < ee)
        n = v3_along(n, -v3_dot(n, e) / ee, e);
    return n;
}

/* Candidates for the closest points of a vertex and the face 0, b, c: on edge k, or for 3 inside.
 */
static inline void sweep_face_candidate(vec3 v, vec3 b, vec3 c, int k, sweep_near *near) {
    const vec3 zero = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    if (k == 3) {
        vec3 n = v3_cross(b, c);
        near->n = v3_dot(n, v) < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        return;
    }
    vec3 from = k == 0 ? zero : k == 1 ? b : c, to = k == 0 ? b : k == 1 ? c : zero;
    real s;
    near->n = sweep_foot(v3_sub(v, from), v3_sub(to, from), &s);
    near->weights[0] = k == 0 ? REAL(1.0) - s : k == 1 ? REAL(0.0) : s;
    near->weights[1] = k == 0 ? s : k == 1 ? REAL(1.0) - s : REAL(0.0);
    near->weights[2] = k == 0 ? REAL(0.0) : k == 1 ? s : REAL(1.0) - s;
}

/* The same for an edge from a to b and one from 0 to d: an end on the other edge, or for 4 inside
 * both. */
static inline void sweep_edge_candidate(vec3 a, vec3 b, vec3 d, int k, sweep_near *near) {
    vec3 e = v3_sub(b, a);
    if (k == 4) {
        vec3 n = v3_cross(e, d);
        near->n = v3_dot(n, a) < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        return;
    }
    vec3 end = k == 0 ? a : k == 1 ? b : k == 2 ? v3_scale(a, REAL(-1.0)) : v3_sub(d, a);
    real along, at = k & 1 ? REAL(1.0) : REAL(0.0);
    vec3 foot = sweep_foot(end, k < 2 ? d : e, &along);
    near->n = k < 2 ? foot : v3_scale(foot, REAL(-1.0));
    near->weights[0] = k < 2 ? at : along;
    near->weights[1] = k < 2 ? along : at;
    near->weights[2] = REAL(0.0);
}

/* The best of the first `count` candidates. */
static inline void sweep_near_border(int kind, const vec3 *q, int count, sweep_near *near) {
    real best_sq = REAL_MAX; /* where all is NaN it stays, and n proves nothing */
    sweep_near next;
    near->n = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    near->weights[0] = near->weights[1] = near->weights[2] = REAL(0.0);
    near->edge = 0;
    for (int k = 0; k < count; k++) {
        if (kind == SWEEP_EDGE_EDGE)
            sweep_edge_candidate(q[0], q[1], q[2], k, &next);
        else
            sweep_face_candidate(q[0], q[1], q[2], k, &next);
        real sq = v3_length_sq(next.n);
        if (sq < best_sq) {
            best_sq = sq;
            *near = next;
            near->edge = k;
        }
    }
    near->distance = real_sqrt(best_sq);
    near->inside = 0;
}

/* The closest points at a time: inside the face or both edges where the weights say so. */
static inline void sweep_near_of(int kind, const vec3 *q, sweep_near *near) {
    vec3 e = kind == SWEEP_EDGE_EDGE ? v3_sub(q[1], q[0]) : q[1], d = q[2];
    vec3 n = v3_cross(e, d);
    real nn = v3_length_sq(n), s, t, rest;
    if (kind == SWEEP_EDGE_EDGE) {
        s = v3_dot(v3_cross(d, q[0]), n);
        t = v3_dot(v3_cross(e, q[0]), n);
        rest = real_min(nn - s, nn - t);
    } else {
        s = v3_dot(v3_cross(q[0], d), n);
        t = v3_dot(v3_cross(e, q[0]), n);
        rest = nn - s - t;
    }
    if (s > REAL(0.0) && t > REAL(0.0) && rest > REAL(0.0) &&
        nn > REAL(1e-26) * v3_length_sq(e) * v3_length_sq(d)) {
        real height = v3_dot(n, q[0]);
        near->n = height < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        near->distance = real_abs(height) / real_sqrt(nn);
        near->weights[0] = (kind == SWEEP_EDGE_EDGE ? s : rest) / nn;
        near->weights[1] = (kind == SWEEP_EDGE_EDGE ? t : s) / nn;
        near->weights[2] = kind == SWEEP_EDGE_EDGE ? REAL(0.0) : t / nn;
        near->inside = 1;
        near->edge = 0;
        return;
    }
    sweep_near_border(kind, q, 2 + kind, near);
}

static inline void sweep_positions(const sweep_frame *frame, real t, vec3 *q) {
    for (int k = 0; k < 3; k++)
        q[k] = v3_lerp(frame->q[0][k], frame->q[1][k], t);
}
static inline void sweep_near_at(int kind, const sweep_frame *frame, real t, sweep_near *near) {
    vec3 q[3];
    sweep_positions(frame, t, q);
    sweep_near_of(kind, q, near);
}

/* ---- the certificate ---- */

/* How far n proves the features apart: from `time` up to what is returned, which is out of the
 * proof itself, or 2 where all the rest of the step is proven; `time` where nothing is. */
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

/* ---- the second certificate: the volume of the four vertices ---- */

/* Its coefficients in Bernstein's form over the step, and what it must exceed. */
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
    n[1] = v3_add(v3_cross(e[0], end[2]), v3_cross(e[1], start[2])); /* twice the middle one */
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
                          REAL(16.0) * REAL_EPSILON * frame->extent * frame->extent) *
                         frame->separation;
    }
    volume->ready = 1;
}

/* A polynomial is at least the hull of its coefficients over an interval: how much of the interval
 * passes before that reaches down to zero, more than 1 for all; 0 where nothing is proven. */
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
/* The time when that part of the rest of the step has passed. */
static inline real sweep_until(real time, real x) {
    real until =
        (time + (REAL(1.0) - time) * x) * (REAL(1.0) - REAL(8.0) * REAL_EPSILON) - REAL_MIN;
    return x > REAL(1.0) ? REAL(2.0) : until > time ? until : time;
}

/* As sweep_proof. */
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

/* ---- the third certificate: a direction that turns ---- */

/* The vector along an edge of a candidate. */
static inline vec3 sweep_edge_of(int kind, const vec3 *q, int k) {
    if (kind == SWEEP_EDGE_EDGE)
        return k < 2 ? q[2] : v3_sub(q[1], q[0]);
    return k == 0 ? q[1] : k == 1 ? v3_sub(q[2], q[1]) : q[2];
}

/* As sweep_proof, with the direction n at `time` turned so that it stays square to the edge. */
static inline real sweep_turning_proof(int kind, const sweep_frame *frame, const sweep_near *near,
                                       real time) {
    vec3 e[2], n[2];
    e[0] = sweep_edge_of(kind, frame->q[0], near->edge);
    e[1] = sweep_edge_of(kind, frame->q[1], near->edge);
    vec3 axis = v3_cross(v3_lerp(e[0], e[1], time), near->n);
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

/* ---- the search ---- */

/* The same with whatever candidate goes furthest: where two of them are equally near but for
 * rounding, only one may be any good. */
static inline real sweep_rescue(int kind, const sweep_frame *frame, real time, vec3 *n) {
    vec3 q[3];
    sweep_near near;
    real best = time;
    sweep_positions(frame, time, q);
    for (int k = 0; k < 3 + kind; k++) {
        if (kind == SWEEP_EDGE_EDGE)
            sweep_edge_candidate(q[0], q[1], q[2], k, &near);
        else
            sweep_face_candidate(q[0], q[1], q[2], k, &near);
        real until = sweep_proof(kind, frame, near.n, time);
        if (until > best) {
            best = until;
            *n = near.n;
        }
    }
    return best;
}

/* The search of sweep_pair() without its first look. */
static inline int sweep_march(int kind, const sweep_frame *frame, const sweep_limits *limits,
                              sweep_answer *answer) {
    sweep_near near;
    sweep_volume volume;
    volume.b[0] = volume.b[1] = volume.b[2] = volume.b[3] = volume.bound = REAL(0.0);
    volume.ready = 0;
    real time = REAL(0.0);
    vec3 last = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    int step = 0, hit = 1;
    while (hit) {
        step++;
        sweep_near_at(kind, frame, time, &near);
        if (!(near.distance > frame->separation + frame->tolerance) || step >= limits->steps)
            break;
        real until = sweep_proof(kind, frame, near.n, time);
        if (near.inside && step > 1 && until <= REAL(1.0)) {
            if (!volume.ready)
                sweep_volume_of(kind, frame, &volume);
            until = real_max(until, sweep_volume_proof(&volume, time));
        } else if (step > 3 && until <= REAL(1.0)) {
            until = real_max(until, sweep_turning_proof(kind, frame, &near, time));
        }
        if (!(until > time)) {
            until = sweep_rescue(kind, frame, time, &near.n);
            if (!(until > time))
                break;
        }
        last = near.n;
        time = until;
        hit = !(time > limits->latest);
    }
    answer->time = hit ? time : REAL(2.0);
    answer->normal = v3_normalise(v3_max_abs(last) > REAL(0.0) ? last : near.n);
    answer->steps = step;
    for (int k = 0; k < 3; k++)
        answer->weights[k] = near.weights[k];
    return hit;
}

/* Whether the direction of the closest points at this time proves the whole step. */
static inline int sweep_proven_by(int kind, const sweep_frame *frame, real time) {
    sweep_near near;
    sweep_near_at(kind, frame, time, &near);
    return sweep_proof(kind, frame, near.n, REAL(0.0)) > REAL(1.0);
}

/* 1 = hit, 0 = free. The time of a hit does not depend on `latest`. */
static inline int sweep_pair(int kind, const vec3 *start, const vec3 *end,
                             const sweep_limits *limits, sweep_answer *answer) {
    sweep_frame frame;
    sweep_frame_of(kind, start, end, limits, &frame);
    /* most pairs are free, and most of these all along the direction halfway */
    if (!sweep_proven_by(kind, &frame, REAL(0.5)))
        return sweep_march(kind, &frame, limits, answer);
    answer->time = REAL(2.0);
    answer->normal = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    answer->steps = 0;
    for (int k = 0; k < 3; k++)
        answer->weights[k] = REAL(0.0);
    return 0;
}

#endif
#endif
