/* The host side of nearest.cl: how points are split into batches, sorted, searched and measured.
 *
 * Batches use a fraction of the memory of the device. All work of a batch is enqueued at once; only
 * the validation of the points and the transfer of results wait.
 */
#include "geom/closest_shared.h"
#include "nearest/batch.h"
#include "nearest/device.h"

#include <math.h>

enum { POINT_BYTES = 256 }; /* scratch memory and transfers per point */

_Static_assert(sizeof(abut_nearest) == 64 && sizeof(abut_feature) == 4,
               "nearest_result in nearest.cl");

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

/* ---- kernels ---- */

static const abuti_kernel_source sources[NEAREST_KERNELS] = {
    [NEAREST_CHECK] = {"nearest", "nearest_check", NULL},
    [NEAREST_FRAME] = {"nearest", "nearest_frame", NULL},
    [NEAREST_GATHER] = {"nearest", "nearest_gather", NULL},
    [NEAREST_FIND] = {"nearest", "nearest_find", NULL},
    [NEAREST_MEASURE] = {"nearest", "nearest_measure", NULL},
    [NEAREST_COMPLETE] = {"nearest", "nearest_complete", NULL},
    [NEAREST_MANY_BOUND] = {"k_nearest", "many_bound", NULL},
    [NEAREST_MANY_FIND] = {"k_nearest", "many_find", NULL},
    [NEAREST_MANY_DECIDE] = {"k_nearest", "many_decide", NULL},
};

static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = NEAREST_KERNELS,
                                      .buffer_count = NEAREST_BUFFERS};

static const bvh_kit_kind nearest_kind = BVH_KIT_KIND(table);

abut_status abuti_nearest_get_kit(bvh_on_device *there, bvh_kit **nearest) {
    return abuti_on_device_get_kit(there, &nearest_kind, nearest);
}

/* ---- a batch ---- */

static void reserve_buffers(bvh_kit *n, size_t count) {
    const struct {
        uint32_t buffer;
        size_t count, bytes;
    } list[] = {{NEAREST_EXACT, count, 24},
                {NEAREST_POINTS, count, 16},
                {NEAREST_SORTED, count, 16},
                {NEAREST_KEYS, count, 4},
                {NEAREST_ORDER, count, 4},
                {NEAREST_COUNTS, count, 1},
                {NEAREST_PLACES, count, CANDIDATES * 4}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        abuti_kit_reserve(&n->kit, list[i].buffer, list[i].count, list[i].bytes);
}

/* Sorts the points in scratch memory. */
static void sort_points(bvh_kit *n, uint32_t count) {
    abuti_kit *kit = &n->kit;
    abuti_tools_sort(n->there->tools, &kit->buffers[NEAREST_KEYS], &kit->buffers[NEAREST_ORDER],
                     count, 0, KEY_BITS);
    ABUTI_KIT_RUN(kit, NEAREST_GATHER, count, POINT_GROUP, SCRATCH(POINTS), SCRATCH(ORDER),
                  ABUTI_VALUE(count), SCRATCH(SORTED));
}

float abuti_nearest_reach(const bvh_on_device *there, double radius) {
    return (float)real_min(radius * there->tree.scale, 4 * NEAREST_FAR) * NEAREST_SLACK;
}

/* Finds candidate triangles for the sorted points in scratch memory. */
static void enqueue_search(bvh_kit *n, uint32_t count, double radius) {
    const bvh_on_device *there = n->there;
    const float limit = abuti_nearest_reach(there, radius);
    ABUTI_KIT_RUN(&n->kit, NEAREST_FIND, count, FIND_GROUP, TREE(there, nodes),
                  TREE(there, triangles), SCRATCH(SORTED), ABUTI_VALUE(count), ABUTI_VALUE(limit),
                  SCRATCH(COUNTS), SCRATCH(PLACES));
}

/* Measures the candidates in doubles. */
static void enqueue_measure(bvh_kit *n, uint32_t count, double radius, uint32_t first,
                            const abuti_buffer *nearest) {
    const bvh_on_device *there = n->there;
    const mesh_frame frame = frame_of(there);
    ABUTI_KIT_RUN(&n->kit, NEAREST_MEASURE, count, FIND_GROUP, TREE(there, corners),
                  TREE(there, order), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(radius), SCRATCH(COUNTS), SCRATCH(PLACES), ABUTI_VALUE(first),
                  ABUTI_BUFFER(nearest));
    ABUTI_KIT_RUN(&n->kit, NEAREST_COMPLETE, count, FIND_GROUP, TREE(there, nodes),
                  TREE(there, triangles), TREE(there, order), TREE(there, corners), SCRATCH(SORTED),
                  SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count), ABUTI_VALUE(radius),
                  ABUTI_VALUE(frame), SCRATCH(COUNTS), SCRATCH(PLACES), ABUTI_VALUE(first),
                  ABUTI_BUFFER(nearest));
}

/* ---- upload of points ---- */

