/* Pictures of radial fields: their surface in the body, its distance from the body in colours,
 * and the unrolled fields. */
#include "apps/get.h"
#include "radial.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const abut_colour nothing = {0.80f, 0.81f, 0.83f, 1};

/* The name of the bone of a field. */
static const char *name_of(const radial_subject *s, uint32_t bone) {
    const char *name = get_character_bone(s->character, bone).name;
    return name ? name : "";
}

/* ---- two views side by side ---- */

enum { PANEL_WIDTH = 520, PANEL_HEIGHT = 720, BELOW = 110 /* for the legend */ };

/* Adds the objects of a picture. */
typedef void painter(abut_picture *picture, const void *data);

static void draw_panels(tool_run *tool, const abut_picture_options *camera, painter *paint,
                        const void *data, tool_canvas *sheet) {
    tool_canvas panel = canvas_new(PANEL_WIDTH, PANEL_HEIGHT, 255);
    for (uint32_t k = 0; k < 2; k++) {
        abut_picture_options options = *camera;
        const abut_vec3 e = camera->eye_direction, u = camera->up;
        if (k) /* from the opposite side */
            options.eye_direction = vec_sub(vec_along((abut_vec3){0}, 2 * vec_dot(e, u), u), e);
        options.width = PANEL_WIDTH;
        options.height = PANEL_HEIGHT;
        abut_picture *picture = picture_new(tool, &options);
        paint(picture, data);
        ensure(abut_picture_render(picture, 4 * (size_t)PANEL_WIDTH * PANEL_HEIGHT, panel.pixels));
        canvas_copy(sheet, k * (size_t)PANEL_WIDTH, 0, &panel);
        abut_picture_destroy(picture);
    }
    tool_free(panel.pixels);
}

/* ---- the surface of the fields ---- */

/* Returns whether a field has a surface: a cell with four samples. */
static bool has_cells(abut_radial_view view) {
    const size_t around = view.around;
    for (size_t i = 0; view.radii && view.step > 0 && i + around < around * view.along; i++) {
        const size_t next = i % around + 1 == around ? i + 1 - around : i + 1;
        if (!isinf(view.radii[i]) && !isinf(view.radii[next]) && !isinf(view.radii[i + around]) &&
            !isinf(view.radii[next + around]))
            return true;
    }
    return false;
}

static const abut_colour glass_colour = {0.35f, 0.4f, 0.5f, 0.35f};

static void paint_surface(abut_picture *picture, const void *data) {
    const radial_subject *s = data;
    for (uint32_t i = 0; i < s->info.field_count; i++) {
        abut_mesh *mesh = NULL;
        if (!has_cells(get_radial_field(s->radial, i)))
            continue;
        ensure(abut_radial_surface(s->radial, i, &mesh));
        picture_sheet(picture, mesh, abut_picture_colour(i), NULL, false);
        abut_mesh_destroy(mesh);
    }
    picture_body(picture, s->mesh, (abut_pose){0}, glass_colour, glass_colour.a);
}

/* Adds the same fields and body to the page. */
static void show_surface(tool_run *tool, const radial_subject *s,
                         const abut_picture_options *camera) {
    tool_legend legend = {0};
    legend_add(&legend, glass_colour, "body");
    for (uint32_t i = 0; i < 8; i++) /* all colours of the palette */
        legend_add(&legend, abut_picture_colour(i), "fields, one colour each");
    abut_picture *picture = picture_new(tool, camera);
    paint_surface(picture, s);
    view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
}

void radial_draw_surface(tool_run *tool, const radial_subject *s,
                         const abut_picture_options *camera, const char *path) {
    tool_legend legend = {0};
    progress_start(tool->progress, path);
    if (tool->view) {
        show_surface(tool, s, camera);
        if (path == view_path(tool->view))
            return;
    }
    legend_add(&legend, abut_picture_colour(0), "fields, one colour each");
    legend_add(&legend, (abut_colour){0.6f, 0.63f, 0.7f, 1}, "body");
    tool_canvas sheet = canvas_new(2 * PANEL_WIDTH, PANEL_HEIGHT + BELOW, 255);
    draw_panels(tool, camera, paint_surface, s, &sheet);
    legend_draw(&sheet, &legend);
    canvas_write(tool, &sheet, path);
}

/* ---- errors on the body ---- */

typedef struct error_paint {
    const radial_subject *s;
    const abut_colour *colours;
    abut_vec3 worst;
    bool marked;
} error_paint;

static void paint_error(abut_picture *picture, const void *data) {
    const error_paint *e = data;
    picture_sheet(picture, e->s->mesh, nothing, e->colours, false);
    if (e->marked)
        ensure(abut_picture_add_point(picture, e->worst, 10, (abut_colour){0.1f, 0.5f, 0.1f, 1}));
}

