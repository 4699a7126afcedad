/* Robots: creation from a description, and their contents. */
#include "robot/robot.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

const char *abut_robot_joint_kind_name(abut_robot_joint_kind kind) {
    static const char *const names[] = {"fixed", "revolute", "continuous", "prismatic"};
    return ABUTI_NAME(names, kind);
}

/* ---- validation ---- */

static bool is_bounded(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(numbers[i]) <= ABUT_ROBOT_NUMBER_MAX))
            return false;
    return true;
}

static abut_status check_joint(const abut_robot_description *d, uint32_t index) {
    const abut_robot_joint *j = &d->joints[index];
    if (!j->name || !*j->name)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_robot_create: joint %u has no name", index);
    if ((uint32_t)j->kind > ABUT_ROBOT_PRISMATIC)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_robot_create: the kind of joint '%s' is %u; it must be from 0 to %d", j->name,
            (uint32_t)j->kind, ABUT_ROBOT_PRISMATIC);
    if (j->parent >= d->link_count || j->child >= d->link_count || j->parent == j->child)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_robot_create: joint '%s' connects the links %u and %u; they must be "
            "different and less than %u, the number of links",
            j->name, j->parent, j->child, d->link_count);
    const double numbers[] = {j->pose.translation.x,
                              j->pose.translation.y,
                              j->pose.translation.z,
                              j->pose.rotation.x,
                              j->pose.rotation.y,
                              j->pose.rotation.z,
                              j->pose.rotation.w,
                              j->axis.x,
                              j->axis.y,
                              j->axis.z,
                              j->anchor.x,
                              j->anchor.y,
                              j->anchor.z,
                              j->lower,
                              j->upper,
                              j->multiplier,
                              j->offset};
    if (!is_bounded(numbers, sizeof numbers / sizeof *numbers))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_robot_create: a number of joint '%s' is not finite or beyond %g",
                          j->name, ABUT_ROBOT_NUMBER_MAX);
    if (j->kind != ABUT_ROBOT_FIXED && v3_max_abs(j->axis) < 1e-9)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_robot_create: the axis of joint '%s' has a length of %g; it must be "
            "at least 1e-9",
            j->name, v3_length(j->axis));
    if (j->lower > j->upper)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_robot_create: joint '%s' has the limits %g to %g; the lower one "
                          "must not exceed the upper one",
                          j->name, j->lower, j->upper);
    if (j->mimic == ABUT_NONE)
        return ABUT_OK;
    if (j->mimic >= d->joint_count || d->joints[j->mimic].mimic != ABUT_NONE ||
        d->joints[j->mimic].kind == ABUT_ROBOT_FIXED)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_robot_create: joint '%s' mimics joint %u; that must be one of the "
                          "%u joints that moves and mimics no other joint",
                          j->name, j->mimic, d->joint_count);
    return ABUT_OK;
}

typedef struct name_index {
    const char *name;
    uint32_t index;
} name_index;

static bool name_after(const void *one, const void *other) {
    const name_index *a = one, *b = other;
    const int order = strcmp(a->name, b->name);
    return order > 0 || (order == 0 && a->index > b->index);
}

/* Fails if two names are equal. `list` has room for all. */
static abut_status check_unique(const char *what, name_index *list, uint32_t count) {
    abuti_sort_items(list, count, sizeof *list, name_after);
    for (uint32_t i = 1; i < count; i++)
        if (!strcmp(list[i - 1].name, list[i].name))
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "abut_robot_create: the %ss %u and %u are both named '%s'; names must "
                "be unique",
                what, list[i - 1].index, list[i].index, list[i].name);
    return ABUT_OK;
}

static abut_status check_names(abut_context *context, const abut_robot_description *d) {
    const uint32_t most = d->link_count > d->joint_count ? d->link_count : d->joint_count;
    name_index *list = abuti_allocate(context, most, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < d->link_count && !status; i++) {
        if (!d->links[i] || !*d->links[i])
            status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_robot_create: link %u has no name", i);
        list[i] = (name_index){d->links[i], i};
    }
    if (!status)
        status = check_unique("link", list, d->link_count);
    for (uint32_t i = 0; i < d->joint_count && !status; i++) {
        status = check_joint(d, i);
        list[i] = (name_index){d->joints[i].name, i};
    }
    if (!status)
        status = check_unique("joint", list, d->joint_count);
    abuti_release(context, list);
    return status;
}

