/* Fields back to meshes, and fields of fields. */
#include "mesh/isosurface.h"

#include "field/field.h"

#include <math.h>

/* ---- surface ---- */

static abut_status give_layer(void *data, uint32_t k, float *values) {
    const abut_field *field = data;
    const uint32_t begin[3] = {0, 0, k}, count[3] = {field->grid.count[0], field->grid.count[1], 1};
    return abut_field_copy(field, begin, count, values);
}

abut_status abut_field_isosurface(const abut_field *field, double level, abut_mesh **mesh) {
    if (!field || !mesh)
        return abuti_null(__func__, field ? "mesh" : "field");
    if (!(fabs(level) <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_isosurface: level is %g; it must be a distance", level);
    const abuti_levels levels = {.count = {field->grid.count[0], field->grid.count[1],
                                           field->grid.count[2]},
                                 .origin = field->grid.origin,
                                 .cell = field->grid.cell,
                                 .level = level,
                                 .layer = give_layer,
                                 .data = (void *)field};
    return abuti_surface_extract(field->context, "abut_field_isosurface", &levels, mesh);
}

/* ---- combinations ---- */

static float combined(float a, float b, abut_combination how) {
    switch (how) {
    case ABUT_COMBINATION_UNION:
        return b < a ? b : a;
    case ABUT_COMBINATION_INTERSECTION:
        return a < b ? b : a;
    default:
        return a < -b ? -b : a;
    }
}

static abut_status fill(const abut_field *a, const abut_field *b, abut_combination how,
                        abut_field *result) {
    const uint32_t *n = a->grid.count, count[3] = {n[0], n[1], 1};
    size_t cells = (size_t)n[0] * n[1];
    float *other = abuti_allocate(a->context, cells, sizeof *other);
    abut_status status = other ? abuti_field_reserve(result) : ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < n[2] && !status; k++) {
        const uint32_t begin[3] = {0, 0, k};
        float *to = (float *)result->values + cells * k;
        status = abut_field_copy(a, begin, count, to);
        status = status ? status : abut_field_copy(b, begin, count, other);
        for (size_t i = 0; i < cells && !status; i++)
            to[i] = combined(to[i], other[i], how);
        status = status ? status : abuti_progress(a->context, "field", (k + 1.0) / n[2]);
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
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_combine: combination %u is none",
                          (unsigned)how);
    const abut_grid *p = &a->grid, *q = &b->grid;
    if (p->cell != q->cell || p->origin.x != q->origin.x || p->origin.y != q->origin.y ||
        p->origin.z != q->origin.z || memcmp(p->count, q->count, sizeof p->count) != 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_field_combine: the grids differ; build both fields with the same "
                          "options.grid");
    abut_status status = abuti_field_new(a->context, &made);
    if (status)
        return status;
    made->grid = a->grid;
    made->band = real_min(a->band, b->band);
    made->closed = a->closed && b->closed;
    made->advice = a->advice.verdict >= b->advice.verdict ? a->advice : b->advice;
    made->sign = a->sign == b->sign ? a->sign : ABUT_SIGN_AUTO;
    status = fill(a, b, how, made);
    if (status) {
        abut_field_destroy(made);
        return status;
    }
    abuti_field_finish(made);
    *result = made;
    return ABUT_OK;
}
