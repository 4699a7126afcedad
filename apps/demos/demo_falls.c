/* abut demo stairs, snow, bounce: bodies react to the overlaps that images show; every frame is
 * compared with exact tests. */
#include "interfere.h"

#include "cinder.h"
#include "falls.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"stairs", "snow", "bounce"}; /* by falls_kind */

/* Methods that find the pairs of a frame. */
enum { PLAIN, EXACT, CLASSIC, CLASSIC_PREVENTS, CLASSIC_VIEWS, CLASSIC_SMALL, WAYS };

typedef struct showing {
    tool_run *tool;
    falls *scene;
    uint32_t frames;
    bool compare;
    tool_film film;
    abut_mesh *large; /* the flake at the position where it sticks */
    falls_score scores[WAYS];
    double seconds[WAYS], checked; /* reference: by abut_pair_overlap() */
    uint64_t overlaps;
    double pixel; /* the largest of all frames */
} showing;

/* ---- one frame ---- */

static void score_layers(showing *s, int way) {
    falls *f = s->scene;
    double begun = seconds_now();
    f->query.is_exact = way == EXACT;
    ensure(falls_find(f));
    s->seconds[way] += seconds_now() - begun;
    abut_world_pair *list = tool_array((size_t)f->pair_count, sizeof *list);
    falls_names(f, list);
    falls_compare(f, list, f->pair_count, &s->scores[way]);
    tool_free(list);
}

static int by_pair(const void *x, const void *y) {
    const abut_world_pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b != q->b ? (p->b < q->b ? -1 : 1) : 0;
}

/* One oblique view, or those along the three axes. Pairs that the scene excludes are found too, and
 * ignored. */
static void score_classic(showing *s, int way) {
    static const abut_vec3 views[] = {{-0.5, 1, -0.4}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int first = way == CLASSIC_VIEWS ? 1 : 0, last = way == CLASSIC_VIEWS ? 3 : 0;
    falls *f = s->scene;
    cinder_options options = {.resolution = f->options.resolution,
                              .halvings = way == CLASSIC_SMALL ? 4 : 0,
                              .prevent = way == CLASSIC_PREVENTS || way == CLASSIC_VIEWS};
    abut_world_pair *all = NULL;
    size_t count = 0, room = 0, kept = 0;
    for (int view = first; view <= last; view++) {
        abut_world_pair *list = NULL;
        uint64_t found = 0;
        const double begun = seconds_now();
        ensure(cinder_find(s->tool->context, f->solids, f->count, views[view], &options, &list,
                           &found));
        s->seconds[way] += seconds_now() - begun;
        for (uint64_t i = 0; i < found; i++)
            if (falls_tries(f, list[i].a, list[i].b)) {
                tool_grow(&all, count, &room, sizeof *all);
                all[count++] = list[i];
            }
        abut_context_free(s->tool->context, list);
    }
    if (count)
        qsort(all, count, sizeof *all, by_pair);
    for (size_t i = 0; i < count; i++)
        if (!kept || by_pair(&all[kept - 1], &all[i]) != 0)
            all[kept++] = all[i];
    falls_compare(f, all, kept, &s->scores[way]);
    tool_free(all);
}

static void score_frame(showing *s) {
    double begun = seconds_now(), pixel = falls_pixel(s->scene);
    ensure(falls_check(s->scene));
    s->checked += seconds_now() - begun;
    s->overlaps += s->scene->exact_count;
    s->pixel = pixel > s->pixel ? pixel : s->pixel;
    for (int way = CLASSIC; way < WAYS && s->compare; way++)
        score_classic(s, way);
    score_layers(s, EXACT);
    score_layers(s, PLAIN); /* the last method moves the bodies */
}

/* ---- pictures ---- */

static void draw_stuck(const showing *s, abut_picture *picture) {
    const falls *f = s->scene;
    abut_mesh_style style = abut_mesh_style_default();
    style.colour = (abut_colour){0.97f, 0.98f, 1, 1};
    for (size_t i = 0; i < f->stuck_count; i++) {
        abut_pose pose;
        ensure(abut_pose_compose(&f->solids[f->stuck[i].on].pose, &f->stuck[i].pose, &pose));
        ensure(abut_picture_add_mesh(picture, s->large, pose, &style));
    }
}

static void draw_bodies_of_frame(const showing *s, abut_picture **picture) {
    const falls *f = s->scene;
    bool stairs = f->options.kind == FALLS_STAIRS;
    abut_picture_options camera = abut_picture_options_default();
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.eye_direction = stairs ? (abut_vec3){0.25, -1, 0.45} : (abut_vec3){0.4, -1, 0.4};
    ensure(abut_picture_create(s->tool->context, &camera, picture));
    picture_include(*picture, falls_region(f));
    for (uint32_t i = 0; i < f->count; i++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.smooth = i >= f->fixed || (!stairs && i == 0);
        style.colour = i >= f->fixed       ? (abut_colour){0.30f, 0.55f, 0.80f, 1}
                       : i == 0 && !stairs ? (abut_colour){0.80f, 0.62f, 0.42f, 1}
                                           : (abut_colour){0.82f, 0.82f, 0.80f, 1};
        if (f->hit[i])
            style.colour = (abut_colour){0.80f, 0.15f, 0.45f, 1};
        else if (f->options.kind == FALLS_SNOW && i >= f->fixed)
            style.colour = (abut_colour){0.75f, 0.85f, 0.95f, 1};
        ensure(abut_picture_add_mesh(*picture, f->meshes[f->which[i]], f->solids[i].pose, &style));
    }
    for (uint64_t i = 0; i < f->pair_count && stairs; i++) /* as in the paper */
        ensure(abut_picture_add_point(*picture, f->pairs[i].centre, 5,
                                      (abut_colour){0.55f, 0.1f, 0.75f, 1}));
    draw_stuck(s, *picture);
}

static void render_frame(showing *s, uint32_t frame) {
    bool due = s->film.pixels &&
               (uint64_t)(frame + 1) * FILM_FRAMES >= (uint64_t)(s->film.taken + 1) * s->frames;
    if (!due && !film_needs_all(&s->film))
        return;
    abut_picture *picture = NULL;
    draw_bodies_of_frame(s, &picture);
    film_page(&s->film, picture);
    while (due && s->film.taken < FILM_FRAMES &&
           (uint64_t)(frame + 1) * FILM_FRAMES >= (uint64_t)(s->film.taken + 1) * s->frames)
        film_add_frame(&s->film, picture);
    abut_picture_destroy(picture);
}

/* ---- live pages ---- */

enum { LIVE_STUCK_MAX = 4000 }; /* further flakes remove the oldest */

/* The user turns and moves the model. Returns false if the user ends the demo. */
static bool respond_to_user(showing *s) {
    size_t count;
    const abut_live_event *events = live_events(s->tool, &count);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == ABUT_LIVE_EVENT_STOP)
            return false;
        if (events[i].kind == ABUT_LIVE_EVENT_RESET)
            falls_forget_stuck(s->scene, 0);
        if (events[i].kind == ABUT_LIVE_EVENT_POSE && events[i].body == 0)
            ensure(falls_hold(s->scene, events[i].pose));
    }
    return true;
}

