/* abut info: prints the health report of each file. */
#include "apps/get.h"
#include "view.h"

#include <math.h>
#include <string.h>

/* The name of a kind of problem in sentences, and its kind of element. */
static const struct {
    const char *one, *many, *element;
} problem_words[] = {
    [ABUT_PROBLEM_DEGENERATE_TRIANGLE] = {"degenerate triangle", "degenerate triangles",
                                          "triangle"},
    [ABUT_PROBLEM_DUPLICATE_TRIANGLE] = {"duplicate triangle", "duplicate triangles", "triangle"},
    [ABUT_PROBLEM_BOUNDARY_EDGE] = {"boundary edge", "boundary edges", "edge"},
    [ABUT_PROBLEM_NONMANIFOLD_EDGE] = {"non-manifold edge", "non-manifold edges", "edge"},
    [ABUT_PROBLEM_NONMANIFOLD_VERTEX] = {"non-manifold vertex", "non-manifold vertices", "vertex"},
    [ABUT_PROBLEM_FLIPPED_EDGE] = {"flipped edge", "flipped edges", "edge"},
    [ABUT_PROBLEM_INWARD_COMPONENT] = {"inverted component", "inverted components", "triangle"},
    [ABUT_PROBLEM_COINCIDENT_VERTEX] = {"coincident vertex", "coincident vertices", "vertex"},
    [ABUT_PROBLEM_UNUSED_VERTEX] = {"unused vertex", "unused vertices", "vertex"},
    [ABUT_PROBLEM_SELF_INTERSECTION] = {"self-intersecting triangle", "self-intersecting triangles",
                                        "triangle"},
};

/* Whether the self-intersection test is complete. */
typedef enum self_search { SELF_COMPLETE, SELF_GIVEN_UP, SELF_SKIPPED } self_search;

static uint64_t problem_total(const abut_mesh_report *report) {
    uint64_t total = 0;
    for (int kind = 0; kind < ABUT_PROBLEM_KIND_MAX; kind++)
        total += report->problems[kind].count;
    return total;
}

/* "1 hole", "34,834 vertices". */
static void add_counted(tool_text *to, uint64_t count, const char *one, const char *many) {
    text_grouped(to, count);
    text_print(to, " %s", count == 1 ? one : many);
}

/* ---- the headline ---- */

/* Adds the most important problems, in the order of their consequences. Boundary edges are
 * counted as loops. */
static void add_level(tool_text *to, const abut_mesh_report *report) {
    static const abut_problem_kind order[] = {
        ABUT_PROBLEM_NONMANIFOLD_EDGE,    ABUT_PROBLEM_FLIPPED_EDGE,
        ABUT_PROBLEM_INWARD_COMPONENT,    ABUT_PROBLEM_NONMANIFOLD_VERTEX,
        ABUT_PROBLEM_SELF_INTERSECTION,   ABUT_PROBLEM_DUPLICATE_TRIANGLE,
        ABUT_PROBLEM_DEGENERATE_TRIANGLE, ABUT_PROBLEM_COINCIDENT_VERTEX,
        ABUT_PROBLEM_UNUSED_VERTEX};
    int told = 0, left = 0;
    uint32_t open_edges = report->problems[ABUT_PROBLEM_BOUNDARY_EDGE].count;
    if (report->loop_count)
        add_counted(to, report->loop_count, "boundary loop", "boundary loops");
    else if (open_edges) /* a boundary chain may end at non-manifold edges instead of closing */
        add_counted(to, open_edges, "boundary edge", "boundary edges");
    told += report->loop_count || open_edges;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint32_t count = report->problems[order[i]].count;
        if (!count)
            continue;
        if (told == 3) {
            left++;
            continue;
        }
        text_add(to, told++ ? ", " : "");
        add_counted(to, count, problem_words[order[i]].one, problem_words[order[i]].many);
    }
    if (left)
        text_print(to, " and %d more kind%s of problem", left, left == 1 ? "" : "s");
    if (!told)
        text_add(to, "no problems");
}

/* A surface that is not closed has boundary edges, or only edges with three or more faces. */
static const char *open_words(const abut_mesh_report *report) {
    return report->problems[ABUT_PROBLEM_BOUNDARY_EDGE].count ? "open" : "not closed";
}

