/* abut samples: sample points of a mesh, at which contacts evaluate signed distance fields. */
#include "tool.h"

#include <math.h>
#include <string.h>

static const tool_column columns[] = {{"x", COLUMN_REAL, NULL},
                                      {"y", COLUMN_REAL, NULL},
                                      {"z", COLUMN_REAL, NULL},
                                      {"nx", COLUMN_REAL, NULL},
                                      {"ny", COLUMN_REAL, NULL},
                                      {"nz", COLUMN_REAL, NULL},
                                      {"kind", COLUMN_WORD, abut_sample_kind_name},
                                      {"element", COLUMN_WHOLE, NULL},
                                      {"part", COLUMN_WHOLE, NULL}};

static void fill_samples_row(const void *data, size_t row, double *values) {
    const abut_sample *sample = &((const abut_samples_arrays *)data)->samples[row];
    table_vector(values, sample->point);
    table_vector(values + 3, sample->normal);
    values[6] = sample->kind;
    values[7] = sample->element;
    values[8] = sample->part;
}

/* ---- options ---- */

static double number_of(const tool_arguments *arguments, const char *name) {
    const tool_given *given = option_given(arguments, name);
    return given ? given->numbers[0] : 0;
}

static uint32_t count_of(const tool_arguments *arguments, const char *name) {
    const tool_given *given = option_given(arguments, name);
    return given ? given->counts[0] : 0;
}

static int check_samples_options(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments);
    if (option_given(arguments, "cell") && option_given(arguments, "cells"))
        return tool_refuse(tool, "--cell and --cells cannot be combined; use one of them");
    if (option_given(arguments, "radius") && option_given(arguments, "count"))
        return tool_refuse(tool, "--radius and --count cannot be combined; use one of them");
    int code = option_range(tool, option_given(arguments, "cells"), 5, UINT32_MAX,
                            "cells (the mesh and a margin of two cells at each end)");
    code = code || !png ? code : picture_check(tool, png->words);
    if (code)
        return code;
    if (!png && (option_given(arguments, "view") || option_given(arguments, "up")))
        return tool_refuse(tool, "--view and --up require --png or --html");
    return 0;
}

static abut_samples_options options_of(const tool_arguments *arguments, const abut_mesh *mesh) {
    abut_samples_options o = abut_samples_options_default();
    abut_box box = abut_mesh_bounds(mesh);
    const tool_given *features = option_given(arguments, "features");
    double longest = fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    o.cell = number_of(arguments, "cell");
    if (option_given(arguments, "cells")) /* as in abut_field_create(): two cells at each end */
        o.cell = longest / (count_of(arguments, "cells") - 4);
    o.threshold = number_of(arguments, "threshold");
    o.flat_angle = number_of(arguments, "flat") * (3.14159265358979323846 / 180);
    o.radius = number_of(arguments, "radius");
    o.count = count_of(arguments, "count");
    o.max_count = count_of(arguments, "limit");
    o.cache = option_given(arguments, "cache") ? "" : NULL;
    bool surface = o.radius > 0 || o.count || option_given(arguments, "surface");
    if (features || !surface) {
        const char *level = features ? features->words : "faces";
        o.kinds = ABUT_SAMPLES_VERTICES;
        o.kinds |= strcmp(level, "vertices") != 0 ? ABUT_SAMPLES_EDGES : 0;
        o.face_middles = strcmp(level, "middles") == 0;
        o.kinds |= strcmp(level, "faces") == 0 || o.face_middles ? ABUT_SAMPLES_FACES : 0;
    }
    o.kinds |= surface ? ABUT_SAMPLES_SURFACE : 0;
    return o;
}

/* ---- output ---- */

static void summarise_samples(tool_output *out, const char *path, const abut_samples_arrays *view) {
    out_object(out, NULL);
    json_path(out, "mesh", path);
    fact_count(out, "samples", view->count);
    fact_count(out, "vertices", view->kind_count[ABUT_SAMPLE_VERTEX]);
    fact_count(out, "edges", view->kind_count[ABUT_SAMPLE_EDGE]);
    fact_count(out, "faces", view->kind_count[ABUT_SAMPLE_FACE]);
    fact_count(out, "surface", view->kind_count[ABUT_SAMPLE_SURFACE]);
    fact_number(out, "spacing", view->spacing);
}

