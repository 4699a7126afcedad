/* Cloth moves as cloth does, and passes through nothing. */
#include "fixture.h"

static vec *copy_positions(abut_cloth *c) {
    vec *copy = malloc(c->all_vertices * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, positions_of(c), c->all_vertices * sizeof *copy);
    return copy;
}

/* ---- motion ---- */

TEST(at_rest_it_stays_at_rest) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_SHEET, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS};
    for (int k = 0; k < 3; k++) {
        abut_mesh *mesh = make_shape(kinds[k], k == 2 ? 12 : 6);
        cloth_options options = {.bend = 1e-3};
        abut_cloth *c = make_cloth(mesh, NULL, &options);
        vec *before = copy_positions(c);
        for (int i = 0; i < 20; i++) {
            const abut_cloth_report report = step(c, 1.0 / 60, NULL);
            assert_int_equal(0, report.impacts);
        }
        for (uint32_t i = 0; i < c->all_vertices; i++)
            assert_true(v3_length(v3_sub(positions_of(c)[i], before[i])) < 1e-6);
        free(before);
        abut_cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
}

static double total(abut_cloth *c) {
    abut_cloth_energy e = energy_of(c);
    return e.kinetic + e.gravity + e.elastic;
}

TEST(energy_does_not_grow_and_pins_stay) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 8);
    const uint32_t pins[] = {0, 8};
    cloth_options options = {.bend = 1e-4, .gravity = {0, 0, -9.81}, .pins = pins, .pin_count = 2};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    vec *before = copy_positions(c);
    double first = total(c), least = 0;
    for (int i = 0; i < 120; i++) {
        step(c, 1.0 / 60, NULL);
        assert_true(total(c) < first + 0.005); /* a joule is exchanged */
        least = fmin(least, energy_of(c).gravity);
        for (int k = 0; k < 2; k++)
            assert_memory_equal(&before[pins[k]], &positions_of(c)[pins[k]], sizeof *before);
    }
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        vec now = positions_of(c)[i];
        double rest = v3_length(v3_sub(before[i], before[0]));
        assert_true(v3_length(v3_sub(now, before[0])) < 1.2 * rest + 0.01); /* it was held */
    }
    assert_true(least < -0.3); /* and fell */
    assert_true(total(c) < first - 0.05);
    free(before);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* What nothing holds falls as Galileo says. */
TEST(it_falls_freely) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 4);
    cloth_options options = {.gravity = {0, 0, -10}, .substeps = 40};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    for (int i = 0; i < 30; i++) {
        step(c, 1.0 / 60, NULL);
    }
    for (uint32_t i = 0; i < c->all_vertices; i++)
        assert_true(fabs(positions_of(c)[i].z + 0.5 * 10 * 0.25) < 0.01);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

TEST(wind_and_pressure_push) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 4);
    abut_mesh *ball = make_shape(ABUT_SHAPE_ICOSPHERE, 5);
    cloth_options windy = {.wind = {0, 0, 2}, .drag = 1};
    cloth_options blown = {.pressure = 20, .stretch = 50, .damping = 5};
    abut_cloth *a = make_cloth(sheet, NULL, &windy), *b = make_cloth(ball, NULL, &blown);
    double first = v3_length(positions_of(b)[0]);
    for (int i = 0; i < 60; i++) {
        abut_cloth_report report;
        assert_ok(try_step(a, 1.0 / 60, NULL, &report));
        assert_ok(try_step(b, 1.0 / 60, NULL, &report));
    }
    for (uint32_t i = 0; i < a->all_vertices; i++)
        assert_true(positions_of(a)[i].z > 0.5 && positions_of(a)[i].z < 2);
    for (uint32_t i = 0; i < b->all_vertices; i++) {
        double r = v3_length(positions_of(b)[i]);
        assert_true(r > 1.02 * first && r < 1.6 * first);
    }
    abut_cloth_destroy(a);
    abut_cloth_destroy(b);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
}

/* Two triangles, crosswise one over the other: two edges are near, but no vertex is near a face.
 * The upper one falls, and does not pass. */
