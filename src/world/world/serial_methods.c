/* Pairs that are tested one after the other, each on all threads, before the parallel tasks of all
 * other pairs: by surface distance maps, by layers, and by vertices of meshes against fields. The
 * objects that compute them are not thread-safe, and start tasks themselves.
 */
#include "map/map.h"
#include "world/world.h"

enum { CONTACT_ROOM = 256, PATCH_ROOM = 16, MAP_CONTACTS_MAX = 8 };

const world_serial_result *abuti_world_serial_result(const abut_world *world, size_t pair) {
    const world_serial_result *list = world->serial_results.data;
    size_t begin = 0, end = world->serial_results.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (list[middle].pair < pair)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < world->serial_results.count && list[begin].pair == pair ? &list[begin] : NULL;
}

static void merge_reliability(abut_reliability *reliability, abut_reliability by) {
    if (by.level > reliability->level)
        *reliability = by;
}

/* Reserves memory for contacts after the existing ones. */
static abut_status reserve_contacts(abut_world *world, uint64_t count) {
    abuti_vector *list = &world->serial_contacts;
    return abuti_vector_reserve(world->context, list, list->count + (size_t)count,
                                sizeof(abut_contact));
}
static abut_contact *contact_end(abut_world *world) {
    return (abut_contact *)world->serial_contacts.data + world->serial_contacts.count;
}
static uint64_t contact_capacity(const abut_world *world) {
    return world->serial_contacts.room - world->serial_contacts.count;
}

/* ---- vertices ---- */

/* The vertices of one item against the field of the other. */
static abut_status collide_vertices(abut_world *world, const world_item *a, const world_item *b,
                                    world_serial_result *to) {
    const bool swapped = !(a->filter.traits & WORLD_HAS_FIELD); /* b has the field then */
    const world_item *with = swapped ? b : a, *mesh = swapped ? a : b;
    const abut_collider body = abut_collider_from_field(with->body.field, NULL, with->at.pose);
    const abut_contact_options options = world_contact_options(world, a, b);
    abut_contacts found = {.size = sizeof found, .count = CONTACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        if ((status = reserve_contacts(world, found.count)))
            return status;
        found.list = contact_end(world);
        found.capacity = contact_capacity(world);
        status = abut_contact_mesh(&body, mesh->asset->mesh, mesh->asset->topology, &mesh->at.pose,
                                   &options, &found);
    }
    if (status)
        return status;
    for (uint64_t i = 0; i < found.count && swapped; i++)
        contact_swap(&found.list[i]);
    if (world->options.max_patch_contacts)
        found.count =
            abut_contact_reduce(found.list, found.count, world->options.max_patch_contacts,
                                world->options.patch_angle);
    world->serial_contacts.count += (size_t)found.count;
    to->reliability = found.reliability;
    return ABUT_OK;
}

/* ---- maps ---- */

/* Upper bound of the depth of points in an item. */
static double half_width(const world_item *item) {
    const vec3 size = v3_sub(item->local.hi, item->local.lo);
    return 0.5 * real_min(size.x, real_min(size.y, size.z));
}

