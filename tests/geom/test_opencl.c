/* One source: the shared headers as a kernel on the first OpenCL device (such as PoCL) against
 * the same text compiled as C in the same precision; every number and result bit for bit.
 * Skipped, with the reason, if there are no headers, no loader or no device. */
#define ABUTI_REAL_BITS 32
#include "support/support.h"

#include <stdio.h>

#ifndef ABUT_TEST_OPENCL

int main(void) {
    puts("skipped: no OpenCL headers were found at configure time");
    return 77;
}

#else

#include "kernel.h"
#include "samples.h"

#include <dlfcn.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

enum { ITEM_COUNT = 20000 };

/* The entry points that we need, by name from the loader. */
#define CL_FUNCTIONS(F)          \
    F(clGetPlatformIDs)          \
    F(clGetDeviceIDs)            \
    F(clGetDeviceInfo)           \
    F(clCreateContext)           \
    F(clCreateCommandQueue)      \
    F(clCreateProgramWithSource) \
    F(clBuildProgram)            \
    F(clGetProgramBuildInfo)     \
    F(clCreateKernel)            \
    F(clSetKernelArg)            \
    F(clCreateBuffer)            \
    F(clEnqueueNDRangeKernel)    \
    F(clEnqueueReadBuffer)       \
    F(clReleaseMemObject)        \
    F(clReleaseKernel)           \
    F(clReleaseProgram)          \
    F(clReleaseCommandQueue)     \
    F(clReleaseContext)
#define DECLARE(name) __typeof__(&name) name;
static struct { CL_FUNCTIONS(DECLARE) } cl;

static bool open_loader(void) {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library)
        return false;
#define FIND(name) *(void **)&cl.name = dlsym(library, #name);
    CL_FUNCTIONS(FIND)
    return cl.clGetPlatformIDs && cl.clEnqueueReadBuffer && cl.clReleaseContext;
}

static bool find_device(cl_device_id *device) {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (cl.clGetPlatformIDs(16, platforms, &count))
        return false;
    for (cl_uint i = 0; i < count && i < 16; i++)
        if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, device, NULL) == CL_SUCCESS)
            return true;
    return false;
}

/* ---- kernel text with its includes resolved, each file once ---- */

static char text[1 << 20];
static size_t text_length;
static char included[32][256];
static int included_count;

static void append_file(const char *name) {
    for (int i = 0; i < included_count; i++)
        if (strcmp(included[i], name) == 0)
            return;
    assert_true(included_count < 32 && strlen(name) < sizeof included[0]);
    strcpy(included[included_count++], name);
    static const char *const roots[] = {"tests", "src/foundation", "src/query", "src/method"};
    char path[1024], line[512], inner[256];
    FILE *file = NULL;
    for (size_t i = 0; i < sizeof roots / sizeof *roots && !file; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", ABUT_SOURCE_DIR, roots[i], name);
        file = fopen(path, "r");
    }
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "#include \"%255[^\"]\"", inner) == 1) {
            append_file(inner);
            continue;
        }
        assert_true(text_length + sizeof line < sizeof text);
        text_length += (size_t)snprintf(text + text_length, sizeof line, "%s", line);
    }
    fclose(file);
}

static cl_program build(cl_context context, cl_device_id device) {
    const char *source = text;
    cl_device_fp_config config = 0;
    cl_int error;
    append_file("geom/kernel.h");
    cl_program program = cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
    assert_int_equal(CL_SUCCESS, error);
    cl.clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    const char *options = config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                              ? "-cl-fp32-correctly-rounded-divide-sqrt"
                              : "";
    error = cl.clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (error != CL_SUCCESS) {
        static char log[1 << 16];
        cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail_msg("the kernel does not build: %s", log);
    }
    return program;
}

/* ---- the test ---- */

static real in[ITEM_COUNT * NUMBERS_IN], number[ITEM_COUNT * NUMBERS_OUT];
static int answer[ITEM_COUNT * ANSWERS_OUT];

static void make_items(void) {
    test_random random = {51};
    for (uint32_t i = 0; i < ITEM_COUNT; i++) {
        triangle3 a = sample_triangle(&random, sample_family(i));
        triangle3 b = sample_partner(&random, sample_family(i), a);
        for (int k = 0; k < 6; k++) {
            vec3 p = k < 3 ? a.corner[k] : b.corner[k - 3];
            real *to = in + i * NUMBERS_IN + 3 * k;
            to[0] = p.x;
            to[1] = p.y;
            to[2] = p.z;
        }
    }
}