/* Evaluates the fields at the centre of each triangle, which is on the surface. */
static void errors_of(const radial_subject *s, abut_radial_answer *answers) {
    const uint32_t count = s->of_character.triangle_count, *corner = abut_mesh_indices(s->mesh);
    abut_vec3 *middles = tool_array((count + (size_t)1), sizeof *middles);
    for (uint32_t t = 0; t < count; t++, corner += 3)
        middles[t] =
            vec_centroid(s->positions[corner[0]], s->positions[corner[1]], s->positions[corner[2]]);
    ensure(abut_radial_evaluate(s->radial, abut_array_host(middles), count, 0,
                                abut_array_host(answers)));
}

static void draw_error(tool_run *tool, const radial_subject *s, const abut_picture_options *camera,
                       const tool_scale *scale, const abut_radial_answer *answers,
                       abut_colour *colours, tool_canvas *sheet) {
    const uint32_t count = s->of_character.triangle_count, *corner = abut_mesh_indices(s->mesh);
    error_paint e = {.s = s, .colours = colours};
    double most = 0;
    for (uint32_t t = 0; t < count; t++) {
        const double off = answers[t].distance;
        colours[t] = isfinite(off) ? scale_colour(scale, off) : nothing;
        if (isfinite(off) && off > most) {
            most = off;
            e.worst = s->positions[corner[3 * (size_t)t]];
            e.marked = true;
        }
    }
    draw_panels(tool, camera, paint_error, &e, sheet);
    tool_legend legend = {0};
    legend_add(&legend, scale_colour(scale, scale->most), "bare: fields are below the body");
    legend_add(&legend, scale_colour(scale, scale->least), "buried: fields are above it");
    legend_add(&legend, nothing, "no field");
    if (e.marked)
        legend_add(&legend, (abut_colour){0.1f, 0.5f, 0.1f, 1}, "largest bare distance: %.3g",
                   most);
    legend_draw(sheet, &legend);
}

void radial_draw_error(tool_run *tool, const radial_subject *s, const abut_picture_options *camera,
                       const char *path) {
    const tool_scale scale = scale_of(NULL, -2 * s->info.cell, 2 * s->info.cell);
    const size_t count = s->of_character.triangle_count;
    const int left = 2 * PANEL_WIDTH + 24, wide = (int)scale_width(&scale) + 72;
    abut_radial_answer *answers = tool_array(count + 1, sizeof *answers);
    abut_colour *colours = tool_array(count + 1, sizeof *colours);
    progress_start(tool->progress, path);
    const char *title = "distance in the field";
    const int words = (int)canvas_words(NULL, 0, 0, 12, title) + 72;
    tool_canvas sheet = canvas_new(2 * PANEL_WIDTH + (uint32_t)(wide > words ? wide : words),
                                   PANEL_HEIGHT + BELOW, 255);
    errors_of(s, answers);
    draw_error(tool, s, camera, &scale, answers, colours, &sheet);
    char cell[64];
    snprintf(cell, sizeof cell, "cell size %.3g", s->info.cell);
    canvas_words(&sheet, left, 28, 12, title);
    canvas_words(&sheet, left, 48, 12, cell);
    scale_draw(&sheet, &scale, left, 72, PANEL_HEIGHT - 110);
    canvas_write(tool, &sheet, path);
}

/* ---- unrolled ---- */

enum { SHEET_WIDTH = 1280, SHEET_MAX = 8000, GAP = 14, LABEL = 30, HEAD = 50 };
#define LETTER_HEIGHT 10.0

/* The position of the image of a field. */
typedef struct place {
    int x, y, wide, high;
} place;

static int cell_width(const place *p, const char *name) {
    const int words = (int)canvas_words(NULL, 0, 0, LETTER_HEIGHT, name);
    return p->wide > words ? p->wide : words;
}

/* Arranges images in rows of the width of the sheet. Returns the height. */
static int lay_out(radial_subject const *s, int pixels, place *places) {
    int x = GAP, y = HEAD, row = 0;
    for (uint32_t i = 0; i < s->info.field_count; i++) {
        const abut_radial_view view = get_radial_field(s->radial, i);
        place *p = &places[i];
        *p = (place){0, 0, pixels * (int)view.around, pixels * (int)view.along};
        const int wide = cell_width(p, name_of(s, view.bone));
        if (x > GAP && x + wide + GAP > SHEET_WIDTH) {
            x = GAP;
            y += row + LABEL + GAP;
            row = 0;
        }
        p->x = x;
        p->y = y;
        x += wide + GAP;
        row = p->high > row ? p->high : row;
    }
    return y + row + LABEL + GAP;
}

