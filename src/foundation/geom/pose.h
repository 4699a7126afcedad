/* Poses inside the library: the common validation, and posed positions, which all modules round in
 * the same way. */
#ifndef ABUTI_POSE_H
#define ABUTI_POSE_H

#include "base/base.h"
#include "base/math_shared.h"

#include <abut/geom.h>
#include <math.h>

/* Fails if a pose is not finite or translates by more than ABUT_COORDINATE_MAX. A rotation of any
 * length is valid (see abut_pose). `what` names the pose in the message: "the pose of a". */
ABUTI_API abut_status abuti_pose_check(const char *function, const char *what,
                                       const abut_pose *pose);

/* Fails if a number of a shape is not finite or exceeds ABUT_COORDINATE_MAX in magnitude. */
abut_status abuti_check_numbers(const char *function, const char *what, const double *numbers,
                                size_t count);

/* Whether a position is finite and within the range of coordinates. */
static inline bool abuti_is_position(vec3 p) {
    return fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
           fabs(p.z) <= ABUT_COORDINATE_MAX;
}

/* A pose prepared for many points: every posed position in the library is rounded as here. */
typedef struct abuti_motion {
    bool rotates; /* false: positions are only translated, with fewer roundings */
    mat3 rotation;
    vec3 translation;
} abuti_motion;

static inline abuti_motion abuti_motion_of(const abut_pose *p) {
    abuti_motion motion = {.rotates =
                               p->rotation.x != 0 || p->rotation.y != 0 || p->rotation.z != 0,
                           .rotation = quat_matrix(p->rotation),
                           .translation = p->translation};
    return motion;
}
static inline vec3 abuti_motion_apply(const abuti_motion *motion, vec3 p) {
    return v3_add(motion->rotates ? m3_apply(&motion->rotation, p) : p, motion->translation);
}

/* A motion from one pose to another, see abut_pose_interpolate(). */
typedef struct abuti_step {
    abut_pose from, to;
} abuti_step;

/* The same, prepared for many evaluations. */
typedef struct abuti_path {
    quat from;         /* unit quaternion */
    vec3 axis;         /* of the rotation, in world coordinates */
    double angle;      /* total angle, from 0 to pi */
    vec3 start, shift; /* translation at the start, and its change over the path */
} abuti_path;

abuti_path abuti_path_of(const abuti_step *step);

static inline abut_pose abuti_path_pose(const abuti_path *p, double t) {
    double half = 0.5 * t * p->angle, sine = sin(half);
    quat turn = {sine * p->axis.x, sine * p->axis.y, sine * p->axis.z, cos(half)};
    return (abut_pose){p->angle > 0 ? quat_multiply(turn, p->from) : p->from,
                       v3_along(p->start, t, p->shift)};
}

#endif
