/* Exact signs of small determinants, for C and OpenCL C.
 *
 * Problem: the sign of a determinant of coordinate differences decides every yes-or-no answer of
 * this module. Rounding makes it wrong exactly in the critical cases: touching and coplanar input.
 *
 * Method: a double evaluation with an error bound (the filter) decides most cases. Otherwise every
 * difference is written as an exact sum of two doubles, and all products of the determinant are
 * added to one expansion, whose sign is that of its largest component (Shewchuk 1997, "Adaptive
 * Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", sections 2.2 to 2.5).
 * Fixed arrays, no heap, no recursion.
 *
 * Guarantee: the sign is exact for every finite float, and for doubles that are 0 or between 1e-91
 * and 1e90 in magnitude. There, a product of three differences stays below 6 x 8e270, and the last
 * bits of three factors multiply to no less than 2^-1074, so that no operation overflows or
 * underflows (float: 2^-447 at least).
 *
 * All arithmetic is double, for either `real`. A device without cl_khr_fp64 has no predicates;
 * ABUTI_PREDICATES is defined if they exist.
 */
#ifndef ABUTI_GEOM_PREDICATES_SHARED_H
#define ABUTI_GEOM_PREDICATES_SHARED_H

#include "base/math_shared.h"

#if defined(__OPENCL_VERSION__) && !defined(cl_khr_fp64)
/* This device has no doubles, hence no predicates. */
#else
#define ABUTI_PREDICATES 1

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define ABUTI_COLD static __attribute__((noinline))
#elif defined(__GNUC__)
#define ABUTI_COLD static __attribute__((noinline, cold, unused))
#else
#define ABUTI_COLD static inline
#endif

/* ---- exact sums and products ---- */

/* Returns the tail of a - b = difference + tail, which is exact (Shewchuk's Two-Diff, after Knuth).
 */
static inline double difference_tail(double a, double b, double difference) {
    double b_virtual = a - difference;
    double a_virtual = difference + b_virtual;
    return (a - a_virtual) + (b_virtual - b);
}

/* Returns the tail of a b = product + tail, which is exact. Uses a fused multiply-add if the
 * hardware has one, as all GPUs with doubles do, even if they do not report it; otherwise Dekker's
 * split into halves of 26 bits. Both give the same bits. */
static inline double product_tail(double a, double b, double product) {
#if defined(FP_FAST_FMA) || (defined(__OPENCL_C_VERSION__) && !defined(APART))
    return fma(a, b, -product);
#else
    double a_big = 134217729.0 * a, b_big = 134217729.0 * b; /* 2^27 + 1 */
    double a_hi = a_big - (a_big - a), b_hi = b_big - (b_big - b);
    double a_lo = a - a_hi, b_lo = b - b_hi;
    return a_lo * b_lo - (((product - a_hi * b_hi) - a_lo * b_hi) - a_hi * b_lo);
#endif
}

/* Adds a number to an expansion of n components, which do not overlap and increase in magnitude.
 * Returns the new n, at most one more (Grow-Expansion without zeros). */
static inline int expansion_add(double *e, int n, double b) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        double sum = b + e[i];
        double e_virtual = sum - b;
        double tail = (b - (sum - e_virtual)) + (e[i] - e_virtual);
        e[kept] = tail;
        kept += tail != 0.0;
        b = sum;
    }
    e[kept] = b;
    return kept + (b != 0.0);
}

/* Adds a b, at most two components. */
static inline int expansion_add_product2(double *e, int n, double a, double b) {
    double ab = a * b;
    if (ab == 0.0)
        return n;
    n = expansion_add(e, n, product_tail(a, b, ab));
    return expansion_add(e, n, ab);
}

/* Adds a b c, at most four components. */
static inline int expansion_add_product3(double *e, int n, double a, double b, double c) {
    double ab = a * b;
    n = expansion_add_product2(e, n, product_tail(a, b, ab), c);
    return expansion_add_product2(e, n, ab, c);
}

/* The sum, rounded: within an ulp and of the right sign, because the components before the last one
 * add up to less than two thirds of it (components are nonadjacent; Shewchuk, theorem 10). */
static inline double expansion_value(const double *e, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += e[i];
    return sum;
}

/* ---- determinants ---- */

/* An exact matrix entry: hi + lo. */
typedef struct exact_entry {
    double hi, lo;
} exact_entry;

static inline exact_entry exact_difference(double a, double b) {
    exact_entry d;
    d.hi = a - b;
    d.lo = difference_tail(a, b, d.hi);
    return d;
}

/* | a b |
 *   | c d |, of at most 2 x 4 products of two components. */
ABUTI_COLD double det2_value(exact_entry a, exact_entry b, exact_entry c, exact_entry d) {
    double e[16];
    int n = 0;
    n = expansion_add_product2(e, n, a.lo, d.lo);
    n = expansion_add_product2(e, n, -b.lo, c.lo);
    n = expansion_add_product2(e, n, a.lo, d.hi);
    n = expansion_add_product2(e, n, a.hi, d.lo);
    n = expansion_add_product2(e, n, -b.lo, c.hi);
    n = expansion_add_product2(e, n, -b.hi, c.lo);
    n = expansion_add_product2(e, n, a.hi, d.hi);
    n = expansion_add_product2(e, n, -b.hi, c.hi);
    return expansion_value(e, n);
}

