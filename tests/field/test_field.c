/* Fields against a search at every cell, and against solids whose distance is known. */
#include "apps/get.h"
#include "support/support.h"

#include "field/field.h"

#include <math.h>
#include <stdlib.h>

/* ---- making ---- */

static abut_mesh *mesh_of(abut_shape_kind kind) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static abut_field *field_of(abut_mesh *mesh, const abut_field_options *options) {
    abut_field *field;
    assert_ok(abut_field_create(mesh, options, &field));
    return field;
}

/* ---- values ---- */

/* Every stored value is the distance at its centre, rounded. */
static void check_values(abut_mesh *mesh, const abut_field_options *options) {
    AUTO(field) field = field_of(mesh, options);
    abut_field_info info = get_field_info(field);
    const uint32_t *n = info.grid.count, zero[3] = {0, 0, 0};
    float *values = malloc(grid_cells(&info.grid) * sizeof *values);
    AUTO(bvh) bvh;
    assert_non_null(values);
    assert_ok(abut_field_copy(field, zero, n, values));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_sign_options sign = abut_sign_options_default();
    sign.method = options->sign;
    assert_ok(abut_sign_prepare(bvh, &sign));
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (uint32_t k = 0; k < n[2]; k++)
        for (uint32_t j = 0; j < n[1]; j++)
            for (uint32_t i = 0; i < n[0]; i++) {
                abut_nearest nearest;
                float value = values[grid_at(n, i, j, k)];
                assert_ok(
                    abut_sign_nearest(bvh, grid_centre(&info.grid, i, j, k), HUGE_VAL, &nearest));
                double wanted = fmax(-info.band, fmin(info.band, nearest.distance));
                if (info.layout == ABUT_FIELD_SPARSE && fabs(nearest.distance) > info.band) {
                    assert_true(fabs(value) > 0.99 * info.band - info.step);
                    assert_true((value < 0) == (wanted < 0));
                } else if (info.type == ABUT_FIELD_INT16) {
                    assert_true(fabs(value - nearest.distance) <= 0.503 * info.step ||
                                fabs(value - wanted) <= 0.503 * info.step);
                } else {
                    float rounded =
                        (float)(info.layout == ABUT_FIELD_SPARSE ? nearest.distance : wanted);
                    assert_memory_equal(&value, &rounded, sizeof value);
                }
                least = fmin(least, value);
                most = fmax(most, value);
            }
    if (info.layout == ABUT_FIELD_DENSE) {
        assert_true(least == info.lowest);
        assert_true(most == info.highest);
    }
    free(values);
}

TEST(values_are_those_of_the_search) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TEAPOT, ABUT_SHAPE_TORUS};
    for (size_t s = 0; s < sizeof kinds / sizeof *kinds; s++) {
        AUTO(mesh) mesh = mesh_of(kinds[s]);
        abut_field_options options = abut_field_options_default();
        options.cells = 20;
        check_values(mesh, &options);
        options.cells = 27;
        options.band = 0.15;
        check_values(mesh, &options);
        options.type = ABUT_FIELD_INT16;
        check_values(mesh, &options);
        options.layout = ABUT_FIELD_SPARSE;
        check_values(mesh, &options);
        options.type = ABUT_FIELD_FLOAT;
        options.band = 0;
        options.cells = 40;
        check_values(mesh, &options);
    }
}

/* ---- bricks ---- */

/* All values of a brick are exact, also beyond the band and beyond the grid. */
static void check_brick(const abut_field *field, const abut_bvh *bvh, const uint32_t at[3],
                        uint32_t brick) {
    for (uint32_t c = 0; c < FIELD_VALUES; c++) {
        const uint32_t cell[3] = {FIELD_BRICK * at[0] + c % FIELD_SIDE,
                                  FIELD_BRICK * at[1] + c / FIELD_SIDE % FIELD_SIDE,
                                  FIELD_BRICK * at[2] + c / FIELD_SIDE / FIELD_SIDE};
        abut_vec3 centre = grid_centre(&field->grid, cell[0], cell[1], cell[2]);
        abut_nearest nearest;
        if (brick == ABUT_NONE) {
            assert_ok(abut_nearest_point(bvh, centre, field->band, &nearest));
            assert_int_equal(ABUT_NONE, nearest.triangle);
            continue;
        }
        assert_ok(abut_sign_nearest(bvh, centre, HUGE_VAL, &nearest));
        float value = field_value(field, (size_t)brick * FIELD_VALUES + c),
              wanted = (float)nearest.distance;
        if (field->type == ABUT_FIELD_FLOAT)
            assert_memory_equal(&value, &wanted, sizeof value);
        else
            assert_true(fabs(value - wanted) <= 0.503 * field->step);
    }
}

