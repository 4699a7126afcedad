/* Distances against exact rationals, in the precision that the includer chose: the error in ulp of
 * the largest coordinate difference, over shapes, query points and transforms made to break the
 * usual formulas. Prints the worst of each; fails above 4. */
#include "support/support.h"

#include "clip.h"
#include "geom/distance_shared.h"

#include <stdio.h>

#if ABUTI_REAL_BITS == 64
#define EXPONENT_LIMIT 250
#define MANTISSA 53
#else
#define EXPONENT_LIMIT 50
#define MANTISSA 24
#endif

static double uniform(test_random *random) {
    return test_random_real(random, -1, 1);
}
/* Down to below the precision, both ends included. */
static double small_number(test_random *random) {
    int exponent = -(int)test_random_below(random, 61);
    return ldexp(uniform(random), exponent);
}
static vec3 point_in_cube(test_random *random, double size) {
    real x = (real)(size * uniform(random)), y = (real)(size * uniform(random));
    return v3(x, y, (real)(size * uniform(random)));
}
static vec3 point_of_any_size(test_random *random) {
    real x = (real)small_number(random), y = (real)small_number(random);
    return v3(x, y, (real)small_number(random));
}
static vec3 combination(const vec3 *c, double s, double t) {
    double r = 1 - s - t;
    return v3((real)(r * c[0].x + s * c[1].x + t * c[2].x),
              (real)(r * c[0].y + s * c[1].y + t * c[2].y),
              (real)(r * c[0].z + s * c[1].z + t * c[2].z));
}
static vec3 moved(test_random *random, vec3 p, double size) {
    vec3 by = point_in_cube(random, 1);
    return v3((real)(p.x + size * by.x), (real)(p.y + size * by.y), (real)(p.z + size * by.z));
}

enum { SHAPE_COUNT = 7, QUERY_COUNT = 6, TRANSFORM_COUNT = 4 };
static const char *const shape_names[SHAPE_COUNT] = {
    "any", "cap", "needle", "degenerate", "mixed exponents", "axis-aligned", "right"};

static void make_shape(test_random *random, uint32_t shape, vec3 *c) {
    for (int i = 0; i < 3; i++)
        c[i] = point_in_cube(random, 1);
    double t = test_random_real(random, 0, 1);
    switch (shape) {
    case 1: /* the third corner almost on the opposite edge */
        c[2] = moved(random, combination(c, t, 0), small_number(random));
        break;
    case 2: /* two corners almost one */
        c[1] = moved(random, c[0], small_number(random));
        break;
    case 3:
        c[2] = test_random_below(random, 2) ? c[test_random_below(random, 2)]
                                            : combination(c, 2 * t - 0.5, 0);
        if (test_random_below(random, 8) == 0)
            c[1] = c[2] = c[0];
        break;
    case 4:
        for (int i = 0; i < 3; i++)
            c[i] = point_of_any_size(random);
        break;
    case 5:
        for (int i = 0; i < 3; i++)
            c[i].z = c[0].z;
        break;
    case 6:
        c[1] = v3(c[0].x + (real)small_number(random), c[0].y, c[0].z);
        c[2] = v3(c[0].x, c[0].y + (real)small_number(random), c[0].z);
        break;
    default:
        break;
    }
    uint32_t turn = test_random_below(random, 3);
    vec3 copy[3] = {c[0], c[1], c[2]};
    for (uint32_t i = 0; i < 3; i++)
        c[i] = copy[(i + turn) % 3];
}

static vec3 make_query(test_random *random, uint32_t query, const vec3 *c) {
    double s = uniform(random), t = uniform(random);
    switch (query) {
    case 0:
        return point_in_cube(random, 1);
    case 1: /* far */
        return point_in_cube(random, ldexp(1, (int)test_random_below(random, 30)));
    case 2: /* almost in the plane, also outside */
        return moved(random, combination(c, s, t), small_number(random));
    case 3: /* as near to the face as rounding allows */
        return combination(c, fabs(s) / 2, fabs(t) / 2);
    case 4: /* near an edge */
        return moved(random, combination(c, fabs(s), 0), small_number(random));
    default: /* near a corner */
        return moved(random, c[test_random_below(random, 3)], small_number(random));
    }
}

/* None, far from the origin, and very large or small: the last is exact. */
static void transform(test_random *random, uint32_t kind, vec3 *p, int count) {
    vec3 shift = point_in_cube(random, 1000);
    int exponent = (int)test_random_below(random, 2 * EXPONENT_LIMIT) - EXPONENT_LIMIT;
    for (int i = 0; i < count; i++) {
        if (kind & 1)
            p[i] = v3_add(p[i], shift);
        if (kind & 2)
            p[i] = v3((real)ldexp(p[i].x, exponent), (real)ldexp(p[i].y, exponent),
                      (real)ldexp(p[i].z, exponent));
    }
}

