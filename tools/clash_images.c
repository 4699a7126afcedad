/* What a view of solids sees, as images: figures 9 to 13 of Malmsten and Klasen (2005). */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    abut_layers_show show;
    const char *words;
} images[] = {
    {ABUT_LAYERS_COUNT, "surfaces along each ray: up to %.0f"},
    {ABUT_LAYERS_NEAREST, "how far the first surface is: up to %.4g"},
    {ABUT_LAYERS_EDGES, "how far the nearest edge is: up to %.4g"},
    {ABUT_LAYERS_INSIDE, "solids around the nearest edge: up to %.0f"},
    {ABUT_LAYERS_LENGTH, "overlap along each ray: up to %.4g"},
    {ABUT_LAYERS_PAIRS, "pairs that overlap along each ray: up to %.0f"},
    {ABUT_LAYERS_FIRST, "first solid of the nearest overlap"},
    {ABUT_LAYERS_SECOND, "second solid of the nearest overlap"},
};

/* Light for nothing, then through yellow and red to dark: `t` from 0 to 1. */
static abut_colour heat(double t) {
    float s = (float)t;
    return s < 0.5f ? (abut_colour){1, 0.95f - 1.1f * s, 0.75f - 1.2f * s, 1}
                    : (abut_colour){1.4f - 0.85f * s, 0.4f - 0.4f * (2 * s - 1), 0.12f, 1};
}

static abut_colour colour_of(abut_layers_show show, double value, double most) {
    static const abut_colour nothing = {1, 1, 1, 1};
    if (!(value < HUGE_VAL))
        return nothing;
    if (show == ABUT_LAYERS_FIRST || show == ABUT_LAYERS_SECOND)
        return value < 0 ? nothing : abut_picture_colour((uint32_t)value);
    double t = most > 0 ? value / most : 0;
    if (show == ABUT_LAYERS_NEAREST || show == ABUT_LAYERS_EDGES)
        return (abut_colour){0.85f * (float)t, 0.85f * (float)t, 0.85f * (float)t, 1};
    return value > 0 ? heat(t) : nothing;
}

static void paint(tool_canvas *canvas, const float *values, size_t which) {
    size_t count = (size_t)canvas->width * canvas->height;
    double most = 0;
    char words[80];
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && values[i] > most)
            most = values[i];
    for (size_t i = 0; i < count; i++) {
        abut_colour c = colour_of(images[which].show, values[i], most);
        canvas->pixels[4 * i] = (uint8_t)(255 * fmaxf(c.r, 0) + 0.5f);
        canvas->pixels[4 * i + 1] = (uint8_t)(255 * fmaxf(c.g, 0) + 0.5f);
        canvas->pixels[4 * i + 2] = (uint8_t)(255 * fmaxf(c.b, 0) + 0.5f);
        canvas->pixels[4 * i + 3] = 255;
    }
    snprintf(words, sizeof words, images[which].words, most);
    int wide = (int)canvas_words(NULL, 0, 0, 11, words) + 16, top = (int)canvas->height - 26;
    if (wide < (int)canvas->width && top > 0) {
        canvas_fill(canvas, 0, top, wide, 26, (abut_colour){1, 1, 1, 0.8f});
        canvas_words(canvas, 8, top + 18, 11, words);
    }
}

static abut_status write_image(tool_run *tool, abut_layers *layers, const abut_raster_view *view,
                               size_t which, const char *prefix) {
    tool_canvas canvas = {0};
    tool_text path = {0};
    float *values = NULL;
    abut_status status =
        abut_layers_image(layers, view, images[which].show, 0, NULL, &canvas.width, &canvas.height);
    size_t count = (size_t)canvas.width * canvas.height;
    if (status == ABUT_ERROR_BUFFER) {
        values = malloc(count * sizeof *values);
        canvas.pixels = malloc(4 * count);
        status = values && canvas.pixels
                     ? abut_layers_image(layers, view, images[which].show, count, values,
                                         &canvas.width, &canvas.height)
                     : abut_fail(ABUT_ERROR_MEMORY, "there is no memory for an image");
    }
    text_print(&path, "%s-%s.%s", prefix, abut_layers_show_name(images[which].show),
               strstr(abut_features(), "png") ? "png" : "ppm");
    if (!status && path.failed)
        status = abut_fail(ABUT_ERROR_MEMORY, "there is no memory for a name");
    if (!status) {
        paint(&canvas, values, which);
        status = canvas_write(tool, &canvas, path.data);
    }
    if (!status)
        json_path(&tool->out, abut_layers_show_name(images[which].show), path.data);
    if (!status && which == 0)
        say_fact(&tool->out, "images", "%s and %zu more", path.data,
                 sizeof images / sizeof *images - 1);
    free(values);
    free(canvas.pixels);
    text_free(&path);
    return status;
}

int clashes_images(tool_run *tool, const tool_clashes *clashes, const abut_layers_query *query,
                   const char *prefix) {
    abut_raster_view view = query->views ? query->views[0] : abut_raster_view_default();
    abut_status status = ABUT_OK;
    if (!view.width && !view.height && query->resolution)
        view.width = query->resolution < 16384 ? query->resolution : 16384;
    if (tool->out.json)
        out_object(&tool->out, "images");
    for (size_t i = 0; i < sizeof images / sizeof *images && !status; i++)
        status = write_image(tool, clashes->layers, &view, i, prefix);
    if (tool->out.json)
        out_end(&tool->out);
    return status ? tool_fail(tool, status) : 0;
}
