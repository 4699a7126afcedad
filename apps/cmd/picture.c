/* abut picture: renders meshes into an image file, without a display. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* ---- the camera ---- */

static const struct {
    const char *name;
    double right, front, up; /* towards the camera, in model coordinates */
} views[] = {{"front", 0, 1, 0}, {"back", 0, -1, 0},   {"left", -1, 0, 0},   {"right", 1, 0, 0},
             {"top", 0, 0, 1},   {"bottom", 0, 0, -1}, {"iso", 0.6, 1, 0.55}};

static abut_vec3 cross(abut_vec3 a, abut_vec3 b) {
    abut_vec3 c = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return c;
}

/* Reads "z", "-y" or "X,Y,Z" as a unit vector. */
static bool read_direction(const char *words, abut_vec3 *direction) {
    double n[3] = {0};
    const char *letter = words + (words[0] == '-');
    if (letter[0] >= 'x' && letter[0] <= 'z' && !letter[1])
        n[letter[0] - 'x'] = letter == words ? 1 : -1;
    else if (read_numbers(words, n, 3) != 3)
        return false;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0) || !isfinite(length))
        return false;
    *direction = (abut_vec3){n[0] / length, n[1] / length, n[2] / length};
    return true;
}

/* Computes the front direction for an up axis: -y for z up, +z for y up, as modelling programs
 * do; in general the horizontal direction nearest to -y, or to z. */
static abut_vec3 front_of(abut_vec3 up) {
    abut_vec3 wish = {0, -1, 0};
    if (fabs(up.y) > 0.9)
        wish = (abut_vec3){0, 0, up.y > 0 ? 1 : -1};
    double along = wish.x * up.x + wish.y * up.y + wish.z * up.z;
    abut_vec3 front = {wish.x - along * up.x, wish.y - along * up.y, wish.z - along * up.z};
    double length = sqrt(front.x * front.x + front.y * front.y + front.z * front.z);
    return (abut_vec3){front.x / length, front.y / length, front.z / length};
}

int camera_read(tool_run *tool, const tool_arguments *arguments, abut_picture_options *options) {
    const tool_given *view = option_given(arguments, "view"),
                     *upward = option_given(arguments, "up");
    const tool_given *fov = option_given(arguments, "fov");
    abut_vec3 up = tool->up;
    if (up.x == 0 && up.y == 0 && up.z == 0)
        up.z = 1;
    if (upward && !read_direction(upward->words, &up))
        return tool_refuse(tool, "--up must be x, y, z, -x, -y, -z or X,Y,Z, not '%s'",
                           upward->words);
    const char *words = view ? view->words : "iso";
    bool found = false;
    abut_vec3 front = front_of(up), right = cross(up, front);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (strcmp(words, views[i].name) != 0)
            continue;
        double r = views[i].right, f = views[i].front, u = views[i].up;
        options->eye_direction =
            (abut_vec3){r * right.x + f * front.x + u * up.x, r * right.y + f * front.y + u * up.y,
                        r * right.z + f * front.z + u * up.z};
        found = true;
    }
    if (!found && (strchr(words, ',') == NULL || !read_direction(words, &options->eye_direction)))
        return tool_refuse(
            tool, "--view must be front, back, left, right, top, bottom, iso or X,Y,Z, not '%s'",
            words);
    options->up = up;
    if (fov && (fov->numbers[0] < 0 || fov->numbers[0] >= 170))
        return tool_refuse(tool,
                           "--fov must be from 0 (orthographic) to below 170 degrees, not '%s'",
                           fov->words);
    if (fov)
        options->field_of_view = fov->numbers[0] == 0 ? -1 : fov->numbers[0];
    return 0;
}

