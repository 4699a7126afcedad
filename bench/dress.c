/* Cases: frames of a dress on a built-in figure against its radial fields, with bones, skinning,
 * fields, self-collision, substeps and leaving the body. On devices nothing is downloaded, and
 * frames are compared with the CPU's before the timing. Quick runs have two sheets on a ball
 * instead, computed with +, -, x, / and square roots, so that they are the same on every
 * machine. */
#include "bench.h"

#include "cloth_scene.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN = 0, SELF = 1, DEVICE = 2 };

#define BODY_TRIANGLES 27000
#define DRESS_TRIANGLES 34000
#define STEP_SECONDS (1.0 / 120)

typedef struct dress_data {
    abut_device *device; /* null = the CPU */
    abut_character *figure;
    scene *scene;
    uint32_t frames;

    /* quick */
    abut_mesh *sheet, *ball;
    abut_radial *radial;
    abut_cloth *cloth;
    abut_vec3 *ball_end;
} dress_data;

/* Milliseconds per frame of the last run, for the line after it. */
static scene_parts parts;

/* ---- sheets on a ball ---- */

/* The same sheet twice, one above the other. */
static abut_status make_layers(bench_state *state, const abut_mesh *one, abut_mesh **both) {
    enum { VERTICES = 17 * 17, CORNERS = 2 * 16 * 16 * 3 };
    abut_vec3 p[2 * VERTICES];
    uint32_t t[2 * CORNERS];
    for (uint32_t i = 0; i < 2 * VERTICES; i++) {
        p[i] = abut_mesh_local_positions(one)[i % VERTICES];
        p[i].z += i < VERTICES ? 0.31 : 0.46;
    }
    for (uint32_t i = 0; i < 2 * CORNERS; i++)
        t[i] = abut_mesh_indices(one)[i % CORNERS] + (i < CORNERS ? 0 : VERTICES);
    const abut_mesh_input input = abut_mesh_input_doubles(p, 2 * VERTICES, t, 2 * CORNERS / 3);
    return abut_mesh_create(state->context, &input, both);
}

static abut_status make_meshes(bench_state *state, dress_data *data) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET),
               ball = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *raw = NULL;
    sheet.extent = (abut_vec3){1, 1, 0};
    sheet.segments = sheet.rings = 16;
    ball.radius = 0.3;
    ball.segments = 5;
    TRY(abut_shape_create(state->context, &sheet, &raw));
    MAKE(data->sheet, make_layers(state, raw, &data->sheet));
    abut_mesh_destroy(raw);
    MAKE(data->ball, abut_shape_create(state->context, &ball, &data->ball));
    data->ball_end = bench_array(state, abut_mesh_vertex_count(data->ball), sizeof *data->ball_end);
    return ABUT_OK;
}

static void drop_small(dress_data *data) {
    abut_cloth_destroy(data->cloth);
    abut_radial_destroy(data->radial);
    data->cloth = NULL;
    data->radial = NULL;
}

static abut_status start_small(bench_state *state, dress_data *data, abut_device *device) {
    const abut_radial_axis axis = {.begin = {0, 0, -0.33}, .end = {0, 0, 0.33}};
    abut_radial_options fields = abut_radial_options_default();
    fields.cell = 0.05;
    fields.axes = &axis;
    fields.axis_count = 1;
    fields.device = device;
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    uint32_t index;
    options.gravity.z = -9.81;
    options.drag = 0.3;
    options.ignore_self = !(state->which->variant & SELF);
    options.device = device;
    material.thickness = 0.025;
    material.stretch = 150;
    material.bend = 5e-5;
    material.friction = 0.3;
    TRY(abut_radial_create_mesh(data->ball, 1, &fields, &data->radial));
    TRY(abut_cloth_create(state->context, &options, &data->cloth));
    TRY(abut_cloth_add_sheet(data->cloth, data->sheet, &material, &index));
    TRY(abut_cloth_add_body(data->cloth, data->ball, NULL, &index));
    return abut_cloth_add_radial(data->cloth, data->radial);
}

static abut_status run_small(dress_data *data) {
    for (uint32_t i = 1; i <= data->frames; i++) {
        abut_character_matrix bone = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0.006 * i}}};
        for (uint32_t v = 0; v < abut_mesh_vertex_count(data->ball); v++) {
            data->ball_end[v] = abut_mesh_local_positions(data->ball)[v];
            data->ball_end[v].z += 0.006 * i;
        }
        TRY(abut_radial_set_positions(data->radial, &bone, abut_array_host(data->ball_end)));
        TRY(abut_cloth_set_body_positions(data->cloth, 0, abut_array_host(data->ball_end)));
        TRY(abut_cloth_step(data->cloth, STEP_SECONDS, NULL));
    }
    return ABUT_OK;
}

/* ---- a dress ---- */