/* Takes the mesh. Every cell of the band is in a brick, and no brick is far from it. */
static void check_bricks(abut_mesh *mesh, const abut_field_options *options, double least_share) {
    AUTO(field) field = field_of(mesh, options);
    AUTO(bvh) bvh;
    uint32_t stored = 0, at[3];
    size_t number = 0;
    double half = sqrt(0.75) * FIELD_BRICK * field->grid.cell;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, NULL));
    for (at[2] = 0; at[2] < field->bricks[2]; at[2]++)
        for (at[1] = 0; at[1] < field->bricks[1]; at[1]++)
            for (at[0] = 0; at[0] < field->bricks[0]; at[0]++, number++) {
                uint32_t brick = field->index[number];
                check_brick(field, bvh, at, brick);
                if (brick == ABUT_NONE)
                    continue;
                assert_int_equal(stored++, brick);
                abut_vec3 first = grid_centre(&field->grid, FIELD_BRICK * at[0],
                                              FIELD_BRICK * at[1], FIELD_BRICK * at[2]);
                double more = FIELD_BRICK / 2 * field->grid.cell;
                abut_nearest nearest;
                assert_ok(abut_nearest_point(bvh, v3_add(first, v3(more, more, more)), HUGE_VAL,
                                             &nearest));
                if (field->closed)
                    assert_true(nearest.distance <= half + 1.7321 * field->band);
            }
    assert_int_equal(field->brick_count, stored);
    assert_true(stored <= (1 - least_share) * (double)number);
    abut_mesh_destroy(mesh);
}

TEST(bricks_are_where_the_band_is) {
    abut_field_options options = abut_field_options_default();
    options.layout = ABUT_FIELD_SPARSE;
    options.cells = test_rounds(8) < 8 ? 26 : 44;
    check_bricks(mesh_of(ABUT_SHAPE_TORUS), &options, test_rounds(8) < 8 ? 0 : 0.2);
    options.cells = 0;
    options.cell = 0.04; /* two triangles of a box go through many bricks */
    options.band = 0.01;
    check_bricks(mesh_of(ABUT_SHAPE_BOX), &options, 0.1);
    options.cell = 0;
    options.cells =
        test_rounds(8) < 8 ? 30 : 50; /* open: the sign changes far from the surface, too */
    options.band = 0.05;
    options.type = ABUT_FIELD_INT16;
    check_bricks(mesh_of(ABUT_SHAPE_TEAPOT), &options, test_rounds(8) < 8 ? 0.1 : 0.4);
}

/* ---- bad input ---- */

TEST(bad_options_are_refused) {
    AUTO(mesh) mesh = mesh_of(ABUT_SHAPE_ICOSPHERE), *open;
    abut_field *field = NULL;
    abut_field_options o = abut_field_options_default();
    assert_refused("null", abut_field_create(NULL, NULL, &field));
    assert_refused("null", abut_field_create(mesh, NULL, NULL));
    o.cells = 1;
    assert_refused("at least 2", abut_field_create(mesh, &o, &field));
    o.cells = 100000;
    assert_fails(ABUT_ERROR_LIMIT, "GiB", abut_field_create(mesh, &o, &field));
    o.cells = 10;
    o.cell = 1;
    assert_refused("one of them", abut_field_create(mesh, &o, &field));
    o.cells = 0;
    o.cell = NAN;
    assert_refused("cell", abut_field_create(mesh, &o, &field));
    o.cell = 0;
    o.band = -1;
    assert_refused("band", abut_field_create(mesh, &o, &field));
    o.band = 0;
    o.grid.count[0] = 5;
    assert_refused("grid", abut_field_create(mesh, &o, &field));
    o.grid.cell = 0.1;
    assert_refused("at least 2", abut_field_create(mesh, &o, &field));
    o = abut_field_options_default();
    for (int large = 0; large < 2; large++) {
        AUTO(mesh) far_off;
        abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
        assert_ok(abut_mesh_transform(mesh, large ? 1e40 : 1e-40, still, &far_off));
        assert_refused("floats", abut_field_create(far_off, &o, &field));
    }
    o.sign = ABUT_SIGN_NORMAL;
    open = mesh_of(ABUT_SHAPE_TEAPOT);
    assert_refused("edge", abut_field_create(open, &o, &field));
    assert_null(field);
}

TEST(few_cells_are_fine) {
    AUTO(mesh) mesh = mesh_of(ABUT_SHAPE_BOX);
    for (uint32_t cells = 2; cells < 12; cells++) {
        abut_field_options o = abut_field_options_default();
        o.cells = cells;
        for (int layout = 0; layout < 2; layout++) {
            o.layout = (abut_field_layout)layout;
            AUTO(field) field = field_of(mesh, &o);
            const uint32_t *n = get_field_info(field).grid.count;
            uint32_t longest = n[0] > n[1] ? n[0] : n[1];
            assert_int_equal(cells, longest > n[2] ? longest : n[2]);
        }
    }
}

static abut_status make_one(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    abut_field *field = NULL;
    shape.segments = 8;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_field_create(mesh, data, &field);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(memory_that_fails_is_no_harm) {
    abut_field_options o = abut_field_options_default();
    o.cells = 12;
    test_every_allocation(make_one, &o);
    o.layout = ABUT_FIELD_SPARSE;
    test_every_allocation(make_one, &o);
}

TEST(all_have_names) {
    assert_string_equal("sparse", abut_field_layout_name(ABUT_FIELD_SPARSE));
    assert_string_equal("int16", abut_field_type_name(ABUT_FIELD_INT16));
    assert_string_equal("cubic", abut_interpolation_name(ABUT_INTERPOLATION_CUBIC));
    assert_string_equal("difference", abut_combination_name(ABUT_COMBINATION_DIFFERENCE));
    assert_string_equal("raw", abut_field_format_name(ABUT_FIELD_FORMAT_RAW));
    assert_null(abut_field_layout_name((abut_field_layout)2));
    assert_null(abut_field_type_name((abut_field_type)2));
    assert_null(abut_interpolation_name((abut_interpolation)2));
    assert_null(abut_combination_name((abut_combination)3));
    assert_null(abut_field_format_name((abut_field_format)6));
}
