/* The host's side of nearest.cl: how points are cut, sorted, searched and measured.
 *
 * Points go in parts that fit the device's memory several times over. All work of a part is queued
 * at once; nothing waits but the check of the points and the transfer of answers.
 */
#include "bvh/device_query.h"
#include "bvh/points.h"
#include "geom/closest_shared.h"

#include <math.h>

/* As in the kernels. */
#define GROUP 256
#define FIND_GROUP 128
#define CANDIDATES 16
#define COMPLETE 255
#define SEEDS_EACH 32
#define FAR 64.0
#define MARGIN 0x1p-19f
#define KEY_BITS 30

/* Bytes of scratch memory and transfers a point, and how much of the device they may take. */
#define POINT_BYTES 256
#define MEMORY_SHARE 4
#define PART_MOST ((size_t)1 << 22)
#define PART_LEAST ((size_t)1 << 12)
#define TASK_POINTS 1024

typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

_Static_assert(sizeof(abut_nearest) == 64 && sizeof(abut_feature) == 4,
               "nearest_answer in nearest.cl");

static size_t groups_of(size_t count, size_t group) {
    return count / group + (count % group != 0);
}

/* ---- kernels ---- */

abut_status abuti_device_nearest_create(abut_device_bvh *bvh) {
    nearest_kernels *to = &bvh->nearest;
    const struct {
        abuti_kernel *kernel;
        const char *name;
        bool doubles;
    } list[] = {{&to->bounds, "nearest_bounds", false},  {&to->keys, "nearest_keys", false},
                {&to->seed, "nearest_seed", false},      {&to->find, "nearest_find", false},
                {&to->check, "nearest_check", true},     {&to->frame, "nearest_frame", true},
                {&to->measure, "nearest_measure", true}, {&to->complete, "nearest_complete", true}};
    abut_device *device = bvh->queue.device;
    bool doubles = device->info.has_doubles;
    /* A flat tree needs less of a stack, and memory that is near. Few sizes, since each is a
     * program of its own. */
    uint32_t depth = bvh->tree.depth <= 16 ? 16 : bvh->tree.depth <= 32 ? 32 : BVH_DEPTH;
    char options[64];
    snprintf(options, sizeof options, "-DABUTI_REAL_BITS=%d -DSTACK=%u", doubles ? 64 : 32,
             3 * depth + 4);
    abuti_program *program;
    abut_status status = abuti_program_get(device, "nearest", options, &program);
    for (size_t i = 0; !status && i < sizeof list / sizeof *list; i++)
        if (doubles || !list[i].doubles)
            status = abuti_kernel_create(program, device, list[i].name, list[i].kernel);
    return status;
}

void abuti_device_nearest_destroy(abut_device_bvh *bvh) {
    nearest_kernels *k = &bvh->nearest;
    abuti_kernel *kernels[] = {&k->bounds, &k->keys,  &k->seed,    &k->find,
                               &k->check,  &k->frame, &k->measure, &k->complete};
    nearest_scratch *s = &bvh->scratch;
    abuti_buffer *buffers[] = {&s->exact, &s->points, &s->keys,   &s->order,  &s->bounds,
                               &s->seeds, &s->counts, &s->places, &s->refused};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
}

/* ---- a part ---- */

static size_t part_of(const abut_device_bvh *bvh, size_t count) {
    size_t fits = (size_t)(bvh->queue.device->info.memory_bytes / (MEMORY_SHARE * POINT_BYTES));
    size_t most = fits < PART_LEAST ? PART_LEAST : fits < PART_MOST ? fits : PART_MOST;
    return count < most ? count : most;
}

static abut_status reserve(abut_device_bvh *bvh, size_t count) {
    nearest_scratch *s = &bvh->scratch;
    const struct {
        abuti_buffer *buffer;
        size_t count, bytes;
    } list[] = {{&s->exact, bvh->queue.device->info.has_doubles ? count : 0, 24},
                {&s->points, count, 16},
                {&s->keys, count, 4},
                {&s->order, count, 4},
                {&s->bounds, 6, 4},
                {&s->seeds, groups_of(count, SEEDS_EACH), 4},
                {&s->counts, count, 1},
                {&s->places, count, CANDIDATES * 4}};
    abut_status status = ABUT_OK;
    for (size_t i = 0; !status && i < sizeof list / sizeof *list; i++)
        status =
            abuti_buffer_reserve(bvh->queue.device, list[i].count, list[i].bytes, list[i].buffer);
    return status;
}

