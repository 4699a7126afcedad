/* Questions about two meshes at many poses: surfaces on a device, the rest on the host.
 *
 * The device tells for each pose that surfaces meet, that they do not, or which few pairs of
 * triangles floats cannot decide; these the exact predicate does. Where surfaces do not meet,
 * containment is asked of the CPU, which rarely has to look at more than boxes. For distances the
 * device names the pairs of triangles that may be closest, and the host measures these in doubles.
 * Hence the answers are those of the batches of pair_batch.c. What the device has no room for, and
 * where it would be of no use (which of many pairs that meet the CPU names first), is asked of the
 * CPU as if there were no device.
 */
#include "bvh/device_query.h"
#include "bvh/pair.h"
#include "geom/meet_shared.h"

#include <math.h>
#include <stdatomic.h>

/* As in the kernels. */
#define GROUP 128
#define UNSURE 32
#define CANDIDATES 128
#define MEETS 0xffffffffu
#define TOO_MUCH 0xfffffffeu
#define WITHIN 0xfffffffdu
#define MEET_ROOM (8 * (1024 + 136) + 4 * 4)
#define CLOSEST_ROOM (12 * (1024 + 160 + 256) + 8 * (640 + 256) + 4 * (2 * 128 + 7))

enum { PART_POSES = 1 << 15, TASK_POSES = 64 };

typedef enum question { QUESTION_OVERLAP, QUESTION_DISTANCE, QUESTION_WITHIN } question;

typedef struct pair_pose {
    float turn[3][3];
    float shift[3];
    float pad, unit_a, unit_b;
    uint32_t skip;
    float margin, upper, sure, unused;
} pair_pose;

_Static_assert(sizeof(pair_pose) == 80, "the layout that devices read");

typedef struct pair_part {
    const char *function;
    abut_pair_poses poses;
    question what;
    bool surfaces;
    double limit; /* no pair further away matters */
    abut_pair_relation *relations;
    abut_separation *separations;
    bool *within;
    size_t begin, count;
    pair_pose *frames;
    uint32_t *meetings, (*unsure)[UNSURE][2];
    uint32_t (*nearest)[2]; /* where candidates begin, and how many; of distances */
    uint32_t (*candidates)[2], candidate_room;
    atomic_uint failure;
} pair_part;

static void posed_at(const pair_part *part, size_t i, abut_posed posed[2]) {
    const abut_pair_poses *p = &part->poses;
    memset(posed, 0, 2 * sizeof *posed);
    posed[0].bvh = p->a;
    posed[1].bvh = p->b;
    if (p->poses_a)
        posed[0].pose = p->poses_a[part->begin + i];
    if (p->poses_b)
        posed[1].pose = p->poses_b[part->begin + i];
}

/* ---- before the device ---- */

/* A distance that is below this in floats, margin included, is within the limit. */
static float sure_below(const pair_part *part, const pair_frame *frame) {
    if (part->what != QUESTION_WITHIN)
        return -1;
    return bvh_float_below(real_min(part->limit * frame->scale, 8 * PAIR_FAR)) * (1 - 0x1p-20f);
}

static void frames_task(void *data, size_t chunk, size_t begin, size_t end) {
    pair_part *part = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_posed posed[2];
        pair_frame frame;
        posed_at(part, i, posed);
        pair_pose *to = &part->frames[i];
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
        to->margin = abuti_pair_bounds(&frame, part->limit, &to->upper);
        to->sure = sure_below(part, &frame);
    }
}

/* ---- after it ---- */

/* What is found at a pose. Of a separation only the relation is filled in where the question is
 * another than the distance. */
typedef struct finding {
    abut_separation separation;
    bool within;
} finding;

/* Asks the CPU only. */
static abut_status find_wholly(const pair_part *part, const abut_posed posed[2], finding *found) {
    switch (part->what) {
    case QUESTION_OVERLAP:
        return abuti_pair_overlap(&posed[0], &posed[1], part->surfaces, NULL,
                                  &found->separation.relation);
    case QUESTION_DISTANCE:
        return abuti_pair_distance(&posed[0], &posed[1], part->surfaces, NULL, &found->separation);
    default:
        return abuti_pair_within(&posed[0], &posed[1], part->limit, part->surfaces, NULL,
                                 &found->within);
    }
}

