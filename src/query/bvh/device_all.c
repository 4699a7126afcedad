/* The host side of ray_all.cl and box.cl: all hits of many rays, and the triangles in many boxes.
 * Both a ray and a box are six doubles, so they share this code. */
#include "bvh/device_gather.h"

enum { FIND_GROUP = 128, QUERY_BYTES = 64 };

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_box) == 48,
               "the layouts that ray_all.cl and box.cl read");

static void upload_queries(const device_query *q, size_t begin, uint32_t count) {
    const device_all *a = q->user;
    abuti_kit *io = &q->there->io;
    const size_t bytes = sizeof(abut_ray);
    if (!a->queries.buffer) {
        abuti_kit_upload(io, BVH_IN, (const unsigned char *)a->queries.host + begin * bytes, count,
                         bytes);
        return;
    }
    abuti_kit_reserve(io, BVH_IN, count, bytes);
    abuti_kit_fail(io, abuti_buffer_copy_part(io->queue, &a->queries.buffer->memory, begin * bytes,
                                              &io->buffers[BVH_IN], 0, count * bytes));
}

static void enqueue_find(const device_query *q, uint32_t count, uint32_t fill,
                         const abuti_buffer *begin, const abuti_buffer *places) {
    const device_all *a = q->user;
    const mesh_frame frame = frame_of(q->there);
    const abuti_buffer *nodes = a->nodes ? a->nodes : &q->there->tree.nodes;
    ABUTI_KIT_RUN(a->kit, a->find, count, FIND_GROUP, ABUTI_BUFFER(nodes),
                  TREE(q->there, triangles), ABUTI_VALUE(q->there->tree.triangle_count),
                  KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(count), ABUTI_VALUE(frame),
                  ABUTI_VALUE(fill), ABUTI_BUFFER(begin), ABUTI_BUFFER(places));
}

static void enqueue_decide(const device_query *q, uint32_t total) {
    const device_all *a = q->user;
    const abuti_kit *lists = &q->lists->kit;
    ABUTI_KIT_RUN(a->kit, a->decide, total, FIND_GROUP, TREE(q->there, corners),
                  TREE(q->there, order), KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(total),
                  KIT_BUFFER(lists, GATHER_OWNERS), KIT_BUFFER(lists, GATHER_PLACES),
                  KIT_BUFFER(lists, GATHER_BEFORE), KIT_BUFFER(lists, GATHER_KEYS),
                  KIT_BUFFER(lists, GATHER_ANSWERS));
}

abut_status abuti_device_reject(const char *function, const device_all *a, uint32_t rejected) {
    return rejected == ABUT_NONE ? ABUT_OK
                                 : abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s %u %s", function,
                                              a->name, rejected, a->condition);
}

abut_status abuti_device_check_all(const char *function, const device_all *a, size_t count) {
    const double coordinate_max = ABUT_COORDINATE_MAX;
    const uint32_t queries = (uint32_t)count, none = UINT32_MAX;
    uint32_t rejected = none;
    abuti_buffer word = {0};
    if (!a->queries.buffer || !count)
        return ABUT_OK;
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu %s; at most %u are possible at once", function,
                          count, a->name, ABUT_NONE - 1);
    abuti_buffer_make(a->kit->queue, &none, 1, sizeof none, &word);
    ABUTI_KIT_RUN(a->kit, a->check, count, FIND_GROUP, ABUTI_BUFFER(&a->queries.buffer->memory),
                  ABUTI_VALUE(queries), ABUTI_VALUE(coordinate_max), ABUTI_BUFFER(&word));
    abut_status status = abuti_buffer_download(a->kit->queue, &word, 0, &rejected, sizeof rejected);
    abuti_buffer_destroy(&word);
    return status ? status : abuti_device_reject(function, a, rejected);
}

abut_status abuti_device_run_all(const bvh_gather *gather, const device_all *all) {
    bvh_on_device *there = gather->bvh->there;
    device_query q = {.there = there,
                      .gather = gather,
                      .results_max = UINT32_MAX,
                      .batch_size =
                          abuti_device_gather_batch_size(there, gather->count, QUERY_BYTES, 0),
                      .user = (void *)(uintptr_t)all,
                      .upload = upload_queries,
                      .find = enqueue_find,
                      .decide = enqueue_decide};
    abut_status status = abuti_device_check_doubles(gather->function, there);
    status = status ? status : abuti_device_check_all(gather->function, all, gather->count);
    return status ? status : abuti_device_gather(&q);
}

/* ---- boxes ---- */

enum { BOX_CHECK, BOX_FIND, BOX_DECIDE, BOX_KERNELS };

static const abuti_kernel_source sources[BOX_KERNELS] = {[BOX_CHECK] = {"box", "box_check", NULL},
                                                         [BOX_FIND] = {"box", "box_find", NULL},
                                                         [BOX_DECIDE] = {"box", "box_decide",
                                                                         NULL}};
static const abuti_kit_table table = {.sources = sources, .kernel_count = BOX_KERNELS};

typedef struct box_attachment {
    bvh_attachment attachment;
    abuti_kit kit;
} box_attachment;

static abut_status create_box_kit(bvh_attachment *attachment, void *owner) {
    return abuti_on_device_kit(owner, &table, &((box_attachment *)attachment)->kit);
}

static void destroy_box_kit(bvh_attachment *attachment) {
    abuti_kit_close(&((box_attachment *)attachment)->kit);
}

static const bvh_attachment_kind box_kind = {sizeof(box_attachment), create_box_kit, NULL,
                                             destroy_box_kit};

abut_status abuti_bvh_boxes_on_device(const bvh_gather *gather, abut_array boxes) {
    bvh_attachment *attachment;
    abut_status status = abuti_on_device_attachment(gather->bvh->there, &box_kind, &attachment);
    if (status)
        return status;
    const device_all all = {&((box_attachment *)attachment)->kit,
                            BOX_CHECK,
                            BOX_FIND,
                            BOX_DECIDE,
                            boxes,
                            "box",
                            "is not finite, is too large, or has lo beyond hi",
                            NULL};
    return abuti_device_run_all(gather, &all);
}
