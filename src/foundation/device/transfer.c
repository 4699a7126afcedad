/* Large copies between a device and the host.
 *
 * A driver copies from and to plain host memory through pinned memory of its own, one piece after
 * the other on one thread, and the first touch of new pages costs as much again: 3 GB/s on an H200
 * whose bus moves 50 GB/s. Here the bus moves some pieces of pinned memory while all threads copy
 * others. While the first pieces arrive, threads populate the pages of a result, one large page
 * each: if the copies did that, all of them would clear the same page. Pinning memory takes
 * milliseconds, so the device keeps these pieces and their queues, the channels. One thread uses
 * them at a time. If another thread uses them, or there are none, the driver does the copy.
 */
#include "base/system.h"
#include "device/device.h"

enum {
    CHANNELS = 3,           /* with two, the bus sometimes waits for threads */
    DOWNLOAD_MIN = 1 << 17, /* bytes; fewer are downloaded in one piece */
    UPLOAD_MIN = 1 << 19,
    PARTS = 8,          /* approximate number of pieces of a larger copy */
    PART_MIN = 1 << 20, /* bytes; all threads copy one piece together */
    PART_MAX = 8 << 20,
    COPY_GRAIN = 1 << 17,
    PAGES_MIN = 4 * ABUTI_LARGE_PAGE /* bytes from which populating pages separately pays */
};

struct abuti_transfer_channels {
    abuti_queue queue[CHANNELS]; /* they do not reference the device */
    abuti_staging staging[CHANNELS];
};

/* ---- creation ---- */

void abuti_transfer_destroy(abut_device *device) {
    abuti_transfer_channels *channels = device->channels;
    for (int i = 0; channels && i < CHANNELS; i++) {
        if (!channels->queue[i].device)
            continue;
        abuti_staging_destroy(&channels->queue[i], &channels->staging[i]);
        device->backend->queue_close(&channels->queue[i]);
    }
    abuti_release(device->context, channels);
    device->channels = NULL;
}

static abut_status open_channel(abut_device *device, abuti_queue *queue) {
    *queue = (abuti_queue){.device = device};
    abut_status status = device->backend->queue_open(queue);
    if (status)
        *queue = (abuti_queue){0};
    return status;
}

/* Creates the channels, or enlarges their memory; on failure there are none. */
static abut_status reserve_channels(abut_device *device, size_t part) {
    abut_status status = ABUT_OK;
    if (!device->channels &&
        !(device->channels = abuti_allocate_zeroed(device->context, 1, sizeof *device->channels)))
        return ABUT_ERROR_MEMORY;
    abuti_transfer_channels *channels = device->channels;
    for (int i = 0; i < CHANNELS && !status; i++) {
        abuti_queue *queue = &channels->queue[i];
        if (!queue->device)
            status = open_channel(device, queue);
        if (!status && channels->staging[i].bytes < part) {
            abuti_staging_destroy(queue, &channels->staging[i]);
            status = abuti_staging_create(queue, part, 1, &channels->staging[i]);
        }
    }
    if (status)
        abuti_transfer_destroy(device);
    return status;
}

/* ---- copies ---- */

typedef struct host_copy {
    const unsigned char *from;
    unsigned char *to;
} host_copy;

static void copy_task(void *data, size_t chunk, size_t begin, size_t end) {
    const host_copy *c = data;
    (void)chunk;
    memcpy(c->to + begin, c->from + begin, end - begin);
}

/* A copy in parts. */
typedef struct transfer {
    abuti_transfer_channels *channels;
    size_t offset, bytes, part; /* offset: in the buffer */
} transfer;

/* Locks the channels of a device, with memory for the parts of the copy; false if they are not
 * available. */
static bool lock_channels(abut_device *device, size_t offset, size_t bytes, transfer *t) {
    size_t part = (bytes / PARTS / PART_MIN + 1) * PART_MIN;
    part = part < PART_MAX ? part : PART_MAX;
    if (atomic_flag_test_and_set(&device->channels_in_use))
        return false;
    bool taken = !reserve_channels(device, part);
    *t = (transfer){device->channels, offset, bytes, part};
    if (!taken)
        atomic_flag_clear(&device->channels_in_use);
    return taken;
}

