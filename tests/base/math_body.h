/* The tests of base/math_shared.h, for whichever precision ABUTI_REAL_BITS names. The referee works
 * in long double: naive loops and textbook formulas. */
#include "support/support.h"

#include "base/math_shared.h"

typedef long double wide;

#if ABUTI_REAL_BITS == 64
#define TINY 1e-300
#define LENGTH_SMALL 1e-30
#define LENGTH_LARGE 1e30
#define HUGE_VALUE 1e300
#else
#define TINY 1e-37f
#define LENGTH_SMALL 1e-30f
#define LENGTH_LARGE 1e30f
#define HUGE_VALUE 1e37f
#endif

enum { TRIES = 2000 };

static real random_real(test_random *random) {
    return (real)test_random_real(random, -2, 2);
}

static vec3 random_vector(test_random *random) {
    real x = random_real(random), y = random_real(random), z = random_real(random);
    return v3(x, y, z);
}

static quat random_quat(test_random *random) {
    quat q;
    q.x = random_real(random);
    q.y = random_real(random);
    q.z = random_real(random);
    q.w = random_real(random);
    return q;
}

static pose random_pose(test_random *random) {
    pose p;
    p.rotation = random_quat(random);
    p.translation = random_vector(random);
    return p;
}

static quat quat_of(real x, real y, real z, real w) {
    quat q;
    q.x = x;
    q.y = y;
    q.z = z;
    q.w = w;
    return q;
}

/* |got - expected| <= units x the machine epsilon x scale. */
static void check_near(wide expected, real got, real units, wide scale, const char *what) {
    wide bound = (wide)units * REAL_EPSILON * scale;
    wide off = fabsl((wide)got - expected);
    if (!(off <= bound))
        fail_msg("%s: %.20Lg instead of %.20Lg, off by %Lg, allowed %Lg", what, (wide)got, expected,
                 off, bound);
}

static void check_vector(const wide expected[3], vec3 got, real units, wide scale,
                         const char *what) {
    for (int k = 0; k < 3; k++)
        check_near(expected[k], v3_get(got, k), units, scale, what);
}

static void check_same(vec3 expected, vec3 got) {
    assert_true(expected.x == got.x && expected.y == got.y && expected.z == got.z);
}

