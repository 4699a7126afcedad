/* Queries on a device: nearest points of a grid and of random points that are already on the
 * device, and overlap and distance at many poses. The first results are compared with the CPU's
 * before the timing. */
#include "bench.h"

#include "bvh/bvh.h"
#include "device/device.h"

#include <abut/pair.h>

#include <math.h>
#include <stdlib.h>

enum { GRID = 0, RANDOM = 4, POSES = 8, DISTANCES = 16 };

#define GRID_GOAL_MS 25   /* 256^3 points on an H200 */
#define RANDOM_GOAL_MS 40 /* ten million points on an H200 */
#define CHECKED 20000     /* results that are compared */

typedef struct query_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
    float (*points)[3];
    abut_buffer *in, *out;
    abut_pose *poses;
    abut_pair_relation *relations; /* of poses, or */
    abut_separation *separations;
    size_t count;
} query_data;

static bool on_gpu; /* goals are those of a GPU */

/* ---- points ---- */

/* Cell centres of the box x 1.2, row by row, or random points in it. */
static void fill_points(query_data *data, bool random_points, size_t side) {
    uint64_t random = 9;
    abut_box box = abut_mesh_bounds(data->mesh);
    const double lo[3] = {box.lo.x, box.lo.y, box.lo.z}, hi[3] = {box.hi.x, box.hi.y, box.hi.z};
    for (size_t i = 0; i < data->count; i++) {
        const size_t cell[3] = {i % side, i / side % side, i / side / side};
        for (int k = 0; k < 3; k++) {
            double at = random_points ? bench_random_real(&random, 0, 1)
                                      : ((double)cell[k] + 0.5) / (double)side;
            data->points[i][k] = (float)(lo[k] + (1.2 * at - 0.1) * (hi[k] - lo[k]));
        }
    }
}

static abut_status run_nearest(bench_state *state) {
    query_data *data = state->data;
    abut_array points = abut_array_buffer(data->in);
    points.type = ABUT_SCALAR_FLOAT32;
    return abut_nearest_point_batch(data->there, points, data->count, HUGE_VAL,
                                    abut_array_buffer(data->out));
}

static abut_status check_nearest(bench_state *state) {
    query_data *data = state->data;
    size_t some = data->count < CHECKED ? data->count : CHECKED, first = (data->count - some) / 2;
    abut_nearest *got = malloc(some * sizeof *got), *expected = malloc(some * sizeof *expected);
    abut_array points = abut_array_floats(data->points[first]);
    abut_status status =
        got && expected ? run_nearest(state) : bench_fail(ABUT_ERROR_MEMORY, "no memory");
    if (!status)
        status = abut_buffer_read(data->out, first * sizeof *got, got, some * sizeof *got);
    if (!status)
        status =
            abut_nearest_point_batch(data->bvh, points, some, HUGE_VAL, abut_array_host(expected));
    if (!status && memcmp(got, expected, some * sizeof *got) != 0)
        status = bench_fail(ABUT_ERROR_DEVICE, "the answers are not those of the CPU");
    free(got);
    free(expected);
    return status;
}

static abut_status setup_points(bench_state *state, query_data *data) {
    bool random_points = state->which->variant & RANDOM;
    size_t side = state->quick ? 12 : 256;
    data->count = !random_points ? side * side * side : state->quick ? 2000 : 10000000;
    data->points = malloc(data->count * sizeof *data->points);
    if (!data->points)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    fill_points(data, random_points, side);
    abut_status status =
        abut_buffer_create(data->device, data->count * sizeof *data->points, &data->in);
    if (!status)
        status = abut_buffer_create(data->device, data->count * sizeof(abut_nearest), &data->out);
    if (!status)
        status = abut_buffer_write(data->in, 0, data->points, data->count * sizeof *data->points);
    return status ? status : check_nearest(state);
}

/* ---- poses ---- */

/* At a distance at which about half of them touch. */
static abut_status setup_poses(bench_state *state, query_data *data) {
    uint64_t random = 5;
    abut_box box = abut_mesh_bounds(data->mesh);
    double size = hypot(hypot(box.hi.x - box.lo.x, box.hi.y - box.lo.y), box.hi.z - box.lo.z);
    data->count = state->quick ? 100 : 100000;
    data->poses = calloc(data->count, sizeof *data->poses);
    if (state->which->variant & DISTANCES)
        data->separations = calloc(data->count, sizeof *data->separations);
    else
        data->relations = malloc(data->count * sizeof *data->relations);
    if (!data->poses || !(data->relations || data->separations))
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    for (size_t i = 0; i < data->count; i++) {
        double q[4], d[3], length = 0;
        for (int k = 0; k < 4; k++)
            q[k] = bench_random_real(&random, -1, 1);
        for (int k = 0; k < 3; k++) {
            d[k] = bench_random_real(&random, -1, 1);
            length += d[k] * d[k];
        }
        double away = bench_random_real(&random, 0.35, 0.65) * size / sqrt(length + 1e-9);
        data->poses[i].rotation = (abut_quat){q[0], q[1], q[2], q[3]};
        data->poses[i].translation = (abut_vec3){d[0] * away, d[1] * away, d[2] * away};
    }
    return ABUT_OK;
}

static abut_pair_poses poses_of(const query_data *data, const abut_bvh *bvh, size_t count) {
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = poses.b = bvh;
    poses.poses_b = data->poses;
    poses.count = count;
    return poses;
}

