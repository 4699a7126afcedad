/* triangle_closest_point() for several pairs of a point and a triangle at once, in doubles: the
 * same operations in the same order on each lane, so the same bits. Both sides of every branch are
 * computed and one is chosen; the comments are those of closest_shared.h. Included by the files
 * that have a kernel of more than four lanes; LANES / 2 doubles are as wide as LANES floats. */
#include "geom/closest_shared.h"

#if LANES == 16
#define DOUBLED(name) d8_##name
typedef d8 real_wide;
typedef n8 real_mask;
#else
#define DOUBLED(name) d4_##name
typedef d4 real_wide;
typedef n4 real_mask;
#endif
#define d_all DOUBLED(all)
#define d_add DOUBLED(add)
#define d_sub DOUBLED(sub)
#define d_mul DOUBLED(mul)
#define d_div DOUBLED(div)
#define d_negative DOUBLED(negative)
#define d_less DOUBLED(less)
#define d_select DOUBLED(select)
#define d_and DOUBLED(and)

enum { PAIRS = LANES / 2 };

typedef struct vec3_wide {
    real_wide x, y, z;
} vec3_wide;

static inline vec3_wide sub_wide(vec3_wide a, vec3_wide b) {
    vec3_wide r = {d_sub(a.x, b.x), d_sub(a.y, b.y), d_sub(a.z, b.z)};
    return r;
}
static inline real_wide dot_wide(vec3_wide a, vec3_wide b) {
    return d_add(d_add(d_mul(a.x, b.x), d_mul(a.y, b.y)), d_mul(a.z, b.z));
}
/* a + s b */
static inline vec3_wide along_wide(vec3_wide a, real_wide s, vec3_wide b) {
    vec3_wide r = {d_add(a.x, d_mul(s, b.x)), d_add(a.y, d_mul(s, b.y)), d_add(a.z, d_mul(s, b.z))};
    return r;
}
static inline vec3_wide select_wide(real_mask mask_, vec3_wide a, vec3_wide b) {
    vec3_wide r = {d_select(mask_, a.x, b.x), d_select(mask_, a.y, b.y), d_select(mask_, a.z, b.z)};
    return r;
}
static inline real_wide larger_wide(real_wide a, real_wide b) {
    return d_select(d_less(a, b), b, a);
}
static inline real_wide clamp_wide(real_wide x) {
    const real_wide zero = d_all(0), one = d_all(1);
    return d_select(d_less(x, zero), zero, d_select(d_less(one, x), one, x));
}

/* ---- lengths ---- */

static inline real_wide square_tail_wide(real_wide a, real_wide square) {
    real_wide big = d_mul(d_all(SPLITTER), a);
    real_wide hi = d_sub(big, d_sub(big, a)), lo = d_sub(a, hi);
    real_wide cross = d_mul(d_mul(d_all(2), hi), lo);
    return d_add(d_add(d_sub(d_mul(hi, hi), square), cross), d_mul(lo, lo));
}

static inline real_wide length_wide(vec3_wide v) {
    real_wide xx = d_mul(v.x, v.x), yy = d_mul(v.y, v.y), zz = d_mul(v.z, v.z);
    real_wide xy = d_add(xx, yy), y_virtual = d_sub(xy, xx);
    real_wide sum = d_add(xy, zz), z_virtual = d_sub(sum, xy);
    real_wide tail = d_add(d_add(d_sub(xx, d_sub(xy, y_virtual)), d_sub(yy, y_virtual)),
                           d_add(d_sub(xy, d_sub(sum, z_virtual)), d_sub(zz, z_virtual)));
    tail = d_add(tail, d_add(d_add(square_tail_wide(v.x, xx), square_tail_wide(v.y, yy)),
                             square_tail_wide(v.z, zz)));
    real_wide root = DOUBLED(sqrt)(sum), square = d_mul(root, root);
    real_wide inverse = d_div(d_all(0.5), sum);
    real_wide rest = d_add(d_sub(d_sub(sum, square), square_tail_wide(root, square)), tail);
    real_wide better = d_add(root, d_mul(d_mul(rest, root), inverse));
    return d_select(d_less(d_all(4 * DBL_MIN), sum), better, root);
}