static void spread(vec3 v, wide out[3]) {
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/* ---- scalars and vectors ---- */

__attribute__((noinline)) static abut_vec3 through_floats(abut_vec3 p) {
    abut_vec3 rounded = {(double)(float)p.x, (double)(float)p.y, (double)(float)p.z};
    return rounded;
}

/* gcc 12 leaves the rounding out when it turns such neighbours into one vector operation, so the
 * build must disable that. */
TEST(conversion_to_float_rounds) {
    test_random random = {10};
    for (int i = 0; i < TRIES; i++) {
        double p[3];
        volatile float rounded[3];
        for (int k = 0; k < 3; k++) {
            p[k] = test_random_real(&random, -2, 2);
            rounded[k] = (float)p[k];
        }
        abut_vec3 got = through_floats((abut_vec3){p[0], p[1], p[2]});
        assert_true(got.x == (double)rounded[0] && got.y == (double)rounded[1] &&
                    got.z == (double)rounded[2]);
    }
}

TEST(structures_are_packed) {
    assert_int_equal(ABUTI_REAL_BITS / 8, sizeof(real));
    assert_int_equal(3 * sizeof(real), sizeof(vec3));
    assert_int_equal(4 * sizeof(real), sizeof(quat));
    assert_int_equal(7 * sizeof(real), sizeof(pose));
    assert_int_equal(6 * sizeof(real), sizeof(box3));
    assert_int_equal(9 * sizeof(real), sizeof(mat3));
    assert_int_equal(sizeof(real), sizeof(REAL(1.0)));
}

TEST(scalar_functions) {
    assert_true(real_min(1, 2) == 1 && real_min(2, 1) == 1 && real_min(-1, -1) == -1);
    assert_true(real_max(1, 2) == 2 && real_max(2, 1) == 2 && real_max(-1, -1) == -1);
    assert_true(real_clamp(-3, -1, 1) == -1 && real_clamp(3, -1, 1) == 1);
    assert_true(real_clamp(REAL(0.5), -1, 1) == REAL(0.5));
    assert_true(real_clamp(5, 2, 2) == 2);
    assert_true(real_sqrt(9) == 3 && real_sqrt(0) == 0);
    assert_true(real_sqrt(REAL_MIN) > 0);
    assert_true(real_abs(-REAL_MAX) == REAL_MAX && real_abs(REAL(-0.0)) == 0);
    check_near(2.3561944901923449288469825374596L, real_atan2(1, -1), 2, 3, "atan2");
    check_near(-0.78539816339744830961566084581988L, real_atan2(-1, 1), 2, 1, "atan2");
}

TEST(vector_arithmetic) {
    test_random random = {11};
    for (int i = 0; i < TRIES; i++) {
        vec3 a = random_vector(&random), b = random_vector(&random);
        real s = random_real(&random);
        wide u[3], v[3], expected[3], dot = 0, square = 0;
        spread(a, u);
        spread(b, v);
        for (int k = 0; k < 3; k++) {
            dot += u[k] * v[k];
            square += u[k] * u[k];
        }
        check_same(v3(a.x + b.x, a.y + b.y, a.z + b.z), v3_add(a, b));
        check_same(v3(a.x - b.x, a.y - b.y, a.z - b.z), v3_sub(a, b));
        check_same(v3(a.x * s, a.y * s, a.z * s), v3_scale(a, s));
        check_near(dot, v3_dot(a, b), 3, 12, "dot");
        check_near(square, v3_length_sq(a), 3, 12, "length_sq");
        check_near(sqrtl(square), v3_length(a), 4, sqrtl(square), "length");
        for (int k = 0; k < 3; k++)
            expected[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
        check_vector(expected, v3_cross(a, b), 3, 8, "cross");
        for (int k = 0; k < 3; k++)
            expected[k] = u[k] + s * v[k];
        check_vector(expected, v3_along(a, s, b), 3, 6, "along");
        for (int k = 0; k < 3; k++)
            expected[k] = (1 - (wide)s) * u[k] + s * v[k];
        check_vector(expected, v3_lerp(a, b, s), 4, 12, "lerp");
        check_same(a, v3_lerp(a, b, 0));
        check_same(a, v3_lerp(a, a, s));
    }
}

TEST(vector_extremes) {
    vec3 a = v3(1, -5, 3), b = v3(-1, 2, 3);
    check_same(v3(-1, -5, 3), v3_min(a, b));
    check_same(v3(1, 2, 3), v3_max(a, b));
    assert_true(v3_max_abs(a) == 5 && v3_max_abs(b) == 3);
    assert_true(v3_max_abs(v3(-7, 1, 2)) == 7 && v3_max_abs(v3(0, 0, 0)) == 0);
    assert_true(v3_get(a, 0) == 1 && v3_get(a, 1) == -5 && v3_get(a, 2) == 3);
    check_same(v3(0, 0, 1), v3_cross(v3(1, 0, 0), v3(0, 1, 0)));
    check_same(v3(0, 0, 0), v3_cross(a, a));
}

static void check_unit(vec3 a, const char *what) {
    wide u[3], length = 0;
    spread(a, u);
    for (int k = 0; k < 3; k++)
        length += u[k] * u[k];
    length = sqrtl(length);
    for (int k = 0; k < 3; k++)
        u[k] /= length;
    check_vector(u, v3_normalise(a), 4, 1, what);
}

TEST(normalise_at_any_size) {
    static const real sizes[] = {1, LENGTH_SMALL, LENGTH_LARGE, TINY, HUGE_VALUE};
    test_random random = {12};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int i = 0; i < TRIES; i++) {
            vec3 a = random_vector(&random);
            check_unit(v3_scale(a, sizes[s]), "normalise");
            /* coordinates of very different size */
            check_unit(v3(a.x * sizes[s], a.y, a.z), "normalise, one axis scaled");
        }
    /* at the very ends of the range, where the largest coordinate is subnormal or all are huge */
    real least = REAL_MIN * REAL_EPSILON;
    check_same(v3(0, -1, 0), v3_normalise(v3(0, -least, 0)));
    check_unit(v3(3 * least, 0, -4 * least), "normalise, subnormal");
    check_unit(v3(REAL_MAX, REAL_MAX, -REAL_MAX), "normalise, largest");
    check_same(v3(0, 0, 0), v3_normalise(v3(0, 0, 0)));
    check_same(v3(0, 0, 0), v3_normalise(v3(REAL(-0.0), 0, REAL(-0.0))));
    check_same(v3(1, 0, 0), v3_normalise(v3(5, 0, 0)));
}

/* ---- matrices ---- */

static mat3 random_matrix(test_random *random, wide out[3][3]) {
    mat3 m;
    for (int i = 0; i < 3; i++) {
        m.row[i] = random_vector(random);
        spread(m.row[i], out[i]);
    }
    return m;
}

TEST(matrix_products) {
    test_random random = {13};
    for (int n = 0; n < TRIES; n++) {
        wide p[3][3], q[3][3], u[3], expected[3];
        mat3 a = random_matrix(&random, p), b = random_matrix(&random, q);
        mat3 product = m3_multiply(&a, &b), turned = m3_transpose(&a);
        vec3 v = random_vector(&random);
        spread(v, u);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                expected[j] = 0;
                for (int k = 0; k < 3; k++)
                    expected[j] += p[i][k] * q[k][j];
                assert_true(v3_get(turned.row[j], i) == v3_get(a.row[i], j));
            }
            check_vector(expected, product.row[i], 3, 12, "matrix product");
        }
        for (int i = 0; i < 3; i++) {
            expected[i] = 0;
            for (int k = 0; k < 3; k++)
                expected[i] += p[i][k] * u[k];
        }
        check_vector(expected, m3_apply(&a, v), 3, 12, "matrix by vector");
    }
}

