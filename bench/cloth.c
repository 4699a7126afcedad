/* Cases: whole frames of <abut/cloth.h>: contacts, motion, sweeps and collision response. A
 * sheet falls on a rising box, in the wind. Everything is computed with +, -, x, / and square
 * roots, so that it is the same on every machine. On devices the frames are compared with the
 * CPU's before the timing. */
#include "bench.h"

#include <stdlib.h>

enum { SMALL = 0, LARGE = 1, DEVICE = 2 };

#define FRAME_SECONDS (1.0 / 60)

typedef struct cloth_data {
    abut_mesh *sheet, *box;
    abut_device *device; /* null = the CPU */
    abut_cloth *cloth;
    abut_vec3 *box_end, *positions;
    uint32_t frames, frame;
} cloth_data;

/* Milliseconds per frame of the last run, for the line after it. */
static double parts[3];

/* ---- the scene ---- */

static abut_status make_meshes(bench_state *state, cloth_data *data) {
    bool large = (state->which->variant & LARGE) != 0;
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET),
               box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *raw = NULL;
    sheet.extent = (abut_vec3){1.7, 1.7, 0};
    sheet.segments = sheet.rings = state->quick ? 16 : large ? 200 : 100;
    box.extent = (abut_vec3){1, 1, 0.08};
    box.segments = state->quick ? 4 : large ? 52 : 28;
    data->frames = state->quick ? 6 : large ? 5 : 20;
    TRY(abut_shape_create(state->context, &sheet, &raw));
    abut_pose over = {{0, 0, 0.25, 1}, {0, 0, 0.05}}; /* not aligned with the box */
    MAKE(data->sheet, abut_mesh_transform(raw, 1, over, &data->sheet));
    abut_mesh_destroy(raw);
    MAKE(data->box, abut_shape_create(state->context, &box, &data->box));
    return ABUT_OK;
}

static abut_status step(cloth_data *data, abut_cloth *c, uint32_t frame,
                        abut_cloth_report *report) {
    const uint32_t count = abut_mesh_vertex_count(data->box);
    const double up = 0.004 + 0.0005 * (frame % 8);
    abut_vec3 *at = data->box_end;
    TRY(abut_cloth_get_body_positions(c, 0, abut_array_host(at)));
    for (uint32_t i = 0; i < count; i++) /* it also tilts */
        at[i] = (abut_vec3){at[i].x + 0.002, at[i].y, at[i].z + up + 0.003 * at[i].x};
    TRY(abut_cloth_set_body_positions(c, 0, abut_array_host(at)));
    return abut_cloth_step(c, FRAME_SECONDS, report);
}

/* A cloth, after the frame that allocates memory. */
static abut_status start(bench_state *state, cloth_data *data, abut_device *device,
                         abut_cloth **made) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    uint32_t index;
    options.gravity.z = -9.81;
    options.wind = (abut_vec3){2, 1, 0.5};
    options.drag = 0.3;
    options.substeps = state->quick ? 10 : state->which->variant & LARGE ? 36 : 18;
    options.device = device;
    material.stretch = 150;
    material.shear = 60;
    material.bend = 5e-5;
    material.damping = 0.2;
    material.friction = 0.3;
    TRY(abut_cloth_create(state->context, &options, made));
    TRY(abut_cloth_add_sheet(*made, data->sheet, &material, &index));
    TRY(abut_cloth_add_body(*made, data->box, NULL, &index));
    return step(data, *made, 0, NULL);
}

static abut_status run_frames(cloth_data *data, abut_cloth *c) {
    double sums[3] = {0, 0, 0};
    for (uint32_t i = 1; i <= data->frames; i++) {
        abut_cloth_report report = abut_cloth_report_default();
        TRY(step(data, c, i, &report));
        sums[0] += report.motion_seconds;
        sums[1] += report.contact_seconds;
        sums[2] += report.impact_seconds;
    }
    for (int k = 0; k < 3; k++)
        parts[k] = 1e3 * sums[k] / data->frames;
    return ABUT_OK;
}

/* Of the sheet, then of the box. */
static abut_status hash(cloth_data *data, abut_cloth *c, uint64_t *to) {
    const size_t first = abut_mesh_vertex_count(data->sheet);
    TRY(abut_cloth_get_positions(c, 0, abut_array_host(data->positions)));
    TRY(abut_cloth_get_body_positions(c, 0, abut_array_host(data->positions + first)));
    *to = bench_hash(0, data->positions,
                     (first + abut_mesh_vertex_count(data->box)) * sizeof(abut_vec3));
    return ABUT_OK;
}

/* ---- cases ---- */

static abut_status check(bench_state *state, cloth_data *data) {
    abut_cloth *here = NULL, *there = NULL;
    uint64_t hashes[2] = {0, 1};
    bool is_free = false;
    TRY(start(state, data, NULL, &here));
    TRY(run_frames(data, here));
    TRY(abut_cloth_is_free(here, &is_free));
    TRY(hash(data, here, &hashes[0]));
    TRY(start(state, data, data->device, &there));
    TRY(run_frames(data, there));
    TRY(hash(data, there, &hashes[1]));
    if (!is_free || hashes[0] != hashes[1])
        return bench_fail(ABUT_ERROR_DEVICE, "the cloth is not where it is on the CPU");
    abut_cloth_destroy(here);
    abut_cloth_destroy(there);
    return ABUT_OK;
}

static abut_status cloth_setup(bench_state *state) {
    cloth_data *data = state->data;
    if (state->which->variant & DEVICE)
        TRY(bench_device_open(state, &data->device));
    TRY(make_meshes(state, data));
    data->box_end = bench_array(state, abut_mesh_vertex_count(data->box), sizeof *data->box_end);
    data->positions =
        bench_array(state, abut_mesh_vertex_count(data->sheet) + abut_mesh_vertex_count(data->box),
                    sizeof *data->positions);
    state->elements = (double)abut_mesh_triangle_count(data->sheet) * data->frames;
    if (data->device)
        TRY(check(state, data));
    return start(state, data, data->device, &data->cloth);
}

static abut_status cloth_run(bench_state *state) {
    cloth_data *data = state->data;
    return run_frames(data, data->cloth);
}

/* The next run starts where this one started. */
static abut_status cloth_finish(bench_state *state) {
    cloth_data *data = state->data;
    TRY(hash(data, data->cloth, &state->hash));
    abut_cloth_destroy(data->cloth);
    data->cloth = NULL;
    return start(state, data, data->device, &data->cloth);
}

static void cloth_teardown(bench_state *state) {
    cloth_data *data = state->data;
    abut_cloth_destroy(data->cloth);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("  a frame, ms: motion %.2f, contacts %.2f, sweeps %.2f", parts[0], parts[1], parts[2]);
}

#define CLOTH_CASE(name_, variant_)                                                                \
    {                                                                                              \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(cloth_data), .setup = cloth_setup, \
        .run = cloth_run, .finish = cloth_finish, .teardown = cloth_teardown,                      \
        .print_details = print_details, .variant = variant_                                        \
    }

const bench_case bench_cloth_cases[] = {
    CLOTH_CASE("cloth/sheet-20k", SMALL),
    CLOTH_CASE("cloth/sheet-80k", LARGE),
    CLOTH_CASE("cloth/device-sheet-20k", DEVICE | SMALL),
    CLOTH_CASE("cloth/device-sheet-80k", DEVICE | LARGE),
    {0},
};
