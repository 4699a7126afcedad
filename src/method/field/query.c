/* Values and gradients at points; field_shared.h has the interpolation.
 *
 * Points outside the grid: let q be the nearest point of the box of cell centres, and d the
 * distance. If the mesh lies in this box, the segment from p to q and that from q to any point of
 * the mesh form an obtuse angle, so the distance of p is at least sqrt(|p - q|^2 + d(q)^2). The
 * interpolated value may exceed d(q). Distances have a Lipschitz constant of 1, so linear
 * interpolation between the corners c of a cell with weights w exceeds d(q) by at most sum w |q -
 * c|. By Jensen's inequality this is at most sqrt(sum w |q - c|^2), which is the cell size times
 * the square root of the sum of f (1 - f) over the fractions f along the axes. This is subtracted
 * from the value before it is used as d(q).
 */
#include "field/field.h"

#include "bvh/points.h"

#include <math.h>

enum { POINTS_PER_TASK = 4096, CELLS_PER_TASK = 1 << 16 };

/* ---- points ---- */

/* More than all rounding errors of an interpolated float, relative. */
#define INTERPOLATION_ROUNDING 1e-6

static double lower_bound_at_grid(const abut_field *field, const field_place *place, double value) {
    bool coarse = field->index && field_brick_of(&field->view, place) == ABUT_NONE;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        double f = place->fraction[axis];
        if (coarse)
            f = (place->cell[axis] % FIELD_BRICK + f) / FIELD_BRICK;
        sum += f * (1 - f);
    }
    double less = sqrt(sum) * field->grid.cell * (coarse ? FIELD_BRICK : 1) + 0.5 * field->step;
    return real_max(0, value - less - INTERPOLATION_ROUNDING * fabs(value));
}

static void extend_outside_grid(const abut_field *field, const field_place *place, vec3 away,
                                abut_field_value *value) {
    double out = v3_length(away), at_box = lower_bound_at_grid(field, place, value->distance);
    value->distance = sqrt(out * out + at_box * at_box);
    value->gradient = v3_normalise(v3_along(away, at_box, value->gradient));
    value->within = false;
}

/* Arguments are passed by pointer: structs returned by value are written in parts and read as a
 * whole, which defeats store forwarding. */
static void evaluate_point(const abut_field *field, const vec3 *point,
                           abut_interpolation interpolation, abut_field_value *value) {
    const abut_grid *g = &field->grid;
    const field_view *view = &field->view;
    const vec3 at = {(point->x - g->origin.x) / g->cell, (point->y - g->origin.y) / g->cell,
                     (point->z - g->origin.z) / g->cell};
    const vec3 near = {real_clamp(at.x, 0, g->count[0] - 1), real_clamp(at.y, 0, g->count[1] - 1),
                       real_clamp(at.z, 0, g->count[2] - 1)};
    field_place place;
    place.fraction[0] = field_fraction(near.x, g->count[0], &place.cell[0]);
    place.fraction[1] = field_fraction(near.y, g->count[1], &place.cell[1]);
    place.fraction[2] = field_fraction(near.z, g->count[2], &place.cell[2]);
    bool within = at.x == near.x && at.y == near.y && at.z == near.z;
    bool cubic =
        interpolation == ABUT_INTERPOLATION_CUBIC && within && field_has_cubic(view, &place);
    field_sample s = cubic ? field_at_cubic(view, &place) : field_at_linear(view, &place);
    value->distance = s.distance;
    value->gradient.x = s.x;
    value->gradient.y = s.y;
    value->gradient.z = s.z;
    value->within = within;
    if (!within)
        extend_outside_grid(field, &place, v3_scale(v3_sub(at, near), g->cell), value);
}

static abut_status check_query(const char *function, const abut_field *field,
                               abut_interpolation interpolation) {
    if (!field)
        return abuti_null(function, "field");
    if ((unsigned)interpolation > ABUT_INTERPOLATION_CUBIC)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: interpolation is %u; it must be an abut_interpolation", function,
                          (unsigned)interpolation);
    return abuti_field_host(field);
}

abut_status abut_field_evaluate(const abut_field *field, abut_vec3 point,
                                abut_interpolation interpolation, abut_field_value *value) {
    abut_status status = check_query("abut_field_evaluate", field, interpolation);
    if (status)
        return status;
    if (!value)
        return abuti_null(__func__, "value");
    if (!(v3_max_abs(point) <= ABUT_COORDINATE_MAX && point.x == point.x && point.y == point.y &&
          point.z == point.z))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_field_evaluate: the point is (%g, %g, %g); coordinates must be finite "
            "and at most %g in magnitude",
            point.x, point.y, point.z, ABUT_COORDINATE_MAX);
    evaluate_point(field, &point, interpolation, value);
    return ABUT_OK;
}

