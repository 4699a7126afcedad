/* Distances and motions of robots: distances against all pairs, gradients against differences,
 * motions against dense samples and formulas, thin obstacles between samples. */
#include "robot/arm.h"

enum { COUNT = 40, SAMPLES = 200 };

TEST(distances_are_those_of_all_pairs) {
    arm_scene s;
    test_random random = {11};
    uint32_t apart = 0;
    arm_make(&s, NULL, 0.7);
    for (uint32_t i = 0; i < COUNT; i++) {
        double q[ARM_JOINTS], gradient[ARM_JOINTS];
        abut_robot_hit pair;
        abut_robot_separation found, limited;
        arm_configuration(&random, q);
        const double distance = arm_distance(&s, q, &pair);
        assert_ok(abut_robot_distance(s.robot, s.obstacles, q, 1, 0, &found, gradient));
        assert_true(fabs(found.distance - distance) < 1e-12);
        const abut_vec3 d =
            vec(found.point_a.x - found.point_b.x, found.point_a.y - found.point_b.y,
                found.point_a.z - found.point_b.z);
        assert_true(fabs(sqrt(d.x * d.x + d.y * d.y + d.z * d.z) - distance) < 1e-12);
        if (distance == 0)
            continue;
        assert_true(found.link == pair.link && found.other_link == pair.other_link &&
                    found.obstacle == pair.obstacle);
        assert_ok(abut_robot_distance(s.robot, s.obstacles, q, 1, 0.5 * distance, &limited, NULL));
        assert_true(limited.link == ABUT_NONE && limited.distance == 0.5 * distance);
        /* central differences; where the closest feature changes, both sides differ */
        for (int k = 0; k < ARM_JOINTS; k++) {
            const double step = 1e-6;
            abut_robot_separation side[2];
            double shifted[2][ARM_JOINTS];
            memcpy(shifted[0], q, sizeof q);
            memcpy(shifted[1], q, sizeof q);
            shifted[0][k] -= step;
            shifted[1][k] += step;
            assert_ok(abut_robot_distance(s.robot, s.obstacles, shifted[0], 2, 0, side, NULL));
            const double before = (distance - side[0].distance) / step,
                         after = (side[1].distance - distance) / step;
            if (fabs(before - after) < 1e-4)
                assert_true(fabs(gradient[k] - 0.5 * (before + after)) < 1e-4);
        }
        apart++;
    }
    assert_true(apart > COUNT / 4);
    arm_free(&s);
}

/* Distance and gradient of a ball above a plane and beside a ball. */
TEST(distances_of_primitives) {
    static const char *const links[] = {"base", "arm"};
    abut_robot_joint joint = {.name = "turn",
                              .kind = ABUT_ROBOT_CONTINUOUS,
                              .child = 1,
                              .axis = {0, 0, 1},
                              .mimic = ABUT_NONE};
    const abut_robot_geometry ball = {1, abut_collider_from_sphere((abut_sphere){{2, 0, 0}, 0.5},
                                                                   arm_pose(0, 0, 0))};
    abut_robot_description d = abut_robot_description_default();
    d.links = links;
    d.link_count = 2;
    d.joints = &joint;
    d.joint_count = 1;
    d.geometries = &ball;
    d.geometry_count = 1;
    AUTO(robot) robot = NULL;
    assert_ok(abut_robot_create(NULL, &d, &robot));
    const abut_collider others[] = {abut_collider_from_plane((abut_plane){{0, 3, 0}, -3},
                                                             arm_pose(0, 0, 0)),
                                    abut_collider_from_sphere((abut_sphere){{2, 4, 0}, 1},
                                                              arm_pose(0, 0, 0))};
    for (int i = 0; i < 2; i++) {
        AUTO(robot_obstacles) obstacles = NULL;
        abut_robot_separation found;
        const double q = 0.5, x = 2 * cos(q), y = 2 * sin(q), far = hypot(2 - x, 4 - y);
        double gradient;
        assert_ok(abut_robot_obstacles_create(NULL, &others[i], 1, &obstacles));
        assert_ok(abut_robot_distance(robot, obstacles, &q, 1, 0, &found, &gradient));
        const double expected = i ? far - 1.5 : y + 0.5,
                     slope = i ? ((x - 2) * -y + (y - 4) * x) / far : x;
        assert_true(found.distance <= expected + 1e-12 && found.distance > expected - 0.0016);
        assert_true(fabs(gradient - slope) < 0.01);
        assert_true(found.link == 1 && found.obstacle == 0);
    }
    abut_robot_separation none;
    const double q = 0;
    assert_ok(abut_robot_distance(robot, NULL, &q, 1, 0, &none, NULL));
    assert_true(isinf(none.distance) && none.link == ABUT_NONE);
}

