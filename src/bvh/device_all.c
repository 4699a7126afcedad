/* The host's side of ray_all.cl and box.cl: all hits of many rays, and the triangles in many boxes.
 * A ray is six doubles and a box, too, so both go one way. */
#include "bvh/device_gather.h"

#define FIND_GROUP 128
#define QUESTION_BYTES 64

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_box) == 48,
               "the layouts that ray_all.cl and box.cl read");

typedef struct all_quest {
    const unsigned char *questions;
    abuti_kernel *find, *judge;
} all_quest;

static abut_status all_ready(const device_quest *q, size_t begin, uint32_t count) {
    const all_quest *a = q->user;
    abut_status status =
        abuti_buffer_reserve(q->bvh->queue.device, count, sizeof(abut_ray), &q->bvh->in);
    return status ? status
                  : abuti_buffer_upload(&q->bvh->queue, &q->bvh->in, 0,
                                        a->questions + begin * sizeof(abut_ray),
                                        count * sizeof(abut_ray));
}

static abut_status all_find(const device_quest *q, uint32_t count, uint32_t fill,
                            const abuti_buffer *begin, const abuti_buffer *places) {
    const all_quest *a = q->user;
    bvh_on_device *bvh = q->bvh;
    const mesh_frame frame = frame_of(bvh);
    return ABUTI_LAUNCH(&bvh->queue, a->find, groups_of(count, FIND_GROUP), FIND_GROUP,
                        ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                        ABUTI_VALUE(bvh->tree.triangle_count), ABUTI_BUFFER(&bvh->in),
                        ABUTI_VALUE(count), ABUTI_VALUE(frame), ABUTI_VALUE(fill),
                        ABUTI_BUFFER(begin), ABUTI_BUFFER(places));
}

static abut_status all_judge(const device_quest *q, uint32_t total) {
    const all_quest *a = q->user;
    bvh_on_device *bvh = q->bvh;
    device_gather *g = &bvh->gather;
    return ABUTI_LAUNCH(&bvh->queue, a->judge, groups_of(total, FIND_GROUP), FIND_GROUP,
                        ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&bvh->tree.order),
                        ABUTI_BUFFER(&bvh->in), ABUTI_VALUE(total), ABUTI_BUFFER(&g->owners),
                        ABUTI_BUFFER(&g->places), ABUTI_BUFFER(&g->before), ABUTI_BUFFER(&g->keys),
                        ABUTI_BUFFER(&g->answers));
}

abut_status abuti_device_ask_all(device_quest *q, const char *module, const abuti_kernel_name *list,
                                 const void *questions, size_t answer_bytes) {
    all_quest a = {questions, list[0].kernel, list[1].kernel};
    q->most = UINT32_MAX;
    q->answer_words = (uint32_t)(answer_bytes / 4);
    q->user = &a;
    q->ready = all_ready;
    q->find = all_find;
    q->judge = all_judge;
    q->part = abuti_device_gather_part(q->bvh, q->gather.count, QUESTION_BYTES, 0);
    abut_status status = abuti_device_check_doubles(q->gather.function, q->bvh);
    if (!status && q->gather.count)
        status = abuti_device_need(q->bvh, module, list, 2);
    return status ? status : abuti_device_gather(q);
}

abut_status abuti_bvh_boxes_there(bvh_on_device *there, const bvh_gather *gather,
                                  const abut_box *boxes, uint32_t *triangles) {
    device_quest q = {.bvh = there, .gather = *gather, .answers = triangles};
    const abuti_kernel_name list[] = {{&there->gather.box_find, "box_find"},
                                      {&there->gather.box_judge, "box_judge"}};
    return abuti_device_ask_all(&q, "box", list, boxes, sizeof *triangles);
}
