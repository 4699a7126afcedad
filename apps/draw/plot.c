/* Plots of curves over frames, one panel each. */
#include "tool.h"

#include <math.h>
#include <string.h>

enum { PLOT_WIDTH = 860, PLOT_HEIGHT = 240, LEFT_MARGIN = 90, TOP_MARGIN = 60, BOTTOM_MARGIN = 40 };
#define LETTER_HEIGHT 11.0

static void range_of(const tool_plot *plot, size_t points, double *lo, double *hi) {
    *lo = *hi = 0;
    for (uint32_t k = 0; k < plot->curve_count; k++)
        for (size_t i = 0; i < points; i++)
            if (isfinite(plot->curves[k].values[i])) {
                *lo = fmin(*lo, plot->curves[k].values[i]);
                *hi = fmax(*hi, plot->curves[k].values[i]);
            }
}

/* Draws a curve between its points, with a gap at values that are not finite. */
static void draw_curve(tool_canvas *canvas, const tool_curve *curve, size_t points, int top,
                       const tool_scale *scale) {
    int before = -1;
    for (int x = 0; x < PLOT_WIDTH; x++) {
        double at = points > 1 ? (double)x / (PLOT_WIDTH - 1) * (double)(points - 1) : 0;
        size_t i = (size_t)at, next = i + 1 < points ? i + 1 : i;
        double value =
            curve->values[i] + (at - (double)i) * (curve->values[next] - curve->values[i]);
        if (!isfinite(value)) {
            before = -1;
            continue;
        }
        int y =
            top + (int)lrint((scale->most - value) / (scale->most - scale->least) * PLOT_HEIGHT);
        int from = before < 0 || before > y ? y : before, to = before > y ? before : y;
        canvas_fill(canvas, LEFT_MARGIN + x, from - 1, 2, to - from + 3, curve->colour);
        before = y;
    }
}

static void draw_panel(tool_canvas *canvas, const tool_plot *plot, size_t points, int top) {
    double lo, hi, x = LEFT_MARGIN;
    char words[48];
    range_of(plot, points, &lo, &hi);
    const tool_scale scale = scale_of(NULL, lo, hi > lo ? hi * 1.05 : lo + 1);
    canvas_words(canvas, LEFT_MARGIN, top - 34, 13, plot->title);
    for (int64_t k = (int64_t)ceil(scale.least / scale.step); (double)k * scale.step <= scale.most;
         k++) {
        int y = top + (int)lrint((scale.most - (double)k * scale.step) /
                                 (scale.most - scale.least) * PLOT_HEIGHT);
        canvas_fill(canvas, LEFT_MARGIN, y, PLOT_WIDTH, 1,
                    (abut_colour){0, 0, 0, k ? 0.12f : 0.7f});
        snprintf(words, sizeof words, "%.5g", (double)k * scale.step);
        canvas_words(canvas, LEFT_MARGIN - 10 - canvas_words(NULL, 0, 0, LETTER_HEIGHT, words),
                     y + 5, LETTER_HEIGHT, words);
    }
    for (uint32_t k = 0; k < plot->curve_count; k++) {
        draw_curve(canvas, &plot->curves[k], points, top, &scale);
        canvas_fill(canvas, (int)x, top - 22, 12, 12, plot->curves[k].colour);
        x += 40 + canvas_words(canvas, x + 18, top - 11, LETTER_HEIGHT, plot->curves[k].name);
    }
    snprintf(words, sizeof words, "%zu", points ? points - 1 : 0);
    const char *first = plot->ends[0] ? plot->ends[0] : "frame 0",
               *last = plot->ends[1] ? plot->ends[1] : words;
    canvas_words(canvas, LEFT_MARGIN, top + PLOT_HEIGHT + 22, LETTER_HEIGHT, first);
    canvas_words(canvas, LEFT_MARGIN + PLOT_WIDTH - canvas_words(NULL, 0, 0, LETTER_HEIGHT, last),
                 top + PLOT_HEIGHT + 22, LETTER_HEIGHT, last);
}

void plots_write(tool_run *tool, const tool_plot *plots, uint32_t count, size_t points,
                 const char *path) {
    tool_canvas canvas = canvas_new(PLOT_WIDTH + LEFT_MARGIN + 30,
                                    count * (TOP_MARGIN + PLOT_HEIGHT + BOTTOM_MARGIN), 255);
    for (uint32_t k = 0; k < count; k++)
        draw_panel(&canvas, &plots[k], points,
                   (int)(k * (TOP_MARGIN + PLOT_HEIGHT + BOTTOM_MARGIN)) + TOP_MARGIN);
    canvas_write(tool, &canvas, path);
}
