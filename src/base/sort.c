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
