/* Sorting: by whole numbers, and by anything. */
#ifndef ABUTI_BASE_SORT_H
#define ABUTI_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
