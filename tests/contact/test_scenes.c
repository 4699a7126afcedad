/* Scenes of rigid bodies on exact contacts: pegs in holes, a cube in a tray, a key in its lock,
 * stacks, a chain, concave bodies in a bowl. Nothing falls through, nothing explodes, and bodies
 * come to rest. The solver is that of scene.h.
 *
 *   test_contact scenes             all scenes, as ctest runs them
 *   test_contact scenes tray        one kind of scene, with the outcome of each
 *
 * ABUT_TEST_PRINT=1 prints all outcomes; ABUT_TEST_GOALS=1 demands the goals of the contract where
 * the bounds of the table are still above them. `thorough` runs all clearances, margins and rates.
 */
#include "contact/scene.h"

static const bound bounds[] = {
    {"peg", OUTSIDE, 0.01, 0.01}, /* how far bodies are from where they belong at the end */
    {"peg", RATIO, 2, 2},         /* reported depth / a shift that separates */
    {"peg", KINETIC, 1e-5, 1e-5}, /* the largest of the last quarter of a second */
    {"press", OUTSIDE, 0.01, 0.01},
    {"press", RATIO, 2, 2},
    {"tray", OUTSIDE, 0.01, 0.01},
    {"tray", RATIO, 2, 2},
    {"tray", KINETIC, 1e-9, 1e-9},
    {"parts", OUTSIDE, 0.01, 0.01},
    {"parts", RATIO, 2, 2},
    {"parts", KINETIC, 1e-9, 1e-9},
    {"key", OUTSIDE, 0.01, 0.01},
    {"key", RATIO, 2, 2},
    {"key", KINETIC, 1e-5, 1e-5},
    {"stack", OUTSIDE, 0.02, 0.02},
    {"stack", RATIO, 2, 2},
    {"stack", KINETIC, 1e-9, 1e-9},
    {"fine", OUTSIDE, 0.02, 0.02}, /* cubes of 768 triangles */
    {"fine", KINETIC, 1e-9, 1e-9},
    {"solids", OUTSIDE, 0.02, 0.02},
    {"solids", KINETIC, 1e-9, 1e-9},
    {"chain", OUTSIDE, 0.03, 0.03},
    {"chain", RATIO, 2, 2},
    {"bowl", OUTSIDE, 0.02, 0.02},
    {"bowl", RATIO, 2, 2},
    {"bowl", KINETIC, 1e-2, 1e-2},
};

static void judge(const char *kind, const outcome *got) {
    judge_scene(bounds, sizeof bounds / sizeof *bounds, kind, got);
}

/* ---- scenes ---- */

/* A square peg slides down a hole with clearance onto the floor. Without one it is held, or slides,
 * but stays in the hole. */
static void run_pegs(bool is_press, const double *clearances, int clearance_count,
                     const char *name) {
    const double margins[] = {0.0005, 0.005, 0.02};
    outcome worst = {0};
    model ground = box_model("ground", 4, 4, 0.5, 1),
          peg = box_model("in:hole:0", 0.5, 0.5, 1.2, 1);
    for (int c = 0; c < clearance_count; c++)
        for (int m = 0; m < 3; m++)
            for (int r = 0; r < 2; r++) {
                if (!is_chosen(c + m + r, 2))
                    continue;
                const double clearance = clearances[c], start = 1.3;
                model hole = hole_model(0.25, 0.25, clearance, 0);
                snprintf(hole.name, sizeof hole.name, "hole:%g:0", clearance);
                begin_scene(margins[m], rates[r], 0.2);
                add_body(&ground, at(0, 0, -0.25), true, ABUT_COLLIDER_BODY);
                add_body(&hole, at(0, 0, 0.5), true, ABUT_COLLIDER_BODY);
                add_body(&peg, at(0.3 * clearance, -0.2 * clearance, start), false,
                         ABUT_COLLIDER_BODY);
                const double kinetic = run_scene(2);
                const abut_vec3 x = s.bodies[2].at.translation;
                const double reach = real_max(clearance, 0);
                double outside = beyond(x.z, 0.6, is_press ? start : 0.6);
                outside = real_max(outside, beyond(x.x, -reach, reach));
                outside = real_max(outside, beyond(x.y, -reach, reach));
                char note[96];
                snprintf(note, sizeof note, "clearance %g margin %g at %g Hz", clearance,
                         margins[m], rates[r]);
                keep_worst(&worst, outside, kinetic, note);
                destroy_model(&hole);
            }
    destroy_model(&ground);
    destroy_model(&peg);
    judge(name, &worst);
}

