/* Layers with nothing, too much and nonsense to look at; and out of memory. */
#include "layers/scene.h"

static abut_layers *start(void) {
    abut_layers *layers;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    return layers;
}

static uint32_t add(abut_layers *layers, const abut_mesh *mesh, double x, double y, double z) {
    return add_mesh(layers, mesh, shifted(x, y, z));
}

static abut_layers_query quick(uint32_t resolution) {
    abut_layers_query query = abut_layers_query_default();
    query.resolution = resolution;
    return query;
}

TEST(none_and_one) {
    AUTO(layers) layers = start();
    abut_layers_pair pairs[2];
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = pairs,
                                .pairs.capacity = 2,
                                .own.list = pairs,
                                .own.capacity = 2};
    abut_layers_query query = quick(64);
    for (int k = 0; k < 8; k++) {
        found.pairs.count = 7;
        query.is_exact = k & 1;
        query.measure_volume = query.find_self = k & 2;
        assert_ok(abut_layers_find(layers, k & 4 ? NULL : &query, &found));
        assert_int_equal(found.pairs.count, 0);
        assert_int_equal(found.own.count, 0);
        if (k == 3)
            add(layers, models[2], 0, 0, 0);
    }
    assert_ok(abut_layers_remove(layers, 0));
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 0);
    assert_refused("", abut_layers_remove(layers, 0));
    assert_refused("", abut_layers_remove(layers, ABUT_NONE));
    assert_refused("", abut_layers_set_positions(layers, 0, abut_array_host(pairs)));
    abut_layers_destroy(NULL);
}

/* A mesh, its BVH and a hull are the same solid, and the set keeps the mesh. */
TEST(kinds_of_colliders) {
    AUTO(layers) layers = start();
    abut_layers_item item = abut_layers_item_default();
    abut_layers_pair pairs[3];
    abut_layers_result found = {.size = sizeof found, .pairs = {pairs, 3, 0}};
    abut_layers_query query = abut_layers_query_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    abut_bvh *bvh;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_collider kinds[3] = {abut_collider_from_mesh(mesh, shifted(0, 0, 0)),
                                    abut_collider_from_bvh(bvh, shifted(0.5, 0, 0)),
                                    abut_collider_from_hull(bvh, shifted(1, 0.5, 0))};
    for (int i = 0; i < 3; i++) {
        item.collider = kinds[i];
        assert_ok(abut_layers_add(layers, &item, NULL));
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    query.measure_volume = true;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 3);
    const double volumes[3] = {0.5, 0, 0.25};
    for (int i = 0; i < 3; i++)
        assert_true(fabs(pairs[i].volume - volumes[i]) < 1e-12);
}