TEST(edges_do_not_pass) {
    const abut_vec3 positions[6] = {{-1, 0, 0},    {1, 0, 0},    {0, 0.3, -1},
                                    {0, -1, 0.02}, {0, 1, 0.02}, {0.3, 0, 1}};
    abut_mesh *mesh = test_mesh(serial, positions, 6, NULL, 0);
    const uint32_t pins[] = {0, 1, 2};
    cloth_options options = {.thickness = 0.1,
                             .gravity = {0, 0, -10},
                             .pins = pins,
                             .pin_count = 3};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    uint32_t impacts = 0;
    for (int i = 0; i < 60; i++) {
        const abut_cloth_report report = step(c, 0.01, NULL);
        impacts += report.impacts;
        assert_true(is_free(c));
    }
    assert_true(impacts > 0);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* ---- scenes ---- */

static scene *make_scene(abut_context *context, scene_kind kind, uint32_t triangles) {
    scene *s = NULL;
    scene_options options = {.kind = kind, .triangles = triangles};
    assert_ok(scene_create(context, &options, &s));
    scene_cloth(s)->grain = 32;
    return s;
}

TEST(scenes_stay_free) {
    uint32_t impacts = 0, frames = test_rounds(100) + 20;
    for (int k = 0; k < SCENE_SOLID_COUNT; k++) {
        scene *s = make_scene(serial, (scene_kind)k, 300);
        abut_cloth *c = scene_cloth(s);
        assert_true(is_free(c));
        for (uint32_t frame = 0; frame < frames; frame++) {
            abut_cloth_report report = abut_cloth_report_default();
            assert_ok(scene_step(s, &report));
            assert_true(report.fraction == 1);
            assert_int_equal(ABUT_RELIABILITY_GUARANTEED, report.guarantee.level);
            assert_true(report.sweeps >= 1 && report.gap > 0);
            impacts += report.impacts;
            if (!is_free(c))
                fail_msg("%s: frame %u has an intersection", scene_name((scene_kind)k), frame);
            for (uint32_t i = 0; i < c->all_vertices; i++) {
                vec p = positions_of(c)[i], q = cloth_round(p);
                assert_true(p.x == q.x && p.y == q.y && p.z == q.z);
            }
        }
        scene_destroy(s);
    }
    assert_true(impacts > 20); /* there was something to handle */
}

TEST_THREADS(threads_change_nothing) {
    uint64_t impacts = 0;
    for (int k = 0; k < SCENE_SOLID_COUNT; k++) {
        test_memory memory[2] = {{.fail_at = 0}, {.fail_at = 0}};
        abut_context *contexts[2] = {test_context(&memory[0], 1), test_context(&memory[1], 2)};
        scene *s[2] = {make_scene(contexts[0], (scene_kind)k, 300),
                       make_scene(contexts[1], (scene_kind)k, 300)};
        for (uint32_t frame = 0; frame < test_rounds(80); frame++) {
            abut_cloth_report reports[2] = {abut_cloth_report_default(),
                                            abut_cloth_report_default()};
            for (int i = 0; i < 2; i++)
                assert_ok(scene_step(s[i], &reports[i]));
            impacts += reports[0].impacts;
            assert_int_equal(reports[0].impacts, reports[1].impacts);
            assert_int_equal(reports[0].sweeps, reports[1].sweeps);
        }
        const size_t bytes = scene_cloth(s[0])->all_vertices * sizeof(vec);
        assert_memory_equal(scene_cloth(s[0])->position, scene_cloth(s[1])->position, bytes);
        assert_memory_equal(scene_cloth(s[0])->aim, scene_cloth(s[1])->aim, bytes);
        for (int i = 0; i < 2; i++) {
            scene_destroy(s[i]);
            abut_context_destroy(contexts[i]);
            assert_int_equal(0, memory[i].live_count);
        }
    }
    assert_true(impacts > 20);
}

/* ---- the last means ---- */

/* A box drops at a sheet all of whose vertices are pinned: it must be stopped. */
TEST(what_cannot_go_on_stops) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 4), *raw = make_shape(ABUT_SHAPE_BOX, 1);
    abut_mesh *box = NULL;
    abut_pose above = {{0, 0, 0, 0}, {0, 0, 0.7}};
    assert_ok(abut_mesh_transform(raw, 0.5, above, &box));
    uint32_t pins[25];
    for (uint32_t i = 0; i < 25; i++)
        pins[i] = i;
    cloth_options options = {.gravity = {0, 0, -10}, .pins = pins, .pin_count = 25};
    abut_cloth *c = make_cloth(sheet, box, &options);
    uint32_t corners = abut_mesh_vertex_count(box);
    double taken = 0, lowest = 1;
    for (int i = 0; i < 20; i++) {
        vec to[8];
        abut_cloth_report report;
        assert_int_equal(8, corners);
        for (uint32_t k = 0; k < corners; k++)
            to[k] = v3_add(positions_of(c)[25 + k], v3(0, 0, -0.1));
        assert_ok(try_step(c, 0.01, to, &report));
        taken += report.fraction;
        assert_true(is_free(c));
        for (uint32_t k = 0; k < corners; k++)
            lowest = fmin(lowest, positions_of(c)[25 + k].z);
    }
    assert_true(taken < 6 && lowest > 0 && lowest < 0.1);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(raw);
    abut_mesh_destroy(box);
}

