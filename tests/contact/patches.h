/* Helpers for tests of exact contacts: buffers for results, and checks of guarantees. */
#ifndef ABUT_TESTS_CONTACT_PATCHES_H
#define ABUT_TESTS_CONTACT_PATCHES_H

#include "support/pose.h"

#include <math.h>

enum { ROOM = 4096 };
static abut_patch list[ROOM];
static abut_contact contacts[ROOM];

static inline abut_patches room(void) {
    return (abut_patches){.size = sizeof(abut_patches),
                          .patches.list = list,
                          .patches.capacity = ROOM,
                          .contacts.list = contacts,
                          .contacts.capacity = ROOM};
}

static inline void assert_close(double value, double wanted, double tolerance) {
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, wanted, tolerance);
}

static inline void assert_way(abut_vec3 way, abut_vec3 wanted, double tolerance) {
    if (!(v3_length(v3_sub(way, wanted)) <= tolerance))
        fail_msg("(%g, %g, %g) is not (%g, %g, %g)", way.x, way.y, way.z, wanted.x, wanted.y,
                 wanted.z);
}

static inline abut_pose shifted(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

/* The extent of contacts along an axis. */
static inline double spread(const abut_patches *found, int axis) {
    double lo = INFINITY, hi = -INFINITY;
    for (uint64_t i = 0; i < found->contacts.count; i++) {
        double x = v3_get(contacts[i].point, axis);
        lo = real_min(lo, x);
        hi = real_max(hi, x);
    }
    return hi - lo;
}

static inline abut_bvh *tree_of(abut_context *context, const abut_shape *shape) {
    abut_mesh *mesh;
    abut_bvh *bvh;
    assert_ok(abut_shape_create(context, shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

#endif
