/* abut replay: a recorded motion searched for self-collisions, step by step and scheme by scheme:
 * the tables and figures of Cheng 2011, chapter 6. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMES = 6, STAGES = 7, START = 1 };

/* What can be compared; the first is held against the others. */
typedef struct rival {
    const char *name, *about;
    abut_view_scheme scheme;
    abut_view_bounds bounds;
    bool box_boundary;
} rival;

static const rival rivals[SCHEMES] = {
    {"complete", "16-DOPs, all", ABUT_VIEW_COMPLETE, ABUT_VIEW_DOP16, false},
    {"boxes", "boxes, all", ABUT_VIEW_COMPLETE, ABUT_VIEW_AABB, false},
    {"point", "view-point", ABUT_VIEW_POINT, ABUT_VIEW_DOP16, false},
    {"line", "view-line", ABUT_VIEW_LINE, ABUT_VIEW_DOP16, false},
    {"auto", "point or line", ABUT_VIEW_AUTO, ABUT_VIEW_DOP16, false},
    {"inexact", "line, boxes of ghosts", ABUT_VIEW_LINE, ABUT_VIEW_DOP16, true},
};

static const char *const stage_names[STAGES] = {"bounds", "start",     "view",      "boundary",
                                                "marks",  "traversal", "elementary"};
static const char *const set_names[4] = {"positive", "negative", "grazing", "violated"};

/* What one scheme did, over all steps. */
typedef struct tally {
    abut_view *view;
    double stages[STAGES]; /* seconds */
    double sets[4], changed, triangle_pairs, features;
    uint64_t hits, fallbacks, differ;
} tally;

typedef struct replay {
    abut_frames *frames;
    abut_frames_info info;
    abut_mesh *mesh;
    uint64_t first, last;           /* frames */
    bool aims;                      /* steps go to where vertices were about to go */
    abut_vec3 *start, *end, *spare; /* of all meshes; the one that deforms stands first */
    tally tallies[SCHEMES];
    bool wanted[SCHEMES];
    abut_device *device; /* null: the CPU */
    int leader, shown;   /* the first scheme that is wanted, and the first with sets */
    uint32_t (*sets)[4]; /* of `shown` in each step, for the plot */
    uint64_t step_count;
    bool differed;
} replay;

/* Without the look at the start, which is made in the first step only. */
static double total(const tally *t) {
    double sum = 0;
    for (int k = 0; k < STAGES; k++)
        sum += k == START ? 0 : t->stages[k];
    return sum;
}

static void stages_of(const abut_view_result *r, double stages[STAGES]) {
    stages[0] = r->times.bounds;
    stages[1] = r->times.start;
    stages[2] = r->times.view;
    stages[3] = r->times.boundary;
    stages[4] = r->times.marks;
    stages[5] = r->times.traversal;
    stages[6] = r->times.elementary;
}

/* ---- steps ---- */

static void add_result(tally *t, const abut_view_result *r) {
    double stages[STAGES];
    stages_of(r, stages);
    for (int k = 0; k < STAGES; k++)
        t->stages[k] += stages[k];
    for (int k = 0; k < 4; k++) {
        t->sets[k] += r->sets[k];
        t->changed += r->entered[k];
    }
    t->triangle_pairs += (double)r->triangle_pairs;
    t->features += (double)(r->vertex_face + r->edge_edge);
    t->hits += r->hit;
    t->fallbacks += r->reason != ABUT_VIEW_NOT_NEEDED;
}

static bool same_answer(const abut_view_result *a, const abut_view_result *b) {
    return a->hit == b->hit &&
           (!a->hit || (a->impact.time == b->impact.time && a->impact.kind == b->impact.kind &&
                        a->impact.element[0] == b->impact.element[0] &&
                        a->impact.element[1] == b->impact.element[1]));
}

