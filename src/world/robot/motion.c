/* Motions of robots: the first time at which something touches, or proof that nothing does.
 *
 * Problem: all joints move at once, linearly in time. Points of links move along curves, so samples
 * of time miss thin obstacles.
 *
 * Method: conservative advancement over intervals of time, as Schwarzer, Saha and Latombe (2005,
 * "Adaptive dynamic collision checking") do by bisection. Let h be half the length of an interval,
 * and d_j h the change of joint j from the middle of the interval to an end. The position of a link
 * at another time of the interval is reached from that in the middle by changing one joint after
 * another, from the last one to the first one. While joint j changes, the joints between it and the
 * base are those of the middle, so its axis is that of the middle. A point at distance r from the
 * axis in the middle has been moved by D by the joints behind, so it now moves by at most
 *   2 sin(min(|d_j| h, pi) / 2) (r + D)   for a rotation, and   |d_j| h   for a translation.
 * The sum over the joints bounds the motion of all points within distance r. For two links only
 * the joints up to their last common link count.
 *   1. A pair of shapes that is farther apart in the middle than the sum M of both bounds does not
 *      touch in the interval: bounding spheres, boxes, both BVHs with padded triangles, then the
 *      distance of the meshes prove that.
 *   2. The other pairs are examined in both halves, the earlier one first.
 *   3. If 2 M is at most the tolerance, a pair that remains touches at the start of the interval,
 * as far as the tolerance resolves. Intervals are examined in order of time, so the first one of
 * kind 3 is the result.
 *
 * Guarantee: conservative. No contact is missed and no time is late. At the reported time the
 * distance is at most the tolerance. Containment is tested at the start; later, a shape can only
 * enter another one through its surface. */
#include "robot/robot.h"

#include <math.h>

/* Length of the shortest interval: little longer than the rounding error of the time. */
#define SHORTEST 0x1p-48
/* Relative error of positions of links, per joint: some 60 roundings of 2^-53. */
#define ROUNDING 0x1p-46
/* Meshes are tested only if the motion is at most this fraction of the size of the smaller shape.
 * Longer intervals are halved instead. 0.1 to 0.3 take the same time (bench robot/motion), and no
 * limit four times as long. */
#define EXACT_FRACTION 0.25
#define DEFAULT_TOLERANCE 1e-5 /* of the reach */

/* An interval, and the pairs that may touch in it: a range of motion_search.pairs. */
typedef struct motion_interval {
    double from, to;
    size_t first, count;
} motion_interval;

/* A pair by its place in the list of robot_state.cache. */
typedef size_t motion_pair;

typedef struct motion_batch {
    robot_batch is; /* first */
    const double *from, *to;
    double tolerance;
    abut_robot_motion *motions;
} motion_batch;

typedef struct motion_search {
    const abut_robot *robot;
    const abut_robot_obstacles *obstacles;
    uint32_t obstacle_count;
    robot_state *state;
    const double *from, *to;
    double *now;   /* the configuration in the middle */
    double *bound; /* of the motion of each shape in the world */
    double tolerance, error;
    abuti_vector pairs, intervals;
} motion_search;

static void configuration_at(const motion_search *s, double t) {
    for (uint32_t i = 0; i < s->robot->variable_count; i++)
        s->now[i] = s->from[i] + t * (s->to[i] - s->from[i]);
}

/* Bound of the motion of the points of a shape relative to one of the links that its link descends
 * from, or to the world for ABUT_NONE. */
static double bound_motion(const motion_search *s, uint32_t shape, uint32_t above, double half) {
    const abut_robot *robot = s->robot;
    const vec3 centre = s->state->places[shape].centre;
    double moved = 0;
    for (uint32_t link = robot->shapes[shape].owner;
         link != above && robot->links[link].joint != ABUT_NONE; link = robot->links[link].parent) {
        const robot_joint *joint = &robot->joints[robot->links[link].joint];
        if (joint->variable == ABUT_NONE)
            continue;
        const double change = fabs(joint->multiplier) * half *
                              fabs(s->to[joint->variable] - s->from[joint->variable]);
        if (joint->is.kind == ABUT_ROBOT_PRISMATIC) {
            moved += change;
            continue;
        }
        const mat3 axes = quat_matrix(s->state->links[link].rotation);
        const vec3 axis = m3_apply(&axes, joint->is.axis);
        const vec3 arm = v3_sub(centre, v3_add(m3_apply(&axes, joint->is.anchor),
                                               s->state->links[link].translation));
        const double radius = v3_length(v3_cross(axis, arm)) + robot->shapes[shape].ball;
        /* 2 sin(x / 2) <= x, and at most 2 */
        moved += real_min(change, change < 1   ? change
                                  : change < 3 ? 2 * sin(0.5 * change)
                                               : 2) *
                 (radius + moved);
    }
    return moved * (1 + ROUNDING);
}

