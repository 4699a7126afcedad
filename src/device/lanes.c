/* Much memory between a device and the host.
 *
 * A driver copies from and to plain memory of the host by way of locked ("pinned") memory of its
 * own, one piece after the other on one thread, and the first touch of new pages costs as much
 * again: 3 GB/s on an H200 whose bus moves 50. Here the bus moves pieces of locked memory while all
 * threads copy others. While the first ones come, threads get the pages of a result, a large page
 * each: left to the copies, all of them would clear the same page. Locking memory takes
 * milliseconds, so the device keeps these pieces and their queues. One thread has them at a time;
 * others, and all where there are none to be had, leave the copy to the driver. */
#include "base/system.h"
#include "device/device.h"

enum {
    LANES = 3,           /* with two the bus waits for threads now and then */
    FETCH_MIN = 1 << 17, /* bytes; less comes at once */
    UPLOAD_MIN = 1 << 19,
    PARTS = 8,          /* about, of what is larger */
    PART_MIN = 1 << 20, /* which threads copy together */
    PART_MAX = 8 << 20,
    COPY_GRAIN = 1 << 17,
    PAGES_MIN = 4 * ABUTI_LARGE_PAGE /* bytes whose pages are worth a pass of their own */
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

/* What is copied, part by part. */
typedef struct transfer {
    abuti_lanes *lanes;
    size_t offset, bytes, part; /* offset: in the buffer */
} transfer;

/* Takes the lanes of a device, with room for parts of the whole; false where there are none. */
static bool take_lanes(abut_device *device, size_t offset, size_t bytes, transfer *t) {
    size_t part = (bytes / PARTS / PART_MIN + 1) * PART_MIN;
    part = part < PART_MAX ? part : PART_MAX;
    if (atomic_flag_test_and_set(&device->lanes_taken))
        return false;
    bool taken = !reserve(device, part);
    *t = (transfer){device->lanes, offset, bytes, part};
    if (!taken)
        atomic_flag_clear(&device->lanes_taken);
    return taken;
}

/* Nothing may be under way any more. */
static abut_status finish_lanes(abuti_lanes *lanes) {
    abut_status status = ABUT_OK;
    for (int i = 0; i < LANES; i++) {
        abut_status here = abuti_queue_finish(&lanes->queue[i]);
        status = status ? status : here;
    }
    return status;
}

static size_t part_bytes(const transfer *t, size_t i) {
    size_t left = t->bytes - i * t->part;
    return left < t->part ? left : t->part;
}

/* ---- to the host ---- */

static abut_status start_fetch(const transfer *t, const abuti_buffer *from, size_t i) {
    return abuti_buffer_receive(&t->lanes->queue[i % LANES], from, t->offset + i * t->part,
                                t->lanes->staging[i % LANES].at, part_bytes(t, i));
}

static abut_status fetch_parts(const transfer *t, const abuti_buffer *from, abut_context *context,
                               unsigned char *to) {
    const size_t count = abuti_chunk_count(t->bytes, t->part);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < LANES && i < count && !status; i++)
        status = start_fetch(t, from, i);
    if (!status && t->bytes >= PAGES_MIN)
        abuti_populate_pages(context, to, t->bytes);
    for (size_t i = 0; i < count && !status; i++) {
        copying c = {t->lanes->staging[i % LANES].at, to + i * t->part};
        status = abuti_queue_finish(&t->lanes->queue[i % LANES]);
        if (status)
            break;
        abuti_parallel_for(context, part_bytes(t, i), COPY_GRAIN, copy_task, &c);
        if (i + LANES < count)
            status = start_fetch(t, from, i + LANES);
    }
    if (status)
        (void)finish_lanes(t->lanes);
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
    transfer t;
    if (bytes < FETCH_MIN || !take_lanes(from->device, offset, bytes, &t))
        return fetch_at_once(from, offset, data, bytes);
    abuti_system_advise_large_pages(data, bytes);
    abut_status status = fetch_parts(&t, from, context, data);
    atomic_flag_clear(&from->device->lanes_taken);
    return status;
}

/* ---- to the device ---- */

/* A lane begins when all is done that the queue has so far, which may read what is written here. */
static abut_status upload_parts(const transfer *t, abuti_queue *queue, abuti_buffer *to,
                                const unsigned char *from) {
    const size_t count = abuti_chunk_count(t->bytes, t->part);
    abut_status status = ABUT_OK, end;
    for (size_t i = 0; i < LANES && i < count && !status; i++)
        status = abuti_queue_wait(&t->lanes->queue[i], queue);
    for (size_t i = 0; i < count && !status; i++) {
        abuti_queue *lane = &t->lanes->queue[i % LANES];
        unsigned char *staged = t->lanes->staging[i % LANES].at;
        copying c = {from + i * t->part, staged};
        if (i >= LANES)
            status = abuti_queue_finish(lane);
        if (status)
            break;
        abuti_parallel_for(queue->device->context, part_bytes(t, i), COPY_GRAIN, copy_task, &c);
        status = abuti_buffer_send(lane, to, t->offset + i * t->part, staged, part_bytes(t, i));
    }
    end = finish_lanes(t->lanes);
    return status ? status : end;
}

bool abuti_lanes_upload(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                        size_t bytes, abut_status *status) {
    transfer t;
    if (bytes < UPLOAD_MIN || !take_lanes(queue->device, offset, bytes, &t))
        return false;
    *status = upload_parts(&t, queue, to, data);
    atomic_flag_clear(&queue->device->lanes_taken);
    return true;
}
