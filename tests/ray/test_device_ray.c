/* Rays on a device: the bits of the CPU's results, for any mesh and rays; and no leak if the
 * device fails at any call. */
#include "bvh/device_queries.h"

static uint64_t hit_count, miss_count;

static void check_rays(const abut_bvh *bvh, abut_bvh *on_device, const abut_ray *rays, size_t count,
                       double most) {
    abut_ray_hit *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
    unsigned char *any = malloc(count);
    assert_true(got && expected && any);
    assert_ok(
        abut_ray_first_batch(bvh, abut_array_host(rays), count, most, abut_array_host(expected)));
    memset(got, 0xff, count * sizeof *got);
    assert_ok(
        abut_ray_first_batch(on_device, abut_array_host(rays), count, most, abut_array_host(got)));
    assert_hits(got, expected, count);
    memset(got, 0xff, count * sizeof *got);
    abut_buffer *there, *back;
    assert_ok(abut_buffer_create(device, count * sizeof *rays, &there));
    assert_ok(abut_buffer_create(device, count * sizeof *got, &back));
    assert_ok(abut_buffer_write(there, 0, rays, count * sizeof *rays));
    assert_ok(abut_ray_first_batch(on_device, abut_array_buffer(there), count, most,
                                   abut_array_buffer(back)));
    assert_ok(abut_buffer_read(back, 0, got, count * sizeof *got));
    assert_hits(got, expected, count);
    abut_buffer_destroy(there);
    abut_buffer_destroy(back);
    memset(any, 0xff, count);
    assert_ok(abut_ray_any_batch(on_device, abut_array_host(rays), count, most,
                                 abut_array_host((bool *)any)));
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

/* Takes the mesh. */
static void check_mesh(abut_mesh *mesh, size_t count, uint64_t seed) {
    both b = make_both(mesh);
    abut_ray *rays = make_rays(mesh, count, seed);
    abut_ray_hit hit;
    check_rays(b.bvh, b.there, rays, count, HUGE_VAL);
    check_rays(b.bvh, b.there, rays, 1, 0);
    check_rays(b.bvh, b.there, rays, count, 1); /* where most of them aim */
    check_rays(b.bvh, b.there, rays, count, nextafter(1, 0));
    for (size_t i = 0; i < count; i += count / 7 + 1) { /* just enough, and just too little */
        assert_ok(abut_ray_first(b.bvh, &rays[i], HUGE_VAL, &hit));
        check_rays(b.bvh, b.there, &rays[i], 1, hit.parameter);
        if (hit.parameter > 0)
            check_rays(b.bvh, b.there, &rays[i], 1, nextafter(hit.parameter, 0));
    }
    free_both(&b);
    free(rays);
}

TEST(shapes) {
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 8), 800, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 600, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 600, 3);
    check_mesh(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 16), 400, 4);
    assert_true(hit_count > 1500 && miss_count > 1500);
}

TEST(soups) {
    check_soups_there(check_mesh, 60, 60);
}

TEST(sizes) {
    check_sizes_there(check_mesh, 60);
}

typedef struct asking {
    const abut_ray *rays;
    const abut_ray_hit *expected;
} asking;

static abut_status query_and_compare(abut_bvh *there, void *data) {
    const asking *a = data;
    abut_ray_hit got[100];
    bool any[100];
    abut_status status =
        abut_ray_first_batch(there, abut_array_host(a->rays), 100, HUGE_VAL, abut_array_host(got));
    if (!status)
        assert_hits(got, a->expected, 100);
    return status ? status
                  : abut_ray_any_batch(there, abut_array_host(a->rays), 100, HUGE_VAL,
                                       abut_array_host(any));
}

TEST(failing_device) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_ray *rays = make_rays(mesh, 100, 3);
    abut_ray_hit expected[100];
    asking a = {rays, expected};
    abut_bvh *bvh = hierarchy(mesh);
    assert_ok(
        abut_ray_first_batch(bvh, abut_array_host(rays), 100, HUGE_VAL, abut_array_host(expected)));
    check_failing(bvh, false, query_and_compare, &a);
    free(rays);
    abut_bvh_destroy(bvh);
}

