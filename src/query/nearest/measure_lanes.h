/* triangle_closest_point() of closest_shared.h for several triangles at once, with the same bits.
 *
 * Every operation is that of the scalar function, in the same order, without contraction. If that
 * function branches, all branches are computed and one result is selected. Coordinates that must be
 * scaled are left to the scalar function. tests/bvh compares both.
 *
 * Four triangles at once, or eight if MEASURE_LANES is 8.
 */
#ifndef ABUTI_NEAREST_MEASURE_LANES_H
#define ABUTI_NEAREST_MEASURE_LANES_H

#include "base/simd.h"
#include "geom/closest_shared.h"

#ifdef ABUTI_SIMD_WIDE

#ifndef MEASURE_LANES
#define MEASURE_LANES 4
#endif
#if MEASURE_LANES == 8
#define DW(name) d8_##name
typedef d8 dw;
typedef n8 dw_mask;
#else
#define DW(name) d4_##name
typedef d4 dw;
typedef d4 dw_mask;
#endif

typedef struct vec3d {
    dw x, y, z;
} vec3d;

static inline vec3d v3d_all(vec3 a) {
    vec3d r = {DW(all)(a.x), DW(all)(a.y), DW(all)(a.z)};
    return r;
}
static inline vec3d v3d_add(vec3d a, vec3d b) {
    vec3d r = {DW(add)(a.x, b.x), DW(add)(a.y, b.y), DW(add)(a.z, b.z)};
    return r;
}
static inline vec3d v3d_sub(vec3d a, vec3d b) {
    vec3d r = {DW(sub)(a.x, b.x), DW(sub)(a.y, b.y), DW(sub)(a.z, b.z)};
    return r;
}
static inline dw v3d_dot(vec3d a, vec3d b) {
    return DW(add)(DW(add)(DW(mul)(a.x, b.x), DW(mul)(a.y, b.y)), DW(mul)(a.z, b.z));
}
/* a + s b */
static inline vec3d v3d_along(vec3d a, dw s, vec3d b) {
    vec3d r = {DW(add)(a.x, DW(mul)(s, b.x)), DW(add)(a.y, DW(mul)(s, b.y)),
               DW(add)(a.z, DW(mul)(s, b.z))};
    return r;
}
static inline vec3d v3d_select(dw_mask mask_, vec3d a, vec3d b) {
    vec3d r = {DW(select)(mask_, a.x, b.x), DW(select)(mask_, a.y, b.y),
               DW(select)(mask_, a.z, b.z)};
    return r;
}
static inline dw clamp_dw(dw x) {
    const dw zero = DW(all)(0), one = DW(all)(1);
    return DW(select)(DW(less)(x, zero), zero, DW(select)(DW(less)(one, x), one, x));
}

/* ---- lengths ---- */

/* As square_tail(), which is exact unless the tail underflows: see measure_end(). */
static inline dw square_tail_dw(dw a, dw square) {
    return DW(mul_sub)(a, a, square);
}

static inline dw length_dw(vec3d v) {
    dw xx = DW(mul)(v.x, v.x), yy = DW(mul)(v.y, v.y), zz = DW(mul)(v.z, v.z);
    dw xy = DW(add)(xx, yy), y_virtual = DW(sub)(xy, xx);
    dw sum = DW(add)(xy, zz), z_virtual = DW(sub)(sum, xy);
    dw tail = DW(add)(DW(add)(DW(sub)(xx, DW(sub)(xy, y_virtual)), DW(sub)(yy, y_virtual)),
                      DW(add)(DW(sub)(xy, DW(sub)(sum, z_virtual)), DW(sub)(zz, z_virtual)));
    tail = DW(add)(tail, DW(add)(DW(add)(square_tail_dw(v.x, xx), square_tail_dw(v.y, yy)),
                                 square_tail_dw(v.z, zz)));
    dw root = DW(sqrt)(sum), square = DW(mul)(root, root);
    dw inverse = DW(div)(DW(all)(0.5), sum);
    dw rest = DW(add)(DW(sub)(DW(sub)(sum, square), square_tail_dw(root, square)), tail);
    dw better = DW(add)(root, DW(mul)(DW(mul)(rest, root), inverse));
    return DW(select)(DW(less)(DW(all)(4 * DBL_MIN), sum), better, root);
}

static inline dw_mask is_shorter_dw(vec3d v, dw square, vec3d best, dw best_square) {
    dw_mask shorter = DW(less)(square, best_square);
    dw doubt = DW(mul)(DW(all)(8 * DBL_EPSILON), best_square);
    dw_mask close = DW(less_equal)(DW(abs)(DW(sub)(square, best_square)), doubt);
    dw_mask same =
        DW(and)(DW(and)(DW(equal)(v.x, best.x), DW(equal)(v.y, best.y)), DW(equal)(v.z, best.z));
    if (!(DW(bits)(close) & ~DW(bits)(same))) /* otherwise rare */
        return shorter;
    dw precise = DW(select)(DW(less)(length_dw(v), length_dw(best)), DW(all)(1), DW(all)(0));
    dw plain = DW(select)(shorter, DW(all)(1), DW(all)(0));
    plain = DW(select)(close, DW(select)(same, plain, precise), plain);
    return DW(less)(DW(all)(0.5), plain);
}

