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

/* ---- places: times that are numbers or roots ---- */

enum { MOST_CONDITIONS = 32 };
typedef enum place { AT_START, AT_END, AT_ROOT } place;

/* A copy in one of four places of its own. */
static inline poly kept_poly(poly p, int which) {
    static mpz_t kept[4][TERMS];
    static int ready;
    for (; ready < 4 * TERMS; ready++)
        mpz_init(kept[ready / TERMS][ready % TERMS]);
    for (int i = 0; i < p.terms; i++) {
        mpz_set(kept[which][i], p.c[i]);
        p.c[i] = kept[which][i];
    }
    return p;
}

/* The sign of a polynomial at a place; a root is the only one of f in (0, 1), where f
 * changes its sign. */
static inline int sign_at(place where, poly f, poly p) {
    if (where == AT_START)
        return sign_at_0(p);
    if (where == AT_END)
        return sign_at_1(p);
    if (!p.terms)
        return 0;
    const int used = integers_used;
    for (int round = 0;; round++) {
        if (sign_at_0(p) && sign_at_0(p) == sign_at_1(p) && variations(p) == 0)
            return sign_at_0(p);
        if (round == 6) { /* perhaps it is zero */
            poly common = poly_common(f, p);
            if (common.terms > 1 && sign_at_0(common) * sign_at_1(common) < 0)
                return 0;
        }
        poly left = poly_half(f, 0);
        int middle = sign_at_1(left);
        if (middle == 0) {
            return sign_at_1(poly_half(p, 0));
        }
        int right = middle == sign_at_0(f);
        f = kept_poly(right ? poly_half(f, 1) : left, round & 1);
        p = kept_poly(poly_half(p, right), 2 + (round & 1));
        integers_used = used;
    }
}

typedef struct sweep_case {
    int kind;
    poly3 p[4];
    int open_end; /* leave out the end itself */
} sweep_case;

/* Whether something holds at a place: 0 no, 1 yes, 2 that is yet to be said with more conditions.
 */
typedef int (*place_test)(place where, poly f, const poly *on);

/* Tries every root of f (no multiple one) in (0, 1). */
static inline int any_root(poly f, poly *on, int count, place_test test) {
    int changes = variations(f);
    if (changes == 0)
        return 0;
    if (changes == 1 && sign_at_0(f) && sign_at_1(f))
        return test(AT_ROOT, f, on);
    const int used = integers_used;
    for (int right = 0; right < 2; right++) {
        poly halves[MOST_CONDITIONS];
        integers_used = used;
        for (int i = 0; i < count; i++)
            halves[i] = poly_half(on[i], right);
        poly half = poly_half(f, right);
        int found = right && sign_at_0(half) == 0 ? test(AT_START, half, halves) : 0;
        if (!found)
            found = any_root(half, halves, count, test);
        if (found)
            return found;
    }
    return 0;
}
/* The same for any f but zero, with the ends. */
static inline int any_time(poly f, poly *on, int count, int open_end, place_test test) {
    int found = sign_at_0(f) == 0 ? test(AT_START, f, on) : 0;
    if (!found && !open_end && sign_at_1(f) == 0)
        found = test(AT_END, f, on);
    return found ? found : any_root(variations(f) > 1 ? poly_squarefree(f) : f, on, count, test);
}

static inline int is_any(place where, poly f, const poly *on) {
    (void)where, (void)f, (void)on;
    return 1;
}
/* A point on a segment: three areas are zero, and the product of the ways to both ends is not
 * positive. */
static inline int is_on_segment(place where, poly f, const poly *on) {
    for (int k = 0; k < 3; k++)
        if (sign_at(where, f, on[k]))
            return 0;
    return sign_at(where, f, on[3]) <= 0;
}
static inline void segment_conditions(poly3 v, poly3 a, poly3 b, poly *on) {
    poly3 to_a = poly3_minus(a, v), to_b = poly3_minus(b, v), area = poly3_cross(to_a, to_b);
    on[0] = area.x;
    on[1] = area.y;
    on[2] = area.z;
    on[3] = poly3_dot(to_a, to_b);
}
static inline int segment_touched(poly3 v, poly3 a, poly3 b, int open_end) {
    poly on[4];
    segment_conditions(v, a, b, on);
    for (int k = 0; k < 3; k++)
        if (on[k].terms)
            return any_time(on[k], on, 4, open_end, is_on_segment);
    if (sign_at_0(on[3]) <= 0 || (!open_end && sign_at_1(on[3]) <= 0))
        return 1;
    return any_time(on[3], on, 0, 1, is_any);
}

/* Whether there are conditions from 15 on, which few need. */
static int with_edges;

/* Conditions of both kinds: the normal, 0 to 2; orientations in the projection along each axis,
 * three or four, from 3; four for each vertex that may be on an edge, from 15. */
static inline int axis_of(place where, poly f, const poly *on, int *side) {
    for (int k = 0; k < 3; k++)
        if ((*side = sign_at(where, f, on[k])) != 0)
            return k;
    return -1;
}
static inline int is_in_face(place where, poly f, const poly *on) {
    int side, axis = axis_of(where, f, on, &side);
    if (axis < 0 && !with_edges)
        return 2;
    if (axis < 0)
        return is_on_segment(where, f, on + 15) || is_on_segment(where, f, on + 19) ||
               is_on_segment(where, f, on + 23);
    for (int k = 0; k < 3; k++)
        if (sign_at(where, f, on[3 + 4 * axis + k]) * side < 0)
            return 0;
    return 1;
}
#define AXIS_OF(v, axis) ((axis) == 0 ? (v).x : (axis) == 1 ? (v).y : (v).z)

