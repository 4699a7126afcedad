/* triangle_closest_point() of closest_shared.h for four triangles at once, with the same bits.
 *
 * Every operation is that of the scalar function, in the same order, without contraction. If that
 * function branches, all branches are computed and one result is selected. Coordinates that must be
 * scaled are left to the scalar function. tests/bvh compares both.
 */
#include "nearest/nearest.h"

#include "base/simd_lanes.h"
#include "geom/closest_shared.h"

static void measure_pair(const abut_mesh *mesh, nearest_pair *pair) {
    const closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(mesh, pair->triangle), pair->point);
    pair->distance = closest.distance;
    memcpy(pair->weight, closest.barycentric, sizeof pair->weight);
}

#ifdef ABUTI_SIMD_WIDE

enum { MEASURE_LANES = 4 };

typedef struct vec3d {
    d4 x, y, z;
} vec3d;

static inline vec3d v3d_all(vec3 a) {
    vec3d r = {d4_all(a.x), d4_all(a.y), d4_all(a.z)};
    return r;
}
static inline vec3d v3d_add(vec3d a, vec3d b) {
    vec3d r = {d4_add(a.x, b.x), d4_add(a.y, b.y), d4_add(a.z, b.z)};
    return r;
}
static inline vec3d v3d_sub(vec3d a, vec3d b) {
    vec3d r = {d4_sub(a.x, b.x), d4_sub(a.y, b.y), d4_sub(a.z, b.z)};
    return r;
}
static inline d4 v3d_dot(vec3d a, vec3d b) {
    return d4_add(d4_add(d4_mul(a.x, b.x), d4_mul(a.y, b.y)), d4_mul(a.z, b.z));
}
/* a + s b */
static inline vec3d v3d_along(vec3d a, d4 s, vec3d b) {
    vec3d r = {d4_add(a.x, d4_mul(s, b.x)), d4_add(a.y, d4_mul(s, b.y)),
               d4_add(a.z, d4_mul(s, b.z))};
    return r;
}
static inline vec3d v3d_select(d4 mask_, vec3d a, vec3d b) {
    vec3d r = {d4_select(mask_, a.x, b.x), d4_select(mask_, a.y, b.y), d4_select(mask_, a.z, b.z)};
    return r;
}
static inline d4 clamp_d4(d4 x) {
    const d4 zero = d4_all(0), one = d4_all(1);
    return d4_select(d4_less(x, zero), zero, d4_select(d4_less(one, x), one, x));
}

/* ---- lengths ---- */

/* As square_tail(), which is exact unless the tail underflows: see measure_end(). */
static inline d4 square_tail_d4(d4 a, d4 square) {
    return d4_mul_sub(a, a, square);
}

static inline d4 length_d4(vec3d v) {
    d4 xx = d4_mul(v.x, v.x), yy = d4_mul(v.y, v.y), zz = d4_mul(v.z, v.z);
    d4 xy = d4_add(xx, yy), y_virtual = d4_sub(xy, xx);
    d4 sum = d4_add(xy, zz), z_virtual = d4_sub(sum, xy);
    d4 tail = d4_add(d4_add(d4_sub(xx, d4_sub(xy, y_virtual)), d4_sub(yy, y_virtual)),
                     d4_add(d4_sub(xy, d4_sub(sum, z_virtual)), d4_sub(zz, z_virtual)));
    tail = d4_add(tail, d4_add(d4_add(square_tail_d4(v.x, xx), square_tail_d4(v.y, yy)),
                               square_tail_d4(v.z, zz)));
    d4 root = d4_sqrt(sum), square = d4_mul(root, root);
    d4 inverse = d4_div(d4_all(0.5), sum);
    d4 rest = d4_add(d4_sub(d4_sub(sum, square), square_tail_d4(root, square)), tail);
    d4 better = d4_add(root, d4_mul(d4_mul(rest, root), inverse));
    return d4_select(d4_less(d4_all(4 * DBL_MIN), sum), better, root);
}

static inline d4 is_shorter_d4(vec3d v, d4 square, vec3d best, d4 best_square) {
    d4 shorter = d4_less(square, best_square);
    d4 doubt = d4_mul(d4_all(8 * DBL_EPSILON), best_square);
    d4 close = d4_less_equal(d4_abs(d4_sub(square, best_square)), doubt);
    d4 same = d4_and(d4_and(d4_equal(v.x, best.x), d4_equal(v.y, best.y)), d4_equal(v.z, best.z));
    if (!(d4_bits(close) & ~d4_bits(same))) /* otherwise rare */
        return shorter;
    d4 precise = d4_select(d4_less(length_d4(v), length_d4(best)), d4_all(1), d4_all(0));
    d4 plain = d4_select(shorter, d4_all(1), d4_all(0));
    plain = d4_select(close, d4_select(same, plain, precise), plain);
    return d4_less(d4_all(0.5), plain);
}

/* ---- feet ---- */

typedef struct foot_d4 {
    d4 weight[3];
    vec3d offset;
} foot_d4;