static bool show_live_frame(showing *s) {
    const falls *f = s->scene;
    const bool is_stairs = f->options.kind == FALLS_STAIRS;
    abut_picture *picture = NULL;
    tool_text text = {0};
    bool *movable = tool_array(f->count + f->stuck_count, sizeof *movable);
    movable[0] = !is_stairs; /* others are fixed or fall */
    if (f->options.kind == FALLS_SNOW)
        text_print(&text, "%zu flakes stick", f->stuck_count);
    else
        text_print(&text, "%llu pairs overlap", (unsigned long long)f->pair_count);
    draw_bodies_of_frame(s, &picture);
    const bool runs = live_show_frame(s->tool, picture,
                                      &(live_caption){.legend = &s->film.legend,
                                                      .movable = movable,
                                                      .text = text_of(&text),
                                                      .point_name = "overlaps of pairs"},
                                      1.0 / 60);
    abut_picture_destroy(picture);
    text_free(&text);
    tool_free(movable);
    return runs;
}

/* Shows frames without comparisons until the last one, or until the user ends the demo. */
static void run_live(showing *s, const tool_arguments *arguments) {
    const bool is_endless = !option_given(arguments, "frames");
    const uint32_t frames = s->frames;
    live_open(s->tool, arguments,
              ABUT_LIVE_CONTROL_PAUSE | ABUT_LIVE_CONTROL_RESET | ABUT_LIVE_CONTROL_STOP);
    s->frames = 0;
    while (is_endless || s->frames < frames) {
        const bool runs = show_live_frame(s);
        if (!respond_to_user(s))
            break;
        if (!runs)
            continue;
        ensure(falls_find(s->scene));
        ensure(falls_step(s->scene));
        falls_forget_stuck(s->scene, LIVE_STUCK_MAX);
        s->frames++;
    }
    live_close(s->tool);
}

static void print_live_demo(const showing *s) {
    tool_output *out = &s->tool->out;
    out_object(out, NULL);
    fact_count(out, "frames", s->frames);
    if (s->scene->options.kind == FALLS_SNOW)
        fact_count(out, "stuck", s->scene->stuck_count);
    out_end(out);
    answer(s->tool, "%u", s->frames);
}

/* ---- output ---- */

static void print_ways(showing *s) {
    static const char *const ways[] = {
        "images",          "images, then exact",           "one pair per pixel",
        "with prevention", "with prevention, three views", "one pair per pixel, 1/16 as wide"};
    tool_output *out = &s->tool->out;
    out_table(out, "ways");
    for (int way = 0; way < (s->compare ? WAYS : CLASSIC); way++) {
        const falls_score *score = &s->scores[way];
        out_object(out, NULL);
        fact_text(out, "way", ways[way]);
        fact_count(out, "found", score->found);
        fact_count(out, "missed", score->missed);
        fact_count(out, "false", score->false_pairs);
        json_number(out, "ms_a_frame", 1e3 * s->seconds[way] / s->frames);
        print_fact(out, "ms per frame", "%.2f", 1e3 * s->seconds[way] / s->frames);
        out_end(out);
    }
    out_end(out);
}

