/* The host's side of pair.cl, pair_closest.cl and pair_measure.cl: frames of poses, buffers, and
 * the order of the kernels. */
#include "pair/device.h"

#include <math.h>

/* As in the kernels. */
#define GROUP 128
#define MEASURE_GROUP 64
#define CANDIDATES 128
#define MEET_ROOM (8 * (1024 + 136 + PAIR_UNSURE) + 4 * 5)
#define FIND_ROOM (12 * (1024 + 160 + 256) + 8 * (640 + 256) + 4 * (2 * 128 + 7))
#define MEASURE_ROOM (16 * MEASURE_GROUP)

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

static pair_motion motion_of(const abuti_motion *from) {
    pair_motion to = {.rotates = from->rotates};
    const vec3 t = from->translation;
    for (int i = 0; i < 3; i++) {
        const vec3 row = from->rotation.row[i];
        to.rotation[3 * i] = row.x;
        to.rotation[3 * i + 1] = row.y;
        to.rotation[3 * i + 2] = row.z;
    }
    to.translation[0] = t.x;
    to.translation[1] = t.y;
    to.translation[2] = t.z;
    return to;
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
        for (int k = 0; k < 2 && search->measured; k++)
            search->motions[i][k] = motion_of(&frame.side[k].motion);
    }
}

/* ---- a part ---- */

#define TREES(s)                                                                      \
    ABUTI_BUFFER(&(s)->a->tree.nodes), ABUTI_BUFFER(&(s)->b->tree.nodes),             \
        ABUTI_BUFFER(&(s)->a->tree.triangles), ABUTI_BUFFER(&(s)->b->tree.triangles), \
        ABUTI_BUFFER(&(s)->a->tree.order), ABUTI_BUFFER(&(s)->b->tree.order)

/* Starts a kernel that lists pairs of triangles. */
static abut_status queue_search(abuti_pair_search *s, const abuti_kernel *kernel, pair_list *list,
                                size_t room) {
    abuti_queue *queue = &s->a->queue;
    bool meet = kernel == &s->meet;
    abut_status status = abuti_buffer_fill(queue, &list->total, 0, sizeof(uint32_t));
    if (status)
        return status;
    if (meet)
        return ABUTI_LAUNCH(queue, kernel, s->count, GROUP, TREES(s), ABUTI_BUFFER(&s->on_frames),
                            ABUTI_BUFFER(&s->on_meetings), ABUTI_BUFFER(&list->there),
                            ABUTI_BUFFER(&list->total), ABUTI_LOCAL_MEMORY(room));
    return ABUTI_LAUNCH(queue, kernel, s->count, GROUP, TREES(s), ABUTI_BUFFER(&s->on_frames),
                        ABUTI_BUFFER(&s->on_meetings), ABUTI_BUFFER(&s->on_closest),
                        ABUTI_BUFFER(&list->there), ABUTI_BUFFER(&list->total),
                        ABUTI_LOCAL_MEMORY(room));
}

static abut_status queue_measure(abuti_pair_search *s) {
    abuti_queue *queue = &s->a->queue;
    abut_status status =
        abuti_buffer_upload(queue, &s->on_motions, 0, s->motions, s->count * sizeof *s->motions);
    return status
               ? status
               : ABUTI_LAUNCH(queue, &s->measure, s->count, MEASURE_GROUP,
                              ABUTI_BUFFER(&s->a->tree.corners), ABUTI_BUFFER(&s->b->tree.corners),
                              ABUTI_BUFFER(&s->on_motions), ABUTI_BUFFER(&s->on_meetings),
                              ABUTI_BUFFER(&s->on_closest), ABUTI_BUFFER(&s->candidates.there),
                              ABUTI_BUFFER(&s->on_winners), ABUTI_LOCAL_MEMORY(MEASURE_ROOM));
}

