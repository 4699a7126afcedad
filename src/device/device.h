/* Work on a device, for the floors above: queues, buffers, programs, kernels, launches.
 *
 * A back end is a table of functions (OpenCL is the only one so far); nothing outside it knows
 * which it is. Structures are small, held by value, and zero means "none": destroying a zeroed one
 * is allowed. Every object keeps its device alive. A device may be used by several threads; a
 * queue, a kernel and whatever is built on them belong to one user at a time. Every failure of a
 * device is ABUT_ERROR_DEVICE with a sentence that names the device, the call and the error.
 */
#ifndef ABUTI_DEVICE_H
#define ABUTI_DEVICE_H

#include "base/base.h"

#include <abut/device.h>

#include <stdatomic.h>

typedef struct abuti_backend abuti_backend;
/* Queues and memory for what is much to copy; lanes.c. */
typedef struct abuti_lanes abuti_lanes;

/* Memory on a device. At least 16-byte aligned, so that kernels may read vectors of four. */
typedef struct abuti_buffer {
    abut_device *device; /* held; null = none */
    void *native;
    size_t bytes;
} abuti_buffer;

/* Buffers that wait for the next user, the oldest first; spare.c. They do not hold the device. */
enum { ABUTI_SPARES = 64, ABUTI_SPARE_MIN = 1 << 16 };
typedef struct abuti_spares {
    size_t least;      /* bytes of a buffer that is worth it; tests change it */
    atomic_flag taken; /* of all below */
    abuti_buffer kept[ABUTI_SPARES];
    uint32_t count;
    size_t bytes;
} abuti_spares;

/* What every device has; a back end puts its own behind it. */
struct abut_device {
    const abuti_backend *backend;
    abut_context *context; /* held */
    atomic_uint holds;
    abut_device_info info;
    abuti_lanes *lanes; /* of whoever has set the flag; null = not made yet */
    atomic_flag lanes_taken;
    abuti_spares spares;
};

abut_device *abuti_device_retain(abut_device *device);

/* Memory of the host that a device copies from and to by itself, at the full speed of the bus,
 * while the host goes on. Plain memory where the device has none to give. */
typedef struct abuti_staging {
    void *native; /* null = plain memory */
    void *at;     /* null = none */
    size_t bytes;
} abuti_staging;

/* Commands in order, one after the other. */
typedef struct abuti_queue {
    abut_device *device; /* held; null = none */
    void *native;
    void *untimed;      /* while the clock runs: the one without */
    void *first, *last; /* events of the clock */
    bool clock;
    abut_status stuck; /* the first failure since the last report; ABUT_OK = none */
} abuti_queue;

/* A built module; owned by its device, which keeps every program once built. */
typedef struct abuti_program abuti_program;
/* Embedded kernel text; see below. */
typedef struct abuti_module abuti_module;

