/* Contact patches of two posed meshes: helpers for tests of abut_contact_find(). */
#ifndef ABUT_TESTS_CONTACT_MESH_PATCHES_H
#define ABUT_TESTS_CONTACT_MESH_PATCHES_H

#include "contact/patches.h"

static inline abut_bvh *box_of(double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(x, y, z);
    shape.segments = segments;
    return tree_of(NULL, &shape);
}

static inline abut_bvh *ball_of(double radius, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = radius;
    shape.segments = segments;
    return tree_of(NULL, &shape);
}

static inline abut_patches find_patches(const abut_bvh *a, abut_pose pose_a, const abut_bvh *b,
                                        abut_pose pose_b, double margin) {
    abut_collider posed[2] = {abut_collider_from_bvh(a, pose_a), abut_collider_from_bvh(b, pose_b)};
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_find(&posed[0], &posed[1], &options, &found));
    return found;
}

#endif
