/* Nearest points on a device: the bits of the CPU's results, for any mesh and points; and no
 * leak if the device fails at any call. */
#include "bvh/device_queries.h"

/* As doubles, as floats with a stride, with a radius. */
static void check_points(const abut_bvh *bvh, abut_bvh *on_device, const abut_vec3 *list,
                         size_t count) {
    abut_nearest *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    float(*floats)[4] = malloc(count * sizeof *floats);
    assert_true(got && expected && floats);
    abut_array points = abut_array_host(list);
    assert_ok(abut_nearest_point_batch(bvh, points, count, HUGE_VAL, abut_array_host(expected)));
    memset(got, 0xff, count * sizeof *got);
    assert_ok(abut_nearest_point_batch(on_device, points, count, HUGE_VAL, abut_array_host(got)));
    assert_nearest(got, expected, count);
    double radius = expected[count / 2].distance;
    assert_ok(abut_nearest_point_batch(bvh, points, count, radius, abut_array_host(expected)));
    assert_ok(abut_nearest_point_batch(on_device, points, count, radius, abut_array_host(got)));
    assert_nearest(got, expected, count);
    bool fits = true;
    for (size_t i = 0; i < count; i++) {
        const double *p = &list[i].x;
        for (int k = 0; k < 3; k++) {
            fits = fits && fabs(p[k]) < FLT_MAX;
            floats[i][k] = fits ? (float)p[k] : 0;
        }
    }
    points = abut_array_floats(floats);
    points.stride = sizeof *floats;
    assert_ok(abut_nearest_point_batch(bvh, points, count, HUGE_VAL, abut_array_host(expected)));
    assert_ok(abut_nearest_point_batch(on_device, points, count, HUGE_VAL, abut_array_host(got)));
    assert_nearest(got, expected, count);
    free(got);
    free(expected);
    free(floats);
}

static abut_status ask_buffers(const abut_bvh *bvh, abut_buffer *in, size_t count, double radius,
                               abut_buffer *out) {
    return abut_nearest_point_batch(bvh, abut_array_buffer(in), count, radius,
                                    abut_array_buffer(out));
}

/* Points and answers that stay on the device. */
static void check_buffers(const abut_bvh *bvh, abut_bvh *on_device, const abut_vec3 *list,
                          size_t count) {
    abut_buffer *in, *out;
    abut_nearest *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    assert_true(got && expected);
    assert_ok(abut_buffer_create(device, count * sizeof *list, &in));
    assert_ok(abut_buffer_create(device, count * sizeof *got, &out));
    assert_ok(abut_buffer_write(in, 0, list, count * sizeof *list));
    const abut_array points = abut_array_host(list);
    assert_ok(abut_nearest_point_batch(bvh, points, count, HUGE_VAL, abut_array_host(expected)));
    assert_ok(ask_buffers(on_device, in, count, HUGE_VAL, out));
    assert_ok(abut_buffer_read(out, 0, got, count * sizeof *got));
    assert_nearest(got, expected, count);
    assert_int_equal(ABUT_ERROR_BUFFER, ask_buffers(on_device, in, count + 1, HUGE_VAL, out));
    assert_int_equal(ABUT_ERROR_ARGUMENT, ask_buffers(on_device, in, count, -1, out));
    const double bad = NAN;
    assert_ok(abut_buffer_write(in, 8, &bad, sizeof bad));
    assert_int_equal(ABUT_ERROR_ARGUMENT, ask_buffers(on_device, in, count, HUGE_VAL, out));
    abut_buffer_destroy(in);
    abut_buffer_destroy(out);
    free(got);
    free(expected);
}

static void check_mesh(abut_mesh *mesh, size_t count, uint64_t seed) {
    abut_bvh *on_device;
    abut_bvh *bvh = hierarchy(mesh);
    abut_vec3 *points = make_points(mesh, count, seed);
    bool doubles = device->info.has_doubles;
    for (int with = 0; with < 2; with++) { /* without doubles; with them */
        device->info.has_doubles = doubles && with;
        assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
        check_points(bvh, on_device, points, count);
        check_points(bvh, on_device, points, 1);
        if (doubles && with)
            check_buffers(bvh, on_device, points, count);
        abut_bvh_destroy(on_device);
    }
    device->info.has_doubles = doubles;
    free(points);
    abut_bvh_destroy(bvh);
}

