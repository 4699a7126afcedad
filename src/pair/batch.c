/* Questions about two meshes at many poses: shared among threads, each of which keeps a cache from
 * pose to pose. Answers do not depend on it. */
#include "pair/pair.h"

#include <stdatomic.h>

enum { POSES_A_TASK = 8, TASKS_A_REPORT = 64 };

typedef enum question { QUESTION_OVERLAP, QUESTION_DISTANCE, QUESTION_WITHIN } question;

typedef struct pair_batch {
    abut_pair_poses poses;
    question what;
    bool surfaces;
    double margin;
    abut_pair_relation *relations;
    abut_separation *separations;
    bool *within;
    size_t begin;        /* of the part that runs */
    atomic_uint failure; /* a status; they can only be out of memory */
} pair_batch;

static abut_posed posed_at(const abut_bvh *bvh, const abut_pose *poses, size_t i) {
    abut_posed posed;
    memset(&posed, 0, sizeof posed);
    posed.bvh = bvh;
    if (poses)
        posed.pose = poses[i];
    return posed;
}

static void poses_task(void *data, size_t chunk, size_t begin, size_t end) {
    pair_batch *batch = data;
    abut_pair_cache cache;
    (void)chunk;
    memset(&cache, 0, sizeof cache);
    for (size_t k = begin; k < end; k++) {
        size_t i = batch->begin + k;
        abut_posed a = posed_at(batch->poses.a, batch->poses.poses_a, i);
        abut_posed b = posed_at(batch->poses.b, batch->poses.poses_b, i);
        abut_status status = ABUT_OK;
        switch (batch->what) {
        case QUESTION_OVERLAP:
            status = abuti_pair_overlap(&a, &b, batch->surfaces, &cache, &batch->relations[i]);
            break;
        case QUESTION_DISTANCE:
            status = abuti_pair_distance(&a, &b, batch->surfaces, &cache, &batch->separations[i]);
            break;
        case QUESTION_WITHIN:
            status = abuti_pair_within(&a, &b, batch->margin, batch->surfaces, &cache,
                                       &batch->within[i]);
            break;
        }
        if (status)
            atomic_store(&batch->failure, (unsigned)status);
    }
}

abut_status abuti_pair_poses_read(const char *function, const abut_pair_poses *theirs,
                                  const void *out, const char *out_name, abut_pair_poses *poses) {
    *poses = abut_pair_poses_default();
    if (!theirs)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: poses is null; pass its address", function);
    abut_status status = abuti_options_read(poses, sizeof *poses, theirs, function);
    if (status)
        return status;
    if (!poses->a || !poses->b || (!out && poses->count))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass its address", function,
                          !poses->a   ? "poses->a"
                          : !poses->b ? "poses->b"
                                      : out_name);
    for (size_t i = 0; i < poses->count; i++) {
        char what[48];
        for (int side = 0; side < 2; side++) {
            const abut_pose *list = side ? poses->poses_b : poses->poses_a;
            snprintf(what, sizeof what, "%s at index %zu", side ? "b" : "a", i);
            status =
                list ? abuti_pair_check_pose(function, what, side ? poses->b : poses->a, &list[i])
                     : ABUT_OK;
            if (status)
                return status;
        }
    }
    return ABUT_OK;
}

static abut_status run_batch(const char *function, const abut_pair_poses *poses,
                             const abut_pair_options *options, pair_batch *batch, const void *out,
                             const char *out_name) {
    abut_pair_options ours = abut_pair_options_default();
    abut_status status = abuti_pair_poses_read(function, poses, out, out_name, &batch->poses);
    status = status ? status : abuti_options_read(&ours, sizeof ours, options, function);
    if (status)
        return status;
    batch->surfaces = ours.surfaces;
    atomic_init(&batch->failure, ABUT_OK);
    abut_context *context = batch->poses.a->context;
    const size_t part = (size_t)POSES_A_TASK * TASKS_A_REPORT, count = batch->poses.count;
    for (size_t begin = 0; begin < count && !status; begin += part) {
        size_t here = count - begin < part ? count - begin : part;
        batch->begin = begin;
        abuti_parallel_for(context, here, POSES_A_TASK, poses_task, batch);
        if (atomic_load(&batch->failure)) /* a worker's own sentence is not ours to read */
            return abuti_fail((abut_status)atomic_load(&batch->failure),
                              "%s: out of memory for a pose far away or for the parts of a mesh",
                              function);
        status = abuti_progress(context, "pairs", (double)(begin + here) / (double)count);
    }
    return status;
}

abut_status abut_pair_overlap_batch(const abut_pair_poses *poses, const abut_pair_options *options,
                                    abut_pair_relation *relations) {
    pair_batch batch = {.what = QUESTION_OVERLAP, .relations = relations};
    return run_batch(__func__, poses, options, &batch, relations, "relations");
}

abut_status abut_pair_distance_batch(const abut_pair_poses *poses, const abut_pair_options *options,
                                     abut_separation *separations) {
    pair_batch batch = {.what = QUESTION_DISTANCE, .separations = separations};
    return run_batch(__func__, poses, options, &batch, separations, "separations");
}

abut_status abut_pair_within_batch(const abut_pair_poses *poses, double margin,
                                   const abut_pair_options *options, bool *within) {
    pair_batch batch = {.what = QUESTION_WITHIN, .margin = margin, .within = within};
    abut_status status = abuti_bvh_check_limit(__func__, "margin", margin);
    return status ? status : run_batch(__func__, poses, options, &batch, within, "within");
}
