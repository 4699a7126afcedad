/* Functions that commands about two meshes share: reading both, their poses, and a picture. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_pose(tool_run *tool, const tool_arguments *arguments, const char *name,
                     abut_pose *pose) {
    const tool_given *given = option_given(arguments, name);
    *pose = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (!given || pose_read(given->words, pose))
        return 0;
    return tool_refuse(tool,
                       "--%s must be X,Y,Z, @z,30, X,Y,Z@1,1,0,30 or X,Y,Z,QX,QY,QZ,QW, not '%s'",
                       name, given->words);
}

int pair_load(tool_run *tool, const tool_arguments *arguments, abut_device *device,
              tool_pair *pair) {
    const tool_given *poses = option_given(arguments, "poses"), *png = picture_given(arguments);
    memset(pair, 0, sizeof *pair);
    pair->options = abut_pair_options_default();
    pair->options.surface_only = option_given(arguments, "surfaces") != NULL;
    int code = read_pose(tool, arguments, "pose-a", &pair->pose[0]);
    code = code ? code : read_pose(tool, arguments, "pose", &pair->pose[1]);
    if (!code && poses && (option_given(arguments, "pose") || png))
        code = tool_refuse(tool, "--poses cannot be combined with --pose or --png");
    if (!code && png)
        code = picture_check(tool, png->words);
    if (!code && !png && (option_given(arguments, "view") || option_given(arguments, "up")))
        code = tool_refuse(tool, "--view and --up require --png or --html");
    if (!code && poses)
        code = poses_load(tool, poses->words, &pair->poses);
    for (size_t side = 0; side < arguments->operand_count && !code; side++) {
        abut_mesh *mesh = NULL;
        abut_status status = tool_read(tool, arguments->operands[side], NULL, &mesh);
        status = status ? status : device_bvh(mesh, device, &pair->bvh[side]);
        abut_mesh_destroy(mesh);
        if (status)
            code = tool_fail(tool, status);
    }
    return code;
}

abut_collider pair_posed(const tool_pair *pair, int side) {
    abut_collider posed = abut_collider_from_bvh(pair->bvh[side], pair->pose[side]);
    return posed;
}

/* Many poses. */
static int run_poses(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                     tool_pair_many *many) {
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = pair->bvh[0];
    poses.b = pair->bvh[1];
    poses.poses_b = pair->poses.list;
    poses.count = pair->poses.count;
    abut_pose *still = malloc(poses.count * sizeof *still); /* A stays where it is */
    if (!still)
        return tool_fail_with(tool, "out of memory", "not enough memory for the poses");
    for (size_t i = 0; i < poses.count; i++)
        still[i] = pair->pose[0];
    poses.poses_a = still;
    int code = many(tool, arguments, pair, &poses);
    free(still);
    return code;
}

void pair_free(tool_pair *pair) {
    abut_bvh_destroy(pair->bvh[0]);
    abut_bvh_destroy(pair->bvh[1]);
    free(pair->poses.list);
}

int pair_run(tool_run *tool, const tool_arguments *arguments, tool_pair_one *one,
             tool_pair_many *many) {
    tool_pair pair;
    abut_device *device = NULL;
    if (device_named(arguments) && !option_given(arguments, "poses"))
        return tool_refuse(tool, "--device requires --poses: it is for many poses");
    int code = device_open(tool, arguments, &device);
    if (code)
        return code;
    code = pair_load(tool, arguments, device, &pair);
    if (!code)
        code = pair.poses.count ? run_poses(tool, arguments, &pair, many)
                                : one(tool, arguments, &pair);
    pair_free(&pair);
    abut_device_destroy(device);
    return code;
}

void pair_begin(tool_output *out, const tool_arguments *arguments) {
    out_object(out, NULL);
    json_path(out, "a", arguments->operands[0]);
    json_path(out, "b", arguments->operands[1]);
}

int pair_table(tool_run *tool, const tool_arguments *arguments, const tool_table *table) {
    const tool_given *path = option_given(arguments, "out");
    return table_write(tool, path ? path->words : NULL, table);
}

/* ---- remarks ---- */

/* Whether reliability is about this mesh: unreliable are those whose neighbours face opposite ways,
 * limited those with a border. */
static bool is_affected(abut_mesh *mesh, abut_reliability_level level) {
    abut_topology *topology = NULL;
    abut_mesh_report report = {.size = sizeof report, .has_boundary = false};
    abut_status status = mesh ? abut_topology_create(mesh, &topology) : ABUT_ERROR_ARGUMENT;
    status = status ? status : abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    return !status && (level == ABUT_RELIABILITY_UNRELIABLE ? report.has_opposite_boundary
                                                            : report.has_boundary);
}

