/* Rays and points against worlds: compared with a loop over all items, whose meshes are moved to
 * world coordinates, and with signed distances of primitives. Also filters, preparation, threads,
 * failing allocations and invalid arguments. */
#include "apps/get.h"
#include "radial/body.h"
#include "world/query_scene.h"

#include <pthread.h>

/* ---- referees ---- */

/* All hits of a ray, item after item, sorted. */
typedef struct hit_list {
    abut_world_hit list[512];
    size_t count;
} hit_list;

static int compare_parameters(const void *x, const void *y) {
    const abut_world_hit *a = x, *b = y;
    return (a->parameter > b->parameter) - (a->parameter < b->parameter);
}

static void append_hit(hit_list *to, uint32_t id, uint32_t triangle, double parameter) {
    assert_true(to->count < 512);
    to->list[to->count++] =
        (abut_world_hit){.parameter = parameter, .id = id, .triangle = triangle};
}

/* A ray advances by the distance of the surface, which cannot pass it. Crossings change the sign of
 * the distance; chords below 1e-6 are not found. */
static void cross_primitive(const abut_collider *c, const abut_ray *ray, double limit, uint32_t id,
                            hit_list *to) {
    const double length = v3_length(ray->direction);
    double t = 0, before = solid_distance(c, ray->origin);
    while (t < limit) {
        const double next = real_min(limit, t + real_max(fabs(before), 1e-6) / length);
        const double after = solid_distance(c, v3_along(ray->origin, next, ray->direction));
        double lo = t, hi = next;
        for (int k = 0; k < 60 && (before < 0) != (after < 0); k++) {
            const double middle = 0.5 * (lo + hi),
                         at = solid_distance(c, v3_along(ray->origin, middle, ray->direction));
            if ((at < 0) == (before < 0))
                lo = middle;
            else
                hi = middle;
        }
        if ((before < 0) != (after < 0))
            append_hit(to, id, ABUT_NONE, lo);
        before = after;
        t = next;
    }
}

static void find_hits(const query_scene *s, const abut_ray *ray, double limit, hit_list *to) {
    to->count = 0;
    for (uint32_t id = 0; id < s->count; id++) {
        abut_ray_hit list[256];
        abut_ray_hit_list found = {list, 256, 0};
        if (!s->posed[id]) {
            if (is_solid(&s->items[id]))
                cross_primitive(&s->items[id].collider, ray, limit, id, to);
            continue;
        }
        assert_ok(abut_ray_all(s->posed[id], ray, &found));
        for (uint64_t i = 0; i < found.count; i++)
            if (list[i].parameter <= limit)
                append_hit(to, id, list[i].triangle, list[i].parameter);
    }
    qsort(to->list, to->count, sizeof *to->list, compare_parameters);
}

static abut_ray random_ray(test_random *random, double reach) {
    abut_ray ray;
    double *numbers = &ray.origin.x;
    for (int i = 0; i < 6; i++)
        numbers[i] = test_random_real(random, -reach, reach);
    return ray;
}

/* ---- rays ---- */

/* The unit normal is that of the surface: the solid is below it. */
static void check_normal(const query_scene *s, const abut_world_hit *hit) {
    if (s->posed[hit->id]) {
        abut_triangle t = mesh_triangle(abut_bvh_mesh(s->posed[hit->id]), hit->triangle);
        const abut_vec3 n = v3_normalise(
            v3_cross(v3_sub(t.corner[1], t.corner[0]), v3_sub(t.corner[2], t.corner[0])));
        assert_true(v3_length(v3_sub(n, hit->normal)) < 1e-9);
        return;
    }
    const abut_collider *c = &s->items[hit->id].collider;
    const double step = 1e-5;
    assert_true(fabs(v3_length(hit->normal) - 1) < 1e-12);
    assert_true(fabs(solid_distance(c, hit->point)) < 1e-9);
    assert_true(fabs(solid_distance(c, v3_along(hit->point, step, hit->normal)) - step) < 1e-8);
}

