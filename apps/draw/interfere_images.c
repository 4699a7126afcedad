/* Images of a view of solids: figures 9 to 13 of Malmsten and Klasen (2005), and others; one
 * file each, and all of them on one sheet. */
#include "interfere.h"

#include <math.h>
#include <string.h>

enum { IMAGES = 8, COLUMNS = 4, CAPTION = 24, GAP = 8, SIDE_MAX = 16384 };

static const struct {
    abut_layers_show show;
    const char *words;
} images[IMAGES] = {
    {ABUT_LAYERS_COUNT, "surfaces: up to %.0f"},
    {ABUT_LAYERS_NEAREST, "first surface: up to %.3g away"},
    {ABUT_LAYERS_EDGES, "nearest edge: up to %.3g away"},
    {ABUT_LAYERS_INSIDE, "solids that contain it: up to %.0f"},
    {ABUT_LAYERS_LENGTH, "overlap: up to %.3g deep"},
    {ABUT_LAYERS_PAIRS, "overlapping pairs: up to %.0f"},
    {ABUT_LAYERS_FIRST, "one of the nearest pair"},
    {ABUT_LAYERS_SECOND, "the other"},
};

/* ---- colours ---- */

/* Maps `t` from 0 to 1 to a colour from light over orange and red to dark. */
static abut_colour heat_colour(double t) {
    float s = (float)t;
    return s < 0.5f ? (abut_colour){1, 0.95f - 1.1f * s, 0.75f - 1.2f * s, 1}
                    : (abut_colour){1.4f - 0.85f * s, 0.4f - 0.4f * (2 * s - 1), 0.12f, 1};
}

static abut_colour value_colour(abut_layers_show show, double value, double most) {
    static const abut_colour nothing = {1, 1, 1, 1};
    if (!(value < HUGE_VAL))
        return nothing;
    if (show == ABUT_LAYERS_FIRST || show == ABUT_LAYERS_SECOND)
        return value < 0 ? nothing : abut_picture_colour((uint32_t)value);
    double t = most > 0 ? value / most : 0;
    if (show == ABUT_LAYERS_NEAREST || show == ABUT_LAYERS_EDGES)
        return (abut_colour){0.85f * (float)t, 0.85f * (float)t, 0.85f * (float)t, 1};
    return value > 0 ? heat_colour(t) : nothing;
}

static void paint_image(tool_canvas *canvas, const float *values, size_t which, char *words,
                        size_t words_bytes) {
    size_t count = (size_t)canvas->width * canvas->height;
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && values[i] > most)
            most = values[i];
    for (size_t i = 0; i < count; i++) {
        colour_bytes(canvas->pixels + 4 * i, value_colour(images[which].show, values[i], most));
    }
    snprintf(words, words_bytes, images[which].words, most);
}

/* ---- files ---- */

typedef struct image_work {
    tool_run *tool;
    abut_layers *layers;
    const char *prefix;
    abut_raster_view view;
    tool_canvas canvas, sheet; /* one image, and the sheet */
    float *values;
} image_work;

/* Allocates images for the requested size of the larger side of the view. */
static bool allocate_images(image_work *w, uint32_t resolution) {
    tool_canvas *canvas = &w->canvas, *sheet = &w->sheet;
    for (int round = 0; round < 2; round++) {
        if (!lacks_room(abut_layers_image(w->layers, &w->view, ABUT_LAYERS_COUNT, 0, NULL,
                                          &canvas->width, &canvas->height)))
            return false;
        uint32_t *larger = canvas->width >= canvas->height ? &w->view.width : &w->view.height;
        if (resolution && !w->view.width && !w->view.height)
            *larger = resolution < SIDE_MAX ? resolution : SIDE_MAX;
    }
    size_t count = (size_t)canvas->width * canvas->height;
    w->values = tool_array(count, sizeof *w->values);
    canvas->pixels = tool_alloc(4 * count);
    const uint32_t wide = COLUMNS * (canvas->width + GAP) + GAP,
                   high = IMAGES / COLUMNS * (canvas->height + CAPTION + GAP) + GAP;
    if (wide <= SIDE_MAX && high <= SIDE_MAX) /* otherwise too large for a sheet */
        *sheet = canvas_new(wide, high, 0xec);
    return true;
}

static const char *picture_extension(void) {
    return abut_picture_has_png() ? "png" : "ppm";
}

static void write_canvas(image_work *w, const tool_canvas *canvas, const char *name) {
    tool_text path = {0};
    text_print(&path, "%s-%s.%s", w->prefix, name, picture_extension());
    canvas_write(w->tool, canvas, path.data);
    json_path(&w->tool->out, name, path.data);
}

/* Copies an image to the sheet, with its caption below. */
static void copy_to_sheet(image_work *w, size_t which, const char *words) {
    const tool_canvas *from = &w->canvas;
    if (!w->sheet.width)
        return;
    size_t x = GAP + which % COLUMNS * (from->width + GAP);
    size_t y = GAP + which / COLUMNS * (from->height + CAPTION + GAP);
    canvas_copy(&w->sheet, x, y, from);
    if (canvas_words(NULL, 0, 0, 9, words) < from->width)
        canvas_words(&w->sheet, (double)x + 2, (double)(y + from->height) + 16, 9, words);
}

static void write_images(image_work *w, uint32_t resolution) {
    if (!allocate_images(w, resolution))
        return;
    for (size_t i = 0; i < IMAGES; i++) {
        char words[80];
        ensure(abut_layers_image(w->layers, &w->view, images[i].show,
                                 (uint64_t)w->canvas.width * w->canvas.height, w->values,
                                 &w->canvas.width, &w->canvas.height));
        paint_image(&w->canvas, w->values, i, words, sizeof words);
        copy_to_sheet(w, i, words);
        write_canvas(w, &w->canvas, abut_layers_show_name(images[i].show));
    }
    if (w->sheet.width)
        write_canvas(w, &w->sheet, "all");
}

void clashes_images(tool_run *tool, const tool_clashes *clashes, const abut_layers_query *query,
                    const char *prefix) {
    image_work w = {.tool = tool,
                    .layers = clashes->layers,
                    .prefix = prefix,
                    .view = query->views ? query->views[0] : abut_raster_view_default()};
    json_object(&tool->out, "images");
    write_images(&w, query->resolution);
    json_end(&tool->out);
    tool_text name = {0};
    text_safe(&name, prefix);
    print_fact(&tool->out, "images", "%s-all.%s and one each", text_of(&name), picture_extension());
}
