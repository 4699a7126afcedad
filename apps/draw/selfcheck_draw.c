/* The picture of `abut selfcheck`. */
#include "tool.h"

static abut_vec3 corner_of(const abut_mesh *mesh, uint32_t triangle, uint32_t corner) {
    return mesh_point(mesh, abut_mesh_indices(mesh)[3 * (size_t)triangle + corner]);
}

/* Draws outlines of the triangles in orange, intersections in red with a dot at each end. */
static const abut_colour orange = {1.0f, 0.55f, 0.0f, 1}, red = {0.86f, 0.08f, 0.12f, 1};

static void draw_pair(abut_picture *picture, const abut_mesh *mesh,
                      const abut_pair_self_intersection *pair) {
    const abut_vec3 *end = pair->segment.end;
    for (int side = 0; side < 2; side++)
        for (uint32_t k = 0; k < 3; k++)
            ensure(abut_picture_add_line(picture, corner_of(mesh, pair->triangle[side], k),
                                         corner_of(mesh, pair->triangle[side], (k + 1) % 3), 1.5,
                                         orange));
    ensure(abut_picture_add_line(picture, end[0], end[1], 4, red));
    for (int k = 0; k < 2; k++)
        ensure(abut_picture_add_point(picture, end[k], 6, red));
}

/* Collects the triangles that are in any pair. */
static uint64_t count_triangles(const abut_mesh *mesh, const abut_pair_self_intersection *pairs,
                                uint64_t pair_count) {
    uint64_t count = 0;
    unsigned char *seen = tool_array((size_t)abut_mesh_triangle_count(mesh) + 1, 1);
    for (uint64_t i = 0; i < pair_count; i++)
        for (int side = 0; side < 2; side++) {
            unsigned char *own = &seen[pairs[i].triangle[side]];
            count += !*own;
            *own = 1;
        }
    return count;
}

void selfcheck_draw(tool_run *tool, const tool_arguments *arguments,
                    const abut_picture_options *options, abut_mesh *mesh,
                    const abut_pair_self_intersection *pairs, uint64_t count) {
    tool_legend legend = {0};
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = true;
    legend_file(&legend, abut_picture_colour(0), arguments->operands[0]);
    if (count) {
        legend_add(&legend, orange, "intersecting triangles");
        legend_amount(&legend, count_triangles(mesh, pairs, count));
        legend_add(&legend, red, "intersections");
        legend_amount(&legend, count);
    }
    abut_picture *picture = picture_new(tool, options);
    ensure(abut_picture_add_mesh(picture, mesh, (abut_pose){0}, &style));
    for (uint64_t i = 0; i < count; i++)
        draw_pair(picture, mesh, &pairs[i]);
    picture_write(tool, picture, options, &legend, picture_given(arguments)->words);
    abut_picture_destroy(picture);
}