/* A pair of shapes in the middle of an interval. */
typedef struct motion_shapes {
    const robot_shape *a, *b;
    const robot_place *at_a, *at_b;
    double bound; /* of their relative motion */
} motion_shapes;

static motion_shapes shapes_of(const motion_search *s, motion_pair pair, double half) {
    const size_t own = (size_t)s->obstacle_count * s->robot->shape_count;
    if (pair < own) {
        const size_t a = pair / s->obstacle_count, b = pair % s->obstacle_count;
        return (motion_shapes){&s->robot->shapes[a], &s->obstacles->shapes[b], &s->state->places[a],
                               &s->obstacles->places[b], s->bound[a]};
    }
    const robot_pair *p = &s->robot->pairs[pair - own];
    return (motion_shapes){&s->robot->shapes[p->a], &s->robot->shapes[p->b],
                           &s->state->places[p->a], &s->state->places[p->b],
                           bound_motion(s, p->a, p->common, half) +
                               bound_motion(s, p->b, p->common, half)};
}

/* The result of an interval. */
typedef enum motion_outcome { MOTION_FREE, MOTION_SPLIT, MOTION_TOUCH } motion_outcome;

/* Whether a pair is free in an interval, or touches as far as the tolerance resolves. */
static abut_status test_pair(motion_search *s, motion_pair pair, double half,
                             motion_outcome *outcome) {
    const motion_shapes p = shapes_of(s, pair, half);
    const double margin = p.bound + s->error;
    const bool is_short = 2 * margin <= s->tolerance || half <= 0.5 * SHORTEST;
    bool within = true;
    unsigned flags = 0;
    *outcome = MOTION_FREE;
    if (abuti_robot_is_apart(p.a, p.at_a, p.b, p.at_b, margin))
        return ABUT_OK;
    if (p.b->bvh && !is_short && margin > EXACT_FRACTION * real_min(p.at_a->ball, p.at_b->ball)) {
        *outcome = MOTION_SPLIT;
        return ABUT_OK;
    }
    if (!abuti_robot_may_touch(p.a, p.at_a, p.b, p.at_b, margin))
        return ABUT_OK;
    abut_status status = abuti_robot_within(p.a, p.at_a, p.b, p.at_b, margin, true,
                                            &s->state->cache[pair], &within, &flags);
    if (!status && within)
        *outcome = is_short ? MOTION_TOUCH : MOTION_SPLIT;
    return status;
}

static abut_status push_interval(motion_search *s, double from, double to, size_t first,
                                 size_t count) {
    motion_interval *at = ABUTI_PUSH(s->robot->context, &s->intervals, motion_interval);
    if (!at)
        return ABUT_ERROR_MEMORY;
    *at = (motion_interval){from, to, first, count};
    return ABUT_OK;
}

/* Examines one interval: sets the pair that touches, or adds both halves with the pairs that
 * remain. */
static abut_status examine(motion_search *s, const motion_interval *at, motion_pair *touch,
                           bool *touches) {
    const double middle = 0.5 * (at->from + at->to), half = 0.5 * (at->to - at->from);
    const size_t end = at->first + at->count;
    s->pairs.count = end; /* what is kept if the array grows */
    abut_status status =
        abuti_vector_reserve(s->robot->context, &s->pairs, end + at->count, sizeof(motion_pair));
    if (status)
        return status;
    configuration_at(s, middle);
    abuti_robot_pose(s->robot, s->now, s->state);
    for (uint32_t i = 0; i < s->robot->shape_count; i++)
        s->bound[i] = bound_motion(s, i, ABUT_NONE, half);
    size_t kept = 0;
    motion_pair *list = s->pairs.data;
    for (size_t i = 0; i < at->count; i++) {
        motion_outcome outcome;
        const motion_pair pair = list[at->first + i];
        if ((status = test_pair(s, pair, half, &outcome)))
            return status;
        if (outcome == MOTION_TOUCH) {
            *touch = pair;
            *touches = true;
            return ABUT_OK;
        }
        if (outcome == MOTION_SPLIT)
            list[end + kept++] = pair;
    }
    if (!kept)
        return ABUT_OK;
    status = push_interval(s, middle, at->to, end, kept);
    return status ? status : push_interval(s, at->from, middle, end, kept);
}

