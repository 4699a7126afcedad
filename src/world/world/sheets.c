/* Cloth in a world: the world owns one cloth, whose sheets are items. The other items that sheets
 * collide with are its bodies.
 *
 * Bodies are added when the cloth is used: which items collide with a sheet depends on groups,
 * masks and ignored pairs. An item that collides with one sheet is a body for all of them.
 */
#include "world/world.h"

#include "cloth/state.h"
#include "geom/pose.h"

#define MARGIN 1.1 /* thicknesses: cloth keeps one from its contacts */

/* ---- sheets ---- */

abut_status abuti_world_create_cloth(abut_world *world) {
    if (world->cloth)
        return ABUT_OK;
    abut_cloth_options options = world->cloth_options;
    options.device = world->options.device;
    return abut_cloth_create(world->context, &options, &world->cloth);
}

/* A copy of a mesh at a pose, in the context of the world. */
static abut_status create_posed(abut_world *world, const abut_mesh *mesh, const abut_pose *place,
                                abut_mesh **posed) {
    const abuti_motion motion = abuti_motion_of(place);
    vec3 *positions = abuti_allocate(world->context, mesh->vertex_count, sizeof *positions);
    if (!positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        positions[i] = abuti_motion_apply(&motion, abuti_mesh_position(mesh, i));
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, mesh->vertex_count, mesh->indices, mesh->triangle_count);
    abut_status status = abut_mesh_create(world->context, &input, posed);
    abuti_release(world->context, positions);
    return status;
}

abut_status abuti_world_add_sheet(abut_world *world, const abut_world_item *given, world_item *item,
                                  abut_mesh **posed) {
    const abut_mesh *mesh = given->collider.shape.mesh.mesh;
    abut_cloth_material material = abut_cloth_material_default();
    if (given->collider.kind != ABUT_COLLIDER_MESH || !mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_add: an item with a cloth material must be a mesh "
                          "(ABUT_COLLIDER_MESH)");
    abut_status status = abuti_pose_check("abut_world_add", "the pose", &given->collider.pose);
    if (!status)
        status = abuti_world_create_cloth(world);
    if (!status)
        status = abuti_world_track(world, item);
    if (!status)
        status = create_posed(world, mesh, &given->collider.pose, posed);
    if (!status)
        status = abut_cloth_add_sheet(world->cloth, *posed, given->cloth, &item->track->sheet);
    if (status)
        return status;
    world->has_old_bodies = world->has_old_sheets = true; /* cloth rounds positions to floats */
    status = abut_cloth_get_material(world->cloth, item->track->sheet, &material);
    item->is.margin = given->margin + MARGIN * material.thickness;
    return status;
}

void abuti_world_remove_from_cloth(abut_world *world, const world_item *item) {
    if (item->track->sheet != ABUT_NONE)
        (void)abut_cloth_remove_sheet(world->cloth, item->track->sheet);
    if (item->track->body != ABUT_NONE)
        (void)abut_cloth_remove_body(world->cloth, item->track->body);
}

/* Gives an item the positions of its sheet: those of a saved state, or the current ones. */
static abut_status update_sheet(abut_world *world, world_item *item,
                                const cloth_saved_state *state) {
    const uint32_t sheet = item->track->sheet, count = item->asset->mesh->vertex_count;
    vec3 *positions = abuti_allocate(world->context, count, sizeof *positions);
    abut_status status = positions ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status && state)
        abuti_cloth_state_positions(world->cloth, state, sheet, positions);
    else if (!status)
        status = abut_cloth_get_positions(world->cloth, sheet, abut_array_host(positions));
    if (!status)
        status =
            abuti_world_deform(state ? "abut_world_restore" : "abut_world_step", item, positions);
    if (!status)
        abuti_world_new_state(world, item);
    abuti_release(world->context, positions);
    return status;
}

static abut_status update_sheets(abut_world *world, const cloth_saved_state *state) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < world->items.count && !status; i++) {
        world_item *item = &world_items(world)[i];
        if (item->used && world_is_sheet(item))
            status = update_sheet(world, item, state);
    }
    abuti_world_changed(world, false);
    return status;
}

