/* Film strips: frames side by side in one picture, and the same frames in sequence in a page. */
#include "view.h"

#include <string.h>

enum { COLUMNS = 4, ROWS = FILM_FRAMES / COLUMNS };

void film_start(tool_run *tool, tool_film *film, const char *path, double seconds) {
    film->taken = 0;
    film->page = tool->view;
    view_rate(film->page, seconds);
    if (film->page && path == view_path(film->page))
        return;
    film->pixels = tool_alloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT * FILM_FRAMES);
    film->frame = tool_alloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT);
}

void film_page(tool_film *film, const abut_picture *picture) {
    view_picture(film->page, picture, &film->legend);
}

void film_add_frame(tool_film *film, abut_picture *picture) {
    const tool_canvas frame = {film->frame, FILM_WIDTH, FILM_HEIGHT};
    tool_canvas strip = {film->pixels, FILM_WIDTH * COLUMNS, FILM_HEIGHT * ROWS};
    ensure(abut_picture_render(picture, 4 * (size_t)FILM_WIDTH * FILM_HEIGHT, film->frame));
    if (film->taken >= FILM_FRAMES)
        return;
    canvas_copy(&strip, film->taken % COLUMNS * FILM_WIDTH,
                (size_t)(film->taken / COLUMNS * FILM_HEIGHT), &frame);
    film->taken++;
}

void film_write(tool_run *tool, const tool_film *film, const char *path) {
    tool_canvas canvas = {film->pixels, FILM_WIDTH * COLUMNS, FILM_HEIGHT * ROWS};
    view_write(tool);
    if (film->pixels)
        canvas_write(tool, &canvas, path);
}

void film_end(tool_film *film) {
    film->pixels = NULL;
    film->page = NULL;
}
