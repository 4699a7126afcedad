/* Pictures of the command: text and colours, legends, scales, film strips. Included by tool.h. */
#ifndef ABUT_TOOL_DRAWING_H
#define ABUT_TOOL_DRAWING_H

struct tool_run;

/* ---- strokes.c: text in images ---- */

typedef struct tool_canvas {
    uint8_t *pixels; /* RGBA */
    uint32_t width, height;
} tool_canvas;

/* The bytes of a colour. */
void colour_bytes(uint8_t to[4], abut_colour colour);
/* Blends a colour over a pixel by its alpha; no effect outside the canvas. */
void canvas_blend(tool_canvas *canvas, int x, int y, abut_colour colour);
void canvas_fill(tool_canvas *canvas, int x, int y, int width, int height, abut_colour colour);
/* Draws text in dark ink with letters of `size` pixels height and the left end of its base line
 * at (x, y). Returns the width. A null canvas only measures. */
double canvas_words(tool_canvas *canvas, double x, double y, double size, const char *words);

/* ---- drawing.c: pictures, each with a legend ---- */

enum { PICTURE_WIDTH = 960, PICTURE_HEIGHT = 720, LEGEND_MAX = 64, LEGEND_DRAWN = 12 };

/* The meanings of colours; entries beyond LEGEND_MAX are omitted. Pages show all entries,
 * pictures none if there are more than LEGEND_DRAWN. */
typedef struct tool_legend {
    struct {
        abut_colour colour;
        char words[48];
        bool has_amount;
        uint64_t amount; /* number of items with that colour */
    } entries[LEGEND_MAX];
    uint32_t count;
} tool_legend;

void legend_add(tool_legend *legend, abut_colour colour, const char *format, ...) TOOL_PRINTF(3, 4);
/* Sets the number of items of the last entry, for the list of a page. */
void legend_amount(tool_legend *legend, uint64_t amount);
/* Adds the name of a file without folders. */
void legend_file(tool_legend *legend, abut_colour colour, const char *path);
/* Draws the legend in the lower left corner, if there is space. */
void legend_draw(tool_canvas *canvas, const tool_legend *legend);
/* Returns the option that requests a picture: --png, otherwise --html; null without either. */
const tool_given *picture_given(const tool_arguments *arguments);
/* Prints the paths of the picture of --png and of the page of --html. */
void pictures_print_paths(struct tool_run *tool, const tool_arguments *arguments);
/* Reports an error if the extension of a picture is unknown. That of --html is checked before. */
void picture_check(struct tool_run *tool, const char *path);
/* Renders a picture and writes it with its legend (may be null); "-" is standard output. Also
 * writes the page if there is one, and only the page if `path` is that of the page. */
void picture_write(struct tool_run *tool, abut_picture *picture,
                   const abut_picture_options *options, const tool_legend *legend,
                   const char *path);
/* Makes a canvas whose bytes are all `shade`: 255 is white. */
tool_canvas canvas_new(uint32_t width, uint32_t height, int shade);
/* Copies a canvas to a place in a larger one. */
void canvas_copy(tool_canvas *to, size_t x, size_t y, const tool_canvas *from);
void canvas_write(struct tool_run *tool, const tool_canvas *canvas, const char *path);

abut_picture *picture_new(struct tool_run *tool, const abut_picture_options *options);
/* Adds a smooth mesh. */
void picture_body(abut_picture *picture, abut_mesh *mesh, abut_pose pose, abut_colour colour,
                  float opacity);
/* Adds a mesh that looks the same from both sides, with a colour for each triangle unless `colours`
 * is null. */
void picture_sheet(abut_picture *picture, abut_mesh *mesh, abut_colour colour,
                   const abut_colour *colours, bool smooth);
/* Makes the camera include a box: the same one in all frames of a film. */
void picture_include(abut_picture *picture, abut_box box);
/* Makes a mesh of arrays. */
abut_mesh *mesh_new(struct tool_run *tool, const abut_vec3 *points, size_t point_count,
                    const uint32_t *corners, size_t triangle_count);

/* ---- palette.c: colours of distances, and their scale ---- */

typedef struct tool_palette tool_palette;

typedef struct tool_scale {
    const tool_palette *palette;
    double least, most; /* distances at the ends of the palette */
    double step;        /* between labels */
} tool_scale;

/* Makes a scale with the palette of this name; "diverging" if it is unknown or null. Both ends
 * may be equal. */
tool_scale scale_of(const char *palette, double least, double most);
abut_colour scale_colour(const tool_scale *scale, double distance);
/* Width in pixels of a scale with its labels. */
double scale_width(const tool_scale *scale);
/* Draws a bar from the largest distance down to the smallest, with a label at each step. */
void scale_draw(tool_canvas *canvas, const tool_scale *scale, int left, int top, int high);

/* ---- film.c: frames side by side in one picture, and one after the other in a page ---- */

enum { FILM_FRAMES = 8, FILM_WIDTH = 360, FILM_HEIGHT = 300 };

/* Zeroed: no film. */
typedef struct tool_film {
    struct tool_view *page; /* receives every frame; or null */
    struct tool_run *live;  /* has a live page, which receives every frame; or null */
    double seconds;         /* between frames */
    tool_legend legend;     /* of the page: names by colour */
    uint8_t *pixels, *frame;
    uint32_t taken;
} tool_film;

/* Begins a film strip at `path`, unless it is null, and the pages of the run, with so many seconds
 * between frames. film_open() opens a live page and begins what options request. */
void film_start(struct tool_run *tool, tool_film *film, const char *path, double seconds);
void film_open(struct tool_run *tool, const struct tool_arguments *arguments, tool_film *film,
               double seconds);
/* Returns whether there is a page, which receives every frame. */
bool film_needs_all(const tool_film *film);
/* Adds a frame to the pages, if there are any; waits while the user has paused a live page. */
void film_page(tool_film *film, const abut_picture *picture);
/* Adds the next frame to the strip; the picture is FILM_WIDTH x FILM_HEIGHT. Frames beyond the
 * last are ignored. */
void film_add_frame(tool_film *film, abut_picture *picture);
/* Writes the strip and the page. */
void film_write(struct tool_run *tool, const tool_film *film, const char *path);
/* Further frames are ignored. */
void film_end(tool_film *film);

#endif
