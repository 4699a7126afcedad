/* The kit: what the host's side of every module on a device is made of.
 *
 * A module names its kernels and its buffers by two enums and a table. Kernels are made when they
 * are first launched, buffers when they are first reserved; both are kept until the kit is closed.
 *
 *     enum { FIND, MEASURE, KERNELS };
 *     enum { POINTS, ANSWERS, BUFFERS };
 *     static const abuti_kernel_source sources[KERNELS] = {{"nearest", "nearest_find", NULL}, ...};
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
 * a kit ends with one of these two, also where it fails for a reason of its own. The functions of
 * device.h do nothing on such a queue either; what they return on their own may be given to
 * abuti_kit_fail().
 *
 * Several kits may share a queue. A kit belongs to one user at a time.
 */
#ifndef ABUTI_DEVICE_KIT_H
#define ABUTI_DEVICE_KIT_H

#include "device/device.h"

typedef struct abuti_kernel_source {
    const char *module, *name;
    const char *options; /* of the compiler, besides those of the kit; null = none */
} abuti_kernel_source;

typedef struct abuti_kit_table {
    const abuti_kernel_source *sources; /* one a kernel */
    uint32_t kernel_count, buffer_count;
    const abuti_module *modules; /* where they are looked for; null = those of the library */
} abuti_kit_table;

enum { KIT_OPTIONS = 128 };

typedef struct abuti_kit {
    abuti_queue *queue; /* outlives the kit; null = none */
    const abuti_kit_table *table;
    char options[KIT_OPTIONS]; /* of the compiler */
    abuti_kernel *kernels;
    abuti_buffer *buffers;
} abuti_kit;

/* `options` are those of abuti_program_get(). On failure `kit` is empty. */
abut_status abuti_kit_open(abuti_queue *queue, const abuti_kit_table *table, const char *options,
                           abuti_kit *kit);
/* Waits for nothing. An empty one is allowed. */
void abuti_kit_close(abuti_kit *kit);

/* Closes it when its queue has done all, and keeps its memory for other kits of the device
 * (abuti_buffer_spare()). What other queues do with its buffers must be done. */
void abuti_kit_retire(abuti_kit *kit);

/* ---- what sticks ---- */

/* Makes a failure of the caller's stick, unless one does already or it is ABUT_OK. */
static inline void abuti_kit_fail(abuti_kit *kit, abut_status status) {
    abuti_queue_stick(kit->queue, status);
}
/* Whether something has failed since the last report, so that costly work of the host may end. */
static inline bool abuti_kit_failed(const abuti_kit *kit) {
    return kit->queue->stuck != ABUT_OK;
}

/* Reports progress unless something has failed; a wish to stop sticks. */
void abuti_kit_progress(abuti_kit *kit, abut_context *context, const char *stage, double done);

/* Makes all kernels now, for those who would rather wait when they create something. */
void abuti_kit_build(abuti_kit *kit);

/* A kernel that will be needed, and the options of its kit. */
typedef struct abuti_kit_plan {
    const abuti_kit_table *table;
    const char *options;
    uint32_t kernel;
} abuti_kit_plan;
/* Builds the programs of some kernels, several at a time, for those who will need them all. What
 * fails here is tried again, and told, when it is needed. */
void abuti_kit_prepare(abut_device *device, const abuti_kit_plan *plans, uint32_t count);

/* Makes room for `count` elements; the content is lost where the buffer grows. */
void abuti_kit_reserve(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes);
/* The same, but the first `kept` elements stay. */
void abuti_kit_enlarge(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes,
                       size_t kept);
/* Makes room and copies content there. The host's memory may be reused when it returns. Null data:
 * room alone. */
void abuti_kit_put(abuti_kit *kit, uint32_t buffer, const void *data, size_t count,
                   size_t element_bytes);
/* Copies elements to the room there is, from element `first` on. */
void abuti_kit_write(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                     size_t element_bytes);
/* The same, but these return at once: the host's memory must stay until the next report. Pays for
 * staging memory only. */
