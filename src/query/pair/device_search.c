/* The host side of pair.cl, pair_closest.cl and pair_measure.cl: frames of poses, buffers, and the
 * order of the kernels. */
#include "pair/device.h"

#include <math.h>

enum { POSES_PER_TASK = 64 };

void abuti_pair_search_posed(const abuti_pair_search *search, size_t i, abuti_posed posed[2]) {
    const abut_pair_poses *p = search->poses;
    memset(posed, 0, 2 * sizeof *posed);
    posed[0].bvh = p->a;
    posed[1].bvh = p->b;
    if (p->poses_a)
        posed[0].pose = p->poses_a[search->begin + i];
    if (p->poses_b)
        posed[1].pose = p->poses_b[search->begin + i];
}

/* ---- frames ---- */

/* A distance in floats below this, including its margin, is certainly within the limit. */
static float certain_upper(const abuti_pair_search *search, const pair_frame *frame) {
    if (!search->any)
        return -1;
    return bvh_float_below(real_min(search->limit * frame->scale, 8 * PAIR_FAR_DISTANCE)) *
           (1 - 0x1p-20f);
}

static void frames_task(void *data, size_t chunk, size_t begin, size_t end) {
    abuti_pair_search *search = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abuti_posed posed[2];
        pair_frame frame;
        abuti_pair_search_posed(search, i, posed);
        pair_pose *to = &search->frames[i];
        memset(to, 0, sizeof *to);
        to->is_skipped =
            !abuti_pair_frame_init(&posed[0], &posed[1], &frame) || frame.reach > PAIR_FAR_DISTANCE;
        for (int j = 0; j < 3; j++) {
            to->shift[j] = frame.side[0].shift[j];
            for (int k = 0; k < 3; k++)
                to->rotation[j][k] = frame.side[0].rotation[j][k];
        }
        to->pad = frame.pad;
        to->unit_a = frame.side[0].unit;
        to->unit_b = frame.side[1].unit;
        to->margin = abuti_pair_bounds(&frame, search->limit, &to->upper);
        to->certain_upper = certain_upper(search, &frame);
        for (int k = 0; k < 2 && search->is_measured; k++) {
            const abuti_motion *m = &frame.side[k].motion;
            search->motions[i][k] = (pair_motion){m->rotation, m->translation, m->rotates, 0,
                                                  search->any ? 0 : frame.tie};
        }
    }
}

/* ---- kernels and buffers ---- */

enum { INTERSECT, CLOSEST, MEASURE, KERNELS };
enum {
    FRAMES,
    MOTIONS,
    INTERSECTIONS,
    UNCERTAIN,
    UNCERTAIN_TOTAL,
    CANDIDATE_RANGES,
    CANDIDATES,
    CANDIDATES_TOTAL,
    CLOSEST_PAIRS,
    BUFFERS
};

static const abuti_kernel_source sources[KERNELS] = {[INTERSECT] = {"pair", "pair_intersect", NULL},
                                                     [CLOSEST] = {"pair_closest", "pair_closest",
                                                                  NULL},
                                                     [MEASURE] = {"pair_measure", "pair_measure",
                                                                  "-DABUTI_REAL_BITS=64"}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = BUFFERS};

/* Queues and kernels of two searches: one runs while the host works on the results of the other.
 * The second is opened only for more than one chunk of poses. */
typedef struct device_pair_queues {
    bvh_attachment attachment;
    abuti_queue queues[2];
    abuti_kit kits[2];
} device_pair_queues;

static abut_status open_pair_kit(device_pair_queues *pair, abut_device *device, uint32_t slot) {
    bool on_cpu = device->info.kind == ABUT_DEVICE_KIND_CPU;
    abuti_queue *queue = &pair->queues[slot];
    if (pair->kits[slot].queue)
        return ABUT_OK;
    abut_status status = queue->device ? ABUT_OK : abuti_queue_open(device, queue);
    return status ? status
                  : abuti_kit_open(queue, &table, on_cpu ? "-DAPART" : "", &pair->kits[slot]);
}

