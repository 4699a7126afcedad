/* Positions are absolute in every public function.
 *
 * A mesh stores its positions relative to a local origin, which is far from zero for a distant
 * mesh. Every function that reads positions uses those of abut_mesh_get_positions(), and returns
 * the result of the same mesh at the origin, shifted. The shift is a power of two near 1e6 and
 * coordinates are multiples of 2^-20 or so, so that all sums are exact and most results are
 * equal to the last bit. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DISTANT_COORDINATE 1048576.0
static const abut_vec3 shifts[2] = {{0, 0, 0},
                                    {DISTANT_COORDINATE, -DISTANT_COORDINATE, DISTANT_COORDINATE}};

/* The rounding of a coordinate of this size, in some steps. */
#define ROUNDING 1e-8

static abut_vec3 add(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static void assert_near(double expected, double value, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static void check_shifted(abut_vec3 at_origin, abut_vec3 far_away) {
    assert_near(at_origin.x + DISTANT_COORDINATE, far_away.x, ROUNDING);
    assert_near(at_origin.y - DISTANT_COORDINATE, far_away.y, ROUNDING);
    assert_near(at_origin.z + DISTANT_COORDINATE, far_away.z, ROUNDING);
}

/* A generated shape whose coordinates are rounded to 2^-20, shifted. */
static abut_mesh *make(abut_shape_kind kind, uint32_t segments, double scale, abut_vec3 shift) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *raw = NULL, *mesh = NULL;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &raw));
    const uint32_t count = abut_mesh_vertex_count(raw);
    AUTO_FREE abut_vec3 *p = malloc(count * sizeof *p);
    assert_non_null(p);
    assert_ok(abut_mesh_get_positions(raw, p));
    for (uint32_t i = 0; i < count; i++) {
        p[i].x = round(scale * p[i].x * DISTANT_COORDINATE) / DISTANT_COORDINATE + shift.x;
        p[i].y = round(scale * p[i].y * DISTANT_COORDINATE) / DISTANT_COORDINATE + shift.y;
        p[i].z = round(scale * p[i].z * DISTANT_COORDINATE) / DISTANT_COORDINATE + shift.z;
    }
    abut_mesh_input input =
        abut_mesh_input_doubles(p, count, abut_mesh_indices(raw), abut_mesh_triangle_count(raw));
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    abut_mesh_destroy(raw);
    return mesh;
}

/* The absolute positions of a mesh plus a shift; to be freed. */
static abut_vec3 *positions_of(const abut_mesh *mesh, abut_vec3 shift) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *p = malloc((count + 1) * sizeof *p);
    assert_non_null(p);
    assert_ok(abut_mesh_get_positions(mesh, p));
    for (uint32_t i = 0; i < count; i++)
        p[i] = add(p[i], shift);
    return p;
}

TEST(meshes) {
    abut_mesh *mesh[2], *again = NULL;
    for (int k = 0; k < 2; k++)
        mesh[k] = make(ABUT_SHAPE_TORUS, 12, 1, shifts[k]);
    abut_vec3 *near = positions_of(mesh[0], shifts[1]), *p = positions_of(mesh[1], shifts[0]);
    const uint32_t count = abut_mesh_vertex_count(mesh[1]);
    assert_memory_equal(near, p, count * sizeof *p);
    assert_true(fabs(abut_mesh_local_origin(mesh[1]).x) > 1e5); /* so the test distinguishes them */
    abut_mesh_input input = abut_mesh_input_doubles(p, count, abut_mesh_indices(mesh[1]),
                                                    abut_mesh_triangle_count(mesh[1]));
    assert_ok(abut_mesh_create(NULL, &input, &again));
    abut_vec3 *q = positions_of(again, shifts[0]);
    assert_memory_equal(p, q, count * sizeof *p);
    free(near);
    free(p);
    free(q);
    abut_mesh_destroy(again);
    for (int k = 0; k < 2; k++)
        abut_mesh_destroy(mesh[k]);
}

