/* Directions that separate two rigid bodies during an interval of time.
 *
 * Problem: a body that slides along another one at a small gap moves far, but hardly along the
 * common normal. A bound of the total motion, or of the deviation of arcs in all directions,
 * needs thousands of intervals.
 *
 * Method: a direction n rotates with one body, its base, at the angular velocity u b (b: unit
 * axis); the other body rotates at w a and moves at the velocity v relative to the base. A vertex
 * of the other body is at p from that body's origin and at y from the origin of the base. With the
 * time s from the middle of the interval, its height h = n . y has the derivatives
 *     h'  = u (b x n) . y + n . (v + w a x p)
 *     h'' = u^2 (b x (b x n)) . y + 2 u (b x n) . (v + w a x p) + w^2 n . (a x (a x p))
 *     |h'''| <= |b x n| (u^3 Y + 3 u^2 (|v| + w r) + 3 u w^2 r) + |a x n| w^3 r
 * with r = |p| and Y = max |y| in the interval. So h is at least a parabola minus |h'''| |s|^3 / 6,
 * whose minimum is known. Heights of vertices of the base are constant.
 *
 * All terms with a rotation vanish for rotations about n: a body that spins on a floor is as simple
 * as one that slides. For one that rolls, intervals are proportional to the cube root of the gap.
 *
 * Guarantee: conservative, if `gap` includes the rounding errors of heights. */
#ifndef ABUTI_SWEEP_RIGID_DIRECTION_H
#define ABUTI_SWEEP_RIGID_DIRECTION_H

#include "base/math_shared.h"

/* An interval of time and the motion of body 0 relative to body 1 in it. */
typedef struct sweep_interval {
    double half;     /* half of its length */
    vec3 apart, way; /* in its middle: from the origin of body 1 to that of body 0, and velocity */
    double speed;    /* of that velocity */
    vec3 axis[2];    /* of rotation; unit, or any if the angle is 0 */
    double angle[2]; /* per unit of time */
} sweep_interval;

typedef struct sweep_direction {
    int base; /* body with which it rotates */
    vec3 n;   /* in the middle of the interval; any length */
    double length;
    vec3 slope_y, slope_p, bend_y, bend_p; /* h' = slope + slope_y . y + slope_p . p, and so on */
    double slope, bend, base_spin, other_spin; /* |b x n|, |a x n| */
} sweep_direction;

/* Prepares a direction that rotates with a body. */
static inline sweep_direction sweep_direction_of(const sweep_interval *i, int base, vec3 n) {
    const double u = i->angle[base], w = i->angle[!base];
    const vec3 v = base ? i->way : v3_scale(i->way, -1), zero = v3(0, 0, 0);
    sweep_direction d = {base, n, v3_length(n), zero, zero, zero, zero, v3_dot(n, v), 0, 0, 0};
    if (w > 0) {
        const vec3 turn = v3_cross(n, i->axis[!base]);
        d.slope_p = v3_scale(turn, w);
        d.bend_p = v3_scale(v3_cross(turn, i->axis[!base]), w * w);
        d.other_spin = v3_length(turn);
    }
    if (u > 0) {
        const vec3 turn = v3_cross(i->axis[base], n);
        d.slope_y = v3_scale(turn, u);
        d.bend_y = v3_scale(v3_cross(i->axis[base], turn), u * u);
        d.bend_p = v3_along(d.bend_p, 2 * u * w, v3_cross(turn, i->axis[!base]));
        d.bend = 2 * u * v3_dot(turn, v);
        d.base_spin = v3_length(turn);
    }
    return d;
}

/* The minimum of c + b s + a s^2 / 2 for |s| <= half. */
static inline double sweep_parabola_min(double c, double b, double a, double half) {
    const double slope = real_abs(b);
    return a * half > slope ? c - 0.5 * slope * slope / a
                            : c - slope * half + 0.5 * a * half * half;
}

/* Lower bound of the height of a vertex of the other body during the interval, minus `highest`, the
 * largest height of the base; both times `sign`. The positions are those in the middle. */
static inline double sweep_direction_gap(const sweep_interval *i, const sweep_direction *d,
                                         double sign, vec3 at, double highest) {
    const double u = i->angle[d->base], w = i->angle[!d->base], half = i->half;
    const vec3 y = d->base ? at : v3_sub(at, i->apart), p = d->base ? v3_sub(at, i->apart) : at;
    const double height = sign * v3_dot(d->n, y) - highest;
    double slope = d->slope, bend = d->bend, third = 0;
    if (w > 0) {
        slope += v3_dot(d->slope_p, p);
        bend += v3_dot(d->bend_p, p);
    }
    if (u > 0) {
        slope += v3_dot(d->slope_y, y);
        bend += v3_dot(d->bend_y, y);
    }
    if (w > 0 || u > 0) {
        const double r = v3_length(p), speed = i->speed + w * r, far = v3_length(y) + speed * half;
        third = d->base_spin * (u * u * u * far + 3 * u * u * speed + 3 * u * w * w * r) +
                d->other_spin * w * w * w * r;
    }
    return sweep_parabola_min(height, sign * slope, sign * bend, half) -
           third * half * half * half / 6;
}

/* The height of a vertex of the base. */
static inline double sweep_direction_height(const sweep_interval *i, const sweep_direction *d,
                                            vec3 at) {
    return v3_dot(d->n, d->base ? at : v3_sub(at, i->apart));
}

/* The gap of two triangles along a direction at one time, times its length. `apart`: roughly from
 * the second to the first. */
static inline double sweep_direction_gap_now(vec3 n, vec3 apart, const vec3 a[3], const vec3 b[3]) {
    const double p[3] = {v3_dot(n, a[0]), v3_dot(n, a[1]), v3_dot(n, a[2])},
                 q[3] = {v3_dot(n, b[0]), v3_dot(n, b[1]), v3_dot(n, b[2])};
    if (v3_dot(n, apart) < 0)
        return real_min(q[0], real_min(q[1], q[2])) - real_max(p[0], real_max(p[1], p[2]));
    return real_min(p[0], real_min(p[1], p[2])) - real_max(q[0], real_max(q[1], q[2]));
}

/* Whether a direction keeps two triangles, with these corners in the middle of the interval,
 * farther apart than `enough` in all of it; if so, sets their gap in the middle. `apart`: roughly
 * from the triangle of body 1 to that of body 0. */
static inline bool sweep_direction_separates(const sweep_interval *i, const sweep_direction *d,
                                             vec3 apart, const vec3 at_0[3], const vec3 at_1[3],
                                             double enough, double *gap) {
    const vec3 *base = d->base ? at_1 : at_0, *other = d->base ? at_0 : at_1;
    const double sign = (v3_dot(d->n, apart) < 0) == (d->base == 1) ? -1 : 1,
                 limit = enough * d->length * (1 + 0x1p-40);
    double highest = -REAL_MAX, lowest = REAL_MAX;
    for (int k = 0; k < 3; k++) {
        highest = real_max(highest, sign * sweep_direction_height(i, d, base[k]));
        lowest = real_min(lowest, sign * sweep_direction_height(i, d, other[k]));
    }
    if (!(lowest - highest > limit))
        return false;
    for (int k = 0; k < 3; k++)
        if (!(sweep_direction_gap(i, d, sign, other[k], highest) > limit))
            return false;
    *gap = (lowest - highest) / d->length;
    return true;
}

#endif
