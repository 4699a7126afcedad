/* abut make: writes generated shapes. The parameters of a shape are those that are not 0 in its
 * default description. */
#include "tool.h"

#include <string.h>

/* ---- parameters ---- */

enum { SIZE, RADIUS, RADIUS2, HEIGHT, SEGMENTS, RINGS, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"size",   "radius",   "radius2",
                                                   "height", "segments", "rings"};

/* The index of an option that is a parameter; PARAMETERS for others. */
static int parameter_of(const char *option) {
    int i = 0;
    while (i < PARAMETERS && strcmp(parameters[i], option) != 0)
        i++;
    return i;
}

static double *real_parameter(abut_shape *shape, int which) {
    return which == RADIUS ? &shape->radius : which == RADIUS2 ? &shape->radius2 : &shape->height;
}

static uint32_t *whole_parameter(abut_shape *shape, int which) {
    return which == SEGMENTS ? &shape->segments : &shape->rings;
}

static bool has_parameter(abut_shape *shape, int which) {
    const abut_vec3 e = shape->extent;
    return which == SIZE      ? e.x > 0 || e.y > 0 || e.z > 0
           : which < SEGMENTS ? *real_parameter(shape, which) > 0
                              : *whole_parameter(shape, which) > 0;
}

/* Adds the options of a shape with their values: "--radius 1 --segments 8". */
static void add_parameters(tool_text *to, abut_shape *shape) {
    for (int i = 0; i < PARAMETERS; i++) {
        if (!has_parameter(shape, i))
            continue;
        text_print(to, "%s--%s ", to->used ? " " : "", parameters[i]);
        if (i == SIZE)
            text_print(to, "%g,%g,%g", shape->extent.x, shape->extent.y, shape->extent.z);
        else if (i < SEGMENTS)
            text_print(to, "%g", *real_parameter(shape, i));
        else
            text_print(to, "%u", *whole_parameter(shape, i));
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
    const int which = parameter_of(given->option->name);
    if (which == PARAMETERS)
        return;
    if (!has_parameter(shape, which)) {
        tool_text words = {0};
        abut_shape standard = abut_shape_default(shape->kind);
        add_parameters(&words, &standard);
        tool_refuse(tool, "a %s has no --%s; its options are %s", abut_shape_kind_name(shape->kind),
                    given->option->name, text_of(&words));
    }
    if (which == SIZE)
        set_size(tool, given->numbers, shape);
    else if (which < SEGMENTS)
        *real_parameter(shape, which) = given->numbers[0];
    else
        *whole_parameter(shape, which) = given->counts[0];
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
        for (int i = 0; i < PARAMETERS; i++)
            if (has_parameter(&shape, i) && i == SIZE)
                json_vector(out, "size", shape.extent);
            else if (has_parameter(&shape, i) && i < SEGMENTS)
                json_number(out, parameters[i], *real_parameter(&shape, i));
            else if (has_parameter(&shape, i))
                json_count(out, parameters[i], *whole_parameter(&shape, i));
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
        text_mesh_size(&words, mesh);
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
