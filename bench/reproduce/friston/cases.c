/* Cases: radial fields and competing methods (rivals.h). A run is the ten conditions of table 1 of
 * Friston & Steed (2019): the body follows the clip "gymnastics" for ten seconds, and three times a
 * second the particles of its garment are moved out of it. All methods get the same particles
 * (clothing.h). Quick runs have a small ball instead.
 *
 * rivals/NAME and rivals/device-NAME; rivals/skin is the skinning that precedes all of them. The
 * device has positions and particles already, as if it had skinned them. Methods that are not in
 * the paper, and are slow, run every sixth frame. In these frames, particles that remain inside are
 * counted for all methods.
 *
 * ABUT_BENCH_CONDITIONS=1,8 selects conditions. ABUT_BENCH_RECORDINGS names a folder for the motion
 * of garments, which otherwise is simulated for each case. ABUT_BENCH_RIVALS names a file that gets
 * a line of JSON for each condition and run of a case, for ../run: times of update and of collide,
 * each with waiting; on a device also of both with one wait, and its own clock; and the number of
 * particles that remain inside. Times are means over frames, of the median and of the least of all
 * runs of a frame: processor time on the CPU, elapsed time on a device. */
#include "bench.h"
#include "conditions.h"
#include "rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SKIN = RIVAL_KINDS, ON_DEVICE = 16, RUNS = 16, STEP_ROUNDS = 5, SPARSE = 6, QUEUED = 6 };

/* Times of a part of a frame, in all runs. */
typedef struct frame_times {
    double update[RUNS], collide[RUNS];
    uint32_t runs;
} frame_times;

/* Of one condition. */
typedef struct rival_state {
    const rival_scene *scene;
    rival *r;
    abut_vec3 *body[2], *ends;
    abut_vec3 **kept; /* where particles end, of every SPARSE-th frame */
    frame_times *times;
    abut_buffer *body_there[2], *from, *to; /* on a device, of the current frame */
    abut_buffer *queued[QUEUED][3];         /* body, from and to of some frames */
    double clock_ms[2], step_ms, frame_ms;
} rival_state;

typedef struct rivals_data {
    abut_device *device;
    uint32_t count;
    rival_state states[RIVAL_CONDITIONS];
} rivals_data;

static int kind_of(const bench_state *state) {
    return state->which->variant % ON_DEVICE;
}

/* Whether a method is only measured in every SPARSE-th frame. */
static bool is_sparse(int kind) {
    return kind == RIVAL_FIELD || kind == RIVAL_NEAREST || kind == RIVAL_SWEEP;
}

/* Whether a method depends on the previous pose of the body. */
static bool has_past(int kind) {
    return kind == RIVAL_BAND || kind == RIVAL_SWEEP || kind == RIVAL_RADIAL;
}

/* ---- setup ---- */

static abut_status make_buffer(bench_state *state, abut_device *device, size_t count,
                               abut_buffer **buffer) {
    MAKE(*buffer, abut_buffer_create(device, count * sizeof(abut_vec3), buffer));
    return ABUT_OK;
}

static abut_status prepare_device(bench_state *state, rival_state *c, abut_device *device) {
    const rival_scene *s = c->scene;
    TRY(make_buffer(state, device, s->vertices, &c->body_there[0]));
    TRY(make_buffer(state, device, s->vertices, &c->body_there[1]));
    TRY(make_buffer(state, device, s->particles, &c->from));
    TRY(make_buffer(state, device, s->particles, &c->to));
    for (int q = 0; q < QUEUED; q++)
        for (int k = 0; k < 3; k++)
            TRY(make_buffer(state, device, k ? s->particles : s->vertices, &c->queued[q][k]));
    return ABUT_OK;
}

