/* Scenes after reading: their arrays, and which bodies collide. */
#include "scene/scene.h"

void abut_scene_destroy(abut_scene *scene) {
    if (!scene)
        return;
    abut_context *context = scene->context;
    for (size_t i = 0; i < scene->mesh_count; i++) {
        abut_mesh_destroy(scene->meshes[i].mesh);
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
                                    .bodies = scene->bodies,
                                    .ignored_count = scene->ignored_count,
                                    .ignored = scene->ignored,
                                    .group_count = scene->group_count,
                                    .groups = scene->groups};
    return abuti_info_write(arrays, &made, sizeof made, __func__);
}

bool abut_scene_should_collide(const abut_scene *scene, uint32_t a, uint32_t b) {
    if (!scene || a == b || a >= scene->body_count || b >= scene->body_count)
        return false;
    const abut_scene_body *p = &scene->bodies[a], *q = &scene->bodies[b];
    if (!(p->group & q->mask) || !(q->group & p->mask))
        return false;
    abut_scene_pair key = a < b ? (abut_scene_pair){a, b} : (abut_scene_pair){b, a};
    size_t lo = 0, hi = scene->ignored_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        const abut_scene_pair *it = &scene->ignored[middle];
        if (it->a < key.a || (it->a == key.a && it->b < key.b))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo == scene->ignored_count || scene->ignored[lo].a != key.a ||
           scene->ignored[lo].b != key.b;
}

/* ---- primitives ---- */

void abuti_scene_solid(const scene_mesh *mesh, abut_scene_body *body) {
    static const char *const words[ABUT_SHAPE_COUNT] = {
        [ABUT_SHAPE_SHEET] = "plane",      [ABUT_SHAPE_UVSPHERE] = "sphere",
        [ABUT_SHAPE_ICOSPHERE] = "sphere", [ABUT_SHAPE_CAPSULE] = "capsule",
        [ABUT_SHAPE_BOX] = "box",          [ABUT_SHAPE_CYLINDER] = "cylinder"};
    const char *word = mesh->has_shape ? words[mesh->shape.kind] : NULL;
    body->solid = word ? word : "hull";
    if (!word)
        return;
    body->radius = mesh->shape.radius;
    body->height = mesh->shape.height;
    const abut_vec3 size = mesh->shape.extent;
    body->half = (abut_vec3){0.5 * size.x, 0.5 * size.y, 0.5 * size.z};
}

/* ---- builds without a JSON parser ---- */

#ifndef ABUT_HAS_GLTF

static abut_status fail_without_yajl(void) {
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "abut was built without yajl, which reading scenes requires");
}

abut_status abut_scene_read(abut_context *context, const char *path, abut_scene **scene) {
    (void)context;
    return path && scene ? fail_without_yajl() : abuti_null(__func__, path ? "scene" : "path");
}

abut_status abut_scene_read_memory(abut_context *context, const void *data, size_t bytes,
                                   const char *name, abut_scene **scene) {
    (void)context;
    (void)name;
    return (data || !bytes) && scene ? fail_without_yajl()
                                     : abuti_null(__func__, scene ? "data" : "scene");
}

#endif
