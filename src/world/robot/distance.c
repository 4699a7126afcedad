/* The closest pair of a configuration, and how its distance changes with the joints.
 *
 * Method: pairs of shapes in the order of the lower bounds of their distances, from bounding
 * spheres and boxes, until the bound exceeds the shortest distance found.
 *
 * Gradient: let n be the unit vector from the point of the second shape to that of the first one.
 * The distance changes by n . (v_a - v_b), where v are the velocities of the points as parts of
 * their links. This is the derivative wherever the closest points are unique. */
#include "robot/robot.h"

#include "base/sort.h"

#include <math.h>

typedef struct distance_candidate {
    double bound;
    uint32_t a, b; /* shapes; b may be an obstacle */
    size_t cache;
    bool is_self;
} distance_candidate;

typedef struct distance_batch {
    robot_batch is; /* first */
    const double *configurations;
    double limit;
    abut_robot_separation *separations;
    double *gradients; /* or null */
} distance_batch;

static bool candidate_after(const void *one, const void *other) {
    const distance_candidate *p = one, *q = other;
    return p->bound != q->bound ? p->bound > q->bound : p->cache > q->cache;
}

/* ---- one pair ---- */

static void measure_plane(const robot_shape *a, const robot_place *at_a, const robot_shape *plane,
                          const robot_place *plane_at, abut_robot_separation *s) {
    const double height = abuti_robot_plane_height(a, at_a, plane, plane_at, &s->point_a);
    s->distance = real_max(height, 0);
    s->point_b = v3_along(s->point_a, -s->distance, plane_at->axes.row[0]);
}

/* Computes the distance and the closest points of two shapes, unless the distance exceeds `limit`:
 * then the separation is unchanged. */
static abut_status measure_pair(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                                const robot_place *at_b, double limit, abut_pair_cache *cache,
                                abut_robot_separation *s) {
    const abuti_posed posed_a = {a->bvh, at_a->pose}, posed_b = {b->bvh, at_b->pose};
    abut_separation core;
    bool is_near;
    if (!b->bvh) {
        measure_plane(a, at_a, b, at_b, s);
        return ABUT_OK;
    }
    abut_status status =
        abuti_pair_distance_below(&posed_a, &posed_b, limit + a->radius + b->radius, false, cache,
                                  &is_near, &core);
    if (status || !is_near)
        return status;
    const vec3 n = v3_normalise(v3_sub(core.point_a, core.point_b));
    s->distance = real_max(core.distance - a->radius - b->radius, 0);
    s->point_a = v3_along(core.point_a, -a->radius, n);
    s->point_b = v3_along(core.point_b, b->radius, n);
    s->reliability = core.reliability;
    return ABUT_OK;
}

/* ---- all pairs ---- */

static size_t list_candidates(const distance_batch *batch, const robot_state *state,
                              distance_candidate *list) {
    const abut_robot *robot = batch->is.robot;
    const abut_robot_obstacles *obstacles = batch->is.obstacles;
    const uint32_t count = obstacles ? obstacles->count : 0;
    size_t used = 0;
    for (uint32_t a = 0; a < robot->shape_count; a++)
        for (uint32_t b = 0; b < count; b++)
            list[used++] =
                (distance_candidate){abuti_robot_lower_bound(&robot->shapes[a], &state->places[a],
                                                             &obstacles->shapes[b],
                                                             &obstacles->places[b]),
                                     a, b, (size_t)count * a + b, false};
    for (size_t i = 0; i < robot->pair_count; i++) {
        const robot_pair *pair = &robot->pairs[i];
        list[used++] = (distance_candidate){
            abuti_robot_lower_bound(&robot->shapes[pair->a], &state->places[pair->a],
                                    &robot->shapes[pair->b], &state->places[pair->b]),
            pair->a, pair->b, (size_t)count * robot->shape_count + i, true};
    }
    abuti_sort_items(list, used, sizeof *list, candidate_after);
    return used;
}

