/* The cloth of examples/cloth: it moves as cloth does, and passes through nothing. */
#include "fixture.h"

static vec *copy_positions(const cloth *c) {
    vec *copy = malloc(cloth_vertex_count(c) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, cloth_positions(c), cloth_vertex_count(c) * sizeof *copy);
    return copy;
}

/* ---- motion ---- */

TEST(at_rest_it_stays_at_rest) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_SHEET, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS};
    for (int k = 0; k < 3; k++) {
        abut_mesh *mesh = make_shape(kinds[k], k == 2 ? 12 : 6);
        cloth_options options = {.bend = 1e-3};
        cloth *c = make_cloth(mesh, &options);
        vec *before = copy_positions(c);
        for (int i = 0; i < 20; i++) {
            const cloth_report report = step(c, 1.0 / 60, NULL);
            assert_int_equal(0, report.impacts);
        }
        for (uint32_t i = 0; i < cloth_vertex_count(c); i++)
            assert_true(vec_length(vec_sub(cloth_positions(c)[i], before[i])) < 1e-6);
        free(before);
        cloth_destroy(c);
        abut_mesh_destroy(mesh);
    }
}

static double total(const cloth *c) {
    cloth_energy e = cloth_energy_of(c);
    return e.kinetic + e.gravity + e.elastic;
}

TEST(energy_does_not_grow_and_pins_stay) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 8);
    const uint32_t pins[] = {0, 8};
    cloth_options options = {.bend = 1e-4, .gravity = {0, 0, -9.81}, .pins = pins, .pin_count = 2};
    cloth *c = make_cloth(mesh, &options);
    vec *before = copy_positions(c);
    double first = total(c), least = 0;
    for (int i = 0; i < 120; i++) {
        step(c, 1.0 / 60, NULL);
        assert_true(total(c) < first + 0.005); /* a joule is exchanged */
        least = fmin(least, cloth_energy_of(c).gravity);
        for (int k = 0; k < 2; k++)
            assert_memory_equal(&before[pins[k]], &cloth_positions(c)[pins[k]], sizeof *before);
    }
    for (uint32_t i = 0; i < cloth_vertex_count(c); i++) {
        vec now = cloth_positions(c)[i];
        double rest = vec_length(vec_sub(before[i], before[0]));
        assert_true(vec_length(vec_sub(now, before[0])) < 1.2 * rest + 0.01); /* it was held */
    }
    assert_true(least < -0.3); /* and fell */
    assert_true(total(c) < first - 0.05);
    free(before);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* What nothing holds falls as Galileo says. */
TEST(it_falls_freely) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 4);
    cloth_options options = {.gravity = {0, 0, -10}, .substeps = 40};
    cloth *c = make_cloth(mesh, &options);
    for (int i = 0; i < 30; i++) {
        step(c, 1.0 / 60, NULL);
    }
    for (uint32_t i = 0; i < cloth_vertex_count(c); i++)
        assert_true(fabs(cloth_positions(c)[i].z + 0.5 * 10 * 0.25) < 0.01);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

TEST(wind_and_pressure_push) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 4);
    abut_mesh *ball = make_shape(ABUT_SHAPE_ICOSPHERE, 5);
    cloth_options windy = {.wind = {0, 0, 2}, .drag = 1};
    cloth_options blown = {.pressure = 20, .stretch = 50, .damping = 5};
    cloth *a = make_cloth(sheet, &windy), *b = make_cloth(ball, &blown);
    double first = vec_length(cloth_positions(b)[0]);
    for (int i = 0; i < 60; i++) {
        cloth_report report;
        assert_ok(cloth_step(a, 1.0 / 60, NULL, &report));
        assert_ok(cloth_step(b, 1.0 / 60, NULL, &report));
    }
    for (uint32_t i = 0; i < cloth_vertex_count(a); i++)
        assert_true(cloth_positions(a)[i].z > 0.5 && cloth_positions(a)[i].z < 2);
    for (uint32_t i = 0; i < cloth_vertex_count(b); i++) {
        double r = vec_length(cloth_positions(b)[i]);
        assert_true(r > 1.02 * first && r < 1.6 * first);
    }
    cloth_destroy(a);
    cloth_destroy(b);
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
    cloth *c = make_cloth(mesh, &options);
    uint32_t impacts = 0;
    for (int i = 0; i < 60; i++) {
        const cloth_report report = step(c, 0.01, NULL);
        impacts += report.impacts;
        assert_true(is_free(c));
    }
    assert_true(impacts > 0);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* ---- scenes ---- */

