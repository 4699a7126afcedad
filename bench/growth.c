/* Cases: how time grows with the number of triangles and cells, and the time of shapes with
 * large medial surfaces compared with a scan; bench/growth.py runs them and draws plots.
 * ABUT_BENCH_SHAPE names the shape, ABUT_BENCH_TRIANGLES and ABUT_BENCH_CELLS set the counts. */
#include "growth.h"
#include "apps/get.h"

#include <math.h>
#include <stdlib.h>

enum { BUILD, NEAREST, SINGLE, FIELD, BAND, SPARSE, DISTANCE, ALIGNED, SELF };

typedef struct growth_data {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    abut_field_options options;
    double (*points)[3];
    abut_nearest *nearest;
    abut_pose *poses;
    abut_separation *separations;
    uint32_t count; /* of points or poses */
    uint64_t pair_count;
} growth_data;

/* An integer of the environment; quick runs ignore it. */
static abut_status number(const bench_state *state, const char *name, long quick, long otherwise,
                          long most, uint32_t *value) {
    const char *text = getenv(name);
    char *end = NULL;
    long given = text && text[0] && !state->quick ? strtol(text, &end, 10)
                 : state->quick                   ? quick
                                                  : otherwise;
    if ((end && *end) || given < 8 || given > most)
        return bench_fail(ABUT_ERROR_ARGUMENT, "%s is '%s'; a number from 8 to %ld", name, text,
                          most);
    *value = (uint32_t)given;
    return ABUT_OK;
}

static abut_status make_shape(bench_state *state, abut_mesh **mesh) {
    const char *name = getenv("ABUT_BENCH_SHAPE"), *path = getenv("ABUT_BENCH_WRITE");
    uint32_t triangles;
    TRY(number(state, "ABUT_BENCH_TRIANGLES", 1000, 100000, 100000000, &triangles));
    TRY(growth_shape_create(state, name && name[0] && !state->quick ? name : "scan", triangles,
                            mesh));
    if (path && path[0] && !state->quick)
        TRY(abut_mesh_write(*mesh, path, NULL));
    return ABUT_OK;
}

/* In the box x 1.2. */
static void make_points(growth_data *data) {
    uint64_t random = 9;
    abut_box box = abut_mesh_bounds(data->mesh);
    const double lo[3] = {box.lo.x, box.lo.y, box.lo.z}, hi[3] = {box.hi.x, box.hi.y, box.hi.z};
    for (uint32_t i = 0; i < data->count; i++)
        for (int k = 0; k < 3; k++)
            data->points[i][k] = bench_random_real(&random, lo[k] - 0.1 * (hi[k] - lo[k]),
                                                   hi[k] + 0.1 * (hi[k] - lo[k]));
}

/* Two of the same shape that do not intersect: rotated at random, with disjoint bounding balls;
 * or aligned, so that whole faces may be equally near: side by side along an axis, with a small
 * offset. */
static void make_poses(growth_data *data, bool aligned) {
    uint64_t random = 11;
    abut_box box = abut_mesh_bounds(data->mesh);
    const double size[3] = {box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z};
    double diagonal = sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
    for (uint32_t i = 0; i < data->count; i++) {
        double q[4] = {0, 0, 0, 1}, t[3], way = 0;
        for (int k = 0; k < 4 && !aligned; k++)
            q[k] = bench_random_real(&random, -1, 1);
        for (int k = 0; k < 3; k++) {
            t[k] = bench_random_real(&random, -1, 1);
            way += t[k] * t[k];
        }
        double times = bench_random_real(&random, 1, 1.3) * diagonal / sqrt(way);
        for (int k = 0; k < 3; k++)
            t[k] *= aligned ? 0.01 * size[k] : times;
        t[i % 3] += aligned ? (i & 1 ? 1.05 : -1.05) * size[i % 3] : 0;
        data->poses[i].rotation = (abut_quat){q[0], q[1], q[2], q[3]};
        data->poses[i].translation = (abut_vec3){t[0], t[1], t[2]};
    }
}

static abut_status setup_field(bench_state *state, growth_data *data) {
    uint32_t cells;
    int question = state->which->variant;
    TRY(number(state, "ABUT_BENCH_CELLS", 16, 128, 2048, &cells));
    data->options = abut_field_options_default();
    data->options.grid = bench_field_grid(data->mesh, cells);
    data->options.band = question == FIELD ? 0 : 3 * data->options.grid.cell;
    data->options.layout = question == SPARSE ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
    state->elements = (double)cells * cells * cells;
    return ABUT_OK;
}