/* Sorts the points of the scratch memory and finds the triangles that may win. */
static abut_status find(abut_device_bvh *bvh, uint32_t count, double radius) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    abuti_queue *queue = &bvh->queue;
    size_t groups = groups_of(count, GROUP), most = (size_t)queue->device->info.compute_units * 8;
    /* Nothing is further than this. */
    float limit = (float)real_min(radius * bvh->tree.scale, 4 * FAR) * (1 + 0x1p-20f);
    abut_status status = abuti_buffer_fill(queue, &s->bounds, UINT32_MAX, 6 * 4);
    if (!status)
        status = ABUTI_LAUNCH(queue, &k->bounds, groups < most ? groups : most, GROUP,
                              ABUTI_BUFFER(&s->points), ABUTI_VALUE(count),
                              ABUTI_BUFFER(&s->bounds), ABUTI_LOCAL_MEMORY(6 * 4));
    if (!status)
        status = ABUTI_LAUNCH(queue, &k->keys, groups, GROUP, ABUTI_BUFFER(&s->points),
                              ABUTI_VALUE(count), ABUTI_BUFFER(&s->bounds), ABUTI_BUFFER(&s->keys),
                              ABUTI_BUFFER(&s->order));
    if (!status)
        status = abuti_tools_sort(bvh->tools, 32, &s->keys, &s->order, count, 0, KEY_BITS);
    if (!status)
        status = ABUTI_LAUNCH(queue, &k->seed, groups_of(groups_of(count, SEEDS_EACH), FIND_GROUP),
                              FIND_GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                              ABUTI_BUFFER(&bvh->tree.triangles), ABUTI_BUFFER(&s->points),
                              ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_VALUE(limit),
                              ABUTI_BUFFER(&s->seeds));
    if (!status)
        status = ABUTI_LAUNCH(queue, &k->find, groups_of(count, FIND_GROUP), FIND_GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                              ABUTI_BUFFER(&s->points), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                              ABUTI_VALUE(limit), ABUTI_BUFFER(&s->seeds), ABUTI_BUFFER(&s->counts),
                              ABUTI_BUFFER(&s->places));
    return status;
}

/* Measures them in doubles. */
static abut_status measure(abut_device_bvh *bvh, uint32_t count, double radius, uint32_t first,
                           abuti_buffer *nearest, const mesh_frame *frame) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    size_t groups = groups_of(count, FIND_GROUP);
    abut_status status =
        ABUTI_LAUNCH(&bvh->queue, &k->measure, groups, FIND_GROUP, ABUTI_BUFFER(&bvh->tree.corners),
                     ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&s->exact),
                     ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_VALUE(radius),
                     ABUTI_BUFFER(&s->counts), ABUTI_BUFFER(&s->places), ABUTI_VALUE(first),
                     ABUTI_BUFFER(nearest));
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &k->complete, groups, FIND_GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.order),
                              ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&s->exact),
                              ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_VALUE(radius),
                              ABUTI_VALUE(*frame), ABUTI_BUFFER(&s->counts), ABUTI_VALUE(first),
                              ABUTI_BUFFER(nearest));
    return status;
}

/* ---- points on the device ---- */

/* The place of the first point that is not legal, or UINT32_MAX. Waits. */
static abut_status check_points(abut_device_bvh *bvh, const abuti_buffer *points, uint32_t is_float,
                                uint32_t count, uint32_t *refused) {
    const double most = ABUT_COORDINATE_MAX;
    abuti_buffer *word = &bvh->scratch.refused;
    abut_status status = abuti_buffer_reserve(bvh->queue.device, 1, 4, word);
    if (!status)
        status = abuti_buffer_fill(&bvh->queue, word, UINT32_MAX, 4);
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &bvh->nearest.check, groups_of(count, GROUP), GROUP,
                              ABUTI_BUFFER(points), ABUTI_BUFFER(points), ABUTI_VALUE(is_float),
                              ABUTI_VALUE(count), ABUTI_VALUE(most), ABUTI_BUFFER(word));
    return status ? status : abuti_buffer_download(&bvh->queue, word, 0, refused, 4);
}

