/* Queries between two meshes at many poses: surfaces on a device, the rest on the host.
 *
 * For each pose the device reports that surfaces intersect, that they do not, or the few pairs of
 * triangles that floats cannot decide; the exact predicate decides those on the host. If surfaces
 * do not intersect, the CPU tests containment, which rarely needs more than bounding boxes. For
 * distances the device returns the closest triangles, or without doubles the candidates, and the
 * host measures them. Hence the results equal those of batch.c. The CPU computes, with its own tree
 * (bvh/attachments.c), the poses that overflow the lists of the device, and which of several
 * intersecting pairs of triangles is reported.
 */
#include "bvh/on_device.h"
#include "geom/intersect_shared.h"
#include "pair/pair.h"

#include <math.h>

/* Poses of a chunk: the host works on one chunk while the device searches the next. */
enum { CHUNKS = 8, CHUNK_POSES_MIN = 1 << 12, CHUNK_POSES_MAX = 1 << 15, POSES_PER_TASK = 64 };

/* Pairs of triangles of all poses of a chunk, on the host. */
typedef struct pair_list {
    uint32_t (*pairs)[2];
    size_t capacity;
} pair_list;

/* A search at the poses of a chunk. */
typedef struct device_search {
    pair_batch *batch;
    bvh_on_device *a, *b;
    bool distances; /* otherwise only whether surfaces intersect */
    uint32_t slot;  /* 0 or 1: two searches may run at once */
    size_t begin, count;
    /* Pairs of triangles that may intersect: their first index in `uncertain` and their number, or
     * an undefined index and PAIR_INTERSECTS or PAIR_OVERFLOW. */
    uint32_t (*intersections)[2];
    pair_list uncertain;
    /* If distances are computed and surfaces may not intersect: the same for pairs that may be
     * closest, or PAIR_OVERFLOW or PAIR_WITHIN. If the device has measured them, `candidates` has
     * only the closest pair of each pose, at the index of the pose. */
    uint32_t (*closest)[2];
    pair_list candidates;
    bool is_measured;
    pair_pose *frames;
    pair_motion (*motions)[2];
    abuti_kit *kit; /* of an attachment of a, with a queue of its own */
    bool is_running;
} device_search;

static void posed_sides(const device_search *search, size_t i, abuti_posed posed[2]) {
    const abut_pair_poses *p = &search->batch->poses;
    memset(posed, 0, 2 * sizeof *posed);
    posed[0].bvh = p->a;
    posed[1].bvh = p->b;
    if (p->poses_a)
        posed[0].pose = p->poses_a[search->begin + i];
    if (p->poses_b)
        posed[1].pose = p->poses_b[search->begin + i];
}

/* ---- frames ---- */

