/* Pages of surface distance maps: surfaces in the colours of a scale, with values at a click. */
#include "map.h"
#include "view.h"

#include <math.h>
#include <string.h>

/* The distance at each vertex of the subdivided surface; NaN if nothing was found. */
static void values_of(const map_panel *panel, const map_fine *fine, double *values) {
    const map_answer *a = panel->answer;
    for (size_t i = 0; i < fine->point_count; i++)
        values[i] = NAN;
    for (size_t t = 0; t < fine->count; t++)
        for (int k = 0; k < 3; k++) {
            double *value = &values[fine->corners[3 * t + (size_t)k]];
            abut_map_value at;
            if (!isnan(*value))
                continue;
            ensure(
                abut_map_evaluate(panel->surface->map, fine->source[t], fine->weights[t][k], &at));
            if (isfinite(at.distance) && !(a->cut && at.distance > a->scale.most))
                *value = at.distance;
        }
}

static void add_panel(tool_run *tool, const map_panel *panel) {
    map_fine fine = {0};
    fine_create(panel->surface,
                fmax(1.5 * map_texel(panel), mesh_diagonal(panel->surface->mesh) / 150), &fine);
    double *values = tool_array(fine.point_count + 1, sizeof *values);
    values_of(panel, &fine, values);
    abut_mesh *mesh = mesh_new(tool, fine.points, fine.point_count, fine.corners, fine.count);
    view_values(tool->view, mesh, path_name(panel->surface->path), values, &panel->answer->scale,
                panel->answer->what, fine.source, panel->hidden);
    abut_mesh_destroy(mesh);
    fine_free(&fine);
}

/* Adds the other bodies, translucent, and the minimum distance as a segment. */
static void add_others(tool_run *tool, abut_picture *picture, const map_panel *panel, bool alone,
                       tool_legend *legend) {
    static const abut_colour ink = {0.1f, 0.1f, 0.35f, 1};
    for (uint32_t i = 0; i < panel->other_count && alone; i++) {
        legend_file(legend, abut_picture_colour(i), panel->others[i].path);
        picture_body(picture, panel->others[i].mesh, (abut_pose){0}, abut_picture_colour(i), 0.3f);
    }
    if (!panel->marked)
        return;
    char name[128];
    snprintf(name, sizeof name, "%s: %.6g%s%s", panel->marked, panel->value, alone ? "" : ", ",
             alone ? "" : path_name(panel->surface->path));
    view_label label = {.name = name, .hidden = panel->hidden};
    view_label_items(tool->view, picture, &label);
    ensure(abut_picture_add_line(picture, panel->marks[0], panel->marks[1], 3, ink));
    for (int k = 0; k < 2; k++)
        ensure(abut_picture_add_point(picture, panel->marks[k], 9, ink));
}

void map_view(tool_run *tool, const tool_arguments *arguments, const map_panel *panels,
              uint32_t count, map_show show) {
    abut_picture_options camera = abut_picture_options_default();
    tool_legend legend = {0};
    camera_read(tool, arguments, &camera);
    abut_picture *picture = picture_new(tool, &camera);
    for (uint32_t i = 0; i < count; i++) {
        if (show != MAP_SHOW_DISTANCE) {
            map_paint(tool, picture, &panels[i], show, true);
            continue;
        }
        add_panel(tool, &panels[i]);
        add_others(tool, picture, &panels[i], count == 1, &legend);
    }
    view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
}

void map_paint_plain(abut_picture *picture, const map_panel *panel) {
    static const double middle[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    const uint32_t count = abut_mesh_triangle_count(panel->surface->mesh);
    const abut_colour nothing = {0.80f, 0.81f, 0.83f, 1};
    abut_colour *colours = tool_array((count + (size_t)1), sizeof *colours);
    for (uint32_t t = 0; t < count; t++) {
        abut_map_value at;
        ensure(abut_map_evaluate(panel->surface->map, t, middle, &at));
        colours[t] =
            isfinite(at.distance) ? scale_colour(&panel->answer->scale, at.distance) : nothing;
    }
    picture_sheet(picture, panel->surface->mesh, nothing, colours, true);
    tool_free(colours);
}