/* ---- quaternions ---- */

/* v turned about a unit axis: v cos + (k x v) sin + k (k . v) (1 - cos). */
static void rodrigues(const wide k[3], wide angle, const wide v[3], wide out[3]) {
    wide c = cosl(angle), s = sinl(angle), dot = k[0] * v[0] + k[1] * v[1] + k[2] * v[2];
    for (int i = 0; i < 3; i++) {
        wide cross = k[(i + 1) % 3] * v[(i + 2) % 3] - k[(i + 2) % 3] * v[(i + 1) % 3];
        out[i] = v[i] * c + cross * s + k[i] * dot * (1 - c);
    }
}

static void random_axis(test_random *random, wide k[3]) {
    wide length;
    do {
        length = 0;
        for (int i = 0; i < 3; i++) {
            k[i] = test_random_real(random, -1, 1);
            length += k[i] * k[i];
        }
    } while (length < 0.01L);
    for (int i = 0; i < 3; i++)
        k[i] /= sqrtl(length);
}

TEST(rotation_follows_rodrigues) {
    static const real lengths[] = {1, REAL(0.3), LENGTH_SMALL, LENGTH_LARGE, TINY, HUGE_VALUE};
    test_random random = {14};
    for (int n = 0; n < TRIES; n++) {
        wide k[3], u[3], expected[3], angle = test_random_real(&random, -7, 7);
        random_axis(&random, k);
        wide s = sinl(angle / 2), c = cosl(angle / 2);
        real length = lengths[n % 6]; /* the length of a quaternion does not matter */
        quat q = quat_of((real)(length * s * k[0]), (real)(length * s * k[1]),
                         (real)(length * s * k[2]), (real)(length * c));
        vec3 v = random_vector(&random);
        spread(v, u);
        rodrigues(k, angle, u, expected);
        mat3 m = quat_matrix(q);
        check_vector(expected, m3_apply(&m, v), 16, 4, "rotation");
        pose p;
        p.rotation = q;
        p.translation = v3(1, 2, 3);
        for (int i = 0; i < 3; i++)
            expected[i] += i + 1;
        check_vector(expected, pose_apply(&p, v), 16, 8, "pose");
    }
}

TEST(rotation_matrices_are_orthogonal) {
    test_random random = {15};
    for (int n = 0; n < TRIES; n++) {
        mat3 m = quat_matrix(random_quat(&random)), t = m3_transpose(&m);
        mat3 product = m3_multiply(&m, &t);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                check_near(i == j, v3_get(product.row[i], j), 16, 1, "m times its transpose");
        check_near(1, v3_dot(v3_cross(m.row[0], m.row[1]), m.row[2]), 16, 1, "determinant");
    }
}

