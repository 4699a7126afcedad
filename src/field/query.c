/* Values and gradients between cells.
 *
 * Trilinear: with the eight values around a point and its fractions of a cell, the value is linear
 * along each axis, and the gradient is that of this very function, so it fits the value. Beyond the
 * grid: let q be the nearest point of the box of centres. All of a mesh that lies in this box is
 * at an obtuse angle behind q, so its distance is at least sqrt(|p - q|^2 + d(q)^2).
 */
#include "field/field.h"

#include "bvh/points.h"

#include <math.h>

enum { POINTS_A_TASK = 4096 };

/* ---- cells ---- */

/* Eight values, x fastest, between which a place is, and its fraction of the way. */
typedef struct corners {
    float value[8];
    double fraction[3];
    double width; /* between centres: of a cell, or of a brick where only its corners are known */
} corners;

static void take_corners(const abut_field *field, size_t first, size_t row, size_t layer,
                         corners *c) {
    for (size_t i = 0; i < 8; i++)
        c->value[i] = field_value(field, first + (i & 1) + (i >> 1 & 1) * row + (i >> 2) * layer);
}

static void corners_sparse(const abut_field *field, const uint32_t at[3], corners *c) {
    uint32_t brick[3], in[3];
    for (int axis = 0; axis < 3; axis++) {
        brick[axis] = at[axis] / FIELD_BRICK;
        in[axis] = at[axis] % FIELD_BRICK;
    }
    uint32_t stored = field->index[grid_at(field->bricks, brick[0], brick[1], brick[2])];
    if (stored != ABUT_NONE) {
        const uint32_t side[3] = {FIELD_SIDE, FIELD_SIDE, FIELD_SIDE};
        take_corners(field, (size_t)stored * FIELD_VALUES + grid_at(side, in[0], in[1], in[2]),
                     FIELD_SIDE, FIELD_SIDE * FIELD_SIDE, c);
        return;
    }
    const uint32_t count[3] = {field->bricks[0] + 1, field->bricks[1] + 1, field->bricks[2] + 1};
    for (uint32_t i = 0; i < 8; i++)
        c->value[i] = field->coarse[grid_at(count, brick[0] + (i & 1), brick[1] + (i >> 1 & 1),
                                            brick[2] + (i >> 2))];
    c->width *= FIELD_BRICK;
    for (int axis = 0; axis < 3; axis++)
        c->fraction[axis] = (in[axis] + c->fraction[axis]) / FIELD_BRICK;
}

/* `place`: in cells from the first centre on, within the grid. */
static corners corners_at(const abut_field *field, const double place[3]) {
    const uint32_t *count = field->grid.count;
    uint32_t at[3];
    corners c;
    c.width = field->grid.cell;
    for (int axis = 0; axis < 3; axis++) {
        at[axis] = (uint32_t)place[axis];
        at[axis] = at[axis] > count[axis] - 2 ? count[axis] - 2 : at[axis];
        c.fraction[axis] = place[axis] - at[axis];
    }
    if (field->layout == ABUT_FIELD_SPARSE)
        corners_sparse(field, at, &c);
    else
        take_corners(field, grid_at(count, at[0], at[1], at[2]), count[0],
                     (size_t)count[0] * count[1], &c);
    return c;
}

/* ---- interpolation ---- */

static abut_field_value interpolate(const corners *c) {
    double x = c->fraction[0], y = c->fraction[1], z = c->fraction[2];
    const float *v = c->value;
    /* along x, on the four edges; then along y, on two faces; then along z */
    double slope[4], edge[4];
    for (int i = 0; i < 4; i++) {
        slope[i] = (double)v[2 * i + 1] - v[2 * i];
        edge[i] = v[2 * i] + x * slope[i];
    }
    double rise[2] = {edge[1] - edge[0], edge[3] - edge[2]};
    double face[2] = {edge[0] + y * rise[0], edge[2] + y * rise[1]};
    double near = slope[0] + y * (slope[1] - slope[0]), far = slope[2] + y * (slope[3] - slope[2]);
    abut_field_value value = {face[0] + z * (face[1] - face[0]),
                              {(near + z * (far - near)) / c->width,
                               (rise[0] + z * (rise[1] - rise[0])) / c->width,
                               (face[1] - face[0]) / c->width},
                              true};
    return value;
}

