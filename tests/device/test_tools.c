/* Scan, owners and sort on a device against plain loops in C: sizes around
 * every boundary of tiles and groups, random data and special cases. */
#include "device/tools.h"
#include "open.h"

static abut_device *device;
static abuti_queue queue;
static abuti_tools *tools;

enum { MOST = 100003 };
static const size_t sizes[] = {0,    1,    2,    3,    4,     5,     15,    16,   17,   255,
                               256,  257,  1023, 1024, 1025,  2047,  2048,  2049, 4095, 4096,
                               4097, 8191, 8192, 8193, 16384, 16385, 20479, MOST};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

typedef enum pattern {
    RANDOM,
    ZEROS,
    ONES,
    ALL_BITS,
    ASCENDING,
    DESCENDING,
    FEW_VALUES,
    SPARSE,
    LAST_SET,
    PATTERN_COUNT
} pattern;

static uint64_t element(pattern which, size_t i, size_t count, test_random *random) {
    uint64_t bits = test_random_bits(random);
    switch (which) {
    case ZEROS:
        return 0;
    case ONES:
        return 1;
    case ALL_BITS:
        return UINT64_MAX;
    case ASCENDING:
        return i * 0x100010001u;
    case DESCENDING:
        return (count - i) * 0x100010001u;
    case FEW_VALUES:
        return (bits & 3) * 0x0101010101010101u;
    case SPARSE:
        return bits % 1000 == 0 ? bits : 0;
    case LAST_SET:
        return i + 1 == count ? UINT64_MAX : 0;
    default:
        return bits;
    }
}

static uint32_t words[MOST + 1], expected[MOST + 1], got[MOST + 1];

static void make_words(pattern which, size_t count) {
    test_random random = {17 * count + which};
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)element(which, i, count, &random);
}

/* Calls check for every pattern and size. */
static void for_all(void (*check)(pattern which, size_t count)) {
    for (int p = 0; p < PATTERN_COUNT; p++)
        for (size_t s = 0; s < SIZE_COUNT; s++)
            check((pattern)p, sizes[s]);
}

static void compare(const char *what, pattern which, size_t size, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("%s, pattern %d, %zu words: word %zu is %u instead of %u", what, which, size,
                     i, got[i], expected[i]);
}

/* ---- scan ---- */

static void check_scan(pattern which, size_t count) {
    make_words(which, count);
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        words[i] = which == RANDOM ? words[i] % (UINT32_MAX / MOST) : words[i];
        expected[i] = sum;
        sum = words[i] < UINT32_MAX - sum ? sum + words[i] : UINT32_MAX;
    }
    expected[count] = sum;
    abuti_buffer in = test_upload(&queue, words, (count + 1) * sizeof *words), out = {0};
    assert_ok(abuti_buffer_create(device, count + 1, 4, &out));
    abuti_tools_scan(tools, &in, &out, count, &out, count);
    assert_ok(abuti_buffer_download(&queue, &out, 0, got, (count + 1) * 4));
    compare("scan", which, count, count + 1);
    assert_ok(abuti_buffer_download(&queue, &in, 0, got, count * 4));
    assert_memory_equal(words, got, count * 4); /* the input is as it was */
    abuti_tools_scan(tools, &in, &in, count, NULL, 0);
    assert_ok(abuti_buffer_download(&queue, &in, 0, got, count * 4));
    compare("scan in place", which, count, count);
    abuti_buffer_destroy(&out);
    abuti_buffer_destroy(&in);
}

TEST(scan) {
    for_all(check_scan);
}

TEST(sums_saturate) {
    make_words(ONES, 5);
    for (int i = 0; i < 5; i++)
        words[i] = i < 4 ? 0x40000000 : 3;
    abuti_buffer begin = test_upload(&queue, words, 6 * sizeof *words);
    abuti_tools_scan(tools, &begin, &begin, 5, &begin, 5);
    assert_ok(abuti_buffer_download(&queue, &begin, 0, got, 6 * sizeof *got));
    static const uint32_t sums[] = {0, 0x40000000, 0x80000000, 0xc0000000, UINT32_MAX, UINT32_MAX};
    assert_memory_equal(got, sums, sizeof sums);
    abuti_buffer_destroy(&begin);
}

/* ---- owners ---- */

/* The owner of each item is the number of its segment. */
static void check_owners(pattern which, size_t count) {
    static uint32_t owners[2 * MOST], found[2 * MOST];
    uint32_t sum = 0;
    make_words(which, count);
    for (size_t i = 0; i < count; i++) {
        words[i] = which == LAST_SET ? words[i] & MOST : words[i] % (which == SPARSE ? 64 : 3);
        for (uint32_t k = 0; k < words[i]; k++)
            owners[sum++] = (uint32_t)i;
    }
    abuti_buffer begin = test_upload(&queue, words, (count + 1) * sizeof *words), items = {0};
    abuti_tools_scan(tools, &begin, &begin, count, &begin, count);
    abuti_buffer_make(&queue, NULL, sum, sizeof *found, &items);
    if (sum)
        abuti_tools_owners(tools, &begin, count, sum, &items);
    assert_ok(abuti_buffer_download(&queue, &items, 0, found, sum * sizeof *found));
    assert_memory_equal(found, owners, sum * sizeof *found);
    assert_ok(abuti_queue_finish(&queue));
    abuti_buffer_destroy(&items);
    abuti_buffer_destroy(&begin);
}

