/* abut make: writes generated shapes. The parameters of a shape are those that are not 0 in its
 * default description. */
#include "tool.h"

#include <string.h>

/* ---- parameters ---- */

static bool has_parameter(const abut_shape *shape, const char *option) {
    if (strcmp(option, "size") == 0)
        return shape->extent.x > 0 || shape->extent.y > 0 || shape->extent.z > 0;
    if (strcmp(option, "radius") == 0)
        return shape->radius > 0;
    if (strcmp(option, "radius2") == 0)
        return shape->radius2 > 0;
    if (strcmp(option, "height") == 0)
        return shape->height > 0;
    if (strcmp(option, "segments") == 0)
        return shape->segments > 0;
    return strcmp(option, "rings") == 0 && shape->rings > 0;
}

static const char *const parameters[] = {"size",   "radius",   "radius2",
                                         "height", "segments", "rings"};
enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* Adds the options of a shape with their values: "--radius 1 --segments 8". */
static void add_parameters(tool_text *to, const abut_shape *shape) {
    const double reals[] = {0, shape->radius, shape->radius2, shape->height};
    const uint32_t wholes[] = {shape->segments, shape->rings};
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        if (!has_parameter(shape, parameters[i]))
            continue;
        text_print(to, "%s--%s ", to->used ? " " : "", parameters[i]);
        if (i == 0)
            text_print(to, "%g,%g,%g", shape->extent.x, shape->extent.y, shape->extent.z);
        else if (i < 4)
            text_print(to, "%g", reals[i]);
        else
            text_print(to, "%u", wholes[i - 4]);
    }
}

/* Sides that are 0 in the default of a shape stay 0. */
static void set_size(tool_run *tool, const double *numbers, abut_shape *shape) {
    double *sides[3] = {&shape->extent.x, &shape->extent.y, &shape->extent.z};
    for (int k = 0; k < 3; k++) {
        if (*sides[k] > 0 && !(numbers[k] > 0))
            tool_refuse(tool, "--size of a %s must be above 0 along %c",
                        abut_shape_kind_name(shape->kind), 'x' + k);
        if (*sides[k] > 0)
            *sides[k] = numbers[k];
    }
}

static void set_parameter(tool_run *tool, const tool_given *given, abut_shape *shape) {
    const char *name = given->option->name;
    if (!has_parameter(shape, name)) {
        tool_text words = {0};
        abut_shape standard = abut_shape_default(shape->kind);
        add_parameters(&words, &standard);
        tool_refuse(tool, "a %s has no --%s; its options are %s", abut_shape_kind_name(shape->kind),
                    name, text_of(&words));
        return;
    }
    if (strcmp(name, "size") == 0) {
        set_size(tool, given->numbers, shape);
        return;
    }
    if (strcmp(name, "radius") == 0)
        shape->radius = given->numbers[0];
    else if (strcmp(name, "radius2") == 0)
        shape->radius2 = given->numbers[0];
    else if (strcmp(name, "height") == 0)
        shape->height = given->numbers[0];
    else if (strcmp(name, "segments") == 0)
        shape->segments = given->counts[0];
    else
        shape->rings = given->counts[0];
}

static bool is_parameter(const char *name) {
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        if (strcmp(name, parameters[i]) == 0)
            return true;
    return false;
}

/* ---- the list ---- */

static void list_shapes(tool_run *tool) {
    tool_output *out = &tool->out;
    out_object(out, NULL);
    out_table(out, "shapes");
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        tool_text words = {0};
        add_parameters(&words, &shape);
        out_object(out, NULL);
        fact_text(out, "shape", abut_shape_kind_name((abut_shape_kind)kind));
        print_fact(out, "options and their defaults", "%s", text_of(&words));
        if (has_parameter(&shape, "size"))
            json_vector(out, "size", shape.extent);
        if (has_parameter(&shape, "radius"))
            json_number(out, "radius", shape.radius);
        if (has_parameter(&shape, "radius2"))
            json_number(out, "radius2", shape.radius2);
        if (has_parameter(&shape, "height"))
            json_number(out, "height", shape.height);
        if (has_parameter(&shape, "segments"))
            json_count(out, "segments", shape.segments);
        if (has_parameter(&shape, "rings"))
            json_count(out, "rings", shape.rings);
        out_end(out);
    }
    out_end(out);
    out_end(out);
}

/* ---- the command ---- */

/* Other names for shapes. */
static const struct {
    const char *word, *name;
} aliases[] = {{"sphere", "icosphere"}, {"ball", "icosphere"}, {"cube", "box"},
               {"plane", "sheet"},      {"ring", "torus"},     {"donut", "torus"},
               {"pipe", "tube"},        {"pill", "capsule"}};

