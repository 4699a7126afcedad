/* Nearest points of batches that are large enough for lists: equal, bit for bit, to a search for
 * each of them, which has been compared with a complete one elsewhere. And the margin of the lists.
 */
#include "bvh/meshes.h"

#include "nearest/lists.h"

#include <math.h>

enum { COUNT = 1024, MOST = 14000 }; /* the fewest for lists, if there are few triangles */

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
    static abut_nearest got[MOST];
    abut_points points = abut_points_doubles(p, count);
    memset(got, 0xff, sizeof got);
    assert_ok(abut_nearest_batch(bvh, &points, radius, abut_array_host(got)));
    for (size_t i = 0; i < count; i++) {
        abut_nearest one;
        memset(&one, 0xff, sizeof one);
        assert_ok(abut_nearest_point(bvh, p[i], radius, &one));
        if (memcmp(&one, &got[i], sizeof one) != 0)
            fail_msg("point %zu (%.17g, %.17g, %.17g): triangle %u at %.17g (feature %d) instead "
                     "of %u at %.17g (feature %d)",
                     i, p[i].x, p[i].y, p[i].z, got[i].triangle, got[i].distance,
                     (int)got[i].feature, one.triangle, one.distance, (int)one.feature);
    }
}

static void check_mesh(abut_mesh *mesh, uint64_t seed) {
    static abut_vec3 p[MOST];
    test_random random = {seed};
    abut_bvh *bvh = hierarchy(mesh);
    double size = largest_extent(mesh);
    uint32_t triangles = abut_mesh_triangle_count(mesh), count = COUNT;
    count = 2 * triangles > count ? 2 * triangles : count;
    assert_true(count <= MOST);
    for (uint32_t i = 0; i < count; i++) /* two kinds at a time for a while, then all */
        do
            p[i] = some_point(mesh, &random, (int)(i < count / 2 ? 16 * i / count + i % 2 : i) % 8);
        while (!(fmax(fabs(p[i].x), fmax(fabs(p[i].y), fabs(p[i].z))) <= ABUT_COORDINATE_MAX));
    check_batch(bvh, p, count, HUGE_VAL);
    if (triangles < COUNT) {
        check_batch(bvh, p, count, 0.05 * size);
        check_batch(bvh, p, count, 0);
    }
    abut_bvh_destroy(bvh);
}

TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 6), 1 + (uint64_t)kind);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 12), 50);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 51);
}

TEST(soups) {
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        check_mesh(make_kind(NULL, (soup_kind)kind, 1, 3), 100 + (uint64_t)kind);
        check_mesh(make_kind(NULL, (soup_kind)kind, 400, 4), 200 + (uint64_t)kind);
    }
}

/* Triangles twice, turned over, and on an edge that many share; vertices that coincide. */
TEST(shared_parts) {
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
    abut_mesh *mesh = test_mesh(NULL, positions, FINS + 2, indices, BOTH);
    check_mesh(mesh, 8);
}

TEST(sizes_and_places) {
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
    abut_points points = abut_points_doubles(data, COUNT);
    status = status ? status : abut_nearest_batch(bvh, &points, HUGE_VAL, abut_array_host(got));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    static abut_vec3 p[COUNT];
    test_random random = {3};
    for (int i = 0; i < COUNT; i++)
        p[i] = random_vec(&random, 2);
    assert_true(test_every_allocation(batch_work, p) > 5);
}

