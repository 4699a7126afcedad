/* Nearest points of batches that are large enough for lists: equal, bit for bit, to a search for
 * each of them, which has been compared with a complete one elsewhere. And the margin of the lists,
 * for which the source is included. */
#include "meshes.h"

#include "../../src/bvh/lists.c"

enum { COUNT = 800 };

static abut_vec3 between(abut_vec3 a, abut_vec3 b, double t) {
    return vec(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z));
}

/* A place for every kind of trouble. */
static abut_vec3 some_point(const abut_mesh *mesh, test_random *random, int kind) {
    double size = largest_extent(mesh);
    abut_triangle t = triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
    abut_box b = abut_mesh_bounds(mesh);
    abut_vec3 d;
    switch (kind) {
    case 0: /* all about */
        return point_around(mesh, random, 1.2);
    case 1: /* near the surface */
        return point_near(mesh, random, 0.02 * size);
    case 2: /* on it, but for rounding */
        return point_near(mesh, random, 0);
    case 3: /* on vertices and middles of edges */
        return test_random_below(random, 2) ? t.corner[0] : between(t.corner[0], t.corner[1], 0.5);
    case 4: /* so many at one place that no sorting tells them apart */
        d = random_vec(random, 1e-5 * size);
        return vec(b.hi.x + d.x, b.hi.y + d.y, b.lo.z + d.z);
    case 5: /* the middle, on the medial axis of what is symmetric */
        d = random_vec(random, test_random_below(random, 2) ? 0 : 1e-3 * size);
        return vec(b.lo.x / 2 + b.hi.x / 2 + d.x, b.lo.y / 2 + b.hi.y / 2 + d.y,
                   b.lo.z / 2 + b.hi.z / 2 + d.z);
    case 6: /* far */
        return point_around(mesh, random, test_random_below(random, 8) ? 20 : 1000);
    default: /* a lattice: as many ties as can be */
        d = vec(test_random_below(random, 9), test_random_below(random, 9),
                test_random_below(random, 9));
        return vec(b.lo.x + (b.hi.x - b.lo.x) * d.x / 8, b.lo.y + (b.hi.y - b.lo.y) * d.y / 8,
                   b.lo.z + (b.hi.z - b.lo.z) * d.z / 8);
    }
}

static void check_batch(const abut_bvh *bvh, const abut_vec3 *p, size_t count, double radius) {
    static abut_nearest got[COUNT];
    abut_points points = abut_points_default();
    points.points = p;
    points.count = count;
    memset(got, 0xff, sizeof got);
    assert_ok(abut_bvh_nearest_batch(bvh, &points, radius, got));
    for (size_t i = 0; i < count; i++) {
        abut_nearest one;
        memset(&one, 0xff, sizeof one);
        assert_ok(abut_bvh_nearest(bvh, p[i], radius, &one));
        if (memcmp(&one, &got[i], sizeof one) != 0)
            fail_msg("point %zu (%.17g, %.17g, %.17g): triangle %u at %.17g (feature %d) instead "
                     "of %u at %.17g (feature %d)",
                     i, p[i].x, p[i].y, p[i].z, got[i].triangle, got[i].distance,
                     (int)got[i].feature, one.triangle, one.distance, (int)one.feature);
    }
}

static void check_mesh(abut_mesh *mesh, uint64_t seed) {
    static abut_vec3 p[COUNT];
    test_random random = {seed};
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    double size = largest_extent(mesh);
    for (int kind = -1; kind < 8; kind++) { /* -1 = all together */
        int count = kind < 0 ? COUNT : COUNT / 4;
        for (int i = 0; i < count; i++)
            do
                p[i] = some_point(mesh, &random, kind < 0 ? i % 8 : kind);
            while (!(fmax(fabs(p[i].x), fmax(fabs(p[i].y), fabs(p[i].z))) <= ABUT_COORDINATE_MAX));
        check_batch(bvh, p, (size_t)count, HUGE_VAL);
        if (kind < 0) {
            check_batch(bvh, p, (size_t)count, 0.05 * size);
            check_batch(bvh, p, (size_t)count, 0);
        }
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static void shapes(void **state) {
    (void)state;
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 6), 1 + (uint64_t)kind);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 24), 50);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 51);
}

static void soups(void **state) {
    (void)state;
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        check_mesh(make_kind(NULL, (soup_kind)kind, 1, 3), 100 + (uint64_t)kind);
        check_mesh(make_kind(NULL, (soup_kind)kind, 400, 4), 200 + (uint64_t)kind);
    }
}

/* Triangles twice, turned over, and on an edge that many share; vertices that coincide. */
static void shared_parts(void **state) {
    (void)state;
    enum { FINS = 9, BOTH = 3 * FINS };
    abut_vec3 positions[FINS + 2];
    uint32_t indices[BOTH][3];
    positions[0] = vec(0, 0, 0);
    positions[1] = vec(0, 0, 1);
    for (uint32_t i = 0; i < FINS; i++) {
        positions[2 + i] = vec(cos(0.7 * i), sin(0.7 * i), 0.3);
        uint32_t fin[3] = {0, 1, 2 + i}, turned[3] = {1, 0, 2 + i}, bent[3] = {0, 2 + i, 2 + i};
        memcpy(indices[FINS - 1 - i], fin, sizeof fin);
        memcpy(indices[FINS + i], turned, sizeof fin);
        memcpy(indices[2 * FINS + i], i % 2 ? fin : bent, sizeof fin);
    }
    abut_mesh_input input = abut_mesh_input_default();
    abut_mesh *mesh;
    input.positions = positions;
    input.vertex_count = FINS + 2;
    input.indices = indices;
    input.triangle_count = BOTH;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    check_mesh(mesh, 8);
}

