/* Rays on a device: the bits of the CPU's answers, whatever the mesh and the rays; and nothing lost
 * when the device fails at any call. */
#include "meshes.h"

#include "bvh/device_query.h"
#include "device/open.h"

static abut_device *device;

static double clamp(double x) {
    return fmax(-ABUT_COORDINATE_MAX, fmin(x, ABUT_COORDINATE_MAX));
}

static abut_vec3 toward(abut_vec3 from, abut_vec3 to) {
    return vec(clamp(to.x - from.x), clamp(to.y - from.y), clamp(to.z - from.z));
}

/* A point of a triangle: a corner, a middle of an edge, or inside. */
static abut_vec3 target(const abut_mesh *mesh, test_random *random) {
    abut_triangle t = triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
    uint32_t k = test_random_below(random, 3);
    abut_vec3 a = t.corner[k], b = t.corner[(k + 1) % 3];
    switch (test_random_below(random, 3)) {
    case 0:
        return a;
    case 1:
        return vec(a.x / 2 + b.x / 2, a.y / 2 + b.y / 2, a.z / 2 + b.z / 2);
    default:
        return point_near(mesh, random, 0);
    }
}

/* From everywhere to everywhere: through vertices and edges, along axes and edges, in the planes of
 * triangles, from the surface itself, from far and absurdly far away, of all lengths. */
static abut_ray make_ray(const abut_mesh *mesh, size_t i, test_random *random) {
    abut_ray ray;
    abut_triangle t = triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
    ray.origin = point_around(mesh, random, i % 3 == 0 ? 3 : 1);
    switch (i % 10) {
    case 0:
        ray.direction = random_vec(random, 1);
        break;
    case 1:
        ray.direction = vec(i / 10 % 3 == 0, i / 10 % 3 == 1, -(double)(i / 10 % 3 == 2));
        if (i % 4)
            ray.origin = target(mesh, random);
        break;
    case 2: /* along an edge */
        ray.direction = toward(t.corner[0], t.corner[1]);
        ray.origin = vec(t.corner[0].x - 3 * ray.direction.x, t.corner[0].y - 3 * ray.direction.y,
                         t.corner[0].z - 3 * ray.direction.z);
        break;
    case 3: /* from one place of a triangle to another */
        ray.origin = target(mesh, random);
        ray.direction = toward(ray.origin, target(mesh, random));
        break;
    case 4: /* from afar; the CPU takes long over the furthest */
        ray.origin =
            point_around(mesh, random,
                         pow(10, test_random_real(random, 1,
                                                  abut_mesh_triangle_count(mesh) < 100 ? 14 : 8)));
        ray.direction = toward(ray.origin, target(mesh, random));
        break;
    case 5: /* a little beside an axis */
        ray.direction = vec(1e-30 * (double)(i % 3), i % 20 == 5 ? 1e-20 : -1e-9, 1);
        ray.origin = target(mesh, random);
        ray.origin.z -= largest_extent(mesh);
        break;
    default:
        ray.direction = toward(ray.origin, target(mesh, random));
    }
    double length = i % 7 == 0 ? pow(2, test_random_real(random, -60, 60)) : 1;
    double *scalar = &ray.origin.x;
    for (int k = 0; k < 6; k++)
        scalar[k] = clamp(k < 3 ? scalar[k] : scalar[k] * length);
    if (v3_max_abs(ray.direction) == 0)
        ray.direction = vec(0, 0, i % 2 ? 1 : -1e-300);
    return ray;
}

static void assert_equal(const abut_bvh_hit *got, const abut_bvh_hit *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i].parameter, &expected[i].parameter, sizeof got->parameter) != 0 ||
            memcmp(got[i].barycentric, expected[i].barycentric, sizeof got->barycentric) != 0 ||
            got[i].triangle != expected[i].triangle)
            fail_msg("ray %zu: triangle %u at %.17g instead of %u at %.17g", i, got[i].triangle,
                     got[i].parameter, expected[i].triangle, expected[i].parameter);
}

