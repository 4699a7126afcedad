/* Cases: steps at the sizes of the goals for cloth. A dress on a figure that walks from its rest
 * pose, in frames of 1/60 s, and a pile of sheets that fall on a plate, in steps of 1/240 s: in
 * longer ones layers hit each other in millions of places. Contacts, self-collision and sweeps are
 * included; skinning is not. After the timing the exact test finds no intersection. */
#include "apps/get.h"
#include "bench.h"

#include <math.h>

#define FRAME_SECONDS (1.0 / 60)

enum {
    FIRST_FRAMES = 30, /* not timed: into the walk */
    FIRST_STEPS = 25,  /* of the pile, which then hits the plate */
    PILE_STEPS = 4,    /* per frame */
    LAST_FRAMES = 10,
    FRAMES = FIRST_FRAMES + LAST_FRAMES,
    LAYERS = 50
};

typedef enum goal { DRESS_5K, DRESS_20K, DRESS_50K, PILE_475K } goal;

typedef struct goal_data {
    abut_device *device; /* null = the CPU */
    abut_mesh *sheet, *body;
    abut_garment *dress;
    abut_vec3 *motion; /* positions of the body at the end of each frame; null = it rests */
    abut_cloth *cloth;
    abut_byte_list first; /* the saved state one frame before the timed ones */
    uint32_t layers, frame, first_frame;
} goal_data;

/* Milliseconds per frame of the last run, for the line after it. */
static double parts[4];

/* ---- the scenes ---- */

static abut_status make_dress(bench_state *state, goal_data *data, uint32_t triangles) {
    abut_character_figure_options figure = abut_character_figure_options_default();
    abut_garment_options cut = abut_garment_options_default();
    abut_character *woman;
    figure.figure = ABUT_CHARACTER_FIGURE_FEMALE;
    figure.triangles = triangles > 30000 ? 27000 : 0;
    cut.kind = ABUT_GARMENT_DRESS;
    cut.particles = triangles / 2;
    MAKE(woman, abut_character_create_figure(state->context, &figure, &woman));
    TRY(abut_garment_create(woman, &cut, &data->dress));
    data->body = abut_character_rest_mesh(woman);
    data->sheet = abut_character_rest_mesh(abut_garment_character(data->dress));
    const uint32_t count = abut_mesh_vertex_count(data->body);
    data->motion = bench_array(state, (size_t)count * FRAMES, sizeof *data->motion);
    abut_character_matrix *bones =
        bench_array(state, get_character_info(woman).bone_count, sizeof *bones);
    for (uint32_t i = 0; i < FRAMES; i++) {
        abut_character_pose_options pose = abut_character_pose_options_default();
        pose.clip = ABUT_NONE;
        pose.other = 0;
        pose.other_time = pose.time = (i + 1) * FRAME_SECONDS;
        pose.blend = fmin((i + 1.0) / FIRST_FRAMES, 1);
        TRY(abut_character_pose(woman, &pose, bones));
        TRY(abut_character_skin(woman, bones, ABUT_CHARACTER_SKINNING_LINEAR,
                                data->motion + (size_t)i * count));
    }
    return ABUT_OK;
}

static abut_status make_pile(bench_state *state, goal_data *data) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET),
               plate = abut_shape_default(ABUT_SHAPE_BOX);
    sheet.segments = sheet.rings = state->quick ? 8 : 69; /* 9,522 triangles */
    plate.extent = (abut_vec3){1.4, 1.4, 0.1};
    plate.segments = 8;
    MAKE(data->sheet, abut_shape_create(state->context, &sheet, &data->sheet));
    MAKE(data->body, abut_shape_create(state->context, &plate, &data->body));
    data->layers = state->quick ? 3 : LAYERS;
    return ABUT_OK;
}

/* Sheets above each other, each shifted slightly. */
static abut_status add_layers(goal_data *data) {
    abut_cloth_material material = abut_cloth_material_default();
    material.friction = 0.2;
    for (uint32_t i = 0; i < data->layers; i++) {
        const abut_pose to = {{0, 0, 0, 1}, {0.004 * (i % 7), 0.004 * (i % 5), 0.06 + 0.006 * i}};
        abut_mesh *placed = NULL;
        uint32_t index;
        TRY(abut_mesh_transform(data->sheet, 1, to, &placed));
        const abut_status status = abut_cloth_add_sheet(data->cloth, placed, &material, &index);
        abut_mesh_destroy(placed);
        TRY(status);
    }
    return ABUT_OK;
}

static abut_status add_dress(bench_state *state, goal_data *data) {
    abut_cloth_material cotton = abut_cloth_material_default();
    abut_cloth_attachment *list;
    uint32_t sheet, count;
    const uint32_t *pins = abut_garment_pins(data->dress, &count);
    cotton.bend = 5e-5;
    cotton.friction = 0.3;
    cotton.damping = 0.2;
    TRY(abut_cloth_add_sheet(data->cloth, data->sheet, &cotton, &sheet));
    list = abut_context_allocate(state->context, count, sizeof *list);
    abut_status status = list ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_bind(data->cloth, sheet, 0, pins, count, 200, list);
    if (!status)
        status = abut_cloth_attach(data->cloth, sheet, list, count);
    abut_context_free(state->context, list);
    return status;
}

