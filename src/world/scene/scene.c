/* Scenes after reading: their bodies and arrays, and which bodies collide. */
#include "scene/scene.h"

#include "base/sort.h"
#include "geom/pose.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.28318530717958647692 /* radians of a whole rotation */

void abut_scene_destroy(abut_scene *scene) {
    if (!scene)
        return;
    abut_context *context = scene->context;
    for (size_t i = 0; i < scene->mesh_count; i++) {
        abut_mesh_destroy(scene->meshes[i].mesh);
        abut_bvh_destroy(scene->meshes[i].hull);
        abut_character_destroy(scene->meshes[i].character);
        ABUTI_RELEASE(context, scene->meshes[i].bones, scene->meshes[i].pins);
    }
    for (uint32_t i = 0; i < scene->body_count; i++) {
        abuti_release(context, (void *)scene->bodies[i].cloth);
        abuti_release(context, (void *)scene->bodies[i].pins);
    }
    ABUTI_RELEASE(context, scene->meshes, scene->bodies, scene->ignored, scene->letters,
                  scene->seams.data, scene);
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
                                    .groups = scene->groups,
                                    .up = scene->up,
                                    .gravity = scene->gravity,
                                    .wind = scene->wind,
                                    .drag = scene->drag,
                                    .seam_count = scene->seams.count,
                                    .seams = scene->seams.data};
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
    const abut_pose place = collider->pose;
    const abut_shape *shape = &mesh->shape;
    const abut_vec3 low = {0, 0, -0.5 * shape->height}, high = {0, 0, 0.5 * shape->height},
                    size = shape->extent;
    switch (mesh->has_shape ? shape->kind : ABUT_SHAPE_COUNT) {
    case ABUT_SHAPE_SHEET:
        *collider = abut_collider_from_plane((abut_plane){.normal = {0, 0, 1}}, place);
        return ABUT_OK;
    case ABUT_SHAPE_UVSPHERE:
    case ABUT_SHAPE_ICOSPHERE:
        *collider = abut_collider_from_sphere((abut_sphere){.radius = shape->radius}, place);
        return ABUT_OK;
    case ABUT_SHAPE_CAPSULE:
        *collider = abut_collider_from_capsule((abut_capsule){{low, high}, shape->radius}, place);
        return ABUT_OK;
    case ABUT_SHAPE_BOX:
        *collider =
            abut_collider_from_box((abut_vec3){0.5 * size.x, 0.5 * size.y, 0.5 * size.z}, place);
        return ABUT_OK;
    case ABUT_SHAPE_CYLINDER:
        *collider = abut_collider_from_cylinder((abut_cylinder){{low, high}, shape->radius}, place);
        return ABUT_OK;
    default: {
        abut_status status = mesh->hull ? ABUT_OK : abut_bvh_create(mesh->mesh, NULL, &mesh->hull);
        *collider = abut_collider_from_hull(mesh->hull, place);
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

static abut_status find_bone(const abut_character *character, uint32_t bone_count, const char *name,
                             uint32_t *bone) {
    abut_character_bone has;
    for (*bone = 0; *bone < bone_count; (*bone)++) {
        abut_status status = abut_character_get_bone(character, *bone, &has);
        if (status || !strcmp(has.name, name))
            return status;
    }
    char word[100];
    abuti_escape(name, word, sizeof word);
    return abuti_fail(ABUT_ERROR_FORMAT,
                      "'without': there is no bone '%s'; 'abut character' lists them", word);
}

/* Removes the parts that bones of these names move, the first one of each name. */
static abut_status remove_parts(abut_context *context, const scene_pose *how,
                                abut_character **character) {
    abut_character_info info = abut_character_info_default();
    abut_character *reduced = NULL;
    abut_status status = abut_character_get_info(*character, &info);
    if (!status && how->without_count > info.bone_count)
        status = abuti_fail(ABUT_ERROR_FORMAT, "'without' has %u names; the character has %u bones",
                            how->without_count, info.bone_count);
    uint32_t *bones = status ? NULL : abuti_allocate(context, how->without_count, sizeof *bones);
    if (!bones)
        return status ? status : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < how->without_count && !status; i++)
        status = find_bone(*character, info.bone_count, how->without[i], &bones[i]);
    if (!status) {
        status = abut_character_remove_bones(*character, bones, how->without_count, &reduced);
        if (status == ABUT_ERROR_ARGUMENT)
            status = abuti_fail(ABUT_ERROR_FORMAT, "'without' leaves no triangle of the character");
    }
    abuti_release(context, bones);
    if (status)
        return status;
    abut_character_destroy(*character);
    *character = reduced;
    return ABUT_OK;
}

static abut_status find_clip(const abut_character *character, const char *name, uint32_t *clip) {
    abut_character_info info = abut_character_info_default();
    abut_status status = abut_character_get_info(character, &info);
    char names[200] = "";
    size_t used = 0;
    for (*clip = 0; *clip < info.clip_count && !status; (*clip)++) {
        abut_character_clip has;
        status = abut_character_get_clip(character, *clip, &has);
        if (!status && has.name && !strcmp(has.name, name))
            return ABUT_OK;
        if (!status && used < sizeof names) { /* a longer list is cut off */
            char word[100];
            abuti_escape(has.name ? has.name : "", word, sizeof word);
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", *clip ? ", " : ": ",
                                     word);
        }
    }
    if (status)
        return status;
    return abuti_fail(ABUT_ERROR_FORMAT, "there is no clip '%s' among the %u clips%s", name,
                      info.clip_count, names);
}

