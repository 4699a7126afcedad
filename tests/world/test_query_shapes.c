/* Overlap tests, distances and shape casts against worlds: compared with a loop over all items by
 * the functions for one pair. */
#include "world/query_scene.h"

/* ---- colliders ---- */

/* Any kind that may query. */
static abut_collider random_collider(test_random *random, double reach) {
    abut_world_item item;
    do
        item = varied_item(random, reach);
    while (item.collider.kind == ABUT_COLLIDER_PLANE);
    if (item.collider.kind == ABUT_COLLIDER_BODY) {
        const thing *t = &things[test_random_below(random, THINGS)];
        const abut_pose at = item.collider.pose;
        item.collider = test_random_below(random, 2) ? abut_collider_from_bvh(t->bvh, at)
                                                     : abut_collider_from_mesh(t->mesh, at);
    }
    return item.collider;
}

/* A mesh becomes the body that functions for pairs accept. */
static abut_collider with_bvh(const abut_collider *c) {
    for (int i = 0; i < THINGS; i++)
        if (c->kind == ABUT_COLLIDER_MESH && c->shape.mesh.mesh == things[i].mesh)
            return abut_collider_from_bvh(things[i].bvh, c->pose);
    return *c;
}

static bool is_seen(const query_scene *s, uint32_t id) {
    return s->posed[id] || is_solid(&s->items[id]);
}

/* What a cylinder that is approximated by a prism may add, here and by abut_contact_find(). */
static double prism_error(const abut_collider *c) {
    return c->kind == ABUT_COLLIDER_CYLINDER ? 0.0025 * c->shape.cylinder.radius : 0;
}

/* The distance of a collider from an item, if it is at most `limit`: of two meshes by
 * <abut/pair.h>, otherwise that of the deepest contact, which is 0 for an overlap. */
static double pair_gap(const query_scene *s, const abut_collider *collider, uint32_t id,
                       double limit) {
    const abut_collider a = with_bvh(collider), *b = &s->items[id].collider;
    abut_patch patches[64];
    abut_contact contacts[512];
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = {.size = sizeof found,
                          .patches = {patches, 64, 0},
                          .contacts = {contacts, 512, 0}};
    if (collider_bvh(&a) && collider_bvh(b)) {
        abut_separation separation;
        assert_ok(abut_pair_distance(&a, b, NULL, NULL, &separation));
        return separation.distance;
    }
    options.margin = limit;
    assert_ok(abut_contact_find(&a, b, &options, &found));
    return found.patches.count ? fmax(-patches[0].depth, 0) : HUGE_VAL;
}

/* ---- overlap ---- */

TEST(overlaps_equal_a_loop_over_all_items) {
    test_random random = {11};
    uint32_t overlaps = 0, apart = 0, kinds[ABUT_COLLIDER_MESH + 1] = {0};
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        query_scene s;
        query_scene_begin(&s, &random, 24, 2, -6);
        for (int i = 0; i < 25; i++) {
            const abut_collider collider = random_collider(&random, 2);
            const double margin = i % 2 ? 0 : test_random_real(&random, 0, 0.5);
            uint32_t list[QUERY_ITEMS], first;
            uint64_t offsets[2], at = 0;
            abut_index_list found = {list, QUERY_ITEMS, 0};
            assert_ok(
                abut_world_overlap_all(s.world, &collider, 1, margin, NULL, offsets, &found, NULL));
            assert_ok(abut_world_overlap_any(s.world, &collider, 1, margin, NULL, &first, NULL));
            assert_int_equal(first, found.count ? list[0] : ABUT_NONE);
            assert_true(offsets[0] == 0 && offsets[1] == found.count);
            for (uint32_t id = 0; id < s.count; id++) {
                const bool listed = at < found.count && list[at] == id;
                at += listed;
                if (!is_seen(&s, id)) {
                    assert_false(listed);
                    continue;
                }
                const double gap = pair_gap(&s, &collider, id, margin + 0.01) - margin,
                             doubt =
                                 1e-9 + prism_error(&collider) + prism_error(&s.items[id].collider);
                if (fabs(gap) > doubt || margin == 0)
                    assert_int_equal(listed, gap <= (listed ? doubt : 0));
                overlaps += listed;
                apart += !listed;
                kinds[collider.kind] += listed;
            }
            assert_int_equal(at, found.count);
        }
        query_scene_end(&s);
    }
    assert_true(overlaps > 50 && apart > 50);
    assert_true(kinds[ABUT_COLLIDER_BODY] && kinds[ABUT_COLLIDER_MESH]);
}

