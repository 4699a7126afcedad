/* The allowed-collision matrix of a robot, and the pairs of shapes that are tested. */
#include "robot/robot.h"

void abuti_robot_set_allowed(abut_robot *robot, uint32_t a, uint32_t b, bool allow) {
    for (int k = 0; k < 2; k++) {
        const size_t bit =
            k ? (size_t)robot->link_count * b + a : (size_t)robot->link_count * a + b;
        const uint64_t mask = (uint64_t)1 << bit % 64;
        robot->allowed[bit / 64] =
            allow ? robot->allowed[bit / 64] | mask : robot->allowed[bit / 64] & ~mask;
    }
}

/* The last link that two links descend from. */
static uint32_t common_link(const abut_robot *robot, uint32_t a, uint32_t b) {
    while (a != b) {
        uint32_t *deeper = robot->links[a].depth >= robot->links[b].depth ? &a : &b;
        *deeper = robot->links[*deeper].parent;
    }
    return a;
}

/* Shapes are sorted by link: the first one of a link or a later link. */
static uint32_t first_shape(const abut_robot *robot, uint32_t link) {
    uint32_t first = 0, count = robot->shape_count;
    while (count) {
        const uint32_t half = count / 2;
        const bool is_before = robot->shapes[first + half].owner < link;
        first += is_before ? half + 1 : 0;
        count = is_before ? count - half - 1 : half;
    }
    return first;
}

void abuti_robot_allow_neighbours(abut_robot *robot) {
    for (uint32_t a = 0; a < robot->link_count; a++) {
        for (uint32_t b = a + 1; b < robot->link_count; b++)
            if (robot->links[a].group == robot->links[b].group)
                abuti_robot_set_allowed(robot, a, b, true);
        /* the nearest ancestor with geometry; if there is none, the root */
        uint32_t up = robot->links[a].parent;
        while (up != ABUT_NONE && robot->links[up].parent != ABUT_NONE &&
               first_shape(robot, up) == first_shape(robot, up + 1))
            up = robot->links[up].parent;
        if (up != ABUT_NONE)
            abuti_robot_set_allowed(robot, a, up, true);
    }
}

bool abuti_robot_is_first_pair(const abut_robot *robot, const robot_pair *pair) {
    const robot_shape *a = &robot->shapes[pair->a], *b = &robot->shapes[pair->b];
    return (pair->a == 0 || a[-1].owner != a->owner) && b[-1].owner != b->owner;
}

void abuti_robot_list_pairs(abut_robot *robot) {
    robot->pair_count = robot->link_pair_count = 0;
    for (uint32_t a = 0; a < robot->shape_count; a++)
        for (uint32_t b = a + 1; b < robot->shape_count; b++) {
            const uint32_t p = robot->shapes[a].owner, q = robot->shapes[b].owner;
            if (p == q || robot_is_allowed(robot, p, q))
                continue;
            const robot_pair pair = {a, b, common_link(robot, p, q)};
            robot->link_pair_count += abuti_robot_is_first_pair(robot, &pair);
            robot->pairs[robot->pair_count++] = pair;
        }
}

abut_status abut_robot_allow(abut_robot *robot, uint32_t a, uint32_t b, bool allow) {
    if (!robot)
        return abuti_null(__func__, "robot");
    if (a >= robot->link_count || b >= robot->link_count || a == b)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the links are %u and %u; they must be different and less than %u, "
                          "the number of links",
                          __func__, a, b, robot->link_count);
    abuti_robot_set_allowed(robot, a, b, allow);
    abuti_robot_list_pairs(robot);
    return ABUT_OK;
}

bool abut_robot_is_allowed(const abut_robot *robot, uint32_t a, uint32_t b) {
    return !robot || a == b || a >= robot->link_count || b >= robot->link_count ||
           robot_is_allowed(robot, a, b);
}
