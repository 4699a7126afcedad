/* Tables of kernels and buffers with sticky errors, lists that grow, and batches; see kit.h. */
#include "device/kit.h"

#include <stdio.h>

abut_status abuti_kit_open(abuti_queue *queue, const abuti_kit_table *table, const char *options,
                           abuti_kit *kit) {
    abut_context *context = queue->device->context;
    abuti_kit created = {.queue = queue, .table = table};
    *kit = (abuti_kit){0};
    if (strlen(options) >= sizeof created.options)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "the compiler options are too long: %s", options);
    strcpy(created.options, options);
    if (ABUTI_ALLOCATE(context, ABUTI_ZEROED(created.kernels, table->kernel_count),
                       ABUTI_ZEROED(created.buffers, table->buffer_count)))
        return ABUT_ERROR_MEMORY;
    *kit = created;
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
    ABUTI_RELEASE(context, kit->kernels, kit->buffers);
    *kit = (abuti_kit){0};
}

/* ---- kernels ---- */

/* Compiles or finds the program of a kernel: a module in the list of the table, or one of the
 * library. */
static abut_status make_program(abut_device *device, const abuti_kit_table *table,
                                const char *kit_options, uint32_t kernel, abuti_program **program) {
    const abuti_kernel_source *source = &table->sources[kernel];
    const abuti_module *module = table->modules;
    char options[2 * KIT_OPTIONS_BYTES];
    snprintf(options, sizeof options, "%s%s%s", kit_options,
             source->options && kit_options[0] ? " " : "", source->options ? source->options : "");
    while (module && module->name && strcmp(module->name, source->module) != 0)
        module++;
    return module && module->name ? abuti_program_make(device, module, options, program)
                                  : abuti_program_get(device, source->module, options, program);
}

static abut_status make_kernel(abuti_kit *kit, uint32_t kernel) {
    const abuti_kernel_source *source = &kit->table->sources[kernel];
    abut_device *device = kit->queue->device;
    abuti_program *program = NULL;
    abut_status status = make_program(device, kit->table, kit->options, kernel, &program);
    return status ? status
                  : abuti_kernel_create(program, device, source->name, &kit->kernels[kernel]);
}

typedef struct prepare_job {
    abut_device *device;
    const abuti_kit_plan *plans;
} prepare_job;

static void prepare_task(void *data, size_t chunk, size_t begin, size_t end) {
    const prepare_job *p = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const abuti_kit_plan *plan = &p->plans[i];
        abuti_program *program;
        (void)make_program(p->device, plan->table, plan->options, plan->kernel, &program);
    }
}

void abuti_kit_prepare(abut_device *device, const abuti_kit_plan *plans, uint32_t count) {
    prepare_job p = {device, plans};
    abuti_parallel_for(device->context, count, 1, prepare_task, &p);
}

void abuti_kit_build(abuti_kit *kit) {
    for (uint32_t i = 0; i < kit->table->kernel_count && !abuti_kit_failed(kit); i++)
        if (!kit->kernels[i].device)
            abuti_kit_fail(kit, make_kernel(kit, i));
}

void abuti_kit_progress(abuti_kit *kit, abut_context *context, const char *stage, double done) {
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_progress(context, stage, done));
}

void abuti_kit_run(abuti_kit *kit, uint32_t kernel, size_t items, size_t group,
                   const abuti_argument *arguments, uint32_t count) {
    if (abuti_kit_failed(kit) || !items)
        return;
    abut_status status = kit->kernels[kernel].device ? ABUT_OK : make_kernel(kit, kernel);
    if (!status)
        status = abuti_launch(kit->queue, &kit->kernels[kernel],
                              items / group + (items % group != 0), group, arguments, count);
    abuti_kit_fail(kit, status);
}

/* ---- buffers ---- */

void abuti_kit_reserve(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes) {
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_reserve(kit->queue->device, count, element_bytes,
                                                 &kit->buffers[buffer]));
}

void abuti_kit_enlarge(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes,
                       size_t kept) {
    abuti_buffer *old = &kit->buffers[buffer], larger = {0};
    if (!kept) {
        abuti_kit_reserve(kit, buffer, count, element_bytes);
        return;
    }
    if (abuti_kit_failed(kit) || old->bytes / element_bytes >= count)
        return;
    abuti_kit_fail(kit, abuti_buffer_create(kit->queue->device, count, element_bytes, &larger));
    abuti_kit_copy(kit, old, &larger, kept * element_bytes);
    if (abuti_kit_failed(kit)) {
        abuti_buffer_destroy(&larger);
        return;
    }
    abuti_buffer_destroy(old);
    *old = larger;
}

