/* Transfer of field values between a device and the CPU. */
#include "field/field.h"

#include <sched.h>

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
    status = status ? status : abut_buffer_write(field->there, 0, field->values, bytes);
    atomic_store(&field->host, FIELD_HOST_READY);
    return status;
}

const abut_buffer *abut_field_values(const abut_field *field) {
    return field ? field->there : NULL;
}