static abut_status prepare(bench_state *state, rival_state *c, abut_device *device) {
    const rival_scene *s = c->scene;
    const int kind = kind_of(state);
    c->body[0] = bench_array(state, s->vertices, sizeof *c->body[0]);
    c->body[1] = bench_array(state, s->vertices, sizeof *c->body[1]);
    c->ends = bench_array(state, s->particles, sizeof *c->ends);
    c->times = bench_array(state, s->frame_count, sizeof *c->times);
    c->kept = bench_array(state, s->frame_count, sizeof *c->kept);
    for (uint32_t f = 0; f < s->frame_count; f += SPARSE)
        c->kept[f] = bench_array(state, s->particles, sizeof **c->kept);
    if (device)
        TRY(prepare_device(state, c, device));
    if (kind == SKIN)
        return ABUT_OK;
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
    const uint32_t stride = is_sparse(kind_of(state)) ? SPARSE : 1;
    for (uint32_t k = first; k <= last; k++) {
        if (k && !wants(k))
            continue;
        rival_state *c = &data->states[data->count];
        if (!(c->scene = rival_scene_get(k)))
            return ABUT_ERROR_ARGUMENT;
        data->count++;
        TRY(prepare(state, c, data->device));
        state->elements +=
            (double)((c->scene->frame_count + stride - 1) / stride) * (double)c->scene->particles;
    }
    return data->count
               ? ABUT_OK
               : bench_fail(ABUT_ERROR_ARGUMENT, "ABUT_BENCH_CONDITIONS names none from 1 to 10");
}

/* ---- run ---- */

/* The body of the current frame, before or now, on the host or the device of the method. */
static abut_array body_of(const rival_state *c, int now) {
    return c->to ? abut_array_buffer(c->body_there[now]) : abut_array_host(c->body[now]);
}
static abut_array from_of(const rival_state *c, uint32_t f) {
    return c->to ? abut_array_buffer(c->from) : abut_array_host(c->scene->frames[f].from);
}
static abut_array to_of(const rival_state *c) {
    return c->to ? abut_array_buffer(c->to) : abut_array_host(c->ends);
}

/* Skins the body of a frame, before and now. */
static abut_status skin(rival_state *c, uint32_t f) {
    for (int now = 0; now < 2; now++)
        TRY(abut_character_skin(c->scene->character, c->scene->frames[f].bones[now],
                                ABUT_CHARACTER_SKINNING_LINEAR, c->body[now]));
    return ABUT_OK;
}

/* Moves bodies and particles of a frame to where the method expects them, and sets the body before.
 */
static abut_status begin_frame(rival_state *c, int kind, uint32_t f) {
    const rival_frame *frame = &c->scene->frames[f];
    const size_t bytes = c->scene->particles * sizeof *frame->to;
    TRY(skin(c, f));
    memcpy(c->ends, frame->to, bytes);
    if (c->to) {
        for (int now = 0; now < 2; now++)
            TRY(abut_buffer_write(c->body_there[now], 0, c->body[now],
                                  c->scene->vertices * sizeof *c->body[now]));
        TRY(abut_buffer_write(c->from, 0, frame->from, bytes));
        TRY(abut_buffer_write(c->to, 0, frame->to, bytes));
    }
    if (has_past(kind))
        TRY(rival_update(c->r, frame->bones[0], body_of(c, 0)));
    return rival_finish(c->r);
}

/* Milliseconds: processor time on the CPU, which other programs hardly disturb. */
static double now_ms(const rival_state *c) {
    return c->to ? bench_now_ms() : bench_cpu_ms();
}

static void add_time(rival_state *c, uint32_t f, double update, double collide) {
    frame_times *t = &c->times[f];
    t->update[t->runs % RUNS] = update;
    t->collide[t->runs++ % RUNS] = collide;
}

static abut_status run_frame(rival_state *c, int kind, uint32_t f) {
    const rival_scene *s = c->scene;
    TRY(begin_frame(c, kind, f));
    const double begun = now_ms(c);
    TRY(rival_update(c->r, s->frames[f].bones[1], body_of(c, 1)));
    TRY(rival_finish(c->r));
    const double updated = now_ms(c);
    TRY(rival_collide(c->r, s->particles, from_of(c, f), to_of(c), 0.3));
    TRY(rival_finish(c->r));
    add_time(c, f, updated - begun, now_ms(c) - updated);
    return c->to ? abut_buffer_read(c->to, 0, c->ends, s->particles * sizeof *c->ends) : ABUT_OK;
}

