/* Values and gradients between cells: against differences, against solids with known distances,
 * and against the plain formula in doubles. */
#include "apps/get.h"
#include "support/support.h"

#include "field/field.h"

#include <math.h>

/* ---- making ---- */

static abut_field *field_of(const abut_shape *shape, const abut_field_options *options) {
    abut_mesh *mesh;
    abut_field *field;
    assert_ok(abut_shape_create(NULL, shape, &mesh));
    assert_ok(abut_field_create(mesh, options, &field));
    abut_mesh_destroy(mesh);
    return field;
}

/* A dense field of floats that has the distances of the ideal shape, not of its triangles. */
static abut_field *ideal_field(const abut_shape *shape, uint32_t cells) {
    abut_field_options options = abut_field_options_default();
    options.cells = cells;
    options.margin = 0.5;
    options.band = 1e-3; /* the values are replaced */
    abut_field *field = field_of(shape, &options);
    const uint32_t *n = field->grid.count;
    for (uint32_t k = 0; k < n[2]; k++)
        for (uint32_t j = 0; j < n[1]; j++)
            for (uint32_t i = 0; i < n[0]; i++) {
                double distance;
                assert_ok(
                    abut_shape_distance(shape, grid_centre(&field->grid, i, j, k), &distance));
                ((float *)field->values)[grid_at(n, i, j, k)] = (float)distance;
            }
    return field;
}

static abut_vec3 random_point(const abut_grid *grid, test_random *random) {
    abut_vec3 p = {
        grid->origin.x + test_random_real(random, 0, 1) * grid->cell * (grid->count[0] - 1),
        grid->origin.y + test_random_real(random, 0, 1) * grid->cell * (grid->count[1] - 1),
        grid->origin.z + test_random_real(random, 0, 1) * grid->cell * (grid->count[2] - 1)};
    return p;
}

/* ---- linear ---- */

/* The weights of the eight corners, in doubles. */
static double plain_linear(const abut_field *field, abut_vec3 p) {
    const abut_grid *g = &field->grid;
    double at[3] = {(p.x - g->origin.x) / g->cell, (p.y - g->origin.y) / g->cell,
                    (p.z - g->origin.z) / g->cell},
           sum = 0;
    for (uint32_t i = 0; i < 8; i++) {
        double weight = 1;
        uint32_t cell[3], one[3] = {1, 1, 1};
        float value;
        for (uint32_t axis = 0; axis < 3; axis++) {
            uint32_t low = (uint32_t)at[axis], up = i >> axis & 1;
            weight *= up ? at[axis] - low : 1 - (at[axis] - low);
            cell[axis] = low + up;
        }
        assert_ok(abut_field_copy(field, cell, one, &value));
        sum += weight * value;
    }
    return sum;
}

TEST(linear_is_the_mean_of_corners) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    for (int variant = 0; variant < 4; variant++) {
        abut_field_options options = abut_field_options_default();
        test_random random = {11};
        options.cells = 21;
        options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        options.type = variant & 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        AUTO(field) field = field_of(&shape, &options);
        for (uint32_t round = 0; round < test_rounds(4000); round++) {
            abut_vec3 p = random_point(&field->grid, &random);
            abut_field_value at;
            assert_ok(abut_field_evaluate(field, p, ABUT_INTERPOLATION_LINEAR, &at));
            assert_true(at.within);
            assert_true(fabs(at.distance - plain_linear(field, p)) < 1e-6);
        }
    }
}

/* Within a cell the function is linear along each axis: differences are slopes. */
TEST(gradients_are_slopes) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    for (int variant = 0; variant < 2; variant++) {
        abut_field_options options = abut_field_options_default();
        test_random random = {7};
        options.cells = 30;
        options.layout = (abut_field_layout)variant;
        AUTO(field) field = field_of(&shape, &options);
        const abut_grid grid = field->grid;
        for (uint32_t round = 0; round < test_rounds(2000); round++) {
            double h = 0.25 * grid.cell;
            abut_vec3 p = grid.origin;
            p.x += grid.cell * (floor(test_random_real(&random, 0, grid.count[0] - 1)) + 0.5);
            p.y += grid.cell * (floor(test_random_real(&random, 0, grid.count[1] - 1)) + 0.4);
            p.z += grid.cell * (floor(test_random_real(&random, 0, grid.count[2] - 1)) + 0.6);
            abut_field_value at, on, off;
            assert_ok(abut_field_evaluate(field, p, ABUT_INTERPOLATION_LINEAR, &at));
            for (int axis = 0; axis < 3; axis++) {
                vec3 step = v3(axis == 0 ? h : 0, axis == 1 ? h : 0, axis == 2 ? h : 0);
                assert_ok(
                    abut_field_evaluate(field, v3_add(p, step), ABUT_INTERPOLATION_LINEAR, &on));
                assert_ok(
                    abut_field_evaluate(field, v3_sub(p, step), ABUT_INTERPOLATION_LINEAR, &off));
                assert_true(fabs((on.distance - off.distance) / (2 * h) -
                                 v3_get(at.gradient, axis)) < 2e-5);
            }
            assert_true(v3_length(at.gradient) < 1.8);
        }
    }
}

