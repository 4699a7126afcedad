/* Storage of fields: memory, the range of values, fields from given values, the digest of the mesh,
 * and transfer of values between a device and the CPU. */
#include "field/field.h"

#include <math.h>
#include <sched.h>

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
    abuti_field_count(field);
    abut_status status;
    if (field->layout == ABUT_FIELD_SPARSE && (status = abuti_field_reserve_index(field)))
        return status;
    field->values = abuti_allocate(field->context, field->value_count, field_value_bytes(field));
    return field->values ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* ---- range of values, and the view for interpolation ---- */

enum { VALUES_PER_TASK = 1 << 18, TASKS_MAX = 256 };

bool abuti_field_range(const float *values, size_t count, float *lowest, float *highest) {
    float lo = *lowest, hi = *highest, not_finite = 0;
    for (size_t i = 0; i < count; i++) {
        lo = values[i] < lo ? values[i] : lo;
        hi = values[i] > hi ? values[i] : hi;
        not_finite += values[i] * 0; /* NaN after a value that is not finite */
    }
    *lowest = lo;
    *highest = hi;
    return not_finite == 0;
}

bool abuti_field_values_range(const abut_field *field, const void *values, size_t count,
                              float *lowest, float *highest) {
    if (field->type == ABUT_FIELD_FLOAT)
        return abuti_field_range(values, count, lowest, highest);
    const int16_t *shorts = values;
    int16_t lo = INT16_MAX, hi = INT16_MIN;
    for (size_t i = 0; i < count; i++) {
        lo = shorts[i] < lo ? shorts[i] : lo;
        hi = shorts[i] > hi ? shorts[i] : hi;
    }
    float step = (float)field->step;
    if (count && (float)lo * step < *lowest)
        *lowest = (float)lo * step;
    if (count && (float)hi * step > *highest)
        *highest = (float)hi * step;
    return true;
}

void abuti_field_finish_with(abut_field *field, float lowest, float highest) {
    bool floats = field->type == ABUT_FIELD_FLOAT;
    field->view =
        (field_view){.floats = floats ? field->values : NULL,
                     .shorts = floats ? NULL : field->values,
                     .index = field->index,
                     .coarse = field->coarse,
                     .count = {field->grid.count[0], field->grid.count[1], field->grid.count[2]},
                     .bricks = {field->bricks[0], field->bricks[1], field->bricks[2]},
                     .cell = (float)field->grid.cell,
                     .scale = floats ? 1 : (float)field->step};
    field->lowest = lowest;
    field->highest = highest;
}

typedef struct ranges {
    const abut_field *field;
    float lowest[TASKS_MAX], highest[TASKS_MAX];
} ranges;

static void range_task(void *data, size_t chunk, size_t begin, size_t end) {
    ranges *r = data;
    const abut_field *field = r->field;
    float lowest = INFINITY, highest = -INFINITY;
    const unsigned char *values = field->values;
    abuti_field_values_range(field, values + begin * field_value_bytes(field), end - begin, &lowest,
                             &highest);
    r->lowest[chunk] = lowest;
    r->highest[chunk] = highest;
}

void abuti_field_finish(abut_field *field) {
    ranges r = {.field = field};
    size_t count = field->value_count, grain = count / TASKS_MAX + 1;
    float lowest = INFINITY, highest = -INFINITY;
    grain = grain < VALUES_PER_TASK ? VALUES_PER_TASK : grain;
    abuti_parallel_for(field->context, count, grain, range_task, &r);
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++) {
        lowest = r.lowest[i] < lowest ? r.lowest[i] : lowest;
        highest = r.highest[i] > highest ? r.highest[i] : highest;
    }
    const uint32_t *b = field->bricks;
    if (field->layout == ABUT_FIELD_SPARSE)
        abuti_field_range(field->coarse, ((size_t)b[0] + 1) * (b[1] + 1) * (b[2] + 1), &lowest,
                          &highest);
    abuti_field_finish_with(field, lowest, highest);
}

/* ---- fields from given values ---- */

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
    if (!status)
        status = abuti_field_new(context, &made);
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

/* ---- download ---- */

static abut_status download_values(const abut_field *field, float **values) {
    float *made = abuti_allocate(field->context, field->value_count, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_buffer_fetch(&field->there->memory, 0, field->context, made,
                                            field->value_count * sizeof *made);
    if (status)
        abuti_release(field->context, made);
    else
        *values = made;
    return status;
}

abut_status abuti_field_check_valid(const abut_field *field) {
    return field->broken ? abuti_fail(ABUT_ERROR_DEVICE,
                                      "the values of the field are invalid, since an update on %s "
                                      "failed; update the field again",
                                      field->there->memory.device->info.name)
                         : ABUT_OK;
}

abut_status abuti_field_download(const abut_field *field) {
    abut_field *to = (abut_field *)(uintptr_t)field;
    float *values;
    abut_status status = abuti_field_check_valid(field);
    if (status)
        return status;
    for (;;) {
        int none = FIELD_HOST_NONE;
        if (atomic_compare_exchange_weak(&to->host, &none, FIELD_HOST_DOWNLOADING))
            break;
        if (none == FIELD_HOST_READY) /* another thread has downloaded the values */
            return ABUT_OK;
        sched_yield();
    }
    status = download_values(field, &values);
    if (!status) {
        to->values = values;
        to->view.floats = values;
    }
    atomic_store(&to->host, status ? FIELD_HOST_NONE : FIELD_HOST_READY);
    return status;
}

void abuti_field_invalidate_host(abut_field *field) {
    abuti_release(field->context, field->values);
    field->values = NULL;
    field->view.floats = NULL;
    atomic_store(&field->host, FIELD_HOST_NONE);
}

/* ---- upload ---- */

abut_status abuti_field_upload(abut_field *field, abut_device *device) {
    size_t bytes = field->value_count * sizeof(float);
    if (!field_can_stay_on_device(field))
        return ABUT_OK;
    abut_status status = abut_buffer_create(device, bytes, &field->there);
    if (!status)
        status = abut_buffer_write(field->there, 0, field->values, bytes);
    atomic_store(&field->host, FIELD_HOST_READY);
    return status;
}

const abut_buffer *abut_field_values(const abut_field *field) {
    return field ? field->there : NULL;
}
