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
#include "pair/device.h"
#include "geom/intersect_shared.h"

/* Poses of a chunk: the host works on one chunk while the device searches the next. */
enum { CHUNKS = 8, CHUNK_POSES_MIN = 1 << 12, CHUNK_POSES_MAX = 1 << 15, POSES_PER_TASK = 64 };

typedef struct device_chunk {
    pair_batch *batch;
    abuti_pair_search search;
} device_chunk;

/* ---- results ---- */

/* The result at a pose. If the query is not the distance, only the relation of the separation is
 * set. */
typedef struct pose_result {
    abut_separation separation;
    bool within;
    bool is_complete; /* the CPU has computed and written everything */
} pose_result;

/* Whether one of the pairs intersects that the device could not decide. */
static bool uncertain_pairs_intersect(const device_chunk *chunk_search, size_t i,
                                      const pair_frame *frame) {
    const uint32_t *range = chunk_search->search.intersections[i];
    for (uint32_t k = 0; k < range[1]; k++) {
        const uint32_t *triangle = chunk_search->search.uncertain.pairs[range[0] + k];
        if (triangle_triangle_intersect(pair_triangle(&frame->side[0], triangle[0]),
                                        pair_triangle(&frame->side[1], triangle[1]),
                                        NULL) != ABUT_INTERSECTION_NONE)
            return true;
    }
    return false;
}

/* The distance between surfaces that do not intersect. */
static void measure_closest(const device_chunk *chunk_search, size_t i, const pair_frame *frame,
                            pose_result *found) {
    const abuti_pair_search *search = &chunk_search->search;
    const uint32_t *range = search->closest[i];
    const uint32_t(*candidates)[2] = (const uint32_t(*)[2])search->candidates.pairs;
    bool any = chunk_search->batch->what == PAIR_QUERY_WITHIN;
    if (range[1] == PAIR_WITHIN)
        found->within = true;
    else if (range[1] == PAIR_OVERFLOW)
        found->within =
            abuti_pair_closest(frame, chunk_search->batch->limit, any, NULL, &found->separation);
    else if (search->is_measured)
        found->within = abuti_pair_closest_of(frame, candidates + i, range[1] > 0,
                                              chunk_search->batch->limit, any, &found->separation);
    else
        found->within = abuti_pair_closest_of(frame, candidates + range[0], range[1],
                                              chunk_search->batch->limit, any, &found->separation);
}

static abut_status compute_pose_result(const device_chunk *chunk_search, size_t i,
                                       pose_result *found) {
    abuti_posed posed[2];
    pair_frame frame;
    uint32_t vertex;
    unsigned flags = 0;
    abut_separation *separation = &found->separation;
    abuti_pair_search_posed(&chunk_search->search, i, posed);
    bool intersects = chunk_search->search.intersections[i][1] == PAIR_INTERSECTS;
    found->is_complete = chunk_search->search.intersections[i][1] == PAIR_OVERFLOW;
    if (found->is_complete)
        return abuti_pair_batch_one(chunk_search->batch, chunk_search->search.begin + i, NULL);
    if (!intersects) {
        abuti_pair_frame_init(&posed[0], &posed[1], &frame);
        intersects = uncertain_pairs_intersect(chunk_search, i, &frame);
    }
    found->is_complete = intersects && chunk_search->batch->what == PAIR_QUERY_DISTANCE;
    if (found->is_complete)
        return abuti_pair_batch_one(chunk_search->batch, chunk_search->search.begin + i, NULL);
    separation->relation = intersects ? ABUT_PAIR_INTERSECTING : ABUT_PAIR_APART;
    if (!intersects && !chunk_search->batch->surfaces) {
        abut_status status = abuti_pair_contains(&frame, &posed[0], &posed[1],
                                                 &separation->relation, &vertex, &flags);
        if (status)
            return status;
    }
    if (chunk_search->batch->what != PAIR_QUERY_OVERLAP && separation->relation == ABUT_PAIR_APART)
        measure_closest(chunk_search, i, &frame, found);
    if (flags && !found->within)
        atomic_fetch_or(&chunk_search->batch->flags, flags);
    if (chunk_search->batch->what == PAIR_QUERY_DISTANCE)
        separation->reliability = abuti_pair_reliability_of(flags);
    if (chunk_search->batch->what == PAIR_QUERY_OVERLAP || separation->relation == ABUT_PAIR_APART)
        return ABUT_OK;
    if (chunk_search->batch->what == PAIR_QUERY_DISTANCE)
        abuti_pair_inside(&frame, separation->relation == ABUT_PAIR_B_INSIDE, vertex, separation);
    else
        found->within = true;
    return ABUT_OK;
}

