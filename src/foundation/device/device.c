/* The list of devices, the choice among them, and the calls that are passed to the back end of a
 * device. Sizes and ranges are validated here, so that back ends need not. */
#include "device/device.h"
#include "base/system.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

/* ---- public ---- */

const char *abut_device_kind_name(abut_device_kind kind) {
    static const char *const names[] = {"gpu", "cpu", "other"};
    return ABUTI_NAME(names, kind);
}

/* Relative speed of devices of one kind: compute units times clock rate. */
static double relative_speed(const abut_device_info *info) {
    return (double)info->compute_units * (info->clock_mhz ? info->clock_mhz : 1);
}

static uint32_t find_fastest(const abut_device_info *infos, uint32_t count, abut_device_kind kind) {
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++)
        if (infos[i].kind == kind &&
            (best == count || relative_speed(&infos[i]) > relative_speed(&infos[best])))
            best = i;
    return best;
}

/* Copies descriptions to the array of a caller, whose elements have the size of the first. */
static abut_status write_infos(const abut_device_info *from, uint32_t count, abut_device_info *to) {
    abut_status status = ABUT_OK;
    const size_t stride = count ? to->size : 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        void *element = (char *)to + i * stride;
        memcpy(element, &stride, sizeof stride);
        status = abuti_info_write(element, &from[i], sizeof *from, "abut_device_list");
    }
    return status;
}

abut_status abut_device_list(abut_context *context, abut_device_info_list *infos) {
    abut_status status = ABUTI_LIST_CHECK(__func__, "infos", infos);
    if (status)
        return status;
    context = abuti_context_of(context);
    abut_device_info *all = abuti_allocate(context, DEVICES_MAX, sizeof *all);
    if (!all)
        return ABUT_ERROR_MEMORY;
    uint32_t found = 0;
    const char *absence;
    status = abuti_opencl_list(context, all, infos->capacity ? DEVICES_MAX : 0, &found, &absence);
    if (!status && found <= infos->capacity) {
        const uint32_t fastest = find_fastest(all, found, ABUT_DEVICE_KIND_GPU);
        if (fastest < found)
            all[fastest].is_default = true;
        status = write_infos(all, found, infos->list);
    }
    if (!status)
        status = ABUTI_LIST_COUNT(__func__, "infos", infos, found);
    abuti_release(context, all);
    return status;
}

/* Whether `text` contains `part`, ignoring case. */
static bool contains_text(const char *text, const char *part) {
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

static bool is_number(const char *text) {
    size_t length = strspn(text, "0123456789");
    return length && length < 9 && !text[length];
}

static uint32_t select_device(const abut_device_info *infos, uint32_t count, const char *selector) {
    if (!selector[0] || !strcasecmp(selector, "auto") || !strcasecmp(selector, "gpu"))
        return find_fastest(infos, count, ABUT_DEVICE_KIND_GPU);
    if (!strcasecmp(selector, "cpu"))
        return find_fastest(infos, count, ABUT_DEVICE_KIND_CPU);
    if (is_number(selector)) {
        uint32_t index = (uint32_t)strtoul(selector, NULL, 10);
        return index < count ? index : count;
    }
    for (uint32_t i = 0; i < count; i++)
        if (contains_text(infos[i].name, selector) || contains_text(infos[i].platform, selector))
            return i;
    return count;
}

/* Writes "0: name (gpu), 1: name (cpu)" for messages. */
static void write_device_names(const abut_device_info *infos, uint32_t count, char *out,
                               size_t out_bytes) {
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < count && used < out_bytes; i++) {
        int added = snprintf(out + used, out_bytes - used, "%s%u: %s (%s)", i ? ", " : "", i,
                             infos[i].name, abut_device_kind_name(infos[i].kind));
        used += added > 0 ? (size_t)added : 0;
    }
}

static abut_status fail_selection(const abut_device_info *infos, uint32_t count,
                                  const char *selector, const char *absence) {
    char names[512];
    if (!count)
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: no OpenCL device: %s", absence);
    write_device_names(infos, count, names, sizeof names);
    if (!selector[0] || !strcasecmp(selector, "auto") || !strcasecmp(selector, "gpu"))
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: no GPU; the devices are %s", names);
    return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: no device '%s'; the devices are %s",
                      selector, names);
}

