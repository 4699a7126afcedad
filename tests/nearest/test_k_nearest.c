/* Several nearest triangles: equal, bit for bit, to a sorted list of all. */
#include "bvh/meshes.h"

#include <inttypes.h>

static int compare(const void *one, const void *other) {
    const abut_nearest *a = one, *b = other;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->triangle < b->triangle ? -1 : 1;
}

/* The obvious way: all triangles within the radius, sorted. The caller frees. */
static abut_nearest *list_slowly(const abut_mesh *mesh, abut_vec3 point, double radius,
                                 uint32_t *count) {
    abut_nearest *list = calloc(abut_mesh_triangle_count(mesh), sizeof *list);
    assert_non_null(list);
    *count = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        list[*count] = nearest_on(mesh, i, point);
        *count += list[*count].distance <= radius;
    }
    qsort(list, *count, sizeof *list, compare);
    return list;
}

static void check_point(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 point,
                        double radius) {
    static const uint32_t most[] = {0, 1, 2, 3, 10, 100, 100000};
    if (!is_legal(point))
        return;
    uint32_t expected, all = abut_mesh_triangle_count(mesh);
    uint64_t count;
    abut_nearest *list = list_slowly(mesh, point, radius, &expected);
    abut_nearest *got = malloc((all + 1) * sizeof *got);
    assert_non_null(got);
    for (int i = 0; i < 7; i++) {
        uint32_t room = most[i] < all ? most[i] : all, fill = room < expected ? room : expected;
        memset(got, 0x5a, (all + 1) * sizeof *got);
        abut_nearest before = got[all];
        abut_nearest_list neighbours = {got, room, 0};
        assert_ok(abut_nearest_k(bvh, point, radius, &neighbours));
        count = neighbours.count;
        assert_int_equal(fill, count);
        for (uint64_t k = 0; k < count; k++)
            if (memcmp(&got[k], &list[k], sizeof *got) != 0)
                fail_msg("at (%.17g, %.17g, %.17g): number %" PRIu64
                         " is triangle %u at %.17g instead of "
                         "%u at %.17g",
                         point.x, point.y, point.z, k, got[k].triangle, got[k].distance,
                         list[k].triangle, list[k].distance);
        assert_memory_equal(&got[room], &before, sizeof before);
    }
    memset(got, 0x5a, (all + 1) * sizeof *got);
    abut_nearest_list within = {got, expected, 0};
    assert_ok(abut_nearest_within(bvh, point, radius, &within));
    count = within.count;
    assert_int_equal(expected, count);
    assert_memory_equal(got, list, expected * sizeof *got);
    if (expected > 0) {
        memset(got, 0x5a, sizeof *got);
        abut_nearest before = got[0];
        count = 0;
        within = (abut_nearest_list){got, expected - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_nearest_within(bvh, point, radius, &within));
        count = within.count;
        assert_int_equal(expected, count);
        assert_memory_equal(&got[0], &before, sizeof before);
    }
    free(got);
    free(list);
}

/* Takes the mesh. */
static void check_mesh(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh = hierarchy(mesh);
    double size = largest_extent(mesh);
    for (int i = 0; i < rounds; i++) {
        check_point(bvh, mesh, point_around(mesh, &random, 1.2), HUGE_VAL);
        check_point(bvh, mesh, point_near(mesh, &random, 1e-7 * size), 0.3 * size);
        check_point(bvh, mesh, point_near(mesh, &random, 0), 0);
        abut_triangle t =
            triangle_of(mesh, test_random_below(&random, abut_mesh_triangle_count(mesh)));
        check_point(bvh, mesh, t.corner[i % 3], 0.1 * size);
        if (i % 4)
            continue;
        check_point(bvh, mesh, point_around(mesh, &random, 100), HUGE_VAL);
        check_point(bvh, mesh, point_around(mesh, &random, 1e9), HUGE_VAL);
        check_point(bvh, mesh, random_vec(&random, 1e60), HUGE_VAL);
        check_point(bvh, mesh, random_vec(&random, ABUT_COORDINATE_MAX), HUGE_VAL);
        check_point(bvh, mesh, vec(0, 0, 0), size);
    }
    abut_bvh_destroy(bvh);
}