/* A sphere without radius finds the items that contain a point, and boxes inside boxes overlap. */
TEST(overlaps_include_containment) {
    abut_world *world;
    const abut_pose here = abut_pose_identity();
    abut_collider inner = abut_collider_from_sphere((abut_sphere){{0.1, 0, 0}, 0}, here);
    abut_collider outer = abut_collider_from_box((abut_vec3){20, 20, 20}, here);
    abut_collider shell[2];
    uint32_t list[8];
    uint64_t offsets[3];
    abut_index_list found = {list, 8, 0};
    assert_ok(abut_world_create(serial, NULL, &world));
    abut_world_item item = mesh_item(&things[2], here); /* a ball around the origin */
    add(world, &item);
    item.collider = abut_collider_from_box((abut_vec3){1, 1, 1}, here);
    add(world, &item);
    item.collider.pose.translation.x = 5;
    add(world, &item);
    item.collider = abut_collider_from_plane((abut_plane){{0, 0, 1}, 1}, here);
    add(world, &item);
    assert_ok(abut_world_prepare_queries(world));
    shell[0] = inner;
    shell[1] = outer;
    assert_ok(abut_world_overlap_all(world, shell, 2, 0, NULL, offsets, &found, NULL));
    assert_true(offsets[1] == 3 && offsets[2] == 7);
    const uint32_t expected[] = {0, 1, 3, 0, 1, 2, 3};
    assert_memory_equal(list, expected, sizeof expected);
    abut_world_destroy(world);
}

/* Containment in a mesh with a small hole is limited, and the report says so. */
TEST(overlaps_report_the_reliability_of_containment) {
    abut_mesh *ball = things[2].mesh;
    abut_world_query_report report = abut_world_query_report_default();
    const abut_collider dot =
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.01}, abut_pose_identity());
    for (int holed = 0; holed < 2; holed++) {
        abut_vec3 *positions = malloc(abut_mesh_vertex_count(ball) * sizeof *positions);
        for (uint32_t i = 0; i < abut_mesh_vertex_count(ball); i++)
            positions[i] = abuti_mesh_position(ball, i);
        abut_mesh *mesh =
            test_mesh(serial, positions, abut_mesh_vertex_count(ball), abut_mesh_indices(ball),
                      abut_mesh_triangle_count(ball) - (holed ? 1 : 0));
        abut_world *world;
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        assert_ok(abut_world_create(serial, NULL, &world));
        item.collider = abut_collider_from_mesh(mesh, abut_pose_identity());
        add(world, &item);
        assert_ok(abut_world_prepare_queries(world));
        assert_ok(abut_world_overlap_any(world, &dot, 1, 0, NULL, &id, &report));
        assert_int_equal(id, 0);
        assert_int_equal(report.reliability.level,
                         holed ? ABUT_RELIABILITY_LIMITED : ABUT_RELIABILITY_GUARANTEED);
        abut_world_destroy(world);
        abut_mesh_destroy(mesh);
        free(positions);
    }
}

/* ---- distances ---- */