static double sample(double from, double to, double t) {
    return from + t * (to - from);
}

/* Samples cannot prove that a motion is free, but none of them may contradict the result. */
TEST_THREADS(motions_agree_with_samples) {
    arm_scene s;
    double from[COUNT][ARM_JOINTS], to[COUNT][ARM_JOINTS], q[SAMPLES][ARM_JOINTS];
    abut_robot_motion motions[2][COUNT];
    abut_robot_hit hits[SAMPLES];
    abut_robot_sweep_options options = abut_robot_sweep_options_default();
    test_random random = {23};
    uint32_t free_count = 0, hit_count = 0;
    options.tolerance = 1e-4;
    for (uint32_t run = 0; run < 2; run++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, run ? 4 : 1);
        arm_make(&s, context, 0.9);
        memset(motions[run], 0, sizeof motions[run]);
        for (uint32_t i = 0; i < COUNT && !run; i++)
            do { /* starts are free */
                arm_configuration(&random, from[i]);
                arm_configuration(&random, to[i]);
                assert_ok(abut_robot_test(s.robot, s.obstacles, from[i], 1, hits, NULL));
            } while (hits[0].collides);
        assert_ok(abut_robot_sweep(s.robot, s.obstacles, from[0], to[0], COUNT, &options,
                                   motions[run], NULL));
        for (uint32_t i = 0; i < COUNT && !run; i++) {
            const abut_robot_motion *m = &motions[0][i];
            for (uint32_t k = 0; k < SAMPLES; k++)
                for (int j = 0; j < ARM_JOINTS; j++)
                    q[k][j] = sample(from[i][j], to[i][j], (double)k / (SAMPLES - 1));
            assert_ok(abut_robot_test(s.robot, s.obstacles, q[0], SAMPLES, hits, NULL));
            for (uint32_t k = 0; k < SAMPLES; k++)
                assert_true(!hits[k].collides ||
                            (m->touches && m->time <= (double)k / (SAMPLES - 1)));
            free_count += !m->touches;
            hit_count += m->touches;
            if (!m->touches) {
                assert_true(m->time == 1 && m->link == ABUT_NONE);
                continue;
            }
            for (int j = 0; j < ARM_JOINTS; j++)
                q[0][j] = sample(from[i][j], to[i][j], m->time);
            abut_robot_separation at;
            assert_ok(abut_robot_distance(s.robot, s.obstacles, q[0], 1, 0, &at, NULL));
            assert_true(at.distance <= options.tolerance);
        }
        arm_free(&s);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const abut_robot_motion *a = &motions[0][i], *b = &motions[1][i];
        assert_true(a->touches == b->touches && a->time == b->time && a->link == b->link &&
                    a->other_link == b->other_link && a->obstacle == b->obstacle &&
                    a->steps == b->steps);
    }
    assert_true(free_count > 3 && hit_count > 3);
}

/* Two joints turn an arm of length 2 by large angles past a plate of 1e-7 thickness at its tip, and
 * a small plate. The time of contact is known. */
