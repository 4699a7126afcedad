/* abut map for moving bodies: frames in folders, or a recording. Prints a line for each frame,
 * with its time and the reach relative to that of the first frame (figure 6 of Sud et al. 2006). */
#include "apps/get.h"
#include "map.h"
#include "view.h"

#include <math.h>
#include <string.h>

bool map_recorded(const tool_arguments *arguments) {
    return arguments->operand_count == 1 &&
           strcmp(path_ending(arguments->operands[0]), "abutm") == 0;
}

bool map_moves(const tool_arguments *arguments) {
    bool moves = map_recorded(arguments);
    for (size_t i = 0; i < arguments->operand_count; i++)
        moves = moves || frames_is_folder(arguments->operands[i]);
    return moves;
}

/* ---- sources of frames ---- */

static void open_recording(tool_run *tool, map_frames_run *r) {
    const char *path = r->arguments->operands[0];
    ensure(abut_frames_open(tool->context, tool_input(tool, path), &r->recording));
    abut_frames_info info = get_frames_info(r->recording);
    tool->up = info.up;
    r->body_count = info.mesh_count;
    r->frame_count = info.frame_count;
    if (r->body_count < 2 && !r->query.self)
        tool_fail_with(tool, "file error",
                       "%s: has only one body; use --self for its distance to itself", path);
}

/* Checks that all folders have the same number of frames. */
static void list_folders(tool_run *tool, map_frames_run *r) {
    size_t first = 0;
    for (uint32_t i = 0; i < r->body_count; i++) {
        const char *path = r->arguments->operands[i];
        if (!frames_is_folder(path))
            continue;
        frames_list(tool, path, &r->folders[i]);
        if (r->frame_count && r->folders[i].count != r->frame_count)
            tool_fail_with(tool, "file error", "%s has %zu frames, but %s has %llu", path,
                           r->folders[i].count, r->arguments->operands[first],
                           (unsigned long long)r->frame_count);
        first = r->frame_count ? first : i;
        r->frame_count = r->folders[i].count;
    }
}

static void open_frames(tool_run *tool, map_frames_run *r) {
    const bool recorded = map_recorded(r->arguments);
    r->body_count = (uint32_t)r->arguments->operand_count;
    if (recorded)
        open_recording(tool, r);
    r->folders = tool_array(r->body_count, sizeof *r->folders);
    r->surfaces = tool_array(r->body_count, sizeof *r->surfaces);
    r->others = tool_array(r->body_count, sizeof *r->others);
    for (uint32_t i = 0; i < r->body_count; i++)
        r->surfaces[i].path = r->arguments->operands[recorded ? 0 : i];
    if (!recorded)
        list_folders(tool, r);
    r->rows = tool_array((size_t)r->frame_count, sizeof *r->rows);
}

/* Returns whether a body differs from the previous frame. */
bool map_body_moves(const map_frames_run *r, uint32_t body) {
    return r->recording || r->folders[body].count;
}

void map_read_body(tool_run *tool, map_frames_run *r, uint32_t body, uint64_t frame,
                   abut_mesh **mesh) {
    if (r->recording) {
        ensure(abut_frames_mesh_at(r->recording, frame, body, mesh));
        return;
    }
    const tool_frames *folder = &r->folders[body];
    ensure(
        tool_read(tool, folder->count ? folder->paths[frame] : r->surfaces[body].path, NULL, mesh));
}

/* ---- a frame ---- */

/* Builds the map in the first frame, and updates it in later ones. */
static void build_maps(tool_run *tool, map_frames_run *r) {
    for (uint32_t i = 1; i < r->body_count; i++) {
        surface_index(tool, r->device, r->query.sign, r->query.regardless, &r->surfaces[i]);
        r->others[i - 1].shape.body.bvh = r->surfaces[i].bvh;
    }
    surface_map(tool, r->arguments, 0, r->device, &r->surfaces[0]);
}

static void update_surfaces(tool_run *tool, map_frames_run *r, uint64_t frame) {
    for (uint32_t i = 0; i < r->body_count; i++) {
        if (!map_body_moves(r, i))
            continue;
        tool_surface *s = &r->surfaces[i];
        abut_status status =
            i ? abut_bvh_set_mesh(s->bvh, s->mesh) : abut_map_set_mesh(s->map, s->mesh);
        if (status == ABUT_ERROR_ARGUMENT)
            tool_fail_with(tool, abut_status_name(status),
                           "%s: the triangles of frame %llu differ from those of frame 0", s->path,
                           (unsigned long long)frame);
        ensure(status);
    }
}

static void run_frame(tool_run *tool, map_frames_run *r, uint64_t frame) {
    map_frame_row *row = &r->rows[frame];
    tool_text subject = {0};
    for (uint32_t i = 0; i < r->body_count; i++) {
        abut_mesh *mesh = NULL;
        if (frame && !map_body_moves(r, i))
            continue;
        map_read_body(tool, r, i, frame, &mesh);
        abut_mesh_destroy(r->surfaces[i].mesh);
        r->surfaces[i].mesh = mesh;
    }
    text_print(&subject, "frame %llu of %llu", (unsigned long long)frame,
               (unsigned long long)r->frame_count);
    progress_start(tool->progress, text_of(&subject));
    double start = seconds_now();
    if (frame)
        update_surfaces(tool, r, frame);
    else
        build_maps(tool, r);
    map_compute(r->surfaces[0].map, r->others, r->body_count - 1, &r->query);
    row->measures = abut_map_measures_default();
    ensure(abut_map_measure(r->surfaces[0].map, &r->query.measure, NULL, &row->measures));
    row->milliseconds = 1e3 * (seconds_now() - start);
    map_inside(r->surfaces[0].map, &row->measures, &row->inside_area);
    const abut_map_info info = get_map_info(r->surfaces[0].map);
    row->reach = info.reach;
    row->relative = info.reach_at_rest > 0 ? info.reach / info.reach_at_rest : 1;
}

