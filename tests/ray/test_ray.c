/* Rays and boxes: equal, bit for bit, to a search through all triangles. */
#include "bvh/meshes.h"

#include "base/simd.h"

/* ---- the obvious way ---- */

static uint32_t rays_slowly(const abut_mesh *mesh, const abut_ray *ray, abut_ray_hit *hits) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        bool meet;
        abut_ray_triangle_hit hit;
        assert_ok(abut_ray_triangle_intersect(ray, &t, &meet, &hit));
        if (!meet)
            continue;
        memset(&hits[count], 0, sizeof hits[count]);
        hits[count].parameter = hit.parameter;
        memcpy(hits[count].barycentric, hit.barycentric, sizeof hit.barycentric);
        hits[count++].triangle = i;
    }
    for (uint32_t i = 1; i < count; i++) { /* stable, so that equals stay by index */
        abut_ray_hit kept = hits[i];
        uint32_t j = i;
        for (; j > 0 && hits[j - 1].parameter > kept.parameter; j--)
            hits[j] = hits[j - 1];
        hits[j] = kept;
    }
    return count;
}

static void assert_hit(const abut_ray_hit *got, const abut_ray_hit *expected) {
    if (got->parameter != expected->parameter || got->triangle != expected->triangle ||
        memcmp(got->barycentric, expected->barycentric, sizeof got->barycentric) != 0)
        fail_msg("triangle %u at %.17g instead of %u at %.17g", got->triangle, got->parameter,
                 expected->triangle, expected->parameter);
}

static uint64_t total_hits;

/* What single rays have found, for batches of the same. */
enum { KEPT = 1024 };
static abut_ray kept_rays[KEPT];
static abut_ray_hit kept_hits[KEPT];
static uint32_t kept_count, kept_most;

static void check_ray(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 from, abut_vec3 to,
                      abut_ray_hit *expected, abut_ray_hit *got) {
    abut_ray ray = {from, to};
    if ((to.x == 0 && to.y == 0 && to.z == 0) || !is_legal(from) || !is_legal(to))
        return;
    uint32_t wanted = rays_slowly(mesh, &ray, expected);
    uint64_t count = UINT64_MAX;
    total_hits += wanted;
    abut_ray_hit_list ray_hits = {got, wanted, 0};
    assert_ok(abut_ray_all(bvh, &ray, &ray_hits));
    count = ray_hits.count;
    assert_int_equal(count, wanted);
    for (uint32_t i = 0; i < wanted; i++)
        assert_hit(&got[i], &expected[i]);
    abut_ray_hit first, none;
    memset(&none, 0, sizeof none);
    none.parameter = INFINITY;
    none.triangle = ABUT_NONE;
    bool any;
    assert_ok(abut_ray_first(bvh, &ray, HUGE_VAL, &first));
    assert_hit(&first, wanted ? &expected[0] : &none);
    if (kept_count < kept_most) {
        kept_rays[kept_count] = ray;
        kept_hits[kept_count++] = first;
    }
    assert_ok(abut_ray_any(bvh, &ray, HUGE_VAL, &any));
    assert_int_equal(any, wanted > 0);
    if (!wanted)
        return;
    double most = expected[0].parameter;
    assert_ok(abut_ray_first(bvh, &ray, most, &first));
    assert_hit(&first, &expected[0]);
    assert_ok(abut_ray_any(bvh, &ray, most, &any));
    assert_true(any);
    if (most > 0) {
        assert_ok(abut_ray_any(bvh, &ray, nextafter(most, 0), &any));
        assert_false(any);
        assert_ok(abut_ray_first(bvh, &ray, nextafter(most, 0), &first));
        assert_hit(&first, &none);
    }
    memset(got, 0x5a, sizeof *got);
    abut_ray_hit before = *got;
    ray_hits = (abut_ray_hit_list){got, wanted - 1, 0};
    assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ", abut_ray_all(bvh, &ray, &ray_hits));
    count = ray_hits.count;
    assert_int_equal(count, wanted);
    assert_memory_equal(got, &before, sizeof before);
}

