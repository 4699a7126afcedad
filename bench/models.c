/* Models of about 70,000 triangles that several files of cases share. */
#include "bench.h"

#include <stdlib.h>

static abut_status make_torus(const bench_state *state, abut_mesh **mesh) {
    bench_grid grid;
    TRY(state->quick ? bench_grid_create(40, 20, &grid) : bench_grid_create(260, 135, &grid));
    TRY(bench_grid_mesh(state, &grid, mesh));
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status make_model(bench_state *state, bench_model model, abut_mesh **mesh) {
    const char *path = getenv("ABUT_BENCH_MESH");
    abut_shape shape =
        abut_shape_default(model == BENCH_SPHERE ? ABUT_SHAPE_ICOSPHERE : ABUT_SHAPE_TEAPOT_SOLID);
    switch (model) {
    case BENCH_TORUS:
        return make_torus(state, mesh);
    case BENCH_MESH_FILE:
        if (path && path[0])
            return abut_mesh_read(state->context, path, NULL, mesh);
        state->skipped = true;
        return bench_fail(ABUT_ERROR_ARGUMENT, "ABUT_BENCH_MESH names no mesh");
    case BENCH_SPHERE:
        shape.segments = state->quick ? 8 : 59;
        break;
    case BENCH_TEAPOT:
        shape.segments = state->quick ? 4 : 33;
        break;
    }
    return abut_shape_create(state->context, &shape, mesh);
}

abut_status bench_model_create(bench_state *state, bench_model model, abut_mesh **mesh) {
    MAKE(*mesh, make_model(state, model, mesh));
    return ABUT_OK;
}

abut_status bench_body(bench_state *state, abut_mesh **mesh, abut_field **field,
                       abut_samples **samples) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
    abut_field_options grid = abut_field_options_default();
    abut_samples_options even = abut_samples_options_default();
    shape.segments = state->quick ? 4 : 12;
    grid.cells = state->quick ? 16 : 64;
    even.count = 500;
    MAKE(*mesh, abut_shape_create(state->context, &shape, mesh));
    MAKE(*field, abut_field_create(*mesh, &grid, field));
    MAKE(*samples, abut_samples_create(*mesh, &even, samples));
    return ABUT_OK;
}

abut_quat bench_turn(uint32_t i) {
    static const abut_quat turns[] = {{0, 0, 0, 1},
                                      {0.5, 0.5, 0.5, 0.5},
                                      {0.6, 0, 0, 0.8},
                                      {0, -0.8, 0.6, 0}};
    return turns[i % 4];
}
