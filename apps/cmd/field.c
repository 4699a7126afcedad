/* abut field: computes a signed distance field and writes it to a file; draws its cells. */
#include "apps/get.h"
#include "view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const sign_words[] = {"auto", "winding numbers", "pseudo-normals"};

static void print_field(tool_output *out, const char *path, const abut_field_info *info,
                        const field_times *times, bool quiet) {
    const uint32_t *n = info->grid.count;
    const double counts[3] = {n[0], n[1], n[2]};
    abut_vec3 o = info->grid.origin;
    bool sparse = info->layout == ABUT_FIELD_SPARSE;
    json_path(out, "mesh", path);
    json_numbers(out, "count", counts, 3);
    json_number(out, "cell", info->grid.cell);
    json_vector(out, "origin", o);
    json_text(out, "layout", abut_field_layout_name(info->layout));
    json_text(out, "type", abut_field_type_name(info->type));
    json_number(out, "band", info->band);
    json_number(out, "step", info->step);
    json_number(out, "lowest", info->lowest);
    json_number(out, "highest", info->highest);
    json_boolean(out, "closed", info->closed);
    json_text(out, "sign", abut_sign_method_name(info->sign));
    json_count(out, "bytes", info->bytes);
    if (sparse)
        json_count(out, "bricks", info->bricks);
    json_number(out, "build_ms", times->ms);
    if (times->first_ms > 0)
        json_number(out, "first_build_ms", times->first_ms);
    if (quiet || out->json)
        return;
    print_fact(out, "grid", "%u x %u x %u cells of %.4g", n[0], n[1], n[2], info->grid.cell);
    char words[POINT_WORDS];
    print_fact(out, "from", "%s", point_words(o, 4, words));
    if (info->band < HUGE_VAL)
        print_fact(out, "band", "%.4g", info->band);
    print_fact(out, "distances", "%.4g to %.4g", info->lowest, info->highest);
    print_fact(out, "inside by", "%s%s", sign_words[info->sign],
               info->closed ? "" : " (the mesh has boundary edges)");
    if (sparse)
        print_fact(out, "bricks", "%" PRIu64 " of %u", info->bricks,
                   ((n[0] + 6) / 8) * ((n[1] + 6) / 8) * ((n[2] + 6) / 8));
    print_fact(out, "memory", "%.2f MB as %s%s", (double)info->bytes / 1e6,
               info->type == ABUT_FIELD_INT16 ? "16-bit integers" : "floats",
               sparse ? ", sparse" : "");
}

static void check_format(tool_run *tool, const char *file, const tool_given *to,
                         abut_field_format *format) {
    static const char *const names[] = {"", "abutf", "vti", "npy", "raw"};
    bool standard = file && strcmp(file, "-") == 0;
    const char *word = to ? to->words : standard ? "abutf" : file ? path_ending(file) : "abutf";
    for (unsigned i = 1; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0)
            *format = (abut_field_format)i;
    if (to && !file)
        tool_refuse(tool, "--to requires the file OUT");
    if (standard && *format == ABUT_FIELD_FORMAT_RAW)
        tool_refuse(tool, "a .raw field has two files and cannot be written to standard output");
    if (!*format)
        tool_refuse(
            tool,
            "%s: the name of a field must end in .abutf, .vti, .npy or .raw, unless --to is given",
            file);
}

/* ---- the command ---- */

/* Several processes write one file together; other outputs are an error. */
static void check_shared(tool_run *tool, const tool_arguments *arguments, const char *file,
                         abut_field_format format) {
    if (!option_given(arguments, "sparse") || !file || strcmp(file, "-") == 0 ||
        format != ABUT_FIELD_FORMAT_ABUT)
        tool_refuse(tool, "several processes need an .abutf file and --sparse");
    const tool_given *alone = option_any(arguments, "png|html|cache|device");
    if (alone)
        tool_refuse(tool, "--%s needs a single process", alone->option->name);
}

static void write_shared(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                         abut_field_options *options, bool plain, abut_field_info *info) {
    field_options(tool, arguments, options);
    share_agree(tool);
    abut_status status = tool->share->write_field(tool->share->user, mesh, options,
                                                  arguments->operands[1], plain, info);
    tool->share->over = status != ABUT_OK; /* equal in all processes */
    ensure(status);
}