static abut_status create_pair_queues(bvh_attachment *attachment, void *owner) {
    (void)attachment;
    (void)owner;
    return ABUT_OK;
}

static void destroy_pair_queues(bvh_attachment *attachment) {
    device_pair_queues *pair = (device_pair_queues *)attachment;
    for (int k = 0; k < 2; k++) {
        abuti_kit_close(&pair->kits[k]);
        if (pair->queues[k].device)
            abuti_queue_close(&pair->queues[k]);
    }
}

static const bvh_attachment_kind pair_queues_kind = {sizeof(device_pair_queues), create_pair_queues,
                                                     NULL, destroy_pair_queues};

/* ---- a chunk ---- */

#define PAIR_BUFFERS(s)                                                                         \
    TREE((s)->a, nodes), TREE((s)->b, nodes), TREE((s)->a, triangles), TREE((s)->b, triangles), \
        TREE((s)->a, order), TREE((s)->b, order)

static void enqueue_kernels(abuti_pair_search *s) {
    abuti_kit *kit = s->kit;
    /* Transfers come first: they block, and would otherwise wait for the kernels. */
    abuti_kit_upload(kit, FRAMES, s->frames, s->count, sizeof *s->frames);
    if (s->is_measured)
        abuti_kit_upload(kit, MOTIONS, s->motions, s->count, sizeof *s->motions);
    abuti_kit_fill(kit, UNCERTAIN_TOTAL, 0, sizeof(uint32_t));
    ABUTI_KIT_GROUPS(kit, INTERSECT, s->count, PAIR_GROUP, PAIR_BUFFERS(s), KIT_BUFFER(kit, FRAMES),
                     KIT_BUFFER(kit, INTERSECTIONS), KIT_BUFFER(kit, UNCERTAIN),
                     KIT_BUFFER(kit, UNCERTAIN_TOTAL), ABUTI_LOCAL_MEMORY(INTERSECT_BYTES));
    if (!s->distances)
        return;
    abuti_kit_fill(kit, CANDIDATES_TOTAL, 0, sizeof(uint32_t));
    ABUTI_KIT_GROUPS(kit, CLOSEST, s->count, PAIR_GROUP, PAIR_BUFFERS(s), KIT_BUFFER(kit, FRAMES),
                     KIT_BUFFER(kit, INTERSECTIONS), KIT_BUFFER(kit, CANDIDATE_RANGES),
                     KIT_BUFFER(kit, CANDIDATES), KIT_BUFFER(kit, CANDIDATES_TOTAL),
                     ABUTI_LOCAL_MEMORY(CLOSEST_BYTES));
    if (!s->is_measured)
        return;
    ABUTI_KIT_GROUPS(kit, MEASURE, s->count, MEASURE_GROUP, TREE(s->a, corners),
                     TREE(s->b, corners), KIT_BUFFER(kit, MOTIONS), KIT_BUFFER(kit, INTERSECTIONS),
                     KIT_BUFFER(kit, CANDIDATE_RANGES), KIT_BUFFER(kit, CANDIDATES),
                     KIT_BUFFER(kit, CLOSEST_PAIRS), ABUTI_LOCAL_MEMORY(MEASURE_BYTES));
}

/* Downloads `total` consecutive pairs. */
static abut_status download_pairs(abuti_pair_search *s, pair_list *list, uint32_t from,
                                  uint32_t total) {
    abut_context *context = s->a->context;
    if (total > list->capacity) {
        abuti_release(context, list->pairs);
        list->pairs = abuti_allocate(context, total, sizeof *list->pairs);
        list->capacity = list->pairs ? total : 0;
        if (!list->pairs)
            return ABUT_ERROR_MEMORY;
    }
    return abuti_kit_download(s->kit, from, list->pairs, total, sizeof *list->pairs);
}

/* The same for the number of pairs that the device has counted. */
static abut_status download_counted_pairs(abuti_pair_search *s, pair_list *list, uint32_t from,
                                          uint32_t count) {
    uint32_t total = 0;
    abut_status status = abuti_kit_download(s->kit, count, &total, 1, sizeof total);
    return status || !total ? status : download_pairs(s, list, from, total);
}

