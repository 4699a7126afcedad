/* Overlap at many poses: surfaces on a device, the rest on the host.
 *
 * The device tells for each pose that surfaces meet, that they do not, or which few pairs of
 * triangles floats cannot decide; these the exact predicate does. Where surfaces do not meet,
 * containment is asked of the CPU, which rarely has to look at more than boxes. Hence the answers
 * are those of abut_pair_overlap_batch().
 */
#include "bvh/device_query.h"
#include "bvh/pair.h"
#include "geom/meet_shared.h"

#include <stdatomic.h>

/* As in the kernel. */
#define GROUP 128
#define UNSURE 32
#define MEETS 0xffffffffu
#define TOO_MUCH 0xfffffffeu
#define ROOM (8 * (1024 + 136) + 4 * 4)

enum { PART_POSES = 1 << 16, TASK_POSES = 64 };

typedef struct pair_pose {
    float turn[3][3];
    float shift[3];
    float pad, unit_a, unit_b;
    uint32_t skip;
} pair_pose;

_Static_assert(sizeof(pair_pose) == 64, "the layout that devices read");

typedef struct pair_part {
    const abut_pair_poses *poses;
    bool surfaces;
    size_t begin, count;
    const uint32_t *order[2]; /* of the trees on the device */
    pair_pose *frames;
    uint32_t *results, (*unsure)[UNSURE][2];
    abut_pair_relation *relations;
    atomic_uint failure;
} pair_part;

static void posed_at(const pair_part *part, size_t i, abut_posed posed[2]) {
    const abut_pair_poses *p = part->poses;
    memset(posed, 0, 2 * sizeof *posed);
    posed[0].bvh = p->a;
    posed[1].bvh = p->b;
    if (p->poses_a)
        posed[0].pose = p->poses_a[part->begin + i];
    if (p->poses_b)
        posed[1].pose = p->poses_b[part->begin + i];
}

/* ---- before the device ---- */

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
    }
}

/* ---- after it ---- */

static abut_status relation_at(const pair_part *part, size_t i, abut_pair_relation *relation) {
    abut_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    *relation = ABUT_PAIR_MEETING;
    if (part->results[i] == MEETS)
        return ABUT_OK;
    posed_at(part, i, posed);
    if (part->results[i] == TOO_MUCH)
        return abuti_pair_overlap(&posed[0], &posed[1], part->surfaces, NULL, relation);
    abuti_pair_start(&posed[0], &posed[1], &frame);
    for (uint32_t k = 0; k < part->results[i]; k++) {
        const uint32_t *place = part->unsure[i][k];
        if (triangle_triangle_meet(pair_triangle(&frame.side[0], part->order[0][place[0]]),
                                   pair_triangle(&frame.side[1], part->order[1][place[1]]),
                                   NULL) != ABUT_MEETING_NONE)
            return ABUT_OK;
    }
    *relation = ABUT_PAIR_APART;
    return part->surfaces ? ABUT_OK
                          : abuti_pair_contains(&frame, &posed[0], &posed[1], relation, &vertex);
}

static void relations_task(void *data, size_t chunk, size_t begin, size_t end) {
    pair_part *part = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_status status = relation_at(part, i, &part->relations[part->begin + i]);
        if (status)
            atomic_store(&part->failure, (unsigned)status);
    }
}

/* ---- a part ---- */

typedef struct pair_buffers {
    abuti_kernel kernel;
    abuti_buffer frames, results, unsure;
} pair_buffers;

static abut_status run_part(abut_device_bvh *a, abut_device_bvh *b, pair_buffers *on,
                            pair_part *part) {
    abuti_queue *queue = &a->queue;
    abut_context *context = a->context;
    abuti_parallel_for(context, part->count, TASK_POSES, frames_task, part);
    abut_status status = abuti_buffer_upload(queue, &on->frames, 0, part->frames,
                                             part->count * sizeof *part->frames);
    if (!status)
        status = ABUTI_LAUNCH(queue, &on->kernel, part->count, GROUP, ABUTI_BUFFER(&a->tree.nodes),
                              ABUTI_BUFFER(&b->tree.nodes), ABUTI_BUFFER(&a->tree.triangles),
                              ABUTI_BUFFER(&b->tree.triangles), ABUTI_BUFFER(&on->frames),
                              ABUTI_BUFFER(&on->results), ABUTI_BUFFER(&on->unsure),
                              ABUTI_LOCAL_MEMORY(ROOM));
    if (!status)
        status = abuti_buffer_download(queue, &on->results, 0, part->results,
                                       part->count * sizeof *part->results);
    if (!status)
        status = abuti_buffer_download(queue, &on->unsure, 0, part->unsure,
                                       part->count * sizeof *part->unsure);
    if (status)
        return status;
    abuti_parallel_for(context, part->count, TASK_POSES, relations_task, part);
    status = (abut_status)atomic_load(&part->failure);
    return status
               ? abuti_fail(status, "abut_device_pair_overlap: out of memory for a pose far away "
                                    "or for the parts of a mesh")
               : ABUT_OK;
}