TEST(nearest_items_equal_a_loop_over_all_items) {
    test_random random = {12};
    for (uint32_t round = 0; round < test_rounds(16); round++) {
        query_scene s;
        query_scene_begin(&s, &random, 16, 3, -3);
        for (int i = 0; i < 9; i++) {
            const abut_collider collider = random_collider(&random, 4);
            const double radius = i % 2 ? HUGE_VAL : test_random_real(&random, 0, 2);
            const uint64_t most = i % 3 ? QUERY_ITEMS : 4;
            abut_world_separation list[QUERY_ITEMS];
            abut_world_separation_list found = {list, most, 0};
            double gaps[QUERY_ITEMS];
            uint64_t within = 0;
            assert_ok(abut_world_nearest_items(s.world, &collider, radius, NULL, &found, NULL));
            for (uint32_t id = 0; id < s.count; id++) {
                gaps[id] = is_seen(&s, id) ? pair_gap(&s, &collider, id, 50) : HUGE_VAL;
                within += gaps[id] < radius;
            }
            const uint64_t wanted = within < most ? within : most;
            for (uint64_t k = 0; k < found.count; k++) {
                const abut_collider *other = &s.items[list[k].id].collider;
                const double doubt = 1e-8 + prism_error(&collider) + prism_error(other);
                assert_true(fabs(list[k].distance - gaps[list[k].id]) <= doubt);
                assert_true(fabs(v3_length(v3_sub(list[k].point_item, list[k].point_collider)) -
                                 list[k].distance) < 1e-8);
                if (k)
                    assert_true(
                        list[k - 1].distance < list[k].distance ||
                        (list[k - 1].distance == list[k].distance && list[k - 1].id < list[k].id));
                if (list[k].distance > 0 && is_solid(&s.items[list[k].id]))
                    assert_true(fabs(solid_distance(other, list[k].point_item)) <
                                doubt + 2e-3 * prism_error(other) + 1e-6);
                gaps[list[k].id] = HUGE_VAL; /* each item at most once */
            }
            /* No remaining item is nearer than the last one. */
            const double last =
                found.count == most ? list[most - 1].distance + 2e-3 : real_min(radius, 1e9);
            for (uint32_t id = 0; id < s.count; id++)
                assert_true(gaps[id] == HUGE_VAL || gaps[id] > last - 4e-3);
            assert_true(found.count <= most &&
                        (found.count == wanted || fabs((double)found.count - (double)wanted) <= 1));
        }
        query_scene_end(&s);
    }
}

/* ---- casts ---- */

static bool has_plane(const abut_collider *c) {
    return c->kind == ABUT_COLLIDER_PLANE;
}

/* Two times of impact, neither of which may be late: until the later one the gap is not less than
 * the separation, and between them it hardly exceeds that. */
static void check_impact_time(const query_scene *s, const abut_collider *collider,
                              const abut_pose *end, uint32_t id, double one, double other,
                              double separation) {
    enum { SAMPLES = 20 };
    const double from = real_min(one, other), to = real_max(one, other);
    for (int i = 0; i < SAMPLES; i++) {
        abut_collider at = *collider;
        const double t = from + (to - from) * i / SAMPLES;
        assert_ok(abut_pose_interpolate(&collider->pose, end, t, &at.pose));
        const double gap = pair_gap(s, &at, id, 1) - separation,
                     doubt = prism_error(&at) + prism_error(&s->items[id].collider);
        assert_true(gap > -1e-9 - doubt && gap < 0.005);
    }
}

