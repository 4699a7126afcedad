/* The page of a mesh with segments and points: closest points, rays, inside tests. */
#include "view.h"

enum { MARKS_MAX = 200000 }; /* more would hide each other */

void view_marks_page(tool_run *tool, const char *path, abut_mesh *mesh, const view_mark *marks,
                     size_t count, const view_kind *kinds) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    abut_picture *picture = NULL;
    tool_legend legend = {0};
    if (!tool->view)
        return;
    style.smooth = true;
    style.colour = abut_picture_colour(0);
    legend_file(&legend, style.colour, path);
    style.colour.a = 0.55f; /* the interior should be visible */
    for (uint32_t k = 0; kinds[k].words; k++) {
        uint64_t amount = 0;
        for (size_t i = 0; i < count; i++)
            amount += marks[i].kind == k;
        legend_add(&legend, kinds[k].colour, "%s", kinds[k].words);
        legend_amount(&legend, amount);
    }
    ensure(abut_picture_create(tool->context, &camera, &picture));
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    for (size_t i = 0; i < count && i < MARKS_MAX; i++) {
        const view_kind *kind = &kinds[marks[i].kind];
        if (kind->line)
            ensure(abut_picture_add_line(picture, marks[i].from, marks[i].to, 2, kind->colour));
        else
            ensure(abut_picture_add_point(picture, marks[i].from, 6, kind->colour));
    }
    view_page(tool, picture, &legend);
    abut_picture_destroy(picture);
}
