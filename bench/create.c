/* Cases: a mesh from the caller's arrays. */
#include "bench.h"

#include <stdlib.h>

enum { FROM_FLOATS, FROM_DOUBLES };

typedef struct create_data {
    bench_grid grid;
    double *doubles;
    abut_mesh *mesh;
} create_data;

static abut_status create_setup(bench_state *state) {
    create_data *data = state->data;
    TRY(bench_grid_million(state, &data->grid));
    size_t scalars = 3 * (size_t)data->grid.vertex_count;
    data->doubles = bench_array(state, scalars, sizeof *data->doubles);
    for (size_t i = 0; i < scalars; i++)
        data->doubles[i] = data->grid.positions[i];
    state->elements = data->grid.triangle_count;
    size_t read = scalars * (state->which->variant == FROM_FLOATS ? 4 : 8);
    state->bytes = (double)(read + scalars * 8 + 2 * 12 * (size_t)data->grid.triangle_count);
    return ABUT_OK;
}

static abut_status create_run(bench_state *state) {
    create_data *data = state->data;
    if (state->which->variant == FROM_FLOATS)
        return bench_grid_mesh(state, &data->grid, &data->mesh);
    abut_mesh_input input = abut_mesh_input_doubles(data->doubles, data->grid.vertex_count,
                                                    data->grid.indices, data->grid.triangle_count);
    return abut_mesh_create(state->context, &input, &data->mesh);
}

static abut_status create_finish(bench_state *state) {
    create_data *data = state->data;
    state->hash = bench_hash_mesh(0, data->mesh);
    state->result_bytes = bench_mesh_bytes(data->mesh);
    abut_mesh_destroy(data->mesh);
    data->mesh = NULL;
    return ABUT_OK;
}

static void create_teardown(bench_state *state) {
    create_data *data = state->data;
    bench_grid_destroy(&data->grid);
}

#define CREATE(name_, variant_)                                               \
    {                                                                         \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(create_data), \
        .setup = create_setup, .run = create_run, .finish = create_finish,    \
        .teardown = create_teardown, .variant = variant_                      \
    }

const bench_case bench_create_cases[] = {
    CREATE("mesh/create-floats", FROM_FLOATS),
    CREATE("mesh/create-doubles", FROM_DOUBLES),
    {.name = NULL},
};
