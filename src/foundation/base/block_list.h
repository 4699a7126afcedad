/* Lists of elements that grow by blocks, so that growing copies nothing. */
#ifndef ABUTI_BASE_BLOCK_LIST_H
#define ABUTI_BASE_BLOCK_LIST_H

#include "base/base.h"

#define ABUTI_BLOCK_ELEMENTS 4096 /* elements per block */

typedef struct abuti_block_list {
    size_t element_bytes;
    size_t count;
    unsigned char **blocks;
    size_t block_count, block_capacity;
    unsigned char *whole; /* contiguous memory for the expected elements, which contains the full
                             blocks; or null */
    size_t expected;
} abuti_block_list;

static inline void *abuti_block_list_at(const abuti_block_list *list, size_t index) {
    return list->blocks[index / ABUTI_BLOCK_ELEMENTS] +
           index % ABUTI_BLOCK_ELEMENTS * list->element_bytes;
}
/* Prepares an empty list for `count` elements: if exactly so many are added, the list need not be
 * copied at the end. */
abut_status abuti_block_list_reserve(abut_context *context, abuti_block_list *list, uint64_t count);
/* Adds a block. */
abut_status abuti_block_list_grow(abut_context *context, abuti_block_list *list);
/* Adds an element and returns its address, or null with the error set. */
static inline void *abuti_block_list_push(abut_context *context, abuti_block_list *list) {
    if (list->count / ABUTI_BLOCK_ELEMENTS == list->block_count &&
        abuti_block_list_grow(context, list))
        return NULL;
    return abuti_block_list_at(list, list->count++);
}
void abuti_block_list_release(abut_context *context, abuti_block_list *list);
/* Returns the elements as one array and releases the list. Null with the error set if out of
 * memory. */
void *abuti_block_list_flatten(abut_context *context, abuti_block_list *list);

#endif
