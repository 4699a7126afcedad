/* Sorting, selection and union-find with bounded worst cases.
 *
 * Sorting of keys: most lists have a few keys, for which insertion sort is fastest. A vertex of a
 * million triangles makes a long list, for which insertion sort would be quadratic. So: insertion
 * sort for short runs, then bottom-up merging.
 *
 * Union-find: a forest in which every parent is lower than its child, so that the root of a set is
 * its lowest member in any order of calls (hooking by Jaiganesh & Burtscher 2018, "A
 * high-performance connected components implementation for GPUs", with path halving). Threads may
 * join concurrently: a root changes only by compare-and-swap, and path halving only replaces a
 * parent by an ancestor of it.
 */
#include "base/sort.h"

sort_key *abuti_sort_by_key(sort_key *from, sort_key *to, size_t count) {
    uint64_t differing = 0;
    for (size_t i = 0; i < count; i++)
        differing |= from[i].key ^ from[0].key;
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        size_t begin[257] = {0};
        if (!(differing >> shift & 255))
            continue;
        for (size_t i = 0; i < count; i++)
            begin[(from[i].key >> shift & 255) + 1]++;
        for (uint32_t digit = 0; digit < 256; digit++)
            begin[digit + 1] += begin[digit];
        for (size_t i = 0; i < count; i++)
            to[begin[from[i].key >> shift & 255]++] = from[i];
        sort_key *other = from;
        from = to;
        to = other;
    }
    return from;
}

void abuti_select(sort_key *keys, sort_key *spare, size_t count, size_t before) {
    ptrdiff_t middle = (ptrdiff_t)before, lo = 0, hi = (ptrdiff_t)count;
    for (int round = 0; hi - lo > 1; round++) {
        if (round == 100) {
            const sort_key *sorted = abuti_sort_by_key(keys + lo, spare, (size_t)(hi - lo));
            if (sorted == spare)
                memcpy(keys + lo, spare, (size_t)(hi - lo) * sizeof *keys);
            return;
        }
        const uint64_t pivot = keys[lo + (hi - lo) / 2].key;
        ptrdiff_t i = lo, j = hi - 1;
        while (i <= j) {
            while (keys[i].key < pivot)
                i++;
            while (keys[j].key > pivot)
                j--;
            if (i <= j) {
                const sort_key swap = keys[i];
                keys[i++] = keys[j];
                keys[j--] = swap;
            }
        }
        if (middle <= j)
            hi = j + 1;
        else if (middle >= i)
            lo = i;
        else
            return;
    }
}

static void swap_items(unsigned char *a, unsigned char *b, size_t bytes) {
    unsigned char kept[64];
    for (size_t part; bytes; a += part, b += part, bytes -= part) {
        part = bytes < sizeof kept ? bytes : sizeof kept;
        memcpy(kept, a, part);
        memcpy(a, b, part);
        memcpy(b, kept, part);
    }
}

static void sift_down(unsigned char *items, size_t root, size_t count, size_t bytes,
                      bool (*after)(const void *a, const void *b)) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && after(items + (child + 1) * bytes, items + child * bytes))
            child++;
        if (!after(items + child * bytes, items + root * bytes))
            return;
        swap_items(items + root * bytes, items + child * bytes, bytes);
    }
}

void abuti_sort_items(void *items, size_t count, size_t bytes,
                      bool (*after)(const void *a, const void *b)) {
    unsigned char *first = items;
    for (size_t i = count / 2; i-- > 0;)
        sift_down(first, i, count, bytes, after);
    for (size_t left = count; left > 1; left--) {
        swap_items(first, first + (left - 1) * bytes, bytes);
        sift_down(first, 0, left - 1, bytes, after);
    }
}

#define RUN_LENGTH 16

static void insertion_sort(uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

/* Merges the sorted [0, middle) and [middle, count) of `from` into `to`. */
static void merge(const uint64_t *from, size_t middle, size_t count, uint64_t *to) {
    size_t i = 0, j = middle;
    for (size_t k = 0; k < count; k++)
        to[k] = j == count || (i < middle && from[i] <= from[j]) ? from[i++] : from[j++];
}

void abuti_sort_keys(uint64_t *keys, uint64_t *buffer, size_t count) {
    if (count <= ABUTI_SORT_SMALL) {
        insertion_sort(keys, count);
        return;
    }
    for (size_t begin = 0; begin < count; begin += RUN_LENGTH)
        insertion_sort(keys + begin, count - begin < RUN_LENGTH ? count - begin : RUN_LENGTH);
    uint64_t *from = keys, *to = buffer;
    for (size_t width = RUN_LENGTH; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t left = count - begin;
            merge(from + begin, left < width ? left : width, left < 2 * width ? left : 2 * width,
                  to + begin);
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
}

uint32_t abuti_root(uint32_t *parent, uint32_t member) {
    uint32_t up = __atomic_load_n(&parent[member], __ATOMIC_RELAXED);
    while (up != member) {
        uint32_t higher = __atomic_load_n(&parent[up], __ATOMIC_RELAXED);
        if (higher != up)
            __atomic_store_n(&parent[member], higher, __ATOMIC_RELAXED);
        member = up;
        up = higher;
    }
    return member;
}

void abuti_join(uint32_t *parent, uint32_t a, uint32_t b) {
    for (;;) {
        a = abuti_root(parent, a);
        b = abuti_root(parent, b);
        if (a == b)
            return;
        uint32_t low = a < b ? a : b, high = a < b ? b : a, expected = high;
        if (__atomic_compare_exchange_n(&parent[high], &expected, low, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}
