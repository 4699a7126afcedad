/* Lifetime: objects keep references to what they use, so that inputs may be destroyed first. Every
 * test destroys the inputs of an object, and their context, before it uses the object. */
#include "apps/get.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

static const abut_pose HERE = {{0, 0, 0, 1}, {0, 0, 0}};

typedef struct parts {
    test_memory memory;
    abut_context *context;
    abut_mesh *mesh;
    abut_bvh *bvh;
} parts;

/* A ball of radius 0.5. */
static void make_parts(parts *p) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 4;
    *p = (parts){.memory = {0}};
    p->context = test_context(&p->memory, 1);
    assert_ok(abut_shape_create(p->context, &shape, &p->mesh));
    assert_ok(abut_bvh_create(p->mesh, NULL, &p->bvh));
}

/* Destroys the caller's references; returns how many allocations are left. */
static uint64_t destroy_parts(parts *p) {
    abut_mesh_destroy(p->mesh);
    abut_bvh_destroy(p->bvh);
    abut_context_destroy(p->context);
    return p->memory.live_count;
}

static uint64_t contacts_of(abut_world *world) {
    abut_contact list[512];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 512};
    assert_ok(abut_world_contacts(world, &found));
    return found.count;
}

/* ---- worlds ---- */

TEST(world_keeps_hierarchies_and_hulls) {
    for (int hull = 0; hull < 2; hull++) {
        parts p;
        abut_world *world;
        uint32_t id;
        make_parts(&p);
        assert_ok(abut_world_create(NULL, NULL, &world));
        for (int i = 0; i < 2; i++) {
            abut_world_item item = {.size = sizeof(abut_world_item),
                                    .collider.kind = hull ? ABUT_COLLIDER_HULL : ABUT_COLLIDER_BODY,
                                    .collider.pose = HERE};
            item.collider.pose.translation.x = 0.9 * i;
            if (hull)
                item.collider.shape.hull = p.bvh;
            else
                item.collider.shape.body.bvh = p.bvh;
            assert_ok(abut_world_add(world, &item, &id));
        }
        assert_true(destroy_parts(&p) > 1);
        assert_true(contacts_of(world) > 0);
        abut_pose end = HERE;
        end.translation.x = 5;
        abut_world_impact impacts[4];
        abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 4};
        assert_ok(abut_world_sweep(world, &id, abut_array_host(&end), 1, NULL, &to));
        assert_true(to.time == 1);
        /* The first item goes on alone; then nothing is left. */
        assert_ok(abut_world_remove(world, id));
        assert_true(p.memory.live_count > 1);
        assert_int_equal(contacts_of(world), 0);
        abut_world_item ball = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_SPHERE,
                                .collider.pose = HERE};
        ball.collider.shape.sphere.radius = 1;
        assert_ok(abut_world_replace(world, 0, &ball));
        assert_int_equal(p.memory.live_count, 0);
        abut_world_destroy(world);
    }
}

TEST(world_keeps_fields_and_samples) {
    parts p;
    abut_world *world;
    abut_field *field;
    abut_samples *samples;
    uint32_t id;
    abut_field_options options = abut_field_options_default();
    options.cells = 16;
    make_parts(&p);
    assert_ok(abut_field_create(p.mesh, &options, &field));
    assert_ok(abut_samples_create(p.mesh, NULL, &samples));
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int i = 0; i < 2; i++) {
        abut_world_item item = {.size = sizeof(abut_world_item), .collider.pose = HERE};
        item.collider.pose.translation.x = 0.9 * i;
        item.collider.shape.body.field = field;
        item.collider.shape.body.samples = samples;
        assert_ok(abut_world_add(world, &item, &id));
    }
    /* A refused item leaves no reference behind. */
    abut_world_item wrong = {.size = sizeof(abut_world_item),
                             .collider.pose = {{0, 0, 0, 1}, {NAN, 0, 0}}};
    wrong.collider.shape.body.field = field;
    assert_int_equal(abut_world_add(world, &wrong, &id), ABUT_ERROR_ARGUMENT);
    /* References outlast an update, which exchanges the contents of a field. */
    assert_ok(abut_field_set_mesh(field, p.mesh, NULL));
    abut_field_destroy(field);
    abut_samples_destroy(samples);
    assert_true(destroy_parts(&p) > 1);
    assert_true(contacts_of(world) > 0);
    abut_world_destroy(world);
    assert_int_equal(p.memory.live_count, 0);
}

