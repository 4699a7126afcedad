/* triangle_closest_point() of closest_shared.h for four triangles at once, bit for bit.
 *
 * Every operation is that of the routine there, in the same order, without contraction; where it
 * takes one of several ways, all are gone and one result is chosen. Two rare turns are left to the
 * routine itself: coordinates that must be scaled, and two edges that are nearest but for rounding.
 * tests/bvh compares both.
 */
#ifndef ABUTI_BVH_MEASURE_H
#define ABUTI_BVH_MEASURE_H

#include "base/simd.h"
#include "geom/closest_shared.h"

#ifdef ABUTI_SIMD_WIDE

typedef struct vec3d {
    d4 x, y, z;
} vec3d;

typedef struct measured {
    double distance[4], weight[3][4];
    unsigned left; /* bit k: triangle k is left to the routine */
} measured;

static inline vec3d v3d_add(vec3d a, vec3d b) {
    vec3d r = {d4_add(a.x, b.x), d4_add(a.y, b.y), d4_add(a.z, b.z)};
    return r;
}
static inline vec3d v3d_sub(vec3d a, vec3d b) {
    vec3d r = {d4_sub(a.x, b.x), d4_sub(a.y, b.y), d4_sub(a.z, b.z)};
    return r;
}
static inline vec3d v3d_along(vec3d a, d4 s, vec3d b) {
    vec3d r = {d4_add(a.x, d4_mul(s, b.x)), d4_add(a.y, d4_mul(s, b.y)),
               d4_add(a.z, d4_mul(s, b.z))};
    return r;
}
static inline vec3d v3d_blend(d4 s, vec3d a, d4 t, vec3d b) {
    vec3d r = {d4_add(d4_mul(s, a.x), d4_mul(t, b.x)), d4_add(d4_mul(s, a.y), d4_mul(t, b.y)),
               d4_add(d4_mul(s, a.z), d4_mul(t, b.z))};
    return r;
}
static inline d4 v3d_dot(vec3d a, vec3d b) {
    return d4_add(d4_add(d4_mul(a.x, b.x), d4_mul(a.y, b.y)), d4_mul(a.z, b.z));
}
static inline vec3d v3d_select(d4 mask, vec3d a, vec3d b) {
    vec3d r = {d4_select(mask, a.x, b.x), d4_select(mask, a.y, b.y), d4_select(mask, a.z, b.z)};
    return r;
}
static inline vec3d v3d_all(vec3 a) {
    vec3d r = {d4_all(a.x), d4_all(a.y), d4_all(a.z)};
    return r;
}
static inline d4 clamp_d4(d4 t) {
    return d4_min(d4_all(1), d4_max(d4_all(0), t));
}
static inline d4 square_tail_d4(d4 a, d4 square) {
    d4 big = d4_mul(d4_all(SPLITTER), a);
    d4 hi = d4_sub(big, d4_sub(big, a)), lo = d4_sub(a, hi);
    return d4_add(d4_add(d4_sub(d4_mul(hi, hi), square), d4_mul(d4_mul(d4_all(2), hi), lo)),
                  d4_mul(lo, lo));
}

static inline d4 length_precise_d4(vec3d v) {
    d4 xx = d4_mul(v.x, v.x), yy = d4_mul(v.y, v.y), zz = d4_mul(v.z, v.z);
    d4 xy = d4_add(xx, yy), y_virtual = d4_sub(xy, xx);
    d4 sum = d4_add(xy, zz), z_virtual = d4_sub(sum, xy);
    d4 tail = d4_add(d4_add(d4_sub(xx, d4_sub(xy, y_virtual)), d4_sub(yy, y_virtual)),
                     d4_add(d4_sub(xy, d4_sub(sum, z_virtual)), d4_sub(zz, z_virtual)));
    tail = d4_add(tail, d4_add(d4_add(square_tail_d4(v.x, xx), square_tail_d4(v.y, yy)),
                               square_tail_d4(v.z, zz)));
    d4 root = d4_sqrt(sum), square = d4_mul(root, root), inverse = d4_div(d4_all(0.5), sum);
    d4 rest = d4_add(d4_sub(d4_sub(sum, square), square_tail_d4(root, square)), tail);
    d4 better = d4_add(root, d4_mul(d4_mul(rest, root), inverse));
    return d4_select(d4_less(d4_all(4 * DBL_MIN), sum), better, root);
}

static inline vec3d weights_at_d4(const vec3d *corner, const vec3d *edge, const d4 *w) {
    vec3d at[3];
    for (int i = 0; i < 3; i++) {
        int next = (i + 1) % 3, last = (i + 2) % 3;
        at[i] = v3d_add(corner[i], v3d_blend(w[next], edge[i], d4_negative(w[last]), edge[last]));
    }
    d4 first = d4_and(d4_less_equal(w[1], w[0]), d4_less_equal(w[2], w[0]));
    return v3d_select(first, at[0], v3d_select(d4_less_equal(w[2], w[1]), at[1], at[2]));
}

