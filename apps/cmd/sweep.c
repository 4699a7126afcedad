/* abut sweep: continuous collision detection of a deforming mesh with itself. */
#include "view.h"

/* The options, and the results of one step. */
typedef struct sweep_run {
    abut_sweep_mode mode;
    abut_sweep_find_options options;
    abut_sweep_options motion;
    bool parts, regardless, recording;
    abut_impact *impacts;
    size_t room, count;
    abut_sweep_counts counts;
    tool_moving moving;
} sweep_run;

static const char *kind_name(unsigned kind) {
    return abut_impact_kind_name((abut_impact_kind)kind);
}

/* ---- the search ---- */

/* Starts with a fixed capacity, then repeats with the required capacity. */
static void find_impacts(sweep_run *s) {
    for (bool complete = false; !complete;) {
        s->room = s->room ? s->room : 4096;
        if (s->count > s->room || !s->impacts) {
            s->room = s->count > s->room ? s->count : s->room;
            s->impacts = tool_resize(s->impacts, s->room, sizeof *s->impacts);
        }
        abut_impact_list found = {.list = s->impacts, .capacity = s->room};
        s->counts.size = sizeof s->counts;
        complete = !lacks_room(
            abut_sweep_find(s->moving.motion, s->mode, &s->options, &found, &s->counts));
        s->count = found.count;
    }
}

/* Reports which triangles intersect at the start; of many, the first. */
static _Noreturn void refuse_start(tool_run *tool, const char *path,
                                   const abut_pair_self_intersection *pairs, uint64_t count) {
    enum { SHOWN = 4 };
    tool_text list = {0};
    for (uint64_t i = 0; pairs && i < count && i < SHOWN; i++)
        text_print(&list, "%s%u and %u", i ? ", " : ": ", pairs[i].triangle[0],
                   pairs[i].triangle[1]);
    tool_fail_with(tool, "intersecting start",
                   "%s: intersects itself at the start; %llu pair%s of triangles intersect%s%s. "
                   "See 'abut selfcheck'; --regardless continues",
                   path, (unsigned long long)count, count == 1 ? "" : "s", text_of(&list),
                   pairs && count > SHOWN ? ", ..." : "");
}

/* A mesh that intersects itself at the start has no first impact. */
static void check_start(tool_run *tool, const char *path, abut_mesh *mesh) {
    enum { MOST = 1 << 20 };
    abut_pair_self_intersection_list pairs = {NULL, 0, 0};
    abut_bvh *bvh = NULL;
    ensure(abut_bvh_create(mesh, NULL, &bvh));
    if (lacks_room(abut_pair_self_intersections(bvh, NULL, &pairs)) && pairs.count <= MOST) {
        pairs.list = tool_array((size_t)pairs.count, sizeof *pairs.list);
        pairs.capacity = pairs.count;
        ensure(abut_pair_self_intersections(bvh, NULL, &pairs));
    }
    abut_bvh_destroy(bvh);
    if (pairs.count)
        refuse_start(tool, path, pairs.list, pairs.count);
}

/* Searches the step from one mesh to the next. */
static void search_step(tool_run *tool, sweep_run *s, const char *const path[2],
                        abut_mesh *const mesh[2]) {
    if (!s->regardless)
        check_start(tool, path[0], mesh[0]);
    moving_step(tool, &s->moving, path[0], mesh[0], path[1], mesh[1]);
    find_impacts(s);
}

/* ---- output ---- */

static void name_features(const sweep_run *s, const abut_impact *impact, tool_text names[2]) {
    uint32_t v[4];
    moving_vertices(&s->moving, impact, v);
    if (impact->kind == ABUT_IMPACT_VERTEX_FACE) {
        text_print(&names[0], "vertex %u", v[0]);
        text_print(&names[1], "face %u %u %u", v[1], v[2], v[3]);
    } else {
        text_print(&names[0], "edge %u %u", v[0], v[1]);
        text_print(&names[1], "edge %u %u", v[2], v[3]);
    }
}

