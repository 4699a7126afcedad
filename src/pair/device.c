/* Questions about two meshes at many poses: surfaces on a device, the rest on the host.
 *
 * The device tells for each pose that surfaces meet, that they do not, or which few pairs of
 * triangles floats cannot decide; these the exact predicate does. Where surfaces do not meet,
 * containment is asked of the CPU, which rarely has to look at more than boxes. For distances the
 * device names the closest triangles, or without doubles those that may be, and the host measures.
 * Hence the answers are those of batch.c. The CPU answers, by its own tree (bvh/cpu_tree.c), what
 * the device has no room for, and which of several intersecting pairs of triangles is reported.
 */
#include "pair/device.h"
#include "geom/intersect_shared.h"

/* Poses of a part: the host works on one while the device searches the next. */
enum { PARTS = 8, PART_MIN = 1 << 12, PART_MAX = 1 << 15, TASK_POSES = 64 };

typedef struct pair_asked {
    pair_batch *batch;
    abuti_pair_search search;
} pair_asked;

/* ---- after the device ---- */

/* What is found at a pose. Of a separation only the relation is filled in where the question is
 * another than the distance. */
typedef struct finding {
    abut_separation separation;
    bool within;
    bool wholly; /* the CPU has answered, and written, all of it */
} finding;

/* Whether one of the pairs meets that the device was not sure about. */
static bool unsure_meet(const pair_asked *asked, size_t i, const pair_frame *frame) {
    const uint32_t *may = asked->search.meetings[i];
    for (uint32_t k = 0; k < may[1]; k++) {
        const uint32_t *triangle = asked->search.unsure.pairs[may[0] + k];
        if (triangle_triangle_intersect(pair_triangle(&frame->side[0], triangle[0]),
                                        pair_triangle(&frame->side[1], triangle[1]),
                                        NULL) != ABUT_INTERSECTION_NONE)
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
    bool any = asked->batch->what == PAIR_ASK_WITHIN;
    if (near[1] == PAIR_WITHIN)
        found->within = true;
    else if (near[1] == PAIR_TOO_MUCH)
        found->within =
            abuti_pair_closest(frame, asked->batch->limit, any, NULL, &found->separation);
    else if (search->measured)
        found->within = abuti_pair_closest_of(frame, candidates + i, near[1] > 0,
                                              asked->batch->limit, any, &found->separation);
    else
        found->within = abuti_pair_closest_of(frame, candidates + near[0], near[1],
                                              asked->batch->limit, any, &found->separation);
}

static abut_status find_result(const pair_asked *asked, size_t i, finding *found) {
    abut_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    unsigned doubt = 0;
    abut_separation *separation = &found->separation;
    abuti_pair_search_posed(&asked->search, i, posed);
    bool meets = asked->search.meetings[i][1] == PAIR_MEETS;
    found->wholly = asked->search.meetings[i][1] == PAIR_TOO_MUCH;
    if (found->wholly)
        return abuti_pair_batch_one(asked->batch, asked->search.begin + i, NULL);
    if (!meets) {
        abuti_pair_start(&posed[0], &posed[1], &frame);
        meets = unsure_meet(asked, i, &frame);
    }
    found->wholly = meets && asked->batch->what == PAIR_ASK_DISTANCE;
    if (found->wholly)
        return abuti_pair_batch_one(asked->batch, asked->search.begin + i, NULL);
    separation->relation = meets ? ABUT_PAIR_INTERSECTING : ABUT_PAIR_APART;
    if (!meets && !asked->batch->surfaces) {
        abut_status status = abuti_pair_contains(&frame, &posed[0], &posed[1],
                                                 &separation->relation, &vertex, &doubt);
        if (status)
            return status;
    }
    if (asked->batch->what != PAIR_ASK_OVERLAP && separation->relation == ABUT_PAIR_APART)
        find_closest(asked, i, &frame, found);
    if (doubt && !found->within)
        atomic_fetch_or(&asked->batch->doubt, doubt);
    if (asked->batch->what == PAIR_ASK_DISTANCE)
        separation->reliability = abuti_pair_doubt(doubt);
    if (asked->batch->what == PAIR_ASK_OVERLAP || separation->relation == ABUT_PAIR_APART)
        return ABUT_OK;
    if (asked->batch->what == PAIR_ASK_DISTANCE)
        abuti_pair_inside(&frame, separation->relation == ABUT_PAIR_B_INSIDE, vertex, separation);
    else
        found->within = true;
    return ABUT_OK;
}

static void find_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pair_asked *asked = data;
    pair_batch *batch = asked->batch;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t at = asked->search.begin + i;
        finding found;
        memset(&found, 0, sizeof found);
        abut_status status = find_result(asked, i, &found);
        if (status)
            atomic_store(&batch->failure, (unsigned)status);
        else if (found.wholly)
            continue;
        else if (batch->what == PAIR_ASK_OVERLAP)
            batch->relations[at] = found.separation.relation;
        else if (batch->what == PAIR_ASK_DISTANCE)
            batch->separations[at] = found.separation;
        else
            batch->within[at] = found.within;
    }
}