static int read_picture_options(tool_run *tool, const tool_arguments *arguments,
                                abut_picture_options *options) {
    const tool_given *size = option_given(arguments, "size");
    const tool_given *background = option_given(arguments, "background");
    *options = abut_picture_options_default();
    if (size) {
        options->width = size->counts[0];
        options->height = size->counts[1];
        if (options->width > 16384 || options->height > 16384)
            return tool_refuse(tool, "--size must be from 1x1 to 16384x16384 pixels, not '%s'",
                               size->words);
    }
    if (background)
        options->background = background->colour;
    options->ground = option_given(arguments, "ground") != NULL;
    return camera_read(tool, arguments, options);
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
static abut_status add_file(tool_run *tool, const tool_arguments *arguments, size_t number,
                            abut_picture_options *options, abut_picture **picture,
                            tool_legend *legend) {
    const char *path = arguments->operands[number];
    const tool_given *colour = colour_option(arguments, number);
    bool defects = option_given(arguments, "defects") != NULL;
    abut_mesh *mesh = NULL;
    abut_mesh_style style = abut_mesh_style_default();
    style.edges = option_given(arguments, "edges") != NULL;
    style.smooth = !option_given(arguments, "flat");
    style.colour = colour ? colour->colour : abut_picture_colour((uint32_t)number);
    legend_file(legend, style.colour, path);
    abut_status status = tool_read(tool, path, NULL, &mesh);
    if (!status && !*picture && !camera_read(tool, arguments, options)) /* validated before */
        status = abut_picture_create(tool->context, options, picture);
    if (!status)
        status = abut_picture_add_mesh(*picture, mesh, (abut_pose){0}, &style);
    if (!status && defects)
        status = defects_draw(tool, *picture, path, mesh, legend);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status render_picture(tool_run *tool, const tool_arguments *arguments,
                                  abut_picture_options *options, const char *path) {
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    abut_status status = ABUT_OK;
    out_list(&tool->out, "files");
    for (size_t i = 0; !status && i + 1 < arguments->operand_count; i++) {
        out_object(&tool->out, NULL);
        json_path(&tool->out, "file", arguments->operands[i]);
        status = add_file(tool, arguments, i, options, &picture, &legend);
        out_end(&tool->out);
        if (!status && tool_cancelled())
            status = ABUT_ERROR_CANCELLED;
    }
    out_end(&tool->out);
    bool plain = legend.count < 2 || option_given(arguments, "no-legend");
    if (!status)
        status = picture_write(tool, picture, options, plain ? NULL : &legend, path);
    abut_picture_destroy(picture);
    return status;
}

static int run_picture(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    abut_picture_options options;
    const char *path = arguments->operands[arguments->operand_count - 1];
    int code = picture_check(tool, path);
    if (code)
        return code;
    size_t colours = 0;
    while (colour_option(arguments, colours))
        colours++;
    if (colours > arguments->operand_count - 1)
        return tool_refuse(tool, "--colour: there are more colours than meshes");
    code = read_picture_options(tool, arguments, &options);
    if (code)
        return code;
    out_object(out, NULL);
    abut_status status = render_picture(tool, arguments, &options, path);
    if (status)
        return tool_fail(tool, status);
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
    {"size", "WxH", OPTION_PIXELS, "width and height in pixels (default: 960x720)", NULL, false},
    {"view", "VIEW", OPTION_TEXT,
     "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z from the model to the "
     "camera (default: iso)",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the first file that has one, "
     "otherwise z)",
     "x|y|z|-x|-y|-z", false},
    {"fov", "DEGREES", OPTION_NUMBER, "vertical field of view; 0 is orthographic (default: 30)",
     NULL, false},
    {"edges", NULL, OPTION_FLAG, "draw the edges of the triangles", NULL, false},
    {"flat", NULL, OPTION_FLAG, "shade each triangle with its own normal instead of smoothly", NULL,
     false},
    {"colour", "COLOUR", OPTION_COLOUR,
     "colour of the first mesh, then of the second, ...: rrggbb, rrggbbaa (translucent) or a name; "
     "repeatable",
     NULL, true},
    {"ground", NULL, OPTION_FLAG, "draw a ground plane with a soft shadow below the scene", NULL,
     false},
    {"background", "COLOUR", OPTION_COLOUR, "a uniform background colour instead of the gradient",
     NULL, false},
    {"no-legend", NULL, OPTION_FLAG, "omit the legend with the names of meshes and marks", NULL,
     false},
    {"defects", NULL, OPTION_FLAG,
     "mark the defects that 'abut info' reports: boundary edges red, non-manifold edges magenta, "
     "...; print the legend",
     NULL, false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 2,
    .operand_most = UINT32_MAX,
    .run = run_picture,
};
