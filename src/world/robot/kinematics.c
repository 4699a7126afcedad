/* Poses of the links of a robot in a configuration. */
#include "robot/robot.h"

#include <math.h>

abut_status abuti_robot_create_state(const abut_robot *robot, uint32_t obstacles,
                                     robot_state *state) {
    const size_t pairs = robot->pair_count + (size_t)obstacles * robot->shape_count;
    return ABUTI_ALLOCATE(robot->context, ABUTI_ARRAY(state->links, robot->link_count),
                          ABUTI_ARRAY(state->places, robot->shape_count),
                          ABUTI_ZEROED(state->cache, pairs));
}

void abuti_robot_destroy_state(const abut_robot *robot, robot_state *state) {
    ABUTI_RELEASE(robot->context, state->links, state->places, state->cache);
}

/* Rotates a vector by a unit quaternion. */
static vec3 rotate(quat q, vec3 v) {
    const vec3 u = {q.x, q.y, q.z}, across = v3_scale(v3_cross(u, v), 2);
    return v3_add(v3_along(v, q.w, across), v3_cross(u, across));
}

/* The pose of the child of a joint relative to its parent. Rotations of joints are unit
 * quaternions. */
static abut_pose relative_pose(const robot_joint *joint, const double *configuration) {
    const abut_robot_joint *is = &joint->is;
    abut_pose at = is->pose;
    if (joint->variable == ABUT_NONE)
        return at;
    const double value = joint->multiplier * configuration[joint->variable] + is->offset;
    if (is->kind == ABUT_ROBOT_PRISMATIC) {
        at.translation = v3_along(at.translation, value, rotate(at.rotation, is->axis));
        return at;
    }
    const double sine = sin(0.5 * value);
    const quat turn = {sine * is->axis.x, sine * is->axis.y, sine * is->axis.z, cos(0.5 * value)};
    if (v3_max_abs(is->anchor) > 0) { /* the anchor stays where it is */
        const vec3 shift = v3_sub(is->anchor, rotate(turn, is->anchor));
        at.translation = v3_add(at.translation, rotate(at.rotation, shift));
    }
    at.rotation = quat_multiply(at.rotation, turn);
    return at;
}

static void pose_links(const abut_robot *robot, const double *configuration, abut_pose *links) {
    for (uint32_t i = 0; i < robot->link_count; i++) {
        const uint32_t link = robot->order[i];
        const robot_link *is = &robot->links[link];
        if (is->joint == ABUT_NONE) {
            links[link] = robot->base;
            continue;
        }
        const abut_pose *up = &links[is->parent],
                        at = relative_pose(&robot->joints[is->joint], configuration);
        links[link].rotation = quat_multiply(up->rotation, at.rotation);
        links[link].translation = v3_add(up->translation, rotate(up->rotation, at.translation));
    }
}

void abuti_robot_pose(const abut_robot *robot, const double *configuration, robot_state *state) {
    pose_links(robot, configuration, state->links);
    for (uint32_t i = 0; i < robot->shape_count; i++)
        state->places[i] =
            abuti_robot_place(&robot->shapes[i], &state->links[robot->shapes[i].owner]);
}

abut_status abuti_robot_check_configurations(const char *function, const char *what,
                                             const abut_robot *robot, const double *numbers,
                                             size_t count) {
    size_t total;
    if (!numbers && count && robot->variable_count)
        return abuti_null(function, what);
    if (abuti_multiply_overflows(count, robot->variable_count, &total))
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu configurations of %u variables are too many",
                          function, count, robot->variable_count);
    for (size_t i = 0; i < total; i++)
        if (!(fabs(numbers[i]) <= ABUT_ROBOT_NUMBER_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: %s[%zu] is %g for the joint '%s'; it must be from -%g to %g",
                              function, what, i, numbers[i],
                              robot->joints[robot->variables[i % robot->variable_count]].is.name,
                              ABUT_ROBOT_NUMBER_MAX, ABUT_ROBOT_NUMBER_MAX);
    return ABUT_OK;
}

abut_status abut_robot_compute_poses(const abut_robot *robot, const double *configurations,
                                     size_t count, abut_pose *poses) {
    if (!robot || (!poses && count))
        return abuti_null(__func__, robot ? "poses" : "robot");
    abut_status status =
        abuti_robot_check_configurations(__func__, "configurations", robot, configurations, count);
    for (size_t i = 0; i < count && !status; i++)
        pose_links(robot, configurations + i * robot->variable_count,
                   poses + i * robot->link_count);
    return status;
}
