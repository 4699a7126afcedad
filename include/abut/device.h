/* Devices: what OpenCL offers on this machine, and how to choose from it.
 *
 * The OpenCL loader (libOpenCL.so.1) is opened at run time, so the library works where there is
 * none: the list is then empty, and everything runs on the CPU path, which needs no device.
 */
#ifndef ABUT_DEVICE_H
#define ABUT_DEVICE_H

#include <abut/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abut_device_kind {
    ABUT_DEVICE_KIND_GPU = 0,
    ABUT_DEVICE_KIND_CPU,
    ABUT_DEVICE_KIND_OTHER
} abut_device_kind;

ABUT_API const char *abut_device_kind_name(abut_device_kind kind);

/* What a device says of itself. Texts that are longer are cut. */
typedef struct abut_device_info {
    size_t size; /* sizeof(abut_device_info), set by the default function */
    char name[128], vendor[128];
    char driver[64];        /* version of the driver */
    char version[128];      /* "OpenCL 3.0 ..." */
    char platform[128];     /* name of the platform that offers it */
    abut_device_kind kind;  /* what it is */
    uint32_t compute_units; /* groups that run side by side, at least */
    uint32_t clock_mhz;     /* highest; 0 = not told */
    uint64_t memory_bytes;
    uint64_t buffer_bytes; /* the largest single buffer */
    uint64_t local_bytes;  /* memory that a work-group shares */
    uint64_t group_items;  /* the largest work-group */
    bool has_doubles;
    bool is_default; /* in a list: what abut_device_open() takes where nothing is said */
    /* Known of an open device only, false before: float arithmetic gives the bits of this host. */
    bool same_bits;
} abut_device_info;

ABUT_DEFAULT(abut_device_info)

/* An open device. It counts its holders: objects that work on it keep it alive. */
typedef struct abut_device abut_device;

/* Stores what the devices say of themselves in `infos` if they are at most `capacity`, else fails
 * with ABUT_ERROR_BUFFER; `count` gets their number in either case. No device is no error: the
 * count is 0. `infos` may be null with a capacity of 0. The size field of the first element must be
 * set and applies to all of them. The position in the list is the number by which
 * abut_device_open() knows the device. Thread-safe. */
ABUT_API abut_status abut_device_list(abut_context *context, uint64_t capacity,
                                      abut_device_info *infos, uint64_t *count);

/* Opens a device and checks that it computes known answers. `selector` is
 *   null, "" or "auto"  the fastest GPU
 *   "gpu", "cpu"        the fastest of that kind; a CPU is an OpenCL device such as PoCL
 *   a number            the device at that place of the list, from 0
 *   other text          the first device with that text in its name or its platform's, in any case
 * Fails with ABUT_ERROR_DEVICE where there is none such; the sentence says what there is.
 * Thread-safe.
 */
ABUT_API abut_status abut_device_open(abut_context *context, const char *selector,
                                      abut_device **device);

/* Gets the properties of an open device. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_device_get_info(const abut_device *device, abut_device_info *info);

/* Gives up the caller's hold on a device; objects that work on it keep it alive. With the last of
 * them goes what it keeps for the next: memory of builds that are done, up to 256 MB or a 32nd of
 * what the device has, and pinned memory of the host. Null is allowed. Thread-safe. */
ABUT_API void abut_device_destroy(abut_device *device);

/* ---- memory on a device ---- */

/* Bytes on a device, for data that stays there from call to call. For one user at a time. */
typedef struct abut_buffer abut_buffer;

/* Takes memory on a device; its content is not defined. Fails with ABUT_ERROR_DEVICE where there is
 * not enough. Thread-safe. */
ABUT_API abut_status abut_buffer_create(abut_device *device, size_t bytes, abut_buffer **buffer);
/* Null is allowed. */
ABUT_API void abut_buffer_destroy(abut_buffer *buffer);
/* Its size; 0 for null. Thread-safe. */
ABUT_API size_t abut_buffer_bytes(const abut_buffer *buffer);
/* Copies bytes to the buffer or from it, and waits. Refused: a range beyond its end. */
ABUT_API abut_status abut_buffer_write(abut_buffer *buffer, size_t offset, const void *data,
                                       size_t bytes);
ABUT_API abut_status abut_buffer_read(const abut_buffer *buffer, size_t offset, void *data,
                                      size_t bytes);

/* Elements in memory of the host, or on a device from the beginning of a buffer (a part of one is a
 * sub-buffer that was wrapped): where questions come from and answers go; neither where there is
 * none. Elements stand close together, and questions are only read. */
typedef struct abut_array {
    void *host;          /* or */
    abut_buffer *buffer; /* on the device of the object that is asked */
} abut_array;

/* What is given may not have been written yet, of which gcc warns otherwise. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define ABUT_UNREAD __attribute__((access(none, 1)))
#else
#define ABUT_UNREAD
#endif

/* An array in memory of the host; null = none. Thread-safe. */
ABUT_UNREAD static inline abut_array abut_array_host(const void *host) {
    abut_array array;
    array.host = (void *)(uintptr_t)host;
    array.buffer = NULL;
    return array;
}

/* An array in a buffer; null = none. Thread-safe. */
static inline abut_array abut_array_buffer(const abut_buffer *buffer) {
    abut_array array;
    array.host = NULL;
    array.buffer = (abut_buffer *)(uintptr_t)buffer;
    return array;
}

/* ---- a program's own OpenCL ----
 *
 * Who uses OpenCL already opens a device on his own cl_context, and passes his own cl_mem. Handles
 * are void * here, so that this header needs no other. Objects are retained as long as they are
 * used. Calls of this library finish what they queue on a caller's buffers before they return; what
 * the caller has queued on them he has to finish before he calls.
 */

/* Opens a device (a cl_device_id) of a cl_context. Thread-safe. */
ABUT_API abut_status abut_device_open_native(abut_context *context, void *native_context,
                                             void *native_device, abut_device **device);
/* The cl_context of a device, in which a caller may make buffers; null for null. */
ABUT_API void *abut_device_native(const abut_device *device);
/* Makes a buffer of a cl_mem of the device's cl_context. Thread-safe. */
ABUT_API abut_status abut_buffer_wrap(abut_device *device, void *native, abut_buffer **buffer);
/* The cl_mem of a buffer; null for null. */
ABUT_API void *abut_buffer_native(const abut_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
