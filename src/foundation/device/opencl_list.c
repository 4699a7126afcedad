/* Lists OpenCL devices, reads their properties, and opens one of them. */
#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

#include <string.h>

#define PLATFORMS_MAX 16
#define DEVICES_MAX 64

typedef struct found_device {
    cl_platform_id platform;
    cl_device_id id;
} found_device;

/* A platform that returns an error is skipped: others may work. */
static uint32_t find_devices(found_device *found, const char **absence) {
    *absence = abuti_opencl_load();
    if (*absence)
        return 0;
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    cl_int error = OPENCL(clGetPlatformIDs, PLATFORMS_MAX, platforms, &platform_count);
    if (error || !platform_count) {
        *absence = "the OpenCL loader finds no platform (Debian: install the driver of the GPU, or "
                   "pocl-opencl-icd; or see OCL_ICD_VENDORS in docs/device.md)";
        return 0;
    }
    uint32_t count = 0;
    for (cl_uint p = 0; p < platform_count && p < PLATFORMS_MAX; p++) {
        cl_device_id ids[DEVICES_MAX];
        cl_uint here = 0;
        if (OPENCL(clGetDeviceIDs, platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &here))
            continue;
        for (cl_uint i = 0; i < here && i < DEVICES_MAX && count < DEVICES_MAX; i++)
            found[count++] = (found_device){platforms[p], ids[i]};
    }
    if (!count)
        *absence = "no OpenCL platform on this machine has a device";
    return count;
}

/* ---- properties ---- */

/* Copies the text without surrounding white space, truncated to out_bytes; drivers do not always
 * terminate their texts. */
static void copy_trimmed(char *text, size_t bytes, char *out, size_t out_bytes) {
    text[bytes - 1] = 0;
    text += strspn(text, " \t\n");
    size_t length = strlen(text);
    if (length > out_bytes - 1)
        length = out_bytes - 1;
    while (length && strchr(" \t\n", text[length - 1]))
        length--;
    memcpy(out, text, length);
    out[length] = 0;
}

/* Reads a text of a device, or of its platform. Drivers reject a buffer that is too small, so long
 * texts are first read into a larger one. */
static cl_int read_text(const found_device *device, bool of_platform, cl_uint what, char *out,
                        size_t out_bytes) {
    char text[1024] = "";
    cl_int error =
        of_platform ? OPENCL(clGetPlatformInfo, device->platform, what, sizeof text - 1, text, NULL)
                    : OPENCL(clGetDeviceInfo, device->id, what, sizeof text - 1, text, NULL);
    copy_trimmed(text, sizeof text, out, out_bytes);
    return error;
}

static cl_int read_numbers(cl_device_id id, abut_device_info *info) {
    cl_device_type type = 0;
    cl_uint units = 0, clock = 0;
    cl_ulong memory = 0, buffer = 0, local = 0;
    size_t group = 0;
    cl_device_fp_config doubles = 0;
    cl_int error = OPENCL(clGetDeviceInfo, id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
#define GET(what, to) \
    if (!error)       \
        error = OPENCL(clGetDeviceInfo, id, what, sizeof to, &to, NULL);
    GET(CL_DEVICE_MAX_COMPUTE_UNITS, units)
    GET(CL_DEVICE_MAX_CLOCK_FREQUENCY, clock)
    GET(CL_DEVICE_GLOBAL_MEM_SIZE, memory)
    GET(CL_DEVICE_MAX_MEM_ALLOC_SIZE, buffer)
    GET(CL_DEVICE_LOCAL_MEM_SIZE, local)
    GET(CL_DEVICE_MAX_WORK_GROUP_SIZE, group)
    GET(CL_DEVICE_DOUBLE_FP_CONFIG, doubles)
#undef GET
    info->kind = type & CL_DEVICE_TYPE_GPU   ? ABUT_DEVICE_KIND_GPU
                 : type & CL_DEVICE_TYPE_CPU ? ABUT_DEVICE_KIND_CPU
                                             : ABUT_DEVICE_KIND_OTHER;
    info->compute_units = units ? units : 1;
    info->clock_mhz = clock;
    info->memory_bytes = memory;
    info->buffer_bytes = buffer;
    info->local_bytes = local;
    info->group_items = group;
    info->has_doubles = doubles != 0;
    return error;
}

static cl_int read_info(const found_device *device, abut_device_info *info) {
    const struct {
        cl_uint what;
        char *out;
        size_t bytes;
    } texts[] = {{CL_DEVICE_NAME, info->name, sizeof info->name},
                 {CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor},
                 {CL_DRIVER_VERSION, info->driver, sizeof info->driver},
                 {CL_DEVICE_VERSION, info->version, sizeof info->version},
                 {CL_PLATFORM_NAME, info->platform, sizeof info->platform}};
    cl_int error = 0;
    memset(info, 0, sizeof *info);
    for (int i = 0; i < 5 && !error; i++)
        error = read_text(device, i == 4, texts[i].what, texts[i].out, texts[i].bytes);
    return error ? error : read_numbers(device->id, info);
}

abut_status abuti_opencl_list(abut_context *context, abut_device_info *infos, uint32_t room,
                              uint32_t *count, const char **absence) {
    (void)context;
    found_device found[DEVICES_MAX];
    uint32_t here = find_devices(found, absence);
    for (uint32_t i = 0; i < here && i < room; i++) {
        cl_int error = read_info(&found[i], &infos[i]);
        if (error)
            return abuti_opencl_fail(infos[i].name[0] ? infos[i].name : "OpenCL device",
                                     "clGetDeviceInfo", error);
    }
    *count = here;
    return ABUT_OK;
}

/* ---- open ---- */

/* Opens the parts of a device that are not in the public description. References `theirs`, or
 * creates a context if it is null. */
static cl_int open_native(const found_device *found, cl_context theirs, opencl_device *device) {
    cl_device_fp_config config = 0;
    cl_int error = read_text(found, true, CL_PLATFORM_VERSION, device->platform_version,
                             sizeof device->platform_version);
    if (!error)
        error = OPENCL(clGetDeviceInfo, found->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config,
                       &config, NULL);
    if (error)
        return error;
    device->rounds_correctly = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    device->id = found->id;
    device->native = theirs;
    if (theirs)
        return OPENCL(clRetainContext, theirs);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)found->platform, 0};
    device->native = OPENCL_MAKE(&error, clCreateContext, properties, 1, &device->id, NULL, NULL);
    return error;
}