static uint32_t box_slowly(const abut_mesh *mesh, const abut_box *box, uint32_t *triangles) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        bool meet;
        assert_ok(abut_box_triangle_intersect(box, &t, &meet));
        if (meet)
            triangles[count++] = i;
    }
    return count;
}

static void check_box(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 a, abut_vec3 b,
                      uint32_t *expected, uint32_t *got) {
    abut_box box = {vec(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z)),
                    vec(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z))};
    if (!is_legal(box.lo) || !is_legal(box.hi))
        return;
    uint32_t wanted = box_slowly(mesh, &box, expected);
    uint64_t count = UINT64_MAX;
    total_hits += wanted;
    abut_index_list inside = {got, wanted, 0};
    assert_ok(abut_bvh_find_in_box(bvh, &box, &inside));
    count = inside.count;
    assert_int_equal(count, wanted);
    assert_memory_equal(got, expected, wanted * sizeof *got);
    if (wanted) {
        got[0] = 77;
        inside = (abut_index_list){got, wanted - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_bvh_find_in_box(bvh, &box, &inside));
        count = inside.count;
        assert_true(count == wanted && got[0] == 77);
    }
}

/* Lists of many rays are those of each. */
static void check_lists(const abut_bvh *bvh, const abut_ray *rays, size_t count) {
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets), total = 0;
    const uint64_t room = abut_mesh_triangle_count(abut_bvh_mesh(bvh));
    abut_ray_hit *hits;
    abut_ray_hit_list one = {malloc((size_t)room * sizeof *hits), room, 0};
    abut_status status = abut_ray_all_batch(bvh, abut_array_host(rays), count, 0,
                                            abut_array_host(NULL), abut_array_host(NULL), &total);
    hits = malloc(total * sizeof *hits + 1);
    assert_true(offsets && one.list && hits && status == (total ? ABUT_ERROR_BUFFER : ABUT_OK));
    assert_ok(abut_ray_all_batch(bvh, abut_array_host(rays), count, total, abut_array_host(offsets),
                                 abut_array_host(hits), &total));
    for (size_t i = 0; i < count; i++) {
        if (i <= kept_count) /* then all are the same */
            assert_ok(abut_ray_all(bvh, &rays[i], &one));
        assert_int_equal(offsets[i] + one.count, offsets[i + 1]);
        for (uint64_t k = 0; k < one.count; k++)
            assert_hit(&hits[offsets[i] + k], &one.list[k]);
    }
    assert_int_equal(total, offsets[count]);
    free(offsets);
    free(one.list);
    free(hits);
}

/* All rays that were kept as one batch, with and without a limit, by another number of lanes for
 * each mesh. The first comes many times, so that there are enough for a tree of their own. */
static void check_batches(const abut_bvh *bvh, const abut_mesh *mesh) {
    const uint32_t triangles = abut_mesh_triangle_count(mesh);
    const size_t count = kept_count + (triangles / 4 > 64 ? triangles / 4 : 64);
    abut_ray *rays = malloc(count * sizeof *rays);
    abut_ray_hit *hits = malloc(count * sizeof *hits);
    bool *any = malloc(count * sizeof *any);
    assert_true(rays && hits && any && kept_count);
    for (size_t i = 0; i < count; i++)
        rays[i] = kept_rays[i < kept_count ? i : 0];
    static uint32_t turn;
    abuti_simd_limit_lanes(4 << turn++ % 3);
    for (int limited = 0; limited < 2; limited++) {
        double limit = limited ? kept_hits[kept_count / 2].parameter : HUGE_VAL;
        memset(hits, 0x5a, count * sizeof *hits);
        memset(any, 0x5a, count * sizeof *any);
        assert_ok(
            abut_ray_first_batch(bvh, abut_array_host(rays), count, limit, abut_array_host(hits)));
        assert_ok(
            abut_ray_any_batch(bvh, abut_array_host(rays), count, limit, abut_array_host(any)));
        for (size_t i = 0; i < count; i++) {
            abut_ray_hit wanted = kept_hits[i < kept_count ? i : 0];
            if (!(wanted.parameter <= limit)) {
                memset(&wanted, 0, sizeof wanted);
                wanted.parameter = INFINITY;
                wanted.triangle = ABUT_NONE;
            }
            assert_hit(&hits[i], &wanted);
            assert_int_equal(any[i], wanted.triangle != ABUT_NONE);
        }
    }
    check_lists(bvh, rays, count);
    abuti_simd_limit_lanes(16);
    free(rays);
    free(hits);
    free(any);
}

