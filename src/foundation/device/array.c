/* Arrays of callers: validation, and conversion of inputs to contiguous doubles. */
#include "device/array.h"

const char *abut_scalar_type_name(abut_scalar_type type) {
    static const char *const names[] = {"none", "float64", "float32"};
    return ABUTI_NAME(names, type);
}

abut_status abuti_array_check_plain(const char *function, const char *what, abut_array array) {
    if (array.type == ABUT_SCALAR_NONE && !array.stride)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s has a type (%d) or a stride (%zu); it must be contiguous and of the "
                      "documented type, with both 0",
                      function, what, (int)array.type, array.stride);
}

static size_t element_bytes(abut_array array, uint32_t numbers) {
    return numbers * (array.type == ABUT_SCALAR_FLOAT32 ? sizeof(float) : sizeof(double));
}

abut_status abuti_array_check_input(const char *function, const char *what, abut_array array,
                                    size_t count, uint32_t numbers) {
    const size_t packed = element_bytes(array, numbers);
    size_t bytes;
    if ((uint32_t)array.type > ABUT_SCALAR_FLOAT32)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s.type is %d; it must be from 0 to %d (abut_scalar_type)", function,
                          what, (int)array.type, ABUT_SCALAR_FLOAT32);
    if (array.stride &&
        (array.stride < packed || abuti_multiply_overflows(array.stride, count, &bytes)))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: %s.stride is %zu for %zu elements; it must be at least %zu, or 0 for "
            "contiguous elements",
            function, what, array.stride, count, packed);
    if (array.buffer && array.stride && array.stride != packed)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s.stride is %zu, but elements in a buffer must be contiguous; set "
                          "it to 0",
                          function, what, array.stride);
    return ABUT_OK;
}

abut_status abuti_array_convert(const char *function, const char *what, abut_context *context,
                                abut_array *array, size_t count, uint32_t numbers, void **copy) {
    const size_t packed = element_bytes(*array, numbers);
    const bool is_float = array->type == ABUT_SCALAR_FLOAT32;
    const size_t stride = array->stride ? array->stride : packed;
    *copy = NULL;
    abut_status status = abuti_array_check_input(function, what, *array, count, numbers);
    if (status)
        return status;
    if (array->buffer && is_float)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s is a buffer of floats; only points may be, others are doubles",
                          function, what);
    const unsigned char *from = array->host;
    array->type = ABUT_SCALAR_NONE;
    array->stride = 0;
    if (!from || !count || array->buffer ||
        (stride == packed && !is_float && (uintptr_t)from % sizeof(double) == 0))
        return ABUT_OK;
    double *to = abuti_allocate(context, count, numbers * sizeof *to);
    if (!to)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++, from += stride)
        for (uint32_t k = 0; k < numbers; k++) {
            float number;
            if (is_float) {
                memcpy(&number, from + k * sizeof number, sizeof number);
                to[i * numbers + k] = number;
            } else {
                memcpy(&to[i * numbers + k], from + k * sizeof *to, sizeof *to);
            }
        }
    array->host = *copy = to;
    return ABUT_OK;
}