TEST(sweeps) {
    abut_impact first[2];
    for (int k = 0; k < 2; k++) {
        abut_mesh *meshes[2] = {make(ABUT_SHAPE_TORUS, 16, 1, shifts[k]),
                                make(ABUT_SHAPE_ICOSPHERE, 2, 0.125, shifts[k])};
        abut_sweep *sweep = NULL;
        assert_ok(abut_sweep_create(meshes, 2, NULL, &sweep));
        const uint32_t still = abut_mesh_vertex_count(meshes[0]),
                       moves = abut_mesh_vertex_count(meshes[1]);
        abut_vec3 *end = malloc((still + moves) * sizeof *end);
        assert_non_null(end);
        assert_ok(abut_mesh_get_positions(meshes[0], end));
        assert_ok(abut_mesh_get_positions(meshes[1], end + still));
        for (uint32_t i = still; i < still + moves; i++)
            end[i].x += 1;
        abut_impact_list found = {&first[k], 1, 0};
        assert_ok(abut_sweep_set_positions(sweep, (abut_array){0}, abut_array_host(end)));
        assert_ok(abut_sweep_find(sweep, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
        assert_int_equal(1, found.count);
        free(end);
        abut_sweep_destroy(sweep);
        abut_mesh_destroy(meshes[0]);
        abut_mesh_destroy(meshes[1]);
    }
    assert_true(first[0].time > 0.1 && first[0].time < 0.9);
    assert_near(first[0].time, first[1].time, ROUNDING);
    check_shifted(first[0].point, first[1].point);
}

TEST(self_collisions) {
    abut_self_result result[2] = {abut_self_result_default(), abut_self_result_default()};
    for (int k = 0; k < 2; k++) {
        AUTO(mesh) mesh = make(ABUT_SHAPE_ICOSPHERE, 6, 2, shifts[k]);
        const uint32_t count = abut_mesh_vertex_count(mesh);
        AUTO(self) self = NULL;
        assert_ok(abut_self_create(mesh, NULL, &self));
        AUTO_FREE abut_vec3 *end = positions_of(mesh, shifts[0]);
        for (uint32_t i = 0; i < count; i++) { /* a dent from above, through the bottom */
            const double x = end[i].x - shifts[k].x, y = end[i].y - shifts[k].y;
            if (end[i].z > shifts[k].z && x * x + y * y < 0.25)
                end[i].z -= 2.5;
        }
        abut_self_step step = abut_self_step_default();
        step.end = abut_array_host(end);
        assert_ok(abut_self_find(self, &step, NULL, &result[k]));
        assert_true(result[k].hit);
    }
    assert_true(result[0].impact.time > 0.1 && result[0].impact.time < 0.99);
    assert_near(result[0].impact.time, result[1].impact.time, ROUNDING);
    check_shifted(result[0].impact.point, result[1].impact.point);
}

TEST(worlds) {
    static const abut_world_method methods[] = {ABUT_WORLD_EXACT, ABUT_WORLD_MAP,
                                                ABUT_WORLD_LAYERS};
    static abut_contact list[2][4096];
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        abut_contacts found[2] = {abut_contacts_default(), abut_contacts_default()};
        for (int k = 0; k < 2; k++) {
            AUTO(mesh) ball = make(ABUT_SHAPE_ICOSPHERE, 4, 2, shifts[k]);
            AUTO(mesh) soft = make(ABUT_SHAPE_ICOSPHERE, 4, 1, shifts[k]);
            AUTO(world) world = NULL;
            abut_world_item item = {.size = sizeof(abut_world_item),
                                    .collider.kind = ABUT_COLLIDER_MESH};
            uint32_t id;
            assert_ok(abut_world_create(NULL, NULL, &world));
            item.method = methods[m];
            item.collider.shape.mesh.mesh = ball;
            assert_ok(abut_world_add(world, &item, &id));
            item.collider.shape.mesh.mesh = soft;
            item.collider.shape.mesh.deforms = true;
            assert_ok(abut_world_add(world, &item, &id));
            /* from the middle of the ball to its surface, 0.125 deep */
            AUTO_FREE abut_vec3 *p = positions_of(soft, (abut_vec3){0, 0, 1.375});
            assert_ok(abut_world_set_positions(world, id, NULL, abut_array_host(p)));
            found[k] =
                (abut_contacts){.size = sizeof(abut_contacts), .list = list[k], .capacity = 4096};
            assert_ok(abut_world_contacts(world, &found[k]));
            assert_true(found[k].count > 0);
        }
        double deepest[2] = {-1, -1};
        for (int k = 0; k < 2; k++)
            for (uint64_t i = 0; i < found[k].count; i++) {
                const abut_contact *c = &list[k][i];
                deepest[k] = fmax(deepest[k], c->depth);
                assert_true(fabs(c->point.x - shifts[k].x) < 1);
                assert_true(fabs(c->point.y - shifts[k].y) < 1);
                assert_true(fabs(c->point.z - shifts[k].z - 0.95) < 0.25);
            }
        assert_true(deepest[0] > 0.05 && deepest[0] < 0.2);
        assert_near(deepest[0], deepest[1], 1e-6);
    }
}

TEST(recordings) {
    char path[300];
    abut_mesh *mesh = make(ABUT_SHAPE_BOX, 2, 1, shifts[1]);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *p = positions_of(mesh, (abut_vec3){0, 0, 0.5}), *q = positions_of(mesh, shifts[0]);
    abut_frames_options options = abut_frames_options_default();
    abut_frames_writer *writer = NULL;
    abut_frames *frames = NULL;
    snprintf(path, sizeof path, "%s/absolute.abutm", ABUT_BINARY_DIR);
    options.type = ABUT_SCALAR_FLOAT64;
    assert_ok(abut_frames_writer_create(&mesh, 1, path, &options, &writer));
    assert_ok(abut_frames_writer_add(writer, q, NULL));
    assert_ok(abut_frames_writer_add(writer, p, NULL));
    assert_ok(abut_frames_writer_finish(writer));
    assert_ok(abut_frames_open(NULL, path, &frames));
    abut_vec3 *read = positions_of(abut_frames_mesh(frames, 0), shifts[0]);
    assert_memory_equal(q, read, count * sizeof *q);
    assert_ok(abut_frames_read(frames, 1, read, NULL));
    assert_memory_equal(p, read, count * sizeof *p);
    free(read);
    free(p);
    free(q);
    abut_frames_close(frames);
    abut_mesh_destroy(mesh);
    remove(path);
}

TEST(radial_fields) {
    static const abut_character_matrix bone = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    for (int together = 0; together < 2; together++) {
        abut_vec3 stopped[2];
        for (int k = 0; k < 2; k++) {
            AUTO(mesh) mesh = make(ABUT_SHAPE_CYLINDER, 32, 1, shifts[k]);
            abut_radial_axis axis = {.begin = add(shifts[k], (abut_vec3){0, 0, -0.5}),
                                     .end = add(shifts[k], (abut_vec3){0, 0, 0.5})};
            abut_radial_options options = abut_radial_options_default();
            AUTO(radial) radial = NULL;
            options.axes = &axis;
            options.axis_count = 1;
            options.cell = 0.0625;
            assert_ok(abut_radial_create_mesh(mesh, 1, &options, &radial));
            AUTO_FREE abut_vec3 *p = positions_of(mesh, shifts[0]);
            abut_vec3 from = add(shifts[k], (abut_vec3){-5, 0, 0.125}),
                      to = add(shifts[k], (abut_vec3){5, 0, 0.125});
            abut_radial_particles particles = abut_radial_particles_default();
            particles.count = 1;
            particles.from = abut_array_host(&from);
            particles.to = abut_array_host(&to);
            if (together) {
                assert_ok(abut_radial_step(radial, &bone, abut_array_host(p), &particles));
            } else {
                assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(p)));
                assert_ok(abut_radial_collide(radial, &particles));
            }
            assert_int_equal(1, particles.hit_count);
            stopped[k] = to;
        }
        assert_true(stopped[0].x < -0.4 && stopped[0].x > -1.1);
        assert_near(stopped[0].x + DISTANT_COORDINATE, stopped[1].x, 1e-5); /* radii are floats */
        assert_near(stopped[0].y - DISTANT_COORDINATE, stopped[1].y, 1e-5);
        assert_near(stopped[0].z + DISTANT_COORDINATE, stopped[1].z, 1e-5);
    }
}