void abuti_kit_send(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                    size_t element_bytes);
void abuti_kit_receive(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                       size_t element_bytes);
/* Repeats a word over the first `bytes`, a multiple of 4. */
void abuti_kit_fill(abuti_kit *kit, uint32_t buffer, uint32_t word, size_t bytes);
/* From the beginning of one buffer to the beginning of another. */
void abuti_kit_copy(abuti_kit *kit, const abuti_buffer *from, const abuti_buffer *to, size_t bytes);
/* Two buffers change places; nothing is copied. */
void abuti_kit_swap(abuti_kit *kit, uint32_t a, uint32_t b);

/* Queues a kernel for `items` work-items, rounded up to whole groups; none are no work. */
void abuti_kit_run(abuti_kit *kit, uint32_t kernel, size_t items, size_t group,
                   const abuti_argument *arguments, uint32_t count);
#define ABUTI_KIT_RUN(kit, kernel, items, group, ...)                               \
    abuti_kit_run(kit, kernel, items, group, (const abuti_argument[]){__VA_ARGS__}, \
                  (uint32_t)(sizeof((const abuti_argument[]){__VA_ARGS__}) /        \
                             sizeof(abuti_argument)))
/* The same for a number of groups. */
#define ABUTI_KIT_GROUPS(kit, kernel, groups, group, ...) \
    ABUTI_KIT_RUN(kit, kernel, (size_t)(groups) * (group), group, __VA_ARGS__)
#define KIT_BUFFER(kit, buffer) ABUTI_BUFFER(&(kit)->buffers[buffer])

/* ---- what reports ---- */

/* Copies the first elements of a buffer to the host and waits. On failure, also an earlier one,
 * `data` is as it was unless the copy itself broke off. */
abut_status abuti_kit_get(abuti_kit *kit, uint32_t buffer, void *data, size_t count,
                          size_t element_bytes);
/* The same from element `first` on. */
abut_status abuti_kit_read(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                           size_t element_bytes);
/* Waits until all is done. */
abut_status abuti_kit_finish(abuti_kit *kit);

/* ---- lists whose length only the device knows ----
 *
 * Kernels count all elements and write as many as there is room for, so the host looks once, when
 * all is done; where a list was too small, it grows, and the same work is queued again.
 *
 *     do {
 *         queue_work(list.room);
 *         if ((status = abuti_kit_get(kit, COUNTS, &count, 1, sizeof count)))
 *             return status;
 *     } while (abuti_kit_grow(kit, &list, count));
 *     return abuti_queue_report(kit->queue);
 */

typedef struct abuti_kit_list {
    uint32_t buffer; /* of the kit */
    size_t element_bytes;
    uint64_t limit;   /* elements that it may have; 0 = what the device's largest buffer holds */
    const char *what; /* for the sentence when there are more */
    uint32_t room;    /* elements there is room for: kernels are told */
    uint32_t kept;    /* elements that stay when it grows */
} abuti_kit_list;

/* Makes room for `count` elements, and some more where the list has to grow: whether it had to, so
 * that the work must be queued again. More than its limit sticks as ABUT_ERROR_LIMIT; a list for
 * which there is no memory has no room then. */
bool abuti_kit_grow(abuti_kit *kit, abuti_kit_list *list, uint64_t count);

/* ---- parts, where memory has no room for all ----
 *
 *     abuti_parts parts = abuti_parts_of(device, count, ITEM_BYTES);
 *     while (abuti_parts_next(&parts) && !status)
 *         status = answer(parts.begin, parts.count);
 */

typedef struct abuti_parts {
    size_t begin, count; /* the part that it is the turn of */
    size_t most, each;   /* elements a part, at first and now */
    size_t total;
} abuti_parts;

/* Cuts `total` elements, of `element_bytes` each in all buffers together, so that a part takes a
 * quarter of the memory at most, and has 2^12 to 2^24. `most` is what buffers are made for. */
abuti_parts abuti_parts_of(const abut_device *device, size_t total, size_t element_bytes);
/* The same for parts of a given size, at least 1. */
abuti_parts abuti_parts_by(size_t total, size_t most);
/* Goes on to the next part; false where none is left. */
bool abuti_parts_next(abuti_parts *parts);
/* The last part turned out to be too large: the next is its first half, and so are those that
 * follow. False where it is one element. */
bool abuti_parts_halve(abuti_parts *parts);
/* There was room for more: the next part is twice as large, up to the first size. */
void abuti_parts_widen(abuti_parts *parts);

#endif