static void print_falls_demo(showing *s, const tool_arguments *arguments) {
    const falls *f = s->scene;
    tool_output *out = &s->tool->out;
    out_object(out, NULL);
    json_text(out, "scene", names[f->options.kind]);
    json_count(out, "bodies", f->count - f->fixed);
    json_count(out, "frames", s->frames);
    json_number(out, "overlaps_a_frame", (double)s->overlaps / s->frames);
    json_number(out, "exact_ms_a_frame", 1e3 * s->checked / s->frames);
    json_number(out, "pixel", s->pixel);
    print_fact(out, "overlaps",
               "%.1f per frame, by exact tests of all pairs with overlapping bounding boxes",
               (double)s->overlaps / s->frames);
    if (f->options.kind == FALLS_STAIRS) {
        const double missed = s->scores[PLAIN].missed_ball / s->pixel;
        json_number(out, "missed_ball_pixels", missed);
        print_fact(out, "missed", "no overlap that contains a ball of more than %.2f pixels",
                   missed);
    }
    if (f->options.kind == FALLS_SNOW) {
        json_count(out, "stuck", f->stuck_count);
        print_fact(out, "stuck", "%zu flakes", f->stuck_count);
    }
    pictures_print_paths(s->tool, arguments);
    print_ways(s);
    out_end(out);
    answer(s->tool, "%llu", (unsigned long long)s->scores[PLAIN].missed);
}

int demo_falls(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *bodies = option_given(arguments, "bodies"),
                     *frames = option_given(arguments, "frames"),
                     *seed = option_given(arguments, "seed"),
                     *resolution = option_given(arguments, "resolution"),
                     *model = option_given(arguments, "model"),
                     *live = option_given(arguments, "live");
    showing s = {.tool = tool, .frames = frames ? frames->counts[0] : 240};
    falls_options options = {.count = bodies ? bodies->counts[0] : 0,
                             .resolution = resolution ? resolution->counts[0] : 1024,
                             .seed = seed ? seed->counts[0] : 1};
    while (strcmp(names[options.kind], arguments->operands[0]) != 0)
        options.kind++;
    s.compare = option_given(arguments, "compare") != NULL;
    if (live && (png || s.compare))
        tool_refuse(tool, "--live cannot be combined with --png, --html or --compare");
    option_range(tool, bodies, 1, 60000, "bodies");
    option_range(tool, resolution, 8, 16384, "pixels");
    options.device = device_open(tool, arguments);
    legend_add(&s.film.legend, (abut_colour){0.30f, 0.55f, 0.80f, 1}, "balls");
    legend_add(&s.film.legend, (abut_colour){0.80f, 0.15f, 0.45f, 1}, "bodies that touch");
    legend_add(&s.film.legend, (abut_colour){0.75f, 0.85f, 0.95f, 1}, "flakes");
    legend_add(&s.film.legend, (abut_colour){0.97f, 0.98f, 1, 1}, "flakes that stick");
    legend_add(&s.film.legend, (abut_colour){0.80f, 0.62f, 0.42f, 1}, "obstacle");
    legend_add(&s.film.legend, (abut_colour){0.82f, 0.82f, 0.80f, 1}, "obstacle");
    legend_add(&s.film.legend, (abut_colour){0.55f, 0.1f, 0.75f, 1}, "overlaps of pairs");
    if (!live)
        film_open(tool, arguments, &s.film, 1.0 / 60);
    progress_start(tool->progress, names[options.kind]);
    if (model)
        options.model = mesh_read(tool, model->words);
    abut_status status = falls_create(tool->context, &options, &s.scene);
    if (model && status == ABUT_ERROR_ARGUMENT)
        layers_refuse(tool, status, model->words, "");
    ensure(status);
    ensure(abut_mesh_transform(s.scene->meshes[0], 2, (abut_pose){0}, &s.large));
    for (uint32_t i = 0; i < s.frames && !live; i++) {
        progress_frame(tool, i + 1, s.frames);
        score_frame(&s);
        ensure(falls_step(s.scene));
        render_frame(&s, i);
    }
    if (live)
        run_live(&s, arguments);
    if (png)
        film_write(tool, &s.film, png->words);
    progress_erase(tool->progress);
    if (live)
        print_live_demo(&s);
    else
        print_falls_demo(&s, arguments);
    abut_mesh_destroy(s.large);
    falls_destroy(s.scene);
    abut_mesh_destroy(options.model);
    abut_device_destroy(options.device);
    /* exact results differ, or an overlap of two pixels was missed */
    return s.scores[EXACT].missed || s.scores[EXACT].false_pairs ||
                   s.scores[PLAIN].missed_ball > 2 * s.pixel
               ? CODE_FOUND
               : CODE_FINE;
}