/* A fast box runs into a loose sheet from any side, and takes it along. */
TEST(fast_solids_do_not_pass) {
    test_random random = {3};
    for (uint32_t round = 0; round < test_rounds(8) + 1; round++) {
        abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 6);
        abut_mesh *raw = make_shape(ABUT_SHAPE_BOX, 2), *box = NULL;
        vec from = {test_random_real(&random, -0.5, 0.5), test_random_real(&random, -0.5, 0.5),
                    0.6};
        abut_pose aside = {{test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                            test_random_real(&random, -1, 1), 1},
                           from};
        assert_ok(abut_mesh_transform(raw, 0.4, aside, &box));
        cloth_options options = {.bend = 1e-5, .friction = 0.2};
        abut_cloth *c = make_cloth(sheet, box, &options);
        uint32_t cloth_count = abut_mesh_vertex_count(sheet), count = abut_mesh_vertex_count(box);
        vec *to = malloc(count * sizeof *to);
        assert_non_null(to);
        vec speed = v3(test_random_real(&random, -0.03, 0.03), 0, -0.12); /* 7 m/s */
        double below = 0;
        for (int i = 0; i < 12; i++) {
            abut_cloth_report report;
            for (uint32_t k = 0; k < count; k++)
                to[k] = cloth_round(v3_add(positions_of(c)[cloth_count + k], speed));
            assert_ok(try_step(c, 1.0 / 60, to, &report));
            assert_true(is_free(c));
            below += report.fraction;
        }
        assert_true(below > 6); /* it got somewhere */
        free(to);
        abut_cloth_destroy(c);
        abut_mesh_destroy(sheet);
        abut_mesh_destroy(raw);
        abut_mesh_destroy(box);
    }
}

