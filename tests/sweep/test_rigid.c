/* Rigid bodies along paths: known times, thin plates at any speed, and dense samples of time with
 * the exact test of overlap as the referee. */
#include "base/base.h"
#include "support/pose.h"

#include <math.h>

static abut_bvh *tree_of(const abut_shape *shape) {
    AUTO(mesh) mesh;
    abut_bvh *bvh;
    assert_ok(abut_shape_create(NULL, shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    return bvh;
}

static abut_bvh *box_of(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(x, y, z);
    shape.segments = 1;
    return tree_of(&shape);
}

static abut_bvh *ball_of(double radius, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = radius;
    shape.segments = segments;
    return tree_of(&shape);
}

static abut_pose shifted(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

static abut_pose turned(abut_vec3 axis, double angle, abut_vec3 to) {
    abut_pose p;
    assert_ok(abut_pose_from_axis_angle(axis, angle, to, &p));
    return p;
}

static const test_motion_path still = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};

/* ---- known times ---- */

TEST(cubes_meet_when_they_should) {
    AUTO(bvh) cube = box_of(1, 1, 1);
    abut_sweep_rigid_result touch;
    test_motion_path down = {shifted(0.2, 0.1, 3), shifted(0.2, 0.1, -1)};
    assert_ok(test_sweep_rigid(cube, &down, cube, &still, NULL, &touch));
    assert_true(touch.hit && touch.time <= 0.5 && touch.time > 0.5 - 1e-6);
    assert_true(fabs(touch.point.z - 0.5) < 1e-5 && fabs(touch.normal.z - 1) < 1e-6);
    assert_ok(test_sweep_rigid(cube, &still, cube, &down, NULL, &touch)); /* exchanged */
    assert_true(touch.hit && fabs(touch.normal.z + 1) < 1e-6);
    test_motion_path beside = {shifted(1.001, 0, 3), shifted(1.001, 0, -3)};
    assert_ok(test_sweep_rigid(cube, &beside, cube, &still, NULL, &touch));
    assert_true(!touch.hit && touch.time == 1);
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    options.separation = 0.01;
    assert_ok(test_sweep_rigid(cube, &beside, cube, &still, &options, &touch));
    assert_true(touch.hit && touch.time < 0.34 && touch.time > 0.33);
    test_motion_path near = {shifted(0, 0, 1.005),
                             shifted(0, 0, 9)}; /* nearer than that from the start */
    assert_ok(test_sweep_rigid(cube, &near, cube, &still, &options, &touch));
    assert_true(touch.hit && touch.time == 0);
    /* Both move in the same direction: only the difference counts. */
    test_motion_path first = {shifted(0, 0, 3), shifted(1e4, 0, 1)},
                     second = {shifted(0, 0, 0), shifted(1e4, 0, 1)};
    assert_ok(test_sweep_rigid(cube, &first, cube, &second, NULL, &touch));
    assert_true(touch.hit && touch.time <= 2.0 / 3 && touch.time > 2.0 / 3 - 1e-6);
    /* Touching from the start, and inside. */
    test_motion_path away = {shifted(0, 0, 1), shifted(0, 0, 9)};
    assert_ok(test_sweep_rigid(cube, &away, cube, &still, NULL, &touch));
    assert_true(touch.hit && touch.time == 0);
    AUTO(bvh) small = box_of(0.1, 0.1, 0.1);
    assert_ok(test_sweep_rigid(small, &still, cube, &still, NULL, &touch));
    assert_true(touch.hit && touch.time == 0 && touch.triangle[1] == ABUT_NONE);
}

/* A bar that turns by a quarter hits a post with its end, though at neither pose they touch. */
TEST(turning_bars_hit_posts) {
    AUTO(bvh) bar = box_of(2, 0.1, 0.1), *post = box_of(0.02, 0.02, 1);
    test_motion_path turns = {shifted(0, 0, 0), turned(v3(0, 0, 1), 1.5, v3(0, 0, 0))};
    test_motion_path resting = {shifted(0.6, 0.6, 0), shifted(0.6, 0.6, 0)};
    abut_sweep_rigid_result touch;
    assert_ok(test_sweep_rigid(bar, &turns, post, &resting, NULL, &touch));
    assert_true(touch.hit);
    abut_pose at;
    assert_ok(abut_pose_interpolate(&turns.from, &turns.to, touch.time, &at));
    abut_collider a = abut_collider_from_bvh(bar, at),
                  b = abut_collider_from_bvh(post, resting.from);
    abut_separation separation;
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
    assert_true(separation.distance < 1e-6 && separation.relation == ABUT_PAIR_APART);
    double angle = 2 * atan2(at.rotation.z, at.rotation.w); /* its upper face reaches a corner */
    double corner = atan2(0.59, 0.61) - asin(0.05 / hypot(0.61, 0.59));
    assert_true(angle <= corner && angle > corner - 1e-5);
    resting.from.translation.x = resting.to.translation.x = 0.8; /* beyond its reach */
    resting.from.translation.y = resting.to.translation.y = 0.8;
    assert_ok(test_sweep_rigid(bar, &turns, post, &resting, NULL, &touch));
    assert_false(touch.hit);
}

/* ---- primitives ---- */

/* Shapes that end at z = -1 or reach beyond it, with known heights of their lowest points. */
TEST(primitives_touch_when_they_should) {
    const abut_pose up = shifted(0.1, 0.2, 4), down = shifted(0.1, 0.2, -4);
    AUTO(bvh) cube = box_of(1, 1, 1);
    const abut_collider falling[] = {
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, up),
        abut_collider_from_capsule((abut_capsule){{{0, 0, 0}, {0.3, 0, 0.4}}, 0.5}, up),
        abut_collider_from_box(v3(0.2, 0.3, 0.5), up),
        abut_collider_from_cylinder((abut_cylinder){{{0, 0, -0.5}, {0, 0, 0.5}}, 0.2}, up),
        abut_collider_from_hull(cube, up),
        abut_collider_from_bvh(cube, up)};
    const abut_collider floors[] = {
        abut_collider_from_plane((abut_plane){{0, 0, 2}, 2}, abut_pose_identity()),
        abut_collider_from_box(v3(3, 3, 1), abut_pose_identity()),
        abut_collider_from_cylinder((abut_cylinder){{{0, 0, -1}, {0, 0, 1}}, 3},
                                    abut_pose_identity()),
        abut_collider_from_capsule((abut_capsule){{{-9, 0.2, 0}, {9, 0.2, 0}}, 1},
                                   abut_pose_identity())};
    for (size_t i = 0; i < sizeof falling / sizeof *falling; i++)
        for (size_t k = 0; k < sizeof floors / sizeof *floors; k++) {
            abut_sweep_rigid_result touch, turned_round;
            assert_ok(abut_sweep_rigid(&falling[i], &down, &floors[k], NULL, NULL, &touch));
            const double time = (4 - 0.5 - 1) / 8;
            assert_true(touch.hit && touch.time <= time + 1e-12);
            assert_true(touch.time > time - (0.003 * 2 + 1e-5) / 8);
            assert_true(fabs(touch.normal.z - 1) < 1e-3 && fabs(touch.point.z - 1) < 0.01);
            assert_int_equal(touch.reliability.level, ABUT_RELIABILITY_GUARANTEED);
            assert_int_equal(touch.triangle[0] != ABUT_NONE, i > 3 && k > 0);
            assert_int_equal(touch.triangle[1], ABUT_NONE);
            assert_ok(abut_sweep_rigid(&floors[k], NULL, &falling[i], &down, NULL, &turned_round));
            assert_true(fabs(turned_round.time - touch.time) < 1e-5);
            assert_true(fabs(turned_round.normal.z + 1) < 1e-3);
            /* Above, and below the surface from the start. */
            assert_ok(abut_sweep_rigid(&falling[i], NULL, &floors[k], NULL, NULL, &touch));
            assert_true(!touch.hit && touch.time == 1);
            abut_collider inside = falling[i];
            inside.pose = shifted(0, 0, 0.9);
            assert_ok(abut_sweep_rigid(&inside, &up, &floors[k], NULL, NULL, &touch));
            assert_true(touch.hit && touch.time == 0);
        }
}

/* Two spheres that pass each other, against the roots of a quadratic. */
TEST(spheres_follow_the_formula) {
    test_random random = {5};
    uint32_t hits = 0;
    for (uint32_t round = 0; round < test_rounds(200); round++) {
        const double r[2] = {test_random_real(&random, 0.1, 1), test_random_real(&random, 0.1, 1)};
        test_motion_path paths[2];
        for (int k = 0; k < 2; k++)
            paths[k] = (test_motion_path){random_pose(&random, 1.5), random_pose(&random, 1.5)};
        const abut_collider a = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, r[0]},
                                                          paths[0].from),
                            b = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, r[1]},
                                                          paths[1].from);
        abut_sweep_rigid_result touch;
        assert_ok(abut_sweep_rigid(&a, &paths[0].to, &b, &paths[1].to, NULL, &touch));
        const abut_vec3 apart = v3_sub(paths[0].from.translation, paths[1].from.translation),
                        way =
                            v3_sub(v3_sub(paths[0].to.translation, paths[1].to.translation), apart);
        double times[2]; /* of the sum of the radii, and of 1.004 times that: early at most */
        for (int k = 0; k < 2; k++) {
            const double reach = (r[0] + r[1]) * (k ? 1.004 : 1), square = v3_dot(way, way),
                         half = v3_dot(apart, way), rest = v3_dot(apart, apart) - reach * reach,
                         root = half * half - square * rest;
            const double first = (-half - sqrt(fmax(root, 0))) / square;
            times[k] = rest <= 0 ? 0 : root < 0 || first < 0 || first > 1 ? 2 : first;
        }
        const double time = touch.hit ? touch.time : 2;
        assert_true(time <= times[0] + 1e-12 && time >= times[1] - 1e-9);
        hits += touch.hit;
    }
    assert_true(hits > 0);
}

