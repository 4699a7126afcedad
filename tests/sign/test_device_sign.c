/* Inside, winding numbers and signed distances on a device: the bits of the CPU's results, and
 * no leak if the device fails at any call. */
#include "bvh/device_queries.h"

/* Around, near, on, on corners, straight above corners and edges, far, absurdly far. */
static abut_vec3 make_point(const abut_mesh *mesh, size_t i, test_random *random) {
    double size = largest_extent(mesh);
    abut_triangle t = any_triangle(mesh, random);
    abut_vec3 p = point_around(mesh, random, 1.1), c = t.corner[i % 3], d = t.corner[(i + 1) % 3];
    switch (i % 10) {
    case 0:
        p = point_near(mesh, random, 0.02 * size);
        break;
    case 1:
        p = point_near(mesh, random, 1e-9 * size);
        break;
    case 2:
        p = point_near(mesh, random, 0);
        break;
    case 3:
        p = c;
        break;
    case 4:
        p = vec(p.x, c.y, c.z);
        break;
    case 5:
        p = vec(c.x / 2 + d.x / 2, c.y / 2 + d.y / 2, i % 20 == 5 ? p.z : c.z / 2 + d.z / 2);
        break;
    case 6:
        p = point_around(mesh, random, i % 30 == 6 ? 1e6 : 3);
        break;
    default:
        break;
    }
    return toward(vec(0, 0, 0), p);
}

static uint64_t inside_count, outside_count;

static void check_points(const abut_bvh *bvh, abut_bvh *on_device, abut_array points,
                         size_t count) {
    unsigned char *inside = malloc(count), *inside_wanted = malloc(count);
    double *winding = malloc(count * sizeof *winding), *wanted = malloc(count * sizeof *wanted);
    abut_nearest *nearest = malloc(count * sizeof *nearest);
    abut_nearest *nearest_wanted = malloc(count * sizeof *nearest_wanted);
    assert_true(inside && inside_wanted && winding && wanted && nearest && nearest_wanted);
    memset(inside, 0xff, count);
    assert_ok(abut_sign_inside_batch(bvh, points, count, abut_array_host((bool *)inside_wanted)));
    assert_ok(abut_sign_inside_batch(on_device, points, count, abut_array_host((bool *)inside)));
    assert_ok(abut_sign_winding_batch(bvh, points, count, abut_array_host(wanted)));
    assert_ok(abut_sign_winding_batch(on_device, points, count, abut_array_host(winding)));
    for (size_t i = 0; i < count; i++) {
        if (inside[i] != inside_wanted[i] || memcmp(&winding[i], &wanted[i], sizeof *wanted) != 0)
            fail_msg("point %zu: %d, %g instead of %d, %g", i, inside[i], winding[i],
                     inside_wanted[i], wanted[i]);
        inside_count += inside[i];
        outside_count += !inside[i];
    }
    assert_ok(
        abut_sign_nearest_batch(bvh, points, count, HUGE_VAL, abut_array_host(nearest_wanted)));
    assert_ok(
        abut_sign_nearest_batch(on_device, points, count, HUGE_VAL, abut_array_host(nearest)));
    assert_nearest(nearest, nearest_wanted, count);
    double radius = fabs(nearest[count / 2].distance);
    assert_ok(abut_sign_nearest_batch(bvh, points, count, radius, abut_array_host(nearest_wanted)));
    assert_ok(abut_sign_nearest_batch(on_device, points, count, radius, abut_array_host(nearest)));
    assert_nearest(nearest, nearest_wanted, count);
    free(inside);
    free(inside_wanted);
    free(winding);
    free(wanted);
    free(nearest);
    free(nearest_wanted);
}

/* Takes the mesh. */
static void check_mesh(abut_mesh *mesh, abut_sign_method method, size_t count, uint64_t seed) {
    abut_bvh *bvh;
    abut_bvh *on_device;
    test_random random = {seed};
    abut_sign_options options = abut_sign_options_default();
    options.method = method;
    abut_vec3 *list = malloc(count * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < count; i++)
        list[i] = make_point(mesh, i, &random);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, &options));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    const abut_array points = abut_array_host(list);
    check_points(bvh, on_device, points, count);
    if (seed == 1)
        check_points(bvh, on_device, points, 1);
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    free(list);
}