static void tell_step(tool_run *tool, uint64_t frame, const rival *who, const abut_view_result *r) {
    tool_output *out = &tool->out;
    if (!out->json)
        return;
    double stages[STAGES];
    stages_of(r, stages);
    out_object(out, NULL);
    json_count(out, "frame", frame);
    json_text(out, "scheme", who->name);
    json_boolean(out, "complete", r->scheme == ABUT_VIEW_COMPLETE);
    json_boolean(out, "hit", r->hit);
    if (r->hit) {
        json_number(out, "time", r->impact.time);
        json_vector(out, "point", r->impact.point);
    }
    for (int k = 0; k < 4; k++)
        json_count(out, set_names[k], r->sets[k]);
    for (int k = 0; k < STAGES; k++)
        json_number(out, stage_names[k], stages[k]);
    out_end(out);
    progress_erase(tool->progress);
    output_flush(out);
}

/* Reads the step that leads to a frame. */
static abut_status read_step(replay *r, uint64_t frame, bool follows) {
    if (follows && !r->aims) { /* it starts where the last one ended */
        abut_vec3 *kept = r->start;
        r->start = r->end;
        r->end = kept;
        return abut_frames_read(r->frames, frame, r->end, NULL);
    }
    abut_status status = abut_frames_read(r->frames, frame - 1, r->start, NULL);
    if (status || !r->aims)
        return status ? status : abut_frames_read(r->frames, frame, r->end, NULL);
    return abut_frames_read(r->frames, frame, r->spare, r->end);
}

static abut_status run_step(tool_run *tool, replay *r, uint64_t frame) {
    abut_view_step step = abut_view_step_default();
    abut_view_result first = {0}, result;
    abut_status status = read_step(r, frame, frame > r->first + 1);
    step.start = r->start;
    step.end = r->end;
    /* recordings are kept free of intersections, so that it is looked at in the first step only */
    step.start_is_free = frame > r->first + 1;
    for (int k = 0; k < SCHEMES && !status; k++) {
        if (!r->wanted[k])
            continue;
        status = abut_view_find(r->tallies[k].view, &step, NULL, &result);
        if (status)
            return status;
        first = k == r->leader ? result : first;
        add_result(&r->tallies[k], &result);
        if (!same_answer(&first, &result)) {
            r->tallies[k].differ++;
            r->differed = true;
        }
        if (k == r->shown)
            memcpy(r->sets[frame - r->first - 1], result.sets, sizeof result.sets);
        tell_step(tool, frame, &rivals[k], &result);
    }
    return status;
}

static int run_steps(tool_run *tool, replay *r, const char *path) {
    for (uint64_t frame = r->first + 1; frame <= r->last; frame++) {
        abut_status status = run_step(tool, r, frame);
        if (status)
            return tool_fail(tool, status);
        if (!progress_report(tool->progress, path,
                             (double)(frame - r->first) / (double)r->step_count))
            return CODE_CANCELLED;
    }
    return 0;
}

/* ---- tables ---- */

static void say_tables(tool_run *tool, const replay *r) {
    tool_output *out = &tool->out;
    double steps = (double)r->step_count;
    out_table(out, "milliseconds");
    for (int k = 0; k < SCHEMES; k++) {
        const tally *t = &r->tallies[k];
        if (!r->wanted[k])
            continue;
        out_object(out, NULL);
        say_fact(out, "milliseconds", "%s", rivals[k].about);
        for (int s = 0; s < STAGES; s++)
            if (s != START)
                say_fact(out, stage_names[s], "%.2f", 1e3 * t->stages[s] / steps);
        say_fact(out, "total", "%.2f", 1e3 * total(t) / steps);
        out_end(out);
    }
    out_end(out);
    out_table(out, "sets");
    for (int k = 0; k < SCHEMES; k++) {
        const tally *t = &r->tallies[k];
        if (!r->wanted[k])
            continue;
        out_object(out, NULL);
        say_fact(out, "mean of a step", "%s", rivals[k].about);
        for (int s = 0; s < 4; s++)
            say_fact(out, set_names[s], "%.0f", t->sets[s] / steps);
        say_fact(out, "changed", "%.0f", t->changed / steps);
        say_fact(out, "pairs", "%.0f", t->triangle_pairs / steps);
        say_fact(out, "features", "%.0f", t->features / steps);
        out_end(out);
    }
    out_end(out);
}