static void print_headline(tool_output *out, const char *path, const abut_mesh_report *report,
                           self_search self) {
    tool_text words = {0};
    bool fine = problem_total(report) == 0 && self != SELF_GIVEN_UP;
    if (report->is_closed)
        text_add(&words, report->is_solid ? "closed solid, " : "closed surface, ");
    else if (report->problems[ABUT_PROBLEM_BOUNDARY_EDGE].count)
        text_add(&words, "open surface, ");
    else
        text_add(&words, "non-manifold surface, ");
    add_counted(&words, report->vertex_count, "vertex", "vertices");
    text_add(&words, ", ");
    add_counted(&words, report->triangle_count, "triangle", "triangles");
    text_print(&words, "; %s", shade_on(out, fine ? SHADE_GOOD : SHADE_WARN));
    add_level(&words, report);
    if (self == SELF_GIVEN_UP)
        text_add(&words, "; self-intersection test stopped: too many candidate pairs");
    text_add(&words, shade_off(out));
    print_line_of(out, path, "%s", text_of(&words));
}

/* ---- text output ---- */

static void print_surface(tool_output *out, const abut_mesh_report *report, self_search self) {
    tool_text pieces = {0};
    print_fact(out, "surface", "%s, %s, %s", report->is_closed ? "closed" : open_words(report),
               report->is_manifold ? "manifold" : "not manifold",
               report->is_oriented ? "consistently oriented" : "not consistently oriented");
    add_counted(&pieces, report->component_count, "component", "components");
    text_add(&pieces, ", ");
    add_counted(&pieces, report->loop_count, "boundary loop", "boundary loops");
    text_print(&pieces, ", Euler characteristic %lld", (long long)report->euler_number);
    print_fact(out, "topology", "%s", text_of(&pieces));
    if (report->hole_fraction > 0 && isfinite(report->hole_fraction))
        print_fact(out, "holes", "%.3g%% of the area%s", 100 * report->hole_fraction,
                   report->is_sheet     ? ": a sheet, without an interior"
                   : report->has_sheets ? ": some components are sheets, without an interior"
                                        : "");
    fact_count(out, "edges", report->edge_count);
    if (self == SELF_SKIPPED)
        print_fact(out, "self-intersections", "not tested");
    else if (self == SELF_GIVEN_UP)
        print_fact(out, "self-intersections",
                   "test stopped, too many candidate pairs: see --limit of 'abut selfcheck'");
    else if (report->self_intersection_count)
        print_fact(out, "self-intersections", "%llu pairs of triangles",
                   (unsigned long long)report->self_intersection_count);
}

/* Returns whether the file defines an up axis. */
static bool has_up_axis(const abut_vec3 *up) {
    return up->x != 0 || up->y != 0 || up->z != 0;
}

static void print_measures(tool_output *out, const abut_mesh_report *report, const abut_vec3 *up,
                           double thickness, bool all) {
    const abut_box *box = &report->bounds;
    char lo[POINT_WORDS], hi[POINT_WORDS];
    print_fact(out, "bounds", "%s to %s", point_words(box->lo, 6, lo), point_words(box->hi, 6, hi));
    print_fact(out, "size", "%.6g x %.6g x %.6g", box->hi.x - box->lo.x, box->hi.y - box->lo.y,
               box->hi.z - box->lo.z);
    if (has_up_axis(up))
        print_fact(out, "up", "%.6g, %.6g, %.6g", up->x, up->y, up->z);
    print_fact(out, "area", "%.6g", report->area);
    if (report->is_closed && report->is_oriented)
        print_fact(out, "volume", "%.6g%s", report->volume,
                   report->volume < 0 ? " (negative: inverted)" : "");
    else
        print_fact(out, "volume", "none: the surface %s%s",
                   report->is_closed || report->problems[ABUT_PROBLEM_BOUNDARY_EDGE].count ? "is "
                                                                                           : "",
                   report->is_closed ? "not consistently oriented"
                   : report->problems[ABUT_PROBLEM_BOUNDARY_EDGE].count ? "open"
                                                                        : "has non-manifold edges");
    if (isfinite(thickness))
        print_fact(out, "thinnest", "about %.3g: a signed distance field needs cells of %.3g there",
                   thickness, 0.5 * thickness);
    print_fact(out, "centroid", "%s (of the %s)", point_words(report->centroid, 6, lo),
               report->is_solid ? "solid" : "surface");
    if (!all)
        return;
    const double *inertia = report->inertia;
    print_fact(out, "inertia", "xx %.6g, yy %.6g, zz %.6g (of the %s, density 1)", inertia[0],
               inertia[1], inertia[2], report->is_solid ? "solid" : "surface");
    print_fact(out, "", "xy %.6g, yz %.6g, zx %.6g", inertia[3], inertia[4], inertia[5]);
}

