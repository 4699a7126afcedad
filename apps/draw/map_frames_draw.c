/* The page and the plot of `abut map` for moving bodies. */
#include "apps/get.h"
#include "map.h"
#include "view.h"

#include <math.h>

static const abut_colour plain = {0.80f, 0.81f, 0.83f, 1}; /* if nothing was found */

/* Keeps the distances of a frame; colours need the range of all frames. */
void map_keep_frame(map_frames_run *r, uint64_t frame) {
    static const double middle[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    r->triangle_count = abut_mesh_triangle_count(r->surfaces[0].mesh);
    if (!r->film && r->frame_count <= SIZE_MAX / sizeof *r->film / (r->triangle_count + 1))
        r->film = tool_array((size_t)r->frame_count * (r->triangle_count + 1), sizeof *r->film);
    float *to = r->film + r->triangle_count * (size_t)frame;
    for (uint32_t t = 0; t < r->triangle_count; t++) {
        abut_map_value at;
        ensure(abut_map_evaluate(r->surfaces[0].map, t, middle, &at));
        to[t] = (float)at.distance;
    }
}

/* Computes the colours of the scale of all frames. */
static void colour_frame(const map_frames_run *r, uint64_t frame, const tool_scale *scale,
                         abut_colour *colours) {
    const float *values = r->film + r->triangle_count * (size_t)frame;
    for (size_t t = 0; t < r->triangle_count; t++)
        colours[t] = isfinite(values[t]) ? scale_colour(scale, (double)values[t]) : plain;
}

static void add_frame(tool_run *tool, map_frames_run *r, uint64_t frame, const abut_colour *colours,
                      const tool_legend *legend) {
    abut_picture_options camera = abut_picture_options_default();
    abut_picture *picture = picture_new(tool, &camera);
    for (uint32_t i = 0; i < r->body_count; i++) {
        abut_mesh *mesh = NULL;
        abut_colour colour = i ? abut_picture_colour(i - 1) : plain;
        colour.a = i ? 0.3f : 1;
        if (map_body_moves(r, i))
            map_read_body(tool, r, i, frame, &mesh);
        picture_sheet(picture, mesh ? mesh : r->surfaces[i].mesh, colour, i ? NULL : colours, true);
        abut_mesh_destroy(mesh);
    }
    view_picture(tool->view, picture, legend);
    abut_picture_destroy(picture);
}

/* Adds all frames in the colours of one scale, from the minimum to the maximum. */
void map_frames_page(tool_run *tool, map_frames_run *r) {
    enum { STEPS = 5 };
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (uint64_t i = 0; i < r->frame_count; i++)
        if (r->rows[i].measures.found) {
            least = fmin(least, r->rows[i].measures.min.distance);
            most = fmax(most, r->rows[i].measures.max.distance);
        }
    const bool found = least <= most;
    const tool_scale scale = scale_of("near", found ? least : 0, found ? most : 1);
    tool_legend legend = {0};
    abut_colour *colours = tool_array(r->triangle_count + 1, sizeof *colours);
    for (uint32_t i = 0; i < r->body_count && i < LEGEND_MAX; i++) {
        const abut_colour colour = i ? abut_picture_colour(i - 1) : plain;
        const char *name = abut_frames_name(r->recording, i);
        if (name)
            legend_add(&legend, colour, "%s", name);
        else if (r->recording)
            legend_add(&legend, colour, "body %u", i);
        else
            legend_file(&legend, colour, r->surfaces[i].path);
    }
    for (int k = 0; k <= STEPS && found; k++) {
        char words[40];
        const double value = least + k * (most - least) / STEPS;
        snprintf(words, sizeof words, "%.4g away", value);
        view_note(tool->view, scale_colour(&scale, value), words);
    }
    for (uint64_t frame = 0; frame < r->frame_count; frame++) {
        colour_frame(r, frame, &scale, colours);
        add_frame(tool, r, frame, colours, &legend);
    }
    view_write(tool);
}

void map_frames_plot(tool_run *tool, const map_frames_run *r, const char *path) {
    static const abut_colour blue = {0.12f, 0.35f, 0.7f, 1}, orange = {0.85f, 0.4f, 0.05f, 1},
                             green = {0.1f, 0.5f, 0.25f, 1};
    const size_t count = (size_t)r->frame_count;
    double *values = tool_array(3 * count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        double row[TABLE_COLUMNS];
        map_fill_frame_row(r->rows, i, row);
        values[i] = row[2];
        values[count + i] = row[10];
        values[2 * count + i] = row[1];
    }
    const tool_curve curves[3] = {{"least", blue, values},
                                  {"relative to the first frame", orange, values + count},
                                  {"ms", green, values + 2 * count}};
    const tool_plot plots[3] = {{"distance", &curves[0], 1, {NULL, NULL}},
                                {"reach", &curves[1], 1, {NULL, NULL}},
                                {"time of a frame", &curves[2], 1, {NULL, NULL}}};
    plots_write(tool, plots, 3, count, path);
}
