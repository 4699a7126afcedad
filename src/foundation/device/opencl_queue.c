/* Queues, buffers and launches in OpenCL: the functions of the back end. */
#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

static void close_device(abut_device *base) {
    opencl_device *device = opencl_of(base);
    abut_context *context = base->context;
    abuti_opencl_programs_release(device);
    abuti_opencl.clReleaseContext(device->native);
    abuti_opencl_count(-1);
    pthread_cond_destroy(&device->built);
    pthread_mutex_destroy(&device->lock);
    abuti_release(context, device);
    abut_context_destroy(context);
}

static abut_status status_of(const abuti_queue *queue, const char *call, cl_int error) {
    return error ? abuti_opencl_fail(queue->device->info.name, call, error) : ABUT_OK;
}

/* ---- queues ---- */

static abut_status create_queue(abuti_queue *queue, cl_command_queue_properties properties,
                                void **native) {
    opencl_device *device = opencl_of(queue->device);
    cl_int error = 0;
    cl_command_queue created =
        OPENCL_MAKE(&error, clCreateCommandQueue, device->native, device->id, properties);
    if (!error) {
        abuti_opencl_count(+1);
        *native = created;
    }
    return status_of(queue, "clCreateCommandQueue", error);
}

static void release_queue(void *native) {
    abuti_opencl.clFinish(native);
    abuti_opencl.clReleaseCommandQueue(native);
    abuti_opencl_count(-1);
}

static abut_status open_queue(abuti_queue *queue) {
    return create_queue(queue, 0, &queue->native);
}

static void release_event(void **event) {
    if (*event) {
        abuti_opencl.clReleaseEvent(*event);
        abuti_opencl_count(-1);
    }
    *event = NULL;
}

static void close_queue(abuti_queue *queue) {
    release_queue(queue->native);
    if (queue->untimed)
        release_queue(queue->untimed);
    release_event(&queue->first);
    release_event(&queue->last);
}

static abut_status finish_queue(abuti_queue *queue) {
    return status_of(queue, "clFinish", OPENCL(clFinish, queue->native));
}

/* The other queue is flushed: otherwise OpenCL does not guarantee that its commands start. */
static abut_status wait_for_queue(abuti_queue *queue, abuti_queue *other) {
    void *event = NULL;
    cl_event marker = NULL;
    const char *call = "clEnqueueMarkerWithWaitList";
    cl_int error = OPENCL(clEnqueueMarkerWithWaitList, other->native, 0, NULL, &marker);
    if (!error) {
        abuti_opencl_count(+1);
        event = marker;
        call = "clFlush";
        error = OPENCL(clFlush, other->native);
    }
    if (!error) {
        call = "clEnqueueBarrierWithWaitList";
        error = OPENCL(clEnqueueBarrierWithWaitList, queue->native, 1, &marker, NULL);
    }
    release_event(&event);
    return status_of(queue, call, error);
}

/* Drivers serialise commands more than necessary while they measure times. So a queue has profiling
 * only while its clock runs. */
static abut_status start_clock(abuti_queue *queue) {
    void *timed = NULL;
    abut_status status = queue->untimed ? ABUT_OK : finish_queue(queue);
    if (!status && !queue->untimed)
        status = create_queue(queue, CL_QUEUE_PROFILING_ENABLE, &timed);
    if (timed) {
        queue->untimed = queue->native;
        queue->native = timed;
    }
    return status;
}

