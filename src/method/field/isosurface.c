/* Isosurfaces and offset surfaces of fields, and Boolean combinations of fields. */
#include "mesh/marching_cubes.h"

#include "field/field.h"

#include <math.h>

/* ---- isosurface ---- */

static abut_status copy_isosurface_layer(void *data, uint32_t k, float *values) {
    const abut_field *field = data;
    const uint32_t begin[3] = {0, 0, k}, count[3] = {field->grid.count[0], field->grid.count[1], 1};
    return abut_field_copy(field, begin, count, values);
}

/* Whether a value on a face of the grid is below the level. Then the isosurface would have a
 * boundary there, or a part would be missing. */
static abut_status find_boundary_below(const abut_field *field, double level, bool *below) {
    const uint32_t *n = field->grid.count;
    *below = false;
    for (int axis = 0; axis < 3 && !*below; axis++) {
        uint32_t count[3] = {n[0], n[1], n[2]};
        count[axis] = 1;
        const size_t cells = (size_t)count[0] * count[1] * count[2];
        float *values = abuti_allocate(field->context, cells, sizeof *values);
        if (!values)
            return ABUT_ERROR_MEMORY;
        abut_status status = ABUT_OK;
        for (int side = 0; side < 2 && !*below && !status; side++) {
            uint32_t begin[3] = {0, 0, 0};
            begin[axis] = side ? n[axis] - 1 : 0;
            status = abut_field_copy(field, begin, count, values);
            for (size_t i = 0; i < cells && !status && !*below; i++)
                *below = values[i] < level;
        }
        abuti_release(field->context, values);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* The smallest distance between the bounding box of the mesh and the outermost cell centres. */
static double inner_margin(const abut_field *field) {
    const abut_grid *g = &field->grid;
    double least = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        const double first = v3_get(g->origin, axis), last = first + g->cell * (g->count[axis] - 1);
        least = real_min(least, v3_get(field->mesh->bounds.lo, axis) - first);
        least = real_min(least, last - v3_get(field->mesh->bounds.hi, axis));
    }
    return least;
}

static abut_status check_level(const abut_field *field, double level) {
    static const char function[] = "abut_field_isosurface";
    if (!(fabs(level) <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: level is %g; it must be finite", function,
                          level);
    if (!(fabs(level) < field->band))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: level %g is outside the band of the field, which is %g; create the "
                          "field with a band of at least %g",
                          function, level, field->band, fabs(level) + field->grid.cell);
    bool below;
    abut_status status = find_boundary_below(field, level, &below);
    if (status || !below)
        return status;
    if (!field->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: level %g exceeds values on the boundary of the grid; use a larger "
                          "grid, on whose faces all values are above the level",
                          function, level);
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "%s: the isosurface of level %g would leave the grid, whose outermost cells are %g from "
        "the mesh; create the field with a margin of at least %g, or call abut_field_offset()",
        function, level, inner_margin(field), level + 2 * field->grid.cell);
}

abut_status abut_field_isosurface(const abut_field *field, double level, abut_mesh **mesh) {
    if (!field || !mesh)
        return abuti_null(__func__, field ? "mesh" : "field");
    abut_status status = check_level(field, level);
    if (status)
        return status;
    const abuti_isosurface_grid levels = {.count = {field->grid.count[0], field->grid.count[1],
                                                    field->grid.count[2]},
                                          .origin = field->grid.origin,
                                          .cell = field->grid.cell,
                                          .level = level,
                                          .layer = copy_isosurface_layer,
                                          .data = (void *)field};
    return abuti_isosurface_extract(field->context, "abut_field_isosurface", &levels, mesh);
}

/* The margin is the distance and OFFSET_CELLS cells. Half a cell lies outside the outermost
 * centres, and sparse fields have bricks within three cells of the mesh. */
#define OFFSET_CELLS 2.5
enum { OFFSET_CELLS_DEFAULT = 64 };

