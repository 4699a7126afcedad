/* The camera of --view, --up and --fov. */
#include "tool.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    double right, front, up; /* towards the camera, in model coordinates */
} views[] = {{"front", 0, 1, 0}, {"back", 0, -1, 0},   {"left", -1, 0, 0},   {"right", 1, 0, 0},
             {"top", 0, 0, 1},   {"bottom", 0, 0, -1}, {"iso", 0.6, 1, 0.55}};

/* Reads "z", "-y" or "X,Y,Z" as a unit vector. */
static bool read_direction(const char *words, abut_vec3 *direction) {
    double n[3] = {0};
    const char *letter = words + (words[0] == '-');
    if (letter[0] >= 'x' && letter[0] <= 'z' && !letter[1])
        n[letter[0] - 'x'] = letter == words ? 1 : -1;
    else if (read_numbers(words, n, 3) != 3)
        return false;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 0) || !isfinite(length))
        return false;
    *direction = vec_divide(vec_of(n), length);
    return true;
}

/* Computes the front direction for an up axis: -y for z up, +z for y up, as modelling programs
 * do; in general the horizontal direction nearest to -y, or to z. */
static abut_vec3 front_of(abut_vec3 up) {
    abut_vec3 wish = {0, -1, 0};
    if (fabs(up.y) > 0.9)
        wish = (abut_vec3){0, 0, up.y > 0 ? 1 : -1};
    abut_vec3 front = vec_along(wish, -vec_dot(wish, up), up);
    return vec_divide(front, sqrt(vec_dot(front, front)));
}

void camera_read(tool_run *tool, const tool_arguments *arguments, abut_picture_options *options) {
    const tool_given *upward = option_given(arguments, "up");
    const tool_given *fov = option_given(arguments, "fov");
    abut_vec3 up = tool->up;
    if (up.x == 0 && up.y == 0 && up.z == 0)
        up.z = 1;
    if (upward && !read_direction(upward->words, &up))
        tool_refuse(tool, "--up must be x, y, z, -x, -y, -z or X,Y,Z, not '%s'", upward->words);
    const char *words = option_words(arguments, "view", "iso");
    bool found = false;
    abut_vec3 front = front_of(up), right = vec_cross(up, front);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (strcmp(words, views[i].name) != 0)
            continue;
        const abut_vec3 across = vec_along((abut_vec3){0}, views[i].right, right);
        options->eye_direction =
            vec_along(vec_along(across, views[i].front, front), views[i].up, up);
        found = true;
    }
    if (!found && (strchr(words, ',') == NULL || !read_direction(words, &options->eye_direction)))
        tool_refuse(tool,
                    "--view must be front, back, left, right, top, bottom, iso or X,Y,Z, not '%s'",
                    words);
    options->up = up;
    if (fov && (fov->numbers[0] < 0 || fov->numbers[0] >= 170))
        tool_refuse(tool, "--fov must be from 0 (orthographic) to below 170 degrees, not '%s'",
                    fov->words);
    if (fov)
        options->field_of_view = fov->numbers[0] == 0 ? -1 : fov->numbers[0];
}