TEST(world_keeps_meshes_and_characters) {
    const abut_character_matrix bone = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    parts p;
    abut_world *world;
    abut_radial *radial;
    uint32_t id;
    abut_radial_axis axis = {.bone = 0, .begin = {0, 0, -0.3}, .end = {0, 0, 0.3}};
    abut_radial_options options = abut_radial_options_default();
    options.axes = &axis;
    options.axis_count = 1;
    options.cell = 0.1;
    make_parts(&p);
    abut_vec3 *positions = malloc(abut_mesh_vertex_count(p.mesh) * sizeof *positions);
    assert_ok(abut_mesh_get_positions(p.mesh, positions));
    assert_ok(abut_radial_create_mesh(p.mesh, 1, &options, &radial));
    assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(positions)));
    assert_ok(abut_world_create(NULL, NULL, &world));
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_CHARACTER,
                            .collider.pose = HERE};
    item.collider.shape.character = radial;
    assert_ok(abut_world_add(world, &item, &id));
    abut_world_item other = {.size = sizeof(abut_world_item),
                             .collider.kind = ABUT_COLLIDER_MESH,
                             .collider.pose = HERE};
    other.collider.shape.mesh.mesh = p.mesh;
    other.collider.pose.translation.x = 0.8;
    assert_ok(abut_world_add(world, &other, &id));
    abut_radial_destroy(radial);
    assert_true(destroy_parts(&p) > 1);
    assert_true(contacts_of(world) > 0);
    assert_ok(abut_world_set_positions(world, 0, &bone, abut_array_host(positions)));
    assert_true(contacts_of(world) > 0);
    abut_world_destroy(world);
    assert_int_equal(p.memory.live_count, 0);
    free(positions);
}

/* ---- others ---- */

TEST(map_keeps_the_bodies_of_its_query) {
    parts own, other;
    abut_map *map;
    abut_map_options options = abut_map_options_default();
    options.resolution = 32;
    make_parts(&own);
    make_parts(&other);
    assert_ok(abut_sign_prepare(other.bvh, NULL));
    assert_ok(abut_map_create(own.mesh, &options, &map));
    abut_collider body = abut_collider_from_bvh(other.bvh, HERE);
    for (int i = 0; i < 2; i++) { /* apart, then overlapping; the first query is released */
        body.pose.translation.x = i ? 0.9 : 1.2;
        assert_ok(abut_map_compute_distance(map, &body, 1, NULL));
        if (!i) {
            abut_map_measure_options exact = abut_map_measure_options_default();
            abut_map_measures measures = abut_map_measures_default();
            exact.exact = true;
            assert_ok(abut_map_measure(map, &exact, NULL, &measures));
            assert_true(fabs(measures.min.distance - 0.2) < 0.02);
        }
    }
    destroy_parts(&own);
    assert_true(destroy_parts(&other) > 1);
    abut_patch patches[16];
    abut_contact contacts[256];
    abut_patches found = {.size = sizeof found,
                          .patches.list = patches,
                          .patches.capacity = 16,
                          .contacts.list = contacts,
                          .contacts.capacity = 256};
    assert_ok(abut_map_contacts(map, NULL, &found));
    assert_true(found.contacts.count > 0);
    abut_map_destroy(map);
    assert_int_equal(own.memory.live_count + other.memory.live_count, 0);
}

TEST(layers_keep_their_meshes) {
    parts p;
    abut_layers *layers;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pairs[4];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 4};
    query.resolution = 32;
    query.is_exact = true;
    make_parts(&p);
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    for (int i = 0; i < 2; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(p.mesh, HERE)};
        item.collider.pose.translation.x = 0.9 * i;
        assert_ok(abut_layers_add(layers, &item, NULL));
    }
    assert_true(destroy_parts(&p) > 1);
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    abut_layers_destroy(layers);
    assert_int_equal(p.memory.live_count, 0);
}

