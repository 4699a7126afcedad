/* What devices OpenCL offers, what they say of themselves, and how one of them is opened. */
#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

#include <string.h>

#define MOST_PLATFORMS 16
#define MOST_DEVICES 64

typedef struct found_device {
    cl_platform_id platform;
    cl_device_id id;
} found_device;

/* A platform that does not answer is as good as none: others may work. */
static uint32_t find_devices(found_device *found, const char **absence) {
    *absence = abuti_opencl_load();
    if (*absence)
        return 0;
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint platform_count = 0;
    cl_int error = OPENCL(clGetPlatformIDs, MOST_PLATFORMS, platforms, &platform_count);
    if (error || !platform_count) {
        *absence = "the OpenCL loader knows no platform (Debian: install the driver of the GPU, or "
                   "pocl-opencl-icd; or see OCL_ICD_VENDORS in docs/device.md)";
        return 0;
    }
    uint32_t count = 0;
    for (cl_uint p = 0; p < platform_count && p < MOST_PLATFORMS; p++) {
        cl_device_id ids[MOST_DEVICES];
        cl_uint here = 0;
        if (OPENCL(clGetDeviceIDs, platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &here))
            continue;
        for (cl_uint i = 0; i < here && i < MOST_DEVICES && count < MOST_DEVICES; i++)
            found[count++] = (found_device){platforms[p], ids[i]};
    }
    if (!count)
        *absence = "no OpenCL platform on this machine has a device";
    return count;
}

/* ---- what a device says ---- */

/* Copies what fits, without spaces at either end; drivers do not always end their texts. */
static void keep_text(char *text, size_t bytes, char *out, size_t out_bytes) {
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

/* Drivers refuse a buffer that is too small, so long texts are read into a larger one first. */
static cl_int get_text(cl_device_id id, cl_device_info what, char *out, size_t out_bytes) {
    char text[1024] = "";
    cl_int error = OPENCL(clGetDeviceInfo, id, what, sizeof text - 1, text, NULL);
    keep_text(text, sizeof text, out, out_bytes);
    return error;
}

static cl_int get_platform_text(cl_platform_id id, cl_platform_info what, char *out,
                                size_t out_bytes) {
    char text[1024] = "";
    cl_int error = OPENCL(clGetPlatformInfo, id, what, sizeof text - 1, text, NULL);
    keep_text(text, sizeof text, out, out_bytes);
    return error;
}

static cl_int get_numbers(cl_device_id id, abut_device_info *info) {
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

static cl_int describe(const found_device *device, abut_device_info *info) {
    memset(info, 0, sizeof *info);
    cl_int error = get_text(device->id, CL_DEVICE_NAME, info->name, sizeof info->name);
    if (!error)
        error = get_text(device->id, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    if (!error)
        error = get_text(device->id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    if (!error)
        error = get_text(device->id, CL_DEVICE_VERSION, info->version, sizeof info->version);
    if (!error)
        error = get_platform_text(device->platform, CL_PLATFORM_NAME, info->platform,
                                  sizeof info->platform);
    if (!error)
        error = get_numbers(device->id, info);
    return error;
}

abut_status abuti_opencl_list(abut_context *context, abut_device_info *infos, uint32_t room,
                              uint32_t *count, const char **absence) {
    (void)context;
    found_device found[MOST_DEVICES];
    uint32_t here = find_devices(found, absence);
    for (uint32_t i = 0; i < here && i < room; i++) {
        cl_int error = describe(&found[i], &infos[i]);
        if (error)
            return abuti_opencl_fail(infos[i].name[0] ? infos[i].name : "OpenCL device",
                                     "clGetDeviceInfo", error);
    }
    *count = here;
    return ABUT_OK;
}

/* ---- open ---- */

/* What the device gets beyond the public description. A context that someone else made is held,
 * else one is made. */
static cl_int open_native(const found_device *found, cl_context theirs, opencl_device *device) {
    cl_device_fp_config config = 0;
    cl_int error = get_platform_text(found->platform, CL_PLATFORM_VERSION, device->platform_version,
                                     sizeof device->platform_version);
    if (!error)
        error = OPENCL(clGetDeviceInfo, found->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config,
                       &config, NULL);
    if (error)
        return error;
    device->rounds = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
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
    opencl_device *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    cl_int error = describe(found, &made->base.info);
    if (!error)
        error = open_native(found, theirs, made);
    if (error) {
        abut_status status =
            abuti_opencl_fail(made->base.info.name[0] ? made->base.info.name : "OpenCL device",
                              "clCreateContext", error);
        abuti_release(context, made);
        return status;
    }
    abuti_opencl_count(+1);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->built, NULL);
    made->base.backend = &abuti_opencl_backend;
    made->base.context = abuti_context_retain(context);
    atomic_init(&made->base.holds, 1);
    atomic_flag_clear(&made->base.lanes_taken);
    atomic_flag_clear(&made->base.spares.taken);
    made->base.spares.least = ABUTI_SPARE_MIN;
    *device = &made->base;
    return ABUT_OK;
}

abut_status abuti_opencl_open(abut_context *context, uint32_t index, const abut_device_info *info,
                              abut_device **device) {
    found_device found[MOST_DEVICES];
    const char *absence;
    abut_device *opened = NULL;
    uint32_t count = find_devices(found, &absence);
    abut_status status =
        index < count ? open_found(context, &found[index], NULL, &opened) : ABUT_OK;
    if (status)
        return status;
    /* places change where a platform has ceased to answer */
    if (!opened || memcmp(&opened->info, info, sizeof *info) != 0) {
        abut_device_destroy(opened);
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open: %s is gone", info->name);
    }
    *device = opened;
    return ABUT_OK;
}

abut_status abuti_opencl_open_native(abut_context *context, void *native_context,
                                     void *native_device, abut_device **device) {
    const char *absence = abuti_opencl_load();
    if (absence)
        return abuti_fail(ABUT_ERROR_DEVICE, "abut_device_open_native: no OpenCL: %s", absence);
    cl_device_id ids[MOST_DEVICES];
    size_t bytes = 0;
    found_device found = {NULL, native_device};
    cl_int error =
        OPENCL(clGetContextInfo, native_context, CL_CONTEXT_DEVICES, sizeof ids, ids, &bytes);
    bool known = false;
    for (size_t i = 0; !error && i < bytes / sizeof *ids; i++)
        known = known || ids[i] == native_device;
    if (!error && !known)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_device_open_native: the cl_context does not have the device");
    if (!error)
        error = OPENCL(clGetDeviceInfo, native_device, CL_DEVICE_PLATFORM, sizeof found.platform,
                       &found.platform, NULL);
    if (error)
        return abuti_opencl_fail("abut_device_open_native", "clGetContextInfo", error);
    return open_found(context, &found, native_context, device);
}
#else
typedef int abuti_no_opencl_list; /* C wants something in every file */
#endif