/* ---- feet ---- */

typedef struct foot_dw {
    dw weight[3];
    vec3d offset;
} foot_dw;

static inline __attribute__((always_inline)) vec3d weights_at_dw(const vec3d *corner,
                                                                 const vec3d *edge, const dw *w) {
    dw_mask first = DW(and)(DW(less_equal)(w[1], w[0]), DW(less_equal)(w[2], w[0]));
    dw_mask second = DW(less_equal)(w[2], w[1]);
    vec3d c = v3d_select(first, corner[0], v3d_select(second, corner[1], corner[2]));
    vec3d a = v3d_select(first, edge[0], v3d_select(second, edge[1], edge[2]));
    vec3d b = v3d_select(first, edge[2], v3d_select(second, edge[0], edge[1]));
    dw s = DW(select)(first, w[1], DW(select)(second, w[2], w[0]));
    dw t = DW(negative)(DW(select)(first, w[2], DW(select)(second, w[0], w[1])));
    vec3d r = {DW(add)(c.x, DW(add)(DW(mul)(s, a.x), DW(mul)(t, b.x))),
               DW(add)(c.y, DW(add)(DW(mul)(s, a.y), DW(mul)(t, b.y))),
               DW(add)(c.z, DW(add)(DW(mul)(s, a.z), DW(mul)(t, b.z)))};
    return r;
}

static inline __attribute__((always_inline)) dw_mask
face_foot_dw(const vec3d *corner, const vec3d *edge, foot_dw *foot) {
    const dw zero = DW(all)(0), one = DW(all)(1);
    vec3d a = corner[0], u = edge[0];
    vec3d v = {DW(mul)(edge[2].x, DW(all)(-1)), DW(mul)(edge[2].y, DW(all)(-1)),
               DW(mul)(edge[2].z, DW(all)(-1))};
    dw uu = v3d_dot(u, u), vv = v3d_dot(v, v);
    dw per_uu = DW(div)(one, uu);
    dw k = DW(mul)(v3d_dot(u, v), per_uu), s = DW(mul)(DW(negative)(v3d_dot(a, u)), per_uu);
    vec3d w = v3d_along(v, DW(negative)(k), u), beside = v3d_along(a, s, u);
    dw ww = v3d_dot(w, w);
    dw_mask fine = DW(and)(DW(less)(zero, uu),
                           DW(less)(DW(mul)(vv, DW(all)(DBL_EPSILON * DBL_EPSILON / 256)), ww));
    dw per_ww = DW(div)(one, ww);
    dw r = DW(mul)(DW(negative)(v3d_dot(beside, w)), per_ww);
    s = DW(sub)(s, DW(mul)(k, r));
    fine = DW(and)(fine, DW(and)(DW(less)(zero, r),
                                 DW(and)(DW(less)(zero, s), DW(less)(DW(add)(r, s), one))));
    dw *weight = foot->weight;
    weight[0] = DW(sub)(one, DW(add)(s, r));
    weight[1] = s;
    weight[2] = r;
    if (!DW(bits)(fine))
        return fine;
    vec3d near = weights_at_dw(corner, edge, weight);
    dw more = DW(mul)(v3d_dot(near, w), per_ww);
    weight[1] = DW(sub)(weight[1], DW(sub)(DW(mul)(v3d_dot(near, u), per_uu), DW(mul)(k, more)));
    weight[2] = DW(sub)(weight[2], more);
    weight[0] = DW(sub)(one, DW(add)(weight[1], weight[2]));
    foot->offset = weights_at_dw(corner, edge, weight);
    return DW(and)(fine, DW(and)(DW(less)(zero, weight[0]),
                                 DW(and)(DW(less)(zero, weight[1]), DW(less)(zero, weight[2]))));
}

static inline vec3d segment_at_dw(vec3d a, vec3d b, vec3d edge, dw t) {
    dw_mask near = DW(less_equal)(t, DW(all)(0.5));
    return v3d_along(v3d_select(near, a, b), DW(select)(near, t, DW(sub)(t, DW(all)(1))), edge);
}

