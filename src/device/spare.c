/* Memory of a device that is kept for the next user of about as much.
 *
 * A driver takes some 50 us for a piece of a megabyte or more when a kernel first uses it, and as
 * long to take it back (NVIDIA's, on an H200): one of nine milliseconds for a field from arrays of
 * the host, whose hierarchy and lists have some forty pieces. What is kept is bounded; the oldest
 * goes first, and all of it where the driver refuses a new piece. */
#include "device/device.h"

enum { MEMORY_SHARE = 32 }; /* of the device's memory may be kept */
#define BYTES_MAX ((size_t)256 << 20)

static void lock(abuti_spares *spares) {
    while (atomic_flag_test_and_set_explicit(&spares->taken, memory_order_acquire))
        continue;
}

static void unlock(abuti_spares *spares) {
    atomic_flag_clear_explicit(&spares->taken, memory_order_release);
}

/* Takes one out of the list. */
static abuti_buffer remove_at(abuti_spares *spares, uint32_t at) {
    abuti_buffer buffer = spares->kept[at];
    spares->count--;
    spares->bytes -= buffer.bytes;
    memmove(&spares->kept[at], &spares->kept[at + 1], (spares->count - at) * sizeof *spares->kept);
    return buffer;
}

bool abuti_spares_release(abut_device *device, size_t bytes_left) {
    abuti_spares *spares = &device->spares;
    bool any = false;
    for (;;) {
        abuti_buffer oldest = {0};
        lock(spares);
        if (spares->count && (spares->bytes > bytes_left || spares->count == ABUTI_SPARES))
            oldest = remove_at(spares, 0);
        unlock(spares);
        if (!oldest.device)
            return any;
        device->backend->buffer_destroy(&oldest);
        any = true;
    }
}

void abuti_buffer_spare(abuti_buffer *buffer) {
    abut_device *device = buffer->device;
    if (!device)
        return;
    size_t most = (size_t)(device->info.memory_bytes / MEMORY_SHARE);
    most = most < BYTES_MAX ? most : BYTES_MAX;
    if (buffer->bytes < device->spares.least || buffer->bytes > most) {
        abuti_buffer_destroy(buffer);
        return;
    }
    abuti_spares_release(device, most - buffer->bytes);
    lock(&device->spares);
    bool kept = device->spares.count < ABUTI_SPARES && /* another thread may have been here */
                device->spares.bytes <= most - buffer->bytes;
    if (kept) {
        device->spares.kept[device->spares.count++] = *buffer;
        device->spares.bytes += buffer->bytes;
    }
    unlock(&device->spares);
    if (kept) {
        *buffer = (abuti_buffer){0};
        abut_device_destroy(device); /* which spares do not hold */
    } else {
        abuti_buffer_destroy(buffer);
    }
}

bool abuti_spares_take(abut_device *device, size_t bytes, abuti_buffer *buffer) {
    abuti_spares *spares = &device->spares;
    uint32_t best = ABUTI_SPARES;
    if (bytes < spares->least)
        return false;
    lock(spares);
    for (uint32_t i = 0; i < spares->count; i++) {
        size_t has = spares->kept[i].bytes;
        if (has >= bytes && has - bytes <= bytes / 4 &&
            (best == ABUTI_SPARES || has < spares->kept[best].bytes))
            best = i;
    }
    if (best != ABUTI_SPARES)
        *buffer = remove_at(spares, best);
    unlock(spares);
    if (best != ABUTI_SPARES)
        abuti_device_retain(device);
    return best != ABUTI_SPARES;
}