TEST(shapes) {
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 4), 10, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 6), 10, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 16), 10, 3);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 3), 6, 4);
}

TEST(soups) {
    check_soups(check_mesh, 4);
}

TEST(sizes_and_places) {
    check_sizes(check_mesh, 4);
}

/* Lists within a radius side by side, with too little room and with enough. */
static void check_within(const abut_bvh *bvh, const abut_vec3 *p, size_t point_count,
                         double radius) {
    const abut_array points = abut_array_host(p);
    uint64_t *offsets = malloc((point_count + 1) * sizeof *offsets), total;
    assert_non_null(offsets);
    memset(offsets, 0x5a, (point_count + 1) * sizeof *offsets);
    abut_status status =
        abut_nearest_within_batch(bvh, points, point_count, radius, 0, abut_array_host(NULL),
                                  abut_array_host(NULL), &total);
    assert_int_equal(status, total ? ABUT_ERROR_BUFFER : ABUT_OK);
    abut_nearest *got = malloc((total + 1) * sizeof *got), *one = malloc((total + 1) * sizeof *one);
    assert_true(got && one);
    memset(got, 0x5a, (total + 1) * sizeof *got);
    memset(one, 0x5a, (total + 1) * sizeof *one);
    if (total)
        assert_fails(ABUT_ERROR_BUFFER, "the capacity is",
                     abut_nearest_within_batch(bvh, points, point_count, radius, total - 1,
                                               abut_array_host(offsets), abut_array_host(got),
                                               &total));
    assert_memory_equal(got, one, (total + 1) * sizeof *got); /* untouched */
    for (size_t i = 0; i <= point_count; i++)
        assert_int_equal(0x5a5a5a5a5a5a5a5a, offsets[i]);
    assert_ok(abut_nearest_within_batch(bvh, points, point_count, radius, total,
                                        abut_array_host(offsets), abut_array_host(got), &total));
    assert_int_equal(offsets[0], 0);
    for (size_t i = 0; i < point_count; i++) {
        uint64_t count;
        abut_nearest_list within = {one, (uint32_t)total, 0};
        assert_ok(abut_nearest_within(bvh, p[i], radius, &within));
        count = within.count;
        assert_int_equal(offsets[i] + count, offsets[i + 1]);
        assert_memory_equal(one, got + offsets[i], count * sizeof *one);
    }
    assert_int_equal(offsets[point_count], total);
    free(offsets);
    free(got);
    free(one);
}

TEST_THREADS(batch_is_single) {
    enum { COUNT = 1500, MOST = 5 };
    abut_nearest *got = malloc(COUNT * MOST * sizeof *got), one[MOST];
    uint32_t counts[COUNT];
    uint64_t count;
    abut_vec3 p[COUNT];
    assert_non_null(got);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        test_random random = {5};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TORUS, 20);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        for (int i = 0; i < COUNT; i++)
            p[i] = point_around(mesh, &random, 1.2);
        abut_array points = abut_array_host(p);
        assert_ok(abut_nearest_k_batch(bvh, points, COUNT, 0.1, MOST, abut_array_host(got),
                                       abut_array_host(counts)));
        for (int i = 0; i < COUNT; i++) {
            abut_nearest_list neighbours = {one, MOST, 0};
            assert_ok(abut_nearest_k(bvh, p[i], 0.1, &neighbours));
            count = neighbours.count;
            assert_int_equal(count, counts[i]);
            assert_memory_equal(one, got + (size_t)i * MOST, count * sizeof *one);
        }
        assert_ok(abut_nearest_k_batch(bvh, points, COUNT, 0.1, 0, abut_array_host(NULL),
                                       abut_array_host(counts)));
        assert_int_equal(0, counts[0]);
        check_within(bvh, p, COUNT, 0.1);
        check_within(bvh, p, COUNT, 0);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    free(got);
}

