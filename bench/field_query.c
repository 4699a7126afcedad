/* Cases: value and gradient of a field at single points, one after the other, in random order. */
#include "bench.h"

#include <stdlib.h>

enum { DENSE = 0, INT16 = 1, SPARSE = 2, CUBIC = 4 };

typedef struct query_data {
    abut_field *field;
    abut_vec3 *points;
    uint32_t count;
} query_data;

static abut_status build(bench_state *state, query_data *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_field_options options = abut_field_options_default();
    abut_mesh *mesh = NULL;
    shape.segments = 32;
    shape.rings = 16;
    options.cells = state->quick ? 24 : 128;
    options.layout = state->which->variant & SPARSE ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
    options.type = state->which->variant & INT16 ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
    TRY(abut_shape_create(state->context, &shape, &mesh));
    MAKE(data->field, abut_field_create(mesh, &options, &data->field));
    abut_mesh_destroy(mesh);
    return ABUT_OK;
}

static abut_status setup(bench_state *state) {
    query_data *data = state->data;
    TRY(build(state, data));
    data->count = state->quick ? 1000 : 1000000;
    state->elements = data->count;
    data->points = bench_array(state, data->count, sizeof *data->points);
    abut_grid grid = get_field_info(data->field).grid;
    uint64_t random = 5;
    for (uint32_t i = 0; i < data->count; i++) {
        abut_vec3 *p = &data->points[i];
        p->x = grid.origin.x + bench_random_real(&random, 0, grid.cell * (grid.count[0] - 1));
        p->y = grid.origin.y + bench_random_real(&random, 0, grid.cell * (grid.count[1] - 1));
        p->z = grid.origin.z + bench_random_real(&random, 0, grid.cell * (grid.count[2] - 1));
    }
    return ABUT_OK;
}

static abut_status run(bench_state *state) {
    query_data *data = state->data;
    abut_interpolation how =
        state->which->variant & CUBIC ? ABUT_INTERPOLATION_CUBIC : ABUT_INTERPOLATION_LINEAR;
    double sum[4] = {0};
    for (uint32_t i = 0; i < data->count; i++) {
        abut_field_value value;
        TRY(abut_field_evaluate(data->field, data->points[i], how, &value));
        sum[0] += value.distance;
        sum[1] += value.gradient.x;
        sum[2] += value.gradient.y;
        sum[3] += value.gradient.z;
    }
    state->hash = bench_hash(0, sum, sizeof sum);
    return ABUT_OK;
}

#define CASE(label, how, goal)                                                           \
    {                                                                                    \
        .name = "field/query-" label, .unit = "point", .data_bytes = sizeof(query_data), \
        .setup = setup, .run = run, .variant = how, .goal_ms = goal                      \
    }

/* Goals are those of a million points: 60 ns each. */
const bench_case bench_field_query_cases[] = {CASE("dense", DENSE, 60),
                                              CASE("int16", INT16, 60),
                                              CASE("sparse", SPARSE, 60),
                                              CASE("cubic", CUBIC, 0),
                                              {0}};