TEST(motions_keep_their_meshes) {
    parts p;
    abut_sweep *motion;
    abut_self *view;
    make_parts(&p);
    const uint32_t count = abut_mesh_vertex_count(p.mesh);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    assert_ok(abut_mesh_get_positions(p.mesh, positions));
    assert_ok(abut_sweep_create(&p.mesh, 1, NULL, &motion));
    assert_ok(abut_self_create(p.mesh, NULL, &view));
    assert_true(destroy_parts(&p) > 1);
    for (uint32_t i = 0; i < count; i++)
        positions[i].z *= 1.5;
    abut_impact_list impacts = {.capacity = 0};
    assert_ok(abut_sweep_set_positions(motion, abut_array_host(NULL), abut_array_host(positions)));
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, &impacts, NULL));
    assert_int_equal(impacts.count, 0);
    abut_self_step step = abut_self_step_default();
    abut_self_result result = abut_self_result_default();
    step.end = abut_array_host(positions);
    assert_ok(abut_self_find(view, &step, NULL, &result));
    assert_int_equal(get_self_info(view).vertex_count, count);
    abut_sweep_destroy(motion);
    abut_self_destroy(view);
    free(positions);
    assert_int_equal(p.memory.live_count, 0);
}

TEST(trees_fields_and_pictures_keep_their_mesh) {
    parts p;
    abut_field *field;
    abut_topology *topology;
    abut_normals *normals;
    abut_picture *picture;
    abut_picture_options small = abut_picture_options_default();
    abut_field_options options = abut_field_options_default();
    static uint8_t pixels[32 * 32 * 4];
    options.cells = 16;
    small.width = small.height = 32;
    make_parts(&p);
    assert_ok(abut_field_create(p.mesh, &options, &field));
    assert_ok(abut_topology_create(p.mesh, &topology));
    assert_ok(abut_normals_create(topology, &normals));
    assert_ok(abut_picture_create(NULL, &small, &picture));
    assert_ok(abut_picture_add_mesh(picture, p.mesh, HERE, NULL));
    abut_bvh *bvh = p.bvh;
    p.bvh = NULL;
    assert_true(destroy_parts(&p) > 1);
    abut_nearest nearest;
    abut_field_value value;
    assert_ok(abut_nearest_point(bvh, (abut_vec3){2, 0, 0}, HUGE_VAL, &nearest));
    assert_true(fabs(nearest.distance - 1.5) < 0.02);
    assert_ok(abut_field_evaluate(field, (abut_vec3){0, 0, 0}, ABUT_INTERPOLATION_LINEAR, &value));
    assert_true(value.distance < -0.4);
    assert_ok(abut_field_set_mesh(field, abut_bvh_mesh(bvh), NULL));
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_mesh_examine(topology, &report));
    assert_true(report.is_closed);
    abut_topology_destroy(topology);
    assert_true(fabs(get_normals_arrays(normals).faces[0].x) <= 1);
    assert_ok(abut_picture_render(picture, sizeof pixels, pixels));
    abut_picture_destroy(picture);
    abut_normals_destroy(normals);
    abut_field_destroy(field);
    abut_bvh_destroy(bvh);
    assert_int_equal(p.memory.live_count, 0);
}

/* ---- whose callback ---- */

typedef struct ear {
    uint32_t calls, stop_at; /* 0 = never */
} ear;

static bool check_progress(void *user, const char *stage, double fraction) {
    ear *e = user;
    assert_non_null(stage);
    assert_true(fraction >= 0 && fraction <= 1);
    return ++e->calls != e->stop_at;
}

/* On one thread, so that calls can be counted. */
static abut_context *make_watched(ear *e) {
    abut_context_options options = abut_context_options_default();
    abut_context *context;
    options.thread_count = 1;
    options.progress = check_progress;
    options.progress_user = e;
    assert_ok(abut_context_create(&options, &context));
    return context;
}

/* Two meshes of another context, with a callback of their own that must not be called. */
static void make_quiet_pair(ear *quiet, abut_mesh *meshes[2]) {
    abut_context *context = make_watched(quiet);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    shape.segments = 64;
    shape.rings = 32;
    for (int i = 0; i < 2; i++)
        assert_ok(abut_shape_create(context, &shape, &meshes[i]));
    abut_context_destroy(context);
}