abut_status abuti_nearest_check(bvh_kit *n, const char *function, const bvh_points *points) {
    const double most = ABUT_COORDINATE_MAX;
    const uint32_t is_float = points->type == ABUT_SCALAR_FLOAT32;
    const uint32_t count = (uint32_t)points->count;
    uint32_t refused = UINT32_MAX;
    if (!points->buffer || points->checked || !count)
        return ABUT_OK;
    const abuti_buffer *from = &points->buffer->memory;
    abuti_kit_upload(&n->kit, NEAREST_INVALID, &refused, 1, sizeof refused);
    ABUTI_KIT_RUN(&n->kit, NEAREST_CHECK, count, POINT_GROUP, ABUTI_BUFFER(from),
                  ABUTI_BUFFER(from), ABUTI_VALUE(is_float), ABUTI_VALUE(count), ABUTI_VALUE(most),
                  SCRATCH(INVALID));
    abut_status status = abuti_kit_download(&n->kit, NEAREST_INVALID, &refused, 1, sizeof refused);
    return status || refused == UINT32_MAX
               ? status
               : abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: point %u is not finite or larger than %g in magnitude", function,
                            refused, ABUT_COORDINATE_MAX);
}

/* Uploads points of the host, packed. */
static void upload_packed(abuti_kit *io, const bvh_points *points, size_t begin, size_t count) {
    const size_t bytes = bvh_point_bytes(points->type);
    const unsigned char *from = points->first + begin * points->stride;
    abut_context *context = io->queue->device->context;
    unsigned char *packed = NULL;
    if (points->stride != bytes && !(packed = abuti_allocate(context, count, bytes))) {
        abuti_kit_fail(io, ABUT_ERROR_MEMORY);
        return;
    }
    for (size_t i = 0; packed && i < count; i++)
        memcpy(packed + i * bytes, from + i * points->stride, bytes);
    abuti_kit_upload(io, BVH_IN, packed ? packed : from, count, bytes);
    abuti_release(context, packed);
}

/* Uploads some points to scratch memory, and sorts them unless they are sorted. */
static void upload_points(bvh_kit *n, const bvh_points *points, size_t begin, uint32_t count) {
    const mesh_frame frame = frame_of(n->there);
    const uint32_t is_float = points->type == ABUT_SCALAR_FLOAT32;
    const uint32_t first = points->buffer ? (uint32_t)begin : 0;
    abuti_kit *io = &n->there->io;
    if (!points->buffer)
        upload_packed(io, points, begin, count);
    const abuti_buffer *from = points->buffer ? &points->buffer->memory : &io->buffers[BVH_IN];
    ABUTI_KIT_RUN(&n->kit, NEAREST_FRAME, count, POINT_GROUP, ABUTI_BUFFER(from),
                  ABUTI_BUFFER(from), ABUTI_VALUE(is_float), ABUTI_VALUE(first), ABUTI_VALUE(count),
                  ABUTI_VALUE(frame), SCRATCH(EXACT),
                  KIT_BUFFER(&n->kit, points->ordered ? NEAREST_SORTED : NEAREST_POINTS),
                  SCRATCH(KEYS), SCRATCH(ORDER));
    if (!points->ordered)
        sort_points(n, count);
}

void abuti_nearest_sort(bvh_kit *n, const bvh_points *points, size_t begin, uint32_t count) {
    reserve_buffers(n, count);
    upload_points(n, points, begin, count);
}

/* ---- queries ---- */

/* Computes a batch; its results are written to the buffer of the caller or downloaded. */
static abut_status compute_batch(bvh_kit *n, const bvh_points *points, const point_query *q,
                                 const abuti_parts *attachment, unsigned char *host) {
    abuti_kit *io = &n->there->io;
    const uint32_t count = (uint32_t)attachment->count,
                   first = host ? 0 : (uint32_t)attachment->begin;
    reserve_buffers(n, attachment->most);
    upload_points(n, points, attachment->begin, count);
    if (host)
        abuti_kit_reserve(io, BVH_OUT, attachment->most, q->result_bytes);
    const abuti_buffer *results = host ? &io->buffers[BVH_OUT] : &q->results.buffer->memory;
    if (q->nearest) {
        enqueue_search(n, count, q->radius);
        enqueue_measure(n, count, q->radius, first, results);
    }
    if (q->enqueue)
        q->enqueue(q, n, count, first, results);
    return host ? abuti_on_device_download(n->there, host, count, q->result_bytes)
                : abuti_kit_finish(&n->kit);
}

abut_status abuti_nearest_points(bvh_on_device *there, const bvh_points *points,
                                 const point_query *q) {
    bvh_kit *n = NULL;
    abut_status status;
    if ((status = abuti_nearest_get_kit(there, &n)) ||
        (status = abuti_nearest_check(n, q->function, points)) || !points->count)
        return status;
    abuti_parts parts = abuti_parts_of(there->queue.device, points->count, POINT_BYTES);
    while (!status && abuti_parts_next(&parts)) {
        unsigned char *host = q->results.host;
        if (host)
            host += parts.begin * q->result_bytes;
        status = compute_batch(n, points, q, &parts, host);
        if (!status)
            status = abuti_progress(there->context, q->stage,
                                    (double)(parts.begin + parts.count) / (double)parts.total);
    }
    return status;
}

abut_status abuti_nearest_on_device(const char *function, bvh_on_device *there,
                                    const bvh_points *points, double radius, abut_array nearest) {
    const point_query query = {.function = function,
                               .stage = "nearest",
                               .radius = radius,
                               .nearest = true,
                               .results = nearest,
                               .result_bytes = sizeof(abut_nearest)};
    abut_status status = abuti_device_check_doubles(function, there);
    return status ? status : abuti_nearest_points(there, points, &query);
}
