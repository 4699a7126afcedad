/* abut selfcheck: self-intersections of a mesh. */
#include "tool.h"

#include <stdlib.h>

typedef struct self_result {
    abut_pair_self_intersection *pairs; /* from malloc */
    uint64_t count;
    bool
        complete; /* otherwise the search stopped, there are no pairs, and count is a lower bound */
} self_result;

/* ---- the search ---- */

/* Starts with a fixed capacity, then repeats with the required capacity. */
static int find_self_intersections(tool_run *tool, const abut_bvh *bvh,
                                   const abut_pair_self_options *options, self_result *result) {
    uint64_t room = 4096;
    abut_status status = ABUT_ERROR_BUFFER;
    for (int round = 0; round < 2 && status == ABUT_ERROR_BUFFER; round++) {
        free(result->pairs);
        result->pairs = room < SIZE_MAX / sizeof *result->pairs
                            ? malloc((size_t)room * sizeof *result->pairs)
                            : NULL;
        if (!result->pairs)
            return tool_fail_with(tool, "out of memory", "not enough memory for %llu pairs",
                                  (unsigned long long)room);
        abut_pair_self_intersection_list found = {result->pairs, room, 0};
        status = abut_pair_self_intersections(bvh, options, &found);
        room = result->count = found.count;
    }
    result->complete = !status;
    return status && status != ABUT_ERROR_LIMIT ? tool_fail(tool, status) : 0;
}

/* ---- output ---- */

static const tool_column columns[] = {{"triangle_a", COLUMN_WHOLE, NULL},
                                      {"triangle_b", COLUMN_WHOLE, NULL},
                                      {"intersection", COLUMN_WORD, abut_intersection_name},
                                      {"from_x", COLUMN_REAL, NULL},
                                      {"from_y", COLUMN_REAL, NULL},
                                      {"from_z", COLUMN_REAL, NULL},
                                      {"to_x", COLUMN_REAL, NULL},
                                      {"to_y", COLUMN_REAL, NULL},
                                      {"to_z", COLUMN_REAL, NULL}};

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
        json_vector(out, "from", end[0]);
        json_vector(out, "to", end[1]);
        char words[POINT_WORDS];
        print_fact(out, "from", "%s", point_words(end[0], 6, words));
        print_fact(out, "to", "%s", point_words(end[1], 6, words));
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
    print_line_of(out, path, "%s", words.data ? words.data : "");
    text_free(&words);
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

/* ---- the picture ---- */

static abut_vec3 corner_of(const abut_mesh *mesh, uint32_t triangle, uint32_t corner) {
    uint32_t vertex = abut_mesh_indices(mesh)[3 * (size_t)triangle + corner];
    abut_vec3 o = abut_mesh_local_origin(mesh), p = abut_mesh_local_positions(mesh)[vertex];
    return (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
}

/* Draws outlines of the triangles in orange, intersections in red with a dot at each end. */
static const abut_colour orange = {1.0f, 0.55f, 0.0f, 1}, red = {0.86f, 0.08f, 0.12f, 1};

static abut_status draw_pair(abut_picture *picture, const abut_mesh *mesh,
                             const abut_pair_self_intersection *pair) {
    const abut_vec3 *end = pair->segment.end;
    abut_status status = ABUT_OK;
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; !status && k < 3; k++)
            status = abut_picture_add_line(picture, corner_of(mesh, pair->triangle[side], k),
                                           corner_of(mesh, pair->triangle[side], (k + 1) % 3), 1.5,
                                           orange);
    if (!status)
        status = abut_picture_add_line(picture, end[0], end[1], 4, red);
    for (int k = 0; !status && k < 2; k++)
        status = abut_picture_add_point(picture, end[k], 6, red);
    return status;
}

/* Collects the triangles that are in any pair. */
static uint64_t count_triangles(const abut_mesh *mesh, const self_result *result) {
    uint64_t count = 0;
    unsigned char *seen = calloc((size_t)abut_mesh_triangle_count(mesh) + 1, 1);
    for (uint64_t i = 0; seen && i < result->count; i++)
        for (int side = 0; side < 2; side++) {
            unsigned char *own = &seen[result->pairs[i].triangle[side]];
            count += !*own;
            *own = 1;
        }
    free(seen);
    return count;
}