/* Samples all over x against y; `second`: x is b. */
static abut_status collide_map(abut_world *world, const world_item *x, const world_item *y,
                               bool second, world_serial_result *to) {
    abut_map *map = x->asset->map;
    const abut_pose back = pose_inverse(&x->at.pose);
    const abut_collider other = abut_collider_from_bvh(y->bvh, pose_multiply(&back, &y->at.pose));
    abut_map_query query = abut_map_query_default();
    abut_patch_options options = abut_patch_options_default();
    const uint32_t keep = world->options.max_patch_contacts;
    const double margin = world_pair_margin(x, y);
    query.limit = real_max(margin, half_width(y)) * (1 + 1e-6) + 1e-300;
    options.margin = margin;
    options.max_contacts = keep < MAP_CONTACTS_MAX ? keep : MAP_CONTACTS_MAX;
    abut_status status = y->asset ? abuti_world_asset_sign(y->asset) : ABUT_OK;
    status = status ? status : abut_map_compute_distance(map, &other, 1, &query);
    if (status)
        return status;
    abut_patches found = {.size = sizeof found,
                          .patches.count = PATCH_ROOM,
                          .contacts.count = CONTACT_ROOM};
    status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, &world->serial_patches,
                                      (size_t)found.patches.count, sizeof(abut_patch));
        status = status ? status : reserve_contacts(world, found.contacts.count);
        if (status)
            return status;
        found.patches.list = world->serial_patches.data;
        found.patches.capacity = world->serial_patches.room;
        found.contacts.list = contact_end(world);
        found.contacts.capacity = contact_capacity(world);
        status = abuti_map_contacts(map, &options, false, &found);
    }
    if (status)
        return status;
    for (uint64_t i = 0; i < found.contacts.count; i++) {
        abut_contact *c = &found.contacts.list[i];
        c->point = contact_to_world(&x->at.motion, c->point);
        c->normal = m3_apply(&x->at.motion.turn, c->normal);
        if (second)
            contact_swap(c);
    }
    world->serial_contacts.count += (size_t)found.contacts.count;
    merge_reliability(&to->reliability, found.reliability);
    merge_reliability(&to->reliability, map->reliability);
    return ABUT_OK;
}

static abut_status collide_maps(abut_world *world, const world_item *a, const world_item *b,
                                world_serial_result *to) {
    abut_status status = ABUT_OK;
    to->reliability = abuti_contact_reliability(NULL, NULL);
    if (a->filter.traits & WORLD_HAS_MAP)
        status = collide_map(world, a, b, false, to);
    if (!status && (b->filter.traits & WORLD_HAS_MAP))
        status = collide_map(world, b, a, true, to);
    return status;
}

/* ---- layers ---- */

abut_status abuti_world_add_layer(abut_world *world, world_item *item) {
    abut_layers_options options = abut_layers_options_default();
    const abut_layers_item solid = {.size = sizeof(abut_layers_item),
                                    .collider = abut_collider_from_mesh(item->asset->mesh,
                                                                        item->is.collider.pose)};
    options.device = world->options.device;
    abut_status status =
        world->layers ? ABUT_OK : abut_layers_create(world->context, &options, &world->layers);
    return status ? status : abut_layers_add(world->layers, &solid, &item->layer);
}

/* Sets poses and positions of all items in the layers. */
static abut_status update_layers(abut_world *world) {
    world_item *items = world_items(world);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < world->items.count && !status; i++) {
        world_item *item = &items[i];
        if (!item->used || item->layer == ABUT_NONE)
            continue;
        status =
            abut_layers_set_poses(world->layers, &item->layer, abut_array_host(&item->at.pose), 1);
        if (status || !item->layer_is_old)
            continue;
        const abut_mesh *mesh = item->asset->mesh;
        vec3 *positions = abuti_allocate(world->context, mesh->vertex_count, sizeof *positions);
        for (uint32_t k = 0; positions && k < mesh->vertex_count; k++)
            positions[k] = v3_add(mesh->origin, mesh->positions[k]);
        status = positions ? abut_layers_set_positions(world->layers, item->layer,
                                                       abut_array_host(positions))
                           : ABUT_ERROR_MEMORY;
        abuti_release(world->context, positions);
        item->layer_is_old = status != ABUT_OK;
    }
    return status;
}

static abut_status find_layers(abut_world *world) {
    abut_layers_query query = abut_layers_query_default();
    abut_layers_result result = {.size = sizeof result, .pairs.count = PATCH_ROOM};
    const world_item *items = world_items(world);
    for (size_t i = 0; i < world->items.count; i++)
        if (items[i].used && items[i].layer != ABUT_NONE &&
            items[i].asset->resolution > query.resolution)
            query.resolution = items[i].asset->resolution;
    abut_status status = update_layers(world);
    if (status)
        return status;
    status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, &world->layer_pairs,
                                      (size_t)result.pairs.count, sizeof(abut_layers_pair));
        if (status)
            return status;
        result.pairs.list = world->layer_pairs.data;
        result.pairs.capacity = world->layer_pairs.room;
        status = abut_layers_find(world->layers, &query, &result);
    }
    world->layer_pairs.count = status ? 0 : (size_t)result.pairs.count;
    return status;
}