static abut_status ask_many(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    double p[20][3] = {{0}};
    abut_nearest nearest[40];
    uint32_t counts[20];
    (void)data;
    shape.segments = 1;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status
                    : abut_nearest_k_batch(bvh, abut_array_host(p), 20, HUGE_VAL, 2,
                                           abut_array_host(nearest), abut_array_host(counts));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(refusals) {
    assert_true(test_every_allocation(ask_many, NULL) > 2);
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh = hierarchy(mesh);
    abut_vec3 p = vec(0, 0, 0), bad = vec(0, INFINITY, 0);
    abut_nearest out[2];
    uint64_t count = 77;
    memset(out, 0x5a, sizeof out);
    abut_nearest before = out[0];
    abut_array points = abut_array_host(&p);
    assert_refused("bvh is null", abut_nearest_k(NULL, p, 1, &(abut_nearest_list){out, 2, 0}));
    assert_refused("nearest is null", abut_nearest_k(bvh, p, 1, NULL));
    assert_refused("the list of nearest is null",
                   abut_nearest_k(bvh, p, 1, &(abut_nearest_list){NULL, 2, 0}));
    assert_refused("radius is nan", abut_nearest_k(bvh, p, NAN, &(abut_nearest_list){out, 2, 0}));
    assert_refused("point is (", abut_nearest_k(bvh, bad, 1, &(abut_nearest_list){out, 2, 0}));
    assert_refused("the list of nearest is null",
                   abut_nearest_within(bvh, p, 1, &(abut_nearest_list){NULL, 2, 0}));
    assert_refused("radius is -1",
                   abut_nearest_within(bvh, p, -1, &(abut_nearest_list){out, 2, 0}));
    assert_refused("point is (", abut_nearest_within(bvh, bad, 1, &(abut_nearest_list){out, 2, 0}));
    assert_refused("points is null",
                   abut_nearest_k_batch(bvh, abut_array_host(NULL), 1, 1, 2, abut_array_host(out),
                                        abut_array_host(&count)));
    assert_refused("counts is null",
                   abut_nearest_k_batch(bvh, points, 1, 1, 2, abut_array_host(out),
                                        abut_array_host(NULL)));
    assert_refused("nearest is null",
                   abut_nearest_k_batch(bvh, points, 1, 1, 2, abut_array_host(NULL),
                                        abut_array_host(&count)));
    assert_refused("radius is nan",
                   abut_nearest_k_batch(bvh, points, 1, NAN, 2, abut_array_host(out),
                                        abut_array_host(&count)));
    uint64_t offsets[2] = {77, 77}, total = 77;
    assert_refused("bvh is null",
                   abut_nearest_within_batch(NULL, points, 1, 1, 2, abut_array_host(offsets),
                                             abut_array_host(out), &total));
    assert_refused("points is null", abut_nearest_within_batch(bvh, abut_array_host(NULL), 1, 1, 2,
                                                               abut_array_host(offsets),
                                                               abut_array_host(out), &total));
    assert_refused("offsets is null",
                   abut_nearest_within_batch(bvh, points, 1, 1, 2, abut_array_host(NULL),
                                             abut_array_host(out), &total));
    assert_refused("nearest is null, but capacity is 2",
                   abut_nearest_within_batch(bvh, points, 1, 1, 2, abut_array_host(offsets),
                                             abut_array_host(NULL), &total));
    assert_refused("radius is -1",
                   abut_nearest_within_batch(bvh, points, 1, -1, 2, abut_array_host(offsets),
                                             abut_array_host(out), &total));
    p.x = NAN;
    assert_refused("point 0 is (",
                   abut_nearest_within_batch(bvh, points, 1, 1, 2, abut_array_host(offsets),
                                             abut_array_host(out), &total));
    assert_true(offsets[0] == 77 && total == 77);
    assert_refused("point 0 is (", abut_nearest_k_batch(bvh, points, 1, 1, 2, abut_array_host(out),
                                                        abut_array_host(&count)));
    assert_int_equal(77, count);
    assert_memory_equal(&out[0], &before, sizeof before);
    assert_ok(abut_nearest_within_batch(bvh, points, 0, 1, 0, abut_array_host(offsets),
                                        abut_array_host(NULL), &total));
    assert_true(offsets[0] == 0 && total == 0);
    abut_nearest_list within = {NULL, 0, 0};
    assert_ok(abut_nearest_within(bvh, vec(0, 0, 0), 0.25, &within));
    count = within.count;
    assert_int_equal(0, count);
    abut_bvh_destroy(bvh);
}
