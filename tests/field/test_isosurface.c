/* Fields back to meshes: closed and manifold for any values, in the right place for known solids;
 * and combinations of fields. */
#include "support/support.h"

#include "field/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_solid(abut_mesh *mesh) {
    abut_mesh_report report = test_examine(mesh);
    assert_true(report.is_closed);
    assert_true(report.is_manifold);
    assert_true(report.is_oriented);
    assert_true(report.volume > 0);
    assert_int_equal(report.problems[ABUT_PROBLEM_DUPLICATE_TRIANGLE].count, 0);
    assert_int_equal(report.problems[ABUT_PROBLEM_DEGENERATE_TRIANGLE].count, 0);
    assert_int_equal(report.problems[ABUT_PROBLEM_COINCIDENT_VERTEX].count, 0);
    assert_int_equal(report.problems[ABUT_PROBLEM_UNUSED_VERTEX].count, 0);
    assert_int_equal(report.problems[ABUT_PROBLEM_INWARD_COMPONENT].count, 0);
}

/* ---- any values ---- */

/* Noise, with a border that is outside: all cases and all neighbours of cases. */
TEST(noise_gives_closed_manifolds) {
    enum { N = 14 };
    static float values[N * N * N];
    test_random random = {21};
    for (uint32_t round = 0; round < test_rounds(40); round++) {
        const abut_grid grid = {{-1, 2, 5}, 0.25, {N, N, N}};
        double share = test_random_real(&random, 0.1, 0.9);
        uint32_t kind = test_random_below(&random, 3); /* also values at the level itself */
        for (uint32_t i = 0; i < N * N * N; i++) {
            uint32_t x = i % N, y = i / N % N, z = i / (N * N);
            bool border = !x || !y || !z || x == N - 1 || y == N - 1 || z == N - 1;
            double value = test_random_real(&random, 0, 1) - share;
            if (kind)
                value = kind == 1 ? rint(3 * value) : (value < 0 ? -1 : 1);
            values[i] = (float)(border ? fabs(value) : value);
        }
        AUTO(field) field;
        AUTO(mesh) mesh = NULL;
        assert_ok(abut_field_create_values(NULL, &grid, values, &field));
        abut_status status = abut_field_isosurface(field, 0, &mesh);
        if (status) { /* nothing may be below the level after rounding */
            assert_true(field->lowest >= 0);
        } else {
            abut_mesh_report report = test_examine(mesh);
            assert_true(report.is_closed && report.is_manifold && report.is_oriented);
            assert_true(report.volume > 0);
            assert_int_equal(report.problems[ABUT_PROBLEM_DEGENERATE_TRIANGLE].count, 0);
        }
    }
}

/* ---- known solids ---- */

TEST(surfaces_are_where_they_should_be) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh, *surface;
    shape.segments = 48;
    shape.rings = 24;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    for (int variant = 0; variant < 4; variant++) {
        abut_field_options options = abut_field_options_default();
        AUTO(field) field;
        options.cells = 32;
        options.band = 0.2;
        options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        options.type = variant & 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        assert_ok(abut_field_create(mesh, &options, &field));
        const double levels[] = {0, 0.1, -0.05};
        for (int l = 0; l < 3; l++) {
            assert_ok(abut_field_isosurface(field, levels[l], &surface));
            assert_solid(surface);
            assert_int_equal(test_examine(surface).euler_number, 0);
            abut_vec3 origin = abut_mesh_local_origin(surface);
            double cell = field->grid.cell, bound = 2 * cell * cell + 3e-3;
            for (uint32_t v = 0; v < abut_mesh_vertex_count(surface); v++) {
                double distance;
                vec3 p = v3_add(origin, abut_mesh_local_positions(surface)[v]);
                assert_ok(abut_shape_distance(&shape, p, &distance));
                assert_true(fabs(distance - levels[l]) < bound);
            }
            abut_mesh_destroy(surface);
        }
        assert_refused("outside the band", abut_field_isosurface(field, 9, &surface));
        assert_refused("outside the band", abut_field_isosurface(field, -0.2, &surface));
        assert_refused("level is nan", abut_field_isosurface(field, NAN, &surface));
        assert_refused("null", abut_field_isosurface(field, 0, NULL));
        assert_refused("null", abut_field_isosurface(NULL, 0, &surface));
    }
    abut_mesh_destroy(mesh);
}