static abut_status run_skin(rival_state *c, uint32_t f) {
    const double begun = now_ms(c);
    TRY(abut_character_skin(c->scene->character, c->scene->frames[f].bones[1],
                            ABUT_CHARACTER_SKINNING_LINEAR, c->body[1]));
    add_time(c, f, now_ms(c) - begun, 0);
    const size_t count =
        c->scene->particles < c->scene->vertices ? c->scene->particles : c->scene->vertices;
    memcpy(c->ends, c->body[1], count * sizeof *c->ends);
    return ABUT_OK;
}

/* On a device the order of atomics determines which entries of a full bucket are lost. */
static abut_status find_lost(rival_state *c, bool *random) {
    double lost = 0;
    if (c->to && c->r)
        TRY(rival_lost(c->r, &lost));
    *random |= lost > 0;
    return ABUT_OK;
}

static abut_status rivals_run(bench_state *state) {
    rivals_data *data = state->data;
    const int kind = kind_of(state);
    bool random = false;
    state->hash = 1;
    for (uint32_t k = 0; k < data->count; k++) {
        rival_state *c = &data->states[k];
        const size_t bytes = c->scene->particles * sizeof *c->ends;
        for (uint32_t f = 0; f < c->scene->frame_count; f += is_sparse(kind) ? SPARSE : 1) {
            TRY(kind == SKIN ? run_skin(c, f) : run_frame(c, kind, f));
            state->hash = bench_hash(state->hash, c->ends, bytes);
            if (c->kept[f])
                memcpy(c->kept[f], c->ends, bytes);
        }
        TRY(find_lost(c, &random));
    }
    state->hash = random ? 0 : state->hash;
    return ABUT_OK;
}

/* ---- details ---- */

/* Update and collide with one wait. */
static abut_status time_steps(rival_state *c, int kind) {
    const rival_scene *s = c->scene;
    double sum = 0;
    uint32_t frames = 0;
    for (uint32_t f = 0; f < s->frame_count; f += is_sparse(kind) ? SPARSE : 1, frames++) {
        double times[STEP_ROUNDS];
        for (int k = 0; k < STEP_ROUNDS; k++) {
            TRY(begin_frame(c, kind, f));
            const double begun = bench_now_ms();
            TRY(rival_step(c->r, s->frames[f].bones[1], body_of(c, 1), s->particles, from_of(c, f),
                           to_of(c), 0.3));
            TRY(rival_finish(c->r));
            times[k] = bench_now_ms() - begun;
        }
        sum += bench_median(times, STEP_ROUNDS);
    }
    c->step_ms = sum / frames;
    return ABUT_OK;
}

/* The device's own time. */
static abut_status time_device(rival_state *c, int kind) {
    const rival_scene *s = c->scene;
    uint32_t frames = 0;
    for (uint32_t f = 0; f < s->frame_count; f += SPARSE, frames++) {
        double update, collide;
        TRY(begin_frame(c, kind, f));
        rival_clock_start(c->r);
        TRY(rival_update(c->r, s->frames[f].bones[1], body_of(c, 1)));
        TRY(rival_clock_stop(c->r, &update));
        rival_clock_start(c->r);
        TRY(rival_collide(c->r, s->particles, from_of(c, f), to_of(c), 0.3));
        TRY(rival_clock_stop(c->r, &collide));
        c->clock_ms[0] += update;
        c->clock_ms[1] += collide;
    }
    c->clock_ms[0] /= frames;
    c->clock_ms[1] /= frames;
    return ABUT_OK;
}