static inline real_mask is_shorter_wide(vec3_wide v, real_wide square, vec3_wide best,
                                        real_wide best_square) {
    real_mask shorter = d_less(square, best_square);
    real_wide doubt = d_mul(d_all(8 * DBL_EPSILON), best_square);
    real_mask close = DOUBLED(less_equal)(DOUBLED(abs)(d_sub(square, best_square)), doubt);
    if (!DOUBLED(bits)(close)) /* rare */
        return shorter;
    real_mask same = d_and(d_and(DOUBLED(equal)(v.x, best.x), DOUBLED(equal)(v.y, best.y)),
                           DOUBLED(equal)(v.z, best.z));
    real_wide precise = d_select(d_less(length_wide(v), length_wide(best)), d_all(1), d_all(0));
    real_wide plain = d_select(shorter, d_all(1), d_all(0));
    plain = d_select(close, d_select(same, plain, precise), plain);
    return d_less(d_all(0.5), plain);
}

/* ---- feet ---- */

typedef struct foot_wide {
    real_wide weight[3];
    vec3_wide offset;
} foot_wide;

static inline vec3_wide weights_at_wide(const vec3_wide *corner, const vec3_wide *edge,
                                        const real_wide *w) {
    real_mask first = d_and(DOUBLED(less_equal)(w[1], w[0]), DOUBLED(less_equal)(w[2], w[0]));
    real_mask second = DOUBLED(less_equal)(w[2], w[1]);
    vec3_wide c = select_wide(first, corner[0], select_wide(second, corner[1], corner[2]));
    vec3_wide a = select_wide(first, edge[0], select_wide(second, edge[1], edge[2]));
    vec3_wide b = select_wide(first, edge[2], select_wide(second, edge[0], edge[1]));
    real_wide s = d_select(first, w[1], d_select(second, w[2], w[0]));
    real_wide t = d_negative(d_select(first, w[2], d_select(second, w[0], w[1])));
    vec3_wide r = {d_add(c.x, d_add(d_mul(s, a.x), d_mul(t, b.x))),
                   d_add(c.y, d_add(d_mul(s, a.y), d_mul(t, b.y))),
                   d_add(c.z, d_add(d_mul(s, a.z), d_mul(t, b.z)))};
    return r;
}

static inline real_mask face_foot_wide(const vec3_wide *corner, const vec3_wide *edge,
                                       foot_wide *foot) {
    const real_wide zero = d_all(0), one = d_all(1);
    vec3_wide a = corner[0], u = edge[0];
    vec3_wide v = {d_mul(edge[2].x, d_all(-1)), d_mul(edge[2].y, d_all(-1)),
                   d_mul(edge[2].z, d_all(-1))};
    real_wide uu = dot_wide(u, u), vv = dot_wide(v, v);
    real_wide per_uu = d_div(one, uu);
    real_wide k = d_mul(dot_wide(u, v), per_uu), s = d_mul(d_negative(dot_wide(a, u)), per_uu);
    vec3_wide w = along_wide(v, d_negative(k), u), beside = along_wide(a, s, u);
    real_wide ww = dot_wide(w, w);
    real_mask fine =
        d_and(d_less(zero, uu), d_less(d_mul(vv, d_all(DBL_EPSILON * DBL_EPSILON / 256)), ww));
    real_wide per_ww = d_div(one, ww);
    real_wide r = d_mul(d_negative(dot_wide(beside, w)), per_ww);
    s = d_sub(s, d_mul(k, r));
    fine = d_and(fine, d_and(d_less(zero, r), d_and(d_less(zero, s), d_less(d_add(r, s), one))));
    real_wide *weight = foot->weight;
    weight[0] = d_sub(one, d_add(s, r));
    weight[1] = s;
    weight[2] = r;
    if (!DOUBLED(bits)(fine))
        return fine;
    vec3_wide near = weights_at_wide(corner, edge, weight);
    real_wide more = d_mul(dot_wide(near, w), per_ww);
    weight[1] = d_sub(weight[1], d_sub(d_mul(dot_wide(near, u), per_uu), d_mul(k, more)));
    weight[2] = d_sub(weight[2], more);
    weight[0] = d_sub(one, d_add(weight[1], weight[2]));
    foot->offset = weights_at_wide(corner, edge, weight);
    return d_and(fine, d_and(d_less(zero, weight[0]),
                             d_and(d_less(zero, weight[1]), d_less(zero, weight[2]))));
}

static inline vec3_wide segment_at_wide(vec3_wide a, vec3_wide b, vec3_wide edge, real_wide t) {
    real_mask near = DOUBLED(less_equal)(t, d_all(0.5));
    return along_wide(select_wide(near, a, b), d_select(near, t, d_sub(t, d_all(1))), edge);
}

static inline real_wide segment_foot_wide(vec3_wide a, vec3_wide b, vec3_wide edge) {
    real_wide length_sq = dot_wide(edge, edge), inverse = d_div(d_all(1), length_sq);
    real_wide t = clamp_wide(d_mul(d_negative(dot_wide(a, edge)), inverse));
    t = d_sub(t, d_mul(dot_wide(segment_at_wide(a, b, edge, t), edge), inverse));
    return d_select(d_less(d_all(0), length_sq), clamp_wide(t), d_all(0));
}