static abut_vec3 between(abut_vec3 from, abut_vec3 to) {
    return vec(to.x - from.x, to.y - from.y, to.z - from.z);
}

static void check_mesh(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    uint32_t triangles = abut_mesh_triangle_count(mesh);
    abut_ray_hit *expected = malloc((triangles + 1) * sizeof *expected);
    abut_ray_hit *got = malloc((triangles + 1) * sizeof *got);
    assert_true(expected && got);
    abut_bvh *bvh = hierarchy(mesh);
    double size = largest_extent(mesh);
    abut_box bounds = abut_mesh_bounds(mesh);
    kept_count = 0;
    kept_most = KEPT;
    for (int i = 0; i < rounds; i++) {
        abut_vec3 p = point_around(mesh, &random, 2), q = point_around(mesh, &random, 1);
        abut_triangle t = triangle_of(mesh, test_random_below(&random, triangles));
        const abut_vec3 *c = t.corner;
        check_ray(bvh, mesh, p, between(p, q), expected, got);
        check_ray(bvh, mesh, p, between(p, c[0]), expected, got);       /* at a corner */
        check_ray(bvh, mesh, c[0], between(c[0], c[1]), expected, got); /* along an edge */
        check_ray(bvh, mesh, c[0], between(p, q), expected, got);       /* from a corner */
        /* along axes, exactly through corners */
        double away = i % 2 ? 2 * size : -2 * size;
        check_ray(bvh, mesh, vec(c[0].x + away, c[0].y, c[0].z), vec(-away, 0, 0), expected, got);
        check_ray(bvh, mesh, vec(c[1].x, c[1].y + away, c[1].z), vec(0, -1e-30 * away, 0), expected,
                  got);
        check_ray(bvh, mesh, vec(c[2].x, c[2].y, c[2].z + away), vec(0, -0.0, -1e30 * away),
                  expected, got);
        if (i % 4 == 0) {
            /* nearly along an axis, and from far away: hard for the predicates, so fewer */
            kept_most = i ? kept_count : KEPT;
            double small = ldexp(1, -(int)test_random_below(&random, 300));
            check_ray(bvh, mesh, vec(c[0].x + away, c[0].y, c[0].z), vec(-away, size * small, 0),
                      expected, got);
            check_ray(bvh, mesh, vec(q.x, p.y + away, q.z), vec(small * size, -away, small * size),
                      expected, got);
            abut_vec3 far = point_around(mesh, &random, 1e9);
            check_ray(bvh, mesh, far, between(far, c[0]), expected, got);
            far = random_vec(&random, 1e60);
            check_ray(bvh, mesh, far, between(far, q), expected, got);
            kept_most = KEPT;
        }
        check_box(bvh, mesh, p, q, (uint32_t *)expected, (uint32_t *)got);
        check_box(bvh, mesh, q, q, (uint32_t *)expected, (uint32_t *)got);
        check_box(bvh, mesh, c[0], c[0], (uint32_t *)expected, (uint32_t *)got);
        check_box(bvh, mesh, c[0], point_near(mesh, &random, 0.1 * size), (uint32_t *)expected,
                  (uint32_t *)got);
        check_box(bvh, mesh, bounds.lo, vec(bounds.lo.x, bounds.hi.y, bounds.hi.z),
                  (uint32_t *)expected, (uint32_t *)got); /* touches from outside */
        check_box(bvh, mesh, vec(-1e80, -1e80, -1e80), vec(1e80, 1e80, 1e80), (uint32_t *)expected,
                  (uint32_t *)got);
    }
    check_batches(bvh, mesh);
    abut_bvh_destroy(bvh);
    free(expected);
    free(got);
}

TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 5), test_thorough() ? 10 : 4,
                   1 + (uint64_t)kind);
    assert_true(total_hits > 1000);
}

TEST(soups) {
    check_soups(check_mesh, 4);
}

TEST(sizes_and_places) {
    check_sizes(check_mesh, 2);
}

/* Rays from inside a closed solid always hit, also through edges and vertices. */
TEST(watertight) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 16);
    abut_bvh *bvh = hierarchy(mesh);
    uint32_t vertices = abut_mesh_vertex_count(mesh);
    for (uint32_t i = 0; i < 4 * vertices; i++) {
        abut_vec3 a = abut_mesh_local_positions(mesh)[i % vertices];
        abut_vec3 b = abut_mesh_local_positions(mesh)[(i * 7 + i / vertices) % vertices];
        abut_ray ray = {{0, 0, 0}, i < vertices ? a : vec(a.x + b.x, a.y + b.y, a.z + b.z)};
        if (ray.direction.x == 0 && ray.direction.y == 0 && ray.direction.z == 0)
            continue;
        bool any;
        assert_ok(abut_ray_any(bvh, &ray, HUGE_VAL, &any));
        assert_true(any);
    }
    abut_bvh_destroy(bvh);
}

TEST(batch_is_single) {
    enum { COUNT = 2000 };
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 4);
    abut_bvh *bvh = hierarchy(mesh);
    abut_ray *rays = malloc(COUNT * sizeof *rays);
    abut_ray_hit *hits = malloc(COUNT * sizeof *hits), one;
    test_random random = {8};
    for (int i = 0; i < COUNT; i++) {
        rays[i].origin = point_around(mesh, &random, 2);
        rays[i].direction = random_vec(&random, 1);
    }
    assert_ok(abut_ray_first_batch(bvh, abut_array_host(rays), COUNT, 3, abut_array_host(hits)));
    for (int i = 0; i < COUNT; i++) {
        assert_ok(abut_ray_first(bvh, &rays[i], 3, &one));
        assert_hit(&hits[i], &one);
    }
    assert_ok(abut_ray_first_batch(bvh, abut_array_host(NULL), 0, 3, abut_array_host(NULL)));
    assert_refused("hits is null",
                   abut_ray_first_batch(bvh, abut_array_host(rays), 1, 3, abut_array_host(NULL)));
    assert_refused("rays is null",
                   abut_ray_first_batch(bvh, abut_array_host(NULL), 1, 3, abut_array_host(hits)));
    assert_refused("limit is nan",
                   abut_ray_first_batch(bvh, abut_array_host(rays), 1, NAN, abut_array_host(hits)));
    rays[7].direction = vec(0, 0, 0);
    assert_refused("ray 7: direction is zero",
                   abut_ray_first_batch(bvh, abut_array_host(rays), COUNT, 3,
                                        abut_array_host(hits)));
    rays[7].origin.y = NAN;
    assert_refused("ray 7: origin is (", abut_ray_first_batch(bvh, abut_array_host(rays), COUNT, 3,
                                                              abut_array_host(hits)));
    assert_hit(&hits[COUNT - 1], &one);
    free(rays);
    free(hits);
    abut_bvh_destroy(bvh);
}

/* The tree of batches: without memory for it answers are the same, all hits are refused or the
 * same, and after a refit they are those of the new surface; small batches add up. */
