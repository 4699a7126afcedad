/* Cases: radial fields and competing methods (rivals.h). One run is six frames of each of
 * the ten conditions of table 1 of Friston & Steed (2019): the body follows the clip
 * "gymnastics", then the particles of its clothes are moved out of it. Quick runs have a small
 * ball instead.
 *
 * rivals/NAME and rivals/device-NAME; rivals/skin is the skinning that precedes all of them. The
 * device has positions and particles already, as if it had skinned them.
 *
 * ABUT_BENCH_CONDITIONS=1,8 selects conditions. ABUT_BENCH_RIVALS names a file that gets a line
 * of JSON for each condition and run of a case, for ../run: times of update and
 * of collide, each with waiting; on a device also of both with one wait, and its own clock; and
 * the number of particles that remain inside. */
#include "bench.h"
#include "conditions.h"
#include "rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SKIN = RIVAL_KINDS, ON_DEVICE = 16, SAMPLES = 64, STEP_ROUNDS = 5 };

/* Of one condition. */
typedef struct rival_state {
    const rival_scene *scene;
    rival *r;
    abut_buffer *body[RIVAL_FRAMES][2], *from[RIVAL_FRAMES], *to, *queued[RIVAL_FRAMES];
    abut_vec3 *ends[RIVAL_FRAMES];
    abut_vec3 *skinned;
    double update_ms[SAMPLES], collide_ms[SAMPLES];
    uint32_t samples;
    double clock_ms[2], step_ms, frame_ms;
} rival_state;

typedef struct rivals_data {
    abut_device *device;
    uint32_t count;
    rival_state states[RIVAL_CONDITIONS];
} rivals_data;

static abut_status upload_positions(bench_state *state, abut_device *device, const abut_vec3 *data,
                                    size_t count, abut_buffer **buffer) {
    MAKE(*buffer, abut_buffer_create(device, count * sizeof *data, buffer));
    return abut_buffer_write(*buffer, 0, data, count * sizeof *data);
}

static int kind_of(const bench_state *state) {
    return state->which->variant % ON_DEVICE;
}

/* ---- setup ---- */

static abut_status prepare(bench_state *state, rival_state *c, abut_device *device) {
    const rival_scene *s = c->scene;
    const int kind = kind_of(state);
    for (int f = 0; f < RIVAL_FRAMES; f++) {
        const rival_frame *frame = &s->frames[f];
        c->ends[f] = bench_array(state, s->particles, sizeof *c->ends[f]);
        if (!device)
            continue;
        for (int now = 0; now < 2; now++)
            TRY(upload_positions(state, device, frame->body[now], s->vertices, &c->body[f][now]));
        TRY(upload_positions(state, device, frame->from, s->particles, &c->from[f]));
        TRY(upload_positions(state, device, frame->to, s->particles, &c->queued[f]));
    }
    if (device)
        TRY(upload_positions(state, device, s->frames[0].to, s->particles, &c->to));
    if (kind == SKIN) {
        c->skinned = bench_array(state, s->vertices, sizeof *c->skinned);
        return ABUT_OK;
    }
    const bool grid = kind == RIVAL_BAND || kind == RIVAL_FIELD;
    const rival_options options = {.kind = (rival_kind)kind,
                                   .character = s->character,
                                   .cloth = s->cloth,
                                   .device = device,
                                   .cell = grid ? s->field_cell : s->cell};
    return rival_create(state->context, &options, &c->r);
}

static bool wants(uint32_t condition) {
    const char *list = getenv("ABUT_BENCH_CONDITIONS");
    for (char *end; list && *list; list = *end ? end + 1 : end) {
        const unsigned long number = strtoul(list, &end, 10);
        if (number == condition)
            return true;
        if (end == list)
            return false;
    }
    return !list;
}

