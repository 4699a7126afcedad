/* Do a vertex and a face, or two edges, touch during a linear motion? Exactly, by polynomials with
 * integer coefficients (GMP): the referee of sweeps.
 *
 * The volume of the four vertices is a cubic in time. Where it is not zero throughout, features can
 * touch only at its roots: these are isolated by Descartes' rule of signs and bisection (Collins
 * and Akritas 1976), and the signs of two-dimensional orientations at such a root are found by
 * refining the interval, or by a common divisor where they are zero. Where it is zero throughout,
 * the features lie in one plane all the time, and unless they touch from the start they first do
 * so if a vertex touches an edge; a point on a moving segment is a problem of the same kind, one
 * degree lower. Written for clarity; integers are given back when a question is answered. */
#ifndef ABUT_TEST_SWEEP_REFEREE_H
#define ABUT_TEST_SWEEP_REFEREE_H

#include "support/support.h"

#include "base/math_shared.h"

#include <gmp.h>

enum { INTEGERS = 1 << 17, TERMS = 8 };

typedef struct poly {
    int terms; /* without leading zeros; 0 = the zero polynomial */
    mpz_ptr c[TERMS];
} poly;
typedef struct poly3 {
    poly x, y, z;
} poly3;

/* Every question starts with none in use. */
static int integers_used;
static inline mpz_ptr integer_new(void) {
    static mpz_t all[INTEGERS];
    static int ready;
    if (integers_used == INTEGERS)
        fail_msg("the referee needs more than %d integers", INTEGERS);
    if (ready == integers_used)
        mpz_init(all[ready++]);
    return all[integers_used++];
}

static inline poly poly_trim(poly p) {
    while (p.terms && mpz_sgn(p.c[p.terms - 1]) == 0)
        p.terms--;
    return p;
}
static inline poly poly_minus(poly a, poly b) {
    poly r = {.terms = a.terms > b.terms ? a.terms : b.terms};
    for (int i = 0; i < r.terms; i++) {
        r.c[i] = integer_new();
        if (i >= b.terms)
            mpz_set(r.c[i], a.c[i]);
        else if (i >= a.terms)
            mpz_neg(r.c[i], b.c[i]);
        else
            mpz_sub(r.c[i], a.c[i], b.c[i]);
    }
    return poly_trim(r);
}
static inline poly poly_plus(poly a, poly b) {
    poly zero = {0};
    return poly_minus(a, poly_minus(zero, b));
}
static inline poly poly_times(poly a, poly b) {
    poly r = {0};
    if (!a.terms || !b.terms)
        return r;
    r.terms = a.terms + b.terms - 1;
    for (int i = 0; i < r.terms; i++) {
        r.c[i] = integer_new();
        mpz_set_ui(r.c[i], 0);
    }
    for (int i = 0; i < a.terms; i++)
        for (int j = 0; j < b.terms; j++)
            mpz_addmul(r.c[i + j], a.c[i], b.c[j]);
    return poly_trim(r);
}
static inline poly3 poly3_minus(poly3 a, poly3 b) {
    return (poly3){poly_minus(a.x, b.x), poly_minus(a.y, b.y), poly_minus(a.z, b.z)};
}
static inline poly3 poly3_cross(poly3 a, poly3 b) {
    return (poly3){poly_minus(poly_times(a.y, b.z), poly_times(a.z, b.y)),
                   poly_minus(poly_times(a.z, b.x), poly_times(a.x, b.z)),
                   poly_minus(poly_times(a.x, b.y), poly_times(a.y, b.x))};
}
static inline poly poly3_dot(poly3 a, poly3 b) {
    return poly_plus(poly_plus(poly_times(a.x, b.x), poly_times(a.y, b.y)), poly_times(a.z, b.z));
}

/* ---- on an interval: always the unit interval, into which others are brought ---- */

static inline int sign_at_0(poly p) {
    return p.terms ? mpz_sgn(p.c[0]) : 0;
}
static inline int sign_at_1(poly p) {
    mpz_ptr sum = integer_new();
    mpz_set_ui(sum, 0);
    for (int i = 0; i < p.terms; i++)
        mpz_add(sum, sum, p.c[i]);
    return mpz_sgn(sum);
}
/* p(t + 1), in place of a copy. */
static inline poly poly_shifted(poly p) {
    poly r = {.terms = p.terms};
    for (int i = 0; i < p.terms; i++) {
        r.c[i] = integer_new();
        mpz_set(r.c[i], p.c[i]);
    }
    for (int i = 0; i + 1 < r.terms; i++)
        for (int j = r.terms - 2; j >= i; j--)
            mpz_add(r.c[j], r.c[j], r.c[j + 1]);
    return r;
}
/* One half of the interval: p(t / 2) or p((t + 1) / 2), times a power of two. */
static inline poly poly_half(poly p, int right) {
    poly r = {.terms = p.terms};
    for (int i = 0; i < p.terms; i++) {
        r.c[i] = integer_new();
        mpz_mul_2exp(r.c[i], p.c[i], (mp_bitcnt_t)(p.terms - 1 - i));
    }
    return right ? poly_shifted(r) : r;
}
/* Changes of sign of (1 + x)^n p(1 / (1 + x)): as many as p has roots in (0, 1), or more by an even
 * number. */
