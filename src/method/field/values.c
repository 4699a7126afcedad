/* Fields from given values: allocation, validation, and comparison of the mesh by its digest. */
#include "field/field.h"

#include <math.h>

/* ---- memory ---- */

abut_reliability abuti_field_values_reliability(void) {
    return abuti_guaranteed("Signs are those of the values that the field was created from.");
}

abut_status abuti_field_new(abut_context *context, abut_field **field) {
    context = abuti_context_of(context);
    abut_field *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    atomic_init(&made->holds, 1);
    made->band = INFINITY;
    made->reliability = abuti_field_values_reliability();
    *field = made;
    return ABUT_OK;
}

void abuti_field_count(abut_field *field) {
    field->value_count = grid_cells(&field->grid);
    if (field->layout != ABUT_FIELD_SPARSE)
        return;
    for (int axis = 0; axis < 3; axis++)
        field->bricks[axis] = (field->grid.count[axis] - 1 + FIELD_BRICK - 1) / FIELD_BRICK;
    field->value_count = (size_t)field->brick_count * FIELD_VALUES;
}

abut_status abuti_field_reserve(abut_field *field) {
    size_t bricks = 1, corners = 1;
    abuti_field_count(field);
    if (field->layout == ABUT_FIELD_SPARSE) {
        for (int axis = 0; axis < 3; axis++) {
            bricks *= field->bricks[axis];
            corners *= field->bricks[axis] + 1;
        }
        field->index = abuti_allocate(field->context, bricks, sizeof *field->index);
        field->coarse = abuti_allocate(field->context, corners, sizeof *field->coarse);
        if (!field->index || !field->coarse)
            return ABUT_ERROR_MEMORY;
    }
    field->values = abuti_allocate(field->context, field->value_count, field_value_bytes(field));
    return field->values ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static bool all_finite(const float *values, size_t count) {
    float lowest = 0, highest = 0;
    return abuti_field_range(values, count, &lowest, &highest);
}

abut_status abut_field_create_values(abut_context *context, const abut_grid *grid,
                                     const float *values, abut_field **field) {
    abut_field *made;
    if (!grid || !values || !field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_create_values: an argument is null");
    abut_status status = abuti_field_check_grid("abut_field_create_values", grid);
    if (!status && (double)grid->count[0] * grid->count[1] * grid->count[2] > 0x1p44)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_field_create_values: %u x %u x %u cells exceed the address "
                            "space; use fewer cells",
                            grid->count[0], grid->count[1], grid->count[2]);
    if (!status && !all_finite(values, grid_cells(grid)))
        status = abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_field_create_values: a value is not finite; all values must be finite");
    status = status ? status : abuti_field_new(context, &made);
    if (status)
        return status;
    made->grid = *grid;
    status = abuti_field_reserve(made);
    if (status) {
        abut_field_destroy(made);
        return status;
    }
    memcpy(made->values, values, made->value_count * sizeof *values);
    abuti_field_finish(made);
    *field = made;
    return ABUT_OK;
}

/* ---- mesh digest ---- */

void abuti_mesh_digest(const abut_mesh *mesh, unsigned char digest[ABUTI_DIGEST_BYTES]) {
    abuti_digest sum;
    abuti_digest_begin(&sum);
    uint32_t counts[2] = {mesh->vertex_count, mesh->triangle_count};
    abuti_digest_add(&sum, counts, sizeof counts);
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        vec3 p = abuti_mesh_position(mesh, i);
        abuti_digest_add(&sum, &p, sizeof p);
    }
    abuti_digest_add(&sum, mesh->indices, 3 * sizeof *mesh->indices * (size_t)mesh->triangle_count);
    abuti_digest_end(&sum, digest);
}

bool abuti_field_digest(const abut_field *field, unsigned char digest[ABUTI_DIGEST_BYTES]) {
    if (field->mesh && !field->has_digest)
        abuti_mesh_digest(field->mesh, digest);
    else
        memcpy(digest, field->digest, ABUTI_DIGEST_BYTES);
    return field->mesh || field->has_digest;
}

abut_status abut_field_matches_mesh(const abut_field *field, const abut_mesh *mesh, bool *is) {
    unsigned char ours[ABUTI_DIGEST_BYTES], theirs[ABUTI_DIGEST_BYTES];
    if (!field || !mesh || !is)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_field_matches_mesh: an argument is null");
    if (field->mesh == mesh) {
        *is = true;
        return ABUT_OK;
    }
    abuti_mesh_digest(mesh, theirs);
    *is = abuti_field_digest(field, ours) && memcmp(ours, theirs, sizeof ours) == 0;
    return ABUT_OK;
}