static void find_shape(tool_run *tool, const char *name, abut_shape *shape) {
    abut_shape_kind kind;
    if (abut_shape_kind_from_name(name, &kind) == ABUT_OK) {
        *shape = abut_shape_default(kind);
        return;
    }
    const char *best = NULL;
    size_t distance = 0;
    for (int i = 0; i < ABUT_SHAPE_COUNT; i++)
        word_closer(name, abut_shape_kind_name((abut_shape_kind)i), &best, &distance);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const char *alias = NULL;
        size_t apart = 0;
        word_closer(name, aliases[i].word, &alias, &apart);
        if (alias && (!best || apart < distance)) {
            best = aliases[i].name;
            distance = apart;
        }
    }
    if (best)
        tool_refuse(tool, "unknown shape '%s'; did you mean '%s'?", name, best);
    tool_refuse(
        tool, "unknown shape '%s'; 'abut make --list' lists the shapes; usage: abut make SHAPE OUT",
        name);
}

static void make_shape(tool_run *tool, const abut_shape *shape, const char *path,
                       const abut_mesh_write_options *writing) {
    tool_output *out = &tool->out;
    abut_mesh *mesh = NULL;
    progress_start(tool->progress, path);
    abut_status status = abut_shape_create(tool->context, shape, &mesh);
    if (status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT)
        tool_refuse_last(tool); /* inconsistent sizes, or too many segments */
    ensure(status);
    if (tool_cancelled())
        ensure(ABUT_ERROR_CANCELLED);
    ensure(abut_mesh_write(mesh, tool_target(tool, path), writing));
    if (out->json || !tool->quiet) {
        tool_text words = {0};
        text_print(&words, "%s, ", abut_shape_kind_name(shape->kind));
        text_grouped(&words, abut_mesh_vertex_count(mesh));
        text_add(&words, " vertices, ");
        text_grouped(&words, abut_mesh_triangle_count(mesh));
        text_add(&words, " triangles");
        print_line_of(out, path, "%s", text_of(&words));
        out_object(out, NULL);
        json_path(out, "file", path);
        json_text(out, "shape", abut_shape_kind_name(shape->kind));
        json_count(out, "vertices", abut_mesh_vertex_count(mesh));
        json_count(out, "triangles", abut_mesh_triangle_count(mesh));
        out_end(out);
    }
    abut_mesh_destroy(mesh);
}

static int run_make(tool_run *tool, const tool_arguments *arguments) {
    if (option_given(arguments, "list") || !arguments->operand_count) {
        list_shapes(tool);
        return CODE_FINE;
    }
    abut_shape shape;
    find_shape(tool, arguments->operands[0], &shape);
    if (arguments->operand_count < 2)
        tool_refuse(tool, "the output file is missing; usage: abut make SHAPE OUT");
    const char *path = arguments->operands[1];
    abut_mesh_write_options writing = abut_mesh_write_options_default();
    writing.ascii = option_given(arguments, "ascii") != NULL;
    tool_output_format(tool, path, option_given(arguments, "to"), &writing.format);
    for (size_t i = 0; i < arguments->given_count; i++)
        if (is_parameter(arguments->given[i].option->name))
            set_parameter(tool, &arguments->given[i], &shape);
    make_shape(tool, &shape, path, &writing);
    return CODE_FINE;
}

static const tool_option options[] = {
    FLAG("list", "list the shapes with their options and defaults"),
    OPTION("size", "X,Y,Z", SIZE,
           "lengths along the axes; one number sets all three, 0 is for an axis that the shape "
           "does not have"),
    OPTION("radius", "R", POSITIVE, "radius; of a torus, the major radius"),
    OPTION("radius2", "R", POSITIVE, "inner radius of a tube; minor radius of a torus"),
    OPTION("height", "H", POSITIVE, "height"),
    OPTION("segments", "N", COUNT, "number of segments around the axis, or along a side"),
    OPTION("rings", "N", COUNT,
           "number of rings from pole to pole, or segments in the second direction"),
    FLAG("ascii", "write PLY and STL as text"),
    CHOICE("to", "FORMAT", CHOICE,
           "write as obj, ply, stl, off or gltf, regardless of the file extension",
           "obj|ply|stl|off|gltf"),
    {0}};

const tool_command command_make = {
    .name = "make",
    .operands = "[SHAPE OUT]",
    .summary = "write a generated shape: icosphere, torus, stairs, teapot, ...",
    .about = "Writes a generated mesh. Without SHAPE, or with --list, lists the shapes with the "
             "options of each. Equal options give equal files, bit for bit.",
    .examples = "  abut make --list\n"
                "  abut make icosphere ball.obj --radius 2 --segments 16\n"
                "  abut make torus ring.ply --radius 1 --radius2 0.25 --segments 96\n",
    .options = options,
    .operand_kind = OPERAND_SHAPE,
    .operand_range = {0, 2},
    .run = run_make,
};