static abut_status draw_samples(tool_run *tool, const tool_arguments *arguments,
                                const abut_picture_options *options, abut_mesh *mesh,
                                const abut_samples_arrays *view) {
    static const char *const of[] = {"vertices", "edges", "flat faces", "surface samples"};
    tool_legend legend = {0};
    static const abut_colour colours[] = {{0.8f, 0.1f, 0.1f, 1},
                                          {0.1f, 0.3f, 0.8f, 1},
                                          {0.1f, 0.55f, 0.2f, 1},
                                          {0.55f, 0.2f, 0.6f, 1}};
    abut_picture *picture = NULL;
    abut_mesh_style style = abut_mesh_style_default();
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    style.edges = true;
    style.smooth = true;
    legend_file(&legend, abut_picture_colour(0), arguments->operands[0]);
    for (int kind = 0; kind < 4; kind++)
        if (view->kind_count[kind])
            legend_add(&legend, colours[kind], "%s", of[kind]);
    abut_status status = abut_picture_create(tool->context, options, &picture);
    status = status ? status : abut_picture_add_mesh(picture, mesh, still, &style);
    for (uint32_t i = 0; i < view->count && !status; i++)
        status = abut_picture_add_point(picture, view->samples[i].point, 6,
                                        colours[view->samples[i].kind]);
    const char *path = picture_given(arguments)->words;
    status = status ? status : picture_write(tool, picture, options, &legend, path);
    abut_picture_destroy(picture);
    return status;
}

static int print_samples(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                         const abut_samples_arrays *view) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    tool_table table = {columns, 9, view->count, fill_samples_row, view};
    int code = png ? camera_read(tool, arguments, &camera) : 0;
    if (!code && (path || !png))
        code = table_write(tool, path ? path->words : NULL, &table);
    abut_status status = ABUT_OK;
    if (!code && png && (status = draw_samples(tool, arguments, &camera, mesh, view)))
        code = tool_fail(tool, status);
    if (!code && (tool->out.json || path || png)) {
        summarise_samples(&tool->out, arguments->operands[0], view);
        pictures_print_paths(tool, arguments);
        out_end(&tool->out);
        answer(tool, "%u", view->count);
    }
    return code;
}

static int run_samples(tool_run *tool, const tool_arguments *arguments) {
    abut_mesh *mesh = NULL;
    abut_samples *samples = NULL;
    int code = check_samples_options(tool, arguments);
    abut_status status = ABUT_OK;
    if (!code && (status = tool_read(tool, arguments->operands[0], NULL, &mesh)))
        code = tool_fail(tool, status);
    if (!code) {
        abut_samples_options options = options_of(arguments, mesh);
        if ((status = abut_samples_create(mesh, &options, &samples)))
            code = tool_fail(tool, status);
    }
    abut_samples_arrays view = get_samples_arrays(samples);
    code = code ? code : print_samples(tool, arguments, mesh, &view);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    return code;
}

static const tool_option options[] = {
    {"features", "LEVEL", OPTION_CHOICE,
     "sample vertices; also edges; also the middles of flat faces; also their corners (default: "
     "faces, or none if surface samples are requested)",
     "vertices|edges|middles|faces", false},
    {"cells", "N", OPTION_COUNT,
     "for a grid of N cells along the longest side, including a margin of two cells at each end "
     "(default: 68)",
     NULL, false},
    {"cell", "C", OPTION_POSITIVE, "for a grid with cells of this size", NULL, false},
    {"threshold", "T", OPTION_POSITIVE,
     "smallest distance of samples along edges (default: the diagonal of a cell)", NULL, false},
    {"flat", "DEGREES", OPTION_POSITIVE,
     "largest angle between faces that count as flat (default: 0.057)", NULL, false},
    {"surface", NULL, OPTION_FLAG, "surface samples: spread evenly over the whole surface", NULL,
     false},
    {"radius", "R", OPTION_POSITIVE, "surface samples with at least this distance from each other",
     NULL, false},
    {"count", "N", OPTION_COUNT, "number of surface samples", NULL, false},
    {"limit", "N", OPTION_COUNT, "keep at most N samples, spread as widely as possible", NULL,
     false},
    {"cache", NULL, OPTION_FLAG,
     "read the samples from the disk cache if they are there, otherwise add them; see 'abut cache'",
     NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary",
     NULL, false},
    {"png", "FILE", OPTION_TEXT, "draw the mesh with its samples and print a summary", NULL, false},
    PAGE_OPTION,
    {"view", "VIEW", OPTION_TEXT,
     "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the first file that has one, "
     "otherwise z)",
     "x|y|z|-x|-y|-z", false},
    {0}};

const tool_command command_samples = {
    .name = "samples",
    .operands = "MESH",
    .summary = "sample points of a mesh for contacts with distance fields",
    .about =
        "Prints sample points of a mesh, with normals, as comma-separated values. Contacts "
        "evaluate the signed distance field of another mesh at these points. They are the vertices "
        "that are not flat, points along long edges that are not flat, and the middle and points "
        "near the corners of each large flat region; or points spread evenly over the surface. "
        "With --json a summary is printed instead; add --out for both.",
    .examples = "  abut samples part.obj --cells 64 --out samples.csv\n"
                "  abut samples bunny.obj --count 500 --out samples.ply --png samples.png\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 1,
    .run = run_samples,
};
