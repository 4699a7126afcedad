/* The page of a mesh with segments and points: closest points, rays, inside tests. */
#include "view.h"

#include <math.h>

enum { MARKS_MAX = 200000 }; /* more would hide each other */

void view_marks_page(tool_run *tool, const char *path, abut_mesh *mesh, const view_mark *marks,
                     size_t count, const view_kind *kinds) {
    abut_picture_options camera = abut_picture_options_default();
    tool_legend legend = {0};
    if (!tool->view)
        return;
    legend_file(&legend, abut_picture_colour(0), path);
    for (uint32_t k = 0; kinds[k].words; k++) {
        uint64_t amount = 0;
        for (size_t i = 0; i < count; i++)
            amount += marks[i].kind == k;
        legend_add(&legend, kinds[k].colour, "%s", kinds[k].words);
        legend_amount(&legend, amount);
    }
    abut_picture *picture = picture_new(tool, &camera);
    /* the interior should be visible */
    picture_body(picture, mesh, (abut_pose){0}, abut_picture_colour(0), 0.55f);
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

/* ---- results of points and rays ---- */

void view_nearest(tool_run *tool, const char *path, abut_mesh *mesh, const abut_vec3 *points,
                  const size_t *owners, const abut_nearest *nearest, size_t count) {
    static const view_kind kinds[] = {{"points", {0.1f, 0.15f, 0.4f, 1}, false},
                                      {"segment to the closest point",
                                       {0.85f, 0.35f, 0.1f, 1},
                                       true},
                                      {0}};
    size_t used = 0;
    if (!tool->view)
        return;
    view_mark *marks = tool_array(2 * count + 1, sizeof *marks);
    for (size_t i = 0; i < count; i++) {
        abut_vec3 p = points[owners ? owners[i] : i];
        marks[used++] = (view_mark){p, p, 0};
        if (nearest[i].triangle != ABUT_NONE)
            marks[used++] = (view_mark){p, nearest[i].point, 1};
    }
    view_marks_page(tool, path, mesh, marks, used, kinds);
}

void view_inside(tool_run *tool, const char *path, abut_mesh *mesh, const abut_vec3 *points,
                 const bool *inside, size_t count) {
    static const view_kind kinds[] = {{"inside", {0.15f, 0.45f, 0.75f, 1}, false},
                                      {"outside", {0.85f, 0.45f, 0.15f, 1}, false},
                                      {0}};
    if (!tool->view)
        return;
    view_mark *marks = tool_array(count + 1, sizeof *marks);
    for (size_t i = 0; i < count; i++)
        marks[i] = (view_mark){points[i], points[i], inside[i] ? 0 : 1};
    view_marks_page(tool, path, mesh, marks, count, kinds);
}

/* Rays that miss end after the size of the mesh. */
void view_rays(tool_run *tool, const char *path, abut_mesh *mesh, const abut_ray *rays,
               const size_t *owners, const abut_ray_hit *hits, size_t count) {
    static const view_kind kinds[] = {{"rays that hit", {0.1f, 0.25f, 0.6f, 1}, true},
                                      {"hits", {0.85f, 0.1f, 0.1f, 1}, false},
                                      {"rays that miss", {0.5f, 0.5f, 0.55f, 1}, true},
                                      {0}};
    size_t used = 0;
    if (!tool->view)
        return;
    view_mark *marks = tool_array(2 * count + 1, sizeof *marks);
    double size = mesh_diagonal(mesh);
    for (size_t i = 0; i < count; i++) {
        const abut_ray *ray = &rays[owners ? owners[i] : i];
        abut_vec3 o = ray->origin, d = ray->direction;
        bool hit = hits[i].triangle != ABUT_NONE;
        double t = hit ? hits[i].parameter : size / vec_length(d);
        abut_vec3 end = vec_along(o, t, d);
        marks[used++] = (view_mark){o, end, hit ? 0 : 2};
        if (hit)
            marks[used++] = (view_mark){end, end, 1};
    }
    view_marks_page(tool, path, mesh, marks, used, kinds);
}