TEST(rays_equal_a_loop_over_all_items) {
    test_random random = {1};
    uint32_t hits_of[ABUT_COLLIDER_MESH + 1] = {0}, misses = 0;
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        query_scene s;
        query_scene_begin(&s, &random, 24, 2, -0.4);
        for (int i = 0; i < 40; i++) {
            abut_ray ray = random_ray(&random, 3);
            const double limit = test_random_real(&random, 0.5, 2);
            const abut_vec3 target =
                s.items[test_random_below(&random, s.count)].collider.pose.translation;
            if (i % 4)
                ray.direction = v3_along(v3_sub(target, ray.origin), 0.05, ray.direction);
            hit_list expected;
            abut_world_hit list[512], first;
            abut_world_hit_list found = {list, 512, 0};
            uint64_t offsets[2];
            bool any;
            find_hits(&s, &ray, limit, &expected);
            assert_ok(abut_world_ray_all(s.world, abut_array_host(&ray), 1, limit, NULL, offsets,
                                         &found, NULL));
            assert_ok(
                abut_world_ray_first(s.world, abut_array_host(&ray), 1, limit, NULL, &first, NULL));
            assert_ok(
                abut_world_ray_any(s.world, abut_array_host(&ray), 1, limit, NULL, &any, NULL));
            assert_int_equal(found.count, expected.count);
            assert_true(offsets[0] == 0 && offsets[1] == found.count);
            assert_int_equal(any, found.count > 0);
            misses += !any;
            for (uint64_t k = 0; k < found.count; k++) {
                assert_true(fabs(list[k].parameter - expected.list[k].parameter) < 1e-9);
                assert_int_equal(list[k].id, expected.list[k].id);
                assert_int_equal(list[k].triangle, expected.list[k].triangle);
                assert_true(v3_length(v3_sub(list[k].point, v3_along(ray.origin, list[k].parameter,
                                                                     ray.direction))) < 1e-12);
                check_normal(&s, &list[k]);
                hits_of[s.items[list[k].id].collider.kind]++;
            }
            if (found.count)
                assert_memory_equal(&first, &list[0], sizeof first);
            else
                assert_true(first.id == ABUT_NONE && first.triangle == ABUT_NONE &&
                            first.parameter == HUGE_VAL);
        }
        query_scene_end(&s);
    }
    assert_true(misses > 10);
    for (int kind = 0; kind <= ABUT_COLLIDER_HULL; kind++)
        assert_true(hits_of[kind] > 0);
}