/* A start with intersections is refused, and they are listed. */
TEST(intersections_are_seen) {
    const abut_vec3 positions[6] = {{0, 0, 0},      {1, 0, 0},     {0, 1, 0},
                                    {0.2, 0.2, -1}, {0.3, 0.2, 1}, {0.2, 0.3, 1}};
    abut_mesh *mesh = test_mesh(serial, positions, 6, NULL, 0);
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 0.1, pose_at(1, 0, 0));
    for (int ignore = 0; ignore < 2; ignore++) {
        const cloth_options options = {.stretch = 1, .ignore_self = ignore};
        abut_cloth *c = make_cloth(mesh, box, &options);
        abut_cloth_report report;
        assert_false(is_free(c));
        abut_cloth_intersection list[64];
        abut_cloth_intersection_list found = {list, 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "intersections", abut_cloth_find_intersections(c, &found));
        assert_true(found.count > 1 && found.count <= 64);
        found.capacity = 64;
        assert_ok(abut_cloth_find_intersections(c, &found));
        assert_int_equal(0, list[0].triangle);
        assert_int_equal(0, list[0].other_sheet);
        assert_int_equal(1, list[0].other_triangle);
        assert_int_equal(ABUT_NONE, list[0].other_body);
        for (uint64_t i = 1; i < found.count; i++) {
            assert_int_equal(0, list[i].sheet);
            assert_int_equal(0, list[i].triangle);
            assert_int_equal(ABUT_NONE, list[i].other_sheet);
            assert_int_equal(0, list[i].other_body);
            assert_true(list[i].other_triangle < 12);
        }
        for (int i = 0; i < 2; i++)
            assert_refused(ignore ? "triangle 0 of sheet 0 intersects triangle"
                                  : "triangle 0 of sheet 0 intersects triangle 1 of sheet 0, and",
                           try_step(c, 0.1, NULL, &report));
        abut_cloth_destroy(c);
    }
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(box);
}

