/* Poses from matrices and from axis and angle, composed, inverted, applied: against the same in
 * long double, in which every entry of a product is a sum of four products. */
#include "support/pose.h"

#include <float.h>
#include <math.h>

/* Three rows of four. */
typedef struct matrix {
    long double at[3][4];
} matrix;

static matrix matrix_of(const abut_pose *at) {
    long double q[4] = {at->rotation.x, at->rotation.y, at->rotation.z, at->rotation.w};
    long double sq = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (sq == 0)
        q[3] = sq = 1;
    long double s = 2 / sq;
    long double x = q[0], y = q[1], z = q[2], w = q[3];
    matrix m = {{{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), 0},
                 {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x), 0},
                 {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y), 0}}};
    const double shift[3] = {at->translation.x, at->translation.y, at->translation.z};
    for (int i = 0; i < 3; i++)
        m.at[i][3] = shift[i];
    return m;
}

static matrix product(const matrix *a, const matrix *b) {
    matrix m;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            m.at[i][k] = k == 3 ? a->at[i][3] : 0;
            for (int j = 0; j < 3; j++)
                m.at[i][k] += a->at[i][j] * b->at[j][k];
        }
    return m;
}

/* How far entries differ: of the rotation, and of the translation. */
static void compare(const matrix *a, const matrix *b, double *turn, double *shift) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            double *worst = k == 3 ? shift : turn;
            *worst = fmax(*worst, (double)fabsl(a->at[i][k] - b->at[i][k]));
        }
}

static void flatten(const matrix *m, double *flat) {
    for (int i = 0; i < 12; i++)
        flat[i] = (double)m->at[i / 4][i % 4];
}

static abut_pose any_pose(test_random *random) {
    abut_pose p = random_pose(random, 10);
    double scale = ldexp(1, (int)(test_random_below(random, 600)) - 300);
    p.rotation = (abut_quat){p.rotation.x * scale, p.rotation.y * scale, p.rotation.z * scale,
                             p.rotation.w * scale};
    return p;
}

TEST(matrices) {
    test_random random = {1};
    double turn = 0, shift = 0, to = 0, off = 0;
    for (int i = 0; i < 20000; i++) {
        abut_pose p = any_pose(&random), back;
        matrix m = matrix_of(&p);
        double flat[12], again[12];
        flatten(&m, flat);
        assert_ok(abut_pose_from_matrix(flat, &back));
        matrix n = matrix_of(&back);
        compare(&m, &n, &turn, &shift);
        assert_ok(abut_pose_to_matrix(&p, again));
        for (int k = 0; k < 12; k++)
            to = fmax(to, (double)fabsl((long double)again[k] - m.at[k / 4][k % 4]));
        /* floats, and matrices that are off by a millionth */
        for (int k = 0; k < 12; k++)
            if (k % 4 < 3)
                flat[k] += test_random_real(&random, -1e-6, 1e-6);
        double noisy = 0, unused = 0;
        assert_ok(abut_pose_from_matrix(flat, &back));
        n = matrix_of(&back);
        compare(&m, &n, &noisy, &unused);
        off = fmax(off, noisy);
    }
    assert_true(turn <= 8e-16);
    assert_true(shift == 0);
    assert_true(to <= 2e-15);
    assert_true(off > 1e-7 && off <= 4e-6);
}

/* Half turns leave but one component that is not small, each of the four in turn. */
TEST(half_turns) {
    for (int axis = 0; axis < 3; axis++) {
        double flat[12] = {0}, again[12];
        for (int i = 0; i < 3; i++)
            flat[5 * i] = i == axis ? 1 : -1;
        abut_pose p;
        assert_ok(abut_pose_from_matrix(flat, &p));
        const double q[3] = {p.rotation.x, p.rotation.y, p.rotation.z};
        assert_true(fabs(q[axis]) == 1 && p.rotation.w == 0);
        assert_ok(abut_pose_to_matrix(&p, again));
        for (int i = 0; i < 12; i++)
            assert_true(flat[i] == again[i]);
    }
}

/* Many matrices are converted as one is, whatever their stride; the first that is refused is named.
 */