static void say_summary(tool_run *tool, const replay *r) {
    tool_output *out = &tool->out;
    const tally *t = &r->tallies[r->leader];
    say(out, "%llu of %llu steps with an impact%s", (unsigned long long)t->hits,
        (unsigned long long)r->step_count,
        r->differed ? "" : "; every scheme gave the same answers");
    for (int k = 0; k < SCHEMES; k++)
        if (r->wanted[k] && (r->tallies[k].differ || r->tallies[k].fallbacks))
            say(out, "%s: %llu answers differ, %llu steps were searched completely", rivals[k].name,
                (unsigned long long)r->tallies[k].differ,
                (unsigned long long)r->tallies[k].fallbacks);
    if (r->wanted[0] && total(&r->tallies[0]) > 0)
        for (int k = 1; k < SCHEMES; k++)
            if (r->wanted[k] && total(&r->tallies[k]) > 0)
                say(out, "%s: %.1f times as fast as all pairs with 16-DOPs", rivals[k].about,
                    total(&r->tallies[0]) / total(&r->tallies[k]));
}

/* ---- the plot: sets over frames ---- */

enum { WIDE = 900, HIGH = 300, BORDER = 70 };

static const abut_colour set_colours[4] = {{0.62f, 0.70f, 0.80f, 1},
                                           {0.85f, 0.37f, 0.01f, 1},
                                           {0.90f, 0.72f, 0.10f, 1},
                                           {0.70f, 0.10f, 0.25f, 1}};

/* One set as a curve of its own column of pixels each. */
static void draw_curve(tool_canvas *canvas, const replay *r, int set, int top, uint32_t most) {
    int before = -1;
    for (int x = 0; x < WIDE; x++) {
        uint64_t at = (uint64_t)x * r->step_count / WIDE;
        int y = top + HIGH - (int)((uint64_t)r->sets[at][set] * HIGH / (most ? most : 1));
        int from = before < 0 || before > y ? y : before, to = before > y ? before : y;
        canvas_fill(canvas, BORDER + x, from, 2, to - from + 2, set_colours[set]);
        before = y;
    }
}

static void draw_panel(tool_canvas *canvas, const replay *r, int first, int last, int top) {
    uint32_t most = 0;
    char words[64];
    for (uint64_t i = 0; i < r->step_count; i++)
        for (int set = first; set <= last; set++)
            most = r->sets[i][set] > most ? r->sets[i][set] : most;
    for (int k = 0; k <= 4; k++) {
        int y = top + HIGH - k * HIGH / 4;
        canvas_fill(canvas, BORDER, y, WIDE, 1, (abut_colour){0, 0, 0, k ? 0.15f : 0.8f});
        snprintf(words, sizeof words, "%.0f", (double)most * k / 4);
        canvas_words(canvas, BORDER - 10 - canvas_words(NULL, 0, 0, 11, words), y + 5, 11, words);
    }
    for (int set = first; set <= last; set++) {
        int x = BORDER + 140 * (set - first);
        draw_curve(canvas, r, set, top, most);
        canvas_fill(canvas, x, top - 22, 14, 14, set_colours[set]);
        canvas_words(canvas, x + 22, top - 9, 13, set_names[set]);
    }
}