/* Rays whose hits are known, also at edges, from inside, parallel to an axis, and far away. */
TEST(rays_hit_primitives_where_formulas_say) {
    const abut_pose here = abut_pose_identity();
    const abut_collider solids[] = {
        abut_collider_from_plane((abut_plane){{0, 0, 2}, 2}, here),
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, here),
        abut_collider_from_capsule((abut_capsule){{{0, 0, -1}, {0, 0, 1}}, 0.5}, here),
        abut_collider_from_box((abut_vec3){1, 2, 3}, here),
        abut_collider_from_cylinder((abut_cylinder){{{0, 0, 0}, {0, 0, 2}}, 1}, here),
        abut_collider_from_sphere((abut_sphere){{1, 0, 0}, 0}, here),
        abut_collider_from_capsule((abut_capsule){{{0, 0, 2}, {0, 0, 2}}, 0.5}, here)};
    static const struct {
        int solid;
        abut_ray ray;
        double limit;
        int count;
        double parameter[2];
        abut_vec3 normal;
    } cases[] = {
        {0, {{5, 6, 3}, {0, 0, -0.5}}, HUGE_VAL, 1, {4}, {0, 0, 1}},
        {0, {{5, 6, -3}, {0, 0, 1}}, HUGE_VAL, 1, {4}, {0, 0, 1}}, /* from below */
        {0, {{5, 6, 3}, {0, 0, 1}}, HUGE_VAL, 0, {0}, {0, 0, 0}},
        {0, {{5, 6, 3}, {1, 0, 0}}, HUGE_VAL, 0, {0}, {0, 0, 0}},
        {0, {{5, 6, 1}, {1, 0, 0}}, HUGE_VAL, 1, {0}, {0, 0, 1}}, /* in the plane */
        {1, {{-3, 0, 0}, {1, 0, 0}}, HUGE_VAL, 2, {2, 4}, {-1, 0, 0}},
        {1, {{-3, 0, 0}, {1e-6, 0, 0}}, HUGE_VAL, 2, {2e6, 4e6}, {-1, 0, 0}},
        {1, {{-3, 0, 0}, {1e9, 0, 0}}, HUGE_VAL, 2, {2e-9, 4e-9}, {-1, 0, 0}},
        {1, {{-3, 0, 0}, {1, 0, 0}}, 3, 1, {2}, {-1, 0, 0}},
        {1, {{-3, 0, 0}, {1, 0, 0}}, 2, 1, {2}, {-1, 0, 0}}, /* the limit is included */
        {1, {{-3, 0, 0}, {1, 0, 0}}, 1.9, 0, {0}, {0, 0, 0}},
        {1, {{0, 0, 0}, {0, 2, 0}}, HUGE_VAL, 1, {0.5}, {0, 1, 0}}, /* from inside */
        {1, {{-3, 1, 0}, {1, 0, 0}}, HUGE_VAL, 1, {3}, {0, 1, 0}},  /* touches */
        {1, {{-3, 1.000001, 0}, {1, 0, 0}}, HUGE_VAL, 0, {0}, {0, 0, 0}},
        {2, {{0, 0, 5}, {0, 0, -1}}, HUGE_VAL, 2, {3.5, 6.5}, {0, 0, 1}}, /* along the axis */
        {2, {{-2, 0, 0.5}, {1, 0, 0}}, HUGE_VAL, 2, {1.5, 2.5}, {-1, 0, 0}},
        {3, {{-5, 0, 0}, {2, 0, 0}}, HUGE_VAL, 2, {2, 3}, {-1, 0, 0}},
        {3, {{-5, 2, 3}, {2, 0, 0}}, HUGE_VAL, 2, {2, 3}, {-1, 0, 0}}, /* along an edge */
        {3, {{0, 0, 0}, {0, 0, -1}}, HUGE_VAL, 1, {3}, {0, 0, -1}},
        {3, {{-1e9, 0, 0}, {1, 0, 0}}, HUGE_VAL, 2, {999999999, 1000000001}, {-1, 0, 0}},
        {4, {{0.5, 0, 5}, {0, 0, -1}}, HUGE_VAL, 2, {3, 5}, {0, 0, 1}},
        {4, {{-3, 0, 1}, {1, 0, 0}}, HUGE_VAL, 2, {2, 4}, {-1, 0, 0}},
        {4, {{-3, 0, 2.1}, {1, 0, 0}}, HUGE_VAL, 0, {0}, {0, 0, 0}},
        {4, {{2, 0, 5}, {0, 0, -1}}, HUGE_VAL, 0, {0}, {0, 0, 0}},
        {5, {{-3, 0, 0}, {1, 0, 0}}, HUGE_VAL, 1, {4}, {0, 0, 0}}, /* a point */
        {6, {{-3, 0, 2}, {1, 0, 0}}, HUGE_VAL, 2, {2.5, 3.5}, {-1, 0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        abut_world_item item = abut_world_item_default();
        abut_world_hit list[4];
        abut_world_hit_list found = {list, 4, 0};
        uint64_t offsets[2];
        abut_world *world;
        assert_ok(abut_world_create(serial, NULL, &world));
        item.collider = solids[cases[i].solid];
        add(world, &item);
        assert_ok(abut_world_prepare_queries(world));
        assert_ok(abut_world_ray_all(world, abut_array_host(&cases[i].ray), 1, cases[i].limit, NULL,
                                     offsets, &found, NULL));
        assert_int_equal(found.count, cases[i].count);
        for (uint64_t k = 0; k < found.count; k++)
            assert_true(fabs(list[k].parameter / cases[i].parameter[k] - 1) < 1e-12 ||
                        list[k].parameter == cases[i].parameter[k]);
        if (found.count)
            assert_true(v3_length(v3_sub(list[0].normal, cases[i].normal)) < 1e-12);
        abut_world_destroy(world);
    }
}

/* Poses and rays at the largest coordinates. */
TEST(rays_at_the_limits_of_coordinates) {
    const double far = ABUT_COORDINATE_MAX;
    for (int kind = 0; kind < 2; kind++) {
        abut_world_item item = mesh_item(&things[4], abut_pose_identity());
        abut_world *world;
        abut_world_hit hit;
        const abut_ray ray = {{-far, 0, 0}, {far, 0, 0}};
        item.collider.pose.translation.x = 0.9 * far;
        if (kind) {
            item.collider.kind = ABUT_COLLIDER_BOX;
            item.collider.shape.half = (abut_vec3){0.5, 0.5, 0.5};
        }
        assert_ok(abut_world_create(serial, NULL, &world));
        add(world, &item);
        assert_ok(abut_world_prepare_queries(world));
        assert_ok(
            abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, NULL, &hit, NULL));
        assert_int_equal(hit.id, 0);
        assert_true(fabs(hit.parameter - 1.9) < 1e-12);
        abut_world_destroy(world);
    }
}

/* ---- points ---- */

