/* Extreme input to every function of BVHs: meshes that are valid but degenerate, buffers too
 * small, arrays that end early, NaN and infinity, cancellation. Results are those of a search
 * through all triangles. */
#include "apps/get.h"
#include "meshes.h"

/* ---- every query on one mesh ---- */

static void check_nearest(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 point) {
    abut_closest_on_triangle best = {.distance = INFINITY};
    uint32_t n = abut_mesh_triangle_count(mesh), triangle = ABUT_NONE;
    for (uint32_t i = 0; i < n; i++) {
        abut_triangle t = triangle_of(mesh, i);
        abut_closest_on_triangle here;
        assert_ok(abut_triangle_closest_point(&t, point, &here));
        if (here.distance < best.distance) {
            best = here;
            triangle = i;
        }
    }
    abut_nearest one, many;
    abut_array points = abut_array_host(&point);
    assert_ok(abut_nearest_point(bvh, point, HUGE_VAL, &one));
    assert_ok(abut_nearest_point_batch(bvh, points, 1, HUGE_VAL, abut_array_host(&many)));
    assert_int_equal(one.triangle, triangle);
    assert_int_equal(many.triangle, triangle);
    assert_true(one.distance == best.distance && many.distance == best.distance);
    assert_ok(abut_nearest_point(bvh, point, 0, &one)); /* a radius of nothing */
    assert_int_equal(one.triangle != ABUT_NONE, best.distance == 0);
}

static void check_ray(const abut_bvh *bvh, const abut_mesh *mesh, abut_ray ray) {
    uint32_t n = abut_mesh_triangle_count(mesh), expected = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        abut_triangle t = triangle_of(mesh, i);
        bool meet;
        assert_ok(abut_ray_triangle_intersect(&ray, &t, &meet, NULL));
        expected += meet;
    }
    abut_ray_hit first, *hits = calloc(n, sizeof *hits);
    bool any;
    assert_non_null(hits);
    assert_ok(abut_ray_first(bvh, &ray, HUGE_VAL, &first));
    assert_ok(abut_ray_any(bvh, &ray, HUGE_VAL, &any));
    assert_int_equal(any, expected > 0);
    assert_int_equal(first.triangle != ABUT_NONE, expected > 0);
    abut_ray_hit_list ray_hits = {hits, n, 0};
    assert_ok(abut_ray_all(bvh, &ray, &ray_hits));
    count = ray_hits.count;
    assert_int_equal(count, expected);
    if (expected) {
        assert_int_equal(hits[0].triangle, first.triangle);
        abut_ray_hit kept = hits[0];
        ray_hits = (abut_ray_hit_list){hits, expected - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ", abut_ray_all(bvh, &ray, &ray_hits));
        count = ray_hits.count;
        assert_int_equal(count, expected);
        assert_memory_equal(&kept, &hits[0], sizeof kept);
    }
    free(hits);
}

static void check_box(const abut_bvh *bvh, const abut_mesh *mesh, abut_box box) {
    uint32_t n = abut_mesh_triangle_count(mesh), expected = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        abut_triangle t = triangle_of(mesh, i);
        bool meet;
        assert_ok(abut_box_triangle_intersect(&box, &t, &meet));
        expected += meet;
    }
    uint32_t *list = calloc(n, sizeof *list);
    assert_non_null(list);
    abut_index_list inside = {list, n, 0};
    assert_ok(abut_bvh_find_in_box(bvh, &box, &inside));
    count = inside.count;
    assert_int_equal(count, expected);
    for (uint64_t i = 1; i < count; i++)
        assert_true(list[i - 1] < list[i]);
    if (expected) {
        inside = (abut_index_list){NULL, 0, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_bvh_find_in_box(bvh, &box, &inside));
        count = inside.count;
        assert_int_equal(count, expected);
    }
    free(list);
}