/* Gives where the foot is inside the face; weights and offset matter only there. */
static inline d4 face_foot_d4(const vec3d *corner, const vec3d *edge, d4 *weight, vec3d *offset) {
    const d4 zero = d4_all(0), one = d4_all(1);
    vec3d a = corner[0], u = edge[0];
    vec3d v = {d4_negative(edge[2].x), d4_negative(edge[2].y), d4_negative(edge[2].z)};
    d4 uu = v3d_dot(u, u), vv = v3d_dot(v, v), per_uu = d4_div(one, uu);
    d4 k = d4_mul(v3d_dot(u, v), per_uu), s = d4_mul(d4_negative(v3d_dot(a, u)), per_uu);
    vec3d w = v3d_along(v, d4_negative(k), u), beside = v3d_along(a, s, u);
    d4 ww = v3d_dot(w, w), per_ww = d4_div(one, ww);
    d4 r = d4_mul(d4_negative(v3d_dot(beside, w)), per_ww);
    s = d4_sub(s, d4_mul(k, r));
    d4 inside =
        d4_and(d4_less(zero, uu), d4_less(d4_mul(vv, d4_all(DBL_EPSILON * DBL_EPSILON / 256)), ww));
    inside = d4_and(inside, d4_and(d4_less(zero, r), d4_less(zero, s)));
    inside = d4_and(inside, d4_less(d4_add(r, s), one));
    weight[0] = d4_sub(one, d4_add(s, r));
    weight[1] = s;
    weight[2] = r;
    if (!d4_bits(inside))
        return inside;
    vec3d near = weights_at_d4(corner, edge, weight);
    d4 more = d4_mul(v3d_dot(near, w), per_ww);
    weight[1] = d4_sub(s, d4_sub(d4_mul(v3d_dot(near, u), per_uu), d4_mul(k, more)));
    weight[2] = d4_sub(r, more);
    weight[0] = d4_sub(one, d4_add(weight[1], weight[2]));
    *offset = weights_at_d4(corner, edge, weight);
    inside = d4_and(inside, d4_less(zero, weight[0]));
    return d4_and(inside, d4_and(d4_less(zero, weight[1]), d4_less(zero, weight[2])));
}

static inline vec3d segment_at_d4(vec3d a, vec3d b, vec3d edge, d4 t) {
    d4 first = d4_less_equal(t, d4_all(0.5));
    return v3d_along(v3d_select(first, a, b), d4_select(first, t, d4_sub(t, d4_all(1))), edge);
}

/* The foot on the border; gives where that is left to the routine. */
static inline d4 border_foot_d4(const vec3d *corner, const vec3d *edge, d4 *weight, vec3d *offset) {
    const d4 zero = d4_all(0), one = d4_all(1);
    d4 best_sq = zero, left = zero;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        vec3d a = corner[i], b = corner[j], e = edge[i];
        d4 length_sq = v3d_dot(e, e), inverse = d4_div(one, length_sq);
        d4 t = clamp_d4(d4_mul(d4_negative(v3d_dot(a, e)), inverse));
        t = d4_sub(t, d4_mul(v3d_dot(segment_at_d4(a, b, e, t), e), inverse));
        t = d4_and(clamp_d4(t), d4_less(zero, length_sq)); /* 0 for a segment of no length */
        vec3d here = segment_at_d4(a, b, e, t);
        d4 square = v3d_dot(here, here);
        if (i == 0) {
            best_sq = square;
            *offset = here;
            weight[0] = d4_sub(one, t);
            weight[1] = t;
            weight[2] = zero;
            continue;
        }
        d4 same = d4_and(d4_equal(here.x, offset->x),
                         d4_and(d4_equal(here.y, offset->y), d4_equal(here.z, offset->z)));
        d4 doubt = d4_mul(d4_all(8 * DBL_EPSILON), best_sq);
        d4 close = d4_less_equal(d4_abs(d4_sub(square, best_sq)), doubt);
        left = d4_or(left, d4_select(same, zero, close));
        d4 shorter = d4_less(square, best_sq);
        best_sq = d4_select(shorter, square, best_sq);
        *offset = v3d_select(shorter, here, *offset);
        weight[k] = d4_select(shorter, zero, weight[k]);
        weight[i] = d4_select(shorter, d4_sub(one, t), weight[i]);
        weight[j] = d4_select(shorter, t, weight[j]);
    }
    return left;
}

/* Corners as in triangle3, each of four triangles. */
static inline void measure_four(const vec3d absolute[3], vec3 point, measured *out) {
    vec3d corner[3], edge[3], p = v3d_all(point), offset = p, border_offset;
    d4 largest = d4_all(0), weight[3], border[3];
    for (int i = 0; i < 3; i++) {
        corner[i] = v3d_sub(absolute[i], p);
        edge[i] = v3d_sub(absolute[(i + 1) % 3], absolute[i]);
        largest = d4_max(largest, d4_max(d4_abs(corner[i].x),
                                         d4_max(d4_abs(corner[i].y), d4_abs(corner[i].z))));
    }
    d4 usual = d4_and(d4_less_equal(d4_all(SCALE_MIN), largest),
                      d4_less_equal(largest, d4_all(SCALE_MAX)));
    unsigned left = ~d4_bits(usual) & 15;
    d4 inside = face_foot_d4(corner, edge, weight, &offset);
    if (d4_bits(inside) != 15) {
        d4 unclear = border_foot_d4(corner, edge, border, &border_offset);
        left |= d4_bits(unclear) & ~d4_bits(inside);
        offset = v3d_select(inside, offset, border_offset);
        for (int i = 0; i < 3; i++)
            weight[i] = d4_select(inside, weight[i], border[i]);
    }
    d4_store(out->distance, length_precise_d4(offset));
    for (int i = 0; i < 3; i++)
        d4_store(out->weight[i], weight[i]);
    out->left = left;
}

#endif
#endif