TEST(progress_is_that_of_the_world) {
    extern double abuti_progress_interval;
    const double before = abuti_progress_interval;
    ear quiet = {0}, loud = {0};
    abut_mesh *meshes[2];
    abut_world *world;
    abut_bvh *trees[2];
    abuti_progress_interval = 0; /* at every opportunity */
    make_quiet_pair(&quiet, meshes);
    for (int i = 0; i < 2; i++)
        assert_ok(abut_bvh_create(meshes[i], NULL, &trees[i]));
    abut_context *context = make_watched(&loud);
    assert_ok(abut_world_create(context, NULL, &world));
    abut_context_destroy(context);
    quiet.calls = 0;
    uint32_t id;
    for (int i = 0; i < 3; i++) {
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.pose = HERE,
                                .collider.kind = i == 2 ? ABUT_COLLIDER_MESH : ABUT_COLLIDER_BODY};
        item.collider.pose.translation.x = 0.3 * i;
        if (i == 2)
            item.collider.shape.mesh.mesh = meshes[0];
        else
            item.collider.shape.body.bvh = trees[i];
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_true(loud.calls > 0);
    loud.calls = 0;
    assert_true(contacts_of(world) > 0);
    assert_true(loud.calls > 0);
    /* Cancelled at the first call, and at one in the middle; afterwards the answer is as before. */
    abut_pose end = {{0, 0, 0, 1}, {0.05, 0, 0}};
    abut_contacts counted = {.size = sizeof counted, .capacity = 0};
    assert_ok(abut_world_set_poses(world, NULL, abut_array_host(&end), 1));
    loud = (ear){0};
    assert_true(contacts_of(world) > 0);
    const uint32_t calls = loud.calls;
    assert_true(calls > 0);
    for (int k = 0; k < 2; k++) {
        loud = (ear){.stop_at = k ? (calls + 1) / 2 : 1};
        end.translation.x += 1e-9; /* contacts of a body that does not move are kept */
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(&end), 1));
        assert_int_equal(abut_world_contacts(world, &counted), ABUT_ERROR_CANCELLED);
    }
    loud = (ear){0};
    assert_true(contacts_of(world) > 0);
    abut_world_impact impacts[8];
    abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 8};
    end.translation.x = 4;
    loud = (ear){0};
    assert_ok(abut_world_sweep(world, NULL, abut_array_host(&end), 1, NULL, &to));
    assert_true(loud.calls > 0);
    loud = (ear){.stop_at = 1};
    assert_int_equal(abut_world_sweep(world, NULL, abut_array_host(&end), 1, NULL, &to),
                     ABUT_ERROR_CANCELLED);
    assert_int_equal(quiet.calls, 0);
    abut_world_destroy(world);
    for (int i = 0; i < 2; i++) {
        abut_bvh_destroy(trees[i]);
        abut_mesh_destroy(meshes[i]);
    }
    abuti_progress_interval = before;
}

/* Of two bodies, that of the first. */
TEST(progress_is_that_of_the_first_body) {
    extern double abuti_progress_interval;
    const double before = abuti_progress_interval;
    for (int swapped = 0; swapped < 2; swapped++) {
        ear quiet = {0}, loud = {0};
        abut_mesh *meshes[2], *own;
        abut_bvh *trees[2];
        abuti_progress_interval = 0;
        make_quiet_pair(&quiet, meshes);
        abut_context *context = make_watched(&loud);
        abut_shape shape = abut_shape_default(swapped ? ABUT_SHAPE_ICOSPHERE : ABUT_SHAPE_TEAPOT);
        assert_ok(abut_shape_create(context, &shape, &own));
        abut_context_destroy(context);
        assert_ok(abut_bvh_create(own, NULL, &trees[0]));
        assert_ok(abut_bvh_create(meshes[0], NULL, &trees[1]));
        quiet.calls = loud.calls = 0;
        abut_collider a = abut_collider_from_bvh(trees[0], HERE),
                      b = abut_collider_from_bvh(trees[1], HERE);
        abut_patches found = {.size = sizeof found, .patches.capacity = 0};
        abut_pair_hausdorff_result result = abut_pair_hausdorff_result_default();
        assert_int_equal(abut_contact_find(&a, &b, NULL, &found), ABUT_ERROR_BUFFER);
        assert_int_equal(quiet.calls, 0);
        assert_ok(abut_pair_hausdorff(trees[0], trees[1], NULL, &result));
        assert_true(loud.calls > 0);
        assert_int_equal(quiet.calls, 0);
        for (int i = 0; i < 2; i++) {
            abut_bvh_destroy(trees[i]);
            abut_mesh_destroy(meshes[i]);
        }
        abut_mesh_destroy(own);
    }
    abuti_progress_interval = before;
}

