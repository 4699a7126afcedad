/* abut replay: searches each step of a recording for self-collisions with several schemes: the
 * tables and figures of Cheng 2011, chapter 6. */
#include "replay.h"
#include "apps/get.h"
#include "view.h"

#include <string.h>

const replay_rival replay_rivals[SCHEMES] = {
    {"sweep", "all pairs", ABUT_SELF_COMPLETE, false, true},
    {"point", "view-point", ABUT_SELF_POINT, false, false},
    {"line", "view-line", ABUT_SELF_LINE, false, false},
    {"auto", "fastest", ABUT_SELF_AUTO, false, false},
    {"inexact", "line, inexact boundaries", ABUT_SELF_LINE, true, false},
};
const char *const replay_stages[STAGES] = {"bounds", "start",  "view",  "boundary",
                                           "marks",  "search", "others"};
const char *const replay_regions[5] = {"before", "beyond", "beside", "before_beside",
                                       "beyond_beside"};

double replay_total(const replay_tally *t) {
    double sum = 0;
    for (int k = 0; k < STAGES; k++)
        sum += k == STAGE_START ? 0 : t->stages[k];
    return sum;
}

/* ---- selection of steps ---- */

/* Without --every all steps in order. With it, pairs of steps: the first one prepares the state
 * for the second, which is counted. */
static uint64_t frame_of(const replay *r, uint64_t step) {
    uint64_t after = r->every == 1 ? step : step / 2 * r->every + step % 2;
    return r->recording.first + after;
}

/* A step without predecessor does additional work: it finds what is beyond ghosts. */
static bool step_counts(const replay *r, uint64_t step) {
    return r->step_count == 1 || (r->every == 1 ? step > 0 : step % 2);
}

static void plan_steps(replay *r) {
    uint64_t frames = r->recording.last - r->recording.first + 1;
    r->step_count = frames;
    r->counted = frames > 1 ? frames - 1 : 1;
    if (r->every > 1 && frames > 1) {
        r->counted = (frames - 2) / r->every + 1;
        r->step_count = 2 * r->counted;
    }
}

/* ---- steps ---- */

static void stages_of(const abut_self_result *r, double wall, double line, double stages[STAGES]) {
    stages[STAGE_BOUNDS] = r->times.bounds;
    stages[STAGE_START] = r->times.start;
    stages[STAGE_VIEW] = r->times.view + line;
    stages[STAGE_BOUNDARY] = r->times.boundary;
    stages[STAGE_MARKS] = r->times.marks;
    stages[STAGE_SEARCH] = r->times.search;
    double others = wall + line;
    for (int k = 0; k < STAGE_OTHERS; k++)
        others -= stages[k];
    stages[STAGE_OTHERS] = others > 0 ? others : 0;
}

static void add_result(replay_tally *t, const abut_self_result *r, const double stages[STAGES]) {
    for (int k = 0; k < STAGES; k++)
        t->stages[k] += stages[k];
    for (int k = 0; k < 4; k++) {
        t->sets[k] += r->sets[k];
        t->entered[k] += r->entered[k];
        t->left[k] += r->left[k];
    }
    t->lines += r->scheme == ABUT_SELF_LINE;
    for (int k = 0; k < 5 && r->scheme == ABUT_SELF_LINE; k++)
        t->regions[k] += r->regions[k];
    t->features += (double)(r->vertex_face + r->edge_edge);
}

static bool same_answer(const abut_self_result *a, const abut_self_result *b) {
    return a->hit == b->hit &&
           (!a->hit || (a->impact.time == b->impact.time && a->impact.kind == b->impact.kind &&
                        a->impact.element[0] == b->impact.element[0] &&
                        a->impact.element[1] == b->impact.element[1]));
}

/* The line of the second mesh, whose vertices follow those of the first. */
static void read_line(const replay *r, abut_self_line *line, double *seconds) {
    uint32_t first = abut_mesh_vertex_count(r->mesh);
    uint32_t count = abut_mesh_vertex_count(abut_frames_mesh(r->recording.frames, 1));
    double begun = seconds_now();
    ensure(abut_self_fit_line(r->recording.start + first, r->recording.end + first, count, line));
    *seconds = seconds_now() - begun;
}

