/* The kit: what the host's side of every module on a device is made of.
 *
 * A module names its kernels and its buffers by two enums and a table. Kernels are made when they
 * are first launched, buffers when they are first reserved; both are kept until the kit is closed.
 *
 *     enum { FIND, MEASURE, KERNELS };
 *     enum { POINTS, ANSWERS, BUFFERS };
 *     static const abuti_kernel_source sources[KERNELS] = {{"nearest", "nearest_find"}, ...};
 *     static const abuti_kit_table table = {.sources = sources, .kernel_count = KERNELS,
 *                                           .buffer_count = BUFFERS};
 *
 *     abuti_kit_put(kit, POINTS, points, count, sizeof *points);
 *     abuti_kit_reserve(kit, ANSWERS, count, sizeof *answers);
 *     ABUTI_KIT_RUN(kit, FIND, count, 128, KIT_BUFFER(kit, POINTS), ABUTI_VALUE(count),
 *                   KIT_BUFFER(kit, ANSWERS));
 *     return abuti_kit_get(kit, ANSWERS, answers, count, sizeof *answers);
 *
 * Errors stick: the first failure of a call on a queue is kept there, what follows does nothing,
 * and the next abuti_kit_get() or abuti_kit_finish() of any kit on that queue reports it, and with
 * it the queue is free again. So nobody looks at a status in between, and every function that uses
 * a kit ends with one of these two, also where it fails for a reason of its own.
 *
 * Several kits may share a queue. A kit belongs to one user at a time.
 */
#ifndef ABUTI_DEVICE_KIT_H
#define ABUTI_DEVICE_KIT_H

#include "device/device.h"

typedef struct abuti_kernel_source {
    const char *module, *name;
} abuti_kernel_source;

typedef struct abuti_kit_table {
    const abuti_kernel_source *sources; /* one a kernel */
    uint32_t kernel_count, buffer_count;
    const abuti_module *modules; /* where they are looked for; null = those of the library */
} abuti_kit_table;

typedef struct abuti_kit {
    abuti_queue *queue; /* outlives the kit; null = none */
    const abuti_kit_table *table;
    char options[64]; /* of the compiler */
    abuti_kernel *kernels;
    abuti_buffer *buffers;
} abuti_kit;

/* `options` are those of abuti_program_get(). On failure `kit` is empty. */
abut_status abuti_kit_open(abuti_queue *queue, const abuti_kit_table *table, const char *options,
                           abuti_kit *kit);
/* Waits for nothing. An empty one is allowed. */
void abuti_kit_close(abuti_kit *kit);

/* ---- what sticks ---- */

/* Makes a failure of the caller's stick, unless one does already or it is ABUT_OK. */
void abuti_kit_fail(abuti_kit *kit, abut_status status);
/* Whether something has failed since the last report, so that costly work of the host may end. */
static inline bool abuti_kit_failed(const abuti_kit *kit) {
    return kit->queue->stuck != ABUT_OK;
}

/* Makes room for `count` elements; the content is lost where the buffer grows. */
void abuti_kit_reserve(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes);
/* The same with content. The host's memory may be reused when it returns. */
void abuti_kit_put(abuti_kit *kit, uint32_t buffer, const void *data, size_t count,
                   size_t element_bytes);
/* Repeats a word over the first `bytes`, a multiple of 4. */
void abuti_kit_fill(abuti_kit *kit, uint32_t buffer, uint32_t word, size_t bytes);
/* From the beginning of one buffer to the beginning of another. */
void abuti_kit_copy(abuti_kit *kit, const abuti_buffer *from, const abuti_buffer *to, size_t bytes);
/* Queues a kernel for `items` work-items, rounded up to whole groups; none are no work. */
void abuti_kit_run(abuti_kit *kit, uint32_t kernel, size_t items, size_t group,
                   const abuti_argument *arguments, uint32_t count);
#define ABUTI_KIT_RUN(kit, kernel, items, group, ...)                               \
    abuti_kit_run(kit, kernel, items, group, (const abuti_argument[]){__VA_ARGS__}, \
                  (uint32_t)(sizeof((const abuti_argument[]){__VA_ARGS__}) /        \
                             sizeof(abuti_argument)))
#define KIT_BUFFER(kit, buffer) ABUTI_BUFFER(&(kit)->buffers[buffer])

/* ---- what reports ---- */

/* Copies the first elements of a buffer to the host and waits. On failure, also an earlier one,
 * `data` is as it was unless the copy itself broke off. */
abut_status abuti_kit_get(abuti_kit *kit, uint32_t buffer, void *data, size_t count,
                          size_t element_bytes);
/* Waits until all is done. */
abut_status abuti_kit_finish(abuti_kit *kit);

#endif