TEST(progress_is_that_of_layers_and_maps) {
    extern double abuti_progress_interval;
    const double before = abuti_progress_interval;
    ear quiet = {0}, loud = {0};
    abut_mesh *meshes[2], *own;
    abut_layers *layers;
    abut_map *map;
    abut_bvh *other;
    abut_layers_query query = abut_layers_query_default();
    abut_layers_pair pairs[4];
    abut_layers_result found = {.size = sizeof found, .pairs.list = pairs, .pairs.capacity = 4};
    query.resolution = 64;
    query.is_exact = true;
    abuti_progress_interval = 0; /* at every opportunity */
    make_quiet_pair(&quiet, meshes);
    assert_ok(abut_bvh_create(meshes[1], NULL, &other));
    abut_context *context = make_watched(&loud);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    assert_ok(abut_shape_create(context, &shape, &own));
    assert_ok(abut_map_create(own, NULL, &map));
    assert_ok(abut_layers_create(context, NULL, &layers));
    abut_context_destroy(context);
    quiet.calls = 0;
    for (int i = 0; i < 2; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = abut_collider_from_mesh(meshes[i], HERE)};
        item.collider.pose.translation.x = 0.3 * i;
        assert_ok(abut_layers_add(layers, &item, NULL));
    }
    assert_int_equal(quiet.calls, 0);
    assert_ok(abut_layers_find(layers, &query, &found));
    assert_int_equal(found.pairs.count, 1);
    assert_int_equal(quiet.calls, 0);
    loud = (ear){0};
    abut_collider body = abut_collider_from_bvh(other, HERE);
    assert_ok(abut_map_compute_distance(map, &body, 1, NULL));
    assert_true(loud.calls > 0);
    loud = (ear){.stop_at = 1};
    assert_int_equal(abut_map_compute_distance(map, &body, 1, NULL), ABUT_ERROR_CANCELLED);
    assert_int_equal(quiet.calls, 0);
    abut_layers_destroy(layers);
    abut_map_destroy(map);
    abut_bvh_destroy(other);
    abut_mesh_destroy(own);
    for (int i = 0; i < 2; i++)
        abut_mesh_destroy(meshes[i]);
    abuti_progress_interval = before;
}

/* ---- fractions, and calls from within a callback ---- */

typedef struct watch {
    abut_world *world;
    uint32_t calls, refused;
    double first, last;
    bool falls;  /* a fraction is less than the one before */
    bool enters; /* the callback calls the world */
} watch;

/* Every function of the world is refused in the callback of one of its calls. */
static void enter(watch *w) {
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    abut_world_impacts impacts = {.size = sizeof impacts, .capacity = 0};
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = HERE};
    abut_world_device_contacts records = abut_world_device_contacts_default();
    abut_world_item_info choice = abut_world_item_info_default();
    abut_world_pair_info manner = abut_world_pair_info_default();
    abut_vec3 position = {0, 0, 0};
    uint32_t id;
    item.collider.shape.sphere.radius = 1;
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_world_event_list events = {NULL, 0, 0};
    abut_byte_list state = {NULL, 0, 0};
    const abut_status all[] = {abut_world_add(w->world, &item, &id),
                               abut_world_remove(w->world, 0),
                               abut_world_replace(w->world, 0, &item),
                               abut_world_set_positions(w->world, 0, NULL,
                                                        abut_array_host(&position)),
                               abut_world_set_poses(w->world, NULL, abut_array_host(&HERE), 1),
                               abut_world_ignore(w->world, 0, 1, true),
                               abut_world_get_item_info(w->world, 0, &choice),
                               abut_world_get_pair_info(w->world, 0, 1, &manner),
                               abut_world_pairs(w->world, &pairs),
                               abut_world_contacts(w->world, &found),
                               abut_world_events(w->world, &events),
                               abut_world_save(w->world, &state),
                               abut_world_restore(w->world, "", 0),
                               abut_world_sweep(w->world, NULL, abut_array_host(&HERE), 1, NULL,
                                                &impacts),
                               abut_world_get_device_contacts(w->world, &records)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        w->refused += all[i] == ABUT_ERROR_ARGUMENT;
    assert_int_equal(w->refused, sizeof all / sizeof *all);
    assert_refused("another call", abut_world_remove(w->world, 0));
    w->enters = false;
}

