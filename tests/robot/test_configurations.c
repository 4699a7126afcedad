/* Configurations of robots: poses of links against matrices; collisions against all pairs of
 * meshes; primitives against formulas; any number of threads; memory that runs out; arguments. */
#include "robot/arm.h"

enum { COUNT = 100 };

TEST(poses_are_products_of_matrices) {
    arm_scene s;
    test_random random = {3};
    arm_make(&s, NULL, 0.6);
    for (uint32_t round = 0; round < 20; round++) {
        double q[ARM_JOINTS];
        abut_pose poses[ARM_JOINTS + 1], expected = random_pose(&random, 1);
        arm_configuration(&random, q);
        assert_ok(abut_robot_set_base(s.robot, &expected));
        assert_ok(abut_robot_compute_poses(s.robot, q, 1, poses));
        for (uint32_t i = 0; i < ARM_JOINTS; i++) {
            abut_robot_joint joint;
            abut_pose to, turn, from = arm_pose(0, 0, 0);
            assert_ok(abut_robot_get_joint(s.robot, i, &joint));
            const double angle = i < 6 ? q[i] : 0, shift = i < 6 ? 0 : q[i];
            const abut_vec3 a = joint.anchor;
            assert_ok(
                abut_pose_from_axis_angle(joint.axis, angle, vec(a.x, a.y, a.z + shift), &to));
            from.translation = vec(-a.x, -a.y, -a.z);
            assert_ok(abut_pose_compose(&to, &from, &turn));
            assert_ok(abut_pose_compose(&expected, &joint.pose, &expected));
            assert_ok(abut_pose_compose(&expected, &turn, &expected));
            abut_vec3 p, r;
            assert_ok(abut_pose_apply(&expected, vec(0.3, -0.2, 0.5), &p));
            assert_ok(abut_pose_apply(&poses[i + 1], vec(0.3, -0.2, 0.5), &r));
            assert_true(fabs(p.x - r.x) + fabs(p.y - r.y) + fabs(p.z - r.z) < 1e-13);
        }
    }
    arm_free(&s);
}

/* The description of a robot of two links with one box each. */
typedef struct two_links {
    const char *links[3];
    abut_robot_joint joints[2];
    abut_robot_geometry parts[2];
    abut_robot_description d;
} two_links;

static void make_two(two_links *t) {
    memset(t, 0, sizeof *t);
    t->links[0] = "base";
    t->links[1] = "arm";
    t->links[2] = "follower";
    for (int i = 0; i < 2; i++) {
        t->joints[i].name = i ? "follow" : "turn";
        t->joints[i].kind = i ? ABUT_ROBOT_PRISMATIC : ABUT_ROBOT_REVOLUTE;
        t->joints[i].child = (uint32_t)i + 1;
        t->joints[i].axis = vec(0, 0, 1);
        t->joints[i].mimic = ABUT_NONE;
        t->parts[i].link = (uint32_t)i + 1;
        t->parts[i].collider = abut_collider_from_box(vec(0.5, 0.1, 0.1), arm_pose(0.5, 0, 0));
    }
    t->d = abut_robot_description_default();
    t->d.links = t->links;
    t->d.link_count = 3;
    t->d.joints = t->joints;
    t->d.joint_count = 2;
    t->d.geometries = t->parts;
    t->d.geometry_count = 2;
}

TEST(mimic_joints_follow) {
    two_links t;
    AUTO(robot) robot = NULL;
    abut_robot_info info = abut_robot_info_default();
    make_two(&t);
    t.joints[1].mimic = 0;
    t.joints[1].multiplier = -2;
    t.joints[1].offset = 0.25;
    assert_ok(abut_robot_create(NULL, &t.d, &robot));
    assert_ok(abut_robot_get_info(robot, &info));
    assert_int_equal(info.variable_count, 1);
    assert_int_equal(info.pair_count, 1); /* brothers; both are neighbours of the base */
    assert_true(fabs(info.reach - (2 + 0.25 + sqrt(0.25 + 0.02) + 0.5)) < 1e-6);
    uint32_t joint = 7;
    assert_ok(abut_robot_get_variable(robot, 0, &joint));
    assert_int_equal(joint, 0);
    const double q = 0.3;
    abut_pose poses[3];
    assert_ok(abut_robot_compute_poses(robot, &q, 1, poses));
    assert_true(fabs(poses[2].translation.z - (0.25 - 0.6)) < 1e-15);
    assert_true(fabs(poses[1].rotation.z - sin(0.15)) < 1e-15);
}

