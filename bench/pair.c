/* Cases: two bodies of 70,000 triangles each, teapots of one model, one of them at random poses
 * of which about half overlap; the intersection volume of balls of 1,280 triangles. */
#include "bench.h"

#include <stdlib.h>

enum { OVERLAP, DISTANCE, WITHIN, MEETINGS, COMMON };

#define MOST_MEETINGS 65536

typedef struct pair_data {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_pose *poses;
    abut_pair_relation *relations;
    abut_separation *separations;
    bool *within;
    abut_pair_intersection *meetings;
    double margin;
    uint32_t count;
} pair_data;

static uint32_t pose_count(const bench_state *state) {
    static const uint32_t counts[] = {
        [OVERLAP] = 2000, [DISTANCE] = 200, [WITHIN] = 1000, [MEETINGS] = 20, [COMMON] = 500};
    return state->quick ? 20 : counts[state->which->variant];
}

/* Any rotation, and the centre of the box anywhere in a box of one and a half times the size. */
static void make_poses(pair_data *data) {
    uint64_t random = 11;
    abut_box box = abut_mesh_bounds(data->mesh);
    double size[3] = {box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z};
    for (uint32_t i = 0; i < data->count; i++) {
        double q[4], t[3];
        for (int k = 0; k < 4; k++)
            q[k] = bench_random_real(&random, -1, 1);
        for (int k = 0; k < 3; k++)
            t[k] = bench_random_real(&random, -0.75, 0.75) * size[k];
        data->poses[i].rotation = (abut_quat){q[0], q[1], q[2], q[3]};
        data->poses[i].translation = (abut_vec3){t[0], t[1], t[2]};
    }
    data->margin = 0.1 * size[0];
}

static abut_status pair_setup(bench_state *state) {
    pair_data *data = state->data;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
    shape.segments = state->quick ? 4 : 33;
    if (state->which->variant == COMMON) {
        shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
        shape.segments = 8;
    }
    MAKE(data->mesh, abut_shape_create(state->context, &shape, &data->mesh));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    data->count = pose_count(state);
    state->elements = data->count;
    data->poses = bench_array(state, data->count, sizeof *data->poses);
    data->relations = bench_array(state, data->count, sizeof *data->relations);
    data->separations = bench_array(state, data->count, sizeof *data->separations);
    data->within = bench_array(state, data->count, sizeof *data->within);
    data->meetings = bench_array(state, MOST_MEETINGS, sizeof *data->meetings);
    make_poses(data);
    return ABUT_OK;
}

static abut_status run_batch(bench_state *state) {
    pair_data *data = state->data;
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = poses.b = data->bvh;
    poses.poses_b = data->poses;
    poses.count = data->count;
    if (state->which->variant == OVERLAP)
        return abut_pair_overlap_batch(&poses, NULL, data->relations, NULL);
    if (state->which->variant == DISTANCE)
        return abut_pair_distance_batch(&poses, NULL, data->separations);
    return abut_pair_within_batch(&poses, data->margin, NULL, data->within, NULL);
}

static abut_status run_meetings(bench_state *state) {
    pair_data *data = state->data;
    const abut_collider a = abut_collider_from_bvh(data->bvh, abut_pose_identity());
    for (uint32_t i = 0; i < data->count; i++) {
        const abut_collider b = abut_collider_from_bvh(data->bvh, data->poses[i]);
        abut_pair_intersection_list found = {data->meetings, MOST_MEETINGS, 0};
        TRY(abut_pair_intersections(&a, &b, &found));
        for (uint64_t k = 0; k < found.count; k++)
            state->hash = bench_hash(state->hash, &data->meetings[k].triangle_a,
                                     2 * sizeof data->meetings[k].triangle_a);
    }
    return ABUT_OK;
}

static abut_status run_common(bench_state *state) {
    pair_data *data = state->data;
    const abut_collider a = abut_collider_from_bvh(data->bvh, abut_pose_identity());
    for (uint32_t i = 0; i < data->count; i++) {
        const abut_collider b = abut_collider_from_bvh(data->bvh, data->poses[i]);
        abut_pair_measures common = abut_pair_measures_default();
        TRY(abut_pair_measure(&a, &b, NULL, &common));
        state->hash = bench_hash(state->hash, &common.volume, sizeof common.volume);
    }
    return ABUT_OK;
}

static abut_status pair_finish(bench_state *state) {
    pair_data *data = state->data;
    switch (state->which->variant) {
    case OVERLAP:
        state->hash = bench_hash(0, data->relations, data->count * sizeof *data->relations);
        break;
    case DISTANCE:
        for (uint32_t i = 0; i < data->count; i++) { /* one by one: there is padding between them */
            const abut_separation *s = &data->separations[i];
            state->hash = bench_hash(state->hash, &s->distance, sizeof s->distance);
            state->hash = bench_hash(state->hash, &s->point_a, 2 * sizeof s->point_a);
        }
        break;
    case WITHIN:
        state->hash = bench_hash(0, data->within, data->count * sizeof *data->within);
        break;
    default: /* hashed by the run */
        break;
    }
    return ABUT_OK;
}

#define PAIR(name_, run_, variant_, threaded_)                                               \
    {                                                                                        \
        .name = name_, .unit = "pose", .data_bytes = sizeof(pair_data), .setup = pair_setup, \
        .run = run_, .finish = pair_finish, .variant = variant_, .threaded = threaded_       \
    }

const bench_case bench_pair_cases[] = {
    PAIR("pair/overlap-teapot", run_batch, OVERLAP, true),
    PAIR("pair/distance-teapot", run_batch, DISTANCE, true),
    PAIR("pair/within-teapot", run_batch, WITHIN, true),
    PAIR("pair/meetings-teapot", run_meetings, MEETINGS, false),
    PAIR("pair/common-balls", run_common, COMMON, false),
    {.name = NULL},
};