/* Returns the device to the user if its self-test succeeds. */
static abut_status return_tested(abut_device *opened, abut_device **device) {
    abut_status status = abuti_device_self_test(opened);
    if (status)
        abut_device_destroy(opened);
    else
        *device = opened;
    return status;
}

abut_status abut_device_open(abut_context *context, const char *selector, abut_device **device) {
    if (!device)
        return abuti_null(__func__, "device");
    context = abuti_context_of(context);
    selector = selector ? selector : "";
    abut_device_info *infos = abuti_allocate(context, DEVICES_MAX, sizeof *infos);
    if (!infos)
        return ABUT_ERROR_MEMORY;
    uint32_t count = 0;
    const char *absence = "";
    abut_device *opened = NULL;
    abut_status status = abuti_opencl_list(context, infos, DEVICES_MAX, &count, &absence);
    if (count > DEVICES_MAX)
        count = DEVICES_MAX;
    if (!status) {
        uint32_t index = select_device(infos, count, selector);
        status = index < count ? abuti_opencl_open(context, index, &infos[index], &opened)
                               : fail_selection(infos, count, selector, absence);
    }
    abuti_release(context, infos);
    return status ? status : return_tested(opened, device);
}

abut_status abut_device_open_native(abut_context *context, void *native_context,
                                    void *native_device, abut_device **device) {
    if (!native_context || !native_device || !device)
        return abuti_null(__func__, !native_context  ? "native_context"
                                    : !native_device ? "native_device"
                                                     : "device");
    abut_device *opened;
    abut_status status =
        abuti_opencl_open_native(abuti_context_of(context), native_context, native_device, &opened);
    return status ? status : return_tested(opened, device);
}

void *abut_device_native(const abut_device *device) {
    return device ? device->backend->native(device) : NULL;
}

abut_status abut_device_get_info(const abut_device *device, abut_device_info *info) {
    if (!device || !info)
        return abuti_null(__func__, device ? "info" : "device");
    return abuti_info_write(info, &device->info, sizeof device->info, __func__);
}

abut_device *abuti_device_retain(abut_device *device) {
    atomic_fetch_add_explicit(&device->reference_count, 1, memory_order_relaxed);
    return device;
}

void abut_device_destroy(abut_device *device) {
    if (!device ||
        atomic_fetch_sub_explicit(&device->reference_count, 1, memory_order_acq_rel) != 1)
        return;
    abuti_transfer_destroy(device);
    device->backend->close(device);
}

/* ---- queues ---- */

abut_status abuti_queue_open(abut_device *device, abuti_queue *queue) {
    *queue = (abuti_queue){.device = device};
    abut_status status = device->backend->queue_open(queue);
    if (status) {
        *queue = (abuti_queue){0};
        return status;
    }
    abuti_device_retain(device);
    return ABUT_OK;
}

void abuti_queue_close(abuti_queue *queue) {
    if (!queue->device)
        return;
    queue->device->backend->queue_close(queue);
    abut_device_destroy(queue->device);
    *queue = (abuti_queue){0};
}

void abuti_queue_set_error(abuti_queue *queue, abut_status status) {
    if (!queue->error)
        queue->error = status;
}

abut_status abuti_queue_report(abuti_queue *queue) {
    abut_status status = queue->error;
    queue->error = ABUT_OK;
    return status;
}

/* If a call fails, it has not waited, and earlier commands may still read host memory that the
 * caller is about to release. So wait for them. */
static abut_status wait_after_failure(abuti_queue *queue, abut_status status) {
    if (status)
        (void)queue->device->backend->finish(queue);
    return status;
}

abut_status abuti_queue_finish(abuti_queue *queue) {
    abut_status status = abuti_queue_report(queue);
    abut_status finished = wait_after_failure(queue, queue->device->backend->finish(queue));
    return status ? status : finished;
}

abut_status abuti_queue_wait(abuti_queue *queue, abuti_queue *other) {
    if (queue == other || queue->error)
        return ABUT_OK;
    return queue->device->backend->wait(queue, other);
}

void abuti_queue_clock_start(abuti_queue *queue) {
    queue->clock = queue->device && !queue->device->backend->clock_start(queue);
}

