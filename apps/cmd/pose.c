/* Poses on the command line and in files. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

abut_quat rotation_after(abut_quat a, abut_quat b) { /* Hamilton's product */
    abut_quat q = {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                   a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                   a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                   a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
    return q;
}

/* Rotations by 90 degrees get equal components, so that only the square root is rounded. */
bool rotation_read(const char *words, abut_quat *turn) {
    double n[4] = {0};
    if (strchr("xyz", words[0]) && words[0] && words[1] == ',') {
        if (read_numbers(words + 2, &n[3], 1) != 1)
            return false;
        n[words[0] - 'x'] = 1;
    } else if (read_numbers(words, n, 4) != 4) {
        return false;
    }
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0) || !isfinite(length))
        return false;
    double degrees = fmod(n[3], 360), half = degrees * (PI / 360);
    double sine = sin(half), cosine = cos(half);
    if (fabs(degrees) == 90 || fabs(degrees) == 270)
        sine = copysign(sqrt(0.5), sine), cosine = copysign(sqrt(0.5), cosine);
    if (fabs(degrees) == 180)
        sine = copysign(1, sine), cosine = 0;
    *turn = (abut_quat){sine * n[0] / length, sine * n[1] / length, sine * n[2] / length, cosine};
    return true;
}

/* Makes the pose of 3 or 7 numbers. */
static bool pose_of(const double *n, size_t count, abut_pose *pose) {
    *pose = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (count != 3 && count != 7)
        return false;
    pose->translation = vec_of(n);
    if (count == 7)
        pose->rotation = (abut_quat){n[3], n[4], n[5], n[6]};
    return count == 3 || n[3] != 0 || n[4] != 0 || n[5] != 0 || n[6] != 0;
}

bool pose_read(const char *words, abut_pose *pose) {
    char part[256];
    double n[7];
    size_t length = strcspn(words, "@");
    if (length >= sizeof part)
        return false;
    snprintf(part, sizeof part, "%.*s", (int)length, words);
    *pose = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (length && !pose_of(n, read_numbers(part, n, 7), pose))
        return false;
    if (!length && !words[0])
        return false;
    for (words += length; *words == '@'; words += length) {
        abut_quat turn;
        length = strcspn(++words, "@");
        if (length >= sizeof part)
            return false;
        snprintf(part, sizeof part, "%.*s", (int)length, words);
        if (!rotation_read(part, &turn))
            return false;
        pose->rotation = rotation_after(turn, pose->rotation);
    }
    return true;
}

void poses_load(tool_run *tool, const char *path, tool_poses *poses) {
    tool_lines lines;
    double row[7];
    lines_open(tool, path, &lines);
    for (int count; (count = lines_row(tool, &lines, row, 7));) {
        abut_pose pose;
        bool finite = count > 0;
        for (int i = 0; i < count && i < 7; i++)
            finite = finite && isfinite(row[i]);
        if (!finite || !pose_of(row, (size_t)count, &pose))
            tool_fail_with(
                tool, "format error",
                "%s:%zu: a pose is three numbers x y z, or seven with a quaternion that is not 0",
                path, lines.number);
        tool_grow(&poses->list, poses->count, &poses->room, sizeof *poses->list);
        poses->list[poses->count++] = pose;
    }
    lines_close(&lines);
    if (!poses->count)
        tool_fail_with(tool, "format error", "%s: no rows of numbers", path);
}
