/* abut convert: reads, repairs, transforms and writes meshes. */
#include "tool.h"

#include <string.h>

/* Reads scale, all rotations in their order, and the translation. */
static void read_motion(tool_run *tool, const tool_arguments *arguments, double *scale,
                        abut_pose *pose) {
    const tool_given *scaled = option_given(arguments, "scale");
    const tool_given *moved = option_given(arguments, "translate");
    *scale = scaled ? scaled->numbers[0] : 1;
    if (*scale == 0)
        tool_refuse(tool, "--scale must be a number other than 0, not '%s'", scaled->words);
    *pose = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (moved)
        pose->translation = vec_of(moved->numbers);
    for (size_t i = 0; i < arguments->given_count; i++) {
        const tool_given *given = &arguments->given[i];
        abut_quat turn;
        if (strcmp(given->option->name, "rotate") != 0)
            continue;
        if (!rotation_read(given->words, &turn))
            tool_refuse(tool,
                        "--rotate must be an axis and degrees, such as x,90 or 1,1,0,30, not '%s'",
                        given->words);
        pose->rotation = rotation_after(turn, pose->rotation);
    }
}

/* ---- steps: each replaces the mesh ---- */

static void replace_mesh(abut_mesh **mesh, abut_mesh *by) {
    abut_mesh_destroy(*mesh);
    *mesh = by;
}

static void weld_mesh(tool_output *out, abut_mesh **mesh, double tolerance) {
    abut_mesh *welded = NULL;
    uint32_t vertices = abut_mesh_vertex_count(*mesh), triangles = abut_mesh_triangle_count(*mesh);
    ensure(abut_mesh_weld(*mesh, tolerance, &welded));
    replace_mesh(mesh, welded);
    vertices -= abut_mesh_vertex_count(welded);
    triangles -= abut_mesh_triangle_count(welded);
    tool_text words = {0};
    text_add(&words, "removed ");
    text_grouped(&words, vertices);
    text_add(&words, vertices == 1 ? " vertex and " : " vertices and ");
    text_grouped(&words, triangles);
    text_add(&words, triangles == 1 ? " triangle" : " triangles");
    if (tolerance > 0)
        text_print(&words, " (tolerance %g)", tolerance);
    print_fact(out, "weld", "%s", text_of(&words));
    out_object(out, "weld");
    json_number(out, "tolerance", tolerance);
    json_count(out, "vertices_removed", vertices);
    json_count(out, "triangles_removed", triangles);
    out_end(out);
}

static void orient_mesh(tool_output *out, abut_mesh **mesh) {
    abut_topology *topology = NULL;
    abut_mesh *oriented = NULL;
    uint32_t flipped = 0;
    ensure(abut_topology_create(*mesh, &topology));
    ensure(abut_mesh_orient(topology, &oriented, &flipped));
    abut_topology_destroy(topology);
    replace_mesh(mesh, oriented);
    tool_text words = {0};
    text_grouped(&words, flipped);
    print_fact(out, "orient", "flipped %s triangle%s", text_of(&words), flipped == 1 ? "" : "s");
    json_count(out, "flipped", flipped);
}

/* ---- the command ---- */

static void print_size(tool_output *out, const char *key, const char *path, const abut_mesh *mesh) {
    tool_text words = {0};
    text_safe(&words, path);
    text_add(&words, ": ");
    text_mesh_size(&words, mesh);
    print_fact(out, key, "%s", text_of(&words));
    json_object(out, key);
    json_path(out, "file", path);
    json_count(out, "vertices", abut_mesh_vertex_count(mesh));
    json_count(out, "triangles", abut_mesh_triangle_count(mesh));
    json_end(out);
}

/* Reads all files except the last, and merges them. */
static void read_inputs(tool_run *tool, const tool_arguments *arguments,
                        const abut_mesh_read_options *reading, abut_mesh **mesh) {
    size_t count = arguments->operand_count - 1;
    abut_mesh **meshes = tool_array(count, sizeof *meshes);
    size_t read = 0;
    for (; read < count; read++)
        ensure(tool_read(tool, arguments->operands[read], reading, &meshes[read]));
    for (size_t i = 0; i < count; i++)
        print_size(&tool->out, "read", arguments->operands[i], meshes[i]);
    if (count == 1)
        *mesh = abut_mesh_retain(meshes[0]);
    else
        ensure(abut_mesh_join(meshes, (uint32_t)count, mesh));
    for (size_t i = 0; i < read; i++)
        abut_mesh_destroy(meshes[i]);
}

