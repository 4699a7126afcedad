/* Palettes of distances, with one half for the inside and one for the outside, and their scale. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* Five colours at equal steps from the surface, outside and inside. */
struct tool_palette {
    const char *name;
    uint32_t outside[5], inside[5];
};

enum { BAR_WIDTH = 26 };
#define LETTER_HEIGHT 13.0 /* height of letters */

static const tool_palette palettes[] = {
    /* light at the surface and dark away from it, orange against blue */
    {"diverging",
     {0xfff7ec, 0xfdd4a0, 0xf4a25e, 0xc8602e, 0x7f2a10},
     {0xeef5fb, 0xb5d4ea, 0x6ca6d2, 0x2f6fae, 0x123a6b}},
    /* Sundholm 2010, section 7.1.1: red, green, blue outside; pink, yellow, cyan inside */
    {"thesis",
     {0xff0000, 0x808000, 0x00ff00, 0x008080, 0x0000ff},
     {0xff80c0, 0xffc060, 0xffff00, 0x80ff80, 0x00ffff}},
    {"grey",
     {0xf2f2f2, 0xcccccc, 0xa6a6a6, 0x808080, 0x5a5a5a},
     {0xffffff, 0xe0e0e0, 0xb8b8b8, 0x909090, 0x686868}},
    /* Sud et al. 2006: red near and green far; violet inside */
    {"near",
     {0xd7191c, 0xf5803c, 0xf7d94c, 0x8cc152, 0x1a8a3e},
     {0xb01a6b, 0x9a1a80, 0x7d1a8c, 0x5c1a8a, 0x3a1078}},
};

static abut_colour colour_at(const uint32_t ramp[5], double share) {
    double at = 4 * fmin(1, fmax(0, share));
    int low = (int)fmin(3, floor(at));
    float t = (float)(at - low), c[3];
    for (int k = 0; k < 3; k++) {
        int shift = 16 - 8 * k;
        float a = (float)(ramp[low] >> shift & 255), b = (float)(ramp[low + 1] >> shift & 255);
        c[k] = (a + t * (b - a)) / 255;
    }
    return (abut_colour){c[0], c[1], c[2], 1};
}

/* ---- scales ---- */

/* 1, 2 or 5 times a power of ten: about ten steps in all. */
static double step_of(double range) {
    double raw = range / 10, power = pow(10, floor(log10(raw))), times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

tool_scale scale_of(const char *palette, double least, double most) {
    tool_scale scale = {.palette = palettes, .least = least, .most = most};
    for (size_t i = 0; palette && i < sizeof palettes / sizeof *palettes; i++)
        if (strcmp(palettes[i].name, palette) == 0)
            scale.palette = &palettes[i];
    double wide =
        1e-6 * fmax(fabs(least), fabs(most)); /* otherwise steps would vanish by rounding */
    if (!(most - least > wide))
        scale.most = least + fmax(wide, 1e-300);
    scale.step = step_of(scale.most - scale.least);
    return scale;
}

abut_colour scale_colour(const tool_scale *scale, double distance) {
    double zero = fmin(fmax(scale->least, 0), scale->most), range = scale->most - zero;
    return scale->least < 0 && distance < 1e-7 * scale->least /* otherwise it is a rounding error */
               ? colour_at(scale->palette->inside, distance / scale->least)
               : colour_at(scale->palette->outside, range > 0 ? (distance - zero) / range : 0);
}

/* Formats the label of a step; the labels of the scale start at `first`. */
static void word_of(const tool_scale *s, int64_t step, char words[32]) {
    snprintf(words, 32, "%.5g", (double)step * s->step);
}

double scale_width(const tool_scale *s) {
    double widest = 0;
    for (int64_t k = (int64_t)ceil(s->least / s->step); (double)k * s->step <= s->most; k++) {
        char words[32];
        word_of(s, k, words);
        widest = fmax(widest, canvas_words(NULL, 0, 0, LETTER_HEIGHT, words));
    }
    return BAR_WIDTH + 13 + widest;
}

void scale_draw(tool_canvas *canvas, const tool_scale *s, int left, int top, int high) {
    double range = s->most - s->least;
    for (int j = 0; j < high; j++)
        canvas_fill(canvas, left, top + j, BAR_WIDTH, 1,
                    scale_colour(s, s->most - (j + 0.5) / high * range));
    for (int64_t k = (int64_t)ceil(s->least / s->step); (double)k * s->step <= s->most; k++) {
        int y = top + (int)lrint((s->most - (double)k * s->step) / range * high);
        char words[32];
        word_of(s, k, words);
        canvas_fill(canvas, left, y - (k == 0), BAR_WIDTH + 6, k == 0 ? 3 : 1,
                    (abut_colour){0.05f, 0.05f, 0.08f, k == 0 ? 1 : 0.45f});
        double base = fmin(top + high, fmax(top + LETTER_HEIGHT, y + LETTER_HEIGHT / 2));
        canvas_words(canvas, left + BAR_WIDTH + 13, base, LETTER_HEIGHT, words);
    }
}
