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

static void swap_items(unsigned char *a, unsigned char *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
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
