/* OpenCL devices: enumeration, selection, device memory and interoperation with OpenCL programs.
 *
 * The library loads the OpenCL loader (libOpenCL.so.1) at run time. On a machine without OpenCL the
 * list of devices is empty, and all computations run on the CPU path, which needs no device.
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

/* Returns "gpu", "cpu" or "other". Thread-safe. */
ABUT_API const char *abut_device_kind_name(abut_device_kind kind);

/* Properties that the driver reports. Longer strings are truncated. */
typedef struct abut_device_info {
    size_t size; /* sizeof(abut_device_info), set by the default function */
    char name[128], vendor[128];
    char driver[64];        /* driver version */
    char version[128];      /* "OpenCL 3.0 ..." */
    char platform[128];     /* name of the OpenCL platform */
    abut_device_kind kind;  /* GPU, CPU or other */
    uint32_t compute_units; /* compute units; at least that many work-groups run concurrently */
    uint32_t clock_mhz;     /* maximum clock frequency; 0 = unknown */
    uint64_t memory_bytes;  /* global memory */
    uint64_t buffer_bytes;  /* the largest single buffer */
    uint64_t local_bytes;   /* local memory of a work-group */
    uint64_t group_items;   /* work-items of the largest work-group */
    bool has_doubles;       /* the device computes with doubles */
    bool is_default;        /* in a list: the device that abut_device_open() selects by default */
    /* Float arithmetic gives the same bits as this host. Known only of an open device; false
     * otherwise. */
    bool same_bits;
} abut_device_info;

ABUT_DEFAULT(abut_device_info)
ABUT_LIST(abut_device_info)

/* An open device. It is reference counted: objects that use it keep a reference. */
typedef struct abut_device abut_device;

/* Lists the devices of all platforms. A machine without devices is not an error: the count is 0.
 * If the capacity is not 0, infos->list[0].size must be set, and applies to all elements. The index
 * of a device in this list is the number that abut_device_open() accepts. Thread-safe. */
ABUT_API abut_status abut_device_list(abut_context *context, abut_device_info_list *infos);

/* Opens a device and runs a self-test with known results. `selector` is one of
 *   null, "" or "auto"  the fastest GPU: the largest product of compute units and clock
 *   "gpu", "cpu"        the fastest device of that kind; "cpu" is an OpenCL device such as PoCL
 *   a number            the index in the list of abut_device_list()
 *   other text          the first device whose name or platform contains the text, ignoring case
 * Returns ABUT_ERROR_DEVICE if no device matches or the self-test fails. If no device matches, the
 * error message lists the available devices. Thread-safe. */
ABUT_API abut_status abut_device_open(abut_context *context, const char *selector,
                                      abut_device **device);

/* Stores the properties of an open device. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_device_get_info(const abut_device *device, abut_device_info *info);

/* Releases the caller's reference to a device. With the last reference, the device is closed and
 * its memory cache is freed. The cache holds buffers of finished builds for reuse: at most 256 MB
 * or 1/32 of the device memory, whichever is less, and pinned host memory. Null is allowed.
 * Thread-safe. */
ABUT_API void abut_device_destroy(abut_device *device);

/* ---- device memory ---- */

/* A buffer in device memory, for data that stays on the device between calls. One thread at a time
 * may use a buffer. */
typedef struct abut_buffer abut_buffer;

/* Allocates a buffer; its content is undefined. Returns ABUT_ERROR_DEVICE if the device does
 * not have enough memory or `bytes` exceeds buffer_bytes. Thread-safe. */
ABUT_API abut_status abut_buffer_create(abut_device *device, size_t bytes, abut_buffer **buffer);
/* Frees a buffer. Null is allowed. No other thread may use the buffer. */
ABUT_API void abut_buffer_destroy(abut_buffer *buffer);
/* Returns the size of a buffer in bytes; 0 for null. Thread-safe. */
ABUT_API size_t abut_buffer_bytes(const abut_buffer *buffer);
/* Copies bytes from the host to the buffer, and waits for completion. Returns ABUT_ERROR_ARGUMENT
 * if the range exceeds the buffer. One thread per buffer. */
