/* The host's side of pair.cl, pair_closest.cl and pair_measure.cl: frames of poses, buffers, and
 * the order of the kernels. */
#include "pair/device.h"

#include <math.h>

enum { TASK_POSES = 64 };

void abuti_pair_search_posed(const abuti_pair_search *search, size_t i, abut_posed posed[2]) {
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

/* A distance that is below this in floats, margin included, is within the limit. */
static float sure_below(const abuti_pair_search *search, const pair_frame *frame) {
    if (!search->any)
        return -1;
    return bvh_float_below(real_min(search->limit * frame->scale, 8 * PAIR_FAR)) * (1 - 0x1p-20f);
}

static void frames_task(void *data, size_t chunk, size_t begin, size_t end) {
    abuti_pair_search *search = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_posed posed[2];
        pair_frame frame;
        abuti_pair_search_posed(search, i, posed);
        pair_pose *to = &search->frames[i];
        memset(to, 0, sizeof *to);
        to->skip = !abuti_pair_start(&posed[0], &posed[1], &frame) || frame.reach > PAIR_FAR;
        for (int j = 0; j < 3; j++) {
            to->shift[j] = frame.side[0].shift[j];
            for (int k = 0; k < 3; k++)
                to->turn[j][k] = frame.side[0].turn[j][k];
        }
        to->pad = frame.pad;
        to->unit_a = frame.side[0].unit;
        to->unit_b = frame.side[1].unit;
        to->margin = abuti_pair_bounds(&frame, search->limit, &to->upper);
        to->sure = sure_below(search, &frame);
        for (int k = 0; k < 2 && search->measured; k++) {
            const abuti_motion *m = &frame.side[k].motion;
            search->motions[i][k] = (pair_motion){m->rotation, m->translation, m->rotates, 0,
                                                  search->any ? 0 : frame.tie};
        }
    }
}

/* ---- the kit ---- */

enum { MEET, CLOSEST, MEASURE, KERNELS };
enum {
    FRAMES,
    MOTIONS,
    MEETINGS,
    UNSURE,
    UNSURE_TOTAL,
    FOUND,
    CANDIDATES,
    CANDIDATES_TOTAL,
    WINNERS,
    BUFFERS
};

static const abuti_kernel_source sources[KERNELS] = {[MEET] = {"pair", "pair_meet", NULL},
                                                     [CLOSEST] = {"pair_closest", "pair_closest",
                                                                  NULL},
                                                     [MEASURE] = {"pair_measure", "pair_measure",
                                                                  "-DABUTI_REAL_BITS=64"}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = BUFFERS};

/* For a search that goes on while the host works on what another one found. The second comes where
 * there are poses enough. */
typedef struct pair_there {
    bvh_part part;
    abuti_queue queues[2];
    abuti_kit kits[2];
} pair_there;

static abut_status open_kit(pair_there *pair, abut_device *device, uint32_t which) {
    bool on_cpu = device->info.kind == ABUT_DEVICE_KIND_CPU;
    abuti_queue *queue = &pair->queues[which];
    if (pair->kits[which].queue)
        return ABUT_OK;
    abut_status status = queue->device ? ABUT_OK : abuti_queue_open(device, queue);
    return status ? status
                  : abuti_kit_open(queue, &table, on_cpu ? "-DAPART" : "", &pair->kits[which]);
}

static abut_status create(bvh_part *part, void *owner) {
    (void)part;
    (void)owner;
    return ABUT_OK;
}

static void destroy(bvh_part *part) {
    pair_there *pair = (pair_there *)part;
    for (int k = 0; k < 2; k++) {
        abuti_kit_close(&pair->kits[k]);
        if (pair->queues[k].device)
            abuti_queue_close(&pair->queues[k]);
    }
}

static const bvh_part_kind pair_kind = {sizeof(pair_there), create, NULL, destroy};

/* ---- a part ---- */

#define TREES(s)                                                                                \
    TREE((s)->a, nodes), TREE((s)->b, nodes), TREE((s)->a, triangles), TREE((s)->b, triangles), \
        TREE((s)->a, order), TREE((s)->b, order)

static void queue_all(abuti_pair_search *s) {
    abuti_kit *kit = s->kit;
    /* Transfers first: they wait, and would wait for kernels. */
    abuti_kit_put(kit, FRAMES, s->frames, s->count, sizeof *s->frames);
    if (s->measured)
        abuti_kit_put(kit, MOTIONS, s->motions, s->count, sizeof *s->motions);
    abuti_kit_fill(kit, UNSURE_TOTAL, 0, sizeof(uint32_t));
    ABUTI_KIT_GROUPS(kit, MEET, s->count, PAIR_GROUP, TREES(s), KIT_BUFFER(kit, FRAMES),
                     KIT_BUFFER(kit, MEETINGS), KIT_BUFFER(kit, UNSURE),
                     KIT_BUFFER(kit, UNSURE_TOTAL), ABUTI_LOCAL_MEMORY(MEET_BYTES));
    if (!s->distances)
        return;
    abuti_kit_fill(kit, CANDIDATES_TOTAL, 0, sizeof(uint32_t));
    ABUTI_KIT_GROUPS(kit, CLOSEST, s->count, PAIR_GROUP, TREES(s), KIT_BUFFER(kit, FRAMES),
                     KIT_BUFFER(kit, MEETINGS), KIT_BUFFER(kit, FOUND), KIT_BUFFER(kit, CANDIDATES),
                     KIT_BUFFER(kit, CANDIDATES_TOTAL), ABUTI_LOCAL_MEMORY(CLOSEST_BYTES));
    if (!s->measured)
        return;
    ABUTI_KIT_GROUPS(kit, MEASURE, s->count, MEASURE_GROUP, TREE(s->a, corners),
                     TREE(s->b, corners), KIT_BUFFER(kit, MOTIONS), KIT_BUFFER(kit, MEETINGS),
                     KIT_BUFFER(kit, FOUND), KIT_BUFFER(kit, CANDIDATES), KIT_BUFFER(kit, WINNERS),
                     ABUTI_LOCAL_MEMORY(MEASURE_BYTES));
}