TEST_THREADS(threads_agree) {
    enum { MANY = 70000 }; /* sorted in two parts */
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
        abut_points points = abut_points_doubles(p, MANY);
        memset(got, 0, MANY * sizeof *got);
        assert_ok(abut_nearest_batch(bvh, &points, HUGE_VAL,
                                     abut_array_host(threads == 1 ? first : got)));
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

static bool stop_nearest(void *user, const char *stage, double fraction) {
    uint32_t *left = user;
    assert_true(fraction >= 0 && fraction <= 1);
    return strcmp(stage, "nearest") != 0 || (*left)-- > 1; /* true = go on */
}

TEST(cancelling) {
    enum { MANY = 140000 }; /* three reports */
    uint32_t left = 2;
    abut_context *context = test_watched(stop_nearest, &left);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_vec3 *p = calloc(MANY, sizeof *p);
    abut_nearest *got = calloc(MANY, sizeof *got);
    assert_true(p && got);
    abut_points points = abut_points_doubles(p, MANY);
    assert_int_equal(ABUT_ERROR_CANCELLED,
                     abut_nearest_batch(bvh, &points, HUGE_VAL, abut_array_host(got)));
    assert_int_equal(left, 0);
    left = 100;
    assert_ok(abut_nearest_batch(bvh, &points, HUGE_VAL, abut_array_host(got)));
    assert_int_equal(left, 97);
    free(p);
    free(got);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* ---- kernels ---- */

/* All kernels that run here, and then null. */
static const lists_kernel *kernel_of(int i) {
    const int lanes = 4 << i;
    if (lanes > abuti_simd_lanes())
        return NULL;
    abuti_simd_at_most(lanes);
    const lists_kernel *kernel = abuti_lists_kernel();
    abuti_simd_at_most(16);
    return kernel;
}

/* A list of all triangles of a mesh, and room to work. */
typedef struct whole {
    abut_mesh *mesh;
    abut_bvh *bvh;
    lists_table table;
    lists_list list;
    uint32_t count, room, *numbers;
    float *scratch;
} whole;

static whole whole_create(const lists_kernel *kernel, abut_mesh *mesh) {
    whole w;
    w.mesh = mesh;
    assert_ok(abut_bvh_create(mesh, NULL, &w.bvh));
    assert_ok(abuti_lists_create(w.bvh, &w.table));
    w.count = abut_mesh_triangle_count(mesh);
    uint32_t groups = lists_group_count(w.count);
    w.room = groups * LISTS_GROUP;
    w.numbers = malloc((w.room + LISTS_GROUP) * sizeof *w.numbers);
    w.scratch = malloc(4 * w.room * sizeof *w.scratch);
    w.list.groups = malloc(groups * sizeof *w.list.groups);
    w.list.places = malloc(w.room * sizeof *w.list.places);
    assert_true(w.numbers && w.scratch && w.list.groups && w.list.places);
    for (uint32_t i = 0; i < w.count; i++)
        w.numbers[i] = i;
    kernel->gather(&w.table, w.numbers, w.count, &w.list);
    return w;
}

static void whole_destroy(whole *w) {
    free(w->numbers);
    free(w->scratch);
    free(w->list.groups);
    free(w->list.places);
    abuti_lists_destroy(&w->table);
    abut_bvh_destroy(w->bvh);
    abut_mesh_destroy(w->mesh);
}

static vec3 in_frame(const whole *w, abut_vec3 p, float at_point[3]) {
    vec3 q = v3_scale(v3_sub(p, w->mesh->origin), w->bvh->scale);
    at_point[0] = (float)q.x;
    at_point[1] = (float)q.y;
    at_point[2] = (float)q.z;
    return q;
}

/* The largest error of a kernel, as a part of the margin. */
static double worst_error(const lists_kernel *kernel, abut_mesh *mesh, uint64_t seed) {
    test_random random = {seed};
    whole w = whole_create(kernel, mesh);
    double worst = 0;
    for (int round = 0; round < 24; round++) {
        abut_vec3 p =
            round % 8 == 6 ? point_around(mesh, &random, 40) : some_point(mesh, &random, round % 8);
        float at_point[3], margin = lists_margin((float)v3_max_abs(in_frame(&w, p, at_point)));
        kernel->measure(&w.list, at_point, margin, w.scratch, w.numbers);
        for (uint32_t i = 0; i < w.count; i++) {
            abut_triangle t = triangle_of(mesh, w.bvh->order[i]);
            abut_closest_on_triangle closest;
            assert_ok(abut_triangle_closest_point(&t, p, &closest));
            double error = fabs(sqrt(w.scratch[i]) - closest.distance * w.bvh->scale);
            worst = fmax(worst, error / margin);
            /* a clear vertex is the closest point, and that is all there is to it */
            float corner = w.scratch[w.room + i];
            if (corner == 3)
                continue;
            uint32_t vertex = w.table.names[i].vertex[(int)corner], k = 0;
            const uint32_t *index = abut_mesh_indices(mesh) + 3 * w.bvh->order[i];
            while (index[k] != vertex)
                k++;
            assert_true(closest.barycentric[k] == 1);
        }
    }
    whole_destroy(&w);
    return worst;
}

TEST(errors_are_inside) {
    for (int k = 0; kernel_of(k); k++) {
        double worst = 0;
        for (int kind = 0; kind < SOUP_COUNT; kind++)
            for (uint32_t count = 1; count < 500; count = 7 * count + 3) {
                abut_mesh *moved =
                    make_moved(make_kind(NULL, (soup_kind)kind, count, 9), 1e-3, vec(7, -5, 1000));
                worst = fmax(worst, worst_error(kernel_of(k), moved, 6));
                worst = fmax(worst, worst_error(kernel_of(k),
                                                make_kind(NULL, (soup_kind)kind, count, 3), 5));
            }
        worst = fmax(worst, worst_error(kernel_of(k), make_shape(NULL, ABUT_SHAPE_TORUS, 16), 7));
        if (!(worst <= 0.25 && worst > 0.005)) /* below that nothing was measured */
            fail_msg("the largest error is %g of the margin", worst);
    }
}

/* What a filter drops is nearest to no point of the block. */
static void check_filter(const lists_kernel *kernel, abut_mesh *mesh, uint64_t seed) {
    test_random random = {seed};
    whole w = whole_create(kernel, mesh);
    double size = largest_extent(mesh);
    for (int round = 0; round < 24; round++) {
        abut_vec3 c = some_point(mesh, &random, round % 6);
        double half = size * pow(10, -test_random_real(&random, 0.5, 6)) * (round % 7 ? 1 : 0);
        abut_vec3 p[8];
        lists_block block;
        float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
        float at_point[3];
        block.margin = 0;
        for (int i = 0; i < 8; i++) {
            abut_vec3 d = random_vec(&random, half);
            p[i] = vec(c.x + d.x, c.y + d.y, c.z + d.z);
            vec3 q = in_frame(&w, p[i], at_point);
            float margin = lists_margin((float)v3_max_abs(q));
            block.margin = fmaxf(margin, block.margin);
            for (int k = 0; k < 3; k++) {
                lo[k] = fminf(at_point[k], lo[k]);
                hi[k] = fmaxf(at_point[k], hi[k]);
            }
        }
        for (int k = 0; k < 3; k++) {
            block.centre[k] = 0.5f * (lo[k] + hi[k]);
            block.half[k] = fmaxf(block.centre[k] - lo[k], hi[k] - block.centre[k]);
        }
        float nearest_sq;
        uint32_t kept = kernel->filter(&w.list, &block, w.scratch, w.numbers, &nearest_sq);
        assert_in_range(kept, 1, w.count);
        for (int i = 0; i < 8; i++) {
            abut_nearest nearest;
            assert_ok(abut_nearest_point(w.bvh, p[i], HUGE_VAL, &nearest));
            uint32_t k = 0;
            while (k < kept && w.bvh->order[w.list.places[w.numbers[k]]] != nearest.triangle)
                k++;
            assert_true(k < kept);
        }
    }
    whole_destroy(&w);
}

TEST(filters_keep_the_nearest) {
    for (int k = 0; kernel_of(k); k++) {
        for (int kind = 0; kind < SOUP_COUNT; kind++)
            check_filter(kernel_of(k), make_kind(NULL, (soup_kind)kind, 300, 9), 6);
        check_filter(kernel_of(k), make_shape(NULL, ABUT_SHAPE_TORUS, 16), 7);
        check_filter(kernel_of(k), make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 8), 8);
    }
}

/* Many at a time give the bits of one at a time. */
static void check_pairs(const lists_kernel *kernel, abut_mesh *mesh, uint64_t seed) {
    enum { PAIR_COUNT = 301 };
    static lists_pair pairs[PAIR_COUNT];
    static vec3 points[PAIR_COUNT];
    test_random random = {seed};
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        do
            points[i] = some_point(mesh, &random, (int)(i % 8));
        while (!(v3_max_abs(points[i]) <= ABUT_COORDINATE_MAX));
        pairs[i].point = i;
        pairs[i].triangle = test_random_below(&random, abut_mesh_triangle_count(mesh));
        if (i % 5 == 4) /* on one of its own corners */
            points[i] = triangle_of(mesh, pairs[i].triangle).corner[i % 3];
    }
    kernel->exact(mesh, points, pairs, PAIR_COUNT);
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        abut_triangle t = triangle_of(mesh, pairs[i].triangle);
        abut_closest_on_triangle closest;
        assert_ok(abut_triangle_closest_point(&t, points[i], &closest));
        assert_memory_equal(&closest.distance, &pairs[i].distance, sizeof closest.distance);
        assert_memory_equal(&closest.point, &pairs[i].closest, sizeof closest.point);
        assert_memory_equal(closest.barycentric, pairs[i].weight, sizeof closest.barycentric);
    }
    abut_mesh_destroy(mesh);
}

TEST(pairs_are_exact) {
    static const double scales[] = {1, 1e-30, 1e30, 1e-80, 1e80, 1e-25, 3e29};
    for (int k = 0; kernel_of(k); k++)
        for (int kind = 0; kind < SOUP_COUNT; kind++)
            for (int i = 0; i < 7; i++)
                check_pairs(kernel_of(k),
                            make_moved(make_kind(NULL, (soup_kind)kind, 60, (uint64_t)i), scales[i],
                                       vec(0, i ? 0 : 3, 0)),
                            (uint64_t)(3 + i));
}
