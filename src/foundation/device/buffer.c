/* The public buffers, abut_buffer: device memory with a queue of its own. */
#include "device/device.h"

/* Creates a buffer of `bytes`, or one that wraps native memory. */
static abut_status create_buffer(abut_device *device, size_t bytes, void *native,
                                 abut_buffer **buffer) {
    abut_context *context = device->context;
    abut_buffer *created = abuti_allocate_zeroed(context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_queue_open(device, &created->queue);
    if (!status)
        status = native ? abuti_buffer_wrap(device, native, &created->memory)
                        : abuti_buffer_create(device, bytes, 1, &created->memory);
    if (status) {
        abuti_queue_close(&created->queue);
        abuti_release(context, created);
        return status;
    }
    *buffer = created;
    return ABUT_OK;
}

abut_status abut_buffer_create(abut_device *device, size_t bytes, abut_buffer **buffer) {
    if (!device || !buffer)
        return abuti_null(__func__, device ? "buffer" : "device");
    return create_buffer(device, bytes, NULL, buffer);
}

abut_status abut_buffer_wrap(abut_device *device, void *native, abut_buffer **buffer) {
    if (!device || !native || !buffer)
        return abuti_null(__func__, !device ? "device" : !native ? "native" : "buffer");
    return create_buffer(device, 0, native, buffer);
}

void abut_buffer_destroy(abut_buffer *buffer) {
    if (!buffer)
        return;
    abut_context *context = abuti_context_retain(buffer->memory.device->context);
    abuti_buffer_destroy(&buffer->memory);
    abuti_queue_close(&buffer->queue);
    abuti_release(context, buffer);
    abut_context_destroy(context);
}

size_t abut_buffer_bytes(const abut_buffer *buffer) {
    return buffer ? buffer->memory.bytes : 0;
}

void *abut_buffer_native(const abut_buffer *buffer) {
    return buffer ? buffer->memory.native : NULL;
}

abut_status abut_buffer_write(abut_buffer *buffer, size_t offset, const void *data, size_t bytes) {
    if (!buffer || (!data && bytes))
        return abuti_null(__func__, buffer ? "data" : "buffer");
    return abuti_buffer_upload(&buffer->queue, &buffer->memory, offset, data, bytes);
}

abut_status abut_buffer_read(const abut_buffer *buffer, size_t offset, void *data, size_t bytes) {
    if (!buffer || (!data && bytes))
        return abuti_null(__func__, buffer ? "data" : "buffer");
    abuti_queue queue = buffer->queue; /* a copy: reading does not change the buffer's queue */
    return abuti_buffer_download(&queue, &buffer->memory, offset, data, bytes);
}

abut_status abuti_buffer_check(const abut_buffer *buffer, const char *function, const char *what,
                               const abut_device *device, size_t count, size_t element_bytes) {
    size_t bytes;
    if (!buffer)
        return abuti_null(function, what);
    if (abut_device_native(buffer->memory.device) != abut_device_native(device))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is not on the device %s", function, what,
                          device->info.name);
    if (abuti_multiply_overflows(count, element_bytes, &bytes) || bytes > buffer->memory.bytes)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "%s: %s has %zu bytes; %zu elements of %zu bytes are needed", function,
                          what, buffer->memory.bytes, count, element_bytes);
    return ABUT_OK;
}
