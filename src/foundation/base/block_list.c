/* Lists of elements that grow by blocks; see block_list.h. */
#include "base/block_list.h"

abut_status abuti_block_list_reserve(abut_context *context, abuti_block_list *list,
                                     uint64_t count) {
    if (list->block_count || list->whole || count < ABUTI_BLOCK_ELEMENTS || count > ABUT_NONE)
        return ABUT_OK;
    list->whole = abuti_allocate(context, (size_t)count, list->element_bytes);
    list->expected = list->whole ? (size_t)count : 0;
    return list->whole ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Number of blocks in the contiguous memory. */
static size_t blocks_in_whole(const abuti_block_list *list) {
    return list->expected / ABUTI_BLOCK_ELEMENTS;
}

abut_status abuti_block_list_grow(abut_context *context, abuti_block_list *list) {
    if (list->block_count == list->block_capacity) {
        size_t capacity = list->block_capacity ? 2 * list->block_capacity : 16;
        unsigned char **blocks = abuti_allocate(context, capacity, sizeof *blocks);
        if (!blocks)
            return ABUT_ERROR_MEMORY;
        if (list->block_count)
            memcpy(blocks, list->blocks, list->block_count * sizeof *blocks);
        abuti_release(context, list->blocks);
        list->blocks = blocks;
        list->block_capacity = capacity;
    }
    unsigned char *block =
        list->block_count < blocks_in_whole(list)
            ? list->whole + list->block_count * ABUTI_BLOCK_ELEMENTS * list->element_bytes
            : abuti_allocate(context, ABUTI_BLOCK_ELEMENTS, list->element_bytes);
    if (!block)
        return ABUT_ERROR_MEMORY;
    list->blocks[list->block_count++] = block;
    return ABUT_OK;
}

void abuti_block_list_release(abut_context *context, abuti_block_list *list) {
    for (size_t i = blocks_in_whole(list); i < list->block_count; i++)
        abuti_release(context, list->blocks[i]);
    ABUTI_RELEASE(context, list->blocks, list->whole);
    *list = (abuti_block_list){.element_bytes = list->element_bytes};
}

void *abuti_block_list_flatten(abut_context *context, abuti_block_list *list) {
    bool whole = list->whole && list->count == list->expected;
    unsigned char *all =
        whole ? list->whole : abuti_allocate(context, list->count, list->element_bytes);
    for (size_t i = whole ? blocks_in_whole(list) : 0; all && i < list->block_count; i++) {
        size_t begin = i * ABUTI_BLOCK_ELEMENTS, left = list->count - begin;
        memcpy(all + begin * list->element_bytes, list->blocks[i],
               (left < ABUTI_BLOCK_ELEMENTS ? left : ABUTI_BLOCK_ELEMENTS) * list->element_bytes);
        if (i >= blocks_in_whole(list)) {
            abuti_release(context, list->blocks[i]);
            list->blocks[i] = NULL;
        }
    }
    if (whole)
        list->whole = NULL; /* the caller owns it now */
    abuti_block_list_release(context, list);
    return all;
}