TEST(trees_of_batches) {
    enum { COUNT = 300, ROOM = 4 * COUNT };
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_ICOSPHERE, 6), *moved;
    abut_ray *rays = malloc(COUNT * sizeof *rays);
    abut_ray_hit *hits = malloc(COUNT * sizeof *hits), *all = malloc(ROOM * sizeof *all), one;
    uint64_t *offsets = malloc((COUNT + 1) * sizeof *offsets), total;
    test_random random = {11};
    assert_true(rays && hits && all && offsets);
    for (int i = 0; i < COUNT; i++)
        rays[i] = (abut_ray){point_around(mesh, &random, 2), random_vec(&random, 1)};
    for (uint64_t fail_at = 1; fail_at < 16; fail_at++) {
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        const uint64_t live = memory.live_count;
        memory.calls = 0;
        memory.fail_at = fail_at;
        assert_ok(abut_ray_first_batch(bvh, abut_array_host(rays), COUNT, HUGE_VAL,
                                       abut_array_host(hits)));
        memory.calls = 0;
        abut_status status =
            abut_ray_all_batch(bvh, abut_array_host(rays), COUNT, ROOM, abut_array_host(offsets),
                               abut_array_host(all), &total);
        memory.fail_at = 0;
        assert_true(status == ABUT_OK || status == ABUT_ERROR_MEMORY);
        assert_true(memory.live_count <= live + 4); /* the tree, or nothing */
        for (int i = 0; i < COUNT; i++) {
            assert_ok(abut_ray_first(bvh, &rays[i], HUGE_VAL, &one));
            assert_hit(&hits[i], &one);
            if (!status && one.triangle != ABUT_NONE)
                assert_hit(&all[offsets[i]], &one);
        }
        abut_bvh_destroy(bvh);
    }
    abut_bvh *bvh, *fresh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const uint64_t before = memory.live_count;
    for (int i = 0; i < COUNT; i += 20) /* fewer than a tree is made for, each */
        assert_ok(abut_ray_first_batch(bvh, abut_array_host(rays + i), 20, HUGE_VAL,
                                       abut_array_host(hits + i)));
    assert_true(memory.live_count > before);
    moved = make_moved(mesh, 1, vec(0.3, 0.1, -0.2));
    assert_ok(abut_bvh_set_mesh(bvh, moved));
    assert_ok(abut_bvh_create(moved, NULL, &fresh));
    for (int round = 0; round < 2; round++) {
        assert_ok(abut_ray_first_batch(bvh, abut_array_host(rays), round ? COUNT : 20, HUGE_VAL,
                                       abut_array_host(hits)));
        for (int i = 0; i < (round ? COUNT : 20); i++) {
            assert_ok(abut_ray_first(fresh, &rays[i], HUGE_VAL, &one));
            assert_hit(&hits[i], &one);
        }
    }
    abut_bvh_destroy(bvh);
    abut_bvh_destroy(fresh);
    abut_mesh_destroy(moved);
    abut_context_destroy(context);
    free(rays);
    free(hits);
    free(all);
    free(offsets);
}

static abut_box box_of(const abut_ray *ray) {
    abut_vec3 a = ray->origin, d = ray->direction;
    abut_box box = {a, vec(a.x + fabs(d.x), a.y + fabs(d.y), a.z + fabs(d.z))};
    return box;
}

/* Lists of many rays and boxes side by side, on one thread and on four, with too little room and
 * with enough. */
