/* Work on a device, for all other modules: queues, buffers, programs, kernels, launches.
 *
 * A back end is a table of functions (OpenCL is the only one so far); code outside it does not
 * depend on which one it is. Structs are small and stored by value; zero means "none", and
 * destroying a zeroed struct is allowed. Every object keeps a reference to its device. A device may
 * be used by several threads; a queue, a kernel and objects built on them have one user at a time.
 * Every failure of a device is ABUT_ERROR_DEVICE with a message that names the device, the call and
 * the error.
 */
#ifndef ABUTI_DEVICE_H
#define ABUTI_DEVICE_H

#include "base/base.h"

#include <abut/device.h>

#include <stdatomic.h>

typedef struct abuti_backend abuti_backend;
/* Queues and staging memory for large copies; transfer.c. */
typedef struct abuti_transfer_channels abuti_transfer_channels;

/* Memory on a device, aligned to at least 16 bytes, so that kernels may read vectors of four. */
typedef struct abuti_buffer {
    abut_device *device; /* referenced; null = none */
    void *native;
    size_t bytes;
} abuti_buffer;

/* The common part of every device; a back end appends its own data. */
struct abut_device {
    const abuti_backend *backend;
    abut_context *context; /* referenced */
    atomic_uint reference_count;
    abut_device_info info;
    abuti_transfer_channels *channels; /* null = not created yet */
    atomic_flag channels_in_use;       /* lock of the channels */
};

abut_device *abuti_device_retain(abut_device *device);

/* Pinned host memory: a device copies from and to it by itself, at full bus speed, while the host
 * continues. Plain memory if the device has none. */
typedef struct abuti_staging {
    void *native; /* null = plain memory */
    void *at;     /* null = none */
    size_t bytes;
} abuti_staging;

/* Commands that run in order. */
typedef struct abuti_queue {
    abut_device *device; /* referenced; null = none */
    void *native;
    void *untimed;      /* while the clock runs: the queue without profiling */
    void *first, *last; /* events of the clock */
    bool clock;
    abut_status error; /* the first failure since the last report; ABUT_OK = none */
} abuti_queue;

/* A compiled module; owned by its device, which keeps every program. */
typedef struct abuti_program abuti_program;
/* Embedded kernel source; see below. */
typedef struct abuti_module abuti_module;

typedef struct abuti_kernel {
    abut_device *device; /* referenced; null = none */
    void *native;
    const char *name;
} abuti_kernel;

typedef struct abuti_argument {
    const void *value;
    size_t bytes;
} abuti_argument;

struct abuti_backend {
    void (*close)(abut_device *device);
    void *(*native)(const abut_device *device);
    abut_status (*queue_open)(abuti_queue *queue);
    void (*queue_close)(abuti_queue *queue);
    abut_status (*buffer_create)(abuti_buffer *buffer);
    abut_status (*buffer_wrap)(abuti_buffer *buffer, void *native);
    void (*buffer_destroy)(abuti_buffer *buffer);
    /* Leaves it empty if the device has no such memory. */
    abut_status (*staging_create)(abuti_queue *queue, abuti_staging *staging);
    void (*staging_destroy)(abuti_queue *queue, abuti_staging *staging);
    abut_status (*upload)(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                          size_t bytes, bool waits);
    abut_status (*download)(abuti_queue *queue, const abuti_buffer *from, size_t offset, void *data,
                            size_t bytes, bool waits);
    abut_status (*copy)(abuti_queue *queue, const abuti_buffer *from, size_t from_offset,
                        abuti_buffer *to, size_t to_offset, size_t bytes);
    abut_status (*fill)(abuti_queue *queue, abuti_buffer *to, uint32_t word, size_t bytes);
    abut_status (*program)(abut_device *device, const abuti_module *module, const char *options,
                           abuti_program **program);
    abut_status (*kernel_create)(abuti_program *program, abuti_kernel *kernel);
    void (*kernel_destroy)(abuti_kernel *kernel);
    abut_status (*launch)(abuti_queue *queue, const abuti_kernel *kernel, size_t groups,
                          size_t group_items, const abuti_argument *arguments, uint32_t count);
    abut_status (*finish)(abuti_queue *queue);
    abut_status (*wait)(abuti_queue *queue, abuti_queue *other);
    abut_status (*clock_start)(abuti_queue *queue);
    abut_status (*clock_stop)(abuti_queue *queue, double *ms);
};