TEST(nonsense_is_refused) {
    AUTO(layers) layers = start();
    abut_layers_item item = {.size = sizeof(abut_layers_item),
                             .collider = abut_collider_from_mesh(models[0], abut_pose_identity())};
    abut_layers_result found = {.size = sizeof found, .pairs.capacity = 0};
    uint32_t id = 77;
    assert_refused("", abut_layers_create(serial, NULL, NULL));
    assert_refused("", abut_layers_add(layers, NULL, &id));
    item.collider.shape.mesh.mesh = NULL;
    assert_refused("", abut_layers_add(layers, &item, &id));
    item.collider = abut_collider_from_box((abut_vec3){1, 1, 1}, abut_pose_identity());
    assert_refused("item->collider is a box", abut_layers_add(layers, &item, &id));
    item.collider = abut_collider_from_bvh(NULL, abut_pose_identity());
    assert_refused("shape.body.bvh is null", abut_layers_add(layers, &item, &id));
    item.collider = abut_collider_from_mesh(models[0], abut_pose_identity());
    item.size = 0;
    assert_refused("size field is 0", abut_layers_add(layers, &item, &id));
    item.size = sizeof item;
    const double bad[3] = {NAN, INFINITY, 1e300};
    for (int k = 0; k < 3; k++) {
        item.collider.pose.translation.y = bad[k];
        assert_refused("", abut_layers_add(layers, &item, &id));
    }
    item.collider.pose.translation.y = 0;
    item.collider.pose.rotation.w = NAN;
    assert_refused("", abut_layers_add(layers, &item, &id));
    assert_int_equal(id, 77);
    for (uint32_t i = 0; i < 3; i++)
        add(layers, models[0], 0.5 * i, 0, 0);
    /* All of them or none. */
    abut_pose poses[3] = {shifted(50, 0, 0), shifted(90, 0, 0), shifted(NAN, 0, 0)};
    assert_refused("", abut_layers_set_poses(layers, NULL, abut_array_host(poses), 3));
    const uint32_t ids[2] = {0, 3};
    assert_refused("", abut_layers_set_poses(layers, ids, abut_array_host(poses), 2));
    abut_vec3 moved[64];
    memset(moved, 0, sizeof moved);
    moved[5].z = NAN;
    assert_true(abut_mesh_vertex_count(models[0]) <= 64);
    assert_refused("", abut_layers_set_positions(layers, 0, abut_array_host(moved)));
    abut_layers_query query = quick(32);
    assert_int_equal(abut_layers_find(layers, &query, &found), ABUT_ERROR_BUFFER);
    assert_int_equal(found.pairs.count, 2);
    query.tolerance = NAN;
    assert_refused("tolerance", abut_layers_find(layers, &query, &found));
    query.tolerance = -1;
    assert_refused("tolerance", abut_layers_find(layers, &query, &found));
    assert_refused("", abut_layers_find(layers, NULL, NULL));
    assert_refused("", abut_layers_find(NULL, NULL, &found));
    query = quick(ABUT_RASTER_MAX + 1);
    assert_true(abut_layers_find(layers, &query, &found) != ABUT_OK);
    abut_raster_view view = abut_raster_view_default();
    query = quick(32);
    query.views = &view;
    query.view_count = 1;
    view.direction = (abut_vec3){NAN, 0, 0};
    assert_refused("", abut_layers_find(layers, &query, &found));
    view.direction = (abut_vec3){0, 0, 1};
    view.region = (abut_box){{0, 0, 0}, {-1, 1, 1}};
    assert_refused("", abut_layers_find(layers, &query, &found));
    view.region = (abut_box){{0, 0, 0}, {1, INFINITY, 1}};
    assert_refused("", abut_layers_find(layers, &query, &found));
}

/* A box without a side, and one of which a side is turned. */
TEST(open_meshes_are_named) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    AUTO(mesh) box;
    shape.segments = 1;
    assert_ok(abut_shape_create(serial, &shape, &box));
    uint32_t indices[36], count = abut_mesh_triangle_count(box);
    assert_int_equal(count, 12);
    memcpy(indices, abut_mesh_indices(box), sizeof indices);
    abut_vec3 points[8];
    for (int i = 0; i < 8; i++)
        points[i] = v3_add(abut_mesh_local_origin(box), abut_mesh_local_positions(box)[i]);
    AUTO(mesh) open = test_mesh(serial, points, 8, indices, 10);
    uint32_t swap = indices[0];
    indices[0] = indices[1];
    indices[1] = swap;
    AUTO(mesh) twisted = test_mesh(serial, points, 8, indices, 12);
    abut_layers_options options = abut_layers_options_default();
    for (int cap = 0; cap < 2; cap++) {
        AUTO(layers) layers;
        abut_layers_pair pairs[3];
        abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 3};
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(open, abut_pose_identity())};
        abut_layers_query query = quick(64);
        uint32_t id;
        options.cap = cap;
        assert_ok(abut_layers_create(serial, &options, &layers));
        if (cap)
            assert_ok(abut_layers_add(layers, &item, &id));
        else
            assert_refused("", abut_layers_add(layers, &item, &id));
        item.collider.shape.mesh.mesh = twisted;
        assert_refused("", abut_layers_add(layers, &item, &id));
        add(layers, box, 0.5, 0.25, 0.125);
        assert_ok(abut_layers_find(layers, &query, &found));
        assert_int_equal(found.pairs.count, cap);
        if (cap)
            assert_true(fabs(pairs[0].volume - 0.5 * 0.75 * 0.875) < 0.03);
    }
}

