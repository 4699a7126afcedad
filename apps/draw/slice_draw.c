/* The picture and the page of a cross-section. */
#include "slice.h"
#include "view.h"

#include <math.h>
#include <string.h>

enum { BORDER = 24, PAGE_SIDE = 240 };
#define LETTER_HEIGHT 13.0 /* height of letters */

/* Returns the coverage of a pixel by a line at `level`. */
static double line_at(const slice *s, const abut_field_value *v, double level, double half) {
    abut_vec3 g = v->gradient;
    double slope = hypot(*slice_component(&g, s->across[0]), *slice_component(&g, s->across[1]));
    double away = fabs(v->distance - level) / (fmax(slope, 0.05) * s->pixel);
    return fmin(1, fmax(0, half + 0.5 - away));
}

static void draw_slice(const slice *s, tool_canvas *canvas) {
    const abut_field_value *v = s->values;
    for (uint32_t j = 0; j < s->height; j++)
        for (uint32_t i = 0; i < s->width; i++, v++) {
            int x = BORDER + (int)i, y = BORDER + (int)j;
            double level = s->scale.step * round(v->distance / s->scale.step);
            canvas_blend(canvas, x, y, scale_colour(&s->scale, v->distance));
            if (level != 0)
                canvas_blend(canvas, x, y,
                             (abut_colour){0, 0, 0, 0.22f * (float)line_at(s, v, level, 0.4)});
            canvas_blend(canvas, x, y,
                         (abut_colour){0.05f, 0.05f, 0.08f, (float)line_at(s, v, 0, 1.1)});
        }
}

void slice_draw(tool_run *tool, const slice *s, const char *path, tool_canvas *canvas) {
    char words[64];
    snprintf(words, sizeof words, "%c = %.5g", 'x' + s->axis, s->at);
    *canvas = canvas_new((uint32_t)(3 * BORDER + 3 + scale_width(&s->scale)) + s->width,
                         2 * BORDER + s->height + 24, 255);
    draw_slice(s, canvas);
    scale_draw(canvas, &s->scale, 2 * BORDER + (int)s->width, BORDER, (int)s->height);
    double below = BORDER + s->height + 30;
    canvas_words(canvas, BORDER, below, LETTER_HEIGHT, words);
    snprintf(words, sizeof words, "%c to the right, %c up", 'x' + s->across[0], 'x' + s->across[1]);
    double wide = canvas_words(NULL, 0, 0, LETTER_HEIGHT, words);
    if (wide < 0.55 * s->width)
        canvas_words(canvas, BORDER + s->width - wide, below, LETTER_HEIGHT, words);
    canvas_write(tool, canvas, path);
}

/* ---- the page ---- */

/* The slice as a mesh whose vertices are a subset of the pixels, with their distances. */
static void make_sheet(tool_run *tool, const slice *s, abut_mesh **mesh, double **values) {
    const uint32_t longer = s->width > s->height ? s->width : s->height,
                   step = (longer + PAGE_SIDE - 1) / PAGE_SIDE, wide = (s->width - 1) / step + 1,
                   high = (s->height - 1) / step + 1;
    const size_t count = (size_t)wide * high;
    abut_vec3 *pixels = slice_points(s), *points = tool_array(count, sizeof *points);
    uint32_t *corners = tool_array(6 * count, sizeof *corners), cells = 0;
    *values = tool_array(count, sizeof **values);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = k % wide, j = k / wide;
        const size_t pixel = (size_t)j * step * s->width + (size_t)i * step;
        const uint32_t quad[6] = {k, k + wide, k + 1, k + 1, k + wide, k + wide + 1};
        points[k] = pixels[pixel];
        (*values)[k] = s->values[pixel].distance;
        if (i + 1 < wide && j + 1 < high)
            memcpy(corners + 6 * (size_t)cells++, quad, sizeof quad);
    }
    *mesh = mesh_new(tool, points, count, corners, 2 * (size_t)cells);
}

/* Adds the slice at its position, and the surface translucent. */
void slice_page(tool_run *tool, const slice *s, abut_mesh *surface) {
    abut_picture_options camera = abut_picture_options_default();
    const abut_colour grey = {0.72f, 0.74f, 0.78f, 1};
    tool_legend legend = {0};
    abut_mesh *sheet = NULL;
    double *values = NULL;
    char name[64];
    snprintf(name, sizeof name, "%c = %.5g", 'x' + s->axis, s->at);
    legend_file(&legend, grey, s->subject);
    abut_picture *picture = picture_new(tool, &camera);
    if (surface) {
        picture_body(picture, surface, (abut_pose){0}, grey, 0.35f);
        view_place_picture(tool->view, picture);
    }
    make_sheet(tool, s, &sheet, &values);
    view_values(tool->view, sheet, name, values, &s->scale, "distance", NULL, false);
    view_title(tool->view, "%s, %s", path_name(s->subject), name);
    view_page(tool, picture, &legend);
    abut_mesh_destroy(sheet);
    abut_picture_destroy(picture);
}