/* One ulp of the largest coordinate difference, or of the largest coordinate where absolute. */
static double ulp_of(const vec3 *p, int count, int absolute) {
    double largest = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++) {
                double x = v3_get(p[i], axis);
                double d = absolute ? fabs(x) : fabs(x - v3_get(p[j], axis));
                largest = d > largest ? d : largest;
            }
    int exponent;
    frexp(largest, &exponent);
    return ldexp(1, exponent - MANTISSA);
}

static rational3 exactly(vec3 p) {
    return point_of(p.x, p.y, p.z);
}

/* (value - sqrt(square)) / ulp */
static double error_in_ulp(double value, number square, double ulp) {
    mpf_t root, v;
    mpf_init2(root, 512);
    mpf_init2(v, 512);
    mpf_set_q(root, square);
    mpf_sqrt(root, root);
    mpf_set_d(v, value);
    mpf_sub(v, v, root);
    mpf_set_d(root, ulp);
    mpf_div(v, v, root);
    double error = mpf_get_d(v);
    mpf_clears(root, v, NULL);
    return error;
}
static double root_in_ulp(number square, double ulp) {
    return -error_in_ulp(0, square, ulp);
}

static void keep_worst(double *worst, double error) {
    *worst = fabs(error) > *worst ? fabs(error) : *worst;
}

static void print_worst(const char *what, const double *worst) {
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        print_message("  %s, %s: worst error %.2f ulp of the largest difference\n", what,
                      shape_names[shape], worst[shape]);
}

#ifndef CASE_COUNT
#define CASE_COUNT 20000
#endif

TEST(point_to_triangle) {
    test_random random = {21};
    double worst[SHAPE_COUNT] = {0}, worst_point = 0;
    for (uint32_t i = 0, rounds = test_rounds(CASE_COUNT); i < rounds; i++) {
        uint32_t shape = i % SHAPE_COUNT;
        vec3 p[4];
        make_shape(&random, shape, p);
        p[3] = make_query(&random, i / SHAPE_COUNT % QUERY_COUNT, p);
        transform(&random, test_random_below(&random, TRANSFORM_COUNT), p, 4);
        triangle3 t = {{p[0], p[1], p[2]}};
        closest_on_triangle closest = triangle_closest_point(t, p[3]);
        rational3 exact[3] = {exactly(p[0]), exactly(p[1]), exactly(p[2])};
        double ulp = ulp_of(p, 4, 0), coarse = ulp_of(p, 4, 1);
        number square = point_triangle_sq(exactly(p[3]), exact);
        keep_worst(&worst[shape], error_in_ulp(closest.distance, square, ulp));
        /* the point is on the triangle, and as near as the distance says */
        coarse = coarse > ulp ? coarse : ulp;
        keep_worst(&worst_point,
                   root_in_ulp(point_triangle_sq(exactly(closest.point), exact), coarse));
        rational3 gap = point_minus(exactly(closest.point), exactly(p[3]));
        keep_worst(&worst_point, error_in_ulp(closest.distance, length_sq(gap), coarse));
        real sum = closest.barycentric[0] + closest.barycentric[1] + closest.barycentric[2];
        assert_true(fabs((double)sum - 1) <= 2 * (double)REAL_EPSILON);
        for (int k = 0; k < 3; k++)
            assert_true(closest.barycentric[k] >= 0);
        assert_int_equal(closest.feature, weights_feature(closest.barycentric));
    }
    print_worst("point to triangle", worst);
    print_message("  point to triangle, the point: %.2f ulp of the largest coordinate\n",
                  worst_point);
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        assert_true(worst[shape] <= 4);
    assert_true(worst_point <= 4);
}

TEST(point_to_segment) {
    test_random random = {22};
    double worst = 0;
    for (uint32_t i = 0, rounds = test_rounds(CASE_COUNT); i < rounds; i++) {
        vec3 p[4];
        make_shape(&random, i % SHAPE_COUNT, p);
        p[2] = make_query(&random, i / SHAPE_COUNT % QUERY_COUNT, p);
        transform(&random, test_random_below(&random, TRANSFORM_COUNT), p, 3);
        segment3 s = {{p[0], p[1]}};
        closest_on_segment closest = segment_closest_point(s, p[2]);
        number square = point_segment_sq(exactly(p[2]), exactly(p[0]), exactly(p[1]));
        keep_worst(&worst, error_in_ulp(closest.distance, square, ulp_of(p, 3, 0)));
        assert_true(closest.parameter >= 0 && closest.parameter <= 1);
    }
    print_message("  point to segment: worst error %.2f ulp\n", worst);
    assert_true(worst <= 4);
}