/* Brings back `count` pairs, or as many as there are: they lie one after the other. */
static abut_status fetch_pairs(abuti_pair_search *s, pair_list *list, const abuti_buffer *from,
                               const uint32_t *count) {
    abuti_queue *queue = &s->a->queue;
    abut_context *context = s->a->context;
    uint32_t total = count ? *count : 0;
    abut_status status =
        count ? ABUT_OK : abuti_buffer_download(queue, &list->total, 0, &total, sizeof total);
    if (!status && total > list->room) {
        abuti_release(context, list->pairs);
        list->pairs = abuti_allocate(context, total, sizeof *list->pairs);
        list->room = list->pairs ? total : 0;
        status = list->pairs ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    return status || !total
               ? status
               : abuti_buffer_download(queue, from, 0, list->pairs, total * sizeof *list->pairs);
}

abut_status abuti_pair_search_part(abuti_pair_search *s, size_t begin, size_t count) {
    abuti_queue *queue = &s->a->queue;
    const uint32_t poses = (uint32_t)count;
    s->begin = begin;
    s->count = count;
    abuti_parallel_for(s->a->context, count, TASK_POSES, frames_task, s);
    abut_status status =
        abuti_buffer_upload(queue, &s->on_frames, 0, s->frames, count * sizeof *s->frames);
    if (!status)
        status = queue_search(s, &s->meet, &s->unsure, MEET_ROOM);
    if (!status && s->distances)
        status = queue_search(s, &s->find, &s->candidates, FIND_ROOM);
    if (!status && s->measured)
        status = queue_measure(s);
    if (!status)
        status = abuti_buffer_download(queue, &s->on_meetings, 0, s->meetings,
                                       count * sizeof *s->meetings);
    if (!status)
        status = fetch_pairs(s, &s->unsure, &s->unsure.there, NULL);
    if (!status && s->distances)
        status =
            abuti_buffer_download(queue, &s->on_closest, 0, s->closest, count * sizeof *s->closest);
    if (!status && s->distances)
        status = s->measured ? fetch_pairs(s, &s->candidates, &s->on_winners, &poses)
                             : fetch_pairs(s, &s->candidates, &s->candidates.there, NULL);
    return status;
}

/* ---- open and close ---- */

static abut_status make_kernel(const abuti_pair_search *s, const char *module, const char *options,
                               abuti_kernel *kernel, const char *name) {
    abut_device *device = s->a->queue.device;
    abuti_program *program;
    abut_status status = abuti_program_get(device, module, options, &program);
    return status ? status : abuti_kernel_create(program, device, name, kernel);
}

static abut_status make_kernels(abuti_pair_search *s) {
    bool on_cpu = s->a->queue.device->info.kind == ABUT_DEVICE_KIND_CPU;
    abut_status status = make_kernel(s, "pair", "", &s->meet, "pair_meet");
    if (!status && s->distances)
        status = make_kernel(s, "pair_closest", on_cpu ? "-DAPART" : "", &s->find, "pair_closest");
    if (!status && s->measured)
        status = make_kernel(s, "pair_measure",
                             on_cpu ? "-DABUTI_REAL_BITS=64 -DAPART" : "-DABUTI_REAL_BITS=64",
                             &s->measure, "pair_measure");
    return status;
}

/* Memory here and there for `room` elements each. */
static abut_status make_both(const abuti_pair_search *s, size_t room, size_t bytes, void **here,
                             abuti_buffer *there) {
    *here = abuti_allocate(s->a->context, room, bytes);
    return *here ? abuti_buffer_create(s->a->queue.device, room, bytes, there) : ABUT_ERROR_MEMORY;
}

/* Room for the pairs of a part on the device, `most` a pose. */
static abut_status make_list(const abuti_pair_search *s, size_t room, size_t most,
                             pair_list *list) {
    abut_device *device = s->a->queue.device;
    abut_status status =
        abuti_buffer_create(device, room * most, sizeof *list->pairs, &list->there);
    return status ? status : abuti_buffer_create(device, 1, sizeof(uint32_t), &list->total);
}

abut_status abuti_pair_search_open(abuti_pair_search *s, size_t room) {
    void *frames = NULL, *meetings = NULL, *closest = NULL, *motions = NULL;
    s->measured = s->distances && s->a->tree.corners.device && s->b->tree.corners.device;
    abut_status status = make_kernels(s);
    if (!status)
        status = make_both(s, room, sizeof *s->frames, &frames, &s->on_frames);
    if (!status)
        status = make_both(s, room, sizeof *s->meetings, &meetings, &s->on_meetings);
    if (!status && s->distances)
        status = make_both(s, room, sizeof *s->closest, &closest, &s->on_closest);
    if (!status && s->measured)
        status = make_both(s, room, sizeof *s->motions, &motions, &s->on_motions);
    s->frames = frames;
    s->meetings = meetings;
    s->closest = closest;
    s->motions = motions;
    if (!status)
        status = make_list(s, room, PAIR_UNSURE, &s->unsure);
    if (!status && s->distances)
        status = make_list(s, room, CANDIDATES, &s->candidates);
    if (!status && s->measured)
        status =
            abuti_buffer_create(s->a->queue.device, room, 2 * sizeof(uint32_t), &s->on_winners);
    return status;
}

void abuti_pair_search_close(abuti_pair_search *s) {
    abut_context *context = s->a->context;
    abuti_kernel *const kernels[] = {&s->meet, &s->find, &s->measure};
    abuti_buffer *const buffers[] = {&s->on_frames,    &s->on_meetings,      &s->on_closest,
                                     &s->on_motions,   &s->on_winners,       &s->unsure.there,
                                     &s->unsure.total, &s->candidates.there, &s->candidates.total};
    void *const memory[] = {s->frames,  s->meetings,     s->closest,
                            s->motions, s->unsure.pairs, s->candidates.pairs};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        abuti_release(context, memory[i]);
}
