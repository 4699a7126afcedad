/* abut demo stairs, snow, bounce: bodies react to the overlaps that images show; every frame is
 * compared with exact tests. */
#include "interfere.h"

#include "cinder.h"
#include "falls.h"
#include "view.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {"stairs", "snow", "bounce"}; /* by falls_kind */

/* Methods that find the pairs of a frame; those from CLASSIC on are CInDeR as published. */
enum {
    PLAIN,
    EXACT,
    CLASSIC,
    CLASSIC_PREVENTS,
    CLASSIC_VIEWS,
    CLASSIC_SMALL,
    CLASSIC_STEERED,
    CLASSIC_PACKED,
    CLASSIC_OFFSET,
    WAYS
};

static const struct {
    const char *name;
    bool three_views;
    cinder_options options;
} ways[WAYS] = {
    [PLAIN] = {.name = "images"},
    [EXACT] = {.name = "images, then exact"},
    [CLASSIC] = {.name = "one pair per pixel"},
    [CLASSIC_PREVENTS] = {.name = "with prevention", .options.prevent = true},
    [CLASSIC_VIEWS] = {.name = "with prevention, three views",
                       .three_views = true,
                       .options.prevent = true},
    [CLASSIC_SMALL] = {.name = "one pair per pixel, 1/16 as wide", .options.halvings = 4},
    [CLASSIC_STEERED] = {.name = "halved as long as no pair is lost",
                         .options.reduction = CINDER_STEER},
    [CLASSIC_PACKED] = {.name = "pixels with a pair packed", .options.reduction = CINDER_PACK},
    [CLASSIC_OFFSET] = {.name = "edges offset by a pixel", .options.offset = 1},
};

/* What two consecutive frames of a method show, and what sweeps find, of the pairs that touch at
 * one of some instants from one frame to the next. */
enum { BETWEEN_PLAIN, BETWEEN_CLASSIC, BETWEEN_SWEEPS, BETWEENS };

typedef struct pair_list {
    abut_world_pair *list;
    size_t count, room;
} pair_list;

typedef struct between_score {
    uint64_t found, missed, more; /* more: sweeps also find touches between the instants */
    double seconds;
} between_score;

typedef struct showing {
    tool_run *tool;
    falls *scene;
    uint32_t frames;
    bool compare, between;
    tool_film film;
    abut_mesh *large; /* the flake at the position where it sticks */
    falls_score scores[WAYS];
    double seconds[WAYS], processor[WAYS];
    double checked, checked_processor; /* reference: by abut_pair_overlap() */
    uint64_t overlaps, read_pixels[WAYS], self_pixels[WAYS];
    double pixel;                         /* the largest of all frames */
    pair_list seen[BETWEEN_SWEEPS];       /* in the last frame, then in the last two */
    size_t earlier_count[BETWEEN_SWEEPS]; /* those of the frame before, which are first in it */
    between_score betweens[BETWEENS];
} showing;

/* ---- one frame ---- */

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void add_pair(pair_list *to, abut_world_pair pair) {
    tool_grow(&to->list, to->count, &to->room, sizeof *to->list);
    to->list[to->count++] = pair;
}

/* Keeps the pairs of this frame behind those of the last one. */
static void keep_seen(showing *s, int which, const abut_world_pair *list, uint64_t count) {
    pair_list *seen = &s->seen[which];
    const size_t earlier = s->earlier_count[which], last = seen->count - earlier;
    if (!s->between)
        return;
    if (last)
        memmove(seen->list, seen->list + earlier, last * sizeof *seen->list);
    seen->count = s->earlier_count[which] = last;
    for (uint64_t i = 0; i < count; i++)
        add_pair(seen, list[i]);
}