static void print_impact(tool_output *out, const sweep_run *s, const abut_impact *impact) {
    uint32_t v[4];
    tool_text names[2] = {{0}, {0}};
    moving_vertices(&s->moving, impact, v);
    name_features(s, impact, names);
    out_object(out, NULL);
    json_number(out, "time", impact->time);
    json_text(out, "kind", kind_name(impact->kind));
    json_numbers(out, "vertices", (double[4]){v[0], v[1], v[2], v[3]}, 4);
    json_vector(out, "point", impact->point);
    json_vector(out, "normal", impact->normal);
    json_numbers(out, "weights", impact->weights, impact->kind == ABUT_IMPACT_EDGE_EDGE ? 2 : 3);
    print_fact(out, "time", "%.9g", impact->time);
    print_fact(out, "first", "%s", text_of(&names[0]));
    print_fact(out, "second", "%s", text_of(&names[1]));
    char words[POINT_WORDS];
    print_fact(out, "point", "%s", point_words(impact->point, 6, words));
    out_end(out);
}

static void json_counts(tool_output *out, const sweep_run *s) {
    json_count(out, "vertex_face_candidates", s->counts.vertex_face);
    json_count(out, "edge_edge_candidates", s->counts.edge_edge);
}

static void print_impacts(tool_run *tool, const sweep_run *s, const char *const path[2],
                          const abut_mesh *mesh, uint32_t most) {
    tool_output *out = &tool->out;
    tool_text words = {0};
    text_safe(&words, path[1]);
    text_add(&words, ": ");
    text_grouped(&words, abut_mesh_triangle_count(mesh));
    text_print(&words, " triangles; %s", shade_on(out, s->count ? SHADE_WARN : SHADE_GOOD));
    if (!s->count) {
        text_add(&words, "no impact");
    } else if (s->mode == ABUT_SWEEP_ALL) {
        text_grouped(&words, s->count);
        text_print(&words, " impact%s, the first at time %.9g", s->count == 1 ? "" : "s",
                   s->impacts[0].time);
    } else {
        text_print(&words, "%s at time %.9g",
                   s->mode == ABUT_SWEEP_ANY ? "an impact" : "the first impact",
                   s->impacts[0].time);
    }
    text_add(&words, shade_off(out));
    tool_text subject = {0};
    text_safe(&subject, path[0]);
    text_add(&subject, " to ");
    print_line(out, "%s%s", text_of(&subject), text_of(&words));
    json_path(out, "start", path[0]);
    json_path(out, "end", path[1]);
    json_count(out, "vertices", abut_mesh_vertex_count(mesh));
    json_count(out, "triangles", abut_mesh_triangle_count(mesh));
    json_text(out, "mode", abut_sweep_mode_name(s->mode));
    json_boolean(out, "hit", s->count > 0);
    json_count(out, "count", s->count);
    json_counts(out, s);
    if (out->json || (s->count && !tool->quiet)) {
        out_table(out, "impacts");
        for (size_t i = 0; i < s->count && i < most; i++)
            print_impact(out, s, &s->impacts[i]);
        out_end(out);
    }
}

static const tool_column columns[] = {REAL("time"), WORD("kind", kind_name),
                                      WHOLE("v0"),  WHOLE("v1"),
                                      WHOLE("v2"),  WHOLE("v3"),
                                      REAL("x"),    REAL("y"),
                                      REAL("z"),    REAL("nx"),
                                      REAL("ny"),   REAL("nz")};

static void fill_impact_row(const void *data, size_t row, double *values) {
    const sweep_run *s = data;
    const abut_impact *impact = &s->impacts[row];
    uint32_t v[4];
    moving_vertices(&s->moving, impact, v);
    values[0] = impact->time;
    values[1] = impact->kind;
    for (int k = 0; k < 4; k++)
        values[2 + k] = v[k];
    table_vector(values + 6, impact->point);
    table_vector(values + 9, impact->normal);
}

/* ---- two files ---- */

