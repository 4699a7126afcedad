/* abut field: computes a signed distance field and writes it to a file; draws its cells. */
#include "apps/get.h"
#include "view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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
    if (info->band < HUGE_VAL)
        json_number(out, "band", info->band);
    else
        json_null(out, "band");
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

static int check_format(tool_run *tool, const char *file, const tool_given *to,
                        abut_field_format *format) {
    static const char *const names[] = {"", "abutf", "vti", "npy", "raw", "dcache"};
    bool standard = file && strcmp(file, "-") == 0;
    const char *word = to ? to->words : standard ? "abutf" : file ? path_ending(file) : "abutf";
    for (unsigned i = 1; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0)
            *format = (abut_field_format)i;
    if (to && !file)
        return tool_refuse(tool, "--to requires the file OUT");
    if (standard && *format == ABUT_FIELD_FORMAT_RAW)
        return tool_refuse(tool,
                           "a .raw field has two files and cannot be written to standard output");
    if (!*format)
        return tool_refuse(tool,
                           "%s: the name of a field must end in .abutf, .vti, .npy, .raw or "
                           ".dcache, unless --to is given",
                           file);
    return 0;
}

/* ---- the picture ---- */

enum { MAX_CELLS = 1000000 }; /* largest number of drawn cells */
static const abut_colour edge_colour = {0.35f, 0.38f, 0.45f, 0.35f};

/* Adds legend entries for the ends of the palette and the middle, on both sides of the surface
 * if present. */
static void add_colours(tool_legend *legend, const tool_scale *scale, bool inside) {
    const double low = scale->least, high = scale->most;
    for (int k = 2; k >= 0 && !inside && high > 0; k--)
        legend_add(legend, scale_colour(scale, 0.5 * k * high), "%.3g%s", 0.5 * k * high,
                   k ? "" : ", outside");
    for (int k = 0; k <= 2 && low < 0; k++) {
        double distance = k ? 0.5 * k * low : 1e-6 * low;
        legend_add(legend, scale_colour(scale, distance), "%.3g%s", k ? distance : 0,
                   k ? "" : ", inside");
    }
}

/* Draws a dot at the centre of each cell, or of each cell inside. */
static abut_status add_cells(abut_picture *picture, const abut_field_info *info,
                             const float *values, bool inside, const tool_scale *scale) {
    const uint32_t *n = info->grid.count;
    const abut_vec3 o = info->grid.origin;
    const double cell = info->grid.cell;
    uint32_t longest = n[0] > n[1] ? n[0] : n[1];
    double width = fmax(2, 150.0 / (longest > n[2] ? longest : n[2]));
    abut_status status = ABUT_OK;
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0] && !status; x++) {
                double distance = *values++;
                abut_vec3 at = {o.x + cell * x, o.y + cell * y, o.z + cell * z};
                if (distance < 0 || !inside)
                    status =
                        abut_picture_add_point(picture, at, width, scale_colour(scale, distance));
            }
    return status;
}

/* Draws the edges of a mesh instead of its faces. */
static abut_status add_edges(abut_picture *picture, const abut_mesh *mesh) {
    const abut_vec3 o = abut_mesh_local_origin(mesh), *from = abut_mesh_local_positions(mesh);
    const uint32_t *corner = abut_mesh_indices(mesh);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < 3 * (size_t)abut_mesh_triangle_count(mesh) && !status; i++) {
        abut_vec3 p = from[corner[i]], q = from[corner[i % 3 == 2 ? i - 2 : i + 1]];
        status =
            abut_picture_add_line(picture, (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z},
                                  (abut_vec3){o.x + q.x, o.y + q.y, o.z + q.z}, 1, edge_colour);
    }
    return status;
}

