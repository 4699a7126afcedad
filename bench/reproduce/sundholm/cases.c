/* Cases: fields of 128^3 cells by brute force (brute.h), of the mesh that ABUT_BENCH_MESH names.
 *
 * On the CPU a run computes only some rows of cells, so that it takes seconds instead of hours. All
 * cells need the same tests, so the time of all is that of these rows times the quotient of the
 * numbers of cells. `elements` is the number of cells of a run. On a device a run computes all
 * cells, from a mesh in host memory to values there. */
#include "bench.h"

#include "brute.h"

#include <stdlib.h>

enum { SIDE = 128, QUICK_SIDE = 24, ON_DEVICE = 1 };
#define TESTS_OF_A_RUN 4e7 /* on the CPU: cells x triangles, about half a second */

typedef struct brute_data {
    abut_mesh *mesh;
    brute_mesh triangles;
    brute_cells cells;
    float *values;
    abut_device *device;
    brute_device kernels;
    bool is_open; /* kernels */
} brute_data;

static abut_status setup(bench_state *state) {
    brute_data *data = state->data;
    const uint32_t side = state->quick ? QUICK_SIDE : SIDE;
    const bool on_device = state->which->variant == ON_DEVICE;
    TRY(bench_model_create(state, BENCH_MESH_FILE, &data->mesh));
    if (on_device)
        TRY(bench_device_open(state, &data->device));
    const double row_tests = (double)side * abut_mesh_triangle_count(data->mesh);
    const uint32_t row_limit = on_device ? 0 : 1 + (uint32_t)(TESTS_OF_A_RUN / row_tests);
    const abut_grid grid = bench_field_grid(data->mesh, side);
    data->cells = brute_cells_of(data->mesh, &grid, row_limit);
    state->elements = (double)brute_cell_count(&data->cells);
    data->values = bench_array(state, brute_cell_count(&data->cells), sizeof *data->values);
    if (on_device) {
        TRY(brute_device_open(data->device, &data->kernels));
        data->is_open = true;
        return ABUT_OK;
    }
    return brute_mesh_create(state->context, data->mesh, &data->triangles);
}

static abut_status run(bench_state *state) {
    brute_data *data = state->data;
    brute_compute(&data->triangles, &data->cells, data->values);
    return ABUT_OK;
}

static abut_status run_on_device(bench_state *state) {
    brute_data *data = state->data;
    brute_mesh triangles;
    TRY(brute_mesh_create(state->context, data->mesh, &triangles));
    const abut_status status =
        brute_compute_on_device(&data->kernels, &triangles, &data->cells, data->values);
    brute_mesh_clear(&triangles);
    return status;
}

static abut_status finish(bench_state *state) {
    brute_data *data = state->data;
    state->hash = bench_hash(0, data->values, (size_t)state->elements * sizeof *data->values);
    state->result_bytes = state->elements * sizeof *data->values;
    return ABUT_OK;
}

static void teardown(bench_state *state) {
    brute_data *data = state->data;
    if (data->is_open)
        brute_device_close(&data->kernels);
    if (data->triangles.triangles)
        brute_mesh_clear(&data->triangles);
}

const bench_case bench_brute_cases[] = {
    {.name = "field/brute-128-file",
     .unit = "cell",
     .data_bytes = sizeof(brute_data),
     .setup = setup,
     .run = run,
     .finish = finish,
     .teardown = teardown,
     .threaded = true},
    {.name = "field/device-brute-128-file",
     .unit = "cell",
     .data_bytes = sizeof(brute_data),
     .setup = setup,
     .run = run_on_device,
     .finish = finish,
     .teardown = teardown,
     .variant = ON_DEVICE},
    {.name = NULL},
};