static abut_mesh *shape(abut_shape_kind kind, uint32_t segments) {
    return make_shape(NULL, kind, segments);
}

TEST(shapes) {
    for (abut_sign_method method = ABUT_SIGN_WINDING; method <= ABUT_SIGN_NORMAL; method++) {
        check_mesh(shape(ABUT_SHAPE_BOX, 1), method, 400, 1);
        check_mesh(shape(ABUT_SHAPE_TORUS, 24), method, 600, 2);
        check_mesh(shape(ABUT_SHAPE_UVSPHERE, 16), method, 400, 3);
    }
    assert_true(inside_count > 400 && outside_count > 400);
}

/* Through each other, into each other, facing inwards, many in one place. */
TEST(crossed) {
    abut_mesh *a = shape(ABUT_SHAPE_TORUS, 12);
    abut_mesh *b = make_moved(shape(ABUT_SHAPE_BOX, 1), 1.5, vec(0.3, 0.2, 0.1));
    check_mesh(make_joined(a, b), ABUT_SIGN_WINDING, 300, 4);
    a = shape(ABUT_SHAPE_UVSPHERE, 12);
    b = make_flipped(make_moved(shape(ABUT_SHAPE_UVSPHERE, 12), 0.5, vec(0, 0, 0)));
    check_mesh(make_joined(a, b), ABUT_SIGN_WINDING, 300, 5);
    check_mesh(make_flipped(shape(ABUT_SHAPE_BOX, 1)), ABUT_SIGN_WINDING, 300, 6);
    abut_mesh *many = shape(ABUT_SHAPE_BOX, 1);
    for (int i = 0; i < 4; i++) /* 16 boxes: more candidates than fit */
        many = make_joined(many, make_moved(abut_mesh_retain(many), 1, vec(0, 0, 0)));
    check_mesh(many, ABUT_SIGN_WINDING, 300, 7);
}

/* Surfaces with a border: where floats are rounded as here. */
TEST(borders) {
    if (!device->info.same_bits)
        skip();
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_mesh(make_kind(NULL, kind, 100, 5 + kind), ABUT_SIGN_WINDING, 150, 7 + kind);
    check_mesh(shape(ABUT_SHAPE_TEAPOT, 6), ABUT_SIGN_WINDING, 500, 8);
    check_mesh(make_flipped(shape(ABUT_SHAPE_TEAPOT, 3)), ABUT_SIGN_WINDING, 300, 9);
    check_mesh(make_moved(shape(ABUT_SHAPE_TEAPOT, 3), 1e40, vec(1e41, 0, 1e39)), ABUT_SIGN_WINDING,
               300, 10);
    check_mesh(make_moved(shape(ABUT_SHAPE_TEAPOT, 3), 1e-40, vec(0, 0, 0)), ABUT_SIGN_WINDING, 300,
               11);
}

/* Two BVHs of one surface with boundary, one built by the CPU and one by the device: winding
 * numbers differ by less than 0.02, and inside only where the number is within 0.01 of a half.
 * Distances have the same bits. One BVH gives equal results for a point and a batch. */
