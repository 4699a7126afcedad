/* Cases: the nearest surface of each pixel of an image of 1024 x 1024.
 *
 * model     one mesh of 70,200 triangles; also each pixel that a triangle touches
 * spheres   5,000 spheres of 320 triangles
 * device-.. the same on a device, with the image on the host or in buffers */
#include "bench.h"

#include <stdlib.h>

enum { CONSERVATIVE = 1, SPHERES = 2, DEVICE = 4, BUFFERS = 8 };

typedef struct raster_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_collider *items;
    uint32_t count;
    uint32_t side;
    abut_raster *raster;
    float *depths;
    uint32_t *items_seen;
    abut_buffer *buffers[2];
} raster_data;

static abut_status place(bench_state *state, raster_data *data) {
    uint64_t random = 8;
    bool spheres = state->which->variant & SPHERES;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 4;
    shape.radius = state->quick ? 0.1 : 0.02;
    data->count = !spheres ? 1 : state->quick ? 50 : 5000;
    data->items = bench_array(state, data->count, sizeof *data->items);
    if (spheres)
        MAKE(data->mesh, abut_shape_create(state->context, &shape, &data->mesh));
    else
        TRY(bench_model_create(state, BENCH_TORUS, &data->mesh));
    for (uint32_t i = 0; i < data->count; i++) {
        data->items[i] = abut_collider_from_mesh(data->mesh, abut_pose_identity());
        for (int k = 0; k < 3 && spheres; k++)
            (&data->items[i].pose.translation.x)[k] = bench_random_real(&random, 0, 1);
    }
    return ABUT_OK;
}

static abut_status raster_setup(bench_state *state) {
    raster_data *data = state->data;
    abut_raster_options options = abut_raster_options_default();
    if (state->which->variant & DEVICE)
        TRY(bench_device_open(state, &data->device));
    options.device = data->device;
    TRY(place(state, data));
    MAKE(data->raster, abut_raster_create(state->context, &options, &data->raster));
    data->side = state->quick ? 64 : 1024;
    size_t pixels = (size_t)data->side * data->side;
    data->depths = bench_array(state, pixels, sizeof *data->depths);
    data->items_seen = bench_array(state, pixels, sizeof *data->items_seen);
    for (int k = 0; k < 2 && (state->which->variant & BUFFERS); k++)
        MAKE(data->buffers[k],
             abut_buffer_create(data->device, pixels * sizeof(uint32_t), &data->buffers[k]));
    state->elements = (double)data->count * abut_mesh_triangle_count(data->mesh);
    return ABUT_OK;
}

static abut_status raster_run(bench_state *state) {
    raster_data *data = state->data;
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = data->side;
    view.direction = (abut_vec3){-0.5, 1, -0.375};
    bool buffers = state->which->variant & BUFFERS;
    abut_raster_image image = {.size = sizeof(abut_raster_image),
                               .capacity = (uint64_t)data->side * data->side,
                               .conservative = state->which->variant & CONSERVATIVE};
    image.depths = buffers ? abut_array_buffer(data->buffers[0]) : abut_array_host(data->depths);
    image.items = buffers ? abut_array_buffer(data->buffers[1]) : abut_array_host(data->items_seen);
    return abut_raster_draw(data->raster, &view, data->items, data->count, &image);
}

static abut_status raster_finish(bench_state *state) {
    raster_data *data = state->data;
    size_t bytes = (size_t)data->side * data->side * sizeof(uint32_t);
    if (data->buffers[0])
        TRY(abut_buffer_read(data->buffers[0], 0, data->depths, bytes));
    if (data->buffers[1])
        TRY(abut_buffer_read(data->buffers[1], 0, data->items_seen, bytes));
    state->hash = bench_hash(bench_hash(0, data->depths, bytes), data->items_seen, bytes);
    return ABUT_OK;
}

#define RASTER(name_, variant_)                                                                 \
    {                                                                                           \
        .name = "raster/" name_, .unit = "triangle", .data_bytes = sizeof(raster_data),         \
        .setup = raster_setup, .run = raster_run, .finish = raster_finish, .variant = variant_, \
        .threaded = ((variant_)&DEVICE) == 0                                                    \
    }

const bench_case bench_raster_cases[] = {
    RASTER("model-70k", 0),
    RASTER("model-70k-conservative", CONSERVATIVE),
    RASTER("spheres-5000", SPHERES),
    RASTER("device-model-70k", DEVICE),
    RASTER("device-model-70k-conservative", DEVICE | CONSERVATIVE),
    RASTER("device-spheres-5000", DEVICE | SPHERES),
    RASTER("device-model-70k-buffers", DEVICE | BUFFERS),
    RASTER("device-spheres-5000-buffers", DEVICE | SPHERES | BUFFERS),
    {.name = NULL},
};
