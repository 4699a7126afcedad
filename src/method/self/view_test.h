/* The view test of one triangle; sets.c has the proof and the bound on rounding. */
#ifndef ABUTI_SELF_VIEW_TEST_H
#define ABUTI_SELF_VIEW_TEST_H

#include "base/math_shared.h"

/* The set of a triangle as a bit: 1 << abut_self_set. */
enum { SET_P = 1, SET_N = 2, SET_Z = 4, SET_V = 8 };

#define VIEW_FACTOR (128 * REAL_EPSILON) /* 256 u */
#define VIEW_SMALLEST 1e-290
/* Margins of positions along the line: far above their rounding errors. The second is for vertices
 * that are many line lengths away. */
#define VIEW_MARGIN 1e-9
#define VIEW_FAR_MARGIN 1e-12

/* The view primitive during a step. */
typedef struct view_primitive {
    vec3 start[2], end[2];
    vec3 along_start, along_end; /* L */
    real shares[3];              /* 1 / the Bernstein coefficients of L.L */
    real inverse;                /* of the length of L, approximately */
    real slack;                  /* Q */
    int by_line;
    int turns; /* the line rotates too much to bound the visible range */
} view_primitive;

/* The points of the line from which a triangle has to be tested. */
typedef struct view_checks {
    vec3 start[2], end[2];
    int count;
    real slack;
} view_checks;

static inline vec3 view_place(const vec3 *ends, vec3 along, real s) {
    return s <= 0 ? ends[0] : s >= 1 ? ends[1] : v3_along(ends[0], s, along);
}

static inline view_checks view_checks_of(const view_primitive *primitive, real lo, real hi) {
    view_checks c;
    c.count = lo == hi ? 1 : 2;
    c.slack = (lo > 0 && lo < 1) || (hi > 0 && hi < 1) ? primitive->slack : 0;
    for (int k = 0; k < 2; k++) {
        c.start[k] = view_place(primitive->start, primitive->along_start, k ? hi : lo);
        c.end[k] = view_place(primitive->end, primitive->along_end, k ? hi : lo);
    }
    return c;
}

static inline view_checks view_point_checks(const view_primitive *primitive) {
    view_checks c;
    c.count = 1;
    c.slack = 0;
    c.start[0] = c.start[1] = v3_lerp(primitive->start[0], primitive->start[1], 0.5);
    c.end[0] = c.end[1] = v3_lerp(primitive->end[0], primitive->end[1], 0.5);
    return c;
}

/* The range of positions on the line nearest to a vertex during the whole step. Returns the region
 * as in abut_self_result, -1 if the line rotates too much. */
static inline int view_along(const view_primitive *primitive, vec3 start, vec3 end, real along[2]) {
    along[0] = 0;
    along[1] = 1;
    if (primitive->turns)
        return -1;
    vec3 a = v3_sub(start, primitive->start[0]), e = v3_sub(end, primitive->end[0]);
    real u0 = v3_dot(a, primitive->along_start) * primitive->shares[0];
    real u2 = v3_dot(e, primitive->along_end) * primitive->shares[2];
    real mixed = 0.5 * (v3_dot(a, primitive->along_end) + v3_dot(e, primitive->along_start));
    real u1 = mixed * primitive->shares[1];
    real lo = real_min(u0, real_min(u1, u2)), hi = real_max(u0, real_max(u1, u2));
    real far = v3_max_abs(a) + v3_max_abs(e);
    real margin = VIEW_MARGIN + VIEW_FAR_MARGIN * primitive->inverse * far;
    along[0] = real_clamp(lo - margin, 0, 1);
    along[1] = real_clamp(hi + margin, 0, 1);
    int from = u0 < 0 ? 0 : u0 > 1 ? 1 : 2, to = u2 < 0 ? 0 : u2 > 1 ? 1 : 2;
    return from == to ? from : from == 1 || to == 1 ? 4 : 3;
}

/* The set P, N or Z of a triangle. */
static inline unsigned view_set_of(const vec3 start[3], const vec3 end[3], const view_checks *c) {
    vec3 ba = v3_sub(start[1], start[0]), ca = v3_sub(start[2], start[0]);
    vec3 be = v3_sub(end[1], end[0]), ce = v3_sub(end[2], end[0]);
    vec3 n0 = v3_cross(ba, ca), n2 = v3_cross(be, ce);
    vec3 n1 = v3_add(v3_cross(ba, ce), v3_cross(be, ca));
    real sides = real_max(v3_max_abs(ba), v3_max_abs(be));
    sides *= real_max(v3_max_abs(ca), v3_max_abs(ce));
    unsigned sets = SET_P | SET_N;
    for (int i = 0; i < c->count; i++) {
        vec3 ra = v3_sub(start[0], c->start[i]), re = v3_sub(end[0], c->end[i]);
        real size = (real_max(v3_max_abs(ra), v3_max_abs(re)) + c->slack) * sides;
        real bound = size * VIEW_FACTOR;
        real b0 = v3_dot(ra, n0), b1 = v3_dot(ra, n1) + v3_dot(re, n0);
        real b2 = v3_dot(re, n1) + v3_dot(ra, n2), b3 = v3_dot(re, n2);
        bool sure = size > VIEW_SMALLEST && sides > VIEW_SMALLEST;
        if (!(sure && b0 > bound && b1 > bound && b2 > bound && b3 > bound))
            sets &= ~(unsigned)SET_P;
        if (!(sure && b0 < -bound && b1 < -bound && b2 < -bound && b3 < -bound))
            sets &= ~(unsigned)SET_N;
    }
    return sets ? sets : SET_Z;
}

#endif
