/* The host's side of nearest.cl: how points are cut, sorted, searched and measured.
 *
 * Points go in parts that fit the device's memory several times over. All work of a part is queued
 * at once; nothing waits but the check of the points and the transfer of answers.
 */
#include "bvh/device_query.h"
#include "geom/closest_shared.h"
#include "nearest/batch.h"
#include "nearest/features.h"

#include <math.h>

/* As in the kernels. */
#define GROUP 256
#define FIND_GROUP 128
#define SEED_GROUP 32
#define CANDIDATES 16
#define COMPLETE 255
#define SEEDS_EACH 32
#define FAR 64.0
#define MARGIN 0x1p-19f
#define KEY_BITS 30
#define BLOCK 512
#define SMALL_BLOCK 32 /* of a second try */
#define REGION_ROOM (4 * (1024 + 512 + 512 + 16))

/* Bytes of scratch memory and transfers a point, and how much of the device they may take. */
#define POINT_BYTES 256
#define MEMORY_SHARE 4
#define PART_MOST ((size_t)1 << 24)
#define PART_LEAST ((size_t)1 << 12)
#define TASK_POINTS 1024

/* Fewer points are not worth making features for. */
#define FEATURES_LEAST ((size_t)1 << 16)

_Static_assert(sizeof(abut_nearest) == 64 && sizeof(abut_feature) == 4,
               "nearest_answer in nearest.cl");

/* ---- kernels ---- */

abut_status abuti_device_nearest_create(bvh_on_device *bvh) {
    nearest_kernels *to = &bvh->nearest;
    const abuti_kernel_name list[] = {
        {&to->bounds, "nearest_bounds"},    {&to->keys, "nearest_keys"},
        {&to->gather, "nearest_gather"},    {&to->seed, "nearest_seed"},
        {&to->find, "nearest_find"},        {&to->check, "nearest_check"},
        {&to->frame, "nearest_frame"},      {&to->measure, "nearest_measure"},
        {&to->complete, "nearest_complete"}};
    bvh->features_least = 4 * (size_t)bvh->tree.triangle_count;
    if (bvh->features_least < FEATURES_LEAST)
        bvh->features_least = FEATURES_LEAST;
    if (bvh->queue.device->info.kind == ABUT_DEVICE_KIND_CPU)
        bvh->features_least = SIZE_MAX; /* groups that share lists are slow there */
    return abuti_device_kernels(bvh, "nearest", list, bvh->queue.device->info.has_doubles ? 9 : 5);
}

void abuti_device_nearest_destroy(bvh_on_device *bvh) {
    nearest_kernels *k = &bvh->nearest;
    abuti_kernel *kernels[] = {&k->bounds,        &k->keys,        &k->gather,
                               &k->seed,          &k->find,        &k->check,
                               &k->frame,         &k->measure,     &k->complete,
                               &k->region_boxes,  &k->region_seed, &k->region_find,
                               &k->region_measure};
    nearest_scratch *s = &bvh->scratch;
    device_features *f = &bvh->features;
    abuti_buffer *buffers[] = {&s->exact,    &s->points,  &s->sorted,     &s->keys,
                               &s->order,    &s->bounds,  &s->seeds,      &s->counts,
                               &s->places,   &s->refused, &s->boxes,      &s->wanted,
                               &s->left,     &f->records, &f->leaf_begin, &f->incident_begin,
                               &f->incidents};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
}

/* ---- features ---- */

void abuti_device_nearest_forget(bvh_on_device *bvh) {
    abuti_buffer_destroy(&bvh->features.records);
}

static abut_status upload_array(bvh_on_device *bvh, const void *data, size_t count,
                                size_t element_bytes, abuti_buffer *to) {
    abut_status status = abuti_buffer_reserve(bvh->queue.device, count, element_bytes, to);
    return status ? status : abuti_buffer_upload(&bvh->queue, to, 0, data, count * element_bytes);
}

