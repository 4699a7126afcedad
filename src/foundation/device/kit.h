/* The kit: the host side of every module that uses a device.
 *
 * A module names its kernels and its buffers by two enums and a table. Kernels are created at their
 * first launch, buffers at their first reservation; both are kept until the kit is closed.
 *
 *      enum { FIND, MEASURE, KERNELS };
 *      enum { POINTS, ANSWERS, BUFFERS };
 *      static const abuti_kernel_source sources[KERNELS] = {{"nearest", "nearest_find", NULL},
 * ...}; static const abuti_kit_table table = {.sources = sources, .kernel_count = KERNELS,
 *                                            .buffer_count = BUFFERS};
 *
 *      abuti_kit_upload(kit, POINTS, points, count, sizeof *points);
 *      abuti_kit_reserve(kit, ANSWERS, count, sizeof *answers);
 *      ABUTI_KIT_RUN(kit, FIND, count, 128, KIT_BUFFER(kit, POINTS), ABUTI_VALUE(count),
 *                    KIT_BUFFER(kit, ANSWERS));
 *      return abuti_kit_download(kit, ANSWERS, answers, count, sizeof *answers);
 *
 * Errors are sticky: the first failure of a call is stored in the queue, and later calls do
 * nothing. The next abuti_kit_download() or abuti_kit_finish() of any kit on that queue returns the
 * error and clears it. Callers need not check a status in between. Every function that uses a kit
 * ends with one of these two calls, even if it fails for another reason. The functions of device.h
 * do nothing on such a queue either; a status that they return may be passed to abuti_kit_fail().
 *
 * Several kits may share a queue. A kit has one user at a time.
 */
#ifndef ABUTI_DEVICE_KIT_H
#define ABUTI_DEVICE_KIT_H

#include "device/device.h"

typedef struct abuti_kernel_source {
    const char *module, *name;
    const char *options; /* compiler options in addition to those of the kit; null = none */
} abuti_kernel_source;

typedef struct abuti_kit_table {
    const abuti_kernel_source *sources; /* one for each kernel */
    uint32_t kernel_count, buffer_count;
    const abuti_module *modules; /* searched first; null = only the modules of the library */
} abuti_kit_table;

enum { KIT_OPTIONS_BYTES = 128 };

typedef struct abuti_kit {
    abuti_queue *queue; /* outlives the kit; null = none */
    const abuti_kit_table *table;
    char options[KIT_OPTIONS_BYTES]; /* compiler options */
    abuti_kernel *kernels;
    abuti_buffer *buffers;
} abuti_kit;

/* `options` are those of abuti_program_get(). On failure `kit` is empty. */
abut_status abuti_kit_open(abuti_queue *queue, const abuti_kit_table *table, const char *options,
                           abuti_kit *kit);
/* Does not wait. An empty kit is allowed. */
void abuti_kit_close(abuti_kit *kit);

/* ---- sticky errors ---- */

/* Sets the sticky error, unless there is one already or the status is ABUT_OK. */
static inline void abuti_kit_fail(abuti_kit *kit, abut_status status) {
    abuti_queue_set_error(kit->queue, status);
}
/* Whether a call has failed since the last report, so that expensive work of the host may end. */
static inline bool abuti_kit_failed(const abuti_kit *kit) {
    return kit->queue->error != ABUT_OK;
}

/* Reports progress unless a call has failed; cancellation is a sticky error. */
void abuti_kit_progress(abuti_kit *kit, abut_context *context, const char *stage, double done);

/* Creates all kernels now, for callers that prefer to wait at creation. */
void abuti_kit_build(abuti_kit *kit);

/* A kernel that will be needed, and the options of its kit. */
typedef struct abuti_kit_plan {
    const abuti_kit_table *table;
    const char *options;
    uint32_t kernel;
} abuti_kit_plan;
/* Compiles the programs of several kernels concurrently, for callers that will need all of them. A
 * program that fails here is compiled again, and its error reported, on first use. */
void abuti_kit_prepare(abut_device *device, const abuti_kit_plan *plans, uint32_t count);

/* Ensures a capacity of `count` elements; the content is lost if the buffer grows. */
void abuti_kit_reserve(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes);
/* As abuti_kit_reserve(), but keeps the first `kept` elements. */
void abuti_kit_enlarge(abuti_kit *kit, uint32_t buffer, size_t count, size_t element_bytes,
                       size_t kept);
/* Ensures the capacity and uploads `count` elements. The host memory may be reused when it returns.
 * Null data only ensures the capacity. */
void abuti_kit_upload(abuti_kit *kit, uint32_t buffer, const void *data, size_t count,
                      size_t element_bytes);
/* Uploads elements from element `first` on; the capacity must suffice. */
void abuti_kit_write(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                     size_t element_bytes);
/* Asynchronous copies: these return immediately, and the host memory must stay valid until the next
 * report. Only useful with staging memory. */
