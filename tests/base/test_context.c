#include "support/support.h"

#include "base/base.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

TEST(status_names) {
    for (int s = ABUT_OK; s <= ABUT_ERROR_DEVICE; s++)
        assert_non_null(abut_status_name((abut_status)s));
    assert_null(abut_status_name((abut_status)(ABUT_ERROR_DEVICE + 1)));
    assert_null(abut_status_name((abut_status)-1));
}

TEST(escapes_what_is_not_utf8) {
    char out[32];
    abuti_escape("a\xff\xc3\xa9\x01z", out, sizeof out);
    assert_string_equal("a\\xff\xc3\xa9\\x01z", out);
    abuti_escape("\xc3", out, sizeof out); /* cut off in the middle of a character */
    assert_string_equal("\\xc3", out);
    abuti_escape("\xed\xa0\x80", out, sizeof out); /* a surrogate */
    assert_string_equal("\\xed\\xa0\\x80", out);
    abuti_escape("abcdef", out, 4);
    assert_string_equal("abc", out);
    /* C1, and what changes the direction of writing or ends lines */
    static const char *const hidden[] = {"\xc2\x85", "\xc2\x9b", "\u061c", "\u200e",
                                         "\u200f",   "\u2028",   "\u2029", "\u202a",
                                         "\u202e",   "\u2066",   "\u2069"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        abuti_escape(hidden[i], out, sizeof out);
        assert_int_equal('\\', out[0]);
        assert_int_equal(4 * strlen(hidden[i]), strlen(out));
    }
    static const char *const shown[] = {"\u00a0", "\u061b", "\u200d", "\u2010", "\u2027",
                                        "\u202f", "\u2065", "\u206a", "\u20ac"};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        abuti_escape(shown[i], out, sizeof out);
        assert_string_equal(shown[i], out);
    }
}

TEST(refuses_half_an_allocator) {
    abut_context_options options = abut_context_options_default();
    options.allocate = (void *(*)(void *, size_t, size_t))1;
    abut_context *context = NULL;
    assert_refused("release", abut_context_create(&options, &context));
    assert_null(context);
    options = abut_context_options_default();
    options.size = 0;
    assert_refused("size", abut_context_create(&options, &context));
    options.size = sizeof options + 8;
    assert_refused("size", abut_context_create(&options, &context));
    assert_refused("null", abut_context_create(NULL, NULL));
    abut_context_destroy(NULL);
}

TEST(an_object_keeps_its_context) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    abuti_context_retain(context);
    abut_context_destroy(context);
    assert_int_equal(1, memory.live_count);
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}

TEST(sizes_are_checked) {
    size_t result;
    assert_true(abuti_multiply_overflows(SIZE_MAX / 2, 3, &result));
    assert_false(abuti_multiply_overflows(SIZE_MAX / 3, 3, &result));
    assert_false(abuti_multiply_overflows(0, SIZE_MAX, &result));
    assert_true(abuti_add_overflows(SIZE_MAX, 1, &result));
    abut_context *context = abuti_context_of(NULL);
    assert_null(abuti_allocate(context, SIZE_MAX / 8, 16));
    assert_null(abuti_allocate(context, SIZE_MAX, 1));
    assert_non_null(strstr(abut_last_error(), "out of memory"));
    void *nothing = abuti_allocate(context, 0, 16);
    assert_non_null(nothing);
    abuti_release(context, nothing);
}

enum { COUNT = 100003 };

static void mark(void *data, size_t chunk, size_t begin, size_t end) {
    unsigned char *seen = data;
    assert_int_equal(chunk * 1000, begin);
    for (size_t i = begin; i < end; i++)
        seen[i]++;
}

TEST_THREADS(every_item_runs_once) {
    static unsigned char seen[COUNT];
    for (uint32_t threads = 0; threads <= 4; threads++) {
        memset(seen, 0, sizeof seen);
        AUTO(context) context = threads ? test_context(NULL, threads) : NULL;
        abuti_parallel_for(abuti_context_of(context), COUNT, 1000, mark, seen);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(1, seen[i]);
    }
    abuti_parallel_for(abuti_context_of(NULL), 0, 10, mark, NULL);
}

TEST(absurd_thread_counts_work) {
    static unsigned char seen[COUNT];
    abut_context_options options = abut_context_options_default();
    options.thread_count = UINT32_MAX;
    AUTO(context) context = NULL;
    assert_ok(abut_context_create(&options, &context));
    assert_in_range(abuti_context_threads(context), 1, 4096);
    memset(seen, 0, sizeof seen);
    abuti_parallel_for(context, COUNT, 1000, mark, seen);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(1, seen[i]);
}

/* As Python's multiprocessing does it: threads have been at work, and then a child forks, and
 * starts its own. ThreadSanitizer does not let it. */
#if !defined(_WIN32) && !defined(TEST_THREAD_SANITIZER)
TEST_THREADS(a_child_process_works) {
    static unsigned char seen[COUNT];
    memset(seen, 0, sizeof seen);
    abuti_parallel_for(abuti_context_of(NULL), COUNT, 1000, mark, seen);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(20); /* where it waits for threads that only its parent has */
        abuti_parallel_for(abuti_context_of(NULL), COUNT, 1000, mark, seen);
        for (size_t i = 0; i < COUNT; i++)
            if (seen[i] != 2)
                _exit(1);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}
#endif

TEST_THREADS(code_on_top_uses_the_context) {
    static unsigned char seen[COUNT];
    test_memory memory = {.fail_at = 0};
    AUTO(context) context = test_context(&memory, 3);
    void *some = abut_context_allocate(context, 10, 8);
    assert_non_null(some);
    assert_int_equal(0, (uintptr_t)some % 64);
    assert_int_equal(2, memory.live_count);
    abut_context_free(context, some);
    abut_context_free(context, NULL);
    assert_null(abut_context_allocate(context, SIZE_MAX, 8));
    abut_context_free(NULL, abut_context_allocate(NULL, 0, 8));
    for (int k = 0; k < 2; k++) {
        memset(seen, 0, sizeof seen);
        abut_context_parallel_for(k ? NULL : context, k ? 1 : COUNT, k ? 0 : 1000, mark, seen);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(!k || !i, seen[i]);
    }
    abut_context_parallel_for(context, 5, 1, NULL, NULL);
    assert_fails(ABUT_ERROR_LIMIT, "100% of it", abut_set_error(ABUT_ERROR_LIMIT, "100% of it"));
    assert_fails(ABUT_ERROR_FILE, "no reason", abut_set_error(ABUT_ERROR_FILE, NULL));
}

static bool stop(void *user, const char *stage, double fraction) {
    *(double *)user = fraction;
    return fraction < 0.5;
}

TEST(progress_can_cancel) {
    double seen = 0;
    AUTO(context) context = test_watched(stop, &seen);
    assert_ok(abuti_progress(context, "counting", 0.25));
    assert_true(seen == 0.25);
    assert_fails(ABUT_ERROR_CANCELLED, "counting", abuti_progress(context, "counting", 0.75));
}