/* The time of a frame, without waiting until the last of several. */
static abut_status time_queue(rival_state *c) {
    const rival_scene *s = c->scene;
    const uint32_t stride = s->frame_count / QUEUED ? s->frame_count / QUEUED : 1;
    uint32_t frames = 0;
    for (uint32_t f = 0; f < s->frame_count && frames < QUEUED; f += stride, frames++) {
        abut_buffer *const *q = c->queued[frames];
        TRY(skin(c, f));
        TRY(abut_buffer_write(q[0], 0, c->body[1], s->vertices * sizeof(abut_vec3)));
        TRY(abut_buffer_write(q[1], 0, s->frames[f].from, s->particles * sizeof(abut_vec3)));
        TRY(abut_buffer_write(q[2], 0, s->frames[f].to, s->particles * sizeof(abut_vec3)));
    }
    const double begun = bench_now_ms();
    for (uint32_t k = 0; k < frames; k++) {
        abut_buffer *const *q = c->queued[k];
        TRY(rival_update(c->r, s->frames[k * stride].bones[1], abut_array_buffer(q[0])));
        TRY(rival_collide(c->r, s->particles, abut_array_buffer(q[1]), abut_array_buffer(q[2]),
                          0.3));
    }
    TRY(rival_finish(c->r));
    c->frame_ms = (bench_now_ms() - begun) / frames;
    return ABUT_OK;
}

typedef struct inside_counts {
    uint32_t some_before, deep_before, some, deep, of;
} inside_counts;

static void count_deep(const abut_nearest *nearest, uint32_t count, double cell, uint32_t *some,
                       uint32_t *deep) {
    for (uint32_t i = 0; i < count; i++) {
        *some += nearest[i].distance < -0.1 * cell;
        *deep += nearest[i].distance < -cell;
    }
}

/* Counts particles that are inside by more than a tenth of a cell, and by a cell, in every
 * SPARSE-th frame: predicted ones, and those after the method. */
static abut_status count_inside(bench_state *state, rival_state *c, inside_counts *counts) {
    const rival_scene *s = c->scene;
    abut_nearest *nearest = bench_array(state, s->particles, sizeof *nearest);
    const abut_array to = abut_array_host(nearest);
    abut_bvh *bvh = NULL;
    MAKE(bvh, abut_bvh_create(abut_character_rest_mesh(s->character), NULL, &bvh));
    TRY(abut_sign_prepare(bvh, NULL));
    for (uint32_t f = 0; f < s->frame_count; f += SPARSE) {
        abut_mesh *mesh = NULL;
        MAKE(mesh, abut_character_mesh(s->character, s->frames[f].bones[1],
                                       ABUT_CHARACTER_SKINNING_LINEAR, &mesh));
        TRY(abut_bvh_set_mesh(bvh, mesh));
        TRY(abut_sign_nearest_batch(bvh, abut_array_host(s->frames[f].to), s->particles, HUGE_VAL,
                                    to));
        count_deep(nearest, s->particles, s->cell, &counts->some_before, &counts->deep_before);
        TRY(abut_sign_nearest_batch(bvh, abut_array_host(c->kept[f]), s->particles, HUGE_VAL, to));
        count_deep(nearest, s->particles, s->cell, &counts->some, &counts->deep);
        counts->of += s->particles;
    }
    return ABUT_OK;
}

/* Means over frames of the median and of the least of all runs. */
typedef struct mean_times {
    double update, collide, update_least, collide_least;
    uint32_t frames;
} mean_times;

static mean_times average_times(const rival_state *c) {
    mean_times m = {0};
    for (uint32_t f = 0; f < c->scene->frame_count; f++) {
        frame_times *t = &c->times[f];
        const uint32_t runs = t->runs < RUNS ? t->runs : RUNS;
        if (!runs)
            continue;
        m.update += bench_median(t->update, runs); /* which sorts them */
        m.collide += bench_median(t->collide, runs);
        m.update_least += t->update[0];
        m.collide_least += t->collide[0];
        m.frames++;
    }
    m.update /= m.frames;
    m.collide /= m.frames;
    m.update_least /= m.frames;
    m.collide_least /= m.frames;
    return m;
}

