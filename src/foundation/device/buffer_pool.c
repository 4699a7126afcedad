/* The buffer pool: device memory that is kept for the next buffer of about the same size.
 *
 * A driver needs about 50 us for an allocation of a megabyte or more when a kernel first uses it,
 * and as long to release it (NVIDIA, on an H200). That was one of nine milliseconds for a field
 * from arrays of the host, whose BVH and lists have about forty buffers. The pool is bounded. The
 * oldest buffer is released first, and all of them if the driver cannot allocate a new one.
 */
#include "device/device.h"

enum { MEMORY_SHARE = 32 }; /* one part in this many of the device's memory may be kept */
#define BYTES_MAX ((size_t)256 << 20)

static void lock_pool(abuti_buffer_pool *pool) {
    while (atomic_flag_test_and_set_explicit(&pool->locked, memory_order_acquire))
        continue;
}

static void unlock_pool(abuti_buffer_pool *pool) {
    atomic_flag_clear_explicit(&pool->locked, memory_order_release);
}

/* Removes and returns one buffer. */
static abuti_buffer remove_at(abuti_buffer_pool *pool, uint32_t at) {
    abuti_buffer buffer = pool->kept[at];
    pool->count--;
    pool->bytes -= buffer.bytes;
    memmove(&pool->kept[at], &pool->kept[at + 1], (pool->count - at) * sizeof *pool->kept);
    return buffer;
}

bool abuti_buffer_pool_trim(abut_device *device, size_t bytes_left) {
    abuti_buffer_pool *pool = &device->buffer_pool;
    bool any = false;
    for (;;) {
        abuti_buffer oldest = {0};
        lock_pool(pool);
        if (pool->count && (pool->bytes > bytes_left || pool->count == ABUTI_BUFFER_POOL_MAX))
            oldest = remove_at(pool, 0);
        unlock_pool(pool);
        if (!oldest.device)
            return any;
        device->backend->buffer_destroy(&oldest);
        any = true;
    }
}

void abuti_buffer_recycle(abuti_buffer *buffer) {
    abut_device *device = buffer->device;
    if (!device)
        return;
    size_t limit = (size_t)(device->info.memory_bytes / MEMORY_SHARE);
    limit = limit < BYTES_MAX ? limit : BYTES_MAX;
    if (buffer->bytes < device->buffer_pool.bytes_min || buffer->bytes > limit) {
        abuti_buffer_destroy(buffer);
        return;
    }
    abuti_buffer_pool_trim(device, limit - buffer->bytes);
    lock_pool(&device->buffer_pool);
    bool kept =
        device->buffer_pool.count < ABUTI_BUFFER_POOL_MAX && /* another thread may have filled it */
        device->buffer_pool.bytes <= limit - buffer->bytes;
    if (kept) {
        device->buffer_pool.kept[device->buffer_pool.count++] = *buffer;
        device->buffer_pool.bytes += buffer->bytes;
    }
    unlock_pool(&device->buffer_pool);
    if (kept) {
        *buffer = (abuti_buffer){0};
        abut_device_destroy(device); /* the pool does not reference the device */
    } else {
        abuti_buffer_destroy(buffer);
    }
}

bool abuti_buffer_pool_acquire(abut_device *device, size_t bytes, abuti_buffer *buffer) {
    abuti_buffer_pool *pool = &device->buffer_pool;
    uint32_t best = ABUTI_BUFFER_POOL_MAX;
    if (bytes < pool->bytes_min)
        return false;
    lock_pool(pool);
    for (uint32_t i = 0; i < pool->count; i++) {
        size_t kept_bytes = pool->kept[i].bytes;
        if (kept_bytes >= bytes && kept_bytes - bytes <= bytes / 4 &&
            (best == ABUTI_BUFFER_POOL_MAX || kept_bytes < pool->kept[best].bytes))
            best = i;
    }
    if (best != ABUTI_BUFFER_POOL_MAX)
        *buffer = remove_at(pool, best);
    unlock_pool(pool);
    if (best != ABUTI_BUFFER_POOL_MAX)
        abuti_device_retain(device);
    return best != ABUTI_BUFFER_POOL_MAX;
}
