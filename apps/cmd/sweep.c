/* abut sweep: continuous collision detection of a deforming mesh with itself. */
#include "view.h"

#include <math.h>
#include <stdlib.h>

/* The options, and the results of one step. */
typedef struct sweep_run {
    abut_sweep_mode mode;
    abut_sweep_find_options options;
    abut_sweep_options motion;
    bool parts, regardless, recording;
    abut_impact *impacts; /* from malloc */
    size_t room, count;
    abut_sweep_counts counts;
    tool_moving moving;
} sweep_run;

static const char *kind_name(unsigned kind) {
    return abut_impact_kind_name((abut_impact_kind)kind);
}

/* ---- the search ---- */

/* Starts with a fixed capacity, then repeats with the required capacity. */
static int find_impacts(tool_run *tool, sweep_run *s) {
    abut_status status = ABUT_ERROR_BUFFER;
    for (int round = 0; round < 2 && status == ABUT_ERROR_BUFFER; round++) {
        size_t wanted = round ? s->count : 4096;
        if (wanted > s->room) {
            free(s->impacts);
            s->impacts =
                wanted < SIZE_MAX / sizeof *s->impacts ? malloc(wanted * sizeof *s->impacts) : NULL;
            s->room = s->impacts ? wanted : 0;
            if (!s->impacts)
                return tool_fail_with(tool, "out of memory", "not enough memory for %zu impacts",
                                      wanted);
        }
        abut_impact_list found = {.list = s->impacts, .capacity = s->room};
        s->counts.size = sizeof s->counts;
        status = abut_sweep_find(s->moving.motion, s->mode, &s->options, &found, &s->counts);
        s->count = found.count;
    }
    return status ? tool_fail(tool, status) : 0;
}

/* Reports which triangles intersect at the start; of many, the first. */
static int refuse_start(tool_run *tool, const char *path, const abut_pair_self_intersection *pairs,
                        uint64_t count) {
    enum { SHOWN = 4 };
    tool_text list = {0};
    for (uint64_t i = 0; pairs && i < count && i < SHOWN; i++)
        text_print(&list, "%s%u and %u", i ? ", " : ": ", pairs[i].triangle[0],
                   pairs[i].triangle[1]);
    int code = tool_fail_with(tool, "intersecting start",
                              "%s: intersects itself at the start; %llu pair%s of triangles "
                              "intersect%s%s. See 'abut selfcheck'; --regardless continues",
                              path, (unsigned long long)count, count == 1 ? "" : "s",
                              list.data ? list.data : "", pairs && count > SHOWN ? ", ..." : "");
    text_free(&list);
    return code;
}

/* A mesh that intersects itself at the start has no first impact. */
static int check_start(tool_run *tool, const char *path, abut_mesh *mesh) {
    enum { MOST = 1 << 20 };
    abut_pair_self_intersection_list pairs = {NULL, 0, 0};
    abut_bvh *bvh = NULL;
    abut_status status = abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abut_pair_self_intersections(bvh, NULL, &pairs);
    if (status == ABUT_ERROR_BUFFER && pairs.count <= MOST &&
        (pairs.list = malloc((size_t)pairs.count * sizeof *pairs.list))) {
        pairs.capacity = pairs.count;
        status = abut_pair_self_intersections(bvh, NULL, &pairs);
    }
    abut_bvh_destroy(bvh);
    int code = 0;
    if (status && status != ABUT_ERROR_BUFFER)
        code = tool_fail(tool, status);
    else if (pairs.count)
        code = refuse_start(tool, path, pairs.list, pairs.count);
    free(pairs.list);
    return code;
}