ABUT_API abut_status abut_buffer_write(abut_buffer *buffer, size_t offset, const void *data,
                                       size_t bytes);
/* Copies bytes from the buffer to the host; otherwise as abut_buffer_write(). One thread per
 * buffer.
 */
ABUT_API abut_status abut_buffer_read(const abut_buffer *buffer, size_t offset, void *data,
                                      size_t bytes);

/* An array of elements in host memory or in a device buffer: the inputs and outputs of a batch. At
 * most one of `host` and `buffer` is set. If both are null, the array is absent. Elements in a
 * buffer start at its beginning; to use a part of a buffer, wrap a sub-buffer. Inputs are only
 * read.
 *
 * Each function documents the type of the elements, such as abut_ray or uint32_t. They are
 * contiguous. Inputs of doubles (abut_vec3, abut_ray, abut_box, abut_pose) have two more forms,
 * unless the function excludes them:
 *  - In host memory they may have any stride and alignment, such as positions among other
 *    attributes of vertices.
 *  - They may consist of floats instead of doubles, with as many numbers in the same order. In a
 *    buffer, only points may.
 * Functions convert such inputs to a temporary array of doubles, except points, which are read in
 * place. An array that a function writes must have neither type nor stride. */
typedef struct abut_array {
    void *host;            /* host memory, or null */
    abut_buffer *buffer;   /* on the device of the object that processes the batch, or null */
    size_t stride;         /* inputs: bytes from element to element; 0 = contiguous */
    abut_scalar_type type; /* inputs: type of the numbers; ABUT_SCALAR_NONE = doubles */
    bool is_sorted; /* points: consecutive points are close together, as along a surface or in
                     * the rows of a grid, so that batches do not sort them. It changes the
                     * time, not results */
} abut_array;

/* Suppresses a gcc warning: the memory that the pointer refers to may be uninitialised. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define ABUT_UNREAD __attribute__((access(none, 1)))
#else
#define ABUT_UNREAD
#endif

/* Returns an array of contiguous elements in host memory; null = no array. Thread-safe. */
ABUT_UNREAD static inline abut_array abut_array_host(const void *host) {
    abut_array array;
    memset(&array, 0, sizeof array);
    array.host = (void *)(uintptr_t)host;
    return array;
}

/* The same for an input that consists of floats instead of doubles. Thread-safe. */
static inline abut_array abut_array_floats(const void *host) {
    abut_array array = abut_array_host(host);
    array.type = ABUT_SCALAR_FLOAT32;
    return array;
}

/* Returns an array in a buffer; null = no array. Thread-safe. */
static inline abut_array abut_array_buffer(const abut_buffer *buffer) {
    abut_array array = abut_array_host(NULL);
    array.buffer = (abut_buffer *)(uintptr_t)buffer;
    return array;
}

/* ---- OpenCL interoperation ----
 *
 * A program that already uses OpenCL opens a device on its own cl_context and passes its own cl_mem
 * objects. Handles are declared as void *, so this header does not need the OpenCL headers. The
 * library retains OpenCL objects as long as it uses them. Its functions finish all commands on a
 * caller's buffers before they return. Before a call, the caller finishes its own commands on them.
 */

/* Opens `native_device` (a cl_device_id) of `native_context` (a cl_context), with the self-test of
 * abut_device_open(). Thread-safe. */
ABUT_API abut_status abut_device_open_native(abut_context *context, void *native_context,
                                             void *native_device, abut_device **device);
/* Returns the cl_context of a device; null for null. The caller may create buffers in it.
 * Thread-safe. */
ABUT_API void *abut_device_native(const abut_device *device);
/* Creates a buffer from a cl_mem that belongs to the cl_context of the device. Thread-safe. */
ABUT_API abut_status abut_buffer_wrap(abut_device *device, void *native, abut_buffer **buffer);
/* Returns the cl_mem of a buffer; null for null. Thread-safe. */
ABUT_API void *abut_buffer_native(const abut_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