static abut_status step(goal_data *data, abut_cloth_report *report) {
    const size_t count = abut_mesh_vertex_count(data->body);
    if (data->motion)
        TRY(abut_cloth_set_body_positions(data->cloth, 0,
                                          abut_array_host(data->motion + data->frame * count)));
    data->frame++;
    return abut_cloth_step(data->cloth, data->motion ? FRAME_SECONDS : FRAME_SECONDS / PILE_STEPS,
                           report);
}

/* Saves the state one frame before the timed ones. */
static abut_status save_start(bench_state *state, goal_data *data) {
    abut_byte_list *first = &data->first;
    abut_status status = abut_cloth_save(data->cloth, first);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    first->list = bench_array(state, first->count, 1);
    first->capacity = first->count;
    data->first_frame = data->frame;
    return abut_cloth_save(data->cloth, first);
}

static abut_status start(bench_state *state, goal_data *data) {
    const double triangles = abut_mesh_triangle_count(data->sheet);
    const int steps = state->quick ? 2 : data->motion ? FIRST_FRAMES : FIRST_STEPS;
    abut_cloth_options options = abut_cloth_options_default();
    uint32_t body;
    *(data->motion ? &options.gravity.y : &options.gravity.z) = -9.81;
    options.substeps = data->motion ? (uint32_t)fmax(10 * sqrt(triangles / 6000), 10) : 10;
    options.body_may_lag = data->motion != NULL;
    options.device = data->device;
    TRY(abut_cloth_create(state->context, &options, &data->cloth));
    TRY(abut_cloth_add_body(data->cloth, data->body, NULL, &body));
    TRY(data->motion ? add_dress(state, data) : add_layers(data));
    for (int i = 1; i < steps; i++)
        TRY(step(data, NULL));
    TRY(save_start(state, data));
    return step(data, NULL);
}

/* The first step after restoring tests the start, and is not timed. */
static abut_status restart(goal_data *data) {
    TRY(abut_cloth_restore(data->cloth, data->first.list, data->first.count));
    data->frame = data->first_frame;
    return step(data, NULL);
}

/* ---- the cases ---- */

static abut_status goal_setup(bench_state *state) {
    static const uint32_t triangles[] = {
        [DRESS_5K] = 5000, [DRESS_20K] = 20000, [DRESS_50K] = 50000};
    const uint32_t which = (uint32_t)state->which->variant;
    goal_data *data = state->data;
    if (which >= DRESS_50K)
        TRY(bench_device_open(state, &data->device));
    TRY(which == PILE_475K || state->quick ? make_pile(state, data)
                                           : make_dress(state, data, triangles[which]));
    state->elements = LAST_FRAMES;
    return start(state, data);
}

static abut_status goal_run(bench_state *state) {
    goal_data *data = state->data;
    double sums[3] = {0, 0, 0};
    const double begin = bench_now_ms();
    for (int i = 0; i < LAST_FRAMES; i++) {
        abut_cloth_report report = abut_cloth_report_default();
        TRY(step(data, &report));
        sums[0] += report.motion_seconds;
        sums[1] += report.contact_seconds;
        sums[2] += report.impact_seconds;
    }
    parts[3] = (bench_now_ms() - begin) / LAST_FRAMES;
    for (int k = 0; k < 3; k++)
        parts[k] = 1e3 * sums[k] / LAST_FRAMES;
    return ABUT_OK;
}

/* The next run starts where this one started. */
static abut_status goal_finish(bench_state *state) {
    goal_data *data = state->data;
    const uint32_t count = abut_mesh_vertex_count(data->sheet);
    bool is_free = false;
    TRY(abut_cloth_is_free(data->cloth, &is_free));
    if (!is_free)
        return bench_fail(ABUT_ERROR_ARGUMENT, "the cloth intersects something");
    abut_vec3 *at = abut_context_allocate(state->context, count, sizeof *at);
    abut_status status =
        at ? abut_cloth_get_positions(data->cloth, 0, abut_array_host(at)) : ABUT_ERROR_MEMORY;
    if (!status)
        state->hash = bench_hash(0, at, count * sizeof *at);
    abut_context_free(state->context, at);
    return status ? status : restart(data);
}

static void goal_teardown(bench_state *state) {
    goal_data *data = state->data;
    abut_cloth_destroy(data->cloth);
    abut_garment_destroy(data->dress);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("  a frame, ms: %.2f, of it motion %.2f, contacts %.2f, sweeps %.2f", parts[3], parts[0],
           parts[1], parts[2]);
}

#define GOAL_CASE(name_, variant_)                                                            \
    {                                                                                         \
        .name = name_, .unit = "frame", .data_bytes = sizeof(goal_data), .setup = goal_setup, \
        .run = goal_run, .finish = goal_finish, .teardown = goal_teardown,                    \
        .print_details = print_details, .variant = variant_, .threaded = variant_ < DRESS_50K \
    }

const bench_case bench_cloth_goal_cases[] = {
    GOAL_CASE("cloth/dress-5k", DRESS_5K),
    GOAL_CASE("cloth/dress-20k", DRESS_20K),
    GOAL_CASE("cloth/device-dress-50k", DRESS_50K),
    GOAL_CASE("cloth/device-pile-475k", PILE_475K),
    {0},
};