static int run_two(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    const tool_given *table_path = option_given(arguments, "out");
    const char *const *path = arguments->operands;
    abut_mesh *mesh[2] = {NULL, NULL};
    mesh[0] = mesh_read(tool, path[0]);
    mesh[1] = mesh_read(tool, path[1]);
    moving_create(tool, mesh[0], s->parts, &s->motion, &s->moving);
    progress_start(tool->progress, path[1]);
    search_step(tool, s, path, mesh);
    if (table_path) {
        tool_table table = {columns, 12, s->count, fill_impact_row, s};
        table_write(tool, table_path->words, &table);
    }
    sweep_draw(tool, arguments, &s->moving, s->impacts, s->count,
               (const abut_mesh *const[2]){mesh[0], mesh[1]});
    out_object(&tool->out, NULL);
    print_impacts(tool, s, path, mesh[0], option_count(arguments, "first", 8));
    out_end(&tool->out);
    answer_number(tool, s->count, s->impacts[0].time, "never");
    abut_mesh_destroy(mesh[0]);
    abut_mesh_destroy(mesh[1]);
    return s->count ? CODE_FOUND : CODE_FINE;
}

/* ---- a folder ---- */

/* Without paths, for a recording: the frame that the step ends at. */
static void print_step(tool_run *tool, const sweep_run *s, uint64_t step, const char *const *path) {
    tool_output *out = &tool->out;
    tool_text names[2] = {{0}, {0}};
    const abut_impact *impact = s->count ? &s->impacts[0] : NULL;
    if (impact)
        name_features(s, impact, names);
    out_object(out, NULL);
    fact_count(out, path ? "step" : "frame", step);
    if (path) {
        json_path(out, "start", path[0]);
        json_path(out, "end", path[1]);
    }
    json_boolean(out, "hit", impact);
    fact_count(out, "impacts", s->count);
    json_counts(out, s);
    if (impact) {
        fact_number(out, "time", impact->time);
        json_text(out, "kind", kind_name(impact->kind));
        json_vector(out, "point", impact->point);
        json_vector(out, "normal", impact->normal);
    }
    print_fact(out, "first", "%s", text_of(&names[0]));
    print_fact(out, "second", "%s", text_of(&names[1]));
    out_end(out);
    if (out->json)
        tool_flush_lines(tool);
}

static void start_progress(tool_run *tool, uint64_t step, uint64_t count) {
    tool_text subject = {0};
    text_print(&subject, "step %llu of %llu", (unsigned long long)step, (unsigned long long)count);
    progress_start(tool->progress, text_of(&subject));
}

static void begin_steps(tool_run *tool) {
    tool->out.lines = true;
    if (!tool->out.json)
        out_table(&tool->out, "steps");
}

static int end_steps(tool_run *tool, uint64_t hits, uint64_t steps) {
    if (!tool->out.json) {
        out_end(&tool->out);
        print_line(&tool->out, "%llu of %llu steps with an impact", (unsigned long long)hits,
                   (unsigned long long)steps);
        answer(tool, "%llu", (unsigned long long)hits);
    }
    return hits ? CODE_FOUND : CODE_FINE;
}

static void run_step(tool_run *tool, sweep_run *s, const tool_frames *frames, size_t step,
                     abut_mesh *mesh[2]) {
    const char *const path[2] = {frames->paths[step], frames->paths[step + 1]};
    mesh[1] = mesh_read(tool, path[1]);
    if (!s->moving.motion)
        moving_create(tool, mesh[0], s->parts, &s->motion, &s->moving);
    start_progress(tool, step + 1, frames->count - 1);
    search_step(tool, s, path, mesh);
    print_step(tool, s, step, path);
}

static int run_folder(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    tool_frames frames = {0};
    abut_mesh *mesh[2] = {NULL, NULL};
    size_t hits = 0, steps = 0;
    frames_list(tool, arguments->operands[0], &frames);
    mesh[0] = mesh_read(tool, frames.paths[0]);
    begin_steps(tool);
    for (; steps + 1 < frames.count; steps++) {
        run_step(tool, s, &frames, steps, mesh);
        hits += s->count > 0;
        abut_mesh_destroy(mesh[0]);
        mesh[0] = mesh[1];
        mesh[1] = NULL;
    }
    abut_mesh_destroy(mesh[0]);
    return end_steps(tool, hits, steps);
}

/* ---- steps by several processes ---- */

/* Steps are assigned to processes in chunks. Each chunk starts without a warm start: the number
 * of tested candidates depends on previous steps, and must not depend on the processes. */
enum { STEPS_PER_CHUNK = 16 };

/* The results of a step for the output. */
typedef struct step_answer {
    abut_sweep_counts counts;
    uint64_t count;
    abut_impact first;
} step_answer;