TEST(points_equal_a_loop_over_all_items) {
    test_random random = {2};
    uint32_t nearest_of[ABUT_COLLIDER_MESH + 1] = {0}, none = 0;
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        query_scene s;
        query_scene_begin(&s, &random, 24, 2, -0.4);
        for (int i = 0; i < 40; i++) {
            const abut_vec3 centre =
                s.items[test_random_below(&random, s.count)].collider.pose.translation;
            const abut_vec3 p = v3_along(centre, i % 3 * 0.3, random_ray(&random, 1).origin);
            const double radius = i % 3 ? HUGE_VAL : test_random_real(&random, 0, 0.2);
            double least = HUGE_VAL;
            uint32_t id = ABUT_NONE;
            for (uint32_t k = 0; k < s.count; k++) {
                abut_nearest found = {.distance = HUGE_VAL};
                if (s.posed[k])
                    assert_ok(abut_nearest_point(s.posed[k], p, HUGE_VAL, &found));
                else if (is_solid(&s.items[k]))
                    found.distance = fabs(solid_distance(&s.items[k].collider, p));
                if (found.distance < least) {
                    least = found.distance;
                    id = k;
                }
            }
            abut_world_nearest nearest;
            assert_ok(abut_world_nearest_point(s.world, abut_array_host(&p), 1, radius, NULL,
                                               &nearest, NULL));
            if (least > radius) {
                assert_true(nearest.id == ABUT_NONE && nearest.distance == HUGE_VAL);
                assert_memory_equal(&nearest.point, &p, sizeof p);
                none++;
                continue;
            }
            assert_true(fabs(nearest.distance - least) < 1e-10);
            assert_int_equal(nearest.id, id);
            assert_true(fabs(v3_length(v3_sub(nearest.point, p)) - least) < 1e-10);
            assert_int_equal(nearest.triangle == ABUT_NONE, !s.posed[id]);
            if (!s.posed[id])
                assert_true(fabs(solid_distance(&s.items[id].collider, nearest.point)) < 1e-9);
            nearest_of[s.items[id].collider.kind]++;
        }
        query_scene_end(&s);
    }
    assert_true(none > 5);
    for (int kind = 0; kind <= ABUT_COLLIDER_HULL; kind++)
        assert_true(nearest_of[kind] > 0);
}

/* ---- filters and reports ---- */

static bool accept_even(void *user, uint32_t id) {
    (*(uint32_t *)user)++;
    return id % 2 == 0;
}

TEST(filters_select_items) {
    enum { COUNT = 6 };
    abut_world *world;
    const abut_ray ray = {{-10, 0, 0}, {1, 0, 0}};
    assert_ok(abut_world_create(serial, NULL, &world));
    for (uint32_t i = 0; i < COUNT; i++) { /* spheres in a row */
        abut_world_item item = abut_world_item_default();
        item.collider =
            abut_collider_from_sphere((abut_sphere){{2.0 * i, 0, 0}, 0.5}, abut_pose_identity());
        item.group = i < 3 ? 1 : 4;
        item.mask = i == 1 ? 8 : i == 4 ? 2 : 0; /* 1 collides with nothing */
        item.is_sensor = i == 2;
        add(world, &item);
    }
    assert_ok(abut_world_prepare_queries(world));
    uint32_t calls = 0;
    const uint32_t ignored[] = {77, 0, 5};
    const struct {
        abut_world_query_options options;
        uint32_t seen; /* bits */
    } cases[] = {{{.mask = 0}, 0x3f},
                 {{.mask = 1}, 0x07},
                 {{.mask = 4}, 0x38},
                 {{.mask = 2}, 0},
                 {{.group = 2}, 0x3d},
                 {{.group = 8}, 0x2f},
                 {{.group = 1, .mask = 5}, 0x2d},
                 {{.skip_sensors = true}, 0x3b},
                 {{.ignored = ignored, .ignored_count = 3}, 0x1e},
                 {{.accept = accept_even, .user = &calls}, 0x15},
                 {{.accept = accept_even, .user = &calls, .mask = 4}, 0x10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        abut_world_query_options options = cases[i].options;
        abut_world_hit list[2 * COUNT];
        abut_world_hit_list found = {list, 2 * COUNT, 0};
        uint64_t offsets[2];
        uint32_t seen = 0;
        calls = 0;
        options.size = sizeof options;
        assert_ok(abut_world_ray_all(world, abut_array_host(&ray), 1, HUGE_VAL, &options, offsets,
                                     &found, NULL));
        for (uint64_t k = 0; k < found.count; k++)
            seen |= 1u << list[k].id;
        assert_int_equal(seen, cases[i].seen);
        if (options.accept)
            assert_int_equal(calls, options.mask ? 3 : COUNT);
    }
    abut_world_destroy(world);
}

/* Bodies without a BVH cannot be seen, and are counted. */
TEST(reports_count_items_that_are_not_seen) {
    abut_world *world;
    const abut_ray ray = {{-10, 0, 0}, {1, 0, 0}};
    const abut_vec3 point = {0, 0, 0};
    abut_world_query_report report = abut_world_query_report_default();
    abut_world_query_options options = abut_world_query_options_default();
    abut_world_nearest nearest;
    abut_world_hit hit;
    assert_ok(abut_world_create(serial, NULL, &world));
    for (int i = 0; i < 3; i++) {
        abut_world_item item = body_item(&things[0], abut_pose_identity());
        item.group = 1u << i;
        add(world, &item);
    }
    assert_ok(abut_world_prepare_queries(world));
    assert_ok(
        abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, &options, &hit, &report));
    assert_true(hit.id == ABUT_NONE && report.unseen_count == 3);
    assert_int_equal(report.reliability.level, ABUT_RELIABILITY_GUARANTEED);
    options.mask = 3;
    assert_ok(abut_world_nearest_point(world, abut_array_host(&point), 1, HUGE_VAL, &options,
                                       &nearest, &report));
    assert_true(nearest.id == ABUT_NONE && report.unseen_count == 2);
    report.size = 3;
    assert_refused("3", abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, &options,
                                             &hit, &report));
    abut_world_destroy(world);
}