static inline int variations(poly p) {
    poly reversed = {.terms = p.terms};
    for (int i = 0; i < p.terms; i++)
        reversed.c[i] = p.c[p.terms - 1 - i];
    reversed = poly_shifted(reversed);
    int count = 0, last = 0;
    for (int i = 0; i < reversed.terms; i++) {
        int sign = mpz_sgn(reversed.c[i]);
        count += sign && last && sign != last;
        last = sign ? sign : last;
    }
    return count;
}

static inline poly poly_primitive(poly p) {
    mpz_ptr common = integer_new();
    mpz_set_ui(common, 0);
    for (int i = 0; i < p.terms; i++)
        mpz_gcd(common, common, p.c[i]);
    for (int i = 0; i < p.terms; i++) {
        mpz_ptr q = integer_new();
        mpz_divexact(q, p.c[i], common);
        p.c[i] = q;
    }
    return p;
}
/* Divides with remainder, after a times a power of b's leading coefficient; the quotient is wanted
 * only if it is exact except for a constant. */
static inline poly poly_remainder(poly a, poly b, poly *quotient) {
    poly rest = a, q = {.terms = a.terms - b.terms + 1};
    for (int i = 0; i < q.terms; i++) {
        q.c[i] = integer_new();
        mpz_set_ui(q.c[i], 0);
    }
    mpz_ptr lead = b.c[b.terms - 1];
    for (int at = a.terms - b.terms; at >= 0; at--) {
        mpz_ptr top = integer_new();
        if (rest.terms == at + b.terms)
            mpz_set(top, rest.c[rest.terms - 1]);
        else
            mpz_set_ui(top, 0);
        poly next = {.terms = rest.terms};
        for (int i = 0; i < rest.terms; i++) {
            next.c[i] = integer_new();
            mpz_mul(next.c[i], rest.c[i], lead);
            if (i >= at && i - at < b.terms)
                mpz_submul(next.c[i], top, b.c[i - at]);
        }
        for (int i = 0; i < q.terms; i++)
            mpz_mul(q.c[i], q.c[i], lead);
        mpz_set(q.c[at], top);
        rest = poly_trim(next);
    }
    if (quotient)
        *quotient = poly_trim(q);
    return rest;
}
static inline poly poly_common(poly a, poly b) {
    while (b.terms) {
        poly rest = {0};
        if (a.terms >= b.terms)
            rest = poly_remainder(a, b, NULL);
        else
            rest = a;
        a = b;
        b = rest.terms ? poly_primitive(rest) : rest;
    }
    return a;
}
static inline poly poly_squarefree(poly p) {
    poly slope = {.terms = p.terms - 1}, q;
    for (int i = 1; i < p.terms; i++) {
        slope.c[i - 1] = integer_new();
        mpz_mul_ui(slope.c[i - 1], p.c[i], (unsigned long)i);
    }
    poly common = poly_common(p, poly_trim(slope));
    if (common.terms <= 1)
        return p;
    poly_remainder(p, common, &q);
    return poly_primitive(q);
}

/* ---- instants ---- */

/* The time m / 2^k, or the only root of f between there and (m + 1) / 2^k, where f changes its
 * sign. f is parametrised over this interval. */
typedef struct instant {
    int is_root;
    poly f;
    mpz_ptr m;
    unsigned k;
} instant;

static inline mpz_ptr integer_of_ui(unsigned long x) {
    mpz_ptr r = integer_new();
    mpz_set_ui(r, x);
    return r;
}

/* p over the interval of an instant, times a power of two. */
static inline poly poly_over(poly p, const instant *where) {
    poly r = {.terms = p.terms};
    for (int i = 0; i < p.terms; i++) {
        r.c[i] = integer_new();
        mpz_mul_2exp(r.c[i], p.c[i], (mp_bitcnt_t)(p.terms - 1 - i) * where->k);
    }
    for (int i = 0; i + 1 < r.terms; i++)
        for (int j = r.terms - 2; j >= i; j--)
            mpz_addmul(r.c[j], r.c[j + 1], where->m);
    return r;
}

