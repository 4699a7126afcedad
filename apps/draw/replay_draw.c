/* Pictures of abut replay: the number of triangles in each view set over the frames (figures
 * 6.11 to 6.13 of Cheng 2011), and the view sets of one frame on the mesh. */
#include "replay.h"
#include "view.h"

#include <string.h>

static const abut_colour set_colours[4] = {{0.62f, 0.70f, 0.80f, 1},
                                           {0.85f, 0.37f, 0.01f, 1},
                                           {0.90f, 0.72f, 0.10f, 1},
                                           {0.70f, 0.10f, 0.25f, 1}};
static const abut_colour ghost_colour = {0.35f, 0.55f, 0.35f, 0.3f},
                         no_set_colour = {0.75f, 0.75f, 0.75f, 1};
static const abut_colour point_colour = {0.20f, 0.40f, 0.75f, 1},
                         line_colour = {0.15f, 0.55f, 0.30f, 1};

/* ---- the plot: view sets over frames ---- */

/* The size of a set in each counted step, stored as row `row` of `values`. */
static tool_curve curve_of(const replay_tally *t, int set, const char *name, double *values,
                           int row, size_t count) {
    double *to = values + (size_t)row * count;
    for (size_t i = 0; i < count; i++)
        to[i] = t->sets_of[i][set];
    return (tool_curve){name, set_colours[set], to};
}

void replay_plot(tool_run *tool, const replay *r, const char *path) {
    const size_t count = (size_t)r->counted;
    const replay_tally *const shown = &r->tallies[r->shown];
    const bool compares = r->wanted[RIVAL_POINT] && r->wanted[RIVAL_LINE];
    double *values = tool_array(6 * count, sizeof *values);
    tool_curve curves[6];
    char first[32], last[32];
    for (int set = 0; set < 4; set++)
        curves[set] =
            curve_of(shown, set, abut_self_set_name((abut_self_set)set), values, set, count);
    for (int k = 0; k < 2 && compares; k++) {
        curves[4 + k] = curve_of(&r->tallies[k ? RIVAL_LINE : RIVAL_POINT], ABUT_SELF_NEGATIVE,
                                 k ? "line" : "point", values, 4 + k, count);
        curves[4 + k].colour = k ? line_colour : point_colour;
    }
    snprintf(first, sizeof first, "frame %llu", (unsigned long long)r->recording.first);
    snprintf(last, sizeof last, "%llu", (unsigned long long)r->recording.last);
    const tool_plot plots[3] = {
        {"triangles in the positive view set", &curves[0], 1, {first, last}},
        {"triangles in the other view sets", &curves[1], 3, {first, last}},
        {"triangles in the negative view set, by view-point and view-line",
         &curves[4],
         2,
         {first, last}}};
    plots_write(tool, plots, compares ? 3 : 2, count, path);
}

/* ---- view sets on the mesh ---- */

/* The style of a mesh whose triangles have the colours of their view sets, on both sides. After a
 * complete search there are none. */
static abut_mesh_style style_of(const replay *r, const unsigned char *sets, abut_colour **colours) {
    const uint32_t count = abut_mesh_triangle_count(r->mesh);
    abut_mesh_style style = abut_mesh_style_default();
    *colours = tool_array(count + (size_t)1, sizeof **colours);
    for (uint32_t i = 0; i < count; i++)
        (*colours)[i] = sets ? set_colours[sets[i]] : no_set_colour;
    style.triangle_colour = *colours;
    style.two_sided = true;
    return style;
}

void replay_show(tool_run *tool, const replay *r, const unsigned char *sets) {
    abut_picture_options camera = abut_picture_options_default();
    abut_colour *colours;
    abut_mesh_style style = style_of(r, sets, &colours);
    tool_legend legend = {0};
    style.colour = set_colours[0];
    style.smooth = true;
    abut_mesh *mesh = mesh_new(tool, r->recording.end, abut_mesh_vertex_count(r->mesh),
                               abut_mesh_indices(r->mesh), abut_mesh_triangle_count(r->mesh));
    abut_picture *picture = picture_new(tool, &camera);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    legend_add(&legend, set_colours[0], "triangles by view set");
    view_rate(tool->view, r->recording.info.seconds * (double)r->every);
    view_picture(tool->view, picture, &legend);
    for (int set = 0; set < 4; set++)
        view_note(tool->view, set_colours[set], abut_self_set_name((abut_self_set)set));
    abut_picture_destroy(picture);
    abut_mesh_destroy(mesh);
    tool_free(colours);
}

/* The ghosts, as glass (figures 6.8 to 6.10). */
static void add_ghosts(const replay *r, abut_picture *picture, tool_legend *legend) {
    abut_mesh_style style = abut_mesh_style_default();
    abut_mesh *ghosts = NULL;
    ensure(abut_self_get_ghosts(r->tallies[r->shown].view, &ghosts));
    if (!ghosts)
        return;
    style.colour = ghost_colour;
    style.edges = style.two_sided = true;
    ensure(abut_picture_add_mesh(picture, ghosts, (abut_pose){0}, &style));
    legend_add(legend, ghost_colour, "ghosts");
    abut_mesh_destroy(ghosts);
}

void replay_picture(tool_run *tool, const tool_arguments *arguments, const replay *r,
                    const unsigned char *sets, const char *path) {
    abut_picture_options camera = abut_picture_options_default();
    abut_colour *colours;
    abut_mesh_style style = style_of(r, sets, &colours);
    abut_mesh *mesh = NULL;
    tool_legend legend = {0};
    camera_read(tool, arguments, &camera);
    style.edges = true;
    ensure(abut_frames_mesh_at(r->recording.frames, r->recording.last, 0, &mesh));
    abut_picture *picture = picture_new(tool, &camera);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    for (int set = 0; set < 4 && sets; set++)
        legend_add(&legend, set_colours[set], "%s", abut_self_set_name((abut_self_set)set));
    if (!sets)
        legend_add(&legend, no_set_colour, "searched completely");
    add_ghosts(r, picture, &legend);
    picture_write(tool, picture, &camera, &legend, path);
    abut_picture_destroy(picture);
    abut_mesh_destroy(mesh);
}
