/* Robots: any bytes are read as URDF or MJCF, or rejected with a message; a robot that is read has
 * a tree of links, and its configurations can be tested. No file is opened, since the robot is in
 * memory. */
#include "fuzz.h"

static void check_contents(const abut_robot *robot, const abut_robot_info *info) {
    FUZZ_CHECK(info->name && info->link_count >= 1 && info->link_count <= ABUT_ROBOT_LINK_MAX);
    FUZZ_CHECK(info->joint_count == info->link_count - 1);
    FUZZ_CHECK(info->variable_count <= info->joint_count);
    for (uint32_t i = 0; i < info->link_count; i++)
        FUZZ_CHECK(abut_robot_link_name(robot, i)[0]);
    for (uint32_t i = 0; i < info->joint_count; i++) {
        abut_robot_joint joint;
        FUZZ_CHECK(!abut_robot_get_joint(robot, i, &joint));
        FUZZ_CHECK(joint.name[0] && joint.parent < info->link_count &&
                   joint.child < info->link_count && joint.lower <= joint.upper);
    }
}

static void check_configuration(const abut_robot *robot, const abut_robot_info *info) {
    double *from = calloc((size_t)info->variable_count + 1, sizeof *from),
           *to = calloc((size_t)info->variable_count + 1, sizeof *to);
    abut_pose *poses = malloc(info->link_count * sizeof *poses);
    FUZZ_CHECK(from && to && poses);
    for (uint32_t i = 0; i < info->variable_count; i++)
        to[i] = 0.1 * (i + 1);
    abut_robot_hit hit;
    FUZZ_CHECK(!abut_robot_compute_poses(robot, to, 1, poses));
    for (uint32_t i = 0; i < info->link_count; i++)
        FUZZ_CHECK(isfinite(poses[i].translation.x) && isfinite(poses[i].rotation.w));
    if (info->geometry_count <= 8 && info->reach <= 1e6) { /* others take long */
        FUZZ_CHECK(!abut_robot_test(robot, NULL, to, 1, &hit, NULL));
        FUZZ_CHECK(hit.collides == (hit.link != ABUT_NONE));
    }
    free(from);
    free(to);
    free(poses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    abut_robot *robot = NULL;
    abut_status status = abut_robot_read_memory(fuzz_context(), data, bytes, NULL, NULL, &robot);
    FUZZ_CHECK(!status == (robot != NULL));
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_LIMIT ||
                   status == ABUT_ERROR_UNSUPPORTED);
        FUZZ_CHECK(!strncmp(abut_last_error(), "robot: ", 7));
        return 0;
    }
    abut_robot_info info = abut_robot_info_default();
    FUZZ_CHECK(!abut_robot_get_info(robot, &info));
    check_contents(robot, &info);
    check_configuration(robot, &info);
    abut_robot_destroy(robot);
    return 0;
}
