/* The host side of k_nearest.cl: the k nearest triangles to many points, or all within a radius. */
#include "bvh/device_gather.h"
#include "nearest/batch.h"
#include "nearest/device.h"

enum { QUERY_BYTES = 256 };

_Static_assert(sizeof(abut_nearest) == 64, "nearest_result in measure_cl.h");

typedef struct many_query {
    bvh_kit *nearest;
    const bvh_points *points;
    double radius;
    uint32_t k; /* triangles that bound the search; 0 = only the radius does */
} many_query;

#define SCRATCH(which) KIT_BUFFER(&n->kit, NEAREST_##which)

static void upload_points(const device_query *q, size_t begin, uint32_t count) {
    const many_query *m = q->user;
    bvh_kit *n = m->nearest;
    const mesh_frame frame = frame_of(q->there);
    float limit = abuti_nearest_reach(q->there, m->radius);
    abuti_nearest_sort(n, m->points, begin, count);
    abuti_kit_reserve(&n->kit, NEAREST_HEAPS, m->k ? count : 1, (m->k ? m->k : 1) * sizeof(double));
    abuti_kit_reserve(&n->kit, NEAREST_REACHES, count, sizeof(double));
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_BOUND, count, FIND_GROUP, TREE(q->there, nodes),
                  TREE(q->there, triangles), TREE(q->there, order), TREE(q->there, corners),
                  ABUTI_VALUE(q->there->tree.triangle_count), SCRATCH(SORTED), SCRATCH(EXACT),
                  SCRATCH(ORDER), ABUTI_VALUE(count), ABUTI_VALUE(m->radius), ABUTI_VALUE(limit),
                  ABUTI_VALUE(frame), ABUTI_VALUE(m->k), SCRATCH(HEAPS), SCRATCH(REACHES));
}

static void enqueue_find(const device_query *q, uint32_t count, uint32_t fill,
                         const abuti_buffer *begin, const abuti_buffer *places) {
    bvh_kit *n = ((const many_query *)q->user)->nearest;
    const mesh_frame frame = frame_of(q->there);
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_FIND, count, FIND_GROUP, TREE(q->there, nodes),
                  TREE(q->there, triangles), ABUTI_VALUE(q->there->tree.triangle_count),
                  SCRATCH(SORTED), SCRATCH(EXACT), SCRATCH(ORDER), ABUTI_VALUE(count),
                  ABUTI_VALUE(frame), SCRATCH(REACHES), ABUTI_VALUE(fill), ABUTI_BUFFER(begin),
                  ABUTI_BUFFER(places));
}

static void enqueue_decide(const device_query *q, uint32_t total) {
    const many_query *m = q->user;
    bvh_kit *n = m->nearest;
    const abuti_kit *lists = &q->lists->kit;
    ABUTI_KIT_RUN(&n->kit, NEAREST_MANY_DECIDE, total, FIND_GROUP, TREE(q->there, corners),
                  TREE(q->there, order), SCRATCH(EXACT), ABUTI_VALUE(m->radius), ABUTI_VALUE(total),
                  KIT_BUFFER(lists, GATHER_OWNERS), KIT_BUFFER(lists, GATHER_PLACES),
                  KIT_BUFFER(lists, GATHER_BEFORE), KIT_BUFFER(lists, GATHER_KEYS),
                  KIT_BUFFER(lists, GATHER_ANSWERS));
}

/* Runs both kinds of query; `q` has the number of results and their destination. */
static abut_status run_many(device_query *q, many_query *m) {
    const bvh_points *points = m->points;
    q->there = q->gather->bvh->there;
    q->user = m;
    q->upload = upload_points;
    q->find = enqueue_find;
    q->decide = enqueue_decide;
    abut_status status = abuti_device_check_doubles(q->gather->function, q->there);
    if (!status)
        status = abuti_nearest_get_kit(q->there, &m->nearest);
    if (!status)
        status = abuti_nearest_check(m->nearest, q->gather->function, points);
    if (status)
        return status;
    q->batch_size = abuti_device_gather_batch_size(q->there, points->count, QUERY_BYTES, m->k);
    return abuti_device_gather(q);
}

abut_status abuti_nearest_many_on_device(const bvh_gather *gather, const bvh_points *points,
                                         double radius, uint32_t k, abut_array counts) {
    many_query m = {.points = points, .radius = radius};
    device_query q = {.gather = gather, .results_max = k, .counts = counts, .row = k};
    bvh_on_device *there = gather->bvh->there;
    m.k = k < gather->bvh->triangle_count ? k : 0;
    if (k)
        return run_many(&q, &m);
    abut_status status = abuti_nearest_get_kit(there, &m.nearest);
    if (!status)
        status = abuti_nearest_check(m.nearest, gather->function, points);
    if (!status && counts.buffer)
        status = abuti_buffer_fill(&there->queue, &counts.buffer->memory, 0,
                                   points->count * sizeof(uint32_t));
    else if (!status)
        memset(counts.host, 0, points->count * sizeof(uint32_t));
    if (!status)
        status = abuti_queue_finish(&there->queue);
    return status;
}

abut_status abuti_nearest_within_on_device(const bvh_gather *gather, const bvh_points *points,
                                           double radius) {
    many_query m = {.points = points, .radius = radius};
    device_query q = {.gather = gather, .results_max = UINT32_MAX};
    return run_many(&q, &m);
}
