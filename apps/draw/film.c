/* Film strips: frames side by side in one picture, and the same frames in sequence in a page. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4, ROWS = FILM_FRAMES / COLUMNS };

bool film_start(tool_run *tool, tool_film *film, const char *path, double seconds) {
    film->taken = 0;
    film->page = tool->view;
    view_rate(film->page, seconds);
    if (film->page && path == view_path(film->page))
        return true;
    film->pixels = malloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT * FILM_FRAMES);
    film->frame = malloc(4 * (size_t)FILM_WIDTH * FILM_HEIGHT);
    if (film->pixels && film->frame)
        return true;
    film_free(film);
    return false;
}

abut_status film_page(tool_film *film, const abut_picture *picture) {
    return view_picture(film->page, picture, &film->legend);
}

abut_status film_add_frame(tool_film *film, abut_picture *picture) {
    abut_status status =
        abut_picture_render(picture, 4 * (size_t)FILM_WIDTH * FILM_HEIGHT, film->frame);
    if (status || film->taken >= FILM_FRAMES)
        return status;
    size_t row = film->taken / COLUMNS, column = film->taken % COLUMNS;
    for (size_t y = 0; y < FILM_HEIGHT; y++)
        memcpy(film->pixels + 4 * ((row * FILM_HEIGHT + y) * COLUMNS + column) * FILM_WIDTH,
               film->frame + 4 * y * FILM_WIDTH, 4 * (size_t)FILM_WIDTH);
    film->taken++;
    return ABUT_OK;
}

abut_status film_write(tool_run *tool, const tool_film *film, const char *path) {
    tool_canvas canvas = {film->pixels, FILM_WIDTH * COLUMNS, FILM_HEIGHT * ROWS};
    abut_status page = view_write(tool);
    return page || !film->pixels ? page : canvas_write(tool, &canvas, path);
}

void film_free(tool_film *film) {
    free(film->pixels);
    free(film->frame);
    film->pixels = film->frame = NULL;
    film->page = NULL;
}
