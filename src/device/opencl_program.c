/* Programs: embedded text, built once for a device, kept in memory and on disk. */
#ifdef ABUT_HAS_OPENCL
#include "base/folder.h"
#include "device/cache.h"
#include "device/opencl.h"

#include <string.h>

/* ---- the key of a program ---- */

static void key_of(const opencl_device *device, const abuti_module *module, const char *options,
                   unsigned char key[ABUTI_DIGEST_BYTES]) {
    const abut_device_info *info = &device->base.info;
    abuti_digest digest;
    abuti_digest_begin(&digest);
    abuti_digest_text(&digest, abut_version());
    abuti_digest_text(&digest, options);
    abuti_digest_text(&digest, info->name);
    abuti_digest_text(&digest, info->vendor);
    abuti_digest_text(&digest, info->driver);
    abuti_digest_text(&digest, info->version);
    abuti_digest_text(&digest, info->platform);
    abuti_digest_text(&digest, device->platform_version);
    abuti_digest_text(&digest, module->name);
    abuti_digest_add(&digest, module->text, module->bytes);
    abuti_digest_end(&digest, key);
}

/* ---- from the cache ---- */

/* Null where there is none or the driver does not want it. */
static cl_program load_program(opencl_device *device, const unsigned char *key,
                               const char *options) {
    abut_context *context = device->base.context;
    unsigned char *binary;
    size_t bytes;
    if (!abuti_cache_read(context, key, &binary, &bytes))
        return NULL;
    const unsigned char *const_binary = binary;
    cl_int taken = 0, error = 0;
    cl_program program = OPENCL_MAKE(&error, clCreateProgramWithBinary, device->native, 1,
                                     &device->id, &bytes, &const_binary, &taken);
    abuti_release(context, binary);
    if (!error && program && taken)
        error = taken;
    if (program && !error)
        error = OPENCL(clBuildProgram, program, 1, &device->id, options, NULL, NULL);
    if (program && error) {
        abuti_opencl.clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static void save_program(opencl_device *device, const unsigned char *key, const char *module,
                         const char *options, cl_program program) {
    abut_context *context = device->base.context;
    char path[1024];
    size_t bytes = 0;
    if (!abuti_cache_path(key, path, sizeof path) || !abuti_folder_is_usable(context, path))
        return; /* some drivers take long to give the binary */
    if (OPENCL(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) ||
        !bytes)
        return;
    unsigned char *binary = abuti_allocate(context, bytes, 1);
    if (!binary)
        return;
    char about[512];
    snprintf(about, sizeof about, "abut %s, module %s, options %s, device %s, driver %s\n",
             abut_version(), module, options, device->base.info.name, device->base.info.driver);
    if (!OPENCL(clGetProgramInfo, program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL))
        abuti_cache_write(context, key, about, binary, bytes);
    abuti_release(context, binary);
}

/* ---- from its text ---- */

/* The whole log goes to the log callback a line at a time; the sentence gets its first line with an
 * error in it. */
static void tell_log(opencl_device *device, cl_program program, char *first, size_t first_bytes) {
    abut_context *context = device->base.context;
    size_t bytes = 0;
    first[0] = 0;
    if (abuti_opencl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                           &bytes) ||
        !bytes)
        return;
    char *log = abuti_allocate_zeroed(context, bytes + 1, 1);
    if (!log)
        return;
    abuti_opencl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    for (char *line = log, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = 0;
        if (line[0])
            abuti_log(context, ABUT_LOG_WARNING, "%s", line);
        if (!first[0] && strstr(line, "error"))
            snprintf(first, first_bytes, "%s", line);
        end = next;
    }
    abuti_release(context, log);
}

static abut_status build_failed(opencl_device *device, cl_program program, const char *module,
                                const char *options, cl_int error) {
    char first[300];
    abuti_log(device->base.context, ABUT_LOG_WARNING,
              "%s: module %s does not build with options '%s':", device->base.info.name, module,
              options);
    tell_log(device, program, first, sizeof first);
    return abuti_fail(ABUT_ERROR_DEVICE,
                      "%s: module %s with options '%s': clBuildProgram failed: %s (%d)%s%s; the "
                      "whole log went to the context's log callback",
                      device->base.info.name, module, options, abuti_opencl_error_name(error),
                      error, first[0] ? ": " : "", first);
}

static abut_status compile(opencl_device *device, const abuti_module *module, const char *options,
                           cl_program *program) {
    const char *text = module->text;
    cl_int error = 0;
    if (!atomic_exchange(&device->told, true))
        abuti_log(device->base.context, ABUT_LOG_INFO,
                  "compiling for %s: the first time this may take a minute",
                  device->base.info.name);
    cl_program made =
        OPENCL_MAKE(&error, clCreateProgramWithSource, device->native, 1, &text, &module->bytes);
    if (error)
        return abuti_opencl_fail(device->base.info.name, "clCreateProgramWithSource", error);
    error = OPENCL(clBuildProgram, made, 1, &device->id, options, NULL, NULL);
    if (error) {
        abut_status status = build_failed(device, made, module->name, options, error);
        abuti_opencl.clReleaseProgram(made);
        return status;
    }
    *program = made;
    return ABUT_OK;
}

/* ---- all programs of a device ---- */

static abuti_program *find_built(const opencl_device *device, const char *module,
                                 const char *options) {
    abuti_program *at = device->programs;
    while (at && (strcmp(at->module->name, module) != 0 || strcmp(at->options, options) != 0))
        at = at->next;
    return at;
}

/* Every program is OpenCL C 1.2 without shortcuts in its arithmetic. */
static char *full_options(const opencl_device *device, const char *options) {
    static const char always[] = "-cl-std=CL1.2";
    static const char rounded[] = " -cl-fp32-correctly-rounded-divide-sqrt";
    size_t bytes = sizeof always + sizeof rounded + 1 + strlen(options);
    char *text = abuti_allocate(device->base.context, bytes, 1);
    if (text)
        snprintf(text, bytes, "%s%s%s%s", always, device->rounds ? rounded : "",
                 options[0] ? " " : "", options);
    return text;
}

/* From the cache, if that is allowed and has it, or from the compiler. */
static abut_status build(opencl_device *device, const abuti_module *module, const char *options,
                         bool *cached, cl_program *native) {
    unsigned char key[ABUTI_DIGEST_BYTES];
    key_of(device, module, options, key);
    *native = *cached ? load_program(device, key, options) : NULL;
    *cached = *native != NULL;
    if (*cached)
        return ABUT_OK;
    abut_status status = compile(device, module, options, native);
    if (!status)
        save_program(device, key, module->name, options, *native);
    return status;
}

/* What stands in the list for a program while it is built, without the lock: others are built
 * meanwhile by other threads, and who wants the same one waits. */
static abut_status make_program(opencl_device *device, const abuti_module *module, char *options,
                                abuti_program **program) {
    abuti_program *made = abuti_allocate_zeroed(device->base.context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->module = module;
    made->options = options;
    made->building = true;
    made->next = device->programs;
    device->programs = made;
    pthread_mutex_unlock(&device->lock);
    cl_program native = NULL;
    bool cached = true;
    abut_status status = build(device, module, options, &cached, &native);
    pthread_mutex_lock(&device->lock);
    made->native = native;
    made->cached = cached;
    made->building = false;
    if (status) {
        abuti_program **at = &device->programs;
        while (*at != made)
            at = &(*at)->next;
        *at = made->next;
        abuti_release(device->base.context, made);
    } else {
        abuti_opencl_count(+1);
        *program = made;
    }
    pthread_cond_broadcast(&device->built);
    return status;
}

abut_status abuti_opencl_program(abut_device *base, const abuti_module *module, const char *options,
                                 abuti_program **program) {
    opencl_device *device = opencl_of(base);
    char *all = full_options(device, options);
    if (!all)
        return ABUT_ERROR_MEMORY;
    pthread_mutex_lock(&device->lock);
    abuti_program *built;
    while ((built = find_built(device, module->name, all)) && built->building)
        pthread_cond_wait(&device->built, &device->lock);
    bool known = built != NULL;
    abut_status status = known ? ABUT_OK : make_program(device, module, all, &built);
    pthread_mutex_unlock(&device->lock);
    if (known || status)
        abuti_release(base->context, all);
    if (!status)
        *program = built;
    return status;
}

void abuti_opencl_programs_release(opencl_device *device) {
    while (device->programs) {
        abuti_program *gone = device->programs;
        device->programs = gone->next;
        abuti_opencl.clReleaseProgram(gone->native);
        abuti_opencl_count(-1);
        ABUTI_RELEASE(device->base.context, gone->options, gone);
    }
}

/* ---- kernels ---- */

/* Compiles a program from its text in the place of one from the cache, and replaces that there. The
 * caller has the lock of the programs. Kernels of the old one keep it. */
static abut_status compile_again(opencl_device *device, abuti_program *program) {
    cl_program native = NULL;
    bool cached = false;
    abut_status status = build(device, program->module, program->options, &cached, &native);
    if (status)
        return status;
    abuti_opencl.clReleaseProgram(program->native);
    program->native = native;
    program->cached = false;
    return ABUT_OK;
}

abut_status abuti_opencl_kernel_create(abuti_program *program, abuti_kernel *kernel) {
    opencl_device *device = opencl_of(kernel->device);
    cl_int error = 0;
    pthread_mutex_lock(&device->lock);
    kernel->native = OPENCL_MAKE(&error, clCreateKernel, program->native, kernel->name);
    bool useless = error == CL_INVALID_KERNEL_NAME || error == CL_INVALID_KERNEL_DEFINITION ||
                   error == CL_INVALID_PROGRAM_EXECUTABLE;
    if (useless && program->cached) { /* it is as it was written, but not what its key says */
        abut_status status = compile_again(device, program);
        if (status) {
            pthread_mutex_unlock(&device->lock);
            return status;
        }
        kernel->native = OPENCL_MAKE(&error, clCreateKernel, program->native, kernel->name);
    }
    pthread_mutex_unlock(&device->lock);
    if (error) {
        char what[128];
        snprintf(what, sizeof what, "kernel %s: clCreateKernel", kernel->name);
        return abuti_opencl_fail(kernel->device->info.name, what, error);
    }
    abuti_opencl_count(+1);
    return ABUT_OK;
}

void abuti_opencl_kernel_destroy(abuti_kernel *kernel) {
    abuti_opencl.clReleaseKernel(kernel->native);
    abuti_opencl_count(-1);
}
#else
typedef int abuti_no_opencl_program; /* C wants something in every file */
#endif
