/* Questions about two meshes at many poses: surfaces on a device, the rest on the host.
 *
 * The device tells for each pose that surfaces meet, that they do not, or which few pairs of
 * triangles floats cannot decide; these the exact predicate does. Where surfaces do not meet,
 * containment is asked of the CPU, which rarely has to look at more than boxes. For distances the
 * device names the closest triangles, or without doubles those that may be, and the host measures.
 * Hence the answers are those of the batches of pair_batch.c. What the device has no room for, and
 * where it would be of no use (which of many pairs that meet the CPU names first), is asked of the
 * CPU as if there were no device.
 */
#include "pair/device.h"
#include "geom/meet_shared.h"

#include <math.h>
#include <stdatomic.h>

enum { PART_POSES = 1 << 15, TASK_POSES = 64 };

typedef enum question { QUESTION_OVERLAP, QUESTION_DISTANCE, QUESTION_WITHIN } question;

typedef struct pair_asked {
    const char *function;
    abut_pair_poses poses;
    question what;
    bool surfaces;
    double limit; /* no pair further away matters */
    abut_pair_relation *relations;
    abut_separation *separations;
    bool *within;
    abuti_pair_search search;
    atomic_uint failure;
} pair_asked;

/* ---- after the device ---- */

/* What is found at a pose. Of a separation only the relation is filled in where the question is
 * another than the distance. */
typedef struct finding {
    abut_separation separation;
    bool within;
} finding;

/* Asks the CPU only. */
static abut_status find_wholly(const pair_asked *asked, const abut_posed posed[2], finding *found) {
    switch (asked->what) {
    case QUESTION_OVERLAP:
        return abuti_pair_overlap(&posed[0], &posed[1], asked->surfaces, NULL,
                                  &found->separation.relation);
    case QUESTION_DISTANCE:
        return abuti_pair_distance(&posed[0], &posed[1], asked->surfaces, NULL, &found->separation);
    default:
        return abuti_pair_within(&posed[0], &posed[1], asked->limit, asked->surfaces, NULL,
                                 &found->within);
    }
}

/* Whether one of the pairs meets that the device was not sure about. */
static bool unsure_meet(const pair_asked *asked, size_t i, const pair_frame *frame) {
    const uint32_t *may = asked->search.meetings[i];
    for (uint32_t k = 0; k < may[1]; k++) {
        const uint32_t *triangle = asked->search.unsure.pairs[may[0] + k];
        if (triangle_triangle_meet(pair_triangle(&frame->side[0], triangle[0]),
                                   pair_triangle(&frame->side[1], triangle[1]),
                                   NULL) != ABUT_MEETING_NONE)
            return true;
    }
    return false;
}

/* The distance between surfaces that do not meet. */
static void find_closest(const pair_asked *asked, size_t i, const pair_frame *frame,
                         finding *found) {
    const abuti_pair_search *search = &asked->search;
    const uint32_t *near = search->closest[i];
    const uint32_t(*candidates)[2] = (const uint32_t(*)[2])search->candidates.pairs;
    bool any = asked->what == QUESTION_WITHIN;
    if (near[1] == PAIR_WITHIN)
        found->within = true;
    else if (near[1] == PAIR_TOO_MUCH)
        found->within = abuti_pair_closest(frame, asked->limit, any, NULL, &found->separation);
    else if (search->measured)
        found->within = abuti_pair_closest_of(frame, candidates + i, near[1] > 0, asked->limit, any,
                                              &found->separation);
    else
        found->within = abuti_pair_closest_of(frame, candidates + near[0], near[1], asked->limit,
                                              any, &found->separation);
}

static abut_status find(const pair_asked *asked, size_t i, finding *found) {
    abut_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    abut_separation *separation = &found->separation;
    abuti_pair_search_posed(&asked->search, i, posed);
    bool meets = asked->search.meetings[i][1] == PAIR_MEETS;
    if (asked->search.meetings[i][1] == PAIR_TOO_MUCH)
        return find_wholly(asked, posed, found);
    if (!meets) {
        abuti_pair_start(&posed[0], &posed[1], &frame);
        meets = unsure_meet(asked, i, &frame);
    }
    if (meets && asked->what == QUESTION_DISTANCE)
        return find_wholly(asked, posed, found);
    separation->relation = meets ? ABUT_PAIR_MEETING : ABUT_PAIR_APART;
    if (!meets && !asked->surfaces) {
        abut_status status =
            abuti_pair_contains(&frame, &posed[0], &posed[1], &separation->relation, &vertex);
        if (status)
            return status;
    }
    if (asked->what == QUESTION_OVERLAP)
        return ABUT_OK;
    if (separation->relation == ABUT_PAIR_APART)
        find_closest(asked, i, &frame, found);
    else if (asked->what == QUESTION_DISTANCE)
        abuti_pair_inside(&frame, separation->relation == ABUT_PAIR_B_INSIDE, vertex, separation);
    else
        found->within = true;
    return ABUT_OK;
}