TEST(peg_slides_through_a_hole) {
    const double clearances[] = {0.02, 0.01, 0.001};
    run_pegs(false, clearances, 3, "peg");
}

TEST(press_fit_does_not_explode) {
    const double clearances[] = {0, -0.0005};
    run_pegs(true, clearances, 2, "press");
}

/* The tray of tray_model() as one mesh, or as five boxes that do not overlap each other. */
static uint32_t add_tray(bool is_boxes, double clearance, int subdivisions, abut_pose tilt,
                         model parts[5]) {
    const double inner = 0.5 + clearance, wall = 0.5 * (1 - inner);
    const abut_vec3 half[] = {v3(1, 1, 0.1), v3(wall, 1, 0.5), v3(inner, wall, 0.5)};
    const abut_vec3 centre[] = {v3(0, 0, -0.1), v3(inner + wall, 0, 0.5), v3(-inner - wall, 0, 0.5),
                                v3(0, inner + wall, 0.5), v3(0, -inner - wall, 0.5)};
    if (!is_boxes) {
        parts[0] = tray_model(clearance, subdivisions, 0);
        snprintf(parts[0].name, sizeof parts[0].name, "tray:%g:%d", clearance, subdivisions);
        add_body(&parts[0], tilt, true, ABUT_COLLIDER_BODY);
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        const abut_vec3 h = half[(i + 1) / 2];
        abut_pose part = at(centre[i].x, centre[i].y, centre[i].z);
        parts[i] = box_model("part", 2 * h.x, 2 * h.y, 2 * h.z, 1);
        assert_ok(abut_pose_compose(&tilt, &part, &part));
        add_body(&parts[i], part, true, ABUT_COLLIDER_BODY);
    }
    return 5;
}

/* A unit cube falls into a tilted tray and slides into its lowest corner. */
static void run_trays(bool is_boxes, const char *name) {
    const double clearances[] = {0.0005, 0.001, 0.002, 0.005, 0.02};
    const double margins[] = {0.0005, 0.001, 0.005, 0.02};
    outcome worst = {0};
    model cube = box_model("in:tray:0", 1, 1, 1, 1);
    for (int c = 0; c < 5; c++)
        for (int m = 0; m < 4; m++)
            for (int r = 0; r < 2; r++) {
                if (!is_chosen(c + 2 * m + r, is_boxes ? 10 : 5))
                    continue;
                model parts[5];
                abut_pose tilt, local, start = at(0, 0, 0.8);
                assert_ok(abut_pose_from_axis_angle(v3(1, -1, 0), 0.4, v3(0, 0, 0), &tilt));
                assert_ok(abut_pose_compose(&tilt, &start, &start));
                begin_scene(margins[m], rates[r], 0.6);
                const uint32_t count = add_tray(is_boxes, clearances[c], c % 2, tilt, parts);
                add_body(&cube, start, false, ABUT_COLLIDER_BODY);
                const double kinetic = run_scene(3);
                assert_ok(abut_pose_invert(&tilt, &tilt));
                assert_ok(abut_pose_compose(&tilt, &s.bodies[count].at, &local));
                const abut_vec3 x = local.translation;
                double outside = beyond(x.z, 0.5, 0.5);
                outside = real_max(outside, beyond(x.x, -clearances[c], clearances[c]));
                outside = real_max(outside, beyond(x.y, -clearances[c], clearances[c]));
                char note[96];
                snprintf(note, sizeof note, "clearance %g margin %g at %g Hz", clearances[c],
                         margins[m], rates[r]);
                keep_worst(&worst, outside, kinetic, note);
                for (uint32_t i = 0; i < count; i++)
                    destroy_model(&parts[i]);
            }
    destroy_model(&cube);
    judge(name, &worst);
}