void abuti_pair_search_begin(abuti_pair_search *s, size_t begin, size_t count) {
    s->begin = begin;
    s->count = count;
    s->is_running = true;
    abuti_parallel_for(s->a->context, count, POSES_PER_TASK, frames_task, s);
    enqueue_kernels(s);
}

abut_status abuti_pair_search_end(abuti_pair_search *s) {
    const size_t count = s->count;
    s->is_running = false;
    abut_status status = abuti_kit_download(s->kit, INTERSECTIONS, s->intersections, count,
                                            sizeof *s->intersections);
    status = status ? status : download_counted_pairs(s, &s->uncertain, UNCERTAIN, UNCERTAIN_TOTAL);
    if (!status && s->distances)
        status =
            abuti_kit_download(s->kit, CANDIDATE_RANGES, s->closest, count, sizeof *s->closest);
    if (!status && s->distances)
        status = s->is_measured
                     ? download_pairs(s, &s->candidates, CLOSEST_PAIRS, (uint32_t)count)
                     : download_counted_pairs(s, &s->candidates, CANDIDATES, CANDIDATES_TOTAL);
    return status;
}

/* ---- open and close ---- */

static void reserve_buffers(const abuti_pair_search *s, size_t capacity) {
    const size_t pair = 2 * sizeof(uint32_t), word = sizeof(uint32_t);
    abuti_kit_reserve(s->kit, FRAMES, capacity, sizeof *s->frames);
    abuti_kit_reserve(s->kit, INTERSECTIONS, capacity, pair);
    abuti_kit_reserve(s->kit, UNCERTAIN, capacity * PAIR_UNCERTAIN_MAX, pair);
    abuti_kit_reserve(s->kit, UNCERTAIN_TOTAL, 1, word);
    if (s->distances) {
        abuti_kit_reserve(s->kit, CANDIDATE_RANGES, capacity, pair);
        abuti_kit_reserve(s->kit, CANDIDATES, capacity * PAIR_CANDIDATES_MAX, pair);
        abuti_kit_reserve(s->kit, CANDIDATES_TOTAL, 1, word);
    }
    if (s->is_measured) {
        abuti_kit_reserve(s->kit, MOTIONS, capacity, sizeof *s->motions);
        abuti_kit_reserve(s->kit, CLOSEST_PAIRS, capacity, pair);
    }
}

abut_status abuti_pair_search_open(abuti_pair_search *s, size_t capacity) {
    abut_context *context = s->a->context;
    bvh_attachment *attachment;
    abut_status status = abuti_on_device_attachment(s->a, &pair_queues_kind, &attachment);
    status = status ? status
                    : open_pair_kit((device_pair_queues *)attachment, s->a->queue.device, s->slot);
    if (status)
        return status;
    s->kit = &((device_pair_queues *)attachment)->kits[s->slot];
    s->is_measured = s->distances && on_device_has_doubles(s->a) && on_device_has_doubles(s->b);
    s->frames = abuti_allocate(context, capacity, sizeof *s->frames);
    s->intersections = abuti_allocate(context, capacity, sizeof *s->intersections);
    s->closest = abuti_allocate(context, s->distances ? capacity : 0, sizeof *s->closest);
    s->motions = abuti_allocate(context, s->is_measured ? capacity : 0, sizeof *s->motions);
    if (!s->frames || !s->intersections || !s->closest || !s->motions)
        return ABUT_ERROR_MEMORY;
    reserve_buffers(s, capacity);
    return abuti_kit_finish(s->kit);
}

void abuti_pair_search_close(abuti_pair_search *s) {
    void *const memory[] = {s->frames,  s->intersections,   s->closest,
                            s->motions, s->uncertain.pairs, s->candidates.pairs};
    if (s->is_running) /* aborted, since another search failed */
        abuti_kit_finish(s->kit);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        abuti_release(s->a->context, memory[i]);
}
