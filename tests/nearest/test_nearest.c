/* Nearest points: equal, bit for bit, to a search through all triangles. */
#include "bvh/meshes.h"

#include "base/simd.h"

/* The obvious way. */
static abut_nearest nearest_slowly(const abut_mesh *mesh, abut_vec3 point, double radius) {
    abut_nearest best;
    memset(&best, 0, sizeof best);
    best.distance = INFINITY;
    best.triangle = ABUT_NONE;
    best.point = point;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_nearest here = nearest_on(mesh, i, point);
        if (here.distance <= radius && here.distance < best.distance)
            best = here;
    }
    return best;
}

static void assert_same(const abut_nearest *got, const abut_nearest *expected, abut_vec3 point) {
    if (memcmp(got, expected, sizeof *got) != 0)
        fail_msg("at (%.17g, %.17g, %.17g): triangle %u at %.17g (feature %d) instead of %u at "
                 "%.17g (feature %d)",
                 point.x, point.y, point.z, got->triangle, got->distance, (int)got->feature,
                 expected->triangle, expected->distance, (int)expected->feature);
}

static void check_point(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 point,
                        double radius) {
    if (!is_legal(point))
        return;
    abut_nearest got, expected = nearest_slowly(mesh, point, radius);
    memset(&got, 0xff, sizeof got);
    assert_ok(abut_nearest_point(bvh, point, radius, &got));
    assert_same(&got, &expected, point);
}

/* Points everywhere: around, near, on, on a corner, far, absurdly far; with and without radius. */
static void check_mesh(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh = hierarchy(mesh);
    double size = largest_extent(mesh);
    for (int i = 0; i < rounds; i++) {
        check_point(bvh, mesh, point_around(mesh, &random, 1.2), HUGE_VAL);
        check_point(bvh, mesh, point_near(mesh, &random, 0.02 * size), HUGE_VAL);
        check_point(bvh, mesh, point_near(mesh, &random, 1e-7 * size), HUGE_VAL);
        check_point(bvh, mesh, point_near(mesh, &random, 0), HUGE_VAL);
        abut_triangle t =
            triangle_of(mesh, test_random_below(&random, abut_mesh_triangle_count(mesh)));
        check_point(bvh, mesh, t.corner[i % 3], HUGE_VAL);
        abut_vec3 p = point_around(mesh, &random, 3);
        abut_nearest expected = nearest_slowly(mesh, p, HUGE_VAL);
        check_point(bvh, mesh, p, expected.distance); /* closed */
        check_point(bvh, mesh, p, nextafter(expected.distance, 0));
        check_point(bvh, mesh, p, 0.5 * size);
        check_point(bvh, mesh, p, 0);
        if (i % 4)
            continue;
        check_point(bvh, mesh, point_around(mesh, &random, 100), HUGE_VAL);
        check_point(bvh, mesh, point_around(mesh, &random, 300), HUGE_VAL);
        check_point(bvh, mesh, point_around(mesh, &random, 1e5), size);
        check_point(bvh, mesh, point_around(mesh, &random, 1e9), HUGE_VAL);
        check_point(bvh, mesh, random_vec(&random, 1e60), HUGE_VAL);
        check_point(bvh, mesh, random_vec(&random, ABUT_COORDINATE_MAX), HUGE_VAL);
        check_point(bvh, mesh, vec(0, 0, 0), HUGE_VAL);
    }
    abut_bvh_destroy(bvh);
}

/* A cylinder whose sides are as long as it is: hundreds are almost equally near, and more so where
 * 16 bits of a leaf's box are coarse. */
static abut_mesh *make_sides(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    abut_mesh *mesh = NULL;
    shape.radius = 1;
    shape.height = 150;
    shape.segments = 900;
    shape.rings = 1;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 6), test_brief() ? 8 : 30,
                   1 + (uint64_t)kind);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 24), 10, 50);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 12, 51);
    check_mesh(make_sides(), test_brief() ? 2 : 6, 52);
    check_mesh(make_moved(make_sides(), 1e-30, vec(0, 0, 0)), 1, 53);
    check_mesh(make_moved(make_sides(), 1, vec(1e6, -1e6, 1e6)), 1, 54);
}

