/* abut selfcheck: self-intersections of a mesh. */
#include "tool.h"

typedef struct self_result {
    abut_pair_self_intersection *pairs;
    uint64_t count;
    bool
        complete; /* otherwise the search stopped, there are no pairs, and count is a lower bound */
} self_result;

/* ---- the search ---- */

/* Starts with a fixed capacity, then repeats with the required capacity. */
static void find_self_intersections(tool_run *tool, const abut_bvh *bvh,
                                    const abut_pair_self_options *options, self_result *result) {
    abut_pair_self_intersection_list found = {NULL, 4096, 0};
    abut_status status = ABUT_ERROR_BUFFER;
    for (int round = 0; round < 2 && status == ABUT_ERROR_BUFFER; round++) {
        found.list = tool_array((size_t)found.capacity, sizeof *found.list);
        status = abut_pair_self_intersections(bvh, options, &found);
        found.capacity = found.count;
    }
    *result = (self_result){found.list, found.count, !status};
    if (status && status != ABUT_ERROR_LIMIT)
        tool_fail(tool, status);
}

/* ---- output ---- */

static const tool_column columns[] = {
    WHOLE("triangle_a"), WHOLE("triangle_b"), WORD("intersection", abut_intersection_name),
    REAL("from_x"),      REAL("from_y"),      REAL("from_z"),
    REAL("to_x"),        REAL("to_y"),        REAL("to_z")};

static void fill_pair_row(const void *data, size_t row, double *values) {
    const abut_pair_self_intersection *pair = &((const self_result *)data)->pairs[row];
    values[0] = pair->triangle[0];
    values[1] = pair->triangle[1];
    values[2] = pair->kind;
    table_vector(values + 3, pair->segment.end[0]);
    table_vector(values + 6, pair->segment.end[1]);
}

static void print_first(tool_output *out, const self_result *result, uint32_t most) {
    out_table(out, "first");
    for (uint64_t i = 0; result->complete && i < result->count && i < most; i++) {
        const abut_pair_self_intersection *pair = &result->pairs[i];
        const abut_vec3 *end = pair->segment.end;
        out_object(out, NULL);
        fact_count(out, "triangle_a", pair->triangle[0]);
        fact_count(out, "triangle_b", pair->triangle[1]);
        fact_text(out, "intersection", abut_intersection_name(pair->kind));
        fact_point(out, "from", end[0]);
        fact_point(out, "to", end[1]);
        out_end(out);
    }
    out_end(out);
}

static void print_self_intersections(tool_run *tool, const char *path, const abut_mesh *mesh,
                                     const self_result *result, uint32_t most) {
    tool_output *out = &tool->out;
    tool_text words = {0};
    bool found = result->count > 0;
    text_grouped(&words, abut_mesh_triangle_count(mesh));
    text_print(&words, " triangle%s; %s", abut_mesh_triangle_count(mesh) == 1 ? "" : "s",
               shade_on(out, found || !result->complete ? SHADE_WARN : SHADE_GOOD));
    if (!result->complete)
        text_add(&words, "stopped (see --limit) after ");
    if (found || !result->complete)
        text_grouped(&words, result->count);
    else
        text_add(&words, "no");
    text_print(&words, " intersecting pair%s of triangles%s", result->count == 1 ? "" : "s",
               shade_off(out));
    print_line_of(out, path, "%s", text_of(&words));
    json_path(out, "mesh", path);
    json_count(out, "triangles", abut_mesh_triangle_count(mesh));
    json_boolean(out, "complete", result->complete);
    if (found || result->complete)
        json_boolean(out, "self_intersecting", found);
    else
        json_null(out, "self_intersecting");
    json_count(out, "pairs", result->count);
    if (out->json || (found && !tool->quiet))
        print_first(out, result, most);
}

/* ---- the command ---- */

static int write_selfcheck_results(tool_run *tool, const tool_arguments *arguments,
                                   const abut_picture_options *camera, abut_mesh *mesh,
                                   const self_result *result) {
    const tool_given *out_path = option_given(arguments, "out"), *png = picture_given(arguments);
    if (out_path) {
        tool_table table = {columns, 9, result->complete ? (size_t)result->count : 0, fill_pair_row,
                            result};
        table_write(tool, out_path->words, &table);
    }
    if (png)
        selfcheck_draw(tool, arguments, camera, mesh, result->pairs,
                       result->complete ? result->count : 0);
    out_object(&tool->out, NULL);
    print_self_intersections(tool, arguments->operands[0], mesh, result,
                             option_count(arguments, "first", 8));
    out_end(&tool->out);
    if (result->count || result->complete)
        answer(tool, "%llu", (unsigned long long)result->count);
    else
        answer(tool, "unknown");
    return result->count > 0 ? CODE_FOUND : result->complete ? CODE_FINE : CODE_WORK;
}

static int run_selfcheck(tool_run *tool, const tool_arguments *arguments) {
    abut_pair_self_options options = abut_pair_self_options_default();
    abut_picture_options camera = abut_picture_options_default();
    const tool_given *limit = option_given(arguments, "limit"), *png = picture_given(arguments);
    abut_bvh *bvh = NULL;
    self_result result = {0};
    options.by_index = option_given(arguments, "by-index") != NULL;
    if (limit)
        options.limit = (uint64_t)limit->counts[0] * 1000000;
    if (png)
        picture_check(tool, png->words);
    camera_read(tool, arguments, &camera);
    abut_mesh *mesh = mesh_read(tool, arguments->operands[0]);
    camera_read(tool, arguments, &camera); /* again: the file may define the up axis */
    ensure(abut_bvh_create(mesh, NULL, &bvh));
    find_self_intersections(tool, bvh, &options, &result);
    int code = write_selfcheck_results(tool, arguments, &camera, mesh, &result);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return code;
}

static const tool_option options[] = {
    OPTION("first", "N", COUNT, "number of pairs to list (default: 8)"),
    OPTION("out", "FILE", TEXT,
           "write all pairs to FILE: PLY or NPY by the file extension, otherwise CSV"),
    OPTION("png", "FILE", TEXT,
           "draw the mesh with the pairs: triangles orange, intersections red"),
    PAGE_OPTION,
    CAMERA_OPTIONS("iso"),
    FLAG("by-index", "vertices with equal coordinates and different indices are different "
                     "vertices: seams count"),
    OPTION("limit", "M", COUNT,
           "stop after M million candidate pairs; a pair that needs an exact test counts as 16 "
           "(default: 67, and 1,024 pairs for each triangle)"),
    {0}};

const tool_command command_selfcheck = {
    .name = "selfcheck",
    .operands = "MESH",
    .summary = "self-intersections of a mesh: pairs of triangles",
    .about = "Finds all pairs of triangles of a mesh that intersect each other, exactly, with the "
             "kind of the intersection: a point, a segment or an area. Neighbours share a vertex "
             "or an edge; only an intersection beyond it counts. Vertices with equal coordinates "
             "are the same vertex, so that seams do not count. Triangles with the same three "
             "vertices always count.\n\n"
             "Returns 1 if the search stopped at --limit and had found no pair.",
    .found = "intersecting triangles",
    .examples = "  abut selfcheck bunny.obj\n"
                "  abut selfcheck scan.ply --png cuts.png --out cuts.csv\n"
                "  abut selfcheck --quiet part.stl >/dev/null || echo 'needs repair'\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_selfcheck,
};
