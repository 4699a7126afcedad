/* Distances and plane sides of triangles in floats: four pairs at once in C, one in OpenCL C, where
 * work-items are the lanes. Both have the same operations in the same order. closest_pair.c and
 * intersect_lanes.c state the purpose and the errors. C includes base/simd.h before. */
#ifndef ABUTI_PAIR_TRIANGLES_SHARED_H
#define ABUTI_PAIR_TRIANGLES_SHARED_H

#include "base/math_shared.h"

/* Covers the rounding of a few products and sums. */
#define ROUNDING_FACTOR (1.0f + 0x1p-20f)
/* Lengths with a smaller square count as 0. */
#define LENGTH_SQ_MIN 1e-30f
/* Gaps times a length below this: the square of the length may have underflowed. */
#define GAP_UNDERFLOW 1e-20f

#ifdef __OPENCL_C_VERSION__
typedef float wide;
typedef bool wide_mask;
#define wide_all(x) ((float)(x))
#define wide_add(a, b) ((a) + (b))
#define wide_sub(a, b) ((a) - (b))
#define wide_mul(a, b) ((a) * (b))
#define wide_div(a, b) ((a) / (b))
#define wide_sqrt(a) sqrt(a)
#define wide_abs(a) fabs(a)
#define wide_min(a, b) fmin(a, b)
#define wide_max(a, b) fmax(a, b)
#define wide_less(a, b) ((a) < (b))
#define wide_and(a, b) ((a) && (b))
#define wide_select(mask, a, b) ((mask) ? (a) : (b))
#else
typedef f4 wide;
typedef m4 wide_mask;
#define wide_all f4_all
#define wide_add f4_add
#define wide_sub f4_sub
#define wide_mul f4_mul
#define wide_div f4_div
#define wide_sqrt f4_sqrt
#define wide_abs f4_abs
#define wide_min f4_min
#define wide_max f4_max
#define wide_less f4_less
#define wide_and m4_and
#define wide_select f4_select
#endif

typedef struct wide3 {
    wide x, y, z;
} wide3;

static inline wide3 make3(wide x, wide y, wide z) {
    wide3 r = {x, y, z};
    return r;
}
static inline wide3 add3(wide3 a, wide3 b) {
    return make3(wide_add(a.x, b.x), wide_add(a.y, b.y), wide_add(a.z, b.z));
}
static inline wide3 sub3(wide3 a, wide3 b) {
    return make3(wide_sub(a.x, b.x), wide_sub(a.y, b.y), wide_sub(a.z, b.z));
}
static inline wide3 min3(wide3 a, wide3 b) {
    return make3(wide_min(a.x, b.x), wide_min(a.y, b.y), wide_min(a.z, b.z));
}
static inline wide3 max3(wide3 a, wide3 b) {
    return make3(wide_max(a.x, b.x), wide_max(a.y, b.y), wide_max(a.z, b.z));
}
/* a + s b and a - s b */
static inline wide3 add_scaled3(wide3 a, wide s, wide3 b) {
    return make3(wide_add(a.x, wide_mul(s, b.x)), wide_add(a.y, wide_mul(s, b.y)),
                 wide_add(a.z, wide_mul(s, b.z)));
}
static inline wide3 sub_scaled3(wide3 a, wide s, wide3 b) {
    return make3(wide_sub(a.x, wide_mul(s, b.x)), wide_sub(a.y, wide_mul(s, b.y)),
                 wide_sub(a.z, wide_mul(s, b.z)));
}
static inline wide3 cross3(wide3 a, wide3 b) {
    return make3(wide_sub(wide_mul(a.y, b.z), wide_mul(a.z, b.y)),
                 wide_sub(wide_mul(a.z, b.x), wide_mul(a.x, b.z)),
                 wide_sub(wide_mul(a.x, b.y), wide_mul(a.y, b.x)));
}
static inline wide dot3(wide3 a, wide3 b) {
    return wide_add(wide_add(wide_mul(a.x, b.x), wide_mul(a.y, b.y)), wide_mul(a.z, b.z));
}
static inline wide length3(wide3 a) {
    return wide_sqrt(dot3(a, a));
}
/* The sum of magnitudes. */
static inline wide sum3(wide3 a) {
    return wide_add(wide_add(wide_abs(a.x), wide_abs(a.y)), wide_abs(a.z));
}
static inline wide largest3(wide3 a) {
    return wide_max(wide_max(wide_abs(a.x), wide_abs(a.y)), wide_abs(a.z));
}

/* The ends of the projection of a triangle on n. */
static inline wide project_min3(wide3 n, const wide3 *corner) {
    return wide_min(wide_min(dot3(n, corner[0]), dot3(n, corner[1])), dot3(n, corner[2]));
}
static inline wide project_max3(wide3 n, const wide3 *corner) {
    return wide_max(wide_max(dot3(n, corner[0]), dot3(n, corner[1])), dot3(n, corner[2]));
}

/* ---- plane sides ---- */

/* The plane of edges e1 and e2 of a triangle whose corners have an error of at most `error` on each
 * axis. */
typedef struct wide_plane {
    wide3 n;
    wide n_error, slope, error;
} wide_plane;