abut_status abut_field_offset(abut_mesh *mesh, double distance, const abut_field_options *options,
                              abut_mesh **offset) {
    abut_field_options ours = abut_field_options_default();
    abut_field *field = NULL;
    if (!mesh || !offset)
        return abuti_null(__func__, mesh ? "offset" : "mesh");
    if (!(fabs(distance) <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: distance is %g; it must be finite", __func__,
                          distance);
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_field_offset");
    if (status)
        return status;
    if (ours.margin > 0 || ours.grid.count[0] || ours.grid.count[1] || ours.grid.count[2])
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: options->margin and options->grid must be 0, since they follow from the distance; "
            "for other grids call abut_field_create() and abut_field_isosurface()",
            __func__);
    const vec3 extent = v3_sub(mesh->bounds.hi, mesh->bounds.lo);
    const double out = real_max(distance, 0),
                 cells = ours.cells ? ours.cells : OFFSET_CELLS_DEFAULT;
    if (!(ours.cell > 0) && !(cells > 2 * OFFSET_CELLS + 1))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->cells is %u; it must be 0 (default) or at least 7",
                          __func__, ours.cells);
    const double cell =
        ours.cell > 0 ? ours.cell : (v3_max_abs(extent) + 2 * out) / (cells - 2 * OFFSET_CELLS);
    ours.margin = out + OFFSET_CELLS * cell;
    if (ours.layout == ABUT_FIELD_SPARSE && !(ours.band > 0))
        ours.band = fabs(distance) + 3 * cell;
    status = abut_field_create(mesh, &ours, &field);
    if (!status)
        status = abut_field_isosurface(field, distance, offset);
    abut_field_destroy(field);
    return status;
}

/* ---- combinations ---- */

static float combine_values(float a, float b, abut_combination how) {
    switch (how) {
    case ABUT_COMBINATION_UNION:
        return b < a ? b : a;
    case ABUT_COMBINATION_INTERSECTION:
        return a < b ? b : a;
    default:
        return a < -b ? -b : a;
    }
}

static abut_status fill_combination(const abut_field *a, const abut_field *b, abut_combination how,
                                    abut_field *result) {
    const uint32_t *n = a->grid.count, count[3] = {n[0], n[1], 1};
    size_t cells = (size_t)n[0] * n[1];
    float *other = abuti_allocate(a->context, cells, sizeof *other);
    abut_status status = other ? abuti_field_reserve(result) : ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < n[2] && !status; k++) {
        const uint32_t begin[3] = {0, 0, k};
        float *to = (float *)result->values + cells * k;
        status = abut_field_copy(a, begin, count, to);
        if (!status)
            status = abut_field_copy(b, begin, count, other);
        for (size_t i = 0; i < cells && !status; i++)
            to[i] = combine_values(to[i], other[i], how);
        if (!status)
            status = abuti_progress(a->context, "field", (k + 1.0) / n[2]);
    }
    abuti_release(a->context, other);
    return status;
}

abut_status abut_field_combine(const abut_field *a, const abut_field *b, abut_combination how,
                               abut_field **result) {
    abut_field *made;
    if (!a || !b || !result)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_combine: an argument is null");
    if ((unsigned)how > ABUT_COMBINATION_DIFFERENCE)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_combine: combination is %u; it must be an abut_combination",
                          (unsigned)how);
    const abut_grid *p = &a->grid, *q = &b->grid;
    if (p->cell != q->cell || p->origin.x != q->origin.x || p->origin.y != q->origin.y ||
        p->origin.z != q->origin.z || memcmp(p->count, q->count, sizeof p->count) != 0)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_field_combine: the grids differ; build both fields with the same options->grid");
    abut_status status = abuti_field_new(a->context, &made);
    if (status)
        return status;
    made->grid = a->grid;
    made->band = real_min(a->band, b->band);
    made->closed = a->closed && b->closed;
    made->reliability =
        a->reliability.level >= b->reliability.level ? a->reliability : b->reliability;
    made->sign = a->sign == b->sign ? a->sign : ABUT_SIGN_AUTO;
    status = fill_combination(a, b, how, made);
    if (status) {
        abut_field_destroy(made);
        return status;
    }
    abuti_field_finish(made);
    *result = made;
    return ABUT_OK;
}
