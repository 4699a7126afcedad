/* abut samples: sample points of a mesh, at which contacts evaluate signed distance fields. */
#include "tool.h"

#include <math.h>
#include <string.h>

static const tool_column columns[] = {REAL("x"),
                                      REAL("y"),
                                      REAL("z"),
                                      REAL("nx"),
                                      REAL("ny"),
                                      REAL("nz"),
                                      WORD("kind", abut_sample_kind_name),
                                      WHOLE("element"),
                                      WHOLE("part")};

static void fill_samples_row(const void *data, size_t row, double *values) {
    const abut_sample *sample = &((const abut_samples_arrays *)data)->samples[row];
    table_vector(values, sample->point);
    table_vector(values + 3, sample->normal);
    values[6] = sample->kind;
    values[7] = sample->element;
    values[8] = sample->part;
}

/* ---- options ---- */

static void check_samples_options(tool_run *tool, const tool_arguments *arguments) {
    if (option_given(arguments, "cell") && option_given(arguments, "cells"))
        tool_refuse(tool, "--cell and --cells cannot be combined; use one of them");
    if (option_given(arguments, "radius") && option_given(arguments, "count"))
        tool_refuse(tool, "--radius and --count cannot be combined; use one of them");
    option_range(tool, option_given(arguments, "cells"), 5, UINT32_MAX,
                 "cells (the mesh and a margin of two cells at each end)");
    picture_options_check(tool, arguments);
}

static abut_samples_options options_of(const tool_arguments *arguments, const abut_mesh *mesh) {
    abut_samples_options o = abut_samples_options_default();
    abut_box box = abut_mesh_bounds(mesh);
    const tool_given *features = option_given(arguments, "features");
    double longest = box_longest(&box);
    o.cell = option_number(arguments, "cell", 0);
    if (option_given(arguments, "cells")) /* as in abut_field_create(): two cells at each end */
        o.cell = longest / (option_count(arguments, "cells", 0) - 4);
    o.threshold = option_number(arguments, "threshold", 0);
    o.flat_angle = option_number(arguments, "flat", 0) * (3.14159265358979323846 / 180);
    o.radius = option_number(arguments, "radius", 0);
    o.count = option_count(arguments, "count", 0);
    o.max_count = option_count(arguments, "limit", 0);
    o.cache = option_given(arguments, "cache") ? "" : NULL;
    bool surface = o.radius > 0 || o.count || option_given(arguments, "surface");
    if (features || !surface) {
        const char *level = features ? features->words : "faces";
        o.kinds = ABUT_SAMPLES_VERTICES;
        o.kinds |= strcmp(level, "vertices") != 0 ? ABUT_SAMPLES_EDGES : 0;
        o.kinds |= strcmp(level, "faces") == 0 ? ABUT_SAMPLES_FACES : 0;
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

static void print_samples(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                          const abut_samples_arrays *view) {
    const tool_given *path = option_given(arguments, "out"), *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    tool_table table = {columns, 9, view->count, fill_samples_row, view};
    if (png)
        camera_read(tool, arguments, &camera);
    if (path || !png)
        table_write(tool, path ? path->words : NULL, &table);
    if (png)
        samples_draw(tool, arguments, &camera, mesh, view);
    if (tool->out.json || path || png) {
        summarise_samples(&tool->out, arguments->operands[0], view);
        pictures_print_paths(tool, arguments);
        out_end(&tool->out);
        answer(tool, "%u", view->count);
    }
}

static int run_samples(tool_run *tool, const tool_arguments *arguments) {
    abut_samples *samples = NULL;
    check_samples_options(tool, arguments);
    abut_mesh *mesh = mesh_read(tool, arguments->operands[0]);
    abut_samples_options options = options_of(arguments, mesh);
    ensure(abut_samples_create(mesh, &options, &samples));
    abut_samples_arrays view = get_samples_arrays(samples);
    print_samples(tool, arguments, mesh, &view);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    return CODE_FINE;
}

static const tool_option options[] = {
    CHOICE("features", "LEVEL", CHOICE,
           "sample vertices; also edges; also flat faces (default: faces, or none if surface "
           "samples are requested)",
           "vertices|edges|faces"),
    OPTION("cells", "N", COUNT,
           "for a grid of N cells along the longest side, including a margin of two cells at each "
           "end (default: 68)"),
    OPTION("cell", "C", POSITIVE, "for a grid with cells of this size"),
    OPTION("threshold", "T", POSITIVE,
           "smallest distance of samples along edges (default: the diagonal of a cell)"),
    OPTION("flat", "DEGREES", POSITIVE,
           "largest angle between faces that count as flat (default: 0.057)"),
    FLAG("surface", "surface samples: spread evenly over the whole surface"),
    OPTION("radius", "R", POSITIVE, "surface samples with at least this distance from each other"),
    OPTION("count", "N", COUNT, "number of surface samples"),
    OPTION("limit", "N", COUNT, "keep at most N samples, spread as widely as possible"),
    FLAG("cache", "read the samples from the disk cache if they are there, otherwise add them; see "
                  "'abut cache'"),
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
    OPTION("png", "FILE", TEXT, "draw the mesh with its samples and print a summary"),
    PAGE_OPTION,
    CAMERA_OPTIONS("iso"),
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
    .operand_range = {1, 1},
    .run = run_samples,
};
