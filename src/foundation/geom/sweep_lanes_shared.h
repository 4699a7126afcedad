/* The sweep filter in float, for one pair or several at once, for C and OpenCL C: the certificate
 * of sweep_proof_shared.h for the direction of the closest points at one time. `wide` and its
 * operations are those of simd_lanes.h; in OpenCL C they are float and its operations.
 *
 * Guarantee: pairs that are removed stay further apart than separation plus tolerance. The proof is
 * that of sweep_proof_shared.h with u = 2^-24. Differences are computed in double and then rounded
 * to float, which costs 1.01 u M as there. Positions at the middle are rounded once more, which
 * adds 2.01 u |n|_1 M to the 10.1 u |n|_1 M. With the rounding of the last subtraction that is less
 * than the bound of 16 u |n|_1 M. M between 2^-30 and 2^30 keeps all values in range, for any n;
 * other pairs are left to double. Only IEEE 754 operations with one rounding each are used, so that
 * any number of lanes gives the same bits.
 */
#ifndef ABUTI_GEOM_SWEEP_LANES_SHARED_H
#define ABUTI_GEOM_SWEEP_LANES_SHARED_H

#define EXTENT_MIN 0x1p-30f
#define EXTENT_MAX 0x1p30f

typedef struct wide3 {
    wide x, y, z;
} wide3;
/* The features relative to a vertex at one time; see sweep_frame. */
typedef struct wide_frame {
    wide3 q[3];
} wide_frame;

static inline wide dot3(wide3 a, wide3 b) {
    return v_add(v_add(v_mul(a.x, b.x), v_mul(a.y, b.y)), v_mul(a.z, b.z));
}
static inline wide3 sub3(wide3 a, wide3 b) {
    wide3 r = {v_sub(a.x, b.x), v_sub(a.y, b.y), v_sub(a.z, b.z)};
    return r;
}
/* a - s b */
static inline wide3 sub_scaled3(wide3 a, wide s, wide3 b) {
    wide3 r = {v_sub(a.x, v_mul(s, b.x)), v_sub(a.y, v_mul(s, b.y)), v_sub(a.z, v_mul(s, b.z))};
    return r;
}
/* Clamps to [0, 1]; 0 for NaN. */
static inline wide clamp_unit(wide s) {
    return v_min(v_max(s, v_all(0)), v_all(1));
}

/* ---- directions ---- */

/* The vector between the closest points of two edges: minimises along the first, then along the
 * second, then again along the first. */
static inline wide3 edges_closest_vector(const wide_frame *f) {
    wide3 r = f->q[0], e = sub3(f->q[1], f->q[0]), d = f->q[2];
    wide ee = dot3(e, e), dd = dot3(d, d), ed = dot3(e, d), er = dot3(e, r), dr = dot3(d, r);
    wide s =
        clamp_unit(v_div(v_sub(v_mul(ed, dr), v_mul(er, dd)), v_sub(v_mul(ee, dd), v_mul(ed, ed))));
    wide t = clamp_unit(v_div(v_add(v_mul(ed, s), dr), dd));
    s = clamp_unit(v_div(v_sub(v_mul(ed, t), er), ee));
    return sub_scaled3(sub_scaled3(r, v_sub(v_all(0), s), e), t, d);
}

/* The squared distance from v, minus v.v, at weights s and t. */
static inline wide distance_excess(wide s, wide t, const wide *gram) {
    wide b = v_sub(v_add(v_mul(s, gram[0]), v_mul(t, gram[1])), v_add(gram[3], gram[3]));
    wide c = v_sub(v_add(v_mul(s, gram[1]), v_mul(t, gram[2])), v_add(gram[4], gram[4]));
    return v_add(v_mul(s, b), v_mul(t, c));
}

/* The vector between the closest points of a vertex and a face: inside the face, or on the nearest
 * of the three edges. */
