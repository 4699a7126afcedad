/* Pictures of all commands: bodies in the colours of the palette, in the order of the command
 * line, with a legend. */
#include "view.h"

#include <string.h>

const tool_given *picture_given(const tool_arguments *arguments) {
    const tool_given *png = option_given(arguments, "png");
    return png ? png : option_given(arguments, "html");
}

/* Returns whether the picture is needed for the page only. */
static bool only_page(const tool_run *tool, const char *path) {
    return tool->view && path == view_path(tool->view);
}

void pictures_print_paths(tool_run *tool, const tool_arguments *arguments) {
    static const char *const written[][2] = {{"png", "picture"},
                                             {"html", "page"},
                                             {"film", "film"},
                                             {"record", "recording"},
                                             {"state", "state"}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        const tool_given *path = option_given(arguments, written[i][0]);
        if (path && !(only_page(tool, path->words) && view_has_error(tool->view)))
            fact_path(&tool->out, written[i][1], path->words);
    }
}

void picture_check(tool_run *tool, const char *path) {
    if (only_page(tool, path) || strcmp(path, "-") == 0 || word_in(path_ending(path), "png|ppm"))
        return;
    tool_refuse(tool,
                "%s: the name of a picture must end in .png or .ppm, or be - for standard output",
                path);
}

const tool_given *picture_options_check(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments);
    if (png)
        picture_check(tool, png->words);
    else if (option_any(arguments, "view|up"))
        tool_refuse(tool, "--view and --up require --png or --html");
    return png;
}

/* ---- the legend ---- */

void legend_add(tool_legend *legend, abut_colour colour, const char *format, ...) {
    if (legend->count == LEGEND_MAX)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(legend->entries[legend->count].words, sizeof legend->entries[0].words, format, list);
    va_end(list);
    colour.a = 1;
    legend->entries[legend->count].has_amount = false;
    legend->entries[legend->count++].colour = colour;
}

void legend_amount(tool_legend *legend, uint64_t amount) {
    if (!legend->count)
        return;
    legend->entries[legend->count - 1].has_amount = true;
    legend->entries[legend->count - 1].amount = amount;
}

void legend_file(tool_legend *legend, abut_colour colour, const char *path) {
    legend_add(legend, colour, "%s", path_name(path));
}

/* Draws a pale background, so that words are readable on any picture. */
void legend_draw(tool_canvas *canvas, const tool_legend *legend) {
    const double size = 11;
    const int line = 20, border = 14;
    double widest = 0;
    for (uint32_t i = 0; i < legend->count; i++) {
        double width = canvas_words(NULL, 0, 0, size, legend->entries[i].words);
        widest = width > widest ? width : widest;
    }
    int height = (int)legend->count * line + 8, wide = (int)widest + 40;
    int top = (int)canvas->height - border - height;
    if (top < 0 || border + wide > (int)canvas->width || legend->count > LEGEND_DRAWN)
        return; /* a legend without space would hide the picture */
    canvas_fill(canvas, border, top, wide, height, (abut_colour){1, 1, 1, 0.72f});
    for (uint32_t i = 0; i < legend->count; i++) {
        int y = top + 8 + (int)i * line;
        canvas_fill(canvas, border + 8, y - 1, 14, 14, (abut_colour){0.13f, 0.15f, 0.2f, 0.5f});
        canvas_fill(canvas, border + 9, y, 12, 12, legend->entries[i].colour);
        canvas_words(canvas, border + 30, y + size, size, legend->entries[i].words);
    }
}

/* ---- objects ---- */

abut_picture *picture_new(tool_run *tool, const abut_picture_options *options) {
    abut_picture *picture = NULL;
    ensure(abut_picture_create(tool->context, options, &picture));
    return picture;
}

void picture_body(abut_picture *picture, abut_mesh *mesh, abut_pose pose, abut_colour colour,
                  float opacity) {
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    style.colour = colour;
    style.colour.a = opacity;
    ensure(abut_picture_add_mesh(picture, mesh, pose, &style));
}

void picture_sheet(abut_picture *picture, abut_mesh *mesh, abut_colour colour,
                   const abut_colour *colours, bool smooth) {
    abut_mesh_style style = abut_mesh_style_default();
    style.colour = colour;
    style.triangle_colour = colours;
    style.smooth = smooth;
    style.two_sided = true;
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
}

void picture_include(abut_picture *picture, abut_box box) {
    for (int k = 0; k < 8; k++)
        ensure(abut_picture_add_point(picture, box_corner(&box, k), 0.1,
                                      (abut_colour){1, 1, 1, 0.01f}));
}

abut_mesh *mesh_new(tool_run *tool, const abut_vec3 *points, size_t point_count,
                    const uint32_t *corners, size_t triangle_count) {
    abut_mesh_input input =
        abut_mesh_input_doubles(points, (uint32_t)point_count, corners, (uint32_t)triangle_count);
    abut_mesh *mesh = NULL;
    ensure(abut_mesh_create(tool->context, &input, &mesh));
    return mesh;
}

/* ---- output ---- */

tool_canvas canvas_new(uint32_t width, uint32_t height, int shade) {
    const size_t bytes = 4 * (size_t)width * height;
    tool_canvas canvas = {tool_alloc(bytes + 1), width, height};
    memset(canvas.pixels, shade, bytes);
    return canvas;
}

void canvas_copy(tool_canvas *to, size_t x, size_t y, const tool_canvas *from) {
    for (size_t row = 0; row < from->height; row++)
        memcpy(to->pixels + 4 * ((y + row) * to->width + x), from->pixels + 4 * row * from->width,
               4 * (size_t)from->width);
}

void canvas_write(tool_run *tool, const tool_canvas *canvas, const char *path) {
    ensure(abut_picture_write_pixels(tool->context, tool_target(tool, path), canvas->pixels,
                                     canvas->width, canvas->height));
}

void picture_write(tool_run *tool, abut_picture *picture, const abut_picture_options *options,
                   const tool_legend *legend, const char *path) {
    tool_canvas canvas = {.width = options->width ? options->width : PICTURE_WIDTH,
                          .height = options->height ? options->height : PICTURE_HEIGHT};
    size_t bytes = 4 * (size_t)canvas.width * canvas.height;
    view_page(tool, picture, legend);
    if (only_page(tool, path))
        return;
    progress_start(tool->progress, path);
    canvas.pixels = tool_alloc(bytes);
    ensure(abut_picture_render(picture, bytes, canvas.pixels));
    if (legend && legend->count)
        legend_draw(&canvas, legend);
    canvas_write(tool, &canvas, path);
}