/* Points that have been checked. */
static abut_status queue_points(abut_device_bvh *bvh, const abuti_buffer *points, uint32_t is_float,
                                size_t count, double radius, abuti_buffer *nearest) {
    const vec3 origin = bvh->tree.mesh->origin;
    const mesh_frame frame = {{origin.x, origin.y, origin.z}, bvh->tree.scale};
    nearest_scratch *s = &bvh->scratch;
    size_t part = part_of(bvh, count);
    abut_status status = reserve(bvh, part);
    for (size_t begin = 0; !status && begin < count; begin += part) {
        uint32_t first = (uint32_t)begin;
        uint32_t here = (uint32_t)(count - begin < part ? count - begin : part);
        status = ABUTI_LAUNCH(&bvh->queue, &bvh->nearest.frame, groups_of(here, GROUP), GROUP,
                              ABUTI_BUFFER(points), ABUTI_BUFFER(points), ABUTI_VALUE(is_float),
                              ABUTI_VALUE(first), ABUTI_VALUE(here), ABUTI_VALUE(frame),
                              ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->points));
        status = status ? status : find(bvh, here, radius);
        status = status ? status : measure(bvh, here, radius, first, nearest, &frame);
    }
    return status;
}

abut_status abuti_device_bvh_nearest(abut_device_bvh *bvh, const abuti_buffer *points,
                                     abut_scalar_type type, size_t count, double radius,
                                     abuti_buffer *nearest) {
    uint32_t is_float = type == ABUT_SCALAR_FLOAT32, refused = UINT32_MAX;
    abut_status status = check_points(bvh, points, is_float, (uint32_t)count, &refused);
    if (!status && refused != UINT32_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_device_bvh_nearest: point %u is not finite or beyond %g in "
                          "magnitude",
                          refused, ABUT_COORDINATE_MAX);
    return status ? status : queue_points(bvh, points, is_float, count, radius, nearest);
}

/* ---- points of the host ---- */

/* Where points lie close together, they go as they are. */
static const void *pack(const bvh_points *points, size_t begin, size_t count, void *room) {
    size_t bytes = bvh_point_bytes(points->type);
    if (points->stride == bytes)
        return points->first + begin * bytes;
    for (size_t i = 0; i < count; i++)
        memcpy((unsigned char *)room + i * bytes, points->first + (begin + i) * points->stride,
               bytes);
    return room;
}

static abut_status with_doubles(abut_device_bvh *bvh, const bvh_points *points, double radius,
                                abut_nearest *nearest) {
    abut_device *device = bvh->queue.device;
    size_t part = part_of(bvh, points->count), bytes = bvh_point_bytes(points->type);
    void *room = abuti_allocate(bvh->context, points->stride == bytes ? 0 : part, bytes);
    abut_status status = room ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_reserve(device, part, bytes, &bvh->in);
    if (!status)
        status = abuti_buffer_reserve(device, part, sizeof *nearest, &bvh->out);
    for (size_t begin = 0; !status && begin < points->count; begin += part) {
        size_t here = points->count - begin < part ? points->count - begin : part;
        status = abuti_buffer_upload(&bvh->queue, &bvh->in, 0, pack(points, begin, here, room),
                                     here * bytes);
        if (!status)
            status = queue_points(bvh, &bvh->in, points->type == ABUT_SCALAR_FLOAT32, here, radius,
                                  &bvh->out);
        if (!status)
            status = abuti_buffer_download(&bvh->queue, &bvh->out, 0, nearest + begin,
                                           here * sizeof *nearest);
        if (!status)
            status = abuti_progress(bvh->context, "nearest",
                                    (double)(begin + here) / (double)points->count);
    }
    abuti_release(bvh->context, room);
    return status;
}

/* ---- a device without doubles: it finds, the host measures ---- */

typedef struct finishing {
    const abut_device_bvh *bvh;
    const bvh_points *points;
    size_t begin, count;
    double radius;
    float (*at)[4];
    uint32_t *order, *places;
    uint8_t *counts;
    abut_nearest *nearest;
} finishing;