TEST(owners) {
    for_all(check_owners);
}

/* ---- sort ---- */

typedef struct pair {
    uint32_t key, whole; /* the bits that count, and all of them */
    uint32_t value;
} pair;

static pair pairs[MOST], spare[MOST];
static uint32_t keys_of[MOST];
static uint32_t values[MOST];

/* The referee: stable, and as simple as can be that is not quadratic. */
static void merge_sort(pair *list, size_t count, pair *room) {
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t lo = 0; lo < count; lo += 2 * width) {
            size_t mid = lo + width < count ? lo + width : count;
            size_t hi = lo + 2 * width < count ? lo + 2 * width : count;
            size_t a = lo, b = mid;
            for (size_t to = lo; to < hi; to++)
                room[to] =
                    b == hi || (a < mid && list[a].key <= list[b].key) ? list[a++] : list[b++];
        }
        memcpy(list, room, count * sizeof *list);
    }
}

static void check_sort(pattern which, size_t count, uint32_t first, uint32_t last) {
    test_random random = {31 * count + which};
    uint32_t mask = (uint32_t)(((uint64_t)1 << (last - first)) - 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t key = keys_of[i] = (uint32_t)element(which, i, count, &random);
        values[i] = (uint32_t)i * 2654435761u;
        pairs[i] = (pair){first < 32 ? key >> first & mask : 0, key, values[i]};
    }
    abuti_buffer keys = test_upload(&queue, keys_of, count * 4);
    abuti_buffer load = test_upload(&queue, values, count * 4);
    abuti_tools_sort(tools, &keys, &load, count, first, last);
    assert_ok(abuti_buffer_download(&queue, &keys, 0, keys_of, count * 4));
    assert_ok(abuti_buffer_download(&queue, &load, 0, values, count * 4));
    merge_sort(pairs, count, spare);
    for (size_t i = 0; i < count; i++)
        if (keys_of[i] != pairs[i].whole || values[i] != pairs[i].value)
            fail_msg("sort from bit %u to %u, pattern %d, %zu keys: place %zu is wrong", first,
                     last, which, count, i);
    abuti_buffer_destroy(&load);
    abuti_buffer_destroy(&keys);
}

TEST(sorts) {
    for (int p = 0; p < PATTERN_COUNT; p++)
        for (size_t s = 0; s < SIZE_COUNT; s += test_brief() ? 3 : 1)
            check_sort((pattern)p, sizes[s], 0, 32);
}

/* Any range of bits: the others neither count nor change. */
TEST(sort_some_bits) {
    static const uint32_t ranges[][2] = {{0, 0},  {0, 1},   {0, 30},  {5, 12},
                                         {7, 24}, {31, 32}, {24, 32}, {32, 32}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (size_t s = 12; s < SIZE_COUNT; s += 5)
            check_sort(RANDOM, sizes[s], ranges[r][0], ranges[r][1]);
}

/* ---- refusals ---- */

/* Failures of tools stick to the queue until it is waited for. */
#define reported(call) ((call), abuti_queue_finish(&queue))

TEST(refusals) {
    abuti_buffer small = test_upload(&queue, words, 16), none = {0};
    assert_refused("too small", reported(abuti_tools_scan(tools, &small, &small, 5, NULL, 0)));
    assert_refused("too small", reported(abuti_tools_scan(tools, &small, &small, 4, &small, 4)));
    assert_refused("too small", reported(abuti_tools_scan(tools, &none, &small, 0, NULL, 0)));
    assert_refused("too small", reported(abuti_tools_sort(tools, &small, &small, 5, 0, 32)));
    assert_refused("bits", reported(abuti_tools_sort(tools, &small, &small, 4, 0, 33)));
    assert_refused("bits", reported(abuti_tools_sort(tools, &small, &small, 4, 9, 8)));
    assert_refused("too small", reported(abuti_tools_owners(tools, &small, 4, 1, &small)));
    assert_refused("no segments", reported(abuti_tools_owners(tools, &small, 0, 1, &small)));
    assert_fails(ABUT_ERROR_LIMIT, "2^31",
                 reported(abuti_tools_scan(tools, &small, &small, ABUTI_TOOLS_MAX + 1, NULL, 0)));
    assert_refused("outside a buffer of 16", abuti_buffer_upload(&queue, &small, 8, words, 9));
    assert_refused("outside a buffer of 16",
                   abuti_buffer_download(&queue, &small, SIZE_MAX, got, 2));
    assert_refused("outside a buffer of 16", abuti_buffer_fill(&queue, &small, 0, 20));
    abuti_buffer huge = {0};
    assert_fails(ABUT_ERROR_DEVICE, "another device or the CPU",
                 abuti_buffer_create(device, SIZE_MAX / 2, 4, &huge));
    assert_null(huge.device);
    abuti_buffer_destroy(&small);
}

static int set_up(void **state) {
    device = test_device(NULL);
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_tools_create(&queue, &tools));
    return 0;
}

static int tear_down(void **state) {
    abuti_tools_destroy(tools);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    setenv("ABUT_CACHE_DIR", "off",
           0); /* PoCL has a cache of its own; ours would take longer here */
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
