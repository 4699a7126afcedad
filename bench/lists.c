/* Lists of results of many queries, on the CPU and on a device: the 8 nearest triangles, all
 * hits of rays, triangles in boxes. The model is a teapot of 70,000 triangles, or the mesh file
 * that ABUT_BENCH_MESH names. Points, rays and boxes of a fiftieth of the model's size are
 * anywhere in its box, enlarged by a tenth, and rays have any direction. They come from the host
 * and results return there, so the time includes all transfers. A device's first results are
 * compared with the CPU's before the timing. */
#include "bench.h"

#include "bvh/bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST, RAYS, BOXES, WHAT = 3, THERE = 4 };

#define COUNT ((size_t)100000)
#define COUNT_THERE ((size_t)2000000)
#define QUICK_COUNT ((size_t)1000)
#define CHECKED ((size_t)2000)
#define NEIGHBOURS 8

typedef struct list_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
    abut_vec3 (*questions)[2]; /* only the first of points */
    uint64_t *offsets;
    uint32_t *counts;
    void *answers;
    uint64_t capacity, total;
    size_t count, answer_bytes;
} list_data;

/* Queries [0, count) on the CPU or on the device. */
static abut_status run_queries(list_data *data, int what, bool there, size_t count,
                               uint64_t *offsets, uint32_t *counts, uint64_t capacity,
                               void *answers) {
    abut_array points = abut_array_host(data->questions);
    points.stride = sizeof *data->questions;
    const void *list = data->questions;
    const abut_bvh *bvh = there ? data->there : data->bvh;
    if (what == NEAREST)
        return abut_nearest_k_batch(bvh, points, count, HUGE_VAL, NEIGHBOURS,
                                    abut_array_host(answers), abut_array_host(counts));
    if (what == RAYS)
        return abut_ray_all_batch(bvh, abut_array_host(list), count, capacity,
                                  abut_array_host(offsets), abut_array_host(answers), &data->total);
    return abut_bvh_find_in_box_batch(bvh, abut_array_host(list), count, capacity,
                                      abut_array_host(offsets), abut_array_host(answers),
                                      &data->total);
}

static abut_status run(bench_state *state) {
    list_data *data = state->data;
    int variant = state->which->variant;
    return run_queries(data, variant & WHAT, variant & THERE, data->count, data->offsets,
                       data->counts, data->capacity, data->answers);
}

static uint64_t answers_of(const list_data *data, int what, size_t count) {
    return what == NEAREST ? (uint64_t)count * NEIGHBOURS : data->offsets[count];
}

/* Compares the first results of the device with those of the CPU. */
static abut_status check(bench_state *state) {
    list_data *data = state->data;
    int what = state->which->variant & WHAT;
    size_t count = data->count < CHECKED ? data->count : CHECKED, wrong = 0;
    TRY(run(state));
    uint64_t total = answers_of(data, what, count);
    unsigned char *wanted = bench_array(state, total + 1, data->answer_bytes);
    uint64_t *offsets = bench_array(state, count + 1, sizeof *offsets);
    uint32_t *counts = bench_array(state, count + 1, sizeof *counts);
    TRY(run_queries(data, what, false, count, offsets, counts, total, wanted));
    if (what != NEAREST)
        wrong += memcmp(offsets, data->offsets, (count + 1) * sizeof *offsets) != 0;
    for (uint64_t i = 0; i < total; i++)
        wrong += memcmp(wanted + i * data->answer_bytes,
                        (unsigned char *)data->answers + i * data->answer_bytes,
                        data->answer_bytes) != 0;
    return wrong ? bench_fail(ABUT_ERROR_DEVICE, "%zu wrong answers", wrong) : ABUT_OK;
}

static void make_questions(list_data *data, int what) {
    abut_box box = abut_mesh_bounds(data->mesh);
    uint64_t random = 21;
    for (size_t i = 0; i < data->count; i++)
        for (int axis = 0; axis < 3; axis++) {
            double lo = (&box.lo.x)[axis], size = (&box.hi.x)[axis] - lo;
            double at = lo + bench_random_real(&random, -0.05, 1.05) * size;
            (&data->questions[i][0].x)[axis] = at;
            (&data->questions[i][1].x)[axis] =
                what == BOXES ? at + size / 50 : bench_random_real(&random, -1, 1);
        }
}

/* Allocates memory for all results. */
static abut_status make_room(bench_state *state) {
    list_data *data = state->data;
    int what = state->which->variant & WHAT;
    static const size_t answer_bytes[] = {sizeof(abut_nearest), sizeof(abut_ray_hit), 4};
    data->answer_bytes = answer_bytes[what];
    data->capacity = (uint64_t)data->count * NEIGHBOURS;
    data->offsets = bench_array(state, data->count + 1, sizeof *data->offsets);
    data->counts = bench_array(state, data->count + 1, sizeof *data->counts);
    if (what != NEAREST) {
        data->capacity = 0;
        abut_status status = run(state);
        if (status && status != ABUT_ERROR_BUFFER)
            return status;
        data->capacity = data->total;
    }
    data->answers = bench_array(state, data->capacity + 1, data->answer_bytes);
    return ABUT_OK;
}

static abut_status setup(bench_state *state) {
    list_data *data = state->data;
    const char *path = getenv("ABUT_BENCH_MESH");
    int variant = state->which->variant;
    data->count = state->quick ? QUICK_COUNT : variant & THERE ? COUNT_THERE : COUNT;
    TRY(bench_model_create(state, path && path[0] ? BENCH_MESH_FILE : BENCH_TEAPOT, &data->mesh));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    if (variant & THERE) {
        TRY(bench_device_open(state, &data->device));
        MAKE(data->there, abuti_bvh_copy_to_device(data->bvh, data->device, &data->there));
    }
    data->questions = bench_array(state, data->count, sizeof *data->questions);
    make_questions(data, variant & WHAT);
    state->elements = (double)data->count;
    TRY(make_room(state));
    return variant & THERE ? check(state) : ABUT_OK;
}

static abut_status finish(bench_state *state) {
    list_data *data = state->data;
    uint64_t total = answers_of(data, state->which->variant & WHAT, data->count);
    state->hash = bench_hash(total, data->answers, total * data->answer_bytes);
    return ABUT_OK;
}

static void print_details(const bench_case *which, const bench_result *result) {
    static const char *const units[] = {"points", "rays", "boxes"};
    printf("  %.2f M%s/s", result->elements / result->median_ms * 1e-3,
           units[which->variant & WHAT]);
}

#define LIST_CASE(name_, unit_, variant_)                                                          \
    {                                                                                              \
        .name = name_, .unit = unit_, .data_bytes = sizeof(list_data), .setup = setup, .run = run, \
        .finish = finish, .variant = variant_, .threaded = !((variant_)&THERE),                    \
        .print_details = print_details                                                             \
    }

const bench_case bench_list_cases[] = {
    LIST_CASE("nearest/many-8", "point", NEAREST),
    LIST_CASE("ray/all", "ray", RAYS),
    LIST_CASE("bvh/boxes", "box", BOXES),
    LIST_CASE("nearest/device-many-8", "point", NEAREST | THERE),
    LIST_CASE("ray/device-all", "ray", RAYS | THERE),
    LIST_CASE("bvh/device-boxes", "box", BOXES | THERE),
    {.name = NULL},
};
