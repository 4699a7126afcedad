/* Distances and sides of triangles in floats, four pairs of them in C and one in OpenCL C, where
 * work-items are the lanes: the same operations in the same order. closest_pair.c and intersect.c
 * say what they are good for and by how much they err. C includes base/simd.h before. */
#ifndef ABUTI_PAIR_TRIANGLES_SHARED_H
#define ABUTI_PAIR_TRIANGLES_SHARED_H

#include "base/math_shared.h"

/* Products and sums of a few roundings. */
#define SLACK (1.0f + 0x1p-20f)
/* Squares below this are no lengths. */
#define TINY 1e-30f
/* Gaps times a length, below which the square of the length may underflow. */
#define GAP_UNKNOWN 1e-20f

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
static inline wide3 least3(wide3 a, wide3 b) {
    return make3(wide_min(a.x, b.x), wide_min(a.y, b.y), wide_min(a.z, b.z));
}
static inline wide3 most3(wide3 a, wide3 b) {
    return make3(wide_max(a.x, b.x), wide_max(a.y, b.y), wide_max(a.z, b.z));
}
/* a + s b and a - s b */
static inline wide3 along3(wide3 a, wide s, wide3 b) {
    return make3(wide_add(a.x, wide_mul(s, b.x)), wide_add(a.y, wide_mul(s, b.y)),
                 wide_add(a.z, wide_mul(s, b.z)));
}
static inline wide3 less3(wide3 a, wide s, wide3 b) {
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
/* Of magnitudes. */
static inline wide sum3(wide3 a) {
    return wide_add(wide_add(wide_abs(a.x), wide_abs(a.y)), wide_abs(a.z));
}
static inline wide largest3(wide3 a) {
    return wide_max(wide_max(wide_abs(a.x), wide_abs(a.y)), wide_abs(a.z));
}

/* The ends of a triangle's shadow on n. */
static inline wide lowest3(wide3 n, const wide3 *corner) {
    return wide_min(wide_min(dot3(n, corner[0]), dot3(n, corner[1])), dot3(n, corner[2]));
}
static inline wide highest3(wide3 n, const wide3 *corner) {
    return wide_max(wide_max(dot3(n, corner[0]), dot3(n, corner[1])), dot3(n, corner[2]));
}

/* ---- sides ---- */

/* The plane of edges e1 and e2, of corners that are off by at most `doubt` on each axis. */
typedef struct wide_plane {
    wide3 n;
    wide n_doubt, slope, doubt;
} wide_plane;

static inline wide_plane plane_of(wide3 e1, wide3 e2, wide doubt) {
    wide_plane p;
    p.n = cross3(e1, e2);
    p.n_doubt = wide_mul(wide_all(2), sum3(p.n));
    p.slope = wide_add(wide_mul(wide_all(4), wide_add(largest3(e1), largest3(e2))),
                       wide_mul(wide_all(8), doubt));
    p.doubt = doubt;
    return p;
}

/* By how much n . w is wrong at most, for w whose magnitudes add up to `reach`. */
static inline wide plane_bound(const wide_plane *p, wide reach) {
    wide beyond = wide_add(reach, wide_mul(wide_all(6), p->doubt));
    return wide_mul(p->doubt, wide_add(p->n_doubt, wide_mul(p->slope, beyond)));
}

/* ---- distances ---- */

/* A triangle with what distances need again and again. */
typedef struct wide_triangle {
    wide3 corner[3], edge[3]; /* edge k from corner k on */
    wide per_edge_sq[3];
    wide3 w; /* the part of the last edge, turned round, that is orthogonal to the first */
    wide k, per_ww;
    wide_mask flat; /* it has a face */
} wide_triangle;

static inline wide inverse_of(wide square) {
    return wide_div(wide_all(1), wide_max(square, wide_all(TINY)));
}
static inline wide unit_clamp(wide t) {
    return wide_min(wide_max(t, wide_all(0)), wide_all(1));
}

static inline void triangle_prepare(wide_triangle *t) {
    for (int i = 0; i < 3; i++) {
        t->edge[i] = sub3(t->corner[i == 2 ? 0 : i + 1], t->corner[i]);
        t->per_edge_sq[i] = inverse_of(dot3(t->edge[i], t->edge[i]));
    }
    wide3 v = sub3(t->corner[2], t->corner[0]);
    t->k = wide_mul(dot3(t->edge[0], v), t->per_edge_sq[0]);
    t->w = less3(v, t->k, t->edge[0]);
    wide ww = dot3(t->w, t->w);
    t->per_ww = inverse_of(ww);
    t->flat = wide_less(wide_all(TINY), ww);
}

/* Squared distance of p to the face of t where its foot is inside, else `other`. */
static inline wide over_face_sq(const wide_triangle *t, wide3 p, wide other) {
    wide zero = wide_all(0), one = wide_all(1);
    wide3 from = sub3(p, t->corner[0]);
    wide s = wide_mul(dot3(from, t->edge[0]), t->per_edge_sq[0]);
    wide3 beside = less3(from, s, t->edge[0]);
    wide r = wide_mul(dot3(beside, t->w), t->per_ww), along = wide_sub(s, wide_mul(t->k, r));
    wide3 rest = less3(beside, r, t->w);
    wide_mask inside = wide_and(wide_and(wide_less(zero, r), wide_less(zero, along)),
                                wide_and(wide_less(wide_add(r, along), one), t->flat));
    return wide_min(other, wide_select(inside, dot3(rest, rest), other));
}

/* Squared distance of edge i of a and edge j of b. First the perpendicular of both lines gives a
 * place on b's edge; then its foot on a's, and the foot of that on b's again. */
static inline wide edges_sq(const wide_triangle *a, int i, const wide_triangle *b, int j) {
    wide3 u = a->edge[i], v = b->edge[j], gap = sub3(b->corner[j], a->corner[i]);
    wide zero = wide_all(0);
    wide k = wide_mul(dot3(u, v), a->per_edge_sq[i]);
    wide foot = wide_mul(dot3(gap, u), a->per_edge_sq[i]);
    wide3 w = less3(v, k, u), beside = less3(gap, foot, u);
    wide t = wide_div(dot3(beside, w), wide_max(dot3(w, w), wide_all(TINY)));
    t = unit_clamp(wide_sub(zero, t));
    wide s = unit_clamp(wide_add(foot, wide_mul(k, t)));
    wide3 from = less3(gap, s, u);
    t = unit_clamp(wide_sub(zero, wide_mul(dot3(from, v), b->per_edge_sq[j])));
    wide3 rest = along3(from, t, v);
    return wide_min(dot3(rest, rest), wide_all(FLT_MAX));
}

/* Squared distance of triangles that do not meet, both prepared. */
static inline wide triangles_sq(const wide_triangle *a, const wide_triangle *b) {
    wide least = wide_all(FLT_MAX);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            least = wide_min(least, edges_sq(a, i, b, j));
    for (int i = 0; i < 3; i++) {
        least = over_face_sq(a, b->corner[i], least);
        least = over_face_sq(b, a->corner[i], least);
    }
    return least;
}

/* The gap between two triangles along the line between their middles, times `length`, which is
 * thrice as long as that. */
static inline wide triangles_gap(const wide3 *a, const wide3 *b, wide *length) {
    wide3 n = sub3(add3(add3(b[0], b[1]), b[2]), add3(add3(a[0], a[1]), a[2]));
    *length = length3(n);
    return wide_sub(lowest3(n, b), highest3(n, a));
}

#endif
