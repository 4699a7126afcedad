/* An allocator that counts memory, for contexts of the programs of this project. */
#ifndef ABUT_APPS_COUNTED_H
#define ABUT_APPS_COUNTED_H

#include <abut/base.h>

#include <stdatomic.h>
#include <stdlib.h>

/* Bytes that are allocated now, and the maximum so far. */
typedef struct counted_memory {
    atomic_uint_least64_t live, peak;
} counted_memory;

typedef union counted_head {
    size_t bytes;
    unsigned char padding[64]; /* keeps the block aligned */
} counted_head;

static inline void *counted_allocate(void *user, size_t bytes, size_t alignment) {
    counted_memory *count = user;
    (void)alignment; /* at most 64, which is the size of the head */
    size_t padded =
        (bytes + 2 * sizeof(counted_head) - 1) / sizeof(counted_head) * sizeof(counted_head);
    counted_head *head = padded < bytes ? NULL : aligned_alloc(sizeof(counted_head), padded);
    if (!head)
        return NULL;
    head->bytes = bytes;
    uint64_t now = atomic_fetch_add(&count->live, bytes) + bytes;
    uint64_t peak = atomic_load(&count->peak);
    while (peak < now && !atomic_compare_exchange_weak(&count->peak, &peak, now))
        continue;
    return head + 1;
}

static inline void counted_release(void *user, void *memory) {
    counted_memory *count = user;
    counted_head *head = (counted_head *)memory - 1;
    atomic_fetch_sub(&count->live, head->bytes);
    free(head);
}

/* Sets the allocator of a context. */
static inline void counted_use(abut_context_options *options, counted_memory *count) {
    options->memory_user = count;
    options->allocate = counted_allocate;
    options->release = counted_release;
}

#endif
