/* A stable radix sort: linear time whatever the input, no memory but the caller's. */
#include "picture/picture.h"

#include <string.h>

/* One digit of 11 bits from (keys, values) to (keys_out, values_out); false, with nothing moved,
 * where all keys share the digit. */
static bool sort_digit(const uint64_t *keys, const uint32_t *values, size_t count, unsigned shift,
                       uint64_t *keys_out, uint32_t *values_out) {
    enum { DIGITS = 2048 };
    size_t at[DIGITS] = {0};
    for (size_t i = 0; i < count; i++)
        at[keys[i] >> shift & (DIGITS - 1)]++;
    if (at[keys[0] >> shift & (DIGITS - 1)] == count)
        return false;
    size_t sum = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t to = at[keys[i] >> shift & (DIGITS - 1)]++;
        keys_out[to] = keys[i];
        values_out[to] = values[i];
    }
    return true;
}

void abuti_sort(uint64_t *keys, uint32_t *values, size_t count) {
    if (count < 2)
        return;
    uint64_t *keys_from = keys, *keys_to = keys + count;
    uint32_t *values_from = values, *values_to = values + count;
    for (unsigned shift = 0; shift < 64; shift += 11) {
        if (!sort_digit(keys_from, values_from, count, shift, keys_to, values_to))
            continue;
        uint64_t *keys_swap = keys_from;
        uint32_t *values_swap = values_from;
        keys_from = keys_to;
        keys_to = keys_swap;
        values_from = values_to;
        values_to = values_swap;
    }
    if (keys_from != keys) {
        memcpy(keys, keys_from, count * sizeof *keys);
        memcpy(values, values_from, count * sizeof *values);
    }
}
