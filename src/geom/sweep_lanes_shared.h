/* The first look at a pair in floats, one pair or many at once, for C and OpenCL C alike: the
 * certificate of sweep_proof_shared.h for the direction of the closest points at one time. `wide`
 * and the operations on it are those of simd_lanes.h, or a float and its own in OpenCL C.
 *
 * Guarantee: what is left out stays further apart than separation and tolerance. The proof is that
 * of sweep_proof_shared.h with u = 2^-24: differences are taken in double and then rounded to
 * float, which costs 1.01 u M as there, and positions halfway are rounded once more, which
 * adds 2.01 u |n|_1 M to the 10.1 u |n|_1 M; with the rounding of the last subtraction that is less
 * than the 16 u |n|_1 M that we take. M between 2^-30 and 2^30 keeps everything in range, whatever
 * n is; the rest is left to double. Only the operations of IEEE 754, one rounding each, so that any
 * number of lanes gives the same bits. */
#ifndef ABUTI_GEOM_SWEEP_LANES_SHARED_H
#define ABUTI_GEOM_SWEEP_LANES_SHARED_H

#define EXTENT_MIN 0x1p-30f
#define EXTENT_MAX 0x1p30f

typedef struct wide3 {
    wide x, y, z;
} wide3;
/* The features relative to a vertex at some time; see sweep_frame. */
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
static inline wide3 less3(wide3 a, wide s, wide3 b) {
    wide3 r = {sub(a.x, mul(s, b.x)), sub(a.y, mul(s, b.y)), sub(a.z, mul(s, b.z))};
    return r;
}
/* From 0 to 1; 0 for NaN. */
static inline wide unit(wide s) {
    return least(most(s, all(0)), all(1));
}

/* ---- directions ---- */

/* The vector between the closest points of two edges: minimise along the first, then along the
 * second, then again along the first. */
static inline wide3 edges_apart(const wide_frame *f) {
    wide3 r = f->q[0], e = sub3(f->q[1], f->q[0]), d = f->q[2];
    wide ee = dot3(e, e), dd = dot3(d, d), ed = dot3(e, d), er = dot3(e, r), dr = dot3(d, r);
    wide s = unit(quotient(sub(mul(ed, dr), mul(er, dd)), sub(mul(ee, dd), mul(ed, ed))));
    wide t = unit(quotient(add(mul(ed, s), dr), dd));
    s = unit(quotient(sub(mul(ed, t), er), ee));
    return less3(less3(r, sub(all(0), s), e), t, d);
}

/* The squared distance from v, less v.v, at weights s and t. */
static inline wide excess(wide s, wide t, const wide *gram) {
    wide b = sub(add(mul(s, gram[0]), mul(t, gram[1])), add(gram[3], gram[3]));
    wide c = sub(add(mul(s, gram[1]), mul(t, gram[2])), add(gram[4], gram[4]));
    return add(mul(s, b), mul(t, c));
}

/* The same of a vertex and a face: inside, or the best of the three edges. */
static inline wide3 face_apart(const wide_frame *f) {
    wide3 v = f->q[0], b = f->q[1], c = f->q[2];
    const wide gram[5] = {dot3(b, b), dot3(b, c), dot3(c, c), dot3(v, b), dot3(v, c)};
    wide one = all(1), zero = all(0);
    wide best_s = unit(quotient(gram[3], gram[0])), best_t = zero;
    wide best = excess(best_s, zero, gram);
    wide t = unit(quotient(gram[4], gram[2])), next = excess(zero, t, gram);
    mask better = is_less(next, best);
    best = choose(better, next, best);
    best_s = choose(better, zero, best_s);
    best_t = choose(better, t, best_t);
    wide side = add(sub(gram[0], add(gram[1], gram[1])), gram[2]);
    t = unit(quotient(sub(add(gram[4], gram[0]), add(gram[3], gram[1])), side));
    wide s = sub(one, t);
    better = is_less(excess(s, t, gram), best);
    best_s = choose(better, s, best_s);
    best_t = choose(better, t, best_t);
    wide det = sub(mul(gram[0], gram[2]), mul(gram[1], gram[1]));
    s = sub(mul(gram[2], gram[3]), mul(gram[1], gram[4]));
    t = sub(mul(gram[0], gram[4]), mul(gram[1], gram[3]));
    mask inside = is_less(zero, least(least(s, t), sub(sub(det, s), t)));
    best_s = choose(inside, quotient(s, det), best_s);
    best_t = choose(inside, quotient(t, det), best_t);
    return less3(less3(v, best_s, b), best_t, c);
}

static inline wide3 middle3(wide3 a, wide3 b, wide part) {
    wide3 r = {add(a.x, mul(part, sub(b.x, a.x))), add(a.y, mul(part, sub(b.y, a.y))),
               add(a.z, mul(part, sub(b.z, a.z)))};
    return r;
}
static inline wide3 direction(int kind, const wide_frame *ends, float time) {
    wide_frame at;
    for (int k = 0; k < 3; k++)
        at.q[k] = middle3(ends[0].q[k], ends[1].q[k], all(time));
    return kind == SWEEP_EDGE_EDGE ? edges_apart(&at) : face_apart(&at);
}

/* ---- the certificate ---- */

/* The least gap of all pairs of vertices, from projections. */
static inline wide gap(int kind, const wide *x) {
    if (kind == SWEEP_EDGE_EDGE)
        return sub(least(x[0], x[1]), most(x[2], all(0)));
    return sub(x[0], most(most(x[1], x[2]), all(0)));
}

/* Lanes where n proves the features apart: over the whole step, its first half or its second. */
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