/* ---- queues ----
 *
 * Errors can be sticky: after abuti_queue_set_error(), nothing is queued, and every call that would
 * queue a command returns ABUT_OK. The next abuti_queue_finish() or abuti_buffer_download() returns
 * the error and clears it. All errors of the kit and the tools (kit.h, tools.h) are sticky;
 * functions of this header return theirs.
 */

abut_status abuti_queue_open(abut_device *device, abuti_queue *queue);
/* Waits for commands that are running. */
void abuti_queue_close(abuti_queue *queue);
/* Waits until all commands are done; returns and clears the sticky error. */
abut_status abuti_queue_finish(abuti_queue *queue);
/* Sets the sticky error, unless there is one already or the status is ABUT_OK. */
void abuti_queue_set_error(abuti_queue *queue, abut_status status);
/* Returns and clears the sticky error, without waiting. */
abut_status abuti_queue_report(abuti_queue *queue);
/* Commands that are queued from now on start after all commands that another queue of the device
 * has so far. Returns immediately. */
abut_status abuti_queue_wait(abuti_queue *queue, abuti_queue *other);
/* Between start and stop the device measures its own time, from the begin of the first launch to
 * the end of the last. Both calls wait; without a launch the time is 0. A failure of start is
 * returned by stop. */
void abuti_queue_clock_start(abuti_queue *queue);
abut_status abuti_queue_clock_stop(abuti_queue *queue, double *ms);

/* ---- buffers ---- */

/* Uninitialised; 0 bytes give a valid buffer. */
abut_status abuti_buffer_create(abut_device *device, size_t count, size_t element_bytes,
                                abuti_buffer *buffer);
void abuti_buffer_destroy(abuti_buffer *buffer);
/* Creates a buffer with content; null data = uninitialised. Errors are sticky; if there is one
 * already, no buffer is created. */
void abuti_buffer_make(abuti_queue *queue, const void *data, size_t count, size_t element_bytes,
                       abuti_buffer *buffer);
/* References memory that other code created on the device. */
abut_status abuti_buffer_wrap(abut_device *device, void *native, abuti_buffer *buffer);
/* Ensures a capacity of count elements; the content is lost if the buffer grows. */
abut_status abuti_buffer_reserve(abut_device *device, size_t count, size_t element_bytes,
                                 abuti_buffer *buffer);
/* The host memory may be reused when these return. */
abut_status abuti_buffer_upload(abuti_queue *queue, abuti_buffer *to, size_t offset,
                                const void *data, size_t bytes);
abut_status abuti_buffer_download(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                  void *data, size_t bytes);
/* Asynchronous copies: these return immediately, and the host memory must stay valid until the
 * queue was waited for, by abuti_queue_finish() or another call that waits. Only useful with
 * staging memory. */
abut_status abuti_buffer_send(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                              size_t bytes);
abut_status abuti_buffer_receive(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                 void *data, size_t bytes);
/* Downloads a large range on all threads of a context, and waits. Uses queues of the device, so all
 * commands that write the buffer must be done. Thread-safe. */
abut_status abuti_buffer_fetch(const abuti_buffer *from, size_t offset, abut_context *context,
                               void *data, size_t bytes);
/* The large copies of abuti_buffer_upload(), on all threads of the device's context. Returns false
 * without copying if there are few bytes or no free channels. */
bool abuti_transfer_upload(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                           size_t bytes, abut_status *status);
/* Releases the channels of a device without references. */
void abuti_transfer_destroy(abut_device *device);
/* Copies from the beginning of one buffer to the beginning of another. */
abut_status abuti_buffer_copy(abuti_queue *queue, const abuti_buffer *from, abuti_buffer *to,
                              size_t bytes);