TEST_THREADS(lists_are_single) {
    enum { COUNT = 700, ROOM = 2000 };
    abut_ray *rays = malloc(COUNT * sizeof *rays);
    abut_box *boxes = malloc(COUNT * sizeof *boxes);
    abut_ray_hit *one = malloc(ROOM * sizeof *one);
    uint32_t *few = malloc(ROOM * sizeof *few);
    uint64_t *offsets = malloc((COUNT + 1) * sizeof *offsets);
    assert_true(rays && boxes && one && few && offsets);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        test_random random = {9};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TEAPOT, 3);
        abut_bvh *bvh;
        uint64_t count, total;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        memset(offsets, 0x5a, (COUNT + 1) * sizeof *offsets);
        for (int i = 0; i < COUNT; i++) {
            rays[i].origin = point_around(mesh, &random, 1);
            rays[i].direction = random_vec(&random, 1);
            boxes[i] = box_of(&rays[i]);
        }
        assert_fails(ABUT_ERROR_BUFFER, "the capacity is 0",
                     abut_ray_all_batch(bvh, abut_array_host(rays), COUNT, 0,
                                        abut_array_host(offsets), abut_array_host(NULL), &total));
        abut_ray_hit *hits = malloc(total * sizeof *hits);
        assert_true(total > COUNT / 2 && hits);
        memset(hits, 0x5a, total * sizeof *hits);
        abut_ray_hit before = hits[0];
        assert_fails(ABUT_ERROR_BUFFER, "hits",
                     abut_ray_all_batch(bvh, abut_array_host(rays), COUNT, total - 1,
                                        abut_array_host(offsets), abut_array_host(hits), &total));
        assert_memory_equal(hits, &before, sizeof before);
        for (int i = 0; i <= COUNT; i++)
            assert_int_equal(0x5a5a5a5a5a5a5a5a, offsets[i]);
        assert_ok(abut_ray_all_batch(bvh, abut_array_host(rays), COUNT, total,
                                     abut_array_host(offsets), abut_array_host(hits), &total));
        for (int i = 0; i < COUNT; i++) {
            abut_ray_hit_list ray_hits = {one, ROOM, 0};
            assert_ok(abut_ray_all(bvh, &rays[i], &ray_hits));
            count = ray_hits.count;
            assert_int_equal(offsets[i] + count, offsets[i + 1]);
            for (uint64_t k = 0; k < count; k++)
                assert_hit(&hits[offsets[i] + k], &one[k]);
        }
        free(hits);
        assert_int_equal(total, offsets[COUNT]);
        memset(offsets, 0x5a, (COUNT + 1) * sizeof *offsets);
        assert_fails(ABUT_ERROR_BUFFER, "the capacity is 0",
                     abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), COUNT, 0,
                                                abut_array_host(offsets), abut_array_host(NULL),
                                                &total));
        uint32_t *triangles = malloc(total * sizeof *triangles);
        assert_true(total > COUNT / 2 && triangles);
        triangles[0] = 77;
        assert_fails(ABUT_ERROR_BUFFER, "triangles",
                     abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), COUNT, total - 1,
                                                abut_array_host(offsets),
                                                abut_array_host(triangles), &total));
        assert_int_equal(triangles[0], 77);
        for (int i = 0; i <= COUNT; i++)
            assert_int_equal(0x5a5a5a5a5a5a5a5a, offsets[i]);
        assert_ok(abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), COUNT, total,
                                             abut_array_host(offsets), abut_array_host(triangles),
                                             &total));
        for (int i = 0; i < COUNT; i++) {
            abut_index_list inside = {few, ROOM, 0};
            assert_ok(abut_bvh_find_in_box(bvh, &boxes[i], &inside));
            count = inside.count;
            assert_int_equal(offsets[i] + count, offsets[i + 1]);
            assert_memory_equal(triangles + offsets[i], few, count * sizeof *few);
        }
        assert_int_equal(total, offsets[COUNT]);
        free(triangles);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    free(rays);
    free(boxes);
    free(one);
    free(few);
    free(offsets);
}

