/* The health report as a picture: the defects that `abut info` reports, drawn at their
 * positions.
 *
 * All problem elements are marked: the report has only the first of each kind, so that the
 * others are queried. */
#include "view.h"

typedef struct defect_mark {
    abut_problem_kind kind;
    const char *colour_name;
    abut_colour colour;
    double width; /* pixels */
} defect_mark;

/* Distinguishable on pale grey, also with colour blindness for kinds that often occur side by
 * side. */
static const defect_mark marks[] = {
    {ABUT_PROBLEM_BOUNDARY_EDGE, "red", {0.86f, 0.08f, 0.12f, 1}, 3},
    {ABUT_PROBLEM_NONMANIFOLD_EDGE, "magenta", {0.85f, 0.0f, 0.85f, 1}, 4},
    {ABUT_PROBLEM_FLIPPED_EDGE, "orange", {1.0f, 0.55f, 0.0f, 1}, 3},
    {ABUT_PROBLEM_NONMANIFOLD_VERTEX, "purple", {0.45f, 0.0f, 0.7f, 1}, 10},
    {ABUT_PROBLEM_DEGENERATE_TRIANGLE, "blue", {0.1f, 0.3f, 0.95f, 1}, 4},
    {ABUT_PROBLEM_DUPLICATE_TRIANGLE, "teal", {0.0f, 0.6f, 0.6f, 1}, 4},
    {ABUT_PROBLEM_COINCIDENT_VERTEX, "black", {0.1f, 0.1f, 0.1f, 1}, 7},
    {ABUT_PROBLEM_SELF_INTERSECTION, "brown", {0.5f, 0.25f, 0.05f, 1}, 3},
};
enum { MARK_COUNT = sizeof marks / sizeof *marks };

/* Draws a triangle as its outline and a dot, since a degenerate one has no visible outline. */
static void draw_triangle(abut_picture *picture, const abut_mesh *mesh, uint32_t triangle,
                          const defect_mark *mark) {
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    ensure(abut_picture_add_point(picture, mesh_point(mesh, corner[0]), 2 * mark->width,
                                  mark->colour));
    for (int k = 0; k < 3; k++)
        ensure(abut_picture_add_line(picture, mesh_point(mesh, corner[k]),
                                     mesh_point(mesh, corner[(k + 1) % 3]), mark->width,
                                     mark->colour));
}

static void draw_element(abut_picture *picture, const abut_mesh *mesh,
                         const abut_topology_arrays *view, uint32_t element,
                         const defect_mark *mark) {
    const uint32_t *ends;
    switch (mark->kind) {
    case ABUT_PROBLEM_BOUNDARY_EDGE:
    case ABUT_PROBLEM_NONMANIFOLD_EDGE:
    case ABUT_PROBLEM_FLIPPED_EDGE:
        ends = view->edges + 2 * (size_t)element;
        ensure(abut_picture_add_line(picture, mesh_point(mesh, ends[0]), mesh_point(mesh, ends[1]),
                                     mark->width, mark->colour));
        return;
    case ABUT_PROBLEM_DEGENERATE_TRIANGLE:
    case ABUT_PROBLEM_DUPLICATE_TRIANGLE:
    case ABUT_PROBLEM_SELF_INTERSECTION:
        draw_triangle(picture, mesh, element, mark);
        return;
    default:
        ensure(
            abut_picture_add_point(picture, mesh_point(mesh, element), mark->width, mark->colour));
        return;
    }
}

/* Returns all intersecting triangles, ascending. */
static void list_cuts(abut_mesh *mesh, uint64_t pair_count, uint32_t *elements) {
    abut_bvh *bvh = NULL;
    uint32_t triangles = abut_mesh_triangle_count(mesh), used = 0;
    abut_pair_self_intersection *memory = tool_array((size_t)pair_count, sizeof *memory);
    abut_pair_self_intersection_list pairs = {memory, pair_count, 0};
    unsigned char *marked = tool_array(triangles, 1);
    ensure(abut_bvh_create(mesh, NULL, &bvh));
    ensure(abut_pair_self_intersections(bvh, NULL, &pairs));
    for (uint64_t i = 0; i < pairs.count; i++)
        marked[memory[i].triangle[0]] = marked[memory[i].triangle[1]] = 1;
    for (uint32_t i = 0; i < triangles; i++)
        if (marked[i])
            elements[used++] = i;
    abut_bvh_destroy(bvh);
}

