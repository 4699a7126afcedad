/* Programs: embedded source, compiled once for a device, kept in memory and on disk. */
#ifdef ABUT_HAS_OPENCL
#include "base/cache.h"
#include "device/opencl.h"

#include <string.h>

/* ---- disk cache ---- */

static void find_entry(const opencl_device *device, const abuti_module *module, const char *options,
                       abuti_cache_entry *entry) {
    const abut_device_info *info = &device->base.info;
    unsigned char key[ABUTI_DIGEST_BYTES];
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
    abuti_cache_find(device->base.context, &abuti_cache_programs, "", key, entry);
}

/* Returns null if there is no entry or the driver rejects it. */
static cl_program load_program(opencl_device *device, const abuti_cache_entry *entry,
                               const char *options) {
    abut_context *context = device->base.context;
    unsigned char *binary = NULL;
    size_t bytes;
    if (!abuti_cache_exists(entry) ||
        abuti_cache_end(context, entry, abuti_cache_load(context, entry, &binary, &bytes)) ||
        !binary)
        return NULL;
    const unsigned char *const_binary = binary;
    cl_int binary_status = 0, error = 0;
    cl_program program = OPENCL_MAKE(&error, clCreateProgramWithBinary, device->native, 1,
                                     &device->id, &bytes, &const_binary, &binary_status);
    abuti_release(context, binary);
    if (!error && program && binary_status)
        error = binary_status;
    if (program && !error)
        error = OPENCL(clBuildProgram, program, 1, &device->id, options, NULL, NULL);
    if (program && error) {
        abuti_opencl.clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static void save_program(opencl_device *device, const abuti_cache_entry *entry,
                         cl_program program) {
    abut_context *context = device->base.context;
    size_t bytes = 0;
    if (!entry->path[0]) /* before reading the binary, which is slow with some drivers */
        return;
    if (OPENCL(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) ||
        !bytes)
        return;
    unsigned char *binary = abuti_allocate(context, bytes, 1);
    if (!binary)
        return;
    if (!OPENCL(clGetProgramInfo, program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL))
        abuti_cache_store(context, entry, binary, bytes);
    abuti_release(context, binary);
}

/* ---- compiling ---- */

/* Sends the build log to the log callback line by line; copies its first line with "error" for the
 * error message. */
static void log_build(opencl_device *device, cl_program program, char *first, size_t first_bytes) {
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

static abut_status fail_build(opencl_device *device, cl_program program, const char *module,
                              const char *options, cl_int error) {
    char first[300];
    abuti_log(device->base.context, ABUT_LOG_WARNING,
              "%s: module %s fails to compile with options '%s':", device->base.info.name, module,
              options);
    log_build(device, program, first, sizeof first);
    return abuti_fail(ABUT_ERROR_DEVICE,
                      "%s: module %s with options '%s': clBuildProgram failed: %s (%d)%s%s; the "
                      "build log was sent to the log callback of the context",
                      device->base.info.name, module, options, abuti_opencl_error_name(error),
                      error, first[0] ? ": " : "", first);
}

static abut_status compile_program(opencl_device *device, const abuti_module *module,
                                   const char *options, cl_program *program) {
    const char *text = module->text;
    cl_int error = 0;
    if (!atomic_exchange(&device->has_logged, true))
        abuti_log(device->base.context, ABUT_LOG_INFO,
                  "compiling kernels for %s: the first time this may take a minute",
                  device->base.info.name);
    cl_program created =
        OPENCL_MAKE(&error, clCreateProgramWithSource, device->native, 1, &text, &module->bytes);
    if (error)
        return abuti_opencl_fail(device->base.info.name, "clCreateProgramWithSource", error);
    error = OPENCL(clBuildProgram, created, 1, &device->id, options, NULL, NULL);
    if (error) {
        abut_status status = fail_build(device, created, module->name, options, error);
        abuti_opencl.clReleaseProgram(created);
        return status;
    }
    *program = created;
    return ABUT_OK;
}

/* ---- programs of a device ---- */

static abuti_program *find_program(const opencl_device *device, const char *module,
                                   const char *options) {
    abuti_program *at = device->programs;
    while (at && (strcmp(at->module->name, module) != 0 || strcmp(at->options, options) != 0))
        at = at->next;
    return at;
}

/* Every program is OpenCL C 1.2 without relaxed arithmetic. */
static char *full_options(const opencl_device *device, const char *options) {
    static const char always[] = "-cl-std=CL1.2";
    static const char rounded[] = " -cl-fp32-correctly-rounded-divide-sqrt";
    size_t bytes = sizeof always + sizeof rounded + 1 + strlen(options);
    char *text = abuti_allocate(device->base.context, bytes, 1);
    if (text)
        snprintf(text, bytes, "%s%s%s%s", always, device->rounds_correctly ? rounded : "",
                 options[0] ? " " : "", options);
    return text;
}

/* Loads a program from the cache if *cached allows it, otherwise compiles it. Sets *cached to
 * whether it came from the cache. */
static abut_status load_or_compile(opencl_device *device, const abuti_module *module,
                                   const char *options, bool *cached, cl_program *native) {
    abuti_cache_entry entry;
    find_entry(device, module, options, &entry);
    *native = *cached ? load_program(device, &entry, options) : NULL;
    *cached = *native != NULL;
    if (*cached)
        return ABUT_OK;
    abut_status status = compile_program(device, module, options, native);
    if (!status)
        save_program(device, &entry, *native);
    return status;
}

/* Adds a program to the list and compiles it without the lock. Other threads compile other programs
 * meanwhile; a thread that needs the same one waits. */
static abut_status add_program(opencl_device *device, const abuti_module *module, char *options,
                               abuti_program **program) {
    abuti_program *created = abuti_allocate_zeroed(device->base.context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->module = module;
    created->options = options;
    created->building = true;
    created->next = device->programs;
    device->programs = created;
    pthread_mutex_unlock(&device->lock);
    cl_program native = NULL;
    bool cached = true;
    abut_status status = load_or_compile(device, module, options, &cached, &native);
    pthread_mutex_lock(&device->lock);
    created->native = native;
    created->cached = cached;
    created->building = false;
    if (status) {
        abuti_program **at = &device->programs;
        while (*at != created)
            at = &(*at)->next;
        *at = created->next;
        abuti_release(device->base.context, created);
    } else {
        abuti_opencl_count(+1);
        *program = created;
    }
    pthread_cond_broadcast(&device->built);
    return status;
}

abut_status abuti_opencl_program(abut_device *base, const abuti_module *module, const char *options,
                                 abuti_program **program) {
    opencl_device *device = opencl_of(base);
    char *full = full_options(device, options);
    if (!full)
        return ABUT_ERROR_MEMORY;
    pthread_mutex_lock(&device->lock);
    abuti_program *built;
    while ((built = find_program(device, module->name, full)) && built->building)
        pthread_cond_wait(&device->built, &device->lock);
    bool known = built != NULL;
    abut_status status = known ? ABUT_OK : add_program(device, module, full, &built);
    pthread_mutex_unlock(&device->lock);
    if (known || status)
        abuti_release(base->context, full);
    if (!status)
        *program = built;
    return status;
}

void abuti_opencl_programs_release(opencl_device *device) {
    while (device->programs) {
        abuti_program *program = device->programs;
        device->programs = program->next;
        abuti_opencl.clReleaseProgram(program->native);
        abuti_opencl_count(-1);
        ABUTI_RELEASE(device->base.context, program->options, program);
    }
}

/* ---- kernels ---- */

/* Compiles a program from its source to replace one from the cache, also on disk. The caller holds
 * the lock of the programs. Kernels of the old program keep a reference to it. */
static abut_status compile_again(opencl_device *device, abuti_program *program) {
    cl_program native = NULL;
    bool cached = false;
    abut_status status =
        load_or_compile(device, program->module, program->options, &cached, &native);
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
    bool is_unusable = error == CL_INVALID_KERNEL_NAME || error == CL_INVALID_KERNEL_DEFINITION ||
                       error == CL_INVALID_PROGRAM_EXECUTABLE;
    if (is_unusable &&
        program->cached) { /* the entry is undamaged, but its content does not match its key */
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
typedef int abuti_no_opencl_program; /* ISO C forbids an empty file */
#endif