static abut_status rivals_setup(bench_state *state) {
    rivals_data *data = state->data;
    if (state->which->variant >= ON_DEVICE)
        TRY(bench_device_open(state, &data->device));
    const uint32_t first = state->quick ? 0 : 1, last = state->quick ? 0 : RIVAL_CONDITIONS;
    for (uint32_t k = first; k <= last; k++) {
        if (k && !wants(k))
            continue;
        rival_state *c = &data->states[data->count];
        if (!(c->scene = rival_scene_get(k)))
            return ABUT_ERROR_ARGUMENT;
        data->count++;
        TRY(prepare(state, c, data->device));
        state->elements += RIVAL_FRAMES * (double)c->scene->particles;
    }
    return data->count
               ? ABUT_OK
               : bench_fail(ABUT_ERROR_ARGUMENT, "ABUT_BENCH_CONDITIONS names none from 1 to 10");
}

/* ---- run ---- */

/* The body of a frame, before or now, on the host or the device of the method. */
static abut_array body_of(const rival_state *c, int f, int now) {
    return c->to ? abut_array_buffer(c->body[f][now])
                 : abut_array_host(c->scene->frames[f].body[now]);
}
static abut_array from_of(const rival_state *c, int f) {
    return c->to ? abut_array_buffer(c->from[f]) : abut_array_host(c->scene->frames[f].from);
}
static abut_array to_of(const rival_state *c, int f) {
    return c->to ? abut_array_buffer(c->to) : abut_array_host(c->ends[f]);
}

/* Sets the body before, and the target positions of particles. */
static abut_status begin_frame(rival_state *c, int f) {
    const rival_frame *frame = &c->scene->frames[f];
    const size_t bytes = c->scene->particles * sizeof *frame->to;
    memcpy(c->ends[f], frame->to, bytes);
    if (c->to)
        TRY(abut_buffer_write(c->to, 0, frame->to, bytes));
    TRY(rival_update(c->r, frame->bones[0], body_of(c, f, 0)));
    return rival_finish(c->r);
}

static abut_status run_frame(rival_state *c, int f) {
    const rival_scene *s = c->scene;
    const uint32_t k = c->samples++ % SAMPLES;
    TRY(begin_frame(c, f));
    double begun = bench_now_ms();
    TRY(rival_update(c->r, s->frames[f].bones[1], body_of(c, f, 1)));
    TRY(rival_finish(c->r));
    double updated = bench_now_ms();
    TRY(rival_collide(c->r, s->particles, from_of(c, f), to_of(c, f), 0.3));
    TRY(rival_finish(c->r));
    c->update_ms[k] = updated - begun;
    c->collide_ms[k] = bench_now_ms() - updated;
    return c->to ? abut_buffer_read(c->to, 0, c->ends[f], s->particles * sizeof *c->ends[f])
                 : ABUT_OK;
}

static abut_status run_skin(rival_state *c, int f) {
    const uint32_t k = c->samples++ % SAMPLES;
    double begun = bench_now_ms();
    abut_status status = abut_character_skin(c->scene->character, c->scene->frames[f].bones[1],
                                             ABUT_CHARACTER_SKINNING_LINEAR, c->skinned);
    c->update_ms[k] = bench_now_ms() - begun;
    memcpy(c->ends[f], c->skinned, c->scene->particles * sizeof *c->skinned);
    return status;
}

static abut_status rivals_run(bench_state *state) {
    rivals_data *data = state->data;
    for (uint32_t k = 0; k < data->count; k++)
        for (int f = 0; f < RIVAL_FRAMES; f++)
            TRY(kind_of(state) == SKIN ? run_skin(&data->states[k], f)
                                       : run_frame(&data->states[k], f));
    return ABUT_OK;
}

static abut_status rivals_finish(bench_state *state) {
    rivals_data *data = state->data;
    state->hash = 1;
    for (uint32_t k = 0; k < data->count; k++)
        for (int f = 0; f < RIVAL_FRAMES; f++)
            state->hash = bench_hash(state->hash, data->states[k].ends[f],
                                     data->states[k].scene->particles * sizeof(abut_vec3));
    return ABUT_OK;
}

/* ---- details ---- */