static inline __attribute__((always_inline)) vec3d weights_at_d4(const vec3d *corner,
                                                                 const vec3d *edge, const d4 *w) {
    d4 first = d4_and(d4_less_equal(w[1], w[0]), d4_less_equal(w[2], w[0]));
    d4 second = d4_less_equal(w[2], w[1]);
    vec3d c = v3d_select(first, corner[0], v3d_select(second, corner[1], corner[2]));
    vec3d a = v3d_select(first, edge[0], v3d_select(second, edge[1], edge[2]));
    vec3d b = v3d_select(first, edge[2], v3d_select(second, edge[0], edge[1]));
    d4 s = d4_select(first, w[1], d4_select(second, w[2], w[0]));
    d4 t = d4_negative(d4_select(first, w[2], d4_select(second, w[0], w[1])));
    vec3d r = {d4_add(c.x, d4_add(d4_mul(s, a.x), d4_mul(t, b.x))),
               d4_add(c.y, d4_add(d4_mul(s, a.y), d4_mul(t, b.y))),
               d4_add(c.z, d4_add(d4_mul(s, a.z), d4_mul(t, b.z)))};
    return r;
}

static inline __attribute__((always_inline)) d4 face_foot_d4(const vec3d *corner, const vec3d *edge,
                                                             foot_d4 *foot) {
    const d4 zero = d4_all(0), one = d4_all(1);
    vec3d a = corner[0], u = edge[0];
    vec3d v = {d4_mul(edge[2].x, d4_all(-1)), d4_mul(edge[2].y, d4_all(-1)),
               d4_mul(edge[2].z, d4_all(-1))};
    d4 uu = v3d_dot(u, u), vv = v3d_dot(v, v);
    d4 per_uu = d4_div(one, uu);
    d4 k = d4_mul(v3d_dot(u, v), per_uu), s = d4_mul(d4_negative(v3d_dot(a, u)), per_uu);
    vec3d w = v3d_along(v, d4_negative(k), u), beside = v3d_along(a, s, u);
    d4 ww = v3d_dot(w, w);
    d4 fine =
        d4_and(d4_less(zero, uu), d4_less(d4_mul(vv, d4_all(DBL_EPSILON * DBL_EPSILON / 256)), ww));
    d4 per_ww = d4_div(one, ww);
    d4 r = d4_mul(d4_negative(v3d_dot(beside, w)), per_ww);
    s = d4_sub(s, d4_mul(k, r));
    fine = d4_and(fine,
                  d4_and(d4_less(zero, r), d4_and(d4_less(zero, s), d4_less(d4_add(r, s), one))));
    d4 *weight = foot->weight;
    weight[0] = d4_sub(one, d4_add(s, r));
    weight[1] = s;
    weight[2] = r;
    if (!d4_bits(fine))
        return fine;
    vec3d near = weights_at_d4(corner, edge, weight);
    d4 more = d4_mul(v3d_dot(near, w), per_ww);
    weight[1] = d4_sub(weight[1], d4_sub(d4_mul(v3d_dot(near, u), per_uu), d4_mul(k, more)));
    weight[2] = d4_sub(weight[2], more);
    weight[0] = d4_sub(one, d4_add(weight[1], weight[2]));
    foot->offset = weights_at_d4(corner, edge, weight);
    return d4_and(fine, d4_and(d4_less(zero, weight[0]),
                               d4_and(d4_less(zero, weight[1]), d4_less(zero, weight[2]))));
}

static inline vec3d segment_at_d4(vec3d a, vec3d b, vec3d edge, d4 t) {
    d4 near = d4_less_equal(t, d4_all(0.5));
    return v3d_along(v3d_select(near, a, b), d4_select(near, t, d4_sub(t, d4_all(1))), edge);
}

static inline d4 segment_foot_d4(vec3d a, vec3d b, vec3d edge) {
    d4 length_sq = v3d_dot(edge, edge), inverse = d4_div(d4_all(1), length_sq);
    d4 t = clamp_d4(d4_mul(d4_negative(v3d_dot(a, edge)), inverse));
    t = d4_sub(t, d4_mul(v3d_dot(segment_at_d4(a, b, edge, t), edge), inverse));
    return d4_select(d4_less(d4_all(0), length_sq), clamp_d4(t), d4_all(0));
}

static __attribute__((noinline)) void border_foot_d4(const vec3d *corner, const vec3d *edge,
                                                     foot_d4 *foot) {
    const d4 zero = d4_all(0);
    d4 best_sq = d4_all(DBL_MAX);
    foot->offset.x = foot->offset.y = foot->offset.z = zero;
    foot->weight[0] = foot->weight[1] = foot->weight[2] = zero;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        d4 t = segment_foot_d4(corner[i], corner[j], edge[i]);
        vec3d offset = segment_at_d4(corner[i], corner[j], edge[i], t);
        d4 sq = v3d_dot(offset, offset);
        d4 shorter = is_shorter_d4(offset, sq, foot->offset, best_sq);
        best_sq = d4_select(shorter, sq, best_sq);
        foot->weight[3 - i - j] = d4_select(shorter, zero, foot->weight[3 - i - j]);
        foot->weight[i] = d4_select(shorter, d4_sub(d4_all(1), t), foot->weight[i]);
        foot->weight[j] = d4_select(shorter, t, foot->weight[j]);
        foot->offset = v3d_select(shorter, offset, foot->offset);
    }
}

