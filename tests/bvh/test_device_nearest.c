/* Nearest points on a device: the bits of the CPU's answers, whatever the mesh and the points; and
 * nothing lost when the device fails at any call. */
#include "meshes.h"

#include "bvh/device_query.h"
#include "device/open.h"

static abut_device *device;

/* Points everywhere: around, near, on, on corners, far, absurdly far. */
static abut_vec3 *make_points(const abut_mesh *mesh, size_t count, uint64_t seed) {
    test_random random = {seed};
    double size = largest_extent(mesh);
    abut_vec3 *points = malloc(count * sizeof *points);
    assert_non_null(points);
    for (size_t i = 0; i < count; i++) {
        abut_triangle t =
            triangle_of(mesh, test_random_below(&random, abut_mesh_triangle_count(mesh)));
        switch (i % 8) {
        case 0:
            points[i] = point_near(mesh, &random, 0.02 * size);
            break;
        case 1:
            points[i] = point_near(mesh, &random, 1e-7 * size);
            break;
        case 2:
            points[i] = point_near(mesh, &random, 0);
            break;
        case 3:
            points[i] = t.corner[i / 8 % 3];
            break;
        case 4:
            points[i] = point_around(mesh, &random, i % 64 == 4 ? 1000 : 3);
            break;
        default:
            points[i] = point_around(mesh, &random, 1.2);
        }
        double *scalar = &points[i].x;
        for (int k = 0; k < 3; k++)
            scalar[k] = fmax(-ABUT_COORDINATE_MAX, fmin(scalar[k], ABUT_COORDINATE_MAX));
    }
    return points;
}

static void assert_equal(const abut_nearest *got, const abut_nearest *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &expected[i], sizeof *got) != 0)
            fail_msg("point %zu: triangle %u at %.17g (feature %d) instead of %u at %.17g "
                     "(feature %d)",
                     i, got[i].triangle, got[i].distance, (int)got[i].feature, expected[i].triangle,
                     expected[i].distance, (int)expected[i].feature);
}

/* As doubles, as floats with a stride, with a radius. */
static void check_points(const abut_bvh *bvh, abut_device_bvh *on_device, const abut_vec3 *list,
                         size_t count) {
    abut_nearest *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    float(*floats)[4] = malloc(count * sizeof *floats);
    assert_true(got && expected && floats);
    abut_points points = abut_points_default();
    points.points = list;
    points.count = count;
    assert_ok(abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, expected));
    memset(got, 0xff, count * sizeof *got);
    assert_ok(abut_device_bvh_nearest(on_device, &points, HUGE_VAL, got));
    assert_equal(got, expected, count);
    double radius = expected[count / 2].distance;
    assert_ok(abut_bvh_nearest_batch(bvh, &points, radius, expected));
    assert_ok(abut_device_bvh_nearest(on_device, &points, radius, got));
    assert_equal(got, expected, count);
    bool fits = true;
    for (size_t i = 0; i < count; i++) {
        const double *p = &list[i].x;
        for (int k = 0; k < 3; k++) {
            fits = fits && fabs(p[k]) < FLT_MAX;
            floats[i][k] = fits ? (float)p[k] : 0;
        }
    }
    points.points = floats;
    points.type = ABUT_SCALAR_FLOAT32;
    points.stride = sizeof *floats;
    assert_ok(abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, expected));
    assert_ok(abut_device_bvh_nearest(on_device, &points, HUGE_VAL, got));
    assert_equal(got, expected, count);
    free(got);
    free(expected);
    free(floats);
}