static void draw_field(tool_canvas *canvas, const radial_subject *s, uint32_t field, int pixels,
                       const tool_scale *scale, const place *at) {
    const abut_radial_view view = get_radial_field(s->radial, field);
    uint64_t empty = 0;
    for (uint32_t j = 0; j < view.along; j++)
        for (uint32_t i = 0; i < view.around; i++) {
            const float radius = view.radii[(size_t)j * view.around + i];
            empty += isinf(radius) != 0;
            canvas_fill(canvas, at->x + pixels * (int)i, at->y + pixels * (int)(view.along - 1 - j),
                        pixels, pixels,
                        isinf(radius) ? nothing : scale_colour(scale, view.unit * (double)radius));
        }
    char words[64];
    snprintf(words, sizeof words, "%ux%u %.0f%%", view.around, view.along,
             100 - 100.0 * (double)empty / ((double)view.around * view.along));
    canvas_words(canvas, at->x, at->y + at->high + 13, LETTER_HEIGHT, name_of(s, view.bone));
    canvas_words(canvas, at->x, at->y + at->high + 27, 8, words);
}

static int by_size(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* The largest radius of the colour range; a few fields with large radii are excluded. */
static void end_of_colours(const radial_subject *s, double *most) {
    float *radii = tool_array(s->info.sample_count + 1, sizeof *radii);
    size_t count = 0;
    for (uint32_t f = 0; f < s->info.field_count; f++) {
        const abut_radial_view view = get_radial_field(s->radial, f);
        for (size_t i = 0; i < (size_t)view.around * view.along && view.radii; i++)
            if (!isinf(view.radii[i]))
                radii[count++] = (float)view.unit * view.radii[i];
    }
    qsort(radii, count, sizeof *radii, by_size);
    *most = count ? fmin((double)radii[count - 1], 1.2 * (double)radii[count - 1 - count / 20]) : 1;
}

void radial_draw_unrolled(tool_run *tool, const radial_subject *s, const char *path) {
    double most = 1;
    const uint32_t count = s->info.field_count;
    place *places = tool_array((count + (size_t)1), sizeof *places);
    end_of_colours(s, &most);
    const tool_scale scale = scale_of("near", 0, most);
    int pixels = 4, high = 0;
    progress_start(tool->progress, path);
    /* the largest pixels for which the sheet is not much higher than wide */
    while ((high = lay_out(s, pixels, places)) > SHEET_WIDTH && pixels > 1)
        pixels--;
    uint32_t wide = SHEET_WIDTH;
    for (uint32_t i = 0; i < count; i++)
        if ((uint32_t)(places[i].x + places[i].wide + GAP) > wide)
            wide = (uint32_t)(places[i].x + places[i].wide + GAP);
    if (high > SHEET_MAX || wide > SHEET_MAX)
        ensure(abut_set_error(ABUT_ERROR_LIMIT, "the fields have too many samples for a picture"));
    high = high < 320 ? 320 : high;
    const int strip = (int)scale_width(&scale) + 48;
    tool_canvas sheet = canvas_new(wide + (uint32_t)strip, (uint32_t)high, 255);
    canvas_words(
        &sheet, GAP, 28, 12,
        "angle to the right, axis upwards - below: samples, and the percentage with a value");
    for (uint32_t i = 0; i < count; i++)
        draw_field(&sheet, s, i, pixels, &scale, &places[i]);
    canvas_words(&sheet, wide + 12, 28, 12, "radius");
    scale_draw(&sheet, &scale, (int)wide + 12, HEAD, (high < 700 ? high : 700) - HEAD - 30);
    canvas_write(tool, &sheet, path);
}

/* ---- the report ---- */

void radial_plot_levels(tool_run *tool, const radial_level *levels, double limit,
                        const char *path) {
    double sizes[RADIAL_LEVELS], shares[RADIAL_LEVELS];
    char first[32], last[32], off[64];
    for (size_t i = 0; i < RADIAL_LEVELS; i++) {
        sizes[i] = levels[i].error.p95;
        shares[i] = 100 * (levels[i].error.bare + levels[i].error.buried);
    }
    tool_curve error = {"error", abut_picture_colour(0), sizes},
               bare = {"surface", abut_picture_colour(0), shares};
    snprintf(first, sizeof first, "cell size %.3g", levels[0].cell);
    snprintf(last, sizeof last, "%.3g", levels[RADIAL_LEVELS - 1].cell);
    snprintf(off, sizeof off, "percent of the surface with an error above %.3g", limit);
    const tool_plot plots[2] = {
        {"95th percentile of the error of distances near the surface", &error, 1, {first, last}},
        {off, &bare, 1, {first, last}}};
    plots_write(tool, plots, 2, RADIAL_LEVELS, path);
}