/* ---- preparation ---- */

static uint32_t first_id(const abut_world *world, double height) {
    const abut_ray ray = {{-10, 0, height}, {1, 0, 0}};
    abut_world_hit hit;
    assert_ok(abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, NULL, &hit, NULL));
    return hit.id;
}

static void check_unprepared(abut_world *world) {
    const abut_ray ray = {{-10, 0, 0}, {1, 0, 0}};
    abut_world_hit hit;
    assert_refused("abut_world_prepare_queries",
                   abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, NULL, &hit,
                                        NULL));
    assert_ok(abut_world_prepare_queries(world));
    assert_ok(abut_world_prepare_queries(world));
}

TEST(changes_need_a_new_preparation) {
    abut_world *world;
    abut_world_item item = abut_world_item_default();
    abut_pose up = abut_pose_identity();
    uint32_t a, b;
    assert_ok(abut_world_create(serial, NULL, &world));
    check_unprepared(world);
    assert_int_equal(first_id(world, 0), ABUT_NONE); /* an empty world */
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, abut_pose_identity());
    a = add(world, &item);
    check_unprepared(world);
    assert_int_equal(first_id(world, 0), a);
    item.collider.pose.translation.x = -1;
    b = add(world, &item);
    check_unprepared(world);
    assert_int_equal(first_id(world, 0), b);
    up.translation.z = 5;
    assert_ok(abut_world_set_poses(world, &b, abut_array_host(&up), 1));
    check_unprepared(world);
    assert_true(first_id(world, 0) == a && first_id(world, 5) == b);

    /* Contacts and events do not invalidate it; a sweep moves the boxes of the trees. */
    abut_contact list[8];
    abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 8};
    abut_world_event events[4];
    events_of(world, events, 4);
    assert_ok(abut_world_contacts(world, &contacts));
    assert_int_equal(first_id(world, 5), b);
    abut_world_impacts impacts = abut_world_impacts_default();
    const abut_pose end = {{0, 0, 0, 1}, {0, 0, 50}};
    assert_ok(abut_world_sweep(world, &b, abut_array_host(&end), 1, NULL, &impacts));
    check_unprepared(world);
    assert_true(first_id(world, 5) == b && first_id(world, 50) == ABUT_NONE);
    assert_ok(abut_world_step(world, 0.01, NULL));
    check_unprepared(world);
    item.collider.pose.translation = (abut_vec3){0, 0, 9};
    assert_ok(abut_world_replace(world, b, &item));
    check_unprepared(world);
    assert_int_equal(first_id(world, 9), b);
    assert_ok(abut_world_remove(world, b));
    check_unprepared(world);
    assert_int_equal(first_id(world, 9), ABUT_NONE);
    abut_world_destroy(world);
}