/* A device of little memory, so that rays go in parts of 4096; and stopping between them. */
TEST(parts) {
    enum { COUNT = 9000 };
    stopping when = {"rays", 0};
    abut_context *context = stopping_context(&when);
    uint64_t memory = device->info.memory_bytes;
    device->info.memory_bytes = 1;
    both b = make_both(make_shape(context, ABUT_SHAPE_BOX, 1));
    test_random random = {5};
    abut_ray *rays = malloc(COUNT * sizeof *rays);
    abut_ray_hit *hits = malloc(COUNT * sizeof *hits);
    assert_true(rays && hits);
    for (size_t i = 0; i < COUNT; i++)
        rays[i] = (abut_ray){point_around(b.mesh, &random, 3), random_vec(&random, 1)};
    check_rays(b.bvh, b.there, rays, COUNT, HUGE_VAL);
    when.reports = 2;
    assert_int_equal(abut_ray_first_batch(b.there, abut_array_host(rays), COUNT, HUGE_VAL,
                                          abut_array_host(hits)),
                     ABUT_ERROR_CANCELLED);
    assert_int_equal(when.reports, 0);
    device->info.memory_bytes = memory;
    free(rays);
    free(hits);
    free_both(&b);
    abut_context_destroy(context);
}

/* A tree that was built on the device answers too. */
TEST(built_there) {
    both b = {make_shape(NULL, ABUT_SHAPE_TEAPOT, 4), NULL, NULL};
    abut_ray *rays = make_rays(b.mesh, 300, 6);
    assert_ok(abut_bvh_create(b.mesh, NULL, &b.bvh));
    assert_ok(build_there(b.mesh, &b.there));
    check_rays(b.bvh, b.there, rays, 300, HUGE_VAL);
    abut_mesh *moved; /* what rays keep of the tree is made anew */
    abut_pose aside = {{1, 2, 3, 4}, {0.5, 0, 0.25}};
    assert_ok(abut_mesh_transform(b.mesh, 0.75, aside, &moved));
    assert_ok(abut_bvh_set_mesh(b.bvh, moved));
    assert_ok(abut_bvh_set_mesh(b.there, moved));
    check_rays(b.bvh, b.there, rays, 300, HUGE_VAL);
    for (int i = 0; i < 300; i++) /* so short that predicates alone decide */
        rays[i].direction =
            v3_scale(vec(i % 7 - 3, i % 5 - 2, i % 3 - 0.5), i % 2 ? 1e-200 : 1e-310);
    check_rays(b.bvh, b.there, rays, 300, HUGE_VAL);
    abut_mesh_destroy(moved);
    free(rays);
    free_both(&b);
}