TEST(quaternion_product_is_composition) {
    test_random random = {16};
    for (int n = 0; n < TRIES; n++) {
        quat a = quat_normalise(random_quat(&random)), b = quat_normalise(random_quat(&random));
        check_near(1, a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w, 8, 1, "unit quaternion");
        vec3 v = random_vector(&random);
        mat3 ma = quat_matrix(a), mb = quat_matrix(b), mab = quat_matrix(quat_multiply(a, b));
        vec3 then = m3_apply(&ma, m3_apply(&mb, v));
        wide expected[3];
        spread(then, expected);
        check_vector(expected, m3_apply(&mab, v), 32, 4, "first b, then a");
        mat3 back = quat_matrix(quat_conjugate(a));
        spread(v, expected);
        check_vector(expected, m3_apply(&back, m3_apply(&ma, v)), 32, 4, "there and back");
    }
    /* i j = k, j k = i, k i = j, and i i = -1 */
    quat i = quat_of(1, 0, 0, 0), j = quat_of(0, 1, 0, 0), k = quat_of(0, 0, 1, 0);
    assert_true(quat_multiply(i, j).z == 1 && quat_multiply(j, k).x == 1);
    assert_true(quat_multiply(k, i).y == 1 && quat_multiply(i, i).w == -1);
}

TEST(zero_quaternion_is_identity) {
    quat one = quat_normalise(quat_of(0, 0, 0, 0));
    assert_true(one.x == 0 && one.y == 0 && one.z == 0 && one.w == 1);
    one = quat_normalise(quat_of(REAL(-0.0), 0, REAL(-0.0), REAL(-0.0)));
    assert_true(one.w == 1);
    vec3 v = v3(REAL(0.1), REAL(-7.3), REAL(1e9));
    pose zero, shift;
    memset(&zero, 0, sizeof zero);
    memset(&shift, 0, sizeof shift);
    shift.translation = v3(1, 2, 3);
    check_same(v, pose_apply(&zero, v));
    check_same(v3_add(v, shift.translation), pose_apply(&shift, v));
    pose inverse = pose_inverse(&zero), product = pose_multiply(&zero, &zero);
    check_same(v, pose_apply(&inverse, v));
    check_same(v, pose_apply(&product, v));
    inverse = pose_inverse(&shift);
    check_same(v3(-1, -2, -3), inverse.translation);
    assert_true(inverse.rotation.w == 1);
    product = pose_multiply(&shift, &shift);
    check_same(v3(2, 4, 6), product.translation);
    mat3 m = quat_matrix(zero.rotation);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            assert_true(v3_get(m.row[i], j) == (i == j));
}

/* ---- poses ---- */

TEST(poses_compose_and_invert) {
    test_random random = {17};
    for (int n = 0; n < TRIES; n++) {
        pose a = random_pose(&random), b = random_pose(&random);
        pose ab = pose_multiply(&a, &b), inverse = pose_inverse(&a);
        vec3 v = random_vector(&random);
        wide expected[3];
        spread(pose_apply(&a, pose_apply(&b, v)), expected);
        check_vector(expected, pose_apply(&ab, v), 32, 8, "first b, then a");
        spread(v, expected);
        check_vector(expected, pose_apply(&inverse, pose_apply(&a, v)), 32, 8, "inverse after");
        check_vector(expected, pose_apply(&a, pose_apply(&inverse, v)), 32, 8, "inverse before");
        pose none = pose_multiply(&a, &inverse);
        check_vector(expected, pose_apply(&none, v), 32, 8, "a times its inverse");
    }
}

TEST(known_pose) {
    /* a quarter turn about z takes x to y; then one up */
    pose p;
    p.rotation = quat_of(0, 0, 1, 1);
    p.translation = v3(0, 0, 1);
    const wide expected[3] = {0, 1, 1};
    check_vector(expected, pose_apply(&p, v3(1, 0, 0)), 2, 1, "quarter turn");
}

/* ---- boxes ---- */

static box3 box_of(vec3 lo, vec3 hi) {
    box3 b;
    b.lo = lo;
    b.hi = hi;
    return b;
}