static uint64_t hit_count, miss_count;

static void check_rays(const abut_bvh *bvh, abut_device_bvh *on_device, const abut_ray *rays,
                       size_t count, double most) {
    abut_bvh_hit *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    unsigned char *any = malloc(count);
    assert_true(got && expected && any);
    assert_ok(abut_bvh_ray_batch(bvh, rays, count, most, expected));
    memset(got, 0xff, count * sizeof *got);
    assert_ok(abut_device_bvh_ray_first(on_device, rays, count, most, got));
    assert_equal(got, expected, count);
    memset(got, 0xff, count * sizeof *got);
    abut_buffer *there, *back;
    assert_ok(abut_buffer_create(device, count * sizeof *rays, &there));
    assert_ok(abut_buffer_create(device, count * sizeof *got, &back));
    assert_ok(abut_buffer_write(there, 0, rays, count * sizeof *rays));
    assert_ok(abut_device_bvh_ray_first_buffer(on_device, there, count, most, back));
    assert_ok(abut_buffer_read(back, 0, got, count * sizeof *got));
    assert_equal(got, expected, count);
    abut_buffer_destroy(there);
    abut_buffer_destroy(back);
    memset(any, 0xff, count);
    assert_ok(abut_device_bvh_ray_any(on_device, rays, count, most, (bool *)any));
    for (size_t i = 0; i < count; i++) {
        bool hit = expected[i].triangle != ABUT_NONE;
        if (any[i] != hit)
            fail_msg("ray %zu: %u instead of %d", i, any[i], hit);
        hit_count += hit;
        miss_count += !hit;
    }
    free(got);
    free(expected);
    free(any);
}

static void check_mesh(abut_mesh *mesh, size_t count, uint64_t seed) {
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    test_random random = {seed};
    abut_ray *rays = malloc(count * sizeof *rays);
    abut_bvh_hit hit;
    assert_non_null(rays);
    for (size_t i = 0; i < count; i++)
        rays[i] = make_ray(mesh, i, &random);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    check_rays(bvh, on_device, rays, count, HUGE_VAL);
    check_rays(bvh, on_device, rays, 1, 0);
    check_rays(bvh, on_device, rays, count, 1); /* where most of them aim */
    check_rays(bvh, on_device, rays, count, nextafter(1, 0));
    for (size_t i = 0; i < count; i += count / 7 + 1) { /* just enough, and just too little */
        assert_ok(abut_bvh_ray_first(bvh, &rays[i], HUGE_VAL, &hit));
        check_rays(bvh, on_device, &rays[i], 1, hit.parameter);
        if (hit.parameter > 0)
            check_rays(bvh, on_device, &rays[i], 1, nextafter(hit.parameter, 0));
    }
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    free(rays);
}

static void shapes(void **state) {
    (void)state;
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 8), 800, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 600, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 600, 3);
    check_mesh(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 16), 400, 4);
    assert_true(hit_count > 1500 && miss_count > 1500);
}

static void soups(void **state) {
    (void)state;
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_mesh(make_kind(NULL, kind, 60, 5 + kind), 60, 7 + kind);
    for (uint32_t count = 1; count < 18; count += 4)
        check_mesh(make_kind(NULL, SOUP_RANDOM, count, count), 100, count);
}

static void sizes(void **state) {
    (void)state;
    const double scales[] = {1e-80, 1e-30, 1e-7, 1e7, 1e30, 1e80};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check_mesh(make_moved(mesh, scales[i], vec(0, 0, 0)), 60, i);
        mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check_mesh(make_moved(mesh, scales[i], vec(1e3 * scales[i], 0, -1e5 * scales[i])), 60, i);
    }
}

/* The device fails at the n-th call, for every n: an error, no answer, nothing left behind; and the
 * same hierarchy answers afterwards. */
