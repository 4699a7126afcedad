/* Poses for tests. */
#ifndef ABUT_TEST_POSE_H
#define ABUT_TEST_POSE_H

#include "base/math_shared.h"
#include "support/support.h"

/* A motion from one pose to another, see abut_pose_interpolate(). */
typedef struct test_motion_path {
    abut_pose from, to;
} test_motion_path;

/* Sweeps two meshes along paths. */
static inline abut_status test_sweep_rigid(const abut_bvh *a, const test_motion_path *path_a,
                                           const abut_bvh *b, const test_motion_path *path_b,
                                           const abut_sweep_rigid_options *options,
                                           abut_sweep_rigid_result *result) {
    const abut_collider p = abut_collider_from_bvh(a, path_a->from),
                        q = abut_collider_from_bvh(b, path_b->from);
    return abut_sweep_rigid(&p, &path_a->to, &q, &path_b->to, options, result);
}

/* Turned any way, moved by up to `reach` along each axis. */
static inline abut_pose random_pose(test_random *random, double reach) {
    abut_pose p;
    double *q = &p.rotation.x;
    for (int i = 0; i < 4; i++)
        q[i] = test_random_real(random, -1, 1);
    p.rotation = quat_normalise(p.rotation);
    p.translation =
        v3(test_random_real(random, -reach, reach), test_random_real(random, -reach, reach),
           test_random_real(random, -reach, reach));
    return p;
}

#endif