static abut_status run(abut_device_bvh *a, abut_device_bvh *b, pair_part *part,
                       uint32_t *order[2]) {
    abut_device *device = a->queue.device;
    abut_context *context = a->context;
    const size_t count = part->poses->count, most = count < PART_POSES ? count : PART_POSES;
    pair_buffers on = {0};
    abuti_program *program;
    part->frames = abuti_allocate(context, most, sizeof *part->frames);
    part->results = abuti_allocate(context, most, sizeof *part->results);
    part->unsure = abuti_allocate(context, most, sizeof *part->unsure);
    abut_status status =
        part->frames && part->results && part->unsure ? ABUT_OK : ABUT_ERROR_MEMORY;
    abut_device_bvh *sides[2] = {a, b};
    for (int k = 0; k < 2 && !status; k++) {
        size_t places = (size_t)sides[k]->tree.leaf_count * BVH_WIDTH;
        order[k] = abuti_allocate(context, places, sizeof *order[k]);
        status = order[k] ? abuti_buffer_download(&a->queue, &sides[k]->tree.order, 0, order[k],
                                                  places * sizeof *order[k])
                          : ABUT_ERROR_MEMORY;
        part->order[k] = order[k];
    }
    if (!status)
        status = abuti_program_get(device, "pair", "", &program);
    if (!status)
        status = abuti_kernel_create(program, device, "pair_meet", &on.kernel);
    if (!status)
        status = abuti_buffer_create(device, most, sizeof *part->frames, &on.frames);
    if (!status)
        status = abuti_buffer_create(device, most, sizeof *part->results, &on.results);
    if (!status)
        status = abuti_buffer_create(device, most, sizeof *part->unsure, &on.unsure);
    for (part->begin = 0; !status && part->begin < count; part->begin += part->count) {
        part->count = count - part->begin < most ? count - part->begin : most;
        status = run_part(a, b, &on, part);
        if (!status)
            status = abuti_progress(context, "pairs",
                                    (double)(part->begin + part->count) / (double)count);
    }
    abuti_kernel_destroy(&on.kernel);
    abuti_buffer_destroy(&on.frames);
    abuti_buffer_destroy(&on.results);
    abuti_buffer_destroy(&on.unsure);
    abuti_release(context, part->frames);
    abuti_release(context, part->results);
    abuti_release(context, part->unsure);
    return status;
}

/* ---- public ---- */

static abut_status check_sides(abut_device_bvh *a, abut_device_bvh *b,
                               const abut_pair_poses *poses) {
    if (a->tree.mesh != poses->a->mesh || b->tree.mesh != poses->b->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_device_pair_overlap: %s on the device is not of the mesh of "
                          "poses->%s",
                          a->tree.mesh != poses->a->mesh ? "a" : "b",
                          a->tree.mesh != poses->a->mesh ? "a" : "b");
    if (abut_device_native(a->queue.device) != abut_device_native(b->queue.device))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_device_pair_overlap: a and b are on different devices");
    return ABUT_OK;
}

abut_status abut_device_pair_overlap(abut_device_bvh *a, abut_device_bvh *b,
                                     const abut_pair_poses *poses, const abut_pair_options *options,
                                     abut_pair_relation *relations) {
    abut_pair_poses in;
    abut_pair_options ours = abut_pair_options_default();
    if (!a || !b)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", __func__, a ? "b" : "a");
    abut_status status = abuti_pair_poses_read(__func__, poses, relations, "relations", &in);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, __func__);
    status = status ? status : check_sides(a, b, &in);
    if (status || !in.count)
        return status;
    uint32_t *order[2] = {NULL, NULL};
    pair_part part = {.poses = &in, .surfaces = ours.surfaces, .relations = relations};
    atomic_init(&part.failure, ABUT_OK);
    status = run(a, b, &part, order);
    abuti_release(a->context, order[0]);
    abuti_release(a->context, order[1]);
    return status;
}