static inline wide_plane plane_of(wide3 e1, wide3 e2, wide error) {
    wide_plane p;
    p.n = cross3(e1, e2);
    p.n_error = wide_mul(wide_all(2), sum3(p.n));
    p.slope = wide_add(wide_mul(wide_all(4), wide_add(largest3(e1), largest3(e2))),
                       wide_mul(wide_all(8), error));
    p.error = error;
    return p;
}

/* The error bound of n . w for a vector w whose 1-norm is at most `reach`. */
static inline wide plane_bound(const wide_plane *p, wide reach) {
    wide beyond = wide_add(reach, wide_mul(wide_all(6), p->error));
    return wide_mul(p->error, wide_add(p->n_error, wide_mul(p->slope, beyond)));
}

/* ---- distances ---- */

/* A triangle with precomputed terms of distances. */
typedef struct wide_triangle {
    wide3 corner[3], edge[3]; /* edge k begins at corner k */
    wide per_edge_sq[3];
    wide3 w; /* the part of the last edge, reversed, that is orthogonal to the first */
    wide k, per_ww;
    wide_mask has_face; /* it is not degenerate */
} wide_triangle;

static inline wide inverse_or_zero(wide square) {
    return wide_div(wide_all(1), wide_max(square, wide_all(LENGTH_SQ_MIN)));
}
static inline wide unit_clamp(wide t) {
    return wide_min(wide_max(t, wide_all(0)), wide_all(1));
}

static inline void triangle_prepare(wide_triangle *t) {
    for (int i = 0; i < 3; i++) {
        t->edge[i] = sub3(t->corner[i == 2 ? 0 : i + 1], t->corner[i]);
        t->per_edge_sq[i] = inverse_or_zero(dot3(t->edge[i], t->edge[i]));
    }
    wide3 v = sub3(t->corner[2], t->corner[0]);
    t->k = wide_mul(dot3(t->edge[0], v), t->per_edge_sq[0]);
    t->w = sub_scaled3(v, t->k, t->edge[0]);
    wide ww = dot3(t->w, t->w);
    t->per_ww = inverse_or_zero(ww);
    t->has_face = wide_less(wide_all(LENGTH_SQ_MIN), ww);
}

/* The squared distance of p to the face of t if its foot is inside, otherwise `other`. */
static inline wide face_distance_sq(const wide_triangle *t, wide3 p, wide other) {
    wide zero = wide_all(0), one = wide_all(1);
    wide3 from = sub3(p, t->corner[0]);
    wide s = wide_mul(dot3(from, t->edge[0]), t->per_edge_sq[0]);
    wide3 orthogonal = sub_scaled3(from, s, t->edge[0]);
    wide r = wide_mul(dot3(orthogonal, t->w), t->per_ww), along = wide_sub(s, wide_mul(t->k, r));
    wide3 rest = sub_scaled3(orthogonal, r, t->w);
    wide_mask inside = wide_and(wide_and(wide_less(zero, r), wide_less(zero, along)),
                                wide_and(wide_less(wide_add(r, along), one), t->has_face));
    return wide_min(other, wide_select(inside, dot3(rest, rest), other));
}

/* The squared distance of edge i of a and edge j of b. The common perpendicular of both lines gives
 * a point on the edge of b; then its foot on the edge of a, and the foot of that on the edge of b.
 */
static inline wide edge_distance_sq(const wide_triangle *a, int i, const wide_triangle *b, int j) {
    wide3 u = a->edge[i], v = b->edge[j], gap = sub3(b->corner[j], a->corner[i]);
    wide zero = wide_all(0);
    wide k = wide_mul(dot3(u, v), a->per_edge_sq[i]);
    wide foot = wide_mul(dot3(gap, u), a->per_edge_sq[i]);
    wide3 w = sub_scaled3(v, k, u), orthogonal = sub_scaled3(gap, foot, u);
    wide t = wide_div(dot3(orthogonal, w), wide_max(dot3(w, w), wide_all(LENGTH_SQ_MIN)));
    t = unit_clamp(wide_sub(zero, t));
    wide s = unit_clamp(wide_add(foot, wide_mul(k, t)));
    wide3 from = sub_scaled3(gap, s, u);
    t = unit_clamp(wide_sub(zero, wide_mul(dot3(from, v), b->per_edge_sq[j])));
    wide3 rest = add_scaled3(from, t, v);
    return wide_min(dot3(rest, rest), wide_all(FLT_MAX));
}

/* The squared distance of triangles that do not intersect, both prepared. */
static inline wide triangle_distance_sq(const wide_triangle *a, const wide_triangle *b) {
    wide nearest = wide_all(FLT_MAX);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            nearest = wide_min(nearest, edge_distance_sq(a, i, b, j));
    for (int i = 0; i < 3; i++) {
        nearest = face_distance_sq(a, b->corner[i], nearest);
        nearest = face_distance_sq(b, a->corner[i], nearest);
    }
    return nearest;
}

/* The gap between two triangles along the line between their centres, times `length`, which is
 * three times the distance of the centres. */
static inline wide triangles_gap(const wide3 *a, const wide3 *b, wide *length) {
    wide3 n = sub3(add3(add3(b[0], b[1]), b[2]), add3(add3(a[0], a[1]), a[2]));
    *length = length3(n);
    return wide_sub(project_min3(n, b), project_max3(n, a));
}

#endif