/* Points and answers that stay on the device. */
static void check_buffers(const abut_bvh *bvh, abut_device_bvh *on_device, const abut_vec3 *list,
                          size_t count) {
    abut_buffer *in, *out;
    abut_nearest *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    assert_true(got && expected);
    assert_ok(abut_buffer_create(device, count * sizeof *list, &in));
    assert_ok(abut_buffer_create(device, count * sizeof *got, &out));
    assert_ok(abut_buffer_write(in, 0, list, count * sizeof *list));
    abut_points points = abut_points_default();
    points.points = list;
    points.count = count;
    assert_ok(abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, expected));
    assert_ok(
        abut_device_bvh_nearest_buffer(on_device, in, ABUT_SCALAR_FLOAT64, count, HUGE_VAL, out));
    assert_ok(abut_buffer_read(out, 0, got, count * sizeof *got));
    assert_equal(got, expected, count);
    assert_int_equal(ABUT_ERROR_BUFFER,
                     abut_device_bvh_nearest_buffer(on_device, in, ABUT_SCALAR_FLOAT64, count + 1,
                                                    HUGE_VAL, out));
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abut_device_bvh_nearest_buffer(on_device, in, ABUT_SCALAR_FLOAT64, count, -1,
                                                    out));
    const double bad = NAN;
    assert_ok(abut_buffer_write(in, 8, &bad, sizeof bad));
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abut_device_bvh_nearest_buffer(on_device, in, ABUT_SCALAR_FLOAT64, count,
                                                    HUGE_VAL, out));
    abut_buffer_destroy(in);
    abut_buffer_destroy(out);
    free(got);
    free(expected);
}

static void check_mesh(abut_mesh *mesh, size_t count, uint64_t seed) {
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_vec3 *points = make_points(mesh, count, seed);
    bool doubles = device->info.has_doubles;
    for (int with = 0; with < 3; with++) { /* without doubles; with them; by features */
        device->info.has_doubles = doubles && with;
        assert_ok(abut_device_bvh_create(bvh, device, &on_device));
        if (doubles && with == 2)
            on_device->features_least = 1;
        check_points(bvh, on_device, points, count);
        check_points(bvh, on_device, points, 1);
        if (doubles && with)
            check_buffers(bvh, on_device, points, count);
        abut_device_bvh_destroy(on_device);
    }
    device->info.has_doubles = doubles;
    free(points);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void shapes(void **state) {
    (void)state;
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 8), 3000, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 3000, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 3000, 3);
    /* the middle of a sphere: all triangles are candidates */
    abut_mesh *sphere = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 24);
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    assert_ok(abut_bvh_create(sphere, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    abut_vec3 middles[40] = {{0, 0, 0}};
    for (int i = 1; i < 40; i++)
        middles[i] = vec(ldexp(1, -i), 0, 0);
    check_points(bvh, on_device, middles, 40);
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(sphere);
}

/* Built and refitted on the device, with features too: the answers of a new hierarchy. */
static void built_there(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 6);
    abut_pose away = {{0.1, 0.2, 0.3, 0.9}, {3, -2, 1}};
    abut_mesh *moved = NULL;
    assert_ok(abut_mesh_transform(mesh, 1.75, away, &moved));
    bool doubles = device->info.has_doubles;
    for (int with = 0; with < 3; with++) {
        device->info.has_doubles = doubles && with;
        abut_device_bvh *there;
        assert_ok(abut_device_bvh_build(mesh, device, &there));
        there->features_least = doubles && with == 2 ? 1 : SIZE_MAX;
        for (int round = 0; round < 3; round++) {
            abut_mesh *now = round == 1 ? moved : mesh;
            abut_bvh *bvh;
            if (round)
                assert_ok(abut_device_bvh_refit(there, now));
            assert_ok(abut_bvh_create(now, NULL, &bvh));
            abut_vec3 *points = make_points(now, 500, (uint64_t)round);
            check_points(bvh, there, points, 500);
            free(points);
            abut_bvh_destroy(bvh);
        }
        abut_mesh *other = make_shape(NULL, ABUT_SHAPE_TEAPOT, 5);
        assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_refit(there, other));
        assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_refit(there, NULL));
        abut_mesh_destroy(other);
        abut_device_bvh_destroy(there);
    }
    device->info.has_doubles = doubles;
    abut_bvh *bvh;
    abut_device_bvh *copy;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &copy));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_refit(copy, mesh));
    assert_non_null(strstr(abut_last_error(), "copied from the CPU"));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_build(NULL, device, &copy));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_build(mesh, NULL, &copy));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_bvh_build(mesh, device, NULL));
    abut_device_bvh_destroy(copy);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(moved);
}

