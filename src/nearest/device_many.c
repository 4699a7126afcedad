/* The host's side of many.cl: the nearest triangles to many points, or all within a radius. */
#include "bvh/device_gather.h"
#include "nearest/batch.h"
#include "nearest/device.h"

enum { QUESTION_BYTES = 256 };

_Static_assert(sizeof(abut_nearest) == 64, "nearest_answer in measure_cl.h");

typedef struct many_quest {
    nearest_there *nearest;
    const bvh_points *points;
    double radius;
    uint32_t k; /* triangles that bound the search; 0 = only the radius does */
    void *room;
} many_quest;

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

static void many_ready(const device_query *q, size_t begin, uint32_t count) {
    const many_quest *m = q->user;
    nearest_there *n = m->nearest;
    const mesh_frame frame = frame_of(q->there);
    float limit = abuti_nearest_reach(q->there, m->radius);
    abuti_nearest_sort(n, m->points, begin, count, m->room);
    abuti_kit_reserve(&n->kit, NEAREST_HEAPS, m->k ? count : 1, (m->k ? m->k : 1) * sizeof(double));
    abuti_kit_reserve(&n->kit, NEAREST_REACHES, count, sizeof(double));
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_BOUND, count, FIND_GROUP, TREE(q->there, nodes),
                  TREE(q->there, triangles), TREE(q->there, order), TREE(q->there, corners),
                  ABUTI_VALUE(q->there->tree.triangle_count), SCRATCH(SORTED), SCRATCH(EXACT),
                  SCRATCH(ORDER), ABUTI_VALUE(count), ABUTI_VALUE(m->radius), ABUTI_VALUE(limit),
                  ABUTI_VALUE(frame), ABUTI_VALUE(m->k), SCRATCH(HEAPS), SCRATCH(REACHES));
}

static void many_find(const device_query *q, uint32_t count, uint32_t fill,
                      const abuti_buffer *begin, const abuti_buffer *places) {
    nearest_there *n = ((const many_quest *)q->user)->nearest;
    const mesh_frame frame = frame_of(q->there);
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_FIND, count, FIND_GROUP, TREE(q->there, nodes),
                  TREE(q->there, triangles), ABUTI_VALUE(q->there->tree.triangle_count),
                  SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(frame), SCRATCH(REACHES), ABUTI_VALUE(fill), ABUTI_BUFFER(begin),
                  ABUTI_BUFFER(places));
}

static void many_judge(const device_query *q, uint32_t total) {
    const many_quest *m = q->user;
    nearest_there *n = m->nearest;
    const abuti_kit *lists = &q->lists->kit;
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_JUDGE, total, FIND_GROUP, TREE(q->there, corners),
                  TREE(q->there, order), SCRATCH(EXACT), ABUTI_VALUE(m->radius), ABUTI_VALUE(total),
                  KIT_BUFFER(lists, GATHER_OWNERS), KIT_BUFFER(lists, GATHER_PLACES),
                  KIT_BUFFER(lists, GATHER_BEFORE), KIT_BUFFER(lists, GATHER_KEYS),
                  KIT_BUFFER(lists, GATHER_ANSWERS));
}

/* Both queries; `q` says how many are wanted and where they go. */
static abut_status ask_many(device_query *q, many_quest *m) {
    const bvh_points *points = m->points;
    size_t bytes = bvh_point_bytes(points->type);
    bool packed = points->buffer || points->stride == bytes;
    q->there = q->gather->bvh->there;
    q->user = m;
    q->upload = many_ready;
    q->find = many_find;
    q->decide = many_judge;
    abut_status status = abuti_device_check_doubles(q->gather->function, q->there);
    status = status ? status : abuti_nearest_part(q->there, &m->nearest);
    status = status ? status : abuti_nearest_check(m->nearest, q->gather->function, points);
    if (status)
        return status;
    q->batch_size = abuti_device_gather_batch_size(q->there, points->count, QUESTION_BYTES, m->k);
    m->room = abuti_allocate(q->there->context, packed ? 0 : q->batch_size, bytes);
    status = m->room ? abuti_device_gather(q) : ABUT_ERROR_MEMORY;
    abuti_release(q->there->context, m->room);
    return status;
}

abut_status abuti_nearest_many_there(const bvh_gather *gather, const bvh_points *points,
                                     double radius, uint32_t k, abut_array counts) {
    many_quest m = {.points = points, .radius = radius};
    device_query q = {.gather = gather, .results_max = k, .counts = counts, .row = k};
    bvh_on_device *there = gather->bvh->there;
    m.k = k < gather->bvh->triangle_count ? k : 0;
    if (k)
        return ask_many(&q, &m);
    abut_status status = abuti_nearest_part(there, &m.nearest);
    status = status ? status : abuti_nearest_check(m.nearest, gather->function, points);
    if (!status && counts.buffer)
        status = abuti_buffer_fill(&there->queue, &counts.buffer->memory, 0,
                                   points->count * sizeof(uint32_t));
    else if (!status)
        memset(counts.host, 0, points->count * sizeof(uint32_t));
    return status ? status : abuti_queue_finish(&there->queue);
}

abut_status abuti_nearest_within_there(const bvh_gather *gather, const bvh_points *points,
                                       double radius) {
    many_quest m = {.points = points, .radius = radius};
    device_query q = {.gather = gather, .results_max = UINT32_MAX};
    return ask_many(&q, &m);
}
