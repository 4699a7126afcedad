/* Cases: whole steps of moving meshes, from boxes to impacts. Many balls that fly through each
 * other, and a pleated sheet that is compressed until the pleats collide. On devices the impacts
 * are compared with the CPU's before the timing; the upload of all positions and the download of
 * the impacts are included. */
#include "bench.h"

#include <abut/sweep.h>

#include <stdlib.h>

enum { MOST_BALLS = 64 };

typedef struct motion_data {
    abut_mesh *meshes[MOST_BALLS];
    uint32_t mesh_count, vertex_count, triangle_count;
    abut_device *device; /* null = the CPU */
    abut_sweep *motion;
    abut_vec3 *start, *end;
    abut_buffer *there[2]; /* the same, if positions are already on the device */
    abut_impact *impacts;
    abut_impact_list found;
} motion_data;

/* ---- scenes ---- */

static void allocate(bench_state *state, motion_data *data) {
    data->found.capacity = 1 << 18;
    data->start = bench_array(state, data->vertex_count, sizeof *data->start);
    data->end = bench_array(state, data->vertex_count, sizeof *data->end);
    data->impacts = bench_array(state, data->found.capacity, sizeof *data->impacts);
    data->found.list = data->impacts;
}

/* Balls of radius one half in a grid, each of which moves by up to one half along every axis. */
static abut_status make_balls(bench_state *state, motion_data *data) {
    const uint32_t side = state->quick ? 2 : 4;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    uint64_t random = 21;
    shape.radius = 0.5;
    shape.segments = state->quick ? 3 : 8;
    for (; data->mesh_count < side * side * side; data->mesh_count++) {
        abut_mesh **mesh = &data->meshes[data->mesh_count];
        MAKE(*mesh, abut_shape_create(state->context, &shape, mesh));
        data->vertex_count += abut_mesh_vertex_count(*mesh);
        data->triangle_count += abut_mesh_triangle_count(*mesh);
    }
    allocate(state, data);
    for (uint32_t k = 0, at = 0; k < data->mesh_count; k++) {
        const abut_vec3 o = abut_mesh_local_origin(data->meshes[k]),
                        *p = abut_mesh_local_positions(data->meshes[k]);
        const double place[3] = {1.25 * (k % side), 1.25 * (k / side % side),
                                 1.25 * (k / side / side)};
        double move[3];
        for (int axis = 0; axis < 3; axis++)
            move[axis] = bench_random_real(&random, -0.5, 0.5);
        for (uint32_t i = 0; i < abut_mesh_vertex_count(data->meshes[k]); i++, at++) {
            data->start[at] = (abut_vec3){o.x + p[i].x + place[0], o.y + p[i].y + place[1],
                                          o.z + p[i].z + place[2]};
            data->end[at] = (abut_vec3){data->start[at].x + move[0], data->start[at].y + move[1],
                                        data->start[at].z + move[2]};
        }
    }
    return ABUT_OK;
}

/* A sheet that alternates up and down every eight rows, with a little noise; compressed to a
 * tenth of its length, where the noise exceeds the remaining distance between two pleats. */
static abut_status make_pleats(bench_state *state, motion_data *data) {
    const uint32_t side = state->quick ? 33 : 129;
    uint64_t random = 22;
    data->vertex_count = side * side;
    allocate(state, data);
    for (uint32_t i = 0; i < side * side; i++) {
        uint32_t row = i / side, column = i % side, phase = row % 16;
        double height = phase < 8 ? phase : 16 - phase;
        abut_vec3 p = {0.4 * row, column, height};
        data->start[i] = (abut_vec3){p.x + bench_random_real(&random, -0.02, 0.02), p.y,
                                     p.z + bench_random_real(&random, -0.02, 0.02)};
        data->end[i] = (abut_vec3){0.1 * p.x + bench_random_real(&random, -0.3, 0.3), p.y,
                                   p.z + bench_random_real(&random, -0.02, 0.02)};
    }
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    uint32_t *indices = bench_array(state, (size_t)side * side * 6, sizeof *indices);
    for (uint32_t row = 0; row + 1 < side; row++)
        for (uint32_t column = 0; column + 1 < side; column++) {
            uint32_t a = row * side + column, b = a + side,
                     *to = indices + 3 * (size_t)data->triangle_count;
            const uint32_t two[6] = {a, a + 1, b + 1, a, b + 1, b};
            for (int k = 0; k < 6; k++)
                to[k] = two[k];
            data->triangle_count += 2;
        }
    input.positions = data->start;
    input.vertex_count = data->vertex_count;
    input.indices = indices;
    input.triangle_count = data->triangle_count;
    data->mesh_count = 1;
    MAKE(data->meshes[0], abut_mesh_create(state->context, &input, &data->meshes[0]));
    return ABUT_OK;
}

/* ---- cases ---- */

enum { BALLS = 0, PLEATS = 4, MODES = 3, DEVICE = 8, RESIDENT = 16 };