TEST_THREADS(collisions_are_those_of_all_pairs) {
    arm_scene s;
    double q[COUNT][ARM_JOINTS];
    abut_robot_hit hits[2][COUNT];
    test_random random = {5};
    uint32_t kinds[3] = {0};
    for (uint32_t run = 0; run < 2; run++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, run ? 4 : 1);
        arm_make(&s, context, 0.6);
        for (uint32_t i = 0; i < COUNT && !run; i++)
            arm_configuration(&random, q[i]);
        memset(hits[run], 0, sizeof hits[run]);
        assert_ok(abut_robot_test(s.robot, s.obstacles, q[0], COUNT, hits[run], NULL));
        for (uint32_t i = 0; i < COUNT && !run; i++) {
            abut_robot_hit pair;
            const bool collides = arm_distance(&s, q[i], &pair) == 0;
            assert_true(hits[0][i].collides == collides);
            kinds[!collides ? 0 : hits[0][i].obstacle == ABUT_NONE ? 1 : 2]++;
            assert_true((hits[0][i].link == ABUT_NONE) == !collides);
        }
        arm_free(&s);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const abut_robot_hit *a = &hits[0][i], *b = &hits[1][i];
        assert_true(a->collides == b->collides && a->link == b->link &&
                    a->other_link == b->other_link && a->obstacle == b->obstacle);
    }
    assert_true(kinds[0] > 5 && kinds[1] > 5 && kinds[2] > 5);
}

/* A ball on a slider against each primitive: the time at which it touches is known. */
TEST(primitives_are_never_missed) {
    two_links t;
    make_two(&t);
    t.joints[0].kind = ABUT_ROBOT_PRISMATIC;
    t.joints[0].axis = vec(1, 0, 0);
    t.parts[0].collider =
        abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, arm_pose(0, 0, 0));
    t.d.geometry_count = 1;
    AUTO(robot) robot = NULL;
    assert_ok(abut_robot_create(NULL, &t.d, &robot));
    const abut_capsule capsule = {{{3, 0, -1}, {3, 0, 1}}, 0.25};
    const abut_cylinder cylinder = {{{3, 0, -1}, {3, 0, 1}}, 0.25};
    const abut_collider others[] = {abut_collider_from_sphere((abut_sphere){{3, 0, 0}, 0.25},
                                                              arm_pose(0, 0, 0)),
                                    abut_collider_from_capsule(capsule, arm_pose(0, 0, 0)),
                                    abut_collider_from_cylinder(cylinder, arm_pose(0, 0, 0)),
                                    abut_collider_from_box(vec(0.25, 1, 1), arm_pose(3, 0, 0)),
                                    abut_collider_from_plane((abut_plane){{-2, 0, 0}, -2 * 2.75},
                                                             arm_pose(0, 0, 0))};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        AUTO(robot_obstacles) obstacles = NULL;
        assert_ok(abut_robot_obstacles_create(NULL, &others[i], 1, &obstacles));
        const double slack = 0.001 * 0.5 + 0.0013 * 0.25;
        const double q[][2] = {{2.25 + 1e-9, 0}, {2.25 - slack - 1e-9, 0}, {2.9, 0}};
        abut_robot_hit hits[3];
        assert_ok(abut_robot_test(robot, obstacles, q[0], 3, hits, NULL));
        assert_true(hits[0].collides && !hits[1].collides && hits[2].collides);
        assert_true(hits[0].link == 1 && hits[0].obstacle == 0 && hits[0].other_link == ABUT_NONE);
    }
}

/* A link inside an obstacle, and an obstacle inside a link. */
TEST(containment_collides) {
    two_links t;
    make_two(&t);
    AUTO(robot) robot = NULL;
    assert_ok(abut_robot_create(NULL, &t.d, &robot));
    assert_ok(abut_robot_allow(robot, 1, 2, true));
    const double q[2] = {0.5, 0};
    for (int i = 0; i < 2; i++) {
        const abut_collider big = abut_collider_from_box(vec(9, 9, 9), arm_pose(0, 0, 0)),
                            tiny =
                                abut_collider_from_box(vec(0.01, 0.01, 0.01), arm_pose(0.5, 0, 0));
        AUTO(robot_obstacles) obstacles = NULL;
        abut_robot_hit hit;
        assert_ok(abut_robot_obstacles_create(NULL, i ? &tiny : &big, 1, &obstacles));
        assert_ok(abut_robot_test(robot, obstacles, q, 1, &hit, NULL));
        assert_true(hit.collides && hit.obstacle == 0);
    }
}