TEST(list_refusals) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    abut_ray rays[2] = {{{0, 0, 0}, {1, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    abut_box boxes[3] = {{{0, 0, 0}, {1, 1, 1}}, {{0, 2, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, NAN, 1}}};
    abut_ray_hit hits[2];
    uint32_t triangles[2];
    uint64_t offsets[3] = {77, 77, 77}, total = 77;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_refused("total is null",
                   abut_ray_all_batch(bvh, abut_array_host(rays), 1, 2, abut_array_host(offsets),
                                      abut_array_host(hits), NULL));
    assert_refused("bvh is null",
                   abut_ray_all_batch(NULL, abut_array_host(rays), 1, 2, abut_array_host(offsets),
                                      abut_array_host(hits), &total));
    assert_refused("rays is null",
                   abut_ray_all_batch(bvh, abut_array_host(NULL), 1, 2, abut_array_host(offsets),
                                      abut_array_host(hits), &total));
    assert_refused("offsets is null",
                   abut_ray_all_batch(bvh, abut_array_host(rays), 1, 2, abut_array_host(NULL),
                                      abut_array_host(hits), &total));
    assert_refused("hits is null, but capacity is 2",
                   abut_ray_all_batch(bvh, abut_array_host(rays), 1, 2, abut_array_host(offsets),
                                      abut_array_host(NULL), &total));
    assert_refused("ray 1: direction is zero",
                   abut_ray_all_batch(bvh, abut_array_host(rays), 2, 2, abut_array_host(offsets),
                                      abut_array_host(hits), &total));
    assert_refused("bvh is null", abut_bvh_find_in_box_batch(NULL, abut_array_host(boxes), 1, 2,
                                                             abut_array_host(offsets),
                                                             abut_array_host(triangles), &total));
    assert_refused("boxes is null", abut_bvh_find_in_box_batch(bvh, abut_array_host(NULL), 1, 2,
                                                               abut_array_host(offsets),
                                                               abut_array_host(triangles), &total));
    assert_refused("offsets is null",
                   abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), 1, 2,
                                              abut_array_host(NULL), abut_array_host(triangles),
                                              &total));
    assert_refused("triangles is null", abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), 1,
                                                                   2, abut_array_host(offsets),
                                                                   abut_array_host(NULL), &total));
    assert_refused("boxes[1] has lo",
                   abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), 3, 2,
                                              abut_array_host(offsets), abut_array_host(triangles),
                                              &total));
    boxes[1] = boxes[0];
    assert_refused("boxes[2].hi is (",
                   abut_bvh_find_in_box_batch(bvh, abut_array_host(boxes), 3, 2,
                                              abut_array_host(offsets), abut_array_host(triangles),
                                              &total));
    assert_true(offsets[0] == 77 && total == 77);
    assert_ok(abut_ray_all_batch(bvh, abut_array_host(NULL), 0, 0, abut_array_host(offsets),
                                 abut_array_host(NULL), &total));
    assert_true(offsets[0] == 0 && total == 0);
    total = 77;
    assert_ok(abut_bvh_find_in_box_batch(bvh, abut_array_host(NULL), 0, 0, abut_array_host(offsets),
                                         abut_array_host(NULL), &total));
    assert_int_equal(total, 0);
    total = 77; /* nothing found, nothing to write */
    rays[0].origin.x = 5;
    assert_ok(abut_ray_all_batch(bvh, abut_array_host(rays), 1, 0, abut_array_host(NULL),
                                 abut_array_host(NULL), &total));
    assert_int_equal(total, 0);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* Takes the mesh. */
static double thickness_of(abut_mesh *mesh) {
    abut_bvh *bvh = hierarchy(mesh);
    double thickness = -1;
    assert_ok(abut_ray_thickness(bvh, &thickness));
    abut_bvh_destroy(bvh);
    return thickness;
}

/* Plates from thick to thin, at any size; a ball; a ring, whose tube counts; a plate that is a
 * fiftieth of the surface of what it is joined to; and surfaces without a wall behind. */
TEST(how_thin_solids_get) {
    for (double scale = 1e-6; scale < 1e7; scale *= 1e3)
        for (double thin = 1; thin > 1e-4; thin /= 10) {
            abut_shape plate = abut_shape_default(ABUT_SHAPE_BOX);
            abut_mesh *mesh = NULL;
            plate.extent = vec(scale, 2 * scale, thin * scale);
            assert_ok(abut_shape_create(NULL, &plate, &mesh));
            assert_true(fabs(thickness_of(mesh) / (thin * scale) - 1) < 1e-6);
        }
    double ball = thickness_of(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 16)),
           radius = abut_shape_default(ABUT_SHAPE_ICOSPHERE).radius;
    assert_true(ball > 1.95 * radius && ball <= 2 * radius);
    abut_shape ring = abut_shape_default(ABUT_SHAPE_TORUS);
    double tube = thickness_of(make_shape(NULL, ABUT_SHAPE_TORUS, 32));
    assert_true(tube > 1.9 * ring.radius2 && tube <= 2 * ring.radius2);
    abut_shape fin = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *cube = make_shape(NULL, ABUT_SHAPE_BOX, 4), *thin = NULL;
    double side = largest_extent(cube);
    fin.extent = vec(0.25 * side, 0.25 * side, 0.01 * side); /* 2 of 98 sixteenths of a side */
    assert_ok(abut_shape_create(NULL, &fin, &thin));
    abut_mesh *apart = make_moved(thin, 1, vec(2 * side, 0, 0)), *joined = make_joined(cube, apart);
    assert_true(fabs(thickness_of(joined) - 0.01 * side) < 1e-6 * side);
    assert_true(isinf(thickness_of(make_shape(NULL, ABUT_SHAPE_SHEET, 4))));
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        assert_true(thickness_of(make_kind(NULL, (soup_kind)kind, 50, 1)) > 0);
}