static void find_task(void *data, size_t chunk, size_t begin, size_t end) {
    pair_asked *asked = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        finding found;
        memset(&found, 0, sizeof found);
        abut_status status = find(asked, i, &found);
        if (status)
            atomic_store(&asked->failure, (unsigned)status);
        else if (asked->what == QUESTION_OVERLAP)
            asked->relations[asked->search.begin + i] = found.separation.relation;
        else if (asked->what == QUESTION_DISTANCE)
            asked->separations[asked->search.begin + i] = found.separation;
        else
            asked->within[asked->search.begin + i] = found.within;
    }
}

/* ---- part by part ---- */

static abut_status run(pair_asked *asked) {
    abuti_pair_search *search = &asked->search;
    abut_context *context = search->a->context;
    const size_t count = asked->poses.count, most = count < PART_POSES ? count : PART_POSES;
    abut_status status = abuti_pair_search_open(search, most);
    for (size_t begin = 0; !status && begin < count; begin += most) {
        size_t here = count - begin < most ? count - begin : most;
        status = abuti_pair_search_part(search, begin, here);
        if (status)
            break;
        abuti_parallel_for(context, here, TASK_POSES, find_task, asked);
        status = (abut_status)atomic_load(&asked->failure);
        status =
            status ? abuti_fail(status,
                                "%s: out of memory for a pose far away or for the parts of a mesh",
                                asked->function)
                   : abuti_progress(context, "pairs", (double)(begin + here) / (double)count);
    }
    abuti_pair_search_close(search);
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
                       const abut_pair_options *options, pair_asked *asked, const void *out,
                       const char *out_name) {
    abut_pair_options ours = abut_pair_options_default();
    if (!a || !b)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null", asked->function, a ? "b" : "a");
    abut_status status =
        abuti_pair_poses_read(asked->function, poses, out, out_name, &asked->poses);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, asked->function);
    status = status ? status : check_sides(asked->function, a, b, &asked->poses);
    if (status || !asked->poses.count)
        return status;
    asked->surfaces = ours.surfaces;
    asked->search.a = a;
    asked->search.b = b;
    asked->search.poses = &asked->poses;
    asked->search.distances = asked->what != QUESTION_OVERLAP;
    asked->search.any = asked->what == QUESTION_WITHIN;
    asked->search.limit = asked->limit;
    atomic_init(&asked->failure, ABUT_OK);
    return run(asked);
}

abut_status abut_device_pair_overlap(abut_device_bvh *a, abut_device_bvh *b,
                                     const abut_pair_poses *poses, const abut_pair_options *options,
                                     abut_pair_relation *relations) {
    pair_asked asked = {.function = __func__, .what = QUESTION_OVERLAP, .limit = INFINITY};
    asked.relations = relations;
    return ask(a, b, poses, options, &asked, relations, "relations");
}

abut_status abut_device_pair_distance(abut_device_bvh *a, abut_device_bvh *b,
                                      const abut_pair_poses *poses,
                                      const abut_pair_options *options,
                                      abut_separation *separations) {
    pair_asked asked = {.function = __func__, .what = QUESTION_DISTANCE, .limit = INFINITY};
    asked.separations = separations;
    return ask(a, b, poses, options, &asked, separations, "separations");
}

abut_status abut_device_pair_within(abut_device_bvh *a, abut_device_bvh *b,
                                    const abut_pair_poses *poses, double margin,
                                    const abut_pair_options *options, bool *within) {
    pair_asked asked = {.function = __func__, .what = QUESTION_WITHIN, .limit = margin};
    asked.within = within;
    abut_status status = abuti_bvh_check_limit(__func__, "margin", margin);
    return status ? status : ask(a, b, poses, options, &asked, within, "within");
}
