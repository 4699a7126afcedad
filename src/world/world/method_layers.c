/* The method layers: closed meshes, drawn into depth layers of images along three axes. All items
 * are drawn at once, so that their contacts depend on each other. */
#include "world/world.h"

#include <abut/layers.h>
#include <math.h>

enum { PAIR_ROOM = 16 };

/* Rays must enter and leave a solid at definite points. */
static abut_status check_layers(const abut_world *world, const abut_mesh_report *r,
                                world_asset *asset) {
    (void)world;
    (void)asset;
    if (!r->has_opposite_boundary && !r->has_boundary)
        return ABUT_OK;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        r->has_opposite_boundary
            ? "abut_world_add: the method layers requires that all triangles of a mesh face the "
              "same way, but this one has flipped neighbours; orient it first, or use "
              "the method exact or map"
            : "abut_world_add: the method layers requires a closed mesh, but this one is open; "
              "close it, or use the method exact or map");
}

static abut_status add_layer(abut_world *world, world_item *item) {
    abut_layers_options options = abut_layers_options_default();
    const abut_layers_item solid = {.size = sizeof(abut_layers_item),
                                    .collider = abut_collider_from_mesh(item->asset->mesh,
                                                                        item->is.collider.pose)};
    options.device = world->options.device;
    abut_status status =
        world->layers ? ABUT_OK : abut_layers_create(world->context, &options, &world->layers);
    return status ? status : abut_layers_add(world->layers, &solid, &item->layer);
}

static void remove_layer(abut_world *world, world_item *item) {
    if (item->layer != ABUT_NONE)
        (void)abut_layers_remove(world->layers, item->layer);
    item->layer = ABUT_NONE;
}

static void close_layers(abut_world *world) {
    abut_layers_destroy(world->layers);
}

/* Sets the pose of an item in the layers, and its positions if they have changed. */
static abut_status update_layer(abut_world *world, world_item *item) {
    abut_status status =
        abut_layers_set_poses(world->layers, &item->layer, abut_array_host(&item->at.pose), 1);
    if (status || !item->layer_is_old)
        return status;
    const abut_mesh *mesh = item->asset->mesh;
    vec3 *positions = abuti_allocate(world->context, mesh->vertex_count, sizeof *positions);
    if (!positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < mesh->vertex_count; k++)
        positions[k] = v3_add(mesh->origin, mesh->positions[k]);
    status = abut_layers_set_positions(world->layers, item->layer, abut_array_host(positions));
    abuti_release(world->context, positions);
    item->layer_is_old = status != ABUT_OK;
    return status;
}

static abut_status find_layers(abut_world *world) {
    abut_layers_query query = abut_layers_query_default();
    abut_layers_result result = {.size = sizeof result, .pairs.count = PAIR_ROOM};
    world_item *items = world_items(world);
    abut_status status;
    for (size_t i = 0; i < world->items.count; i++) {
        if (!items[i].used || items[i].layer == ABUT_NONE)
            continue;
        if (items[i].asset->resolution > query.resolution)
            query.resolution = items[i].asset->resolution;
        if ((status = update_layer(world, &items[i])))
            return status;
    }
    do {
        status = abuti_vector_reserve(world->context, &world->layer_pairs,
                                      (size_t)result.pairs.count, sizeof(abut_layers_pair));
        if (status)
            return status;
        result.pairs.list = world->layer_pairs.data;
        result.pairs.capacity = world->layer_pairs.room;
        status = abut_layers_find(world->layers, &query, &result);
    } while (status == ABUT_ERROR_BUFFER);
    world->layer_pairs.count = status ? 0 : (size_t)result.pairs.count;
    return status;
}

static abut_status collide_layers(const world_call *call, abut_patches *to) {
    const bool swapped = call->a->layer > call->b->layer;
    const abut_layers_pair key = {.a = swapped ? call->b->layer : call->a->layer,
                                  .b = swapped ? call->a->layer : call->b->layer};
    const abut_layers_pair *found =
        world_find(&call->world->layer_pairs, &key, sizeof key, world_compare_pairs);
    to->reliability = abuti_limited("The depth is measured by rays along three axes.");
    to->contacts.count = 0;
    if (!found || !(found->depth > 0))
        return ABUT_OK;
    vec3 normal = swapped ? contact_negate(found->normal) : found->normal;
    if (!(v3_max_abs(normal) > 0)) /* undefined in the images: along the centres */
        normal = v3_normalise(v3_sub(box_centre(call->a->at.box), box_centre(call->b->at.box)));
    if (!(v3_max_abs(normal) > 0))
        normal = v3(0, 0, 1);
    to->contacts.list[to->contacts.count++] =
        (abut_contact){.point = found->centre,
                       .normal = normal,
                       .depth = found->depth,
                       .id = contact_id(0, ABUT_CONTACT_OVERLAP, 0, 0),
                       .kind = ABUT_CONTACT_OVERLAP};
    return ABUT_OK;
}

static abut_status guarantee_layers(const world_item *a, const world_item *b,
                                    abut_world_pair_info *info) {
    (void)a;
    (void)b;
    info->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
    info->error = HUGE_VAL;
    info->reason = "Complete: if no ray is inside both items, exact contact patches are computed. "
                   "The depth is measured along three axes.";
    return ABUT_OK;
}

const world_method abuti_world_layers = {.method = ABUT_WORLD_LAYERS,
                                         .is_serial = true,
                                         .is_completed = true,
                                         .uses_all_items = true,
                                         .room = 1,
                                         .create = check_layers,
                                         .add = add_layer,
                                         .remove = remove_layer,
                                         .close = close_layers,
                                         .prepare = find_layers,
                                         .collide = collide_layers,
                                         .guarantee = guarantee_layers};