TEST(refusals) {
    double thickness = 77;
    assert_refused("bvh is null", abut_ray_thickness(NULL, &thickness));
    assert_true(thickness == 77);
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh = hierarchy(mesh);
    abut_ray good = {{0, 0, 0}, {1, 0, 0}}, still = {{0, 0, 0}, {0, 0, 0}},
             bad = {{NAN, 0, 0}, {1, 0, 0}};
    abut_ray_hit hit;
    uint32_t triangle;
    uint64_t count;
    bool any;
    memset(&hit, 0x5a, sizeof hit);
    abut_ray_hit before = hit;
    assert_refused("bvh is null", abut_ray_first(NULL, &good, 1, &hit));
    assert_refused("ray is null", abut_ray_first(bvh, NULL, 1, &hit));
    assert_refused("hit is null", abut_ray_first(bvh, &good, 1, NULL));
    assert_refused("thickness is null", abut_ray_thickness(bvh, NULL));
    assert_refused("direction is zero", abut_ray_first(bvh, &still, 1, &hit));
    assert_refused("origin is (", abut_ray_first(bvh, &bad, 1, &hit));
    assert_refused("limit is nan", abut_ray_first(bvh, &good, NAN, &hit));
    assert_refused("limit is -1", abut_ray_any(bvh, &good, -1, &any));
    assert_refused("any is null", abut_ray_any(bvh, &good, 1, NULL));
    assert_refused("ray is null", abut_ray_any(bvh, NULL, 1, &any));
    assert_refused("bvh is null", abut_ray_any(NULL, &good, 1, &any));
    assert_refused("the list of hits is null",
                   abut_ray_all(bvh, &good, &(abut_ray_hit_list){NULL, 1, 0}));
    assert_refused("hits is null", abut_ray_all(bvh, &good, NULL));
    assert_refused("bvh is null", abut_ray_all(NULL, &good, &(abut_ray_hit_list){&hit, 1, 0}));
    abut_ray_hit_list ray_hits = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ", abut_ray_all(bvh, &good, &ray_hits));
    count = ray_hits.count;
    assert_true(count == 1 || count == 2); /* the diagonal of the side */
    abut_box box = {{0, 0, 0}, {1, 1, 1}}, wrong = {{0, 2, 0}, {1, 1, 1}},
             odd = {{NAN, 0, 0}, {1, 1, 1}};
    assert_refused("beyond hi",
                   abut_bvh_find_in_box(bvh, &wrong, &(abut_index_list){&triangle, 1, 0}));
    assert_refused("box->lo is (",
                   abut_bvh_find_in_box(bvh, &odd, &(abut_index_list){&triangle, 1, 0}));
    assert_refused("box is null",
                   abut_bvh_find_in_box(bvh, NULL, &(abut_index_list){&triangle, 1, 0}));
    assert_refused("the list of triangles is null",
                   abut_bvh_find_in_box(bvh, &box, &(abut_index_list){NULL, 1, 0}));
    assert_refused("triangles is null", abut_bvh_find_in_box(bvh, &box, NULL));
    assert_refused("bvh is null",
                   abut_bvh_find_in_box(NULL, &box, &(abut_index_list){&triangle, 1, 0}));
    assert_memory_equal(&hit, &before, sizeof hit);
    abut_bvh_destroy(bvh);
}