static int draw_plot(tool_run *tool, const replay *r, const char *path) {
    tool_canvas canvas = {.width = WIDE + 2 * BORDER, .height = 2 * HIGH + 3 * BORDER};
    size_t bytes = (size_t)canvas.width * canvas.height * 4;
    canvas.pixels = malloc(bytes);
    if (!canvas.pixels)
        return tool_fail_with(tool, "out of memory", "there is no memory for the plot");
    memset(canvas.pixels, 255, bytes);
    draw_panel(&canvas, r, 0, 0, BORDER);
    draw_panel(&canvas, r, 1, 3, 2 * BORDER + HIGH);
    char words[96];
    snprintf(words, sizeof words, "triangles in each set, frames %llu to %llu",
             (unsigned long long)r->first + 1, (unsigned long long)r->last);
    canvas_words(&canvas, BORDER, 2 * HIGH + 2 * BORDER + 40, 13, words);
    abut_status status =
        abut_image_write(tool->context, path, canvas.pixels, canvas.width, canvas.height);
    free(canvas.pixels);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- the picture: sets on the mesh ---- */

static abut_status draw_sets(tool_run *tool, const tool_arguments *arguments, const replay *r,
                             const unsigned char *sets, const char *path, int *code) {
    uint32_t count = abut_mesh_triangle_count(r->mesh);
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    abut_mesh *mesh = NULL;
    *code = camera_read(tool, arguments, &camera);
    abut_colour *colours = *code ? NULL : malloc(count * sizeof *colours);
    abut_status status = *code || colours ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; colours && i < count; i++)
        colours[i] = set_colours[sets ? sets[i] : 0];
    style.triangle_colour = colours;
    style.edges = true;
    if (!*code && !status)
        status = abut_frames_mesh_at(r->frames, r->last, 0, &mesh);
    if (mesh && !status)
        status = abut_picture_create(tool->context, &camera, &picture);
    if (picture && !status)
        status = abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style);
    if (picture && !status)
        status = abut_picture_write(picture, path);
    abut_picture_destroy(picture);
    abut_mesh_destroy(mesh);
    free(colours);
    return status;
}

/* ---- the command ---- */

static int choose(tool_run *tool, const tool_arguments *arguments, replay *r) {
    const tool_given *scheme = option_given(arguments, "scheme");
    const tool_given *from = option_given(arguments, "from"), *to = option_given(arguments, "to");
    const tool_given *picture = option_given(arguments, "picture");
    const char *word = scheme ? scheme->words : "auto";
    bool all = strcmp(word, "all") == 0;
    r->leader = SCHEMES;
    for (int k = SCHEMES; k-- > 0;) {
        r->wanted[k] = all || strcmp(word, rivals[k].name) == 0;
        r->leader = r->wanted[k] ? k : r->leader;
    }
    r->shown = r->leader;
    for (int k = SCHEMES; k-- > 0;)
        if (r->wanted[k] && rivals[k].scheme != ABUT_VIEW_COMPLETE)
            r->shown = k;
    r->first = picture ? picture->counts[0] - 1 : from ? from->counts[0] - 1 : 0;
    r->last = picture ? picture->counts[0] : to ? to->counts[0] : r->info.frame_count - 1;
    if (r->info.frame_count < 2)
        return tool_refuse(tool, "the recording has one frame only, and so no step");
    if (r->first >= r->last || r->last >= r->info.frame_count)
        return tool_refuse(tool, "there are steps to frames 1 to %llu of the recording",
                           (unsigned long long)r->info.frame_count - 1);
    r->step_count = r->last - r->first;
    r->aims = r->info.aims && !option_given(arguments, "frames-only");
    return 0;
}

static abut_status prepare(replay *r) {
    size_t count = (size_t)r->info.vertex_count;
    r->start = malloc(count * sizeof *r->start);
    r->end = malloc(count * sizeof *r->end);
    r->spare = malloc(count * sizeof *r->spare);
    r->sets = calloc((size_t)r->step_count, sizeof *r->sets);
    if (!r->start || !r->end || !r->spare || !r->sets)
        return ABUT_ERROR_MEMORY;
    abut_status status = ABUT_OK;
    for (int k = 0; k < SCHEMES && !status; k++) {
        abut_view_options options = abut_view_options_default();
        options.scheme = rivals[k].scheme;
        options.bounds = rivals[k].bounds;
        options.box_boundary = rivals[k].box_boundary;
        options.device = r->device;
        if (r->wanted[k])
            status = abut_view_create(r->mesh, &options, &r->tallies[k].view);
    }
    return status;
}

