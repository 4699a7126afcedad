/* The Hausdorff distance: between its bounds, which are as near as requested. */
#include "bvh/meshes.h"
#include "pair/frame.h"

typedef abut_pair_hausdorff_result bounds_of;

static double size_of(const abut_mesh *mesh) {
    abut_box box = abut_mesh_bounds(mesh);
    return hypot(hypot(box.hi.x - box.lo.x, box.hi.y - box.lo.y), box.hi.z - box.lo.z);
}

static double distance_at(const abut_bvh *b, abut_vec3 point) {
    abut_nearest nearest;
    assert_ok(abut_nearest_point(b, point, HUGE_VAL, &nearest));
    return nearest.distance;
}

/* A point of a triangle; corners and edges more often than by chance. */
static abut_vec3 point_on(const abut_triangle *t, test_random *random) {
    double w[3], sum = 0;
    for (int k = 0; k < 3; k++)
        sum += w[k] = fmax(test_random_real(random, -0.2, 1), 0);
    if (!(sum > 0))
        return t->corner[0];
    abut_vec3 p = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        p.x += w[k] / sum * t->corner[k].x;
        p.y += w[k] / sum * t->corner[k].y;
        p.z += w[k] / sum * t->corner[k].z;
    }
    return p;
}

/* Computes, and checks all guarantees: the witness is on a and as far as `lower`, no point of a
 * is farther than `upper`, and the two are as near as requested. */
static bounds_of check(abut_mesh *a, abut_mesh *b, double tolerance, uint32_t samples) {
    AUTO(bvh) tree_a = hierarchy(abut_mesh_retain(a)), *tree_b = hierarchy(abut_mesh_retain(b));
    abut_pair_hausdorff_options options = abut_pair_hausdorff_options_default();
    bounds_of got;
    options.tolerance = tolerance;
    memset(&got, 0xff, sizeof got);
    got.size = sizeof got;
    assert_ok(abut_pair_hausdorff(tree_a, tree_b, &options, &got));
    const double coordinate = fmax(largest_coordinate(a), largest_coordinate(b));
    const double rounding = 1e-13 * coordinate + DBL_MIN;
    double gap = tolerance > 0 ? tolerance : 1e-6 * fmax(size_of(a), size_of(b));
    gap = fmax(gap, 0x1p-40 * coordinate);
    assert_true(got.lower >= 0 && got.lower <= got.upper);
    if (!(got.upper - got.lower <= gap * (1 + 1e-9)))
        fail_msg("from %.17g to %.17g, which is %g instead of %g", got.lower, got.upper,
                 got.upper - got.lower, gap);
    assert_true(got.pieces >= abut_mesh_triangle_count(a));
    /* the witness */
    assert_true(got.triangle < abut_mesh_triangle_count(a));
    abut_closest_on_triangle on;
    abut_triangle t = triangle_of(a, got.triangle);
    assert_ok(abut_triangle_closest_point(&t, got.point, &on));
    assert_true(on.distance <= rounding);
    assert_true(distance_at(tree_b, got.point) >= got.lower);
    abut_nearest nearest;
    assert_ok(abut_nearest_point(tree_b, got.point, HUGE_VAL, &nearest));
    assert_int_equal(nearest.triangle, got.other_triangle);
    assert_memory_equal(&nearest.point, &got.other_point, sizeof nearest.point);
    /* everything else */
    test_random random = {samples};
    for (uint32_t i = 0; i < samples; i++) {
        t = triangle_of(a, i < abut_mesh_triangle_count(a)
                               ? i
                               : test_random_below(&random, abut_mesh_triangle_count(a)));
        double here = distance_at(tree_b, i % 16 == 15 ? t.corner[i % 3] : point_on(&t, &random));
        if (here > got.upper + rounding)
            fail_msg("%.17g is more than %.17g", here, got.upper);
    }
    return got;
}

static bounds_of check_and_free(abut_mesh *a, abut_mesh *b, double tolerance, uint32_t samples) {
    bounds_of got = check(a, b, tolerance, samples);
    abut_mesh_destroy(a);
    abut_mesh_destroy(b);
    return got;
}

static void assert_between(const bounds_of *got, double expected) {
    const double rounding = 1e-12 * fabs(expected);
    if (!(got->lower <= expected + rounding && expected <= got->upper + rounding))
        fail_msg("%.17g is not between %.17g and %.17g", expected, got->lower, got->upper);
}

