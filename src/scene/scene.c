/* Scenes once they are read: what they hold, and which bodies are tried. */
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

abut_scene_arrays abut_scene_arrays_get(const abut_scene *scene) {
    abut_scene_arrays arrays = {0};
    if (scene)
        arrays = (abut_scene_arrays){scene->body_count, scene->bodies,      scene->ignored_count,
                                     scene->ignored,    scene->group_count, scene->groups};
    return arrays;
}

bool abut_scene_tries(const abut_scene *scene, uint32_t a, uint32_t b) {
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