static abut_status write_lines(bench_state *state, rivals_data *data, FILE *file) {
    const int kind = kind_of(state);
    for (uint32_t k = 0; k < data->count; k++) {
        rival_state *c = &data->states[k];
        const rival_scene *s = c->scene;
        inside_counts inside = {0};
        double lost = 0;
        if (c->r) {
            TRY(count_inside(state, c, &inside));
            TRY(rival_lost(c->r, &lost));
        }
        if (c->to && c->r) {
            TRY(time_steps(c, kind));
            TRY(time_device(c, kind));
            TRY(time_queue(c));
        }
        const mean_times mean = average_times(c);
        fprintf(file,
                "{\"condition\": %u, \"body\": \"%s\", \"cloth\": \"%s\", \"triangles\": %u, "
                "\"particles\": %u, \"frames\": %u, \"rival\": \"%s\", \"place\": \"%s\", "
                "\"bytes\": %llu, \"update_ms\": %.5f, \"collide_ms\": %.5f, "
                "\"update_least_ms\": %.5f, \"collide_least_ms\": %.5f, \"step_ms\": %.5f, "
                "\"update_clock_ms\": %.5f, \"collide_clock_ms\": %.5f, \"queued_frame_ms\": %.5f, "
                "\"lost\": %.1f, \"inside_before\": %u, \"deep_before\": %u, \"inside\": %u, "
                "\"deep\": %u, \"of\": %u}\n",
                s->condition, s->body_name, s->cloth_name, s->triangles, s->particles, mean.frames,
                c->r ? rival_name((rival_kind)kind) : "skin",
                data->device ? get_device_info(data->device).name : "CPU",
                (unsigned long long)(c->r ? rival_bytes(c->r) : 0), mean.update, mean.collide,
                mean.update_least, mean.collide_least, c->step_ms, c->clock_ms[0], c->clock_ms[1],
                c->frame_ms, lost, inside.some_before, inside.deep_before, inside.some, inside.deep,
                inside.of);
    }
    return ABUT_OK;
}

static void rivals_teardown(bench_state *state) {
    rivals_data *data = state->data;
    const char *path = getenv("ABUT_BENCH_RIVALS");
    FILE *file =
        path && path[0] && data->count && data->states[0].times && data->states[0].times[0].runs
            ? fopen(path, "a")
            : NULL;
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
        .setup = rivals_setup, .run = rivals_run, .teardown = rivals_teardown,          \
        .variant = variant_, .threaded = threaded_                                      \
    }

const bench_case bench_rival_cases[] = {
    RIVAL("skin", SKIN, true),
    RIVAL("band", RIVAL_BAND, true),
    RIVAL("field", RIVAL_FIELD, true),
    RIVAL("hash", RIVAL_HASH, true),
    RIVAL("fitted-hash", RIVAL_FITTED_HASH, true),
    RIVAL("tree", RIVAL_TREE, true),
    RIVAL("nearest", RIVAL_NEAREST, true),
    RIVAL("sweep", RIVAL_SWEEP, true),
    RIVAL("radial", RIVAL_RADIAL, true),
    RIVAL("device-band", ON_DEVICE + RIVAL_BAND, false),
    RIVAL("device-field", ON_DEVICE + RIVAL_FIELD, false),
    RIVAL("device-hash", ON_DEVICE + RIVAL_HASH, false),
    RIVAL("device-fitted-hash", ON_DEVICE + RIVAL_FITTED_HASH, false),
    RIVAL("device-tree", ON_DEVICE + RIVAL_TREE, false),
    RIVAL("device-nearest", ON_DEVICE + RIVAL_NEAREST, false),
    RIVAL("device-sweep", ON_DEVICE + RIVAL_SWEEP, false),
    RIVAL("device-radial", ON_DEVICE + RIVAL_RADIAL, false),
    {.name = NULL},
};
