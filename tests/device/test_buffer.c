/* Buffers as users have them, and a caller's own OpenCL objects. */
#include "open.h"

#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

TEST(there_and_back) {
    abut_device *device = test_device(NULL);
    abut_buffer *buffer = NULL;
    unsigned char in[100], out[100];
    for (int i = 0; i < 100; i++)
        in[i] = (unsigned char)(3 * i);
    assert_ok(abut_buffer_create(device, 100, &buffer));
    assert_int_equal(100, abut_buffer_bytes(buffer));
    assert_non_null(abut_buffer_native(buffer));
    assert_ok(abut_buffer_write(buffer, 0, in, 100));
    assert_ok(abut_buffer_write(buffer, 40, in, 10));
    memcpy(in + 40, (unsigned char[10]){0, 3, 6, 9, 12, 15, 18, 21, 24, 27}, 10);
    assert_ok(abut_buffer_read(buffer, 0, out, 100));
    assert_memory_equal(in, out, 100);
    assert_ok(abut_buffer_read(buffer, 100, out, 0));
    assert_ok(abut_buffer_write(buffer, 0, NULL, 0));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_read(buffer, 50, out, 51));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_write(buffer, SIZE_MAX, in, 2));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_write(buffer, 0, NULL, 1));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_read(NULL, 0, out, 1));
    assert_memory_equal(in, out, 100);
    abut_device_destroy(device); /* the buffer keeps it */
    assert_ok(abut_buffer_read(buffer, 0, out, 100));
    abut_buffer_destroy(buffer);
    assert_int_equal(0, abuti_opencl_live());
}

TEST(bad_arguments) {
    AUTO(device) device = test_device(NULL);
    abut_buffer *buffer = NULL;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_create(NULL, 1, &buffer));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_create(device, 1, NULL));
    assert_int_equal(ABUT_ERROR_DEVICE, abut_buffer_create(device, SIZE_MAX, &buffer));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_wrap(device, NULL, &buffer));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_wrap(NULL, device, &buffer));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_open_native(NULL, NULL, device, &device));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_open_native(NULL, device, NULL, &device));
    assert_null(buffer);
    assert_null(abut_device_native(NULL));
    assert_null(abut_buffer_native(NULL));
    assert_int_equal(0, abut_buffer_bytes(NULL));
    abut_buffer_destroy(NULL);
}

/* A program that has its own context and buffers. */
static abut_status use_native(abut_context *context, cl_context own, cl_device_id id,
                              cl_mem memory) {
    abut_device *device = NULL;
    abut_buffer *buffer = NULL;
    unsigned word = 0, back = 0x12345678;
    abut_status status = abut_device_open_native(context, own, id, &device);
    status = status ? status : abut_buffer_wrap(device, memory, &buffer);
    if (!status) {
        assert_ptr_equal(own, abut_device_native(device));
        assert_ptr_equal(memory, abut_buffer_native(buffer));
        assert_int_equal(64, abut_buffer_bytes(buffer));
        status = abut_buffer_write(buffer, 8, &back, sizeof back);
    }
    status = status ? status : abut_buffer_read(buffer, 8, &word, sizeof word);
    if (!status)
        assert_int_equal(back, word);
    abut_buffer_destroy(buffer);
    abut_device_destroy(device);
    return status;
}

