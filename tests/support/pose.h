/* Poses for tests. */
#ifndef ABUT_TEST_POSE_H
#define ABUT_TEST_POSE_H

#include "base/math_shared.h"
#include "support/support.h"

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