typedef struct abuti_kernel {
    abut_device *device; /* held; null = none */
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
    /* Leaves it empty where the device has no such memory to give. */
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
 * A failure may stick to a queue: from then on nothing is queued, and every call that would queue
 * something returns ABUT_OK. The next abuti_queue_finish() or abuti_buffer_download() reports the
 * failure, and the queue is free again. The kit and the tools (kit.h, tools.h) let all of their
 * failures stick; functions of this header return theirs.
 */

abut_status abuti_queue_open(abut_device *device, abuti_queue *queue);
/* Waits for what is under way. */
void abuti_queue_close(abuti_queue *queue);
/* Waits until all is done; reports what sticks, see below. */
abut_status abuti_queue_finish(abuti_queue *queue);
/* Makes a failure stick, unless one does already or it is ABUT_OK. */
void abuti_queue_stick(abuti_queue *queue, abut_status status);
/* What sticks, without waiting; the queue is free again. */
abut_status abuti_queue_report(abuti_queue *queue);
/* What is queued from now on begins when all that another queue of the device has so far is done.
 * Returns at once. */
abut_status abuti_queue_wait(abuti_queue *queue, abuti_queue *other);
/* Between start and stop the device notes its own time, from the begin of the first launch to the
 * end of the last. Both wait; without any launch the time is 0. Stop says what start failed at. */
void abuti_queue_clock_start(abuti_queue *queue);
abut_status abuti_queue_clock_stop(abuti_queue *queue, double *ms);

/* ---- buffers ---- */

/* Uninitialised; 0 bytes give a valid buffer. */
abut_status abuti_buffer_create(abut_device *device, size_t count, size_t element_bytes,
                                abuti_buffer *buffer);
void abuti_buffer_destroy(abuti_buffer *buffer);
/* The same with content; null = none. Its failures stick, and where one does already, there is no
 * buffer. */
void abuti_buffer_make(abuti_queue *queue, const void *data, size_t count, size_t element_bytes,
                       abuti_buffer *buffer);
/* Destroys it, or keeps its memory for a later abuti_buffer_reserve(). Nothing that is queued may
 * use it any more. */
void abuti_buffer_spare(abuti_buffer *buffer);
/* One that was kept, of this many bytes or some more; false where there is none. */
bool abuti_spares_take(abut_device *device, size_t bytes, abuti_buffer *buffer);
/* Releases the oldest until there is room for one more and no more than this is kept; whether there
 * were any. */
bool abuti_spares_release(abut_device *device, size_t bytes_left);
/* Holds memory that someone else made on the device. */
abut_status abuti_buffer_wrap(abut_device *device, void *native, abuti_buffer *buffer);
/* Makes sure that a buffer holds at least this much; its content is lost where it grows. */
abut_status abuti_buffer_reserve(abut_device *device, size_t count, size_t element_bytes,
                                 abuti_buffer *buffer);
/* The host's memory may be reused when these return. */
abut_status abuti_buffer_upload(abuti_queue *queue, abuti_buffer *to, size_t offset,
                                const void *data, size_t bytes);
abut_status abuti_buffer_download(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                  void *data, size_t bytes);
/* The same, but these return at once: the host's memory must stay until the queue was waited for,
 * by abuti_queue_finish() or whatever else waits. Pays for staging memory only. */
abut_status abuti_buffer_send(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                              size_t bytes);
abut_status abuti_buffer_receive(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                 void *data, size_t bytes);
/* Copies much memory to the host on all threads of a context, and waits: by queues of the device's
 * own, so that all that writes the buffer must be done. Several threads may call it. */
abut_status abuti_buffer_fetch(const abuti_buffer *from, size_t offset, abut_context *context,
                               void *data, size_t bytes);
/* What abuti_buffer_upload() does with much memory: the same, on all threads of the device's
 * context. False where it did nothing: there is not so much, or no lanes. */
bool abuti_lanes_upload(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                        size_t bytes, abut_status *status);
/* Releases what both keep; of a device that nobody holds. */
void abuti_lanes_destroy(abut_device *device);
/* From the beginning of one to the beginning of another. */
abut_status abuti_buffer_copy(abuti_queue *queue, const abuti_buffer *from, abuti_buffer *to,
                              size_t bytes);
/* The same between any places. */
abut_status abuti_buffer_copy_part(abuti_queue *queue, const abuti_buffer *from, size_t from_offset,
                                   abuti_buffer *to, size_t to_offset, size_t bytes);
/* Repeats a word over the first `bytes`, a multiple of 4. */
abut_status abuti_buffer_fill(abuti_queue *queue, abuti_buffer *to, uint32_t word, size_t bytes);

/* Uninitialised; destroyed before the queue is closed. */
abut_status abuti_staging_create(abuti_queue *queue, size_t count, size_t element_bytes,
                                 abuti_staging *staging);
/* Waits for what is under way. */
void abuti_staging_destroy(abuti_queue *queue, abuti_staging *staging);

/* A buffer as users have it, with a queue of its own. */
struct abut_buffer {
    abuti_queue queue;
    abuti_buffer memory;
};
/* Refuses one of another device, or without room for so many elements: `what` of `function`. */
abut_status abuti_buffer_check(const abut_buffer *buffer, const char *function, const char *what,
                               const abut_device *device, size_t count, size_t element_bytes);

/* ---- programs and kernels ---- */

/* The embedded module ("scan" is src/device/scan.cl with its includes) built with these options (""
 * for none) and those that every program gets. Comes from memory, from the cache on disk, or from
 * the compiler, in this order. */
abut_status abuti_program_get(abut_device *device, const char *module, const char *options,
                              abuti_program **program);
/* The same for a module that is not the library's: it outlives the device, and its name is that of
 * no other. */
abut_status abuti_program_make(abut_device *device, const abuti_module *module, const char *options,
                               abuti_program **program);
/* `name` must outlive the kernel. */
abut_status abuti_kernel_create(abuti_program *program, abut_device *device, const char *name,
                                abuti_kernel *kernel);
void abuti_kernel_destroy(abuti_kernel *kernel);

/* Queues `groups` work-groups; zero groups are no work and no error. */
abut_status abuti_launch(abuti_queue *queue, const abuti_kernel *kernel, size_t groups,
                         size_t group_items, const abuti_argument *arguments, uint32_t count);
#define ABUTI_BUFFER(buffer) \
    { &(buffer)->native, sizeof(buffer)->native }
#define ABUTI_VALUE(variable) \
    { &(variable), sizeof(variable) }
/* Local memory for a group. */
#define ABUTI_LOCAL_MEMORY(bytes) \
    { NULL, bytes }

/* ---- embedded kernel text (made at build time by cmake/embed.cmake) ---- */

struct abuti_module {
    const char *name;
    const char *text;
    size_t bytes;
};
extern const abuti_module abuti_modules[]; /* of the library; ends with a null name */

/* ---- check.c ---- */

/* Runs the known-answer kernels. Wrong whole numbers fail; float bits other than the host's clear
 * info.same_bits. */
abut_status abuti_device_check(abut_device *device);
/* Refuses a device that cannot give the bits of the CPU in doubles; what `function` makes can be
 * made without one. */
abut_status abuti_device_check_bits(const char *function, const abut_device *device);

/* ---- the OpenCL back end; built without it, there are no devices ---- */

/* As abut_device_list(); where there is none, *absence says why. */
abut_status abuti_opencl_list(abut_context *context, abut_device_info *infos, uint32_t room,
                              uint32_t *count, const char **absence);
/* Opens the device at a place of that list, as long as it is the one that was described. */
abut_status abuti_opencl_open(abut_context *context, uint32_t index, const abut_device_info *info,
                              abut_device **device);
/* The same on a cl_context and a cl_device_id that someone else made. */
abut_status abuti_opencl_open_native(abut_context *context, void *native_context,
                                     void *native_device, abut_device **device);

/* For tests: makes the n-th call of OpenCL on this thread fail from now on (0 = none). */
void abuti_opencl_fail_at(uint64_t n);
/* Calls on this thread since then. */
uint64_t abuti_opencl_calls(void);
/* OpenCL objects made and not yet released, of all threads. */
uint64_t abuti_opencl_live(void);

#endif
