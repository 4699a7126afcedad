/* Queries between two meshes at many poses, distributed over threads. Each thread keeps a cache
 * from pose to pose as a warm start. Results do not depend on it. */
#include "pair/pair.h"

#include <float.h>
#include <math.h>

enum { POSES_PER_TASK = 8, TASKS_PER_REPORT = 64 };

static abuti_posed posed_at(const abut_bvh *bvh, const abut_pose *poses, size_t i) {
    abuti_posed posed;
    memset(&posed, 0, sizeof posed);
    posed.bvh = bvh;
    if (poses)
        posed.pose = poses[i];
    return posed;
}

abut_status abuti_pair_batch_one(pair_batch *batch, size_t i, abut_pair_cache *cache) {
    abut_status status;
    unsigned flags = 0;
    abuti_posed a = posed_at(batch->poses.a, batch->poses.poses_a, i);
    abuti_posed b = posed_at(batch->poses.b, batch->poses.poses_b, i);
    switch (batch->what) {
    case PAIR_QUERY_OVERLAP:
        status = abuti_pair_overlap(&a, &b, batch->surfaces, cache, &batch->relations[i], &flags);
        break;
    case PAIR_QUERY_DISTANCE:
        return abuti_pair_distance(&a, &b, batch->surfaces, cache, &batch->separations[i]);
    default:
        status = abuti_pair_within(&a, &b, batch->limit, batch->surfaces, cache, &batch->within[i],
                                   &flags);
    }
    if (flags)
        atomic_fetch_or(&batch->flags, flags);
    return status;
}

/* A range of poses. */
typedef struct pose_range {
    pair_batch *batch;
    size_t begin;
} pose_range;

static void poses_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pose_range *p = data;
    abut_pair_cache cache;
    (void)chunk;
    memset(&cache, 0, sizeof cache);
    for (size_t i = p->begin + begin; i < p->begin + end; i++) {
        abut_status status = abuti_pair_batch_one(p->batch, i, &cache);
        if (status)
            atomic_store(&p->batch->failure, (unsigned)status);
    }
}

/* ---- validation ---- */

bool abuti_pair_pose_is_plain(const abut_pose *p, double largest) {
    const abut_quat *q = &p->rotation;
    return fabs(q->x) <= DBL_MAX && fabs(q->y) <= DBL_MAX && fabs(q->z) <= DBL_MAX &&
           fabs(q->w) <= DBL_MAX && fabs(p->translation.x) + 4 * largest <= ABUT_COORDINATE_MAX &&
           fabs(p->translation.y) + 4 * largest <= ABUT_COORDINATE_MAX &&
           fabs(p->translation.z) + 4 * largest <= ABUT_COORDINATE_MAX;
}

static abut_status check_poses(const char *function, const abut_pair_poses *poses) {
    const abut_bvh *const bvh[2] = {poses->a, poses->b};
    const abut_pose *const list[2] = {poses->poses_a, poses->poses_b};
    double largest[2];
    for (int side = 0; side < 2; side++) {
        abut_box box = bvh[side]->mesh->bounds;
        largest[side] = real_max(v3_max_abs(box.lo), v3_max_abs(box.hi));
    }
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < poses->count && !status; i++)
        for (int side = 0; side < 2 && !status; side++) {
            char what[48];
            if (!list[side] || abuti_pair_pose_is_plain(&list[side][i], largest[side]))
                continue;
            snprintf(what, sizeof what, "%s at index %zu", side ? "b" : "a", i);
            status = abuti_pair_check_pose(function, what, bvh[side], &list[side][i]);
        }
    return status;
}

static abut_status read_poses(const char *function, const abut_pair_poses *theirs, const void *out,
                              const char *out_name, abut_pair_poses *poses) {
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
    status = abuti_bvh_ensure_host(poses->a);
    if (!status)
        status = abuti_bvh_ensure_host(poses->b);
    return status ? status : check_poses(function, poses);
}

/* ---- on the CPU ---- */

static abut_status run_on_cpu(pair_batch *batch) {
    abut_context *context = batch->poses.a->context;
    const size_t batch_size = (size_t)POSES_PER_TASK * TASKS_PER_REPORT, count = batch->poses.count;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < count && !status; begin += batch_size) {
        size_t pose_count = count - begin < batch_size ? count - begin : batch_size;
        pose_range p = {batch, begin};
        status = abuti_parallel_try(context, "pairs", pose_count, POSES_PER_TASK, poses_task, &p);
        if (status)
            return status;
        if (atomic_load(&batch->failure)) /* the message of a worker is on its own thread */
            return abuti_fail(
                (abut_status)atomic_load(&batch->failure),
                "%s: out of memory for a distant pose or for the components of a mesh",
                batch->function);
        status = abuti_progress(context, "pairs", (double)(begin + pose_count) / (double)count);
    }
    return status;
}

/* ---- public ---- */

static abut_status run_batch(const abut_pair_poses *poses, const abut_pair_options *options,
                             pair_batch *batch, const void *out, const char *out_name,
                             abut_reliability *reliability) {
    abut_pair_options ours = abut_pair_options_default();
    abut_status status;
    if ((status = abuti_bvh_check_limit(batch->function, "margin", batch->limit)) ||
        (status = read_poses(batch->function, poses, out, out_name, &batch->poses)) ||
        (status = abuti_options_read(&ours, sizeof ours, options, batch->function)))
        return status;
    batch->surfaces = ours.surface_only;
    atomic_init(&batch->failure, ABUT_OK);
    atomic_init(&batch->flags, 0);
    bool there = batch->poses.a->there || batch->poses.b->there;
    status = there ? abuti_pair_batch_on_device(batch) : run_on_cpu(batch);
    if (!status && reliability)
        *reliability = abuti_pair_reliability_of(atomic_load(&batch->flags));
    return status;
}

abut_status abut_pair_overlap_batch(const abut_pair_poses *poses, const abut_pair_options *options,
                                    abut_pair_relation *relations, abut_reliability *reliability) {
    pair_batch batch = {.function = __func__, .what = PAIR_QUERY_OVERLAP, .limit = INFINITY};
    batch.relations = relations;
    return run_batch(poses, options, &batch, relations, "relations", reliability);
}

abut_status abut_pair_distance_batch(const abut_pair_poses *poses, const abut_pair_options *options,
                                     abut_separation *separations) {
    pair_batch batch = {.function = __func__, .what = PAIR_QUERY_DISTANCE, .limit = INFINITY};
    batch.separations = separations;
    return run_batch(poses, options, &batch, separations, "separations", NULL);
}

abut_status abut_pair_within_batch(const abut_pair_poses *poses, double margin,
                                   const abut_pair_options *options, bool *within,
                                   abut_reliability *reliability) {
    pair_batch batch = {.function = __func__, .what = PAIR_QUERY_WITHIN, .limit = margin};
    batch.within = within;
    return run_batch(poses, options, &batch, within, "within", reliability);
}