static abut_status upload_features(bvh_on_device *bvh, const abuti_features *features) {
    device_features *to = &bvh->features;
    abut_status status = upload_array(bvh, features->leaf_begin, (size_t)bvh->tree.leaf_count + 1,
                                      4, &to->leaf_begin);
    if (!status)
        status = upload_array(bvh, features->incident_begin, (size_t)features->count + 1, 4,
                              &to->incident_begin);
    if (!status)
        status =
            upload_array(bvh, features->incidents, features->incident_count, 4, &to->incidents);
    if (!status) /* the last: that it is there says that all are */
        status = upload_array(bvh, features->records, features->count, sizeof *features->records,
                              &to->records);
    return status;
}

/* Makes features and their kernels, if that has not been done. */
static abut_status need_features(bvh_on_device *bvh) {
    nearest_kernels *to = &bvh->nearest;
    const abuti_kernel_name list[] = {{&to->region_boxes, "regions_boxes"},
                                      {&to->region_seed, "regions_seed"},
                                      {&to->region_find, "regions_find"},
                                      {&to->region_measure, "regions_measure"}};
    if (bvh->features.records.device)
        return ABUT_OK;
    size_t places = (size_t)bvh->tree.leaf_count * BVH_WIDTH;
    uint32_t *order = abuti_allocate(bvh->context, places, sizeof *order);
    abut_status status = order ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status =
            abuti_buffer_download(&bvh->queue, &bvh->tree.order, 0, order, places * sizeof *order);
    abuti_features features = {0};
    if (!status)
        status = abuti_features_create(bvh->tree.mesh, bvh->tree.scale, order, bvh->tree.leaf_count,
                                       FEATURES_INCIDENTS, &features);
    if (!status)
        status = abuti_device_need(bvh, "regions", list, sizeof list / sizeof *list);
    if (!status)
        status = upload_features(bvh, &features);
    if (status)
        abuti_buffer_destroy(&bvh->features.records);
    abuti_features_destroy(&features);
    abuti_release(bvh->context, order);
    return status;
}

/* ---- a part ---- */

static size_t part_of(const bvh_on_device *bvh, size_t count) {
    size_t fits = (size_t)(bvh->queue.device->info.memory_bytes / (MEMORY_SHARE * POINT_BYTES));
    size_t most = fits < PART_LEAST ? PART_LEAST : fits < PART_MOST ? fits : PART_MOST;
    return count < most ? count : most;
}

static abut_status reserve(bvh_on_device *bvh, size_t count) {
    nearest_scratch *s = &bvh->scratch;
    size_t blocks = groups_of(count, BLOCK), small_blocks = groups_of(count, SMALL_BLOCK);
    const struct {
        abuti_buffer *buffer;
        size_t count, bytes;
    } list[] = {{&s->exact, there_has_doubles(bvh) ? count : 0, 24},
                {&s->points, count, 16},
                {&s->sorted, count, 16},
                {&s->keys, count, 4},
                {&s->order, count, 4},
                {&s->bounds, 6, 4},
                {&s->seeds, groups_of(count, SEEDS_EACH), 4},
                {&s->counts, count, 1},
                {&s->places, count, CANDIDATES * 4},
                {&s->boxes, small_blocks, 32},
                {&s->wanted, blocks, 1},
                {&s->left, small_blocks, 1}};
    abut_status status = ABUT_OK;
    for (size_t i = 0; !status && i < sizeof list / sizeof *list; i++)
        status =
            abuti_buffer_reserve(bvh->queue.device, list[i].count, list[i].bytes, list[i].buffer);
    return status;
}

/* Sorts the points of the scratch memory. */
static abut_status sort_points(bvh_on_device *bvh, uint32_t count) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    abuti_queue *queue = &bvh->queue;
    size_t groups = groups_of(count, GROUP), most = (size_t)queue->device->info.compute_units * 8;
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
        status =
            ABUTI_LAUNCH(queue, &k->gather, groups, GROUP, ABUTI_BUFFER(&s->points),
                         ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_BUFFER(&s->sorted));
    return status;
}