/* ---- order ---- */

typedef struct errors {
    double value, gradient;
} errors;

/* The mean errors away from the centre of the sphere, where the distance is not smooth. The largest
 * would depend on which points are drawn. */
static errors errors_of(uint32_t cells, abut_interpolation interpolation) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 8;
    abut_field *field = ideal_field(&shape, cells);
    test_random random = {3};
    errors sum = {0};
    uint32_t count = 0;
    for (uint32_t round = 0; round < test_rounds(16000); round++) {
        abut_vec3 p = {test_random_real(&random, -0.8, 0.8), test_random_real(&random, -0.8, 0.8),
                       test_random_real(&random, -0.8, 0.8)};
        double distance;
        abut_field_value at;
        if (v3_length(p) < 0.5)
            continue;
        assert_ok(abut_shape_distance(&shape, p, &distance));
        assert_ok(abut_field_evaluate(field, p, interpolation, &at));
        sum.value += fabs(at.distance - distance);
        sum.gradient += v3_length(v3_sub(at.gradient, v3_normalise(p)));
        count++;
    }
    abut_field_destroy(field);
    return (errors){sum.value / count, sum.gradient / count};
}

TEST(errors_fall_with_their_order) {
    errors linear[2] = {errors_of(24, ABUT_INTERPOLATION_LINEAR),
                        errors_of(48, ABUT_INTERPOLATION_LINEAR)};
    errors cubic[2] = {errors_of(24, ABUT_INTERPOLATION_CUBIC),
                       errors_of(48, ABUT_INTERPOLATION_CUBIC)};
    assert_true(log2(linear[0].value / linear[1].value) > 1.7); /* second */
    assert_true(log2(linear[0].gradient / linear[1].gradient) > 0.8);
    assert_true(log2(cubic[0].value / cubic[1].value) > 2.6); /* third */
    assert_true(log2(cubic[0].gradient / cubic[1].gradient) > 1.7);
    assert_true(cubic[1].value < 0.1 * linear[1].value);
}

/* ---- cubic ---- */

/* A polynomial of second degree along each axis is given back. */
TEST(cubic_gives_parabolas_back) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    options.cells = 9;
    AUTO(field) field = field_of(&shape, &options);
    const uint32_t *n = field->grid.count;
    for (uint32_t k = 0; k < n[2]; k++)
        for (uint32_t j = 0; j < n[1]; j++)
            for (uint32_t i = 0; i < n[0]; i++) {
                vec3 p = grid_centre(&field->grid, i, j, k);
                ((float *)field->values)[grid_at(n, i, j, k)] =
                    (float)(p.x * p.x - 2 * p.y * p.y + p.x * p.z + 0.5 * p.z * p.z);
            }
    test_random random = {4};
    uint32_t checked = 0;
    for (uint32_t round = 0; round < 2000; round++) {
        abut_vec3 p = random_point(&field->grid, &random);
        const vec3 in = v3_scale(v3_sub(p, field->grid.origin), 1 / field->grid.cell);
        abut_field_value at, line;
        assert_ok(abut_field_evaluate(field, p, ABUT_INTERPOLATION_CUBIC, &at));
        if (fmin(in.x, fmin(in.y, in.z)) < 1 || in.x > n[0] - 2 || in.y > n[1] - 2 ||
            in.z > n[2] - 2) { /* at the border it is linear */
            assert_ok(abut_field_evaluate(field, p, ABUT_INTERPOLATION_LINEAR, &line));
            assert_memory_equal(&at.distance, &line.distance, sizeof at.distance);
            continue;
        }
        checked++;
        assert_true(fabs(at.distance - (p.x * p.x - 2 * p.y * p.y + p.x * p.z + 0.5 * p.z * p.z)) <
                    1e-6);
        assert_true(fabs(at.gradient.x - (2 * p.x + p.z)) < 1e-5);
        assert_true(fabs(at.gradient.y + 4 * p.y) < 1e-5);
        assert_true(fabs(at.gradient.z - (p.x + p.z)) < 1e-5);
    }
    assert_true(checked > 200);
}