/* ---- triangles ---- */

enum { MEASURE_ALL = (1 << MEASURE_LANES) - 1 };

typedef struct measured {
    vec3d edge[3];
    d4 weight[3], distance;
    unsigned unfinished; /* bit k: triangle k is left to the scalar function */
} measured;

/* Corners relative to points, and edges. */
static inline void measure_start(const vec3d absolute[3], vec3d point, vec3d corner[3],
                                 measured *out) {
    d4 largest = d4_all(0);
    for (int i = 0; i < 3; i++) {
        corner[i] = v3d_sub(absolute[i], point);
        out->edge[i] = v3d_sub(absolute[i == 2 ? 0 : i + 1], absolute[i]);
        largest = d4_max(largest, d4_abs(corner[i].x));
        largest = d4_max(largest, d4_abs(corner[i].y));
        largest = d4_max(largest, d4_abs(corner[i].z));
    }
    out->unfinished = MEASURE_ALL & ~d4_bits(d4_and(d4_less_equal(d4_all(SCALE_MIN), largest),
                                                    d4_less_equal(largest, d4_all(SCALE_MAX))));
}

/* The distance. If its square is tiny, tails underflow, and their rounding depends on how they are
 * computed: such triangles are left to the scalar function. */
static inline void measure_end(vec3d offset, measured *out) {
    d4 square = v3d_dot(offset, offset);
    d4 tiny = d4_and(d4_less(d4_all(0), square), d4_less(square, d4_all(0x1p-900)));
    out->unfinished |= d4_bits(tiny);
    out->distance = length_d4(offset);
}

/* Corners as in triangle3, and a point for each triangle. */
static inline __attribute__((always_inline)) void measure_lanes(const vec3d absolute[3],
                                                                vec3d point, measured *out) {
    vec3d corner[3];
    foot_d4 foot, border;
    measure_start(absolute, point, corner, out);
    foot.offset = corner[0];
    d4 inside = face_foot_d4(corner, out->edge, &foot);
    if (d4_bits(inside) != MEASURE_ALL) {
        border_foot_d4(corner, out->edge, &border);
        foot.offset = v3d_select(inside, foot.offset, border.offset);
        for (int i = 0; i < 3; i++)
            foot.weight[i] = d4_select(inside, foot.weight[i], border.weight[i]);
    }
    for (int i = 0; i < 3; i++)
        out->weight[i] = foot.weight[i];
    measure_end(foot.offset, out);
}

/* ---- pairs ---- */

static inline vec3d load_points(const double *const from[MEASURE_LANES]) {
    d4 at[3];
    d4_load_three(from, at);
    return (vec3d){at[0], at[1], at[2]};
}

/* Measures up to MEASURE_LANES pairs. */
static inline void measure_some(const abut_mesh *mesh, nearest_pair *pairs, uint32_t count) {
    const vec3d origin = v3d_all(mesh->origin);
    const double *from[MEASURE_LANES];
    double distance[MEASURE_LANES], weights[3][MEASURE_LANES];
    vec3d corner[3];
    measured out;
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < MEASURE_LANES; i++) {
            const size_t triangle = pairs[i < count ? i : 0].triangle;
            from[i] = &mesh->positions[mesh->indices[3 * triangle + k]].x;
        }
        corner[k] = v3d_add(origin, load_points(from));
    }
    for (uint32_t i = 0; i < MEASURE_LANES; i++)
        from[i] = &pairs[i < count ? i : 0].point.x;
    measure_lanes(corner, load_points(from), &out);
    d4_store(distance, out.distance);
    for (int k = 0; k < 3; k++)
        d4_store(weights[k], out.weight[k]);
    for (uint32_t i = 0; i < count; i++) {
        pairs[i].distance = distance[i];
        for (int k = 0; k < 3; k++)
            pairs[i].weight[k] = weights[k][i];
        if (out.unfinished >> i & 1)
            measure_pair(mesh, &pairs[i]);
    }
}

#else

enum { MEASURE_LANES = 1 };

static inline void measure_some(const abut_mesh *mesh, nearest_pair *pairs, uint32_t count) {
    (void)count;
    measure_pair(mesh, pairs);
}

#endif

void BY_LANES(abuti_nearest_measure)(const abut_mesh *mesh, nearest_pair *pairs, uint32_t count) {
    for (uint32_t i = 0; i < count; i += MEASURE_LANES)
        measure_some(mesh, pairs + i, count - i < MEASURE_LANES ? count - i : MEASURE_LANES);
}