abut_status abuti_queue_clock_stop(abuti_queue *queue, double *ms) {
    if (!queue->clock)
        return abuti_fail(ABUT_ERROR_DEVICE, "%s: the clock could not be started",
                          queue->device->info.name);
    queue->clock = false;
    return queue->device->backend->clock_stop(queue, ms);
}

/* ---- buffers ---- */

abut_status abuti_buffer_create(abut_device *device, size_t count, size_t element_bytes,
                                abuti_buffer *buffer) {
    size_t bytes;
    if (abuti_multiply_overflows(count, element_bytes, &bytes) || bytes > device->info.buffer_bytes)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: a buffer of %zu x %zu bytes exceeds its limit of %llu bytes; use "
                          "another device or the CPU",
                          device->info.name, count, element_bytes,
                          (unsigned long long)device->info.buffer_bytes);
    abuti_buffer created = {.device = device, .bytes = bytes};
    abut_status status = device->backend->buffer_create(&created);
    if (status)
        return status;
    abuti_device_retain(device);
    *buffer = created;
    return ABUT_OK;
}

abut_status abuti_buffer_wrap(abut_device *device, void *native, abuti_buffer *buffer) {
    abuti_buffer created = {.device = device};
    abut_status status = device->backend->buffer_wrap(&created, native);
    if (status)
        return status;
    abuti_device_retain(device);
    *buffer = created;
    return ABUT_OK;
}

void abuti_buffer_destroy(abuti_buffer *buffer) {
    if (!buffer->device)
        return;
    buffer->device->backend->buffer_destroy(buffer);
    abut_device_destroy(buffer->device);
    *buffer = (abuti_buffer){0};
}

abut_status abuti_buffer_reserve(abut_device *device, size_t count, size_t element_bytes,
                                 abuti_buffer *buffer) {
    size_t bytes;
    if (buffer->device && !abuti_multiply_overflows(count, element_bytes, &bytes) &&
        bytes <= buffer->bytes)
        return ABUT_OK;
    abuti_buffer_destroy(buffer); /* first, because both may not fit */
    return abuti_buffer_create(device, count, element_bytes, buffer);
}

/* Checks that [offset, offset + bytes) is inside the buffer. */
static abut_status check_range(const abuti_buffer *buffer, size_t offset, size_t bytes,
                               const char *what) {
    if (buffer->device && offset <= buffer->bytes && bytes <= buffer->bytes - offset)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %zu bytes from offset %zu are outside a buffer of %zu bytes", what,
                      bytes, offset, buffer->bytes);
}

abut_status abuti_buffer_upload(abuti_queue *queue, abuti_buffer *to, size_t offset,
                                const void *data, size_t bytes) {
    abut_status status = queue->error ? ABUT_OK : check_range(to, offset, bytes, "upload");
    if (status || !bytes || queue->error)
        return status;
    if (abuti_transfer_upload(queue, to, offset, data, bytes, &status))
        return status;
    return queue->device->backend->upload(queue, to, offset, data, bytes, true);
}

void abuti_buffer_make(abuti_queue *queue, const void *data, size_t count, size_t element_bytes,
                       abuti_buffer *buffer) {
    if (queue->error)
        return;
    abuti_queue_set_error(queue, abuti_buffer_create(queue->device, count, element_bytes, buffer));
    if (data)
        abuti_queue_set_error(queue,
                              abuti_buffer_upload(queue, buffer, 0, data, count * element_bytes));
}

abut_status abuti_buffer_send(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                              size_t bytes) {
    abut_status status = queue->error ? ABUT_OK : check_range(to, offset, bytes, "upload");
    if (status || !bytes || queue->error)
        return status;
    return queue->device->backend->upload(queue, to, offset, data, bytes, false);
}

abut_status abuti_buffer_download(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                  void *data, size_t bytes) {
    abut_status status =
        queue->error ? abuti_queue_finish(queue) : check_range(from, offset, bytes, "download");
    if (status || !bytes)
        return status;
    return wait_after_failure(queue, queue->device->backend->download(queue, from, offset, data,
                                                                      bytes, true));
}