void print_reliability_of(tool_run *tool, const abut_reliability *reliability,
                          abut_mesh *const *meshes, const char *const *names, uint32_t count) {
    tool_text words = {0};
    uint32_t named = 0;
    if (reliability->level == ABUT_RELIABILITY_GUARANTEED || tool->out.json || tool->quiet)
        return;
    text_print(&words, "%s: %s", abut_reliability_level_name(reliability->level),
               reliability->reason);
    for (uint32_t i = 0; i < count && named < 8; i++) {
        bool known = false; /* a shared mesh is named once */
        for (uint32_t k = 0; k < i; k++)
            known = known || meshes[k] == meshes[i];
        if (known || !is_affected(meshes[i], reliability->level))
            continue;
        text_add(&words, named++ ? ", " : " Affected meshes: ");
        text_safe(&words, names[i]);
    }
    if (words.data && !words.failed)
        tool_log(tool, ABUT_LOG_INFO, words.data);
    text_free(&words);
}

static double length_of(abut_vec3 v) {
    return hypot(hypot(v.x, v.y), v.z);
}

static double diagonal_of(const abut_mesh *mesh) {
    abut_box box = abut_mesh_bounds(mesh);
    return length_of((abut_vec3){box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z});
}

void print_unit_note(tool_run *tool, const char *name_a, const abut_mesh *a, const char *name_b,
                     const abut_mesh *b) {
    double size_a = diagonal_of(a), size_b = diagonal_of(b);
    double small = fmin(size_a, size_b), large = fmax(size_a, size_b);
    bool first = size_a > size_b;
    if (!(small > 0) || large < 300 * small || tool->out.json)
        return;
    tool_text words = {0};
    text_safe(&words, first ? name_a : name_b);
    text_print(&words, " is %.4g times as large as ", large / small);
    text_safe(&words, first ? name_b : name_a);
    text_add(&words, ": are both in the same unit? 'abut convert --scale' changes one");
    if (words.data)
        tool_log(tool, ABUT_LOG_INFO, words.data);
    text_free(&words);
}

/* ---- the picture ---- */

/* Returns whether a mesh would hide the other: it is at least as large, and contains its centre. */
static bool hides(const tool_pair *pair, int side) {
    abut_bvh *bvh = pair->bvh[side];
    const abut_mesh *other = abut_bvh_mesh(pair->bvh[1 - side]);
    abut_box box = abut_mesh_bounds(other);
    abut_vec3 p = {0.5 * (box.lo.x + box.hi.x), 0.5 * (box.lo.y + box.hi.y),
                   0.5 * (box.lo.z + box.hi.z)};
    abut_pose back;
    bool inside;
    return diagonal_of(abut_bvh_mesh(bvh)) >= diagonal_of(other) &&
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

static abut_status draw_pair_picture(tool_run *tool, const tool_arguments *arguments,
                                     const tool_pair *pair, const abut_picture_options *options,
                                     const abut_segment *segments, size_t count, bool dots) {
    tool_legend legend = {0};
    static const abut_colour red = {0.85f, 0.1f, 0.1f, 1};
    abut_picture *picture = NULL;
    abut_status status = abut_picture_create(tool->context, options, &picture);
    for (int side = 0; side < 2 && !status; side++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.smooth = true;
        style.colour = abut_picture_colour((uint32_t)side);
        style.colour.a = hides(pair, side) ? 0.45f : 1;
        legend_file(&legend, style.colour, arguments->operands[side]);
        status = abut_picture_add_mesh(picture, abut_bvh_mesh(pair->bvh[side]), pair->pose[side],
                                       &style);
    }
    for (size_t i = 0; i < count && !status; i++) {
        status = abut_picture_add_line(picture, segments[i].end[0], segments[i].end[1], 3, red);
        for (int k = 0; k < 2 && !status && dots; k++)
            status = abut_picture_add_point(picture, segments[i].end[k], 9, red);
    }
    if (count)
        legend_add(&legend, red, "%s", dots ? "closest points" : "intersections");
    if (!status)
        status = picture_write(tool, picture, options, &legend, picture_given(arguments)->words);
    abut_picture_destroy(picture);
    return status;
}

int pair_picture(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                 const abut_segment *segments, size_t count, bool dots) {
    const tool_given *png = picture_given(arguments);
    if (!png)
        return 0;
    abut_picture_options options = abut_picture_options_default();
    int code = camera_read(tool, arguments, &options);
    if (code)
        return code;
    if (!option_given(arguments, "view"))
        look_across(segments, count, &options);
    abut_status status = draw_pair_picture(tool, arguments, pair, &options, segments, count, dots);
    if (status)
        return tool_fail(tool, status);
    if (tool->out.json || !tool->quiet)
        pictures_print_paths(tool, arguments);
    return 0;
}
