/* Cases: a picture of a mesh of 70,000 triangles at the default size. */
#include "bench.h"

#include <stdlib.h>

enum { PLAIN, EDGES };

typedef struct picture_data {
    abut_mesh *mesh;
    uint32_t width, height;
    size_t bytes;
    uint8_t *pixels;
} picture_data;

static abut_status picture_setup(bench_state *state) {
    picture_data *data = state->data;
    data->width = state->quick ? 160 : 960;
    data->height = state->quick ? 120 : 720;
    data->bytes = (size_t)data->width * data->height * 4;
    data->pixels = bench_array(state, data->bytes, 1);
    bench_grid grid;
    TRY(state->quick ? bench_grid_create(60, 30, &grid) : bench_grid_create(250, 140, &grid));
    state->elements = grid.triangle_count;
    state->bytes = (double)data->bytes;
    MAKE(data->mesh, bench_grid_mesh(state, &grid, &data->mesh));
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status picture_run(bench_state *state) {
    picture_data *data = state->data;
    abut_picture_options options = abut_picture_options_default();
    options.width = data->width;
    options.height = data->height;
    options.ground = true;
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    style.edges = state->which->variant == EDGES;
    abut_pose pose = {{0, 0, 0, 0}, {0, 0, 0}};
    abut_picture *picture = NULL;
    TRY(abut_picture_create(state->context, &options, &picture));
    TRY(abut_picture_add_mesh(picture, data->mesh, pose, &style));
    TRY(abut_picture_render(picture, data->bytes, data->pixels));
    abut_picture_destroy(picture);
    return ABUT_OK;
}

static abut_status picture_finish(bench_state *state) {
    picture_data *data = state->data;
    state->hash = bench_hash(0, data->pixels, data->bytes);
    return ABUT_OK;
}

#define PICTURE(name_, variant_)                                                                   \
    {                                                                                              \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(picture_data),                     \
        .setup = picture_setup, .run = picture_run, .finish = picture_finish, .variant = variant_, \
        .threaded = true                                                                           \
    }

const bench_case bench_picture_cases[] = {
    PICTURE("picture/render-70k", PLAIN),
    PICTURE("picture/render-70k-edges", EDGES),
    {.name = NULL},
};