void abuti_kit_send(abuti_kit *kit, uint32_t buffer, size_t first, const void *data, size_t count,
                    size_t element_bytes);
void abuti_kit_receive(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                       size_t element_bytes);
/* Repeats a word over the first `bytes`, a multiple of 4. */
void abuti_kit_fill(abuti_kit *kit, uint32_t buffer, uint32_t word, size_t bytes);
/* Copies from the beginning of one buffer to the beginning of another. */
void abuti_kit_copy(abuti_kit *kit, const abuti_buffer *from, const abuti_buffer *to, size_t bytes);
/* Swaps two buffers without copying. */
void abuti_kit_swap(abuti_kit *kit, uint32_t a, uint32_t b);

/* Queues a kernel for `items` work-items, rounded up to whole work-groups; 0 does nothing. */
void abuti_kit_run(abuti_kit *kit, uint32_t kernel, size_t items, size_t group,
                   const abuti_argument *arguments, uint32_t count);
#define ABUTI_KIT_RUN(kit, kernel, items, group, ...)                               \
    abuti_kit_run(kit, kernel, items, group, (const abuti_argument[]){__VA_ARGS__}, \
                  (uint32_t)(sizeof((const abuti_argument[]){__VA_ARGS__}) /        \
                             sizeof(abuti_argument)))
/* The same for a number of work-groups. */
#define ABUTI_KIT_GROUPS(kit, kernel, groups, group, ...) \
    ABUTI_KIT_RUN(kit, kernel, (size_t)(groups) * (group), group, __VA_ARGS__)
#define KIT_BUFFER(kit, buffer) ABUTI_BUFFER(&(kit)->buffers[buffer])

/* ---- calls that report errors ---- */

/* Downloads the first elements of a buffer and waits. On failure, also an earlier one, `data` is
 * unchanged unless the copy itself was interrupted. */
abut_status abuti_kit_download(abuti_kit *kit, uint32_t buffer, void *data, size_t count,
                               size_t element_bytes);
/* Downloads from element `first` on. */
abut_status abuti_kit_read(abuti_kit *kit, uint32_t buffer, size_t first, void *data, size_t count,
                           size_t element_bytes);
/* Waits until all commands are done. */
abut_status abuti_kit_finish(abuti_kit *kit);

/* ---- lists whose length only the device knows ----
 *
 * Kernels count all elements and write as many as the capacity allows. The host reads the count
 * once, at the end. If the list was too small, it grows, and the same work is queued again.
 *
 *      do {
 *          queue_work(list.room);
 *          if ((status = abuti_kit_download(kit, COUNTS, &count, 1, sizeof count)))
 *              return status;
 *      } while (abuti_kit_grow(kit, &list, count));
 *      return abuti_queue_report(kit->queue);
 */

typedef struct abuti_kit_list {
    uint32_t buffer; /* index of the buffer in the kit */
    size_t element_bytes;
    uint64_t limit;   /* maximum number of elements; 0 = the largest buffer of the device */
    const char *what; /* name of the elements in the message if there are more */
    uint32_t room;    /* capacity in elements, an argument of the kernels */
    uint32_t kept;    /* elements to keep when it grows */
} abuti_kit_list;

/* Ensures a capacity of `count` elements, and some more if the list must grow. Returns whether it
 * grew, so that the work must be queued again. A count above the limit is a sticky
 * ABUT_ERROR_LIMIT. If there is no memory, the capacity becomes 0. */
bool abuti_kit_grow(abuti_kit *kit, abuti_kit_list *list, uint64_t count);

/* ---- batches, if not all elements fit into memory ----
 *
 *      abuti_parts parts = abuti_parts_of(device, count, ITEM_BYTES);
 *      while (abuti_parts_next(&parts) && !status)
 *          status = answer(parts.begin, parts.count);
 */

typedef struct abuti_parts {
    size_t begin, count; /* the current part */
    size_t most, each;   /* elements per part, initially and now */
    size_t total;
} abuti_parts;

/* Splits `total` elements, of `element_bytes` each in all buffers together, so that a part needs at
 * most a quarter of the memory and has 2^12 to 2^24 elements. Buffers are created for `most`
 * elements. */
abuti_parts abuti_parts_of(const abut_device *device, size_t total, size_t element_bytes);
/* The same for parts of a given size, at least 1. */
abuti_parts abuti_parts_by(size_t total, size_t most);
/* Advances to the next part; false at the end. */
bool abuti_parts_next(abuti_parts *parts);
/* The last part was too large: the next one is its first half, and later parts have that size.
 * Returns false if the part is a single element. */
bool abuti_parts_halve(abuti_parts *parts);
/* There was spare capacity: doubles the size of the next part, up to the initial size. */
void abuti_parts_widen(abuti_parts *parts);

#endif
