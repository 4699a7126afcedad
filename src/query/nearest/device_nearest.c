/* The host side of nearest.cl: how points are split into batches, sorted, searched and measured.
 *
 * Batches use a fraction of the memory of the device. All work of a batch is enqueued at once; only
 * the validation of the points and the transfer of results wait.
 */
#include "geom/closest_shared.h"
#include "nearest/batch.h"
#include "nearest/device.h"

#include <math.h>

enum {
    POINT_BYTES = 256, /* scratch memory and transfers per point */
    POINTS_PER_TASK = 1024
};

_Static_assert(sizeof(abut_nearest) == 64 && sizeof(abut_feature) == 4,
               "nearest_result in nearest.cl");

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

/* ---- kernels ---- */

static const abuti_kernel_source sources[NEAREST_KERNELS] = {
    [NEAREST_CHECK] = {"nearest", "nearest_check", NULL},
    [NEAREST_FRAME] = {"nearest", "nearest_frame", NULL},
    [NEAREST_BOUND] = {"nearest", "nearest_bounds", NULL},
    [NEAREST_KEY] = {"nearest", "nearest_keys", NULL},
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

static abut_status create_nearest(bvh_attachment *attachment, void *owner) {
    nearest_attachment *n = (nearest_attachment *)attachment;
    n->there = owner;
    return abuti_on_device_kit(owner, &table, &n->kit);
}

static void destroy_nearest(bvh_attachment *attachment) {
    abuti_kit_close(&((nearest_attachment *)attachment)->kit);
}

static const bvh_attachment_kind nearest_kind = {sizeof(nearest_attachment), create_nearest, NULL,
                                                 destroy_nearest};

abut_status abuti_nearest_get_attachment(bvh_on_device *there, nearest_attachment **nearest) {
    bvh_attachment *attachment;
    abut_status status = abuti_on_device_attachment(there, &nearest_kind, &attachment);
    if (!status)
        *nearest = (nearest_attachment *)attachment;
    return status;
}

/* ---- a batch ---- */

static void reserve_buffers(nearest_attachment *n, size_t count) {
    const struct {
        uint32_t buffer;
        size_t count, bytes;
    } list[] = {{NEAREST_EXACT, on_device_has_doubles(n->there) ? count : 0, 24},
                {NEAREST_POINTS, count, 16},
                {NEAREST_SORTED, count, 16},
                {NEAREST_KEYS, count, 4},
                {NEAREST_ORDER, count, 4},
                {NEAREST_BOUNDS, 6, 4},
                {NEAREST_COUNTS, count, 1},
                {NEAREST_PLACES, count, CANDIDATES * 4}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        abuti_kit_reserve(&n->kit, list[i].buffer, list[i].count, list[i].bytes);
}

/* Sorts the points in scratch memory. */
static void sort_points(nearest_attachment *n, uint32_t count) {
    abuti_kit *kit = &n->kit;
    size_t groups = groups_of(count, POINT_GROUP);
    size_t most = (size_t)n->there->queue.device->info.compute_units * 8;
    abuti_kit_fill(kit, NEAREST_BOUNDS, UINT32_MAX, 6 * 4);
    ABUTI_KIT_GROUPS(kit, NEAREST_BOUND, groups < most ? groups : most, POINT_GROUP,
                     SCRATCH(POINTS), ABUTI_VALUE(count), SCRATCH(BOUNDS),
                     ABUTI_LOCAL_MEMORY(6 * 4));
    ABUTI_KIT_RUN(kit, NEAREST_KEY, count, POINT_GROUP, SCRATCH(POINTS), ABUTI_VALUE(count),
                  SCRATCH(BOUNDS), SCRATCH(KEYS), SCRATCH(ORDER));
    abuti_tools_sort(n->there->tools, &kit->buffers[NEAREST_KEYS], &kit->buffers[NEAREST_ORDER],
                     count, 0, KEY_BITS);
    ABUTI_KIT_RUN(kit, NEAREST_GATHER, count, POINT_GROUP, SCRATCH(POINTS), SCRATCH(ORDER),
                  ABUTI_VALUE(count), SCRATCH(SORTED));
}

float abuti_nearest_reach(const bvh_on_device *there, double radius) {
    return (float)real_min(radius * there->tree.scale, 4 * NEAREST_FAR) * NEAREST_SLACK;
}

/* Finds candidate triangles for the sorted points in scratch memory. */
static void enqueue_search(nearest_attachment *n, uint32_t count, double radius) {
    const bvh_on_device *there = n->there;
    const float limit = abuti_nearest_reach(there, radius);
    ABUTI_KIT_RUN(&n->kit, NEAREST_FIND, count, FIND_GROUP, TREE(there, nodes),
                  TREE(there, triangles), SCRATCH(SORTED), ABUTI_VALUE(count), ABUTI_VALUE(limit),
                  SCRATCH(COUNTS), SCRATCH(PLACES));
}

/* Measures the candidates in doubles. */
static void enqueue_measure(nearest_attachment *n, uint32_t count, double radius, uint32_t first,
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

abut_status abuti_nearest_check(nearest_attachment *n, const char *function,
                                const bvh_points *points) {
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

/* Packed points are used in place. */
static const void *pack_points(const bvh_points *points, size_t begin, size_t count, void *memory) {
    size_t bytes = bvh_point_bytes(points->type);
    if (points->stride == bytes)
        return points->first + begin * bytes;
    for (size_t i = 0; i < count; i++)
        memcpy((unsigned char *)memory + i * bytes, points->first + (begin + i) * points->stride,
               bytes);
    return memory;
}

/* Uploads some points to scratch memory, and sorts them unless they are sorted. */
static void upload_points(nearest_attachment *n, const bvh_points *points, size_t begin,
                          uint32_t count, void *memory) {
    const mesh_frame frame = frame_of(n->there);
    const uint32_t is_float = points->type == ABUT_SCALAR_FLOAT32;
    const uint32_t first = points->buffer ? (uint32_t)begin : 0;
    abuti_kit *io = &n->there->io;
    if (!points->buffer)
        abuti_kit_upload(io, BVH_IN, pack_points(points, begin, count, memory), count,
                         bvh_point_bytes(points->type));
    const abuti_buffer *from = points->buffer ? &points->buffer->memory : &io->buffers[BVH_IN];
    ABUTI_KIT_RUN(&n->kit, NEAREST_FRAME, count, POINT_GROUP, ABUTI_BUFFER(from),
                  ABUTI_BUFFER(from), ABUTI_VALUE(is_float), ABUTI_VALUE(first), ABUTI_VALUE(count),
                  ABUTI_VALUE(frame), SCRATCH(EXACT),
                  KIT_BUFFER(&n->kit, points->ordered ? NEAREST_SORTED : NEAREST_POINTS),
                  SCRATCH(ORDER));
    if (!points->ordered)
        sort_points(n, count);
}

void abuti_nearest_sort(nearest_attachment *n, const bvh_points *points, size_t begin,
                        uint32_t count, void *memory) {
    reserve_buffers(n, count);
    upload_points(n, points, begin, count, memory);
}

/* ---- queries ---- */

/* Computes a batch; its results are written to the buffer of the caller or downloaded. */
static abut_status compute_batch(nearest_attachment *n, const bvh_points *points,
                                 const point_query *q, const abuti_parts *attachment, void *memory,
                                 unsigned char *host) {
    abuti_kit *io = &n->there->io;
    const uint32_t count = (uint32_t)attachment->count,
                   first = host ? 0 : (uint32_t)attachment->begin;
    reserve_buffers(n, attachment->most);
    upload_points(n, points, attachment->begin, count, memory);
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
    nearest_attachment *n = NULL;
    abut_status status;
    if ((status = abuti_nearest_get_attachment(there, &n)) ||
        (status = abuti_nearest_check(n, q->function, points)) || !points->count)
        return status;
    abuti_parts parts = abuti_parts_of(there->queue.device, points->count, POINT_BYTES);
    size_t bytes = bvh_point_bytes(points->type);
    bool packed = points->buffer || points->stride == bytes;
    void *memory = abuti_allocate(there->context, packed ? 0 : parts.most, bytes);
    status = memory ? ABUT_OK : ABUT_ERROR_MEMORY;
    while (!status && abuti_parts_next(&parts)) {
        unsigned char *host = q->results.host;
        if (host)
            host += parts.begin * q->result_bytes;
        status = compute_batch(n, points, q, &parts, memory, host);
        if (!status)
            status = abuti_progress(there->context, q->stage,
                                    (double)(parts.begin + parts.count) / (double)parts.total);
    }
    abuti_release(there->context, memory);
    return status;
}

/* ---- a device without doubles finds candidates, the host measures them ---- */

typedef struct host_measuring {
    const bvh_on_device *there;
    const bvh_points *points;
    size_t begin, count;
    double radius;
    float (*at)[4];
    uint32_t *order, *places;
    uint8_t *counts;
    abut_nearest *nearest;
} host_measuring;

static void frame_task(void *data, size_t chunk, size_t begin, size_t end) {
    host_measuring *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 p = bvh_point_at(f->points, f->begin + i);
        p = v3_scale(v3_sub(p, f->there->tree.mesh->origin), f->there->tree.scale);
        double largest = v3_max_abs(p);
        f->at[i][0] = (float)p.x;
        f->at[i][1] = (float)p.y;
        f->at[i][2] = (float)p.z;
        f->at[i][3] = largest < NEAREST_FAR ? NEAREST_MARGIN * ((float)largest + 2) : -1;
    }
}

static void measure_task(void *data, size_t chunk, size_t begin, size_t end) {
    host_measuring *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t point = f->begin + f->order[i];
        vec3 p = bvh_point_at(f->points, point);
        abut_nearest *to = &f->nearest[point];
        if (f->counts[i] == COMPLETE) {
            abuti_nearest_point(f->there->bvh, p, f->radius, NULL, to);
            continue;
        }
        *to = (abut_nearest){.distance = INFINITY, .point = p, .triangle = ABUT_NONE};
        for (uint32_t k = 0; k < f->counts[i]; k++) {
            uint32_t triangle = f->there->bvh->order[f->places[k * f->count + i]];
            closest_on_triangle c =
                triangle_closest_point(bvh_triangle(f->there->tree.mesh, triangle), p);
            if (c.distance > f->radius || c.distance > to->distance ||
                (c.distance == to->distance && triangle > to->triangle))
                continue;
            *to = (abut_nearest){.distance = c.distance,
                                 .point = c.point,
                                 .barycentric = {c.barycentric[0], c.barycentric[1],
                                                 c.barycentric[2]},
                                 .triangle = triangle,
                                 .feature = c.feature};
        }
    }
}

static abut_status find_in_batches(nearest_attachment *n, host_measuring *f) {
    abut_context *context = n->there->context;
    abuti_parts parts = abuti_parts_of(n->there->queue.device, f->points->count, POINT_BYTES);
    f->at = abuti_allocate(context, parts.most, sizeof *f->at);
    f->order = abuti_allocate(context, parts.most, sizeof *f->order);
    f->places = abuti_allocate(context, parts.most, CANDIDATES * sizeof *f->places);
    f->counts = abuti_allocate(context, parts.most, sizeof *f->counts);
    if (!f->at || !f->order || !f->places || !f->counts)
        return ABUT_ERROR_MEMORY;
    reserve_buffers(n, parts.most);
    abut_status status = ABUT_OK;
    while (!status && abuti_parts_next(&parts)) {
        f->begin = parts.begin;
        f->count = parts.count;
        abuti_parallel_for(context, f->count, POINTS_PER_TASK, frame_task, f);
        abuti_kit_write(&n->kit, NEAREST_POINTS, 0, f->at, f->count, sizeof *f->at);
        sort_points(n, (uint32_t)f->count);
        enqueue_search(n, (uint32_t)f->count, f->radius);
        if ((status = abuti_kit_download(&n->kit, NEAREST_ORDER, f->order, f->count, 4)) ||
            (status = abuti_kit_download(&n->kit, NEAREST_COUNTS, f->counts, f->count, 1)) ||
            (status =
                 abuti_kit_download(&n->kit, NEAREST_PLACES, f->places, f->count, CANDIDATES * 4)))
            break;
        abuti_parallel_for(context, f->count, POINTS_PER_TASK, measure_task, f);
        status =
            abuti_progress(context, "nearest", (double)(f->begin + f->count) / (double)parts.total);
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
    nearest_attachment *n;
    if (on_device_has_doubles(there))
        return abuti_nearest_points(there, points, &query);
    if (points->buffer || nearest.buffer)
        return abuti_device_check_doubles(function, there);
    host_measuring f = {.there = there,
                        .points = points,
                        .radius = radius,
                        .nearest = nearest.host};
    abut_status status;
    if ((status = abuti_nearest_get_attachment(there, &n)) ||
        (status = abuti_bvh_ensure_host(there->bvh)))
        return status;
    status = find_in_batches(n, &f);
    ABUTI_RELEASE(there->context, f.at, f.order, f.places, f.counts);
    return status;
}
