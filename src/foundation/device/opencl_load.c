/* The OpenCL loader, opened once and never closed, because some drivers fail when they are
 * unloaded. Built without the OpenCL headers, this file reports that there are no devices. */
#include "device/device.h"

#ifndef ABUT_HAS_OPENCL

abut_status abuti_opencl_list(abut_context *context, abut_device_info *infos, uint32_t room,
                              uint32_t *count, const char **absence) {
    (void)context;
    (void)infos;
    (void)room;
    *count = 0;
    *absence = "this build is without OpenCL";
    return ABUT_OK;
}

abut_status abuti_opencl_open(abut_context *context, uint32_t index, const abut_device_info *info,
                              abut_device **device) {
    (void)context;
    (void)index;
    (void)info;
    (void)device;
    return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: this build is without OpenCL");
}

abut_status abuti_opencl_open_native(abut_context *context, void *native_context,
                                     void *native_device, abut_device **device) {
    (void)context;
    (void)native_context;
    (void)native_device;
    (void)device;
    return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open_native: this build is without OpenCL");
}

void abuti_opencl_fail_at(uint64_t n) {
    (void)n;
}

uint64_t abuti_opencl_calls(void) {
    return 0;
}

uint64_t abuti_opencl_live(void) {
    return 0;
}

#else

#include "base/system.h"
#include "device/opencl.h"

#include <stdlib.h>
#include <string.h>

abuti_opencl_table abuti_opencl;

#if defined(_WIN32)
#define LOADER "OpenCL.dll"
#define HINT ""
#elif defined(__APPLE__)
#define LOADER "/System/Library/Frameworks/OpenCL.framework/OpenCL"
#define HINT ""
#else
#define LOADER "libOpenCL.so.1"
#define HINT " (Debian: install ocl-icd-libopencl1)"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *absence; /* null after loading */

/* Object pointers and function pointers have the same representation in POSIX, but not in ISO C. */
static bool load_symbol(void *library, const char *name, void *function, size_t bytes) {
    void *symbol = abuti_system_find_symbol(library, name);
    memcpy(function, &symbol, bytes);
    return symbol != NULL;
}

static void load_functions(void) {
    const char *path = getenv("ABUT_OPENCL_LIBRARY");
    if (path && strcmp(path, "off") == 0) {
        absence = "ABUT_OPENCL_LIBRARY is off";
        return;
    }
    void *library = abuti_system_load_library(path && path[0] ? path : LOADER);
    if (!library) {
        absence = path && path[0] ? "the library that ABUT_OPENCL_LIBRARY names cannot be opened"
                                  : LOADER " cannot be opened" HINT;
        return;
    }
    bool complete = true;
#define LOAD_SYMBOL(name) \
    complete = load_symbol(library, #name, &abuti_opencl.name, sizeof(void *)) && complete;
    ABUTI_OPENCL_FUNCTIONS(LOAD_SYMBOL)
    if (!complete)
        absence = "the OpenCL loader lacks functions of OpenCL 1.2";
}

const char *abuti_opencl_load(void) {
    pthread_once(&once, load_functions);
    return absence;
}

/* ---- for tests ---- */

static _Thread_local uint64_t calls, fail_at;
static atomic_uint_least64_t live;

void abuti_opencl_fail_at(uint64_t n) {
    calls = 0;
    fail_at = n;
}

uint64_t abuti_opencl_calls(void) {
    return calls;
}

uint64_t abuti_opencl_live(void) {
    return atomic_load(&live);
}

bool abuti_opencl_fault(void) {
    return ++calls == fail_at;
}

void abuti_opencl_count(int change) {
    if (change > 0)
        atomic_fetch_add(&live, 1);
    else
        atomic_fetch_sub(&live, 1);
}

/* ---- errors ---- */

#define ERRORS(E)                       \
    E(CL_DEVICE_NOT_FOUND)              \
    E(CL_DEVICE_NOT_AVAILABLE)          \
    E(CL_COMPILER_NOT_AVAILABLE)        \
    E(CL_MEM_OBJECT_ALLOCATION_FAILURE) \
    E(CL_OUT_OF_RESOURCES)              \
    E(CL_OUT_OF_HOST_MEMORY)            \
    E(CL_PROFILING_INFO_NOT_AVAILABLE)  \
    E(CL_BUILD_PROGRAM_FAILURE)         \
    E(CL_INVALID_VALUE)                 \
    E(CL_INVALID_DEVICE_TYPE)           \
    E(CL_INVALID_PLATFORM)              \
    E(CL_INVALID_DEVICE)                \
    E(CL_INVALID_CONTEXT)               \
    E(CL_INVALID_QUEUE_PROPERTIES)      \
    E(CL_INVALID_COMMAND_QUEUE)         \
    E(CL_INVALID_MEM_OBJECT)            \
    E(CL_INVALID_BINARY)                \
    E(CL_INVALID_BUILD_OPTIONS)         \
    E(CL_INVALID_PROGRAM)               \
    E(CL_INVALID_PROGRAM_EXECUTABLE)    \
    E(CL_INVALID_KERNEL_NAME)           \
    E(CL_INVALID_KERNEL_DEFINITION)     \
    E(CL_INVALID_KERNEL)                \
    E(CL_INVALID_ARG_INDEX)             \
    E(CL_INVALID_ARG_VALUE)             \
    E(CL_INVALID_ARG_SIZE)              \
    E(CL_INVALID_KERNEL_ARGS)           \
    E(CL_INVALID_WORK_DIMENSION)        \
    E(CL_INVALID_WORK_GROUP_SIZE)       \
    E(CL_INVALID_WORK_ITEM_SIZE)        \
    E(CL_INVALID_GLOBAL_OFFSET)         \
    E(CL_INVALID_EVENT_WAIT_LIST)       \
    E(CL_INVALID_EVENT)                 \
    E(CL_INVALID_OPERATION)             \
    E(CL_INVALID_BUFFER_SIZE)           \
    E(CL_INVALID_GLOBAL_WORK_SIZE)      \
    E(CL_INVALID_PROPERTY)              \
    E(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)

const char *abuti_opencl_error_name(cl_int error) {
    switch (error) {
#define NAME(code) \
    case code:     \
        return #code;
        ERRORS(NAME)
    case -1001:
        return "CL_PLATFORM_NOT_FOUND_KHR";
    }
    return "unknown error";
}

abut_status abuti_opencl_fail(const char *device_name, const char *call, cl_int error) {
    const char *hint = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES
                           ? "; the device is out of memory or lost: release memory, or use the CPU"
                           : "";
    return abuti_fail(ABUT_ERROR_DEVICE, "%s: %s failed: %s (%d)%s", device_name, call,
                      abuti_opencl_error_name(error), error, hint);
}

#endif
