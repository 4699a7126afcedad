/* The picture of two posed meshes, with segments between points of both. */
#include "tool.h"

#include <math.h>

/* Returns whether a mesh would hide the other: it is at least as large, and contains its centre. */
static bool hides(const tool_pair *pair, int side) {
    abut_bvh *bvh = pair->bvh[side];
    const abut_mesh *other = abut_bvh_mesh(pair->bvh[1 - side]);
    abut_box box = abut_mesh_bounds(other);
    abut_vec3 p = vec_divide(vec_add(box.lo, box.hi), 2);
    abut_pose back;
    bool inside;
    return mesh_diagonal(abut_bvh_mesh(bvh)) >= mesh_diagonal(other) &&
           !abut_pose_apply(&pair->pose[1 - side], p, &p) &&
           !abut_pose_invert(&pair->pose[side], &back) && !abut_pose_apply(&back, p, &p) &&
           !abut_sign_prepare(bvh, NULL) && !abut_sign_inside(bvh, p, &inside) && inside;
}

/* Returns the component of `v` perpendicular to a unit vector. */
static abut_vec3 part_across(abut_vec3 v, abut_vec3 unit) {
    return vec_along(v, -vec_dot(unit, v), unit);
}

/* Chooses the usual view direction, or one rotated by 90 degrees if that is along the longest
 * segment; then rotates it until it is perpendicular to the segment. */
static void look_across(const abut_segment *segments, size_t count, abut_picture_options *options) {
    abut_vec3 eye = options->eye_direction, up = options->up, along = {0, 0, 0};
    double longest = 0;
    for (size_t i = 0; i < count; i++) {
        abut_vec3 d = vec_sub(segments[i].end[1], segments[i].end[0]);
        double length = vec_length(d);
        if (!(length > longest))
            continue;
        longest = length;
        along = vec_divide(d, length);
    }
    abut_vec3 across = part_across(eye, along);
    if (vec_length(across) < 0.7 * vec_length(eye)) {
        eye = vec_along(vec_cross(up, eye), 0.55, up);
        across = part_across(eye, along);
    }
    if (vec_length(across) > 0.3 * vec_length(eye))
        options->eye_direction = across;
}

static void draw_pair_picture(tool_run *tool, const tool_arguments *arguments,
                              const tool_pair *pair, const abut_picture_options *options,
                              const abut_segment *segments, size_t count, bool dots) {
    tool_legend legend = {0};
    static const abut_colour red = {0.85f, 0.1f, 0.1f, 1};
    abut_picture *picture = picture_new(tool, options);
    for (int side = 0; side < 2; side++) {
        const abut_colour colour = abut_picture_colour((uint32_t)side);
        legend_file(&legend, colour, arguments->operands[side]);
        picture_body(picture, abut_bvh_mesh(pair->bvh[side]), pair->pose[side], colour,
                     hides(pair, side) ? 0.45f : 1);
    }
    for (size_t i = 0; i < count; i++) {
        ensure(abut_picture_add_line(picture, segments[i].end[0], segments[i].end[1], 3, red));
        for (int k = 0; k < 2 && dots; k++)
            ensure(abut_picture_add_point(picture, segments[i].end[k], 9, red));
    }
    if (count)
        legend_add(&legend, red, "%s", dots ? "closest points" : "intersections");
    picture_write(tool, picture, options, &legend, picture_given(arguments)->words);
    abut_picture_destroy(picture);
}

void pair_picture(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                  const abut_segment *segments, size_t count, bool dots) {
    const tool_given *png = picture_given(arguments);
    if (!png)
        return;
    abut_picture_options options = abut_picture_options_default();
    camera_read(tool, arguments, &options);
    if (!option_given(arguments, "view"))
        look_across(segments, count, &options);
    draw_pair_picture(tool, arguments, pair, &options, segments, count, dots);
    if (tool->out.json || !tool->quiet)
        pictures_print_paths(tool, arguments);
}
