/* Pictures of the command: words and colours in them, legends, scales, film strips. A part of
 * tool.h, which includes it. */
#ifndef ABUT_TOOL_DRAWING_H
#define ABUT_TOOL_DRAWING_H

struct tool_run;

/* ---- strokes.c: words in pictures of pixels ---- */

typedef struct tool_canvas {
    uint8_t *pixels; /* RGBA */
    uint32_t width, height;
} tool_canvas;

/* Puts a colour over a pixel, by its alpha; beyond the canvas nothing happens. */
void canvas_blend(tool_canvas *canvas, int x, int y, abut_colour colour);
void canvas_fill(tool_canvas *canvas, int x, int y, int width, int height, abut_colour colour);
/* Draws words in dark ink whose letters are `size` pixels high, with the left end of their base
 * line at (x, y); letters that there are not are blanks. Gives the width. A null canvas only
 * measures. */
double canvas_words(tool_canvas *canvas, double x, double y, double size, const char *words);

/* ---- drawing.c: pictures, each with a legend ---- */

enum { PICTURE_WIDTH = 960, PICTURE_HEIGHT = 720, LEGEND_MAX = 64, LEGEND_DRAWN = 12 };

/* What colours mean; those beyond LEGEND_MAX are left out. Pages show all of them, pictures none
 * where they are more than LEGEND_DRAWN. */
typedef struct tool_legend {
    struct {
        abut_colour colour;
        char words[48];
        bool has_amount;
        uint64_t amount; /* how many things have that colour */
    } entries[LEGEND_MAX];
    uint32_t count;
} tool_legend;

void legend_add(tool_legend *legend, abut_colour colour, const char *format, ...) TOOL_PRINTF(3, 4);
/* Gives the last entry the number of things that it stands for, for the list of a page. */
void legend_amount(tool_legend *legend, uint64_t amount);
/* The name of a file without its folders. */
void legend_file(tool_legend *legend, abut_colour colour, const char *path);
/* Draws it in the lower left corner, if there is room. */
void legend_draw(tool_canvas *canvas, const tool_legend *legend);
/* What asks for a picture: --png, else --html; null where neither was given. */
const tool_given *picture_given(const tool_arguments *arguments);
/* Tells where the picture is that --png asked for, and the page of --html. */
void pictures_tell(struct tool_run *tool, const tool_arguments *arguments);
/* 0, or the exit code where the name of a picture tells no format. That of --html was looked at
 * before. */
int picture_check(struct tool_run *tool, const char *path);
/* Renders a picture and writes it with its legend (may be null); "-" is standard output. Writes the
 * page as well where there is to be one, and nothing else where `path` is that of the page. */
abut_status picture_write(struct tool_run *tool, abut_picture *picture,
                          const abut_picture_options *options, const tool_legend *legend,
                          const char *path);
abut_status canvas_write(struct tool_run *tool, const tool_canvas *canvas, const char *path);

/* ---- palette.c: colours that tell distances, and what they mean ---- */

typedef struct tool_palette tool_palette;

typedef struct tool_scale {
    const tool_palette *palette;
    double least, most; /* distances that have the ends of the palette */
    double step;        /* between words */
} tool_scale;

/* A scale with the palette of this name; the first, "diverging", where there is none or it is
 * null. Least and most may be the same. */
tool_scale scale_of(const char *palette, double least, double most);
abut_colour scale_colour(const tool_scale *scale, double distance);
/* Pixels from the left of a scale to the end of its words. */
double scale_width(const tool_scale *scale);
/* A bar from the largest distance down to the least, with a word at each step. */
void scale_draw(tool_canvas *canvas, const tool_scale *scale, int left, int top, int high);

/* ---- film.c: frames side by side in one picture, and one after the other in a page ---- */

enum { FILM_FRAMES = 8, FILM_WIDTH = 360, FILM_HEIGHT = 300 };

/* Zeroed: no film is wanted. */
typedef struct tool_film {
    struct tool_view *page; /* takes every frame; or null */
    tool_legend legend;     /* of the page: names by colours */
    uint8_t *pixels, *frame;
    uint32_t taken;
} tool_film;

/* Begins a strip for the picture at `path` and a page, whichever is asked for, with so many seconds
 * between frames. False when out of memory. */
bool film_start(struct tool_run *tool, tool_film *film, const char *path, double seconds);
/* Adds a frame to the page, if there is one. */
abut_status film_page(tool_film *film, const abut_picture *picture);
/* Adds the next frame to the strip; the picture is FILM_WIDTH x FILM_HEIGHT. Those beyond the last
 * are dropped. */
abut_status film_take(tool_film *film, abut_picture *picture);
/* Writes what there is of both. */
abut_status film_write(struct tool_run *tool, const tool_film *film, const char *path);
void film_free(tool_film *film);

#endif
