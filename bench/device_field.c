/* Fields on a device: all cells of a cube of n x n x n about the centre of the mesh, a tenth
 * larger than its longest side, exact and signed; or only a band of three cells. The BVH and its
 * features are on the device already, and the values stay there. Some cells are compared with
 * the CPU's search before the timing. Details are the time on the device, and the number of cells
 * that needed a search. Whole: from arrays of a mesh in host memory to values in
 * new host memory, with everything created again; details are the times of its steps. */
#include "bench.h"

#include "field/build/device.h"

#include <math.h>
#include <stdlib.h>

/* Above the model. */
enum { SIDE_128 = 4, SIDE_256 = 8, SIDE_512 = 16, BAND = 32 };

#define CHECKED 50000 /* cells that are compared */

typedef struct field_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
    abut_field *field;
} field_data;

/* Of the last case, for the line after it. */
static struct {
    uint32_t doubtful, cut;
    double all_ms;
} details;

static abut_field_options options_of(const bench_state *state, const abut_mesh *mesh) {
    int variant = state->which->variant;
    uint32_t side = variant & SIDE_128 ? 128 : variant & SIDE_256 ? 256 : 512;
    abut_field_options options = abut_field_options_default();
    options.grid = bench_field_grid(mesh, state->quick ? side / 16 - 3 : side);
    options.band = variant & BAND ? 3 * options.grid.cell : 0;
    return options;
}

static abut_status compare(field_data *data, const float *values, const abut_nearest *nearest,
                           const size_t *cells, size_t count) {
    abut_field_info info = get_field_info(data->field);
    for (size_t i = 0; i < count; i++) {
        float expected = (float)fmax(-info.band, fmin(info.band, nearest[i].distance));
        if (!info.closed && fabsf(values[cells[i]]) == fabsf(expected))
            continue; /* the search computes signs by fast winding numbers, which may be wrong */
        if (memcmp(&expected, &values[cells[i]], sizeof expected) != 0)
            return bench_fail(ABUT_ERROR_DEVICE, "cell %zu is %.9g instead of %.9g", cells[i],
                              values[cells[i]], expected);
    }
    return ABUT_OK;
}

/* Random cells, and as many near the surface as come along. */
static abut_status check(bench_state *state) {
    field_data *data = state->data;
    abut_field_info info = get_field_info(data->field);
    size_t all = grid_cells(&info.grid), some = all < CHECKED ? all : CHECKED;
    float *values = bench_array(state, all, sizeof *values);
    size_t *cells = bench_array(state, some, sizeof *cells);
    abut_vec3 *centres = bench_array(state, some, sizeof *centres);
    abut_nearest *nearest = bench_array(state, some, sizeof *nearest);
    uint64_t random = 3;
    const uint32_t *n = info.grid.count;
    TRY(abut_buffer_read(abut_field_values(data->field), 0, values, all * sizeof *values));
    for (size_t i = 0; i < some; i++) {
        cells[i] = bench_random(&random) % all;
        for (int tries = 0; i % 2 && tries < 50 && fabsf(values[cells[i]]) > 2 * info.grid.cell;
             tries++)
            cells[i] = bench_random(&random) % all;
        centres[i] =
            grid_centre(&info.grid, (uint32_t)(cells[i] % n[0]), (uint32_t)(cells[i] / n[0] % n[1]),
                        (uint32_t)(cells[i] / n[0] / n[1]));
    }
    abut_array points = abut_array_host(centres);
    TRY(abut_sign_nearest_batch(data->bvh, points, some, HUGE_VAL, abut_array_host(nearest)));
    return compare(data, values, nearest, cells, some);
}

static abut_status measure_on_device(bench_state *state) {
    field_data *data = state->data;
    field_parts *parts;
    TRY(abut_field_update_from(data->field, data->there, NULL));
    TRY(abuti_field_parts(data->there->there, &parts));
    details.doubtful = parts->counters[FIELD_COUNT_DOUBTFUL];
    details.cut = parts->counters[FIELD_COUNT_LONG_8];
    abuti_queue_clock_start(&data->there->there->queue);
    TRY(abut_field_update_from(data->field, data->there, NULL));
    return abuti_queue_clock_stop(&data->there->there->queue, &details.all_ms);
}

static abut_status setup(bench_state *state) {
    field_data *data = state->data;
    TRY(bench_model_create(state, (bench_model)(state->which->variant & 3), &data->mesh));
    TRY(bench_device_open(state, &data->device));
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    TRY(abut_sign_prepare(data->bvh, NULL));
    MAKE(data->there, abuti_bvh_copy_to_device(data->bvh, data->device, &data->there));
    abut_field_options options = options_of(state, data->mesh);
    state->elements = (double)options.grid.count[0] * options.grid.count[1] * options.grid.count[2];
    MAKE(data->field, abut_field_create_from(data->there, &options, &data->field));
    TRY(check(state));
    return measure_on_device(state);
}

static abut_status run(bench_state *state) {
    field_data *data = state->data;
    return abut_field_update_from(data->field, data->there, NULL);
}

