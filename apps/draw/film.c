/* Film strips: frames side by side in one picture, and the same frames in sequence in a page. */
#include "view.h"

#include <string.h>

enum { COLUMNS = 4, ROWS = FILM_FRAMES / COLUMNS };

void film_open(tool_run *tool, const tool_arguments *arguments, tool_film *film, double seconds) {
    const tool_given *png = picture_given(arguments);
    live_open(tool, arguments, ABUT_LIVE_CONTROL_PAUSE);
    film_start(tool, film, png ? png->words : NULL, seconds);
}

void film_start(tool_run *tool, tool_film *film, const char *path, double seconds) {
    film->taken = 0;
    film->page = tool->view;
    film->live = tool->live ? tool : NULL;
    film->seconds = seconds;
    view_rate(film->page, seconds);
    if (!path || (film->page && path == view_path(film->page)))
        return;
    film->pixels = tool_alloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT * FILM_FRAMES);
    film->frame = tool_alloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT);
}

void film_page(tool_film *film, const abut_picture *picture) {
    const live_caption caption = {.legend = &film->legend};
    view_picture(film->page, picture, &film->legend);
    while (film->live && !live_show_frame(film->live, picture, &caption, film->seconds))
        continue; /* paused */
}

bool film_needs_all(const tool_film *film) {
    return film->page || film->live;
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
    film->live = NULL;
}