TEST(many_matrices) {
    test_random random = {5};
    double flat[7][16], three[7][12];
    abut_pose many[7], one;
    for (int i = 0; i < 7; i++) {
        abut_vec3 axis = {test_random_real(&random, -1, 1), 1, test_random_real(&random, -1, 1)};
        abut_vec3 shift = {i, 2, 3};
        assert_ok(abut_pose_from_axis_angle(axis, i, shift, &one));
        assert_ok(abut_pose_to_matrix(&one, three[i]));
        memcpy(flat[i], three[i], sizeof three[i]);
        flat[i][12] = flat[i][13] = flat[i][14] = 0;
        flat[i][15] = 1;
    }
    for (int rows = 3; rows <= 4; rows++) {
        memset(many, 0, sizeof many);
        assert_ok(
            abut_pose_from_matrices(rows == 3 ? three[0] : flat[0], 4 * (size_t)rows, 7, many));
        for (int i = 0; i < 7; i++) {
            assert_ok(abut_pose_from_matrix(flat[i], &one));
            assert_memory_equal(&one, &many[i], sizeof one);
        }
    }
    abut_status e = ABUT_ERROR_ARGUMENT;
    abut_pose before[7];
    memset(many, 0, sizeof many);
    memcpy(before, many, sizeof many);
    flat[5][14] = 0.001;
    assert_fails(e, "matrix 5: the fourth row is 0 0 0.001 1",
                 abut_pose_from_matrices(flat[0], 16, 7, many));
    flat[3][0] = 2;
    assert_fails(e, "matrix 3: the dot product", abut_pose_from_matrices(flat[0], 16, 7, many));
    assert_memory_equal(before, many, sizeof many);
    assert_fails(e, "stride is 11", abut_pose_from_matrices(flat[0], 11, 7, many));
    assert_fails(e, "matrices is null", abut_pose_from_matrices(NULL, 16, 7, many));
    assert_fails(e, "poses is null", abut_pose_from_matrices(flat[0], 16, 7, NULL));
    assert_ok(abut_pose_from_matrices(NULL, 16, 0, NULL));
}

