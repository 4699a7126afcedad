/* The health report as a picture: the defects that `abut info` reports, drawn at their
 * positions.
 *
 * All problem elements are marked: the report has only the first of each kind, so that the
 * others are queried. */
#include "tool.h"

#include <string.h>

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

static abut_vec3 vertex_position(const abut_mesh *mesh, uint32_t vertex) {
    abut_vec3 o = abut_mesh_local_origin(mesh), p = abut_mesh_local_positions(mesh)[vertex];
    return (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
}

/* Draws a triangle as its outline and a dot, since a degenerate one has no visible outline. */
static abut_status draw_triangle(abut_picture *picture, const abut_mesh *mesh, uint32_t triangle,
                                 const defect_mark *mark) {
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    abut_status status = abut_picture_add_point(picture, vertex_position(mesh, corner[0]),
                                                2 * mark->width, mark->colour);
    for (int k = 0; !status && k < 3; k++)
        status = abut_picture_add_line(picture, vertex_position(mesh, corner[k]),
                                       vertex_position(mesh, corner[(k + 1) % 3]), mark->width,
                                       mark->colour);
    return status;
}

static abut_status draw_element(abut_picture *picture, const abut_mesh *mesh,
                                const abut_topology_arrays *view, uint32_t element,
                                const defect_mark *mark) {
    const uint32_t *ends;
    switch (mark->kind) {
    case ABUT_PROBLEM_BOUNDARY_EDGE:
    case ABUT_PROBLEM_NONMANIFOLD_EDGE:
    case ABUT_PROBLEM_FLIPPED_EDGE:
        ends = view->edges + 2 * (size_t)element;
        return abut_picture_add_line(picture, vertex_position(mesh, ends[0]),
                                     vertex_position(mesh, ends[1]), mark->width, mark->colour);
    case ABUT_PROBLEM_DEGENERATE_TRIANGLE:
    case ABUT_PROBLEM_DUPLICATE_TRIANGLE:
    case ABUT_PROBLEM_SELF_INTERSECTION:
        return draw_triangle(picture, mesh, element, mark);
    default:
        return abut_picture_add_point(picture, vertex_position(mesh, element), mark->width,
                                      mark->colour);
    }
}

/* Returns all intersecting triangles, ascending. */
static abut_status list_cuts(abut_context *context, abut_mesh *mesh, uint64_t pair_count,
                             uint32_t *elements) {
    abut_bvh *bvh = NULL;
    uint32_t triangles = abut_mesh_triangle_count(mesh), used = 0;
    abut_pair_self_intersection *memory =
        abut_context_allocate(context, (size_t)pair_count, sizeof *memory);
    abut_pair_self_intersection_list pairs = {memory, pair_count, 0};
    unsigned char *marked = abut_context_allocate(context, triangles, 1);
    abut_status status = memory && marked ? abut_bvh_create(mesh, NULL, &bvh) : ABUT_ERROR_MEMORY;
    status = status ? status : abut_pair_self_intersections(bvh, NULL, &pairs);
    if (!status) {
        memset(marked, 0, triangles);
        for (uint64_t i = 0; i < pairs.count; i++)
            marked[memory[i].triangle[0]] = marked[memory[i].triangle[1]] = 1;
        for (uint32_t i = 0; i < triangles; i++)
            if (marked[i])
                elements[used++] = i;
    }
    abut_bvh_destroy(bvh);
    abut_context_free(context, memory);
    abut_context_free(context, marked);
    return status;
}

static abut_status draw_kind(abut_context *context, abut_picture *picture, abut_mesh *mesh,
                             const abut_topology *topology, const abut_mesh_report *report,
                             const defect_mark *mark) {
    abut_topology_arrays view = get_topology_arrays(topology);
    uint32_t count = report->problems[mark->kind].count;
    uint32_t *elements = abut_context_allocate(context, count, sizeof *elements);
    abut_index_list listed = {elements, count, 0};
    abut_status status = elements ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = mark->kind == ABUT_PROBLEM_SELF_INTERSECTION
                     ? list_cuts(context, mesh, report->self_intersection_count, elements)
                     : abut_mesh_get_problem_elements(topology, mark->kind, &listed);
    for (uint32_t i = 0; !status && i < count; i++)
        status = draw_element(picture, mesh, &view, elements[i], mark);
    abut_context_free(context, elements);
    return status;
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

static abut_status draw_all(tool_run *tool, abut_picture *picture, abut_mesh *mesh,
                            tool_legend *legend, abut_mesh_report *found, bool *given_up) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abut_topology_create(mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    if (!status)
        status = tool_examine_self(mesh, &report, given_up);
    for (size_t i = 0; !status && i < MARK_COUNT; i++)
        if (report.problems[marks[i].kind].count) {
            legend_add(legend, marks[i].colour, "%s", abut_problem_kind_name(marks[i].kind));
            legend_amount(legend, report.problems[marks[i].kind].count);
            status = draw_kind(tool->context, picture, mesh, topology, &report, &marks[i]);
        }
    if (!status)
        *found = report;
    abut_topology_destroy(topology);
    return status;
}

abut_status defects_draw(tool_run *tool, abut_picture *picture, const char *path, abut_mesh *mesh,
                         tool_legend *legend) {
    abut_mesh_report report = abut_mesh_report_default();
    bool given_up = false;
    abut_status status = draw_all(tool, picture, mesh, legend, &report, &given_up);
    if (!status)
        print_legend(&tool->out, path, &report, given_up);
    return status;
}

abut_status defects_mark(tool_run *tool, abut_picture *picture, abut_mesh *mesh,
                         tool_legend *legend) {
    abut_mesh_report report = abut_mesh_report_default();
    bool given_up = false;
    return draw_all(tool, picture, mesh, legend, &report, &given_up);
}