TEST(borders_of_another_hierarchy) {
    enum { COUNT = 2000 };
    static abut_vec3 list[COUNT];
    static double winding[2][COUNT];
    static bool inside[2][COUNT];
    static abut_nearest nearest[2][COUNT];
    abut_mesh *mesh = shape(ABUT_SHAPE_TEAPOT, 6);
    abut_bvh *bvh[2];
    test_random random = {21};
    double worst = 0;
    if (!device->info.same_bits)
        skip();
    for (size_t i = 0; i < COUNT; i++)
        list[i] = point_around(mesh, &random, i % 2 ? 1.1 : 2);
    const abut_array points = abut_array_host(list);
    for (int k = 0; k < 2; k++) {
        abut_bvh_options options = abut_bvh_options_default();
        options.device = k ? device : NULL;
        assert_ok(abut_bvh_create(mesh, &options, &bvh[k]));
        assert_ok(abut_sign_prepare(bvh[k], NULL));
        assert_ok(abut_sign_winding_batch(bvh[k], points, COUNT, abut_array_host(winding[k])));
        assert_ok(abut_sign_inside_batch(bvh[k], points, COUNT, abut_array_host(inside[k])));
        assert_ok(
            abut_sign_nearest_batch(bvh[k], points, COUNT, HUGE_VAL, abut_array_host(nearest[k])));
    }
    for (size_t i = 0; i < COUNT; i++) {
        const bool doubtful = fabs(fabs(winding[0][i]) - 0.5) < 0.02;
        double one;
        worst = fmax(worst, fabs(winding[0][i] - winding[1][i]));
        assert_true(inside[0][i] == inside[1][i] || doubtful);
        assert_true(nearest[0][i].distance == nearest[1][i].distance || doubtful);
        assert_true(fabs(nearest[0][i].distance) == fabs(nearest[1][i].distance));
        assert_ok(abut_sign_winding(bvh[1], list[i], &one));
        assert_memory_equal(&one, &winding[1][i], sizeof one);
    }
    print_message("other BVH: winding numbers differ by at most %.2g\n", worst);
    assert_true(worst < 0.02);
    for (int k = 0; k < 2; k++)
        abut_bvh_destroy(bvh[k]);
    abut_mesh_destroy(mesh);
}

TEST(sizes) {
    const double scales[] = {1e-80, 1e-30, 1e30, 1e80};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        check_mesh(make_moved(shape(ABUT_SHAPE_TORUS, 8), scales[i], vec(0, 0, 0)),
                   i % 2 ? ABUT_SIGN_WINDING : ABUT_SIGN_NORMAL, 200, i);
        check_mesh(make_moved(shape(ABUT_SHAPE_TORUS, 8), scales[i],
                              vec(1e3 * scales[i], 0, -1e5 * scales[i])),
                   i % 2 ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING, 200, i);
    }
}

typedef struct asking {
    const abut_vec3 *points;
    const abut_nearest *expected;
} asking;

static abut_status check_signs(abut_bvh *there, void *data) {
    const asking *a = data;
    abut_nearest got[100];
    bool inside[100];
    abut_status status =
        abut_sign_inside_batch(there, abut_array_host(a->points), 100, abut_array_host(inside));
    if (!status)
        status = abut_sign_nearest_batch(there, abut_array_host(a->points), 100, HUGE_VAL,
                                         abut_array_host(got));
    if (!status)
        assert_nearest(got, a->expected, 100);
    return status;
}

static void fail_everywhere(abut_mesh *mesh, abut_sign_method method) {
    abut_bvh *bvh;
    abut_sign_options options = abut_sign_options_default();
    options.method = method;
    test_random random = {3};
    abut_vec3 list[100];
    abut_nearest expected[100];
    asking a = {list, expected};
    for (size_t i = 0; i < 100; i++)
        list[i] = make_point(mesh, i, &random);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, &options));
    assert_ok(abut_sign_nearest_batch(bvh, abut_array_host(list), 100, HUGE_VAL,
                                      abut_array_host(expected)));
    check_failing(bvh, true, check_signs, &a);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(failing_device) {
    fail_everywhere(shape(ABUT_SHAPE_TORUS, 8), ABUT_SIGN_NORMAL);
    if (device->info.same_bits)
        fail_everywhere(shape(ABUT_SHAPE_TEAPOT, 2), ABUT_SIGN_WINDING);
}

/* ---- parts, and stopping between them ---- */