static void set_pair(const motion_search *s, motion_pair pair, abut_robot_motion *motion) {
    const motion_shapes p = shapes_of(s, pair, 0);
    const bool is_self = pair >= (size_t)s->obstacle_count * s->robot->shape_count;
    motion->link = p.a->owner;
    motion->other_link = is_self ? p.b->owner : ABUT_NONE;
    motion->obstacle = is_self ? ABUT_NONE : p.b->owner;
}

static abut_status search(motion_search *s, abut_robot_motion *motion) {
    const size_t all = s->robot->pair_count + (size_t)s->obstacle_count * s->robot->shape_count;
    abut_status status =
        abuti_vector_reserve(s->robot->context, &s->pairs, 2 * all, sizeof(motion_pair));
    if (status || (status = push_interval(s, 0, 1, 0, all)))
        return status;
    for (size_t i = 0; i < all; i++)
        ((motion_pair *)s->pairs.data)[i] = i;
    while (s->intervals.count && !motion->touches) {
        const motion_interval at = ABUTI_AT(&s->intervals, motion_interval, --s->intervals.count);
        motion_pair touch;
        status = examine(s, &at, &touch, &motion->touches);
        if (!status)
            status = abuti_stop_status("robot");
        if (status)
            return status;
        motion->steps++;
        if (motion->touches) {
            motion->time = at.from;
            set_pair(s, touch, motion);
        }
    }
    return ABUT_OK;
}

static abut_status sweep_one(robot_batch *batch, robot_state *state, size_t index,
                             unsigned *flags) {
    const motion_batch *own = (const motion_batch *)batch;
    const abut_robot *robot = batch->robot;
    motion_search s = {.robot = robot,
                       .obstacles = batch->obstacles,
                       .obstacle_count = batch->obstacles ? batch->obstacles->count : 0,
                       .state = state,
                       .from = own->from + index * robot->variable_count,
                       .to = own->to + index * robot->variable_count};
    abut_status status = ABUTI_ALLOCATE(robot->context, ABUTI_ARRAY(s.now, robot->variable_count),
                                        ABUTI_ARRAY(s.bound, robot->shape_count));
    if (status)
        return status;
    abut_robot_motion motion = {.time = 1,
                                .link = ABUT_NONE,
                                .other_link = ABUT_NONE,
                                .obstacle = ABUT_NONE};
    double largest = robot->reach + v3_max_abs(robot->base.translation);
    for (uint32_t i = 0; i < robot->variable_count; i++)
        if (robot->joints[robot->variables[i]].is.kind == ABUT_ROBOT_PRISMATIC)
            largest += real_max(fabs(s.from[i]), fabs(s.to[i]));
    for (uint32_t i = 0; i < s.obstacle_count; i++)
        largest = real_max(largest, v3_max_abs(batch->obstacles->places[i].centre));
    s.error = ROUNDING * (1 + robot->joint_count) * largest;
    s.tolerance = own->tolerance > 0 ? own->tolerance : DEFAULT_TOLERANCE * robot->reach;
    s.tolerance = real_max(s.tolerance, 4 * s.error);
    abut_robot_hit hit;
    abuti_robot_pose(robot, s.from, state);
    status = abuti_robot_find_hit(robot, batch->obstacles, state, &hit, flags);
    if (!status && hit.collides) {
        motion = (abut_robot_motion){true, 0, hit.link, hit.other_link, hit.obstacle, 0};
    } else if (!status)
        status = search(&s, &motion);
    if (!status)
        own->motions[index] = motion;
    ABUTI_RELEASE(robot->context, s.now, s.bound, s.pairs.data, s.intervals.data);
    return status;
}

abut_status abut_robot_sweep(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                             const double *from, const double *to, size_t count,
                             const abut_robot_sweep_options *options, abut_robot_motion *motions,
                             abut_reliability *reliability) {
    abut_robot_sweep_options ours = abut_robot_sweep_options_default();
    if (!robot || (!motions && count))
        return abuti_null(__func__, robot ? "motions" : "robot");
    abut_status status;
    if ((status = abuti_options_read(&ours, sizeof ours, options, __func__)) ||
        (status = abuti_check_length(__func__, "options->tolerance", ours.tolerance)) ||
        (status = abuti_robot_check_configurations(__func__, "from", robot, from, count)) ||
        (status = abuti_robot_check_configurations(__func__, "to", robot, to, count)))
        return status;
    motion_batch batch = {
        {.robot = robot, .obstacles = obstacles, .count = count, .run = sweep_one},
        from,
        to,
        ours.tolerance,
        motions};
    return abuti_robot_run_batch(&batch.is, reliability);
}
