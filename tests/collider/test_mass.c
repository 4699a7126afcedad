/* Mass properties of shapes against sums over a grid of points, and against their meshes. */
#include "support/pose.h"
#include "support/support.h"

#include <abut/abut.h>
#include <math.h>

static abut_collider_mass mass_of(const abut_collider *collider) {
    abut_collider_mass mass = abut_collider_mass_default();
    assert_ok(abut_collider_get_mass(collider, &mass));
    return mass;
}

static bool is_inside(const abut_collider *c, abut_vec3 p) {
    if (c->kind == ABUT_COLLIDER_BOX)
        return fabs(p.x) <= c->shape.half.x && fabs(p.y) <= c->shape.half.y &&
               fabs(p.z) <= c->shape.half.z;
    if (c->kind == ABUT_COLLIDER_SPHERE)
        return v3_length(v3_sub(p, c->shape.sphere.centre)) <= c->shape.sphere.radius;
    /* A capsule and a cylinder have the same members. */
    const abut_vec3 *end = c->shape.capsule.end, along = v3_sub(end[1], end[0]);
    const double at = v3_dot(v3_sub(p, end[0]), along) / v3_dot(along, along);
    if (c->kind == ABUT_COLLIDER_CYLINDER && (at < 0 || at > 1))
        return false;
    const abut_vec3 nearest = v3_along(end[0], at < 0 ? 0 : at > 1 ? 1 : at, along);
    return v3_length(v3_sub(p, nearest)) <= c->shape.capsule.radius;
}

/* Sums over the points of a grid within a box of `size` around the shape. */
static void check_by_points(const abut_collider *collider, double size) {
    enum { SIDE = 64 };
    const abut_collider_mass mass = mass_of(collider);
    const double cell = 2 * size / SIDE, element = cell * cell * cell;
    double volume = 0, inertia[6] = {0, 0, 0, 0, 0, 0};
    abut_vec3 sum = {0, 0, 0};
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        const abut_vec3 p = {cell * (i % SIDE + 0.5) - size, cell * (i / SIDE % SIDE + 0.5) - size,
                             cell * (i / SIDE / SIDE + 0.5) - size};
        if (!is_inside(collider, p))
            continue;
        const abut_vec3 r = v3_sub(p, mass.centroid);
        const double sq = v3_dot(r, r);
        const double terms[6] = {sq - r.x * r.x, sq - r.y * r.y, sq - r.z * r.z,
                                 -r.x * r.y,     -r.y * r.z,     -r.z * r.x};
        volume += element;
        sum = v3_along(sum, element, p);
        for (int k = 0; k < 6; k++)
            inertia[k] += element * terms[k];
    }
    assert_true(fabs(volume - mass.volume) < 0.02 * volume);
    assert_true(v3_length(v3_sub(v3_scale(sum, 1 / volume), mass.centroid)) < 0.005 * size);
    const double largest = inertia[0] + inertia[1] + inertia[2];
    for (int k = 0; k < 6; k++)
        if (!(fabs(inertia[k] - mass.inertia[k]) < 0.015 * largest))
            fail_msg("%s, inertia %d: %g, not %g", abut_collider_kind_name(collider->kind), k,
                     mass.inertia[k], inertia[k]);
}