/* Meshes that deform, sheets of cloth, and characters are seen as they are now. */
TEST(shapes_that_deform_are_seen_as_they_are) {
    enum { BONES = 3 };
    abut_world_options options = abut_world_options_default();
    abut_cloth_options cloth = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    abut_world_query_report report = abut_world_query_report_default();
    abut_world_item item = abut_world_item_default(), sheet = abut_world_item_default();
    abut_mesh *grid;
    abut_world *world;
    const uint32_t vertex_count = abut_mesh_vertex_count(things[2].mesh);
    cloth.gravity = (abut_vec3){0, 0, -10};
    options.cloth = &cloth;
    assert_ok(abut_world_create(serial, &options, &world));

    item.collider = abut_collider_from_mesh(things[2].mesh, abut_pose_identity());
    item.collider.shape.mesh.deforms = true;
    const uint32_t ball = add(world, &item);
    abut_vec3 *positions = malloc(vertex_count * sizeof *positions);
    for (uint32_t i = 0; i < vertex_count; i++)
        positions[i] = v3_add(abuti_mesh_position(things[2].mesh, i), v3(0, 0, 30));
    assert_ok(abut_world_set_positions(world, ball, NULL, abut_array_host(positions)));
    free(positions);
    check_unprepared(world);
    assert_true(first_id(world, 30) == ball && first_id(world, 0) == ABUT_NONE);

    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    assert_ok(abut_shape_create(serial, &shape, &grid));
    sheet.collider = abut_collider_from_mesh(grid, abut_pose_identity());
    sheet.collider.pose.translation.z = 60;
    sheet.cloth = &material;
    const uint32_t cotton = add(world, &sheet);
    check_unprepared(world);
    const abut_vec3 above = {0.1, 0.1, 70};
    abut_world_nearest nearest;
    abut_world_query_options only = abut_world_query_options_default();
    only.ignored = &ball;
    only.ignored_count = 1;
    for (int step = 0; step < 2; step++) {
        assert_ok(abut_world_nearest_point(world, abut_array_host(&above), 1, HUGE_VAL, &only,
                                           &nearest, NULL));
        assert_int_equal(nearest.id, cotton);
        assert_true(step ? nearest.point.z < 60 : nearest.point.z == 60);
        assert_ok(abut_world_step(world, 0.1, NULL));
        check_unprepared(world);
    }

    snake worm = make_snake(serial, BONES, 12, 8);
    abut_radial *radial;
    abut_radial_options radial_options = abut_radial_options_default();
    abut_character_matrix bones[BONES];
    radial_options.cell = 0.2;
    assert_ok(abut_radial_create(worm.character, &radial_options, &radial));
    abut_world_item actor = abut_world_item_default();
    actor.collider = abut_collider_make(ABUT_COLLIDER_CHARACTER, abut_pose_identity());
    actor.collider.shape.character = radial;
    const uint32_t id = add(world, &actor);
    check_unprepared(world);
    const abut_ray ray = {{0.3, 0.1, -50}, {0, 0, 1}};
    abut_world_hit hit;
    assert_ok(abut_world_ray_first(world, abut_array_host(&ray), 1, HUGE_VAL, NULL, &hit, &report));
    assert_true(report.unseen_count == 1 && hit.id != id); /* its vertices are not known yet */
    positions = malloc(abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    for (int step = 0; step < 2; step++) {
        abut_mesh *bent;
        AUTO(bvh) referee = NULL;
        bend_snake(&worm, 0.2 * step, 0.1 * step, bones, positions);
        assert_ok(abut_world_set_positions(world, id, bones, abut_array_host(positions)));
        bent = test_mesh(serial, positions, abut_mesh_vertex_count(worm.mesh),
                         abut_mesh_indices(worm.mesh), abut_mesh_triangle_count(worm.mesh));
        assert_ok(abut_bvh_create(bent, NULL, &referee));
        abut_mesh_destroy(bent);
        check_unprepared(world);
        for (int i = 0; i < 20; i++) {
            const abut_ray down = {{0.15 * i, 0.05, -50}, {0, 0, 1}};
            abut_ray_hit expected;
            assert_ok(abut_ray_first(referee, &down, 60, &expected));
            assert_ok(
                abut_world_ray_first(world, abut_array_host(&down), 1, 60, NULL, &hit, &report));
            assert_int_equal(report.unseen_count, 0);
            assert_true(hit.triangle == expected.triangle && hit.parameter == expected.parameter);
            assert_int_equal(hit.id, hit.triangle == ABUT_NONE ? ABUT_NONE : id);
        }
    }
    free(positions);
    abut_radial_destroy(radial);
    free_snake(&worm);
    abut_mesh_destroy(grid);
    abut_world_destroy(world);
}

/* ---- threads ---- */

enum { QUERIES = 700, CALLERS = 4 };

typedef struct batch_results {
    abut_world_hit first[QUERIES];
    abut_world_nearest nearest[QUERIES];
    uint64_t offsets[QUERIES + 1];
    abut_world_hit all[32 * QUERIES];
    uint64_t count;
} batch_results;

typedef struct batch_job {
    const abut_world *world;
    const abut_ray *rays;
    batch_results *results;
    abut_status status;
} batch_job;

static void *run_batches(void *data) {
    batch_job *job = data;
    batch_results *r = job->results;
    abut_world_hit_list all = {r->all, 32 * QUERIES, 0};
    abut_array points = abut_array_host(job->rays);
    points.stride = sizeof(abut_ray);
    points.type = ABUT_SCALAR_FLOAT64;
    abut_status status = abut_world_ray_first(job->world, abut_array_host(job->rays), QUERIES,
                                              HUGE_VAL, NULL, r->first, NULL);
    if (!status)
        status =
            abut_world_nearest_point(job->world, points, QUERIES, HUGE_VAL, NULL, r->nearest, NULL);
    if (!status)
        status = abut_world_ray_all(job->world, abut_array_host(job->rays), QUERIES, HUGE_VAL, NULL,
                                    r->offsets, &all, NULL);
    r->count = all.count;
    job->status = status;
    return NULL;
}

/* Batches have the same bits on one and on several threads, also if several threads query the world
 * at the same time. */
TEST_THREADS(batches_do_not_depend_on_threads) {
    test_random random = {3};
    query_scene s;
    batch_job jobs[CALLERS];
    pthread_t callers[CALLERS];
    abut_ray *rays = malloc(QUERIES * sizeof *rays);
    batch_results *expected = malloc(sizeof *expected);
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 3);
    abut_world *world;
    for (int i = 0; i < QUERIES; i++)
        rays[i] = random_ray(&random, 3);
    query_scene_begin(&s, &random, 30, 2, -0.4);
    jobs[0] = (batch_job){.world = s.world, .rays = rays, .results = expected};
    run_batches(&jobs[0]);
    assert_int_equal(jobs[0].status, ABUT_OK);
    assert_true(expected->count > 100);
    assert_ok(abut_world_create(context, NULL, &world));
    for (uint32_t i = 0; i < s.count; i++)
        add(world, &s.items[i]);
    assert_ok(abut_world_prepare_queries(world));
    for (int k = 0; k < CALLERS; k++) {
        jobs[k] = (batch_job){.world = world,
                              .rays = rays,
                              .results = calloc(1, sizeof *jobs[k].results)};
        assert_int_equal(pthread_create(&callers[k], NULL, run_batches, &jobs[k]), 0);
    }
    for (int k = 0; k < CALLERS; k++)
        pthread_join(callers[k], NULL);
    for (int k = 0; k < CALLERS; k++) {
        const batch_results *r = jobs[k].results;
        assert_int_equal(jobs[k].status, ABUT_OK);
        assert_memory_equal(r->first, expected->first, sizeof r->first);
        assert_memory_equal(r->nearest, expected->nearest, sizeof r->nearest);
        assert_memory_equal(r->offsets, expected->offsets, sizeof r->offsets);
        assert_int_equal(r->count, expected->count);
        assert_memory_equal(r->all, expected->all, (size_t)r->count * sizeof *r->all);
        free(jobs[k].results);
    }
    abut_world_destroy(world);
    abut_context_destroy(context);
    query_scene_end(&s);
    free(expected);
    free(rays);
}

