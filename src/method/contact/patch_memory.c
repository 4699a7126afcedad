/* Memory of one query, released all at once; and containers in it: hash tables, lists, patches. */
#include "contact/patch.h"

#include <string.h>

enum { FIRST_BYTES = 1024 }; /* of a list, unless more are required */

/* ---- memory ---- */

void abuti_patch_memory_start(patch_memory *memory, abut_context *context) {
    memory->context = context;
    memory->status = ABUT_OK;
    memory->at = memory->first;
    memory->end = memory->first + sizeof memory->first;
    memory->blocks = NULL;
    memory->block_bytes = 4 * sizeof memory->first;
}

void abuti_patch_memory_end(patch_memory *memory) {
    for (void **block = memory->blocks, **before; block; block = before) {
        before = *block;
        abuti_release(memory->context, block);
    }
}

void *abuti_patch_allocate(patch_memory *memory, size_t count, size_t bytes) {
    size_t required;
    if (memory->status)
        return NULL;
    if (abuti_multiply_overflows(count, bytes, &required) || required > SIZE_MAX / 4) {
        memory->status =
            abuti_fail(ABUT_ERROR_MEMORY,
                       "out of memory: the contacts need more bytes than can be addressed");
        return NULL;
    }
    required = (required + 15) & ~(size_t)15;
    if (required > (size_t)(memory->end - memory->at)) {
        size_t block_bytes =
            required + 64 > memory->block_bytes ? required + 64 : memory->block_bytes;
        void **block = abuti_allocate(memory->context, block_bytes, 1);
        if (!block) {
            memory->status = ABUT_ERROR_MEMORY;
            return NULL;
        }
        *block = memory->blocks;
        memory->blocks = block;
        memory->block_bytes *= 2;
        memory->at = (unsigned char *)block + 64;
        memory->end = (unsigned char *)block + block_bytes;
    }
    void *allocated = memory->at;
    memory->at += required;
    return allocated;
}

bool abuti_patch_reserve(patch_memory *memory, void *array, size_t count, size_t required,
                         size_t bytes, size_t *capacity) {
    if (required <= *capacity)
        return !memory->status;
    size_t next = 2 * *capacity + FIRST_BYTES / bytes;
    next = required > next ? required : next;
    void *grown = abuti_patch_allocate(memory, next, bytes), *old;
    if (!grown)
        return false;
    memcpy(&old, array, sizeof old);
    if (count)
        memcpy(grown, old, count * bytes);
    memcpy(array, &grown, sizeof grown);
    *capacity = next;
    return true;
}

/* ---- hash tables ---- */

static size_t find_slot(const patch_table *table, uint64_t key) {
    size_t mask = table->capacity - 1;
    size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & mask;
    while (table->keys[slot] && table->keys[slot] != key)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow_table(patch_memory *memory, patch_table *table) {
    patch_table next = {.capacity = table->capacity ? 2 * table->capacity : 64,
                        .count = table->count};
    next.keys = abuti_patch_allocate(memory, next.capacity, sizeof *next.keys);
    next.values = abuti_patch_allocate(memory, next.capacity, sizeof *next.values);
    if (memory->status)
        return false;
    memset(next.keys, 0, next.capacity * sizeof *next.keys);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->keys[i]) {
            size_t slot = find_slot(&next, table->keys[i]);
            next.keys[slot] = table->keys[i];
            next.values[slot] = table->values[i];
        }
    *table = next;
    return true;
}

uint32_t *abuti_patch_table_insert(patch_memory *memory, patch_table *table, uint64_t key,
                                   uint32_t value, bool *added) {
    if (2 * (table->count + 1) > table->capacity && !grow_table(memory, table))
        return NULL;
    size_t slot = find_slot(table, key);
    *added = !table->keys[slot];
    if (*added) {
        table->keys[slot] = key;
        table->values[slot] = value;
        table->count++;
    }
    return &table->values[slot];
}

uint32_t abuti_patch_table_find(const patch_table *table, uint64_t key) {
    size_t slot = table->capacity ? find_slot(table, key) : 0;
    return table->capacity && table->keys[slot] ? table->values[slot] : ABUT_NONE;
}

/* ---- patches ---- */

void abuti_patch_add(patch_memory *memory, patch_answers *answers, const patch_answer *answer) {
    if (!PATCH_RESERVE_ONE(memory, answers->list, answers->count, answers->capacity))
        return;
    patch_answer *list = answers->list;
    size_t i = answers->count++;
    for (; i > 0 && list[i - 1].depth < answer->depth; i--)
        list[i] = list[i - 1];
    list[i] = *answer;
}
