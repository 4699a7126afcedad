/* Tables of kernels and buffers whose errors stick to their queue; see kit.h. */
#include "device/kit.h"

abut_status abuti_kit_open(abuti_queue *queue, const abuti_kit_table *table, const char *options,
                           abuti_kit *kit) {
    abut_context *context = queue->device->context;
    abuti_kit made = {.queue = queue, .table = table};
    *kit = (abuti_kit){0};
    if (strlen(options) >= sizeof made.options)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "compiler options are too long: %s", options);
    strcpy(made.options, options);
    made.kernels = abuti_allocate_zeroed(context, table->kernel_count, sizeof *made.kernels);
    made.buffers = abuti_allocate_zeroed(context, table->buffer_count, sizeof *made.buffers);
    if (!made.kernels || !made.buffers) {
        abuti_release(context, made.kernels);
        abuti_release(context, made.buffers);
        return ABUT_ERROR_MEMORY;
    }
    *kit = made;
    return ABUT_OK;
}

void abuti_kit_close(abuti_kit *kit) {
    if (!kit->queue)
        return;
    abut_context *context = kit->queue->device->context;
    for (uint32_t i = 0; i < kit->table->kernel_count; i++)
        abuti_kernel_destroy(&kit->kernels[i]);
    for (uint32_t i = 0; i < kit->table->buffer_count; i++)
        abuti_buffer_destroy(&kit->buffers[i]);
    abuti_release(context, kit->kernels);
    abuti_release(context, kit->buffers);
    *kit = (abuti_kit){0};
}

/* ---- what sticks ---- */

void abuti_kit_fail(abuti_kit *kit, abut_status status) {
    if (!kit->queue->stuck)
        kit->queue->stuck = status;
}

void abuti_kit_reserve(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes) {
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_reserve(kit->queue->device, count, element_bytes,
                                                 &kit->buffers[buffer]));
}

void abuti_kit_put(abuti_kit *kit, uint32_t buffer, const void *data, size_t count,
                   size_t element_bytes) {
    abuti_kit_reserve(kit, buffer, count, element_bytes);
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_upload(kit->queue, &kit->buffers[buffer], 0, data,
                                                count * element_bytes));
}

void abuti_kit_fill(abuti_kit *kit, uint32_t buffer, uint32_t word, size_t bytes) {
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_fill(kit->queue, &kit->buffers[buffer], word, bytes));
}

void abuti_kit_copy(abuti_kit *kit, const abuti_buffer *from, const abuti_buffer *to,
                    size_t bytes) {
    abuti_buffer target = *to;
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_copy(kit->queue, from, &target, bytes));
}

/* The kernel of a module in the table's list. */
static abut_status make_kernel(abuti_kit *kit, uint32_t kernel) {
    const abuti_kernel_source *source = &kit->table->sources[kernel];
    abut_device *device = kit->queue->device;
    const abuti_module *module = kit->table->modules;
    abuti_program *program = NULL;
    abut_status status;
    while (module && module->name && strcmp(module->name, source->module) != 0)
        module++;
    if (module && module->name)
        status = abuti_program_make(device, module, kit->options, &program);
    else
        status = abuti_program_get(device, source->module, kit->options, &program);
    return status ? status
                  : abuti_kernel_create(program, device, source->name, &kit->kernels[kernel]);
}

void abuti_kit_run(abuti_kit *kit, uint32_t kernel, size_t items, size_t group,
                   const abuti_argument *arguments, uint32_t count) {
    if (abuti_kit_failed(kit) || !items)
        return;
    abut_status status = kit->kernels[kernel].native ? ABUT_OK : make_kernel(kit, kernel);
    if (!status)
        status = abuti_launch(kit->queue, &kit->kernels[kernel],
                              items / group + (items % group != 0), group, arguments, count);
    abuti_kit_fail(kit, status);
}

/* ---- what reports ---- */

static abut_status report(abuti_kit *kit) {
    abut_status status = kit->queue->stuck;
    kit->queue->stuck = ABUT_OK;
    return status;
}

abut_status abuti_kit_get(abuti_kit *kit, uint32_t buffer, void *data, size_t count,
                          size_t element_bytes) {
    abut_status status = report(kit);
    return status ? status
                  : abuti_buffer_download(kit->queue, &kit->buffers[buffer], 0, data,
                                          count * element_bytes);
}

abut_status abuti_kit_finish(abuti_kit *kit) {
    abut_status status = report(kit), finished = abuti_queue_finish(kit->queue);
    return status ? status : finished;
}