TEST(casts_equal_a_loop_over_all_items) {
    test_random random = {13};
    uint32_t hits = 0, starts = 0, misses = 0, planes = 0;
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        query_scene s;
        query_scene_begin(&s, &random, 16, 3, -3);
        for (int i = 0; i < 6; i++) {
            abut_collider collider = random_collider(&random, 4);
            abut_pose end = random_pose(&random, 4);
            abut_sweep_rigid_options sweep = abut_sweep_rigid_options_default();
            abut_world_cast list[QUERY_ITEMS], first;
            abut_world_cast_list found = {list, QUERY_ITEMS, 0};
            uint64_t offsets[2], count = 0;
            bool any;
            const uint32_t ignored = i % 3 == 1 ? ABUT_COLLIDER_PLANE : ABUT_NONE;
            abut_world_query_options options = abut_world_query_options_default();
            options.ignored = &ignored;
            options.ignored_count = 1;
            if (i % 3 == 1) { /* far away, and at an item */
                collider.pose.translation = (abut_vec3){20, 20, 20};
                end.translation = (abut_vec3){-20, 20, 20};
                if (i > 1)
                    end = s.items[ABUT_COLLIDER_HULL].collider.pose;
            } else if (i % 3 == 2) {
                collider.pose = s.items[ABUT_COLLIDER_HULL].collider.pose;
                end.translation = (abut_vec3){0, 0, -30};
            }
            const abut_collider moving = with_bvh(&collider);
            sweep.separation = i % 2 ? 0 : 0.1;
            assert_ok(abut_world_cast_all(s.world, &collider, &end, 1, &sweep, &options, offsets,
                                          &found, NULL));
            assert_ok(
                abut_world_cast_first(s.world, &collider, &end, 1, &sweep, &options, &first, NULL));
            assert_ok(
                abut_world_cast_any(s.world, &collider, &end, 1, &sweep, &options, &any, NULL));
            for (uint32_t id = 0; id < s.count; id++) {
                abut_sweep_rigid_result expected;
                uint64_t k = 0;
                if (!is_seen(&s, id) || id == ignored)
                    continue;
                assert_ok(abut_sweep_rigid(&moving, &end, &s.items[id].collider, NULL, &sweep,
                                           &expected));
                while (k < found.count && list[k].id != id)
                    k++;
                assert_int_equal(k < found.count, expected.hit);
                count += expected.hit;
                if (!expected.hit)
                    continue;
                const abut_sweep_rigid_result *result = &list[k].result;
                /* Parts of the path are swept, so that times differ within the tolerance. */
                if (!(fabs(result->time - expected.time) < 1e-5))
                    check_impact_time(&s, &moving, &end, id, expected.time, result->time,
                                      sweep.separation);
                assert_true((result->time == 0) == (expected.time == 0));
                assert_true(expected.time == 0 || fabs(v3_length(result->normal) - 1) < 1e-9);
                planes += has_plane(&s.items[id].collider);
            }
            assert_true(found.count == count && offsets[1] == count && any == (count > 0));
            for (uint64_t k = 1; k < found.count; k++)
                assert_true(list[k - 1].result.time < list[k].result.time ||
                            (list[k - 1].result.time == list[k].result.time &&
                             list[k - 1].id < list[k].id));
            if (count) {
                assert_true(first.id == list[0].id && first.result.time == list[0].result.time);
                hits += first.result.time > 0;
                starts += first.result.time == 0;
            } else {
                assert_true(first.id == ABUT_NONE && !first.result.hit);
                misses++;
            }
        }
        query_scene_end(&s);
    }
    assert_true(hits && starts && misses);
    assert_true(planes || !test_thorough());
}

/* A small fast ball does not pass a thin plate, whatever its speed. */
TEST(casts_miss_no_thin_plate) {
    abut_world *world;
    abut_world_item item = abut_world_item_default();
    assert_ok(abut_world_create(serial, NULL, &world));
    for (int i = 0; i < 5; i++) {
        item.collider = abut_collider_from_box((abut_vec3){1e-5, 1, 1}, abut_pose_identity());
        item.collider.pose.translation.x = i;
        add(world, &item);
    }
    assert_ok(abut_world_prepare_queries(world));
    for (double speed = 1; speed < 1e7; speed *= 10) {
        abut_collider ball =
            abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.01}, abut_pose_identity());
        abut_pose end = abut_pose_identity();
        abut_world_cast list[5];
        abut_world_cast_list found = {list, 5, 0};
        uint64_t offsets[2];
        ball.pose.translation.x = -0.5;
        end.translation.x = -0.5 + speed;
        assert_ok(abut_world_cast_all(world, &ball, &end, 1, NULL, NULL, offsets, &found, NULL));
        assert_int_equal(found.count, speed < 5 ? 1 : 5);
        for (uint64_t k = 0; k < found.count; k++) {
            assert_int_equal(list[k].id, k);
            assert_true(fabs(list[k].result.time * speed - (0.48999 + (double)k)) < 1e-4);
            assert_true(list[k].result.normal.x < -0.99);
        }
    }
    abut_world_destroy(world);
}

/* ---- threads ---- */

enum { BATCH = 60 };

typedef struct shape_results {
    uint32_t ids[BATCH * QUERY_ITEMS], first[BATCH];
    uint64_t id_offsets[BATCH + 1], cast_offsets[BATCH + 1], id_count, cast_count;
    double times[BATCH * QUERY_ITEMS], first_times[BATCH];
} shape_results;