/* Update and collide with one wait. */
static abut_status time_steps(rival_state *c) {
    const rival_scene *s = c->scene;
    double times[STEP_ROUNDS * RIVAL_FRAMES];
    for (int k = 0; k < STEP_ROUNDS * RIVAL_FRAMES; k++) {
        const int f = k % RIVAL_FRAMES;
        TRY(begin_frame(c, f));
        double begun = bench_now_ms();
        TRY(rival_step(c->r, s->frames[f].bones[1], body_of(c, f, 1), s->particles, from_of(c, f),
                       to_of(c, f), 0.3));
        TRY(rival_finish(c->r));
        times[k] = bench_now_ms() - begun;
    }
    c->step_ms = bench_median(times, STEP_ROUNDS * RIVAL_FRAMES);
    return ABUT_OK;
}

/* The device's own time, and that of a frame without waiting until the last. */
static abut_status time_device(rival_state *c) {
    const rival_scene *s = c->scene;
    double update[RIVAL_FRAMES], collide[RIVAL_FRAMES];
    for (int f = 0; f < RIVAL_FRAMES; f++) {
        TRY(begin_frame(c, f));
        rival_clock_start(c->r);
        TRY(rival_update(c->r, s->frames[f].bones[1], body_of(c, f, 1)));
        TRY(rival_clock_stop(c->r, &update[f]));
        rival_clock_start(c->r);
        TRY(rival_collide(c->r, s->particles, from_of(c, f), to_of(c, f), 0.3));
        TRY(rival_clock_stop(c->r, &collide[f]));
    }
    c->clock_ms[0] = bench_median(update, RIVAL_FRAMES);
    c->clock_ms[1] = bench_median(collide, RIVAL_FRAMES);
    double begun = bench_now_ms();
    for (int f = 0; f < RIVAL_FRAMES; f++) {
        TRY(rival_update(c->r, s->frames[f].bones[1], body_of(c, f, 1)));
        TRY(rival_collide(c->r, s->particles, from_of(c, f), abut_array_buffer(c->queued[f]), 0.3));
    }
    TRY(rival_finish(c->r));
    c->frame_ms = (bench_now_ms() - begun) / RIVAL_FRAMES;
    return ABUT_OK;
}

/* Counts particles of all frames that are inside by more than a tenth of a cell, and by a cell. */
static abut_status count_inside(bench_state *state, const rival_state *c,
                                const abut_vec3 *const *where, uint32_t *some, uint32_t *deep) {
    const rival_scene *s = c->scene;
    abut_nearest *nearest = bench_array(state, s->particles, sizeof *nearest);
    abut_bvh *bvh = NULL;
    MAKE(bvh, abut_bvh_create(abut_character_rest_mesh(s->character), NULL, &bvh));
    TRY(abut_sign_prepare(bvh, NULL));
    *some = *deep = 0;
    for (int f = 0; f < RIVAL_FRAMES; f++) {
        abut_mesh *mesh = NULL;
        MAKE(mesh, abut_character_mesh(s->character, s->frames[f].bones[1],
                                       ABUT_CHARACTER_SKINNING_LINEAR, &mesh));
        TRY(abut_bvh_set_mesh(bvh, mesh));
        TRY(abut_sign_nearest_batch(bvh, abut_array_host(where[f]), s->particles, HUGE_VAL,
                                    abut_array_host(nearest)));
        for (uint32_t i = 0; i < s->particles; i++) {
            *some += nearest[i].distance < -0.1 * s->cell;
            *deep += nearest[i].distance < -s->cell;
        }
    }
    return ABUT_OK;
}

