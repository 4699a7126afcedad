/* The value that a field must have at a point. */
#ifndef ABUT_TEST_FIELD_EXPECTED_VALUE_H
#define ABUT_TEST_FIELD_EXPECTED_VALUE_H

#include "sign/sign.h"

/* From what the search gives: around a surface with a border its sign is that of strips where the
 * search's own may be wrong. */
static inline double wanted_distance(const abut_bvh *bvh, abut_vec3 point, double distance) {
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    double winding;
    if (sign->closed || sign->method == ABUT_SIGN_NORMAL || distance == 0)
        return distance;
    assert_ok(abuti_sign_boundary(bvh));
    assert_ok(abut_sign_winding(bvh, point, &winding));
    distance = fabs(distance);
    return abuti_sign_open_inside(bvh, winding, point, distance) ? -distance : distance;
}

#endif