static abut_mesh *sheet(uint32_t segments, uint32_t rings, double height) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *mesh;
    shape.extent = (abut_vec3){2, 2, 0};
    shape.segments = segments;
    shape.rings = rings;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return make_moved(mesh, 1, vec(0, 0, height));
}

/* ---- known answers ---- */

TEST(planes) {
    /* the same plane by other triangles; parallel ones; one that is larger */
    bounds_of got = check_and_free(sheet(7, 9, 0), sheet(11, 5, 0), 0, 2000);
    assert_true(got.upper < 1e-12);
    got = check_and_free(sheet(7, 9, 0.25), sheet(11, 5, 0), 0, 2000);
    assert_between(&got, 0.25);
    got = check_and_free(make_moved(sheet(7, 9, 0), 3, vec(0, 0, 1)), sheet(11, 5, 0), 1e-9, 2000);
    assert_between(&got, sqrt(1 + 2 * 2 + 2 * 2));
    got = check_and_free(sheet(11, 5, 0), make_moved(sheet(7, 9, 0), 3, vec(0, 0, 1)), 1e-9, 2000);
    assert_between(&got, 1);
}

TEST(box_in_sphere) {
    /* the middles of its sides are the farthest from a ball around a box; from the ball to the box
     * it is what is above them; both except for the error of the ball's triangles */
    AUTO(mesh) box = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    AUTO(mesh) ball = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 24), 5, vec(0, 0, 0));
    const double apart = largest_coordinate(ball) - largest_coordinate(box);
    bounds_of got = check(box, ball, 0, 500);
    assert_true(got.lower <= apart && got.upper >= 0.99 * apart);
    got = check(ball, box, 0, 4000);
    assert_true(got.lower <= apart + 1e-12 && got.upper >= 0.99 * apart);
}

TEST(farthest_in_the_middle) {
    /* two points, and a segment, a triangle and a sheet between them */
    const abut_vec3 ends[6] = {vec(0, 0, 0),  vec(0, 0, 0),  vec(0, 0, 0),
                               vec(10, 0, 0), vec(10, 0, 0), vec(10, 0, 0)};
    const abut_vec3 segment[3] = {vec(0, 0, 0), vec(10, 0, 0), vec(0, 0, 0)};
    bounds_of got =
        check_and_free(make_soup(NULL, segment, 1), make_soup(NULL, ends, 2), 1e-7, 100);
    assert_between(&got, 5);
    const abut_vec3 flat[3] = {vec(0, 0, 0), vec(10, 0, 0), vec(5, 1, 0)};
    got = check_and_free(make_soup(NULL, flat, 1), make_soup(NULL, ends, 2), 1e-7, 100);
    assert_between(&got, sqrt(26));
    /* four points at the corners of a square: its middle is the farthest */
    abut_vec3 corners[12];
    for (int i = 0; i < 12; i++)
        corners[i] = vec(i / 3 % 2 ? 1 : -1, i / 3 / 2 ? 1 : -1, 0);
    for (uint32_t n = 1; n < 8; n += 3) {
        got = check_and_free(sheet(n, n, 0), make_soup(NULL, corners, 4), 1e-8, 500);
        assert_between(&got, sqrt(2));
        got = check_and_free(sheet(n, n, 1), make_soup(NULL, corners, 4), 1e-8, 500);
        assert_between(&got, sqrt(3));
    }
}

TEST(same_surface) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_mesh *mesh = make_shape(NULL, (abut_shape_kind)kind, 6);
        bounds_of got = check(mesh, mesh, 0, 100);
        assert_true(got.lower == 0 && got.upper == 0);
        /* turned inside out, without shared vertices, and far away from 0 */
        got = check_and_free(mesh, make_flipped(make_shape(NULL, (abut_shape_kind)kind, 6)), 0, 0);
        assert_true(got.lower == 0 && got.upper == 0);
    }
}

TEST(balls) {
    /* a ball and finer ones: vertices are on it, the middles of triangles of the coarse one are
     * not; and far away from 0 the same */
    abut_mesh *coarse = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4),
              *fine = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 20),
              *other = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 24);
    bounds_of here = check(coarse, fine, 1e-8, 8000), back = check(fine, coarse, 1e-8, 8000);
    assert_true(here.lower > 0.5 * back.upper && here.upper < 2 * back.lower);
    bounds_of third = check(fine, other, 0, 8000);
    check(other, fine, 0, 4000);
    const abut_vec3 far = vec(1e6, -3e6, 2e6);
    bounds_of there = check_and_free(make_moved(abut_mesh_retain(fine), 1, far),
                                     make_moved(other, 1, far), 0, 4000);
    assert_true(fabs(there.lower - third.lower) < 4e-6 && fabs(there.upper - third.upper) < 4e-6);
    abut_mesh_destroy(coarse);
    abut_mesh_destroy(fine);
}