/* ---- part by part ---- */

static size_t part_of(size_t count) {
    size_t each = (count + PARTS - 1) / PARTS;
    each = each < PART_MIN ? PART_MIN : each > PART_MAX ? PART_MAX : each;
    return count < each ? count : each;
}

/* Makes what witnesses of intersecting surfaces need before threads want it all at once. */
static abut_status prepare_witnesses(const pair_asked *asked) {
    const abuti_pair_search *search = &asked->search;
    const abut_bvh *tree;
    bool some = false;
    for (size_t i = 0; i < search->count && !some; i++)
        some = search->meetings[i][1] != 0;
    if (!some || asked->batch->what != PAIR_ASK_DISTANCE)
        return ABUT_OK;
    abut_status status = abuti_bvh_cpu_tree(search->poses->a, &tree);
    return status ? status : abuti_bvh_cpu_tree(search->poses->b, &tree);
}

/* After the device. */
static abut_status work_on(pair_asked *asked) {
    abuti_pair_search *search = &asked->search;
    pair_batch *batch = asked->batch;
    abut_context *context = search->a->context;
    abut_status status = abuti_pair_search_end(search);
    status = status ? status : prepare_witnesses(asked);
    if (status)
        return status;
    abuti_parallel_for(context, search->count, TASK_POSES, find_task, asked);
    status = (abut_status)atomic_load(&batch->failure);
    return status ? abuti_fail(status,
                               "%s: out of memory for a pose far away or for the parts of a mesh",
                               batch->function)
                  : abuti_progress(context, "pairs",
                                   (double)(search->begin + search->count) /
                                       (double)batch->poses.count);
}

static abut_status run(pair_asked *asked) {
    const size_t count = asked[0].batch->poses.count, each = part_of(count);
    abut_status status = abuti_pair_search_open(&asked[0].search, each);
    if (!status && each < count)
        status = abuti_pair_search_open(&asked[1].search, each);
    if (!status)
        abuti_pair_search_begin(&asked[0].search, 0, each);
    uint32_t now = 0;
    for (size_t begin = 0; !status && begin < count; begin += each, now = !now) {
        size_t next = begin + each;
        if (next < count)
            abuti_pair_search_begin(&asked[!now].search, next,
                                    count - next < each ? count - next : each);
        status = work_on(&asked[now]);
    }
    abuti_pair_search_close(&asked[0].search);
    abuti_pair_search_close(&asked[1].search);
    return status;
}

abut_status abuti_pair_batch_there(pair_batch *batch) {
    const abut_pair_poses *poses = &batch->poses;
    bvh_on_device *a = poses->a->there, *b = poses->b->there;
    if (!a || !b || abut_device_native(a->queue.device) != abut_device_native(b->queue.device))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: poses->a and poses->b are on different devices, or one of them on "
                          "the CPU",
                          batch->function);
    pair_asked asked[2];
    for (uint32_t k = 0; k < 2; k++)
        asked[k] = (pair_asked){.batch = batch,
                                .search = {.a = a,
                                           .b = b,
                                           .poses = poses,
                                           .distances = batch->what != PAIR_ASK_OVERLAP,
                                           .any = batch->what == PAIR_ASK_WITHIN,
                                           .limit = batch->limit,
                                           .which = k}};
    return poses->count ? run(asked) : ABUT_OK;
}
