/* Sorting, by whole numbers and by anything; sets that are joined; and records in parts. */
#ifndef ABUTI_BASE_SORT_H
#define ABUTI_BASE_SORT_H

#include "base/base.h"

/* Something, and the number by which it is sorted. */
typedef struct sort_key {
    uint64_t key;
    uint32_t value;
} sort_key;

/* Stable, by bytes; those that all keys have in common take no pass. Both arrays are used, and the
 * one that has the result is given. */
sort_key *abuti_sort_by_key(sort_key *from, sort_key *to, size_t count);

/* Sorts by heap: no memory, and n log n whatever comes. `after`: whether a belongs behind b. */
void abuti_sort_items(void *items, size_t count, size_t bytes,
                      bool (*after)(const void *a, const void *b));

/* Sorts in O(n log n) whatever the input; `buffer` of the same length may be null up to
 * ABUTI_SORT_SMALL keys. */
#define ABUTI_SORT_SMALL 48
void abuti_sort_keys(uint64_t *keys, uint64_t *buffer, size_t count);

/* Sets of numbers joined by abuti_join; start with parent[i] = i. Any number of threads may join at
 * once; the outcome does not depend on their order, since the lowest member is always the root. */
uint32_t abuti_root(uint32_t *parent, uint32_t member);
void abuti_join(uint32_t *parent, uint32_t a, uint32_t b);

/* ---- records dealt out to parts ----
 *
 * A counting sort by few parts, on all threads and without atomics: chunks of items count their
 * records for each part, then each writes to places of its own. Within a part records stand in the
 * order of their items. */

enum { ABUTI_DEAL_PARTS = 64, ABUTI_DEAL_CHUNKS = 64 };

typedef struct abuti_deal {
    size_t begin[ABUTI_DEAL_PARTS + 1]; /* of the records of a part */
    size_t next[ABUTI_DEAL_CHUNKS][ABUTI_DEAL_PARTS];
} abuti_deal;

/* Passes over some items: raises next[part] by one for each record, and writes that to the old
 * place if `places`. Does the same in both passes. */
typedef void (*abuti_deal_pass)(void *data, size_t begin, size_t end, bool places, size_t *next);

/* Both passes over `count` items. */
void abuti_deal_out(abut_context *context, size_t count, abuti_deal_pass pass, void *data,
                    abuti_deal *deal);

/* By how much numbers below `count` are shifted to make parts of them. */
static inline unsigned abuti_deal_shift(size_t count) {
    unsigned shift = 0;
    while (count && (count - 1) >> shift >= ABUTI_DEAL_PARTS)
        shift++;
    return shift;
}

/* ---- places along a curve that fills space (Morton 1966): neighbours on it are neighbours ---- */

/* Two zeros between each of the lowest sixteen bits. */
static inline uint64_t morton_spread(uint64_t x) {
    x = (x | x << 16) & 0x0000ff0000ffu;
    x = (x | x << 8) & 0x00f00f00f00fu;
    x = (x | x << 4) & 0x0c30c30c30c3u;
    return (x | x << 2) & 0x249249249249u;
}

/* The code of three numbers of up to sixteen bits. */
static inline uint64_t morton_code(uint32_t x, uint32_t y, uint32_t z) {
    return morton_spread(x) | morton_spread(y) << 1 | morton_spread(z) << 2;
}

#endif