/* A level that would leave the grid is refused with the margin that it needs, and that one holds.
 */
TEST(isosurfaces_are_never_cut_open) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh, *surface = NULL;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    for (int variant = 0; variant < 4; variant++) {
        abut_field_options options = abut_field_options_default();
        AUTO(field) field;
        options.cells = 32;
        options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        options.type = variant & 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        options.band = variant & 1 ? 0.9 : 0;
        options.margin = 0.1;
        assert_ok(abut_field_create(mesh, &options, &field));
        for (double level = 0.12; level < 0.7; level += 0.1) { /* also where the hole is closed */
            assert_refused("margin of at least", abut_field_isosurface(field, level, &surface));
            assert_null(surface);
            const char *wanted = strstr(abut_last_error(), "at least ");
            abut_field_options more = options;
            AUTO(field) larger;
            more.margin = strtod(wanted + 9, NULL);
            assert_ok(abut_field_create(mesh, &more, &larger));
            assert_ok(abut_field_isosurface(larger, level, &surface));
            assert_solid(surface);
            abut_mesh_destroy(surface);
            surface = NULL;
        }
    }
    abut_mesh_destroy(mesh);
}

/* Offsets choose their own margin, and for sparse fields the band. */
TEST(offsets_are_closed) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_TORUS, ABUT_SHAPE_TEAPOT}; /* the second is open */
    for (int k = 0; k < 2; k++) {
        abut_shape shape = abut_shape_default(kinds[k]);
        abut_mesh *mesh, *offset;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        const abut_box box = abut_mesh_bounds(mesh);
        for (int variant = 0; variant < 10; variant++) {
            const double distances[] = {0.05, 0.2, 1.5, -0.02, 0};
            const double distance = distances[variant / 2];
            abut_field_options options = abut_field_options_default();
            options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
            if (variant == 4)
                options.cell = 0.1;
            else
                options.cells = 40;
            assert_ok(abut_field_offset(mesh, distance, &options, &offset));
            assert_solid(offset);
            const double grown = box.hi.x + distance - abut_mesh_bounds(offset).hi.x;
            if (k == 0 && distance >= 0)
                assert_true(fabs(grown) < 0.02 + 0.1 * distance);
            abut_mesh_destroy(offset);
        }
        abut_field_options options = abut_field_options_default();
        assert_refused("null", abut_field_offset(NULL, 0.1, NULL, &offset));
        assert_refused("null", abut_field_offset(mesh, 0.1, NULL, NULL));
        assert_refused("finite", abut_field_offset(mesh, NAN, NULL, &offset));
        assert_refused("no surface", abut_field_offset(mesh, -9, NULL, &offset));
        options.margin = 1;
        assert_refused("margin", abut_field_offset(mesh, 0.1, &options, &offset));
        options.margin = 0;
        options.cells = 6;
        assert_refused("at least 7", abut_field_offset(mesh, 0.1, &options, &offset));
        abut_mesh_destroy(mesh);
    }
}

/* Values of the caller's that are below the level on a face of the grid. */
TEST(values_that_reach_the_boundary_are_refused) {
    float values[4 * 4 * 4];
    const abut_grid grid = {{0, 0, 0}, 1, {4, 4, 4}}, large = {{0, 0, 0}, 1, {4000000000u, 4, 4}};
    abut_field *field;
    abut_mesh *mesh;
    for (int face = 0; face < 6; face++) {
        for (int i = 0; i < 64; i++)
            values[i] = i == 21 ? -1 : 1;
        const int axis = 1 << 2 * (face / 2);
        values[21 - axis + (face % 2 ? 3 * axis : 0)] = -1;
        assert_ok(abut_field_create_values(NULL, &grid, values, &field));
        assert_refused("boundary of the grid", abut_field_isosurface(field, 0, &mesh));
        abut_field_destroy(field);
    }
    assert_refused("at most 2147483647", abut_field_create_values(NULL, &large, values, &field));
}

