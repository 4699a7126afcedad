/* Helpers for tests of primitives: some of each kind, and an independent implementation of their
 * support functions. */
#ifndef ABUT_TESTS_CONTACT_SOLIDS_H
#define ABUT_TESTS_CONTACT_SOLIDS_H

#include "contact/patches.h"

static abut_bvh
    *hulls[4]; /* octahedron, a ball, a prism of 12 sides, a cube of 3 x 3 quads a side */

static inline abut_bvh *tree_of_mesh(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static inline void make_hulls(void) {
    if (hulls[0])
        return;
    double octahedron[] = {1, 0, 0, -1, 0, 0, 0, .8, 0, 0, -.8, 0, 0, 0, .6, 0, 0, -.6};
    uint32_t faces[] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    hulls[0] = tree_of_mesh(test_mesh(NULL, octahedron, 6, faces, 8));
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = .7;
    shape.segments = 2;
    hulls[1] = tree_of(NULL, &shape);
    shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    shape.radius = .5;
    shape.height = 1.2;
    shape.segments = 12;
    hulls[2] = tree_of(NULL, &shape);
    shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(.9, .7, 1.1);
    shape.segments = 3;
    hulls[3] = tree_of(NULL, &shape);
}

static inline abut_collider box_solid(double x, double y, double z, abut_pose at) {
    return (abut_collider){.kind = ABUT_COLLIDER_BOX, .pose = at, .shape.half = {x, y, z}};
}

static inline abut_collider ball_solid(double radius, abut_pose at) {
    return (abut_collider){.kind = ABUT_COLLIDER_SPHERE,
                           .pose = at,
                           .shape.sphere = {{0, 0, 0}, radius}};
}

static inline abut_collider floor_solid(void) {
    return (abut_collider){.kind = ABUT_COLLIDER_PLANE, .shape.plane = {{0, 0, 2}, 0}};
}

/* Of length 2 in x. */
static inline abut_collider capsule_solid(double radius, abut_pose at) {
    return (abut_collider){.kind = ABUT_COLLIDER_CAPSULE,
                           .pose = at,
                           .shape.capsule = {{{-1, 0, 0}, {1, 0, 0}}, radius}};
}

/* Of height 2 in z. */
static inline abut_collider cylinder_solid(double radius, abut_pose at) {
    return (abut_collider){.kind = ABUT_COLLIDER_CYLINDER,
                           .pose = at,
                           .shape.cylinder = {{{0, 0, -1}, {0, 0, 1}}, radius}};
}

static inline abut_patches find_solid_patches(const abut_collider *a, const abut_collider *b,
                                              double margin) {
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_find(a, b, &options, &found));
    assert_true(found.patches.count <= 1 && found.is_verified);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_GUARANTEED);
    return found;
}

static inline abut_collider random_solid(test_random *random, abut_collider_kind kind) {
    abut_collider s = {.kind = kind};
    if (test_random_below(random, 4)) {
        s.pose = random_pose(random, 1.2);
    } else { /* a multiple of a right angle, on a grid */
        const double half = sqrt(.5);
        s.pose = shifted(.25 * test_random_below(random, 8), .25 * test_random_below(random, 8),
                         .25 * test_random_below(random, 8));
        double *q = &s.pose.rotation.x;
        q[test_random_below(random, 4)] += test_random_below(random, 2) ? half : 1;
    }
    double sizes[3];
    for (int k = 0; k < 3; k++)
        sizes[k] = test_random_below(random, 3) ? test_random_real(random, .05, 1) : .5;
    switch (kind) {
    case ABUT_COLLIDER_PLANE:
        s.shape.plane.normal = v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                                  test_random_real(random, .1, 1));
        s.shape.plane.offset = test_random_real(random, -1, 1);
        break;
    case ABUT_COLLIDER_SPHERE:
        s.shape.sphere = (abut_sphere){v3(.1, .2, -.3), sizes[0]};
        break;
    case ABUT_COLLIDER_CAPSULE:
        s.shape.capsule =
            (abut_capsule){{v3(-sizes[0], 0, .1), v3(sizes[1], 0, .1)}, .5 * sizes[2]};
        break;
    case ABUT_COLLIDER_BOX:
        s.shape.half = v3(sizes[0], sizes[1], sizes[2]);
        break;
    case ABUT_COLLIDER_CYLINDER:
        s.shape.cylinder = (abut_cylinder){{v3(0, -sizes[0], .1), v3(0, sizes[1], .1)}, sizes[2]};
        break;
    default:
        s.shape.hull = hulls[test_random_below(random, 4)];
    }
    return s;
}

/* The furthest of a solid along a unit direction of the world. */
static inline double reach_of(const abut_collider *s, vec3 d) {
    mat3 turn = quat_matrix(s->pose.rotation), back = m3_transpose(&turn);
    vec3 own = m3_apply(&back, d);
    double at = v3_dot(s->pose.translation, d);
    const abut_vec3 *end = s->shape.capsule.end;
    switch (s->kind) {
    case ABUT_COLLIDER_PLANE: {
        double length = v3_length(s->shape.plane.normal);
        return v3_dot(own, s->shape.plane.normal) > (1 - 1e-14) * length
                   ? at + s->shape.plane.offset / length
                   : INFINITY;
    }
    case ABUT_COLLIDER_SPHERE:
        return at + v3_dot(own, s->shape.sphere.centre) + s->shape.sphere.radius;
    case ABUT_COLLIDER_CAPSULE:
        return at + real_max(v3_dot(own, end[0]), v3_dot(own, end[1])) + s->shape.capsule.radius;
    case ABUT_COLLIDER_BOX:
        return at + fabs(own.x) * s->shape.half.x + fabs(own.y) * s->shape.half.y +
               fabs(own.z) * s->shape.half.z;
    case ABUT_COLLIDER_CYLINDER: {
        vec3 axis = v3_normalise(v3_sub(end[1], end[0]));
        return at + real_max(v3_dot(own, end[0]), v3_dot(own, end[1])) +
               s->shape.cylinder.radius * v3_length(v3_cross(axis, own));
    }
    default: {
        const abut_mesh *mesh = abut_bvh_mesh(s->shape.hull);
        const abut_vec3 *positions = abut_mesh_local_positions(mesh);
        double most = -INFINITY;
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            most = real_max(most, v3_dot(own, v3_add(positions[i], abut_mesh_local_origin(mesh))));
        return at + most;
    }
    }
}

#endif