static void query_batches(const abut_world *world, const abut_collider *colliders,
                          const abut_pose *ends, shape_results *r) {
    abut_index_list ids = {r->ids, BATCH * QUERY_ITEMS, 0};
    abut_world_cast *casts = malloc(BATCH * QUERY_ITEMS * sizeof *casts);
    abut_world_cast_list list = {casts, BATCH * QUERY_ITEMS, 0};
    memset(r, 0, sizeof *r);
    assert_ok(
        abut_world_overlap_all(world, colliders, BATCH, 0.1, NULL, r->id_offsets, &ids, NULL));
    assert_ok(abut_world_overlap_any(world, colliders, BATCH, 0.1, NULL, r->first, NULL));
    assert_ok(abut_world_cast_all(world, colliders, ends, BATCH, NULL, NULL, r->cast_offsets, &list,
                                  NULL));
    for (uint64_t i = 0; i < list.count; i++)
        r->times[i] = list.list[i].result.time;
    assert_ok(abut_world_cast_first(world, colliders, ends, BATCH, NULL, NULL, casts, NULL));
    for (int i = 0; i < BATCH; i++)
        r->first_times[i] = casts[i].result.time;
    r->id_count = ids.count;
    r->cast_count = list.count;
    free(casts);
}

TEST_THREADS(batches_of_shapes_do_not_depend_on_threads) {
    test_random random = {14};
    query_scene s;
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 3);
    abut_world *world;
    abut_collider colliders[BATCH];
    abut_pose ends[BATCH];
    shape_results *serially = malloc(sizeof *serially), *threaded = malloc(sizeof *threaded);
    for (int i = 0; i < BATCH; i++) {
        colliders[i] = random_collider(&random, 3);
        ends[i] = random_pose(&random, 3);
    }
    query_scene_begin(&s, &random, 20, 3, -6);
    assert_ok(abut_world_create(context, NULL, &world));
    for (uint32_t i = 0; i < s.count; i++)
        add(world, &s.items[i]);
    assert_ok(abut_world_prepare_queries(world));
    query_batches(s.world, colliders, ends, serially);
    query_batches(world, colliders, ends, threaded);
    assert_memory_equal(serially, threaded, sizeof *serially);
    assert_true(serially->id_count > 10 && serially->cast_count > 10);
    free(threaded);
    free(serially);
    abut_world_destroy(world);
    query_scene_end(&s);
    abut_context_destroy(context);
}

/* ---- failures ---- */

typedef struct shape_queries {
    const query_scene *scene;
    abut_collider colliders[3];
    abut_pose ends[3];
} shape_queries;

static abut_status query_all(abut_context *context, void *data) {
    const shape_queries *w = data;
    uint32_t ids[64];
    uint64_t offsets[4];
    abut_world_separation separations[4];
    abut_world_cast casts[64];
    abut_index_list id_list = {ids, 64, 0};
    abut_world_separation_list nearest = {separations, 4, 0};
    abut_world_cast_list cast_list = {casts, 64, 0};
    abut_world *world = NULL;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < w->scene->count && !status; i++) {
        uint32_t id;
        status = abut_world_add(world, &w->scene->items[i], &id);
    }
    if (!status)
        status = abut_world_prepare_queries(world);
    if (!status)
        status = abut_world_overlap_all(world, w->colliders, 3, 0.1, NULL, offsets, &id_list, NULL);
    if (!status)
        status = abut_world_overlap_any(world, w->colliders, 3, 0.1, NULL, ids, NULL);
    if (!status)
        status = abut_world_nearest_items(world, &w->colliders[0], HUGE_VAL, NULL, &nearest, NULL);
    if (!status)
        status = abut_world_cast_all(world, w->colliders, w->ends, 3, NULL, NULL, offsets,
                                     &cast_list, NULL);
    if (!status)
        status = abut_world_cast_first(world, w->colliders, w->ends, 3, NULL, NULL, casts, NULL);
    abut_world_destroy(world);
    return status;
}

TEST(failing_allocations_change_nothing) {
    test_random random = {15};
    query_scene s;
    shape_queries w = {.scene = &s};
    const abut_pose here = abut_pose_identity();
    query_scene_begin(&s, &random, 8, 1, -6);
    w.colliders[0] = abut_collider_from_capsule((abut_capsule){{{0, 0, 0}, {1, 0, 0}}, 0.3}, here);
    w.colliders[1] = abut_collider_from_cylinder((abut_cylinder){{{0, 0, 0}, {1, 0, 0}}, 1}, here);
    w.colliders[2] = abut_collider_from_bvh(things[HULL].bvh, here);
    for (int i = 0; i < 3; i++)
        w.ends[i] = random_pose(&random, 1);
    assert_true(test_every_allocation(query_all, &w) > 20);
    query_scene_end(&s);
}