static abut_status draw_selfcheck(tool_run *tool, const tool_arguments *arguments,
                                  const abut_picture_options *options, abut_mesh *mesh,
                                  const self_result *result) {
    tool_legend legend = {0};
    abut_picture *picture = NULL;
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    legend_file(&legend, abut_picture_colour(0), arguments->operands[0]);
    if (result->complete && result->count) {
        legend_add(&legend, orange, "intersecting triangles");
        legend_amount(&legend, count_triangles(mesh, result));
        legend_add(&legend, red, "intersections");
        legend_amount(&legend, result->count);
    }
    abut_status status = abut_picture_create(tool->context, options, &picture);
    if (!status)
        status = abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style);
    for (uint64_t i = 0; !status && result->complete && i < result->count; i++)
        status = draw_pair(picture, mesh, &result->pairs[i]);
    if (!status)
        status = picture_write(tool, picture, options, &legend, picture_given(arguments)->words);
    abut_picture_destroy(picture);
    return status;
}

/* ---- the command ---- */

static int write_selfcheck_results(tool_run *tool, const tool_arguments *arguments,
                                   const abut_picture_options *camera, abut_mesh *mesh,
                                   const self_result *result) {
    const tool_given *out_path = option_given(arguments, "out"), *png = picture_given(arguments),
                     *first = option_given(arguments, "first");
    int code = 0;
    if (out_path) {
        tool_table table = {columns, 9, result->complete ? (size_t)result->count : 0, fill_pair_row,
                            result};
        code = table_write(tool, out_path->words, &table);
    }
    abut_status status = ABUT_OK;
    if (!code && png && (status = draw_selfcheck(tool, arguments, camera, mesh, result)))
        code = tool_fail(tool, status);
    if (code)
        return code;
    out_object(&tool->out, NULL);
    print_self_intersections(tool, arguments->operands[0], mesh, result,
                             first ? first->counts[0] : 8);
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
    options.by_index = option_given(arguments, "by-index") != NULL;
    if (limit)
        options.limit = (uint64_t)limit->counts[0] * 1000000;
    int code = png ? picture_check(tool, png->words) : 0;
    code = code ? code : camera_read(tool, arguments, &camera);
    if (code)
        return code;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    self_result result = {0};
    abut_status status = tool_read(tool, arguments->operands[0], NULL, &mesh);
    if (!status)
        code = camera_read(tool, arguments, &camera); /* again: the file may define the up axis */
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    code = status ? tool_fail(tool, status) : find_self_intersections(tool, bvh, &options, &result);
    code = code ? code : write_selfcheck_results(tool, arguments, &camera, mesh, &result);
    free(result.pairs);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return code;
}

static const tool_option options[] = {
    {"first", "N", OPTION_COUNT, "number of pairs to list (default: 8)", NULL, false},
    {"out", "FILE", OPTION_TEXT,
     "write all pairs to FILE: PLY or NPY by the file extension, otherwise CSV", NULL, false},
    {"png", "FILE", OPTION_TEXT,
     "draw the mesh with the pairs: triangles orange, intersections red", NULL, false},
    PAGE_OPTION,
    {"view", "VIEW", OPTION_TEXT, "view direction of the picture, as for 'abut picture'",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT, "up axis of the picture (default: that of the file, otherwise z)",
     "x|y|z|-x|-y|-z", false},
    {"by-index", NULL, OPTION_FLAG,
     "vertices with equal coordinates and different indices are different vertices: seams count",
     NULL, false},
    {"limit", "M", OPTION_COUNT,
     "stop after M million candidate pairs; a pair that needs an exact test counts as 16 (default: "
     "67, and 1,024 pairs for each triangle)",
     NULL, false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 1,
    .run = run_selfcheck,
};
