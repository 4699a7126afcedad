/* The picture of two posed meshes, with segments between points of both. */
#include "tool.h"

#include <math.h>

static double length_of(abut_vec3 v) {
    return hypot(hypot(v.x, v.y), v.z);
}

/* Returns whether a mesh would hide the other: it is at least as large, and contains its centre. */
static bool hides(const tool_pair *pair, int side) {
    abut_bvh *bvh = pair->bvh[side];
    const abut_mesh *other = abut_bvh_mesh(pair->bvh[1 - side]);
    abut_box box = abut_mesh_bounds(other);
    abut_vec3 p = {0.5 * (box.lo.x + box.hi.x), 0.5 * (box.lo.y + box.hi.y),
                   0.5 * (box.lo.z + box.hi.z)};
    abut_pose back;
    bool inside;
    return mesh_diagonal(abut_bvh_mesh(bvh)) >= mesh_diagonal(other) &&
           !abut_pose_apply(&pair->pose[1 - side], p, &p) &&
           !abut_pose_invert(&pair->pose[side], &back) && !abut_pose_apply(&back, p, &p) &&
           !abut_sign_prepare(bvh, NULL) && !abut_sign_inside(bvh, p, &inside) && inside;
}

/* Returns the component of `v` perpendicular to a unit vector. */
static abut_vec3 part_across(abut_vec3 v, abut_vec3 unit) {
    double along = unit.x * v.x + unit.y * v.y + unit.z * v.z;
    abut_vec3 across = {v.x - along * unit.x, v.y - along * unit.y, v.z - along * unit.z};
    return across;
}

/* Chooses the usual view direction, or one rotated by 90 degrees if that is along the longest
 * segment; then rotates it until it is perpendicular to the segment. */
static void look_across(const abut_segment *segments, size_t count, abut_picture_options *options) {
    abut_vec3 eye = options->eye_direction, up = options->up, along = {0, 0, 0};
    double longest = 0;
    for (size_t i = 0; i < count; i++) {
        abut_vec3 p = segments[i].end[0], q = segments[i].end[1];
        abut_vec3 d = {q.x - p.x, q.y - p.y, q.z - p.z};
        double length = length_of(d);
        if (!(length > longest))
            continue;
        longest = length;
        along = (abut_vec3){d.x / length, d.y / length, d.z / length};
    }
    abut_vec3 across = part_across(eye, along);
    if (length_of(across) < 0.7 * length_of(eye)) {
        eye = (abut_vec3){up.y * eye.z - up.z * eye.y + 0.55 * up.x,
                          up.z * eye.x - up.x * eye.z + 0.55 * up.y,
                          up.x * eye.y - up.y * eye.x + 0.55 * up.z};
        across = part_across(eye, along);
    }
    if (length_of(across) > 0.3 * length_of(eye))
        options->eye_direction = across;
}

static void draw_pair_picture(tool_run *tool, const tool_arguments *arguments,
                              const tool_pair *pair, const abut_picture_options *options,
                              const abut_segment *segments, size_t count, bool dots) {
    tool_legend legend = {0};
    static const abut_colour red = {0.85f, 0.1f, 0.1f, 1};
    abut_picture *picture = NULL;
    ensure(abut_picture_create(tool->context, options, &picture));
    for (int side = 0; side < 2; side++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.smooth = true;
        style.colour = abut_picture_colour((uint32_t)side);
        style.colour.a = hides(pair, side) ? 0.45f : 1;
        legend_file(&legend, style.colour, arguments->operands[side]);
        ensure(abut_picture_add_mesh(picture, abut_bvh_mesh(pair->bvh[side]), pair->pose[side],
                                     &style));
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