/* Finds features that may win, block by block; marks the blocks that are left. Of blocks that lie
 * in larger ones, `wanted_blocks` in each, only those in wanted ones; 0 = all. */
static abut_status find_in_blocks(bvh_on_device *bvh, uint32_t count, float limit,
                                  uint32_t block_points, const abuti_buffer *wanted,
                                  uint32_t wanted_blocks, abuti_buffer *left) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    abuti_queue *queue = &bvh->queue;
    uint32_t blocks = (uint32_t)groups_of(count, block_points);
    abut_status status =
        ABUTI_LAUNCH(queue, &k->region_boxes, blocks, FIND_GROUP, ABUTI_BUFFER(&s->sorted),
                     ABUTI_VALUE(count), ABUTI_VALUE(block_points), ABUTI_BUFFER(wanted),
                     ABUTI_VALUE(wanted_blocks), ABUTI_BUFFER(&s->boxes),
                     ABUTI_LOCAL_MEMORY(2 * FIND_GROUP * 16));
    if (!status)
        status = ABUTI_LAUNCH(queue, &k->region_seed, groups_of(blocks, SEED_GROUP), SEED_GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                              ABUTI_VALUE(blocks), ABUTI_BUFFER(wanted), ABUTI_VALUE(wanted_blocks),
                              ABUTI_BUFFER(&s->boxes));
    if (!status)
        status =
            ABUTI_LAUNCH(queue, &k->region_find, blocks, FIND_GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                         ABUTI_BUFFER(&bvh->features.records),
                         ABUTI_BUFFER(&bvh->features.leaf_begin), ABUTI_BUFFER(&s->sorted),
                         ABUTI_VALUE(count), ABUTI_VALUE(limit), ABUTI_BUFFER(&s->boxes),
                         ABUTI_VALUE(block_points), ABUTI_BUFFER(wanted),
                         ABUTI_VALUE(wanted_blocks), ABUTI_BUFFER(left), ABUTI_BUFFER(&s->counts),
                         ABUTI_BUFFER(&s->places), ABUTI_LOCAL_MEMORY(REGION_ROOM));
    return status;
}

static abut_status find_features(bvh_on_device *bvh, uint32_t count, float limit) {
    nearest_scratch *s = &bvh->scratch;
    abut_status status = find_in_blocks(bvh, count, limit, BLOCK, &s->wanted, 0, &s->wanted);
    if (!status)
        status = find_in_blocks(bvh, count, limit, SMALL_BLOCK, &s->wanted, BLOCK / SMALL_BLOCK,
                                &s->left);
    return status;
}

/* Finds the triangles that may win by walks through the tree, for all points or those of the blocks
 * that are left (`block` of them each). */
static abut_status find_triangles(bvh_on_device *bvh, uint32_t count, float limit, uint32_t block) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    abut_status status =
        ABUTI_LAUNCH(&bvh->queue, &k->seed, groups_of(groups_of(count, SEEDS_EACH), FIND_GROUP),
                     FIND_GROUP, ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                     ABUTI_BUFFER(&s->sorted), ABUTI_VALUE(count), ABUTI_VALUE(limit),
                     ABUTI_BUFFER(&s->left), ABUTI_VALUE(block), ABUTI_BUFFER(&s->seeds));
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &k->find, groups_of(count, FIND_GROUP), FIND_GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                              ABUTI_BUFFER(&s->sorted), ABUTI_VALUE(count), ABUTI_VALUE(limit),
                              ABUTI_BUFFER(&s->left), ABUTI_VALUE(block), ABUTI_BUFFER(&s->seeds),
                              ABUTI_BUFFER(&s->counts), ABUTI_BUFFER(&s->places));
    return status;
}

float abuti_device_reach(const bvh_on_device *bvh, double radius) {
    return (float)real_min(radius * bvh->tree.scale, 4 * FAR) * (1 + 0x1p-20f);
}