TEST(boxes_grow_and_join) {
    box3 none = box_empty();
    vec3 p = v3(1, -2, 3), q = v3(-4, 5, 3);
    assert_false(box_contains(none, v3(0, 0, 0)));
    assert_false(box_overlaps(none, none));
    box3 one = box_grow(none, p);
    check_same(p, one.lo);
    check_same(p, one.hi);
    assert_true(box_contains(one, p));
    assert_false(box_overlaps(none, one) || box_overlaps(one, none));
    one = box_join(one, none);
    check_same(p, one.lo);
    check_same(p, one.hi);
    box3 both = box_join(one, box_grow(none, q));
    check_same(v3(-4, -2, 3), both.lo);
    check_same(v3(1, 5, 3), both.hi);
    check_same(v3(REAL(-1.5), REAL(1.5), 3), box_centre(both));
    /* growing reaches the very ends of the range */
    box3 all = box_grow(box_grow(none, v3(REAL_MAX, REAL_MAX, REAL_MAX)),
                        v3(-REAL_MAX, -REAL_MAX, -REAL_MAX));
    assert_true(box_contains(all, p));
    check_same(v3(0, 0, 0), box_centre(all));
    box3 far = box_of(v3(REAL_MAX, 0, 0), v3(REAL_MAX, 0, 0));
    check_same(far.lo, box_centre(far));
}

TEST(boxes_are_closed) {
    box3 unit = box_of(v3(0, 0, 0), v3(1, 1, 1));
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            real shift[3] = {0, 0, 0}, beyond[3] = {0, 0, 0};
            shift[axis] = side ? 1 : -1;
            beyond[axis] = side ? 1 + 2 * REAL_EPSILON : -1 - 2 * REAL_EPSILON;
            vec3 s = v3(shift[0], shift[1], shift[2]), t = v3(beyond[0], beyond[1], beyond[2]);
            box3 touching = box_of(v3_add(unit.lo, s), v3_add(unit.hi, s));
            box3 apart = box_of(v3_add(unit.lo, t), v3_add(unit.hi, t));
            assert_true(box_overlaps(unit, touching) && box_overlaps(touching, unit));
            assert_false(box_overlaps(unit, apart) || box_overlaps(apart, unit));
            vec3 middle = v3(REAL(0.5), REAL(0.5), REAL(0.5));
            vec3 on = v3_along(middle, REAL(0.5), s), off = v3_add(middle, t);
            assert_true(box_contains(unit, on));
            assert_false(box_contains(unit, off));
        }
}

TEST(box_tests_follow_intervals) {
    test_random random = {18};
    int overlapping = 0, holding = 0;
    for (int n = 0; n < TRIES; n++) {
        vec3 c[5];
        for (int i = 0; i < 5; i++) { /* small integers, so that touching happens */
            c[i].x = (real)test_random_below(&random, 6);
            c[i].y = (real)test_random_below(&random, 6);
            c[i].z = (real)test_random_below(&random, 6);
        }
        box3 a = box_of(v3_min(c[0], c[1]), v3_max(c[0], c[1]));
        box3 b = box_of(v3_min(c[2], c[3]), v3_max(c[2], c[3]));
        bool overlap = true, contains = true, centred = true;
        vec3 centre = box_centre(a);
        for (int k = 0; k < 3; k++) {
            real lo = real_max(v3_get(a.lo, k), v3_get(b.lo, k));
            real hi = real_min(v3_get(a.hi, k), v3_get(b.hi, k));
            overlap = overlap && lo <= hi;
            contains = contains && !(v3_get(c[4], k) < v3_get(a.lo, k)) &&
                       !(v3_get(c[4], k) > v3_get(a.hi, k));
            centred = centred && 2 * v3_get(centre, k) == v3_get(a.lo, k) + v3_get(a.hi, k);
        }
        assert_int_equal(overlap, box_overlaps(a, b));
        assert_int_equal(contains, box_contains(a, c[4]));
        assert_true(centred && box_contains(a, centre));
        overlapping += overlap;
        holding += contains;
    }
    assert_true(overlapping > TRIES / 10 && overlapping < TRIES);
    assert_true(holding > TRIES / 100 && holding < TRIES);
}