static void run_on_device(cl_device_id device) {
    cl_int error;
    cl_context context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    assert_int_equal(CL_SUCCESS, error);
    cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, &error);
    assert_int_equal(CL_SUCCESS, error);
    cl_program program = build(context, device);
    cl_kernel kernel = cl.clCreateKernel(program, "evaluate_all", &error);
    assert_int_equal(CL_SUCCESS, error);
    cl_mem buffers[3];
    buffers[0] =
        cl.clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof in, in, &error);
    assert_int_equal(CL_SUCCESS, error);
    buffers[1] = cl.clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof number, NULL, &error);
    assert_int_equal(CL_SUCCESS, error);
    buffers[2] = cl.clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof answer, NULL, &error);
    assert_int_equal(CL_SUCCESS, error);
    for (cl_uint i = 0; i < 3; i++)
        assert_int_equal(CL_SUCCESS, cl.clSetKernelArg(kernel, i, sizeof buffers[i], &buffers[i]));
    size_t count = ITEM_COUNT;
    assert_int_equal(CL_SUCCESS, cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0,
                                                           NULL, NULL));
    assert_int_equal(CL_SUCCESS, cl.clEnqueueReadBuffer(queue, buffers[1], CL_TRUE, 0,
                                                        sizeof number, number, 0, NULL, NULL));
    assert_int_equal(CL_SUCCESS, cl.clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0,
                                                        sizeof answer, answer, 0, NULL, NULL));
    for (int i = 0; i < 3; i++)
        cl.clReleaseMemObject(buffers[i]);
    cl.clReleaseKernel(kernel);
    cl.clReleaseProgram(program);
    cl.clReleaseCommandQueue(queue);
    cl.clReleaseContext(context);
}

static cl_device_id chosen;

/* A plane without a normal gives not-a-number, whose sign and payload processors may choose. */
static bool same_bits(real a, real b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

TEST(device_equals_host) {
    size_t extensions_bytes = 0;
    cl.clGetDeviceInfo(chosen, CL_DEVICE_EXTENSIONS, 0, NULL, &extensions_bytes);
    char *extensions = calloc(extensions_bytes + 1, 1);
    assert_non_null(extensions);
    cl.clGetDeviceInfo(chosen, CL_DEVICE_EXTENSIONS, extensions_bytes, extensions, NULL);
    bool has_doubles = strstr(extensions, "cl_khr_fp64") != NULL;
    free(extensions);
    make_items();
    run_on_device(chosen);
    uint32_t contacts = 0;
    for (int i = 0; i < ITEM_COUNT; i++) {
        real host_number[NUMBERS_OUT];
        int host_answer[ANSWERS_OUT];
        evaluate(in + i * NUMBERS_IN, host_number, host_answer);
        evaluate_contact(in, in + i * NUMBERS_IN, host_number + NUMBERS_OUT - 8);
        contacts += host_number[NUMBERS_OUT - 8] > CONTACT_BACKFACING;
        for (int k = 0; k < (has_doubles ? NUMBERS_OUT : 8); k++)
            if (!same_bits(host_number[k], number[i * NUMBERS_OUT + k]))
                fail_msg("item %d, number %d: host %a, device %a", i, k, (double)host_number[k],
                         (double)number[i * NUMBERS_OUT + k]);
        for (int k = 0; k < (has_doubles ? ANSWERS_OUT : 1); k++)
            if (host_answer[k] != answer[i * ANSWERS_OUT + k])
                fail_msg("item %d, answer %d: host %d, device %d", i, k, host_answer[k],
                         answer[i * ANSWERS_OUT + k]);
    }
    assert_true(contacts > 0 &&
                contacts < ITEM_COUNT); /* as the first items are the field's values */
}

int main(void) {
    test_ignore_leaks(); /* the runtime keeps memory, not always where the sanitizer looks */
    if (!open_loader() || !find_device(&chosen)) {
        puts("skipped: no OpenCL device on this machine");
        return 77;
    }
    char name[256] = "";
    cl.clGetDeviceInfo(chosen, CL_DEVICE_NAME, sizeof name, name, NULL);
    printf("device: %s\n", name);
    return test_run(NULL, NULL);
}

#endif
