/* Cases: batches of queries on a device. Nearest points of a grid and of random points, rays,
 * inside and signed distances of points, overlap and distance at many poses. The first results are
 * compared with the CPU's before the timing.
 *
 * Models have 70,000 triangles, or are the mesh file that ABUT_BENCH_MESH names. Points and origins
 * of rays are in the box of the model, enlarged by a tenth. Inputs are on the device, and results
 * stay there, unless the case is called "host": then the time includes all transfers, as it does
 * for "inside", "sign/device-nearest" and poses. "ordered" are the same rays, sorted by their
 * origin and the octant of their direction: the difference shows whether sorting is useful. */
#include "bench.h"

#include "bvh/bvh.h"

#include <math.h>
#include <stdlib.h>

enum { CHECKED = 2000 };

typedef enum query_input { GRID, FLOATS, POINTS, RAYS, ORDERED, POSES } query_input;

/* A query, for a BVH of the CPU with arrays of the host, and for one of a device. */
typedef abut_status (*query_function)(const abut_bvh *bvh, abut_array in, size_t count,
                                      abut_array out);

typedef struct query_kind {
    query_input input;
    bool host; /* inputs and results are on the host */
    query_function run;
    size_t answer_bytes;
} query_kind;

typedef struct query_data {
    const query_kind *kind;
    abut_device *device;
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
    abut_buffer *in, *out;
    void *inputs, *answers;
    size_t count, input_bytes;
} query_data;

/* ---- queries ---- */

static abut_status find_nearest(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    in.type = ABUT_SCALAR_FLOAT32;
    return abut_nearest_point_batch(bvh, in, count, HUGE_VAL, out);
}
static abut_status find_first(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    return abut_ray_first_batch(bvh, in, count, HUGE_VAL, out);
}
static abut_status find_any(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    return abut_ray_any_batch(bvh, in, count, HUGE_VAL, out);
}
static abut_status find_inside(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    return abut_sign_inside_batch(bvh, in, count, out);
}
static abut_status find_signed(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    return abut_sign_nearest_batch(bvh, in, count, HUGE_VAL, out);
}
static abut_pair_poses poses_of(const abut_bvh *bvh, abut_array in, size_t count) {
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = poses.b = bvh;
    poses.poses_b = in.host;
    poses.count = count;
    return poses;
}
static abut_status find_overlaps(const abut_bvh *bvh, abut_array in, size_t count, abut_array out) {
    const abut_pair_poses poses = poses_of(bvh, in, count);
    return abut_pair_overlap_batch(&poses, NULL, out.host, NULL);
}
static abut_status find_distances(const abut_bvh *bvh, abut_array in, size_t count,
                                  abut_array out) {
    const abut_pair_poses poses = poses_of(bvh, in, count);
    return abut_pair_distance_batch(&poses, NULL, out.host);
}

static uint64_t hash_answers(const query_kind *kind, const void *answers, size_t count) {
    if (kind->run != find_distances)
        return bench_hash(0, answers, count * kind->answer_bytes);
    const abut_separation *list = answers; /* field by field: there is padding between them */
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = bench_hash(hash, &list[i].distance, sizeof list[i].distance);
        hash = bench_hash(hash, &list[i].point_a, 2 * sizeof list[i].point_a);
        hash = bench_hash(hash, &list[i].triangle_a, 2 * sizeof list[i].triangle_a);
    }
    return hash;
}

/* ---- inputs ---- */

static abut_vec3 random_place(abut_box box, uint64_t *random) {
    vec3 more = v3_scale(v3_sub(box.hi, box.lo), 0.05);
    box.lo = v3_sub(box.lo, more);
    box.hi = v3_add(box.hi, more);
    double x = bench_random_real(random, box.lo.x, box.hi.x);
    double y = bench_random_real(random, box.lo.y, box.hi.y);
    return v3(x, y, bench_random_real(random, box.lo.z, box.hi.z));
}

/* Cell centres of the box x 1.2, row by row, or random points in it. */
static void fill_floats(query_data *data, abut_box box, size_t side) {
    float(*points)[3] = data->inputs;
    uint64_t random = 9;
    for (size_t i = 0; i < data->count; i++) {
        const size_t cell[3] = {i % side, i / side % side, i / side / side};
        for (int k = 0; k < 3; k++) {
            const double lo = v3_get(box.lo, k), hi = v3_get(box.hi, k);
            double at = data->kind->input == FLOATS ? bench_random_real(&random, 0, 1)
                                                    : ((double)cell[k] + 0.5) / (double)side;
            points[i][k] = (float)(lo + (1.2 * at - 0.1) * (hi - lo));
        }
    }
}

