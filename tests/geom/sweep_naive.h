/* Elementary sweeps as they are usually implemented, for comparison.
 *
 * Both search for roots of the volume of the four vertices, a cubic in time, in plain doubles,
 * and then test whether the features overlap there (Provot 1997). They differ in the root
 * search: by the closed formula, or by an interval Newton search, as in Cheng 2011, section 5.6,
 * and [TCYM09]. Neither handles rounding, a cubic that is zero throughout, or double roots: they
 * miss contacts. */
#ifndef ABUT_TESTS_SWEEP_NAIVE_H
#define ABUT_TESTS_SWEEP_NAIVE_H

#include <abut/base.h>

#include <math.h>

typedef struct naive_vector {
    double x, y, z;
} naive_vector;

static inline naive_vector naive_from(abut_vec3 a, abut_vec3 b) {
    naive_vector r = {b.x - a.x, b.y - a.y, b.z - a.z};
    return r;
}
static inline naive_vector naive_cross(naive_vector a, naive_vector b) {
    naive_vector r = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return r;
}
static inline double naive_dot(naive_vector a, naive_vector b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline double naive_volume(naive_vector a, naive_vector b, naive_vector c) {
    return naive_dot(naive_cross(a, b), c);
}

/* The volume as c[0] + c[1] t + c[2] t^2 + c[3] t^3. */
static inline void naive_cubic(int kind, const abut_vec3 *start, const abut_vec3 *end, double *c) {
    static const int ends[2][3][2] = {{{1, 2}, {1, 3}, {1, 0}}, {{0, 1}, {2, 3}, {0, 2}}};
    naive_vector p[3], v[3];
    for (int k = 0; k < 3; k++) {
        int from = ends[kind - 1][k][0], to = ends[kind - 1][k][1];
        naive_vector q = naive_from(end[from], end[to]);
        p[k] = naive_from(start[from], start[to]);
        v[k].x = q.x - p[k].x;
        v[k].y = q.y - p[k].y;
        v[k].z = q.z - p[k].z;
    }
    c[0] = naive_volume(p[0], p[1], p[2]);
    c[1] = naive_volume(v[0], p[1], p[2]) + naive_volume(p[0], v[1], p[2]) +
           naive_volume(p[0], p[1], v[2]);
    c[2] = naive_volume(p[0], v[1], v[2]) + naive_volume(v[0], p[1], v[2]) +
           naive_volume(v[0], v[1], p[2]);
    c[3] = naive_volume(v[0], v[1], v[2]);
}

/* Returns whether coplanar features touch at a time. */
static inline bool naive_inside(int kind, const abut_vec3 *start, const abut_vec3 *end, double t) {
    abut_vec3 p[4];
    for (int k = 0; k < 4; k++) {
        p[k].x = start[k].x + t * (end[k].x - start[k].x);
        p[k].y = start[k].y + t * (end[k].y - start[k].y);
        p[k].z = start[k].z + t * (end[k].z - start[k].z);
    }
    naive_vector u = naive_from(p[kind == 1 ? 1 : 0], p[kind == 1 ? 2 : 1]);
    naive_vector w = naive_from(p[kind == 1 ? 1 : 2], p[3]);
    naive_vector r = naive_from(p[kind == 1 ? 1 : 0], p[kind == 1 ? 0 : 2]);
    naive_vector n = naive_cross(u, w);
    double nn = naive_dot(n, n);
    double a = naive_dot(naive_cross(r, w), n), b = naive_dot(naive_cross(u, r), n);
    if (kind == 1)
        return nn > 0 && a >= 0 && b >= 0 && a + b <= nn;
    b = naive_dot(naive_cross(r, u), n);
    return nn > 0 && a >= 0 && a <= nn && b >= 0 && b <= nn;
}

/* The real roots, by the formulas of Cardano and Vieta. */
static inline int naive_roots(const double *c, double *t) {
    if (c[3] == 0) {
        if (c[2] == 0) {
            t[0] = -c[0] / c[1];
            return c[1] != 0;
        }
        double d = c[1] * c[1] - 4 * c[2] * c[0];
        if (d < 0)
            return 0;
        double q = -0.5 * (c[1] + copysign(sqrt(d), c[1]));
        t[0] = q / c[2];
        t[1] = q != 0 ? c[0] / q : t[0];
        return 2;
    }
    double a = c[2] / c[3], b = c[1] / c[3], k = c[0] / c[3];
    double q = (a * a - 3 * b) / 9, r = (2 * a * a * a - 9 * a * b + 27 * k) / 54;
    if (r * r < q * q * q) {
        double angle = acos(r / sqrt(q * q * q)), turn = 2.0943951023931953, s = -2 * sqrt(q);
        for (int i = 0; i < 3; i++)
            t[i] = s * cos(angle / 3 + (i - 1) * turn) - a / 3;
        return 3;
    }
    double s = -copysign(cbrt(fabs(r) + sqrt(r * r - q * q * q)), r);
    t[0] = s + (s != 0 ? q / s : 0) - a / 3;
    return 1;
}

static inline bool naive_sweep_cubic(int kind, const abut_vec3 *start, const abut_vec3 *end) {
    double c[4], t[3];
    naive_cubic(kind, start, end, c);
    int count = naive_roots(c, t);
    for (int i = 0; i < count; i++)
        if (t[i] >= 0 && t[i] <= 1 && naive_inside(kind, start, end, t[i]))
            return true;
    return false;
}

typedef struct naive_range {
    double lo, hi;
} naive_range;

/* The derivative over an interval: a quadratic, at the ends and at its vertex. */
static inline naive_range naive_slope(const double *c, naive_range x) {
    double at[3], low = c[1] + x.lo * (2 * c[2] + 3 * c[3] * x.lo);
    at[0] = c[1] + x.hi * (2 * c[2] + 3 * c[3] * x.hi);
    double vertex = c[3] != 0 ? -c[2] / (3 * c[3]) : x.lo;
    at[1] = vertex > x.lo && vertex < x.hi ? c[1] + vertex * (2 * c[2] + 3 * c[3] * vertex) : low;
    naive_range r = {fmin(low, fmin(at[0], at[1])), fmax(low, fmax(at[0], at[1]))};
    return r;
}

/* Narrows an interval by N(X) = m - f(m) / F'(X), and halves it if that does not help. A cubic
 * that is zero throughout would be halved forever, hence the limit. */
static inline bool naive_newton(int kind, const abut_vec3 *start, const abut_vec3 *end,
                                const double *c, naive_range x, int *budget) {
    while (x.hi - x.lo > 1e-10) {
        if (--*budget < 0)
            return false;
        double m = 0.5 * (x.lo + x.hi), f = c[0] + m * (c[1] + m * (c[2] + m * c[3]));
        naive_range s = naive_slope(c, x);
        if (s.lo <= 0 && s.hi >= 0) {
            double lo = c[0] + x.lo * (c[1] + x.lo * (c[2] + x.lo * c[3]));
            double hi = c[0] + x.hi * (c[1] + x.hi * (c[2] + x.hi * c[3]));
            double reach = fmax(fabs(s.lo), fabs(s.hi)) * (x.hi - x.lo);
            if ((lo > 0 && hi > 0 && f > reach) || (lo < 0 && hi < 0 && f < -reach))
                return false;
            naive_range left = {x.lo, m};
            if (naive_newton(kind, start, end, c, left, budget))
                return true;
            x.lo = m;
        } else {
            double a = m - f / s.lo, b = m - f / s.hi;
            x.lo = fmax(x.lo, fmin(a, b));
            x.hi = fmin(x.hi, fmax(a, b));
        }
    }
    return x.lo <= x.hi && naive_inside(kind, start, end, 0.5 * (x.lo + x.hi));
}

static inline bool naive_sweep_newton(int kind, const abut_vec3 *start, const abut_vec3 *end) {
    double c[4];
    const naive_range all = {0, 1};
    int budget = 300;
    naive_cubic(kind, start, end, c);
    return naive_newton(kind, start, end, c, all, &budget);
}

#endif