/* Writes the page: the mesh, and the field as a movable slice and as isosurfaces. */
static int write_field_page(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                            const abut_field *field, const abut_picture_options *camera) {
    const tool_given *named = option_given(arguments, "palette");
    const abut_field_info info = get_field_info(field);
    const tool_scale scale =
        scale_of(named ? named->words : NULL, fmin(info.lowest, 0), fmax(info.highest, 0));
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    style.smooth = true;
    style.colour = (abut_colour){0.72f, 0.74f, 0.78f, 1};
    legend_file(&legend, style.colour, arguments->operands[0]);
    abut_status status = abut_picture_create(tool->context, camera, &picture);
    status = status ? status : abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style);
    status = status ? status : view_place_picture(tool->view, picture);
    status = status ? status : view_field(tool->view, field, "distances", &scale);
    status = status ? status : view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
    return status ? tool_fail(tool, status) : 0;
}

static int draw_field(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                      const abut_field *field) {
    const tool_given *named = option_given(arguments, "palette");
    const bool inside = option_given(arguments, "inside") != NULL;
    const abut_field_info info = get_field_info(field);
    const tool_scale scale =
        scale_of(named ? named->words : "thesis", fmin(info.lowest, 0), fmax(info.highest, 0));
    const uint32_t *n = info.grid.count, first[3] = {0, 0, 0};
    const double cells = (double)n[0] * n[1] * n[2];
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    int code = camera_read(tool, arguments, &camera);
    if (!code && tool->view)
        code = write_field_page(tool, arguments, mesh, field, &camera);
    if (code || !option_given(arguments, "png"))
        return code;
    if (cells > MAX_CELLS)
        return tool_refuse(tool, "a picture of %.0f cells would not be readable; use at most %d",
                           cells, MAX_CELLS);
    float *values = abut_context_allocate(tool->context, (size_t)cells, sizeof *values);
    style.smooth = true;
    style.colour = (abut_colour){0.72f, 0.74f, 0.78f, 1};
    legend_file(&legend, inside ? edge_colour : style.colour, arguments->operands[0]);
    add_colours(&legend, &scale, inside);
    abut_status status = values ? abut_field_copy(field, first, n, values) : ABUT_ERROR_MEMORY;
    status = status ? status : abut_picture_create(tool->context, &camera, &picture);
    if (!status && inside)
        status = add_edges(picture, mesh);
    else if (!status)
        status = abut_picture_add_mesh(picture, mesh, (abut_pose){{0, 0, 0, 1}, {0, 0, 0}}, &style);
    status = status ? status : add_cells(picture, &info, values, inside, &scale);
    const char *path = picture_given(arguments)->words;
    status = status ? status : picture_write(tool, picture, &camera, &legend, path);
    abut_picture_destroy(picture);
    abut_context_free(tool->context, values);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- the command ---- */

/* Several processes write one file together; other outputs are an error. */
static int check_shared(tool_run *tool, const tool_arguments *arguments, const char *file,
                        abut_field_format format) {
    if (!option_given(arguments, "sparse") || !file || strcmp(file, "-") == 0 ||
        format != ABUT_FIELD_FORMAT_ABUT)
        return tool_refuse(tool, "several processes need an .abutf file and --sparse");
    static const char *const alone[] = {"png", "html", "cache", "device"};
    for (int k = 0; k < 4; k++)
        if (option_given(arguments, alone[k]))
            return tool_refuse(tool, "--%s needs a single process", alone[k]);
    return 0;
}

static int write_shared(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                        abut_field_options *options, bool plain, abut_field_info *info) {
    int code = share_agree(tool, field_options(tool, arguments, options));
    if (code)
        return code;
    abut_status status = tool->share->write_field(tool->share->user, mesh, options,
                                                  arguments->operands[1], plain, info);
    tool->share->over = status != ABUT_OK; /* equal in all processes */
    return status ? tool_fail(tool, status) : 0;
}

static int run_field(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    const tool_given *to = option_given(arguments, "to"), *png = picture_given(arguments);
    const char *path = arguments->operands[0],
               *file = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    abut_mesh *mesh = NULL;
    abut_field *field = NULL;
    abut_field_write_options how = abut_field_write_options_default();
    int code = check_format(tool, file, to, &how.format);
    code = code || !png ? code : picture_check(tool, png->words);
    if (!code && !png && option_given(arguments, "inside"))
        code = tool_refuse(tool, "--inside requires --png or --html");
    if (!code && tool->share)
        code = check_shared(tool, arguments, file, how.format);
    if (code)
        return code;
    abut_field_options options = abut_field_options_default();
    if (option_given(arguments, "sparse"))
        options.layout = ABUT_FIELD_SPARSE;
    if (option_given(arguments, "int16"))
        options.type = ABUT_FIELD_INT16;
    how.plain = option_given(arguments, "plain") != NULL;
    abut_status status = tool_read(tool, path, NULL, &mesh);
    if (status)
        return tool_fail(tool, status);
    progress_start(tool->progress, path);
    double begun = seconds_now();
    field_times times = {0};
    abut_field_info info = abut_field_info_default();
    if (tool->share) {
        code = write_shared(tool, arguments, mesh, &options, how.plain, &info);
        times.ms = 1e3 * (seconds_now() - begun);
    } else {
        code = field_build(tool, arguments, mesh, &options, &times, &field);
    }
    if (!code && png)
        code = draw_field(tool, arguments, mesh, field);
    if (!code && file && field) {
        progress_start(tool->progress, file);
        if ((status = abut_field_write(field, tool_target(tool, file), &how)))
            code = tool_fail(tool, status);
    }
    if (!code) {
        info = field ? get_field_info(field) : info;
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
    }
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return code;
}

static const tool_option options_of_field[] = {
    {"to", "FORMAT", OPTION_CHOICE, "format of OUT (default: by the file extension)",
     "abutf|vti|npy|raw|dcache", false},
    {"sparse", NULL, OPTION_FLAG, "store only cells near the surface", NULL, false},
    {"int16", NULL, OPTION_FLAG, "store 16 bits for each value", NULL, false},
    {"plain", NULL, OPTION_FLAG, "do not compress the .abutf file", NULL, false},
    {"time", NULL, OPTION_FLAG,
     "print the build time; on a device, the time of the second of two builds", NULL, false},
    {"png", "FILE", OPTION_TEXT, "draw the mesh and a dot for each cell, coloured by its distance",
     NULL, false},
    PAGE_OPTION,
    {"inside", NULL, OPTION_FLAG,
     "picture: draw only the cells inside, and only the edges of the mesh", NULL, false},
    {"palette", "NAME", OPTION_CHOICE,
     "picture: thesis (default): red-green-blue outside, pink-yellow-cyan inside; diverging; grey",
     "thesis|diverging|grey", false},
    {"view", "VIEW", OPTION_TEXT,
     "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the file, otherwise z)",
     "x|y|z|-x|-y|-z", false},
    FIELD_OPTIONS,
    {0}};

const tool_command command_field = {
    .name = "field",
    .operands = "MESH [OUT]",
    .summary = "compute a signed distance field (SDF) of a mesh on a grid",
    .about = "Computes the signed distance to the mesh, negative inside, at the centre of every "
             "cell of a grid, and writes it to OUT: .abutf (complete), .vti, .npy, .raw (and "
             ".json) or .dcache. Each value is computed exactly, not propagated from neighbours. "
             "'abut slice' draws the result.",
    .examples = "  abut field bunny.obj bunny.abutf --cells 128\n"
                "  abut field bunny.obj bunny.vti --cell 0.001 --band 0.01\n"
                "  abut field bunny.obj bunny.abutf --sparse --int16 --cells 512\n"
                "  abut field torn.obj torn.npy --sign winding --json\n"
                "  abut field teapot.obj --cells 32 --inside --png cells.png\n",
    .options = options_of_field,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run_field,
};
