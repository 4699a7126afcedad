/* Poses inside the library: the one check that all doors share, and posed positions, which are
 * rounded the same everywhere. */
#ifndef ABUTI_POSE_H
#define ABUTI_POSE_H

#include "base/math_shared.h"

#include <abut/geom.h>
#include <math.h>

/* Refuses a pose that is not finite or moves by more than ABUT_COORDINATE_MAX; a rotation of any
 * length is fine (see abut_pose). `what` names the pose in the sentence: "the pose of a". */
abut_status abuti_pose_check(const char *function, const char *what, const abut_pose *pose);

/* A pose, ready to move many points: every posed position in the library is rounded as here. */
typedef struct abuti_motion {
    bool rotates; /* without, positions are shifted only, with fewer roundings */
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

/* A path, ready to be asked for many times. */
typedef struct abuti_path {
    quat from;       /* unit */
    vec3 axis;       /* of the rotation, in the world */
    double angle;    /* all of it, from 0 to pi */
    vec3 start, way; /* of the origin */
} abuti_path;

abuti_path abuti_path_of(const abut_path *path);

static inline abut_pose abuti_path_pose(const abuti_path *p, double t) {
    double half = 0.5 * t * p->angle, sine = sin(half);
    quat turn = {sine * p->axis.x, sine * p->axis.y, sine * p->axis.z, cos(half)};
    return (abut_pose){p->angle > 0 ? quat_multiply(turn, p->from) : p->from,
                       v3_along(p->start, t, p->way)};
}

#endif
