/* Case: frames of the four garments on a figure that walks, by exact continuous collision
 * detection. The exact test of the last frames is not timed. Quick runs have one garment. */
#include "bench.h"

#include "cloth_scene.h"

#define GARMENT_TRIANGLES 4000
#define FIRST_FRAMES 15 /* from the rest pose into the walk */

static const scene_kind kinds[] = {SCENE_DRESS, SCENE_CAPE, SCENE_OVERCOAT, SCENE_TROUSERS_AND_TOP};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct garments_data {
    abut_character *figure;
    scene *scenes[KINDS];
    uint32_t count, frames;
} garments_data;

/* Milliseconds per frame of the last run, for the line after it. */
static double ms[KINDS];

static abut_status step_scene(scene *s, uint32_t frames, double *seconds) {
    *seconds = 0;
    for (uint32_t i = 0; i < frames; i++) {
        abut_cloth_report report = abut_cloth_report_default();
        TRY(scene_step(s, &report));
        *seconds += report.motion_seconds + report.contact_seconds + report.impact_seconds;
    }
    return ABUT_OK;
}

static void drop(garments_data *data) {
    for (uint32_t k = 0; k < data->count; k++) {
        scene_destroy(data->scenes[k]);
        data->scenes[k] = NULL;
    }
}

static abut_status start(bench_state *state, garments_data *data) {
    for (uint32_t k = 0; k < data->count; k++) {
        const scene_options options = {.kind = kinds[k],
                                       .triangles = GARMENT_TRIANGLES,
                                       .character = data->figure};
        double seconds;
        TRY(scene_create(state->context, &options, &data->scenes[k]));
        TRY(step_scene(data->scenes[k], state->quick ? 1 : FIRST_FRAMES, &seconds));
    }
    return ABUT_OK;
}

static abut_status garments_setup(bench_state *state) {
    garments_data *data = state->data;
    abut_character_figure_options figure = abut_character_figure_options_default();
    figure.figure = ABUT_CHARACTER_FIGURE_FEMALE;
    figure.triangles = state->quick ? ABUT_CHARACTER_FIGURE_TRIANGLES_MIN : 0;
    MAKE(data->figure, abut_character_create_figure(state->context, &figure, &data->figure));
    data->count = state->quick ? 1 : KINDS;
    data->frames = state->quick ? 2 : 10;
    state->elements = (double)data->count * GARMENT_TRIANGLES * data->frames;
    return start(state, data);
}

static abut_status garments_run(bench_state *state) {
    garments_data *data = state->data;
    for (uint32_t k = 0; k < data->count; k++) {
        double seconds;
        TRY(step_scene(data->scenes[k], data->frames, &seconds));
        ms[k] = 1e3 * seconds / data->frames;
    }
    return ABUT_OK;
}

/* Of all positions, after the exact test. */
static abut_status check_scene(bench_state *state, const scene *s) {
    const uint32_t count = scene_vertex_count(s);
    bool is_free = false;
    abut_vec3 *at = abut_context_allocate(state->context, count, sizeof *at);
    abut_status status = at ? scene_get_positions(s, at, NULL) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_cloth_is_free(scene_cloth(s), &is_free);
    if (!status && !is_free)
        status = bench_fail(ABUT_ERROR_ARGUMENT, "a garment intersects the body or itself");
    if (!status)
        state->hash = bench_hash(state->hash, at, count * sizeof *at);
    abut_context_free(state->context, at);
    return status;
}

/* The next run starts where this one started. */
static abut_status garments_finish(bench_state *state) {
    garments_data *data = state->data;
    for (uint32_t k = 0; k < data->count; k++)
        TRY(check_scene(state, data->scenes[k]));
    drop(data);
    return start(state, data);
}

static void garments_teardown(bench_state *state) {
    drop(state->data);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("  a frame, ms:");
    for (int k = 0; k < KINDS; k++)
        printf("%s %s %.1f", k ? "," : "", scene_name(kinds[k]), ms[k]);
}

const bench_case bench_garment_cases[] = {
    {.name = "cloth/garments-4k",
     .unit = "triangle",
     .data_bytes = sizeof(garments_data),
     .setup = garments_setup,
     .run = garments_run,
     .finish = garments_finish,
     .teardown = garments_teardown,
     .print_details = print_details},
    {0},
};
