/* More scenes of rigid bodies on exact contacts: gears that drive each other, a nut on its bolt,
 * many concave bodies in a bowl, open meshes on a floor, bodies on terrain. The solver is that of
 * scene.h; see test_scenes.c for how to run one kind of scene.
 */
#include "contact/scene.h"
#include "contact/scene_models.h"

static const bound bounds[] = {
    {"gears", OUTSIDE, 0.03, 0.03}, /* 0.3% of 10 rad */
    {"gears", RATIO, 2, 2},
    {"nut", OUTSIDE, 0.05, 0.05}, /* of the pitch, at any time */
    {"nut", RATIO, 2, 2},
    {"turns", OUTSIDE, NOT_YET, 0.05}, /* 0.2: depths of a nut that is pressed deep into the bolt */
    {"turns", RATIO, NOT_YET, 2},
    {"basin", OUTSIDE, 0.02, 0.02},
    {"basin", RATIO, 2, 2},
    {"sheets", OUTSIDE, 0.01, 0.01},
    {"sheets", RATIO, 2, 2},
    {"sheets", KINETIC, 0.04, 0.02}, /* half bowls go on rocking */
    {"pile", OUTSIDE, 0.01, 0.01},   /* of sheets and half bowls, which have no inside */
    {"terrain", OUTSIDE, 0.01, 0.01},
    {"terrain", RATIO, 2, 2},
    {"field", OUTSIDE, 0.01, 0.01},
    {"field", RATIO, 2, 2},
};

static void judge(const char *kind, const outcome *got) {
    judge_scene(bounds, sizeof bounds / sizeof *bounds, kind, got);
}

/* ---- gears ---- */

/* Four equal gears in a row, the first of them driven by 1 rad/s, the others on axles. After 10 s
 * they have turned by 10, -10, 10, -10 rad: no tooth is jumped, and none gets stuck. */
static void run_gears(double margin, double rate, outcome *worst) {
    enum { GEARS = 4 };
    const double seconds = test_brief() ? 1 : 10;
    model wheel = scene_model("wheel");
    double angle[GEARS] = {0}, outside = 0;
    begin_scene(margin, rate, 0.1);
    s.gravity = 0;
    for (int i = 0; i < GEARS; i++) {
        abut_pose start;
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), i % 2 ? PI / 16 : 0, v3(2.02 * i, 0, 0),
                                            &start));
        body *b = add_body(&wheel, start, false, ABUT_COLLIDER_BODY);
        const double about_axle = i ? 1 / b->inertia.row[2].z : 0;
        b->inverse_mass = 0;
        b->inverse_inertia = (mat3){{v3(0, 0, 0), v3(0, 0, 0), v3(0, 0, about_axle)}};
        b->spin = v3(0, 0, i == 0);
    }
    for (int step = 0; step < seconds * rate; step++) {
        step_scene();
        for (int i = 0; i < GEARS; i++)
            angle[i] += s.bodies[i].spin.z / rate;
    }
    for (int i = 0; i < GEARS; i++)
        outside = real_max(outside, fabs(angle[i] - (i % 2 ? -seconds : seconds)));
    char note[96];
    snprintf(note, sizeof note, "angles %.3f %.3f %.3f %.3f margin %g at %g Hz", angle[0], angle[1],
             angle[2], angle[3], margin, rate);
    keep_worst(worst, outside, kinetic_energy(), note);
    destroy_model(&wheel);
}

TEST(gears_drive_each_other) {
    const double margins[] = {0.005, 0.02, 0.0005};
    outcome worst = {0};
    for (int m = 0; m < 3; m++)
        for (int r = 0; r < 2; r++)
            if (runs_all() || (m == 0 && r == 0))
                run_gears(margins[m], rates[r], &worst);
    judge("gears", &worst);
}

/* ---- nut ---- */

/* An M20 nut is turned once a second on a fixed bolt; its weight holds it on the flanks. It goes
 * down by one pitch a turn, without jumps, and stays upright and centred. */
static void run_nut(double margin, double rate, double friction, int turns, outcome *worst) {
    const double settle = 0.25;
    model nut = scene_model("nut"), bolt = scene_model("bolt");
    begin_scene(margin, rate, friction);
    add_body(&bolt, at(0, 0, 0), true, ABUT_COLLIDER_BODY);
    body *b = add_body(&nut, at(0, 0, 2 * THREAD_PITCH), false, ABUT_COLLIDER_BODY);
    b->inverse_inertia.row[2] = v3(0, 0, 0); /* the torque is as large as it has to be */
    b->spin = v3(0, 0, -2 * PI);
    double start = 0, outside = 0, jump = 0, slant = 0, aside = 0;
    for (int step = 0; step < (turns + settle) * rate; step++) {
        const double z = b->at.translation.z;
        step_scene();
        const abut_vec3 x = b->at.translation, up = turned(b->at.rotation, v3(0, 0, 1));
        const double turned_by = (step + 1) / rate - settle;
        jump = real_max(jump, fabs(x.z - z));
        slant = real_max(slant, 1 - up.z);
        aside = real_max(aside, v3_length(v3(x.x, x.y, 0)));
        if (fabs(turned_by) < 0.5 / rate)
            start = x.z;
        else if (turned_by > 0)
            outside =
                real_max(outside, fabs(start - x.z - turned_by * THREAD_PITCH) / THREAD_PITCH);
    }
    outside = real_max(outside, beyond(aside, 0, 0.03));
    outside = real_max(outside, beyond(jump, 0, 0.02));
    char note[96];
    snprintf(note, sizeof note, "margin %g friction %g at %g Hz", margin, friction, rate);
    if (prints)
        printf("    largest step %.4g, aside %.4g, slant %.4g\n", jump, aside, acos(1 - slant));
    keep_worst(worst, outside, kinetic_energy(), note);
    destroy_model(&nut);
    destroy_model(&bolt);
}