static inline wide3 face_closest_vector(const wide_frame *f) {
    wide3 v = f->q[0], b = f->q[1], c = f->q[2];
    const wide gram[5] = {dot3(b, b), dot3(b, c), dot3(c, c), dot3(v, b), dot3(v, c)};
    wide one = v_all(1), zero = v_all(0);
    wide best_s = clamp_unit(v_div(gram[3], gram[0])), best_t = zero;
    wide best = distance_excess(best_s, zero, gram);
    wide t = clamp_unit(v_div(gram[4], gram[2])), next = distance_excess(zero, t, gram);
    mask better = v_less(next, best);
    best = v_select(better, next, best);
    best_s = v_select(better, zero, best_s);
    best_t = v_select(better, t, best_t);
    wide side = v_add(v_sub(gram[0], v_add(gram[1], gram[1])), gram[2]);
    t = clamp_unit(v_div(v_sub(v_add(gram[4], gram[0]), v_add(gram[3], gram[1])), side));
    wide s = v_sub(one, t);
    better = v_less(distance_excess(s, t, gram), best);
    best_s = v_select(better, s, best_s);
    best_t = v_select(better, t, best_t);
    wide det = v_sub(v_mul(gram[0], gram[2]), v_mul(gram[1], gram[1]));
    s = v_sub(v_mul(gram[2], gram[3]), v_mul(gram[1], gram[4]));
    t = v_sub(v_mul(gram[0], gram[4]), v_mul(gram[1], gram[3]));
    mask inside = v_less(zero, v_min(v_min(s, t), v_sub(v_sub(det, s), t)));
    best_s = v_select(inside, v_div(s, det), best_s);
    best_t = v_select(inside, v_div(t, det), best_t);
    return sub_scaled3(sub_scaled3(v, best_s, b), best_t, c);
}

static inline wide3 lerp3(wide3 a, wide3 b, wide part) {
    wide3 r = {v_add(a.x, v_mul(part, v_sub(b.x, a.x))), v_add(a.y, v_mul(part, v_sub(b.y, a.y))),
               v_add(a.z, v_mul(part, v_sub(b.z, a.z)))};
    return r;
}
static inline wide3 direction(int kind, const wide_frame *ends, float time) {
    wide_frame at;
    for (int k = 0; k < 3; k++)
        at.q[k] = lerp3(ends[0].q[k], ends[1].q[k], v_all(time));
    return kind == SWEEP_EDGE_EDGE ? edges_closest_vector(&at) : face_closest_vector(&at);
}

/* ---- the certificate ---- */

/* The smallest gap of all pairs of vertices, from projections. */
static inline wide gap(int kind, const wide *x) {
    if (kind == SWEEP_EDGE_EDGE)
        return v_sub(v_min(x[0], x[1]), v_max(x[2], v_all(0)));
    return v_sub(x[0], v_max(v_max(x[1], x[2]), v_all(0)));
}

/* Lanes in which n proves the features apart: over the whole step, its first half or its second
 * half. */
enum { WHOLE, FIRST, SECOND };
static inline unsigned proven(int kind, const wide_frame *ends, wide extent, wide reach, wide3 n,
                              int part) {
    wide size = v_add(v_add(v_abs(n.x), v_abs(n.y)), v_abs(n.z));
    wide bound = v_add(v_mul(v_mul(v_all(8 * FLT_EPSILON), size), extent), v_all(FLT_MIN));
    bound = v_add(bound, v_mul(v_mul(v_sqrt(dot3(n, n)), v_all(1 + 8 * FLT_EPSILON)), reach));
    wide x[2][3];
    for (int k = 0; k < 3; k++) {
        x[0][k] = dot3(n, ends[0].q[k]);
        x[1][k] = dot3(n, ends[1].q[k]);
    }
    for (int k = 0; k < 3 && part != WHOLE; k++)
        x[part == FIRST][k] = v_mul(v_all(0.5f), v_add(x[0][k], x[1][k]));
    return v_mask_bits(v_less(bound, v_min(gap(kind, x[0]), gap(kind, x[1]))));
}

#endif