/* Sorts the points of the scratch memory and finds what may win. */
static abut_status find(bvh_on_device *bvh, uint32_t count, double radius, bool by_features) {
    float limit = abuti_device_reach(bvh, radius);
    abut_status status = sort_points(bvh, count);
    if (!status && by_features)
        status = find_features(bvh, count, limit);
    return status ? status : find_triangles(bvh, count, limit, by_features ? SMALL_BLOCK : 0);
}

/* Measures it in doubles. */
static abut_status measure(bvh_on_device *bvh, uint32_t count, double radius, uint32_t first,
                           bool by_features, abuti_buffer *nearest, const mesh_frame *frame) {
    const nearest_kernels *k = &bvh->nearest;
    nearest_scratch *s = &bvh->scratch;
    size_t groups = groups_of(count, FIND_GROUP);
    uint32_t block = by_features ? SMALL_BLOCK : 0;
    abut_status status =
        ABUTI_LAUNCH(&bvh->queue, &k->measure, groups, FIND_GROUP, ABUTI_BUFFER(&bvh->tree.corners),
                     ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&s->exact),
                     ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_VALUE(radius),
                     ABUTI_BUFFER(&s->left), ABUTI_VALUE(block), ABUTI_BUFFER(&s->counts),
                     ABUTI_BUFFER(&s->places), ABUTI_VALUE(first), ABUTI_BUFFER(nearest));
    if (!status && by_features)
        status = ABUTI_LAUNCH(&bvh->queue, &k->region_measure, groups, FIND_GROUP,
                              ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&bvh->tree.triangles),
                              ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&bvh->features.records),
                              ABUTI_BUFFER(&bvh->features.incident_begin),
                              ABUTI_BUFFER(&bvh->features.incidents), ABUTI_BUFFER(&s->sorted),
                              ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                              ABUTI_VALUE(radius), ABUTI_BUFFER(&s->left), ABUTI_VALUE(block),
                              ABUTI_BUFFER(&s->counts), ABUTI_BUFFER(&s->places),
                              ABUTI_VALUE(first), ABUTI_BUFFER(nearest));
    if (!status)
        status = ABUTI_LAUNCH(&bvh->queue, &k->complete, groups, FIND_GROUP,
                              ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                              ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&bvh->tree.corners),
                              ABUTI_BUFFER(&s->sorted), ABUTI_BUFFER(&s->exact),
                              ABUTI_BUFFER(&s->order), ABUTI_VALUE(count), ABUTI_VALUE(radius),
                              ABUTI_VALUE(*frame), ABUTI_BUFFER(&s->counts),
                              ABUTI_BUFFER(&s->places), ABUTI_VALUE(first), ABUTI_BUFFER(nearest));
    return status;
}

/* ---- points on the device ---- */

/* The place of the first point that is not legal, or UINT32_MAX. Waits. */
static abut_status check_points(bvh_on_device *bvh, const abuti_buffer *points, uint32_t is_float,
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

/* Points of a buffer from `first` on go to the scratch memory. */
static abut_status frame_points(bvh_on_device *bvh, const abuti_buffer *points, uint32_t is_float,
                                uint32_t first, uint32_t count) {
    const mesh_frame frame = frame_of(bvh);
    nearest_scratch *s = &bvh->scratch;
    return ABUTI_LAUNCH(&bvh->queue, &bvh->nearest.frame, groups_of(count, GROUP), GROUP,
                        ABUTI_BUFFER(points), ABUTI_BUFFER(points), ABUTI_VALUE(is_float),
                        ABUTI_VALUE(first), ABUTI_VALUE(count), ABUTI_VALUE(frame),
                        ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->points));
}