/* ---- nothing passes ---- */

/* A ball flies through a thin plate at 1 to 1e6 times its size a step, spinning, from anywhere. */
TEST(no_ball_passes_a_plate) {
    AUTO(bvh) plate = box_of(1, 1, 0.002), *ball = ball_of(0.05, 4);
    test_random random = {7};
    for (uint32_t round = 0; round < test_rounds(400); round++) {
        double far = pow(10, test_random_real(&random, -1, 5));
        double x = test_random_real(&random, -0.4, 0.4), y = test_random_real(&random, -0.4, 0.4);
        test_motion_path fall = {random_pose(&random, 0), random_pose(&random, 0)};
        fall.from.translation = v3(x, y, 0.06 + far * test_random_real(&random, 0, 1));
        fall.to.translation = v3(x + 0.05, y, -0.06 - far * test_random_real(&random, 0, 1));
        abut_sweep_rigid_result touch;
        assert_ok(test_sweep_rigid(ball, &fall, plate, &still, NULL, &touch));
        assert_true(touch.hit);
        abut_pose at;
        assert_ok(abut_pose_interpolate(&fall.from, &fall.to, touch.time, &at));
        double height = at.translation.z; /* it stands on the plate, or a facet on it */
        assert_true(height > 0.001 + 0.04 && height < 0.001 + 0.05 + 1e-6 + 1e-9 * far);
    }
}