static void pose_results_task(void *data, size_t chunk, size_t begin, size_t end) {
    const device_chunk *chunk_search = data;
    pair_batch *batch = chunk_search->batch;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t at = chunk_search->search.begin + i;
        pose_result found;
        memset(&found, 0, sizeof found);
        abut_status status = compute_pose_result(chunk_search, i, &found);
        if (status)
            atomic_store(&batch->failure, (unsigned)status);
        else if (found.is_complete)
            continue;
        else if (batch->what == PAIR_QUERY_OVERLAP)
            batch->relations[at] = found.separation.relation;
        else if (batch->what == PAIR_QUERY_DISTANCE)
            batch->separations[at] = found.separation;
        else
            batch->within[at] = found.within;
    }
}

/* ---- chunks ---- */

static size_t chunk_pose_count(size_t count) {
    size_t chunk_size = (count + CHUNKS - 1) / CHUNKS;
    chunk_size = chunk_size < CHUNK_POSES_MIN   ? CHUNK_POSES_MIN
                 : chunk_size > CHUNK_POSES_MAX ? CHUNK_POSES_MAX
                                                : chunk_size;
    return count < chunk_size ? count : chunk_size;
}

/* Builds the CPU trees that pairs of intersecting surfaces need, before threads need them all at
 * once. */
static abut_status prepare_cpu_trees(const device_chunk *chunk_search) {
    const abuti_pair_search *search = &chunk_search->search;
    const abut_bvh *tree;
    bool has_intersection = false;
    for (size_t i = 0; i < search->count && !has_intersection; i++)
        has_intersection = search->intersections[i][1] != 0;
    if (!has_intersection || chunk_search->batch->what != PAIR_QUERY_DISTANCE)
        return ABUT_OK;
    abut_status status = abuti_bvh_cpu_tree(search->poses->a, &tree);
    return status ? status : abuti_bvh_cpu_tree(search->poses->b, &tree);
}

/* Waits for the device and computes the results of a chunk. */
static abut_status finish_chunk(device_chunk *chunk_search) {
    abuti_pair_search *search = &chunk_search->search;
    pair_batch *batch = chunk_search->batch;
    abut_context *context = search->a->context;
    abut_status status = abuti_pair_search_end(search);
    status = status ? status : prepare_cpu_trees(chunk_search);
    if (status)
        return status;
    abuti_parallel_for(context, search->count, POSES_PER_TASK, pose_results_task, chunk_search);
    status = (abut_status)atomic_load(&batch->failure);
    return status
               ? abuti_fail(status,
                            "%s: out of memory for a distant pose or for the components of a mesh",
                            batch->function)
               : abuti_progress(context, "pairs",
                                (double)(search->begin + search->count) /
                                    (double)batch->poses.count);
}

static abut_status run_chunks(device_chunk *chunk_search) {
    const size_t count = chunk_search[0].batch->poses.count, chunk_size = chunk_pose_count(count);
    abut_status status = abuti_pair_search_open(&chunk_search[0].search, chunk_size);
    if (!status && chunk_size < count)
        status = abuti_pair_search_open(&chunk_search[1].search, chunk_size);
    if (!status)
        abuti_pair_search_begin(&chunk_search[0].search, 0, chunk_size);
    uint32_t current = 0;
    for (size_t begin = 0; !status && begin < count; begin += chunk_size, current = !current) {
        size_t next = begin + chunk_size;
        if (next < count)
            abuti_pair_search_begin(&chunk_search[!current].search, next,
                                    count - next < chunk_size ? count - next : chunk_size);
        status = finish_chunk(&chunk_search[current]);
    }
    abuti_pair_search_close(&chunk_search[0].search);
    abuti_pair_search_close(&chunk_search[1].search);
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
    device_chunk chunk_search[2];
    for (uint32_t k = 0; k < 2; k++)
        chunk_search[k] = (device_chunk){.batch = batch,
                                         .search = {.a = a,
                                                    .b = b,
                                                    .poses = poses,
                                                    .distances = batch->what != PAIR_QUERY_OVERLAP,
                                                    .any = batch->what == PAIR_QUERY_WITHIN,
                                                    .limit = batch->limit,
                                                    .slot = k}};
    return poses->count ? run_chunks(chunk_search) : ABUT_OK;
}
