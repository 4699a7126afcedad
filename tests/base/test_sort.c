/* Sorting, against the library of C. */
#include "support/support.h"

#include "base/sort.h"

#include <stdlib.h>

TEST(sorting_is_stable) {
    enum { COUNT = 5000 };
    static sort_key keys[COUNT], spare[COUNT];
    test_random random = {1};
    for (int bits = 0; bits <= 64; bits += 8)
        for (size_t count = 0; count <= COUNT; count = 3 * count + 1) {
            uint64_t sum = 0, sorted_sum = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint64_t any = test_random_bits(&random);
                keys[i].key = bits == 64 ? any : any & ((UINT64_C(1) << bits) - 1);
                keys[i].value = i;
                sum += keys[i].key * (i + 1);
            }
            const sort_key *to = abuti_sort_by_key(keys, spare, count);
            for (uint32_t i = 0; i < count; i++) {
                sorted_sum += to[i].key * (to[i].value + 1); /* each key kept its value */
                if (i)
                    assert_true(to[i - 1].key < to[i].key ||
                                (to[i - 1].key == to[i].key && to[i - 1].value < to[i].value));
            }
            assert_true(sum == sorted_sum);
        }
}

TEST(lowest_keys_are_selected) {
    enum { COUNT = 3000 };
    static sort_key keys[COUNT], spare[COUNT];
    test_random random = {.state = 9};
    for (int bits = 0; bits <= 64; bits += 16)
        for (uint32_t count = 1; count <= COUNT; count = 3 * count + 1) {
            const uint32_t before = test_random_below(&random, count + 1);
            uint64_t sum = 0, low = 0, high = UINT64_MAX;
            for (uint32_t i = 0; i < count; i++) {
                const double x = test_random_real(&random, -1, 1);
                keys[i].key = bits == 64 ? abuti_ordered_bits(x)
                                         : test_random_bits(&random) & ((UINT64_C(1) << bits) - 1);
                keys[i].value = i;
                sum += keys[i].key * (i + 1);
            }
            abuti_select(keys, spare, count, before);
            for (uint32_t i = 0; i < count; i++) {
                sum -= keys[i].key * (keys[i].value + 1); /* each key kept its value */
                low = i < before && keys[i].key > low ? keys[i].key : low;
                high = i >= before && keys[i].key < high ? keys[i].key : high;
            }
            assert_true(sum == 0 && (before == 0 || before == count || low <= high));
        }
    assert_true(abuti_ordered_bits(-2) < abuti_ordered_bits(-1));
    assert_true(abuti_ordered_bits(-1) < abuti_ordered_bits(0));
    assert_true(abuti_ordered_bits(0) < abuti_ordered_bits(1e-300));
}

static int compare_keys(const void *a, const void *b) {
    uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return p < q ? -1 : p > q;
}

TEST(keys_are_sorted) {
    test_random random = {.state = 4};
    static uint64_t keys[5000], buffer[5000], expected[5000];
    for (size_t n = 0; n < 5000; n = n < 100 ? n + 1 : n * 3 / 2) {
        for (size_t i = 0; i < n; i++)
            expected[i] = keys[i] = test_random_bits(&random) >> (n % 3 * 28);
        qsort(expected, n, sizeof *expected, compare_keys);
        abuti_sort_keys(keys, n <= ABUTI_SORT_SMALL ? NULL : buffer, n);
        assert_memory_equal(expected, keys, n * sizeof *keys);
    }
}
