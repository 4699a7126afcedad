/* Much memory of a device to the host.
 *
 * A driver copies to plain memory of the host by way of locked ("pinned") memory of its own, one
 * piece after the other on one thread, and the first touch of new pages costs as much again: 3 GB/s
 * on an H200 whose bus moves 50. Here the bus fills one piece of locked memory while all threads
 * copy the other out, and so touch the pages of the result together, large ones where they can be
 * had. Locking memory takes milliseconds, so the device keeps these pieces and their queues. */
#include "base/system.h"
#include "device/device.h"

enum {
    LANES = 2,
    FETCH_LEAST = 1 << 17, /* bytes; less comes at once */
    PARTS = 8,             /* at least, of what is larger */
    PART_LEAST = 1 << 16,
    PART_MOST = 8 << 20,
    COPY_GRAIN = 1 << 17
};

struct abuti_lanes {
    abuti_queue queue[LANES]; /* which do not hold the device */
    abuti_staging staging[LANES];
};

/* ---- life ---- */

void abuti_lanes_destroy(abut_device *device) {
    abuti_lanes *lanes = device->lanes;
    for (int i = 0; lanes && i < LANES; i++) {
        if (!lanes->queue[i].device)
            continue;
        abuti_staging_destroy(&lanes->queue[i], &lanes->staging[i]);
        device->backend->queue_close(&lanes->queue[i]);
    }
    abuti_release(device->context, lanes);
    device->lanes = NULL;
}

static abut_status open_lane(abut_device *device, abuti_queue *queue) {
    *queue = (abuti_queue){.device = device};
    abut_status status = device->backend->queue_open(queue);
    if (status)
        *queue = (abuti_queue){0};
    return status;
}

/* Makes the lanes, or makes their memory larger; on failure there are none. */
static abut_status reserve(abut_device *device, size_t part) {
    abut_status status = ABUT_OK;
    if (!device->lanes &&
        !(device->lanes = abuti_allocate_zeroed(device->context, 1, sizeof *device->lanes)))
        return ABUT_ERROR_MEMORY;
    abuti_lanes *lanes = device->lanes;
    for (int i = 0; i < LANES && !status; i++) {
        abuti_queue *queue = &lanes->queue[i];
        if (!queue->device)
            status = open_lane(device, queue);
        if (!status && lanes->staging[i].bytes < part) {
            abuti_staging_destroy(queue, &lanes->staging[i]);
            status = abuti_staging_create(queue, part, 1, &lanes->staging[i]);
        }
    }
    if (status)
        abuti_lanes_destroy(device);
    return status;
}

/* ---- copies ---- */

typedef struct copying {
    const unsigned char *from;
    unsigned char *to;
} copying;

static void copy_task(void *data, size_t chunk, size_t begin, size_t end) {
    const copying *c = data;
    (void)chunk;
    memcpy(c->to + begin, c->from + begin, end - begin);
}

/* What is fetched, part by part. */
typedef struct fetching {
    abuti_lanes *lanes;
    const abuti_buffer *from;
    size_t offset, bytes, part;
} fetching;

static size_t part_bytes(const fetching *f, size_t i) {
    size_t left = f->bytes - i * f->part;
    return left < f->part ? left : f->part;
}

static abut_status start(const fetching *f, size_t i) {
    return abuti_buffer_receive(&f->lanes->queue[i % LANES], f->from, f->offset + i * f->part,
                                f->lanes->staging[i % LANES].at, part_bytes(f, i));
}

static abut_status fetch_parts(const fetching *f, abut_context *context, unsigned char *to) {
    const size_t count = abuti_chunk_count(f->bytes, f->part);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < LANES && i < count && !status; i++)
        status = start(f, i);
    for (size_t i = 0; i < count && !status; i++) {
        copying c = {f->lanes->staging[i % LANES].at, to + i * f->part};
        status = abuti_queue_finish(&f->lanes->queue[i % LANES]);
        if (status)
            break;
        abuti_parallel_for(context, part_bytes(f, i), COPY_GRAIN, copy_task, &c);
        if (i + LANES < count)
            status = start(f, i + LANES);
    }
    for (int i = 0; i < LANES && status; i++) /* nothing may be under way any more */
        (void)abuti_queue_finish(&f->lanes->queue[i]);
    return status;
}

static abut_status fetch_at_once(const abuti_buffer *from, size_t offset, void *data,
                                 size_t bytes) {
    abuti_queue queue;
    abut_status status = abuti_queue_open(from->device, &queue);
    if (status)
        return status;
    status = abuti_buffer_download(&queue, from, offset, data, bytes);
    abuti_queue_close(&queue);
    return status;
}

abut_status abuti_buffer_fetch(const abuti_buffer *from, size_t offset, abut_context *context,
                               void *data, size_t bytes) {
    abut_device *device = from->device;
    size_t part = (bytes / PARTS / PART_LEAST + 1) * PART_LEAST;
    fetching f = {.from = from,
                  .offset = offset,
                  .bytes = bytes,
                  .part = part < PART_MOST ? part : PART_MOST};
    if (bytes < FETCH_LEAST || atomic_flag_test_and_set(&device->lanes_taken))
        return fetch_at_once(from, offset, data, bytes);
    abuti_system_wish_large(data, bytes);
    abut_status status = reserve(device, f.part);
    f.lanes = device->lanes;
    status = status ? status : fetch_parts(&f, context, data);
    atomic_flag_clear(&device->lanes_taken);
    return status;
}
