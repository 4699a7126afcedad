/* abut offset: the offset surface of a mesh, or a closed version of an open mesh. */
#include "tool.h"

#include <math.h>

/* The grid must contain the new surface: its margin is the offset and two cells. */
static void choose_margin(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
                          double by, abut_field_options *options) {
    const tool_given *cells = option_given(arguments, "cells"),
                     *cell = option_given(arguments, "cell");
    abut_box box = abut_mesh_bounds(mesh);
    double longest = box_longest(&box);
    uint32_t count = cells ? cells->counts[0] : 128;
    double out = fmax(by, 0);
    if (cell && cells)
        return; /* field_build() reports the error */
    if (!cell && count < 8) {
        option_range(tool, cells, 8, UINT32_MAX, "cells");
        return;
    }
    double size = cell ? cell->numbers[0] : (longest + 2 * out) / (count - 5.0);
    options->cells = cell ? 0 : count;
    options->margin = out + 2.5 * size;
}

static void print_offset(tool_run *tool, const char *path, const abut_mesh *mesh, double by,
                         const abut_field_info *info) {
    tool_output *out = &tool->out;
    const double counts[3] = {info->grid.count[0], info->grid.count[1], info->grid.count[2]};
    out_object(out, NULL);
    json_path(out, "file", path);
    json_number(out, "by", by);
    json_count(out, "vertices", abut_mesh_vertex_count(mesh));
    json_count(out, "triangles", abut_mesh_triangle_count(mesh));
    json_numbers(out, "count", counts, 3);
    json_number(out, "cell", info->grid.cell);
    if (!tool->quiet && !out->json) {
        tool_text words = {0};
        text_mesh_size(&words, mesh);
        print_line_of(out, path, "%s, from %u x %u x %u cells of size %.4g", text_of(&words),
                      info->grid.count[0], info->grid.count[1], info->grid.count[2],
                      info->grid.cell);
    }
    out_end(out);
}

static int run_offset(tool_run *tool, const tool_arguments *arguments) {
    const char *from = arguments->operands[0], *to = arguments->operands[1];
    double by = option_number(arguments, "by", 0);
    abut_mesh *mesh = NULL, *surface = NULL;
    abut_field *field = NULL;
    abut_field_options options = abut_field_options_default();
    abut_mesh_format format;
    tool_output_format(tool, to, option_given(arguments, "to"), &format);
    mesh = mesh_read(tool, from);
    choose_margin(tool, arguments, mesh, by, &options);
    progress_start(tool->progress, from);
    field_build(tool, arguments, mesh, &options, NULL, &field);
    abut_field_info info = get_field_info(field);
    abut_status status = abut_field_isosurface(field, by, &surface);
    if (status == ABUT_ERROR_ARGUMENT && info.lowest >= by && by < 0)
        tool_fail_with(tool, abut_status_name(status),
                       "%s: the result is empty: no point is %g deep inside, with cells of %g",
                       from, -by, info.grid.cell);
    if (status == ABUT_ERROR_ARGUMENT && info.lowest >= by)
        tool_fail_with(tool, abut_status_name(status),
                       "%s: no cell of size %g is inside, as for a sheet or a plate thinner than a "
                       "cell: use smaller cells, or a larger --by",
                       from, info.grid.cell);
    ensure(status);
    mesh_write(tool, surface, to, format);
    print_offset(tool, to, surface, by, &info);
    abut_mesh_destroy(surface);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return CODE_FINE;
}

static const tool_option options_of_offset[] = {
    OPTION("by", "DISTANCE", NUMBER,
           "offset distance, positive outwards (default: 0, the same surface, closed)"),
    OPTION("cells", "N", COUNT, "cells along the longest side (default: 128)"),
    OPTION("cell", "SIZE", POSITIVE, "cell size, instead of --cells"),
    CHOICE("sign", "METHOD", CHOICE,
           "how the inside is determined: by winding numbers, which tolerate holes, or by "
           "pseudo-normals (default: auto)",
           "auto|winding|normal"),
    CHOICE("to", "FORMAT", CHOICE, "format of OUT (default: by the file extension)",
           "obj|ply|stl|off|gltf"),
    CACHE_OPTION,
    DEVICE_OPTION,
    {0}};

const tool_command command_offset = {
    .name = "offset",
    .operands = "MESH OUT",
    .summary = "offset surface of a mesh, or a closed version of an open mesh",
    .about =
        "Writes the surface of all points at a distance from the mesh: closed, oriented and "
        "without holes, even if the mesh is not. With distance 0, the default, it is the repaired "
        "surface of the mesh itself. The result is an isosurface of a signed distance field: edges "
        "are rounded, and details thinner than a cell are lost. More cells give finer results.",
    .examples = "  abut offset bunny.obj shell.ply --by 0.01\n"
                "  abut offset torn.obj closed.ply --cells 256\n"
                "  abut offset part.stl shrunk.stl --by=-0.2 --cell 0.05\n",
    .options = options_of_offset,
    .operand_range = {2, 2},
    .run = run_offset,
};