static abut_status run_points(growth_data *data, bool single) {
    abut_array points = abut_array_host(data->points);
    if (!single)
        return abut_nearest_point_batch(data->bvh, points, data->count, HUGE_VAL,
                                        abut_array_host(data->nearest));
    for (uint32_t i = 0; i < data->count; i++) {
        const double *p = data->points[i];
        TRY(abut_nearest_point(data->bvh, (abut_vec3){p[0], p[1], p[2]}, HUGE_VAL,
                               &data->nearest[i]));
    }
    return ABUT_OK;
}

static abut_status growth_run(bench_state *state) {
    growth_data *data = state->data;
    abut_pair_poses poses = abut_pair_poses_default();
    abut_pair_self_intersection_list found = {NULL, 0, 0};
    abut_status status;
    switch (state->which->variant) {
    case BUILD:
        return abut_bvh_create(data->mesh, NULL, &data->bvh);
    case NEAREST:
    case SINGLE:
        return run_points(data, state->which->variant == SINGLE);
    case DISTANCE:
    case ALIGNED:
        poses.a = poses.b = data->bvh;
        poses.poses_b = data->poses;
        poses.count = data->count;
        return abut_pair_distance_batch(&poses, NULL, data->separations);
    case SELF:
        status = abut_pair_self_intersections(data->bvh, NULL, &found);
        data->pair_count = found.count;
        return status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
    default:
        return abut_field_create(data->mesh, &data->options, &data->field);
    }
}

static abut_status growth_setup(bench_state *state) {
    growth_data *data = state->data;
    int question = state->which->variant;
    MAKE(data->mesh, make_shape(state, &data->mesh));
    if (question == FIELD || question == BAND || question == SPARSE)
        return setup_field(state, data);
    state->elements = abut_mesh_triangle_count(data->mesh);
    if (question == BUILD)
        return ABUT_OK;
    bool points = question == NEAREST || question == SINGLE;
    data->count = points                ? (state->quick          ? 200
                                           : question == NEAREST ? 200000
                                                                 : 20000)
                  : question == SELF    ? 0
                  : question == ALIGNED ? 6
                  : state->quick        ? 4
                                        : 12;
    state->elements = data->count ? data->count : state->elements;
    data->points = bench_array(state, data->count, sizeof *data->points);
    data->nearest = bench_array(state, data->count, sizeof *data->nearest);
    data->poses = bench_array(state, data->count, sizeof *data->poses);
    data->separations = bench_array(state, data->count, sizeof *data->separations);
    if (points)
        make_points(data);
    else
        make_poses(data, question == ALIGNED);
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    /* Data that are created after several queries are created here, before the timing. */
    return points || question == SELF ? ABUT_OK : growth_run(state);
}

static abut_status growth_finish(bench_state *state) {
    growth_data *data = state->data;
    if (data->field) {
        TRY(bench_field_hash(state, data->field));
        abut_field_destroy(data->field);
        data->field = NULL;
    } else if (state->which->variant == BUILD) {
        abut_bvh_info info = get_bvh_info(data->bvh);
        state->hash = bench_hash(0, &info.cost, sizeof info.cost);
        state->result_bytes = (double)info.bytes;
        abut_bvh_destroy(data->bvh);
        data->bvh = NULL;
    } else if (state->which->variant == SELF) {
        state->hash = bench_hash(0, &data->pair_count, sizeof data->pair_count);
    } else {
        bool points = state->which->variant == NEAREST || state->which->variant == SINGLE;
        for (uint32_t i = 0; i < data->count; i++)
            state->hash =
                bench_hash(state->hash,
                           points ? &data->nearest[i].distance : &data->separations[i].distance,
                           sizeof(double));
    }
    return ABUT_OK;
}

#define GROWTH(name_, unit_, variant_, threaded_)                                               \
    {                                                                                           \
        .name = "growth/" name_, .unit = unit_, .data_bytes = sizeof(growth_data),              \
        .setup = growth_setup, .run = growth_run, .finish = growth_finish, .variant = variant_, \
        .threaded = threaded_                                                                   \
    }

const bench_case bench_growth_cases[] = {
    GROWTH("build", "triangle", BUILD, true),
    GROWTH("nearest", "query", NEAREST, true),
    GROWTH("nearest-single", "query", SINGLE, false),
    GROWTH("field", "cell", FIELD, true),
    GROWTH("field-band", "cell", BAND, true),
    GROWTH("field-sparse", "cell", SPARSE, true),
    GROWTH("distance", "pose", DISTANCE, true),
    GROWTH("distance-aligned", "pose", ALIGNED, true),
    GROWTH("self", "triangle", SELF, true),
    {.name = NULL},
};