/* Whether one of the pairs meets that the device was not sure about. */
static bool unsure_meet(const pair_part *part, size_t i, const pair_frame *frame) {
    for (uint32_t k = 0; k < part->meetings[i]; k++) {
        const uint32_t *triangle = part->unsure[i][k];
        if (triangle_triangle_meet(pair_triangle(&frame->side[0], triangle[0]),
                                   pair_triangle(&frame->side[1], triangle[1]),
                                   NULL) != ABUT_MEETING_NONE)
            return true;
    }
    return false;
}

/* The distance between surfaces that do not meet. */
static void find_closest(const pair_part *part, size_t i, const pair_frame *frame, finding *found) {
    const uint32_t *near = part->nearest[i];
    bool any = part->what == QUESTION_WITHIN;
    if (near[1] == WITHIN)
        found->within = true;
    else if (near[1] == TOO_MUCH)
        found->within = abuti_pair_closest(frame, part->limit, any, NULL, &found->separation);
    else
        found->within =
            abuti_pair_closest_of(frame, (const uint32_t(*)[2])part->candidates + near[0], near[1],
                                  part->limit, any, &found->separation);
}

static abut_status find(const pair_part *part, size_t i, finding *found) {
    abut_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    abut_separation *separation = &found->separation;
    posed_at(part, i, posed);
    bool meets = part->meetings[i] == MEETS;
    if (part->meetings[i] == TOO_MUCH)
        return find_wholly(part, posed, found);
    if (!meets) {
        abuti_pair_start(&posed[0], &posed[1], &frame);
        meets = unsure_meet(part, i, &frame);
    }
    if (meets && part->what == QUESTION_DISTANCE)
        return find_wholly(part, posed, found);
    separation->relation = meets ? ABUT_PAIR_MEETING : ABUT_PAIR_APART;
    if (!meets && !part->surfaces) {
        abut_status status =
            abuti_pair_contains(&frame, &posed[0], &posed[1], &separation->relation, &vertex);
        if (status)
            return status;
    }
    if (part->what == QUESTION_OVERLAP)
        return ABUT_OK;
    if (separation->relation == ABUT_PAIR_APART)
        find_closest(part, i, &frame, found);
    else if (part->what == QUESTION_DISTANCE)
        abuti_pair_inside(&frame, separation->relation == ABUT_PAIR_B_INSIDE, vertex, separation);
    else
        found->within = true;
    return ABUT_OK;
}

static void find_task(void *data, size_t chunk, size_t begin, size_t end) {
    pair_part *part = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        finding found;
        memset(&found, 0, sizeof found);
        abut_status status = find(part, i, &found);
        if (status)
            atomic_store(&part->failure, (unsigned)status);
        else if (part->what == QUESTION_OVERLAP)
            part->relations[part->begin + i] = found.separation.relation;
        else if (part->what == QUESTION_DISTANCE)
            part->separations[part->begin + i] = found.separation;
        else
            part->within[part->begin + i] = found.within;
    }
}

/* ---- a part ---- */

typedef struct pair_on_device {
    abut_device_bvh *a, *b;
    abuti_kernel meet, closest;
    abuti_buffer frames, meetings, unsure;
    abuti_buffer nearest, candidates, total; /* of distances */
} pair_on_device;

#define TREES(on)                                                                       \
    ABUTI_BUFFER(&(on)->a->tree.nodes), ABUTI_BUFFER(&(on)->b->tree.nodes),             \
        ABUTI_BUFFER(&(on)->a->tree.triangles), ABUTI_BUFFER(&(on)->b->tree.triangles), \
        ABUTI_BUFFER(&(on)->a->tree.order), ABUTI_BUFFER(&(on)->b->tree.order)

static abut_status queue_meetings(pair_on_device *on, const pair_part *part) {
    abuti_queue *queue = &on->a->queue;
    abut_status status = abuti_buffer_upload(queue, &on->frames, 0, part->frames,
                                             part->count * sizeof *part->frames);
    return status ? status
                  : ABUTI_LAUNCH(queue, &on->meet, part->count, GROUP, TREES(on),
                                 ABUTI_BUFFER(&on->frames), ABUTI_BUFFER(&on->meetings),
                                 ABUTI_BUFFER(&on->unsure), ABUTI_LOCAL_MEMORY(MEET_ROOM));
}

