/* Sheets have no interior: the overlap of a sheet is reported by the shortest shift, for any
 * orientation of the sheet. */
#include "contact/scene_models.h"

#define MOST_RATIO 1.3 /* a way that is less than a quarter longer may be reported */

enum { MOST = 64 };

static double random_depth(test_random *random) {
    return 1e-4 * pow(200, test_random_real(random, 0, 1));
}

static double deepest(const model *a, abut_pose at_a, const model *b, abut_pose at_b, double margin,
                      bool *separates) {
    static abut_patch list[MOST];
    static abut_contact contacts[8 * MOST];
    abut_patches found = {.size = sizeof found,
                          .patches.list = list,
                          .patches.capacity = MOST,
                          .contacts.list = contacts,
                          .contacts.capacity = 8 * MOST};
    abut_patch_options options = abut_patch_options_default();
    const abut_collider first = abut_collider_from_bvh(a->bvh, at_a),
                        second = abut_collider_from_bvh(b->bvh, at_b);
    options.margin = margin;
    assert_ok(abut_contact_find(&first, &second, &options, &found));
    assert_true(found.patches.count > 0);
    *separates = found.is_verified;
    return list[0].depth;
}

/* The same pose, moved along z so that the lowest vertex is at a height. `ground` ends at 0. */
static abut_pose with_lowest_at(const model *m, abut_pose at, const model *ground, double height) {
    abut_separation found;
    at.translation.z = 5;
    const abut_collider above = abut_collider_from_bvh(m->bvh, at),
                        below = abut_collider_from_bvh(ground->bvh,
                                                       (abut_pose){{0, 0, 0, 1}, {0, 0, -0.25}});
    assert_ok(abut_pair_distance(&above, &below, NULL, NULL, &found));
    at.translation.z += height - found.distance;
    return at;
}

/* Sheets and half bowls that reach a little into a floor: tilted by all angles, upright too. */
TEST(sheets_in_a_floor_are_as_deep_as_they_reach) {
    model ground = scene_model("floor"), leaf = scene_model("leaf"),
          half_bowl = scene_model("half-bowl");
    const abut_pose below = {{0, 0, 0, 1}, {0, 0, -0.25}};
    test_random random = {61};
    for (int i = 0; i < 300; i++) {
        const model *m = i % 3 ? &leaf : &half_bowl;
        const double depth = random_depth(&random);
        abut_pose at = random_pose(&random, 0.5);
        bool separates;
        if (i % 6 == 1) /* upright: on an edge, or on a corner */
            assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), PI / 2, v3(0, 0, 0), &at));
        if (i % 12 == 7) {
            abut_pose turn;
            assert_ok(abut_pose_from_axis_angle(v3(0, 1, 0), test_random_real(&random, 0, PI),
                                                v3(0, 0, 0), &turn));
            assert_ok(abut_pose_compose(&turn, &at, &at));
        }
        at = with_lowest_at(m, at, &ground, -depth);
        const double reported = deepest(m, at, &ground, below, i % 2 ? 0.005 : 0, &separates);
        if (!(reported <= MOST_RATIO * depth) || !separates)
            fail_msg("%s %d: %g reported for %g, separates %d", m->name, i, reported, depth,
                     separates);
    }
    abut_bvh_destroy(ground.bvh);
    abut_bvh_destroy(leaf.bvh);
    abut_bvh_destroy(half_bowl.bvh);
}

/* A sheet that stands on another and goes through it by a little. */
TEST(sheets_that_cross_are_as_deep_as_they_reach) {
    model leaf = scene_model("leaf"), ground = scene_model("floor");
    model wide = shape_model("wide", ABUT_SHAPE_SHEET, 8, 8, 0, 4);
    const abut_pose below = {{0, 0, 0, 1}, {0, 0, 0}};
    test_random random = {67};
    for (int i = 0; i < 200; i++) {
        const double depth = random_depth(&random);
        abut_pose at = random_pose(&random, 0.1);
        bool separates;
        if (i % 4 == 1)
            assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), PI / 2, v3(0.1, 0.05, 0), &at));
        at = with_lowest_at(&leaf, at, &ground, -depth);
        const double reported = deepest(&leaf, at, &wide, below, i % 2 ? 0.005 : 0, &separates);
        if (!(reported > 0 && reported <= MOST_RATIO * depth) || !separates)
            fail_msg("%d: %g reported for %g, separates %d", i, reported, depth, separates);
    }
    abut_bvh_destroy(leaf.bvh);
    abut_bvh_destroy(wide.bvh);
    abut_bvh_destroy(ground.bvh);
}
