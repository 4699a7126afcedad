/* Sorting and joining: small tools with bounded worst cases.
 *
 * Sorting of keys: most lists hold a handful of them, for which insertion is fastest; a vertex in a
 * million triangles makes a huge one, for which insertion would be quadratic. So: insertion for
 * short runs, then bottom-up merging.
 *
 * Joining: a forest in which every parent is lower than its child, so the root of a set is its
 * lowest member whatever the order of the calls (the hooking of Jaiganesh & Burtscher 2018,
 * "A high-performance connected components implementation for GPUs", with path halving). Threads
 * may join at once: a root changes only by compare-and-swap, and shortening a path only ever
 * replaces an ancestor by a higher one.
 */
#include "base/sort.h"

#include <string.h>

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

static void swap_items(unsigned char *a, unsigned char *b, size_t bytes) {
    unsigned char kept[64];
    for (size_t part; bytes; a += part, b += part, bytes -= part) {
        part = bytes < sizeof kept ? bytes : sizeof kept;
        memcpy(kept, a, part);
        memcpy(a, b, part);
        memcpy(b, kept, part);
    }
}

static void sift(unsigned char *items, size_t root, size_t count, size_t bytes,
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
        sift(first, i, count, bytes, after);
    for (size_t left = count; left > 1; left--) {
        swap_items(first, first + (left - 1) * bytes, bytes);
        sift(first, 0, left - 1, bytes, after);
    }
}

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

/* ---- records in parts ---- */

enum { ITEMS_MIN = 4096 }; /* of a chunk */

typedef struct dealing {
    abuti_deal *deal;
    abuti_deal_pass pass;
    void *data;
    bool places;
} dealing;

static void deal_task(void *data, size_t chunk, size_t begin, size_t end) {
    const dealing *d = data;
    d->pass(d->data, begin, end, d->places, d->deal->next[chunk]);
}

void abuti_deal_out(abut_context *context, size_t count, abuti_deal_pass pass, void *data,
                    abuti_deal *deal) {
    dealing d = {deal, pass, data, false};
    size_t sum = 0;
    size_t grain = count / ABUTI_DEAL_CHUNKS + 1;
    grain = grain < ITEMS_MIN ? ITEMS_MIN : grain;
    const size_t chunks = abuti_chunk_count(count, grain);
    memset(deal->next, 0, chunks * sizeof *deal->next);
    abuti_parallel_for(context, count, grain, deal_task, &d);
    for (size_t part = 0; part < ABUTI_DEAL_PARTS; part++) {
        deal->begin[part] = sum;
        for (size_t chunk = 0; chunk < chunks; chunk++) {
            size_t here = deal->next[chunk][part];
            deal->next[chunk][part] = sum;
            sum += here;
        }
    }
    deal->begin[ABUTI_DEAL_PARTS] = sum;
    d.places = true;
    abuti_parallel_for(context, count, grain, deal_task, &d);
}