static int run_field(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    const tool_given *to = option_given(arguments, "to"), *png = picture_given(arguments);
    const char *path = arguments->operands[0],
               *file = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    abut_field *field = NULL;
    abut_field_write_options how = abut_field_write_options_default();
    check_format(tool, file, to, &how.format);
    if (png)
        picture_check(tool, png->words);
    else if (option_given(arguments, "inside"))
        tool_refuse(tool, "--inside requires --png or --html");
    if (tool->share)
        check_shared(tool, arguments, file, how.format);
    abut_field_options options = abut_field_options_default();
    if (option_given(arguments, "sparse"))
        options.layout = ABUT_FIELD_SPARSE;
    if (option_given(arguments, "int16"))
        options.type = ABUT_FIELD_INT16;
    how.plain = option_given(arguments, "plain") != NULL;
    abut_mesh *mesh = mesh_read(tool, path);
    progress_start(tool->progress, path);
    double begun = seconds_now();
    field_times times = {0};
    abut_field_info info = abut_field_info_default();
    if (tool->share) {
        write_shared(tool, arguments, mesh, &options, how.plain, &info);
        times.ms = 1e3 * (seconds_now() - begun);
    } else {
        field_build(tool, arguments, mesh, &options, &times, &field);
        info = get_field_info(field);
    }
    if (png)
        field_draw(tool, arguments, mesh, field);
    if (file && field) {
        progress_start(tool->progress, file);
        ensure(abut_field_write(field, tool_target(tool, file), &how));
    }
    out_object(out, NULL);
    print_field(out, path, &info, &times, tool->quiet);
    if (file)
        json_path(out, "file", file);
    if (out->json)
        pictures_print_paths(tool, arguments);
    if (option_given(arguments, "time") && !tool->quiet) {
        print_fact(out, "time", "%.1f ms", times.ms);
        if (times.first_ms > 0)
            print_fact(out, "first build",
                       "%.1f ms, including opening the device and compiling its kernels",
                       times.first_ms);
    }
    out_end(out);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return CODE_FINE;
}

static const tool_option options_of_field[] = {
    CHOICE("to", "FORMAT", CHOICE, "format of OUT (default: by the file extension)",
           "abutf|vti|npy|raw"),
    FLAG("sparse", "store only cells near the surface"),
    FLAG("int16", "store 16 bits for each value"),
    FLAG("plain", "do not compress the .abutf file"),
    FLAG("time", "print the build time; on a device, the time of the second of two builds"),
    OPTION("png", "FILE", TEXT, "draw the mesh and a dot for each cell, coloured by its distance"),
    PAGE_OPTION,
    FLAG("inside", "picture: draw only the cells inside, and only the edges of the mesh"),
    CHOICE("palette", "NAME", CHOICE,
           "picture: thesis (default): red-green-blue outside, pink-yellow-cyan inside; diverging; "
           "grey",
           "thesis|diverging|grey"),
    CAMERA_OPTIONS("iso"),
    FIELD_OPTIONS,
    {0}};

const tool_command command_field = {
    .name = "field",
    .operands = "MESH [OUT]",
    .summary = "compute a signed distance field (SDF) of a mesh on a grid",
    .about =
        "Computes the signed distance to the mesh, negative inside, at the centre of every cell of "
        "a grid, and writes it to OUT: .abutf (complete), .vti, .npy or .raw (and .json). Each "
        "value is computed exactly, not propagated from neighbours. 'abut slice' draws the result.",
    .examples = "  abut field bunny.obj bunny.abutf --cells 128\n"
                "  abut field bunny.obj bunny.vti --cell 0.001 --band 0.01\n"
                "  abut field bunny.obj bunny.abutf --sparse --int16 --cells 512\n"
                "  abut field torn.obj torn.npy --sign winding --json\n"
                "  abut field teapot.obj --cells 32 --inside --png cells.png\n",
    .options = options_of_field,
    .operand_range = {1, 2},
    .run = run_field,
};
