/* The kit: tables of kernels and buffers, failures that stick to the queue and are reported once,
 * lists that grow, and parts. */
#include "device/kit.h"
#include "open.h"

#ifdef ABUT_HAS_OPENCL
#include "device/opencl.h"

static void *native_of(abut_device *device) {
    return opencl_of(device)->id;
}
#else
static void *native_of(abut_device *device) {
    return device;
}
#endif

static const char text[] =
    "__kernel void kit_add(__global const uint *in, __global uint *out, uint count, uint more) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i < count)\n"
    "        out[i] = in[i] + more + EXTRA;\n"
    "}\n"
    /* in[i] elements of value i, in any order: all are counted */
    "__kernel void kit_list(__global const uint *in, uint count, __global uint *list, uint room,\n"
    "                       __global uint *counts) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    if (i >= count)\n"
    "        return;\n"
    "    uint at = atomic_add(&counts[1], in[i]);\n"
    "    for (uint k = 0; k < in[i]; k++)\n"
    "        if (at + k < room)\n"
    "            list[at + k] = i;\n"
    "}\n";

static abuti_module modules[] = {{"kit_test", text, sizeof text - 1}, {NULL, NULL, 0}};

enum { ADD, ADD_MORE, LIST, MISSING, KERNELS };
enum { IN, OUT, NUMBERS, COUNTS, BUFFERS };
static const abuti_kernel_source sources[KERNELS] = {
    {"kit_test", "kit_add", "-DEXTRA=0"},
    {"kit_test", "kit_add", "-DEXTRA=1000"},
    {"kit_test", "kit_list", "-DEXTRA=0"},
    {"scan", "no_such_kernel", NULL},
};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, modules};

enum { MOST = 5000, GROUP = 64 };
static uint32_t words[MOST], got[MOST];

static void add(abuti_kit *kit, uint32_t kernel, uint32_t from, uint32_t to, uint32_t count,
                uint32_t more) {
    ABUTI_KIT_RUN(kit, kernel, count, GROUP, KIT_BUFFER(kit, from), KIT_BUFFER(kit, to),
                  ABUTI_VALUE(count), ABUTI_VALUE(more));
}

/* ---- all that a kit does ---- */

typedef struct listing {
    abuti_kit_list list;
    uint32_t count, passes;
} listing;

/* Lists word i words[i] times: right in number and in sum. */
static abut_status make_list(abuti_kit *kit, listing *l) {
    uint32_t counts[2] = {7, 7};
    uint64_t sum = 0, expected = 0, total = 0;
    abut_status status;
    abuti_kit_upload(kit, IN, words, l->count, sizeof *words);
    abuti_kit_reserve(kit, COUNTS, 2, sizeof *counts);
    do {
        l->passes++;
        abuti_kit_fill(kit, COUNTS, 0, sizeof counts);
        ABUTI_KIT_RUN(kit, LIST, l->count, GROUP, KIT_BUFFER(kit, IN), ABUTI_VALUE(l->count),
                      KIT_BUFFER(kit, NUMBERS), ABUTI_VALUE(l->list.room), KIT_BUFFER(kit, COUNTS));
        if ((status = abuti_kit_download(kit, COUNTS, counts, 2, sizeof *counts)))
            return status;
    } while (abuti_kit_grow(kit, &l->list, counts[1]));
    if ((status = abuti_queue_report(kit->queue)))
        return status;
    uint32_t *items = calloc(counts[1] + 1, sizeof *items);
    status = abuti_kit_download(kit, NUMBERS, items, counts[1], sizeof *items);
    for (uint32_t i = 0; i < counts[1] && !status; i++)
        sum += items[i];
    for (uint32_t i = 0; i < l->count; i++) {
        total += words[i];
        expected += (uint64_t)i * words[i];
    }
    free(items);
    if (!status) {
        assert_int_equal(0, counts[0]);
        assert_true(total == counts[1] && sum == expected && l->list.room >= total);
    }
    return status;
}