static int finish(tool_run *tool, const tool_arguments *arguments, replay *r) {
    const tool_given *png = option_given(arguments, "png");
    int code = png ? draw_plot(tool, r, png->words) : 0;
    if (!code && option_given(arguments, "picture")) {
        abut_status status =
            draw_sets(tool, arguments, r, abut_view_sets(r->tallies[r->shown].view),
                      arguments->operands[1], &code);
        code = status ? tool_fail(tool, status) : code;
    }
    if (code)
        return code;
    if (!tool->out.json) {
        abut_view_info info = abut_view_get(r->tallies[r->leader].view);
        tool_text words = {0};
        text_grouped(&words, info.triangle_count);
        say_of(&tool->out, arguments->operands[0], "%s triangles, %u holes, %u ghosts, %u clusters",
               words.data ? words.data : "", info.hole_count, info.ghost_count, info.cluster_count);
        text_free(&words);
        say_tables(tool, r);
        say_summary(tool, r);
    }
    return r->tallies[r->leader].hits ? CODE_FOUND : CODE_FINE;
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    replay r;
    memset(&r, 0, sizeof r);
    const tool_given *png = option_given(arguments, "png");
    bool picture = option_given(arguments, "picture");
    if (picture != (arguments->operand_count == 2))
        return tool_refuse(tool, "--picture N and the name of a picture go together");
    const char *drawn = picture ? arguments->operands[1] : png ? png->words : NULL;
    if (drawn && !word_in(path_ending(drawn), "png|ppm"))
        return tool_refuse(tool, "%s: the name of a picture must end in .png or .ppm", drawn);
    int code = device_open(tool, arguments, &r.device);
    if (code)
        return code;
    progress_start(tool->progress, arguments->operands[0]);
    abut_status status = abut_frames_open(tool->context, arguments->operands[0], &r.frames);
    code = status ? tool_fail(tool, status) : 0;
    if (!code) {
        r.info = abut_frames_info_get(r.frames);
        r.mesh = abut_frames_mesh(r.frames, 0);
        code = choose(tool, arguments, &r);
    }
    if (!code) {
        status = prepare(&r);
        code = status ? tool_fail(tool, status) : 0;
    }
    tool->out.lines = true;
    code = code ? code : run_steps(tool, &r, arguments->operands[0]);
    code = code ? code : finish(tool, arguments, &r);
    for (int k = 0; k < SCHEMES; k++)
        abut_view_destroy(r.tallies[k].view);
    free(r.start);
    free(r.end);
    free(r.spare);
    free(r.sets);
    abut_frames_close(r.frames);
    abut_device_destroy(r.device);
    return code;
}

static const tool_option options[] = {
    {"scheme", "SCHEME", OPTION_CHOICE,
     "how to search: by view-point or view-line (auto, default), all pairs with 16-DOPs (complete) "
     "or boxes, the line with inexact boundaries, or all of these, side by side",
     "auto|point|line|complete|boxes|inexact|all", false},
    {"from", "N", OPTION_COUNT, "the first frame that a step leads to (default: 1)", NULL, false},
    {"to", "N", OPTION_COUNT, "the last one (default: the last of the recording)", NULL, false},
    {"frames-only", NULL, OPTION_FLAG,
     "steps lead to the recorded frames, also where the recording has where vertices were about to "
     "go before collisions were handled",
     NULL, false},
    {"png", "FILE", OPTION_TEXT, "plot how many triangles are in each set (.png or .ppm)", NULL,
     false},
    {"picture", "N", OPTION_COUNT,
     "draw frame N with each triangle in the colour of its set, to the second file", NULL, false},
    {"view", "VIEW", OPTION_TEXT, "where the picture looks from, as for 'abut picture'",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT, "which way is up in it (default: z)", "x|y|z|-x|-y|-z", false},
    DEVICE_OPTION,
    {0}};

const tool_command command_replay = {
    .name = "replay",
    .operands = "RECORDING [PICTURE]",
    .summary = "search a recorded motion for self-collisions",
    .about = "Searches each step of a recording (.abutm, as 'abut demo' makes) for the first time "
             "at which the mesh that deforms touches itself, and says how long each part of the "
             "search took.\n\n"
             "With --json there is a line for each step and scheme. The exit code is 3 where "
             "anything was hit.",
    .examples = "  abut replay ball.abutm --scheme all\n"
                "  abut replay sleeve.abutm --scheme line --png sets.png\n"
                "  abut replay sheet.abutm --picture 100 sheet.png\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run};
