/* The filter of sweeps in floats, LANES pairs at once: the certificate of sweep_shared.h for the
 * direction of the closest points at one time. A file sets LANES and includes this.
 *
 * Guarantee: what is left out stays further apart than separation and tolerance. The proof is that
 * of sweep_shared.h with u = 2^-24: differences are taken in double and then rounded to float,
 * which costs 1.01 u M as there, and positions halfway are rounded once more, which adds 2.01 u
 * |n|_1 M to the 10.1 u |n|_1 M; with the rounding of the last subtraction that is less than the
 * 16 u |n|_1 M that we take. M between 2^-30 and 2^30 keeps everything in range, whatever n is;
 * the rest is left to double. Only the operations of IEEE 754, one rounding each, so that any
 * number of lanes gives the same bits. */
#include "base/simd_laned.h"
#include "geom/sweep_filter.h"

#include <float.h>

#define quotient LANED(div)
#define root LANED(sqrt)
#define EXTENT_MIN 0x1p-30f
#define EXTENT_MAX 0x1p30f
enum { BLOCK = 64, COLUMNS = 18 }; /* x, y, z of three differences at the start, then the end */

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
static inline wide excess(wide s, wide t, const wide gram[5]) {
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
static inline wide3 direction(int kind, const wide_frame ends[2], float time) {
    wide_frame at;
    for (int k = 0; k < 3; k++)
        at.q[k] = middle3(ends[0].q[k], ends[1].q[k], all(time));
    return kind == SWEEP_EDGE_EDGE ? edges_apart(&at) : face_apart(&at);
}

/* ---- the certificate ---- */

/* The least gap of all pairs of vertices, from projections. */
static inline wide gap(int kind, const wide x[3]) {
    if (kind == SWEEP_EDGE_EDGE)
        return sub(least(x[0], x[1]), most(x[2], all(0)));
    return sub(x[0], most(most(x[1], x[2]), all(0)));
}

/* Lanes where n proves the features apart: over the whole step, its first half or its second. */
enum { WHOLE, FIRST, SECOND };
static inline unsigned proven(int kind, const wide_frame ends[2], wide extent, wide reach, wide3 n,
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

/* ---- pairs ---- */

/* Differences of up to BLOCK pairs; what is beyond repeats the first. */
static void gather(const sweep_batch *batch, const uint32_t *list, size_t first, size_t count,
                   float columns[COLUMNS][BLOCK]) {
    const int one = batch->kind == SWEEP_EDGE_EDGE ? 1 : 2, from = batch->kind;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *four = batch->four + 4 * (list ? list[first + i] : first + i);
        for (int end = 0; end < 2; end++) {
            const vec3 *p = end ? batch->end : batch->start;
            const vec3 r = p[four[from]], a = p[four[0]], b = p[four[one]], c = p[four[3]];
            float(*to)[BLOCK] = columns + 9 * end;
            to[0][i] = (float)(a.x - r.x);
            to[1][i] = (float)(a.y - r.y);
            to[2][i] = (float)(a.z - r.z);
            to[3][i] = (float)(b.x - r.x);
            to[4][i] = (float)(b.y - r.y);
            to[5][i] = (float)(b.z - r.z);
            to[6][i] = (float)(c.x - r.x);
            to[7][i] = (float)(c.y - r.y);
            to[8][i] = (float)(c.z - r.z);
        }
    }
    for (size_t i = count; i < BLOCK && i % LANES; i++)
        for (int k = 0; k < COLUMNS; k++)
            columns[k][i] = 0;
}

/* Lanes that are not proven, of those from `first` on in a block. */
static inline unsigned survivors_of(int kind, float columns[COLUMNS][BLOCK], size_t first,
                                    wide reach, bool halves) {
    wide_frame ends[2];
    wide extent = all(0);
    for (int end = 0; end < 2; end++)
        for (int k = 0; k < 3; k++) {
            wide3 q = {load(columns[9 * end + 3 * k] + first),
                       load(columns[9 * end + 3 * k + 1] + first),
                       load(columns[9 * end + 3 * k + 2] + first)};
            ends[end].q[k] = q;
            extent = most(extent, most(magnitude(q.x), most(magnitude(q.y), magnitude(q.z))));
        }
    unsigned free =
        mask_bits(is_less(extent, all(EXTENT_MAX))) & mask_bits(is_less(all(EXTENT_MIN), extent));
    if (halves) {
        free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.25f), FIRST);
        if (free)
            free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.75f), SECOND);
    } else {
        free &= proven(kind, ends, extent, reach, direction(kind, ends, 0.5f), WHOLE);
    }
    return ~free & ((1u << LANES) - 1);
}

static inline size_t filter_kind(int kind, const sweep_batch *batch, const uint32_t *list,
                                 size_t count, bool halves, uint32_t *survivors) {
    float columns[COLUMNS][BLOCK];
    size_t found = 0;
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t pairs = count - begin < BLOCK ? count - begin : BLOCK;
        gather(batch, list, begin, pairs, columns);
        for (size_t first = 0; first < pairs; first += LANES) {
            unsigned left = survivors_of(kind, columns, first, all(batch->reach), halves);
            size_t lanes = pairs - first < LANES ? pairs - first : LANES;
            for (size_t i = 0; i < lanes; i++) {
                size_t pair = begin + first + i;
                uint32_t number = list ? list[pair] : (uint32_t)pair;
                survivors[found] = number;
                found += left >> i & 1;
            }
        }
    }
    return found;
}

static size_t filter(const sweep_batch *batch, const uint32_t *list, size_t count, bool halves,
                     uint32_t *survivors) {
    if (batch->kind == SWEEP_EDGE_EDGE)
        return filter_kind(SWEEP_EDGE_EDGE, batch, list, count, halves, survivors);
    return filter_kind(SWEEP_VERTEX_FACE, batch, list, count, halves, survivors);
}