/* Waits until no command is running. */
static abut_status finish_channels(abuti_transfer_channels *channels) {
    abut_status status = ABUT_OK;
    for (int i = 0; i < CHANNELS; i++) {
        abut_status here = abuti_queue_finish(&channels->queue[i]);
        if (!status)
            status = here;
    }
    return status;
}

static size_t part_bytes(const transfer *t, size_t i) {
    size_t left = t->bytes - i * t->part;
    return left < t->part ? left : t->part;
}

/* ---- download ---- */

static abut_status start_download(const transfer *t, const abuti_buffer *from, size_t i) {
    return abuti_buffer_receive(&t->channels->queue[i % CHANNELS], from, t->offset + i * t->part,
                                t->channels->staging[i % CHANNELS].at, part_bytes(t, i));
}

static abut_status download_parts(const transfer *t, const abuti_buffer *from,
                                  abut_context *context, unsigned char *to) {
    const size_t count = abuti_chunk_count(t->bytes, t->part);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < CHANNELS && i < count && !status; i++)
        status = start_download(t, from, i);
    if (!status && t->bytes >= PAGES_MIN)
        abuti_populate_pages(context, to, t->bytes);
    for (size_t i = 0; i < count && !status; i++) {
        host_copy c = {t->channels->staging[i % CHANNELS].at, to + i * t->part};
        status = abuti_queue_finish(&t->channels->queue[i % CHANNELS]);
        if (status)
            break;
        abuti_parallel_for(context, part_bytes(t, i), COPY_GRAIN, copy_task, &c);
        if (i + CHANNELS < count)
            status = start_download(t, from, i + CHANNELS);
    }
    if (status)
        (void)finish_channels(t->channels);
    return status;
}

static abut_status download_at_once(const abuti_buffer *from, size_t offset, void *data,
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
    if (bytes < DOWNLOAD_MIN || !lock_channels(from->device, offset, bytes, &t))
        return download_at_once(from, offset, data, bytes);
    abut_status status = download_parts(&t, from, context, data);
    atomic_flag_clear(&from->device->channels_in_use);
    return status;
}

/* ---- upload ---- */

/* The channels start after the commands that the queue has so far, which may read the memory that
 * is written here. */
static abut_status upload_parts(const transfer *t, abuti_queue *queue, abuti_buffer *to,
                                const unsigned char *from) {
    const size_t count = abuti_chunk_count(t->bytes, t->part);
    abut_status status = ABUT_OK, end;
    for (size_t i = 0; i < CHANNELS && i < count && !status; i++)
        status = abuti_queue_wait(&t->channels->queue[i], queue);
    for (size_t i = 0; i < count && !status; i++) {
        abuti_queue *channel = &t->channels->queue[i % CHANNELS];
        unsigned char *staged = t->channels->staging[i % CHANNELS].at;
        host_copy c = {from + i * t->part, staged};
        if (i >= CHANNELS)
            status = abuti_queue_finish(channel);
        if (status)
            break;
        abuti_parallel_for(queue->device->context, part_bytes(t, i), COPY_GRAIN, copy_task, &c);
        status = abuti_buffer_send(channel, to, t->offset + i * t->part, staged, part_bytes(t, i));
    }
    end = finish_channels(t->channels);
    return status ? status : end;
}

bool abuti_transfer_upload(abuti_queue *queue, abuti_buffer *to, size_t offset, const void *data,
                           size_t bytes, abut_status *status) {
    transfer t;
    if (bytes < UPLOAD_MIN || !lock_channels(queue->device, offset, bytes, &t))
        return false;
    *status = upload_parts(&t, queue, to, data);
    atomic_flag_clear(&queue->device->channels_in_use);
    return true;
}