static abut_status check_description(const abut_robot_description *d) {
    const char *null = !d->links && d->link_count            ? "description->links"
                       : !d->joints && d->joint_count        ? "description->joints"
                       : !d->geometries && d->geometry_count ? "description->geometries"
                                                             : NULL;
    if (null)
        return abuti_null("abut_robot_create", null);
    if (!d->link_count || d->link_count > ABUT_ROBOT_LINK_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_robot_create: the robot has %u links; it must have 1 to %d",
                          d->link_count, ABUT_ROBOT_LINK_MAX);
    if (d->joint_count != d->link_count - 1)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_robot_create: the robot has %u links and %u joints; a tree has one "
                          "joint less than links",
                          d->link_count, d->joint_count);
    if (d->geometry_count > ABUT_ROBOT_GEOMETRY_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_robot_create: the robot has %u parts of geometry; at most %d are "
                          "supported",
                          d->geometry_count, ABUT_ROBOT_GEOMETRY_MAX);
    for (uint32_t i = 0; i < d->geometry_count; i++)
        if (d->geometries[i].link >= d->link_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_robot_create: geometry %u belongs to link %u; it must be less "
                              "than %u, the number of links",
                              i, d->geometries[i].link, d->link_count);
    return ABUT_OK;
}

/* ---- creation ---- */

static char *copy_text(abut_context *context, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = abuti_allocate(context, bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static abut_status copy_joints(abut_robot *robot, const abut_robot_description *d) {
    for (uint32_t i = 0; i < d->joint_count; i++) {
        robot_joint *joint = &robot->joints[i];
        joint->is = d->joints[i];
        joint->is.axis =
            joint->is.kind == ABUT_ROBOT_FIXED ? v3(0, 0, 0) : v3_normalise(joint->is.axis);
        joint->is.pose.rotation = quat_normalise(joint->is.pose.rotation);
        joint->multiplier = joint->is.multiplier != 0 ? joint->is.multiplier : 1;
        joint->variable = ABUT_NONE;
        if (joint->is.kind == ABUT_ROBOT_CONTINUOUS)
            joint->is.lower = joint->is.upper = 0;
        if (!(joint->is.name = copy_text(robot->context, d->joints[i].name)))
            return ABUT_ERROR_MEMORY;
        if (joint->is.kind != ABUT_ROBOT_FIXED && joint->is.mimic == ABUT_NONE) {
            joint->variable = robot->variable_count;
            robot->variables[robot->variable_count++] = i;
        }
    }
    for (uint32_t i = 0; i < d->joint_count; i++)
        if (robot->joints[i].is.mimic != ABUT_NONE && robot->joints[i].is.kind != ABUT_ROBOT_FIXED)
            robot->joints[i].variable = robot->joints[robot->joints[i].is.mimic].variable;
    return ABUT_OK;
}

/* Connects the links and orders them, parents first. Fails unless they are a tree. */
static abut_status connect_links(abut_robot *robot) {
    robot_link *links = robot->links;
    for (uint32_t i = 0; i < robot->link_count; i++)
        links[i].joint = links[i].parent = ABUT_NONE;
    for (uint32_t i = 0; i < robot->joint_count; i++) {
        const abut_robot_joint *is = &robot->joints[i].is;
        if (links[is->child].joint != ABUT_NONE)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_robot_create: link '%s' is the child of the joints '%s' and "
                              "'%s'; a link has one parent",
                              links[is->child].name, robot->joints[links[is->child].joint].is.name,
                              is->name);
        links[is->child].joint = i;
        links[is->child].parent = is->parent;
    }
    /* The depth of a link is known once that of its parent is. A link without a depth at the end is
     * in a cycle, since only one link has no parent. */
    for (uint32_t i = 0; i < robot->link_count; i++)
        links[i].depth = links[i].joint == ABUT_NONE ? 0 : ABUT_NONE;
    uint32_t used = 0;
    for (uint32_t depth = 0, before = ABUT_NONE; used != before; depth++) {
        before = used;
        for (uint32_t i = 0; i < robot->link_count; i++) {
            const uint32_t up = links[i].parent;
            if (depth && links[i].depth == ABUT_NONE && links[up].depth == depth - 1)
                links[i].depth = depth;
            if (links[i].depth != depth)
                continue;
            robot->order[used++] = i;
            const bool is_rigid =
                up != ABUT_NONE && robot->joints[links[i].joint].variable == ABUT_NONE;
            links[i].group = is_rigid ? links[up].group : i;
        }
    }
    for (uint32_t i = 0; i < robot->link_count; i++)
        if (links[i].depth == ABUT_NONE)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_robot_create: link '%s' is part of a cycle; links must form a "
                              "tree",
                              links[i].name);
    return ABUT_OK;
}