/* ---- points ---- */

static abut_field_value value_at(const abut_field *field, vec3 point) {
    const abut_grid *g = &field->grid;
    double place[3], beyond[3];
    bool within = true;
    for (int axis = 0; axis < 3; axis++) {
        double at = (v3_get(point, axis) - v3_get(g->origin, axis)) / g->cell;
        place[axis] = real_clamp(at, 0, g->count[axis] - 1);
        beyond[axis] = (at - place[axis]) * g->cell;
        within = within && at == place[axis];
    }
    corners c = corners_at(field, place);
    abut_field_value value = interpolate(&c);
    if (within)
        return value;
    vec3 away = v3(beyond[0], beyond[1], beyond[2]);
    double out = v3_length(away), at_box = real_max(value.distance, 0);
    value.distance = sqrt(out * out + at_box * at_box);
    value.gradient = v3_normalise(v3_along(away, at_box, value.gradient));
    value.within = false;
    return value;
}

static abut_status check_call(const char *function, const abut_field *field,
                              abut_interpolation interpolation) {
    if (!field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: field is null", function);
    if ((unsigned)interpolation > ABUT_INTERPOLATION_CUBIC)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: interpolation is %u, which is none", function,
                          (unsigned)interpolation);
    if (interpolation == ABUT_INTERPOLATION_CUBIC)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED, "%s: cubic interpolation is not there yet",
                          function);
    return ABUT_OK;
}

abut_status abut_field_at(const abut_field *field, abut_vec3 point,
                          abut_interpolation interpolation, abut_field_value *value) {
    abut_status status = check_call("abut_field_at", field, interpolation);
    if (status)
        return status;
    if (!value)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_at: value is null");
    if (!(v3_max_abs(point) <= ABUT_COORDINATE_MAX && point.x == point.x && point.y == point.y &&
          point.z == point.z))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_at: the point is (%g, %g, %g); coordinates must be finite "
                          "and at most %g in magnitude",
                          point.x, point.y, point.z, ABUT_COORDINATE_MAX);
    *value = value_at(field, point);
    return ABUT_OK;
}

typedef struct batch {
    const abut_field *field;
    bvh_points points;
    abut_field_value *values;
} batch;

static void points_task(void *data, size_t chunk, size_t begin, size_t end) {
    const batch *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        b->values[i] = value_at(b->field, bvh_point_at(&b->points, i));
}

abut_status abut_field_at_batch(const abut_field *field, const abut_points *points,
                                abut_interpolation interpolation, abut_field_value *values) {
    batch b = {.field = field, .values = values};
    box3 bounds;
    abut_status status = check_call("abut_field_at_batch", field, interpolation);
    status = status ? status : abuti_bvh_points_read("abut_field_at_batch", points, &b.points);
    if (!status && !values && b.points.count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_at_batch: values is null");
    status =
        status ? status
               : abuti_bvh_points_check("abut_field_at_batch", field->context, &b.points, &bounds);
    if (!status)
        abuti_parallel_for(field->context, b.points.count, POINTS_A_TASK, points_task, &b);
    return status;
}

/* ---- cells of a box ---- */

abut_status abut_field_read(const abut_field *field, const uint32_t begin[3],
                            const uint32_t count[3], float *values) {
    if (!field || !begin || !count || !values)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_read: an argument is null");
    const uint32_t *cells = field->grid.count;
    for (int axis = 0; axis < 3; axis++)
        if (begin[axis] > cells[axis] || count[axis] > cells[axis] - begin[axis])
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_field_read: %u cells from cell %u on along axis %d, but there "
                              "are %u",
                              count[axis], begin[axis], axis, cells[axis]);
    for (uint32_t k = 0; k < count[2]; k++)
        for (uint32_t j = 0; j < count[1]; j++)
            for (uint32_t i = 0; i < count[0]; i++) {
                uint32_t at[3] = {begin[0] + i, begin[1] + j, begin[2] + k};
                float *to = values + grid_at(count, i, j, k);
                if (field->layout == ABUT_FIELD_DENSE) {
                    *to = field_value(field, grid_at(cells, at[0], at[1], at[2]));
                } else {
                    const double place[3] = {at[0], at[1], at[2]};
                    corners c = corners_at(field, place);
                    *to = (float)interpolate(&c).distance;
                }
            }
    return ABUT_OK;
}