/* Inside, winding numbers and signed distances of some points, alone and as a batch. */
static void check_signs(abut_bvh *bvh, const abut_vec3 *places, size_t count) {
    abut_sign_options normals = abut_sign_options_default();
    normals.method = ABUT_SIGN_NORMAL;
    assert_ok(abut_sign_prepare(bvh, NULL));
    abut_status status = abut_sign_prepare(bvh, &normals);
    if (status) { /* no normals to go by; what was stays */
        assert_int_equal(status, ABUT_ERROR_ARGUMENT);
        assert_int_equal(get_sign_info(bvh).method, ABUT_SIGN_WINDING);
    }
    abut_nearest nearest[8], with, without;
    double winding[8], wound;
    bool inside[8], in;
    abut_array points = abut_array_host(places);
    assert_true(count <= 8);
    assert_ok(abut_sign_inside_batch(bvh, points, count, abut_array_host(inside)));
    assert_ok(abut_sign_winding_batch(bvh, points, count, abut_array_host(winding)));
    assert_ok(abut_sign_nearest_batch(bvh, points, count, HUGE_VAL, abut_array_host(nearest)));
    for (size_t i = 0; i < count; i++) {
        assert_ok(abut_sign_inside(bvh, places[i], &in));
        assert_ok(abut_sign_winding(bvh, places[i], &wound));
        assert_ok(abut_sign_nearest(bvh, places[i], HUGE_VAL, &with));
        assert_ok(abut_nearest_point(bvh, places[i], HUGE_VAL, &without));
        assert_true(in == inside[i] && wound == winding[i] && isfinite(wound));
        assert_memory_equal(&with, &nearest[i], sizeof with);
        assert_true(fabs(with.distance) == without.distance);
        assert_true(in || with.distance >= 0); /* 0 by rounding, too */
        assert_ok(abut_sign_nearest(bvh, places[i], 0, &with));
        assert_true(with.distance == (without.distance == 0 ? 0 : INFINITY));
    }
}

/* All questions about a mesh and itself, shifted. */
static void check_pair(const abut_bvh *bvh, abut_mesh *mesh, abut_vec3 by) {
    abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                  b = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 0}, by});
    abut_mesh *moved;
    assert_ok(abut_mesh_transform(mesh, 1, b.pose, &moved));
    uint32_t n = abut_mesh_triangle_count(mesh);
    uint64_t expected = 0, count = 0;
    double least = INFINITY;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            abut_triangle s = triangle_of(mesh, i), t = triangle_of(moved, j);
            abut_closest_pair closest;
            abut_intersection meeting;
            assert_ok(abut_triangle_triangle_intersect(&s, &t, &meeting, NULL));
            assert_ok(abut_triangle_triangle_closest(&s, &t, &closest));
            expected += meeting != ABUT_INTERSECTION_NONE;
            least = fmin(least, closest.distance);
        }
    abut_pair_relation relation;
    abut_separation apart;
    bool within = false;
    assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
    assert_int_equal(relation == ABUT_PAIR_INTERSECTING, expected > 0);
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
    assert_int_equal(apart.relation, relation);
    double error = 1e-12 * (largest_extent(mesh) + least);
    assert_true(apart.distance == 0 ? relation != ABUT_PAIR_APART
                                    : fabs(apart.distance - least) <= error);
    assert_ok(abut_pair_within(&a, &b, least + error, NULL, NULL, &within, NULL));
    assert_true(within);
    abut_pair_intersection *meetings = malloc((expected + 1) * sizeof *meetings), kept;
    assert_non_null(meetings);
    abut_pair_intersection_list crossings = {meetings, expected, 0};
    assert_ok(abut_pair_intersections(&a, &b, &crossings));
    count = crossings.count;
    assert_int_equal(count, expected);
    if (expected) {
        kept = meetings[0];
        crossings = (abut_pair_intersection_list){meetings, expected - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_pair_intersections(&a, &b, &crossings));
        count = crossings.count;
        assert_int_equal(count, expected);
        assert_memory_equal(&kept, &meetings[0], sizeof kept);
    }
    free(meetings);
    abut_mesh_destroy(moved);
}