static void draw_kind(abut_picture *picture, abut_mesh *mesh, const abut_topology *topology,
                      const abut_mesh_report *report, const defect_mark *mark) {
    abut_topology_arrays view = get_topology_arrays(topology);
    uint32_t count = report->problems[mark->kind].count;
    uint32_t *elements = tool_array(count, sizeof *elements);
    abut_index_list listed = {elements, count, 0};
    if (mark->kind == ABUT_PROBLEM_SELF_INTERSECTION)
        list_cuts(mesh, report->self_intersection_count, elements);
    else
        ensure(abut_mesh_get_problem_elements(topology, mark->kind, &listed));
    for (uint32_t i = 0; i < count; i++)
        draw_element(picture, mesh, &view, elements[i], mark);
}

static void print_legend(tool_output *out, const char *path, const abut_mesh_report *report,
                         bool given_up) {
    uint64_t total = 0;
    for (size_t i = 0; i < MARK_COUNT; i++)
        total += report->problems[marks[i].kind].count;
    print_line_of(out, path, "%s%s", total ? "defects marked in the picture" : "nothing to mark",
                  given_up ? "; too many candidate pairs to find all self-intersections" : "");
    out_table(out, "marks");
    for (size_t i = 0; i < MARK_COUNT; i++) {
        abut_problem_kind kind = marks[i].kind;
        if (!report->problems[kind].count)
            continue;
        out_object(out, NULL);
        fact_text(out, "colour", marks[i].colour_name);
        fact_text(out, "problem", abut_problem_kind_name(kind));
        fact_count(out, "count", report->problems[kind].count);
        out_end(out);
    }
    out_end(out);
    print_line(out, "%s", "");
}

static void draw_all(abut_picture *picture, abut_mesh *mesh, tool_legend *legend,
                     abut_mesh_report *found, bool *given_up) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    ensure(abut_topology_create(mesh, &topology));
    ensure(abut_mesh_examine(topology, &report));
    tool_examine_self(mesh, &report, given_up);
    for (size_t i = 0; i < MARK_COUNT; i++)
        if (report.problems[marks[i].kind].count) {
            legend_add(legend, marks[i].colour, "%s", abut_problem_kind_name(marks[i].kind));
            legend_amount(legend, report.problems[marks[i].kind].count);
            draw_kind(picture, mesh, topology, &report, &marks[i]);
        }
    *found = report;
    abut_topology_destroy(topology);
}

void defects_draw(tool_run *tool, abut_picture *picture, const char *path, abut_mesh *mesh,
                  tool_legend *legend) {
    abut_mesh_report report = abut_mesh_report_default();
    bool given_up = false;
    draw_all(picture, mesh, legend, &report, &given_up);
    print_legend(&tool->out, path, &report, given_up);
}

void defects_mark(abut_picture *picture, abut_mesh *mesh, tool_legend *legend) {
    abut_mesh_report report = abut_mesh_report_default();
    bool given_up = false;
    draw_all(picture, mesh, legend, &report, &given_up);
}

void defects_page(tool_run *tool, const tool_arguments *arguments) {
    abut_mesh_read_options options = abut_mesh_read_options_default();
    abut_picture_options camera = abut_picture_options_default();
    tool_legend legend = {0};
    const tool_given *from = option_given(arguments, "from");
    if (from)
        options.format = tool_format(from->words);
    tool->up = (abut_vec3){0, 0, 0};
    abut_picture *picture = picture_new(tool, &camera);
    for (size_t i = 0; i < arguments->operand_count; i++) {
        abut_mesh *mesh = NULL;
        abut_mesh_style style = abut_mesh_style_default();
        if (tool_read(tool, arguments->operands[i], &options, &mesh))
            continue; /* the error was already reported */
        style.smooth = true;
        style.colour = abut_picture_colour((uint32_t)i);
        legend_file(&legend, style.colour, arguments->operands[i]);
        ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
        defects_mark(picture, mesh, &legend);
        abut_mesh_destroy(mesh);
    }
    view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
}
