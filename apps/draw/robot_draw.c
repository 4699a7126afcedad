/* The picture of `abut robot`: configurations, or stages of a motion, among the obstacles. */
#include "apps/get.h"
#include "robot.h"

#include <math.h>

enum { STAGES = 7 };
static const abut_colour orange = {1.0f, 0.55f, 0.0f, 1}, grey = {0.62f, 0.62f, 0.65f, 1};

/* A pose that turns the z axis to the segment between two points, around their middle. */
static abut_pose pose_along(const abut_vec3 end[2]) {
    const abut_vec3 d = vec_sub(end[1], end[0]), axis = {-d.y, d.x, 0};
    const double across = sqrt(d.x * d.x + d.y * d.y);
    abut_pose at = abut_pose_identity();
    const abut_vec3 x = {1, 0, 0};
    ensure(abut_pose_from_axis_angle(across > 0 ? axis : x, atan2(across, d.z),
                                     vec_along(end[0], 0.5, d), &at));
    return at;
}

/* The mesh of a collider and its pose. The caller destroys the mesh. */
static abut_mesh *mesh_of_collider(const abut_collider *c, abut_pose *pose) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_pose own = abut_pose_identity();
    *pose = c->pose;
    if (c->kind == ABUT_COLLIDER_BODY || c->kind == ABUT_COLLIDER_HULL)
        return abut_mesh_retain(
            abut_bvh_mesh(c->kind == ABUT_COLLIDER_HULL ? c->shape.hull : c->shape.body.bvh));
    if (c->kind == ABUT_COLLIDER_BOX) {
        shape.extent = (abut_vec3){2 * c->shape.half.x, 2 * c->shape.half.y, 2 * c->shape.half.z};
        shape.segments = 1;
    } else if (c->kind == ABUT_COLLIDER_SPHERE) {
        shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
        shape.radius = c->shape.sphere.radius;
        own.translation = c->shape.sphere.centre;
    } else {
        const bool is_capsule = c->kind == ABUT_COLLIDER_CAPSULE;
        const abut_vec3 *end = is_capsule ? c->shape.capsule.end : c->shape.cylinder.end;
        shape = abut_shape_default(is_capsule ? ABUT_SHAPE_CAPSULE : ABUT_SHAPE_CYLINDER);
        shape.radius = is_capsule ? c->shape.capsule.radius : c->shape.cylinder.radius;
        shape.height = vec_length(vec_sub(end[1], end[0]));
        shape.segments = 32;
        own = pose_along(end);
    }
    ensure(abut_shape_create(NULL, &shape, &mesh));
    ensure(abut_pose_compose(pose, &own, pose));
    return mesh;
}

/* Adds the robot in one configuration; links of the pair are orange. */
static void add_robot(abut_picture *picture, const tool_robot *r, const double *configuration,
                      const uint32_t pair[2], abut_colour colour, float opacity) {
    abut_pose *poses = tool_array(r->info.link_count, sizeof *poses);
    ensure(abut_robot_compute_poses(r->robot, configuration, 1, poses));
    for (uint32_t i = 0; i < r->info.geometry_count; i++) {
        abut_robot_geometry part;
        abut_pose at;
        ensure(abut_robot_get_geometry(r->robot, i, &part));
        abut_mesh *mesh = mesh_of_collider(&part.collider, &at);
        ensure(abut_pose_compose(&poses[part.link], &at, &at));
        const bool hits = pair && (part.link == pair[0] || part.link == pair[1]);
        picture_body(picture, mesh, at, hits ? orange : colour, hits ? 1 : opacity);
        abut_mesh_destroy(mesh);
    }
    tool_free(poses);
}

static void add_obstacles(abut_picture *picture, const tool_robot *r, uint32_t hit) {
    for (uint32_t i = 0; i < r->obstacle_count; i++) {
        const abut_scene_body body = get_scene_body(r->scene, i);
        if (body.collider.kind != ABUT_COLLIDER_PLANE)
            picture_body(picture, body.mesh, body.collider.pose, i == hit ? orange : grey, 1);
    }
}

/* Stages up to the contact, then the configuration of the contact. */
static void add_motion(abut_picture *picture, const tool_robot *r, const abut_robot_motion *m) {
    const uint32_t n = r->info.variable_count;
    double *q = tool_array((size_t)n + 1, sizeof *q);
    const uint32_t pair[2] = {m->link, m->other_link};
    for (int k = 0; k <= STAGES; k++) {
        const double t = m->time * k / STAGES;
        const bool is_last = k == STAGES;
        for (uint32_t i = 0; i < n; i++)
            q[i] = r->from[i] + t * (r->to[i] - r->from[i]);
        add_robot(picture, r, q, is_last && m->touches ? pair : NULL,
                  abut_picture_colour(is_last || !k ? 0 : 1), is_last || !k ? 1.0f : 0.25f);
    }
    tool_free(q);
}

void robot_draw(tool_run *tool, const tool_arguments *arguments, const tool_robot *r,
                const abut_robot_motion *motion) {
    abut_picture_options camera = abut_picture_options_default();
    const tool_given *png = picture_given(arguments);
    tool_legend legend = {0};
    camera_read(tool, arguments, &camera);
    abut_picture *picture = picture_new(tool, &camera);
    uint32_t hit = ABUT_NONE;
    legend_add(&legend, abut_picture_colour(0), r->from ? "start and end" : "free");
    if (r->from) {
        legend_add(&legend, abut_picture_colour(1), "on the way");
        hit = motion->touches ? motion->obstacle : ABUT_NONE;
        add_motion(picture, r, motion);
        if (motion->touches)
            legend_add(&legend, orange, "contact at time %.4g", motion->time);
    }
    for (size_t i = 0; i < r->count; i++) {
        const double *q = r->configurations + i * r->info.variable_count;
        abut_robot_hit found;
        ensure(abut_robot_test(r->robot, r->obstacles, q, 1, &found, NULL));
        const uint32_t pair[2] = {found.link, found.other_link};
        add_robot(picture, r, q, found.collides ? pair : NULL, abut_picture_colour(0), 1);
        hit = found.collides && found.obstacle != ABUT_NONE ? found.obstacle : hit;
        if (found.collides && !i)
            legend_add(&legend, orange, "collides");
    }
    if (!r->from && !r->count) {
        double *zero = tool_array((size_t)r->info.variable_count + 1, sizeof *zero);
        add_robot(picture, r, zero, NULL, abut_picture_colour(0), 1);
        tool_free(zero);
    }
    add_obstacles(picture, r, hit);
    if (r->obstacle_count)
        legend_add(&legend, grey, "obstacles");
    picture_write(tool, picture, &camera, &legend, png->words);
    abut_picture_destroy(picture);
}
