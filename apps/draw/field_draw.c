/* The picture and the page of `abut field`. */
#include "apps/get.h"
#include "view.h"

#include <math.h>

enum { MAX_CELLS = 1000000 }; /* largest number of drawn cells */
static const abut_colour edge_colour = {0.35f, 0.38f, 0.45f, 0.35f};

/* Adds legend entries for the ends of the palette and the middle, on both sides of the surface
 * if present. */
static void add_colours(tool_legend *legend, const tool_scale *scale, bool inside) {
    const double low = scale->least, high = scale->most;
    for (int k = 2; k >= 0 && !inside && high > 0; k--)
        legend_add(legend, scale_colour(scale, 0.5 * k * high), "%.3g%s", 0.5 * k * high,
                   k ? "" : ", outside");
    for (int k = 0; k <= 2 && low < 0; k++) {
        double distance = k ? 0.5 * k * low : 1e-6 * low;
        legend_add(legend, scale_colour(scale, distance), "%.3g%s", k ? distance : 0,
                   k ? "" : ", inside");
    }
}

/* Draws a dot at the centre of each cell, or of each cell inside. */
static void add_cells(abut_picture *picture, const abut_field_info *info, const float *values,
                      bool inside, const tool_scale *scale) {
    const uint32_t *n = info->grid.count;
    const abut_vec3 o = info->grid.origin;
    const double cell = info->grid.cell;
    uint32_t longest = n[0] > n[1] ? n[0] : n[1];
    double width = fmax(2, 150.0 / (longest > n[2] ? longest : n[2]));
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++) {
                double distance = *values++;
                abut_vec3 at = vec_along(o, cell, (abut_vec3){x, y, z});
                if (distance < 0 || !inside)
                    ensure(
                        abut_picture_add_point(picture, at, width, scale_colour(scale, distance)));
            }
}

/* Draws the edges of a mesh instead of its faces. */
static void add_edges(abut_picture *picture, const abut_mesh *mesh) {
    const abut_vec3 o = abut_mesh_local_origin(mesh), *from = abut_mesh_local_positions(mesh);
    const uint32_t *corner = abut_mesh_indices(mesh);
    for (size_t i = 0; i < 3 * (size_t)abut_mesh_triangle_count(mesh); i++) {
        abut_vec3 p = from[corner[i]], q = from[corner[i % 3 == 2 ? i - 2 : i + 1]];
        ensure(abut_picture_add_line(picture, (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z},
                                     (abut_vec3){o.x + q.x, o.y + q.y, o.z + q.z}, 1, edge_colour));
    }
}

/* Writes the page: the mesh, and the field as a movable slice and as isosurfaces. */
static void write_field_page(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                             const abut_field *field, const abut_picture_options *camera) {
    const abut_field_info info = get_field_info(field);
    const tool_scale scale = scale_of(option_words(arguments, "palette", NULL),
                                      fmin(info.lowest, 0), fmax(info.highest, 0));
    abut_mesh_style style = abut_mesh_style_default();
    tool_legend legend = {0};
    style.smooth = true;
    style.colour = (abut_colour){0.72f, 0.74f, 0.78f, 1};
    legend_file(&legend, style.colour, arguments->operands[0]);
    abut_picture *picture = picture_new(tool, camera);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    view_place_picture(tool->view, picture);
    view_field(tool->view, field, "distances", &scale);
    view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
}

void field_draw(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                const abut_field *field) {
    const bool inside = option_given(arguments, "inside") != NULL;
    const abut_field_info info = get_field_info(field);
    const tool_scale scale = scale_of(option_words(arguments, "palette", "thesis"),
                                      fmin(info.lowest, 0), fmax(info.highest, 0));
    const uint32_t *n = info.grid.count, first[3] = {0, 0, 0};
    const double cells = (double)n[0] * n[1] * n[2];
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    camera_read(tool, arguments, &camera);
    if (tool->view)
        write_field_page(tool, arguments, mesh, field, &camera);
    if (!option_given(arguments, "png"))
        return;
    if (cells > MAX_CELLS)
        tool_refuse(tool, "a picture of %.0f cells would not be readable; use at most %d", cells,
                    MAX_CELLS);
    float *values = tool_array((size_t)cells, sizeof *values);
    style.smooth = true;
    style.colour = (abut_colour){0.72f, 0.74f, 0.78f, 1};
    legend_file(&legend, inside ? edge_colour : style.colour, arguments->operands[0]);
    add_colours(&legend, &scale, inside);
    ensure(abut_field_copy(field, first, n, values));
    ensure(abut_picture_create(tool->context, &camera, &picture));
    if (inside)
        add_edges(picture, mesh);
    else
        ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){{0, 0, 0, 1}, {0, 0, 0}}, &style));
    add_cells(picture, &info, values, inside, &scale);
    const char *path = picture_given(arguments)->words;
    picture_write(tool, picture, &camera, &legend, path);
    abut_picture_destroy(picture);
}

/* ---- samples ---- */

void samples_draw(tool_run *tool, const tool_arguments *arguments,
                  const abut_picture_options *options, abut_mesh *mesh,
                  const abut_samples_arrays *view) {
    static const char *const of[] = {"vertices", "edges", "flat faces", "surface samples"};
    tool_legend legend = {0};
    static const abut_colour colours[] = {{0.8f, 0.1f, 0.1f, 1},
                                          {0.1f, 0.3f, 0.8f, 1},
                                          {0.1f, 0.55f, 0.2f, 1},
                                          {0.55f, 0.2f, 0.6f, 1}};
    abut_mesh_style style = abut_mesh_style_default();
    const abut_pose still = {{0, 0, 0, 1}, {0, 0, 0}};
    style.edges = true;
    style.smooth = true;
    legend_file(&legend, abut_picture_colour(0), arguments->operands[0]);
    for (int kind = 0; kind < 4; kind++)
        if (view->kind_count[kind])
            legend_add(&legend, colours[kind], "%s", of[kind]);
    abut_picture *picture = picture_new(tool, options);
    ensure(abut_picture_add_mesh(picture, mesh, still, &style));
    for (uint32_t i = 0; i < view->count; i++)
        ensure(abut_picture_add_point(picture, view->samples[i].point, 6,
                                      colours[view->samples[i].kind]));
    const char *path = picture_given(arguments)->words;
    picture_write(tool, picture, options, &legend, path);
    abut_picture_destroy(picture);
}
