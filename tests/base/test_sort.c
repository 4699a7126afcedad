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

/* ---- records in parts ---- */

enum { ITEMS = 300000 };

typedef struct dealt {
    uint32_t words[ITEMS], to[ITEMS];
    unsigned shift;
} dealt;

/* Every third item has no record. */
static void deal_words(void *data, size_t begin, size_t end, bool places, size_t *next) {
    dealt *d = data;
    for (size_t i = begin; i < end; i++) {
        if (i % 3 == 1)
            continue;
        size_t at = next[d->words[i] >> d->shift]++;
        if (places)
            d->to[at] = (uint32_t)i;
    }
}

TEST(records_are_dealt_out) {
    static dealt d;
    static abuti_partition deal;
    test_random random = {.state = 9};
    for (uint32_t count = 0; count <= ITEMS; count = count < 20 ? count + 1 : 5 * count) {
        uint32_t below = count ? count / 2 + 1 : 1, records = 0;
        d.shift = abuti_partition_shift(below);
        for (uint32_t i = 0; i < count; i++) {
            d.words[i] = test_random_below(&random, below);
            records += i % 3 != 1;
        }
        abuti_partition_run(abuti_context_of(NULL), count, deal_words, &d, &deal);
        assert_int_equal(0, deal.begin[0]);
        assert_int_equal(records, deal.begin[ABUTI_PARTITION_PARTS]);
        for (size_t part = 0; part < ABUTI_PARTITION_PARTS; part++)
            for (size_t i = deal.begin[part]; i < deal.begin[part + 1]; i++) {
                assert_int_equal(part, d.words[d.to[i]] >> d.shift);
                assert_true(d.to[i] % 3 != 1 && (i == deal.begin[part] || d.to[i - 1] < d.to[i]));
            }
    }
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
