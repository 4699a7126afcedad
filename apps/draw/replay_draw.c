/* Pictures of abut replay: the number of triangles in each view set over the frames (figures
 * 6.11 and 6.12 of Cheng 2011), and the view sets of one frame on the mesh. */
#include "replay.h"
#include "view.h"

#include <string.h>

/* ---- the plot: view sets over frames ---- */

enum { PLOT_WIDTH = 900, PLOT_HEIGHT = 300, BORDER = 70 };

static const abut_colour set_colours[4] = {{0.62f, 0.70f, 0.80f, 1},
                                           {0.85f, 0.37f, 0.01f, 1},
                                           {0.90f, 0.72f, 0.10f, 1},
                                           {0.70f, 0.10f, 0.25f, 1}};

/* Draws a view set as a curve, one column of pixels for each frame. */
static void draw_curve(tool_canvas *canvas, const replay *r, int set, int top, uint32_t most) {
    int before = -1;
    for (int x = 0; x < PLOT_WIDTH; x++) {
        uint64_t at = (uint64_t)x * r->counted / PLOT_WIDTH;
        int y =
            top + PLOT_HEIGHT - (int)((uint64_t)r->sets[at][set] * PLOT_HEIGHT / (most ? most : 1));
        int from = before < 0 || before > y ? y : before, to = before > y ? before : y;
        canvas_fill(canvas, BORDER + x, from, 2, to - from + 2, set_colours[set]);
        before = y;
    }
}

static void draw_panel(tool_canvas *canvas, const replay *r, int first, int last, int top) {
    uint32_t most = 0;
    char words[64];
    for (uint64_t i = 0; i < r->counted; i++)
        for (int set = first; set <= last; set++)
            most = r->sets[i][set] > most ? r->sets[i][set] : most;
    for (int k = 0; k <= 4; k++) {
        int y = top + PLOT_HEIGHT - k * PLOT_HEIGHT / 4;
        canvas_fill(canvas, BORDER, y, PLOT_WIDTH, 1, (abut_colour){0, 0, 0, k ? 0.15f : 0.8f});
        snprintf(words, sizeof words, "%.0f", (double)most * k / 4);
        canvas_words(canvas, BORDER - 10 - canvas_words(NULL, 0, 0, 11, words), y + 5, 11, words);
    }
    for (int set = first; set <= last; set++) {
        int x = BORDER + 140 * (set - first);
        draw_curve(canvas, r, set, top, most);
        canvas_fill(canvas, x, top - 22, 14, 14, set_colours[set]);
        canvas_words(canvas, x + 22, top - 9, 13, abut_self_set_name((abut_self_set)set));
    }
}

void replay_plot(tool_run *tool, const replay *r, const char *path) {
    tool_canvas canvas = {.width = PLOT_WIDTH + 2 * BORDER, .height = 2 * PLOT_HEIGHT + 3 * BORDER};
    size_t bytes = (size_t)canvas.width * canvas.height * 4;
    canvas.pixels = tool_alloc(bytes);
    memset(canvas.pixels, 255, bytes);
    draw_panel(&canvas, r, 0, 0, BORDER);
    draw_panel(&canvas, r, 1, 3, 2 * BORDER + PLOT_HEIGHT);
    char words[96];
    snprintf(words, sizeof words, "triangles in each view set, frames %llu to %llu",
             (unsigned long long)r->first + 1, (unsigned long long)r->last);
    canvas_words(&canvas, BORDER, 2 * PLOT_HEIGHT + 2 * BORDER + 40, 13, words);
    canvas_write(tool, &canvas, path);
}

/* ---- the page: view sets on the mesh, step by step ---- */

void replay_show(tool_run *tool, const replay *r, const unsigned char *sets) {
    uint32_t count = abut_mesh_triangle_count(r->mesh);
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_mesh *mesh = NULL;
    tool_legend legend = {0};
    abut_colour *colours = tool_array((count + (size_t)1), sizeof *colours);
    for (uint32_t i = 0; i < count; i++)
        colours[i] = set_colours[sets ? sets[i] : 0];
    style.triangle_colour = colours;
    style.colour = set_colours[0];
    style.smooth = true;
    style.two_sided = true;
    abut_mesh_input input = abut_mesh_input_doubles(r->end, abut_mesh_vertex_count(r->mesh),
                                                    abut_mesh_indices(r->mesh), count);
    ensure(abut_mesh_create(tool->context, &input, &mesh));
    abut_picture *picture = picture_new(tool, &camera);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    legend_add(&legend, set_colours[0], "triangles by view set");
    view_rate(tool->view, r->info.seconds * (double)r->every);
    view_picture(tool->view, picture, &legend);
    for (int set = 0; set < 4; set++)
        view_note(tool->view, set_colours[set], abut_self_set_name((abut_self_set)set));
    abut_picture_destroy(picture);
    abut_mesh_destroy(mesh);
    tool_free(colours);
}

/* ---- the picture: view sets on the mesh ---- */

void replay_picture(tool_run *tool, const tool_arguments *arguments, const replay *r,
                    const unsigned char *sets, const char *path) {
    uint32_t count = abut_mesh_triangle_count(r->mesh);
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_mesh *mesh = NULL;
    camera_read(tool, arguments, &camera);
    abut_colour *colours = tool_array(count, sizeof *colours);
    for (uint32_t i = 0; i < count; i++)
        colours[i] = set_colours[sets ? sets[i] : 0];
    style.triangle_colour = colours;
    style.edges = true;
    style.two_sided = true; /* both sides have the colour of the view set */
    ensure(abut_frames_mesh_at(r->frames, r->last, 0, &mesh));
    abut_picture *picture = picture_new(tool, &camera);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    tool_legend legend = {0};
    for (int set = 0; set < 4; set++)
        legend_add(&legend, set_colours[set], "%s", abut_self_set_name((abut_self_set)set));
    picture_write(tool, picture, &camera, &legend, path);
    abut_picture_destroy(picture);
    abut_mesh_destroy(mesh);
}