static scene *make_scene(abut_context *context, scene_kind kind, uint32_t triangles) {
    scene *s = NULL;
    scene_options options = {.kind = kind, .triangles = triangles, .grain = 32};
    assert_ok(scene_create(context, &options, &s));
    return s;
}

TEST(scenes_stay_free) {
    uint32_t impacts = 0, frames = test_rounds(100) + 20;
    for (int k = 0; k < SCENE_SOLID_COUNT; k++) {
        scene *s = make_scene(serial, (scene_kind)k, 300);
        cloth *c = scene_cloth(s);
        assert_true(is_free(c));
        for (uint32_t frame = 0; frame < frames; frame++) {
            cloth_report report;
            assert_ok(scene_step(s, &report));
            assert_true(report.fraction == 1);
            assert_true(report.rounds >= 1 && report.thinnest > 0);
            impacts += report.impacts;
            if (!is_free(c))
                fail_msg("%s: frame %u has an intersection", scene_name((scene_kind)k), frame);
            for (uint32_t i = 0; i < cloth_vertex_count(c); i++) {
                vec p = cloth_positions(c)[i], q = vec_round(p);
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
            cloth_report reports[2];
            for (int i = 0; i < 2; i++)
                assert_ok(scene_step(s[i], &reports[i]));
            impacts += reports[0].impacts;
            assert_int_equal(reports[0].impacts, reports[1].impacts);
            assert_int_equal(reports[0].rounds, reports[1].rounds);
        }
        size_t bytes = cloth_vertex_count(scene_cloth(s[0])) * sizeof(vec);
        assert_memory_equal(cloth_positions(scene_cloth(s[0])), cloth_positions(scene_cloth(s[1])),
                            bytes);
        assert_memory_equal(cloth_aims(scene_cloth(s[0])), cloth_aims(scene_cloth(s[1])), bytes);
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
    cloth *c = make_cloth(sheet, &options);
    assert_ok(cloth_add_solid(c, box));
    assert_refused("without a solid", cloth_add_solid(c, box));
    uint32_t corners = abut_mesh_vertex_count(box);
    double taken = 0, lowest = 1;
    for (int i = 0; i < 20; i++) {
        vec to[8];
        cloth_report report;
        assert_int_equal(8, corners);
        for (uint32_t k = 0; k < corners; k++)
            to[k] = vec_add(cloth_positions(c)[25 + k], vec_of(0, 0, -0.1));
        assert_ok(cloth_step(c, 0.01, to, &report));
        taken += report.fraction;
        assert_true(is_free(c));
        for (uint32_t k = 0; k < corners; k++)
            lowest = fmin(lowest, cloth_positions(c)[25 + k].z);
    }
    assert_true(taken < 6 && lowest > 0 && lowest < 0.1);
    cloth_destroy(c);
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
        abut_pose pose = {{test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                           test_random_real(&random, -1, 1), 1},
                          from};
        assert_ok(abut_mesh_transform(raw, 0.4, pose, &box));
        cloth_options options = {.bend = 1e-5, .friction = 0.2};
        cloth *c = make_cloth(sheet, &options);
        assert_ok(cloth_add_solid(c, box));
        uint32_t cloth_count = abut_mesh_vertex_count(sheet), count = abut_mesh_vertex_count(box);
        vec *to = malloc(count * sizeof *to);
        assert_non_null(to);
        vec speed = vec_of(test_random_real(&random, -0.03, 0.03), 0, -0.12); /* 7 m/s */
        double below = 0;
        for (int i = 0; i < 12; i++) {
            cloth_report report;
            for (uint32_t k = 0; k < count; k++)
                to[k] = vec_round(vec_add(cloth_positions(c)[cloth_count + k], speed));
            assert_ok(cloth_step(c, 1.0 / 60, to, &report));
            assert_true(is_free(c));
            below += report.fraction;
        }
        assert_true(below > 6); /* it got somewhere */
        free(to);
        cloth_destroy(c);
        abut_mesh_destroy(sheet);
        abut_mesh_destroy(raw);
        abut_mesh_destroy(box);
    }
}

TEST(intersections_are_seen) {
    const abut_vec3 positions[6] = {{0, 0, 0},      {1, 0, 0},     {0, 1, 0},
                                    {0.2, 0.2, -1}, {0.3, 0.2, 1}, {0.2, 0.3, 1}};
    abut_mesh *mesh = test_mesh(serial, positions, 6, NULL, 0);
    cloth_options options = {.stretch = 1};
    cloth *c = make_cloth(mesh, &options);
    assert_false(is_free(c));
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* ---- refusals ---- */

TEST(refusals) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 2);
    cloth *c = NULL;
    const uint32_t far_off = 99;
    cloth_options fine = {.density = 1}, bad = fine;
    cloth_report report;
    assert_refused("null", cloth_create(NULL, NULL, &fine, &c));
    bad.bend = -1;
    assert_refused("stiffness", cloth_create(NULL, mesh, &bad, &c));
    bad = fine;
    bad.gravity.y = (double)NAN;
    assert_refused("gravity", cloth_create(NULL, mesh, &bad, &c));
    bad = fine;
    bad.pins = &far_off;
    bad.pin_count = 1;
    assert_refused("vertex 99", cloth_create(NULL, mesh, &bad, &c));
    assert_null(c);
    c = make_cloth(mesh, &fine);
    assert_refused("seconds", cloth_step(c, 0, NULL, &report));
    assert_refused("seconds", cloth_step(c, (double)NAN, NULL, &report));
    abut_mesh *solid = NULL;
    assert_refused("no solid", cloth_mesh(c, 1, &solid));
    cloth_destroy(c);
    cloth_destroy(NULL);
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
    abut_mesh *aside = NULL, *away = NULL;
    abut_pose by = {{0, 0, 0, 0}, {5, 0, 0}}, far_by = {{0, 0, 0, 0}, {1e20, 0, 0}};
    assert_ok(abut_mesh_transform(box, 1, by, &aside));
    assert_ok(abut_mesh_transform(box, 1, far_by, &away));
    cloth_options wild = {.gravity = {0, 0, 1e29}}, calm = {.density = 1};
    cloth *c = make_cloth(mesh, &wild);
    vec *before = copy_positions(c);
    cloth_report report;
    for (int i = 0; i < 2; i++) {
        assert_fails(ABUT_ERROR_LIMIT, "flies apart", cloth_step(c, 1, NULL, &report));
        assert_memory_equal(before, cloth_positions(c), cloth_vertex_count(c) * sizeof *before);
        assert_true(cloth_energy_of(c).kinetic == 0);
    }
    cloth_destroy(c);
    c = make_cloth(mesh, &calm);
    assert_fails(ABUT_ERROR_LIMIT, "further away", cloth_add_solid(c, away));
    assert_ok(cloth_add_solid(c, aside));
    vec nowhere[8] = {{(double)NAN, 0, 0}};
    assert_fails(ABUT_ERROR_LIMIT, "solid goes", cloth_step(c, 0.01, nowhere, &report));
    cloth_destroy(c);
    c = NULL;
    assert_fails(ABUT_ERROR_LIMIT, "further away", cloth_create(serial, away, &calm, &c));
    assert_null(c);
    free(before);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(box);
    abut_mesh_destroy(aside);
    abut_mesh_destroy(away);
}

static abut_status run_small(abut_context *context, void *data) {
    scene_options options = {.kind = *(scene_kind *)data, .triangles = 30, .solid_triangles = 20};
    scene *s = NULL;
    cloth_report report;
    bool answer = false;
    abut_status status = scene_create(context, &options, &s);
    for (int i = 0; i < 2 && !status; i++)
        status = scene_step(s, &report);
    NEXT(cloth_is_free(scene_cloth(s), &answer));
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
