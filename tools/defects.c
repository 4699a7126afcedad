/* The health report as a picture: what `abut info` complains of, drawn where it is.
 *
 * All offending edges are found here again from the topology, since the report lists only the first
 * of each kind; vertices and triangles are marked as far as the report lists them, and the legend
 * says how many of them that is.
 */
#include "tool.h"

typedef struct defect_mark {
    abut_problem_kind kind;
    const char *colour_name;
    abut_colour colour;
    double width; /* pixels */
} defect_mark;

/* Easy to tell apart on pale grey, also with colour-blind eyes where they meet most often. */
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

static abut_vec3 position(const abut_mesh *mesh, uint32_t vertex) {
    abut_vec3 o = abut_mesh_origin(mesh), p = abut_mesh_positions(mesh)[vertex];
    return (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
}

/* Whether a triangle runs along an edge from its lower to its higher vertex. */
static bool runs_upwards(const abut_mesh *mesh, uint32_t triangle, const uint32_t *edge) {
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    for (int k = 0; k < 3; k++)
        if (corner[k] == edge[0] && corner[(k + 1) % 3] == edge[1])
            return true;
    return false;
}

/* The kind of problem that an edge is, or ABUT_PROBLEM_COUNT. */
static abut_problem_kind judge_edge(const abut_mesh *mesh, const abut_topology_arrays *view,
                                    uint32_t edge) {
    uint32_t begin = view->edge_face_begin[edge], count = view->edge_face_begin[edge + 1] - begin;
    const uint32_t *faces = view->edge_faces + begin, *ends = view->edges + 2 * (size_t)edge;
    if (count == 1)
        return ABUT_PROBLEM_BOUNDARY_EDGE;
    if (count > 2)
        return ABUT_PROBLEM_NONMANIFOLD_EDGE;
    if (count == 2 && runs_upwards(mesh, faces[0], ends) == runs_upwards(mesh, faces[1], ends))
        return ABUT_PROBLEM_FLIPPED_EDGE;
    return ABUT_PROBLEM_COUNT;
}

static const defect_mark *mark_of(abut_problem_kind kind) {
    for (size_t i = 0; i < MARK_COUNT; i++)
        if (marks[i].kind == kind)
            return &marks[i];
    return NULL;
}

static abut_status draw_edges(abut_picture *picture, const abut_mesh *mesh,
                              const abut_topology_arrays *view) {
    for (uint32_t edge = 0; edge < view->edge_count; edge++) {
        const defect_mark *mark = mark_of(judge_edge(mesh, view, edge));
        if (!mark)
            continue;
        const uint32_t *ends = view->edges + 2 * (size_t)edge;
        abut_status status =
            abut_picture_add_line(picture, position(mesh, ends[0]), position(mesh, ends[1]),
                                  mark->width, mark->colour);
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* A triangle is drawn as its outline and a dot, since one without area has no outline to see. */
static abut_status draw_triangle(abut_picture *picture, const abut_mesh *mesh, uint32_t triangle,
                                 const defect_mark *mark) {
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    abut_status status =
        abut_picture_add_point(picture, position(mesh, corner[0]), 2 * mark->width, mark->colour);
    for (int k = 0; !status && k < 3; k++)
        status =
            abut_picture_add_line(picture, position(mesh, corner[k]),
                                  position(mesh, corner[(k + 1) % 3]), mark->width, mark->colour);
    return status;
}

static bool is_edge_kind(abut_problem_kind kind) {
    return kind == ABUT_PROBLEM_BOUNDARY_EDGE || kind == ABUT_PROBLEM_NONMANIFOLD_EDGE ||
           kind == ABUT_PROBLEM_FLIPPED_EDGE;
}

static bool is_triangle_kind(abut_problem_kind kind) {
    return kind == ABUT_PROBLEM_DEGENERATE_TRIANGLE || kind == ABUT_PROBLEM_DUPLICATE_TRIANGLE ||
           kind == ABUT_PROBLEM_SELF_INTERSECTION;
}

static uint32_t drawn_count(const abut_mesh_report *report, abut_problem_kind kind) {
    uint32_t count = report->problems[kind].count;
    return is_edge_kind(kind) || count < ABUT_PROBLEM_FIRST_COUNT ? count
                                                                  : ABUT_PROBLEM_FIRST_COUNT;
}

static abut_status draw_others(abut_picture *picture, const abut_mesh *mesh,
                               const abut_mesh_report *report) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < MARK_COUNT; i++) {
        const defect_mark *mark = &marks[i];
        const uint32_t *first = report->problems[mark->kind].first;
        if (is_edge_kind(mark->kind))
            continue;
        for (uint32_t k = 0; !status && k < drawn_count(report, mark->kind); k++) {
            if (is_triangle_kind(mark->kind))
                status = draw_triangle(picture, mesh, first[k], mark);
            else
                status = abut_picture_add_point(picture, position(mesh, first[k]), mark->width,
                                                mark->colour);
        }
    }
    return status;
}

static void tell_legend(tool_output *out, const char *path, const abut_mesh_report *report) {
    uint64_t total = 0;
    for (size_t i = 0; i < MARK_COUNT; i++)
        total += report->problems[marks[i].kind].count;
    say_of(out, path, "%s", total ? "problems marked in the picture" : "nothing to mark");
    out_table(out, "marks");
    for (size_t i = 0; i < MARK_COUNT; i++) {
        abut_problem_kind kind = marks[i].kind;
        if (!report->problems[kind].count)
            continue;
        out_object(out, NULL);
        fact_text(out, "colour", marks[i].colour_name);
        fact_text(out, "problem", abut_problem_kind_name(kind));
        fact_count(out, "count", report->problems[kind].count);
        fact_count(out, "marked", drawn_count(report, kind));
        out_end(out);
    }
    out_end(out);
    say(out, "%s", "");
}

abut_status defects_draw(tool_output *out, abut_picture *picture, const char *path,
                         abut_mesh *mesh) {
    abut_topology *topology = NULL;
    abut_mesh_report report;
    abut_status status = abut_topology_create(mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    if (!status)
        status = tool_examine_self(mesh, &report);
    abut_topology_arrays view = abut_topology_arrays_get(topology);
    if (!status)
        status = draw_edges(picture, mesh, &view);
    if (!status)
        status = draw_others(picture, mesh, &report);
    if (!status)
        tell_legend(out, path, &report);
    abut_topology_destroy(topology);
    return status;
}
