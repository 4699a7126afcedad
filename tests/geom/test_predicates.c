/* The predicates against exact rationals (GMP), on data made to fool floating point. */
#include "support/support.h"

#include "geom/predicates_shared.h"

#include "rational.h"

enum { FAMILY_COUNT = 6 };

/* Sign of the determinant of three differences. */
static int referee_rows(vec3 a1, vec3 a0, vec3 b1, vec3 b0, vec3 c1, vec3 c0) {
    const vec3 from[3] = {a0, b0, c0}, to[3] = {a1, b1, c1};
    rational3 row[3];
    for (int i = 0; i < 3; i++)
        row[i] = point_minus(point_of(to[i].x, to[i].y, to[i].z),
                             point_of(from[i].x, from[i].y, from[i].z));
    return mpq_sgn(dot(cross(row[0], row[1]), row[2]));
}

/* A float with an exponent from lo to hi. */
static double random_float(test_random *random, int lo, int hi) {
    int exponent = lo + (int)test_random_below(random, (uint32_t)(hi - lo + 1));
    return ldexpf((float)test_random_real(random, -1, 1), exponent);
}

/* One coordinate of family f. */
static double random_coordinate(test_random *random, int family) {
    int exponent;
    double sign;
    switch (family) {
    case 0: /* small grid: mostly degenerate */
        return (double)test_random_below(random, 4);
    case 1: /* floats of one size */
        return random_float(random, 0, 0);
    case 2: /* floats of any size, down to subnormals */
        return random_float(random, -140, 123);
    case 3: /* doubles of one size */
        return test_random_real(random, -1, 1);
    case 4: /* doubles of any legal size */
        exponent = (int)test_random_below(random, 598) - 299;
        sign = test_random_below(random, 2) ? 1.0 : -1.0;
        return ldexp(sign * test_random_real(random, 0.5, 1), exponent);
    default: /* far from the origin: differences round */
        return 1e6 + ldexp((double)test_random_below(random, 64), -30);
    }
}

static vec3 random_point(test_random *random, int family) {
    vec3 p;
    p.x = random_coordinate(random, family);
    p.y = random_coordinate(random, family);
    p.z = random_coordinate(random, family);
    return p;
}

/* Often a point almost in the plane of a, b, c: a rounded combination, moved by an ulp or not. */
static vec3 fourth_point(test_random *random, int family, vec3 a, vec3 b, vec3 c) {
    if (test_random_below(random, 3) == 0)
        return random_point(random, family);
    double s = test_random_real(random, -1, 2), t = test_random_real(random, -1, 2);
    vec3 d = v3_along(v3_along(a, s, v3_sub(b, a)), t, v3_sub(c, a));
    if (family <= 2)
        d = v3((float)d.x, (float)d.y, (float)d.z);
    if (test_random_below(random, 2))
        d.x = family <= 2 ? nextafterf((float)d.x, INFINITY) : nextafter(d.x, INFINITY);
    return d;
}

TEST(signs_equal_the_referee) {
    test_random random = {11};
    int zeros = 0;
    for (int i = 0, rounds = (int)test_rounds(120000); i < rounds; i++) {
        int family = i % FAMILY_COUNT;
        vec3 a = random_point(&random, family), b = random_point(&random, family);
        vec3 c = random_point(&random, family), d = fourth_point(&random, family, a, b, c);
        vec3 o = v3(0, 0, 0);
        int sign = referee_rows(b, a, c, a, d, a);
        zeros += sign == 0;
        assert_int_equal(sign, orient3d(a, b, c, d));
        assert_int_equal(-sign, orient3d(b, a, c, d));
        assert_int_equal(-sign, orient3d(a, c, b, d));
        assert_int_equal(-sign, orient3d(d, b, c, a));
        assert_int_equal(referee_rows(a, o, b, o, c, o), orient3d(o, a, b, c));
        assert_int_equal(referee_rows(b, o, c, a, d, a), orient3d_along(a, b, c, d));
        vec3 axis = v3(0, 0, 1);
        c = fourth_point(&random, family, a, b, a); /* almost on their line */
        a.z = b.z = c.z = 0;
        sign = referee_rows(b, a, c, a, axis, o);
        assert_int_equal(sign, orient2d(a.x, a.y, b.x, b.y, c.x, c.y));
        assert_int_equal(sign, orient2d(b.x, b.y, c.x, c.y, a.x, a.y));
        assert_int_equal(-sign, orient2d(b.x, b.y, a.x, a.y, c.x, c.y));
        assert_int_equal(referee_rows(b, o, c, a, axis, o),
                         orient2d_along(a.x, a.y, b.x, b.y, c.x, c.y));
    }
    assert_true(zeros > (int)test_rounds(1000)); /* the data must hold hard cases */
}

/* Points on a line, exactly or by one ulp not. */
TEST(collinear_triangles_are_degenerate) {
    test_random random = {12};
    int found = 0;
    for (int i = 0, rounds = (int)test_rounds(100000); i < rounds; i++) {
        int family = i % FAMILY_COUNT;
        vec3 a = random_point(&random, family), b = random_point(&random, family), c;
        switch (test_random_below(&random, 4)) {
        case 0:
            c = random_point(&random, family);
            break;
        case 1:
            c = test_random_below(&random, 2) ? a : b;
            break;
        case 2:
            c = test_random_below(&random, 2) ? v3_lerp(a, b, 0.5)
                                              : fourth_point(&random, family, a, b, a);
            break;
        default:
            c = v3_lerp(a, b, 0.5);
            c.y = c.y == 0 ? -0x1p-149 : nextafter(c.y, -INFINITY); /* within the legal range */
        }
        static const vec3 o = {0, 0, 0}, x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
        bool expected = referee_rows(b, a, c, a, x, o) == 0 &&
                        referee_rows(b, a, c, a, y, o) == 0 && referee_rows(b, a, c, a, z, o) == 0;
        found += expected;
        assert_int_equal(expected, triangle_is_degenerate(a, b, c));
        assert_int_equal(expected, triangle_is_degenerate(c, a, b));
        assert_int_equal(expected, triangle_is_degenerate(b, a, c));
    }
    assert_true(found > (int)test_rounds(10000) && found < (int)test_rounds(90000));
}

TEST(known_signs) {
    vec3 o = v3(0, 0, 0), x = v3(1, 0, 0), y = v3(0, 1, 0), z = v3(0, 0, 1);
    assert_int_equal(1, orient3d(o, x, y, z));
    assert_int_equal(0, orient3d(x, y, z, v3(0.5, 0.25, 0.25)));
    assert_int_equal(1, orient3d(x, y, z, v3(0.5, 0.25, 0.25 + 0x1p-54)));
    assert_int_equal(-1, orient3d(x, y, z, v3(0.5, 0.25, 0.25 - 0x1p-54)));
    assert_int_equal(1, orient3d(o, v3(FLT_MAX, 0, 0), v3(0, FLT_MAX, 0), v3(0, 0, 0x1p-149)));
    assert_int_equal(0, orient3d(o, v3(1e90, -1e90, 1e90), v3(-1e90, 1e90, -1e90), z));
}