static void score_layers(showing *s, int way) {
    falls *f = s->scene;
    double begun = seconds_now(), used = processor_seconds();
    f->query.is_exact = way == EXACT;
    ensure(falls_find(f));
    s->seconds[way] += seconds_now() - begun;
    s->processor[way] += processor_seconds() - used;
    abut_world_pair *list = tool_array((size_t)f->pair_count, sizeof *list);
    falls_names(f, list);
    falls_compare(f, list, f->pair_count, &s->scores[way]);
    if (way == PLAIN)
        keep_seen(s, BETWEEN_PLAIN, list, f->pair_count);
    tool_free(list);
}

/* Adds the pairs of one view. Pairs that the scene excludes are found too, and ignored. */
static void find_classic(showing *s, int way, abut_vec3 view, pair_list *all) {
    falls *f = s->scene;
    cinder_options options = ways[way].options;
    cinder_report report = {0};
    abut_world_pair *list = NULL;
    uint64_t found = 0;
    options.resolution = f->options.resolution;
    const double begun = seconds_now(), used = processor_seconds();
    ensure(
        cinder_find(s->tool->context, f->solids, f->count, view, &options, &list, &found, &report));
    s->seconds[way] += seconds_now() - begun;
    s->processor[way] += processor_seconds() - used;
    s->read_pixels[way] += report.read_pixels;
    s->self_pixels[way] += report.self_pixels;
    for (uint64_t i = 0; i < found; i++)
        if (falls_tries(f, list[i].a, list[i].b))
            add_pair(all, list[i]);
    abut_context_free(s->tool->context, list);
    abut_context_free(s->tool->context, report.image);
}