static void failing_device(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_bvh *bvh;
    test_random random = {3};
    abut_ray rays[100];
    abut_bvh_hit got[100], expected[100];
    bool any[100];
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    for (size_t i = 0; i < 100; i++)
        rays[i] = make_ray(mesh, i, &random);
    assert_ok(abut_bvh_ray_batch(bvh, rays, 100, HUGE_VAL, expected));
    uint64_t live = abuti_opencl_live();
    abut_status status = ABUT_ERROR_DEVICE;
    for (uint64_t n = 1; status; n++) {
        assert_true(n < 1000);
        abut_device_bvh *on_device;
        assert_ok(abut_device_bvh_create(bvh, device, &on_device));
        abuti_opencl_fail_at(n);
        status = abut_device_bvh_ray_first(on_device, rays, 100, HUGE_VAL, got);
        if (!status)
            status = abut_device_bvh_ray_any(on_device, rays, 100, HUGE_VAL, any);
        abuti_opencl_fail_at(0);
        if (status)
            assert_int_equal(status, ABUT_ERROR_DEVICE);
        assert_ok(abut_device_bvh_ray_first(on_device, rays, 100, HUGE_VAL, got));
        assert_equal(got, expected, 100);
        abut_device_bvh_destroy(on_device);
        assert_int_equal(abuti_opencl_live(), live);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* ---- parts, and stopping between them ---- */

static int reports; /* until it stops; 0 = never */

static bool stop(void *user, const char *stage, double fraction) {
    (void)user;
    (void)fraction;
    return strcmp(stage, "rays") != 0 || reports == 0 || --reports > 0;
}

/* A device of little memory, so that rays go in parts of 4096. */
static void parts(void **state) {
    (void)state;
    enum { COUNT = 9000 };
    abut_context_options options = abut_context_options_default();
    abut_context *context;
    options.progress = stop;
    assert_ok(abut_context_create(&options, &context));
    uint64_t memory = device->info.memory_bytes;
    device->info.memory_bytes = 1;
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    test_random random = {5};
    abut_ray *rays = malloc(COUNT * sizeof *rays);
    abut_bvh_hit *hits = malloc(COUNT * sizeof *hits);
    assert_true(rays && hits);
    for (size_t i = 0; i < COUNT; i++)
        rays[i] = (abut_ray){point_around(mesh, &random, 3), random_vec(&random, 1)};
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    check_rays(bvh, on_device, rays, COUNT, HUGE_VAL);
    reports = 2;
    assert_int_equal(abut_device_bvh_ray_first(on_device, rays, COUNT, HUGE_VAL, hits),
                     ABUT_ERROR_CANCELLED);
    assert_int_equal(reports, 0);
    device->info.memory_bytes = memory;
    free(rays);
    free(hits);
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* A tree that was built on the device answers too. */
static void built_there(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    test_random random = {6};
    abut_ray rays[300];
    for (size_t i = 0; i < 300; i++)
        rays[i] = make_ray(mesh, i, &random);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_build(mesh, device, &on_device));
    check_rays(bvh, on_device, rays, 300, HUGE_VAL);
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void bad_buffers(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_device_bvh *on_device;
    abut_buffer *in, *out;
    abut_ray rays[3] = {{{0, 0, 0}, {1, 0, 0}},
                        {{0, 0, 0}, {0, 0, 0}},
                        {{0, 0, INFINITY}, {1, 0, 0}}};
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    assert_ok(abut_buffer_create(device, sizeof rays, &in));
    assert_ok(abut_buffer_create(device, 3 * sizeof(abut_bvh_hit), &out));
    assert_ok(abut_buffer_write(in, 0, rays, sizeof rays));
    assert_fails(ABUT_ERROR_ARGUMENT, "ray 1",
                 abut_device_bvh_ray_first_buffer(on_device, in, 3, 1, out));
    assert_ok(abut_device_bvh_ray_first_buffer(on_device, in, 1, 1, out));
    assert_ok(abut_device_bvh_ray_first_buffer(on_device, in, 0, 1, out));
    assert_fails(ABUT_ERROR_BUFFER, "rays has",
                 abut_device_bvh_ray_first_buffer(on_device, in, 4, 1, out));
    abut_buffer *small;
    assert_ok(abut_buffer_create(device, 8, &small));
    assert_fails(ABUT_ERROR_BUFFER, "hits has",
                 abut_device_bvh_ray_first_buffer(on_device, in, 1, 1, small));
    abut_buffer_destroy(small);
    assert_fails(ABUT_ERROR_ARGUMENT, "rays is null",
                 abut_device_bvh_ray_first_buffer(on_device, NULL, 1, 1, out));
    assert_fails(ABUT_ERROR_ARGUMENT, "hits is null",
                 abut_device_bvh_ray_first_buffer(on_device, in, 1, 1, NULL));
    assert_fails(ABUT_ERROR_ARGUMENT, "most",
                 abut_device_bvh_ray_first_buffer(on_device, in, 1, -1, out));
    assert_fails(ABUT_ERROR_ARGUMENT, "bvh is null",
                 abut_device_bvh_ray_first_buffer(NULL, in, 1, 1, out));
    abut_buffer_destroy(in);
    abut_buffer_destroy(out);
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void bad_arguments(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_device_bvh *on_device = NULL;
    abut_ray rays[2] = {{{0, 0, 0}, {1, 0, 0}}, {{0, 0, 0}, {1, 0, NAN}}};
    abut_bvh_hit got[2], kept[2];
    bool any[2] = {false, false};
    memset(kept, 0x5a, sizeof kept);
    memcpy(got, kept, sizeof got);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    assert_fails(ABUT_ERROR_ARGUMENT, "ray 1",
                 abut_device_bvh_ray_first(on_device, rays, 2, 1, got));
    rays[1].direction = vec(0, 0, 0);
    assert_fails(ABUT_ERROR_ARGUMENT, "zero", abut_device_bvh_ray_any(on_device, rays, 2, 1, any));
    rays[1].direction = vec(0, 2 * ABUT_COORDINATE_MAX, 0);
    assert_fails(ABUT_ERROR_ARGUMENT, "ray 1",
                 abut_device_bvh_ray_first(on_device, rays, 2, 1, got));
    assert_fails(ABUT_ERROR_ARGUMENT, "most",
                 abut_device_bvh_ray_first(on_device, rays, 1, NAN, got));
    assert_fails(ABUT_ERROR_ARGUMENT, "most", abut_device_bvh_ray_any(on_device, rays, 1, -1, any));
    assert_fails(ABUT_ERROR_ARGUMENT, "hits",
                 abut_device_bvh_ray_first(on_device, rays, 1, 1, NULL));
    assert_fails(ABUT_ERROR_ARGUMENT, "any is",
                 abut_device_bvh_ray_any(on_device, rays, 1, 1, NULL));
    assert_fails(ABUT_ERROR_ARGUMENT, "rays",
                 abut_device_bvh_ray_first(on_device, NULL, 1, 1, got));
    assert_fails(ABUT_ERROR_ARGUMENT, "bvh", abut_device_bvh_ray_first(NULL, rays, 1, 1, got));
    assert_memory_equal(got, kept, sizeof got);
    assert_ok(abut_device_bvh_ray_first(on_device, NULL, 0, 1, NULL));
    abut_device_bvh_destroy(on_device);
    bool doubles = device->info.has_doubles;
    device->info.has_doubles = false;
    assert_ok(abut_device_bvh_create(bvh, device, &on_device));
    assert_fails(ABUT_ERROR_DEVICE, "abut_bvh_ray_batch",
                 abut_device_bvh_ray_first(on_device, rays, 1, 1, got));
    device->info.has_doubles = doubles;
    abut_device_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),        cmocka_unit_test(soups),
        cmocka_unit_test(sizes),         cmocka_unit_test(failing_device),
        cmocka_unit_test(bad_arguments), cmocka_unit_test(bad_buffers),
        cmocka_unit_test(parts),         cmocka_unit_test(built_there),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
