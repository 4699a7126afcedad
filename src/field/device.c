/* Fields on a device as users have them. */
#include "field/build/device.h"

#include <math.h>

struct abut_device_field {
    abut_context *context; /* held */
    abut_buffer *values;
    abut_field_info info;
};

/* ---- checks ---- */

abut_status abuti_device_field_check(const char *function, bvh_on_device *bvh,
                                     const abut_grid *grid) {
    abut_status status = abuti_device_sign_ready(function, bvh);
    if (status)
        return status;
    double cells = (double)grid->count[0] * grid->count[1] * grid->count[2];
    if (cells >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: %u x %u x %u cells would take %.3g GiB of the device; at most 2^32 "
                          "cells are possible there",
                          function, grid->count[0], grid->count[1], grid->count[2],
                          cells * 4 / 0x1p30);
    return ABUT_OK;
}

/* ---- making ---- */

static abut_status make(abut_context *context, abut_device *device, const abut_field_info *info,
                        abut_device_field **field) {
    abut_device_field *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->info = *info;
    made->info.layout = ABUT_FIELD_DENSE;
    made->info.type = ABUT_FIELD_FLOAT;
    made->info.step = 0;
    made->info.bricks = 0;
    made->info.bytes = (uint64_t)grid_cells(&info->grid) * sizeof(float);
    abut_status status = abut_buffer_create(device, (size_t)made->info.bytes, &made->values);
    if (status) {
        abut_device_field_destroy(made);
        return status;
    }
    *field = made;
    return ABUT_OK;
}

static abut_status check_options(const abut_field_options *o, const bvh_on_device *bvh) {
    bool by_normals = bvh->sign.normals.device != NULL;
    if (o->layout != ABUT_FIELD_DENSE || o->type != ABUT_FIELD_FLOAT)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "abut_device_field_build: fields on devices are dense and of floats");
    if (o->device && o->device != bvh->queue.device)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_build: options->device is "
                                               "another than that of the hierarchy");
    if (o->sign != ABUT_SIGN_AUTO && (o->sign == ABUT_SIGN_NORMAL) != by_normals)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_build: the hierarchy is not "
                                               "ready for these signs; call "
                                               "abut_sign_prepare() and copy it again");
    return ABUT_OK;
}

abut_status abut_device_field_build(const abut_bvh *from, const abut_field_options *options,
                                    abut_device_field **field) {
    abut_field_options ours;
    abut_field_info info;
    abut_device_field *made = NULL;
    bvh_on_device *bvh = NULL;
    if (!from || !field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_build: %s is null",
                          from ? "field" : "bvh");
    memset(&info, 0, sizeof info);
    abut_status status = abuti_device_of(__func__, from, &bvh);
    status = status ? status : abuti_device_sign_ready(__func__, bvh);
    status = status ? status : abuti_field_options(options, &ours);
    status = status ? status : check_options(&ours, bvh);
    status = status ? status : abuti_field_plan(bvh->tree.mesh, &ours, &info.grid, &info.band);
    status = status ? status : abuti_device_field_check(__func__, bvh, &info.grid);
    if (status)
        return status;
    info.closed = bvh->sign.closed;
    info.sign = bvh->sign.normals.device ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
    status = make(bvh->context, bvh->queue.device, &info, &made);
    status = status ? status : abut_device_field_update(made, from);
    if (status)
        abut_device_field_destroy(made);
    else
        *field = made;
    return status;
}

abut_status abut_device_field_update(abut_device_field *field, const abut_bvh *from) {
    bvh_on_device *bvh = NULL;
    if (!field || !from)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_update: %s is null",
                          field ? "bvh" : "field");
    abut_status status = abuti_device_of(__func__, from, &bvh);
    if (!status)
        status = abuti_device_field_check(__func__, bvh, &field->info.grid);
    if (!status)
        status = abuti_device_check_buffer(__func__, bvh, field->values,
                                           grid_cells(&field->info.grid), sizeof(float), "field");
    if (status)
        return status;
    status =
        abuti_device_field_fill(bvh, &field->info.grid, NULL, field->info.band,
                                &field->values->memory, &field->info.lowest, &field->info.highest);
    if (!status) {
        field->info.closed = bvh->sign.closed;
        field->info.sign = bvh->sign.normals.device ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
    }
    return status ? status : abuti_progress(bvh->context, "field", 1);
}

/* Floats of a slab of layers at a time, so that nothing is needed for dense fields of floats. */
abut_status abut_device_field_create(const abut_field *field, abut_device *device,
                                     abut_device_field **device_field) {
    abut_device_field *made = NULL;
    if (!field || !device || !device_field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_create: %s is null",
                          !field    ? "field"
                          : !device ? "device"
                                    : "device_field");
    abut_field_info info = abut_field_info_get(field);
    const uint32_t *n = info.grid.count;
    size_t layer = (size_t)n[0] * n[1];
    abut_status status = make(field->context, device, &info, &made);
    bool direct = field->layout == ABUT_FIELD_DENSE && field->type == ABUT_FIELD_FLOAT;
    float *values = direct || status ? NULL : abuti_allocate(field->context, layer, sizeof *values);
    if (!status && !direct && !values)
        status = ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < n[2] && !status; k++) {
        const uint32_t begin[3] = {0, 0, k}, count[3] = {n[0], n[1], 1};
        const float *from = direct ? (const float *)field->values + k * layer : values;
        if (!direct)
            status = abut_field_copy(field, begin, count, values);
        if (!status)
            status = abut_buffer_write(made->values, k * layer * sizeof *from, from,
                                       layer * sizeof *from);
    }
    abuti_release(field->context, values);
    if (status)
        abut_device_field_destroy(made);
    else
        *device_field = made;
    return status;
}

void abut_device_field_destroy(abut_device_field *field) {
    if (!field)
        return;
    abut_context *context = field->context;
    abut_buffer_destroy(field->values);
    abuti_release(context, field);
    abut_context_destroy(context);
}

/* ---- what it has ---- */

abut_field_info abut_device_field_info_get(const abut_device_field *field) {
    abut_field_info info;
    memset(&info, 0, sizeof info);
    return field ? field->info : info;
}

const abut_buffer *abut_device_field_values(const abut_device_field *field) {
    return field ? field->values : NULL;
}

abut_status abut_device_field_copy(const abut_device_field *field, const uint32_t begin[3],
                                   const uint32_t count[3], float *values) {
    if (!field || !begin || !count || !values)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_field_copy: an argument is null");
    const uint32_t *cells = field->info.grid.count;
    for (int axis = 0; axis < 3; axis++)
        if (begin[axis] > cells[axis] || count[axis] > cells[axis] - begin[axis])
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_device_field_copy: %u cells from cell %u on along axis %d, but "
                              "there are %u",
                              count[axis], begin[axis], axis, cells[axis]);
    /* rows that follow each other go at once: of whole rows the layer, of whole layers all */
    size_t row = count[0], rows = count[1], layers = count[2];
    if (row == cells[0]) {
        row *= rows;
        rows = 1;
        if (count[1] == cells[1]) {
            row *= layers;
            layers = 1;
        }
    }
    abut_status status = ABUT_OK;
    for (size_t k = 0; k < layers; k++)
        for (size_t j = 0; j < rows && !status; j++) {
            size_t from = grid_at(cells, begin[0], begin[1] + (uint32_t)j, begin[2] + (uint32_t)k);
            status = abut_buffer_read(field->values, from * sizeof *values, values,
                                      row * sizeof *values);
            values += row;
        }
    return status;
}
