/* The tools of devices: the speed of scan and similar operations relative to a plain copy, and
 * of sorting keys. Results are compared with the CPU's before the timing. Times are wall-clock
 * and include the wait for the device. Short calls are repeated in a run, as a user would
 * enqueue them. */
#include "bench.h"

#include "device/tools.h"

#include <stdlib.h>

enum { COPY, SCAN, SORT };

#define CALLS 8 /* per run; not of the sorts */

#define SCAN_GOAL 0.6   /* of the copy's speed */
#define SORT_GOAL 1.5e9 /* 32-bit keys per second */

typedef struct device_data {
    abut_device *device;
    abuti_queue queue;
    abuti_tools *tools;
    abuti_buffer in, out, total;       /* words */
    abuti_buffer keys, values, origin; /* pairs, and the keys before */
    size_t count;
    uint32_t calls;
} device_data;

static bool sorts(const bench_state *state) {
    return state->which->variant == SORT;
}

/* ---- the device ---- */

static bool on_gpu; /* goals are those of a GPU */

abut_status bench_device_open(bench_state *state, abut_device **device) {
    const char *selector = state->device ? state->device : getenv("ABUT_BENCH_DEVICE");
    bool wanted = selector && selector[0];
    abut_status status = abut_device_open(state->context, wanted ? selector : "auto", device);
    state->skipped = status == ABUT_ERROR_DEVICE && !wanted;
    if (status)
        return status;
    bench_keep(state, *device);
    static bool details;
    abut_device_info info = get_device_info(*device);
    if (!details)
        printf("device: %s, driver %s, %s\n", info.name, info.driver,
               info.same_bits ? "rounds as this host" : "rounds otherwise than this host");
    details = true;
    on_gpu = info.kind == ABUT_DEVICE_KIND_GPU;
    return ABUT_OK;
}

static abut_status open_device(bench_state *state, device_data *data) {
    TRY(bench_device_open(state, &data->device));
    TRY(abuti_queue_open(data->device, &data->queue));
    return abuti_tools_create(&data->queue, &data->tools);
}

/* ---- words: copy, scan ---- */

static abut_status run_words(bench_state *state) {
    device_data *data = state->data;
    if (state->which->variant == COPY)
        return abuti_buffer_copy(&data->queue, &data->in, &data->out, data->count * 4);
    abuti_tools_scan(data->tools, &data->in, &data->out, data->count, &data->total, 0);
    return ABUT_OK;
}

/* Runs once and compares with a plain loop. */
static abut_status check_words(bench_state *state, const uint32_t *words, uint32_t *got) {
    device_data *data = state->data;
    TRY(run_words(state));
    TRY(abuti_buffer_download(&data->queue, &data->out, 0, got, data->count * 4));
    uint32_t total = 0;
    TRY(abuti_buffer_download(&data->queue, &data->total, 0, &total, sizeof total));
    const bool scans = state->which->variant == SCAN;
    uint32_t sum = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < data->count; i++) {
        wrong += got[i] != (scans ? sum : words[i]);
        sum += words[i];
    }
    wrong += scans && total != sum;
    return wrong ? bench_fail(ABUT_ERROR_DEVICE, "%zu wrong words of %zu", wrong, data->count)
                 : ABUT_OK;
}

static abut_status setup_words(bench_state *state) {
    device_data *data = state->data;
    data->count = state->quick ? 20003 : (size_t)64 << 20;
    data->calls = state->quick ? 1 : CALLS;
    uint32_t *words = bench_array(state, data->count, 4), *got = bench_array(state, data->count, 4);
    uint64_t random = 7;
    for (size_t i = 0; i < data->count; i++)
        words[i] = (uint32_t)(bench_random(&random) >> 40) & (i % 3 ? 0xffff : 0); /* many zeros */
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->in));
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->out));
    TRY(abuti_buffer_create(data->device, 1, 4, &data->total));
    TRY(abuti_buffer_upload(&data->queue, &data->in, 0, words, data->count * 4));
    TRY(check_words(state, words, got));
    state->elements = (double)data->count * data->calls;
    state->bytes = state->elements * 8;
    return ABUT_OK;
}

/* ---- pairs: sort ---- */

/* Restores keys and values. */
static abut_status restore_pairs(bench_state *state) {
    device_data *data = state->data;
    TRY(abuti_buffer_copy(&data->queue, &data->origin, &data->keys, data->count * 4));
    TRY(abuti_buffer_copy(&data->queue, &data->in, &data->values, data->count * 4));
    return abuti_queue_finish(&data->queue);
}

static abut_status run_sort(bench_state *state) {
    device_data *data = state->data;
    abuti_tools_sort(data->tools, &data->keys, &data->values, data->count, 0, 32);
    return ABUT_OK;
}

/* Sorted, equal keys in order, every value once and with its key. */
static size_t wrong_pairs(const uint32_t *before, const uint32_t *keys, const uint32_t *values,
                          size_t count, unsigned char *seen) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = keys[i], last = i ? keys[i - 1] : 0;
        bool ordered = !i || last < key || (last == key && values[i - 1] < values[i]);
        bool known = values[i] < count && !seen[values[i]] && before[values[i]] == key;
        if (known)
            seen[values[i]] = 1;
        wrong += !ordered || !known;
    }
    return wrong;
}