/* The matrix has rows of three. Six products of three entries of two parts make at most 48 products
 * of four components. For most real input the tails are zero, so that few products remain. */
ABUTI_COLD double det3_expansion(const exact_entry *m) {
    double e[192];
    int n = 0;
    for (int column = 0; column < 3; column++)
        for (int sense = 0; sense < 2; sense++) {
            exact_entry a = m[column];
            exact_entry b = m[3 + (column + 1 + sense) % 3];
            exact_entry c = m[6 + (column + 2 - sense) % 3];
            for (int parts = 0; parts < 8; parts++) {
                double x = parts & 1 ? a.hi : a.lo;
                double y = parts & 2 ? b.hi : b.lo;
                double z = parts & 4 ? c.hi : c.lo;
                if (x != 0.0 && y != 0.0 && z != 0.0)
                    n = expansion_add_product3(e, n, sense ? -x : x, y, z);
            }
        }
    return expansion_value(e, n);
}

/* Differences and products of pairs hi + lo, rounded to pairs (Dekker 1971): the error of each is
 * below 2^-100 of the absolute values of the operands. */
static inline exact_entry pair_difference(exact_entry a, exact_entry b) {
    exact_entry d = exact_difference(a.hi, b.hi), r;
    d.lo += a.lo - b.lo;
    r.hi = d.hi + d.lo;
    r.lo = d.lo - (r.hi - d.hi);
    return r;
}
static inline exact_entry pair_product(exact_entry a, exact_entry b) {
    double p = a.hi * b.hi, tail = product_tail(a.hi, b.hi, p) + (a.hi * b.lo + a.lo * b.hi);
    exact_entry r;
    r.hi = p + tail;
    r.lo = tail - (r.hi - p);
    return r;
}

/* The determinant by pairs, and its permanent (the same expression in absolute values). The error
 * is below 2^-97 of the permanent (three products, each after a difference of two). */
static inline double det3_pairs(const exact_entry *m, double *permanent) {
    exact_entry value;
    value.hi = value.lo = 0.0;
    *permanent = 0.0;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, k = 3 - i - j;
        exact_entry left = pair_product(m[3 + j], m[6 + k]);
        exact_entry right = pair_product(m[3 + k], m[6 + j]);
        exact_entry minus_term = pair_product(m[i], pair_difference(right, left));
        value = pair_difference(value, minus_term);
        *permanent += fabs(m[i].hi) * (fabs(left.hi) + fabs(right.hi));
    }
    return value.hi;
}

/* The determinant with an error of about one ulp and the right sign: by pairs, unless it is so
 * small compared with the permanent that the error of pairs matters. */
#define DET3_PAIRS_FRACTION 0x1p-40
ABUTI_COLD double det3_value(const exact_entry *m) {
    double permanent, value = det3_pairs(m, &permanent);
    return fabs(value) > DET3_PAIRS_FRACTION * permanent ? value : det3_expansion(m);
}

/* Only the sign: pairs suffice for much smaller determinants, as of planes that are flat up to the
 * rounding of their corners. */
ABUTI_COLD int det3_sign_exact(const exact_entry *m) {
    double permanent, value = det3_pairs(m, &permanent);
    if (!(fabs(value) > 0x1p-92 * permanent))
        value = det3_expansion(m);
    return value > 0.0 ? 1 : value < 0.0 ? -1 : 0;
}

/* The filters. Let u = 2^-53 be the unit roundoff; entries are differences with a relative error of
 * at most u. To first order, a product of two entries has a relative error of 3u, and a difference
 * of two products an error of 4u of |ad| + |bc|. In three dimensions the product with the third
 * entry has 6u, and the two sums make it 8u of the permanent. One more u covers all terms of second
 * order, including the rounding of the permanent: fewer than 200 of size u^2. Shewchuk's constants,
 * 3u and 7u, are slightly sharper; these have the shorter proof. */
#define DET2_FILTER 5.5511151231257827e-16 /* 5u */
#define DET3_FILTER 9.9920072216264089e-16 /* 9u */

/* Returns the sign if the rounded value is certain, otherwise 2. */
static inline int filter_sign(double value, double bound) {
    return value > bound ? 1 : value < -bound ? -1 : bound == 0.0 ? 0 : 2;
}

static inline int det3_sign_fast(double ax, double ay, double az, double bx, double by, double bz,
                                 double cx, double cy, double cz) {
    double bycz = by * cz, bzcy = bz * cy;
    double bzcx = bz * cx, bxcz = bx * cz;
    double bxcy = bx * cy, bycx = by * cx;
    double value = ax * (bycz - bzcy) + ay * (bzcx - bxcz) + az * (bxcy - bycx);
    double permanent = fabs(ax) * (fabs(bycz) + fabs(bzcy)) + fabs(ay) * (fabs(bzcx) + fabs(bxcz)) +
                       fabs(az) * (fabs(bxcy) + fabs(bycx));
    return filter_sign(value, DET3_FILTER * permanent);
}