/* Against samples of time: no overlap before the reported time; there the bodies are near; and
 * where it says no, there is none at all. */
TEST(dense_samples_agree) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    torus.segments = 24;
    torus.rings = 12;
    abut_bvh *bodies[] = {box_of(1, 1, 1), box_of(1, 1, 0.002), ball_of(0.3, 3), tree_of(&letter),
                          tree_of(&torus)};
    enum { BODIES = sizeof bodies / sizeof *bodies, SAMPLES = 200 };
    test_random random = {11};
    uint32_t hits = 0, misses = 0, starts = 0;
    for (uint32_t round = 0; round < test_rounds(48); round++)
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k <= i; k++) {
                test_motion_path path_a = {random_pose(&random, 2), random_pose(&random, 2)};
                test_motion_path path_b = {random_pose(&random, 0.5), random_pose(&random, 0.5)};
                abut_sweep_rigid_result touch;
                assert_ok(test_sweep_rigid(bodies[i], &path_a, bodies[k], &path_b, NULL, &touch));
                hits += touch.hit;
                misses += !touch.hit;
                starts += touch.hit && touch.time == 0;
                for (int s = 0; s <= SAMPLES; s++) {
                    double t = touch.time * s / SAMPLES * (touch.hit ? 1 - 1e-9 : 1);
                    abut_collider a = abut_collider_from_bvh(bodies[i], abut_pose_identity()),
                                  b = abut_collider_from_bvh(bodies[k], a.pose);
                    abut_overlap overlap;
                    assert_ok(abut_pose_interpolate(&path_a.from, &path_a.to, t, &a.pose));
                    assert_ok(abut_pose_interpolate(&path_b.from, &path_b.to, t, &b.pose));
                    assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
                    assert_true(overlap.relation == ABUT_PAIR_APART || touch.time == 0);
                    if (s < SAMPLES || !touch.hit || touch.time == 0)
                        continue;
                    bool within;
                    assert_ok(abut_pair_within(&a, &b, 2e-6, NULL, NULL, &within, NULL));
                    assert_true(within);
                    assert_true(fabs(v3_length(touch.normal) - 1) < 1e-9);
                }
            }
    print_message("  %u hits, %u of them at the start, %u misses\n", hits, starts, misses);
    assert_true(hits > starts + 10 && misses > 10);
    for (int i = 0; i < BODIES; i++)
        abut_bvh_destroy(bodies[i]);
}