static void soups(void **state) {
    (void)state;
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_mesh(make_kind(NULL, kind, 300, 5 + kind), 400, 7 + kind);
    for (uint32_t count = 1; count < 18; count += 4)
        check_mesh(make_kind(NULL, SOUP_RANDOM, count, count), 200, count);
}

static void sizes(void **state) {
    (void)state;
    const double scales[] = {1e-80, 1e-30, 1e-7, 1e7, 1e30, 1e80};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check_mesh(make_moved(mesh, scales[i], vec(0, 0, 0)), 300, i);
        mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check_mesh(make_moved(mesh, scales[i], vec(1e3 * scales[i], 0, -1e5 * scales[i])), 300, i);
    }
}

/* The device fails at the n-th call, for every n: an error, no answer, nothing left behind. */
static void failing_device(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_vec3 *list = make_points(mesh, 100, 3);
    abut_nearest got[100], expected[100];
    abut_points points = abut_points_default();
    points.points = list;
    points.count = 100;
    assert_ok(abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, expected));
    uint64_t live = abuti_opencl_live();
    abut_status status = ABUT_ERROR_DEVICE;
    for (uint64_t n = 1; status; n++) {
        assert_true(n < 10000);
        abut_device_bvh *on_device = NULL;
        abuti_opencl_fail_at(n);
        status = abut_device_bvh_create(bvh, device, &on_device);
        assert_true(!status == (on_device != NULL));
        if (!status)
            status = abut_device_bvh_nearest(on_device, &points, HUGE_VAL, got);
        abuti_opencl_fail_at(0);
        if (status)
            assert_int_equal(status, ABUT_ERROR_DEVICE);
        abut_device_bvh_destroy(on_device);
        assert_int_equal(abuti_opencl_live(), live);
    }
    assert_equal(got, expected, 100);
    free(list);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void bad_arguments(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_device_bvh *on_device = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_int_equal(abut_device_bvh_create(NULL, device, &on_device), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_create(bvh, NULL, &on_device), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_create(bvh, device, NULL), ABUT_ERROR_ARGUMENT);
    assert_null(on_device);
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    abut_vec3 list[2] = {{0, 0, 0}, {0, NAN, 0}};
    abut_nearest got[2], kept[2];
    memset(kept, 0x5a, sizeof kept);
    memcpy(got, kept, sizeof got);
    abut_points points = abut_points_default();
    points.points = list;
    points.count = 2;
    assert_int_equal(abut_device_bvh_nearest(on_device, &points, 1, got), ABUT_ERROR_ARGUMENT);
    points.count = 1;
    assert_int_equal(abut_device_bvh_nearest(on_device, &points, NAN, got), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_nearest(on_device, &points, -1, got), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_nearest(on_device, &points, 1, NULL), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_nearest(on_device, NULL, 1, got), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_device_bvh_nearest(NULL, &points, 1, got), ABUT_ERROR_ARGUMENT);
    points.stride = 8;
    assert_int_equal(abut_device_bvh_nearest(on_device, &points, 1, got), ABUT_ERROR_ARGUMENT);
    assert_memory_equal(got, kept, sizeof got);
    points = abut_points_default();
    assert_ok(abut_device_bvh_nearest(on_device, &points, 1, NULL));
    abut_device_bvh_destroy(on_device);
    abut_device_bvh_destroy(NULL);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes), cmocka_unit_test(built_there),    cmocka_unit_test(soups),
        cmocka_unit_test(sizes),  cmocka_unit_test(failing_device), cmocka_unit_test(bad_arguments),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