static inline dw segment_foot_dw(vec3d a, vec3d b, vec3d edge) {
    dw length_sq = v3d_dot(edge, edge), inverse = DW(div)(DW(all)(1), length_sq);
    dw t = clamp_dw(DW(mul)(DW(negative)(v3d_dot(a, edge)), inverse));
    t = DW(sub)(t, DW(mul)(v3d_dot(segment_at_dw(a, b, edge, t), edge), inverse));
    return DW(select)(DW(less)(DW(all)(0), length_sq), clamp_dw(t), DW(all)(0));
}

static __attribute__((noinline)) void border_foot_dw(const vec3d *corner, const vec3d *edge,
                                                     foot_dw *foot) {
    const dw zero = DW(all)(0);
    dw best_sq = DW(all)(DBL_MAX);
    foot->offset.x = foot->offset.y = foot->offset.z = zero;
    foot->weight[0] = foot->weight[1] = foot->weight[2] = zero;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        dw t = segment_foot_dw(corner[i], corner[j], edge[i]);
        vec3d offset = segment_at_dw(corner[i], corner[j], edge[i], t);
        dw sq = v3d_dot(offset, offset);
        dw_mask shorter = is_shorter_dw(offset, sq, foot->offset, best_sq);
        best_sq = DW(select)(shorter, sq, best_sq);
        foot->weight[3 - i - j] = DW(select)(shorter, zero, foot->weight[3 - i - j]);
        foot->weight[i] = DW(select)(shorter, DW(sub)(DW(all)(1), t), foot->weight[i]);
        foot->weight[j] = DW(select)(shorter, t, foot->weight[j]);
        foot->offset = v3d_select(shorter, offset, foot->offset);
    }
}

/* ---- triangles ---- */

enum { MEASURE_ALL = (1 << MEASURE_LANES) - 1 };

typedef struct measured {
    vec3d edge[3];
    dw weight[3], distance;
    unsigned unfinished; /* bit k: triangle k is left to the scalar function */
} measured;

/* Corners relative to points, and edges. */
static inline void measure_start(const vec3d absolute[3], vec3d point, vec3d corner[3],
                                 measured *out) {
    dw largest = DW(all)(0);
    for (int i = 0; i < 3; i++) {
        corner[i] = v3d_sub(absolute[i], point);
        out->edge[i] = v3d_sub(absolute[i == 2 ? 0 : i + 1], absolute[i]);
        largest = DW(max)(largest, DW(abs)(corner[i].x));
        largest = DW(max)(largest, DW(abs)(corner[i].y));
        largest = DW(max)(largest, DW(abs)(corner[i].z));
    }
    out->unfinished = MEASURE_ALL & ~DW(bits)(DW(and)(DW(less_equal)(DW(all)(SCALE_MIN), largest),
                                                      DW(less_equal)(largest, DW(all)(SCALE_MAX))));
}

/* The distance. If its square is tiny, tails underflow, and their rounding depends on how they are
 * computed: such triangles are left to the scalar function. */
static inline void measure_end(vec3d offset, measured *out) {
    dw square = v3d_dot(offset, offset);
    dw_mask tiny = DW(and)(DW(less)(DW(all)(0), square), DW(less)(square, DW(all)(0x1p-900)));
    out->unfinished |= DW(bits)(tiny);
    out->distance = length_dw(offset);
}

/* Corners as in triangle3, and a point for each triangle. */
static inline __attribute__((always_inline)) void measure_lanes(const vec3d absolute[3],
                                                                vec3d point, measured *out) {
    vec3d corner[3];
    foot_dw foot, border;
    measure_start(absolute, point, corner, out);
    foot.offset = corner[0];
    dw_mask inside = face_foot_dw(corner, out->edge, &foot);
    if (DW(bits)(inside) != MEASURE_ALL) {
        border_foot_dw(corner, out->edge, &border);
        foot.offset = v3d_select(inside, foot.offset, border.offset);
        for (int i = 0; i < 3; i++)
            foot.weight[i] = DW(select)(inside, foot.weight[i], border.weight[i]);
    }
    for (int i = 0; i < 3; i++)
        out->weight[i] = foot.weight[i];
    measure_end(foot.offset, out);
}

/* The same if the nearest point is known to be inside the first edge, or the first corner; see
 * batch.h. */
static inline void measure_known_lanes(const vec3d absolute[3], vec3d point, bool is_edge,
                                       measured *out) {
    vec3d corner[3];
    dw t = DW(all)(0);
    measure_start(absolute, point, corner, out);
    vec3d offset = corner[0];
    if (is_edge) {
        t = segment_foot_dw(corner[0], corner[1], out->edge[0]);
        offset = segment_at_dw(corner[0], corner[1], out->edge[0], t);
        out->unfinished |= (unsigned)DW(bits)(DW(equal)(t, DW(all)(0.5)));
    }
    out->weight[0] = DW(sub)(DW(all)(1), t);
    out->weight[1] = t;
    out->weight[2] = DW(all)(0);
    measure_end(offset, out);
}

#endif
#endif