static abut_status make_shapes(abut_robot *robot, const abut_robot_description *d) {
    for (uint32_t link = 0; link < d->link_count; link++)
        for (uint32_t i = 0; i < d->geometry_count; i++) {
            if (d->geometries[i].link != link)
                continue;
            char what[64];
            snprintf(what, sizeof what, "description->geometries[%u].collider", i);
            robot_shape *shape = &robot->shapes[robot->shape_count++];
            abut_status status = abuti_robot_make_shape("abut_robot_create", what, robot->context,
                                                        &d->geometries[i].collider, false, shape);
            if (status)
                return status;
            shape->owner = link;
        }
    return ABUT_OK;
}

/* The distance by which a joint can move its child: the largest value of a prismatic joint. */
static double joint_travel(const robot_joint *joint) {
    const abut_robot_joint *is = &joint->is;
    if (is->kind != ABUT_ROBOT_PRISMATIC)
        return 2 * v3_length(is->anchor);
    const double limit = real_max(fabs(is->lower), fabs(is->upper));
    return fabs(joint->multiplier) * (limit > 0 ? limit : 1) + fabs(is->offset);
}

static double compute_reach(const abut_robot *robot) {
    double reach = 0;
    for (uint32_t i = 0; i < robot->shape_count; i++) {
        const robot_shape *shape = &robot->shapes[i];
        double sum = v3_length(pose_apply(&shape->collider.pose, shape->centre)) + shape->ball;
        for (uint32_t link = shape->owner; robot->links[link].joint != ABUT_NONE;
             link = robot->links[link].parent) {
            const robot_joint *joint = &robot->joints[robot->links[link].joint];
            sum += v3_length(joint->is.pose.translation) + joint_travel(joint);
        }
        reach = real_max(reach, sum);
    }
    return reach;
}

static abut_status build(abut_robot *robot, const abut_robot_description *d) {
    abut_context *context = robot->context;
    const size_t links = d->link_count, shapes = d->geometry_count;
    robot->name = copy_text(context, d->name ? d->name : "robot");
    if (!robot->name)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ZEROED(robot->links, links),
                       ABUTI_ZEROED(robot->joints, d->joint_count),
                       ABUTI_ZEROED(robot->shapes, shapes), ABUTI_ARRAY(robot->order, links),
                       ABUTI_ARRAY(robot->variables, d->joint_count),
                       ABUTI_ZEROED(robot->allowed, links * links / 64 + 1),
                       ABUTI_ARRAY(robot->pairs, shapes ? shapes * (shapes - 1) / 2 : 0));
    if (status)
        return status;
    robot->link_count = d->link_count;
    robot->joint_count = d->joint_count;
    for (uint32_t i = 0; i < d->link_count; i++)
        if (!(robot->links[i].name = copy_text(context, d->links[i])))
            return ABUT_ERROR_MEMORY;
    if ((status = copy_joints(robot, d)) || (status = connect_links(robot)) ||
        (status = make_shapes(robot, d)))
        return status;
    robot->reach = compute_reach(robot);
    abuti_robot_allow_neighbours(robot);
    abuti_robot_list_pairs(robot);
    return ABUT_OK;
}

abut_status abut_robot_create(abut_context *context, const abut_robot_description *description,
                              abut_robot **robot) {
    abut_robot_description d = abut_robot_description_default();
    if (!description || !robot)
        return abuti_null(__func__, description ? "robot" : "description");
    abut_status status = abuti_options_read(&d, sizeof d, description, __func__);
    context = abuti_context_of(context);
    if (status || (status = check_description(&d)) || (status = check_names(context, &d)))
        return status;
    abut_robot *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->base = abut_pose_identity();
    status = build(made, &d);
    if (status)
        abut_robot_destroy(made);
    else
        *robot = made;
    return status;
}

void abut_robot_destroy(abut_robot *robot) {
    if (!robot)
        return;
    abut_context *context = robot->context;
    for (uint32_t i = 0; i < robot->shape_count; i++)
        abuti_robot_release_shape(&robot->shapes[i]);
    for (uint32_t i = 0; i < robot->link_count; i++)
        abuti_release(context, robot->links[i].name);
    for (uint32_t i = 0; i < robot->joint_count; i++)
        if (robot->joints)
            abuti_release(context, (void *)robot->joints[i].is.name);
    ABUTI_RELEASE(context, robot->name, robot->links, robot->joints, robot->shapes, robot->order,
                  robot->variables, robot->allowed, robot->pairs, robot);
    abut_context_destroy(context);
}