/* Runs all steps and writes the file. */
static void convert_mesh(tool_run *tool, const tool_arguments *arguments, double scale,
                         abut_pose pose, const abut_mesh_write_options *writing, abut_mesh **mesh) {
    tool_output *out = &tool->out;
    const tool_given *from = option_given(arguments, "from"),
                     *welded = option_given(arguments, "weld");
    abut_mesh_read_options reading = abut_mesh_read_options_default();
    if (from)
        reading.format = tool_format(from->words);
    if (option_given(arguments, "fan"))
        reading.triangulation = ABUT_TRIANGULATION_FAN;
    const char *path = arguments->operands[arguments->operand_count - 1];
    out_list(out, "read");
    read_inputs(tool, arguments, &reading, mesh);
    out_end(out);
    if (welded)
        weld_mesh(out, mesh, welded->numbers[0]);
    if (option_given(arguments, "orient"))
        orient_mesh(out, mesh);
    if (option_any(arguments, "scale|rotate|translate")) {
        abut_mesh *moved = NULL;
        ensure(abut_mesh_transform(*mesh, scale, pose, &moved));
        replace_mesh(mesh, moved);
    }
    progress_start(tool->progress, path);
    if (tool_cancelled())
        tool_fail(tool, ABUT_ERROR_CANCELLED);
    ensure(abut_mesh_write(*mesh, tool_target(tool, path), writing));
    print_size(out, "wrote", path, *mesh);
}

/* A folder with a mesh for each frame becomes a recording. */
static int record_folder(tool_run *tool, const tool_arguments *arguments) {
    const char *folder = arguments->operands[0], *path = arguments->operands[1];
    tool_output *out = &tool->out;
    if (arguments->operand_count != 2 || !frames_is_folder(folder))
        tool_refuse(tool, "a recording '%s' is made of one folder with a mesh for each frame",
                    arguments->operands[arguments->operand_count - 1]);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (!word_in(arguments->given[i].option->name, "json|quiet|threads|help"))
            tool_refuse(tool, "--%s does not apply to recordings",
                        arguments->given[i].option->name);
    progress_start(tool->progress, folder);
    const uint64_t frames = frames_record(tool, folder, path);
    out_object(out, NULL);
    json_path(out, "read", folder);
    json_path(out, "wrote", path);
    json_count(out, "frames", frames);
    if (!tool->quiet)
        print_fact(out, "wrote", "%s: %llu frames", path, (unsigned long long)frames);
    out_end(out);
    return CODE_FINE;
}

static int run_convert(tool_run *tool, const tool_arguments *arguments) {
    if (recording_is(arguments->operands[arguments->operand_count - 1]))
        return record_folder(tool, arguments);
    abut_mesh_write_options writing = abut_mesh_write_options_default();
    double scale = 1;
    abut_pose pose = {0};
    tool_output_format(tool, arguments->operands[arguments->operand_count - 1],
                       option_given(arguments, "to"), &writing.format);
    read_motion(tool, arguments, &scale, &pose);
    writing.ascii = option_given(arguments, "ascii") != NULL;
    abut_mesh *mesh = NULL;
    out_object(&tool->out, NULL);
    convert_mesh(tool, arguments, scale, pose, &writing, &mesh);
    abut_mesh_destroy(mesh);
    out_end(&tool->out);
    if (tool->quiet && !tool->out.json)
        text_clear(&tool->out.text);
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("weld", "T", TOLERANCE,
           "merge vertices with equal coordinates, or nearer than T; remove triangles that become "
           "degenerate"),
    FLAG("orient", "flip triangles so that neighbours agree and solids face outwards"),
    OPTION("scale", "S", NUMBER, "multiply all coordinates by S; a negative S mirrors the mesh"),
    REPEATED("rotate", "AXIS,DEG", TEXT,
             "rotate about x, y, z or an axis X,Y,Z through the origin; repeatable"),
    OPTION("translate", "X,Y,Z", VECTOR, "translate by this vector"),
    FLAG("fan", "triangulate every polygon as a fan from its first corner"),
    FLAG("ascii", "write PLY, STL and glTF as text"),
    CHOICE("from", "FORMAT", CHOICE,
           "read as obj, ply, stl, off, gltf or other, regardless of the file extension",
           "obj|ply|stl|off|gltf|other"),
    CHOICE("to", "FORMAT", CHOICE,
           "write as obj, ply, stl, off or gltf, regardless of the file extension",
           "obj|ply|stl|off|gltf"),
    {0}};

const tool_command command_convert = {
    .name = "convert",
    .operands = "IN... OUT | FOLDER OUT.abutm",
    .summary = "read meshes, merge, repair or transform them, write any format",
    .about =
        "Reads IN, applies the options in the order weld, orient, scale, rotate, translate, "
        "and writes OUT. Several input meshes are merged into one, with their triangles in "
        "the order of the files. IN and OUT may be the same file: it is replaced only when "
        "the new one is complete.\n\n"
        "A folder with a mesh for each frame, all with the same triangles, becomes a "
        "recording for 'abut replay', 'abut sweep' and others. Numbers in names are compared as "
        "numbers.",
    .examples = "  abut convert scan.stl scan.ply --weld --orient\n"
                "  abut convert bunny.obj turned.obj --rotate x,90 --scale 10\n"
                "  abut convert part.ply part.stl --ascii\n"
                "  abut convert lid.obj box.obj both.ply --weld\n"
                "  abut convert frames/ motion.abutm\n"
                "  gunzip -c scan.obj.gz | abut convert - scan.ply\n",
    .options = options,
    .operand_range = {2, UINT32_MAX},
    .run = run_convert,
};