/* put, run, swap, copy, fill, write, read, receive, send, enlarge; the content of every buffer. */
static abut_status use(abuti_kit *kit) {
    static const uint32_t part[3] = {1, 2, 3};
    static uint32_t staged[4]; /* as `part`: outlives an asynchronous copy */
    abuti_kit_upload(kit, IN, words, MOST, sizeof *words);
    abuti_kit_reserve(kit, OUT, MOST, sizeof *words);
    add(kit, ADD, IN, OUT, MOST, 1);
    add(kit, ADD_MORE, OUT, IN, MOST, 1);
    abuti_kit_swap(kit, IN, OUT); /* OUT: words + 1002 */
    abuti_kit_write(kit, OUT, 10, part, 3, sizeof *part);
    abuti_kit_send(kit, OUT, 20, part + 1, 2, sizeof *part);
    abuti_kit_receive(kit, OUT, 9, staged, 4, sizeof *staged);
    abuti_kit_enlarge(kit, OUT, 2 * MOST, sizeof *words, MOST);
    abut_status status = abuti_kit_read(kit, OUT, 5, got, MOST - 5, sizeof *got);
    if (status)
        return status;
    assert_true(staged[0] == words[9] + 1002 && staged[1] == 1 && staged[3] == 3);
    for (uint32_t i = 5; i < MOST; i++)
        assert_int_equal(got[i - 5], i >= 10 && i < 13    ? i - 9
                                     : i == 20 || i == 21 ? i - 18
                                                          : words[i] + 1002);
    assert_true(kit->buffers[OUT].bytes == 2 * MOST * sizeof *words);
    abuti_kit_copy(kit, &kit->buffers[OUT], &kit->buffers[IN], 40);
    abuti_kit_fill(kit, OUT, 77, 20);
    status = abuti_kit_download(kit, OUT, got, 6, sizeof *got);
    if (status)
        return status;
    assert_true(got[4] == 77 && got[5] == words[5] + 1002);
    status = abuti_kit_download(kit, IN, got, 6, sizeof *got);
    if (!status)
        assert_int_equal(words[4] + 1002, got[4]);
    return status ? status : abuti_kit_finish(kit);
}

/* On a device that is opened anew each time, so that programs are built; but not found anew, which
 * makes other calls for other platforms. */
static abut_status everything(abut_context *context, void *data) {
    abut_device *known = data, *opened = NULL;
    abuti_queue queue = {0};
    abuti_kit kit = {0};
    listing l = {.list = {.buffer = NUMBERS, .element_bytes = 4, .what = "items"}, .count = 600};
    abut_status status =
        abut_device_open_native(context, abut_device_native(known), native_of(known), &opened);
    status = status ? status : abuti_queue_open(opened, &queue);
    status = status ? status : abuti_kit_open(&queue, &table, "", &kit);
    status = status ? status : use(&kit);
    status = status ? status : make_list(&kit, &l);
    if (!status)
        assert_int_equal(2, l.passes);
    if (status && kit.queue) { /* reported once: all is well again, and the tables are as good */
        abuti_opencl_fail_at(0);
        assert_ok(use(&kit));
        assert_ok(make_list(&kit, &l));
    }
    abuti_kit_close(&kit);
    abuti_kit_close(&kit);
    abuti_queue_close(&queue);
    abut_device_destroy(opened);
    return status;
}

/* ---- what sticks ---- */

static abut_device *device;
static abuti_queue queue;
static abuti_kit kit, other;

TEST(sticks) {
    uint32_t before = 5;
    abuti_kit_upload(&kit, IN, words, 10, sizeof *words);
    abuti_kit_reserve(&kit, OUT, 10, sizeof *words);
    add(&kit, ADD, IN, OUT, 10, 1);
    abuti_kit_write(&kit, OUT, 9, words, 2, sizeof *words);
    assert_true(abuti_kit_failed(&kit) && abuti_kit_failed(&other));
    assert_non_null(strstr(abut_last_error(), "outside a buffer"));
    /* nothing happens from now on, in no kit on the queue and by no other way */
    add(&kit, ADD, IN, OUT, 10, 2);
    abuti_kit_reserve(&other, IN, SIZE_MAX / 2, 4);
    abuti_kit_upload(&other, OUT, words, 4, 4);
    abuti_kit_fail(&kit, ABUT_ERROR_MEMORY);
    assert_null(other.buffers[OUT].device);
    assert_ok(abuti_buffer_fill(&queue, &kit.buffers[OUT], 0, 40));
    assert_ok(abuti_buffer_upload(&queue, &kit.buffers[IN], 0, &before, 4));
    /* any kit reports, once */
    assert_int_equal(ABUT_ERROR_ARGUMENT, abuti_kit_download(&other, OUT, &before, 1, 4));
    assert_int_equal(5, before);
    assert_ok(abuti_kit_finish(&kit));
    assert_ok(abuti_kit_download(&kit, OUT, got, 10, sizeof *got));
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(words[i] + 1, got[i]);
    /* the caller's own, and that of a kernel that does not exist */
    abuti_kit_fail(&kit, ABUT_OK);
    abuti_kit_fail(&kit, ABUT_ERROR_CANCELLED);
    assert_int_equal(ABUT_ERROR_CANCELLED, abuti_kit_finish(&other));
    add(&kit, MISSING, IN, OUT, 10, 1);
    assert_fails(ABUT_ERROR_DEVICE, "no_such_kernel", abuti_kit_finish(&kit));
    abuti_kit_build(&kit);
    assert_fails(ABUT_ERROR_DEVICE, "no_such_kernel", abuti_kit_finish(&kit));
    add(&kit, MISSING, IN, OUT, 0, 1); /* no work */
    assert_ok(abuti_kit_finish(&kit));
    char longest[200];
    memset(longest, ' ', sizeof longest);
    longest[sizeof longest - 1] = 0;
    abuti_kit none;
    assert_refused("too long", abuti_kit_open(&queue, &table, longest, &none));
    assert_null(none.queue);
}