/* Seconds of motion at full speed that have the same effect as the first `seconds`, in which a body
 * accelerates smoothly: the integral of smoothstep(t / blend). */
static double eased_seconds(double blend, double seconds) {
    if (!(blend > 0))
        return seconds;
    const double u = fmin(seconds / blend, 1);
    return blend * u * u * u * (1 - 0.5 * u) + fmax(seconds - blend, 0);
}

static abut_status pose_bones(const abut_character *character, uint32_t clip, double time,
                              double speed, double blend, double seconds,
                              abut_character_matrix *bones) {
    abut_character_pose_options posed = abut_character_pose_options_default();
    posed.clip = clip;
    posed.time = time + speed * eased_seconds(blend, seconds);
    if (clip != ABUT_NONE && seconds < blend) {
        const double u = seconds / blend;
        posed.other = clip;
        posed.other_time = posed.time;
        posed.blend = u * u * (3 - 2 * u);
        posed.clip = ABUT_NONE;
    }
    return abut_character_pose(character, &posed, bones);
}

abut_status abuti_scene_pose(abut_context *context, const abut_scene_options *options,
                             const scene_pose *how, scene_mesh *to) {
    abut_status status = how->figure ? make_figure(context, options, how->figure, &to->character)
                                     : read_character(context, how->path, &to->character);
    to->clip = ABUT_NONE;
    to->time = how->time;
    to->speed = how->speed;
    to->blend = how->blend;
    if (!status && how->without_count)
        status = remove_parts(context, how, &to->character);
    if (!status && how->clip)
        status = find_clip(to->character, how->clip, &to->clip);
    abut_character_info info = abut_character_info_default();
    if (!status)
        status = abut_character_get_info(to->character, &info);
    if (!status) {
        to->bones = abuti_allocate(context, info.bone_count, sizeof *to->bones);
        status = to->bones ? pose_bones(to->character, to->clip, to->time, to->speed, to->blend, 0,
                                        to->bones)
                           : ABUT_ERROR_MEMORY;
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

/* ---- motion ---- */

abut_status abut_scene_pose_body(const abut_scene *scene, uint32_t index, double seconds,
                                 abut_pose *place, abut_character_matrix *bones) {
    if (!scene || !place)
        return abuti_null(__func__, scene ? "pose" : "scene");
    if (index >= scene->body_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: index is %u; it must be less than %u, the number of bodies",
                          __func__, index, scene->body_count);
    const abut_scene_body *body = &scene->bodies[index];
    if (body->mass > 0 || body->cloth)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: body %u %s, so that its pose does not only depend on time", __func__,
                          index, body->cloth ? "is cloth" : "has a mass");
    if (!(seconds >= 0 && seconds <= DBL_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: seconds is %g; it must be finite and not negative", __func__,
                          seconds);
    const double eased = eased_seconds(body->clip_blend, seconds), speed = v3_length(body->spin);
    abut_pose made = body->collider.pose, turn = abut_pose_identity();
    abut_status status = ABUT_OK;
    if (speed > 0)
        status = abut_pose_from_axis_angle(body->spin, fmod(speed * eased, TURN),
                                           (abut_vec3){0, 0, 0}, &turn);
    made.translation = (abut_vec3){0, 0, 0};
    if (!status && speed > 0)
        status = abut_pose_compose(&turn, &made, &made);
    made.translation = v3_add(body->collider.pose.translation, v3_scale(body->velocity, eased));
    if (!status)
        status = abuti_pose_check(__func__, "the pose of the body", &made);
    if (!status && bones && body->character)
        status = pose_bones(body->character, body->clip, body->clip_time, body->clip_speed,
                            body->clip_blend, seconds, bones);
    if (!status)
        *place = made;
    return status;
}

abut_status abuti_scene_mass(scene_mesh *mesh) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    if (mesh->has_mass)
        return ABUT_OK;
    abut_status status = abut_topology_create(mesh->mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (status)
        return status;
    mesh->has_mass = true;
    mesh->volume = report.is_solid && report.volume > 0 ? report.volume : 0;
    mesh->centre = report.centroid;
    memcpy(mesh->inertia, report.inertia, sizeof mesh->inertia);
    return ABUT_OK;
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