TEST(soups) {
    check_soups(check_mesh, 12);
}

TEST(sizes_and_places) {
    check_sizes(check_mesh, 15);
}

/* An unused vertex far away has no say. */
TEST(unused_vertex) {
    const double positions[] = {5, 5, 5, 6, 5, 5, 5, 6, 5, -1e30, 0, 0};
    const uint32_t indices[] = {0, 1, 2};
    abut_mesh *mesh = test_mesh(NULL, positions, 4, indices, 1);
    check_mesh(mesh, 20, 5);
}

/* ---- batches ---- */

TEST(batch_is_single) {
    enum { COUNT = 3000 };
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 5);
    abut_bvh *bvh = hierarchy(mesh);
    struct {
        double p[3];
        char more[9];
    } *doubles = calloc(COUNT, sizeof *doubles);
    float *floats = calloc(COUNT, 4 * sizeof *floats);
    abut_nearest *got = calloc(COUNT, sizeof *got), one;
    test_random random = {4};
    for (int i = 0; i < COUNT; i++) {
        abut_vec3 p = i % 50 ? point_around(mesh, &random, 1.5) : random_vec(&random, 1e20);
        doubles[i].p[0] = p.x;
        doubles[i].p[1] = p.y;
        doubles[i].p[2] = p.z;
        for (int k = 0; k < 3; k++)
            floats[4 * i + k] = (float)doubles[i].p[k];
    }
    for (size_t count = 0; count <= COUNT; count = count < 20 ? count + 1 : 12 * count)
        for (int type = 0; type < 2; type++) {
            abut_array points = type ? abut_array_floats(floats) : abut_array_host(doubles);
            points.stride = type ? 4 * sizeof *floats : sizeof *doubles;
            double radius = type ? 0.5 : HUGE_VAL;
            memset(got, 0xff, COUNT * sizeof *got);
            assert_ok(abut_nearest_point_batch(bvh, points, count, radius, abut_array_host(got)));
            for (size_t i = 0; i < count; i++) {
                abut_vec3 p = type ? vec(floats[4 * i], floats[4 * i + 1], floats[4 * i + 2])
                                   : vec(doubles[i].p[0], doubles[i].p[1], doubles[i].p[2]);
                assert_ok(abut_nearest_point(bvh, p, radius, &one));
                assert_same(&got[i], &one, p);
            }
            if (count < COUNT)
                assert_true(got[count].triangle == UINT32_MAX && got[count].distance != 0);
        }
    free(doubles);
    free(floats);
    free(got);
    abut_bvh_destroy(bvh);
}

/* All points at one place, and points on a line: the order has nothing to go by. */
TEST(batch_of_equals) {
    enum { COUNT = 100 };
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    abut_bvh *bvh = hierarchy(mesh);
    double packed[COUNT][3];
    abut_nearest got[COUNT], one;
    for (int line = 0; line < 2; line++) {
        for (int i = 0; i < COUNT; i++) {
            packed[i][0] = 3 + line * i * 1e-3;
            packed[i][1] = packed[i][2] = 0.25;
        }
        abut_array points = abut_array_host(packed);
        assert_ok(abut_nearest_point_batch(bvh, points, COUNT, HUGE_VAL, abut_array_host(got)));
        for (int i = 0; i < COUNT; i++) {
            abut_vec3 p = vec(packed[i][0], packed[i][1], packed[i][2]);
            assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &one));
            assert_same(&got[i], &one, p);
        }
    }
    abut_bvh_destroy(bvh);
}

/* ---- refusals ---- */

