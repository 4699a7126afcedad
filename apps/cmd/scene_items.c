/* Bodies of an assembly as items of a world. */
#include "apps/get.h"
#include "interfere.h"

#include <string.h>

bool method_named(const char *word, abut_world_method *method) {
    for (int i = ABUT_WORLD_AUTO; i <= ABUT_WORLD_LAYERS; i++)
        if (strcmp(word, abut_world_method_name((abut_world_method)i)) == 0) {
            *method = (abut_world_method)i;
            return true;
        }
    return false;
}

/* The radial fields of a posed character at the pose of its body. */
static void make_radial(const abut_scene_body *body, tool_item *item) {
    const uint32_t bone_count = get_character_info(body->character).bone_count;
    const uint32_t count = abut_mesh_vertex_count(body->mesh);
    const abut_pose *pose = &body->collider.pose, turn = {pose->rotation, {0, 0, 0}};
    item->bones = tool_array((size_t)bone_count + 1, sizeof *item->bones);
    item->positions = tool_array((size_t)count + 1, sizeof *item->positions);
    ensure(abut_radial_create(body->character, NULL, &item->radial));
    for (uint32_t i = 0; i < bone_count; i++)
        for (int column = 0; column < 4; column++) {
            const abut_character_matrix *m = &body->bones[i];
            abut_vec3 v = {m->m[0][column], m->m[1][column], m->m[2][column]};
            ensure(abut_pose_apply(column == 3 ? pose : &turn, v, &v));
            item->bones[i].m[0][column] = v.x;
            item->bones[i].m[1][column] = v.y;
            item->bones[i].m[2][column] = v.z;
        }
    for (uint32_t i = 0; i < count; i++)
        ensure(abut_pose_apply(pose, mesh_point(body->mesh, i), &item->positions[i]));
    ensure(abut_radial_set_positions(item->radial, item->bones, abut_array_host(item->positions)));
}

abut_status item_add(const tool_assembly *assembly, uint32_t i, abut_world_method method,
                     abut_world *world, tool_item *item) {
    const abut_scene_body *body = &assembly->bodies[i];
    const abut_collider_kind kind = body->collider.kind;
    abut_world_item it = {.size = sizeof(abut_world_item),
                          .collider = body->collider,
                          .motion =
                              kind == ABUT_COLLIDER_PLANE ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC,
                          .group = body->group,
                          .mask = body->mask,
                          .margin = body->margin,
                          .method = kind == ABUT_COLLIDER_MESH ? method : ABUT_WORLD_AUTO};
    if (body->character && (method == ABUT_WORLD_AUTO || method == ABUT_WORLD_RADIAL)) {
        make_radial(body, item);
        it.collider = abut_collider_make(ABUT_COLLIDER_CHARACTER, abut_pose_identity());
        it.collider.shape.character = item->radial; /* in world coordinates */
    }
    uint32_t id;
    abut_status status = abut_world_add(world, &it, &id);
    if (status) {
        abut_radial_destroy(item->radial);
        item->radial = NULL;
    }
    return status;
}
