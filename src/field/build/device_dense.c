/* A field for the CPU that a device builds: the same values, which come back slab by slab. */
#include "field/build/device.h"

enum { SLAB_CELLS = 1 << 20 };

static abut_status fetch(abut_field *field, bvh_on_device *there, abuti_buffer *values,
                         void (*put)(abut_field *field, size_t at, const float *values,
                                     size_t count)) {
    size_t cells = grid_cells(&field->grid), most = cells < SLAB_CELLS ? cells : SLAB_CELLS;
    double least, highest; /* of floats; the caller finds those of what is stored */
    abut_status status =
        abuti_device_field_fill(there, &field->grid, NULL, field->band, values, &least, &highest);
    float *slab = abuti_allocate(field->context, most, sizeof *slab);
    if (!status && !slab)
        status = ABUT_ERROR_MEMORY;
    for (size_t first = 0; first < cells && !status; first += most) {
        size_t count = cells - first < most ? cells - first : most;
        status = abuti_buffer_download(&there->queue, values, first * sizeof *slab, slab,
                                       count * sizeof *slab);
        if (!status)
            put(field, first, slab, count);
    }
    abuti_release(field->context, slab);
    return status ? status : abuti_progress(field->context, "field", 1);
}

abut_status abuti_field_dense_on(abut_field *field, const abut_bvh *bvh,
                                 void (*put)(abut_field *field, size_t at, const float *values,
                                             size_t count)) {
    bvh_on_device *there = NULL;
    abuti_buffer values = {0};
    abut_status status = abuti_bvh_there_copy(bvh, field->device, &there);
    if (!status)
        status = abuti_device_field_check("abut_field_create", there, &field->grid);
    if (!status)
        status =
            abuti_buffer_create(field->device, grid_cells(&field->grid), sizeof(float), &values);
    status = status ? status : fetch(field, there, &values, put);
    abuti_buffer_destroy(&values);
    abuti_bvh_there_destroy(there);
    return status;
}