static abut_status check_pairs(bench_state *state, const uint32_t *before, uint32_t *keys,
                               uint32_t *values) {
    device_data *data = state->data;
    TRY(run_sort(state));
    TRY(abuti_buffer_download(&data->queue, &data->keys, 0, keys, data->count * 4));
    TRY(abuti_buffer_download(&data->queue, &data->values, 0, values, data->count * 4));
    size_t wrong =
        wrong_pairs(before, keys, values, data->count, bench_array(state, data->count, 1));
    if (wrong)
        return bench_fail(ABUT_ERROR_DEVICE, "%zu wrong pairs of %zu", wrong, data->count);
    return restore_pairs(state);
}

static abut_status make_pairs(bench_state *state, uint32_t *before, uint32_t *values) {
    device_data *data = state->data;
    uint64_t random = 11;
    for (size_t i = 0; i < data->count; i++) {
        before[i] = (uint32_t)bench_random(&random);
        values[i] = (uint32_t)i;
    }
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->keys));
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->origin));
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->values));
    TRY(abuti_buffer_create(data->device, data->count, 4, &data->in));
    TRY(abuti_buffer_upload(&data->queue, &data->origin, 0, before, data->count * 4));
    TRY(abuti_buffer_upload(&data->queue, &data->in, 0, values, data->count * 4));
    return restore_pairs(state);
}

static abut_status setup_pairs(bench_state *state) {
    device_data *data = state->data;
    data->count = state->quick ? 20003 : (size_t)16 << 20;
    uint32_t *before = bench_array(state, data->count, 4),
             *keys = bench_array(state, data->count, 4);
    uint32_t *values = bench_array(state, data->count, 4);
    TRY(make_pairs(state, before, values));
    TRY(check_pairs(state, before, keys, values));
    state->elements = (double)data->count;
    state->bytes = state->elements * 2 * 8;
    return ABUT_OK;
}

/* ---- the case ---- */

static abut_status setup(bench_state *state) {
    device_data *data = state->data;
    TRY(open_device(state, data));
    return sorts(state) ? setup_pairs(state) : setup_words(state);
}

static abut_status run(bench_state *state) {
    device_data *data = state->data;
    if (sorts(state))
        TRY(run_sort(state));
    for (uint32_t i = 0; i < data->calls; i++)
        TRY(run_words(state));
    return abuti_queue_finish(&data->queue);
}

/* The whole result was checked at the start; later its first words are sufficient, since
 * downloading it takes longer than computing it. */
static abut_status finish(bench_state *state) {
    device_data *data = state->data;
    abuti_buffer *result = sorts(state) ? &data->values : &data->out;
    size_t words = data->count < 1024 ? data->count : 1024;
    uint32_t first[1024];
    TRY(abuti_buffer_download(&data->queue, result, 0, first, words * 4));
    state->hash = bench_hash(0, first, words * 4);
    return sorts(state) ? restore_pairs(state) : ABUT_OK;
}

static void teardown(bench_state *state) {
    device_data *data = state->data;
    abuti_buffer *buffers[] = {&data->in,   &data->out,    &data->total,
                               &data->keys, &data->values, &data->origin};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abuti_tools_destroy(data->tools);
    abuti_queue_close(&data->queue);
}

/* ---- details ---- */

static void print_details(const bench_case *which, const bench_result *result) {
    static double copy_speed;
    double seconds = result->median_ms * 1e-3, speed = result->bytes / seconds;
    if (which->variant == COPY)
        copy_speed = speed;
    if (which->variant == SORT) {
        double rate = result->elements / seconds;
        printf("  %.2f Gkeys/s", rate * 1e-9);
        if (on_gpu)
            printf(", goal for an H200 %.1f: %s", SORT_GOAL * 1e-9,
                   rate >= SORT_GOAL ? "ok" : "missed");
        return;
    }
    printf("  %.0f GB/s", speed * 1e-9);
    if (which->variant != COPY && copy_speed > 0)
        printf(", %.0f%% of copy", 100 * speed / copy_speed);
    if (which->variant == SCAN && on_gpu && copy_speed > 0)
        printf(", goal for an H200 %.0f%%: %s", 100 * SCAN_GOAL,
               speed >= SCAN_GOAL * copy_speed ? "ok" : "missed");
}

#define DEVICE_CASE(name_, unit_, variant_)                                              \
    {                                                                                    \
        .name = name_, .unit = unit_, .data_bytes = sizeof(device_data), .setup = setup, \
        .run = run, .finish = finish, .teardown = teardown, .variant = variant_,         \
        .print_details = print_details                                                   \
    }

const bench_case bench_device_cases[] = {
    DEVICE_CASE("device/copy", "word", COPY),
    DEVICE_CASE("device/scan", "word", SCAN),
    DEVICE_CASE("device/sort", "key", SORT),
    {.name = NULL},
};