/* The second segment: any, almost parallel, touching, almost touching. */
static void make_second_segment(test_random *random, vec3 *p) {
    p[2] = point_in_cube(random, 1);
    p[3] = point_in_cube(random, 1);
    double size = small_number(random), t = test_random_real(random, -0.5, 1.5);
    switch (test_random_below(random, 5)) {
    case 0: /* almost parallel */
        p[3] = moved(random, v3_add(p[2], v3_sub(p[1], p[0])), size);
        break;
    case 1: /* almost on one line */
        p[2] = moved(random, combination(p, t, 0), size);
        p[3] = moved(random, combination(p, test_random_real(random, -0.5, 1.5), 0), size);
        break;
    case 2: /* through a point near the first */
        p[2] = moved(random, combination(p, t, 0), size);
        break;
    case 3: { /* crossing */
        vec3 middle = moved(random, combination(p, t, 0), size), arm = point_in_cube(random, 1);
        p[2] = v3_add(middle, arm);
        p[3] = v3_sub(middle, arm);
        break;
    }
    default:
        break;
    }
}

TEST(segment_to_segment) {
    test_random random = {23};
    double worst[SHAPE_COUNT] = {0};
    for (uint32_t i = 0, rounds = test_rounds(CASE_COUNT); i < rounds; i++) {
        uint32_t shape = i % SHAPE_COUNT;
        vec3 p[4];
        make_shape(&random, shape, p);
        make_second_segment(&random, p);
        transform(&random, test_random_below(&random, TRANSFORM_COUNT), p, 4);
        segment3 a = {{p[0], p[1]}}, b = {{p[2], p[3]}};
        closest_pair closest = segment_segment_closest(a, b);
        number square =
            segment_segment_sq(exactly(p[0]), exactly(p[1]), exactly(p[2]), exactly(p[3]));
        assert_int_equal(mpq_sgn(square) == 0, closest.distance == 0);
        if (closest.distance == 0)
            assert_true(v3_equal(closest.point_a, closest.point_b));
        keep_worst(&worst[shape], error_in_ulp(closest.distance, square, ulp_of(p, 4, 0)));
    }
    print_worst("segment to segment", worst);
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        assert_true(worst[shape] <= 4);
}

/* The second triangle: any, almost parallel and near, or with a corner or an edge near the first.
 */
static void make_second_triangle(test_random *random, vec3 *p) {
    make_shape(random, test_random_below(random, SHAPE_COUNT), p + 3);
    double size = small_number(random);
    uint32_t kind = test_random_below(random, 4);
    vec3 shift = point_in_cube(random, 1);
    for (uint32_t i = 0; i < 3; i++) {
        if (kind == 0)
            p[3 + i] = moved(random, v3_along(p[i], (real)0.5, shift), size);
        if (kind > 0 && i < kind - 1) {
            double s = fabs(uniform(random)), t = uniform(random);
            p[3 + i] = moved(random, combination(p, s, t), size);
        }
    }
}

static number triangles_sq(const rational3 *a, const rational3 *b) {
    convex_set set = set_of_triangle(a);
    polygon common = {.p = {b[0], b[1], b[2]}, .count = 3};
    if (clip(common, &set).count > 0)
        return number_of(0);
    number best = point_triangle_sq(a[0], b);
    for (int i = 0; i < 3; i++) {
        best = least(best, least(point_triangle_sq(a[i], b), point_triangle_sq(b[i], a)));
        for (int j = 0; j < 3; j++)
            best = least(best, segment_segment_sq(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]));
    }
    return best;
}

TEST(triangle_to_triangle) {
    test_random random = {24};
    double worst[SHAPE_COUNT] = {0};
    int meeting_count = 0;
    for (uint32_t i = 0, rounds = test_rounds(CASE_COUNT / 4); i < rounds; i++) {
        uint32_t shape = i % SHAPE_COUNT;
        vec3 p[6];
        rational3 exact[6];
        make_shape(&random, shape, p);
        make_second_triangle(&random, p);
        transform(&random, test_random_below(&random, TRANSFORM_COUNT), p, 6);
        for (int k = 0; k < 6; k++)
            exact[k] = exactly(p[k]);
        triangle3 a = {{p[0], p[1], p[2]}}, b = {{p[3], p[4], p[5]}};
        closest_pair closest = triangle_triangle_closest(a, b);
        number square = triangles_sq(exact, exact + 3);
        double ulp = ulp_of(p, 6, 0), coarse = fmax(ulp, ulp_of(p, 6, 1));
        assert_int_equal(mpq_sgn(square) == 0, closest.distance == 0);
        meeting_count += closest.distance == 0;
        keep_worst(&worst[shape], error_in_ulp(closest.distance, square, ulp));
        /* the points are on their triangles and as far apart as the distance says */
        rational3 at_a = exactly(closest.point_a), at_b = exactly(closest.point_b);
        assert_true(root_in_ulp(point_triangle_sq(at_a, exact), coarse) <= 4);
        assert_true(root_in_ulp(point_triangle_sq(at_b, exact + 3), coarse) <= 4);
        number gap = length_sq(point_minus(at_a, at_b));
        assert_true(fabs(error_in_ulp(closest.distance, gap, coarse)) <= 6);
    }
    print_worst("triangle to triangle", worst);
    assert_true(meeting_count > (int)test_rounds(500));
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        assert_true(worst[shape] <= 4);
}

