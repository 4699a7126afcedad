/* Cases: welding a million triangles without shared vertices, and orienting a million triangles
 * half of which are reversed. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { WELD_EQUAL, WELD_NEAR, ORIENT };

typedef struct repair_data {
    abut_mesh *mesh, *made;
    abut_topology *topology;
    uint32_t flipped_count;
} repair_data;

/* Three separate vertices for each triangle; for WELD_NEAR each moved by up to a tenth of the
 * tolerance. */
static abut_status make_loose(bench_state *state, const bench_grid *grid, abut_mesh **mesh) {
    size_t corners = 3 * (size_t)grid->triangle_count;
    float *positions = bench_array(state, 3 * corners, sizeof *positions);
    uint64_t random = 4;
    double shake = state->which->variant == WELD_NEAR ? 1e-6 : 0;
    for (size_t i = 0; i < corners; i++)
        for (size_t k = 0; k < 3; k++)
            positions[3 * i + k] =
                (float)(grid->positions[3 * (size_t)grid->indices[i] + k] +
                        (shake > 0 ? bench_random_real(&random, -shake, shake) : 0));
    abut_mesh_input input = abut_mesh_input_floats(positions, (uint32_t)corners, NULL, 0);
    return abut_mesh_create(state->context, &input, mesh);
}

static abut_status make_turned(const bench_state *state, bench_grid *grid, abut_mesh **mesh) {
    uint64_t random = 5;
    for (size_t t = 0; t < grid->triangle_count; t++)
        if (bench_random(&random) & 1) {
            uint32_t *corner = grid->indices + 3 * t, kept = corner[1];
            corner[1] = corner[2];
            corner[2] = kept;
        }
    return bench_grid_mesh(state, grid, mesh);
}

static abut_status repair_setup(bench_state *state) {
    repair_data *data = state->data;
    bench_grid grid;
    TRY(bench_grid_million(state, &grid));
    bool orients = state->which->variant == ORIENT;
    MAKE(data->mesh,
         orients ? make_turned(state, &grid, &data->mesh) : make_loose(state, &grid, &data->mesh));
    if (orients)
        MAKE(data->topology, abut_topology_create(data->mesh, &data->topology));
    state->elements = grid.triangle_count;
    state->bytes = bench_mesh_bytes(data->mesh) + 24.0 * grid.vertex_count +
                   12.0 * grid.triangle_count; /* the old mesh in, the new one out */
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status repair_run(bench_state *state) {
    repair_data *data = state->data;
    if (state->which->variant == ORIENT)
        return abut_mesh_orient(data->topology, &data->made, &data->flipped_count);
    double tolerance = state->which->variant == WELD_NEAR ? 1e-5 : 0;
    return abut_mesh_weld(data->mesh, tolerance, &data->made);
}

static abut_status repair_finish(bench_state *state) {
    repair_data *data = state->data;
    state->hash = bench_hash_mesh(data->flipped_count, data->made);
    state->result_bytes = bench_mesh_bytes(data->made);
    abut_mesh_destroy(data->made);
    data->made = NULL;
    return ABUT_OK;
}

#define REPAIR(name_, variant_)                                                                 \
    {                                                                                           \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(repair_data),                   \
        .setup = repair_setup, .run = repair_run, .finish = repair_finish, .variant = variant_, \
        .threaded = true                                                                        \
    }

const bench_case bench_repair_cases[] = {
    REPAIR("mesh/weld", WELD_EQUAL),
    REPAIR("mesh/weld-tolerance", WELD_NEAR),
    REPAIR("mesh/orient", ORIENT),
    {.name = NULL},
};