abut_status abuti_buffer_receive(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                 void *data, size_t bytes) {
    abut_status status = queue->error ? ABUT_OK : check_range(from, offset, bytes, "download");
    if (status || !bytes || queue->error)
        return status;
    return queue->device->backend->download(queue, from, offset, data, bytes, false);
}

abut_status abuti_buffer_copy(abuti_queue *queue, const abuti_buffer *from, abuti_buffer *to,
                              size_t bytes) {
    return abuti_buffer_copy_part(queue, from, 0, to, 0, bytes);
}

abut_status abuti_buffer_copy_part(abuti_queue *queue, const abuti_buffer *from, size_t from_offset,
                                   abuti_buffer *to, size_t to_offset, size_t bytes) {
    if (queue->error)
        return ABUT_OK;
    abut_status status = check_range(from, from_offset, bytes, "copy");
    if (!status)
        status = check_range(to, to_offset, bytes, "copy");
    if (status || !bytes)
        return status;
    return queue->device->backend->copy(queue, from, from_offset, to, to_offset, bytes);
}

abut_status abuti_buffer_fill(abuti_queue *queue, abuti_buffer *to, uint32_t word, size_t bytes) {
    abut_status status = queue->error ? ABUT_OK : check_range(to, 0, bytes, "fill");
    if (status || !bytes || queue->error)
        return status;
    return queue->device->backend->fill(queue, to, word, bytes);
}

/* ---- staging ---- */

abut_status abuti_staging_create(abuti_queue *queue, size_t count, size_t element_bytes,
                                 abuti_staging *staging) {
    abuti_staging created = {0};
    abut_status status = ABUT_OK;
    if (abuti_multiply_overflows(count, element_bytes, &created.bytes))
        return abuti_fail(ABUT_ERROR_MEMORY, "%zu x %zu bytes overflow size_t", count,
                          element_bytes);
    if (created.bytes && created.bytes <= queue->device->info.buffer_bytes)
        status = queue->device->backend->staging_create(queue, &created);
    if (!status && !created.native)
        created.at = abuti_allocate(queue->device->context, count, element_bytes);
    if (status || !created.at)
        return status ? status : ABUT_ERROR_MEMORY;
    *staging = created;
    return ABUT_OK;
}

void abuti_staging_destroy(abuti_queue *queue, abuti_staging *staging) {
    if (!staging->at)
        return;
    if (staging->native) {
        queue->device->backend->staging_destroy(queue, staging);
    } else {
        (void)abuti_queue_finish(queue);
        abuti_release(queue->device->context, staging->at);
    }
    *staging = (abuti_staging){0};
}

/* ---- programs and kernels ---- */

abut_status abuti_program_get(abut_device *device, const char *module, const char *options,
                              abuti_program **program) {
    for (const abuti_module *at = abuti_modules; at->name; at++)
        if (strcmp(at->name, module) == 0)
            return abuti_program_make(device, at, options, program);
    return abuti_fail(ABUT_ERROR_ARGUMENT, "no kernel module is called '%s'", module);
}

abut_status abuti_program_make(abut_device *device, const abuti_module *module, const char *options,
                               abuti_program **program) {
    return device->backend->program(device, module, options, program);
}

abut_status abuti_kernel_create(abuti_program *program, abut_device *device, const char *name,
                                abuti_kernel *kernel) {
    abuti_kernel created = {.device = device, .name = name};
    abut_status status = device->backend->kernel_create(program, &created);
    if (status)
        return status;
    abuti_device_retain(device);
    *kernel = created;
    return ABUT_OK;
}

void abuti_kernel_destroy(abuti_kernel *kernel) {
    if (!kernel->device)
        return;
    kernel->device->backend->kernel_destroy(kernel);
    abut_device_destroy(kernel->device);
    *kernel = (abuti_kernel){0};
}

abut_status abuti_launch(abuti_queue *queue, const abuti_kernel *kernel, size_t groups,
                         size_t group_items, const abuti_argument *arguments, uint32_t count) {
    if (!groups || queue->error)
        return ABUT_OK;
    if (group_items > queue->device->info.group_items)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: kernel %s needs work-groups of %zu; the device has at most %llu",
                          queue->device->info.name, kernel->name, group_items,
                          (unsigned long long)queue->device->info.group_items);
    return queue->device->backend->launch(queue, kernel, groups, group_items, arguments, count);
}