/* Brings back `total` pairs; they lie one after the other. */
static abut_status fetch_pairs(abuti_pair_search *s, pair_list *list, uint32_t from,
                               uint32_t total) {
    abut_context *context = s->a->context;
    if (total > list->room) {
        abuti_release(context, list->pairs);
        list->pairs = abuti_allocate(context, total, sizeof *list->pairs);
        list->room = list->pairs ? total : 0;
        if (!list->pairs)
            return ABUT_ERROR_MEMORY;
    }
    return abuti_kit_get(s->kit, from, list->pairs, total, sizeof *list->pairs);
}

/* The same for as many as the device has counted. */
static abut_status fetch_counted(abuti_pair_search *s, pair_list *list, uint32_t from,
                                 uint32_t count) {
    uint32_t total = 0;
    abut_status status = abuti_kit_get(s->kit, count, &total, 1, sizeof total);
    return status || !total ? status : fetch_pairs(s, list, from, total);
}

void abuti_pair_search_begin(abuti_pair_search *s, size_t begin, size_t count) {
    s->begin = begin;
    s->count = count;
    s->under_way = true;
    abuti_parallel_for(s->a->context, count, TASK_POSES, frames_task, s);
    queue_all(s);
}

abut_status abuti_pair_search_end(abuti_pair_search *s) {
    const size_t count = s->count;
    s->under_way = false;
    abut_status status = abuti_kit_get(s->kit, MEETINGS, s->meetings, count, sizeof *s->meetings);
    status = status ? status : fetch_counted(s, &s->unsure, UNSURE, UNSURE_TOTAL);
    if (!status && s->distances)
        status = abuti_kit_get(s->kit, FOUND, s->closest, count, sizeof *s->closest);
    if (!status && s->distances)
        status = s->measured ? fetch_pairs(s, &s->candidates, WINNERS, (uint32_t)count)
                             : fetch_counted(s, &s->candidates, CANDIDATES, CANDIDATES_TOTAL);
    return status;
}

/* ---- open and close ---- */

static void reserve(const abuti_pair_search *s, size_t room) {
    const size_t pair = 2 * sizeof(uint32_t), word = sizeof(uint32_t);
    abuti_kit_reserve(s->kit, FRAMES, room, sizeof *s->frames);
    abuti_kit_reserve(s->kit, MEETINGS, room, pair);
    abuti_kit_reserve(s->kit, UNSURE, room * PAIR_UNSURE, pair);
    abuti_kit_reserve(s->kit, UNSURE_TOTAL, 1, word);
    if (s->distances) {
        abuti_kit_reserve(s->kit, FOUND, room, pair);
        abuti_kit_reserve(s->kit, CANDIDATES, room * PAIR_CANDIDATES, pair);
        abuti_kit_reserve(s->kit, CANDIDATES_TOTAL, 1, word);
    }
    if (s->measured) {
        abuti_kit_reserve(s->kit, MOTIONS, room, sizeof *s->motions);
        abuti_kit_reserve(s->kit, WINNERS, room, pair);
    }
}

abut_status abuti_pair_search_open(abuti_pair_search *s, size_t room) {
    abut_context *context = s->a->context;
    bvh_part *part;
    abut_status status = abuti_there_part(s->a, &pair_kind, &part);
    status = status ? status : open_kit((pair_there *)part, s->a->queue.device, s->which);
    if (status)
        return status;
    s->kit = &((pair_there *)part)->kits[s->which];
    s->measured = s->distances && there_has_doubles(s->a) && there_has_doubles(s->b);
    s->frames = abuti_allocate(context, room, sizeof *s->frames);
    s->meetings = abuti_allocate(context, room, sizeof *s->meetings);
    s->closest = abuti_allocate(context, s->distances ? room : 0, sizeof *s->closest);
    s->motions = abuti_allocate(context, s->measured ? room : 0, sizeof *s->motions);
    if (!s->frames || !s->meetings || !s->closest || !s->motions)
        return ABUT_ERROR_MEMORY;
    reserve(s, room);
    return abuti_kit_finish(s->kit);
}

void abuti_pair_search_close(abuti_pair_search *s) {
    void *const memory[] = {s->frames,  s->meetings,     s->closest,
                            s->motions, s->unsure.pairs, s->candidates.pairs};
    if (s->under_way) /* given up, since another failed */
        abuti_kit_finish(s->kit);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        abuti_release(s->a->context, memory[i]);
}