/* A seam of two vertices at one position could never move. */
TEST(seams_are_seen) {
    const abut_vec3 positions[6] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0},
                                    {1, 0, 0}, {1, 1, 0}, {0, 1.5, 0}};
    abut_mesh *mesh = test_mesh(serial, positions, 6, NULL, 0);
    const cloth_options options = {.gravity = {0, 0, -1}};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    abut_cloth_report report;
    assert_refused("vertex 1 of sheet 0 and vertex 3 of sheet 0 are at the same position; "
                   "abut_mesh_weld() merges",
                   try_step(c, 0.1, NULL, &report));
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* Welding cannot join two sheets, or vertices that only floats cannot distinguish. */
TEST(equal_vertices_are_named_with_what_helps) {
    for (int far = 0; far < 2; far++) {
        const abut_pose to = pose_at(far ? 1e6 : 0, 0, 0); /* floats there: multiples of 1/16 */
        abut_mesh *mesh = make_shape_at(ABUT_SHAPE_SHEET, 20, 1, to);
        abut_cloth *c = NULL;
        abut_cloth_report report;
        uint32_t sheet;
        assert_ok(abut_cloth_create(NULL, NULL, &c));
        for (int i = far; i < 2; i++)
            assert_ok(abut_cloth_add_sheet(c, mesh, NULL, &sheet));
        assert_refused(far ? "of sheet 0 are equal after rounding to floats; move the system nearer"
                           : "vertex 0 of sheet 0 and vertex 0 of sheet 1 are at the same "
                             "position; move the sheets apart",
                       try_step(c, 0.1, NULL, &report));
        abut_cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
}

/* ---- cancellation ---- */

/* Cancels the n-th call since it was reset; 0 = none. */
typedef struct watcher {
    uint32_t calls, stop_at;
    uint32_t motion_calls;
} watcher;

static bool watch(void *user, const char *stage, double fraction) {
    watcher *w = user;
    (void)fraction;
    w->motion_calls += !strcmp(stage, "cloth");
    return ++w->calls != w->stop_at;
}

/* Every substep can be cancelled. The state is then as before, and the next step is as if no step
 * had been cancelled. */
TEST(cancelled_steps_change_nothing) {
    enum { SUBSTEPS = 12, VERTICES = 81 };
    const double before = abuti_progress_interval;
    const cloth_options options = {.gravity = {0, 0, -9},
                                   .bend = 1e-4,
                                   .pressure = 1,
                                   .substeps = SUBSTEPS};
    watcher w = {0};
    abut_context *context = test_watched(watch, &w);
    abut_mesh *mesh = NULL, *box = make_shape_at(ABUT_SHAPE_BOX, 2, 0.3, pose_at(0, 0, -0.2));
    vec state_of[2][2][VERTICES];
    abuti_progress_interval = 0; /* the callback is called at every opportunity */
    assert_ok(create_shape(context, ABUT_SHAPE_SHEET, 8, 8, 1, pose_at(0, 0, 0), &mesh));
    for (int k = 0; k < 2; k++) { /* without and with cancellation */
        abut_cloth *c = NULL;
        abut_status status = ABUT_ERROR_CANCELLED;
        uint32_t body, cancelled = 0;
        assert_ok(create_cloth(context, mesh, &options, &c));
        assert_ok(abut_cloth_add_body(c, box, NULL, &body));
        assert_ok(abut_cloth_step(c, 0.02, NULL));
        vec start[2][VERTICES], now[2][VERTICES];
        assert_ok(abut_cloth_get_positions(c, 0, abut_array_host(start[0])));
        assert_ok(abut_cloth_get_velocities(c, 0, abut_array_host(start[1])));
        for (uint32_t n = (uint32_t)k; status == ABUT_ERROR_CANCELLED; n++) {
            w = (watcher){.stop_at = n};
            status = abut_cloth_step(c, 0.02, NULL);
            if (!status)
                break;
            assert_int_equal(ABUT_ERROR_CANCELLED, status);
            assert_int_equal(n, w.calls); /* no further call */
            w = (watcher){0};
            assert_ok(abut_cloth_get_positions(c, 0, abut_array_host(now[0])));
            assert_ok(abut_cloth_get_velocities(c, 0, abut_array_host(now[1])));
            assert_memory_equal(start, now, sizeof start);
            cancelled++;
        }
        assert_ok(status);
        assert_true(w.motion_calls >= SUBSTEPS);
        assert_true(k ? cancelled >= SUBSTEPS : !cancelled);
        assert_ok(abut_cloth_get_positions(c, 0, abut_array_host(state_of[k][0])));
        assert_ok(abut_cloth_get_velocities(c, 0, abut_array_host(state_of[k][1])));
        abut_cloth_destroy(c);
    }
    abuti_progress_interval = before;
    assert_memory_equal(state_of[0], state_of[1], sizeof state_of[0]);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(box);
    abut_context_destroy(context);
}

/* ---- refusals ---- */

TEST(refusals) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 2);
    abut_cloth *c = NULL;
    uint32_t index = 7;
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    abut_cloth_body_options body = abut_cloth_body_options_default();
    assert_refused("cloth is null", abut_cloth_create(NULL, NULL, NULL));
    options.gravity.y = (double)NAN;
    assert_refused("options->gravity", abut_cloth_create(NULL, &options, &c));
    options.gravity.y = 0;
    options.wind.z = 1e31;
    assert_refused("options->wind", abut_cloth_create(NULL, &options, &c));
    options.wind.z = 0;
    options.drag = -1;
    assert_refused("options->drag is -1", abut_cloth_create(NULL, &options, &c));
    options.drag = 0;
    options.substeps = ABUT_CLOTH_SUBSTEPS_MAX + 1;
    assert_refused("options->substeps is 1001; it must be from 0 to 1000",
                   abut_cloth_create(NULL, &options, &c));
    options.substeps = 0;
    options.size += 8;
    assert_refused("abut_cloth_options", abut_cloth_create(NULL, &options, &c));
    assert_null(c);
    assert_ok(abut_cloth_create(NULL, NULL, &c));
    material.bend = -1;
    assert_refused("material->bend is -1", abut_cloth_add_sheet(c, mesh, &material, &index));
    material.bend = 0;
    assert_refused("cloth is null", abut_cloth_add_sheet(NULL, mesh, &material, &index));
    assert_refused("mesh is null", abut_cloth_add_sheet(c, NULL, &material, &index));
    assert_refused("sheet is null", abut_cloth_add_sheet(c, mesh, &material, NULL));
    assert_refused("body is null", abut_cloth_add_body(c, mesh, NULL, NULL));
    body.friction = (double)NAN;
    assert_refused("options->friction", abut_cloth_add_body(c, mesh, &body, &index));
    body.friction = 0;
    body.pose.translation.x = (double)INFINITY;
    assert_refused("options->pose", abut_cloth_add_body(c, mesh, &body, &index));
    body.pose.translation.x = 1e20;
    assert_refused("vertex 0 of the mesh is beyond", abut_cloth_add_body(c, mesh, &body, &index));
    assert_int_equal(7, index);
    abut_cloth_report report = abut_cloth_report_default();
    abut_mesh *made = NULL;
    assert_refused("sheet is 0; there are 0", abut_cloth_create_mesh(c, 0, &made));
    assert_ok(abut_cloth_add_sheet(c, mesh, NULL, &index));
    assert_int_equal(0, index);
    assert_refused("seconds is 0", abut_cloth_step(c, 0, &report));
    assert_refused("seconds", abut_cloth_step(c, (double)NAN, &report));
    report.size = 0;
    assert_refused("size", abut_cloth_step(c, 1, &report));
    assert_refused("body is 0; there are 0", abut_cloth_create_body_mesh(c, 0, &made));
    assert_refused("body is 0", abut_cloth_set_body_pose(c, 0, abut_pose_identity()));
    assert_refused("wind", abut_cloth_set_wind(c, (vec){(double)NAN, 0, 0}));
    assert_refused("positions is null", abut_cloth_get_positions(c, 0, abut_array_host(NULL)));
    assert_null(made);
    abut_cloth_destroy(c);
    abut_cloth_destroy(NULL);
    abut_mesh_destroy(mesh);
    scene *s = NULL;
    scene_options none = {.kind = SCENE_COUNT}, many = {.triangles = UINT32_MAX};
    assert_refused("no such scene", scene_create(NULL, &none, &s));
    assert_fails(ABUT_ERROR_LIMIT, "ten million", scene_create(NULL, &many, &s));
    assert_null(s);
    assert_null(scene_name(SCENE_COUNT));
}

