/* The loop of a game engine with a character in a garment, without an engine: steps of fixed
 * length, frames of another length, and a renderer that gets vertex arrays.
 *
 * Usage: abut-character CHARACTER [--clip NAME] [--garment KIND] [--particles N] [--attached N]
 *                       [--frames N] [--display HZ] [--steps HZ] [--threads N] [--real-time]
 *                       [--record FILE.abutm]
 * CHARACTER is a file of glTF, or the name of a built-in character, such as mannequin-female. It
 * prints the time of each part of a step, and the frames that take longer than the display allows.
 * By default each frame is 1 / HZ later than the last one, however long it takes; with --real-time
 * the clock decides. Exit codes: 0 success, 2 an error. */
#include "actor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An engine that cannot keep up drops time, instead of making ever more steps. */
enum { STEPS_PER_FRAME_MAX = 4 };

typedef struct settings {
    actor_options actor;
    uint32_t frames, display, steps;
    bool is_real_time;
    const char *record;
} settings;

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- arguments ---- */

static bool parse_count(const char *text, uint32_t *count) {
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    *count = (uint32_t)value;
    return end != text && !*end && value >= 1 && value <= 1000000;
}

static bool parse(int argc, char **argv, settings *s) {
    const struct {
        const char *name, **text;
        uint32_t *count;
    } options[] = {
        {"--clip", &s->actor.clip, NULL},
        {"--garment", &s->actor.garment, NULL},
        {"--particles", NULL, &s->actor.particles},
        {"--attached", NULL, &s->actor.attached},
        {"--frames", NULL, &s->frames},
        {"--display", NULL, &s->display},
        {"--steps", NULL, &s->steps},
        {"--threads", NULL, &s->actor.threads},
        {"--record", &s->record, NULL},
    };
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        if (!strcmp(argv[i], "--real-time")) {
            s->is_real_time = true;
            continue;
        }
        if (argv[i][0] != '-' && !s->actor.character) {
            s->actor.character = argv[i];
            continue;
        }
        while (k < sizeof options / sizeof *options && strcmp(argv[i], options[k].name) != 0)
            k++;
        if (k == sizeof options / sizeof *options) {
            fprintf(stderr,
                    "abut-character: '%s' is not an option; there are --real-time and, with a "
                    "value,",
                    argv[i]);
            for (k = 0; k < sizeof options / sizeof *options; k++)
                fprintf(stderr, " %s", options[k].name);
            fprintf(stderr, "\n");
            return false;
        }
        if (i + 1 == argc || (options[k].count && !parse_count(argv[i + 1], options[k].count))) {
            fprintf(stderr, "abut-character: %s needs a value%s\n", argv[i],
                    options[k].count ? " from 1 to 1000000" : "");
            return false;
        }
        i++;
        if (options[k].text)
            *options[k].text = argv[i];
    }
    if (!s->actor.character)
        fprintf(stderr, "abut-character: name a file of glTF, or mannequin-female\n");
    return s->actor.character != NULL;
}

/* ---- renderer ---- */

/* Gets the vertices of each frame. An engine copies them to a vertex buffer; this one records them
 * if there is a file. */
typedef abut_status render_frame(void *user, const float *const vertices[ACTOR_PARTS],
                                 const uint32_t counts[ACTOR_PARTS]);

typedef struct recorder {
    abut_frames_writer *writer; /* null = nothing is recorded */
    abut_vec3 *positions;
    double checksum;
} recorder;

static abut_status record(void *user, const float *const vertices[ACTOR_PARTS],
                          const uint32_t counts[ACTOR_PARTS]) {
    recorder *r = user;
    size_t used = 0;
    for (int part = 0; part < ACTOR_PARTS; part++)
        for (uint32_t i = 0; i < counts[part]; i++) {
            const float *p = vertices[part] + 3 * (size_t)i;
            r->checksum += (double)p[0] + (double)p[1] + (double)p[2];
            if (r->positions)
                r->positions[used++] = (abut_vec3){(double)p[0], (double)p[1], (double)p[2]};
        }
    return r->writer ? abut_frames_writer_add(r->writer, r->positions, NULL) : ABUT_OK;
}

static abut_status begin_recording(recorder *r, const actor *a, const settings *s) {
    abut_mesh *const meshes[ACTOR_PARTS] = {actor_mesh(a, (actor_part)0),
                                            actor_mesh(a, (actor_part)1)};
    abut_frames_options options = abut_frames_options_default();
    if (!s->record)
        return ABUT_OK;
    options.type = ABUT_SCALAR_FLOAT32;
    options.seconds = 1.0 / s->display;
    options.names = (const char *const[]){"garment", "body"};
    options.up = abut_mesh_up(meshes[ACTOR_BODY]);
    r->positions =
        calloc((size_t)abut_mesh_vertex_count(meshes[0]) + abut_mesh_vertex_count(meshes[1]),
               sizeof *r->positions);
    if (!r->positions)
        return abut_set_error(ABUT_ERROR_MEMORY, "no memory for a recording");
    return abut_frames_writer_create(meshes, ACTOR_PARTS, s->record, &options, &r->writer);
}

/* ---- loop ---- */