static abut_status queue_closest(pair_on_device *on, const pair_part *part) {
    abuti_queue *queue = &on->a->queue;
    abut_status status = abuti_buffer_fill(queue, &on->total, 0, sizeof(uint32_t));
    return status ? status
                  : ABUTI_LAUNCH(queue, &on->closest, part->count, GROUP, TREES(on),
                                 ABUTI_BUFFER(&on->frames), ABUTI_BUFFER(&on->meetings),
                                 ABUTI_BUFFER(&on->nearest), ABUTI_BUFFER(&on->candidates),
                                 ABUTI_BUFFER(&on->total), ABUTI_LOCAL_MEMORY(CLOSEST_ROOM));
}

/* The candidates lie one after the other, so that only those that there are come back. */
static abut_status fetch_closest(pair_on_device *on, pair_part *part) {
    abuti_queue *queue = &on->a->queue;
    abut_context *context = on->a->context;
    uint32_t total;
    abut_status status = abuti_buffer_download(queue, &on->nearest, 0, part->nearest,
                                               part->count * sizeof *part->nearest);
    if (!status)
        status = abuti_buffer_download(queue, &on->total, 0, &total, sizeof total);
    if (!status && total > part->candidate_room) {
        abuti_release(context, part->candidates);
        part->candidates = abuti_allocate(context, total, sizeof *part->candidates);
        part->candidate_room = part->candidates ? total : 0;
        status = part->candidates ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status && total)
        status = abuti_buffer_download(queue, &on->candidates, 0, part->candidates,
                                       total * sizeof *part->candidates);
    return status;
}

static abut_status run_part(pair_on_device *on, pair_part *part) {
    abuti_queue *queue = &on->a->queue;
    abut_context *context = on->a->context;
    abuti_parallel_for(context, part->count, TASK_POSES, frames_task, part);
    abut_status status = queue_meetings(on, part);
    if (!status && part->what != QUESTION_OVERLAP)
        status = queue_closest(on, part);
    if (!status)
        status = abuti_buffer_download(queue, &on->meetings, 0, part->meetings,
                                       part->count * sizeof *part->meetings);
    if (!status)
        status = abuti_buffer_download(queue, &on->unsure, 0, part->unsure,
                                       part->count * sizeof *part->unsure);
    if (!status && part->what != QUESTION_OVERLAP)
        status = fetch_closest(on, part);
    if (status)
        return status;
    abuti_parallel_for(context, part->count, TASK_POSES, find_task, part);
    status = (abut_status)atomic_load(&part->failure);
    return status ? abuti_fail(status,
                               "%s: out of memory for a pose far away or for the parts of a mesh",
                               part->function)
                  : ABUT_OK;
}

/* ---- all parts ---- */

static abut_status make_kernels(pair_on_device *on, question what) {
    abut_device *device = on->a->queue.device;
    abuti_program *program;
    abut_status status = abuti_program_get(device, "pair", "", &program);
    if (!status)
        status = abuti_kernel_create(program, device, "pair_meet", &on->meet);
    if (status || what == QUESTION_OVERLAP)
        return status;
    bool on_cpu = device->info.kind == ABUT_DEVICE_KIND_CPU;
    status = abuti_program_get(device, "pair_closest", on_cpu ? "-DAPART" : "", &program);
    return status ? status : abuti_kernel_create(program, device, "pair_closest", &on->closest);
}

static abut_status make_buffers(pair_on_device *on, pair_part *part, size_t most) {
    abut_device *device = on->a->queue.device;
    abut_context *context = on->a->context;
    const bool distances = part->what != QUESTION_OVERLAP;
    part->frames = abuti_allocate(context, most, sizeof *part->frames);
    part->meetings = abuti_allocate(context, most, sizeof *part->meetings);
    part->unsure = abuti_allocate(context, most, sizeof *part->unsure);
    part->nearest = distances ? abuti_allocate(context, most, sizeof *part->nearest) : NULL;
    if (!part->frames || !part->meetings || !part->unsure || (distances && !part->nearest))
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_buffer_create(device, most, sizeof *part->frames, &on->frames);
    if (!status)
        status = abuti_buffer_create(device, most, sizeof *part->meetings, &on->meetings);
    if (!status)
        status = abuti_buffer_create(device, most, sizeof *part->unsure, &on->unsure);
    if (status || !distances)
        return status;
    status = abuti_buffer_create(device, most, sizeof *part->nearest, &on->nearest);
    if (!status)
        status = abuti_buffer_create(device, most * CANDIDATES, sizeof *part->candidates,
                                     &on->candidates);
    return status ? status : abuti_buffer_create(device, 1, sizeof(uint32_t), &on->total);
}