static inline int face_touched(const sweep_case *c) {
    const poly3 *p = c->p;
    poly3 n = poly3_cross(poly3_minus(p[2], p[1]), poly3_minus(p[3], p[1]));
    poly f = poly3_dot(n, poly3_minus(p[0], p[1])), on[MOST_CONDITIONS] = {n.x, n.y, n.z};
    if (f.terms && variations(f) == 0 && sign_at_0(f) && sign_at_1(f))
        return 0;
    for (int k = 0; k < 3; k++) {
        poly3 a = p[1 + k], b = p[1 + (k + 1) % 3];
        poly3 side = poly3_cross(poly3_minus(b, a), poly3_minus(p[0], a));
        for (int axis = 0; axis < 3; axis++)
            on[3 + 4 * axis + k] = AXIS_OF(side, axis);
        if (with_edges)
            segment_conditions(p[0], a, b, on + 15 + 4 * k);
    }
    if (f.terms)
        return any_time(f, on, with_edges ? 27 : 15, c->open_end, is_in_face);
    int found = is_in_face(AT_START, f, on);
    if (found)
        return found;
    for (int k = 0; k < 3; k++)
        if (segment_touched(p[0], p[1 + k], p[1 + (k + 1) % 3], c->open_end))
            return 1;
    return 0;
}

/* Segments that are not parallel cross where the ends of each are on both sides of the other. */
static inline int is_crossing(place where, poly f, const poly *on) {
    int side, axis = axis_of(where, f, on, &side);
    if (axis < 0 && !with_edges)
        return 2;
    if (axis < 0)
        return is_on_segment(where, f, on + 15) || is_on_segment(where, f, on + 19) ||
               is_on_segment(where, f, on + 23) || is_on_segment(where, f, on + 27);
    const poly *o = on + 3 + 4 * axis;
    return sign_at(where, f, o[0]) * sign_at(where, f, o[1]) <= 0 &&
           sign_at(where, f, o[2]) * sign_at(where, f, o[3]) <= 0;
}

static inline int edges_touched(const sweep_case *c) {
    const poly3 *p = c->p;
    poly3 u = poly3_minus(p[1], p[0]), w = poly3_minus(p[3], p[2]), n = poly3_cross(u, w);
    poly f = poly3_dot(n, poly3_minus(p[2], p[0])), on[MOST_CONDITIONS] = {n.x, n.y, n.z};
    if (f.terms && variations(f) == 0 && sign_at_0(f) && sign_at_1(f))
        return 0;
    for (int k = 0; k < 4; k++) { /* the ends of the second edge, then those of the first */
        int base = k < 2 ? 0 : 2, end = k < 2 ? 2 + k : k - 2;
        poly3 side = poly3_cross(k < 2 ? u : w, poly3_minus(p[end], p[base]));
        for (int axis = 0; axis < 3; axis++)
            on[3 + 4 * axis + k] = AXIS_OF(side, axis);
        if (with_edges)
            segment_conditions(p[end], p[base], p[base + 1], on + 15 + 4 * k);
    }
    if (f.terms)
        return any_time(f, on, with_edges ? 31 : 15, c->open_end, is_crossing);
    int found = is_crossing(AT_START, f, on);
    if (found)
        return found;
    for (int k = 0; k < 4; k++) {
        int base = k < 2 ? 0 : 2, end = k < 2 ? 2 + k : k - 2;
        if (segment_touched(p[end], p[base], p[base + 1], c->open_end))
            return 1;
    }
    return 0;
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

/* The volume in Bernstein's form, in doubles: where all four coefficients are clear of rounding and
 * of one sign, it has no root. Each is a mean of determinants of differences of at most 2 M, off by
 * less than 100 u (2 M)^3. Spares the integers for what is easy. */
static inline double volume(vec3 a, vec3 b, vec3 c) {
    return v3_dot(v3_cross(a, b), c);
}
static inline int volume_is_clear(int kind, const vec3 *start, const vec3 *end) {
    vec3 u[2], w[2], r[2];
    double most = 0;
    for (int i = 0; i < 2; i++) {
        const vec3 *p = i ? end : start;
        u[i] = v3_sub(kind == 1 ? p[2] : p[1], kind == 1 ? p[1] : p[0]);
        w[i] = kind == 1 ? v3_sub(p[3], p[1]) : v3_sub(p[3], p[2]);
        r[i] = kind == 1 ? v3_sub(p[0], p[1]) : v3_sub(p[2], p[0]);
        most = fmax(most, fmax(v3_max_abs(u[i]), fmax(v3_max_abs(w[i]), v3_max_abs(r[i]))));
    }
    double b[4] = {
        volume(u[0], w[0], r[0]),
        (volume(u[1], w[0], r[0]) + volume(u[0], w[1], r[0]) + volume(u[0], w[0], r[1])) / 3,
        (volume(u[0], w[1], r[1]) + volume(u[1], w[0], r[1]) + volume(u[1], w[1], r[0])) / 3,
        volume(u[1], w[1], r[1])};
    double bound = 800 * DBL_EPSILON * most * most * most;
    return most > 1e-80 && most < 1e80 &&
           ((b[0] > bound && b[1] > bound && b[2] > bound && b[3] > bound) ||
            (b[0] < -bound && b[1] < -bound && b[2] < -bound && b[3] < -bound));
}

/* Whether they touch at a time from 0 to `until`, which is not part of it unless it is 1. */
static inline int referee_touches(int kind, const vec3 *start, const vec3 *end, double until) {
    int shift = -2000, time_bits = 0;
    integers_used = 0;
    if (until == 0 || volume_is_clear(kind, start, end))
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
    int found = 2;
    for (with_edges = 0; found == 2; with_edges = 1)
        found = kind == 1 ? face_touched(&c) : edges_touched(&c);
    return found;
}

#endif
