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

/* Returns "gpu", "cpu" or "other"; "unknown" for any other value. Thread-safe. */
ABUT_API const char *abut_device_kind_name(abut_device_kind kind);

/* What a device says of itself. Texts that are longer are cut. */
typedef struct abut_device_info {
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

/* An open device. It counts its holders: objects that work on it keep it alive. */
typedef struct abut_device abut_device;

/* Stores how many devices there are in *count and what they say in the first `room` of `infos`. No
 * device is no error: the count is 0. `infos` may be null with a room of 0, to ask for the count
 * alone; otherwise a room that is too small fails with ABUT_ERROR_BUFFER, and the count needed is
 * stored. The position in the list is the number by which abut_device_open() knows the device.
 * Thread-safe. */
ABUT_API abut_status abut_device_list(abut_context *context, abut_device_info *infos, uint32_t room,
                                      uint32_t *count);

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

/* Stores what the open device says of itself. Thread-safe. */
ABUT_API abut_status abut_device_describe(const abut_device *device, abut_device_info *info);

/* Gives up the caller's hold on a device; objects that work on it keep it alive. Null is allowed.
 * Thread-safe. */
ABUT_API void abut_device_destroy(abut_device *device);

#ifdef __cplusplus
}
#endif

#endif
