/* Robots and obstacles for tests, and the referee: every pair of every configuration by the public
 * functions of pairs of meshes. */
#ifndef ABUT_TEST_ROBOT_ARM_H
#define ABUT_TEST_ROBOT_ARM_H

#include "bvh/meshes.h"
#include "support/pose.h"

enum { ARM_JOINTS = 7, ARM_OBSTACLES = 12 };

typedef struct arm_scene {
    abut_robot *robot;
    abut_robot_obstacles *obstacles;
    abut_collider colliders[ARM_OBSTACLES];
    abut_bvh *bvh[4];
} arm_scene;

static inline abut_bvh *arm_bvh(abut_context *context, abut_shape shape) {
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static inline abut_pose arm_pose(double x, double y, double z) {
    abut_pose at = abut_pose_identity();
    at.translation = vec(x, y, z);
    return at;
}

/* An arm of seven joints, some 1.4 long: meshes, with two parts in one link. The last joint is
 * prismatic; the sixth turns about an axis beside its link. */
static inline abut_status arm_create(abut_context *context, abut_bvh *const *bvh,
                                     abut_robot **robot) {
    static const char *const links[] = {"base", "shoulder", "upper", "elbow",
                                        "fore", "wrist",    "hand",  "tool"};
    static const char *const names[] = {"j1", "j2", "j3", "j4", "j5", "j6", "j7"};
    static const abut_vec3 axes[] = {{0, 0, 1}, {0, 1, 0}, {0, 0, 2}, {0, 1, 0},
                                     {0, 0, 1}, {1, 1, 0}, {0, 0, 1}};
    static const double up[] = {0.1, 0.15, 0.25, 0.2, 0.2, 0.2, 0.1};
    abut_robot_joint joints[ARM_JOINTS];
    abut_robot_geometry parts[ARM_JOINTS + 2];
    memset(joints, 0, sizeof joints);
    for (uint32_t i = 0; i < ARM_JOINTS; i++) {
        joints[i].name = names[i];
        joints[i].kind = i == 6 ? ABUT_ROBOT_PRISMATIC : ABUT_ROBOT_REVOLUTE;
        joints[i].parent = i;
        joints[i].child = i + 1;
        joints[i].pose = arm_pose(i == 3 ? 0.04 : 0, 0, up[i]);
        joints[i].axis = axes[i];
        joints[i].anchor = i == 5 ? vec(0.02, 0, 0) : vec(0, 0, 0);
        joints[i].lower = i == 6 ? 0 : -2.5;
        joints[i].upper = i == 6 ? 0.1 : 2.5;
        joints[i].mimic = ABUT_NONE;
    }
    for (uint32_t i = 0; i <= ARM_JOINTS; i++)
        parts[i] = (abut_robot_geometry){i, abut_collider_from_bvh(bvh[i == 0  ? 0
                                                                       : i % 2 ? 1
                                                                               : 2],
                                                                   arm_pose(0, 0, 0.06))};
    parts[ARM_JOINTS + 1] =
        (abut_robot_geometry){6, abut_collider_from_bvh(bvh[1], arm_pose(0.08, 0, 0.05))};
    abut_robot_description d = abut_robot_description_default();
    d.links = links;
    d.link_count = ARM_JOINTS + 1;
    d.joints = joints;
    d.joint_count = ARM_JOINTS;
    d.geometries = parts;
    d.geometry_count = ARM_JOINTS + 2;
    return abut_robot_create(context, &d, robot);
}

static inline void arm_make(arm_scene *s, abut_context *context, double distance) {
    test_random random = {17};
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX),
               rod = abut_shape_default(ABUT_SHAPE_CAPSULE),
               ring = abut_shape_default(ABUT_SHAPE_TORUS);
    box.extent = vec(0.15, 0.15, 0.1);
    arm_scene made = {0};
    made.bvh[0] = arm_bvh(context, box);
    rod.radius = 0.04;
    rod.height = 0.14;
    rod.segments = 12;
    rod.rings = 4;
    made.bvh[1] = arm_bvh(context, rod);
    box.extent = vec(0.06, 0.08, 0.2);
    made.bvh[2] = arm_bvh(context, box);
    ring.radius = 0.15;
    ring.radius2 = 0.04;
    ring.segments = 16;
    ring.rings = 8;
    made.bvh[3] = arm_bvh(context, ring);
    assert_ok(arm_create(context, made.bvh, &made.robot));
    for (uint32_t i = 0; i < ARM_OBSTACLES; i++) {
        abut_pose at = random_pose(&random, 1);
        const double length =
            sqrt(at.translation.x * at.translation.x + at.translation.y * at.translation.y);
        const double out = distance + test_random_real(&random, 0, 0.4);
        at.translation.x *= out / length;
        at.translation.y *= out / length;
        at.translation.z = test_random_real(&random, 0, 1.2);
        made.colliders[i] = abut_collider_from_bvh(made.bvh[i % 2 ? 3 : 0], at);
    }
    assert_ok(abut_robot_obstacles_create(context, made.colliders, ARM_OBSTACLES, &made.obstacles));
    *s = made;
}

static inline void arm_free(arm_scene *s) {
    abut_robot_destroy(s->robot);
    abut_robot_obstacles_destroy(s->obstacles);
    for (int i = 0; i < 4; i++)
        abut_bvh_destroy(s->bvh[i]);
}

static inline void arm_configuration(test_random *random, double *q) {
    for (int i = 0; i < ARM_JOINTS; i++)
        q[i] = i == 6 ? test_random_real(random, 0, 0.1) : test_random_real(random, -2.5, 2.5);
}

/* A part of the geometry in the world. */
static inline abut_collider arm_part(const abut_robot *robot, const abut_pose *poses, uint32_t i,
                                     uint32_t *link) {
    abut_robot_geometry part;
    assert_ok(abut_robot_get_geometry(robot, i, &part));
    assert_ok(abut_pose_compose(&poses[part.link], &part.collider.pose, &part.collider.pose));
    *link = part.link;
    return part.collider;
}

/* The referee: the distance of the closest pair of a configuration that is tested, and the pair. */
static inline double arm_distance(const arm_scene *s, const double *q, abut_robot_hit *pair) {
    abut_robot_info info = abut_robot_info_default();
    abut_pose poses[ARM_JOINTS + 1];
    double best = INFINITY;
    assert_ok(abut_robot_get_info(s->robot, &info));
    assert_ok(abut_robot_compute_poses(s->robot, q, 1, poses));
    for (uint32_t i = 0; i < info.geometry_count; i++) {
        uint32_t link, other_link = ABUT_NONE;
        const abut_collider a = arm_part(s->robot, poses, i, &link);
        for (uint32_t j = 0; j < ARM_OBSTACLES + info.geometry_count; j++) {
            const bool is_self = j >= ARM_OBSTACLES;
            if (is_self && j - ARM_OBSTACLES <= i)
                continue;
            const abut_collider b = is_self
                                        ? arm_part(s->robot, poses, j - ARM_OBSTACLES, &other_link)
                                        : s->colliders[j];
            if (is_self && abut_robot_is_allowed(s->robot, link, other_link))
                continue;
            abut_separation separation;
            bool within = true;
            if (best < INFINITY)
                assert_ok(abut_pair_within(&a, &b, best, NULL, NULL, &within, NULL));
            if (!within)
                continue;
            assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
            if (separation.distance < best) {
                best = separation.distance;
                *pair = (abut_robot_hit){best == 0, link, is_self ? other_link : ABUT_NONE,
                                         is_self ? ABUT_NONE : j};
            }
        }
    }
    return best;
}

#endif