/* Points, rays and boxes at the mesh, at its corners, far away and at the origin. */
static void check_all(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_bvh_info info = get_bvh_info(bvh);
    assert_int_equal(info.triangle_count, abut_mesh_triangle_count(mesh));
    assert_true(isfinite(info.cost) && info.cost >= 0 && !info.should_rebuild);
    assert_ok(abut_bvh_set_mesh(bvh, mesh)); /* onto itself */
    abut_box b = abut_mesh_bounds(mesh);
    abut_vec3 middle =
        vec(b.lo.x / 2 + b.hi.x / 2, b.lo.y / 2 + b.hi.y / 2, b.lo.z / 2 + b.hi.z / 2);
    abut_vec3 places[] = {
        b.lo, b.hi, middle, vec(0, 0, 0), vec(1e30, -1e30, 1e-30), vec(-1e90, 1e90, 1e90)};
    enum { PLACES = sizeof places / sizeof *places };
    for (int i = 0; i < PLACES; i++) {
        check_nearest(bvh, mesh, places[i]);
        for (int j = 0; j < PLACES; j++) {
            abut_vec3 from = places[i], to = places[j];
            abut_ray ray = {from, vec(to.x / 2 - from.x / 2, to.y / 2 - from.y / 2,
                                      to.z / 2 - from.z / 2)};
            if (ray.direction.x != 0 || ray.direction.y != 0 || ray.direction.z != 0)
                check_ray(bvh, mesh, ray);
        }
        abut_box point = {places[i], places[i]};
        check_box(bvh, mesh, point);
    }
    abut_box all = {vec(-1e90, -1e90, -1e90), vec(1e90, 1e90, 1e90)};
    check_box(bvh, mesh, all);
    check_box(bvh, mesh, b);
    uint64_t pairs = 0;
    bool any;
    assert_ok(abut_pair_self_intersects(bvh, NULL, &any));
    abut_pair_self_intersection_list self_pairs = {NULL, 0, 0};
    abut_status status = abut_pair_self_intersections(bvh, NULL, &self_pairs);
    pairs = self_pairs.count;
    assert_int_equal(status, any ? ABUT_ERROR_BUFFER : ABUT_OK);
    assert_int_equal(pairs > 0, any);
    check_signs(bvh, places, PLACES);
    double size = largest_extent(mesh);
    check_pair(bvh, mesh, vec(0, 0, 0));
    check_pair(bvh, mesh, vec(-3 * size, size, 1e-30));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(absurd_meshes) {
    static const soup_kind kinds[] = {SOUP_EQUAL, SOUP_POINT,   SOUP_LINE,
                                      SOUP_PLANE, SOUP_LATTICE, SOUP_GROWING};
    static const double scales[] = {1, 1e-30, 1e30};
    for (uint32_t count = 1; count <= 33; count += 32)
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < 3; i++) {
                abut_mesh *mesh = make_kind(NULL, kinds[k], count, 5);
                check_all(make_moved(mesh, scales[i], vec(0, 0, 0)));
            }
    /* the smallest and the largest in one mesh, and such triangles themselves */
    abut_vec3 corners[9] = {{1e-30, 0, 0}, {0, 1e-30, 0},    {0, 0, 1e-30},
                            {1e30, 0, 0},  {0, 1e30, 0},     {0, 0, 1e30},
                            {0, 0, 0},     {1e30, 1e-30, 0}, {1e-30, 1e30, 1}};
    check_all(make_soup(NULL, corners, 3));
}

/* There is no empty mesh, so there is no BVH of one. */
TEST(empty) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_mesh *mesh = NULL;
    assert_int_equal(abut_mesh_create(NULL, &input, &mesh), ABUT_ERROR_ARGUMENT);
    double three[9] = {0};
    input.positions = three;
    input.vertex_count = 2; /* not even one triangle */
    assert_int_equal(abut_mesh_create(NULL, &input, &mesh), ABUT_ERROR_ARGUMENT);
    assert_null(mesh);
    abut_bvh *bvh = NULL;
    assert_refused("mesh is null", abut_bvh_create(mesh, NULL, &bvh));
    assert_null(bvh);
}

/* A million boxes at one place. Every query ends, in time proportional to its results:
 * what has a million answers gives its number. */
