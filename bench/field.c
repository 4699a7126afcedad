/* Cases: distance fields on the CPU, including all preparation. */
#include "bench.h"

#include <stdlib.h>

enum { MODEL = 3, BAND = 4, UPDATE = 8, SPARSE = 16, CELLS = 32 }; /* cells along a side x CELLS */

typedef struct field_data {
    abut_mesh *mesh, *moved;
    abut_field_options options;
    abut_field *field;
} field_data;

abut_grid bench_field_grid(const abut_mesh *mesh, uint32_t cells) {
    abut_box b = abut_mesh_bounds(mesh);
    const double lo[3] = {b.lo.x, b.lo.y, b.lo.z}, hi[3] = {b.hi.x, b.hi.y, b.hi.z};
    double longest = 0, first[3];
    for (int k = 0; k < 3; k++)
        longest = hi[k] - lo[k] > longest ? hi[k] - lo[k] : longest;
    abut_grid grid = {.cell = 1.1 * longest / cells, .count = {cells, cells, cells}};
    for (int k = 0; k < 3; k++)
        first[k] = lo[k] / 2 + hi[k] / 2 - grid.cell * (cells / 2.0 - 0.5);
    grid.origin = (abut_vec3){first[0], first[1], first[2]};
    return grid;
}

/* Moves the twentieth of the box with the largest x. */
static abut_status move_some(bench_state *state, field_data *data) {
    uint32_t count = abut_mesh_vertex_count(data->mesh);
    abut_box box = abut_mesh_bounds(data->mesh);
    abut_vec3 origin = abut_mesh_local_origin(data->mesh),
              *p = bench_array(state, count, sizeof *p);
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    for (uint32_t v = 0; v < count; v++) {
        abut_vec3 at = abut_mesh_local_positions(data->mesh)[v];
        p[v] = (abut_vec3){origin.x + at.x, origin.y + at.y, origin.z + at.z};
        double over = p[v].x - (box.hi.x - 0.05 * (box.hi.x - box.lo.x));
        p[v].x -= over > 0 ? 0.5 * over : 0;
    }
    input.positions = p;
    input.vertex_count = count;
    input.indices = abut_mesh_indices(data->mesh);
    input.triangle_count = abut_mesh_triangle_count(data->mesh);
    MAKE(data->moved, abut_mesh_create(state->context, &input, &data->moved));
    return ABUT_OK;
}

static abut_status field_setup(bench_state *state) {
    int variant = state->which->variant;
    uint32_t cells = state->quick ? 24 : (uint32_t)(variant / CELLS);
    field_data *data = state->data;
    TRY(bench_model_create(state, (bench_model)(variant & MODEL), &data->mesh));
    data->options = abut_field_options_default();
    data->options.grid = bench_field_grid(data->mesh, cells);
    data->options.band = variant & BAND ? 3 * data->options.grid.cell : 0;
    data->options.layout = variant & SPARSE ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
    state->elements = (double)cells * cells * cells;
    if (!(variant & UPDATE))
        return ABUT_OK;
    TRY(move_some(state, data));
    MAKE(data->field, abut_field_create(data->mesh, &data->options, &data->field));
    return ABUT_OK;
}

static abut_status run_create(bench_state *state) {
    field_data *data = state->data;
    return abut_field_create(data->mesh, &data->options, &data->field);
}

/* Forward and back. */
static abut_status run_update(bench_state *state) {
    field_data *data = state->data;
    TRY(abut_field_set_mesh(data->field, data->moved, NULL));
    return abut_field_set_mesh(data->field, data->mesh, NULL);
}

abut_status bench_field_hash(bench_state *state, const abut_field *field) {
    abut_field_info info = get_field_info(field);
    const uint32_t *n = info.grid.count;
    size_t layer = (size_t)n[0] * n[1];
    float *values = malloc(layer * sizeof *values);
    if (!values)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    state->hash = 0;
    for (uint32_t k = 0; k < n[2]; k++) {
        const uint32_t begin[3] = {0, 0, k}, count[3] = {n[0], n[1], 1};
        TRY(abut_field_copy(field, begin, count, values));
        state->hash = bench_hash(state->hash, values, layer * sizeof *values);
    }
    free(values);
    state->result_bytes = (double)info.bytes;
    return ABUT_OK;
}

static abut_status field_finish(bench_state *state) {
    field_data *data = state->data;
    TRY(bench_field_hash(state, data->field));
    if (!data->moved) {
        abut_field_destroy(data->field);
        data->field = NULL;
    }
    return ABUT_OK;
}

#define FIELD(name_, run_, variant_)                                                           \
    {                                                                                          \
        .name = name_, .unit = "cell", .data_bytes = sizeof(field_data), .setup = field_setup, \
        .run = run_, .finish = field_finish, .variant = variant_, .threaded = true             \
    }

const bench_case bench_field_cases[] = {
    FIELD("field/64", run_create, BENCH_TORUS | 64 * CELLS),
    FIELD("field/128", run_create, BENCH_TORUS | 128 * CELLS),
    FIELD("field/256", run_create, BENCH_TORUS | 256 * CELLS),
    FIELD("field/band", run_create, BENCH_TORUS | BAND | 256 * CELLS),
    FIELD("field/sparse", run_create, BENCH_TORUS | BAND | SPARSE | 256 * CELLS),
    FIELD("field/update", run_update, BENCH_TORUS | UPDATE | 128 * CELLS),
    FIELD("field/64-file", run_create, BENCH_MESH_FILE | 64 * CELLS),
    FIELD("field/128-file", run_create, BENCH_MESH_FILE | 128 * CELLS),
    FIELD("field/256-file", run_create, BENCH_MESH_FILE | 256 * CELLS),
    FIELD("field/band-file", run_create, BENCH_MESH_FILE | BAND | 256 * CELLS),
    FIELD("field/sparse-file", run_create, BENCH_MESH_FILE | BAND | SPARSE | 256 * CELLS),
    FIELD("field/512-band-file", run_create, BENCH_MESH_FILE | BAND | 512 * CELLS),
    FIELD("field/512-sparse-file", run_create, BENCH_MESH_FILE | BAND | SPARSE | 512 * CELLS),
    {.name = NULL},
};
