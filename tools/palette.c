/* Colours that tell distances: inside and outside have a half of a palette each. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* Five colours from the surface on, in even steps, outside and inside. */
struct tool_palette {
    const char *name;
    uint32_t outside[5], inside[5];
};

static const tool_palette palettes[] = {
    /* light at the surface and dark away from it, orange against blue */
    {"diverging",
     {0xfff7ec, 0xfdd4a0, 0xf4a25e, 0xc8602e, 0x7f2a10},
     {0xeef5fb, 0xb5d4ea, 0x6ca6d2, 0x2f6fae, 0x123a6b}},
    /* Sundholm 2010, section 7.1.1: red, green, blue away from the object; pink, yellow, cyan into
     * it */
    {"thesis",
     {0xff0000, 0x808000, 0x00ff00, 0x008080, 0x0000ff},
     {0xff80c0, 0xffc060, 0xffff00, 0x80ff80, 0x00ffff}},
    {"grey",
     {0xf2f2f2, 0xcccccc, 0xa6a6a6, 0x808080, 0x5a5a5a},
     {0xffffff, 0xe0e0e0, 0xb8b8b8, 0x909090, 0x686868}},
};

const tool_palette *palette_of(const char *name) {
    for (size_t i = 0; name && i < sizeof palettes / sizeof *palettes; i++)
        if (strcmp(palettes[i].name, name) == 0)
            return &palettes[i];
    return palettes;
}

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

abut_colour palette_colour(const tool_palette *palette, double distance, double least,
                           double most) {
    return distance < 0 ? colour_at(palette->inside, distance / least)
                        : colour_at(palette->outside, most > 0 ? distance / most : 0);
}