TEST(layers) {
    abut_layers_pair pair[2];
    for (int k = 0; k < 2; k++) {
        AUTO(mesh) box = make(ABUT_SHAPE_BOX, 1, 1, shifts[k]);
        AUTO(layers) layers = NULL;
        uint32_t id;
        assert_ok(abut_layers_create(NULL, NULL, &layers));
        const abut_layers_item item = {.size = sizeof(abut_layers_item),
                                       .collider =
                                           abut_collider_from_mesh(box, abut_pose_identity())};
        assert_ok(abut_layers_add(layers, &item, NULL));
        assert_ok(abut_layers_add(layers, &item, &id));
        AUTO_FREE abut_vec3 *p = positions_of(box, (abut_vec3){0.75, 0, 0});
        assert_ok(abut_layers_set_positions(layers, id, abut_array_host(p)));
        abut_layers_query query = abut_layers_query_default();
        abut_layers_result result = {.size = sizeof result,
                                     .pairs.list = &pair[k],
                                     .pairs.capacity = 1};
        query.resolution = 64;
        query.measure_volume = true;
        assert_ok(abut_layers_find(layers, &query, &result));
        assert_int_equal(1, result.pairs.count);
    }
    assert_near(0.25, pair[0].volume, 1e-9);
    assert_near(0.25, pair[1].volume, 1e-6);
    check_shifted(pair[0].centre, pair[1].centre);
}

