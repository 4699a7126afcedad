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
    return add(add(mul(a.x, b.x), mul(a.y, b.y)), mul(a.z, b.z));
}
static inline wide3 sub3(wide3 a, wide3 b) {
    wide3 r = {sub(a.x, b.x), sub(a.y, b.y), sub(a.z, b.z)};
    return r;
}
/* a - s b */
static inline wide3 sub_scaled3(wide3 a, wide s, wide3 b) {
    wide3 r = {sub(a.x, mul(s, b.x)), sub(a.y, mul(s, b.y)), sub(a.z, mul(s, b.z))};
    return r;
}
/* Clamps to [0, 1]; 0 for NaN. */
static inline wide clamp_unit(wide s) {
    return least(most(s, all(0)), all(1));
}

/* ---- directions ---- */

/* The vector between the closest points of two edges: minimises along the first, then along the
 * second, then again along the first. */
static inline wide3 edges_closest_vector(const wide_frame *f) {
    wide3 r = f->q[0], e = sub3(f->q[1], f->q[0]), d = f->q[2];
    wide ee = dot3(e, e), dd = dot3(d, d), ed = dot3(e, d), er = dot3(e, r), dr = dot3(d, r);
    wide s = clamp_unit(quotient(sub(mul(ed, dr), mul(er, dd)), sub(mul(ee, dd), mul(ed, ed))));
    wide t = clamp_unit(quotient(add(mul(ed, s), dr), dd));
    s = clamp_unit(quotient(sub(mul(ed, t), er), ee));
    return sub_scaled3(sub_scaled3(r, sub(all(0), s), e), t, d);
}

/* The squared distance from v, minus v.v, at weights s and t. */
static inline wide distance_excess(wide s, wide t, const wide *gram) {
    wide b = sub(add(mul(s, gram[0]), mul(t, gram[1])), add(gram[3], gram[3]));
    wide c = sub(add(mul(s, gram[1]), mul(t, gram[2])), add(gram[4], gram[4]));
    return add(mul(s, b), mul(t, c));
}

/* The vector between the closest points of a vertex and a face: inside the face, or on the nearest
 * of the three edges. */
static inline wide3 face_closest_vector(const wide_frame *f) {
    wide3 v = f->q[0], b = f->q[1], c = f->q[2];
    const wide gram[5] = {dot3(b, b), dot3(b, c), dot3(c, c), dot3(v, b), dot3(v, c)};
    wide one = all(1), zero = all(0);
    wide best_s = clamp_unit(quotient(gram[3], gram[0])), best_t = zero;
    wide best = distance_excess(best_s, zero, gram);
    wide t = clamp_unit(quotient(gram[4], gram[2])), next = distance_excess(zero, t, gram);
    mask better = is_less(next, best);
    best = choose(better, next, best);
    best_s = choose(better, zero, best_s);
    best_t = choose(better, t, best_t);
    wide side = add(sub(gram[0], add(gram[1], gram[1])), gram[2]);
    t = clamp_unit(quotient(sub(add(gram[4], gram[0]), add(gram[3], gram[1])), side));
    wide s = sub(one, t);
    better = is_less(distance_excess(s, t, gram), best);
    best_s = choose(better, s, best_s);
    best_t = choose(better, t, best_t);
    wide det = sub(mul(gram[0], gram[2]), mul(gram[1], gram[1]));
    s = sub(mul(gram[2], gram[3]), mul(gram[1], gram[4]));
    t = sub(mul(gram[0], gram[4]), mul(gram[1], gram[3]));
    mask inside = is_less(zero, least(least(s, t), sub(sub(det, s), t)));
    best_s = choose(inside, quotient(s, det), best_s);
    best_t = choose(inside, quotient(t, det), best_t);
    return sub_scaled3(sub_scaled3(v, best_s, b), best_t, c);
}

static inline wide3 lerp3(wide3 a, wide3 b, wide part) {
    wide3 r = {add(a.x, mul(part, sub(b.x, a.x))), add(a.y, mul(part, sub(b.y, a.y))),
               add(a.z, mul(part, sub(b.z, a.z)))};
    return r;
}
static inline wide3 direction(int kind, const wide_frame *ends, float time) {
    wide_frame at;
    for (int k = 0; k < 3; k++)
        at.q[k] = lerp3(ends[0].q[k], ends[1].q[k], all(time));
    return kind == SWEEP_EDGE_EDGE ? edges_closest_vector(&at) : face_closest_vector(&at);
}

/* ---- the certificate ---- */

/* The smallest gap of all pairs of vertices, from projections. */
static inline wide gap(int kind, const wide *x) {
    if (kind == SWEEP_EDGE_EDGE)
        return sub(least(x[0], x[1]), most(x[2], all(0)));
    return sub(x[0], most(most(x[1], x[2]), all(0)));
}

/* Lanes in which n proves the features apart: over the whole step, its first half or its second
 * half. */
enum { WHOLE, FIRST, SECOND };
static inline unsigned proven(int kind, const wide_frame *ends, wide extent, wide reach, wide3 n,
                              int part) {
    wide size = add(add(magnitude(n.x), magnitude(n.y)), magnitude(n.z));
    wide bound = add(mul(mul(all(8 * FLT_EPSILON), size), extent), all(FLT_MIN));
    bound = add(bound, mul(mul(root(dot3(n, n)), all(1 + 8 * FLT_EPSILON)), reach));
    wide x[2][3];
    for (int k = 0; k < 3; k++) {
        x[0][k] = dot3(n, ends[0].q[k]);
        x[1][k] = dot3(n, ends[1].q[k]);
    }
    for (int k = 0; k < 3 && part != WHOLE; k++)
        x[part == FIRST][k] = mul(all(0.5f), add(x[0][k], x[1][k]));
    return mask_bits(is_less(bound, least(gap(kind, x[0]), gap(kind, x[1]))));
}

#endif