/* Points that have been checked. */
static abut_status queue_points(bvh_on_device *bvh, const abuti_buffer *points, uint32_t is_float,
                                size_t count, double radius, abuti_point_quest quest,
                                abuti_buffer *answers) {
    const mesh_frame frame = frame_of(bvh);
    size_t part = part_of(bvh, count);
    bool near = quest <= ABUTI_QUEST_SIGN, by_features = near && count >= bvh->features_least;
    abut_status status = by_features ? need_features(bvh) : ABUT_OK;
    if (!status && quest != ABUTI_QUEST_NEAREST)
        status = abuti_device_sign_need(bvh);
    status = status ? status : reserve(bvh, part);
    for (size_t begin = 0; !status && begin < count; begin += part) {
        uint32_t first = (uint32_t)begin;
        uint32_t here = (uint32_t)(count - begin < part ? count - begin : part);
        status = frame_points(bvh, points, is_float, first, here);
        if (!status)
            status = near ? find(bvh, here, radius, by_features) : sort_points(bvh, here);
        if (!status && near)
            status = measure(bvh, here, radius, first, by_features, answers, &frame);
        if (!status && quest != ABUTI_QUEST_NEAREST)
            status = abuti_device_sign_queue(bvh, here, first, quest, answers);
    }
    return status;
}

/* Only queues work, but for a point that is not legal: that is refused before anything is written.
 */
