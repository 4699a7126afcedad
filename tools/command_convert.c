/* abut convert: read, repair, move, write. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* Reads scale, all rotations in their order, and the translation. */
static int read_motion(tool_run *tool, const tool_arguments *arguments, double *scale,
                       abut_pose *pose) {
    const tool_given *scaled = option_given(arguments, "scale");
    const tool_given *moved = option_given(arguments, "translate");
    *scale = scaled ? scaled->numbers[0] : 1;
    if (*scale == 0)
        return tool_refuse(tool, "--scale needs a number that is not 0; '%s' is", scaled->words);
    *pose = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (moved)
        pose->translation = (abut_vec3){moved->numbers[0], moved->numbers[1], moved->numbers[2]};
    for (size_t i = 0; i < arguments->given_count; i++) {
        const tool_given *given = &arguments->given[i];
        abut_quat turn;
        if (strcmp(given->option->name, "rotate") != 0)
            continue;
        if (!rotation_read(given->words, &turn))
            return tool_refuse(tool,
                               "--rotate needs an axis and degrees, such as x,90 or 1,1,0,30; "
                               "'%s' is not",
                               given->words);
        pose->rotation = rotation_after(turn, pose->rotation);
    }
    return 0;
}

/* ---- joining ---- */

/* One mesh of all, vertices and triangles one after the other. */
static abut_status join(tool_run *tool, abut_mesh *const *meshes, size_t count,
                        abut_mesh **joined) {
    uint64_t vertices = 0, triangles = 0;
    for (size_t i = 0; i < count; i++) {
        vertices += abut_mesh_vertex_count(meshes[i]);
        triangles += abut_mesh_triangle_count(meshes[i]);
    }
    if (vertices > UINT32_MAX || triangles > UINT32_MAX)
        return abut_fail(ABUT_ERROR_LIMIT, "the meshes are too large to be joined");
    abut_vec3 *positions =
        abut_context_allocate(tool->context, (size_t)vertices, sizeof *positions);
    uint32_t *indices =
        abut_context_allocate(tool->context, (size_t)triangles, 3 * sizeof *indices);
    uint32_t base = 0, *corner = indices;
    abut_status status = positions && indices ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; !status && i < count; i++) {
        const abut_vec3 o = abut_mesh_origin(meshes[i]), *p = abut_mesh_positions(meshes[i]);
        const uint32_t *from = abut_mesh_indices(meshes[i]);
        uint32_t own = abut_mesh_vertex_count(meshes[i]);
        for (uint32_t k = 0; k < own; k++)
            positions[base + k] = (abut_vec3){o.x + p[k].x, o.y + p[k].y, o.z + p[k].z};
        for (size_t k = 0; k < 3 * (size_t)abut_mesh_triangle_count(meshes[i]); k++)
            *corner++ = base + from[k];
        base += own;
    }
    if (!status) {
        abut_mesh_input input =
            abut_mesh_input_doubles(positions, (uint32_t)vertices, indices, (uint32_t)triangles);
        status = abut_mesh_create(tool->context, &input, joined);
    }
    abut_context_release(tool->context, positions);
    abut_context_release(tool->context, indices);
    return status;
}

/* ---- steps: each replaces the mesh by a better one ---- */

static void replace_mesh(abut_mesh **mesh, abut_mesh *by) {
    abut_mesh_destroy(*mesh);
    *mesh = by;
}

static abut_status weld(tool_output *out, abut_mesh **mesh, double tolerance) {
    abut_mesh *welded = NULL;
    uint32_t vertices = abut_mesh_vertex_count(*mesh), triangles = abut_mesh_triangle_count(*mesh);
    abut_status status = abut_mesh_weld(*mesh, tolerance, &welded);
    if (status)
        return status;
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
    say_fact(out, "weld", "%s", words.data ? words.data : "");
    text_free(&words);
    out_object(out, "weld");
    json_number(out, "tolerance", tolerance);
    json_count(out, "vertices_removed", vertices);
    json_count(out, "triangles_removed", triangles);
    out_end(out);
    return ABUT_OK;
}

static abut_status orient(tool_output *out, abut_mesh **mesh) {
    abut_topology *topology = NULL;
    abut_mesh *oriented = NULL;
    uint32_t flipped = 0;
    abut_status status = abut_topology_create(*mesh, &topology);
    if (!status)
        status = abut_mesh_orient(topology, &oriented, &flipped);
    abut_topology_destroy(topology);
    if (status)
        return status;
    replace_mesh(mesh, oriented);
    tool_text words = {0};
    text_grouped(&words, flipped);
    say_fact(out, "orient", "turned %s triangle%s", words.data ? words.data : "",
             flipped == 1 ? "" : "s");
    text_free(&words);
    json_count(out, "flipped", flipped);
    return ABUT_OK;
}

static abut_status move(abut_mesh **mesh, double scale, abut_pose pose) {
    abut_mesh *moved = NULL;
    abut_status status = abut_mesh_transform(*mesh, scale, pose, &moved);
    if (!status)
        replace_mesh(mesh, moved);
    return status;
}

/* ---- the command ---- */