TEST(nut_turns_down_its_bolt) {
    outcome worst = {0};
    run_nut(0.005, 120, 0.1, test_brief() ? 0 : 1, &worst);
    judge("nut", &worst);
}

/* With a margin of 0.0005 the flanks go 100 margins in a step: the nut is pressed deep into them.
 */
TEST(nut_turns_down_with_other_margins) {
    const double margins[] = {0.005, 0.02, 0.0005};
    outcome worst = {0};
    if (!runs_all())
        skip();
    for (int m = 0; m < 3; m++)
        run_nut(margins[m], 120, 0.1, 2, &worst);
    judge("turns", &worst);
}

/* ---- bowl ---- */

/* Tori, knots, gears and letters rain into a bowl with a rim high enough for all of them. */
static void run_basin(uint32_t count, double seconds, outcome *worst) {
    const char *const names[] = {"basin-torus", "basin-knot", "basin-gear", "basin-letter"};
    const double radius = 3, wall = 0.4;
    test_random random = {41};
    model kinds[4], basin = scene_model("basin"), shaft = scene_model("shaft");
    for (int i = 0; i < 4; i++)
        kinds[i] = scene_model(names[i]);
    begin_scene(0.005, 120, 0.5);
    add_body(&basin, at(0, 0, 0), true, ABUT_COLLIDER_BODY);
    add_body(&shaft, at(0, 0, 0), true, ABUT_COLLIDER_BODY);
    for (uint32_t i = 0; i < count; i++) {
        abut_pose start = random_pose(&random, 0.05);
        const int layer = (int)i / 9, k = (int)i % 9;
        start.translation =
            v3_add(start.translation, v3(1.1 * (k % 3 - 1), 1.1 * (k / 3 - 1), -1 + 1.0 * layer));
        add_body(&kinds[i % 4], start, false, ABUT_COLLIDER_BODY);
    }
    const double kinetic = run_scene(seconds);
    double outside = 0;
    uint32_t lost = 0;
    for (uint32_t i = 2; i < count + 2; i++) {
        const abut_vec3 x = s.bodies[i].at.translation;
        const double away = x.z > 0 ? v3_length(v3(x.x, x.y, 0)) : v3_length(x);
        const double gone = beyond(away, 0, radius - wall);
        lost += gone > 0.02;
        outside = real_max(outside, gone);
    }
    char note[96];
    snprintf(note, sizeof note, "%u bodies, %u lost", count, lost);
    keep_worst(worst, outside, kinetic, note);
    destroy_model(&basin);
    destroy_model(&shaft);
    for (int i = 0; i < 4; i++)
        destroy_model(&kinds[i]);
}

TEST(basin_holds_many_bodies) {
    outcome worst = {0};
    if (runs_all())
        run_basin(200, 8, &worst);
    else
        run_basin(test_brief() ? 9 : 18, test_brief() ? 0.5 : 2, &worst);
    judge("basin", &worst);
}

/* A tooth between two strands of a knot: walls that nearly face each other separate only after a
 * shift of 0.047 along both, other normals after 0.015. */
TEST(tooth_leaves_a_knot_by_the_shorter_way) {
    model gear = scene_model("basin-gear"), knot = scene_model("basin-knot");
    const abut_collider a =
        abut_collider_from_bvh(gear.bvh, (abut_pose){{0.13653966335864706, -0.064245768615291285,
                                                      -0.62905294961227609, -0.76257575894401008},
                                                     {1.5223437992044992, -0.72952479196671549,
                                                      -1.5029112502457342}});
    const abut_collider b =
        abut_collider_from_bvh(knot.bvh, (abut_pose){{-0.18412998151572746, -0.028018377076861164,
                                                      0.50004450878158169, -0.84573436118581768},
                                                     {1.6635898965037137, -0.078526550455197894,
                                                      -1.5146516618418209}});
    abut_patch patches[16];
    abut_contact found_contacts[64];
    abut_patches found = {.size = sizeof found,
                          .patches.list = patches,
                          .patches.capacity = 16,
                          .contacts.list = found_contacts,
                          .contacts.capacity = 64};
    assert_ok(abut_contact_find(&a, &b, NULL, &found));
    assert_true(found.patches.count > 0 && found.is_verified);
    assert_true(patches[0].depth < 0.016);
    destroy_model(&gear);
    destroy_model(&knot);
}

/* ---- open meshes ---- */