TEST(forces_without_bounds_are_told) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 3), *box = make_shape(ABUT_SHAPE_BOX, 1);
    abut_mesh *aside = NULL;
    assert_ok(abut_mesh_transform(box, 1, pose_at(5, 0, 0), &aside));
    cloth_options wild = {.gravity = {0, 0, 1e29}}, calm = {.density = 1};
    abut_cloth *c = make_cloth(mesh, NULL, &wild);
    vec *before = copy_positions(c);
    abut_cloth_report report;
    for (int i = 0; i < 2; i++) {
        assert_fails(ABUT_ERROR_LIMIT, "flies apart", try_step(c, 1, NULL, &report));
        assert_memory_equal(before, positions_of(c), c->all_vertices * sizeof *before);
        assert_true(energy_of(c).kinetic == 0);
    }
    abut_cloth_destroy(c);
    c = make_cloth(mesh, aside, &calm);
    vec nowhere[8] = {{(double)NAN, 0, 0}};
    assert_refused("positions[0] is not finite",
                   abut_cloth_set_body_positions(c, 0, abut_array_host(nowhere)));
    assert_refused("positions is null", abut_cloth_set_body_positions(c, 0, abut_array_host(NULL)));
    step(c, 0.01, NULL);
    abut_cloth_destroy(c);
    free(before);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(box);
    abut_mesh_destroy(aside);
}

static abut_status run_small(abut_context *context, void *data) {
    scene_options options = {.kind = *(scene_kind *)data, .triangles = 30, .solid_triangles = 20};
    scene *s = NULL;
    abut_cloth_report report = abut_cloth_report_default();
    bool answer = false;
    abut_status status = scene_create(context, &options, &s);
    for (int i = 0; i < 2 && !status; i++)
        status = scene_step(s, &report);
    NEXT(abut_cloth_is_free(scene_cloth(s), &answer));
    scene_destroy(s);
    return status;
}

TEST(out_of_memory) {
    scene_kind kinds[] = {SCENE_SLEEVE, SCENE_SHEET};
    for (int k = 0; k < 2; k++)
        assert_true(test_every_allocation(run_small, &kinds[k]) > 50);
}

int main(void) {
    return run_serial();
}