static void tell_size(tool_output *out, const char *key, const char *path, const abut_mesh *mesh) {
    tool_text words = {0};
    text_safe(&words, path);
    text_add(&words, ": ");
    text_grouped(&words, abut_mesh_vertex_count(mesh));
    text_add(&words, " vertices, ");
    text_grouped(&words, abut_mesh_triangle_count(mesh));
    text_add(&words, " triangles");
    say_fact(out, key, "%s", words.data ? words.data : "");
    text_free(&words);
    if (!out->json)
        return;
    out_object(out, key);
    json_path(out, "file", path);
    json_count(out, "vertices", abut_mesh_vertex_count(mesh));
    json_count(out, "triangles", abut_mesh_triangle_count(mesh));
    out_end(out);
}

/* Reads all files but the last, and joins them. */
static abut_status read_all(tool_run *tool, const tool_arguments *arguments,
                            const abut_mesh_read_options *reading, abut_mesh **mesh) {
    size_t count = arguments->operand_count - 1;
    abut_mesh **meshes = abut_context_allocate(tool->context, count, sizeof *meshes);
    abut_status status = meshes ? ABUT_OK : ABUT_ERROR_MEMORY;
    size_t read = 0;
    for (; !status && read < count; read += !status)
        status = tool_read(tool, arguments->operands[read], reading, &meshes[read]);
    for (size_t i = 0; !status && i < count; i++)
        tell_size(&tool->out, "read", arguments->operands[i], meshes[i]);
    if (!status && count == 1)
        *mesh = abut_mesh_retain(meshes[0]);
    else if (!status)
        status = join(tool, meshes, count, mesh);
    for (size_t i = 0; i < read; i++)
        abut_mesh_destroy(meshes[i]);
    abut_context_release(tool->context, meshes);
    return status;
}

/* Everything from the open object to the written file. */
static abut_status work(tool_run *tool, const tool_arguments *arguments, double scale,
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
    abut_status status = read_all(tool, arguments, &reading, mesh);
    if (status)
        return status;
    out_end(out);
    if (welded)
        status = weld(out, mesh, welded->numbers[0]);
    if (!status && option_given(arguments, "orient"))
        status = orient(out, mesh);
    if (!status && (option_given(arguments, "scale") || option_given(arguments, "rotate") ||
                    option_given(arguments, "translate")))
        status = move(mesh, scale, pose);
    progress_start(tool->progress, path);
    if (!status && tool_cancelled())
        return ABUT_ERROR_CANCELLED;
    if (!status)
        status = abut_mesh_write(*mesh, tool_target(tool, path), writing);
    if (!status)
        tell_size(out, "wrote", path, *mesh);
    return status;
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    abut_mesh_write_options writing = abut_mesh_write_options_default();
    double scale = 1;
    abut_pose pose = {0};
    int code = tool_output_format(tool, arguments->operands[arguments->operand_count - 1],
                                  option_given(arguments, "to"), &writing.format);
    if (!code)
        code = read_motion(tool, arguments, &scale, &pose);
    if (code)
        return code;
    writing.ascii = option_given(arguments, "ascii") != NULL;
    abut_mesh *mesh = NULL;
    out_object(&tool->out, NULL);
    abut_status status = work(tool, arguments, scale, pose, &writing, &mesh);
    abut_mesh_destroy(mesh);
    if (status)
        return tool_fail(tool, status);
    out_end(&tool->out);
    if (tool->quiet && !tool->out.json)
        text_clear(&tool->out.text);
    return CODE_FINE;
}

static const tool_option options[] = {
    {"weld", "T", OPTION_TOLERANCE,
     "merge vertices at the same place, or closer than T, and drop what collapses", NULL, false},
    {"orient", NULL, OPTION_FLAG,
     "turn triangles so that neighbours agree and solids face outwards", NULL, false},
    {"scale", "S", OPTION_NUMBER, "multiply all coordinates by S; negative mirrors", NULL, false},
    {"rotate", "AXIS,DEG", OPTION_TEXT,
     "turn about x, y, z or an axis X,Y,Z through the origin; may be repeated", NULL, true},
    {"translate", "X,Y,Z", OPTION_VECTOR, "move by this much", NULL, false},
    {"fan", NULL, OPTION_FLAG, "cut every polygon as a fan from its first corner", NULL, false},
    {"ascii", NULL, OPTION_FLAG, "write PLY, STL and glTF as text", NULL, false},
    {"from", "FORMAT", OPTION_CHOICE,
     "read as obj, ply, stl, off, gltf or other, whatever the name says",
     "obj|ply|stl|off|gltf|other", false},
    {"to", "FORMAT", OPTION_CHOICE, "write as obj, ply, stl, off or gltf, whatever the name says",
     "obj|ply|stl|off|gltf", false},
    {0}};

const tool_command command_convert = {
    .name = "convert",
    .operands = "IN... OUT",
    .summary = "read meshes, join, repair or move them, and write any format",
    .about = "Reads IN, does what the options ask, in the order weld, orient, scale, rotate, "
             "translate, and writes OUT. Several meshes become one, their triangles one after the "
             "other. IN and OUT may be the same file: the old one stays until the new one is "
             "complete.",
    .examples = "  abut convert scan.stl scan.ply --weld --orient\n"
                "  abut convert bunny.obj turned.obj --rotate x,90 --scale 10\n"
                "  abut convert part.ply part.stl --ascii\n"
                "  abut convert lid.obj box.obj both.ply --weld\n"
                "  gunzip -c scan.obj.gz | abut convert - scan.ply\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 2,
    .operand_most = UINT32_MAX,
    .run = run,
};