TEST(own_opencl) {
    abut_device *ours = test_device(NULL);
    cl_device_id id = opencl_of(ours)->id;
    cl_int error = 0;
    cl_context own = abuti_opencl.clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    assert_int_equal(0, error);
    cl_mem memory = abuti_opencl.clCreateBuffer(own, CL_MEM_READ_WRITE, 64, NULL, &error);
    assert_int_equal(0, error);
    assert_ok(use_native(NULL, own, id, memory));
    abut_buffer *buffer = NULL;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_buffer_wrap(ours, memory, &buffer));
    assert_non_null(strstr(abut_last_error(), "another cl_context"));
    assert_null(buffer);
    uint64_t live = abuti_opencl_live(), n = 1;
    for (bool done = false; !done; n++) {
        test_memory counted = {0};
        abut_context *context = test_context(&counted, 1);
        abuti_opencl_fail_at(n);
        abut_status status = use_native(context, own, id, memory);
        done = abuti_opencl_calls() < n;
        abuti_opencl_fail_at(0);
        assert_true(done ? status == ABUT_OK : status == ABUT_ERROR_DEVICE || !status);
        abut_context_destroy(context);
        assert_int_equal(0, counted.live_count);
        assert_int_equal(live, abuti_opencl_live());
    }
    assert_true(n > 10);
    /* no hold is left: ours was the only one */
    cl_uint holds = 0;
    __typeof__(&clGetMemObjectInfo) get = abuti_opencl.clGetMemObjectInfo;
    assert_int_equal(0, get(memory, CL_MEM_REFERENCE_COUNT, sizeof holds, &holds, NULL));
    assert_int_equal(1, holds);
    abuti_opencl.clReleaseMemObject(memory);
    abuti_opencl.clReleaseContext(own);
    abut_device_destroy(ours);
    assert_int_equal(0, abuti_opencl_live());
}

/* There and back through memory that the device copies by itself, and where it has none to give. */
TEST(staging) {
    abut_device *device = test_device(NULL);
    abuti_queue queue;
    abuti_buffer buffer = {0};
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_buffer_create(device, 1000, sizeof(uint32_t), &buffer));
    const uint64_t most = device->info.buffer_bytes;
    for (int plain = 0; plain < 2; plain++) {
        abuti_staging two[2] = {{0}, {0}};
        device->info.buffer_bytes = plain ? 100 : most; /* more is beyond its limit */
        for (int k = 0; k < 2; k++)
            assert_ok(abuti_staging_create(&queue, 1000, sizeof(uint32_t), &two[k]));
        assert_int_equal(plain, !two[0].native);
        uint32_t *from = two[0].at, *to = two[1].at;
        for (uint32_t i = 0; i < 1000; i++) {
            from[i] = 7 * i + (uint32_t)plain;
            to[i] = 0;
        }
        assert_ok(abuti_buffer_send(&queue, &buffer, 0, from, 4000));
        assert_ok(abuti_buffer_receive(&queue, &buffer, 400, to + 100, 3600));
        assert_ok(abuti_queue_finish(&queue));
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(i < 100 ? 0 : 7 * i + (uint32_t)plain, to[i]);
        assert_int_equal(ABUT_ERROR_ARGUMENT, abuti_buffer_send(&queue, &buffer, 4, from, 4000));
        assert_int_equal(ABUT_ERROR_ARGUMENT, abuti_buffer_receive(&queue, &buffer, 4, to, 4000));
        for (int k = 0; k < 2; k++)
            abuti_staging_destroy(&queue, &two[k]);
    }
    device->info.buffer_bytes = most;
    abuti_staging none = {0};
    assert_int_equal(ABUT_ERROR_MEMORY, abuti_staging_create(&queue, SIZE_MAX / 2, 3, &none));
    assert_null(none.at);
    for (uint64_t n = 1; n <= 2; n++) { /* a device in trouble says so */
        abuti_opencl_fail_at(n);
        assert_int_equal(ABUT_ERROR_DEVICE, abuti_staging_create(&queue, 10, 4, &none));
        abuti_opencl_fail_at(0);
    }
    abuti_staging_destroy(&queue, &none);
    abuti_buffer_destroy(&buffer);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
}

/* Much of a buffer at once, both ways, in parts; by several threads, of which one has the lanes;
 * and when a call fails, any of them: nothing is under way then, and the next one is as good as
 * new. Where locked memory is refused, a plain copy does it. */
enum {
    MUCH = 2200001, /* several parts, and pages of its own */
    FROM = 123,
    LANE_CALLS = 9 /* at first: a queue, a buffer, a map; for each of three lanes */
};
typedef struct much {
    abut_device *device;
    abuti_buffer buffer;
    uint32_t *words;
    atomic_uint wrong;
} much;

