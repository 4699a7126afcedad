/* Functions that commands about two meshes share: reading both, their poses, and a picture. */
#include "tool.h"

#include <math.h>
#include <string.h>

bool pose_option(tool_run *tool, const tool_arguments *arguments, const char *name,
                 abut_pose *pose) {
    const tool_given *given = option_given(arguments, name);
    *pose = abut_pose_identity();
    if (given && !pose_read(given->words, pose))
        tool_refuse(tool,
                    "--%s must be X,Y,Z, @z,30, X,Y,Z@1,1,0,30 or X,Y,Z,QX,QY,QZ,QW, not '%s'",
                    name, given->words);
    return given;
}

void pair_load(tool_run *tool, const tool_arguments *arguments, abut_device *device,
               tool_pair *pair) {
    const tool_given *poses = option_given(arguments, "poses"), *png = picture_given(arguments);
    memset(pair, 0, sizeof *pair);
    pair->options = abut_pair_options_default();
    pair->options.surface_only = option_given(arguments, "surfaces") != NULL;
    pose_option(tool, arguments, "pose-a", &pair->pose[0]);
    pose_option(tool, arguments, "pose", &pair->pose[1]);
    if (poses && (option_given(arguments, "pose") || png))
        tool_refuse(tool, "--poses cannot be combined with --pose or --png");
    picture_options_check(tool, arguments);
    if (poses)
        poses_load(tool, poses->words, &pair->poses);
    for (size_t side = 0; side < arguments->operand_count; side++) {
        abut_mesh *mesh = mesh_read(tool, arguments->operands[side]);
        device_bvh(mesh, device, &pair->bvh[side]);
        abut_mesh_destroy(mesh);
    }
}

abut_collider pair_posed(const tool_pair *pair, int side) {
    abut_collider posed = abut_collider_from_bvh(pair->bvh[side], pair->pose[side]);
    return posed;
}

void pair_free(tool_pair *pair) {
    abut_bvh_destroy(pair->bvh[0]);
    abut_bvh_destroy(pair->bvh[1]);
}

int pair_run(tool_run *tool, const tool_arguments *arguments, tool_pair_one *one,
             tool_pair_many *many) {
    tool_pair pair;
    abut_device *device = NULL;
    if (device_named(arguments) && !option_given(arguments, "poses"))
        tool_refuse(tool, "--device requires --poses: it is for many poses");
    device = device_open(tool, arguments);
    pair_load(tool, arguments, device, &pair);
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = pair.bvh[0];
    poses.b = pair.bvh[1];
    poses.poses_b = pair.poses.list;
    poses.count = pair.poses.count;
    abut_pose *still = tool_array(poses.count, sizeof *still); /* A stays where it is */
    for (size_t i = 0; i < poses.count; i++)
        still[i] = pair.pose[0];
    poses.poses_a = still;
    int code = poses.count ? many(tool, arguments, &pair, &poses) : one(tool, arguments, &pair);
    pair_free(&pair);
    abut_device_destroy(device);
    return code;
}

void pair_begin(tool_output *out, const tool_arguments *arguments) {
    out_object(out, NULL);
    json_path(out, "a", arguments->operands[0]);
    json_path(out, "b", arguments->operands[1]);
}

void pair_table(tool_run *tool, const tool_arguments *arguments, const tool_table *table) {
    table_write(tool, option_words(arguments, "out", NULL), table);
}

/* ---- remarks ---- */

/* Whether reliability is about this mesh: unreliable are those whose neighbours face opposite ways,
 * limited those with a border. */
static bool is_affected(abut_mesh *mesh, abut_reliability_level level) {
    abut_mesh_report report;
    return mesh && !mesh_report(mesh, &report) &&
           (level == ABUT_RELIABILITY_UNRELIABLE ? report.has_opposite_boundary
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
    tool_log(tool, ABUT_LOG_INFO, words.data);
}

double mesh_diagonal(const abut_mesh *mesh) {
    abut_box box = abut_mesh_bounds(mesh);
    return box_diagonal(&box);
}

void print_unit_note(tool_run *tool, const char *name_a, const abut_mesh *a, const char *name_b,
                     const abut_mesh *b) {
    double size_a = mesh_diagonal(a), size_b = mesh_diagonal(b);
    double small = fmin(size_a, size_b), large = fmax(size_a, size_b);
    bool first = size_a > size_b;
    if (!(small > 0) || large < 300 * small || tool->out.json)
        return;
    tool_text words = {0};
    text_safe(&words, first ? name_a : name_b);
    text_print(&words, " is %.4g times as large as ", large / small);
    text_safe(&words, first ? name_b : name_a);
    text_add(&words, ": are both in the same unit? 'abut convert --scale' changes one");
    tool_log(tool, ABUT_LOG_INFO, words.data);
}