/* The sign of a polynomial at an instant. */
static inline int sign_at(const instant *where, poly p) {
    const int used = integers_used;
    poly f = where->f;
    int sign = 2;
    p = poly_over(p, where);
    if (!where->is_root || !p.terms)
        sign = sign_at_0(p);
    for (int round = 0; sign == 2; round++) {
        poly left = poly_half(f, 0), common = {0};
        int middle = sign_at_1(left), right = middle == sign_at_0(f);
        if (round == 6) /* perhaps it is zero */
            common = poly_common(f, p);
        if (sign_at_0(p) && sign_at_0(p) == sign_at_1(p) && variations(p) == 0)
            sign = sign_at_0(p);
        else if (common.terms > 1 && sign_at_0(common) * sign_at_1(common) < 0)
            sign = 0;
        else if (middle == 0)
            sign = sign_at_1(poly_half(p, 0));
        f = right ? poly_half(f, 1) : left;
        p = poly_half(p, right);
    }
    integers_used = used;
    return sign;
}

typedef struct sweep_case {
    int kind;
    poly3 p[4];
    int open_end; /* leave out the end itself */
} sweep_case;

/* Whether something holds at an instant, of the vertex v[0] and the edge from v[1] to v[2] if v is
 * not null. */
typedef int (*instant_test)(const sweep_case *c, const instant *where, const int *v);

/* Tries every root of f (no multiple one) inside the interval of an instant. */
static inline int any_root(const sweep_case *c, instant where, instant_test test, const int *v) {
    int changes = variations(where.f), found = 0;
    where.is_root = changes == 1 && sign_at_0(where.f) && sign_at_1(where.f);
    if (changes == 0 || where.is_root)
        return changes && test(c, &where, v);
    const int used = integers_used;
    for (unsigned right = 0; right < 2 && !found; right++) {
        integers_used = used;
        instant half = {.f = poly_half(where.f, (int)right), .m = integer_new(), .k = where.k + 1};
        mpz_mul_2exp(half.m, where.m, 1);
        mpz_add_ui(half.m, half.m, right);
        found =
            (right && sign_at_0(half.f) == 0 && test(c, &half, v)) || any_root(c, half, test, v);
    }
    return found;
}
/* The same for any f but zero, with the ends. */
static inline int any_time(const sweep_case *c, poly f, instant_test test, const int *v) {
    instant start = {.f = f, .m = integer_of_ui(0)}, end = {.f = f, .m = integer_of_ui(1)};
    if ((sign_at_0(f) == 0 && test(c, &start, v)) ||
        (!c->open_end && sign_at_1(f) == 0 && test(c, &end, v)))
        return 1;
    start.f = variations(f) > 1 ? poly_squarefree(f) : f;
    return any_root(c, start, test, v);
}

/* ---- what touches ---- */

/* A vertex and the ends of an edge that it may touch: of a vertex and a face, of two edges. */
static const int pairs_of[2][4][3] = {{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}},
                                      {{2, 0, 1}, {3, 0, 1}, {0, 2, 3}, {1, 2, 3}}};
enum { FACE_PAIRS = 3, EDGE_PAIRS = 4 };

static inline poly poly3_axis(poly3 p, int axis) {
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}
/* The three areas of a vertex and an edge, and the product of the ways to both ends. */
static inline poly3 areas_of(const sweep_case *c, const int *v, poly *product) {
    poly3 to_a = poly3_minus(c->p[v[1]], c->p[v[0]]), to_b = poly3_minus(c->p[v[2]], c->p[v[0]]);
    *product = poly3_dot(to_a, to_b);
    return poly3_cross(to_a, to_b);
}

static inline int is_any(const sweep_case *c, const instant *where, const int *v) {
    (void)c, (void)where, (void)v;
    return 1;
}
/* A point on a segment: three areas are zero, and the product of the ways to both ends is not
 * positive. */
static inline int is_on_segment(const sweep_case *c, const instant *where, const int *v) {
    poly product;
    poly3 area = areas_of(c, v, &product);
    return !sign_at(where, area.x) && !sign_at(where, area.y) && !sign_at(where, area.z) &&
           sign_at(where, product) <= 0;
}
static inline int segment_touched(const sweep_case *c, const int *v) {
    poly product;
    poly3 area = areas_of(c, v, &product);
    for (int k = 0; k < 3; k++)
        if (poly3_axis(area, k).terms)
            return any_time(c, poly3_axis(area, k), is_on_segment, v);
    return sign_at_0(product) <= 0 || (!c->open_end && sign_at_1(product) <= 0) ||
           any_time(c, product, is_any, v);
}

