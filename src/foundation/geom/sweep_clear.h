/* Decides in double precision whether features touch during a linear motion, if rounding errors
 * cannot change the answer. This avoids most of the integer arithmetic of sweep_exact.c.
 *
 * Method: as in sweep_exact.c, for a volume that has one sign at the start and the opposite sign at
 * the end or at some time between. Bisection finds a short interval in which the sign changes. In
 * the projection along the largest coordinate of the normal there, signs of quadratic polynomials
 * over the interval determine whether the features touch at the root. "Apart" is certain only if
 * the volume has no other root: one sign change among its coefficients (Descartes).
 *
 * Guarantee: every sign that decides exceeds its rounding error. Letters as in
 * sweep_proof_shared.h: the error of the volume is below 512 u M^3, as proven there. A quadratic is
 * a coordinate of a cross product of two vectors with errors of 4.01 u M and magnitudes of at most
 * 2.01 M. Its coefficients have errors of 57 u M^2 and magnitudes of at most 8.1 M^2. Four rounds
 * of de Casteljau's means add 4 x 3.01 u x 8.1 M^2, in total 155 u M^2. The bound is 256 u M^2.
 */
#ifndef ABUTI_GEOM_SWEEP_CLEAR_H
#define ABUTI_GEOM_SWEEP_CLEAR_H

#include "geom/sweep_shared.h"

enum { SWEEP_APART, SWEEP_TOUCHES, SWEEP_UNCLEAR };

static inline int sweep_clear_sign(double x, double bound) {
    return x > bound ? 1 : x < -bound ? -1 : 0;
}

/* The sign of a coordinate of x(t) x y(t) over an interval; 0 if it is not certain. */
static inline int sweep_side_over(const vec3 x[2], const vec3 y[2], int axis, double lo, double hi,
                                  double bound) {
    double b[3] = {v3_get(v3_cross(x[0], y[0]), axis),
                   0.5 * (v3_get(v3_cross(x[0], y[1]), axis) + v3_get(v3_cross(x[1], y[0]), axis)),
                   v3_get(v3_cross(x[1], y[1]), axis)};
    double left[2] = {(1 - lo) * b[0] + lo * b[1], (1 - lo) * b[1] + lo * b[2]};
    double right[2] = {(1 - hi) * b[0] + hi * b[1], (1 - hi) * b[1] + hi * b[2]};
    int sign = sweep_clear_sign((1 - lo) * left[0] + lo * left[1], bound);
    if (sign != sweep_clear_sign((1 - hi) * left[0] + hi * left[1], bound) ||
        sign != sweep_clear_sign((1 - hi) * right[0] + hi * right[1], bound))
        return 0;
    return sign;
}

static inline double sweep_volume_at(const sweep_volume *volume, double t) {
    const double *b = volume->b, rest = 1 - t;
    double a0 = rest * b[0] + t * b[1], a1 = rest * b[1] + t * b[2], a2 = rest * b[2] + t * b[3];
    return rest * (rest * a0 + t * a1) + t * (rest * a1 + t * a2);
}

/* The sides that decide: of the vertex relative to each edge of the face; of the ends of each edge
 * relative to the other edge. */
static inline int sweep_sides(int kind, const sweep_frame *frame, double lo, double hi) {
    vec3 e[2], d[2], v[2], w[2], f[2];
    for (int i = 0; i < 2; i++) {
        const vec3 *q = frame->q[i];
        v[i] = q[0];
        d[i] = q[2];
        e[i] = kind == SWEEP_EDGE_EDGE ? v3_sub(q[1], q[0]) : q[1];
        w[i] = kind == SWEEP_EDGE_EDGE ? v3_sub(q[2], q[0]) : v3_sub(q[0], q[1]);
        f[i] = kind == SWEEP_EDGE_EDGE ? q[1] : v3_sub(q[2], q[1]);
    }
    vec3 n = v3_abs(v3_cross(v3_lerp(e[0], e[1], lo), v3_lerp(d[0], d[1], lo)));
    int axis = n.x >= n.y && n.x >= n.z ? 0 : n.y >= n.z ? 1 : 2;
    double bound = 128 * REAL_EPSILON * frame->extent * frame->extent + REAL(0x1p-900);
    int side = sweep_side_over(e, d, axis, lo, hi, bound);
    if (!side)
        return SWEEP_UNCLEAR;
    int s[4];
    if (kind == SWEEP_EDGE_EDGE) {
        s[0] = -sweep_side_over(e, v, axis, lo, hi,
                                bound); /* of vertex 0 relative to the first edge: e x -v */
        s[1] = sweep_side_over(e, w, axis, lo, hi, bound);
        s[2] = sweep_side_over(d, v, axis, lo, hi, bound);
        s[3] = sweep_side_over(d, f, axis, lo, hi, bound);
        if (s[0] * s[1] > 0 || s[2] * s[3] > 0)
            return SWEEP_APART;
        return s[0] * s[1] < 0 && s[2] * s[3] < 0 ? SWEEP_TOUCHES : SWEEP_UNCLEAR;
    }
    s[0] = side * sweep_side_over(e, v, axis, lo, hi, bound);
    s[1] = side * sweep_side_over(f, w, axis, lo, hi, bound);
    s[2] = -side * sweep_side_over(d, v, axis, lo, hi, bound);
    if (s[0] < 0 || s[1] < 0 || s[2] < 0)
        return SWEEP_APART;
    return s[0] > 0 && s[1] > 0 && s[2] > 0 ? SWEEP_TOUCHES : SWEEP_UNCLEAR;
}

static inline int sweep_clear(int kind, const vec3 *start, const vec3 *end) {
    const sweep_limits limits = {0, 0, 1, 1};
    sweep_frame frame;
    sweep_volume volume;
    sweep_frame_of(kind, start, end, &limits, &frame);
    sweep_volume_of(kind, &frame, &volume);
    int sign[4];
    for (int k = 0; k < 4; k++)
        sign[k] = sweep_clear_sign(volume.b[k], volume.bound);
    if (!sign[0])
        return SWEEP_UNCLEAR;
    if (sign[0] == sign[1] && sign[0] == sign[2] && sign[0] == sign[3])
        return SWEEP_APART;
    double lo = 0, hi = 1;
    for (int i = 1; i < 8 && sign[3] != -sign[0]; i++) { /* the volume may change its sign twice */
        hi = 0.125 * i;
        if (sweep_clear_sign(sweep_volume_at(&volume, hi), volume.bound) == -sign[0])
            break;
        if (i == 7)
            return SWEEP_UNCLEAR;
    }
    for (int i = 0; i < 24; i++) {
        double middle = 0.5 * (lo + hi);
        int at = sweep_clear_sign(sweep_volume_at(&volume, middle), volume.bound);
        if (!at)
            break;
        if (at == sign[0])
            lo = middle;
        else
            hi = middle;
    }
    int result = sweep_sides(kind, &frame, lo, hi);
    /* with three sign changes there may be more roots; a zero may hide one */
    bool single = sign[1] * sign[2] != 0 && sign[3] == -sign[0] &&
                  !(sign[1] == sign[3] && sign[2] == sign[0]);
    return result == SWEEP_APART && !single ? SWEEP_UNCLEAR : result;
}

#endif