/* Faces that slide along each other at a small gap, turning: nothing touches, though thousands of
 * triangles stay near. */
TEST(faces_slide_along_each_other) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(1, 1, 1);
    shape.segments = 10;
    AUTO(bvh) cube = tree_of(&shape);
    abut_sweep_rigid_result touch;
    test_motion_path slides = {shifted(0.01, 0, 1.001), turned(v3(0, 0, 1), 1, v3(0, 0, 0))};
    slides.to.translation = v3(-0.5, 0.3, 1.001);
    assert_ok(test_sweep_rigid(cube, &slides, cube, &still, NULL, &touch));
    assert_false(touch.hit);
    slides.to.translation.z = 0.999; /* sinks in halfway */
    assert_ok(test_sweep_rigid(cube, &slides, cube, &still, NULL, &touch));
    assert_true(touch.hit && touch.time <= 0.5 && touch.time > 0.5 - 1e-3);
    assert_true(fabs(touch.normal.z - 1) < 1e-6);
}

/* A separation beyond the size of the bodies; tolerances as well. */
TEST(bodies_touch_from_afar) {
    AUTO(bvh) ball = ball_of(0.5, 4);
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    test_motion_path flies = {shifted(200, 0, 0), turned(v3(0, 1, 0), 1, v3(0, 0, 0))};
    flies.to.translation = v3(-200, 0, 0);
    abut_sweep_rigid_result touch;
    const double separations[] = {2, 10, 50, 300};
    for (int i = 0; i < 4; i++) {
        options.separation = separations[i];
        assert_ok(test_sweep_rigid(ball, &flies, ball, &still, &options, &touch));
        double time = fmax(0, 0.5 - (separations[i] + 1) / 400); /* of balls that are round */
        assert_true(touch.hit && touch.time >= time - 1e-5 && touch.time < time + 3e-4);
        assert_true(fabs(touch.normal.x - 1) < 0.1);
        assert_true(touch.triangle[0] != ABUT_NONE && touch.triangle[1] != ABUT_NONE);
    }
    flies.from.translation.y = flies.to.translation.y = 60;
    options.separation = 50;
    assert_ok(test_sweep_rigid(ball, &flies, ball, &still, &options, &touch));
    assert_false(touch.hit);
    options.separation = 0; /* anything within it may be reported */
    options.tolerance = 100;
    assert_ok(test_sweep_rigid(ball, &flies, ball, &still, &options, &touch));
    assert_true(!touch.hit || (touch.time >= 0 && touch.time <= 1));
}

/* ---- arguments ---- */

static bool stop_pairs(void *user, const char *stage, double fraction) {
    (void)fraction;
    return strcmp(stage, "pairs") != 0 || --*(int *)user > 0;
}

