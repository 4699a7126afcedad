/* Text in pictures: letters are strokes on a grid of 4 x 6, drawn with antialiasing at any size. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* Two digits for each point, x then y from the top; a space ends a stroke. Lower-case letters
 * have their top at 2, those with a descender reach 8. */
static const struct {
    char letter;
    const char *strokes;
} letters[] = {
    {'0', "10 30 41 45 36 16 05 01 10"},
    {'1', "02 20 26"},
    {'2', "01 10 30 41 42 06 46"},
    {'3', "00 40 22 32 43 45 36 16 05"},
    {'4', "36 30 04 44"},
    {'5', "40 00 02 32 43 45 36 16 05"},
    {'6', "40 20 02 05 16 36 45 44 33 13 04"},
    {'7', "00 40 16"},
    {'8', "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33"},
    {'9', "42 33 13 02 01 10 30 41 44 26 06"},
    {'-', "03 43"},
    {'+', "03 43  21 25"},
    {'=', "02 42  04 44"},
    {'.', "16 16"},
    {',', "16 07"},
    {':', "12 12  16 16"},
    {'_', "07 47"},
    {'/', "40 06"},
    {'%', "40 06  00 10 11 01 00  35 45 46 36 35"},
    {'(', "30 12 14 36"},
    {')', "10 32 34 16"},
    {'a', "12 32 43 46  44 14 05 16 36 45"},
    {'b', "00 06 36 45 43 32 02"},
    {'c', "42 12 03 05 16 46"},
    {'d', "40 46 16 05 03 12 42"},
    {'e', "04 44 43 32 12 03 05 16 46"},
    {'f', "40 20 11 16  03 33"},
    {'g', "46 16 05 03 12 42 47 38 08"},
    {'h', "00 06  02 32 43 46"},
    {'i', "22 26  20 20"},
    {'j', "22 27 18 08  20 20"},
    {'k', "00 06  42 04 46"},
    {'l', "10 15 26 36"},
    {'m', "06 02  02 12 23 26  23 32 43 46"},
    {'n', "06 02 32 43 46"},
    {'o', "12 32 43 45 36 16 05 03 12"},
    {'p', "08 02 32 43 45 36 06"},
    {'q', "48 42 12 03 05 16 46"},
    {'r', "06 02  04 22 42"},
    {'s', "42 12 03 14 34 45 36 06"},
    {'t', "10 15 26 46  02 42"},
    {'u', "02 05 16 36 45 42  45 46"},
    {'v', "02 26 42"},
    {'w', "02 16 23 36 42"},
    {'x', "02 46  42 06"},
    {'y', "02 26  42 08"},
    {'z', "02 42 06 46"},
};

void canvas_blend(tool_canvas *canvas, int x, int y, abut_colour colour) {
    if (x < 0 || y < 0 || (uint32_t)x >= canvas->width || (uint32_t)y >= canvas->height)
        return;
    uint8_t *p = canvas->pixels + 4 * ((size_t)y * canvas->width + (size_t)x);
    const float c[3] = {colour.r, colour.g, colour.b};
    for (int k = 0; k < 3; k++)
        p[k] = (uint8_t)lrintf((1 - colour.a) * (float)p[k] + colour.a * 255 * c[k]);
    p[3] = 255;
}

void canvas_fill(tool_canvas *canvas, int x, int y, int width, int height, abut_colour colour) {
    for (int j = y; j < y + height; j++)
        for (int i = x; i < x + width; i++)
            canvas_blend(canvas, i, j, colour);
}

static double distance_to(double px, double py, const double a[2], const double b[2]) {
    double ux = b[0] - a[0], uy = b[1] - a[1], sq = ux * ux + uy * uy;
    double t = sq > 0 ? ((px - a[0]) * ux + (py - a[1]) * uy) / sq : 0;
    t = fmin(1, fmax(0, t));
    return hypot(px - a[0] - t * ux, py - a[1] - t * uy);
}

/* The distance of a pixel from all strokes of a letter. */
static double distance_from(const char *strokes, double left, double top, double unit, double px,
                            double py) {
    double nearest = HUGE_VAL, before[2] = {0, 0};
    bool down = false;
    for (const char *at = strokes; *at;) {
        if (*at == ' ') {
            down = false;
            at++;
            continue;
        }
        const double point[2] = {left + (at[0] - '0') * unit, top + (at[1] - '0') * unit};
        nearest = fmin(nearest, distance_to(px, py, down ? before : point, point));
        memcpy(before, point, sizeof before);
        at += 2;
        down = *at == ' ';
        at += down; /* one space continues, two end the stroke */
    }
    return nearest;
}

static void draw_letter(tool_canvas *canvas, const char *strokes, double left, double top,
                        double unit) {
    double half = fmax(0.6, 0.42 * unit);
    for (int y = (int)(top - 2 * unit); y <= (int)(top + 9 * unit) + 1; y++)
        for (int x = (int)(left - unit); x <= (int)(left + 5 * unit) + 1; x++) {
            double inside = half + 0.5 - distance_from(strokes, left, top, unit, x + 0.5, y + 0.5);
            if (inside > 0)
                canvas_blend(canvas, x, y,
                             (abut_colour){0.13f, 0.15f, 0.2f, (float)fmin(1, inside)});
        }
}

/* The strokes of an ASCII letter; an empty frame for other characters. Null for a blank. */
static const char *strokes_of(char letter) {
    char small = letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == small)
            return letters[i].strokes;
    return letter & 0x80 ? "00 40 46 06 00" : NULL;
}

double canvas_words(tool_canvas *canvas, double x, double y, double size, const char *words) {
    double unit = size / 6, at = x;
    for (; *words; words++) {
        if ((*words & 0xc0) == 0x80)
            continue; /* a continuation byte of UTF-8 */
        const char *strokes = strokes_of(*words);
        if (canvas && strokes)
            draw_letter(canvas, strokes, at, y - size, unit);
        at += unit * (*words == '.' || *words == ',' ? 3.2 : 6);
    }
    return at - x;
}
