/* Helpers for tests of devices: the device to use, and when to skip.
 *
 * ABUT_TEST_DEVICE names the device (default "cpu": PoCL, the same everywhere). OpenCL runtimes
 * keep memory until the process ends, so leaks are detected by our own counts instead of by the
 * sanitizer. */
#ifndef ABUT_TEST_OPEN_H
#define ABUT_TEST_OPEN_H

#include "device/device.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

static inline const char *test_device_name(void) {
    const char *name = getenv("ABUT_TEST_DEVICE");
    return name && name[0] ? name : "cpu";
}

/* Null where tests can run, else why not. PoCL keeps what it compiles in a folder that all builds
 * share; our own cache is off, since PoCL would compile each kernel once more for it. */
static inline const char *test_device_absence(void) {
#ifdef TEST_THREAD_SANITIZER
    return "the threads of an OpenCL runtime are not known to ThreadSanitizer";
#else
    test_ignore_leaks();
    setenv("ABUT_CACHE_DIR", "off", 0);
    setenv("POCL_CACHE_DIR", ABUT_TEST_POCL, 0);
    abut_device *device;
    if (abut_device_open(NULL, test_device_name(), &device))
        return abut_last_error();
    abut_device_destroy(device);
    return NULL;
#endif
}

#define SKIP_WITHOUT_DEVICE()                            \
    do {                                                 \
        const char *skip_reason = test_device_absence(); \
        if (skip_reason) {                               \
            printf("skipped: %s\n", skip_reason);        \
            return 77;                                   \
        }                                                \
    } while (0)

static inline abut_device *test_device(abut_context *context) {
    abut_device *device;
    assert_ok(abut_device_open(context, test_device_name(), &device));
    return device;
}

/* Runs `work` as it is and counts its calls of OpenCL, and then with the 1st, 2nd, ... of them
 * failing; from the call `dense` on, only every `stride`-th is tried. Each time it must return
 * ABUT_ERROR_DEVICE and leave nothing, neither of ours nor of the device's; it succeeds again where
 * a call is to fail that it does not make. `work` makes the same calls each time, and may call
 * abuti_opencl_fail_at(0) after a failure. It does not look for devices, which goes on without
 * platforms that fail: test_device.c does. */
static inline void test_every_device_call(abut_status (*work)(abut_context *context, void *data),
                                          void *data, uint64_t dense, uint64_t stride) {
    assert_ok(work(NULL, data)); /* whatever the first use makes is there now */
    uint64_t live = abuti_opencl_live(), total = 0;
    for (uint64_t n = 0; !total || n <= total + 1;) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, 1);
        abuti_opencl_fail_at(n);
        abut_status status = work(context, data);
        uint64_t calls = abuti_opencl_calls();
        abuti_opencl_fail_at(0);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        assert_int_equal(live, abuti_opencl_live());
        total = n ? total : calls;
        assert_true(total > 10);
        assert_int_equal(n && n <= total ? ABUT_ERROR_DEVICE : ABUT_OK, status);
        if (!status)
            assert_int_equal(total, calls);
        if (n == total + 1)
            return;
        n = !n ? 1 : n < dense ? test_next_fault(n) : n + stride;
        n = n <= total ? n : total + 1;
    }
}

static inline abuti_buffer test_upload(abuti_queue *queue, const void *data, size_t bytes) {
    abuti_buffer buffer = {0};
    assert_ok(abuti_buffer_create(queue->device, bytes, 1, &buffer));
    assert_ok(abuti_buffer_upload(queue, &buffer, 0, data, bytes));
    return buffer;
}

#endif