/* A search that was cut short gives no answer, and leaves the result alone. */
TEST(cancelled) {
    int left = 1000;
    abuti_progress_interval = 0;
    AUTO(context) context = test_watched(stop_pairs, &left);
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    AUTO(mesh) mesh;
    AUTO(bvh) cube;
    shape.extent = v3(1, 1, 1);
    shape.segments = 10;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &cube));
    test_motion_path slides = {shifted(0.01, 0, 1.001), shifted(-0.5, 0.3, 0.999)};
    abut_sweep_rigid_result touch = {.time = 77};
    assert_ok(test_sweep_rigid(cube, &slides, cube, &still, NULL, &touch));
    int used = 1000 - left;
    assert_true(touch.hit && used > 1);
    touch.time = 77;
    for (int k = 1; k <= used; k += 1 + used / 10) {
        left = k;
        assert_fails(ABUT_ERROR_CANCELLED, "cancelled",
                     test_sweep_rigid(cube, &slides, cube, &still, NULL, &touch));
        assert_true(touch.time == 77);
    }
    abuti_progress_interval = HUGE_VAL;
}

TEST(bad_calls_are_refused) {
    AUTO(bvh) cube = box_of(1, 1, 1);
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    test_motion_path bad = still;
    abut_sweep_rigid_result touch = {.time = 77};
    abut_pose at, here = abut_pose_identity();
    abut_collider body = abut_collider_from_bvh(cube, here), other = body;
    assert_refused("a is null", abut_sweep_rigid(NULL, &here, &body, &here, NULL, &touch));
    assert_refused("b is null", abut_sweep_rigid(&body, &here, NULL, &here, NULL, &touch));
    assert_refused("a->shape.body.bvh is null",
                   test_sweep_rigid(NULL, &still, cube, &still, NULL, &touch));
    assert_refused("result is null", abut_sweep_rigid(&body, &here, &body, &here, NULL, NULL));
    other = abut_collider_make(ABUT_COLLIDER_CHARACTER, here);
    assert_refused("b is a character", abut_sweep_rigid(&body, NULL, &other, NULL, NULL, &touch));
    other = abut_collider_make(ABUT_COLLIDER_MESH, here);
    assert_refused("a is a mesh", abut_sweep_rigid(&other, NULL, &body, NULL, NULL, &touch));
    other = abut_collider_from_plane((abut_plane){{0, 0, 1}, 0}, here);
    assert_refused("planes", abut_sweep_rigid(&other, NULL, &other, NULL, NULL, &touch));
    other.shape.plane.normal.z = 0;
    assert_refused("normal of 0", abut_sweep_rigid(&body, NULL, &other, NULL, NULL, &touch));
    other = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, -1}, here);
    assert_refused("radius of -1", abut_sweep_rigid(&body, NULL, &other, NULL, NULL, &touch));
    other.shape.sphere.radius = 1;
    other.pose.translation.x = NAN;
    assert_refused("finite", abut_sweep_rigid(&body, NULL, &other, NULL, NULL, &touch));
    bad.to.translation.y = NAN;
    assert_refused("a at end_a", test_sweep_rigid(cube, &bad, cube, &still, NULL, &touch));
    bad.from.translation.y = 1e200;
    assert_refused("the pose of b", test_sweep_rigid(cube, &still, cube, &bad, NULL, &touch));
    options.separation = -1;
    assert_refused("separation", test_sweep_rigid(cube, &still, cube, &still, &options, &touch));
    options = abut_sweep_rigid_options_default();
    options.tolerance = INFINITY;
    assert_refused("tolerance", test_sweep_rigid(cube, &still, cube, &still, &options, &touch));
    assert_refused("from is null", abut_pose_interpolate(NULL, &here, 0, &at));
    assert_refused("to is null", abut_pose_interpolate(&here, NULL, 0, &at));
    assert_refused("pose is null", abut_pose_interpolate(&here, &here, 0, NULL));
    assert_refused("time is 2", abut_pose_interpolate(&here, &here, 2, &at));
    assert_true(touch.time == 77);
}