typedef struct batch {
    const abut_field *field;
    abut_interpolation interpolation;
    bvh_points points;
    abut_field_value *values;
} batch;

static void points_task(void *data, size_t chunk, size_t begin, size_t end) {
    const batch *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const vec3 point = bvh_point_at(&b->points, i);
        evaluate_point(b->field, &point, b->interpolation, &b->values[i]);
    }
}

abut_status abut_field_evaluate_batch(const abut_field *field, abut_array points, size_t count,
                                      abut_interpolation interpolation, abut_field_value *values) {
    batch b = {.field = field, .interpolation = interpolation, .values = values};
    abut_status status = check_query("abut_field_evaluate_batch", field, interpolation);
    if (!status)
        status = abuti_bvh_points_read("abut_field_evaluate_batch", NULL, points, count, &b.points);
    if (!status && !values && b.points.count)
        status = abuti_null(__func__, "values");
    if (!status)
        status = abuti_bvh_points_check("abut_field_evaluate_batch", field->context, &b.points);
    if (!status)
        abuti_parallel_for(field->context, b.points.count, POINTS_PER_TASK, points_task, &b);
    return status;
}

/* ---- cells of a box ---- */

typedef struct box_copy_task {
    const abut_field *field;
    const uint32_t *begin, *count;
    float *to;
} box_copy_task;

static float value_of_cell(const field_view *view, const uint32_t at[3]) {
    field_place place;
    for (int axis = 0; axis < 3; axis++)
        place.fraction[axis] = field_fraction(at[axis], view->count[axis], &place.cell[axis]);
    return field_at_linear(view, &place).distance;
}

static void copy_row(const box_copy_task *c, size_t row) {
    const abut_field *field = c->field;
    const uint32_t count = c->count[0], *cells = field->grid.count;
    uint32_t at[3] = {c->begin[0], c->begin[1] + (uint32_t)(row % c->count[1]),
                      c->begin[2] + (uint32_t)(row / c->count[1])};
    float *to = c->to + row * count;
    size_t first = grid_at(cells, at[0], at[1], at[2]);
    if (field->layout == ABUT_FIELD_SPARSE) {
        for (uint32_t i = 0; i < count; i++, at[0]++)
            to[i] = value_of_cell(&field->view, at);
    } else if (field->type == ABUT_FIELD_FLOAT) {
        memcpy(to, (const float *)field->values + first, count * sizeof *to);
    } else {
        for (uint32_t i = 0; i < count; i++)
            to[i] = field_value(field, first + i);
    }
}

static void copy_rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (size_t row = begin; row < end; row++)
        copy_row(data, row);
}

/* Whether a request is for whole layers of a field whose values are only on a device. */
static bool needs_device_layers(const abut_field *field, const uint32_t count[3]) {
    return field->there && count[0] == field->grid.count[0] && count[1] == field->grid.count[1] &&
           atomic_load(&((abut_field *)(uintptr_t)field)->host) != FIELD_HOST_READY;
}

static abut_status download_layers(const abut_field *field, uint32_t first, uint32_t count,
                                   float *values) {
    const size_t layer = (size_t)field->grid.count[0] * field->grid.count[1] * sizeof *values;
    abut_status status = abuti_field_check_valid(field);
    return status ? status
                  : abuti_buffer_fetch(&field->there->memory, first * layer, field->context, values,
                                       count * layer);
}

abut_status abut_field_copy(const abut_field *field, const uint32_t begin[3],
                            const uint32_t count[3], float *values) {
    if (!field || !begin || !count || !values)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_copy: an argument is null");
    const uint32_t *cells = field->grid.count;
    for (int axis = 0; axis < 3; axis++)
        if (begin[axis] > cells[axis] || count[axis] > cells[axis] - begin[axis])
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_field_copy: %u cells from cell %u on along axis %d exceed the "
                              "grid, which has %u",
                              count[axis], begin[axis], axis, cells[axis]);
    if (needs_device_layers(field, count))
        return download_layers(field, begin[2], count[2], values);
    abut_status status = abuti_field_host(field);
    if (status || !count[0])
        return status;
    box_copy_task c = {field, begin, count, values};
    abuti_parallel_for(field->context, (size_t)count[1] * count[2], CELLS_PER_TASK / count[0] + 1,
                       copy_rows_task, &c);
    return ABUT_OK;
}
