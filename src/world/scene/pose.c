/* Scaling and rotation of bodies, and characters at a time of a clip. */
#include "scene/scene.h"

#include <math.h>
#include <string.h>

abut_status abuti_scene_scale(scene_mesh *mesh, double scale) {
    abut_mesh *scaled = NULL;
    abut_status status = abut_mesh_transform(mesh->mesh, scale, (abut_pose){0}, &scaled);
    abut_mesh_destroy(mesh->mesh);
    mesh->mesh = scaled;
    mesh->shape.extent.x *= scale;
    mesh->shape.extent.y *= scale;
    mesh->shape.extent.z *= scale;
    mesh->shape.radius *= scale;
    mesh->shape.height *= scale;
    return status;
}

abut_quat abuti_scene_rotation(const double axis[3], double largest, double degrees) {
    const double half = fmod(degrees, 720) * (3.14159265358979323846 / 360);
    const double x = axis[0] / largest, y = axis[1] / largest, z = axis[2] / largest;
    const double s = sin(half) / sqrt(x * x + y * y + z * z);
    return (abut_quat){s * x, s * y, s * z, cos(half)};
}

/* Creates a built-in figure by its name. */
static abut_status make_figure(abut_context *context, const char *name, abut_character **made) {
    abut_character_figure_options options = abut_character_figure_options_default();
    for (int i = 0; i < ABUT_CHARACTER_FIGURE_COUNT; i++)
        if (!strcmp(name, abut_character_figure_name((abut_character_figure)i))) {
            options.figure = (abut_character_figure)i;
            return abut_character_create_figure(context, &options, made);
        }
    return abuti_fail(ABUT_ERROR_FORMAT,
                      "there is no figure '%s'; it must be mannequin, mannequin-female or ogre",
                      name);
}

/* Welds the seams of a file, so that closed surfaces are recognised as closed. */
static abut_status read_character(abut_context *context, const char *path, abut_character **made) {
    abut_character *read = NULL;
    abut_status status = abut_character_read(context, path, &read);
    if (!status)
        status = abut_character_weld(read, made);
    abut_character_destroy(read);
    return status;
}

static abut_status find_clip(const abut_character *character, const char *name, uint32_t *clip) {
    abut_character_info info = abut_character_info_default();
    abut_status status = abut_character_get_info(character, &info);
    for (*clip = 0; *clip < info.clip_count && !status; (*clip)++) {
        abut_character_clip has;
        status = abut_character_get_clip(character, *clip, &has);
        if (!status && has.name && !strcmp(has.name, name))
            return ABUT_OK;
    }
    if (status)
        return status;
    return abuti_fail(ABUT_ERROR_FORMAT, "there is no clip '%s' among the %u clips", name,
                      info.clip_count);
}

abut_status abuti_scene_pose(abut_context *context, const scene_pose *pose, scene_mesh *to) {
    abut_character_pose_options options = abut_character_pose_options_default();
    abut_status status = pose->figure ? make_figure(context, pose->figure, &to->character)
                                      : read_character(context, pose->path, &to->character);
    options.clip = ABUT_NONE;
    options.time = pose->time;
    if (!status && pose->clip)
        status = find_clip(to->character, pose->clip, &options.clip);
    abut_character_info info = abut_character_info_default();
    if (!status)
        status = abut_character_get_info(to->character, &info);
    if (!status) {
        to->bones = abuti_allocate(context, info.bone_count, sizeof *to->bones);
        status =
            to->bones ? abut_character_pose(to->character, &options, to->bones) : ABUT_ERROR_MEMORY;
    }
    if (!status)
        status = abut_character_mesh(to->character, to->bones, ABUT_CHARACTER_SKINNING_LINEAR,
                                     &to->mesh);
    if (status) {
        abuti_release(context, to->bones);
        abut_character_destroy(to->character);
        *to = (scene_mesh){0};
    }
    return status;
}