TEST(bad_buffers) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_bvh *on_device;
    abut_buffer *in, *out;
    abut_ray rays[3] = {{{0, 0, 0}, {1, 0, 0}},
                        {{0, 0, 0}, {0, 0, 0}},
                        {{0, 0, INFINITY}, {1, 0, 0}}};
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_ok(abut_buffer_create(device, sizeof rays, &in));
    assert_ok(abut_buffer_create(device, 3 * sizeof(abut_ray_hit), &out));
    assert_ok(abut_buffer_write(in, 0, rays, sizeof rays));
    abut_ray_hit before[3], after[3];
    memset(before, 0x5a, sizeof before);
    assert_ok(abut_buffer_write(out, 0, before, sizeof before));
    assert_refused("ray 1", abut_ray_first_batch(on_device, abut_array_buffer(in), 3, 1,
                                                 abut_array_buffer(out)));
    assert_ok(abut_buffer_read(out, 0, after, sizeof after));
    assert_memory_equal(before, after, sizeof after);
    assert_ok(abut_ray_first_batch(on_device, abut_array_buffer(in), 1, 1, abut_array_buffer(out)));
    assert_ok(abut_ray_first_batch(on_device, abut_array_buffer(in), 0, 1, abut_array_buffer(out)));
    assert_fails(ABUT_ERROR_BUFFER, "rays has",
                 abut_ray_first_batch(on_device, abut_array_buffer(in), 4, 1,
                                      abut_array_buffer(out)));
    abut_buffer *small;
    assert_ok(abut_buffer_create(device, 8, &small));
    assert_fails(ABUT_ERROR_BUFFER, "hits has",
                 abut_ray_first_batch(on_device, abut_array_buffer(in), 1, 1,
                                      abut_array_buffer(small)));
    abut_buffer_destroy(small);
    assert_refused("rays is null", abut_ray_first_batch(on_device, abut_array_buffer(NULL), 1, 1,
                                                        abut_array_buffer(out)));
    assert_refused("hits is null", abut_ray_first_batch(on_device, abut_array_buffer(in), 1, 1,
                                                        abut_array_buffer(NULL)));
    assert_refused("limit", abut_ray_first_batch(on_device, abut_array_buffer(in), 1, -1,
                                                 abut_array_buffer(out)));
    assert_refused("bvh is null",
                   abut_ray_first_batch(NULL, abut_array_buffer(in), 1, 1, abut_array_buffer(out)));
    abut_buffer_destroy(in);
    abut_buffer_destroy(out);
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(bad_arguments) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_bvh *on_device = NULL;
    abut_ray rays[2] = {{{0, 0, 0}, {1, 0, 0}}, {{0, 0, 0}, {1, 0, NAN}}};
    abut_ray_hit got[2], kept[2];
    bool any[2] = {false, false};
    memset(kept, 0x5a, sizeof kept);
    memcpy(got, kept, sizeof got);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_refused("ray 1", abut_ray_first_batch(on_device, abut_array_host(rays), 2, 1,
                                                 abut_array_host(got)));
    rays[1].direction = vec(0, 0, 0);
    assert_refused("zero", abut_ray_any_batch(on_device, abut_array_host(rays), 2, 1,
                                              abut_array_host(any)));
    rays[1].direction = vec(0, 2 * ABUT_COORDINATE_MAX, 0);
    assert_refused("ray 1", abut_ray_first_batch(on_device, abut_array_host(rays), 2, 1,
                                                 abut_array_host(got)));
    assert_refused("limit", abut_ray_first_batch(on_device, abut_array_host(rays), 1, NAN,
                                                 abut_array_host(got)));
    assert_refused("limit", abut_ray_any_batch(on_device, abut_array_host(rays), 1, -1,
                                               abut_array_host(any)));
    assert_refused("hits", abut_ray_first_batch(on_device, abut_array_host(rays), 1, 1,
                                                abut_array_host(NULL)));
    assert_refused("any is", abut_ray_any_batch(on_device, abut_array_host(rays), 1, 1,
                                                abut_array_host(NULL)));
    assert_refused("rays", abut_ray_first_batch(on_device, abut_array_host(NULL), 1, 1,
                                                abut_array_host(got)));
    assert_refused("bvh",
                   abut_ray_first_batch(NULL, abut_array_host(rays), 1, 1, abut_array_host(got)));
    assert_memory_equal(got, kept, sizeof got);
    assert_ok(abut_ray_first_batch(on_device, abut_array_host(NULL), 0, 1, abut_array_host(NULL)));
    abut_bvh_destroy(on_device);
    bool doubles = device->info.has_doubles;
    device->info.has_doubles = false;
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &on_device));
    assert_fails(ABUT_ERROR_DEVICE, "abut_ray_first_batch",
                 abut_ray_first_batch(on_device, abut_array_host(rays), 1, 1,
                                      abut_array_host(got)));
    device->info.has_doubles = doubles;
    abut_bvh_destroy(on_device);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

int main(void) {
    RUN_THERE();
}