static void frames_task(void *data, size_t chunk, size_t begin, size_t end) {
    device_search *search = data;
    const double limit = search->batch->limit;
    const bool any = search->batch->what == PAIR_QUERY_WITHIN;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abuti_posed posed[2];
        pair_frame frame;
        posed_sides(search, i, posed);
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
        to->margin = abuti_pair_bounds(&frame, limit, &to->upper);
        /* a distance in floats below this, including its margin, is certainly within the limit */
        to->certain_upper =
            any ? bvh_float_below(real_min(limit * frame.scale, 8 * PAIR_FAR_DISTANCE)) *
                      (1 - 0x1p-20f)
                : -1;
        for (int k = 0; k < 2 && search->is_measured; k++) {
            const abuti_motion *m = &frame.side[k].motion;
            search->motions[i][k] =
                (pair_motion){m->rotation, m->translation, m->rotates, 0, any ? 0 : frame.tie};
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

static void enqueue_kernels(device_search *s) {
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
static abut_status download_pairs(device_search *s, pair_list *list, uint32_t from,
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
static abut_status download_counted_pairs(device_search *s, pair_list *list, uint32_t from,
                                          uint32_t count) {
    uint32_t total = 0;
    abut_status status = abuti_kit_download(s->kit, count, &total, 1, sizeof total);
    return status || !total ? status : download_pairs(s, list, from, total);
}

static void begin_search(device_search *s, size_t begin, size_t count) {
    s->begin = begin;
    s->count = count;
    s->is_running = true;
    abuti_parallel_for(s->a->context, count, POSES_PER_TASK, frames_task, s);
    enqueue_kernels(s);
}

static abut_status end_search(device_search *s) {
    const size_t count = s->count;
    s->is_running = false;
    abut_status status = abuti_kit_download(s->kit, INTERSECTIONS, s->intersections, count,
                                            sizeof *s->intersections);
    if (!status)
        status = download_counted_pairs(s, &s->uncertain, UNCERTAIN, UNCERTAIN_TOTAL);
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

static void reserve_buffers(const device_search *s, size_t capacity) {
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

static abut_status open_search(device_search *s, size_t capacity) {
    abut_context *context = s->a->context;
    bvh_attachment *attachment;
    abut_status status;
    if ((status = abuti_on_device_attachment(s->a, &pair_queues_kind, &attachment)) ||
        (status = open_pair_kit((device_pair_queues *)attachment, s->a->queue.device, s->slot)))
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

static void close_search(device_search *s) {
    void *const memory[] = {s->frames,  s->intersections,   s->closest,
                            s->motions, s->uncertain.pairs, s->candidates.pairs};
    if (s->is_running) /* aborted, since another search failed */
        abuti_kit_finish(s->kit);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        abuti_release(s->a->context, memory[i]);
}

/* ---- results ---- */

/* Whether one of the pairs intersects that the device could not decide. */
static bool uncertain_pairs_intersect(const device_search *s, size_t i, const pair_frame *frame) {
    const uint32_t *range = s->intersections[i];
    for (uint32_t k = 0; k < range[1]; k++) {
        const uint32_t *triangle = s->uncertain.pairs[range[0] + k];
        if (triangle_triangle_intersect(pair_triangle(&frame->side[0], triangle[0]),
                                        pair_triangle(&frame->side[1], triangle[1]),
                                        NULL) != ABUT_INTERSECTION_NONE)
            return true;
    }
    return false;
}

/* The distance between surfaces that do not intersect, if it is within the limit. */
static abut_status measure_closest(const device_search *s, size_t i, const pair_frame *frame,
                                   bool *is_within, abut_separation *separation) {
    const uint32_t *range = s->closest[i];
    const uint32_t(*candidates)[2] = (const uint32_t(*)[2])s->candidates.pairs;
    const bool any = s->batch->what == PAIR_QUERY_WITHIN;
    if (range[1] == PAIR_OVERFLOW)
        return abuti_pair_closest(frame, s->batch->limit, any, NULL, is_within, separation);
    *is_within = range[1] == PAIR_WITHIN ||
                 abuti_pair_closest_of(frame, candidates + (s->is_measured ? i : range[0]),
                                       s->is_measured ? range[1] > 0 : range[1], s->batch->limit,
                                       any, separation);
    return ABUT_OK;
}

/* Computes and writes the result at a pose. The CPU does so alone if the device has too many pairs,
 * and finds which of several intersecting pairs is reported. */
static abut_status compute_pose(const device_search *s, size_t i) {
    pair_batch *batch = s->batch;
    const size_t at = s->begin + i;
    const bool distance = batch->what == PAIR_QUERY_DISTANCE;
    bool intersects = s->intersections[i][1] == PAIR_INTERSECTS, is_within = false;
    abuti_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    unsigned flags = 0;
    abut_separation found;
    if (s->intersections[i][1] == PAIR_OVERFLOW)
        return abuti_pair_batch_one(batch, at, NULL);
    if (!intersects) {
        posed_sides(s, i, posed);
        abuti_pair_frame_init(&posed[0], &posed[1], &frame);
        intersects = uncertain_pairs_intersect(s, i, &frame);
    }
    if (intersects && distance)
        return abuti_pair_batch_one(batch, at, NULL);
    memset(&found, 0, sizeof found);
    found.relation = intersects ? ABUT_PAIR_INTERSECTING : ABUT_PAIR_APART;
    if (!intersects && !batch->surfaces) {
        abut_status status =
            abuti_pair_contains(&frame, &posed[0], &posed[1], &found.relation, &vertex, &flags);
        if (status)
            return status;
    }
    const bool apart = found.relation == ABUT_PAIR_APART;
    if (s->distances && apart) {
        abut_status status = measure_closest(s, i, &frame, &is_within, &found);
        if (status)
            return status;
    } else if (distance)
        abuti_pair_inside(&frame, found.relation == ABUT_PAIR_B_INSIDE, vertex, &found);
    if (flags && !is_within)
        atomic_fetch_or(&batch->flags, flags);
    if (batch->what == PAIR_QUERY_OVERLAP) {
        batch->relations[at] = found.relation;
    } else if (distance) {
        found.reliability = abuti_pair_reliability_of(flags);
        batch->separations[at] = found;
    } else {
        batch->within[at] = is_within || !apart;
    }
    return ABUT_OK;
}

static void poses_task(void *data, size_t chunk, size_t begin, size_t end) {
    const device_search *s = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_status status = compute_pose(s, i);
        if (status)
            atomic_store(&s->batch->failure, (unsigned)status);
    }
}

/* ---- chunks ---- */

/* Waits for the device and computes the results of a chunk. */
static abut_status finish_chunk(device_search *s) {
    pair_batch *batch = s->batch;
    abut_context *context = s->a->context;
    abut_status status = end_search(s);
    bool has_intersection = false;
    for (size_t i = 0; i < s->count && !status && !has_intersection; i++)
        has_intersection = s->intersections[i][1] != 0;
    /* the CPU trees of intersecting surfaces, before threads need them all at once */
    const abut_bvh *tree;
    if (!status && has_intersection && batch->what == PAIR_QUERY_DISTANCE &&
        !(status = abuti_bvh_cpu_tree(batch->poses.a, &tree)))
        status = abuti_bvh_cpu_tree(batch->poses.b, &tree);
    if (status)
        return status;
    abuti_parallel_for(context, s->count, POSES_PER_TASK, poses_task, s);
    if ((status = (abut_status)atomic_load(&batch->failure)))
        return abuti_fail(status,
                          "%s: out of memory for a distant pose or for the components of a mesh",
                          batch->function);
    return abuti_progress(context, "pairs",
                          (double)(s->begin + s->count) / (double)batch->poses.count);
}

static abut_status run_chunks(device_search s[2]) {
    const size_t count = s[0].batch->poses.count;
    size_t chunk_size = (count + CHUNKS - 1) / CHUNKS;
    chunk_size = chunk_size < CHUNK_POSES_MIN   ? CHUNK_POSES_MIN
                 : chunk_size > CHUNK_POSES_MAX ? CHUNK_POSES_MAX
                                                : chunk_size;
    chunk_size = count < chunk_size ? count : chunk_size;
    abut_status status = open_search(&s[0], chunk_size);
    if (!status && chunk_size < count)
        status = open_search(&s[1], chunk_size);
    if (!status)
        begin_search(&s[0], 0, chunk_size);
    uint32_t current = 0;
    for (size_t begin = 0; !status && begin < count; begin += chunk_size, current = !current) {
        size_t next = begin + chunk_size;
        if (next < count)
            begin_search(&s[!current], next, count - next < chunk_size ? count - next : chunk_size);
        status = finish_chunk(&s[current]);
    }
    close_search(&s[0]);
    close_search(&s[1]);
    return status;
}

abut_status abuti_pair_batch_on_device(pair_batch *batch) {
    const abut_pair_poses *poses = &batch->poses;
    bvh_on_device *a = poses->a->there, *b = poses->b->there;
    if (!a || !b || abut_device_native(a->queue.device) != abut_device_native(b->queue.device))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: poses->a and poses->b are on different devices, or only one of them is "
            "on a device; create both BVHs on the same device",
            batch->function);
    device_search s[2];
    for (uint32_t k = 0; k < 2; k++)
        s[k] = (device_search){.batch = batch,
                               .a = a,
                               .b = b,
                               .distances = batch->what != PAIR_QUERY_OVERLAP,
                               .slot = k};
    return poses->count ? run_chunks(s) : ABUT_OK;
}