abut_status abuti_world_fetch_sheets(abut_world *world) {
    if (!world->has_old_sheets)
        return ABUT_OK;
    abut_status status = update_sheets(world, NULL);
    world->has_old_sheets = status != ABUT_OK;
    return status;
}

abut_status abuti_world_preview_sheets(abut_world *world, const cloth_saved_state *state) {
    abut_status status = update_sheets(world, state);
    world->has_old_sheets = status != ABUT_OK;
    return status;
}

/* ---- bodies ---- */

static bool is_body(const abut_world *world, uint32_t id) {
    const world_item *item = &world_items(world)[id];
    if (!item->used || world_is_sheet(item) || (item->filter.traits & WORLD_IS_SENSOR) ||
        !abuti_world_has_surface(item))
        return false;
    for (uint32_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].used && world_is_sheet(&world_items(world)[i]) &&
            abuti_world_should_test(world, id, i))
            return true;
    return false;
}

static abut_status add_body(abut_world *world, world_item *item) {
    abut_mesh *mesh = NULL;
    abut_cloth_body_options options = abut_cloth_body_options_default();
    abut_status status = abuti_world_track(world, item);
    if (!status)
        status = abuti_world_create_surface(world, item, &mesh);
    if (!status && !world_deforms(item))
        options.pose = item->track->has_start ? item->track->start.pose : item->at.pose;
    if (!status)
        status = abut_cloth_add_body(world->cloth, mesh, &options, &item->track->body);
    abut_mesh_destroy(mesh);
    return status;
}

abut_status abuti_world_update_bodies(abut_world *world) {
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; world->has_old_bodies && i < world->items.count && !status; i++) {
        world_item *item = &world_items(world)[i];
        const bool wanted = is_body(world, i),
                   exists = item->track && item->track->body != ABUT_NONE;
        if (wanted && !exists)
            status = add_body(world, item);
        else if (!wanted && exists) {
            status = abut_cloth_remove_body(world->cloth, item->track->body);
            item->track->body = ABUT_NONE;
        }
    }
    world->has_old_bodies = world->has_old_bodies && status;
    return status;
}

static abut_status move_body(abut_world *world, const world_item *item) {
    const world_track *track = item->track;
    return world_deforms(item) ? abut_cloth_set_body_positions(world->cloth, track->body,
                                                               abut_array_host(track->to))
                               : abut_cloth_set_body_pose(world->cloth, track->body, item->at.pose);
}

abut_status abuti_world_move_cloth(abut_world *world, double seconds, abut_cloth_report *report) {
    abut_status status = abuti_world_update_bodies(world);
    for (size_t i = 0; i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (item->used && item->track && item->track->body != ABUT_NONE)
            status = move_body(world, item);
    }
    if (!status)
        status = abut_cloth_step(world->cloth, seconds, report);
    world->has_old_sheets |= !status;
    return status;
}

abut_status abut_world_get_cloth(abut_world *world, uint32_t id, abut_cloth **cloth,
                                 uint32_t *index) {
    if (!world || !cloth || !index)
        return abuti_null(__func__, !world ? "world" : !cloth ? "cloth" : "index");
    abut_context *before;
    abut_status status = abuti_world_enter(__func__, world, &before);
    if (status)
        return status;
    status = abuti_world_check_id(__func__, world, id);
    if (!status && !world->sheets)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the world has no cloth", __func__);
    if (!status)
        status = world->backend->download_poses(world);
    if (!status)
        status = abuti_world_update_bodies(world);
    abuti_world_leave(world, before);
    if (status)
        return status;
    const world_track *track = world_items(world)[abut_world_index(id)].track;
    const uint32_t found = !track                      ? ABUT_NONE
                           : track->sheet != ABUT_NONE ? track->sheet
                                                       : track->body;
    if (found == ABUT_NONE)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: cloth does not collide with item %u", __func__,
                          id);
    *cloth = world->cloth;
    *index = found;
    return ABUT_OK;
}
