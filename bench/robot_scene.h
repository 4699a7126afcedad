/* The arm of the robot benchmarks and its obstacles; bench/peers/robot.cpp shows it to other
 * libraries too. An arm of seven revolute joints with a reach of 1.3, whose links are meshes of
 * some 2,000 triangles: a rounded rod with a drum at its joint. 20 obstacles around it: boxes, and
 * meshes of 1,500 to 2,000 triangles. */
#ifndef ABUT_BENCH_ROBOT_SCENE_H
#define ABUT_BENCH_ROBOT_SCENE_H

#include <abut/abut.h>

#include <math.h>

enum { ROBOT_JOINTS = 7, ROBOT_OBSTACLES = 20, ROBOT_MESHES = 6 };

typedef struct robot_scene {
    abut_robot *robot;
    abut_robot_obstacles *obstacles;
    abut_collider colliders[ROBOT_OBSTACLES];
    abut_bvh *bvh[ROBOT_MESHES]; /* 0 to 2: links; 3 to 5: obstacles */
    double lower[ROBOT_JOINTS], upper[ROBOT_JOINTS];
} robot_scene;

/* Uniform from lo to hi (splitmix64). */
static inline double robot_random(uint64_t *state, double lo, double hi) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return lo + (hi - lo) * ((double)((z ^ z >> 31) >> 11) * 0x1p-53);
}

static inline abut_pose robot_pose(double x, double y, double z) {
    abut_pose at = abut_pose_identity();
    at.translation.x = x;
    at.translation.y = y;
    at.translation.z = z;
    return at;
}

/* A rod from the joint upwards, with a drum across the joint. */
static inline abut_status robot_make_link(double radius, double length, uint32_t fine,
                                          abut_bvh **bvh) {
    abut_shape rod = abut_shape_default(ABUT_SHAPE_CAPSULE),
               drum = abut_shape_default(ABUT_SHAPE_CYLINDER);
    abut_mesh *parts[4] = {NULL, NULL, NULL, NULL}, *joined = NULL;
    abut_pose turn;
    rod.radius = radius;
    rod.height = length;
    rod.segments = 4 * fine;
    rod.rings = 2 * fine;
    drum.radius = 1.15 * radius;
    drum.height = 2.4 * radius;
    drum.segments = 4 * fine;
    drum.rings = fine;
    abut_vec3 x = {1, 0, 0}, none = {0, 0, 0};
    abut_status status = abut_pose_from_axis_angle(x, 1.5707963267948966, none, &turn);
    if (!status)
        status = abut_shape_create(NULL, &rod, &parts[0]);
    if (!status)
        status = abut_shape_create(NULL, &drum, &parts[1]);
    if (!status)
        status = abut_mesh_transform(parts[0], 1, robot_pose(0, 0, 0.5 * length), &parts[2]);
    if (!status)
        status = abut_mesh_transform(parts[1], 1, turn, &parts[3]);
    if (!status)
        status = abut_mesh_join(parts + 2, 2, &joined);
    if (!status)
        status = abut_bvh_create(joined, NULL, bvh);
    for (int i = 0; i < 4; i++)
        abut_mesh_destroy(parts[i]);
    abut_mesh_destroy(joined);
    return status;
}

static inline abut_status robot_make_shape(abut_shape_kind kind, double size, uint32_t fine,
                                           abut_bvh **bvh) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL, *scaled = NULL;
    shape.segments = 5 * fine;
    shape.rings = 2 * fine;
    if (kind == ABUT_SHAPE_ICOSPHERE)
        shape.segments = fine;
    abut_status status = abut_shape_create(NULL, &shape, &mesh);
    if (!status)
        status = abut_mesh_transform(mesh, size, abut_pose_identity(), &scaled);
    if (!status)
        status = abut_bvh_create(scaled, NULL, bvh);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(scaled);
    return status;
}