static abut_status write_lines(bench_state *state, rivals_data *data, FILE *file) {
    for (uint32_t k = 0; k < data->count; k++) {
        rival_state *c = &data->states[k];
        const rival_scene *s = c->scene;
        const uint32_t n = c->samples < SAMPLES ? c->samples : SAMPLES;
        const abut_vec3 *before[RIVAL_FRAMES], *after[RIVAL_FRAMES];
        uint32_t were = 0, were_deep = 0, are = 0, are_deep = 0;
        for (int f = 0; f < RIVAL_FRAMES; f++) {
            before[f] = s->frames[f].to;
            after[f] = c->ends[f];
        }
        if (c->r) {
            TRY(count_inside(state, c, before, &were, &were_deep));
            TRY(count_inside(state, c, after, &are, &are_deep));
        }
        if (c->to) {
            TRY(time_steps(c));
            TRY(time_device(c));
        }
        const double update = bench_median(c->update_ms, n),
                     collide = bench_median(c->collide_ms, n);
        fprintf(file,
                "{\"condition\": %u, \"body\": \"%s\", \"cloth\": \"%s\", \"triangles\": %u, "
                "\"particles\": %u, \"rival\": \"%s\", \"place\": \"%s\", \"bytes\": %llu, "
                "\"update_ms\": %.5f, \"collide_ms\": %.5f, \"update_least_ms\": %.5f, "
                "\"collide_least_ms\": %.5f, \"step_ms\": %.5f, \"update_clock_ms\": %.5f, "
                "\"collide_clock_ms\": "
                "%.5f, \"queued_frame_ms\": %.5f, \"inside_before\": %u, \"deep_before\": %u, "
                "\"inside\": %u, \"deep\": %u, \"of\": %u}\n",
                s->condition, s->body_name, s->cloth_name, s->triangles, s->particles,
                c->r ? rival_name((rival_kind)kind_of(state)) : "skin",
                data->device ? get_device_info(data->device).name : "CPU",
                (unsigned long long)(c->r ? rival_bytes(c->r) : 0), update, collide,
                c->update_ms[0], c->collide_ms[0], c->step_ms, c->clock_ms[0], c->clock_ms[1],
                c->frame_ms, were, were_deep, are, are_deep, RIVAL_FRAMES * s->particles);
    }
    return ABUT_OK;
}

static void rivals_teardown(bench_state *state) {
    rivals_data *data = state->data;
    const char *path = getenv("ABUT_BENCH_RIVALS");
    FILE *file =
        path && path[0] && data->count && data->states[0].samples ? fopen(path, "a") : NULL;
    if (file) {
        if (write_lines(state, data, file))
            fprintf(stderr, "%s: %s\n", path, bench_error());
        fclose(file);
    }
    for (uint32_t k = 0; k < data->count; k++)
        rival_destroy(data->states[k].r);
}

#define RIVAL(name_, variant_, threaded_)                                               \
    {                                                                                   \
        .name = "rivals/" name_, .unit = "particle", .data_bytes = sizeof(rivals_data), \
        .setup = rivals_setup, .run = rivals_run, .finish = rivals_finish,              \
        .teardown = rivals_teardown, .variant = variant_, .threaded = threaded_         \
    }

const bench_case bench_rival_cases[] = {
    RIVAL("skin", SKIN, true),
    RIVAL("band", RIVAL_BAND, true),
    RIVAL("field", RIVAL_FIELD, true),
    RIVAL("hash", RIVAL_HASH, true),
    RIVAL("tree", RIVAL_TREE, true),
    RIVAL("nearest", RIVAL_NEAREST, true),
    RIVAL("sweep", RIVAL_SWEEP, true),
    RIVAL("radial", RIVAL_RADIAL, true),
    RIVAL("device-band", ON_DEVICE + RIVAL_BAND, false),
    RIVAL("device-field", ON_DEVICE + RIVAL_FIELD, false),
    RIVAL("device-hash", ON_DEVICE + RIVAL_HASH, false),
    RIVAL("device-tree", ON_DEVICE + RIVAL_TREE, false),
    RIVAL("device-nearest", ON_DEVICE + RIVAL_NEAREST, false),
    RIVAL("device-sweep", ON_DEVICE + RIVAL_SWEEP, false),
    RIVAL("device-radial", ON_DEVICE + RIVAL_RADIAL, false),
    {.name = NULL},
};