/* At a distance at which about half of them touch. */
static void fill_poses(query_data *data, abut_box box) {
    abut_pose *poses = data->inputs;
    uint64_t random = 5;
    const double size = v3_length(v3_sub(box.hi, box.lo));
    for (size_t i = 0; i < data->count; i++) {
        double q[4], d[3], length = 0;
        for (int k = 0; k < 4; k++)
            q[k] = bench_random_real(&random, -1, 1);
        for (int k = 0; k < 3; k++) {
            d[k] = bench_random_real(&random, -1, 1);
            length += d[k] * d[k];
        }
        double away = bench_random_real(&random, 0.35, 0.65) * size / sqrt(length + 1e-9);
        poses[i] = (abut_pose){{q[0], q[1], q[2], q[3]}, {d[0] * away, d[1] * away, d[2] * away}};
    }
}

typedef struct keyed_ray {
    uint64_t key;
    abut_ray ray;
} keyed_ray;

/* Octant, then a cell of a curve through 128 cells per axis. */
static uint64_t key_of(abut_box box, const abut_ray *ray) {
    uint64_t key = (ray->direction.x < 0) | (uint64_t)(ray->direction.y < 0) << 1 |
                   (uint64_t)(ray->direction.z < 0) << 2;
    key <<= 21;
    for (int axis = 0; axis < 3; axis++) {
        double lo = v3_get(box.lo, axis), extent = v3_get(box.hi, axis) - lo;
        double cell = (v3_get(ray->origin, axis) - lo + 0.05 * extent) / (1.1 * extent) * 128;
        uint64_t whole = cell > 0 ? (uint64_t)cell : 0;
        for (int bit = 0; bit < 7; bit++)
            key |= (whole >> bit & 1) << (3 * bit + axis);
    }
    return key;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const keyed_ray *)a)->key, y = ((const keyed_ray *)b)->key;
    return x < y ? -1 : x > y;
}

static void order_rays(bench_state *state, abut_box box) {
    query_data *data = state->data;
    abut_ray *rays = data->inputs;
    keyed_ray *list = bench_array(state, data->count, sizeof *list);
    for (size_t i = 0; i < data->count; i++)
        list[i] = (keyed_ray){key_of(box, &rays[i]), rays[i]};
    qsort(list, data->count, sizeof *list, by_key);
    for (size_t i = 0; i < data->count; i++)
        rays[i] = list[i].ray;
}

static void make_inputs(bench_state *state, query_data *data) {
    static const size_t bytes[] = {[GRID] = 12, /* floats */
                                   [FLOATS] = 12,
                                   [POINTS] = sizeof(abut_vec3),
                                   [RAYS] = sizeof(abut_ray),
                                   [ORDERED] = sizeof(abut_ray),
                                   [POSES] = sizeof(abut_pose)};
    const query_input input = data->kind->input;
    const abut_box box = abut_mesh_bounds(data->mesh);
    const size_t side = state->quick ? 12 : 256;
    data->count = input == GRID    ? side * side * side
                  : input == POSES ? (state->quick ? 100 : 100000)
                                   : (state->quick ? 3000 : 10000000);
    data->input_bytes = bytes[input];
    data->inputs = bench_array(state, data->count, data->input_bytes);
    data->answers = bench_array(state, data->count, data->kind->answer_bytes);
    state->elements = (double)data->count;
    if (input == GRID || input == FLOATS)
        fill_floats(data, box, side);
    if (input == POSES)
        fill_poses(data, box);
    uint64_t random = 13;
    for (size_t i = 0; i < data->count && input >= POINTS && input <= ORDERED; i++) {
        const abut_vec3 place = random_place(box, &random);
        if (input == POINTS) {
            ((abut_vec3 *)data->inputs)[i] = place;
            continue;
        }
        double x = bench_random_real(&random, -1, 1), y = bench_random_real(&random, -1, 1);
        ((abut_ray *)data->inputs)[i] =
            (abut_ray){place, {x, y, bench_random_real(&random, -1, 1)}};
    }
    if (input == ORDERED)
        order_rays(state, box);
}

/* ---- a run ---- */

static abut_status query_run(bench_state *state) {
    query_data *data = state->data;
    return data->kind->run(data->there,
                           data->in ? abut_array_buffer(data->in) : abut_array_host(data->inputs),
                           data->count,
                           data->out ? abut_array_buffer(data->out)
                                     : abut_array_host(data->answers));
}

static abut_status query_finish(bench_state *state) {
    query_data *data = state->data;
    if (data->out)
        TRY(abut_buffer_read(data->out, 0, data->answers, data->count * data->kind->answer_bytes));
    state->hash = hash_answers(data->kind, data->answers, data->count);
    return ABUT_OK;
}

/* Compares the first results with the CPU's. */
static abut_status check_answers(bench_state *state) {
    query_data *data = state->data;
    const size_t count = data->count < CHECKED ? data->count : CHECKED;
    void *expected = bench_array(state, count, data->kind->answer_bytes);
    TRY(query_run(state));
    TRY(query_finish(state));
    TRY(data->kind->run(data->bvh, abut_array_host(data->inputs), count,
                        abut_array_host(expected)));
    return hash_answers(data->kind, expected, count) ==
                   hash_answers(data->kind, data->answers, count)
               ? ABUT_OK
               : bench_fail(ABUT_ERROR_DEVICE, "the answers are not those of the CPU");
}