/* Sheets and half bowls fall onto a floor, beside or on each other. */
static void run_sheets(bool is_pile, double margin, double rate, outcome *worst) {
    enum { COUNT = 6 };
    test_random random = {43};
    model ground = scene_model("floor"), leaf = scene_model("leaf"),
          half_bowl = scene_model("half-bowl");
    begin_scene(margin, rate, 0.6);
    add_body(&ground, at(0, 0, -0.25), true, ABUT_COLLIDER_BODY);
    for (int i = 0; i < COUNT; i++) {
        abut_pose start;
        const abut_vec3 axis =
            v3(test_random_real(&random, -1, 1), test_random_real(&random, -1, 1), 0.1);
        const abut_vec3 x = is_pile ? v3(test_random_real(&random, -0.2, 0.2),
                                         test_random_real(&random, -0.2, 0.2), 0.5 + 0.7 * i)
                                    : v3(1.5 * (i / 2 - 1), i % 2 ? 1 : -1, 0.6 + 0.1 * i);
        assert_ok(abut_pose_from_axis_angle(axis, 0.3 * i / COUNT, x, &start));
        add_body(i % 2 ? &half_bowl : &leaf, start, false, ABUT_COLLIDER_BODY);
    }
    const double kinetic = run_scene(test_brief() ? 1 : runs_all() ? 4 : 3);
    double outside = 0;
    uint32_t lost = 0;
    for (int i = 1; i <= COUNT; i++) {
        const abut_vec3 x = s.bodies[i].at.translation;
        const double gone = real_max(beyond(x.z, 0, 5), beyond(v3_max_abs(v3(x.x, x.y, 0)), 0, 4));
        lost += gone > 0.01;
        outside = real_max(outside, gone);
    }
    char note[96];
    snprintf(note, sizeof note, "%s, %u lost, margin %g at %g Hz", is_pile ? "pile" : "beside",
             lost, margin, rate);
    keep_worst(worst, outside, kinetic, note);
    destroy_model(&ground);
    destroy_model(&leaf);
    destroy_model(&half_bowl);
}

TEST(sheets_stay_on_the_floor) {
    outcome worst = {0};
    for (int r = 0; r < (runs_all() ? 2 : 1); r++)
        run_sheets(false, 0.005, rates[r], &worst);
    judge("sheets", &worst);
}

TEST(pile_of_sheets_stays_on_the_floor) {
    outcome worst = {0};
    if (!runs_all())
        skip();
    run_sheets(true, 0.005, 120, &worst);
    judge("pile", &worst);
}

/* ---- terrain ---- */

/* Cubes and tori fall onto hills and stay above the ground. Tori roll down the hills, so there is a
 * fence around them: four boxes. */
static void run_terrain(bool is_closed, outcome *worst) {
    enum { COUNT = 16, FENCE = 4 };
    test_random random = {47};
    model ground = scene_model(is_closed ? "terrain" : "open-terrain"),
          fence = scene_model("fence");
    model kinds[] = {scene_model("stone"), scene_model("ring")};
    begin_scene(0.005, 120, 0.6);
    add_body(&ground, at(0, 0, 0), true, ABUT_COLLIDER_BODY);
    for (int i = 0; i < FENCE; i++) {
        abut_pose side;
        const double x[] = {6.25, 0, -6.25, 0};
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), PI / 2 * (i % 2),
                                            v3(x[i], x[(i + 3) % 4], 0), &side));
        add_body(&fence, side, true, ABUT_COLLIDER_BODY);
    }
    for (int i = 0; i < COUNT; i++) {
        abut_pose start = random_pose(&random, 0);
        start.translation = v3(-4.5 + 3 * (i % 4), -4.5 + 3 * (i / 4), 1.3);
        add_body(&kinds[i % 2], start, false, ABUT_COLLIDER_BODY);
    }
    const double kinetic = run_scene(test_brief() ? 1 : runs_all() ? 3 : 2);
    double outside = 0;
    uint32_t lost = 0;
    for (int i = 1 + FENCE; i <= COUNT + FENCE; i++) {
        const abut_vec3 x = s.bodies[i].at.translation;
        const double ground_at = terrain_height(x.x, x.y);
        const double gone =
            real_max(beyond(x.z, ground_at + 0.05, 2), beyond(v3_max_abs(v3(x.x, x.y, 0)), 0, 6));
        lost += gone > 0.01;
        outside = real_max(outside, gone);
    }
    char note[96];
    snprintf(note, sizeof note, "%s, %u lost", is_closed ? "closed" : "open", lost);
    keep_worst(worst, outside, kinetic, note);
    destroy_model(&ground);
    destroy_model(&fence);
    for (int i = 0; i < 2; i++)
        destroy_model(&kinds[i]);
}

TEST(terrain_bears_bodies) {
    outcome worst = {0};
    run_terrain(true, &worst);
    judge("terrain", &worst);
}

/* The same hills as an open height field. */
TEST(field_of_heights_bears_bodies) {
    outcome worst = {0};
    run_terrain(false, &worst);
    judge("field", &worst);
}

int main(int argc, char **argv) {
    return run_scenes(argc, argv);
}