/* The published teapot has holes and cuts itself; its surface at level 0 has neither. */
TEST(open_meshes_become_closed) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    AUTO(mesh) mesh;
    AUTO(mesh) surface;
    AUTO(field) field;
    abut_field_options options = abut_field_options_default();
    options.cells = 28;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_false(test_examine(mesh).is_closed);
    assert_ok(abut_field_create(mesh, &options, &field));
    assert_ok(abut_field_isosurface(field, 0, &surface));
    assert_solid(surface);
}

/* ---- combinations ---- */

static abut_field *box_field(double x, const abut_grid *grid) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh, *moved;
    abut_field *field;
    abut_field_options options = abut_field_options_default();
    options.grid = *grid;
    shape.extent = (abut_vec3){1, 1, 1};
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    abut_pose shifted = {{0, 0, 0, 1}, {x, 0.013, 0.017}};
    assert_ok(abut_mesh_transform(mesh, 1, shifted, &moved));
    assert_ok(abut_field_create(moved, &options, &field));
    abut_mesh_destroy(moved);
    abut_mesh_destroy(mesh);
    return field;
}

TEST(combinations_have_their_volumes) {
    abut_grid grid = {{-1, -0.8, -0.8}, 0.05, {49, 33, 33}};
    abut_field *a = box_field(0, &grid), *b = box_field(0.4, &grid), *both;
    static const double volumes[] = {1.4, 0.6, 0.4};
    for (int how = 0; how < 3; how++) {
        abut_mesh *mesh;
        assert_ok(abut_field_combine(a, b, (abut_combination)how, &both));
        assert_ok(abut_field_isosurface(both, 0, &mesh));
        assert_solid(mesh);
        assert_true(fabs(test_examine(mesh).volume - volumes[how]) < 0.012);
        abut_mesh_destroy(mesh);
        /* against what the definition says, cell by cell */
        for (size_t i = 0; i < both->value_count; i++) {
            double p = field_value(a, i), q = field_value(b, i), r = field_value(both, i);
            assert_true(r == (how == 0 ? fmin(p, q) : how == 1 ? fmax(p, q) : fmax(p, -q)));
        }
        abut_field_destroy(both);
    }
    grid.cell = 0.04;
    AUTO(field) other = box_field(0, &grid);
    assert_refused("grids differ", abut_field_combine(a, other, 0, &both));
    assert_refused("combination is 3", abut_field_combine(a, b, (abut_combination)3, &both));
    assert_refused("null", abut_field_combine(a, NULL, 0, &both));
    abut_field_destroy(a);
    abut_field_destroy(b);
}

static abut_status combine_and_extract(abut_context *context, void *data) {
    abut_grid grid = {{0, 0, 0}, 1, {4, 4, 4}};
    float values[64];
    abut_field *field = NULL, *both = NULL;
    abut_mesh *mesh = NULL;
    (void)data;
    for (int i = 0; i < 64; i++)
        values[i] = i == 21 || i == 42 ? -1 : 1;
    abut_status status = abut_field_create_values(context, &grid, values, &field);
    status = status ? status : abut_field_combine(field, field, 1, &both);
    status = status ? status : abut_field_isosurface(both, 0, &mesh);
    abut_mesh_destroy(mesh);
    abut_field_destroy(both);
    abut_field_destroy(field);
    return status;
}

TEST(memory_that_fails_is_no_harm) {
    test_every_allocation(combine_and_extract, NULL);
}