static abut_status open_found(abut_context *context, const found_device *found, cl_context theirs,
                              abut_device **device) {
    opencl_device *created = abuti_allocate_zeroed(context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    cl_int error = read_info(found, &created->base.info);
    if (!error)
        error = open_native(found, theirs, created);
    if (error) {
        abut_status status = abuti_opencl_fail(created->base.info.name[0] ? created->base.info.name
                                                                          : "OpenCL device",
                                               "clCreateContext", error);
        abuti_release(context, created);
        return status;
    }
    abuti_opencl_count(+1);
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->built, NULL);
    created->base.backend = &abuti_opencl_backend;
    created->base.context = abuti_context_retain(context);
    atomic_init(&created->base.reference_count, 1);
    atomic_flag_clear(&created->base.channels_in_use);
    *device = &created->base;
    return ABUT_OK;
}

abut_status abuti_opencl_open(abut_context *context, uint32_t index, const abut_device_info *info,
                              abut_device **device) {
    found_device found[DEVICES_MAX];
    const char *absence;
    abut_device *opened = NULL;
    uint32_t count = find_devices(found, &absence);
    abut_status status =
        index < count ? open_found(context, &found[index], NULL, &opened) : ABUT_OK;
    if (status)
        return status;
    /* indices change if a platform no longer responds */
    if (!opened || memcmp(&opened->info, info, sizeof *info) != 0) {
        abut_device_destroy(opened);
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: %s is no longer available",
                          info->name);
    }
    *device = opened;
    return ABUT_OK;
}

abut_status abuti_opencl_open_native(abut_context *context, void *native_context,
                                     void *native_device, abut_device **device) {
    const char *absence = abuti_opencl_load();
    if (absence)
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open_native: no OpenCL: %s", absence);
    cl_device_id ids[DEVICES_MAX];
    size_t bytes = 0;
    found_device found = {NULL, native_device};
    cl_int error =
        OPENCL(clGetContextInfo, native_context, CL_CONTEXT_DEVICES, sizeof ids, ids, &bytes);
    bool known = false;
    for (size_t i = 0; !error && i < bytes / sizeof *ids; i++)
        known = known || ids[i] == native_device;
    if (!error && !known)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_device_open_native: native_device is not a device of native_context");
    if (!error)
        error = OPENCL(clGetDeviceInfo, native_device, CL_DEVICE_PLATFORM, sizeof found.platform,
                       &found.platform, NULL);
    if (error)
        return abuti_opencl_fail("abut_device_open_native", "clGetContextInfo", error);
    return open_found(context, &found, native_context, device);
}
#else
typedef int abuti_no_opencl_list; /* ISO C forbids an empty file */
#endif