/* ---- anything ---- */

TEST(shapes) {
    for (uint32_t kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_mesh *a = make_shape(NULL, (abut_shape_kind)kind, 5),
                  *b = make_shape(NULL, (abut_shape_kind)((kind + 3) % ABUT_SHAPE_COUNT), 4);
        check(a, b, 0, test_rounds(8000));
        check_and_free(b, make_moved(a, 1, vec(0.01, 0.02, 0.003)), 0, 0);
    }
}

TEST(nearly_the_same) {
    /* turned a little, moved a little, other numbers of triangles */
    const abut_shape_kind kinds[4] = {ABUT_SHAPE_BOX, ABUT_SHAPE_TORUS, ABUT_SHAPE_CYLINDER,
                                      ABUT_SHAPE_TEAPOT_SOLID};
    for (int k = 0; k < (test_brief() ? 2 : 4); k++)
        for (int i = 0; i < 3; i++) {
            AUTO(mesh) a = make_shape(NULL, kinds[k], 8);
            AUTO(mesh) b = make_shape(NULL, kinds[k], 10);
            AUTO(mesh) moved;
            abut_pose turn = {{0, 0, 0, 1}, {0, 0, 0}};
            turn.rotation.z = i == 1 ? 1e-3 : 0;
            turn.translation.x = i == 2 ? 0.01 : 0;
            assert_ok(abut_mesh_transform(b, 1, turn, &moved));
            check(a, moved, 0, test_rounds(16000));
            check(moved, a, 1e-4, test_rounds(4000));
        }
}

TEST(soups) {
    for (uint32_t kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t other = 0; other < SOUP_COUNT; other++) {
            if ((kind + other) % 3 && !test_thorough())
                continue;
            check_and_free(make_kind(NULL, (soup_kind)kind, 20, 7 + kind),
                           make_kind(NULL, (soup_kind)other, 30, 99 + other), 1e-3, 200);
        }
}

TEST(scales) {
    /* far apart, one much larger than the other, tiny and huge */
    AUTO(mesh) a = make_shape(NULL, ABUT_SHAPE_TORUS, 6);
    AUTO(mesh) far = make_moved(make_shape(NULL, ABUT_SHAPE_LETTER_E, 6), 1, vec(1e5, 0, 3e4));
    check(a, far, 0, 500);
    check(far, a, 0, 500);
    AUTO(mesh) large = make_moved(make_shape(NULL, ABUT_SHAPE_CONE, 5), 1000, vec(0, 0, 0));
    check(a, large, 0, 500);
    check(large, a, 0, 500);
    check_and_free(make_moved(abut_mesh_retain(a), 1e-80, vec(0, 0, 0)),
                   make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 2), 1e-80, vec(0, 0, 0)), 0, 500);
    check_and_free(make_moved(abut_mesh_retain(a), 1e80, vec(0, 0, 0)),
                   make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 2), 1e80, vec(0, 0, 0)), 0, 500);
    check_and_free(abut_mesh_retain(a),
                   make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 2), 1e60, vec(0, 0, 0)), 0, 500);
}

/* The smallest meshes. */
TEST(small_coordinates) {
    static const double sizes[] = {1e-80, 1e-85, 1e-88, 1e-89, 1e-90};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        AUTO(mesh) a = make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 6), sizes[i], vec(0, 0, 0));
        AUTO(mesh) b = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 2), sizes[i], vec(0, 0, 0));
        AUTO(bvh) of_a = NULL, *of_b = NULL;
        abut_pair_hausdorff_result found = abut_pair_hausdorff_result_default();
        assert_ok(abut_bvh_create(a, NULL, &of_a));
        assert_ok(abut_bvh_create(b, NULL, &of_b));
        assert_ok(abut_pair_hausdorff(of_a, of_b, NULL, &found));
        assert_true(found.lower >= 0 && found.lower <= found.upper);
        assert_true(found.upper <= 2 * sizes[i]);
    }
}

TEST(tolerances) {
    AUTO(mesh) a = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 5);
    AUTO(mesh) b = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 9);
    bounds_of fine = check(a, b, 1e-11, 1000);
    for (double tolerance = 1; tolerance > 1e-10; tolerance /= 10) {
        bounds_of got = check(a, b, tolerance, 0);
        assert_true(got.lower <= fine.upper && fine.lower <= got.upper);
    }
    check(a, b, DBL_MIN, 0); /* as far as doubles go */
}