/* Input that hill climbing found, where errors of earlier versions added up to 6 ulp: the roundings
 * of differences, of the blend, of the square root and of the choice between edges. */
TEST(hard_cases) {
    static const double cases[][12] = {
        {0x1.1a39b4p-1, 0x1.c137ep-1, -0x1.7e3f2p-1, 0x1.cff72p-1, 0x1.563ad2p-5, 0x1.b7b9c4p-1,
         0x1.6990a6p-1, -0x1.f5d2c6p-1, 0x1.d7f71ep-1, 0x1.67d51ep-1, -0x1.bc881cp-1,
         0x1.ada36ap-1},
        {-0x1.724ba2p-1, 0x1.d48c66p-1, -0x1.3df21ep-1, -0x1.448fdep-1, -0x1.436276p-2,
         -0x1.433dbp-1, -0x1.6f3b2ap-1, 0x1.aa52cp-1, -0x1.3e4ceep-1, 0x1.7cccfcp-1, 0x1.ff2b5ap-2,
         0x1.9df19p-1},
        {0x1.bb392p-1, -0x1.d7a456p-4, 0x1.7bcdcep-1, 0x1.bb3928p-1, -0x1.d7a428p-4, 0x1.7bcdd6p-1,
         0x1.33b708p-1, 0x1.b133ep-1, -0x1.90e93cp-4, -0x1.87afb8p-4, -0x1.317f86p-3,
         -0x1.51e82p-3},
        {0x1.24c6ecp-1, 0x1.380f12p-7, 0x1.77886ap-1, 0x1.1bf442p-2, 0x1.fa61c8p-3, 0x1.140baap-1,
         -0x1.6c58fp-2, 0x1.cf9deap-1, -0x1.dd60b4p-3, 0x1.63acfcp-2, 0x1.82da6p-3, 0x1.2df5d4p-1},
        {0x1.0b32c2p+0, 0x1.1afbcap-1, -0x1.a9913ap+0, 0x1.c2979p-1, 0x1.8cfa68p-1, -0x1.e90d24p-1,
         0x1.f2c508p-1, 0x1.d756acp-1, 0x1.4304e8p-3, -0x1.b9f5bap-1, -0x1.621b6ap-3,
         -0x1.9c8dacp-3},
        {-0x1.7babfcp-2, -0x1.fcaa5cp-1, -0x1.3439c6p-1, 0x1.c99d7p-6, -0x1.d018bep-1,
         -0x1.2e4936p+0, 0x1.bd05fep-2, -0x1.1bc2bap-4, -0x1.e45d9cp-3, 0x1.fba8e2p-2,
         -0x1.d106a2p-5, -0x1.41489cp-2},
        {-0x1.d6101ap-1, 0x1.0e903ep-2, -0x1.cbe4bap-1, 0x1.cfbb08p-1, -0x1.2be1cap-1, 0x1.2bef9p-1,
         -0x1.9ba51p-5, 0x1.24c9c8p-1, 0x1.02fc5cp-1, 0x1.a48302p-2, -0x1.de0644p-4, 0x1.aa8602p-2},
    };
    double worst = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vec3 p[4];
        for (int k = 0; k < 4; k++)
            p[k] = v3((real)cases[i][3 * k], (real)cases[i][3 * k + 1], (real)cases[i][3 * k + 2]);
        rational3 e[4] = {exactly(p[0]), exactly(p[1]), exactly(p[2]), exactly(p[3])};
        triangle3 t = {{p[0], p[1], p[2]}};
        segment3 a = {{p[0], p[1]}}, b = {{p[2], p[3]}};
        double ulp = ulp_of(p, 4, 0);
        keep_worst(&worst, error_in_ulp(triangle_closest_point(t, p[3]).distance,
                                        point_triangle_sq(e[3], e), ulp));
        keep_worst(&worst, error_in_ulp(segment_segment_closest(a, b).distance,
                                        segment_segment_sq(e[0], e[1], e[2], e[3]), ulp));
    }
    print_message("  hard cases: worst error %.2f ulp\n", worst);
    assert_true(worst <= 4);
}
