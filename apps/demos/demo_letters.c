/* abut demo letters: two deforming letters pass each other, each with a surface distance map to
 * the other (figures 3, 6 and 8 of Sud et al. 2006).
 *
 * With --compare the same distances also come from signed distance fields, built in every frame
 * over the bounding box of both letters and interpolated at the samples of the maps. Half the
 * diagonal of a cell bounds the error of an interpolated distance. It is chosen equal to the
 * median distance of points of a triangle from its samples. */
#include "apps/get.h"
#include "map.h"

#include <math.h>
#include <stdlib.h>

enum { LETTERS = 2, FRAMES = 100 };

/* The results of one frame. */
typedef struct letter_row {
    double map_ms, field_ms, built_ms; /* built: part of the time of fields */
    double least, error,
        exact;        /* minimum distance by samples, its error, and the exact one by triangles */
    double inside;    /* area */
    double relative;  /* reach, relative to that of the first frame */
    double field_off; /* largest error of the field at samples */
    double cells;
} letter_row;

typedef struct letters {
    tool_run *tool;
    abut_device *device;
    uint32_t frame_count;
    bool compare;
    tool_surface surfaces[LETTERS];
    map_answer answers[LETTERS];
    abut_mesh *rest[LETTERS];
    abut_vec3 *moved;
    abut_map_texel *texels;
    abut_vec3 *points;
    abut_field_value *values;
    tool_film film;
    letter_row *rows;
} letters;

/* ---- motion ---- */

/* Twists the letter about its height, bends it sideways and moves it past the other: `t` from 0
 * to 1. */
static abut_vec3 deform_point(int letter, abut_vec3 p, double t) {
    const double pi = 3.14159265358979323846, side = letter ? 1 : -1;
    double turn = side * 1.1 * sin(2 * pi * t) * p.y, bend = 0.45 * sin(pi * t) * side;
    double x = p.x * cos(turn) + p.z * sin(turn), z = p.z * cos(turn) - p.x * sin(turn);
    double stretch = 1 + 0.25 * sin(2 * pi * t + letter);
    return (abut_vec3){x + side * (0.8 - 1.6 * t), p.y * stretch,
                       z + side * 0.13 + bend * (p.y * p.y - 0.1)};
}

static void pose_letter(letters *l, int k, double t) {
    const abut_mesh *rest = l->rest[k];
    const uint32_t count = abut_mesh_vertex_count(rest);
    for (uint32_t i = 0; i < count; i++)
        l->moved[i] = deform_point(k, mesh_point(rest, i), t);
    abut_mesh_destroy(l->surfaces[k].mesh);
    l->surfaces[k].mesh =
        mesh_new(l->tool, l->moved, count, abut_mesh_indices(rest), abut_mesh_triangle_count(rest));
}

/* ---- maps in both directions ---- */

static void map_frame(letters *l, letter_row *row) {
    double start = seconds_now();
    for (int k = 0; k < LETTERS; k++) {
        ensure(abut_map_set_mesh(l->surfaces[k].map, l->surfaces[k].mesh));
        ensure(abut_bvh_set_mesh(l->surfaces[k].bvh, l->surfaces[k].mesh));
    }
    for (int k = 0; k < LETTERS; k++) {
        abut_collider other = abut_collider_from_bvh(l->surfaces[1 - k].bvh, abut_pose_identity());
        ensure(abut_map_compute_distance(l->surfaces[k].map, &other, 1, NULL));
        l->answers[k].measures = abut_map_measures_default();
        ensure(abut_map_measure(l->surfaces[k].map, NULL, NULL, &l->answers[k].measures));
    }
    row->map_ms = 1e3 * (seconds_now() - start);
    row->least = HUGE_VAL;
    for (int k = 0; k < LETTERS; k++) {
        const abut_map_measures *m = &l->answers[k].measures;
        abut_map_info *info = &l->answers[k].info;
        *info = get_map_info(l->surfaces[k].map);
        row->inside += m->inside_area;
        row->relative = fmax(row->relative, info->reach / info->reach_at_rest);
        if (m->min.distance < row->least) {
            row->least = m->min.distance;
            row->error = m->min_error;
        }
    }
}

/* ---- comparison with signed distance fields ---- */

