/* The host's side of many.cl: the nearest triangles to many points, or all within a radius. */
#include "bvh/device_gather.h"
#include "nearest/batch.h"

#define FIND_GROUP 128
#define POINT_BYTES 256

_Static_assert(sizeof(abut_nearest) == 64, "nearest_answer in measure_cl.h");

typedef struct many_quest {
    bvh_points points;
    double radius;
    uint32_t most; /* triangles that bound the search; 0 = only the radius does */
    void *room;
} many_quest;

static abut_status many_ready(const device_quest *q, size_t begin, uint32_t count) {
    const many_quest *m = q->user;
    bvh_on_device *bvh = q->bvh;
    device_gather *g = &bvh->gather;
    nearest_scratch *s = &bvh->scratch;
    const mesh_frame frame = frame_of(bvh);
    float limit = abuti_device_reach(bvh, m->radius);
    abut_status status = abuti_device_points_sort(bvh, &m->points, begin, count, m->room);
    if (!status)
        status = abuti_buffer_reserve(bvh->queue.device, m->most ? count : 1,
                                      (m->most ? m->most : 1) * sizeof(double), &g->heaps);
    if (!status)
        status = abuti_buffer_reserve(bvh->queue.device, count, sizeof(double), &g->reaches);
    if (!status)
        status =
            ABUTI_LAUNCH(&bvh->queue, &g->many_bound, groups_of(count, FIND_GROUP), FIND_GROUP,
                         ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                         ABUTI_BUFFER(&bvh->tree.order), ABUTI_BUFFER(&bvh->tree.corners),
                         ABUTI_VALUE(bvh->tree.triangle_count), ABUTI_BUFFER(&s->sorted),
                         ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                         ABUTI_VALUE(m->radius), ABUTI_VALUE(limit), ABUTI_VALUE(frame),
                         ABUTI_VALUE(m->most), ABUTI_BUFFER(&g->heaps), ABUTI_BUFFER(&g->reaches));
    return status;
}

static abut_status many_find(const device_quest *q, uint32_t count, uint32_t fill,
                             const abuti_buffer *begin, const abuti_buffer *places) {
    bvh_on_device *bvh = q->bvh;
    device_gather *g = &bvh->gather;
    nearest_scratch *s = &bvh->scratch;
    const mesh_frame frame = frame_of(bvh);
    return ABUTI_LAUNCH(&bvh->queue, &g->many_find, groups_of(count, FIND_GROUP), FIND_GROUP,
                        ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                        ABUTI_VALUE(bvh->tree.triangle_count), ABUTI_BUFFER(&s->sorted),
                        ABUTI_BUFFER(&s->exact), ABUTI_BUFFER(&s->order), ABUTI_VALUE(count),
                        ABUTI_VALUE(frame), ABUTI_BUFFER(&g->reaches), ABUTI_VALUE(fill),
                        ABUTI_BUFFER(begin), ABUTI_BUFFER(places));
}

static abut_status many_judge(const device_quest *q, uint32_t total) {
    const many_quest *m = q->user;
    bvh_on_device *bvh = q->bvh;
    device_gather *g = &bvh->gather;
    return ABUTI_LAUNCH(&bvh->queue, &g->many_judge, groups_of(total, FIND_GROUP), FIND_GROUP,
                        ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&bvh->tree.order),
                        ABUTI_BUFFER(&bvh->scratch.exact), ABUTI_VALUE(m->radius),
                        ABUTI_VALUE(total), ABUTI_BUFFER(&g->owners), ABUTI_BUFFER(&g->places),
                        ABUTI_BUFFER(&g->before), ABUTI_BUFFER(&g->keys),
                        ABUTI_BUFFER(&g->answers));
}

/* Both queries; `q` says how many are wanted and where they go. */
static abut_status ask_many(device_quest *q, many_quest *m) {
    device_gather *g = &q->bvh->gather;
    const abuti_kernel_name list[] = {{&g->many_bound, "many_bound"},
                                      {&g->many_find, "many_find"},
                                      {&g->many_judge, "many_judge"}};
    size_t bytes = bvh_point_bytes(m->points.type);
    q->gather.stage = "nearest";
    q->gather.count = m->points.count;
    q->answer_words = sizeof(abut_nearest) / 4;
    q->user = m;
    q->ready = many_ready;
    q->find = many_find;
    q->judge = many_judge;
    q->part = abuti_device_gather_part(q->bvh, m->points.count, POINT_BYTES, m->most);
    abut_status status = abuti_device_need(q->bvh, "many", list, sizeof list / sizeof *list);
    if (status)
        return status;
    m->room = abuti_allocate(q->bvh->context, m->points.stride == bytes ? 0 : q->part, bytes);
    status = m->room ? abuti_device_gather(q) : ABUT_ERROR_MEMORY;
    abuti_release(q->bvh->context, m->room);
    return status;
}

abut_status abuti_nearest_many_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, double radius, uint32_t k,
                                     abut_nearest *nearest, uint32_t *counts) {
    many_quest m = {.points = *points, .radius = radius};
    device_quest q = {.bvh = there, .most = k, .counts = counts, .row = k, .answers = nearest};
    abut_status status = abuti_device_check_doubles(function, there);
    if (status || !points->count)
        return status;
    if (!k) {
        memset(counts, 0, points->count * sizeof *counts);
        return ABUT_OK;
    }
    q.gather.function = function;
    m.most = k < there->tree.triangle_count ? k : 0;
    return ask_many(&q, &m);
}

abut_status abuti_nearest_within_there(bvh_on_device *there, const bvh_gather *gather,
                                       const bvh_points *points, double radius,
                                       abut_nearest *nearest) {
    many_quest m = {.points = *points, .radius = radius};
    device_quest q = {.bvh = there, .gather = *gather, .most = UINT32_MAX, .answers = nearest};
    abut_status status = abuti_device_check_doubles(gather->function, there);
    return status ? status : ask_many(&q, &m);
}
