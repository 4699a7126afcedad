/* abut demo line: the first entry of segments into a teapot with a signed distance field: by
 * sphere tracing, by cells, and exactly. */
#include "tool.h"

#include "bench/reproduce/sundholm/cells.h"

#include <math.h>

enum { LINES = 1000, CELLS = 64 };
#define SEGMENT_HALF_LENGTH 3.6 /* half length of a segment */

typedef struct line_scene {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_collider body;
    abut_field *field;
    double cell;
} line_scene;

/* Errors of entries along the segment, in cells. */
typedef struct line_gap {
    double sum, largest;
    uint32_t missed;
} line_gap;

static void make_scene(tool_run *tool, line_scene *s) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
    abut_field_options options = abut_field_options_default();
    options.cells = CELLS;
    ensure(abut_shape_create(tool->context, &shape, &s->mesh));
    ensure(abut_bvh_create(s->mesh, NULL, &s->bvh));
    ensure(abut_sign_prepare(s->bvh, NULL));
    ensure(abut_field_create_from(s->bvh, &options, &s->field));
    s->body = abut_collider_from_field(s->field, NULL, abut_pose_identity());
    s->cell = get_field_info(s->field).grid.cell;
}

/* All segments pass through the middle of the pot: their ends move around it, up and down. */
static abut_ray line_at(uint32_t number) {
    const double turn = 6.283185307179586 * number / LINES, rise = 0.35 * sin(3 * turn);
    const abut_vec3 d = {SEGMENT_HALF_LENGTH * cos(turn) * cos(rise),
                         SEGMENT_HALF_LENGTH * sin(turn) * cos(rise),
                         SEGMENT_HALF_LENGTH * sin(rise)};
    return (abut_ray){{-d.x, -d.y, 1.2 - d.z}, {2 * d.x, 2 * d.y, 2 * d.z}};
}

static void add_entry_error(line_gap *gap, double parameter, double exact, double cell) {
    double away = fabs(parameter - exact) * 2 * SEGMENT_HALF_LENGTH / cell;
    if (!(parameter <= 1)) {
        gap->missed++;
        return;
    }
    gap->sum += away;
    gap->largest = fmax(gap->largest, away);
}

/* Draws the segment, its entry, the normal there, and the centre of the first cell inside. */
static void draw_line(tool_run *tool, const line_scene *s, const abut_ray *line,
                      const abut_field_hit *entry, abut_vec3 cell, tool_film *film) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    const abut_vec3 o = line->origin, d = line->direction, p = entry->point, n = entry->normal;
    const abut_vec3 end = vec_add(o, d), tip = vec_add(p, n);
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.eye_direction = (abut_vec3){0.25, -1, 0.6};
    style.smooth = true;
    style.colour = (abut_colour){0.80f, 0.62f, 0.42f, 0.5f};
    ensure(abut_picture_create(tool->context, &camera, &picture));
    ensure(abut_picture_add_mesh(picture, s->mesh, s->body.pose, &style));
    picture_include(picture, (abut_box){{SEGMENT_HALF_LENGTH, 1.8, 2.6},
                                        {-SEGMENT_HALF_LENGTH, -1.8, -0.2}});
    ensure(abut_picture_add_line(picture, o, end, 2, (abut_colour){0.1f, 0.2f, 0.5f, 1}));
    ensure(abut_picture_add_line(picture, p, tip, 2, (abut_colour){0.1f, 0.5f, 0.15f, 1}));
    ensure(abut_picture_add_point(picture, cell, 6, (abut_colour){1, 0.8f, 0, 1}));
    ensure(abut_picture_add_point(picture, p, 8, (abut_colour){0.85f, 0.05f, 0.05f, 1}));
    film_page(film, picture);
    if (film->pixels)
        film_add_frame(film, picture);
    abut_picture_destroy(picture);
}

static void measure_gaps(tool_run *tool, const line_scene *s, tool_film *film, line_gap gaps[2]) {
    for (uint32_t i = 0; i < LINES; i++) {
        const abut_ray line = line_at(i);
        abut_ray_hit exact;
        abut_field_hit traced;
        sundholm_hit cell;
        ensure(abut_ray_first(s->bvh, &line, 1, &exact));
        ensure(abut_contact_ray(&s->body, &line, 1, &traced));
        ensure(sundholm_ray(&s->body, &line, 1, &cell));
        add_entry_error(&gaps[0], traced.parameter, exact.parameter, s->cell);
        add_entry_error(&gaps[1], cell.parameter, exact.parameter, s->cell);
        bool both = traced.parameter <= 1 && cell.parameter <= 1;
        if (both &&
            (film->pixels ? i == LINES / FILM_FRAMES * film->taken : film->page && i % 10 == 0))
            draw_line(tool, s, &line, &traced, cell.point, film);
    }
}

static void print_line_demo(tool_run *tool, const tool_arguments *arguments, const line_scene *s,
                            const line_gap gaps[2]) {
    static const char *const names[] = {"traced", "by cells"}, *const keys[] = {"traced", "cells"};
    tool_output *out = &tool->out;
    out_object(out, NULL);
    json_text(out, "scene", "line");
    json_count(out, "lines", LINES);
    json_number(out, "cell", s->cell);
    for (int k = 0; k < 2; k++) {
        double mean = gaps[k].sum / fmax(1, LINES - gaps[k].missed);
        out_object(out, keys[k]);
        json_count(out, "missed", gaps[k].missed);
        json_number(out, "mean_gap_cells", mean);
        json_number(out, "largest_gap_cells", gaps[k].largest);
        out_end(out);
        print_fact(out, names[k],
                   "%u of %d segments enter; error of the entry in cells: mean %.3g, max %.3g",
                   LINES - gaps[k].missed, LINES, mean, gaps[k].largest);
    }
    pictures_print_paths(tool, arguments);
    out_end(out);
    answer(tool, "%u", gaps[0].missed);
}

int demo_line(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments);
    line_scene s = {0};
    tool_film film = {0};
    line_gap gaps[2] = {{0, 0, 0}, {0, 0, 0}};
    legend_add(&film.legend, (abut_colour){0.1f, 0.2f, 0.5f, 1}, "segment");
    legend_add(&film.legend, (abut_colour){0.1f, 0.5f, 0.15f, 1}, "normal at the entry");
    legend_add(&film.legend, (abut_colour){1, 0.8f, 0, 1}, "entry, by cells");
    legend_add(&film.legend, (abut_colour){0.85f, 0.05f, 0.05f, 1}, "entry, sphere tracing");
    film_open(tool, arguments, &film, 0.5);
    make_scene(tool, &s);
    measure_gaps(tool, &s, &film, gaps);
    if (png)
        film_write(tool, &film, png->words);
    print_line_demo(tool, arguments, &s, gaps);
    abut_field_destroy(s.field);
    abut_bvh_destroy(s.bvh);
    abut_mesh_destroy(s.mesh);
    return gaps[0].missed ? CODE_FOUND : CODE_FINE;
}
