/* Exact vectors of rationals (GMP), and the plain textbook distances over them: the referee.
 * Temporaries live in a ring, so that formulas read as formulas; nothing is freed before exit, and
 * a value stays valid for RING_SIZE further operations. */
#ifndef ABUT_TEST_RATIONAL_H
#define ABUT_TEST_RATIONAL_H

#include <gmp.h>

enum { RING_SIZE = 8192 };

typedef mpq_ptr number;
typedef struct rational3 {
    number x, y, z;
} rational3;

static inline number number_new(void) {
    static mpq_t ring[RING_SIZE];
    static int at, ready;
    if (ready < RING_SIZE)
        mpq_init(ring[ready++]);
    at = (at + 1) % ready;
    if (ready < RING_SIZE)
        at = ready - 1;
    return ring[at];
}
static inline number number_of(double d) {
    number r = number_new();
    mpq_set_d(r, d);
    return r;
}
static inline number plus(number a, number b) {
    number r = number_new();
    mpq_add(r, a, b);
    return r;
}
static inline number minus(number a, number b) {
    number r = number_new();
    mpq_sub(r, a, b);
    return r;
}
static inline number times(number a, number b) {
    number r = number_new();
    mpq_mul(r, a, b);
    return r;
}
static inline number over(number a, number b) {
    number r = number_new();
    mpq_div(r, a, b);
    return r;
}
static inline number least(number a, number b) {
    return mpq_cmp(a, b) <= 0 ? a : b;
}
static inline rational3 point_of(double x, double y, double z) {
    return (rational3){number_of(x), number_of(y), number_of(z)};
}
static inline rational3 point_plus(rational3 a, rational3 b) {
    return (rational3){plus(a.x, b.x), plus(a.y, b.y), plus(a.z, b.z)};
}
static inline rational3 point_minus(rational3 a, rational3 b) {
    return (rational3){minus(a.x, b.x), minus(a.y, b.y), minus(a.z, b.z)};
}
static inline rational3 point_times(rational3 a, number s) {
    return (rational3){times(a.x, s), times(a.y, s), times(a.z, s)};
}
static inline number dot(rational3 a, rational3 b) {
    return plus(plus(times(a.x, b.x), times(a.y, b.y)), times(a.z, b.z));
}
static inline rational3 cross(rational3 a, rational3 b) {
    return (rational3){minus(times(a.y, b.z), times(a.z, b.y)),
                       minus(times(a.z, b.x), times(a.x, b.z)),
                       minus(times(a.x, b.y), times(a.y, b.x))};
}
static inline number length_sq(rational3 a) {
    return dot(a, a);
}

/* The square root, rounded. */
static inline double root_of(number sq) {
    mpf_t root;
    mpf_init2(root, 256);
    mpf_set_q(root, sq);
    mpf_sqrt(root, root);
    double value = mpf_get_d(root);
    mpf_clear(root);
    return value;
}

/* ---- squared distances ---- */

static inline number point_segment_sq(rational3 p, rational3 a, rational3 b) {
    rational3 e = point_minus(b, a);
    number ee = length_sq(e);
    if (mpq_sgn(ee) == 0)
        return length_sq(point_minus(p, a));
    number t = over(dot(point_minus(p, a), e), ee);
    if (mpq_sgn(t) < 0)
        return length_sq(point_minus(p, a));
    if (mpq_cmp_ui(t, 1, 1) > 0)
        return length_sq(point_minus(p, b));
    return length_sq(point_minus(p, point_plus(a, point_times(e, t))));
}

static inline number point_triangle_sq(rational3 p, const rational3 *t) {
    rational3 n = cross(point_minus(t[1], t[0]), point_minus(t[2], t[0]));
    int inside = mpq_sgn(length_sq(n)) != 0;
    for (int i = 0; i < 3; i++) /* the foot is inside where it is left of every edge */
        if (mpq_sgn(dot(n, cross(point_minus(t[(i + 1) % 3], t[i]), point_minus(p, t[i])))) < 0)
            inside = 0;
    if (inside) {
        number height = dot(n, point_minus(p, t[0]));
        return over(times(height, height), length_sq(n));
    }
    return least(point_segment_sq(p, t[0], t[1]),
                 least(point_segment_sq(p, t[1], t[2]), point_segment_sq(p, t[2], t[0])));
}

static inline number segment_segment_sq(rational3 a, rational3 b, rational3 c, rational3 d) {
    number best = least(least(point_segment_sq(a, c, d), point_segment_sq(b, c, d)),
                        least(point_segment_sq(c, a, b), point_segment_sq(d, a, b)));
    rational3 u = point_minus(b, a), v = point_minus(d, c), r = point_minus(c, a);
    rational3 n = cross(u, v);
    number nn = length_sq(n);
    if (mpq_sgn(nn) == 0)
        return best;
    number s = over(dot(cross(r, v), n), nn), t = over(dot(cross(r, u), n), nn);
    if (mpq_sgn(s) >= 0 && mpq_cmp_ui(s, 1, 1) <= 0 && mpq_sgn(t) >= 0 && mpq_cmp_ui(t, 1, 1) <= 0)
        return over(times(dot(r, n), dot(r, n)), nn);
    return best;
}

#endif