static bool see(void *user, const char *stage, double fraction) {
    watch *w = user;
    if (strcmp(stage, "world") != 0) /* of what is made when it is first needed */
        return true;
    if (!w->calls++)
        w->first = fraction;
    w->falls |= fraction < w->last;
    w->last = fraction;
    if (w->enters)
        enter(w);
    return true;
}

static abut_world *make_row(watch *w, uint32_t count) {
    abut_context_options options = abut_context_options_default();
    abut_context *context;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh;
    abut_world *world;
    options.thread_count = 1;
    options.progress = see;
    options.progress_user = w;
    assert_ok(abut_context_create(&options, &context));
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_world_create(context, NULL, &world));
    abut_context_destroy(context);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id;
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_MESH,
                                .collider.pose = HERE};
        item.collider.shape.mesh.mesh = mesh;
        item.collider.pose.translation.x = 0.95 * i;
        assert_ok(abut_world_add(world, &item, &id));
    }
    abut_mesh_destroy(mesh);
    return world;
}

/* From 0 on, and never back, in contacts and sweeps. */
TEST(progress_of_worlds_goes_on) {
    extern double abuti_progress_interval;
    const double before = abuti_progress_interval;
    enum { COUNT = 100 };
    watch w = {0};
    abuti_progress_interval = 0; /* at every opportunity */
    abut_world *world = make_row(&w, COUNT);
    static abut_contact list[4096];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 4096};
    abut_pose ends[COUNT];
    abut_world_impact impacts[COUNT];
    abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = COUNT};
    assert_ok(abut_world_contacts(world, &found));
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++)
            ends[i] = (abut_pose){{0, 0, 0, 1}, {(0.94 - 0.01 * round) * i, 0, 0}};
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(ends), COUNT));
        w = (watch){.first = 1};
        assert_ok(abut_world_contacts(world, &found));
        assert_true(w.calls > 10 && w.first == 0 && w.last > 0.8 && w.last <= 1 && !w.falls);
        for (uint32_t i = 0; i < COUNT; i++)
            ends[i].translation.y = 0.01 * i;
        w = (watch){.first = 1};
        assert_ok(abut_world_sweep(world, NULL, abut_array_host(ends), COUNT, NULL, &to));
        assert_true(w.calls > 10 && w.first == 0 && w.last > 0.5 && w.last <= 1 && !w.falls);
    }
    abuti_progress_interval = before;
    abut_world_destroy(world);
}

TEST(callbacks_must_not_call_their_world) {
    extern double abuti_progress_interval;
    const double before = abuti_progress_interval;
    watch w = {0};
    abuti_progress_interval = 0;
    abut_world *world = make_row(&w, 4);
    abut_world_impact impacts[8];
    abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 8};
    abut_pose end = {{0, 0, 0, 1}, {0.01, 0, 0}};
    const abut_pose far = {{0, 0, 0, 1}, {3, 0, 0}};
    abut_world_event_list none = {NULL, 0, 0};
    for (int k = 0; k < 3; k++) {
        w = (watch){.world = world, .enters = true};
        end.translation.x += 0.001;
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(&end), 1));
        if (k == 0)
            assert_true(contacts_of(world) > 0);
        else if (k == 1)
            assert_ok(abut_world_sweep(world, NULL, abut_array_host(&far), 1, NULL, &to));
        else
            assert_int_equal(abut_world_events(world, &none), ABUT_ERROR_BUFFER);
        assert_true(w.refused > 0);
    }
    /* Afterwards all is allowed. */
    assert_ok(abut_world_remove(world, 0));
    assert_true(contacts_of(world) > 0);
    abuti_progress_interval = before;
    abut_world_destroy(world);
}