enum { KIND = 16 }; /* a variant is a model and KIND x the index of a query */

static void print_details(const bench_case *which, const bench_result *result) {
    printf("  %.1f M %s/s", result->elements / result->median_ms * 1e-3, which->unit);
}

enum {
    NEAREST_GRID,
    NEAREST_RANDOM,
    FIRST,
    FIRST_ORDERED,
    FIRST_HOST,
    ANY,
    ANY_HOST,
    INSIDE,
    SIGNED,
    SIGNED_HOST,
    OVERLAP,
    DISTANCE
};

static const query_kind kinds[] = {
    [NEAREST_GRID] = {GRID, false, find_nearest, sizeof(abut_nearest)},
    [NEAREST_RANDOM] = {FLOATS, false, find_nearest, sizeof(abut_nearest)},
    [FIRST] = {RAYS, false, find_first, sizeof(abut_ray_hit)},
    [FIRST_ORDERED] = {ORDERED, false, find_first, sizeof(abut_ray_hit)},
    [FIRST_HOST] = {RAYS, true, find_first, sizeof(abut_ray_hit)},
    [ANY] = {RAYS, false, find_any, sizeof(bool)},
    [ANY_HOST] = {RAYS, true, find_any, sizeof(bool)},
    [INSIDE] = {POINTS, true, find_inside, sizeof(bool)},
    [SIGNED] = {POINTS, false, find_signed, sizeof(abut_nearest)},
    [SIGNED_HOST] = {POINTS, true, find_signed, sizeof(abut_nearest)},
    [OVERLAP] = {POSES, true, find_overlaps, sizeof(abut_pair_relation)},
    [DISTANCE] = {POSES, true, find_distances, sizeof(abut_separation)},
};

static abut_status query_setup(bench_state *state) {
    query_data *data = state->data;
    bench_model model = (bench_model)(state->which->variant % KIND);
    const char *path = getenv("ABUT_BENCH_MESH");
    if (model == BENCH_TORUS && path && path[0])
        model = BENCH_MESH_FILE;
    data->kind = &kinds[state->which->variant / KIND];
    TRY(bench_model_create(state, model, &data->mesh));
    TRY(bench_device_open(state, &data->device));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    if (data->kind->input == POINTS)
        TRY(abut_sign_prepare(data->bvh, NULL));
    MAKE(data->there, abuti_bvh_copy_to_device(data->bvh, data->device, &data->there));
    make_inputs(state, data);
    if (!data->kind->host) {
        const size_t bytes = data->count * data->input_bytes;
        MAKE(data->in, abut_buffer_create(data->device, bytes, &data->in));
        TRY(abut_buffer_write(data->in, 0, data->inputs, bytes));
        MAKE(data->out,
             abut_buffer_create(data->device, data->count * data->kind->answer_bytes, &data->out));
    }
    return check_answers(state);
}

#define QUERY(name_, unit_, model_, kind_)                                                    \
    {                                                                                         \
        .name = name_, .unit = unit_, .data_bytes = sizeof(query_data), .setup = query_setup, \
        .run = query_run, .finish = query_finish, .variant = BENCH_##model_ + KIND * kind_,   \
        .print_details = print_details                                                        \
    }

const bench_case bench_device_query_cases[] = {
    QUERY("nearest/device-grid-teapot", "query", TEAPOT, NEAREST_GRID),
    QUERY("nearest/device-grid-file", "query", MESH_FILE, NEAREST_GRID),
    QUERY("nearest/device-random-teapot", "query", TEAPOT, NEAREST_RANDOM),
    QUERY("nearest/device-random-file", "query", MESH_FILE, NEAREST_RANDOM),
    QUERY("pair/device-overlap-teapot", "pose", TEAPOT, OVERLAP),
    QUERY("pair/device-overlap-file", "pose", MESH_FILE, OVERLAP),
    QUERY("pair/device-distance-teapot", "pose", TEAPOT, DISTANCE),
    QUERY("pair/device-distance-file", "pose", MESH_FILE, DISTANCE),
    QUERY("ray/device-first", "ray", TORUS, FIRST),
    QUERY("ray/device-ordered", "ray", TORUS, FIRST_ORDERED),
    QUERY("ray/device-host", "ray", TORUS, FIRST_HOST),
    QUERY("ray/device-any-host", "ray", TORUS, ANY_HOST),
    QUERY("ray/device-any", "ray", TORUS, ANY),
    QUERY("sign/device-inside", "point", TORUS, INSIDE),
    QUERY("sign/device-nearest", "point", TORUS, SIGNED_HOST),
    QUERY("sign/device-signed", "point", TORUS, SIGNED),
    {.name = NULL},
};
