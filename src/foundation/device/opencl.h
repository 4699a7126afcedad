/* The OpenCL back end: declarations shared by its files. OpenCL 1.2, loaded at run time. */
#ifndef ABUTI_DEVICE_OPENCL_H
#define ABUTI_DEVICE_OPENCL_H

#include "device/device.h"

#include <pthread.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define ABUTI_OPENCL_FUNCTIONS(F)   \
    F(clGetPlatformIDs)             \
    F(clGetPlatformInfo)            \
    F(clGetDeviceIDs)               \
    F(clGetDeviceInfo)              \
    F(clCreateContext)              \
    F(clRetainContext)              \
    F(clGetContextInfo)             \
    F(clReleaseContext)             \
    F(clCreateCommandQueue)         \
    F(clReleaseCommandQueue)        \
    F(clCreateBuffer)               \
    F(clRetainMemObject)            \
    F(clReleaseMemObject)           \
    F(clGetMemObjectInfo)           \
    F(clEnqueueReadBuffer)          \
    F(clEnqueueWriteBuffer)         \
    F(clEnqueueCopyBuffer)          \
    F(clEnqueueFillBuffer)          \
    F(clEnqueueMapBuffer)           \
    F(clEnqueueUnmapMemObject)      \
    F(clCreateProgramWithSource)    \
    F(clCreateProgramWithBinary)    \
    F(clBuildProgram)               \
    F(clGetProgramBuildInfo)        \
    F(clGetProgramInfo)             \
    F(clReleaseProgram)             \
    F(clCreateKernel)               \
    F(clSetKernelArg)               \
    F(clReleaseKernel)              \
    F(clEnqueueNDRangeKernel)       \
    F(clGetEventProfilingInfo)      \
    F(clReleaseEvent)               \
    F(clEnqueueMarkerWithWaitList)  \
    F(clEnqueueBarrierWithWaitList) \
    F(clFlush)                      \
    F(clFinish)

#define ABUTI_OPENCL_DECLARE(name) __typeof__(&name) name;
typedef struct abuti_opencl_table {
    ABUTI_OPENCL_FUNCTIONS(ABUTI_OPENCL_DECLARE)
} abuti_opencl_table;

/* The functions, after the loader was opened. */
extern abuti_opencl_table abuti_opencl;

/* Opens the loader once; returns null, or the reason why it is not available. */
const char *abuti_opencl_load(void);

/* Counts a call, and returns whether a test lets it fail. */
bool abuti_opencl_fault(void);
/* Counts OpenCL objects that were created (+1) or released (-1). */
void abuti_opencl_count(int change);

/* OPENCL(clFinish, queue) returns the error code. Every call that can fail uses one of these two
 * macros, so that tests can make any of them fail. */
#define OPENCL(function, ...) \
    (abuti_opencl_fault() ? CL_OUT_OF_RESOURCES : abuti_opencl.function(__VA_ARGS__))
/* For functions that create an object and store the error through their last argument. */
#define OPENCL_MAKE(error, function, ...)                          \
    (abuti_opencl_fault() ? (*(error) = CL_OUT_OF_RESOURCES, NULL) \
                          : abuti_opencl.function(__VA_ARGS__, error))

const char *abuti_opencl_error_name(cl_int error);
/* Fails with a message that names the device, the call and the error. */
abut_status abuti_opencl_fail(const char *device_name, const char *call, cl_int error);

/* A compiled program; the device keeps all programs in a list. */
struct abuti_program {
    abuti_program *next;
    cl_program native;
    const abuti_module *module; /* outlives the device */
    char *options;              /* owned */
    bool building;              /* a thread is compiling it; there is no program yet */
    bool cached;                /* `native` comes from the cache on disk */
};

typedef struct opencl_device {
    abut_device base; /* must be first */
    cl_device_id id;
    cl_context native;
    char platform_version[128];
    bool rounds_correctly; /* supports correctly rounded float division and square root */
    pthread_mutex_t lock;  /* of the programs */
    pthread_cond_t built;  /* some program is no longer being compiled, with or without success */
    abuti_program *programs;
    atomic_bool has_logged; /* the log message about the first compilation was sent */
} opencl_device;

static inline opencl_device *opencl_of(abut_device *device) {
    return (opencl_device *)device;
}

/* ---- opencl_program.c ---- */

abut_status abuti_opencl_program(abut_device *device, const abuti_module *module,
                                 const char *options, abuti_program **program);
void abuti_opencl_programs_release(opencl_device *device);
abut_status abuti_opencl_kernel_create(abuti_program *program, abuti_kernel *kernel);
void abuti_opencl_kernel_destroy(abuti_kernel *kernel);

/* ---- opencl_queue.c ---- */

extern const abuti_backend abuti_opencl_backend;

#endif