/* Compares with the CPU, except for ANY, which may differ. */
static abut_status check(bench_state *state, motion_data *data) {
    abut_sweep *here = NULL;
    abut_sweep_mode mode = (abut_sweep_mode)(state->which->variant & MODES);
    size_t bytes = data->found.capacity * sizeof *data->impacts;
    abut_impact_list expected = {bench_array(state, 1, bytes), data->found.capacity, 0};
    memset(data->impacts, 0, bytes);
    const abut_array start = abut_array_host(data->start), end = abut_array_host(data->end);
    TRY(abut_sweep_create(data->meshes, data->mesh_count, NULL, &here));
    TRY(abut_sweep_set_positions(here, start, end));
    TRY(abut_sweep_find(here, mode, NULL, &expected, NULL));
    TRY(abut_sweep_set_positions(data->motion, start, end));
    for (int k = 0; k < 2; k++) /* the second time with known order and capacity */
        TRY(abut_sweep_find(data->motion, mode, NULL, &data->found, NULL));
    bool same = expected.count == data->found.count;
    for (size_t i = 0; i < expected.count && same && mode != ABUT_SWEEP_ANY; i++) {
        const abut_impact *a = &expected.list[i], *b = &data->impacts[i];
        same = a->time == b->time && a->kind == b->kind &&
               !memcmp(a->element, b->element, sizeof a->element);
    }
    abut_sweep_destroy(here);
    return same ? ABUT_OK
                : bench_fail(ABUT_ERROR_DEVICE, "%zu impacts are not the CPU's %zu",
                             data->found.count, expected.count);
}

static abut_status put_there(bench_state *state, motion_data *data) {
    const size_t bytes = data->vertex_count * sizeof *data->start;
    for (int side = 0; side < 2; side++) {
        MAKE(data->there[side], abut_buffer_create(data->device, bytes, &data->there[side]));
        TRY(abut_buffer_write(data->there[side], 0, side ? data->end : data->start, bytes));
    }
    return ABUT_OK;
}

static abut_status motion_setup(bench_state *state) {
    motion_data *data = state->data;
    TRY(state->which->variant & PLEATS ? make_pleats(state, data) : make_balls(state, data));
    state->elements = data->triangle_count;
    abut_sweep_options options = abut_sweep_options_default();
    if (state->which->variant & DEVICE)
        TRY(bench_device_open(state, &data->device));
    options.device = data->device;
    MAKE(data->motion, abut_sweep_create(data->meshes, data->mesh_count, &options, &data->motion));
    if (state->which->variant & RESIDENT)
        TRY(put_there(state, data));
    return data->device ? check(state, data) : ABUT_OK;
}

static abut_status motion_run(bench_state *state) {
    motion_data *data = state->data;
    TRY(data->there[0] ? abut_sweep_set_positions(data->motion, abut_array_buffer(data->there[0]),
                                                  abut_array_buffer(data->there[1]))
                       : abut_sweep_set_positions(data->motion, abut_array_host(data->start),
                                                  abut_array_host(data->end)));
    return abut_sweep_find(data->motion, (abut_sweep_mode)(state->which->variant & MODES), NULL,
                           &data->found, NULL);
}

static abut_status motion_finish(bench_state *state) {
    const motion_data *data = state->data;
    state->hash = 0;
    for (size_t i = 0; i < data->found.count; i++) {
        const abut_impact *impact = &data->impacts[i];
        state->hash = bench_hash(state->hash, &impact->time, sizeof impact->time);
        state->hash = bench_hash(state->hash, impact->mesh, sizeof impact->mesh);
        state->hash = bench_hash(state->hash, impact->element, sizeof impact->element);
    }
    return ABUT_OK;
}

#define DEVICE_MOTION(name_, variant_)                                        \
    {                                                                         \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(motion_data), \
        .setup = motion_setup, .run = motion_run, .finish = motion_finish,    \
        .variant = DEVICE | (variant_)                                        \
    }

#define MOTION(name_, variant_)                                                                 \
    {                                                                                           \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(motion_data),                   \
        .setup = motion_setup, .run = motion_run, .finish = motion_finish, .variant = variant_, \
        .threaded = true                                                                        \
    }

const bench_case bench_motion_cases[] = {
    MOTION("sweep/any-balls", BALLS + ABUT_SWEEP_ANY),
    MOTION("sweep/earliest-balls", BALLS + ABUT_SWEEP_EARLIEST),
    MOTION("sweep/all-balls", BALLS + ABUT_SWEEP_ALL),
    MOTION("sweep/any-pleats", PLEATS + ABUT_SWEEP_ANY),
    MOTION("sweep/earliest-pleats", PLEATS + ABUT_SWEEP_EARLIEST),
    MOTION("sweep/all-pleats", PLEATS + ABUT_SWEEP_ALL),
    DEVICE_MOTION("sweep/device-any-balls", BALLS + ABUT_SWEEP_ANY),
    DEVICE_MOTION("sweep/device-earliest-balls", BALLS + ABUT_SWEEP_EARLIEST),
    DEVICE_MOTION("sweep/device-all-balls", BALLS + ABUT_SWEEP_ALL),
    DEVICE_MOTION("sweep/device-all-pleats", PLEATS + ABUT_SWEEP_ALL),
    DEVICE_MOTION("sweep/device-earliest-resident", RESIDENT | (BALLS + ABUT_SWEEP_EARLIEST)),
    {.name = NULL},
};