/* A device of little memory, so that points go in parts of 4096. */
TEST(parts) {
    enum { COUNT = 5000 };
    stopping when = {"none", 0};
    abut_context *context = stopping_context(&when);
    uint64_t memory = device->info.memory_bytes;
    device->info.memory_bytes = 1;
    for (int open = 0; open < 2; open++) {
        when = (stopping){"none", 0};
        abut_mesh *mesh =
            make_shape(context, open ? ABUT_SHAPE_TEAPOT : ABUT_SHAPE_BOX, open ? 2 : 1);
        abut_bvh *bvh;
        abut_bvh *on_device;
        test_random random = {5};
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        assert_ok(abut_sign_prepare(bvh, NULL));
        assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
        abut_vec3 *list = malloc(COUNT * sizeof *list);
        double *winding = malloc(COUNT * sizeof *winding);
        assert_true(list && winding);
        for (size_t i = 0; i < COUNT; i++)
            list[i] = point_around(mesh, &random, 1.2);
        const abut_array points = abut_array_host(list);
        if (!open || device->info.same_bits) {
            check_points(bvh, on_device, points, COUNT);
            when = (stopping){"winding", 2};
            assert_int_equal(abut_sign_winding_batch(on_device, points, COUNT,
                                                     abut_array_host(winding)),
                             ABUT_ERROR_CANCELLED);
            assert_int_equal(when.reports, 0);
        }
        free(list);
        free(winding);
        abut_bvh_destroy(on_device);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
    device->info.memory_bytes = memory;
    abut_context_destroy(context);
}

/* No memory at the n-th call, for every n. */
static abut_status make_and_ask(abut_context *context, void *data) {
    const abut_array *points = data;
    abut_nearest got[10];
    abut_bvh *on_device = NULL;
    abut_bvh *bvh = NULL;
    abut_mesh *mesh = NULL;
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_sign_options options = abut_sign_options_default();
    options.method = ABUT_SIGN_NORMAL;
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abut_sign_prepare(bvh, &options);
    status = status ? status : abuti_bvh_copy_to_device(bvh, device, &on_device);
    if (!status)
        status = abut_sign_nearest_batch(on_device, *points, 10, HUGE_VAL, abut_array_host(got));
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(no_memory) {
    float list[10][4] = {{0.25f, 0.1f, 0}};
    abut_array points = abut_array_floats(list);
    points.stride = sizeof *list;
    test_every_allocation(make_and_ask, &points);
}

TEST(bad_arguments) {
    abut_mesh *mesh = shape(ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_bvh *on_device = NULL;
    abut_vec3 list[2] = {{0, 0, 0}, {0, NAN, 0}};
    abut_nearest got, kept;
    bool inside = false;
    double winding = 7;
    memset(&kept, 0x5a, sizeof kept);
    memcpy(&got, &kept, sizeof got);
    abut_array points = abut_array_host(list);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_refused("abut_sign_prepare",
                   abut_sign_inside_batch(on_device, points, 2, abut_array_host(&inside)));
    abut_bvh_destroy(on_device);
    assert_ok(abut_sign_prepare(bvh, NULL));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_refused("point 1",
                   abut_sign_inside_batch(on_device, points, 2, abut_array_host(&inside)));
    assert_refused("inside is null",
                   abut_sign_inside_batch(on_device, points, 1, abut_array_host(NULL)));
    assert_refused("winding is null",
                   abut_sign_winding_batch(on_device, points, 1, abut_array_host(NULL)));
    assert_refused("bvh is null",
                   abut_sign_winding_batch(NULL, points, 1, abut_array_host(&winding)));
    assert_refused("points is null", abut_sign_winding_batch(on_device, abut_array_host(NULL), 1,
                                                             abut_array_host(&winding)));
    abut_array output = abut_array_host(&winding);
    output.stride = sizeof winding;
    assert_refused("winding has a type (0) or a stride (8)",
                   abut_sign_winding_batch(on_device, points, 1, output));
    assert_refused("radius",
                   abut_sign_nearest_batch(on_device, points, 1, NAN, abut_array_host(&got)));
    assert_ok(abut_sign_inside_batch(on_device, points, 1, abut_array_host(&inside)));
    assert_true(inside);
    assert_ok(abut_sign_inside_batch(on_device, abut_array_host(NULL), 0, abut_array_host(NULL)));
    abut_bvh_destroy(on_device);
    bool doubles = device->info.has_doubles;
    device->info.has_doubles = false;
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_fails(ABUT_ERROR_DEVICE, "no doubles",
                 abut_sign_winding_batch(on_device, points, 1, abut_array_host(&winding)));
    device->info.has_doubles = doubles;
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    mesh = make_kind(NULL, SOUP_RANDOM, 5, 1);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, NULL));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    bool same = device->info.same_bits;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "boundary edges",
                 abut_sign_nearest_batch(on_device, points, 1, 1, abut_array_host(&got)));
    device->info.same_bits = same;
    assert_memory_equal(&got, &kept, sizeof got);
    assert_true(winding == 7);
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

int main(void) {
    RUN_THERE();
}