TEST(invalid_arguments_are_refused) {
    test_random random = {16};
    query_scene s;
    const abut_pose here = abut_pose_identity();
    abut_pose far = here;
    abut_collider c = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, here);
    abut_collider plane = abut_collider_from_plane((abut_plane){{0, 0, 1}, 0}, here);
    abut_collider body = abut_collider_make(ABUT_COLLIDER_BODY, here);
    abut_world_separation separations[4];
    abut_world_separation_list nearest = {separations, 4, 0};
    abut_sweep_rigid_options sweep = abut_sweep_rigid_options_default();
    abut_index_list ids = {NULL, 0, 0};
    abut_world_cast cast;
    uint32_t id;
    bool any;
    far.translation.x = 2 * ABUT_COORDINATE_MAX;
    query_scene_begin(&s, &random, 10, 1, -6);
    assert_refused("world", abut_world_overlap_any(NULL, &c, 1, 0, NULL, &id, NULL));
    assert_refused("ids", abut_world_overlap_any(s.world, &c, 1, 0, NULL, NULL, NULL));
    assert_refused("ids", abut_world_overlap_all(s.world, &c, 1, 0, NULL, NULL, NULL, NULL));
    assert_refused("colliders is", abut_world_overlap_any(s.world, NULL, 1, 0, NULL, &id, NULL));
    assert_refused("margin", abut_world_overlap_any(s.world, &c, 1, -1, NULL, &id, NULL));
    assert_refused("margin", abut_world_overlap_any(s.world, &c, 1, NAN, NULL, &id, NULL));
    assert_refused("plane", abut_world_overlap_any(s.world, &plane, 1, 0, NULL, &id, NULL));
    assert_refused("bvh", abut_world_overlap_any(s.world, &body, 1, 0, NULL, &id, NULL));
    c.shape.sphere.radius = -1;
    assert_refused("radius", abut_world_overlap_any(s.world, &c, 1, 0, NULL, &id, NULL));
    assert_refused("radius", abut_world_nearest_items(s.world, &c, 1, NULL, &nearest, NULL));
    c.shape.sphere.radius = 1;
    assert_refused("radius", abut_world_nearest_items(s.world, &c, -1, NULL, &nearest, NULL));
    assert_refused("collider", abut_world_nearest_items(s.world, NULL, 1, NULL, &nearest, NULL));
    assert_refused("nearest", abut_world_nearest_items(s.world, &c, 1, NULL, NULL, NULL));
    assert_refused("ends is", abut_world_cast_any(s.world, &c, NULL, 1, NULL, NULL, &any, NULL));
    assert_refused("ends[0]", abut_world_cast_any(s.world, &c, &far, 1, NULL, NULL, &any, NULL));
    assert_refused("hits", abut_world_cast_first(s.world, &c, &here, 1, NULL, NULL, NULL, NULL));
    sweep.separation = -1;
    assert_refused("separation",
                   abut_world_cast_first(s.world, &c, &here, 1, &sweep, NULL, &cast, NULL));
    sweep = abut_sweep_rigid_options_default();
    sweep.tolerance = NAN;
    assert_refused("tolerance",
                   abut_world_cast_any(s.world, &c, &here, 1, &sweep, NULL, &any, NULL));
    const abut_collider mesh = abut_collider_from_mesh(things[0].mesh, here);
    assert_refused("ends[0]", abut_world_cast_any(s.world, &mesh, &far, 1, NULL, NULL, &any, NULL));

    /* Empty batches, and a list without capacity, which counts or is not filled. */
    assert_ok(abut_world_overlap_any(s.world, NULL, 0, 0, NULL, NULL, NULL));
    c.shape.sphere.radius = 9;
    assert_int_equal(abut_world_overlap_all(s.world, &c, 1, 0, NULL, NULL, &ids, NULL),
                     ABUT_ERROR_BUFFER);
    assert_true(ids.count > 0 && ids.count <= 10);
    nearest = (abut_world_separation_list){NULL, 0, 7};
    assert_ok(abut_world_nearest_items(s.world, &c, HUGE_VAL, NULL, &nearest, NULL));
    assert_int_equal(nearest.count, 0);
    query_scene_end(&s);
}

int main(void) {
    return test_run(make_things, free_things);
}