typedef struct step_answers {
    step_answer *list;
    uint64_t *keys;
    uint64_t count;
    size_t room, key_room;
} step_answers;

/* Prints a step, or keeps it until all are collected. */
static void print_or_keep_step(tool_run *tool, sweep_run *s, step_answers *all, uint64_t step) {
    if (!tool->share) {
        print_step(tool, s, step, NULL);
        return;
    }
    step_answer answer = {.counts = s->counts, .count = s->count};
    if (s->count)
        answer.first = s->impacts[0];
    tool_grow(&all->list, all->count, &all->room, sizeof *all->list);
    tool_grow(&all->keys, all->count, &all->key_room, sizeof *all->keys);
    all->keys[all->count] = step;
    all->list[all->count++] = answer;
}

/* Prints all steps in the first process; `first` is the index of the first step. */
static void print_steps(tool_run *tool, sweep_run *s, step_answers *all, uint64_t first,
                        uint64_t *hits) {
    share_agree(tool);
    if (tool->share) {
        *hits = 0;
        share_collect(tool, &all->list, &all->count, sizeof *all->list, all->keys);
        for (uint64_t i = 0; share_prints(tool) && i < all->count; i++) {
            s->counts = all->list[i].counts;
            s->count = (size_t)all->list[i].count;
            if (s->count)
                s->impacts[0] = all->list[i].first;
            print_step(tool, s, first + i, NULL);
            *hits += s->count > 0;
        }
    }
}

/* ---- a recording ---- */

static void run_frame(tool_run *tool, sweep_run *s, tool_recording *r, uint64_t frame,
                      const char *path, step_answers *all) {
    abut_mesh *mesh = NULL;
    recording_read(r, frame);
    if (!s->regardless || !s->moving.motion)
        recording_mesh(tool, r, &mesh);
    if (!s->moving.motion)
        moving_create(tool, mesh, s->parts, &s->motion, &s->moving);
    if (!s->regardless) {
        tool_text name = {0};
        text_print(&name, "%s, frame %llu", path, (unsigned long long)frame - 1);
        check_start(tool, name.data, mesh);
    }
    abut_mesh_destroy(mesh);
    moving_step_to(&s->moving, r->start, r->end);
    find_impacts(s);
    print_or_keep_step(tool, s, all, frame);
}

static int run_recording(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    tool_recording r = {0};
    step_answers all = {0};
    uint64_t hits = 0, steps = 0;
    progress_start(tool->progress, arguments->operands[0]);
    recording_open(tool, arguments, &r);
    begin_steps(tool);
    for (uint64_t frame = r.first; frame <= r.last; frame++) {
        start_progress(tool, ++steps, r.last - r.first + 1);
        if (!share_mine(tool, frame - r.first, STEPS_PER_CHUNK))
            continue;
        if ((frame - r.first) % STEPS_PER_CHUNK == 0)
            moving_free(&s->moving);
        run_frame(tool, s, &r, frame, arguments->operands[0], &all);
        hits += s->count > 0;
    }
    print_steps(tool, s, &all, r.first, &hits);
    abut_frames_close(r.frames);
    return end_steps(tool, hits, steps);
}

/* ---- the command ---- */

static void read_sweep_options(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    const tool_given *mode = option_given(arguments, "mode"),
                     *thickness = option_given(arguments, "thickness"),
                     *png = picture_given(arguments);
    const bool folder = arguments->operand_count == 1;
    s->recording = folder && word_in(path_ending(arguments->operands[0]), "abutm");
    s->mode = ABUT_SWEEP_EARLIEST;
    for (int k = 0; mode && k < 3; k++)
        if (word_in(mode->words, abut_sweep_mode_name((abut_sweep_mode)k)))
            s->mode = (abut_sweep_mode)k;
    s->options = abut_sweep_find_options_default();
    s->motion = abut_sweep_options_default();
    s->options.separation = thickness ? thickness->numbers[0] : 0;
    s->options.tolerance = option_number(arguments, "tolerance", 0);
    s->options.exact = option_given(arguments, "exact") != NULL;
    s->regardless = option_given(arguments, "regardless") != NULL;
    s->motion.skip_pairs = option_given(arguments, "self") != NULL;
    s->motion.skip_self = option_given(arguments, "others") != NULL;
    s->parts = s->motion.skip_self || s->motion.skip_pairs;
    if (s->motion.skip_self && s->motion.skip_pairs)
        tool_refuse(tool, "--self and --others cannot be combined: no impact would remain");
    if (s->options.exact && thickness)
        tool_refuse(
            tool,
            "--exact and --thickness cannot be combined: --exact tests for contact at distance 0");
    if (folder && (png || option_given(arguments, "out")))
        tool_refuse(tool, "--%s needs a single step: two files START END", png ? "png" : "out");
    if (png)
        picture_check(tool, png->words);
    if (folder && !s->recording && !frames_is_folder(arguments->operands[0]))
        tool_refuse(
            tool,
            "%s: END is missing: name two meshes, a folder of meshes, or a recording (.abutm)",
            arguments->operands[0]);
    static const char *const of_recordings[] = {"from", "to", "frames-only"};
    for (int k = 0; k < 3 && !s->recording; k++)
        if (option_given(arguments, of_recordings[k]))
            tool_refuse(tool, "--%s applies to recordings (.abutm) only", of_recordings[k]);
}