/* ---- contents ---- */

abut_status abut_robot_get_info(const abut_robot *robot, abut_robot_info *info) {
    if (!robot || !info)
        return abuti_null(__func__, robot ? "info" : "robot");
    uint64_t triangles = 0;
    for (uint32_t i = 0; i < robot->shape_count; i++)
        triangles += robot->shapes[i].bvh->triangle_count;
    const abut_robot_info made = {.size = sizeof made,
                                  .name = robot->name,
                                  .link_count = robot->link_count,
                                  .joint_count = robot->joint_count,
                                  .variable_count = robot->variable_count,
                                  .geometry_count = robot->shape_count,
                                  .triangle_count = triangles,
                                  .pair_count = (uint32_t)robot->link_pair_count,
                                  .reach = robot->reach};
    return abuti_info_write(info, &made, sizeof made, __func__);
}

const char *abut_robot_link_name(const abut_robot *robot, uint32_t link) {
    return robot && link < robot->link_count ? robot->links[link].name : NULL;
}

static abut_status check_index(const char *function, const abut_robot *robot, const void *out,
                               const char *out_name, uint32_t index, uint32_t count) {
    if (!robot || !out)
        return abuti_null(function, robot ? out_name : "robot");
    if (index < count)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the index is %u; it must be less than %u", function,
                      index, count);
}

abut_status abut_robot_get_joint(const abut_robot *robot, uint32_t index, abut_robot_joint *joint) {
    abut_status status =
        check_index(__func__, robot, joint, "joint", index, robot ? robot->joint_count : 0);
    if (!status)
        *joint = robot->joints[index].is;
    return status;
}

abut_status abut_robot_get_variable(const abut_robot *robot, uint32_t variable, uint32_t *joint) {
    abut_status status =
        check_index(__func__, robot, joint, "joint", variable, robot ? robot->variable_count : 0);
    if (!status)
        *joint = robot->variables[variable];
    return status;
}

abut_status abut_robot_get_geometry(const abut_robot *robot, uint32_t index,
                                    abut_robot_geometry *geometry) {
    abut_status status =
        check_index(__func__, robot, geometry, "geometry", index, robot ? robot->shape_count : 0);
    if (!status)
        *geometry =
            (abut_robot_geometry){robot->shapes[index].owner, robot->shapes[index].collider};
    return status;
}

abut_status abut_robot_set_base(abut_robot *robot, const abut_pose *base) {
    if (!robot || !base)
        return abuti_null(__func__, robot ? "base" : "robot");
    abut_status status = abuti_pose_check(__func__, "base", base);
    if (!status && !is_bounded(&base->translation.x, 3))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a coordinate of the base is beyond %g",
                            __func__, ABUT_ROBOT_NUMBER_MAX);
    if (!status) {
        robot->base = *base;
        robot->base.rotation = quat_normalise(base->rotation);
    }
    return status;
}

/* ---- obstacles ---- */

abut_status abut_robot_obstacles_create(abut_context *context, const abut_collider *colliders,
                                        size_t count, abut_robot_obstacles **obstacles) {
    if (!obstacles || (!colliders && count))
        return abuti_null(__func__, obstacles ? "colliders" : "obstacles");
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu obstacles are too many; at most %u", __func__,
                          count, ABUT_NONE - 1);
    context = abuti_context_of(context);
    abut_robot_obstacles *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    abut_status status = ABUTI_ALLOCATE(context, ABUTI_ZEROED(made->shapes, count),
                                        ABUTI_ARRAY(made->places, count));
    const abut_pose world = abut_pose_identity();
    for (size_t i = 0; i < count && !status; i++) {
        char what[64];
        snprintf(what, sizeof what, "colliders[%zu]", i);
        robot_shape *shape = &made->shapes[made->count++];
        status = abuti_robot_make_shape(__func__, what, context, &colliders[i], true, shape);
        shape->owner = (uint32_t)i;
        if (!status)
            made->places[i] = abuti_robot_place(shape, &world);
    }
    if (status)
        abut_robot_obstacles_destroy(made);
    else
        *obstacles = made;
    return status;
}

void abut_robot_obstacles_destroy(abut_robot_obstacles *obstacles) {
    if (!obstacles)
        return;
    abut_context *context = obstacles->context;
    for (uint32_t i = 0; i < obstacles->count; i++)
        abuti_robot_release_shape(&obstacles->shapes[i]);
    ABUTI_RELEASE(context, obstacles->shapes, obstacles->places, obstacles);
    abut_context_destroy(context);
}