TEST(masses_are_those_of_points) {
    const abut_pose here = abut_pose_identity();
    const abut_vec3 ends[2] = {{0.2, -0.3, 0.5}, {-0.5, 0.4, -0.1}};
    const abut_collider colliders[] = {
        abut_collider_from_sphere((abut_sphere){{0.1, -0.2, 0.15}, 0.7}, here),
        abut_collider_from_box((abut_vec3){0.3125, 0.5, 0.8125}, here),
        abut_collider_from_capsule((abut_capsule){{ends[0], ends[1]}, 0.35}, here),
        abut_collider_from_capsule((abut_capsule){{{0, 0, -0.1}, {0, 0, 0.1}}, 0.6}, here),
        abut_collider_from_cylinder((abut_cylinder){{ends[0], ends[1]}, 0.45}, here),
        abut_collider_from_cylinder((abut_cylinder){{{0.1, -0.28125, 0}, {0.1, 0.28125, 0}}, 0.8},
                                    here)};
    for (size_t i = 0; i < sizeof colliders / sizeof *colliders; i++)
        check_by_points(&colliders[i], 1);
    /* A capsule without length is a sphere, and a sphere without radius is a point. */
    abut_collider dot = abut_collider_from_sphere((abut_sphere){{1, 2, 3}, 0.5}, here);
    const abut_collider_mass sphere = mass_of(&dot);
    dot = abut_collider_from_capsule((abut_capsule){{{1, 2, 3}, {1, 2, 3}}, 0.5}, here);
    const abut_collider_mass capsule = mass_of(&dot);
    assert_true(fabs(sphere.volume - capsule.volume) < 1e-15);
    for (int k = 0; k < 6; k++)
        assert_true(fabs(sphere.inertia[k] - capsule.inertia[k]) < 1e-15);
    assert_memory_equal(&sphere.centroid, &capsule.centroid, sizeof sphere.centroid);
    dot = abut_collider_from_sphere((abut_sphere){{1, 2, 3}, 0}, here);
    assert_true(mass_of(&dot).volume == 0 && mass_of(&dot).inertia[0] == 0);
}

/* A box as a mesh, a hull and a body has the mass of the primitive; poses are not applied. */
TEST(masses_of_meshes) {
    test_random random = {91};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    const abut_pose there = random_pose(&random, 2);
    shape.extent = (abut_vec3){1, 2, 3};
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_collider box = abut_collider_from_box((abut_vec3){0.5, 1, 1.5}, there),
                        same[3] = {abut_collider_from_mesh(mesh, there),
                                   abut_collider_from_hull(bvh, there),
                                   abut_collider_from_bvh(bvh, abut_pose_identity())};
    const abut_collider_mass expected = mass_of(&box);
    assert_true(fabs(expected.volume - 6) < 1e-14 && fabs(expected.inertia[0] - 6.5) < 1e-14);
    for (int i = 0; i < 3; i++) {
        const abut_collider_mass mass = mass_of(&same[i]);
        assert_true(fabs(mass.volume - expected.volume) < 1e-13);
        assert_true(v3_length(mass.centroid) < 1e-14);
        for (int k = 0; k < 6; k++)
            assert_true(fabs(mass.inertia[k] - expected.inertia[k]) < 1e-13);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(wrong_calls_are_refused) {
    const abut_pose here = abut_pose_identity();
    abut_collider_mass mass = abut_collider_mass_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *sheet = NULL;
    mass.volume = 77;
    assert_ok(abut_shape_create(NULL, &shape, &sheet));
    const struct {
        abut_collider collider;
        const char *why;
    } rows[] = {{abut_collider_from_plane((abut_plane){{0, 0, 1}, 0}, here), "plane"},
                {abut_collider_make(ABUT_COLLIDER_CHARACTER, here), "character"},
                {abut_collider_from_field(NULL, NULL, here), "bvh"},
                {abut_collider_from_mesh(NULL, here), "null"},
                {abut_collider_from_mesh(sheet, here), "not a closed surface"},
                {abut_collider_from_sphere((abut_sphere){{0, 0, 0}, -1}, here), "radius"},
                {abut_collider_make((abut_collider_kind)99, here), "99"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(rows[i].why, abut_collider_get_mass(&rows[i].collider, &mass));
    assert_refused("collider is null", abut_collider_get_mass(NULL, &mass));
    assert_refused("mass is null", abut_collider_get_mass(&rows[0].collider, NULL));
    assert_true(mass.volume == 77);
    abut_mesh_destroy(sheet);
}

static abut_status measure_box(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_collider_mass mass = abut_collider_mass_default();
    abut_mesh *mesh = NULL;
    (void)data;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    const abut_collider collider = abut_collider_from_mesh(mesh, abut_pose_identity());
    status = status ? status : abut_collider_get_mass(&collider, &mass);
    assert_true((mass.volume > 0) == !status);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(measure_box, NULL) > 3);
}