static void gather_samples(letters *l, int k, size_t *count) {
    const abut_map *map = l->surfaces[k].map;
    const uint32_t side = l->answers[k].info.resolution;
    ensure(abut_map_texels(map, (uint64_t)side * side, l->texels));
    *count = 0;
    for (uint32_t y = 0; y < side; y++)
        for (uint32_t x = 0; x < side; x++) {
            const abut_map_texel *texel = &l->texels[(size_t)y * side + x];
            abut_map_sample sample;
            if (isnan(texel->distance))
                continue;
            ensure(abut_map_sample_at(map, x, y, &sample));
            l->points[*count] = sample.point;
            l->texels[(*count)++] = *texel; /* samples that exist, compacted */
        }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over all triangles of the distance of points from samples. */
static void median_reach(const letters *l, double *median) {
    const uint32_t counts[LETTERS] = {abut_mesh_triangle_count(l->rest[0]),
                                      abut_mesh_triangle_count(l->rest[1])};
    double *all = tool_array((size_t)counts[0] + counts[1], sizeof *all);
    for (int k = 0; k < LETTERS; k++)
        for (uint32_t t = 0; t < counts[k]; t++)
            ensure(abut_map_reach(l->surfaces[k].map, t, all + t + (k ? counts[0] : 0)));
    qsort(all, (size_t)counts[0] + counts[1], sizeof *all, by_size);
    *median = all[((size_t)counts[0] + counts[1]) / 2];
}

/* The grid over the bounding box of both letters. */
static abut_grid grid_over(const letters *l, double reach) {
    const abut_box a = abut_mesh_bounds(l->surfaces[0].mesh),
                   b = abut_mesh_bounds(l->surfaces[1].mesh);
    const double cell = 2 * reach / sqrt(3);
    const abut_vec3 lo = {fmin(a.lo.x, b.lo.x), fmin(a.lo.y, b.lo.y), fmin(a.lo.z, b.lo.z)};
    const double size[3] = {fmax(a.hi.x, b.hi.x) - lo.x, fmax(a.hi.y, b.hi.y) - lo.y,
                            fmax(a.hi.z, b.hi.z) - lo.z};
    abut_grid grid = {.origin = lo, .cell = cell};
    for (int k = 0; k < 3; k++)
        grid.count[k] = (uint32_t)(size[k] / cell) + 2;
    return grid;
}

static void field_frame(letters *l, letter_row *row) {
    double reach = 0;
    median_reach(l, &reach);
    for (int k = 0; k < LETTERS; k++) {
        abut_field_options options = abut_field_options_default();
        abut_field *field = NULL;
        size_t count = 0;
        gather_samples(l, k, &count);
        abut_array points = abut_array_host(l->points);
        options.grid = grid_over(l, reach);
        options.device = l->device;
        double start = seconds_now();
        ensure(abut_field_create_from(l->surfaces[1 - k].bvh, &options, &field));
        row->built_ms += 1e3 * (seconds_now() - start);
        ensure(
            abut_field_evaluate_batch(field, points, count, ABUT_INTERPOLATION_LINEAR, l->values));
        row->field_ms += 1e3 * (seconds_now() - start);
        row->cells += (double)options.grid.count[0] * options.grid.count[1] * options.grid.count[2];
        for (size_t i = 0; i < count; i++)
            row->field_off =
                fmax(row->field_off, fabs(l->values[i].distance - l->texels[i].distance));
        abut_field_destroy(field);
    }
}

/* ---- the film ---- */

static void draw_frame(letters *l, bool page) {
    abut_picture_options camera = abut_picture_options_default();
    abut_picture *picture = NULL;
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.up = (abut_vec3){0, 1, 0};
    camera.eye_direction = (abut_vec3){0.25, 0.35, 1};
    ensure(abut_picture_create(l->tool->context, &camera, &picture));
    for (int k = 0; k < LETTERS; k++) {
        l->answers[k].scale = scale_of("near", -0.1, 0.6);
        map_panel panel = panel_of(&l->surfaces[k], &l->answers[k], &l->surfaces[1 - k], 0);
        panel.marked = k ? NULL : panel.marked;
        if (page)
            map_paint_plain(picture, &panel);
        else
            map_paint(l->tool, picture, &panel, MAP_SHOW_DISTANCE, false);
    }
    for (int k = 0; k < 2; k++) /* all frames show the same region */
        ensure(abut_picture_add_point(picture, (abut_vec3){k ? 1.05 : -1.05, 0, 0}, 0.1,
                                      (abut_colour){1, 1, 1, 0.01f}));
    if (page)
        film_page(&l->film, picture);
    else
        film_add_frame(&l->film, picture);
    abut_picture_destroy(picture);
}

/* ---- all frames ---- */

static void create_letters(letters *l, const tool_arguments *arguments) {
    static const abut_shape_kind kinds[LETTERS] = {ABUT_SHAPE_LETTER_E, ABUT_SHAPE_LETTER_G};
    static const uint32_t segments[LETTERS] = {16, 12}; /* 2,180 and 1,652 triangles */
    static const char *const names[LETTERS] = {"E", "G"};
    uint32_t vertices = 0;
    for (int k = 0; k < LETTERS; k++) {
        abut_shape shape = abut_shape_default(kinds[k]);
        shape.segments = segments[k];
        ensure(abut_shape_create(l->tool->context, &shape, &l->rest[k]));
        if (abut_mesh_vertex_count(l->rest[k]) > vertices)
            vertices = abut_mesh_vertex_count(l->rest[k]);
    }
    l->moved = tool_array(vertices, sizeof *l->moved);
    for (int k = 0; k < LETTERS; k++) {
        l->surfaces[k].path = names[k];
        pose_letter(l, k, 0);
        device_bvh(l->surfaces[k].mesh, l->device, &l->surfaces[k].bvh);
        ensure(abut_sign_prepare(l->surfaces[k].bvh, NULL));
        surface_map(l->tool, arguments, 0, l->device, &l->surfaces[k]);
    }
    const size_t side = get_map_info(l->surfaces[0].map).resolution;
    l->texels = tool_array(side * side, sizeof *l->texels);
    l->points = tool_array(side * side, sizeof *l->points);
    l->values = tool_array(side * side, sizeof *l->values);
    l->rows = tool_array(l->frame_count, sizeof *l->rows);
}

static void run_letter_frames(letters *l) {
    for (uint32_t f = 0; f < l->frame_count; f++) {
        letter_row *row = &l->rows[f];
        progress_frame(l->tool, f, l->frame_count);
        const double t = l->frame_count > 1 ? (double)f / (l->frame_count - 1) : 0;
        for (int k = 0; k < LETTERS; k++)
            pose_letter(l, k, t);
        map_frame(l, row);
        abut_collider bodies[LETTERS];
        abut_separation apart; /* by triangles: 0 if the letters intersect */
        for (int k = 0; k < LETTERS; k++)
            bodies[k] = abut_collider_from_bvh(l->surfaces[k].bvh, abut_pose_identity());
        ensure(abut_pair_distance(&bodies[0], &bodies[1], NULL, NULL, &apart));
        row->exact = apart.distance;
        if (l->compare)
            field_frame(l, row);
        if (film_needs_all(&l->film))
            draw_frame(l, true);
        while (l->film.pixels && l->film.taken < FILM_FRAMES &&
               f >= l->film.taken * (l->frame_count - 1) / (FILM_FRAMES - 1))
            draw_frame(l, false);
    }
}

/* ---- output ---- */

static void plot_letters(letters *l, const char *path) {
    static const abut_colour blue = {0.12f, 0.35f, 0.7f, 1}, orange = {0.85f, 0.4f, 0.05f, 1};
    const size_t count = l->frame_count;
    double *values = tool_array(4 * count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = l->rows[i].relative;
        values[count + i] = l->rows[i].map_ms;
        values[2 * count + i] = l->rows[i].field_ms;
        values[3 * count + i] = l->rows[i].least;
    }
    const tool_curve error = {"reach / reach of frame 0", orange, values};
    const tool_curve times[2] = {{"surface distance maps", blue, values + count},
                                 {"distance fields", orange, values + 2 * count}};
    const tool_curve least = {"least", blue, values + 3 * count};
    const tool_plot plots[3] = {{"relative sampling error", &error, 1, {NULL, NULL}},
                                {"ms per frame", times, l->compare ? 2 : 1, {NULL, NULL}},
                                {"distance", &least, 1, {NULL, NULL}}};
    plots_write(l->tool, plots, 3, count, path);
}

static void json_frames(tool_output *out, const letters *l) {
    out_list(out, "each_frame");
    for (uint32_t f = 0; out->json && f < l->frame_count; f++) {
        const letter_row *row = &l->rows[f];
        out_object(out, NULL);
        json_number(out, "map_ms", row->map_ms);
        if (l->compare) {
            json_number(out, "field_ms", row->field_ms);
            json_number(out, "built_ms", row->built_ms);
        }
        json_number(out, "relative_reach", row->relative);
        out_end(out);
    }
    out_end(out);
}

static void print_letters_demo(letters *l, const tool_arguments *arguments, const char *plotted,
                               uint32_t violated) {
    tool_output *out = &l->tool->out;
    letter_row sum = {.least = HUGE_VAL};
    for (uint32_t f = 0; f < l->frame_count; f++) {
        const letter_row *row = &l->rows[f];
        sum.map_ms += row->map_ms / l->frame_count;
        sum.field_ms += row->field_ms / l->frame_count;
        sum.cells += row->cells / l->frame_count;
        sum.least = fmin(sum.least, row->least);
        sum.inside = fmax(sum.inside, row->inside);
        sum.relative = fmax(sum.relative, row->relative);
        sum.field_off = fmax(sum.field_off, row->field_off);
    }
    uint32_t samples = l->answers[0].info.sample_count + l->answers[1].info.sample_count;
    out_object(out, NULL);
    json_text(out, "scene", "letters");
    fact_count(out, "frames", l->frame_count);
    fact_count(out, "triangles",
               abut_mesh_triangle_count(l->rest[0]) + abut_mesh_triangle_count(l->rest[1]));
    fact_count(out, "samples", samples);
    fact_number(out, "least", sum.least);
    fact_number(out, "most_inside", sum.inside);
    json_number(out, "relative_reach", sum.relative);
    print_fact(out, "sampling", "reach grows to at most %.3g times that of frame 0", sum.relative);
    json_count(out, "violated", violated);
    print_fact(out, "bounds", "%u frames in which the distance by triangles is outside", violated);
    json_number(out, "map_ms", sum.map_ms);
    print_fact(out, "map", "%.3g ms per frame: both directions, with statistics", sum.map_ms);
    if (l->compare) {
        json_number(out, "field_ms", sum.field_ms);
        json_number(out, "field_cells", sum.cells);
        json_number(out, "field_off", sum.field_off);
        print_fact(out, "field", "%.3g ms per frame: %.3g cells, error up to %.2g at samples",
                   sum.field_ms, sum.cells, sum.field_off);
        print_fact(out, "ratio", "%.2f", sum.field_ms / sum.map_ms);
    }
    json_frames(out, l);
    pictures_print_paths(l->tool, arguments);
    if (plotted)
        fact_path(out, "plot", plotted);
    out_end(out);
    answer(l->tool, "%u", violated);
}

int demo_letters(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *plotted = option_given(arguments, "plot"),
                     *frames = option_given(arguments, "frames");
    letters l = {.tool = tool,
                 .frame_count = frames ? frames->counts[0] : FRAMES,
                 .compare = option_given(arguments, "compare") != NULL};
    option_range(tool, frames, 1, 1000000, "frames");
    if (plotted)
        picture_check(tool, plotted->words);
    l.device = device_open(tool, arguments);
    film_open(tool, arguments, &l.film, 1.0 / 30);
    progress_start(tool->progress, "letters");
    create_letters(&l, arguments);
    run_letter_frames(&l);
    if (png)
        film_write(tool, &l.film, png->words);
    if (plotted)
        plot_letters(&l, plotted->words);
    uint32_t violated = 0;
    for (uint32_t f = 0; f < l.frame_count; f++) {
        const letter_row *row = &l.rows[f];
        violated += row->exact > 0 ? row->least < row->exact * (1 - 1e-6) ||
                                         row->least - row->error > row->exact
                                   : row->least - row->error > 0;
    }
    print_letters_demo(&l, arguments, plotted ? plotted->words : NULL, violated);
    for (int k = 0; k < LETTERS; k++) {
        surface_free(&l.surfaces[k]);
        abut_mesh_destroy(l.rest[k]);
    }
    abut_device_destroy(l.device);
    return violated ? CODE_FOUND : CODE_FINE;
}