/* ---- JSON output ---- */

static void write_facts(tool_output *out, const abut_mesh_report *report, const abut_vec3 *up,
                        double thickness, self_search self) {
    static const char *const searches[] = {"complete", "given-up", "skipped"};
    const abut_box *box = &report->bounds;
    abut_vec3 size = vec_sub(box->hi, box->lo);
    json_count(out, "vertices", report->vertex_count);
    json_count(out, "triangles", report->triangle_count);
    json_count(out, "edges", report->edge_count);
    json_count(out, "components", report->component_count);
    json_count(out, "boundary_loops", report->loop_count);
    json_number(out, "hole_fraction", report->hole_fraction); /* null without area */
    json_boolean(out, "has_sheets", report->has_sheets);
    json_boolean(out, "is_sheet", report->is_sheet);
    json_integer(out, "euler_number", report->euler_number);
    json_boolean(out, "closed", report->is_closed);
    json_boolean(out, "manifold", report->is_manifold);
    json_boolean(out, "oriented", report->is_oriented);
    json_boolean(out, "solid", report->is_solid);
    out_object(out, "bounds");
    json_vector(out, "lo", box->lo);
    json_vector(out, "hi", box->hi);
    out_end(out);
    json_vector(out, "size", size);
    if (has_up_axis(up))
        json_vector(out, "up", *up);
    else
        json_null(out, "up");
    json_number(out, "area", report->area);
    json_number(out, "volume", report->is_closed && report->is_oriented ? report->volume : NAN);
    json_number(out, "thickness", thickness);
    json_vector(out, "centroid", report->centroid);
    json_numbers(out, "inertia", report->inertia, 6);
    json_text(out, "self_search", searches[self]);
    if (report->has_self_intersection_test)
        json_count(out, "self_pairs", report->self_intersection_count);
    else
        json_null(out, "self_pairs");
    json_count(out, "problem_total", problem_total(report));
}

/* ---- problems and reliability ---- */

static uint32_t first_count(const abut_problem *problem) {
    return problem->count < ABUT_PROBLEM_FIRST_COUNT ? problem->count : ABUT_PROBLEM_FIRST_COUNT;
}

/* The index of an edge is internal to the topology, so that its two vertices are printed as
 * well. */
static void write_first(tool_output *out, const abut_problem *problem, bool edges,
                        const abut_topology_arrays *view) {
    out_list(out, "first");
    for (uint32_t i = 0; i < first_count(problem); i++)
        json_count(out, NULL, problem->first[i]);
    out_end(out);
    if (!edges)
        return;
    out_list(out, "first_vertices");
    for (uint32_t i = 0; i < first_count(problem); i++) {
        const uint32_t *edge = view->edges + 2 * (size_t)problem->first[i];
        double ends[2] = {edge[0], edge[1]};
        json_numbers(out, NULL, ends, 2);
    }
    out_end(out);
}

static void print_first(tool_output *out, const abut_problem *problem, bool edges,
                        const abut_topology_arrays *view) {
    tool_text words = {0};
    for (uint32_t i = 0; i < first_count(problem); i++) {
        const uint32_t *edge = view->edges + 2 * (size_t)problem->first[i];
        text_add(&words, i ? ", " : "");
        if (edges)
            text_print(&words, "%u-%u", edge[0], edge[1]);
        else
            text_print(&words, "%u", problem->first[i]);
    }
    text_add(&words, problem->count > ABUT_PROBLEM_FIRST_COUNT ? ", ..." : "");
    out_shade(out, SHADE_DIM);
    print_fact(out, "first", "%s", text_of(&words));
}