static abut_status run(pair_on_device *on, pair_part *part) {
    const size_t count = part->poses.count, most = count < PART_POSES ? count : PART_POSES;
    abut_context *context = on->a->context;
    abut_status status = make_kernels(on, part->what);
    status = status ? status : make_buffers(on, part, most);
    for (part->begin = 0; !status && part->begin < count; part->begin += part->count) {
        part->count = count - part->begin < most ? count - part->begin : most;
        status = run_part(on, part);
        if (!status)
            status = abuti_progress(context, "pairs",
                                    (double)(part->begin + part->count) / (double)count);
    }
    abuti_kernel_destroy(&on->meet);
    abuti_kernel_destroy(&on->closest);
    abuti_buffer *const buffers[] = {&on->frames,  &on->meetings,   &on->unsure,
                                     &on->nearest, &on->candidates, &on->total};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abuti_release(context, part->frames);
    abuti_release(context, part->meetings);
    abuti_release(context, part->unsure);
    abuti_release(context, part->nearest);
    abuti_release(context, part->candidates);
    return status;
}

/* ---- public ---- */

static abut_status check_sides(const char *function, abut_device_bvh *a, abut_device_bvh *b,
                               const abut_pair_poses *poses) {
    if (a->tree.mesh != poses->a->mesh || b->tree.mesh != poses->b->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s on the device is not of the mesh of poses->%s", function,
                          a->tree.mesh != poses->a->mesh ? "a" : "b",
                          a->tree.mesh != poses->a->mesh ? "a" : "b");
    if (abut_device_native(a->queue.device) != abut_device_native(b->queue.device))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a and b are on different devices", function);
    return ABUT_OK;
}

/* Asks the question of `part`, which has the answers to write; `out` is where, for the checks. */
static abut_status ask(abut_device_bvh *a, abut_device_bvh *b, const abut_pair_poses *poses,
                       const abut_pair_options *options, pair_part *part, const void *out,
                       const char *out_name) {
    abut_pair_options ours = abut_pair_options_default();
    if (!a || !b)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", part->function, a ? "b" : "a");
    abut_status status = abuti_pair_poses_read(part->function, poses, out, out_name, &part->poses);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, part->function);
    status = status ? status : check_sides(part->function, a, b, &part->poses);
    if (status || !part->poses.count)
        return status;
    pair_on_device on = {.a = a, .b = b};
    part->surfaces = ours.surfaces;
    atomic_init(&part->failure, ABUT_OK);
    return run(&on, part);
}

abut_status abut_device_pair_overlap(abut_device_bvh *a, abut_device_bvh *b,
                                     const abut_pair_poses *poses, const abut_pair_options *options,
                                     abut_pair_relation *relations) {
    pair_part part = {.function = __func__, .what = QUESTION_OVERLAP, .limit = INFINITY};
    part.relations = relations;
    return ask(a, b, poses, options, &part, relations, "relations");
}

abut_status abut_device_pair_distance(abut_device_bvh *a, abut_device_bvh *b,
                                      const abut_pair_poses *poses,
                                      const abut_pair_options *options,
                                      abut_separation *separations) {
    pair_part part = {.function = __func__, .what = QUESTION_DISTANCE, .limit = INFINITY};
    part.separations = separations;
    return ask(a, b, poses, options, &part, separations, "separations");
}

abut_status abut_device_pair_within(abut_device_bvh *a, abut_device_bvh *b,
                                    const abut_pair_poses *poses, double margin,
                                    const abut_pair_options *options, bool *within) {
    pair_part part = {.function = __func__, .what = QUESTION_WITHIN, .limit = margin};
    part.within = within;
    abut_status status = abuti_bvh_check_limit(__func__, "margin", margin);
    return status ? status : ask(a, b, poses, options, &part, within, "within");
}