static int run_sweep(tool_run *tool, const tool_arguments *arguments) {
    sweep_run s = {0};
    read_sweep_options(tool, arguments, &s);
    if (tool->share && !s.recording)
        tool_refuse(tool, "several processes need a recording (.abutm)");
    s.motion.device = device_open(tool, arguments);
    int code = s.recording                     ? run_recording(tool, arguments, &s)
               : arguments->operand_count == 1 ? run_folder(tool, arguments, &s)
                                               : run_two(tool, arguments, &s);
    moving_free(&s.moving);
    abut_device_destroy(s.motion.device);
    return code;
}

static const tool_option options[] = {
    CHOICE("mode", "MODE", CHOICE,
           "impacts to find: the earliest one, all, or any one (default: earliest)",
           "earliest|all|any"),
    OPTION("thickness", "T", POSITIVE, "an impact is where surfaces come this near (default: 0)"),
    OPTION("tolerance", "T", POSITIVE,
           "distance that counts as contact (default: 1e-10 of the size of the mesh)"),
    FLAG("exact", "decide impacts within the tolerance by exact arithmetic"),
    FLAG("self", "only impacts of a component with itself"),
    FLAG("others", "only impacts between components"),
    FLAG("regardless", "continue if the mesh intersects itself at the start"),
    OPTION("from", "N", COUNT, "recordings: first frame that a step ends at (default: 1)"),
    OPTION("to", "N", COUNT, "recordings: last frame that a step ends at (default: the last one)"),
    FLAG("frames-only", "recordings: steps end at the recorded frames, not at the aims (positions "
                        "before collision response)"),
    OPTION("first", "N", COUNT, "number of impacts to list (default: 8)"),
    OPTION("out", "FILE", TEXT,
           "write all impacts to FILE: PLY or NPY by the file extension, otherwise CSV"),
    OPTION("png", "FILE", TEXT,
           "draw the mesh at the time of the first impact, with all impacts found"),
    PAGE_OPTION,
    CAMERA_OPTIONS("iso"),
    DEVICE_OPTION,
    {0}};

const tool_command command_sweep = {
    .name = "sweep",
    .operands = "START END | FOLDER | RECORDING",
    .summary = "time of impact of a deforming mesh with itself (CCD)",
    .about = "Continuous collision detection: reads a mesh at the start and at the end of a time "
             "step in which every vertex moves along a straight line. Finds the time of impact, "
             "from 0 to 1, of vertices with faces and of edges with edges. No collision is missed, "
             "and no time is later than the exact one. Both files have the same triangles in the "
             "same order. Several bodies are components of one mesh.\n\n"
             "A folder of meshes is a sequence of frames in the order of their names (2 before "
             "10), with a step from each frame to the next. A recording (.abutm, as 'abut demo' "
             "writes) is one too. --json then prints one line for each step.",
    .found = "an impact",
    .examples = "  abut sweep frame7.ply frame8.ply\n"
                "  abut sweep start.obj end.obj --mode all --out impacts.csv --png impacts.png\n"
                "  abut sweep frames/ --thickness 0.001 --json\n"
                "  abut sweep ball.abutm --others --json\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_sweep,
};