TEST(tray_holds_a_cube) {
    run_trays(false, "tray");
}

/* The same tray as five boxes: that the solver and the goals are not what fails. */
TEST(parts_of_a_tray_hold_a_cube) {
    run_trays(true, "parts");
}

/* A key with five ridges slides down its lock, clearance 0.01. */
TEST(key_slides_into_its_lock) {
    const double margins[] = {0.0005, 0.005, 0.02};
    outline_point outer[60], inner[60], outline[60];
    outcome worst = {0};
    for (int i = 0; i < 60; i++)
        outer[i] = (outline_point){cos(2 * PI * i / 60), sin(2 * PI * i / 60)};
    key_outline(0.01, inner);
    key_outline(0, outline);
    model lock = ring_model("lock", outer, inner, 60, -0.5, 0.5, 0);
    model key = star_model("key", outline, 60, -0.6, 0.6, 1, 0);
    model ground = box_model("ground", 4, 4, 0.5, 1);
    for (int m = 0; m < 3; m++)
        for (int r = 0; r < 2; r++) {
            if (!is_chosen(m + 2 * r, 3))
                continue;
            begin_scene(margins[m], rates[r], 0.2);
            add_body(&ground, at(0, 0, -0.25), true, ABUT_COLLIDER_BODY);
            add_body(&lock, at(0, 0, 0.5), true, ABUT_COLLIDER_BODY);
            add_body(&key, at(0.002, 0.001, 1.3), false, ABUT_COLLIDER_BODY);
            const double kinetic = run_scene(runs_all() ? 2 : 1.2);
            const abut_vec3 x = s.bodies[2].at.translation;
            double outside = beyond(x.z, 0.6, 0.6);
            outside = real_max(outside, beyond(x.x, -0.015, 0.015));
            outside = real_max(outside, beyond(x.y, -0.015, 0.015));
            char note[96];
            snprintf(note, sizeof note, "margin %g at %g Hz", margins[m], rates[r]);
            keep_worst(&worst, outside, kinetic, note);
        }
    destroy_model(&lock);
    destroy_model(&key);
    destroy_model(&ground);
    judge("key", &worst);
}

/* Ten cubes on each other, a little aside. */
static void run_stack(abut_collider_kind kind, uint32_t segments, double rate, const char *note,
                      outcome *worst) {
    test_random random = {31};
    model ground = box_model("ground", 6, 6, 0.5, 1), cube = box_model("cube", 1, 1, 1, segments);
    abut_vec3 start[10];
    begin_scene(0.005, rate, 0.6);
    add_body(&ground, at(0, 0, -0.25), true, ABUT_COLLIDER_BODY);
    for (int i = 0; i < 10; i++) {
        start[i] = v3(test_random_real(&random, -0.005, 0.005),
                      test_random_real(&random, -0.005, 0.005), 0.5 + 1.001 * i);
        add_body(&cube, at(start[i].x, start[i].y, start[i].z), false, kind);
    }
    const double kinetic = run_scene(test_brief() ? 2 : 16);
    double outside = 0;
    for (int i = 0; i < 10; i++) {
        const abut_vec3 x = s.bodies[i + 1].at.translation;
        outside = real_max(outside, v3_length(v3(x.x - start[i].x, x.y - start[i].y, 0)));
        outside = real_max(outside, beyond(x.z, 0.5 + i - 0.03, 0.5 + i + 0.005));
    }
    keep_worst(worst, outside, kinetic, note);
    destroy_model(&ground);
    destroy_model(&cube);
}

TEST(stack_of_meshes_rests) {
    outcome worst = {0};
    run_stack(ABUT_COLLIDER_BODY, 1, 120, "12 triangles at 120 Hz", &worst);
    if (runs_all())
        run_stack(ABUT_COLLIDER_BODY, 1, 480, "12 triangles at 480 Hz", &worst);
    judge("stack", &worst);
}

TEST(fine_meshes_stack_and_rest) {
    outcome worst = {0};
    if (!runs_all())
        skip();
    run_stack(ABUT_COLLIDER_BODY, 8, 120, "768 triangles at 120 Hz", &worst);
    judge("fine", &worst);
}