/* The gradient does not jump from cell to cell; the linear one does. */
TEST(cubic_gradients_are_continuous) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    AUTO(field) field = ideal_field(&shape, 24);
    test_random random = {9};
    double jump[2] = {0};
    for (uint32_t round = 0; round < 2000; round++) {
        abut_vec3 p = random_point(&field->grid, &random);
        const abut_grid *g = &field->grid;
        double cell = floor((p.x - g->origin.x) / g->cell);
        if (cell < 2 || cell + 3 > g->count[0])
            continue;
        double border = g->origin.x + g->cell * cell, h = 1e-7;
        for (int how = 0; how < 2; how++) {
            abut_field_value low, high;
            assert_ok(abut_field_evaluate(field, v3(border - h, p.y, p.z), (abut_interpolation)how,
                                          &low));
            assert_ok(abut_field_evaluate(field, v3(border + h, p.y, p.z), (abut_interpolation)how,
                                          &high));
            jump[how] = fmax(jump[how], fabs(low.gradient.x - high.gradient.x));
        }
    }
    assert_true(jump[ABUT_INTERPOLATION_LINEAR] > 0.1);
    /* in layers at the border both are linear along other axes */
    assert_true(jump[ABUT_INTERPOLATION_CUBIC] < jump[ABUT_INTERPOLATION_LINEAR]);
}

/* ---- beyond ---- */

/* Outside the grid the value is a lower bound, and not a bad one. */
TEST(beyond_the_grid_it_is_not_too_far) {
    AUTO(mesh) mesh;
    AUTO(bvh) bvh;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    for (int variant = 0; variant < 4; variant++) {
        test_random random = {3};
        abut_field_options options = abut_field_options_default();
        options.cells = 32;
        options.layout = variant & 1 ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        options.type = variant & 2 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        AUTO(field) field;
        assert_ok(abut_field_create(mesh, &options, &field));
        double cell = get_field_info(field).grid.cell;
        double off = variant & 1 ? FIELD_BRICK * cell : cell; /* corners of bricks are far apart */
        for (uint32_t round = 0; round < test_rounds(2000); round++) {
            abut_vec3 p = {test_random_real(&random, -9, 9), test_random_real(&random, -9, 9),
                           test_random_real(&random, -9, 9)};
            abut_nearest nearest;
            abut_field_value at;
            assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &nearest));
            assert_ok(abut_field_evaluate(field, p, ABUT_INTERPOLATION_LINEAR, &at));
            if (at.within)
                continue;
            assert_true(at.distance <= nearest.distance);
            assert_true(at.distance >= 0.5 * nearest.distance - off);
            assert_true(fabs(v3_length(at.gradient) - 1) < 1e-6);
        }
    }
}

/* ---- many points ---- */

TEST(batches_are_single_points) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_field_options options = abut_field_options_default();
    enum { COUNT = 500 };
    static abut_vec3 points[COUNT];
    static abut_field_value values[COUNT];
    test_random random = {5};
    options.cells = 20;
    AUTO(field) field = field_of(&shape, &options);
    for (uint32_t i = 0; i < COUNT; i++) {
        points[i] = random_point(&field->grid, &random);
        points[i].x *= 1.2;
    }
    abut_array batch = abut_array_host(points);
    for (int how = 0; how < 2; how++) {
        assert_ok(abut_field_evaluate_batch(field, batch, COUNT, (abut_interpolation)how, values));
        for (uint32_t i = 0; i < COUNT; i++) {
            abut_field_value one;
            assert_ok(abut_field_evaluate(field, points[i], (abut_interpolation)how, &one));
            assert_true(one.distance == values[i].distance && one.within == values[i].within);
            assert_memory_equal(&one.gradient, &values[i].gradient, sizeof one.gradient);
        }
    }
    points[77].y = NAN;
    values[0].distance = 1234;
    assert_refused("77", abut_field_evaluate_batch(field, batch, COUNT, 0, values));
    assert_true(values[0].distance == 1234);
    assert_refused("nan", abut_field_evaluate(field, points[77], 0, values));
    assert_refused("interpolation is 2",
                   abut_field_evaluate(field, points[0], (abut_interpolation)2, values));
    assert_refused("null", abut_field_evaluate(NULL, points[0], 0, values));
    assert_refused("null", abut_field_evaluate(field, points[0], 0, NULL));
}