TEST(maps_and_fields) {
    double least[2], at[2];
    for (int k = 0; k < 2; k++) { /* they read meshes that were made of absolute positions */
        abut_mesh *ball = make(ABUT_SHAPE_ICOSPHERE, 4, 2, shifts[k]);
        abut_vec3 *p = positions_of(ball, (abut_vec3){0, 0, 2.5});
        abut_mesh_input input =
            abut_mesh_input_doubles(p, abut_mesh_vertex_count(ball), abut_mesh_indices(ball),
                                    abut_mesh_triangle_count(ball));
        abut_mesh *moved = NULL;
        abut_bvh *bvh = NULL;
        abut_nearest nearest;
        abut_field_value value;
        assert_ok(abut_mesh_create(NULL, &input, &moved));
        assert_ok(abut_bvh_create(ball, NULL, &bvh));
        assert_ok(abut_bvh_set_mesh(bvh, moved));
        assert_ok(abut_nearest_point(bvh, shifts[k], 100, &nearest));
        least[k] = nearest.distance;
        abut_field_options options = abut_field_options_default();
        abut_field *field = NULL;
        options.cells = 16;
        assert_ok(abut_field_create(ball, &options, &field));
        assert_ok(abut_field_evaluate(field, shifts[k], ABUT_INTERPOLATION_LINEAR, &value));
        at[k] = value.distance;
        abut_field_destroy(field);
        free(p);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(moved);
        abut_mesh_destroy(ball);
    }
    assert_near(1.5, least[0], 0.02);
    assert_near(least[0], least[1], ROUNDING);
    assert_near(at[0], at[1], 1e-6);
}