TEST(thin_obstacles_between_samples_are_found) {
    static const char *const links[] = {"base", "first", "second"};
    abut_robot_joint joints[2];
    memset(joints, 0, sizeof joints);
    for (uint32_t i = 0; i < 2; i++) {
        joints[i].name = links[i + 1];
        joints[i].kind = ABUT_ROBOT_CONTINUOUS;
        joints[i].parent = i;
        joints[i].child = i + 1;
        joints[i].axis = vec(0, 0, 1);
        joints[i].mimic = ABUT_NONE;
    }
    joints[1].pose = arm_pose(1, 0, 0);
    const abut_robot_geometry parts[] = {
        {1, abut_collider_from_box(vec(0.5, 0.01, 0.01), arm_pose(0.5, 0, 0))},
        {2, abut_collider_from_box(vec(0.5, 0.01, 0.01), arm_pose(0.5, 0, 0))}};
    abut_robot_description d = abut_robot_description_default();
    d.links = links;
    d.link_count = 3;
    d.joints = joints;
    d.joint_count = 2;
    d.geometries = parts;
    d.geometry_count = 2;
    AUTO(robot) robot = NULL;
    assert_ok(abut_robot_create(NULL, &d, &robot));
    for (int turns = 1; turns <= 20; turns += 19)
        for (int i = 0; i < 3; i++) {
            /* both joints turn so that the arm stays straight, or only the first one turns */
            const double angle = 6.283185307179586 * turns;
            const double from[2] = {0, 0}, to[2] = {angle, i == 2 ? -2 * angle : 0};
            const abut_collider plate =
                i == 1 ? abut_collider_from_box(vec(1e-3, 0.5e-7, 0.2), arm_pose(-1.9999, 0, 0))
                       : abut_collider_from_box(vec(0.2, 0.5e-7, 0.2), arm_pose(-2.1, 0, 0));
            AUTO(robot_obstacles) obstacles = NULL;
            abut_robot_motion motion;
            abut_robot_sweep_options options = abut_robot_sweep_options_default();
            options.tolerance = 1e-7;
            assert_ok(abut_robot_obstacles_create(NULL, &plate, 1, &obstacles));
            assert_ok(abut_robot_sweep(robot, obstacles, from, to, 1, &options, &motion, NULL));
            if (i == 2) { /* the elbow folds: the tip is at 2 cos(angle) and on the axis x */
                assert_true(motion.touches);
                assert_true(motion.time * turns <= 0.5);
                continue;
            }
            /* the upper corner of the tip, at (2, 0.01), touches the lower side of the plate */
            const double expected = 0.5 - atan2(0.01, 2) / 6.283185307179586;
            assert_true(motion.touches && motion.link == 2 && motion.obstacle == 0);
            assert_true(motion.time * turns <= expected + 1e-6);
            assert_true(motion.time * turns > expected - 2e-3);
        }
    /* beyond the tip nothing touches, whatever the number of turns */
    const abut_collider outside = abut_collider_from_box(vec(1, 1, 1), arm_pose(-3.002, 0, 0));
    AUTO(robot_obstacles) obstacles = NULL;
    abut_robot_motion motion;
    const double from[2] = {0, 0}, to[2] = {50, 0};
    assert_ok(abut_robot_obstacles_create(NULL, &outside, 1, &obstacles));
    assert_ok(abut_robot_sweep(robot, obstacles, from, to, 1, NULL, &motion, NULL));
    assert_true(!motion.touches && motion.time == 1);
}

TEST(starts_in_collision_have_time_0) {
    arm_scene s;
    abut_robot_motion motion = {0};
    abut_robot_hit hit;
    double from[ARM_JOINTS] = {0}, to[ARM_JOINTS] = {1, 1, 1, 1, 1, 1, 0};
    arm_make(&s, NULL, 0.6);
    assert_ok(abut_robot_test(s.robot, NULL, from, 1, &hit, NULL));
    assert_false(hit.collides);
    assert_ok(abut_robot_sweep(s.robot, NULL, from, from, 1, NULL, &motion, NULL));
    assert_true(!motion.touches && motion.time == 1 && motion.steps == 1);
    const abut_collider around = abut_collider_from_box(vec(9, 9, 9), arm_pose(0, 0, 0));
    AUTO(robot_obstacles) obstacles = NULL;
    assert_ok(abut_robot_obstacles_create(NULL, &around, 1, &obstacles));
    assert_ok(abut_robot_sweep(s.robot, obstacles, from, to, 1, NULL, &motion, NULL));
    assert_true(motion.touches && motion.time == 0 && motion.obstacle == 0);
    abut_robot_sweep_options options = abut_robot_sweep_options_default();
    options.tolerance = -1;
    assert_refused("tolerance",
                   abut_robot_sweep(s.robot, NULL, from, to, 1, &options, &motion, NULL));
    to[2] = NAN;
    assert_refused("to[2]", abut_robot_sweep(s.robot, NULL, from, to, 1, NULL, &motion, NULL));
    assert_refused("motions", abut_robot_sweep(s.robot, NULL, from, to, 1, NULL, NULL, NULL));
    abut_robot_separation separation;
    assert_refused("limit", abut_robot_distance(s.robot, NULL, from, 1, -1, &separation, NULL));
    arm_free(&s);
}

static abut_status create_and_test(abut_context *context, void *data) {
    const arm_scene *s = data;
    abut_robot *robot = NULL;
    abut_robot_obstacles *obstacles = NULL;
    const double from[ARM_JOINTS] = {0}, to[ARM_JOINTS] = {0.3, 0.2, 0.3, 0.4, 0.5, 0.6, 0.01};
    abut_robot_motion motion;
    abut_robot_separation separation;
    abut_status status = arm_create(context, s->bvh, &robot);
    if (!status)
        status = abut_robot_obstacles_create(context, s->colliders, 3, &obstacles);
    if (!status)
        status = abut_robot_sweep(robot, obstacles, from, to, 1, NULL, &motion, NULL);
    if (!status)
        status = abut_robot_distance(robot, obstacles, from, 1, 0, &separation, NULL);
    abut_robot_destroy(robot);
    abut_robot_obstacles_destroy(obstacles);
    return status;
}

TEST(failing_allocations_leave_nothing) {
    arm_scene s;
    arm_make(&s, NULL, 0.9);
    assert_true(test_every_allocation(create_and_test, &s) > 20);
    arm_free(&s);
}