static abut_mesh *tetrahedron(double size) {
    const double points[12] = {0, 0, 0, size, 0, 0, 0, size, 0, 0, 0, size};
    const uint32_t indices[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    return test_mesh(serial, points, 4, indices, 4);
}

/* Ids do not wrap at 65,535. */
TEST(seventy_thousand_solids) {
    enum { COUNT = 70000, SIDE = 265 };
    AUTO(mesh) mesh = tetrahedron(0.4);
    AUTO(layers) layers = start();
    abut_layers_pair pairs[4];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 4};
    for (uint32_t i = 0; i < COUNT; i++)
        add(layers, mesh, i % SIDE, i / SIDE, 0);
    abut_pose place = shifted((COUNT - 1) % SIDE - 0.1, (COUNT - 1) / SIDE, 0.1);
    const uint32_t ids[2] = {5, 69000};
    abut_pose poses[2] = {place, place};
    poses[1].translation = v3(65536 % SIDE, 65536 / SIDE - 0.1, -0.1);
    assert_ok(abut_layers_set_poses(layers, ids, abut_array_host(poses), 2));
    abut_layers_query query = quick(2000);
    for (int k = 0; k < 2; k++) {
        query.is_exact = k;
        assert_ok(abut_layers_find(layers, &query, &found));
        assert_int_equal(found.pairs.count, 2);
        assert_true(pairs[0].a == 5 && pairs[0].b == COUNT - 1);
        assert_true(pairs[1].a == 65536 && pairs[1].b == 69000);
    }
}

/* Thin plates behind each other, each a little in the next: 10,000 surfaces along every ray. */
TEST(ten_thousand_layers_in_a_pixel) {
    enum { PLATES = 5000 };
    AUTO(mesh) plate = shape_mesh(ABUT_SHAPE_BOX, 1, 1);
    AUTO(layers) layers = start();
    abut_layers_pair *pairs = calloc(PLATES, sizeof *pairs);
    assert_non_null(pairs);
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = pairs,
                                .pairs.capacity = PLATES};
    for (uint32_t i = 0; i < PLATES; i++) /* 0.6 thick */
        add(layers, plate, 0, 0, 0.59 * i);
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = 6;
    abut_layers_query query = quick(0);
    query.views = &view;
    query.view_count = 1;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, PLATES - 1);
    assert_true(found.fragments >= 2 * PLATES);
    for (uint32_t i = 0; i + 1 < PLATES; i++) {
        assert_true(pairs[i].a == i && pairs[i].b == i + 1);
        assert_true(fabs(pairs[i].length - 0.01) < 1e-5);
    }
    /* One within all others: every pair along every ray. */
    enum { CROWD = 40 };
    AUTO(layers) crowd = start();
    for (uint32_t i = 0; i < CROWD; i++)
        add(crowd, plate, 0, 0, 0.001 * i);
    query.resolution = 8;
    assert_ok(abut_layers_find(crowd, &query, &found));
    assert_int_equal(found.pairs.count, CROWD * (CROWD - 1) / 2);
    free(pairs);
}

/* A world of 1e6 and things of 1e-6 in one picture. */
TEST(large_and_small_together) {
    AUTO(mesh)
    large = shape_mesh(ABUT_SHAPE_BOX, 1e6, 1), *small = shape_mesh(ABUT_SHAPE_BOX, 1e-6, 1);
    AUTO(layers) layers = start();
    abut_layers_pair pairs[8];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 8};
    abut_layers_query query = quick(64);
    add(layers, large, 0, 0, 0);
    add(layers, small, 3, 5, 7);
    add(layers, small, 3, 5, 7.0000002);
    add(layers, small, 3, 5, 4e5);
    query.is_exact = true;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 3);
    assert_true(pairs[0].a == 0 && pairs[0].b == 1 && pairs[1].b == 2 && pairs[2].a == 1);
    /* A region makes the small ones large. */
    abut_raster_view view = abut_raster_view_default();
    view.region = (abut_box){{3 - 1e-6, 5 - 1e-6, 7 - 1e-6}, {3 + 1e-6, 5 + 1e-6, 7 + 1e-6}};
    query = quick(32);
    query.views = &view;
    query.view_count = 1;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 3);
    assert_true(fabs(pairs[2].length - 0.4e-6) < 1e-8);
}