/* The complete search of sweep.h, timed as one stage. */
static void run_sweep(abut_sweep *sweep, const abut_self_step *step, abut_self_result *result) {
    abut_impact_list found = {.list = &result->impact, .capacity = 1};
    abut_sweep_counts counts = abut_sweep_counts_default();
    double begun = seconds_now();
    *result = abut_self_result_default();
    result->scheme = ABUT_SELF_COMPLETE;
    ensure(abut_sweep_set_positions(sweep, step->start, step->end));
    ensure(abut_sweep_find(sweep, ABUT_SWEEP_EARLIEST, NULL, &found, &counts));
    result->hit = found.count > 0;
    result->vertex_face = counts.vertex_face;
    result->edge_edge = counts.edge_edge;
    result->times.search = seconds_now() - begun;
}

static void run_scheme(tool_run *tool, replay *r, uint64_t number, int which,
                       const abut_self_step *step, double line, abut_self_result *result) {
    replay_tally *t = &r->tallies[which];
    bool counts = step_counts(r, number);
    double stages[STAGES], begun = seconds_now();
    if (t->sweep)
        run_sweep(t->sweep, step, result);
    else
        ensure(abut_self_find(t->view, step, NULL, result));
    bool by_sets = replay_rivals[which].scheme != ABUT_SELF_COMPLETE;
    stages_of(result, seconds_now() - begun, by_sets ? line : 0, stages);
    if (counts)
        add_result(t, result, stages);
    if (counts && t->sets_of)
        memcpy(t->sets_of[r->done_counted], result->sets, sizeof result->sets);
    t->hits += result->hit;
    t->counted_hits += counts && result->hit;
    t->fallbacks += result->reason != ABUT_SELF_NOT_NEEDED;
    replay_print_step(tool, r, frame_of(r, number), counts, which, result, stages);
}

static void run_step(tool_run *tool, replay *r, uint64_t number) {
    abut_self_step step = abut_self_step_default();
    abut_self_result first = abut_self_result_default(), result = first;
    abut_self_line line;
    double line_seconds = 0;
    recording_read(&r->recording, frame_of(r, number));
    step.start = abut_array_host(r->recording.start);
    step.end = abut_array_host(r->recording.end);
    /* the producer of aims keeps frames free of intersections; only the first frame of a
     * sequence is tested */
    step.start_is_free = r->recording.aims && (r->every == 1 ? number > 0 : number % 2);
    if (r->companion) {
        read_line(r, &line, &line_seconds);
        step.line = &line;
    }
    for (int k = 0; k < SCHEMES; k++) {
        if (!r->wanted[k])
            continue;
        run_scheme(tool, r, number, k, &step, line_seconds, &result);
        first = k == r->leader ? result : first;
        if (!same_answer(&first, &result)) {
            r->tallies[k].differ++;
            r->differed = true;
        }
    }
    r->done_counted += step_counts(r, number);
}

static void run_steps(tool_run *tool, replay *r) {
    for (uint64_t step = 0; step < r->step_count; step++) {
        run_step(tool, r, step);
        if (tool->view)
            replay_show(tool, r, abut_self_sets(r->tallies[r->shown].view));
        progress_step(tool, r->path, step + 1, r->step_count);
    }
}

/* ---- the command ---- */

static void choose_schemes(const tool_arguments *arguments, replay *r) {
    const char *word = option_words(arguments, "scheme", "auto");
    bool all = strcmp(word, "all") == 0;
    r->leader = SCHEMES;
    for (int k = SCHEMES; k-- > 0;) {
        r->wanted[k] = all || strcmp(word, replay_rivals[k].name) == 0;
        r->leader = r->wanted[k] ? k : r->leader;
    }
    r->shown = r->leader;
    for (int k = SCHEMES; k-- > 0;)
        if (r->wanted[k] && replay_rivals[k].scheme != ABUT_SELF_COMPLETE)
            r->shown = k;
}

static void read_replay_options(tool_run *tool, const tool_arguments *arguments, replay *r) {
    const tool_given *line = option_given(arguments, "line");
    choose_schemes(arguments, r);
    r->every = option_count(arguments, "every", 1);
    r->companion = line && strcmp(line->words, "companion") == 0;
    r->summary = option_given(arguments, "summary");
    if (r->companion && r->recording.info.mesh_count < 2)
        tool_refuse(tool, "--line companion: the recording has only one mesh");
    plan_steps(r);
}

