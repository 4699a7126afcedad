/* The picture of `abut sweep`: the mesh at the time of the first impact, and all impacts. */
#include "view.h"

typedef struct drawn_sweep {
    const tool_moving *moving;
    const abut_impact *impacts;
    size_t count;
} drawn_sweep;

enum { DRAWN_PATHS_MAX = 64 };

static abut_vec3 at_time(const abut_mesh *const mesh[2], uint32_t vertex, double time) {
    const abut_vec3 start = mesh_point(mesh[0], vertex);
    return vec_along(start, time, vec_sub(mesh_point(mesh[1], vertex), start));
}

/* The mesh at a time within the step. */
static void mesh_at(tool_run *tool, const abut_mesh *const mesh[2], double time,
                    abut_mesh **between) {
    const uint32_t count = abut_mesh_vertex_count(mesh[0]);
    abut_vec3 *positions = tool_array(count, sizeof *positions);
    for (uint32_t i = 0; i < count; i++)
        positions[i] = at_time(mesh, i, time);
    *between = mesh_new(tool, positions, count, abut_mesh_indices(mesh[0]),
                        abut_mesh_triangle_count(mesh[0]));
    tool_free(positions);
}

static const abut_colour orange = {1.0f, 0.55f, 0.0f, 1}, red = {0.86f, 0.08f, 0.12f, 1},
                         blue = {0.1f, 0.3f, 0.95f, 1};

/* Draws both features in orange at the time of impact, the contact point in red, and the path of
 * the first feature in blue if it does not hide the others. */
static void draw_impact(abut_picture *picture, const drawn_sweep *s, const abut_mesh *const mesh[2],
                        const abut_impact *impact) {
    const bool edges = impact->kind == ABUT_IMPACT_EDGE_EDGE;
    uint32_t v[4];
    abut_vec3 at[4];
    moving_vertices(s->moving, impact, v);
    for (int k = 0; k < 4; k++)
        at[k] = at_time(mesh, v[k], impact->time);
    if (edges) {
        ensure(abut_picture_add_line(picture, at[0], at[1], 2.5, orange));
        ensure(abut_picture_add_line(picture, at[2], at[3], 2.5, orange));
    }
    for (int k = 0; !edges && k < 3; k++)
        ensure(abut_picture_add_line(picture, at[1 + k], at[1 + (k + 1) % 3], 2.5, orange));
    const int ways = s->count > DRAWN_PATHS_MAX ? 0 : edges ? 2 : 1;
    for (int k = 0; k < ways; k++)
        ensure(abut_picture_add_line(picture, at_time(mesh, v[k], 0), at_time(mesh, v[k], 1), 1.5,
                                     blue));
    ensure(abut_picture_add_point(picture, impact->point, 9, red));
}

/* Writes the page: the whole step, with each impact from its time on. */
static void write_sweep_page(tool_run *tool, const drawn_sweep *s, const abut_mesh *const mesh[2],
                             const abut_picture_options *camera) {
    enum { FRAMES = 61 };
    tool_legend legend = {0};
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    style.colour = abut_picture_colour(0);
    legend_add(&legend, style.colour, "the mesh, from start to end");
    legend_add(&legend, orange, "edges and faces that touch");
    legend_add(&legend, red, "contact points");
    legend_add(&legend, blue, "path of the first feature");
    view_rate(tool->view, 1.0 / 30);
    for (int i = 0; i < FRAMES; i++) {
        double time = (double)i / (FRAMES - 1);
        abut_mesh *between = NULL;
        mesh_at(tool, mesh, time, &between);
        abut_picture *picture = picture_new(tool, camera);
        ensure(abut_picture_add_mesh(picture, between, (abut_pose){0}, &style));
        for (size_t k = 0; k < s->count; k++)
            if (s->impacts[k].time <= time)
                draw_impact(picture, s, mesh, &s->impacts[k]);
        view_picture(tool->view, picture, &legend);
        abut_picture_destroy(picture);
        abut_mesh_destroy(between);
    }
    view_write(tool);
}

void sweep_draw(tool_run *tool, const tool_arguments *arguments, const tool_moving *moving,
                const abut_impact *impacts, size_t count, const abut_mesh *const mesh[2]) {
    const drawn_sweep drawn = {moving, impacts, count}, *s = &drawn;
    const tool_given *png = picture_given(arguments);
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh *between = NULL;
    abut_mesh_style style = abut_mesh_style_default();
    if (png)
        camera_read(tool, arguments, &camera);
    if (!png)
        return;
    tool_legend legend = {0};
    style.smooth = true;
    legend_add(&legend, abut_picture_colour(0), "at time %.6g", s->count ? s->impacts[0].time : 1);
    if (s->count) {
        legend_add(&legend, orange, "edges and faces that touch, each at its time");
        legend_add(&legend, red, "contact points");
    }
    if (s->count && s->count <= DRAWN_PATHS_MAX)
        legend_add(&legend, blue, "path of the first feature");
    if (tool->view) {
        write_sweep_page(tool, s, mesh, &camera);
        if (png->words == view_path(tool->view))
            return;
    }
    mesh_at(tool, mesh, s->count ? s->impacts[0].time : 1, &between);
    abut_picture *picture = picture_new(tool, &camera);
    ensure(abut_picture_add_mesh(picture, between, (abut_pose){0}, &style));
    for (size_t i = 0; i < s->count; i++)
        draw_impact(picture, s, mesh, &s->impacts[i]);
    picture_write(tool, picture, &camera, &legend, png->words);
    abut_picture_destroy(picture);
    abut_mesh_destroy(between);
}