static inline void border_foot_wide(const vec3_wide *corner, const vec3_wide *edge,
                                    foot_wide *foot) {
    const real_wide zero = d_all(0);
    real_wide best_sq = d_all(DBL_MAX);
    foot->offset.x = foot->offset.y = foot->offset.z = zero;
    foot->weight[0] = foot->weight[1] = foot->weight[2] = zero;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        real_wide t = segment_foot_wide(corner[i], corner[j], edge[i]);
        vec3_wide offset = segment_at_wide(corner[i], corner[j], edge[i], t);
        real_wide sq = dot_wide(offset, offset);
        real_mask shorter = is_shorter_wide(offset, sq, foot->offset, best_sq);
        best_sq = d_select(shorter, sq, best_sq);
        foot->weight[3 - i - j] = d_select(shorter, zero, foot->weight[3 - i - j]);
        foot->weight[i] = d_select(shorter, d_sub(d_all(1), t), foot->weight[i]);
        foot->weight[j] = d_select(shorter, t, foot->weight[j]);
        foot->offset = select_wide(shorter, offset, foot->offset);
    }
}

/* ---- pairs ---- */

static void exact(const abut_mesh *mesh, const vec3 *points, lists_pair *pairs, uint32_t count) {
    for (uint32_t begin = 0; begin < count; begin += PAIRS) {
        double column[12][PAIRS];
        for (uint32_t k = 0; k < PAIRS; k++) {
            const lists_pair *pair = &pairs[begin + k < count ? begin + k : count - 1];
            const uint32_t *index = mesh->indices + 3 * (size_t)pair->triangle;
            for (int c = 0; c < 4; c++) {
                const vec3 *from = c < 3 ? &mesh->positions[index[c]] : &points[pair->point];
                column[3 * c][k] = from->x;
                column[3 * c + 1][k] = from->y;
                column[3 * c + 2][k] = from->z;
            }
        }
        vec3_wide absolute[4], corner[3], edge[3];
        for (int c = 0; c < 4; c++) {
            absolute[c].x = DOUBLED(load)(column[3 * c]);
            absolute[c].y = DOUBLED(load)(column[3 * c + 1]);
            absolute[c].z = DOUBLED(load)(column[3 * c + 2]);
        }
        real_wide largest = d_all(0);
        for (int c = 0; c < 3; c++) {
            absolute[c].x = d_add(d_all(mesh->origin.x), absolute[c].x);
            absolute[c].y = d_add(d_all(mesh->origin.y), absolute[c].y);
            absolute[c].z = d_add(d_all(mesh->origin.z), absolute[c].z);
            corner[c] = sub_wide(absolute[c], absolute[3]);
            largest = larger_wide(largest, DOUBLED(abs)(corner[c].x));
            largest = larger_wide(largest, DOUBLED(abs)(corner[c].y));
            largest = larger_wide(largest, DOUBLED(abs)(corner[c].z));
        }
        for (int c = 0; c < 3; c++)
            edge[c] = sub_wide(absolute[c == 2 ? 0 : c + 1], absolute[c]);
        unsigned plain = DOUBLED(bits)(d_and(DOUBLED(less_equal)(d_all(SCALE_MIN), largest),
                                             DOUBLED(less_equal)(largest, d_all(SCALE_MAX))));
        foot_wide foot, face;
        face.offset = corner[0];
        border_foot_wide(corner, edge, &foot);
        real_mask inside = face_foot_wide(corner, edge, &face);
        real_wide weight[3];
        for (int c = 0; c < 3; c++) {
            weight[c] = d_select(inside, face.weight[c], foot.weight[c]);
            DOUBLED(store)(column[c], weight[c]);
        }
        DOUBLED(store)(column[3], length_wide(select_wide(inside, face.offset, foot.offset)));
        vec3_wide closest = weights_at_wide(absolute, edge, weight);
        DOUBLED(store)(column[4], closest.x);
        DOUBLED(store)(column[5], closest.y);
        DOUBLED(store)(column[6], closest.z);
        for (uint32_t k = 0; k < PAIRS && begin + k < count; k++) {
            lists_pair *pair = &pairs[begin + k];
            pair->distance = column[3][k];
            pair->closest = v3(column[4][k], column[5][k], column[6][k]);
            for (int c = 0; c < 3; c++)
                pair->weight[c] = column[c][k];
            if (!(plain >> k & 1)) /* would have to be scaled */
                lists_measure_pair(mesh, points, pair);
        }
    }
}
