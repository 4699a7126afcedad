/* Sorting by integer keys and by comparison, selection, union-find, Morton codes. */
#ifndef ABUTI_BASE_SORT_H
#define ABUTI_BASE_SORT_H

#include "base/base.h"

#include <string.h>

/* An index and the key by which it is sorted. */
typedef struct sort_key {
    uint64_t key;
    uint32_t value;
} sort_key;

/* Stable radix sort by bytes; a byte that all keys have in common takes no pass. Uses both arrays
 * and returns the one with the result. */
ABUTI_API sort_key *abuti_sort_by_key(sort_key *from, sort_key *to, size_t count);

/* Moves the `before` lowest keys to the front, by quickselect (Hoare 1961). Uses both arrays. After
 * 100 bad pivots it sorts, so that no input takes quadratic time. */
void abuti_select(sort_key *keys, sort_key *spare, size_t count, size_t before);

/* A key with the order of doubles that are not NaN. */
static inline uint64_t abuti_ordered_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* Heap sort: needs no memory, O(n log n) in the worst case. after(a, b): whether a belongs after b.
 */
void abuti_sort_items(void *items, size_t count, size_t bytes,
                      bool (*after)(const void *a, const void *b));

/* O(n log n) in the worst case. `buffer` has the same length; it may be null for up to
 * ABUTI_SORT_SMALL keys. */
#define ABUTI_SORT_SMALL 48
void abuti_sort_keys(uint64_t *keys, uint64_t *buffer, size_t count);

/* Union-find over integers; initialise parent[i] = i. Threads may join concurrently. The result
 * does not depend on their order, because the lowest member is always the root. */
ABUTI_API uint32_t abuti_root(uint32_t *parent, uint32_t member);
ABUTI_API void abuti_join(uint32_t *parent, uint32_t a, uint32_t b);

/* ---- Morton codes (Morton 1966): neighbours on the curve are neighbours in space ---- */

/* Inserts two zero bits between the lowest sixteen bits. */
static inline uint64_t morton_spread(uint64_t x) {
    x = (x | x << 16) & 0x0000ff0000ffu;
    x = (x | x << 8) & 0x00f00f00f00fu;
    x = (x | x << 4) & 0x0c30c30c30c3u;
    return (x | x << 2) & 0x249249249249u;
}

/* The Morton code of three numbers of up to sixteen bits. */
static inline uint64_t morton_code(uint32_t x, uint32_t y, uint32_t z) {
    return morton_spread(x) | morton_spread(y) << 1 | morton_spread(z) << 2;
}

#endif
