/* abut picture: renders meshes into an image file, without a display. */
#include "tool.h"

#include <string.h>

static void read_picture_options(tool_run *tool, const tool_arguments *arguments,
                                 abut_picture_options *options) {
    const tool_given *size = option_given(arguments, "size");
    const tool_given *background = option_given(arguments, "background");
    *options = abut_picture_options_default();
    if (size) {
        options->width = size->counts[0];
        options->height = size->counts[1];
        if (options->width > 16384 || options->height > 16384)
            tool_refuse(tool, "--size must be from 1x1 to 16384x16384 pixels, not '%s'",
                        size->words);
    }
    if (background)
        options->background = background->colour;
    options->ground = option_given(arguments, "ground") != NULL;
    camera_read(tool, arguments, options);
}

/* ---- rendering ---- */

/* Returns the colour for the file of this index, or null if none was given. */
static const tool_given *colour_option(const tool_arguments *arguments, size_t number) {
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, "colour") == 0 && number-- == 0)
            return &arguments->given[i];
    return NULL;
}

/* The picture begins with the first mesh, whose file may define the up axis. */
static void add_file(tool_run *tool, const tool_arguments *arguments, size_t number,
                     abut_picture_options *options, abut_picture **picture, tool_legend *legend) {
    const char *path = arguments->operands[number];
    const tool_given *colour = colour_option(arguments, number);
    bool defects = option_given(arguments, "defects") != NULL;
    abut_mesh_style style = abut_mesh_style_default();
    style.edges = option_given(arguments, "edges") != NULL;
    style.smooth = !option_given(arguments, "flat");
    style.colour = colour ? colour->colour : abut_picture_colour((uint32_t)number);
    legend_file(legend, style.colour, path);
    abut_mesh *mesh = mesh_read(tool, path);
    if (!*picture) {
        camera_read(tool, arguments, options);
        ensure(abut_picture_create(tool->context, options, picture));
    }
    ensure(abut_picture_add_mesh(*picture, mesh, (abut_pose){0}, &style));
    if (defects)
        defects_draw(tool, *picture, path, mesh, legend);
    abut_mesh_destroy(mesh);
}

static void render_picture(tool_run *tool, const tool_arguments *arguments,
                           abut_picture_options *options, const char *path) {
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    out_list(&tool->out, "files");
    for (size_t i = 0; i + 1 < arguments->operand_count; i++) {
        out_object(&tool->out, NULL);
        json_path(&tool->out, "file", arguments->operands[i]);
        add_file(tool, arguments, i, options, &picture, &legend);
        out_end(&tool->out);
        if (tool_cancelled())
            ensure(ABUT_ERROR_CANCELLED);
    }
    out_end(&tool->out);
    bool plain = legend.count < 2 || option_given(arguments, "no-legend");
    picture_write(tool, picture, options, plain ? NULL : &legend, path);
    abut_picture_destroy(picture);
}

static int run_picture(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    abut_picture_options options;
    const char *path = arguments->operands[arguments->operand_count - 1];
    picture_check(tool, path);
    size_t colours = 0;
    while (colour_option(arguments, colours))
        colours++;
    if (colours > arguments->operand_count - 1)
        tool_refuse(tool, "--colour: there are more colours than meshes");
    read_picture_options(tool, arguments, &options);
    out_object(out, NULL);
    render_picture(tool, arguments, &options, path);
    uint32_t width = options.width ? options.width : PICTURE_WIDTH;
    uint32_t height = options.height ? options.height : PICTURE_HEIGHT;
    json_path(out, "picture", path);
    json_count(out, "width", width);
    json_count(out, "height", height);
    if (!tool->quiet)
        print_line_of(out, path, "%u x %u pixels", width, height);
    out_end(out);
    if (tool->quiet && !out->json && !option_given(arguments, "defects"))
        text_clear(&out->text);
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("size", "WxH", PIXELS, "width and height in pixels (default: 960x720)"),
    CAMERA_OPTIONS("iso"),
    OPTION("fov", "DEGREES", NUMBER, "vertical field of view; 0 is orthographic (default: 30)"),
    FLAG("edges", "draw the edges of the triangles"),
    FLAG("flat", "shade each triangle with its own normal instead of smoothly"),
    REPEATED("colour", "COLOUR", COLOUR,
             "colour of the first mesh, then of the second, ...: rrggbb, rrggbbaa (translucent) or "
             "a name; repeatable"),
    FLAG("ground", "draw a ground plane with a soft shadow below the scene"),
    OPTION("background", "COLOUR", COLOUR, "a uniform background colour instead of the gradient"),
    FLAG("no-legend", "omit the legend with the names of meshes and marks"),
    FLAG("defects", "mark the defects that 'abut info' reports: boundary edges red, non-manifold "
                    "edges magenta, ...; print the legend"),
    {0}};

const tool_command command_picture = {
    .name = "picture",
    .operands = "FILE... OUT.png",
    .summary = "render meshes into a PNG image, without a display",
    .about = "Renders one or more meshes, shaded, into one image that contains them all. Back "
             "faces have another hue, which shows holes and flipped components. The image does not "
             "depend on the number of threads.",
    .examples = "  abut picture bunny.obj bunny.png --up y --ground\n"
                "  abut picture a.ply b.ply both.png --colour orange --colour 3060c080\n"
                "  abut picture scan.obj flaws.png --defects --view 1,-1,0.3\n",
    .options = options,
    .operand_range = {2, UINT32_MAX},
    .run = run_picture,
};