static inline poly3 normal_of(const sweep_case *c) {
    const poly3 *p = c->p;
    return c->kind == 1 ? poly3_cross(poly3_minus(p[2], p[1]), poly3_minus(p[3], p[1]))
                        : poly3_cross(poly3_minus(p[1], p[0]), poly3_minus(p[3], p[2]));
}

/* Whether features touch that are in one plane: the vertex is on the inner side of each edge, or
 * the ends of each edge are on both sides of the other, in a projection of the plane. */
static inline int is_touch(const sweep_case *c, const instant *where, const int *unused) {
    const int count = c->kind == 1 ? FACE_PAIRS : EDGE_PAIRS;
    const poly3 n = normal_of(c);
    int axis = 0, turn = 0, side[EDGE_PAIRS];
    (void)unused;
    while (axis < 3 && (turn = sign_at(where, poly3_axis(n, axis))) == 0)
        axis++;
    for (int k = 0; k < count; k++) {
        const int *v = pairs_of[c->kind - 1][k];
        poly product;
        if (!turn && is_on_segment(c, where, v))
            return 1;
        if (turn)
            side[k] = sign_at(where, poly3_axis(areas_of(c, v, &product), axis)) * turn;
    }
    if (!turn)
        return 0;
    return c->kind == 1 ? side[0] >= 0 && side[1] >= 0 && side[2] >= 0
                        : side[0] * side[1] <= 0 && side[2] * side[3] <= 0;
}

static inline int features_touch(const sweep_case *c) {
    poly f = poly3_dot(normal_of(c),
                       poly3_minus(c->p[c->kind == 1 ? 0 : 2], c->p[c->kind == 1 ? 1 : 0]));
    if (f.terms)
        return any_time(c, f, is_touch, NULL);
    const instant start = {.m = integer_of_ui(0)};
    int found = is_touch(c, &start, NULL);
    for (int k = 0; k < (c->kind == 1 ? FACE_PAIRS : EDGE_PAIRS) && !found; k++)
        found = segment_touched(c, pairs_of[c->kind - 1][k]);
    return found;
}

/* ---- the question ---- */

/* x 2^shift, which is whole. */
static inline mpz_ptr integer_of(double x, int shift) {
    mpz_ptr r = integer_new();
    int exponent;
    double m = frexp(x, &exponent);
    mpz_set_d(r, ldexp(m, 53));
    if (exponent - 53 + shift >= 0)
        mpz_mul_2exp(r, r, (mp_bitcnt_t)(exponent - 53 + shift));
    else
        mpz_tdiv_q_2exp(r, r, (mp_bitcnt_t)(53 - exponent - shift));
    return r;
}
static inline poly poly_moving(double from, double to, int shift, mpz_ptr time, int time_bits) {
    mpz_ptr a = integer_of(from, shift), b = integer_of(to, shift);
    poly r = {.terms = 2, .c = {integer_new(), integer_new()}};
    mpz_mul_2exp(r.c[0], a, (mp_bitcnt_t)time_bits);
    mpz_sub(r.c[1], b, a);
    mpz_mul(r.c[1], r.c[1], time);
    return poly_trim(r);
}

/* Whether they touch at a time from 0 to `until`, which is not part of it unless it is 1. */
static inline int referee_touches(int kind, const vec3 *start, const vec3 *end, double until) {
    int shift = -2000, time_bits = 0;
    integers_used = 0;
    if (until == 0)
        return 0;
    for (int k = 0; k < 8; k++)
        for (int axis = 0; axis < 3; axis++) {
            double x = v3_get(k < 4 ? start[k] : end[k - 4], axis);
            int exponent, bits = 53;
            int64_t m = (int64_t)ldexp(frexp(x, &exponent), 53);
            for (; m && !(m & 1); m /= 2)
                bits--; /* as many as are needed, to keep integers short */
            if (m && bits - exponent > shift)
                shift = bits - exponent;
        }
    while (ldexp(until, time_bits) != floor(ldexp(until, time_bits)))
        time_bits++;
    mpz_ptr time = integer_of(until, time_bits);
    sweep_case c = {.kind = kind, .open_end = until < 1};
    for (int k = 0; k < 4; k++) {
        c.p[k].x = poly_moving(start[k].x, end[k].x, shift, time, time_bits);
        c.p[k].y = poly_moving(start[k].y, end[k].y, shift, time, time_bits);
        c.p[k].z = poly_moving(start[k].z, end[k].z, shift, time, time_bits);
    }
    return features_touch(&c);
}

#endif
