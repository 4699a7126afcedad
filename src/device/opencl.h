/* The OpenCL back end among its own files. OpenCL 1.2, opened at run time. */
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

/* The functions, once the loader was opened. */
extern abuti_opencl_table abuti_opencl;

/* Opens the loader once; null, or why it cannot be had. */
const char *abuti_opencl_load(void);

/* Counts a call, and tells whether a test wants it to fail. */
bool abuti_opencl_fault(void);
/* Counts objects that OpenCL gave and took back. */
void abuti_opencl_count(int change);

/* OPENCL(clFinish, queue): the error code. Every call that can fail goes through one of these two,
 * so that tests can make any of them fail. */
#define OPENCL(function, ...) \
    (abuti_opencl_fault() ? CL_OUT_OF_RESOURCES : abuti_opencl.function(__VA_ARGS__))
/* For functions that make an object and store the error through their last argument. */
#define OPENCL_MAKE(error, function, ...)                          \
    (abuti_opencl_fault() ? (*(error) = CL_OUT_OF_RESOURCES, NULL) \
                          : abuti_opencl.function(__VA_ARGS__, error))

const char *abuti_opencl_error_name(cl_int error);
/* Says which device, which call and which error. */
abut_status abuti_opencl_fail(const char *device_name, const char *call, cl_int error);

/* One program that was built; the device keeps them all in a list. */
struct abuti_program {
    abuti_program *next;
    cl_program native;
    const abuti_module *module; /* outlives the device */
    char *options;              /* owned */
    bool building;              /* by some thread: there is nothing yet */
    bool cached;                /* `native` comes from the cache on disk */
};

typedef struct opencl_device {
    abut_device base; /* must be first */
    cl_device_id id;
    cl_context native;
    char platform_version[128];
    bool rounds;          /* offers correctly rounded float division and square root */
    pthread_mutex_t lock; /* of the programs */
    pthread_cond_t built; /* or not: some program is no longer being built */
    abuti_program *programs;
    atomic_bool told; /* that the first of them is being compiled */
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