static abut_status start(bench_state *state, dress_data *data, abut_device *device) {
    if (state->quick)
        return start_small(state, data, device);
    const scene_options options = {.kind = SCENE_DRESS,
                                   .triangles = DRESS_TRIANGLES,
                                   .character = data->figure,
                                   .radial = true,
                                   .self = (state->which->variant & SELF) != 0,
                                   .device = device};
    abut_cloth_report report = abut_cloth_report_default();
    TRY(scene_create(state->context, &options, &data->scene));
    for (int i = 0; i < 4; i++) /* allocates memory, and the body starts to move */
        TRY(scene_step(data->scene, &report));
    return ABUT_OK;
}

static abut_status run_frames(const bench_state *state, dress_data *data) {
    if (state->quick)
        return run_small(data);
    const scene_parts before = scene_parts_of(data->scene);
    for (uint32_t i = 0; i < data->frames; i++) {
        abut_cloth_report report = abut_cloth_report_default();
        TRY(scene_step(data->scene, &report));
    }
    const scene_parts after = scene_parts_of(data->scene);
    const double ms = 1e3 / data->frames;
    parts = (scene_parts){.skin = ms * (after.skin - before.skin),
                          .fields = ms * (after.fields - before.fields),
                          .self = ms * (after.self - before.self),
                          .solve = ms * (after.solve - before.solve),
                          .collide = ms * (after.collide - before.collide)};
    return ABUT_OK;
}

static void drop(dress_data *data) {
    drop_small(data);
    scene_destroy(data->scene);
    data->scene = NULL;
}

/* Of the sheet, then of the body. */
static abut_status hash(bench_state *state, const dress_data *data, uint64_t *to) {
    abut_cloth *c = state->quick ? data->cloth : scene_cloth(data->scene);
    abut_cloth_info info = abut_cloth_info_default();
    TRY(abut_cloth_get_info(c, &info));
    const size_t count = (size_t)info.vertex_count + info.body_vertex_count;
    abut_vec3 *at = abut_context_allocate(state->context, count, sizeof *at);
    abut_status status = at ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_get_positions(c, 0, abut_array_host(at));
    if (!status)
        status = abut_cloth_get_body_positions(c, 0, abut_array_host(at + info.vertex_count));
    if (!status)
        *to = bench_hash(0, at, count * sizeof *at);
    abut_context_free(state->context, at);
    return status;
}

/* ---- cases ---- */

static abut_status check(bench_state *state, dress_data *data) {
    uint64_t here = 0, there = 1;
    TRY(start(state, data, NULL));
    TRY(run_frames(state, data));
    TRY(hash(state, data, &here));
    drop(data);
    TRY(start(state, data, data->device));
    TRY(run_frames(state, data));
    TRY(hash(state, data, &there));
    drop(data);
    return here == there ? ABUT_OK
                         : bench_fail(ABUT_ERROR_DEVICE, "the dress is not where it is on the CPU");
}

static abut_status dress_setup(bench_state *state) {
    dress_data *data = state->data;
    const bool there = (state->which->variant & DEVICE) != 0;
    if (there)
        TRY(bench_device_open(state, &data->device));
    abut_character_figure_options figure = abut_character_figure_options_default();
    figure.figure = ABUT_CHARACTER_FIGURE_FEMALE;
    figure.triangles = BODY_TRIANGLES;
    if (state->quick)
        TRY(make_meshes(state, data));
    else
        MAKE(data->figure, abut_character_create_figure(state->context, &figure, &data->figure));
    data->frames = state->quick ? 20 : 6;
    if (there)
        TRY(check(state, data));
    data->frames = there && !state->quick ? 60 : data->frames;
    state->elements = (double)(state->quick ? 1024 : DRESS_TRIANGLES) * data->frames;
    return start(state, data, data->device);
}

static abut_status dress_run(bench_state *state) {
    return run_frames(state, state->data);
}

/* The next run starts where this one started. */
static abut_status dress_finish(bench_state *state) {
    dress_data *data = state->data;
    TRY(hash(state, data, &state->hash));
    drop(data);
    return start(state, data, data->device);
}

static void dress_teardown(bench_state *state) {
    drop(state->data);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("  a frame, ms: %.2f: skin %.2f, fields %.2f, self %.2f, solve %.2f, collide %.2f",
           parts.skin + parts.fields + parts.self + parts.solve + parts.collide, parts.skin,
           parts.fields, parts.self, parts.solve, parts.collide);
}

#define DRESS_CASE(name_, variant_)                                                                \
    {                                                                                              \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(dress_data), .setup = dress_setup, \
        .run = dress_run, .finish = dress_finish, .teardown = dress_teardown,                      \
        .print_details = print_details, .variant = variant_                                        \
    }

const bench_case bench_dress_cases[] = {
    DRESS_CASE("cloth/radial-34k", PLAIN),
    DRESS_CASE("cloth/radial-self-34k", SELF),
    DRESS_CASE("cloth/device-radial-34k", DEVICE),
    DRESS_CASE("cloth/device-radial-self-34k", DEVICE | SELF),
    {0},
};