/* ---- the rest ---- */

static bounds_of ask_on(uint32_t threads) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, threads);
    abut_mesh *a = make_shape(context, ABUT_SHAPE_TORUS, test_brief() ? 24 : 60),
              *b = make_shape(context, ABUT_SHAPE_TORUS, test_brief() ? 23 : 57);
    abut_bvh *tree_a = hierarchy(abut_mesh_retain(a)), *tree_b = hierarchy(abut_mesh_retain(b));
    bounds_of got;
    memset(&got, 0, sizeof got);
    got.size = sizeof got;
    assert_ok(abut_pair_hausdorff(tree_a, tree_b, NULL, &got));
    abut_bvh_destroy(tree_a);
    abut_bvh_destroy(tree_b);
    abut_mesh_destroy(a);
    abut_mesh_destroy(b);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
    return got;
}

TEST_THREADS(any_number_of_threads) {
    bounds_of one = ask_on(1), many = ask_on(4);
    assert_true(one.lower > 0);
    assert_true(one.lower == many.lower && one.upper == many.upper);
    assert_memory_equal(&one.point, &many.point, sizeof one.point);
    assert_memory_equal(&one.other_point, &many.other_point, sizeof one.point);
    assert_int_equal(one.triangle, many.triangle);
    assert_int_equal(one.other_triangle, many.other_triangle);
    assert_int_equal(one.pieces, many.pieces);
}

static abut_status ask_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh[2] = {NULL, NULL};
    abut_bvh *tree[2] = {NULL, NULL};
    abut_status status = ABUT_OK;
    bounds_of got = abut_pair_hausdorff_result_default();
    (void)data;
    for (uint32_t i = 0; i < 2 && !status; i++) {
        shape.segments = shape.rings = 5 + i;
        status = abut_shape_create(context, &shape, &mesh[i]);
        status = status ? status : abut_bvh_create(mesh[i], NULL, &tree[i]);
    }
    status = status ? status : abut_pair_hausdorff(tree[0], tree[1], NULL, &got);
    for (int i = 0; i < 2; i++) {
        abut_bvh_destroy(tree[i]);
        abut_mesh_destroy(mesh[i]);
    }
    return status;
}

TEST(memory) {
    assert_true(test_every_allocation(ask_all, NULL) > 10);
}

static bool stop_at_once(void *user, const char *stage, double fraction) {
    (void)fraction;
    *(uint32_t *)user += !strcmp(stage, "hausdorff");
    return strcmp(stage, "hausdorff") != 0;
}

TEST(cancelled) {
    uint32_t asked = 0;
    AUTO(context) context = test_watched(stop_at_once, &asked);
    AUTO(mesh) a = make_shape(context, ABUT_SHAPE_TORUS, 9);
    AUTO(mesh) b = make_shape(context, ABUT_SHAPE_TORUS, 8);
    AUTO(bvh) tree_a = hierarchy(abut_mesh_retain(a)), *tree_b = hierarchy(abut_mesh_retain(b));
    bounds_of got, before;
    memset(&got, 0x5a, sizeof got);
    got.size = sizeof got;
    before = got;
    assert_int_equal(abut_pair_hausdorff(tree_a, tree_b, NULL, &got), ABUT_ERROR_CANCELLED);
    assert_memory_equal(&got, &before, sizeof got);
    assert_true(asked > 0);
}

TEST(refusals) {
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    AUTO(bvh) tree = hierarchy(abut_mesh_retain(mesh));
    abut_pair_hausdorff_options options = abut_pair_hausdorff_options_default();
    bounds_of got = abut_pair_hausdorff_result_default();
    assert_refused("a is null", abut_pair_hausdorff(NULL, tree, NULL, &got));
    assert_refused("b is null", abut_pair_hausdorff(tree, NULL, NULL, &got));
    assert_refused("result is null", abut_pair_hausdorff(tree, tree, NULL, NULL));
    options.tolerance = -1;
    assert_refused("tolerance is -1", abut_pair_hausdorff(tree, tree, &options, &got));
    options.tolerance = NAN;
    assert_refused("tolerance is", abut_pair_hausdorff(tree, tree, &options, &got));
    options.size = 0;
    assert_refused("size", abut_pair_hausdorff(tree, tree, &options, &got));
}
