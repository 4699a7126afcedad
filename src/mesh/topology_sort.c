/* Sorting and joining for the topology: small tools with bounded worst cases.
 *
 * Sorting: most buckets hold a handful of keys, for which insertion is fastest; a vertex in a
 * million triangles makes one huge bucket, for which insertion would be quadratic. So: insertion
 * for short runs, then bottom-up merging.
 *
 * Joining: a forest in which every parent is lower than its child, so the root of a set is its
 * lowest member whatever the order of the calls (the hooking of Jaiganesh & Burtscher 2018,
 * "A high-performance connected components implementation for GPUs", with path halving). Threads
 * may join at once: a root changes only by compare-and-swap, and shortening a path only ever
 * replaces an ancestor by a higher one.
 */
#include "mesh/mesh.h"

#include <string.h>

#define RUN 16

static void sort_short(uint64_t *keys, size_t count) {
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
        sort_short(keys, count);
        return;
    }
    for (size_t begin = 0; begin < count; begin += RUN)
        sort_short(keys + begin, count - begin < RUN ? count - begin : RUN);
    uint64_t *from = keys, *to = buffer;
    for (size_t width = RUN; width < count; width *= 2) {
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