/* ---- output ---- */

static const tool_column columns[] = {WHOLE("frame"),        REAL("ms"),
                                      REAL("least"),         REAL("error"),
                                      REAL("greatest"),      REAL("mean"),
                                      REAL("rms"),           REAL("within_area"),
                                      REAL("inside_area"),   REAL("reach"),
                                      REAL("relative_reach")};

void map_fill_frame_row(const void *data, size_t i, double *values) {
    const map_frame_row *row = &((const map_frame_row *)data)[i];
    const abut_map_measures *m = &row->measures;
    values[0] = (double)i;
    values[1] = row->milliseconds;
    values[2] = m->found ? m->min.distance : NAN;
    values[3] = m->found ? m->min_error : NAN;
    values[4] = m->found ? m->max.distance : NAN;
    values[5] = m->found ? m->mean : NAN;
    values[6] = m->found ? m->rms : NAN;
    values[7] = m->within_area;
    values[8] = row->inside_area;
    values[9] = row->reach;
    values[10] = row->relative;
}

static void print_frame(tool_run *tool, const map_frames_run *r, uint64_t frame) {
    tool_output *out = &tool->out;
    double values[TABLE_COLUMNS];
    const abut_map_measures *m = &r->rows[frame].measures;
    map_fill_frame_row(r->rows, (size_t)frame, values);
    out_object(out, NULL);
    fact_count(out, "frame", frame);
    if (out->json) {
        for (size_t k = 1; k < sizeof columns / sizeof *columns; k++)
            json_number(out, columns[k].name, values[k]);
    } else {
        print_fact(out, "ms", "%.3g", values[1]);
        print_fact(out, "least", isnan(values[2]) ? "beyond" : "%.6g", map_rounded(values[2], m));
        print_fact(out, "mean", isnan(values[5]) ? "-" : "%.6g", map_rounded(values[5], m));
        if (r->query.measure.within != 0)
            print_fact(out, "area within", "%.4g", values[7]);
        if (get_map_info(r->surfaces[0].map).has_sign)
            print_fact(out, "area inside", "%.4g", values[8]);
        print_fact(out, "reach", "%.3g x", values[10]);
    }
    out_end(out);
    if (out->json)
        tool_flush_lines(tool);
}

/* Writes the table of frames and the plot. */
static void write_files(tool_run *tool, const map_frames_run *r) {
    const tool_arguments *arguments = r->arguments;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name, *path = arguments->given[i].words;
        if (!word_in(name, "png|out"))
            continue;
        tool_table table = {columns, sizeof columns / sizeof *columns, (size_t)r->frame_count,
                            map_fill_frame_row, r->rows};
        if (name[0] == 'p' || word_in(path_ending(path), "png|ppm"))
            map_frames_plot(tool, r, path);
        else
            table_write(tool, path, &table);
    }
}

/* Prints the mean time of all frames except the first, which builds the atlas. */
static void print_frames_summary(tool_run *tool, const map_frames_run *r) {
    double sum = 0, worst = 0, least = HUGE_VAL;
    for (uint64_t i = 0; i < r->frame_count; i++) {
        sum += i ? r->rows[i].milliseconds : 0;
        worst = fmax(worst, r->rows[i].relative);
        if (r->rows[i].measures.found)
            least = fmin(least, r->rows[i].measures.min.distance);
    }
    print_line(&tool->out,
               "%llu frames, %.3g ms each after the first; minimum distance %.6g; reach at most "
               "%.3g times that of the first frame",
               (unsigned long long)r->frame_count, sum / fmax(1, (double)r->frame_count - 1), least,
               worst);
    answer_number(tool, least < HUGE_VAL, least, "none");
}

void map_frames(tool_run *tool, const tool_arguments *arguments, abut_device *device,
                const map_query_options *query) {
    map_frames_run r = {.arguments = arguments, .query = *query, .device = device};
    open_frames(tool, &r);
    tool->out.lines = true;
    if (!tool->out.json)
        out_table(&tool->out, "frames");
    for (uint64_t frame = 0; frame < r.frame_count; frame++) {
        run_frame(tool, &r, frame);
        if (tool_cancelled())
            tool_fail(tool, ABUT_ERROR_CANCELLED);
        if (tool->view)
            map_keep_frame(&r, frame);
        print_frame(tool, &r, frame);
    }
    if (!tool->out.json) {
        out_end(&tool->out);
        print_frames_summary(tool, &r);
    }
    write_files(tool, &r);
    if (tool->view)
        map_frames_page(tool, &r);
    for (uint32_t i = 0; i < r.body_count; i++) {
        surface_free(&r.surfaces[i]);
    }
    abut_frames_close(r.recording);
}
