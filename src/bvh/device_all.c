/* The host's side of ray_all.cl and box.cl: all hits of many rays, and the triangles in many boxes.
 * A ray is six doubles and a box, too, so both go one way. */
#include "bvh/device_gather.h"

enum { FIND_GROUP = 128, QUESTION_BYTES = 64 };

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_box) == 48,
               "the layouts that ray_all.cl and box.cl read");

static void all_ready(const device_quest *q, size_t begin, uint32_t count) {
    const device_all *a = q->user;
    abuti_kit *io = &q->there->io;
    const size_t bytes = sizeof(abut_ray);
    if (!a->questions.buffer) {
        abuti_kit_put(io, BVH_IN, (const unsigned char *)a->questions.host + begin * bytes, count,
                      bytes);
        return;
    }
    abuti_kit_reserve(io, BVH_IN, count, bytes);
    abuti_kit_fail(io,
                   abuti_buffer_copy_part(io->queue, &a->questions.buffer->memory, begin * bytes,
                                          &io->buffers[BVH_IN], 0, count * bytes));
}

static void all_find(const device_quest *q, uint32_t count, uint32_t fill,
                     const abuti_buffer *begin, const abuti_buffer *places) {
    const device_all *a = q->user;
    const mesh_frame frame = frame_of(q->there);
    const abuti_buffer *nodes = a->nodes ? a->nodes : &q->there->tree.nodes;
    ABUTI_KIT_RUN(a->kit, a->find, count, FIND_GROUP, ABUTI_BUFFER(nodes),
                  TREE(q->there, triangles), ABUTI_VALUE(q->there->tree.triangle_count),
                  KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(count), ABUTI_VALUE(frame),
                  ABUTI_VALUE(fill), ABUTI_BUFFER(begin), ABUTI_BUFFER(places));
}

static void all_judge(const device_quest *q, uint32_t total) {
    const device_all *a = q->user;
    const abuti_kit *lists = &q->lists->kit;
    ABUTI_KIT_RUN(a->kit, a->judge, total, FIND_GROUP, TREE(q->there, corners),
                  TREE(q->there, order), KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(total),
                  KIT_BUFFER(lists, GATHER_OWNERS), KIT_BUFFER(lists, GATHER_PLACES),
                  KIT_BUFFER(lists, GATHER_BEFORE), KIT_BUFFER(lists, GATHER_KEYS),
                  KIT_BUFFER(lists, GATHER_ANSWERS));
}

abut_status abuti_device_refuse(const char *function, const device_all *a, uint32_t refused) {
    return refused == ABUT_NONE ? ABUT_OK
                                : abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s %u %s", function, a->name,
                                             refused, a->what);
}

abut_status abuti_device_check_all(const char *function, const device_all *a, size_t count) {
    const double most = ABUT_COORDINATE_MAX;
    const uint32_t questions = (uint32_t)count, none = UINT32_MAX;
    uint32_t refused = none;
    abuti_buffer word = {0};
    if (!a->questions.buffer || !count)
        return ABUT_OK;
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu %s; at most %u are possible at once", function,
                          count, a->name, ABUT_NONE - 1);
    abuti_buffer_make(a->kit->queue, &none, 1, sizeof none, &word);
    ABUTI_KIT_RUN(a->kit, a->check, count, FIND_GROUP, ABUTI_BUFFER(&a->questions.buffer->memory),
                  ABUTI_VALUE(questions), ABUTI_VALUE(most), ABUTI_BUFFER(&word));
    abut_status status = abuti_buffer_download(a->kit->queue, &word, 0, &refused, sizeof refused);
    abuti_buffer_destroy(&word);
    return status ? status : abuti_device_refuse(function, a, refused);
}

abut_status abuti_device_ask_all(const bvh_gather *gather, const device_all *all) {
    bvh_on_device *there = gather->bvh->there;
    device_quest q = {.there = there,
                      .gather = gather,
                      .most = UINT32_MAX,
                      .part = abuti_device_gather_part(there, gather->count, QUESTION_BYTES, 0),
                      .user = (void *)(uintptr_t)all,
                      .ready = all_ready,
                      .find = all_find,
                      .judge = all_judge};
    abut_status status = abuti_device_check_doubles(gather->function, there);
    status = status ? status : abuti_device_check_all(gather->function, all, gather->count);
    return status ? status : abuti_device_gather(&q);
}

/* ---- boxes ---- */

enum { BOX_CHECK, BOX_FIND, BOX_JUDGE, BOX_KERNELS };

static const abuti_kernel_source sources[BOX_KERNELS] = {[BOX_CHECK] = {"box", "box_check", NULL},
                                                         [BOX_FIND] = {"box", "box_find", NULL},
                                                         [BOX_JUDGE] = {"box", "box_judge", NULL}};
static const abuti_kit_table table = {.sources = sources, .kernel_count = BOX_KERNELS};

typedef struct box_there {
    bvh_part part;
    abuti_kit kit;
} box_there;

static abut_status create(bvh_part *part, void *owner) {
    return abuti_there_kit(owner, &table, &((box_there *)part)->kit);
}

static void destroy(bvh_part *part) {
    abuti_kit_close(&((box_there *)part)->kit);
}

static const bvh_part_kind box_kind = {sizeof(box_there), create, NULL, destroy};

abut_status abuti_bvh_boxes_there(const bvh_gather *gather, abut_array boxes) {
    bvh_part *part;
    abut_status status = abuti_there_part(gather->bvh->there, &box_kind, &part);
    if (status)
        return status;
    const device_all all = {&((box_there *)part)->kit,
                            BOX_CHECK,
                            BOX_FIND,
                            BOX_JUDGE,
                            boxes,
                            "box",
                            "is not finite, or too large, or has lo beyond hi",
                            NULL};
    return abuti_device_ask_all(gather, &all);
}