static abut_status nearest_of_buffer(bvh_on_device *bvh, const abuti_buffer *points,
                                     abut_scalar_type type, size_t count, double radius,
                                     abuti_buffer *nearest) {
    uint32_t is_float = type == ABUT_SCALAR_FLOAT32, refused = UINT32_MAX;
    abut_status status = check_points(bvh, points, is_float, (uint32_t)count, &refused);
    if (!status && refused != UINT32_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_nearest_batch: point %u is not finite or beyond %g in "
                          "magnitude",
                          refused, ABUT_COORDINATE_MAX);
    return status
               ? status
               : queue_points(bvh, points, is_float, count, radius, ABUTI_QUEST_NEAREST, nearest);
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

abut_status abuti_device_points_sort(bvh_on_device *bvh, const bvh_points *points, size_t begin,
                                     uint32_t count, void *room) {
    size_t bytes = bvh_point_bytes(points->type);
    abut_status status = abuti_buffer_reserve(bvh->queue.device, count, bytes, &bvh->in);
    if (!status)
        status = abuti_buffer_upload(&bvh->queue, &bvh->in, 0, pack(points, begin, count, room),
                                     count * bytes);
    status = status ? status : reserve(bvh, count);
    if (!status)
        status = frame_points(bvh, &bvh->in, points->type == ABUT_SCALAR_FLOAT32, 0, count);
    return status ? status : sort_points(bvh, count);
}

abut_status abuti_device_points(bvh_on_device *bvh, const bvh_points *points, double radius,
                                abuti_point_quest quest, void *answers) {
    static const char *const stages[] = {"nearest", "nearest", "inside", "winding"};
    static const size_t answer_bytes[] = {sizeof(abut_nearest), sizeof(abut_nearest), sizeof(bool),
                                          sizeof(double)};
    abut_device *device = bvh->queue.device;
    size_t part = part_of(bvh, points->count), bytes = bvh_point_bytes(points->type);
    size_t out_bytes = answer_bytes[quest];
    void *room = abuti_allocate(bvh->context, points->stride == bytes ? 0 : part, bytes);
    abut_status status = room ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_reserve(device, part, bytes, &bvh->in);
    if (!status)
        status = abuti_buffer_reserve(device, part, out_bytes, &bvh->out);
    for (size_t begin = 0; !status && begin < points->count; begin += part) {
        size_t here = points->count - begin < part ? points->count - begin : part;
        status = abuti_buffer_upload(&bvh->queue, &bvh->in, 0, pack(points, begin, here, room),
                                     here * bytes);
        if (!status)
            status = queue_points(bvh, &bvh->in, points->type == ABUT_SCALAR_FLOAT32, here, radius,
                                  quest, &bvh->out);
        if (!status)
            status = abuti_buffer_download(&bvh->queue, &bvh->out, 0,
                                           (unsigned char *)answers + begin * out_bytes,
                                           here * out_bytes);
        if (!status && quest != ABUTI_QUEST_NEAREST && !bvh->sign.closed)
            status = abuti_device_sign_finish(bvh, here, quest,
                                              (unsigned char *)answers + begin * out_bytes);
        if (!status)
            status = abuti_progress(bvh->context, stages[quest],
                                    (double)(begin + here) / (double)points->count);
    }
    abuti_release(bvh->context, room);
    return status;
}

/* ---- a device without doubles: it finds, the host measures ---- */

typedef struct finishing {
    const bvh_on_device *bvh;
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
            abuti_nearest_point(f->bvh->bvh, p, f->radius, NULL, to);
            continue;
        }
        *to = (abut_nearest){.distance = INFINITY, .point = p, .triangle = ABUT_NONE};
        for (uint32_t k = 0; k < f->counts[i]; k++) {
            uint32_t triangle = f->bvh->bvh->order[f->places[k * f->count + i]];
            closest_on_triangle c =
                triangle_closest_point(bvh_triangle(f->bvh->tree.mesh, triangle), p);
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

static abut_status find_and_fetch(bvh_on_device *bvh, finishing *f) {
    nearest_scratch *s = &bvh->scratch;
    abuti_parallel_for(bvh->context, f->count, TASK_POINTS, frame_task, f);
    abut_status status =
        abuti_buffer_upload(&bvh->queue, &s->points, 0, f->at, f->count * sizeof *f->at);
    if (!status)
        status = find(bvh, (uint32_t)f->count, f->radius, false);
    if (!status)
        status = abuti_buffer_download(&bvh->queue, &s->order, 0, f->order, f->count * 4);
    if (!status)
        status = abuti_buffer_download(&bvh->queue, &s->counts, 0, f->counts, f->count);
    if (!status)
        status =
            abuti_buffer_download(&bvh->queue, &s->places, 0, f->places, f->count * CANDIDATES * 4);
    return status;
}

static abut_status without_doubles(bvh_on_device *bvh, const bvh_points *points, double radius,
                                   abut_nearest *nearest) {
    size_t part = part_of(bvh, points->count);
    finishing f = {.bvh = bvh, .points = points, .radius = radius, .nearest = nearest};
    f.at = abuti_allocate(bvh->context, part, sizeof *f.at);
    f.order = abuti_allocate(bvh->context, part, sizeof *f.order);
    f.places = abuti_allocate(bvh->context, part, CANDIDATES * sizeof *f.places);
    f.counts = abuti_allocate(bvh->context, part, sizeof *f.counts);
    abut_status status = abuti_bvh_host(bvh->bvh);
    if (!status)
        status = f.at && f.order && f.places && f.counts ? reserve(bvh, part) : ABUT_ERROR_MEMORY;
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

abut_status abuti_nearest_there(bvh_on_device *there, const bvh_points *points, double radius,
                                abut_nearest *nearest) {
    return there_has_doubles(there)
               ? abuti_device_points(there, points, radius, ABUTI_QUEST_NEAREST, nearest)
               : without_doubles(there, points, radius, nearest);
}

abut_status abuti_nearest_buffer(const abut_bvh *from, const abut_buffer *points,
                                 abut_scalar_type type, size_t count, double radius,
                                 abut_buffer *nearest) {
    bvh_on_device *bvh;
    abut_status status = abuti_device_of(__func__, from, &bvh);
    if (status)
        return status;
    if (type != ABUT_SCALAR_FLOAT32 && type != ABUT_SCALAR_FLOAT64)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: type is %u, which is no scalar type", __func__,
                          (unsigned)type);
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu points; at most %u are possible at once",
                          __func__, count, ABUT_NONE - 1);
    status =
        abuti_device_check_buffer(__func__, bvh, points, count, bvh_point_bytes(type), "points");
    if (!status)
        status = abuti_device_check_buffer(__func__, bvh, nearest, count, sizeof(abut_nearest),
                                           "nearest");
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    status = status ? status : abuti_device_check_doubles(__func__, bvh);
    if (!status && count)
        status = nearest_of_buffer(bvh, &points->memory, type, count, radius, &nearest->memory);
    return status ? status : abuti_queue_finish(&bvh->queue);
}