void abuti_kit_upload(abuti_kit *kit, uint32_t buffer, const void *data, size_t count,
                      size_t element_bytes) {
    abuti_kit_reserve(kit, buffer, count, element_bytes);
    if (data)
        abuti_kit_write(kit, buffer, 0, data, count, element_bytes);
}

void abuti_kit_write(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                     size_t element_bytes) {
    abuti_kit_fail(kit, abuti_buffer_upload(kit->queue, &kit->buffers[buffer],
                                            first * element_bytes, data, count * element_bytes));
}

void abuti_kit_send(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                    size_t element_bytes) {
    abuti_kit_fail(kit, abuti_buffer_send(kit->queue, &kit->buffers[buffer], first * element_bytes,
                                          data, count * element_bytes));
}

void abuti_kit_receive(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                       size_t element_bytes) {
    abuti_kit_fail(kit, abuti_buffer_receive(kit->queue, &kit->buffers[buffer],
                                             first * element_bytes, data, count * element_bytes));
}

void abuti_kit_fill(abuti_kit *kit, uint32_t buffer, uint32_t word, size_t bytes) {
    abuti_kit_fail(kit, abuti_buffer_fill(kit->queue, &kit->buffers[buffer], word, bytes));
}

void abuti_kit_copy(abuti_kit *kit, const abuti_buffer *from, const abuti_buffer *to,
                    size_t bytes) {
    abuti_buffer target = *to;
    abuti_kit_fail(kit, abuti_buffer_copy(kit->queue, from, &target, bytes));
}

void abuti_kit_swap(abuti_kit *kit, uint32_t a, uint32_t b) {
    abuti_buffer other = kit->buffers[a];
    kit->buffers[a] = kit->buffers[b];
    kit->buffers[b] = other;
}

/* ---- calls that report errors ---- */

abut_status abuti_kit_read(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                           size_t element_bytes) {
    if (!count)
        return abuti_kit_finish(kit);
    return abuti_buffer_download(kit->queue, &kit->buffers[buffer], first * element_bytes, data,
                                 count * element_bytes);
}

abut_status abuti_kit_download(abuti_kit *kit, uint32_t buffer, void *data, size_t count,
                               size_t element_bytes) {
    return abuti_kit_read(kit, buffer, 0, data, count, element_bytes);
}

abut_status abuti_kit_finish(abuti_kit *kit) {
    return abuti_queue_finish(kit->queue);
}

/* ---- lists ---- */

bool abuti_kit_grow(abuti_kit *kit, abuti_kit_list *list, uint64_t count) {
    const abut_device_info *info = &kit->queue->device->info;
    uint64_t limit = info->buffer_bytes / list->element_bytes;
    limit = list->limit && list->limit < limit ? list->limit : limit;
    limit = limit < UINT32_MAX ? limit : UINT32_MAX;
    if (abuti_kit_failed(kit) || (list->room && count <= list->room))
        return false;
    if (count > limit) {
        abuti_kit_fail(
            kit, abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: there are %llu %s; the limit is %llu; reduce the input, or leave "
                            "the device null to compute on the CPU",
                            info->name, (unsigned long long)count, list->what,
                            (unsigned long long)limit));
        return false;
    }
    uint64_t room = count + count / 4 + 1024;
    list->room = (uint32_t)(room < limit ? room : limit);
    abuti_kit_enlarge(kit, list->buffer, list->room, list->element_bytes, list->kept);
    if (abuti_kit_failed(kit))
        list->room = 0;
    return !abuti_kit_failed(kit);
}

/* ---- parts ---- */

enum { MEMORY_SHARE = 4, PART_MIN = 1 << 12, PART_MAX = 1 << 24 };

abuti_parts abuti_parts_by(size_t total, size_t most) {
    most = total < most ? total : most ? most : 1;
    return (abuti_parts){.most = most, .each = most, .total = total};
}

abuti_parts abuti_parts_of(const abut_device *device, size_t total, size_t element_bytes) {
    uint64_t fitting = device->info.memory_bytes / (MEMORY_SHARE * element_bytes);
    return abuti_parts_by(total, fitting < PART_MIN   ? PART_MIN
                                 : fitting > PART_MAX ? PART_MAX
                                                      : (size_t)fitting);
}

bool abuti_parts_next(abuti_parts *parts) {
    size_t left;
    parts->begin += parts->count;
    left = parts->total - parts->begin;
    parts->count = left < parts->each ? left : parts->each;
    return parts->count > 0;
}

bool abuti_parts_halve(abuti_parts *parts) {
    if (parts->count < 2)
        return false;
    parts->each = parts->count / 2;
    parts->count = 0; /* it begins where the last part began */
    return true;
}

void abuti_parts_widen(abuti_parts *parts) {
    parts->each = parts->each > parts->most / 2 ? parts->most : 2 * parts->each;
}