TEST(refusals) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh = hierarchy(mesh);
    abut_nearest out;
    memset(&out, 0x5a, sizeof out);
    abut_nearest before = out;
    abut_vec3 p = vec(0, 0, 0);
    assert_refused("bvh is null", abut_nearest_point(NULL, p, 1, &out));
    assert_refused("nearest is null", abut_nearest_point(bvh, p, 1, NULL));
    assert_refused("radius is nan", abut_nearest_point(bvh, p, NAN, &out));
    assert_refused("radius is -1", abut_nearest_point(bvh, p, -1, &out));
    const double bad[] = {NAN, INFINITY, -INFINITY, 1.1e90};
    for (int i = 0; i < 4; i++)
        for (int axis = 0; axis < 3; axis++) {
            double at[3] = {0, 0, 0}, two[2][3] = {{0, 0, 0}, {0, 0, 0}};
            at[axis] = two[1][axis] = bad[i];
            assert_refused("point is (",
                           abut_nearest_point(bvh, vec(at[0], at[1], at[2]), 1, &out));
            abut_array points = abut_array_host(two);
            abut_nearest both[2] = {out, out};
            assert_refused("point 1 is (",
                           abut_nearest_point_batch(bvh, points, 2, 1, abut_array_host(both)));
            assert_memory_equal(&both[0], &before, sizeof out);
        }
    /* the first of several is named, also where many threads look */
    enum { MANY = 50000 };
    double(*many)[3] = calloc(MANY, sizeof *many);
    assert_non_null(many);
    many[49000][0] = many[35001][1] = many[35000][2] = NAN;
    abut_array points = abut_array_host(many);
    assert_refused("point 35000 is (0, 0, ",
                   abut_nearest_point_batch(bvh, points, MANY, 1, abut_array_host(&out)));
    free(many);
    assert_ok(abut_nearest_point_batch(bvh, abut_array_host(NULL), 0, 1, abut_array_host(NULL)));
    assert_refused("points is null", abut_nearest_point_batch(bvh, abut_array_host(NULL), 1, 1,
                                                              abut_array_host(&out)));
    points = abut_array_host(&p);
    assert_refused("nearest is null",
                   abut_nearest_point_batch(bvh, points, 1, 1, abut_array_host(NULL)));
    assert_refused("radius is nan",
                   abut_nearest_point_batch(bvh, points, 1, NAN, abut_array_host(&out)));
    points.stride = 8;
    assert_refused("points.stride is 8",
                   abut_nearest_point_batch(bvh, points, 1, 1, abut_array_host(&out)));
    points.stride = 24;
    assert_refused("points.stride is 24",
                   abut_nearest_point_batch(bvh, points, SIZE_MAX / 2, 1, abut_array_host(&out)));
    points.stride = 0;
    assert_fails(ABUT_ERROR_LIMIT, "points; at most",
                 abut_nearest_point_batch(bvh, points, SIZE_MAX / 2, 1, abut_array_host(&out)));
    points.type = (abut_scalar_type)7;
    assert_refused("points.type is 7",
                   abut_nearest_point_batch(bvh, points, 1, 1, abut_array_host(&out)));
    points.type = ABUT_SCALAR_FLOAT64;
    assert_refused("nearest has a type (1)",
                   abut_nearest_point_batch(bvh, points, 1, 1,
                                            (abut_array){.host = &out,
                                                         .type = ABUT_SCALAR_FLOAT64}));
    assert_memory_equal(&out, &before, sizeof out);
    abut_bvh_destroy(bvh);
}

int main(void) {
    int failed = test_run(NULL, NULL);
    const struct CMUnitTest some[] = {cmocka_unit_test(shapes), cmocka_unit_test(soups)};
    int lanes = abuti_simd_lanes();
    if (lanes > 8) { /* and as on processors without so wide instructions */
        abuti_simd_limit_lanes(8);
        failed += cmocka_run_group_tests(some, NULL, NULL);
    }
    if (lanes > 4) {
        abuti_simd_limit_lanes(4);
        failed += test_run(NULL, NULL);
    }
    return failed;
}