TEST(million) {
    uint32_t all = test_rounds(1000000);
    abut_mesh *mesh = make_kind(NULL, SOUP_EQUAL, all, 1);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_true(get_bvh_info(bvh).depth < 70);
    abut_nearest nearest;
    assert_ok(abut_nearest_point(bvh, vec(0.25, 0.25, 2), 1, &nearest));
    assert_int_equal(nearest.triangle, ABUT_NONE);
    assert_ok(abut_nearest_point(bvh, vec(0.25, 0.25, 1), 1, &nearest));
    assert_true(nearest.triangle == 0 && nearest.distance == 0.5);
    abut_ray hit = {{0.25, 0.25, 1}, {0, 0, -1}}, miss = {{0.75, 0.75, 1}, {0, 0, -1}};
    abut_ray_hit first;
    bool any = false;
    uint64_t count = 0;
    assert_ok(abut_ray_first(bvh, &hit, HUGE_VAL, &first));
    assert_true(first.triangle == 0 && first.parameter == 0.5);
    assert_ok(abut_ray_any(bvh, &hit, HUGE_VAL, &any));
    assert_true(any);
    assert_ok(abut_ray_any(bvh, &miss, HUGE_VAL, &any));
    assert_false(any);
    abut_ray_hit_list ray_hits = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, " hits", abut_ray_all(bvh, &hit, &ray_hits));
    count = ray_hits.count;
    assert_int_equal(count, all);
    abut_box box = {vec(0, 0, 0), vec(1, 1, 1)};
    abut_index_list inside = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, " triangles", abut_bvh_find_in_box(bvh, &box, &inside));
    count = inside.count;
    assert_int_equal(count, all);
    assert_ok(abut_pair_self_intersects(bvh, NULL, &any));
    assert_true(any);
    abut_pair_self_options few = abut_pair_self_options_default();
    few.limit = 1;
    uint64_t pairs = 0;
    abut_pair_self_intersection_list self_pairs = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_LIMIT, "limit", abut_pair_self_intersections(bvh, &few, &self_pairs));
    pairs = self_pairs.count;
    assert_true(pairs > 0);
    abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                  b = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 0}, {0, 0, 1}});
    abut_pair_relation relation;
    assert_ok(relation_of(&a, &a, NULL, NULL, &relation));
    assert_int_equal(relation, ABUT_PAIR_INTERSECTING);
    assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
    assert_int_equal(relation, ABUT_PAIR_APART);
    assert_ok(abut_pair_within(&a, &b, 0.5, NULL, NULL, &any, NULL));
    assert_false(any);
    assert_ok(abut_sign_prepare(bvh, NULL));
    assert_ok(abut_sign_inside(bvh, vec(0.25, 0.25, 0.5), &any));
    assert_true(any);
    assert_ok(abut_bvh_set_mesh(bvh, mesh));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* ---- arrays ---- */

/* The last point of an array has no room behind it, whatever the stride; a sanitizer watches. */
TEST(exact_arrays) {
    enum { COUNT = 40 };
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    abut_bvh *bvh = hierarchy(mesh);
    for (int type = 0; type < 2; type++)
        for (size_t extra = 0; extra < 40; extra += 13) {
            size_t packed = type ? 3 * sizeof(float) : 3 * sizeof(double), stride = packed + extra;
            unsigned char *bytes = calloc(1, (COUNT - 1) * stride + packed);
            abut_nearest *nearest = calloc(COUNT, sizeof *nearest);
            assert_true(bytes && nearest);
            for (int i = 0; i < COUNT; i++) {
                float single[3] = {(float)i, 0, 0};
                double pair[3] = {i, 0, 0};
                memcpy(bytes + (size_t)i * stride, type ? (void *)single : (void *)pair, packed);
            }
            abut_array points = type ? abut_array_floats(bytes) : abut_array_host(bytes);
            points.stride = stride;
            assert_ok(
                abut_nearest_point_batch(bvh, points, COUNT, HUGE_VAL, abut_array_host(nearest)));
            for (int i = 0; i < COUNT; i++) {
                abut_nearest one;
                assert_ok(abut_nearest_point(bvh, vec(i, 0, 0), HUGE_VAL, &one));
                assert_true(one.distance == nearest[i].distance);
                assert_int_equal(one.triangle, nearest[i].triangle);
            }
            free(bytes);
            free(nearest);
        }
    abut_bvh_destroy(bvh);
}