TEST(descriptions_are_validated) {
    two_links t;
    abut_robot *robot = NULL;
    make_two(&t);
#define REFUSED(part, change)                                        \
    do {                                                             \
        make_two(&t);                                                \
        change;                                                      \
        assert_refused(part, abut_robot_create(NULL, &t.d, &robot)); \
        assert_null(robot);                                          \
    } while (0)
    REFUSED("link 1 has no name", t.links[1] = NULL);
    REFUSED("both named 'arm'", t.links[2] = "arm");
    REFUSED("both named 'turn'", t.joints[1].name = "turn");
    REFUSED("joint 1 has no name", t.joints[1].name = "");
    REFUSED("kind of joint 'turn' is 9", t.joints[0].kind = (abut_robot_joint_kind)9);
    REFUSED("connects the links 0 and 3", t.joints[0].child = 3);
    REFUSED("connects the links 1 and 1", t.joints[0].parent = 1);
    REFUSED("not finite", t.joints[0].axis.x = NAN);
    REFUSED("axis of joint 'turn'", t.joints[0].axis = vec(0, 0, 0));
    REFUSED("lower one", t.joints[0].lower = 1);
    REFUSED("mimics joint 1", t.joints[1].mimic = 1);
    REFUSED("mimics joint 5", t.joints[1].mimic = 5);
    REFUSED("is the child of", t.joints[1].child = 1);
    REFUSED("has 3 links and 1 joints", t.d.joint_count = 1);
    REFUSED("it must have 1 to", t.d.link_count = 0);
    REFUSED("geometry 1 belongs to link 3", t.parts[1].link = 3);
    REFUSED("radius", t.parts[0].collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, -1},
                                                                      arm_pose(0, 0, 0)));
    REFUSED("is a plane", t.parts[0].collider = abut_collider_from_plane((abut_plane){{0, 0, 1}, 0},
                                                                         arm_pose(0, 0, 0)));
    REFUSED("description->links is null", t.d.links = NULL);
#undef REFUSED
    /* a cycle of two links beside a root */
    make_two(&t);
    t.joints[0].parent = 2;
    t.joints[1].parent = 1;
    assert_refused("part of a cycle", abut_robot_create(NULL, &t.d, &robot));
    assert_null(robot);
}

TEST(arguments_are_validated) {
    arm_scene s;
    double q[ARM_JOINTS] = {0};
    abut_pose poses[ARM_JOINTS + 1];
    abut_robot_hit hit = {true, 1, 2, 3};
    uint32_t joint;
    arm_make(&s, NULL, 0.6);
    q[3] = NAN;
    assert_refused("configurations[3] is nan for the joint 'j4'",
                   abut_robot_test(s.robot, s.obstacles, q, 1, &hit, NULL));
    assert_true(hit.link == 1 && hit.obstacle == 3);
    q[3] = 2e12;
    assert_refused("for the joint 'j4'", abut_robot_compute_poses(s.robot, q, 1, poses));
    assert_refused("robot", abut_robot_test(NULL, NULL, q, 1, &hit, NULL));
    assert_refused("configurations", abut_robot_test(s.robot, NULL, NULL, 1, &hit, NULL));
    assert_refused("hits", abut_robot_test(s.robot, NULL, q, 1, NULL, NULL));
    assert_ok(abut_robot_test(s.robot, NULL, NULL, 0, NULL, NULL));
    assert_refused("must be different", abut_robot_allow(s.robot, 2, 2, true));
    assert_refused("less than 8", abut_robot_allow(s.robot, 2, 8, true));
    assert_refused("the index is 7", abut_robot_get_variable(s.robot, 7, &joint));
    assert_null(abut_robot_link_name(s.robot, 8));
    assert_string_equal(abut_robot_link_name(s.robot, 7), "tool");
    assert_string_equal(abut_robot_joint_kind_name(ABUT_ROBOT_PRISMATIC), "prismatic");
    assert_null(abut_robot_joint_kind_name((abut_robot_joint_kind)4));
    abut_pose base = arm_pose(0, 0, INFINITY);
    assert_refused("base", abut_robot_set_base(s.robot, &base));
    arm_free(&s);
}

static abut_status create_and_test(abut_context *context, void *data) {
    const arm_scene *s = data;
    abut_robot *robot = NULL;
    abut_robot_obstacles *obstacles = NULL;
    double q[ARM_JOINTS] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.01};
    abut_robot_hit hit;
    const abut_collider colliders[] = {s->colliders[0],
                                       abut_collider_from_sphere((abut_sphere){{1, 1, 1}, 0.1},
                                                                 arm_pose(0, 0, 0)),
                                       abut_collider_from_mesh(abut_bvh_mesh(s->bvh[3]),
                                                               arm_pose(1, 0, 0))};
    abut_status status = arm_create(context, s->bvh, &robot);
    if (!status)
        status = abut_robot_obstacles_create(context, colliders, 3, &obstacles);
    if (!status)
        status = abut_robot_test(robot, obstacles, q, 1, &hit, NULL);
    abut_robot_destroy(robot);
    abut_robot_obstacles_destroy(obstacles);
    return status;
}

TEST(failing_allocations_leave_nothing) {
    arm_scene s;
    arm_make(&s, NULL, 0.6);
    assert_true(test_every_allocation(create_and_test, &s) > 20);
    arm_free(&s);
}