TEST(outside_every_view) {
    AUTO(layers) layers = start();
    abut_layers_pair pairs[2];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 2};
    abut_raster_view views[2] = {abut_raster_view_default(), abut_raster_view_default()};
    abut_layers_query query = quick(64);
    add(layers, models[0], 0, 0, 0);
    add(layers, models[1], 0.3, 0, 0);
    views[0].region = (abut_box){{10, 10, 10}, {11, 11, 11}};
    views[1] = views[0];
    views[1].perspective = true;
    views[1].eye = v3(10, 10, 15);
    query.views = views;
    query.view_count = 2;
    for (int k = 0; k < 4; k++) {
        query.every_pixel = k & 1;
        query.find_hits = k & 2;
        assert_ok(abut_layers_find(layers, &query, &found));
        assert_int_equal(found.pairs.count, 0);
    }
}

/* 10^10 pixels, of which few are looked at. */
TEST(a_hundred_thousand_pixels_wide) {
    AUTO(mesh) box = shape_mesh(ABUT_SHAPE_BOX, 1, 1);
    AUTO(layers) layers = start();
    abut_layers_pair pairs[2];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 2};
    abut_raster_view view = abut_raster_view_default();
    abut_layers_query query = quick(ABUT_RASTER_MAX);
    view.region = (abut_box){{-500, -500, -5}, {500, 500, 5}};
    add(layers, box, 100, -200, 0);
    add(layers, box, 100.9, -200, 0);
    query.views = &view;
    query.view_count = 1;
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    assert_true(fabs(pairs[0].volume - 0.1 * 0.8 * 0.6) < 0.012);
}

/* ---- memory ---- */

enum { FEW = 5 };

typedef struct plan {
    abut_layers_query query;
    uint32_t seed;
} plan;

static abut_status live_a_little(abut_context *context, void *data) {
    const plan *p = data;
    test_random random = {p->seed};
    abut_layers *layers = NULL;
    abut_pose poses[FEW];
    static abut_layers_pair pairs[64], own[FEW];
    static abut_layers_hit hits[20000];
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = pairs,
                                .pairs.capacity = 64,
                                .own.list = own,
                                .own.capacity = FEW,
                                .hits.list = hits,
                                .hits.capacity = 20000};
    abut_status status = abut_layers_create(context, NULL, &layers);
    for (uint32_t i = 0; i < FEW && !status; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(models[i + i / 3],
                                                                     random_pose(&random, 0.7))};
        uint32_t id;
        poses[i] = random_pose(&random, 0.7);
        status = abut_layers_add(layers, &item, &id);
    }
    status = status ? status : abut_layers_find(layers, &p->query, &found);
    uint64_t before = found.pairs.count;
    status = status ? status : abut_layers_set_poses(layers, NULL, abut_array_host(poses), FEW);
    abut_vec3 bent[8];
    memset(bent, 0, sizeof bent);
    for (uint32_t i = 0; i < 8 && !status; i++)
        bent[i] = v3_add(abut_mesh_local_positions(models[0])[i], v3(0.1 * i, 0, 0));
    status = status ? status : abut_layers_set_positions(layers, 0, abut_array_host(bent));
    status = status ? status : abut_layers_find(layers, &p->query, &found);
    assert_true(status || before + found.pairs.count > 0);
    abut_layers_destroy(layers);
    return status;
}

TEST(out_of_memory) {
    plan p = {abut_layers_query_default(), 3};
    p.query.resolution = 16;
    assert_int_equal(abut_mesh_vertex_count(models[0]), 8);
    assert_true(test_every_allocation(live_a_little, &p) > 8);
    p.query.find_hits = p.query.find_self = true;
    assert_true(test_every_allocation(live_a_little, &p) > 8);
    p.query = abut_layers_query_default();
    p.query.resolution = 10;
    p.query.is_exact = true;
    assert_true(test_every_allocation(live_a_little, &p) > 8);
}

int main(void) {
    return test_run(make_models, free_models);
}