/* From the device, so that the field keeps nothing here that an update would have to free. */
static abut_status finish(bench_state *state) {
    field_data *data = state->data;
    const uint32_t *n = get_field_info(data->field).grid.count;
    const abut_buffer *values = abut_field_values(data->field);
    float layer[4096], *to = layer;
    size_t wide = n[0] < 64 ? n[0] : 64, high = n[1] < 64 ? n[1] : 64;
    for (size_t j = 0; j < high; j++, to += wide)
        TRY(abut_buffer_read(values, sizeof *to * n[0] * (j + (size_t)n[1] * (n[2] / 2)), to,
                             wide * sizeof *to));
    state->hash = bench_hash(0, layer, wide * high * sizeof *layer);
    return ABUT_OK;
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    printf("  %.1f Mcells/s; on the device %.3f ms, %u cells left, %u blocks cut",
           result->elements / result->median_ms * 1e-3, details.all_ms, details.doubtful,
           details.cut);
}

/* ---- from array to array ---- */

typedef struct whole_data {
    abut_device *device;
    abut_mesh *mesh; /* whose arrays are those that it begins with */
    abut_field_options options;
    float *values; /* of the last run */
} whole_data;

enum { STEP_MESH, STEP_HIERARCHY, STEP_SIGNS, STEP_FIELD, STEP_VALUES, STEPS };

/* Of the last run of the last case, in milliseconds. */
static double steps_ms[STEPS];

static void end_step(int step, double *begin) {
    double now = abuti_seconds();
    steps_ms[step] = 1e3 * (now - *begin);
    *begin = now;
}

static abut_status run_whole(bench_state *state) {
    whole_data *data = state->data;
    abut_field_options options = data->options;
    const uint32_t zero[3] = {0, 0, 0}, *count = options.grid.count;
    abut_mesh_input input =
        abut_mesh_input_doubles(abut_mesh_local_positions(data->mesh),
                                abut_mesh_vertex_count(data->mesh), abut_mesh_indices(data->mesh),
                                abut_mesh_triangle_count(data->mesh));
    abut_bvh_options tree = abut_bvh_options_default();
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_field *field = NULL;
    double begin = abuti_seconds();
    tree.device = data->device;
    TRY(abut_mesh_create(state->context, &input, &mesh));
    end_step(STEP_MESH, &begin);
    TRY(abut_bvh_create(mesh, &tree, &bvh));
    end_step(STEP_HIERARCHY, &begin);
    TRY(abut_sign_prepare(bvh, NULL));
    end_step(STEP_SIGNS, &begin);
    TRY(abut_field_create_from(bvh, &options, &field));
    end_step(STEP_FIELD, &begin);
    free(data->values);
    data->values = malloc((size_t)state->elements * sizeof *data->values);
    if (!data->values)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    TRY(abut_field_copy(field, zero, count, data->values));
    end_step(STEP_VALUES, &begin);
    abut_field_destroy(field);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return ABUT_OK;
}

static abut_status setup_whole(bench_state *state) {
    whole_data *data = state->data;
    TRY(bench_model_create(state, (bench_model)(state->which->variant & 3), &data->mesh));
    TRY(bench_device_open(state, &data->device));
    data->options = options_of(state, data->mesh);
    const uint32_t *count = data->options.grid.count;
    const abut_vec3 origin = abut_mesh_local_origin(data->mesh); /* positions are relative to it */
    data->options.grid.origin.x -= origin.x;
    data->options.grid.origin.y -= origin.y;
    data->options.grid.origin.z -= origin.z;
    state->elements = (double)count[0] * count[1] * count[2];
    return run_whole(state);
}

static abut_status finish_whole(bench_state *state) {
    whole_data *data = state->data;
    state->hash = bench_hash(0, data->values, (size_t)state->elements * sizeof *data->values);
    return ABUT_OK;
}

static void teardown_whole(bench_state *state) {
    whole_data *data = state->data;
    free(data->values);
}

static void print_whole_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("  mesh %.2f, BVH %.2f, signs %.2f, field %.2f, values %.2f ms", steps_ms[STEP_MESH],
           steps_ms[STEP_HIERARCHY], steps_ms[STEP_SIGNS], steps_ms[STEP_FIELD],
           steps_ms[STEP_VALUES]);
}

#define WHOLE_CASE(name_, variant_)                                                                \
    {                                                                                              \
        .name = name_, .unit = "cell", .data_bytes = sizeof(whole_data), .setup = setup_whole,     \
        .run = run_whole, .finish = finish_whole, .teardown = teardown_whole, .variant = variant_, \
        .print_details = print_whole_details                                                       \
    }

#define FIELD_CASE(name_, variant_)                                                       \
    {                                                                                     \
        .name = name_, .unit = "cell", .data_bytes = sizeof(field_data), .setup = setup,  \
        .run = run, .finish = finish, .variant = variant_, .print_details = print_details \
    }

const bench_case bench_device_field_cases[] = {
    FIELD_CASE("field/device-256-teapot", BENCH_TEAPOT | SIDE_256),
    FIELD_CASE("field/device-256-sphere", BENCH_SPHERE | SIDE_256),
    FIELD_CASE("field/device-128-file", BENCH_MESH_FILE | SIDE_128),
    FIELD_CASE("field/device-256-file", BENCH_MESH_FILE | SIDE_256),
    FIELD_CASE("field/device-512-file", BENCH_MESH_FILE | SIDE_512),
    FIELD_CASE("field/device-band-256-file", BENCH_MESH_FILE | SIDE_256 | BAND),
    WHOLE_CASE("field/device-whole-128-file", BENCH_MESH_FILE | SIDE_128),
    WHOLE_CASE("field/device-whole-256-sphere", BENCH_SPHERE | SIDE_256),
    WHOLE_CASE("field/device-whole-256-file", BENCH_MESH_FILE | SIDE_256),
    WHOLE_CASE("field/device-whole-512-file", BENCH_MESH_FILE | SIDE_512),
    {.name = NULL},
};