static void fetch_task(void *data, size_t chunk, size_t begin, size_t end) {
    much *m = data;
    for (size_t i = begin; i < end; i++) {
        size_t count = i % 4 == 3 ? 17 : MUCH - FROM - i;
        AUTO_FREE uint32_t *to = malloc(count * sizeof *to);
        if (!to ||
            abuti_buffer_fetch(&m->buffer, 4 * FROM, abuti_context_of(NULL), to, 4 * count) ||
            memcmp(m->words + FROM, to, 4 * count) != 0)
            atomic_fetch_add(&m->wrong, 1);
    }
}

static abut_status fetch_once(much *m, uint32_t *to) {
    memset(to, 0, 4 * MUCH);
    return abuti_buffer_fetch(&m->buffer, 0, abuti_context_of(NULL), to, 4 * MUCH);
}

static abut_status upload_once(much *m, uint32_t *to) {
    abuti_queue queue;
    abut_status status = abuti_queue_open(m->device, &queue);
    if (status)
        return status;
    status = abuti_buffer_fill(&queue, &m->buffer, 7, 4 * MUCH); /* what it must wait for */
    if (!status)
        status = abuti_buffer_upload(&queue, &m->buffer, 4 * FROM, m->words, 4 * (MUCH - FROM));
    if (!status)
        status = abuti_buffer_download(&queue, &m->buffer, 0, to, 4 * MUCH);
    abuti_queue_close(&queue);
    for (uint32_t i = 0; i < FROM && !status; i++)
        assert_int_equal(7, to[i]);
    return status;
}

/* Without lanes at first; gives how many failures did no harm. */
static uint64_t fail_each(much *m, uint32_t *to, abut_status once(much *m, uint32_t *to),
                          uint32_t skipped) {
    uint64_t harmless = 0, n = 1;
    for (bool done = false; !done; n++) {
        abuti_transfer_destroy(m->device);
        abuti_opencl_fail_at(n);
        abut_status status = once(m, to);
        done = abuti_opencl_calls() < n;
        abuti_opencl_fail_at(0);
        harmless += !done && !status;
        assert_true(status ? !done && status == ABUT_ERROR_DEVICE
                           : memcmp(m->words, to + skipped, 4 * (MUCH - skipped)) == 0);
    }
    assert_true(n > 20);
    return harmless;
}

TEST(much_memory) {
    much m = {.device = test_device(NULL), .words = malloc(MUCH * sizeof *m.words)};
    AUTO_FREE uint32_t *to = malloc(MUCH * sizeof *to);
    abuti_queue queue;
    for (uint32_t i = 0; i < MUCH; i++)
        m.words[i] = 2654435761u * i;
    assert_ok(abuti_queue_open(m.device, &queue));
    abuti_buffer_make(&queue, m.words, MUCH, sizeof *m.words, &m.buffer);
    assert_ok(abuti_queue_finish(&queue));
    assert_int_equal(LANE_CALLS, fail_each(&m, to, fetch_once, 0));
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abuti_buffer_fetch(&m.buffer, 4, abuti_context_of(NULL), to, 4 * MUCH));
    abuti_parallel_for(abuti_context_of(NULL), 12, 1, fetch_task, &m);
    assert_int_equal(0, atomic_load(&m.wrong));
    assert_int_equal(LANE_CALLS, fail_each(&m, to, upload_once, FROM));
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abuti_buffer_upload(&queue, &m.buffer, 4, m.words, 4 * MUCH));
    abuti_queue_close(&queue);
    abuti_buffer_destroy(&m.buffer);
    abut_device_destroy(m.device);
    assert_int_equal(0, abuti_opencl_live());
    free(m.words);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(NULL, NULL);
}
#else
int main(void) {
    printf("skipped: built without OpenCL\n");
    return 77;
}
#endif