/* JSON lists every kind, text only those with a count. */
static void print_problems(tool_output *out, const abut_mesh_report *report,
                           const abut_topology_arrays *view) {
    out_table(out, "problems");
    for (int kind = 0; abut_problem_kind_name((abut_problem_kind)kind); kind++) {
        const abut_problem *problem = &report->problems[kind];
        const char *element = problem_words[kind].element;
        bool edges = strcmp(element, "edge") == 0;
        if (!problem->count && !out->json)
            continue;
        out_object(out, NULL);
        out_shade(out, SHADE_WARN);
        fact_text(out, "problem", abut_problem_kind_name((abut_problem_kind)kind));
        fact_count(out, "count", problem->count);
        json_text(out, "element", element);
        if (out->json)
            write_first(out, problem, edges, view);
        else
            print_first(out, problem, edges, view);
        out_end(out);
    }
    out_end(out);
}

static void print_reliability(tool_output *out, const abut_mesh_report *report) {
    static const tool_shade shades[] = {[ABUT_RELIABILITY_GUARANTEED] = SHADE_GOOD,
                                        [ABUT_RELIABILITY_LIMITED] = SHADE_WARN,
                                        [ABUT_RELIABILITY_UNRELIABLE] = SHADE_BAD};
    static const char *const marks[] = {[ABUT_RELIABILITY_GUARANTEED] = "\u2713",
                                        [ABUT_RELIABILITY_LIMITED] = "~",
                                        [ABUT_RELIABILITY_UNRELIABLE] = "\u2717"};
    static const char *const plain_marks[] = {[ABUT_RELIABILITY_GUARANTEED] = "+",
                                              [ABUT_RELIABILITY_LIMITED] = "~",
                                              [ABUT_RELIABILITY_UNRELIABLE] = "x"};
    out_table(out, "reliability");
    const struct {
        const char *method;
        abut_reliability reliability;
    } list[] = {{"nearest", abut_nearest_reliability(report)},
                {"pseudo-normal", abut_sign_reliability(report, ABUT_SIGN_NORMAL)},
                {"winding", abut_sign_reliability(report, ABUT_SIGN_WINDING)},
                {"containment", abut_pair_reliability(report)},
                {"self-view", abut_self_reliability(report)}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const abut_reliability *reliability = &list[i].reliability;
        out_object(out, NULL);
        fact_text(out, "method", list[i].method);
        json_text(out, "level", abut_reliability_level_name(reliability->level));
        out_shade(out, shades[reliability->level]);
        print_fact(out, "level", "%s %s",
                   out->unicode ? marks[reliability->level] : plain_marks[reliability->level],
                   abut_reliability_level_name(reliability->level));
        fact_text(out, "reason", reliability->reason);
        out_end(out);
    }
    out_end(out);
}

/* ---- the command ---- */

static abut_status examine_self(const abut_bvh *bvh, abut_mesh_report *report, bool *given_up) {
    abut_status status = abut_pair_examine(bvh, NULL, report);
    *given_up = status == ABUT_ERROR_LIMIT;
    return *given_up ? ABUT_OK : status;
}

void tool_examine_self(abut_mesh *mesh, abut_mesh_report *report, bool *given_up) {
    abut_bvh *bvh = NULL;
    ensure(abut_bvh_create(mesh, NULL, &bvh));
    ensure(examine_self(bvh, report, given_up));
    abut_bvh_destroy(bvh);
}

static abut_status examine(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                           self_search *self, abut_topology **topology, abut_mesh_report *report,
                           double *thickness) {
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    bool given_up = false;
    abut_status status = tool_read(tool, path, options, &mesh);
    if (!status)
        status = abut_topology_create(mesh, topology);
    if (!status)
        status = abut_mesh_examine(*topology, report);
    *thickness = HUGE_VAL; /* if the boundary cannot be analysed */
    if (!status && (*self != SELF_SKIPPED || report->is_solid))
        status = abut_bvh_create(mesh, NULL, &bvh);
    if (!status && *self != SELF_SKIPPED)
        status = examine_self(bvh, report, &given_up);
    if (given_up)
        *self = SELF_GIVEN_UP;
    if (!status && report->is_solid)
        status = abut_ray_thickness(bvh, thickness);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh); /* the topology retains it */
    return status;
}