/* More points than memory can hold, by count and by stride: refused before any is read. */
TEST(impossible_arrays) {
    static const struct {
        size_t stride, count;
        abut_status status;
    } cases[] = {
        {24, SIZE_MAX, ABUT_ERROR_ARGUMENT}, {24, SIZE_MAX / 24 + 1, ABUT_ERROR_ARGUMENT},
        {0, SIZE_MAX, ABUT_ERROR_LIMIT},     {0, SIZE_MAX / 24 + 1, ABUT_ERROR_LIMIT},
        {SIZE_MAX, 2, ABUT_ERROR_ARGUMENT},  {SIZE_MAX / 2 + 1, 2, ABUT_ERROR_ARGUMENT},
        {23, 1, ABUT_ERROR_ARGUMENT},        {1, 1, ABUT_ERROR_ARGUMENT},
        {0, UINT32_MAX, ABUT_ERROR_LIMIT},
    };
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh = hierarchy(mesh);
    assert_ok(abut_sign_prepare(bvh, NULL));
    double one[3] = {0, 0, 0};
    abut_nearest nearest, before;
    memset(&nearest, 0x5a, sizeof nearest);
    before = nearest;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        abut_array points = abut_array_host(one);
        points.stride = cases[i].stride;
        bool inside;
        assert_int_equal(abut_nearest_point_batch(bvh, points, cases[i].count, 1,
                                                  abut_array_host(&nearest)),
                         cases[i].status);
        assert_int_equal(abut_sign_nearest_batch(bvh, points, cases[i].count, 1,
                                                 abut_array_host(&nearest)),
                         cases[i].status);
        assert_int_equal(abut_sign_inside_batch(bvh, points, cases[i].count,
                                                abut_array_host(&inside)),
                         cases[i].status);
        assert_memory_equal(&nearest, &before, sizeof nearest);
    }
    static const double radii[] = {NAN, -NAN, -1, -INFINITY, -0x1p-1074};
    for (size_t i = 0; i < sizeof radii / sizeof *radii; i++) {
        const abut_array points = abut_array_host(one);
        abut_ray ray = {{0, 0, 0}, {1, 0, 0}};
        abut_ray_hit hit;
        bool any;
        assert_refused("radius", abut_nearest_point(bvh, vec(0, 0, 0), radii[i], &nearest));
        assert_refused("radius", abut_nearest_point_batch(bvh, points, 1, radii[i],
                                                          abut_array_host(&nearest)));
        assert_refused("limit", abut_ray_first(bvh, &ray, radii[i], &hit));
        assert_refused("limit", abut_ray_any(bvh, &ray, radii[i], &any));
        assert_refused("limit", abut_ray_first_batch(bvh, abut_array_host(&ray), 1, radii[i],
                                                     abut_array_host(&hit)));
        assert_refused("radius", abut_sign_nearest(bvh, vec(0, 0, 0), radii[i], &nearest));
        assert_refused("radius", abut_sign_nearest_batch(bvh, points, 1, radii[i],
                                                         abut_array_host(&nearest)));
        abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                      lost = abut_collider_from_bvh(bvh, abut_pose_identity());
        abut_pair_relation relation;
        assert_refused("margin", abut_pair_within(&a, &a, radii[i], NULL, NULL, &any, NULL));
        lost.pose.translation.y = i < 2 ? radii[i] : -INFINITY;
        assert_refused("pose", relation_of(&a, &lost, NULL, NULL, &relation));
    }
    assert_memory_equal(&nearest, &before, sizeof nearest);
    abut_bvh_destroy(bvh);
}

/* ---- cancelling ---- */

typedef struct watch {
    uint64_t live;
    uint32_t calls, stop_at; /* the call that cancels, from 1 on; 0 = none */
} watch;

static void *watch_allocate(void *user, size_t bytes, size_t alignment) {
    watch *w = user;
    w->live++;
    return aligned_alloc(alignment, bytes);
}
static void watch_release(void *user, void *memory) {
    watch *w = user;
    w->live--;
    free(memory);
}
static bool watch_progress(void *user, const char *stage, double fraction) {
    watch *w = user;
    assert_true(stage[0] && fraction >= 0 && fraction <= 1);
    return ++w->calls != w->stop_at;
}

