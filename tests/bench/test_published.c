/* What Friston and Steed (2019) published beside what the library computes: samples by planes, and
 * paths that are tested at a few points. */
#include "published.h"
#include "radial/body.h"

/* The largest difference of published samples from those of the library, relative to the radius. */
static double compare_samples(abut_mesh *mesh, abut_radial *radial,
                              const abut_character_matrix *bone, uint32_t *empty) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *positions = malloc(count * sizeof *positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = matrix_move(bone, body_position(mesh, i));
    body_pose(radial, mesh, bone);
    const abut_radial_view v = get_radial_field(radial, 0);
    double *radii = malloc((size_t)v.around * v.along * sizeof *radii), most = 0;
    friston_samples(&v, positions, abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh), radii);
    *empty = 0;
    for (uint32_t i = 0; i < v.around * v.along; i++) {
        *empty += radii[i] == HUGE_VAL;
        if (radii[i] < HUGE_VAL)
            most = fmax(most, fabs(radii[i] / (double)v.radii[i] - 1));
    }
    free(radii);
    free(positions);
    return most;
}

/* A sphere of small triangles: both agree, wherever the seam is. */
TEST(samples_are_near_those_of_the_library) {
    AUTO(mesh) mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 64);
    const double r = abut_mesh_bounds(mesh).hi.z;
    AUTO(radial) radial = body_field(mesh, -0.8 * r, 0.8 * r, 37, 33);
    for (int k = 0; k < 8; k++) {
        abut_character_matrix bone = matrix_none();
        uint32_t empty;
        bone.m[0][0] = bone.m[1][1] = cos(0.9 * k);
        bone.m[0][1] = -(bone.m[1][0] = sin(0.9 * k));
        assert_true(compare_samples(mesh, radial, &bone, &empty) < 2e-3);
        assert_int_equal(empty, 0);
    }
}

/* Edges of large triangles are not straight in angle and height. At the corner of a box, where two
 * sides join, the published radius is too large by a factor of sqrt(2). */
TEST(samples_of_large_triangles_are_off) {
    AUTO(mesh) mesh = body_mesh(NULL, ABUT_SHAPE_BOX, 1);
    AUTO(radial) radial = body_field(mesh, -0.45, 0.45, 24, 10);
    const abut_character_matrix none = matrix_none();
    uint32_t empty;
    const double most = compare_samples(mesh, radial, &none, &empty);
    assert_true(fabs(most - (sqrt(2) - 1)) < 1e-6);
    assert_int_equal(empty, 0);
}

/* A particle that moves by twenty times the width of a body: eight points miss it, the library does
 * not. */
TEST(steps_miss_what_is_thin) {
    AUTO(mesh) mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 32);
    const double r = abut_mesh_bounds(mesh).hi.z;
    AUTO(radial) radial = body_field(mesh, -1.1 * r, 1.1 * r, 48, 32);
    const abut_character_matrix none = matrix_none();
    const abut_vec3 from = {-22.5 * r, 0.05 * r, 0.02 * r}, outside = {-1.5 * r, 0, 0};
    abut_vec3 to = {17.5 * r, 0.05 * r, 0.02 * r};
    double slow, fast;
    body_pose(radial, mesh, &none);
    assert_ok(friston_time(radial, outside, (abut_vec3){0, 0, 0}, 8, &slow));
    assert_true(slow == 0.375); /* the surface is at 1/3 */
    assert_ok(friston_time(radial, from, to, 8, &fast));
    assert_true(fast == HUGE_VAL);
    abut_radial_particles p = abut_radial_particles_default();
    p.count = 1;
    p.from = abut_array_host(&from);
    p.to = abut_array_host(&to);
    p.friction = 1;
    assert_ok(abut_radial_collide(radial, &p));
    assert_int_equal(p.hit_count, 1);
}