static abut_status find_closest(const distance_batch *batch, robot_state *state,
                                const distance_candidate *list, size_t count,
                                abut_robot_separation *best) {
    const abut_robot *robot = batch->is.robot;
    *best = (abut_robot_separation){.distance = batch->limit,
                                    .link = ABUT_NONE,
                                    .other_link = ABUT_NONE,
                                    .obstacle = ABUT_NONE,
                                    .reliability = abuti_pair_reliability_of(0)};
    for (size_t i = 0; i < count && list[i].bound <= best->distance && best->distance > 0; i++) {
        const distance_candidate *c = &list[i];
        const robot_shape *a = &robot->shapes[c->a],
                          *b = (c->is_self ? robot->shapes : batch->is.obstacles->shapes) + c->b;
        const robot_place *at_a = &state->places[c->a],
                          *at_b = (c->is_self ? state->places : batch->is.obstacles->places) + c->b;
        abut_robot_separation found = {.distance = INFINITY,
                                       .reliability = abuti_pair_reliability_of(0)};
        if (best->distance < INFINITY && abuti_robot_is_apart(a, at_a, b, at_b, best->distance))
            continue;
        abut_status status =
            measure_pair(a, at_a, b, at_b, best->distance, &state->cache[c->cache], &found);
        if (status)
            return status;
        if (found.distance >= best->distance)
            continue;
        found.link = a->owner;
        found.other_link = c->is_self ? b->owner : ABUT_NONE;
        found.obstacle = c->is_self ? ABUT_NONE : b->owner;
        *best = found;
    }
    return ABUT_OK;
}

/* Adds the derivative of n . point, a point of a link, for each variable. */
static void add_gradient(const abut_robot *robot, const robot_state *state, uint32_t link,
                         vec3 point, vec3 n, double *gradient) {
    for (; robot->links[link].joint != ABUT_NONE; link = robot->links[link].parent) {
        const robot_joint *joint = &robot->joints[robot->links[link].joint];
        if (joint->variable == ABUT_NONE)
            continue;
        const mat3 axes = quat_matrix(state->links[link].rotation);
        const vec3 axis = m3_apply(&axes, joint->is.axis);
        vec3 velocity = axis;
        if (joint->is.kind != ABUT_ROBOT_PRISMATIC) {
            const vec3 anchor =
                v3_add(m3_apply(&axes, joint->is.anchor), state->links[link].translation);
            velocity = v3_cross(axis, v3_sub(point, anchor));
        }
        gradient[joint->variable] += joint->multiplier * v3_dot(n, velocity);
    }
}

static abut_status measure_one(robot_batch *batch, robot_state *state, size_t index,
                               unsigned *flags) {
    const distance_batch *own = (const distance_batch *)batch;
    const abut_robot *robot = batch->robot;
    const size_t pairs = robot->pair_count + (size_t)robot->shape_count *
                                                 (batch->obstacles ? batch->obstacles->count : 0);
    (void)flags;
    distance_candidate *list = abuti_allocate(robot->context, pairs, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    abut_robot_separation found;
    abuti_robot_pose(robot, own->configurations + index * robot->variable_count, state);
    const size_t count = list_candidates(own, state, list);
    abut_status status = find_closest(own, state, list, count, &found);
    abuti_release(robot->context, list);
    if (status)
        return status;
    own->separations[index] = found;
    if (!own->gradients)
        return ABUT_OK;
    double *gradient = own->gradients + index * robot->variable_count;
    for (uint32_t i = 0; i < robot->variable_count; i++)
        gradient[i] = 0;
    if (found.link == ABUT_NONE || found.distance == 0)
        return ABUT_OK;
    const vec3 n = v3_normalise(v3_sub(found.point_a, found.point_b));
    add_gradient(robot, state, found.link, found.point_a, n, gradient);
    if (found.other_link != ABUT_NONE)
        add_gradient(robot, state, found.other_link, found.point_b, v3_scale(n, -1), gradient);
    return ABUT_OK;
}

abut_status abut_robot_distance(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                                const double *configurations, size_t count, double limit,
                                abut_robot_separation *separations, double *gradients) {
    if (!robot || (!separations && count))
        return abuti_null(__func__, robot ? "separations" : "robot");
    if (!(limit >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: limit is %g; it must be 0 (no limit) or a positive length", __func__,
                          limit);
    abut_status status =
        abuti_robot_check_configurations(__func__, "configurations", robot, configurations, count);
    distance_batch batch = {
        {.robot = robot, .obstacles = obstacles, .count = count, .run = measure_one},
        configurations,
        limit > 0 ? limit : INFINITY,
        separations,
        gradients};
    return status ? status : abuti_robot_run_batch(&batch.is, NULL);
}