static void frame_task(void *data, size_t chunk, size_t begin, size_t end) {
    finishing *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 p = bvh_point_at(f->points, f->begin + i);
        p = v3_scale(v3_sub(p, f->bvh->tree.mesh->origin), f->bvh->tree.scale);
        double largest = v3_max_abs(p);
        f->at[i][0] = (float)p.x;
        f->at[i][1] = (float)p.y;
        f->at[i][2] = (float)p.z;
        f->at[i][3] = largest < FAR ? MARGIN * ((float)largest + 2) : -1;
    }
}

static void measure_task(void *data, size_t chunk, size_t begin, size_t end) {
    finishing *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t point = f->begin + f->order[i];
        vec3 p = bvh_point_at(f->points, point);
        abut_nearest *to = &f->nearest[point];
        if (f->counts[i] == COMPLETE) {
            abuti_bvh_nearest(f->bvh->host, p, f->radius, NULL, to);
            continue;
        }
        *to = (abut_nearest){.distance = INFINITY, .point = p, .triangle = ABUT_NONE};
        for (uint32_t k = 0; k < f->counts[i]; k++) {
            uint32_t triangle = f->bvh->host->order[f->places[k * f->count + i]];
            closest_on_triangle c =
                triangle_closest_point(bvh_triangle(f->bvh->host->mesh, triangle), p);
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

static abut_status find_and_fetch(abut_device_bvh *bvh, finishing *f) {
    nearest_scratch *s = &bvh->scratch;
    abuti_parallel_for(bvh->context, f->count, TASK_POINTS, frame_task, f);
    abut_status status =
        abuti_buffer_upload(&bvh->queue, &s->points, 0, f->at, f->count * sizeof *f->at);
    if (!status)
        status = find(bvh, (uint32_t)f->count, f->radius);
    if (!status)
        status = abuti_buffer_download(&bvh->queue, &s->order, 0, f->order, f->count * 4);
    if (!status)
        status = abuti_buffer_download(&bvh->queue, &s->counts, 0, f->counts, f->count);
    if (!status)
        status =
            abuti_buffer_download(&bvh->queue, &s->places, 0, f->places, f->count * CANDIDATES * 4);
    return status;
}

static abut_status without_doubles(abut_device_bvh *bvh, const bvh_points *points, double radius,
                                   abut_nearest *nearest) {
    size_t part = part_of(bvh, points->count);
    finishing f = {.bvh = bvh, .points = points, .radius = radius, .nearest = nearest};
    f.at = abuti_allocate(bvh->context, part, sizeof *f.at);
    f.order = abuti_allocate(bvh->context, part, sizeof *f.order);
    f.places = abuti_allocate(bvh->context, part, CANDIDATES * sizeof *f.places);
    f.counts = abuti_allocate(bvh->context, part, sizeof *f.counts);
    abut_status status =
        f.at && f.order && f.places && f.counts ? reserve(bvh, part) : ABUT_ERROR_MEMORY;
    for (f.begin = 0; !status && f.begin < points->count; f.begin += part) {
        f.count = points->count - f.begin < part ? points->count - f.begin : part;
        status = find_and_fetch(bvh, &f);
        if (status)
            break;
        abuti_parallel_for(bvh->context, f.count, TASK_POINTS, measure_task, &f);
        status = abuti_progress(bvh->context, "nearest",
                                (double)(f.begin + f.count) / (double)points->count);
    }
    abuti_release(bvh->context, f.at);
    abuti_release(bvh->context, f.order);
    abuti_release(bvh->context, f.places);
    abuti_release(bvh->context, f.counts);
    return status;
}

abut_status abut_device_bvh_nearest(abut_device_bvh *bvh, const abut_points *points, double radius,
                                    abut_nearest *nearest) {
    bvh_points in;
    box3 bounds;
    if (!bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_nearest: bvh is null");
    abut_status status = abuti_bvh_points_read(__func__, points, &in);
    if (!status && !nearest && in.count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_nearest: nearest is null");
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    status = status ? status : abuti_bvh_points_check(__func__, &in, &bounds);
    if (status || !in.count)
        return status;
    return bvh->host ? without_doubles(bvh, &in, radius, nearest)
                     : with_doubles(bvh, &in, radius, nearest);
}