static void create_searches(replay *r) {
    abut_sweep_options of_sweep = abut_sweep_options_default();
    of_sweep.device = r->device;
    for (int k = 0; k < SCHEMES; k++) {
        abut_self_options options = abut_self_options_default();
        options.scheme = replay_rivals[k].scheme;
        options.box_boundary = replay_rivals[k].box_boundary;
        options.device = r->device;
        if (r->wanted[k])
            ensure(abut_self_create(r->mesh, &options, &r->tallies[k].view));
        if (r->wanted[k] && (k == r->shown || !replay_rivals[k].sweep))
            r->tallies[k].sets_of = tool_array((size_t)r->counted, sizeof *r->tallies[k].sets_of);
        if (r->wanted[k] && replay_rivals[k].sweep)
            ensure(abut_sweep_create(&r->mesh, 1, &of_sweep, &r->tallies[k].sweep));
    }
}

static int write_replay_results(tool_run *tool, const tool_arguments *arguments, replay *r) {
    const tool_given *png = option_given(arguments, "png");
    if (png)
        replay_plot(tool, r, png->words);
    if (option_given(arguments, "picture"))
        replay_picture(tool, arguments, r, abut_self_sets(r->tallies[r->shown].view),
                       arguments->operands[1]);
    view_write(tool);
    replay_print_summary(tool, r);
    return r->tallies[r->leader].hits ? CODE_FOUND : CODE_FINE;
}

static int run_replay(tool_run *tool, const tool_arguments *arguments) {
    replay r = {.path = arguments->operands[0]};
    const tool_given *png = option_given(arguments, "png");
    bool picture = option_given(arguments, "picture");
    if (picture != (arguments->operand_count == 2))
        tool_refuse(tool, "--picture N and the operand PICTURE require each other");
    if (picture || png)
        picture_check(tool, picture ? arguments->operands[1] : png->words);
    r.device = device_open(tool, arguments);
    progress_start(tool->progress, r.path);
    recording_open(tool, arguments, &r.recording);
    r.mesh = abut_frames_mesh(r.recording.frames, 0);
    read_replay_options(tool, arguments, &r);
    create_searches(&r);
    tool->out.lines = !r.summary;
    run_steps(tool, &r);
    int code = write_replay_results(tool, arguments, &r);
    for (int k = 0; k < SCHEMES; k++) {
        abut_self_destroy(r.tallies[k].view);
        abut_sweep_destroy(r.tallies[k].sweep);
    }
    abut_frames_close(r.recording.frames);
    abut_device_destroy(r.device);
    return code;
}

static const tool_option options[] = {
    CHOICE("scheme", "SCHEME", CHOICE,
           "search method: view-point, view-line or all pairs, whichever is fastest (auto, "
           "default); all pairs as in 'abut sweep' (sweep); view-line with inexact boundaries; or "
           "all of them, side by side",
           "auto|point|line|sweep|inexact|all"),
    CHOICE("line", "WHOSE", CHOICE,
           "position of the view-line: along the mesh itself (own, default), or along the second "
           "mesh of the recording, such as the rod in a sleeve (companion)",
           "own|companion"),
    OPTION("from", "N", COUNT, "first frame that a step ends at (default: 1)"),
    OPTION("to", "N", COUNT, "last frame that a step ends at (default: the last of the recording)"),
    OPTION(
        "every", "N", COUNT,
        "sample the recording: one step in N frames, and the step before it, which is not counted"),
    FLAG("frames-only", "steps end at the recorded frames, even if the recording has aims "
                        "(positions before collision response)"),
    FLAG("summary", "with --json: one object for all steps instead of a line for each"),
    PAGE_OPTION,
    OPTION("png", "FILE", TEXT,
           "plot the number of triangles in each view set (.png or .ppm); with --scheme all also "
           "those in the negative set by view-point and by view-line"),
    OPTION("picture", "N", COUNT,
           "draw frame N with each triangle in the colour of its view set, into PICTURE"),
    CAMERA_OPTIONS("iso"),
    DEVICE_OPTION,
    {0}};

const tool_command command_replay = {
    .name = "replay",
    .operands = "RECORDING [PICTURE]",
    .summary = "find self-collisions in a recorded motion",
    .about = "Searches each step of a recording (.abutm, as 'abut demo' writes) for the first time "
             "at which the deforming mesh touches itself, and prints the time of each part of the "
             "search.\n\n"
             "With --json there is a line for each step and scheme; with --summary there is one "
             "object for all steps.",
    .found = "an impact",
    .examples = "  abut replay ball.abutm --scheme all\n"
                "  abut replay ball.abutm --scheme all --every 20 --json --summary\n"
                "  abut replay sleeve.abutm --scheme line --line companion --png sets.png\n"
                "  abut replay sheet.abutm --picture 100 sheet.png\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_replay};