static void sizes_and_places(void **state) {
    (void)state;
    static const double scales[] = {1e-30, 1e30, 1e-80, 1e80, 1e-6};
    static const double places[] = {0, 0, 0, 0, 1e6};
    for (int i = 0; i < 5; i++) {
        abut_vec3 by = vec(places[i], -places[i], 2 * places[i]);
        check_mesh(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 12), scales[i], by), 60);
        check_mesh(make_moved(make_kind(NULL, SOUP_NEEDLES, 100, 3), scales[i], by), 61);
        check_mesh(make_moved(make_kind(NULL, SOUP_GROWING, 100, 3), scales[i], by), 62);
    }
}

/* ---- threads, memory, cancelling ---- */

static abut_status batch_work(abut_context *context, void *data) {
    static abut_nearest got[COUNT];
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    abut_bvh *bvh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    if (status)
        return status;
    status = abut_bvh_create(mesh, NULL, &bvh);
    abut_points points = abut_points_default();
    points.points = data;
    points.count = COUNT;
    if (!status)
        status = abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, got);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

static void out_of_memory(void **state) {
    (void)state;
    static abut_vec3 p[COUNT];
    test_random random = {3};
    for (int i = 0; i < COUNT; i++)
        p[i] = random_vec(&random, 2);
    assert_true(test_every_allocation(batch_work, p) > 5);
}

static void threads_agree(void **state) {
    (void)state;
    enum { MANY = 20000 };
    abut_vec3 *p = malloc(MANY * sizeof *p);
    abut_nearest *first = malloc(MANY * sizeof *first), *got = malloc(MANY * sizeof *got);
    assert_true(p && first && got);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TEAPOT_SOLID, 6);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        test_random random = {9};
        for (int i = 0; i < MANY; i++)
            p[i] = some_point(mesh, &random, i % 2);
        abut_points points = abut_points_default();
        points.points = p;
        points.count = MANY;
        memset(got, 0, MANY * sizeof *got);
        assert_ok(abut_bvh_nearest_batch(bvh, &points, HUGE_VAL, threads == 1 ? first : got));
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_memory_equal(first, got, MANY * sizeof *got);
    free(p);
    free(first);
    free(got);
}

/* ---- the margin ---- */

/* The largest error of a kernel, as a part of the margin. */
static double worst_error(const lists_kernel *kernel, abut_mesh *mesh, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh;
    lists_table table;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abuti_lists_create(bvh, &table));
    uint32_t count = abut_mesh_triangle_count(mesh);
    uint32_t room = lists_group_count(count) * LISTS_GROUP;
    uint32_t *places = malloc((room + LISTS_GROUP) * sizeof *places);
    lists_list list = {0, aligned_alloc(64, room / LISTS_GROUP * sizeof(lists_group)),
                       malloc(room * sizeof(uint32_t))};
    float *distance_sq_of = malloc(2 * room * sizeof *distance_sq_of);
    for (uint32_t i = 0; i < count; i++)
        places[i] = i;
    kernel->gather(&table, places, count, &list);
    double worst = 0;
    for (int round = 0; round < 60; round++) {
        abut_vec3 p =
            round % 8 == 6 ? point_around(mesh, &random, 40) : some_point(mesh, &random, round % 8);
        vec3 q = v3_scale(v3_sub(p, mesh->origin), bvh->scale);
        float at_point[3] = {(float)q.x, (float)q.y, (float)q.z};
        float margin = lists_margin((float)v3_max_abs(q));
        kernel->measure(&list, at_point, margin, distance_sq_of, places);
        for (uint32_t i = 0; i < count; i++) {
            abut_triangle t = triangle_of(mesh, bvh->order[i]);
            abut_closest_on_triangle closest;
            assert_ok(abut_triangle_closest_point(&t, p, &closest));
            double error = fabs(sqrt(distance_sq_of[i]) - closest.distance * bvh->scale);
            worst = fmax(worst, error / margin);
        }
    }
    free(places);
    free(list.groups);
    free(list.places);
    free(distance_sq_of);
    abuti_lists_destroy(&table);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return worst;
}

static void errors_are_inside(void **state) {
    (void)state;
    static const lists_kernel four = {gather, filter, measure, exact};
    const lists_kernel *kernels[3] = {&four, NULL, NULL};
    if (simd_lanes() >= 8)
        kernels[1] = abuti_lists_8();
    if (simd_lanes() >= 16)
        kernels[2] = abuti_lists_16();
    for (int k = 0; k < 3; k++) {
        if (!kernels[k])
            continue;
        double worst = 0;
        for (int kind = 0; kind < SOUP_COUNT; kind++)
            for (uint32_t count = 1; count < 500; count = 7 * count + 3) {
                abut_mesh *moved =
                    make_moved(make_kind(NULL, (soup_kind)kind, count, 9), 1e-3, vec(7, -5, 1000));
                worst = fmax(worst, worst_error(kernels[k], moved, 6));
                worst = fmax(worst, worst_error(kernels[k],
                                                make_kind(NULL, (soup_kind)kind, count, 3), 5));
            }
        worst = fmax(worst, worst_error(kernels[k], make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 7));
        if (!(worst <= 0.25 && worst > 0.005)) /* below that nothing was measured */
            fail_msg("the largest error is %g of the margin", worst);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(soups),
        cmocka_unit_test(shared_parts),
        cmocka_unit_test(sizes_and_places),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(errors_are_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