/* ---- failures ---- */

static abut_status query_all(abut_context *context, void *data) {
    const query_scene *s = data;
    enum { COUNT = 3 };
    abut_ray rays[COUNT];
    abut_world_hit hits[256];
    abut_world_hit_list found = {hits, 256, 0};
    abut_world_nearest nearest[COUNT];
    uint64_t offsets[COUNT + 1];
    abut_world *world = NULL;
    test_random random = {4};
    for (int i = 0; i < COUNT; i++)
        rays[i] = random_ray(&random, 2);
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < s->count && !status; i++) {
        uint32_t id;
        status = abut_world_add(world, &s->items[i], &id);
    }
    if (!status)
        status = abut_world_prepare_queries(world);
    if (!status)
        status =
            abut_world_ray_first(world, abut_array_host(rays), COUNT, HUGE_VAL, NULL, hits, NULL);
    if (!status)
        status = abut_world_ray_all(world, abut_array_host(rays), COUNT, HUGE_VAL, NULL, offsets,
                                    &found, NULL);
    if (!status)
        status = abut_world_nearest_point(world, abut_array_host(rays), COUNT, HUGE_VAL, NULL,
                                          nearest, NULL);
    abut_world_destroy(world);
    return status;
}

TEST(failing_allocations_change_nothing) {
    test_random random = {5};
    query_scene s;
    query_scene_begin(&s, &random, 10, 1, -0.4);
    assert_true(test_every_allocation(query_all, &s) > 8);
    query_scene_end(&s);
}