typedef struct loop_report {
    uint32_t frames, steps, late_frames;
    double dropped_seconds, depth;
    double skin_ms, fields_ms, cloth_ms, step_max_ms; /* sums; the slowest step */
    double processor_ms;                              /* of all threads, for all frames */
    double *frame_ms;
} loop_report;

static void add_step(loop_report *to, const actor_report *step) {
    const double all = step->skin_ms + step->fields_ms + step->cloth_ms;
    to->steps++;
    to->skin_ms += step->skin_ms;
    to->fields_ms += step->fields_ms;
    to->cloth_ms += step->cloth_ms;
    to->step_max_ms = all > to->step_max_ms ? all : to->step_max_ms;
    to->depth = step->depth > to->depth ? step->depth : to->depth;
}

/* One frame of the engine, `elapsed` seconds after the last one. `pending` is time that no step has
 * covered yet. */
static abut_status run_frame(actor *a, double elapsed, double *pending, render_frame *render,
                             void *user, loop_report *report) {
    const double step = actor_step_seconds(a);
    *pending += elapsed;
    for (int k = 0; k < STEPS_PER_FRAME_MAX && *pending >= step; k++) {
        actor_report made;
        abut_status status = actor_step(a, &made);
        if (status)
            return status;
        add_step(report, &made);
        *pending -= step;
    }
    while (*pending >= step) {
        *pending -= step;
        report->dropped_seconds += step;
    }
    actor_interpolate(a, *pending / step);
    const float *vertices[ACTOR_PARTS];
    uint32_t counts[ACTOR_PARTS];
    for (int part = 0; part < ACTOR_PARTS; part++)
        vertices[part] = actor_vertices(a, (actor_part)part, &counts[part]);
    return render(user, vertices, counts);
}

static abut_status run_loop(actor *a, const settings *s, render_frame *render, void *user,
                            loop_report *report) {
    const clock_t processor = clock();
    double pending = 0, last = now_ms();
    abut_status status = ABUT_OK;
    for (uint32_t frame = 0; frame < s->frames && !status; frame++) {
        while (s->is_real_time && now_ms() < last + 1e3 / s->display)
            continue; /* an engine waits for the display here */
        const double begun = now_ms();
        const double elapsed = s->is_real_time ? 1e-3 * (begun - last) : 1.0 / s->display;
        last = begun;
        status = run_frame(a, elapsed, &pending, render, user, report);
        report->frame_ms[report->frames] = now_ms() - begun;
        report->late_frames += report->frame_ms[report->frames++] > 1e3 / s->display;
    }
    report->processor_ms = 1e3 * (double)(clock() - processor) / CLOCKS_PER_SEC;
    return status;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_report(const actor *a, const settings *s, loop_report *r, double checksum) {
    const uint32_t n = r->frames, steps = r->steps ? r->steps : 1;
    double sum = 0;
    uint32_t body, garment;
    actor_vertices(a, ACTOR_BODY, &body);
    actor_vertices(a, ACTOR_GARMENT, &garment);
    qsort(r->frame_ms, n, sizeof *r->frame_ms, by_size);
    for (uint32_t i = 0; i < n; i++)
        sum += r->frame_ms[i];
    printf("character  %u vertices, %u radial fields, garment of %u particles\n", body,
           actor_field_count(a), garment);
    printf("step       %.2f ms: skinning %.2f, fields %.2f, cloth %.2f; slowest %.2f\n",
           (r->skin_ms + r->fields_ms + r->cloth_ms) / steps, r->skin_ms / steps,
           r->fields_ms / steps, r->cloth_ms / steps, r->step_max_ms);
    printf("frame      %.2f ms, p99 %.2f, max %.2f; budget %.2f; processor time %.2f\n", sum / n,
           r->frame_ms[(n - 1) * 99 / 100], r->frame_ms[n - 1], 1e3 / s->display,
           r->processor_ms / n);
    printf("frames     %u with %u steps, %u over the budget, %.2f s dropped\n", n, r->steps,
           r->late_frames, r->dropped_seconds);
    printf("depth      %.4f m at most in the fields\n", r->depth);
    printf("checksum   %.9g\n", checksum);
}

int main(int argc, char **argv) {
    settings s = {.frames = 600, .display = 60};
    if (!parse(argc, argv, &s))
        return 2;
    s.actor.step_seconds = s.steps ? 1.0 / s.steps : 0;
    loop_report report = {.frame_ms = calloc(s.frames, sizeof *report.frame_ms)};
    recorder to = {0};
    actor *a = NULL;
    abut_status status = report.frame_ms ? actor_create(&s.actor, &a)
                                         : abut_set_error(ABUT_ERROR_MEMORY, "no memory for times");
    if (!status)
        status = begin_recording(&to, a, &s);
    if (!status)
        status = run_loop(a, &s, record, &to, &report);
    if (!status && to.writer)
        status = abut_frames_writer_finish(to.writer);
    else
        abut_frames_writer_discard(to.writer);
    if (status)
        fprintf(stderr, "abut-character: %s\n", abut_last_error());
    else
        print_report(a, &s, &report, to.checksum);
    actor_destroy(a);
    free(to.positions);
    free(report.frame_ms);
    return status ? 2 : 0;
}