/* Copies between arbitrary offsets. */
abut_status abuti_buffer_copy_part(abuti_queue *queue, const abuti_buffer *from, size_t from_offset,
                                   abuti_buffer *to, size_t to_offset, size_t bytes);
/* Repeats a word over the first `bytes`, a multiple of 4. */
abut_status abuti_buffer_fill(abuti_queue *queue, abuti_buffer *to, uint32_t word, size_t bytes);

/* Uninitialised; destroy it before the queue is closed. */
abut_status abuti_staging_create(abuti_queue *queue, size_t count, size_t element_bytes,
                                 abuti_staging *staging);
/* Waits for commands that are running. */
void abuti_staging_destroy(abuti_queue *queue, abuti_staging *staging);

/* The public buffer, with a queue of its own. */
struct abut_buffer {
    abuti_queue queue;
    abuti_buffer memory;
};
/* Fails if the buffer is on another device or has fewer than `count` elements. `what` names the
 * argument of `function`. */
abut_status abuti_buffer_check(const abut_buffer *buffer, const char *function, const char *what,
                               const abut_device *device, size_t count, size_t element_bytes);

/* ---- programs and kernels ---- */

/* Returns the embedded module ("scan" is src/foundation/device/scan.cl with its includes) compiled
 * with these options ("" for none) and the options of every program. It comes from memory, from the
 * cache on disk, or from the compiler, in this order. */
abut_status abuti_program_get(abut_device *device, const char *module, const char *options,
                              abuti_program **program);
/* The same for a module outside the library. It must outlive the device and have a unique name. */
abut_status abuti_program_make(abut_device *device, const abuti_module *module, const char *options,
                               abuti_program **program);
/* `name` must outlive the kernel. */
abut_status abuti_kernel_create(abuti_program *program, abut_device *device, const char *name,
                                abuti_kernel *kernel);
void abuti_kernel_destroy(abuti_kernel *kernel);

/* Queues `groups` work-groups; zero groups are allowed and do nothing. */
abut_status abuti_launch(abuti_queue *queue, const abuti_kernel *kernel, size_t groups,
                         size_t group_items, const abuti_argument *arguments, uint32_t count);
#define ABUTI_BUFFER(buffer) \
    { &(buffer)->native, sizeof(buffer)->native }
#define ABUTI_VALUE(variable) \
    { &(variable), sizeof(variable) }
/* Local memory of a work-group. */
#define ABUTI_LOCAL_MEMORY(bytes) \
    { NULL, bytes }

/* ---- embedded kernel source (made at build time by cmake/embed.cmake) ---- */

struct abuti_module {
    const char *name;
    const char *text;
    size_t bytes;
};
extern const abuti_module abuti_modules[]; /* of the library; ends with a null name */

/* ---- check.c ---- */

/* Runs the self-test. Wrong integers fail; float bits that differ from the host's clear
 * info.same_bits. */
abut_status abuti_device_self_test(abut_device *device);
/* Fails if a device cannot compute the bits of the CPU in double. The message states that
 * `function` also works without a device. */
abut_status abuti_device_check_bits(const char *function, const abut_device *device);

/* ---- the OpenCL back end; without it there are no devices ---- */

/* As abut_device_list(); if there is no device, *absence has the reason. */
abut_status abuti_opencl_list(abut_context *context, abut_device_info *infos, uint32_t room,
                              uint32_t *count, const char **absence);
/* Opens the device at an index of that list, if it still matches its description. */
abut_status abuti_opencl_open(abut_context *context, uint32_t index, const abut_device_info *info,
                              abut_device **device);
/* The same for a cl_context and a cl_device_id that other code created. */
abut_status abuti_opencl_open_native(abut_context *context, void *native_context,
                                     void *native_device, abut_device **device);

/* For tests: makes the n-th OpenCL call of this thread from now on fail (0 = none). */
void abuti_opencl_fail_at(uint64_t n);
/* OpenCL calls of this thread since then. */
uint64_t abuti_opencl_calls(void);
/* OpenCL objects created and not yet released, of all threads. */
uint64_t abuti_opencl_live(void);

#endif