TEST(shapes) {
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 8), 3000, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 3000, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 3000, 3);
    check_mesh(make_shape(NULL, ABUT_SHAPE_CONE, 260), 500, 4); /* a vertex in many triangles */
    /* the middle of a sphere: all triangles are candidates */
    both b = make_both(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 24));
    abut_vec3 middles[40] = {{0, 0, 0}};
    for (int i = 1; i < 40; i++)
        middles[i] = vec(ldexp(1, -i), 0, 0);
    check_points(b.bvh, b.there, middles, 40);
    free_both(&b);
}

/* Built and refitted on the device: the results of a new BVH. */
TEST(built_there) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 6);
    abut_pose away = {{0.1, 0.2, 0.3, 0.9}, {3, -2, 1}};
    abut_mesh *moved = NULL;
    assert_ok(abut_mesh_transform(mesh, 1.75, away, &moved));
    bool doubles = device->info.has_doubles;
    for (int with = 0; with < 2; with++) {
        device->info.has_doubles = doubles && with;
        abut_bvh *there;
        assert_ok(build_there(mesh, &there));
        for (int round = 0; round < 3; round++) {
            abut_mesh *now = round == 1 ? moved : mesh;
            abut_bvh *bvh;
            if (round)
                assert_ok(abut_bvh_set_mesh(there, now));
            assert_ok(abut_bvh_create(now, NULL, &bvh));
            abut_vec3 *points = make_points(now, 500, (uint64_t)round);
            check_points(bvh, there, points, 500);
            free(points);
            abut_bvh_destroy(bvh);
        }
        abut_mesh *other = make_shape(NULL, ABUT_SHAPE_TEAPOT, 5);
        assert_int_equal(ABUT_ERROR_ARGUMENT, abut_bvh_set_mesh(there, other));
        assert_int_equal(ABUT_ERROR_ARGUMENT, abut_bvh_set_mesh(there, NULL));
        abut_mesh_destroy(other);
        abut_bvh_destroy(there);
    }
    device->info.has_doubles = doubles;
    abut_bvh *bvh;
    abut_bvh *copy;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &copy));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_bvh_set_mesh(copy, mesh));
    assert_non_null(strstr(abut_last_error(), "a copy"));
    abut_bvh_destroy(copy);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(moved);
}

TEST(soups) {
    check_soups_there(check_mesh, 300, 400);
}

TEST(sizes) {
    check_sizes_there(check_mesh, 300);
}

typedef struct asking {
    const abut_vec3 *points;
    const abut_nearest *expected;
} asking;

static abut_status query_and_compare(abut_bvh *there, void *data) {
    const asking *a = data;
    abut_nearest got[100];
    abut_status status = abut_nearest_point_batch(there, abut_array_host(a->points), 100, HUGE_VAL,
                                                  abut_array_host(got));
    if (!status)
        assert_nearest(got, a->expected, 100);
    return status;
}

TEST(failing_device) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_bvh *bvh = hierarchy(mesh);
    abut_vec3 *list = make_points(mesh, 100, 3);
    abut_nearest expected[100];
    asking a = {list, expected};
    assert_ok(abut_nearest_point_batch(bvh, abut_array_host(list), 100, HUGE_VAL,
                                       abut_array_host(expected)));
    check_failing(bvh, true, query_and_compare, &a);
    free(list);
    abut_bvh_destroy(bvh);
}

TEST(bad_arguments) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *on_device = NULL;
    abut_bvh *bvh = hierarchy(mesh);
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    abut_vec3 list[2] = {{0, 0, 0}, {0, NAN, 0}};
    abut_nearest got[2], kept[2];
    memset(kept, 0x5a, sizeof kept);
    memcpy(got, kept, sizeof got);
    abut_array points = abut_array_host(list);
    assert_int_equal(abut_nearest_point_batch(on_device, points, 2, 1, abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_nearest_point_batch(on_device, points, 1, NAN, abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_nearest_point_batch(on_device, points, 1, -1, abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_nearest_point_batch(on_device, points, 1, 1, abut_array_host(NULL)),
                     ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_nearest_point_batch(on_device, abut_array_host(NULL), 1, 1,
                                              abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_nearest_point_batch(NULL, points, 1, 1, abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    points.stride = 8;
    assert_int_equal(abut_nearest_point_batch(on_device, points, 1, 1, abut_array_host(got)),
                     ABUT_ERROR_ARGUMENT);
    assert_memory_equal(got, kept, sizeof got);
    assert_ok(
        abut_nearest_point_batch(on_device, abut_array_host(NULL), 0, 1, abut_array_host(NULL)));
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(NULL);
    abut_bvh_destroy(bvh);
}

int main(void) {
    RUN_THERE();
}