TEST(refuses_what_is_not_rigid) {
    abut_pose p = {.rotation.w = 7};
    const double good[12] = {0, -1, 0, 4, 1, 0, 0, 5, 0, 0, 1, 6};
    double flat[12];
    abut_status e = ABUT_ERROR_ARGUMENT;
    static const struct {
        int place;
        double value;
        const char *word;
    } bad[] = {{1, -1.001, "rows 0 and 0"}, {0, 0.001, "rows 0 and 1"},   {10, -1, "reflection"},
               {10, NAN, "row[2]"},         {3, INFINITY, "translation"}, {7, 1e91, "translation"},
               {10, 0, "rows 2 and 2"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(flat, good, sizeof flat);
        flat[bad[i].place] = bad[i].value;
        assert_fails(e, bad[i].word, abut_pose_from_matrix(flat, &p));
    }
    assert_true(p.rotation.w == 7);
    assert_fails(e, "matrix is null", abut_pose_from_matrix(NULL, &p));
    assert_fails(e, "pose is null", abut_pose_from_matrix(good, NULL));
    assert_fails(e, "matrix is null", abut_pose_to_matrix(&p, NULL));
    memcpy(flat, good, sizeof flat);
    flat[1] = -1.000004; /* within the tolerance */
    assert_ok(abut_pose_from_matrix(flat, &p));

    abut_vec3 o = {0, 0, 0}, x = {1, 0, 0}, out = {7, 7, 7};
    abut_pose endless = {.translation.x = INFINITY}, turning = {.rotation.y = NAN}, result = p;
    abut_pose far = {{0, 0, 1, 2}, {1e90, 1e90, 1e90}};
    assert_fails(e, "axis is zero", abut_pose_from_axis_angle(o, 1, o, &p));
    assert_fails(e, "angle", abut_pose_from_axis_angle(x, NAN, o, &p));
    assert_fails(e, "translation", abut_pose_from_axis_angle(x, 1, (abut_vec3){0, 1e91, 0}, &p));
    assert_fails(e, "outer is not finite", abut_pose_compose(&turning, &p, &result));
    assert_fails(e, "inner is not finite", abut_pose_compose(&p, &endless, &result));
    assert_fails(e, "the result translates", abut_pose_compose(&far, &far, &result));
    assert_fails(e, "the pose is not finite", abut_pose_invert(&endless, &result));
    assert_fails(e, "the pose is not finite", abut_pose_apply(&turning, x, &out));
    assert_fails(e, "point", abut_pose_apply(&p, (abut_vec3){NAN, 0, 0}, &out));
    assert_fails(e, "moved is null", abut_pose_apply(&p, x, NULL));
    assert_memory_equal(&p, &result, sizeof p);
    assert_true(out.x == 7);
}

TEST(axis_and_angle) {
    test_random random = {2};
    double turn = 0, shift = 0;
    for (int i = 0; i < 20000; i++) {
        abut_vec3 axis = random_pose(&random, ldexp(1, i % 200 - 100)).translation;
        double angle = test_random_real(&random, -7, 7);
        abut_pose p;
        assert_ok(abut_pose_from_axis_angle(axis, angle, axis, &p));
        /* Rodrigues: c I + s [u]x + (1 - c) u uT */
        long double u[3] = {axis.x, axis.y, axis.z}, c = cosl(angle), s = sinl(angle);
        long double length = sqrtl(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        matrix m;
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) {
                long double cross = r == k ? 0 : u[3 - r - k] / length;
                m.at[r][k] = (r == k             ? c
                              : (k + 1) % 3 == r ? s * cross
                                                 : -s * cross) +
                             (1 - c) * u[r] * u[k] / (length * length);
            }
        m.at[0][3] = axis.x, m.at[1][3] = axis.y, m.at[2][3] = axis.z;
        matrix n = matrix_of(&p);
        compare(&m, &n, &turn, &shift);
    }
    assert_true(turn <= 8e-16);
    assert_true(shift == 0);
    abut_pose quarter;
    abut_vec3 moved, z = {0, 0, 5}, o = {0, 0, 0}, x = {1, 0, 0};
    assert_ok(abut_pose_from_axis_angle(z, acos(0), o, &quarter));
    assert_ok(abut_pose_apply(&quarter, x, &moved)); /* x turns towards y */
    assert_true(fabs(moved.x) < 1e-15 && fabs(moved.y - 1) < 1e-15 && moved.z == 0);
}

TEST(composed_and_inverted) {
    test_random random = {3};
    double turn = 0, shift = 0, apply = 0, round = 0;
    const matrix still = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    for (int i = 0; i < 20000; i++) {
        abut_pose a = any_pose(&random), b = any_pose(&random), c, back;
        matrix ma = matrix_of(&a), mb = matrix_of(&b), product_ab = product(&ma, &mb), mc;
        assert_ok(abut_pose_compose(&a, &b, &c));
        mc = matrix_of(&c);
        compare(&product_ab, &mc, &turn, &shift);
        assert_ok(abut_pose_invert(&a, &back));
        mb = matrix_of(&back);
        mc = product(&ma, &mb);
        compare(&still, &mc, &turn, &shift);
        assert_ok(abut_pose_compose(&a, &back, &c));
        mc = matrix_of(&c);
        compare(&still, &mc, &turn, &shift);

        abut_vec3 p = b.translation, there, again;
        const double at[3] = {p.x, p.y, p.z};
        assert_ok(abut_pose_apply(&a, p, &there));
        const double moved[3] = {there.x, there.y, there.z};
        for (int k = 0; k < 3; k++) {
            long double sum = ma.at[k][3];
            for (int j = 0; j < 3; j++)
                sum += ma.at[k][j] * at[j];
            apply = fmax(apply, (double)fabsl(sum - moved[k]));
        }
        assert_ok(abut_pose_apply(&back, there, &again));
        round = fmax(round, v3_max_abs(v3_sub(again, p)));
    }
    assert_true(turn <= 1.2e-15);
    /* coordinates are up to 10, turned up to 17, and moved twice */
    assert_true(shift <= 2e-15 * 28 && apply <= 2e-15 * 28 && round <= 2e-15 * 28);
}

/* What zeros mean, and that the result may stand in the place of an argument. */
TEST(zeros_and_places) {
    abut_pose none = {.rotation.w = 0}, p = {{0, 0, 2, 2}, {1, 2, 3}}, q = p;
    abut_vec3 v = {1e-300, 5, -1e80}, moved;
    assert_ok(abut_pose_apply(&none, v, &moved));
    assert_memory_equal(&v, &moved, sizeof v);
    assert_ok(abut_pose_compose(&none, &none, &none));
    assert_true(none.rotation.w == 1 && none.rotation.x == 0 && none.translation.x == 0);
    assert_ok(abut_pose_invert(&q, &q));
    assert_ok(abut_pose_compose(&p, &q, &q));
    assert_true(fabs(q.rotation.w - 1) < 1e-15 && v3_max_abs(q.translation) < 1e-15);
}
