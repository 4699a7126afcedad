/* Scenes after reading: their bodies and arrays, and which bodies collide. */
#include "scene/scene.h"

#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void abut_scene_destroy(abut_scene *scene) {
    if (!scene)
        return;
    abut_context *context = scene->context;
    for (size_t i = 0; i < scene->mesh_count; i++) {
        abut_mesh_destroy(scene->meshes[i].mesh);
        abut_bvh_destroy(scene->meshes[i].hull);
        abut_character_destroy(scene->meshes[i].character);
        abuti_release(context, scene->meshes[i].bones);
    }
    ABUTI_RELEASE(context, scene->meshes, scene->bodies, scene->ignored, scene->letters, scene);
    abut_context_destroy(context);
}

abut_status abut_scene_get_arrays(const abut_scene *scene, abut_scene_arrays *arrays) {
    if (!scene || !arrays)
        return abuti_null(__func__, scene ? "arrays" : "scene");
    const abut_scene_arrays made = {.size = sizeof made,
                                    .body_count = scene->body_count,
                                    .ignored_count = scene->ignored_count,
                                    .ignored = scene->ignored,
                                    .group_count = scene->group_count,
                                    .groups = scene->groups};
    return abuti_info_write(arrays, &made, sizeof made, __func__);
}

abut_status abut_scene_get_body(const abut_scene *scene, uint32_t index, abut_scene_body *body) {
    if (!scene || !body)
        return abuti_null(__func__, scene ? "body" : "scene");
    if (index >= scene->body_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: index is %u; it must be less than %u, the number of bodies",
                          __func__, index, scene->body_count);
    return abuti_info_write(body, &scene->bodies[index], sizeof *body, __func__);
}

static int compare_pairs(const void *x, const void *y) {
    const abut_scene_pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

bool abut_scene_should_collide(const abut_scene *scene, uint32_t a, uint32_t b) {
    if (!scene || a == b || a >= scene->body_count || b >= scene->body_count)
        return false;
    const abut_scene_body *p = &scene->bodies[a], *q = &scene->bodies[b];
    if (!(p->group & q->mask) || !(q->group & p->mask))
        return false;
    const abut_scene_pair key = a < b ? (abut_scene_pair){a, b} : (abut_scene_pair){b, a};
    return !scene->ignored_count ||
           !bsearch(&key, scene->ignored, scene->ignored_count, sizeof key, compare_pairs);
}

/* ---- primitives ---- */

abut_status abuti_scene_solid(scene_mesh *mesh, abut_collider *collider) {
    const abut_pose pose = collider->pose;
    const abut_shape *shape = &mesh->shape;
    const abut_vec3 low = {0, 0, -0.5 * shape->height}, high = {0, 0, 0.5 * shape->height},
                    size = shape->extent;
    switch (mesh->has_shape ? shape->kind : ABUT_SHAPE_COUNT) {
    case ABUT_SHAPE_SHEET:
        *collider = abut_collider_from_plane((abut_plane){.normal = {0, 0, 1}}, pose);
        return ABUT_OK;
    case ABUT_SHAPE_UVSPHERE:
    case ABUT_SHAPE_ICOSPHERE:
        *collider = abut_collider_from_sphere((abut_sphere){.radius = shape->radius}, pose);
        return ABUT_OK;
    case ABUT_SHAPE_CAPSULE:
        *collider = abut_collider_from_capsule((abut_capsule){{low, high}, shape->radius}, pose);
        return ABUT_OK;
    case ABUT_SHAPE_BOX:
        *collider =
            abut_collider_from_box((abut_vec3){0.5 * size.x, 0.5 * size.y, 0.5 * size.z}, pose);
        return ABUT_OK;
    case ABUT_SHAPE_CYLINDER:
        *collider = abut_collider_from_cylinder((abut_cylinder){{low, high}, shape->radius}, pose);
        return ABUT_OK;
    default: {
        abut_status status = mesh->hull ? ABUT_OK : abut_bvh_create(mesh->mesh, NULL, &mesh->hull);
        *collider = abut_collider_from_hull(mesh->hull, pose);
        return status;
    }
    }
}

/* ---- scale, rotation, and characters at a time of a clip ---- */

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

/* Creates the character of a name by the callback of the caller. */
static abut_status make_figure(abut_context *context, const abut_scene_options *options,
                               const char *name, abut_character **made) {
    if (!options->create_character)
        return abuti_fail(ABUT_ERROR_FORMAT,
                          "the figure '%s' requires abut_scene_options.create_character", name);
    return options->create_character(options->user, context, name, made);
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

abut_status abuti_scene_pose(abut_context *context, const abut_scene_options *options,
                             const scene_pose *pose, scene_mesh *to) {
    abut_character_pose_options posed = abut_character_pose_options_default();
    abut_status status = pose->figure ? make_figure(context, options, pose->figure, &to->character)
                                      : read_character(context, pose->path, &to->character);
    posed.clip = ABUT_NONE;
    posed.time = pose->time;
    if (!status && pose->clip)
        status = find_clip(to->character, pose->clip, &posed.clip);
    abut_character_info info = abut_character_info_default();
    if (!status)
        status = abut_character_get_info(to->character, &info);
    if (!status) {
        to->bones = abuti_allocate(context, info.bone_count, sizeof *to->bones);
        status =
            to->bones ? abut_character_pose(to->character, &posed, to->bones) : ABUT_ERROR_MEMORY;
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

/* ---- builds without a JSON parser ---- */

#ifndef ABUT_HAS_GLTF

static abut_status fail_without_yajl(void) {
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "abut was built without yajl, which reading scenes requires");
}

abut_status abut_scene_read(abut_context *context, const char *path,
                            const abut_scene_options *options, abut_scene **scene) {
    (void)context;
    (void)options;
    return path && scene ? fail_without_yajl() : abuti_null(__func__, path ? "scene" : "path");
}

abut_status abut_scene_read_memory(abut_context *context, const void *data, size_t bytes,
                                   const char *name, const abut_scene_options *options,
                                   abut_scene **scene) {
    (void)context;
    (void)options;
    (void)name;
    return (data || !bytes) && scene ? fail_without_yajl()
                                     : abuti_null(__func__, scene ? "data" : "scene");
}

#endif

abut_status abuti_scene_set_ignored(abut_scene *scene, uint64_t *pairs, size_t count) {
    uint64_t *buffer = abuti_allocate(scene->context, count, sizeof *buffer);
    scene->ignored = abuti_allocate(scene->context, count, sizeof *scene->ignored);
    if (!buffer || !scene->ignored) {
        abuti_release(scene->context, buffer);
        return ABUT_ERROR_MEMORY;
    }
    if (count)
        abuti_sort_keys(pairs, buffer, count);
    for (size_t i = 0; i < count; i++)
        if (!i || pairs[i] != pairs[i - 1])
            scene->ignored[scene->ignored_count++] =
                (abut_scene_pair){(uint32_t)(pairs[i] >> 32), (uint32_t)pairs[i]};
    abuti_release(scene->context, buffer);
    return ABUT_OK;
}