static const abut_layers_pair *find_layers_pair(const abut_world *world, uint32_t a, uint32_t b) {
    const abut_layers_pair *list = world->layer_pairs.data;
    size_t begin = 0, end = world->layer_pairs.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (list[middle].a < a || (list[middle].a == a && list[middle].b < b))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < world->layer_pairs.count && list[begin].a == a && list[begin].b == b
               ? &list[begin]
               : NULL;
}

static abut_status collide_layers(abut_world *world, const world_item *a, const world_item *b,
                                  world_serial_result *to) {
    const bool swapped = a->layer > b->layer;
    const abut_layers_pair *found =
        find_layers_pair(world, swapped ? b->layer : a->layer, swapped ? a->layer : b->layer);
    abut_status status = reserve_contacts(world, 1);
    to->reliability = abuti_limited("The depth is measured by rays along three axes.");
    if (status || !found || !(found->depth > 0))
        return status;
    vec3 normal = swapped ? contact_negate(found->normal) : found->normal;
    if (!(v3_max_abs(normal) > 0)) /* undefined in the images: along the centres */
        normal = v3_normalise(v3_sub(box_centre(a->at.box), box_centre(b->at.box)));
    if (!(v3_max_abs(normal) > 0))
        normal = v3(0, 0, 1);
    *contact_end(world) = (abut_contact){.point = found->centre,
                                         .normal = normal,
                                         .depth = found->depth,
                                         .id = contact_id(0, ABUT_CONTACT_OVERLAP, 0, 0),
                                         .kind = ABUT_CONTACT_OVERLAP};
    world->serial_contacts.count++;
    return ABUT_OK;
}

/* ---- all methods ---- */

typedef abut_status serial_collider(abut_world *world, const world_item *a, const world_item *b,
                                    world_serial_result *to);

/* Null: the parallel tasks test the pair. */
static serial_collider *choose_collider(const abut_world *world, const world_item *a,
                                        const world_item *b) {
    const abut_world_method method = abuti_world_method(world, a, b);
    return method == ABUT_WORLD_MAP                                             ? collide_maps
           : method == ABUT_WORLD_LAYERS                                        ? collide_layers
           : method == ABUT_WORLD_FIELD && abuti_world_by_vertices(world, a, b) ? collide_vertices
                                                                                : NULL;
}

abut_status abuti_world_find_serial(abut_world *world) {
    const abut_world_pair *pairs = world->pairs.data;
    const world_item *items = world_items(world);
    bool has_layers = false;
    abut_status status = ABUT_OK;
    world->serial_results.count = world->serial_contacts.count = 0;
    for (size_t i = 0; i < world->pairs.count && world->assets.count && !status; i++) {
        const world_item *a = &items[pairs[i].a], *b = &items[pairs[i].b];
        serial_collider *const try =
            abuti_world_valid_record(world, i) ? NULL : choose_collider(world, a, b);
        if (!try)
            continue;
        if (try == collide_layers && !has_layers) {
            status = find_layers(world);
            has_layers = true;
        }
        abuti_set_fraction(0.5 * (double)i / (double)world->pairs.count);
        world_serial_result to = {.pair = i, .first = world->serial_contacts.count};
        if (!status)
            status = abuti_vector_reserve(world->context, &world->serial_results,
                                          world->serial_results.count + 1, sizeof to);
        status = status ? status : try(world, a, b, &to);
        if (status)
            break;
        to.count = world->serial_contacts.count - to.first;
        ((world_serial_result *)world->serial_results.data)[world->serial_results.count++] = to;
    }
    return status;
}