/* ---- lists ---- */

TEST(lists) {
    listing l = {.list = {.buffer = NUMBERS, .element_bytes = 4, .what = "items"}, .count = 900};
    assert_ok(make_list(&kit, &l));
    assert_int_equal(2, l.passes);
    assert_ok(make_list(&kit, &l)); /* there is room now */
    assert_int_equal(3, l.passes);
    l.count = MOST;
    l.list.limit = 2 * l.list.room;
    uint32_t room = l.list.room;
    assert_fails(ABUT_ERROR_LIMIT, "items; the limit is", make_list(&kit, &l));
    assert_int_equal(room, l.list.room);
    l.list.limit = 0;
    assert_ok(make_list(&kit, &l));
    /* known lengths: grows by a quarter and some, up to the limit */
    l.list.limit = 3000000;
    assert_true(abuti_kit_grow(&kit, &l.list, 1000000));
    assert_int_equal(1251024, l.list.room);
    assert_false(abuti_kit_grow(&kit, &l.list, 1251024));
    assert_true(abuti_kit_grow(&kit, &l.list, 2900000));
    assert_int_equal(3000000, l.list.room);
    assert_false(abuti_kit_failed(&kit));
    assert_false(abuti_kit_grow(&kit, &l.list, 3000001));
    assert_int_equal(ABUT_ERROR_LIMIT, abuti_kit_finish(&kit));
}

/* ---- parts ---- */

TEST(parts) {
    size_t next = 0;
    for (abuti_parts p = abuti_parts_by(1003, 100); abuti_parts_next(&p); next += p.count) {
        assert_int_equal(next, p.begin);
        assert_int_equal(next < 1000 ? 100 : 3, p.count);
    }
    assert_int_equal(1003, next);
    abuti_parts p = abuti_parts_by(0, 100);
    assert_false(abuti_parts_next(&p));
    p = abuti_parts_by(100, 1000);
    assert_int_equal(100, p.most);
    /* too large until one is left; then it grows again */
    size_t sizes[] = {100, 50, 25, 12, 6, 3, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(abuti_parts_next(&p));
        assert_true(p.begin == 0 && p.count == sizes[i]);
        assert_int_equal(sizes[i] > 1, abuti_parts_halve(&p));
    }
    size_t larger[] = {2, 4, 8, 16, 32, 37};
    next = 1;
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
        abuti_parts_widen(&p);
        assert_true(abuti_parts_next(&p));
        assert_true(p.begin == next && p.count == larger[i]);
        next += p.count;
    }
    assert_false(abuti_parts_next(&p));
    p = abuti_parts_of(device, SIZE_MAX / 2, 1);
    assert_true(p.most <= 1 << 24 && p.most >= 1 << 12);
    p = abuti_parts_of(device, SIZE_MAX / 2, SIZE_MAX / 8);
    assert_int_equal(1 << 12, p.most);
}

/* ---- failures ---- */

/* Each call of OpenCL fails once: that is reported, nothing is left over, and then it works. */
TEST(every_call) {
    setenv("ABUT_CACHE_DIR", "off", 1); /* else a failure there only means a build */
    test_every_device_call(everything, device, UINT64_MAX, 1);
}

static int set_up(void **state) {
    for (uint32_t i = 0; i < MOST; i++)
        words[i] = i % 17;
    device = test_device(NULL);
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_kit_open(&queue, &table, "", &kit));
    assert_ok(abuti_kit_open(&queue, &table, "-DUNUSED", &other));
    return 0;
}

static int tear_down(void **state) {
    abuti_kit_close(&kit);
    abuti_kit_close(&other);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