TEST(invalid_arguments_are_refused) {
    test_random random = {6};
    query_scene s;
    abut_ray ray = {{-10, 0, 0}, {1, 0, 0}};
    abut_world_hit hit, list[64];
    abut_world_hit_list found = {list, 64, 0};
    abut_world_nearest nearest;
    abut_world_query_options options = abut_world_query_options_default();
    uint64_t offsets[2];
    bool any;
    query_scene_begin(&s, &random, 10, 1, -0.4);
    const abut_array rays = abut_array_host(&ray), none = abut_array_host(NULL);
    assert_refused("world", abut_world_prepare_queries(NULL));
    assert_refused("world", abut_world_ray_first(NULL, rays, 1, 1, NULL, &hit, NULL));
    assert_refused("hits", abut_world_ray_first(s.world, rays, 1, 1, NULL, NULL, NULL));
    assert_refused("any", abut_world_ray_any(s.world, rays, 1, 1, NULL, NULL, NULL));
    assert_refused("rays", abut_world_ray_any(s.world, none, 1, 1, NULL, &any, NULL));
    assert_refused("limit", abut_world_ray_any(s.world, rays, 1, -1, NULL, &any, NULL));
    assert_refused("limit", abut_world_ray_any(s.world, rays, 1, NAN, NULL, &any, NULL));
    assert_refused("hits", abut_world_ray_all(s.world, rays, 1, 1, NULL, offsets, NULL, NULL));
    assert_refused("offsets", abut_world_ray_all(s.world, rays, 1, 1, NULL, NULL, &found, NULL));
    assert_refused("nearest", abut_world_nearest_point(s.world, rays, 1, 1, NULL, NULL, NULL));
    assert_refused("points", abut_world_nearest_point(s.world, none, 1, 1, NULL, &nearest, NULL));
    assert_refused("radius", abut_world_nearest_point(s.world, rays, 1, -1, NULL, &nearest, NULL));
    options.ignored_count = 1;
    assert_refused("ignored", abut_world_ray_any(s.world, rays, 1, 1, &options, &any, NULL));
    options.size = 1;
    assert_refused("size", abut_world_ray_any(s.world, rays, 1, 1, &options, &any, NULL));
    assert_ok(abut_world_ray_any(s.world, none, 0, 1, NULL, NULL, NULL)); /* an empty batch */
    ray.direction.x = 0;
    assert_refused("direction of ray 0", abut_world_ray_any(s.world, rays, 1, 1, NULL, &any, NULL));
    ray.direction.x = NAN;
    assert_refused("ray 0", abut_world_ray_any(s.world, rays, 1, 1, NULL, &any, NULL));
    ray = (abut_ray){{-10, 2 * ABUT_COORDINATE_MAX, 0}, {1, 0, 0}};
    assert_refused("ray 0", abut_world_ray_any(s.world, rays, 1, 1, NULL, &any, NULL));
    assert_refused("point 0", abut_world_nearest_point(s.world, rays, 1, 1, NULL, &nearest, NULL));

    /* A list that is too short is unchanged, and its count is set. */
    const abut_ray through = {v3_add(s.items[ABUT_COLLIDER_BOX].collider.pose.translation,
                                     v3(0, 0, 50)),
                              {0, 0, -1}};
    found.capacity = 0;
    found.list = NULL;
    assert_int_equal(abut_world_ray_all(s.world, abut_array_host(&through), 1, HUGE_VAL, NULL, NULL,
                                        &found, NULL),
                     ABUT_ERROR_BUFFER);
    assert_true(found.count > 0);
    query_scene_end(&s);
}

/* A progress callback sees a world that is being queried. */
static const abut_world *watched_world;
static abut_status nested_status;
static bool query_again(void *user, const char *stage, double fraction) {
    const abut_ray ray = {{-10, 0, 0}, {1, 0, 0}};
    abut_world_hit hit;
    if (strcmp(stage, "queries") == 0 && !*(uint32_t *)user) {
        *(uint32_t *)user = 1;
        nested_status = abut_world_ray_first(watched_world, abut_array_host(&ray), 1, HUGE_VAL,
                                             NULL, &hit, NULL);
    }
    return fraction < 2;
}

TEST(progress_may_query_again) {
    uint32_t called = 0;
    const double interval = abuti_progress_interval;
    abuti_progress_interval = 0;
    abut_context *context = test_watched(query_again, &called);
    abut_world *world;
    enum { COUNT = 300 };
    abut_ray rays[COUNT];
    abut_world_hit hits[COUNT];
    test_random random = {7};
    abut_world_item item = mesh_item(&things[2], abut_pose_identity());
    for (int i = 0; i < COUNT; i++)
        rays[i] = random_ray(&random, 2);
    assert_ok(abut_world_create(context, NULL, &world));
    add(world, &item);
    assert_ok(abut_world_prepare_queries(world));
    watched_world = world;
    nested_status = ABUT_ERROR_ARGUMENT;
    assert_ok(
        abut_world_ray_first(world, abut_array_host(rays), COUNT, HUGE_VAL, NULL, hits, NULL));
    abuti_progress_interval = interval;
    assert_true(called && nested_status == ABUT_OK);
    abut_world_destroy(world);
    abut_context_destroy(context);
}

static bool cancel(void *user, const char *stage, double fraction) {
    (void)user;
    (void)fraction;
    return strcmp(stage, "queries") != 0;
}

TEST(progress_may_cancel) {
    abut_context *context = test_watched(cancel, NULL);
    abut_world *world;
    enum { COUNT = 300 };
    static abut_world_hit hits[COUNT];
    abut_ray rays[COUNT];
    test_random random = {8};
    abut_world_item item = mesh_item(&things[2], abut_pose_identity());
    const double interval = abuti_progress_interval;
    abuti_progress_interval = 0;
    for (int i = 0; i < COUNT; i++)
        rays[i] = random_ray(&random, 2);
    assert_ok(abut_world_create(context, NULL, &world));
    add(world, &item);
    assert_ok(abut_world_prepare_queries(world));
    const abut_status status =
        abut_world_ray_first(world, abut_array_host(rays), COUNT, HUGE_VAL, NULL, hits, NULL);
    abuti_progress_interval = interval;
    assert_int_equal(status, ABUT_ERROR_CANCELLED);
    abut_world_destroy(world);
    abut_context_destroy(context);
}

int main(void) {
    return test_run(make_things, free_things);
}