static inline abut_status robot_make_arm(robot_scene *s) {
    static const char *const links[] = {"base",  "link1", "link2", "link3",
                                        "link4", "link5", "link6", "link7"};
    static const char *const names[] = {"joint1", "joint2", "joint3", "joint4",
                                        "joint5", "joint6", "joint7"};
    static const double up[] = {0.12, 0.2, 0.24, 0.2, 0.2, 0.18, 0.1};
    static const uint32_t mesh_of[] = {0, 0, 1, 1, 1, 2, 2, 2};
    abut_robot_joint joints[ROBOT_JOINTS];
    abut_robot_geometry parts[ROBOT_JOINTS + 1];
    abut_robot_description d = abut_robot_description_default();
    memset(joints, 0, sizeof joints);
    for (uint32_t i = 0; i < ROBOT_JOINTS; i++) {
        joints[i].name = names[i];
        joints[i].kind = ABUT_ROBOT_REVOLUTE;
        joints[i].parent = i;
        joints[i].child = i + 1;
        joints[i].pose = robot_pose(0, 0, up[i]);
        joints[i].axis.z = i % 2 == 0;
        joints[i].axis.y = i % 2;
        joints[i].lower = s->lower[i] = i % 2 ? -2.0 : -2.9;
        joints[i].upper = s->upper[i] = -joints[i].lower;
        joints[i].mimic = ABUT_NONE;
    }
    for (uint32_t i = 0; i <= ROBOT_JOINTS; i++) {
        parts[i].link = i;
        parts[i].collider = abut_collider_from_bvh(s->bvh[mesh_of[i]], robot_pose(0, 0, 0));
    }
    d.name = "arm";
    d.links = links;
    d.link_count = ROBOT_JOINTS + 1;
    d.joints = joints;
    d.joint_count = ROBOT_JOINTS;
    d.geometries = parts;
    d.geometry_count = ROBOT_JOINTS + 1;
    return abut_robot_create(NULL, &d, &s->robot);
}

static inline abut_status robot_scene_create(robot_scene *s, bool quick) {
    const uint32_t fine = quick ? 3 : 8;
    uint64_t random = 4;
    memset(s, 0, sizeof *s);
    abut_status status = robot_make_link(0.07, 0.12, fine, &s->bvh[0]);
    if (!status)
        status = robot_make_link(0.055, 0.2, fine, &s->bvh[1]);
    if (!status)
        status = robot_make_link(0.04, 0.1, fine, &s->bvh[2]);
    if (!status)
        status = robot_make_shape(ABUT_SHAPE_TORUS, 0.15, fine + 2, &s->bvh[3]);
    if (!status)
        status = robot_make_shape(ABUT_SHAPE_ICOSPHERE, 0.12, fine + 2, &s->bvh[4]);
    if (!status)
        status = robot_make_shape(ABUT_SHAPE_TEAPOT_SOLID, 0.1, quick ? 1 : 2, &s->bvh[5]);
    if (!status)
        status = robot_make_arm(s);
    for (int i = 0; i < ROBOT_OBSTACLES; i++) {
        const double angle = robot_random(&random, 0, 6.283185307179586),
                     far = robot_random(&random, 0.55, 1.2);
        abut_pose at =
            robot_pose(far * cos(angle), far * sin(angle), robot_random(&random, 0, 1.2));
        at.rotation.x = robot_random(&random, -1, 1);
        at.rotation.y = robot_random(&random, -1, 1);
        at.rotation.z = robot_random(&random, -1, 1);
        at.rotation.w = robot_random(&random, -1, 1);
        abut_vec3 half;
        half.x = robot_random(&random, 0.03, 0.12);
        half.y = robot_random(&random, 0.03, 0.12);
        half.z = robot_random(&random, 0.03, 0.12);
        s->colliders[i] = i % 2 ? abut_collider_from_bvh(s->bvh[3 + i / 2 % 3], at)
                                : abut_collider_from_box(half, at);
    }
    return status ? status
                  : abut_robot_obstacles_create(NULL, s->colliders, ROBOT_OBSTACLES, &s->obstacles);
}

static inline void robot_scene_destroy(robot_scene *s) {
    abut_robot_destroy(s->robot);
    abut_robot_obstacles_destroy(s->obstacles);
    for (int i = 0; i < ROBOT_MESHES; i++)
        abut_bvh_destroy(s->bvh[i]);
}

static inline void robot_configuration(const robot_scene *s, uint64_t *random, double *q) {
    for (int i = 0; i < ROBOT_JOINTS; i++)
        q[i] = robot_random(random, s->lower[i], s->upper[i]);
}

#endif