static abut_status run_poses(bench_state *state) {
    query_data *data = state->data;
    abut_pair_poses poses = poses_of(data, data->there, data->count);
    return data->relations ? abut_pair_overlap_batch(&poses, NULL, data->relations, NULL)
                           : abut_pair_distance_batch(&poses, NULL, data->separations);
}

/* Field by field: there is padding between them. */
static uint64_t hash_separations(const abut_separation *list, size_t count) {
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = bench_hash(hash, &list[i].distance, sizeof list[i].distance);
        hash = bench_hash(hash, &list[i].point_a, 2 * sizeof list[i].point_a);
        hash = bench_hash(hash, &list[i].triangle_a, 2 * sizeof list[i].triangle_a);
    }
    return hash;
}

static abut_status check_poses(bench_state *state) {
    query_data *data = state->data;
    size_t some = data->count < CHECKED / 10 ? data->count : CHECKED / 10;
    abut_pair_poses poses = poses_of(data, data->bvh, some);
    abut_pair_relation *relations = malloc(some * sizeof *relations);
    abut_separation *separations = calloc(some, sizeof *separations);
    abut_status status =
        relations && separations ? run_poses(state) : bench_fail(ABUT_ERROR_MEMORY, "no memory");
    if (!status)
        status = data->relations ? abut_pair_overlap_batch(&poses, NULL, relations, NULL)
                                 : abut_pair_distance_batch(&poses, NULL, separations);
    if (!status &&
        (data->relations
             ? memcmp(data->relations, relations, some * sizeof *relations) != 0
             : hash_separations(data->separations, some) != hash_separations(separations, some)))
        status = bench_fail(ABUT_ERROR_DEVICE, "the answers are not those of the CPU");
    free(relations);
    free(separations);
    return status;
}

/* ---- the case ---- */

static abut_status setup(bench_state *state) {
    query_data *data = state->data;
    int variant = state->which->variant;
    abut_status status = bench_model_create(state, (bench_model)(variant & 3), &data->mesh);
    status = status ? status : bench_device_open(state, &data->device);
    status = status ? status : abut_bvh_create(data->mesh, NULL, &data->bvh);
    status = status ? status : abuti_bvh_copy_to_device(data->bvh, data->device, &data->there);
    if (!status)
        status = variant & POSES ? setup_poses(state, data) : setup_points(state, data);
    if (!status && variant & POSES)
        status = check_poses(state);
    if (status)
        return status;
    on_gpu = data->device->info.kind == ABUT_DEVICE_KIND_GPU;
    state->elements = (double)data->count;
    return ABUT_OK;
}

static abut_status run(bench_state *state) {
    return state->which->variant & POSES ? run_poses(state) : run_nearest(state);
}

static abut_status finish(bench_state *state) {
    query_data *data = state->data;
    if (state->which->variant & POSES) {
        state->hash = data->relations
                          ? bench_hash(0, data->relations, data->count * sizeof *data->relations)
                          : hash_separations(data->separations, data->count);
        return ABUT_OK;
    }
    abut_nearest first[256];
    size_t some = data->count < 256 ? data->count : 256;
    abut_status status = abut_buffer_read(data->out, 0, first, some * sizeof *first);
    if (!status)
        state->hash = bench_hash(0, first, some * sizeof *first);
    return status;
}

static void teardown(bench_state *state) {
    query_data *data = state->data;
    abut_buffer_destroy(data->in);
    abut_buffer_destroy(data->out);
    abut_bvh_destroy(data->there);
    abut_bvh_destroy(data->bvh);
    abut_mesh_destroy(data->mesh);
    abut_device_destroy(data->device);
    free(data->points);
    free(data->poses);
    free(data->relations);
    free(data->separations);
}

static void print_details(const bench_case *which, const bench_result *result) {
    printf("  %.1f M%s/s", result->elements / result->median_ms * 1e-3,
           which->variant & POSES ? "poses" : "points");
    double goal = which->variant & RANDOM ? RANDOM_GOAL_MS : GRID_GOAL_MS;
    if (on_gpu && !(which->variant & POSES) && result->elements > 9e6)
        printf(", goal for an H200 %.0f ms: %s", goal, result->median_ms <= goal ? "ok" : "missed");
}

#define QUERY_CASE(name_, unit_, variant_)                                              \
    {                                                                                   \
        .name = name_, .unit = unit_, .data_bytes = sizeof(query_data), .setup = setup, \
        .run = run, .finish = finish, .teardown = teardown, .variant = variant_,        \
        .print_details = print_details                                                  \
    }

const bench_case bench_device_bvh_cases[] = {
    QUERY_CASE("nearest/device-grid-teapot", "query", BENCH_TEAPOT | GRID),
    QUERY_CASE("nearest/device-grid-file", "query", BENCH_MESH_FILE | GRID),
    QUERY_CASE("nearest/device-random-teapot", "query", BENCH_TEAPOT | RANDOM),
    QUERY_CASE("nearest/device-random-file", "query", BENCH_MESH_FILE | RANDOM),
    QUERY_CASE("pair/device-overlap-teapot", "pose", BENCH_TEAPOT | POSES),
    QUERY_CASE("pair/device-overlap-file", "pose", BENCH_MESH_FILE | POSES),
    QUERY_CASE("pair/device-distance-teapot", "pose", BENCH_TEAPOT | POSES | DISTANCES),
    QUERY_CASE("pair/device-distance-file", "pose", BENCH_MESH_FILE | POSES | DISTANCES),
    {.name = NULL},
};