/* Prints what a recording contains. */
static int print_recording(tool_run *tool, const char *path) {
    tool_output *out = &tool->out;
    if (out->begun && !tool->quiet)
        print_line(out, "%s", "");
    out_object(out, NULL);
    json_path(out, "file", path);
    const abut_status status = recording_print(tool, path);
    const int code = status ? tool_report_error(tool, status) : CODE_FINE;
    out_end(out);
    return code;
}

/* Processes one file. Returns its exit code. */
static int print_file(tool_run *tool, const char *path, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_mesh_read_options options = abut_mesh_read_options_default();
    const tool_given *from = option_given(arguments, "from");
    if (from)
        options.format = tool_format(from->words);
    self_search self = option_given(arguments, "no-self") ? SELF_SKIPPED : SELF_COMPLETE;
    out_object(out, NULL);
    json_path(out, "file", path);
    tool->up = (abut_vec3){0, 0, 0}; /* reliability of this file */
    double thickness = HUGE_VAL;
    abut_status status = examine(tool, path, &options, &self, &topology, &report, &thickness);
    int code = CODE_FINE;
    if (status == ABUT_ERROR_CANCELLED || tool_cancelled()) {
        code = CODE_CANCELLED;
    } else if (status) {
        code = tool_report_error(tool, status);
    } else {
        abut_topology_arrays view = get_topology_arrays(topology);
        if (out->begun && !tool->quiet)
            print_line(out, "%s", "");
        print_headline(out, path, &report, self);
        if (out->json) {
            write_facts(out, &report, &tool->up, thickness, self);
        } else if (!tool->quiet) {
            print_surface(out, &report, self);
            print_measures(out, &report, &tool->up, thickness,
                           option_given(arguments, "all") != NULL);
        }
        if (out->json || !tool->quiet) {
            print_problems(out, &report, &view);
            print_reliability(out, &report);
        }
        if (option_given(arguments, "strict"))
            code = problem_total(&report)  ? CODE_FOUND
                   : self == SELF_GIVEN_UP ? CODE_WORK
                                           : CODE_FINE;
    }
    abut_topology_destroy(topology);
    out_end(out);
    return code;
}

static int run_info(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    int worst = CODE_FINE;
    if (tool->view)
        defects_page(tool, arguments);
    out_object(out, NULL);
    out_list(out, "files");
    for (size_t i = 0; i < arguments->operand_count; i++) {
        const char *path = arguments->operands[i];
        int code =
            recording_is(path) ? print_recording(tool, path) : print_file(tool, path, arguments);
        if (code == CODE_CANCELLED)
            tool_fail(tool, ABUT_ERROR_CANCELLED);
        if (code == CODE_WORK || worst == CODE_FINE)
            worst = code;
        progress_erase(tool->progress);
        if (!out->json && !output_flush(out))
            break; /* standard output is closed */
    }
    out_end(out);
    out_end(out);
    return worst;
}

static const tool_option options[] = {
    FLAG("all", "also print the inertia tensor (--json always has it)"),
    FLAG("strict", "return 3 if any mesh has problems"),
    FLAG("no-self", "skip the self-intersection test, which takes about half of the time"),
    PAGE_OPTION,
    CHOICE("from", "FORMAT", CHOICE,
           "read all files as this format: obj, ply, stl, off, gltf or other",
           "obj|ply|stl|off|gltf|other"),
    {0}};

const tool_command command_info = {
    .name = "info",
    .operands = "FILE...",
    .summary = "check meshes: counts, defects, reliability of each method",
    .about =
        "Reads each file and prints a health report: counts, components, boundary loops, bounding "
        "box, area, volume, defects with their positions, and the reliability of each method of "
        "the library on this mesh. Of a recording (.abutm) it prints the meshes, the number of "
        "frames and their time. If a file cannot be read, the others are still processed. With "
        "--quiet only one line for each file is printed.\n\n"
        "Indices of vertices and triangles start at 0. An edge is written as its two vertices.",
    .found = "problems (with --strict)",
    .examples = "  abut info bunny.obj\n"
                "  abut info --json part.stl | jq '.files[0].closed'\n"
                "  abut info --strict --quiet *.ply || echo 'something needs repair'\n",
    .options = options,
    .operand_range = {1, UINT32_MAX},
    .run = run_info,
};