/* ---- predicates ---- */

/* Each predicate exists as a sign and as a value: the determinant with an error of about one ulp,
 * for callers that divide by it. */

static inline int sign_of(double x) {
    return x > 0.0 ? 1 : x < 0.0 ? -1 : 0;
}

ABUTI_COLD double orient2d_value(double ax, double ay, double bx, double by, double cx, double cy) {
    return det2_value(exact_difference(bx, ax), exact_difference(by, ay), exact_difference(cx, ax),
                      exact_difference(cy, ay));
}

/* Sign of | b-a, c-a |: +1 if a, b, c turn left, 0 if they are on one line. */
static inline int orient2d(double ax, double ay, double bx, double by, double cx, double cy) {
    double left = (bx - ax) * (cy - ay), right = (by - ay) * (cx - ax);
    int sign = filter_sign(left - right, DET2_FILTER * (fabs(left) + fabs(right)));
    return sign != 2 ? sign : sign_of(orient2d_value(ax, ay, bx, by, cx, cy));
}

/* | direction, b-a |: orient2d with a + direction instead of b, without rounding that sum. */
ABUTI_COLD double orient2d_along_value(double ax, double ay, double dx, double dy, double bx,
                                       double by) {
    return det2_value(exact_difference(dx, 0.0), exact_difference(dy, 0.0),
                      exact_difference(bx, ax), exact_difference(by, ay));
}

static inline int orient2d_along(double ax, double ay, double dx, double dy, double bx, double by) {
    double left = dx * (by - ay), right = dy * (bx - ax);
    int sign = filter_sign(left - right, DET2_FILTER * (fabs(left) + fabs(right)));
    return sign != 2 ? sign : sign_of(orient2d_along_value(ax, ay, dx, dy, bx, by));
}

static inline void exact_row(exact_entry *row, vec3 a, vec3 b) {
    row[0] = exact_difference(a.x, b.x);
    row[1] = exact_difference(a.y, b.y);
    row[2] = exact_difference(a.z, b.z);
}

ABUTI_COLD double orient3d_value(vec3 a, vec3 b, vec3 c, vec3 d) {
    exact_entry m[9];
    exact_row(m, b, a);
    exact_row(m + 3, c, a);
    exact_row(m + 6, d, a);
    return det3_value(m);
}
ABUTI_COLD int orient3d_exact(vec3 a, vec3 b, vec3 c, vec3 d) {
    exact_entry m[9];
    exact_row(m, b, a);
    exact_row(m + 3, c, a);
    exact_row(m + 6, d, a);
    return det3_sign_exact(m);
}

/* Sign of the volume | b-a, c-a, d-a |: +1 if d is on the side of the triangle a, b, c to which its
 * normal (b-a) x (c-a) points, 0 if all four are coplanar. */
static inline int orient3d(vec3 a, vec3 b, vec3 c, vec3 d) {
    double x = a.x, y = a.y, z = a.z;
    int sign = det3_sign_fast(b.x - x, b.y - y, b.z - z, c.x - x, c.y - y, c.z - z, d.x - x,
                              d.y - y, d.z - z);
    return sign != 2 ? sign : orient3d_exact(a, b, c, d);
}

ABUTI_COLD double orient3d_along_value(vec3 a, vec3 direction, vec3 b, vec3 c) {
    exact_entry m[9];
    exact_row(m, direction, v3(REAL(0.0), REAL(0.0), REAL(0.0)));
    exact_row(m + 3, b, a);
    exact_row(m + 6, c, a);
    return det3_value(m);
}

/* Sign of | direction, b-a, c-a |: orient3d with a + direction instead of b, without rounding that
 * sum. */
static inline int orient3d_along(vec3 a, vec3 direction, vec3 b, vec3 c) {
    double x = a.x, y = a.y, z = a.z;
    int sign = det3_sign_fast(direction.x, direction.y, direction.z, b.x - x, b.y - y, b.z - z,
                              c.x - x, c.y - y, c.z - z);
    return sign != 2 ? sign : sign_of(orient3d_along_value(a, direction, b, c));
}

/* orient2d of the projections along a coordinate axis: 0 is x, 1 is y, 2 is z. */
static inline int orient2d_axis(int axis, vec3 a, vec3 b, vec3 c) {
    return axis == 0   ? orient2d(a.y, a.z, b.y, b.z, c.y, c.z)
           : axis == 1 ? orient2d(a.z, a.x, b.z, b.x, c.z, c.x)
                       : orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
}

/* Whether the corners are collinear or coincide. This is so if and only if their projections along
 * all three axes are. */
static inline int triangle_is_degenerate(vec3 a, vec3 b, vec3 c) {
    return orient2d_axis(2, a, b, c) == 0 && orient2d_axis(0, a, b, c) == 0 &&
           orient2d_axis(1, a, b, c) == 0;
}

#endif
#endif