TEST(solids_stack_and_rest) {
    outcome worst = {0};
    run_stack(ABUT_COLLIDER_BOX, 1, 120, "boxes at 120 Hz", &worst);
    run_stack(ABUT_COLLIDER_HULL, 1, 120, "hulls at 120 Hz", &worst);
    judge("solids", &worst);
}

/* Links hang in each other and swing; none comes off. */
TEST(chain_of_links_holds) {
    const uint32_t count = runs_all() ? 50 : 8;
    const double radius = 0.5, tube = 0.12, pitch = 2 * (radius - tube), stretch = 0.02;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    outcome worst = {0};
    shape.radius = radius;
    shape.radius2 = tube;
    shape.segments = 24;
    shape.rings = 10;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    model link = model_of("link", mesh, 0, true);
    begin_scene(0.005, 240, 0.6);
    for (uint32_t i = 0; i < count; i++) {
        abut_pose upright, across;
        assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), PI / 2, v3(0, 0, 0), &upright));
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), PI / 2 * (i % 2), v3(0, 0, -pitch * i),
                                            &across));
        assert_ok(abut_pose_compose(&across, &upright, &across));
        body *b = add_body(&link, across, i == 0, ABUT_COLLIDER_BODY);
        b->velocity = i ? v3(1.0 * i / count, 0, 0) : v3(0, 0, 0);
    }
    const double kinetic = run_scene(3);
    double outside = 0;
    for (uint32_t i = 1; i < count; i++) {
        const double distance =
            v3_length(v3_sub(s.bodies[i].at.translation, s.bodies[i - 1].at.translation));
        outside = real_max(outside, beyond(distance, 0, pitch + stretch));
    }
    char note[96];
    snprintf(note, sizeof note, "%u links", count);
    keep_worst(&worst, outside, kinetic, note);
    destroy_model(&link);
    judge("chain", &worst);
}

/* Tori, knots, gears and letters fall into a bowl and come to rest in it. */
TEST(bowl_holds_concave_bodies) {
    const uint32_t count = runs_all() ? 60 : test_brief() ? 4 : 8;
    const double radius = 3, wall = 0.4;
    test_random random = {37};
    outline_point outline[128];
    outcome worst = {0};
    model bowl = bowl_model(radius, wall, 32, 10, 0);
    const uint32_t teeth = gear_outline(8, outline);
    model kinds[] = {shape_model("torus", ABUT_SHAPE_TORUS, 20, 10, 0, 0.9),
                     knot_model(0.35, 48, 6, 0.9),
                     star_model("gear", outline, teeth, -0.25, 0.25, 1, 0.8),
                     shape_model("letter-e", ABUT_SHAPE_LETTER_E, 2, 0, 0, 0.9)};
    begin_scene(0.005, 120, 0.5);
    add_body(&bowl, at(0, 0, 0), true, ABUT_COLLIDER_BODY);
    for (uint32_t i = 0; i < count; i++) {
        abut_pose start = random_pose(&random, 0.05);
        start.translation =
            v3_add(start.translation,
                   v3(-0.6 + 1.2 * (i % 2), -0.6 + 1.2 * (i / 2 % 2), -1 + 1.0 * (i / 4)));
        add_body(&kinds[i % 4], start, false, ABUT_COLLIDER_BODY);
    }
    const double kinetic = run_scene(test_brief() ? 1 : runs_all() ? 5 + 0.1 * count : 4);
    double outside = 0;
    uint32_t lost = 0;
    for (uint32_t i = 1; i <= count; i++) {
        const abut_vec3 x = s.bodies[i].at.translation;
        const double away = x.z > 0 ? v3_length(v3(x.x, x.y, 0)) : v3_length(x);
        const double gone = beyond(away, 0, radius - wall);
        lost += gone > 0.02;
        outside = real_max(outside, gone);
    }
    char note[96];
    snprintf(note, sizeof note, "%u bodies, %u lost", count, lost);
    keep_worst(&worst, outside, kinetic, note);
    destroy_model(&bowl);
    for (int i = 0; i < 4; i++)
        destroy_model(&kinds[i]);
    judge("bowl", &worst);
}

int main(int argc, char **argv) {
    return run_scenes(argc, argv);
}