static abut_status build_work(abut_mesh *mesh, const abut_bvh *unused) {
    abut_bvh *bvh = NULL;
    (void)unused;
    abut_status status = abut_bvh_create(mesh, NULL, &bvh);
    assert_int_equal(bvh == NULL, status != ABUT_OK); /* no object */
    abut_bvh_destroy(bvh);
    return status;
}
static abut_status nearest_work(abut_mesh *mesh, const abut_bvh *bvh) {
    abut_array points = abut_array_host(abut_mesh_local_positions(mesh));
    abut_nearest *nearest = malloc(abut_mesh_vertex_count(mesh) * sizeof *nearest);
    assert_non_null(nearest);
    abut_status status = abut_nearest_point_batch(bvh, points, abut_mesh_vertex_count(mesh), 1,
                                                  abut_array_host(nearest));
    free(nearest);
    return status;
}
static abut_status ray_work(abut_mesh *mesh, const abut_bvh *bvh) {
    enum { RAYS = 33000 };
    abut_ray *rays = calloc(RAYS, sizeof *rays);
    abut_ray_hit *hits = calloc(RAYS, sizeof *hits);
    (void)mesh;
    assert_true(rays && hits);
    for (int i = 0; i < RAYS; i++)
        rays[i].direction.x = 1 + i;
    abut_status status =
        abut_ray_first_batch(bvh, abut_array_host(rays), RAYS, 1e-9, abut_array_host(hits));
    free(rays);
    free(hits);
    return status;
}
static abut_status sign_work(abut_mesh *mesh, const abut_bvh *bvh) {
    abut_array points = abut_array_host(abut_mesh_local_positions(mesh));
    abut_nearest *nearest = malloc(abut_mesh_vertex_count(mesh) * sizeof *nearest);
    bool *inside = malloc(abut_mesh_vertex_count(mesh) * sizeof *inside);
    assert_true(nearest && inside);
    abut_status status = abut_sign_nearest_batch(bvh, points, abut_mesh_vertex_count(mesh), 1,
                                                 abut_array_host(nearest));
    status = status ? status
                    : abut_sign_inside_batch(bvh, points, abut_mesh_vertex_count(mesh),
                                             abut_array_host(inside));
    free(nearest);
    free(inside);
    return status;
}
static abut_status self_work(abut_mesh *mesh, const abut_bvh *bvh) {
    abut_pair_self_intersection_list none = {NULL, 0, 0};
    (void)mesh;
    return abut_pair_self_intersections(bvh, NULL, &none);
}

/* Each piece of work is cancelled at its 1st, 2nd, ... call until it is through. */
TEST(cancelled) {
    static abut_status (*const works[])(abut_mesh *, const abut_bvh *) = {build_work, nearest_work,
                                                                          sign_work, ray_work,
                                                                          self_work};
    static const uint32_t least[] = {5, 2, 2, 1, 1};
    watch w = {0, 0, 0};
    abut_context_options options = abut_context_options_default();
    options.memory_user = options.progress_user = &w;
    options.allocate = watch_allocate;
    options.release = watch_release;
    options.progress = watch_progress;
    options.thread_count = 1;
    abut_context *context;
    assert_ok(abut_context_create(&options, &context));
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_ICOSPHERE, 60);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, NULL));
    assert_ok(ray_work(mesh, bvh)); /* makes the tree of batches, which stays */
    uint64_t before = w.live;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        abut_status status = ABUT_ERROR_CANCELLED;
        uint32_t n = 0;
        while (status == ABUT_ERROR_CANCELLED) {
            w.calls = 0;
            w.stop_at = ++n;
            status = works[i](mesh, bvh);
            assert_int_equal(w.live, before);
            if (status == ABUT_ERROR_CANCELLED)
                assert_int_equal(w.calls, n); /* it stops at once */
        }
        assert_ok(status);
        assert_true(n > least[i]);
    }
    w.stop_at = 0;
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    assert_int_equal(w.live, 0);
}