/* One oblique view, or those along the three axes. */
static void score_classic(showing *s, int way) {
    static const abut_vec3 views[] = {{-0.5, 1, -0.4}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int first = ways[way].three_views ? 1 : 0, last = ways[way].three_views ? 3 : 0;
    pair_list all = {0};
    for (int view = first; view <= last; view++)
        find_classic(s, way, views[view], &all);
    all.count = (size_t)falls_sort_pairs(all.list, all.count);
    falls_compare(s->scene, all.list, all.count, &s->scores[way]);
    if (way == CLASSIC)
        keep_seen(s, BETWEEN_CLASSIC, all.list, all.count);
    tool_free(all.list);
}

/* ---- between two frames ---- */

/* Counts the sampled pairs that are in a sorted list, and the pairs of it that are not sampled. */
static void score_between(const falls *f, const abut_world_pair *list, uint64_t count,
                          between_score *score) {
    uint64_t i = 0, found = 0;
    for (uint64_t k = 0; k < f->sampled_count; k++) {
        const abut_world_pair p = f->sampled[k];
        while (i < count && (list[i].a < p.a || (list[i].a == p.a && list[i].b < p.b)))
            i++;
        found += i < count && list[i].a == p.a && list[i].b == p.b;
    }
    score->found += found;
    score->missed += f->sampled_count - found;
    score->more += count - found;
}

static void score_sweeps(showing *s) {
    falls *f = s->scene;
    between_score *score = &s->betweens[BETWEEN_SWEEPS];
    const double used = processor_seconds();
    ensure(falls_sweep(f));
    score->seconds += processor_seconds() - used;
    abut_world_pair *list = tool_array((size_t)f->swept_count, sizeof *list);
    for (uint64_t i = 0; i < f->swept_count; i++)
        list[i] = (abut_world_pair){f->swept[i].a, f->swept[i].b};
    score_between(f, list, f->swept_count, score);
    tool_free(list);
}

/* The step from the last frame to this one, whose pairs are known. */
static void score_step(showing *s) {
    falls *f = s->scene;
    ensure(falls_sample(f));
    for (int k = 0; k < (s->compare ? BETWEEN_SWEEPS : BETWEEN_CLASSIC); k++) {
        const size_t count = s->seen[k].count;
        abut_world_pair *list = tool_array(count, sizeof *list);
        if (count)
            memcpy(list, s->seen[k].list, count * sizeof *list);
        score_between(f, list, falls_sort_pairs(list, count), &s->betweens[k]);
        tool_free(list);
    }
    score_sweeps(s);
}

static void score_frame(showing *s) {
    double begun = seconds_now(), used = processor_seconds(), pixel = falls_pixel(s->scene);
    ensure(falls_check(s->scene));
    s->checked += seconds_now() - begun;
    s->checked_processor += processor_seconds() - used;
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

/* Colour of a unit normal: red, green and blue are x, y and z, from -1 to 1. */
static abut_colour normal_colour(abut_vec3 n) {
    return (abut_colour){(float)(0.5 + 0.5 * n.x), (float)(0.5 + 0.5 * n.y),
                         (float)(0.5 + 0.5 * n.z), 1};
}

static bool is_direction(abut_vec3 n) {
    return n.x != 0 || n.y != 0 || n.z != 0;
}

/* As in figure 17 of the document: triangles by their normals. The caller releases the list. */
static abut_colour *colours_by_normals(const abut_mesh *mesh, const abut_pose *pose) {
    const uint32_t *indices = abut_mesh_indices(mesh), count = abut_mesh_triangle_count(mesh);
    abut_colour *colours = tool_array(count, sizeof *colours);
    for (uint32_t t = 0; t < count; t++) {
        abut_vec3 p[3];
        for (size_t k = 0; k < 3; k++)
            ensure(abut_pose_apply(pose,
                                   abut_mesh_local_positions(mesh)[indices[3 * (size_t)t + k]],
                                   &p[k]));
        const abut_vec3 u = {p[1].x - p[0].x, p[1].y - p[0].y, p[1].z - p[0].z},
                        v = {p[2].x - p[0].x, p[2].y - p[0].y, p[2].z - p[0].z};
        const abut_vec3 n = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
        const double length = sqrt(n.x * n.x + n.y * n.y + n.z * n.z),
                     by = length > 0 ? 1 / length : 0;
        colours[t] = normal_colour((abut_vec3){by * n.x, by * n.y, by * n.z});
    }
    return colours;
}

static void draw_bodies_of_frame(const showing *s, abut_picture **picture) {
    const falls *f = s->scene;
    bool stairs = f->options.kind == FALLS_STAIRS, bounce = f->options.kind == FALLS_BOUNCE;
    abut_picture_options camera = abut_picture_options_default();
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.eye_direction = stairs ? (abut_vec3){0.25, -1, 0.45} : (abut_vec3){0.4, -1, 0.4};
    ensure(abut_picture_create(s->tool->context, &camera, picture));
    picture_include(*picture, falls_region(f));
    for (uint32_t i = 0; i < f->count; i++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.smooth = i >= f->fixed || (!stairs && i == 0);
        style.colour = i >= f->fixed && bounce ? (abut_colour){0.95f, 0.95f, 0.93f, 1}
                       : i >= f->fixed         ? (abut_colour){0.30f, 0.55f, 0.80f, 1}
                       : i == 0 && !stairs     ? (abut_colour){0.80f, 0.62f, 0.42f, 1}
                                               : (abut_colour){0.82f, 0.82f, 0.80f, 1};
        abut_colour *colours = NULL;
        if (bounce && i == 0)
            style.triangle_colour = colours =
                colours_by_normals(f->meshes[f->which[i]], &f->solids[i].pose);
        if (bounce && i >= f->fixed && is_direction(f->normals[i]))
            style.colour = normal_colour(f->normals[i]);
        else if (f->hit[i] && !bounce)
            style.colour = (abut_colour){0.80f, 0.15f, 0.45f, 1};
        else if (f->options.kind == FALLS_SNOW && i >= f->fixed)
            style.colour = (abut_colour){0.75f, 0.85f, 0.95f, 1};
        ensure(abut_picture_add_mesh(*picture, f->meshes[f->which[i]], f->solids[i].pose, &style));
        tool_free(colours);
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
    tool_output *out = &s->tool->out;
    out_table(out, "ways");
    for (int way = 0; way < (s->compare ? WAYS : CLASSIC); way++) {
        const falls_score *score = &s->scores[way];
        out_object(out, NULL);
        fact_text(out, "way", ways[way].name);
        fact_count(out, "found", score->found);
        fact_count(out, "missed", score->missed);
        fact_count(out, "false", score->false_pairs);
        json_number(out, "ms_a_frame", 1e3 * s->seconds[way] / s->frames);
        json_number(out, "processor_ms_a_frame", 1e3 * s->processor[way] / s->frames);
        if (way >= CLASSIC) {
            json_number(out, "pixels_read_a_frame", (double)s->read_pixels[way] / s->frames);
            json_number(out, "self_pixels_a_frame", (double)s->self_pixels[way] / s->frames);
        }
        print_fact(out, "ms per frame", "%.2f", 1e3 * s->seconds[way] / s->frames);
        out_end(out);
    }
    out_end(out);
}

static void print_betweens(showing *s) {
    static const char *const finders[BETWEENS] = {"images of both frames",
                                                  "one pair per pixel, both frames", "sweeps"};
    tool_output *out = &s->tool->out;
    out_table(out, "between");
    for (int k = 0; k < BETWEENS; k++) {
        const between_score *score = &s->betweens[k];
        if (k == BETWEEN_CLASSIC && !s->compare)
            continue;
        out_object(out, NULL);
        fact_text(out, "between frames", finders[k]);
        fact_count(out, "found", score->found);
        fact_count(out, "missed", score->missed);
        if (k == BETWEEN_SWEEPS) {
            json_count(out, "more", score->more);
            json_number(out, "processor_ms_a_frame", 1e3 * score->seconds / s->frames);
        }
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
    json_number(out, "exact_processor_ms_a_frame", 1e3 * s->checked_processor / s->frames);
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
    if (s->between)
        print_betweens(s);
    out_end(out);
    answer(s->tool, "%llu", (unsigned long long)s->scores[PLAIN].missed);
}

int demo_falls(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *bodies = option_given(arguments, "bodies"),
                     *frames = option_given(arguments, "frames"),
                     *seed = option_given(arguments, "seed"),
                     *resolution = option_given(arguments, "resolution"),
                     *model = option_given(arguments, "model"),
                     *speed = option_given(arguments, "speed"),
                     *live = option_given(arguments, "live");
    showing s = {.tool = tool, .frames = frames ? frames->counts[0] : 240};
    falls_options options = {.count = bodies ? bodies->counts[0] : 0,
                             .resolution = resolution ? resolution->counts[0] : 1024,
                             .seed = seed ? seed->counts[0] : 1,
                             .speed = speed ? speed->numbers[0] : 1};
    while (strcmp(names[options.kind], arguments->operands[0]) != 0)
        options.kind++;
    s.compare = option_given(arguments, "compare") != NULL;
    s.between = speed != NULL;
    option_range(tool, speed, 0.01, 100, "times the speed");
    if (live && (png || s.compare || speed))
        tool_refuse(tool, "--live cannot be combined with --png, --html, --compare or --speed");
    option_range(tool, bodies, 1, 60000, "bodies");
    option_range(tool, resolution, 8, 16384, "pixels");
    options.device = device_open(tool, arguments);
    legend_add(&s.film.legend, (abut_colour){0.30f, 0.55f, 0.80f, 1}, "balls");
    legend_add(&s.film.legend, (abut_colour){0.95f, 0.95f, 0.93f, 1}, "balls before they touch");
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
        if (i && s.between)
            score_step(&s);
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
    for (int k = 0; k < BETWEEN_SWEEPS; k++)
        tool_free(s.seen[k].list);
    abut_mesh_destroy(s.large);
    falls_destroy(s.scene);
    abut_mesh_destroy(options.model);
    abut_device_destroy(options.device);
    /* exact results differ, or an overlap of two pixels or a touch was missed */
    return s.scores[EXACT].missed || s.scores[EXACT].false_pairs ||
                   s.betweens[BETWEEN_SWEEPS].missed || s.scores[PLAIN].missed_ball > 2 * s.pixel
               ? CODE_FOUND
               : CODE_FINE;
}