/* Searches the step from one mesh to the next. */
static int search_step(tool_run *tool, sweep_run *s, const char *const path[2],
                       abut_mesh *const mesh[2]) {
    int code = s->regardless ? 0 : check_start(tool, path[0], mesh[0]);
    code = code ? code : moving_step(tool, &s->moving, path[0], mesh[0], path[1], mesh[1]);
    return code ? code : find_impacts(tool, s);
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
    print_fact(out, "first", "%s", names[0].data ? names[0].data : "");
    print_fact(out, "second", "%s", names[1].data ? names[1].data : "");
    char words[POINT_WORDS];
    print_fact(out, "point", "%s", point_words(impact->point, 6, words));
    out_end(out);
    text_free(&names[0]);
    text_free(&names[1]);
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
    if (!s->count)
        text_add(&words, "no impact");
    else if (s->mode == ABUT_SWEEP_ALL) {
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
    print_line(out, "%s%s", subject.data ? subject.data : "", words.data ? words.data : "");
    text_free(&subject);
    text_free(&words);
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

static const tool_column columns[] = {{"time", COLUMN_REAL, NULL}, {"kind", COLUMN_WORD, kind_name},
                                      {"v0", COLUMN_WHOLE, NULL},  {"v1", COLUMN_WHOLE, NULL},
                                      {"v2", COLUMN_WHOLE, NULL},  {"v3", COLUMN_WHOLE, NULL},
                                      {"x", COLUMN_REAL, NULL},    {"y", COLUMN_REAL, NULL},
                                      {"z", COLUMN_REAL, NULL},    {"nx", COLUMN_REAL, NULL},
                                      {"ny", COLUMN_REAL, NULL},   {"nz", COLUMN_REAL, NULL}};

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

/* ---- the picture ---- */

enum { DRAWN_PATHS_MAX = 64 };

static abut_vec3 at_time(const abut_mesh *const mesh[2], uint32_t vertex, double time) {
    abut_vec3 at[2];
    for (int k = 0; k < 2; k++) {
        abut_vec3 o = abut_mesh_local_origin(mesh[k]),
                  p = abut_mesh_local_positions(mesh[k])[vertex];
        at[k] = (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
    }
    return (abut_vec3){at[0].x + time * (at[1].x - at[0].x), at[0].y + time * (at[1].y - at[0].y),
                       at[0].z + time * (at[1].z - at[0].z)};
}

/* The mesh at a time within the step. */
static abut_status mesh_at(tool_run *tool, const abut_mesh *const mesh[2], double time,
                           abut_mesh **between) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    input.vertex_count = abut_mesh_vertex_count(mesh[0]);
    input.indices = abut_mesh_indices(mesh[0]);
    input.triangle_count = abut_mesh_triangle_count(mesh[0]);
    abut_vec3 *positions = malloc(input.vertex_count * sizeof *positions);
    if (!positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < input.vertex_count; i++)
        positions[i] = at_time(mesh, i, time);
    input.positions = positions;
    abut_status status = abut_mesh_create(tool->context, &input, between);
    free(positions);
    return status;
}

static const abut_colour orange = {1.0f, 0.55f, 0.0f, 1}, red = {0.86f, 0.08f, 0.12f, 1},
                         blue = {0.1f, 0.3f, 0.95f, 1};

/* Draws both features in orange at the time of impact, the contact point in red, and the path of
 * the first feature in blue if it does not hide the others. */
static abut_status draw_impact(abut_picture *picture, const sweep_run *s,
                               const abut_mesh *const mesh[2], const abut_impact *impact) {
    const bool edges = impact->kind == ABUT_IMPACT_EDGE_EDGE;
    uint32_t v[4];
    abut_vec3 at[4];
    abut_status status = ABUT_OK;
    moving_vertices(&s->moving, impact, v);
    for (int k = 0; k < 4; k++)
        at[k] = at_time(mesh, v[k], impact->time);
    if (edges) {
        status = abut_picture_add_line(picture, at[0], at[1], 2.5, orange);
        status = status ? status : abut_picture_add_line(picture, at[2], at[3], 2.5, orange);
    }
    for (int k = 0; !edges && !status && k < 3; k++)
        status = abut_picture_add_line(picture, at[1 + k], at[1 + (k + 1) % 3], 2.5, orange);
    const int ways = s->count > DRAWN_PATHS_MAX ? 0 : edges ? 2 : 1;
    for (int k = 0; !status && k < ways; k++)
        status = abut_picture_add_line(picture, at_time(mesh, v[k], 0), at_time(mesh, v[k], 1), 1.5,
                                       blue);
    return status ? status : abut_picture_add_point(picture, impact->point, 9, red);
}

/* Writes the page: the whole step, with each impact from its time on. */
static abut_status write_sweep_page(tool_run *tool, const sweep_run *s,
                                    const abut_mesh *const mesh[2],
                                    const abut_picture_options *camera) {
    enum { FRAMES = 61 };
    tool_legend legend = {0};
    abut_mesh_style style = abut_mesh_style_default();
    abut_status status = ABUT_OK;
    style.smooth = true;
    style.colour = abut_picture_colour(0);
    legend_add(&legend, style.colour, "the mesh, from start to end");
    legend_add(&legend, orange, "edges and faces that touch");
    legend_add(&legend, red, "contact points");
    legend_add(&legend, blue, "path of the first feature");
    view_rate(tool->view, 1.0 / 30);
    for (int i = 0; i < FRAMES && !status; i++) {
        double time = (double)i / (FRAMES - 1);
        abut_picture *picture = NULL;
        abut_mesh *between = NULL;
        status = mesh_at(tool, mesh, time, &between);
        status = status ? status : abut_picture_create(tool->context, camera, &picture);
        status = status ? status : abut_picture_add_mesh(picture, between, (abut_pose){0}, &style);
        for (size_t k = 0; !status && k < s->count; k++)
            if (s->impacts[k].time <= time)
                status = draw_impact(picture, s, mesh, &s->impacts[k]);
        status = status ? status : view_picture(tool->view, picture, &legend);
        abut_picture_destroy(picture);
        abut_mesh_destroy(between);
    }
    return status ? status : view_write(tool);
}

static int draw_sweep(tool_run *tool, const tool_arguments *arguments, const sweep_run *s,
                      const abut_mesh *const mesh[2]) {
    const tool_given *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    abut_picture *picture = NULL;
    abut_mesh *between = NULL;
    abut_mesh_style style = abut_mesh_style_default();
    int code = png ? camera_read(tool, arguments, &camera) : 0;
    if (code || !png)
        return code;
    tool_legend legend = {0};
    style.smooth = true;
    legend_add(&legend, abut_picture_colour(0), "at time %.6g", s->count ? s->impacts[0].time : 1);
    if (s->count) {
        legend_add(&legend, orange, "edges and faces that touch, each at its time");
        legend_add(&legend, red, "contact points");
    }
    if (s->count && s->count <= DRAWN_PATHS_MAX)
        legend_add(&legend, blue, "path of the first feature");
    if (tool->view) {
        abut_status shown = write_sweep_page(tool, s, mesh, &camera);
        if (shown || png->words == view_path(tool->view))
            return shown ? tool_fail(tool, shown) : 0;
    }
    abut_status status = mesh_at(tool, mesh, s->count ? s->impacts[0].time : 1, &between);
    status = status ? status : abut_picture_create(tool->context, &camera, &picture);
    status = status ? status : abut_picture_add_mesh(picture, between, (abut_pose){0}, &style);
    for (size_t i = 0; !status && i < s->count; i++)
        status = draw_impact(picture, s, mesh, &s->impacts[i]);
    status = status ? status : picture_write(tool, picture, &camera, &legend, png->words);
    abut_picture_destroy(picture);
    abut_mesh_destroy(between);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- two files ---- */

static int run_two(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    const tool_given *first = option_given(arguments, "first"),
                     *table_path = option_given(arguments, "out");
    const char *const *path = arguments->operands;
    abut_mesh *mesh[2] = {NULL, NULL};
    abut_status status = tool_read(tool, path[0], NULL, &mesh[0]);
    status = status ? status : tool_read(tool, path[1], NULL, &mesh[1]);
    int code = status ? tool_fail(tool, status) : 0;
    if (!code)
        code = moving_create(tool, mesh[0], s->parts, &s->motion, &s->moving);
    progress_start(tool->progress, path[1]);
    code = code ? code : search_step(tool, s, path, mesh);
    if (!code && table_path) {
        tool_table table = {columns, 12, s->count, fill_impact_row, s};
        code = table_write(tool, table_path->words, &table);
    }
    code =
        code ? code : draw_sweep(tool, arguments, s, (const abut_mesh *const[2]){mesh[0], mesh[1]});
    if (!code) {
        out_object(&tool->out, NULL);
        print_impacts(tool, s, path, mesh[0], first ? first->counts[0] : 8);
        out_end(&tool->out);
        tool_text words = {0};
        if (s->count)
            text_number(&words, s->impacts[0].time);
        answer(tool, "%s", words.data ? words.data : "never");
        text_free(&words);
        code = s->count ? CODE_FOUND : CODE_FINE;
    }
    abut_mesh_destroy(mesh[0]);
    abut_mesh_destroy(mesh[1]);
    return code;
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
    print_fact(out, "first", "%s", impact && names[0].data ? names[0].data : "");
    print_fact(out, "second", "%s", impact && names[1].data ? names[1].data : "");
    out_end(out);
    text_free(&names[0]);
    text_free(&names[1]);
    if (out->json) {
        progress_erase(tool->progress);
        output_flush(out); /* one line for each step, flushed at once for a reader of the pipe */
    }
}

static void start_progress(tool_run *tool, uint64_t step, uint64_t count) {
    tool_text subject = {0};
    text_print(&subject, "step %llu of %llu", (unsigned long long)step, (unsigned long long)count);
    progress_start(tool->progress, subject.data ? subject.data : "");
    text_free(&subject);
}

static void begin_steps(tool_run *tool) {
    tool->out.lines = true;
    if (!tool->out.json)
        out_table(&tool->out, "steps");
}

static int end_steps(tool_run *tool, int code, uint64_t hits, uint64_t steps) {
    if (!tool->out.json && !code) {
        out_end(&tool->out);
        print_line(&tool->out, "%llu of %llu steps with an impact", (unsigned long long)hits,
                   (unsigned long long)steps);
        answer(tool, "%llu", (unsigned long long)hits);
    }
    return code ? code : hits ? CODE_FOUND : CODE_FINE;
}

static int run_step(tool_run *tool, sweep_run *s, const tool_frames *frames, size_t step,
                    abut_mesh *mesh[2]) {
    const char *const path[2] = {frames->paths[step], frames->paths[step + 1]};
    abut_status status = tool_read(tool, path[1], NULL, &mesh[1]);
    int code = status ? tool_fail(tool, status) : 0;
    if (!code && !s->moving.motion)
        code = moving_create(tool, mesh[0], s->parts, &s->motion, &s->moving);
    start_progress(tool, step + 1, frames->count - 1);
    code = code ? code : search_step(tool, s, path, mesh);
    if (!code)
        print_step(tool, s, step, path);
    return code;
}

static int run_folder(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    const char *folder = arguments->operands[0];
    tool_frames frames = {0};
    abut_mesh *mesh[2] = {NULL, NULL};
    size_t hits = 0, steps = 0;
    int code = frames_list(tool, folder, &frames);
    abut_status status = code ? ABUT_OK : tool_read(tool, frames.paths[0], NULL, &mesh[0]);
    code = status ? tool_fail(tool, status) : code;
    begin_steps(tool);
    for (; !code && steps + 1 < frames.count; steps++) {
        code = run_step(tool, s, &frames, steps, mesh);
        hits += !code && s->count;
        abut_mesh_destroy(mesh[0]);
        mesh[0] = mesh[1];
        mesh[1] = NULL;
    }
    abut_mesh_destroy(mesh[0]);
    abut_mesh_destroy(mesh[1]);
    frames_free(&frames);
    return end_steps(tool, code, hits, steps);
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
    step_answer *list; /* from malloc, as keys */
    uint64_t *keys;
    uint64_t count;
    size_t room, key_room;
} step_answers;

/* Prints a step, or keeps it until all are collected. */
static int print_or_keep_step(tool_run *tool, sweep_run *s, step_answers *all, uint64_t step) {
    if (!tool->share) {
        print_step(tool, s, step, NULL);
        return 0;
    }
    step_answer answer = {.counts = s->counts, .count = s->count};
    if (s->count)
        answer.first = s->impacts[0];
    if (!tool_grow(&all->list, all->count, &all->room, sizeof *all->list) ||
        !tool_grow(&all->keys, all->count, &all->key_room, sizeof *all->keys))
        return tool_fail_with(tool, "out of memory", "not enough memory for the steps");
    all->keys[all->count] = step;
    all->list[all->count++] = answer;
    return 0;
}

/* Prints all steps in the first process; `first` is the index of the first step. */
static int print_steps(tool_run *tool, int code, sweep_run *s, step_answers *all, uint64_t first,
                       uint64_t *hits) {
    code = share_agree(tool, code);
    if (!code && tool->share) {
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
    free(all->list);
    free(all->keys);
    return code;
}

/* ---- a recording ---- */

static int run_frame(tool_run *tool, sweep_run *s, tool_recording *r, uint64_t frame,
                     const char *path, step_answers *all) {
    abut_mesh *mesh = NULL;
    int code = recording_read(tool, r, frame);
    if (!code && (!s->regardless || !s->moving.motion))
        code = recording_mesh(tool, r, &mesh);
    if (!code && !s->moving.motion)
        code = moving_create(tool, mesh, s->parts, &s->motion, &s->moving);
    if (!code && !s->regardless) {
        tool_text name = {0};
        text_print(&name, "%s, frame %llu", path, (unsigned long long)frame - 1);
        code = check_start(tool, name.data ? name.data : path, mesh);
        text_free(&name);
    }
    abut_mesh_destroy(mesh);
    code = code ? code : moving_step_to(tool, &s->moving, r->start, r->end);
    code = code ? code : find_impacts(tool, s);
    return code ? code : print_or_keep_step(tool, s, all, frame);
}

static int run_recording(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    tool_recording r = {0};
    step_answers all = {0};
    uint64_t hits = 0, steps = 0;
    progress_start(tool->progress, arguments->operands[0]);
    int code = recording_open(tool, arguments, &r);
    if (!code)
        begin_steps(tool);
    for (uint64_t frame = r.first; !code && frame <= r.last; frame++) {
        start_progress(tool, ++steps, r.last - r.first + 1);
        if (!share_mine(tool, frame - r.first, STEPS_PER_CHUNK))
            continue;
        if ((frame - r.first) % STEPS_PER_CHUNK == 0)
            moving_free(&s->moving);
        code = run_frame(tool, s, &r, frame, arguments->operands[0], &all);
        hits += !code && s->count;
    }
    code = print_steps(tool, code, s, &all, r.first, &hits);
    recording_close(&r);
    return end_steps(tool, code, hits, steps);
}

/* ---- the command ---- */

static int read_sweep_options(tool_run *tool, const tool_arguments *arguments, sweep_run *s) {
    const tool_given *mode = option_given(arguments, "mode"),
                     *thickness = option_given(arguments, "thickness"),
                     *tolerance = option_given(arguments, "tolerance"),
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
    s->options.tolerance = tolerance ? tolerance->numbers[0] : 0;
    s->options.exact = option_given(arguments, "exact") != NULL;
    s->regardless = option_given(arguments, "regardless") != NULL;
    s->motion.skip_pairs = option_given(arguments, "self") != NULL;
    s->motion.skip_self = option_given(arguments, "others") != NULL;
    s->parts = s->motion.skip_self || s->motion.skip_pairs;
    if (s->motion.skip_self && s->motion.skip_pairs)
        return tool_refuse(tool, "--self and --others cannot be combined: no impact would remain");
    if (s->options.exact && thickness)
        return tool_refuse(
            tool,
            "--exact and --thickness cannot be combined: --exact tests for contact at distance 0");
    if (folder && (png || option_given(arguments, "out")))
        return tool_refuse(tool, "--%s needs a single step: two files START END",
                           png ? "png" : "out");
    int code = png ? picture_check(tool, png->words) : 0;
    if (code)
        return code;
    if (folder && !s->recording && !frames_is_folder(arguments->operands[0]))
        return tool_refuse(
            tool,
            "%s: END is missing: name two meshes, a folder of meshes, or a recording (.abutm)",
            arguments->operands[0]);
    static const char *const of_recordings[] = {"from", "to", "frames-only"};
    for (int k = 0; k < 3 && !s->recording; k++)
        if (option_given(arguments, of_recordings[k]))
            return tool_refuse(tool, "--%s applies to recordings (.abutm) only", of_recordings[k]);
    return 0;
}

static int run_sweep(tool_run *tool, const tool_arguments *arguments) {
    sweep_run s = {0};
    abut_device *device = NULL;
    int code = read_sweep_options(tool, arguments, &s);
    if (!code && tool->share && !s.recording)
        code = tool_refuse(tool, "several processes need a recording (.abutm)");
    code = code ? code : device_open(tool, arguments, &device);
    s.motion.device = device;
    if (!code)
        code = s.recording                     ? run_recording(tool, arguments, &s)
               : arguments->operand_count == 1 ? run_folder(tool, arguments, &s)
                                               : run_two(tool, arguments, &s);
    moving_free(&s.moving);
    abut_device_destroy(device);
    free(s.impacts);
    return code;
}

static const tool_option options[] = {
    {"mode", "MODE", OPTION_CHOICE,
     "impacts to find: the earliest one, all, or any one (default: earliest)", "earliest|all|any",
     false},
    {"thickness", "T", OPTION_POSITIVE, "an impact is where surfaces come this near (default: 0)",
     NULL, false},
    {"tolerance", "T", OPTION_POSITIVE,
     "distance that counts as contact (default: 1e-10 of the size of the mesh)", NULL, false},
    {"exact", NULL, OPTION_FLAG, "decide impacts within the tolerance by exact arithmetic", NULL,
     false},
    {"self", NULL, OPTION_FLAG, "only impacts of a component with itself", NULL, false},
    {"others", NULL, OPTION_FLAG, "only impacts between components", NULL, false},
    {"regardless", NULL, OPTION_FLAG, "continue if the mesh intersects itself at the start", NULL,
     false},
    {"from", "N", OPTION_COUNT, "recordings: first frame that a step ends at (default: 1)", NULL,
     false},
    {"to", "N", OPTION_COUNT, "recordings: last frame that a step ends at (default: the last one)",
     NULL, false},
    {"frames-only", NULL, OPTION_FLAG,
     "recordings: steps end at the recorded frames, not at the aims (positions before collision "
     "response)",
     NULL, false},
    {"first", "N", OPTION_COUNT, "number of impacts to list (default: 8)", NULL, false},
    {"out", "FILE", OPTION_TEXT,
     "write all impacts to FILE: PLY or NPY by the file extension, otherwise CSV", NULL, false},
    {"png", "FILE", OPTION_TEXT,
     "draw the mesh at the time of the first impact, with all impacts found", NULL, false},
    PAGE_OPTION,
    {"view", "VIEW", OPTION_TEXT, "view direction of the picture, as for 'abut picture'",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT, "up axis of the picture (default: that of the file, otherwise z)",
     "x|y|z|-x|-y|-z", false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run_sweep,
};