static abut_status stop_clock(abuti_queue *queue, double *ms) {
    cl_ulong begin = 0, end = 0;
    cl_int error = OPENCL(clFinish, queue->native);
    if (!error && queue->first)
        error = OPENCL(clGetEventProfilingInfo, queue->first, CL_PROFILING_COMMAND_START,
                       sizeof begin, &begin, NULL);
    if (!error && queue->first)
        error = OPENCL(clGetEventProfilingInfo, queue->last ? queue->last : queue->first,
                       CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    release_event(&queue->first);
    release_event(&queue->last);
    release_queue(queue->native);
    queue->native = queue->untimed;
    queue->untimed = NULL;
    if (!error)
        *ms = (double)(end - begin) * 1e-6;
    return status_of(queue, "clGetEventProfilingInfo", error);
}

/* ---- buffers ---- */

/* OpenCL has no empty buffers. */
static abut_status create_buffer(abuti_buffer *buffer) {
    opencl_device *device = opencl_of(buffer->device);
    size_t bytes = buffer->bytes < 16 ? 16 : buffer->bytes;
    cl_int error = 0;
    buffer->native =
        OPENCL_MAKE(&error, clCreateBuffer, device->native, CL_MEM_READ_WRITE, bytes, NULL);
    if (error)
        return abuti_opencl_fail(device->base.info.name, "clCreateBuffer", error);
    abuti_opencl_count(+1);
    return ABUT_OK;
}

static abut_status wrap_buffer(abuti_buffer *buffer, void *native) {
    opencl_device *device = opencl_of(buffer->device);
    cl_context context = NULL;
    size_t bytes = 0;
    cl_int error =
        OPENCL(clGetMemObjectInfo, native, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (!error && context != device->native)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the buffer belongs to another cl_context than the device",
                          device->base.info.name);
    if (!error)
        error = OPENCL(clGetMemObjectInfo, native, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (!error)
        error = OPENCL(clRetainMemObject, native);
    if (error)
        return abuti_opencl_fail(device->base.info.name, "clGetMemObjectInfo", error);
    abuti_opencl_count(+1);
    buffer->native = native;
    buffer->bytes = bytes;
    return ABUT_OK;
}

static void destroy_buffer(abuti_buffer *buffer) {
    abuti_opencl.clReleaseMemObject(buffer->native);
    abuti_opencl_count(-1);
}

/* A buffer in host memory, which drivers pin, mapped permanently: the device itself copies from or
 * to such memory. */
static abut_status create_staging(abuti_queue *queue, abuti_staging *staging) {
    opencl_device *device = opencl_of(queue->device);
    const char *call = "clCreateBuffer";
    cl_int error = 0;
    cl_mem native = OPENCL_MAKE(&error, clCreateBuffer, device->native,
                                CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, staging->bytes, NULL);
    if (!error) {
        abuti_opencl_count(+1);
        call = "clEnqueueMapBuffer";
        staging->at = OPENCL_MAKE(&error, clEnqueueMapBuffer, queue->native, native, CL_TRUE,
                                  CL_MAP_READ | CL_MAP_WRITE, 0, staging->bytes, 0, NULL, NULL);
        if (error) {
            abuti_opencl.clReleaseMemObject(native);
            abuti_opencl_count(-1);
        }
    }
    staging->native = error ? NULL : native;
    staging->at = error ? NULL : staging->at;
    /* Memory that cannot be pinned is copied like any other memory; this error means more than
     * that. */
    return error == CL_OUT_OF_RESOURCES ? status_of(queue, call, error) : ABUT_OK;
}

static void destroy_staging(abuti_queue *queue, abuti_staging *staging) {
    abuti_opencl.clEnqueueUnmapMemObject(queue->native, staging->native, staging->at, 0, NULL,
                                         NULL);
    abuti_opencl.clFinish(queue->native);
    abuti_opencl.clReleaseMemObject(staging->native);
    abuti_opencl_count(-1);
}

/* Asynchronous copies of at least this many bytes are flushed, so that they start immediately. */
enum { FLUSH_MIN = 1 << 16 };

static abut_status start_copy(abuti_queue *queue, const char *call, cl_int error, size_t bytes,
                              bool waits) {
    if (error || waits || bytes < FLUSH_MIN)
        return status_of(queue, call, error);
    return status_of(queue, "clFlush", OPENCL(clFlush, queue->native));
}

static abut_status upload_range(abuti_queue *queue, abuti_buffer *to, size_t offset,
                                const void *data, size_t bytes, bool waits) {
    cl_int error = OPENCL(clEnqueueWriteBuffer, queue->native, to->native,
                          waits ? CL_TRUE : CL_FALSE, offset, bytes, data, 0, NULL, NULL);
    return start_copy(queue, "clEnqueueWriteBuffer", error, bytes, waits);
}

static abut_status download_range(abuti_queue *queue, const abuti_buffer *from, size_t offset,
                                  void *data, size_t bytes, bool waits) {
    cl_int error = OPENCL(clEnqueueReadBuffer, queue->native, from->native,
                          waits ? CL_TRUE : CL_FALSE, offset, bytes, data, 0, NULL, NULL);
    return start_copy(queue, "clEnqueueReadBuffer", error, bytes, waits);
}

/* Keeps the events at both ends of the interval that the clock measures. */
static void note_event(abuti_queue *queue, void *event) {
    if (!event)
        return;
    abuti_opencl_count(+1);
    if (!queue->first) {
        queue->first = event;
        return;
    }
    release_event(&queue->last);
    queue->last = event;
}

static abut_status copy_range(abuti_queue *queue, const abuti_buffer *from, size_t from_offset,
                              abuti_buffer *to, size_t to_offset, size_t bytes) {
    cl_event event = NULL;
    cl_int error = OPENCL(clEnqueueCopyBuffer, queue->native, from->native, to->native, from_offset,
                          to_offset, bytes, 0, NULL, queue->clock ? &event : NULL);
    note_event(queue, event);
    return status_of(queue, "clEnqueueCopyBuffer", error);
}

static abut_status fill_range(abuti_queue *queue, abuti_buffer *to, uint32_t word, size_t bytes) {
    cl_event event = NULL;
    cl_int error = OPENCL(clEnqueueFillBuffer, queue->native, to->native, &word, sizeof word, 0,
                          bytes, 0, NULL, queue->clock ? &event : NULL);
    note_event(queue, event);
    return status_of(queue, "clEnqueueFillBuffer", error);
}

/* ---- launches ---- */

static abut_status launch_kernel(abuti_queue *queue, const abuti_kernel *kernel, size_t groups,
                                 size_t group_items, const abuti_argument *arguments,
                                 uint32_t count) {
    cl_int error = 0;
    for (uint32_t i = 0; i < count && !error; i++)
        error = OPENCL(clSetKernelArg, kernel->native, i, arguments[i].bytes, arguments[i].value);
    const char *call = "clSetKernelArg";
    cl_event event = NULL;
    if (!error) {
        size_t items = groups * group_items;
        call = "clEnqueueNDRangeKernel";
        error = OPENCL(clEnqueueNDRangeKernel, queue->native, kernel->native, 1, NULL, &items,
                       &group_items, 0, NULL, queue->clock ? &event : NULL);
        note_event(queue, event);
    }
    if (!error)
        return ABUT_OK;
    char what[128];
    snprintf(what, sizeof what, "kernel %s: %s", kernel->name, call);
    return status_of(queue, what, error);
}

static void *native_context(const abut_device *device) {
    return ((const opencl_device *)device)->native;
}

const abuti_backend abuti_opencl_backend = {
    .close = close_device,
    .native = native_context,
    .queue_open = open_queue,
    .queue_close = close_queue,
    .buffer_create = create_buffer,
    .buffer_wrap = wrap_buffer,
    .buffer_destroy = destroy_buffer,
    .staging_create = create_staging,
    .staging_destroy = destroy_staging,
    .upload = upload_range,
    .download = download_range,
    .copy = copy_range,
    .fill = fill_range,
    .program = abuti_opencl_program,
    .kernel_create = abuti_opencl_kernel_create,
    .kernel_destroy = abuti_opencl_kernel_destroy,
    .launch = launch_kernel,
    .finish = finish_queue,
    .wait = wait_for_queue,
    .clock_start = start_clock,
    .clock_stop = stop_clock,
};
#else
typedef int abuti_no_opencl_queue; /* ISO C forbids an empty file */
#endif
