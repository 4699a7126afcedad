/* Pairs that are tried one after the other, each on all threads, before the tasks of all others:
 * by surface distance maps, by layers, and by vertices of meshes against fields. Objects behind
 * them are for one user at a time, and start tasks themselves. */
#include "map/map.h"
#include "world/world.h"

enum { CONTACT_ROOM = 256, PATCH_ROOM = 16, MAP_KEEP = 8 };

const world_special *abuti_world_special(const abut_world *world, size_t pair) {
    const world_special *list = world->special.data;
    size_t begin = 0, end = world->special.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (list[middle].pair < pair)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < world->special.count && list[begin].pair == pair ? &list[begin] : NULL;
}

static void worsen(abut_reliability *reliability, abut_reliability by) {
    if (by.level > reliability->level)
        *reliability = by;
}

/* Room for contacts behind those that are there. */
static abut_status reserve(abut_world *world, uint64_t count) {
    abuti_vector *list = &world->special_contacts;
    return abuti_vector_reserve(world->context, list, list->count + (size_t)count,
                                sizeof(abut_contact));
}
static abut_contact *room(abut_world *world) {
    return (abut_contact *)world->special_contacts.data + world->special_contacts.count;
}
static uint64_t room_count(const abut_world *world) {
    return world->special_contacts.room - world->special_contacts.count;
}

/* ---- vertices ---- */

/* Of one of both, against the field of the other. */
static abut_status try_vertices(abut_world *world, const world_item *a, const world_item *b,
                                world_special *to) {
    const bool swapped = !(a->filter.traits & WORLD_HAS_FIELD); /* then b has the field */
    const world_item *with = swapped ? b : a, *mesh = swapped ? a : b;
    const abut_body body = {with->body.field, NULL, with->at.pose};
    abut_contacts found = {.count = CONTACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        if ((status = reserve(world, found.count)))
            return status;
        found.list = room(world);
        found.capacity = room_count(world);
        status = abut_contact_mesh(&body, mesh->asset->mesh, mesh->asset->topology, &mesh->at.pose,
                                   &world->contact, &found);
    }
    if (status)
        return status;
    for (uint64_t i = 0; i < found.count && swapped; i++)
        world_swap_contact(&found.list[i]);
    if (world->options.max_patch_contacts)
        found.count =
            abut_contact_reduce(found.list, found.count, world->options.max_patch_contacts,
                                world->options.patch_angle);
    world->special_contacts.count += (size_t)found.count;
    to->reliability = found.reliability;
    return ABUT_OK;
}

/* ---- maps ---- */

/* No place of an item is deeper in it than this. */
static double half_width(const world_item *item) {
    const vec3 size = v3_sub(item->local.hi, item->local.lo);
    return 0.5 * real_min(size.x, real_min(size.y, size.z));
}

/* Samples all over x, which is a unless it is the second, against y. */
static abut_status try_map(abut_world *world, const world_item *x, const world_item *y, bool second,
                           world_special *to) {
    abut_map *map = x->asset->map;
    const abut_pose back = pose_inverse(&x->at.pose);
    const abut_posed other = {y->bvh, pose_multiply(&back, &y->at.pose)};
    abut_map_query query = abut_map_query_default();
    abut_patch_options options = abut_patch_options_default();
    const uint32_t keep = world->options.max_patch_contacts;
    query.limit = real_max(world->options.margin, half_width(y)) * (1 + 1e-6) + 1e-300;
    options.margin = world->options.margin;
    options.max_contacts = keep < MAP_KEEP ? keep : MAP_KEEP;
    abut_status status = y->asset ? abuti_world_asset_sign(y->asset) : ABUT_OK;
    status = status ? status : abut_map_compute_distance(map, &other, 1, &query);
    if (status)
        return status;
    abut_patches found = {.count = PATCH_ROOM, .contact_count = CONTACT_ROOM};
    status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, &world->special_patches, (size_t)found.count,
                                      sizeof(abut_patch));
        status = status ? status : reserve(world, found.contact_count);
        if (status)
            return status;
        found.list = world->special_patches.data;
        found.capacity = world->special_patches.room;
        found.contacts = room(world);
        found.contact_capacity = room_count(world);
        status = abuti_map_contacts(map, &options, false, &found);
    }
    if (status)
        return status;
    for (uint64_t i = 0; i < found.contact_count; i++) {
        abut_contact *c = &found.contacts[i];
        c->point = contact_to_world(&x->at.motion, c->point);
        c->normal = m3_apply(&x->at.motion.turn, c->normal);
        if (second)
            world_swap_contact(c);
    }
    world->special_contacts.count += (size_t)found.contact_count;
    worsen(&to->reliability, found.reliability);
    worsen(&to->reliability, map->reliability);
    return ABUT_OK;
}

static abut_status try_maps(abut_world *world, const world_item *a, const world_item *b,
                            world_special *to) {
    abut_status status = ABUT_OK;
    to->reliability = abuti_contact_reliability(NULL, NULL);
    if (a->filter.traits & WORLD_HAS_MAP)
        status = try_map(world, a, b, false, to);
    if (!status && (b->filter.traits & WORLD_HAS_MAP))
        status = try_map(world, b, a, true, to);
    return status;
}

/* ---- layers ---- */

abut_status abuti_world_add_layer(abut_world *world, world_item *item) {
    abut_layers_options options = abut_layers_options_default();
    const abut_layers_item solid = {.mesh = item->asset->mesh, .pose = item->is.pose};
    options.device = world->options.device;
    abut_status status =
        world->layers ? ABUT_OK : abut_layers_create(world->context, &options, &world->layers);
    return status ? status : abut_layers_add(world->layers, &solid, &item->layer);
}

/* Where all are, and which shape they have. */
static abut_status move_layers(abut_world *world) {
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
    abut_layers_result result = {.count = PATCH_ROOM};
    const world_item *items = world_items(world);
    for (size_t i = 0; i < world->items.count; i++)
        if (items[i].used && items[i].layer != ABUT_NONE &&
            items[i].asset->resolution > query.resolution)
            query.resolution = items[i].asset->resolution;
    abut_status status = move_layers(world);
    if (status)
        return status;
    status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, &world->layer_pairs, (size_t)result.count,
                                      sizeof(abut_layers_pair));
        if (status)
            return status;
        result.pairs = world->layer_pairs.data;
        result.capacity = world->layer_pairs.room;
        status = abut_layers_find(world->layers, &query, &result);
    }
    world->layer_pairs.count = status ? 0 : (size_t)result.count;
    return status;
}

static const abut_layers_pair *layers_of(const abut_world *world, uint32_t a, uint32_t b) {
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

static abut_status try_layers(abut_world *world, const world_item *a, const world_item *b,
                              world_special *to) {
    const bool swapped = a->layer > b->layer;
    const abut_layers_pair *found =
        layers_of(world, swapped ? b->layer : a->layer, swapped ? a->layer : b->layer);
    abut_status status = reserve(world, 1);
    to->reliability = abuti_limited("The depth is that of rays along three axes.");
    if (status || !found || !(found->depth > 0))
        return status;
    vec3 normal = swapped ? contact_back(found->normal) : found->normal;
    if (!(v3_max_abs(normal) > 0)) /* images do not tell: from middle to middle */
        normal = v3_normalise(v3_sub(box_centre(a->at.box), box_centre(b->at.box)));
    if (!(v3_max_abs(normal) > 0))
        normal = v3(0, 0, 1);
    *room(world) = (abut_contact){.point = found->centre,
                                  .normal = normal,
                                  .depth = found->depth,
                                  .id = contact_id(0, ABUT_CONTACT_OVERLAP, 0, 0),
                                  .kind = ABUT_CONTACT_OVERLAP};
    world->special_contacts.count++;
    return ABUT_OK;
}

/* ---- all ---- */

typedef abut_status special_try(abut_world *world, const world_item *a, const world_item *b,
                                world_special *to);

/* Null: the pair is tried by the tasks. */
static special_try *way_of(const abut_world *world, const world_item *a, const world_item *b) {
    const abut_world_method method = abuti_world_method(world, a, b);
    return method == ABUT_WORLD_MAP                                             ? try_maps
           : method == ABUT_WORLD_LAYERS                                        ? try_layers
           : method == ABUT_WORLD_FIELD && abuti_world_by_vertices(world, a, b) ? try_vertices
                                                                                : NULL;
}

abut_status abuti_world_find_special(abut_world *world) {
    const abut_world_pair *pairs = world->pairs.data;
    const world_item *items = world_items(world);
    bool has_layers = false;
    abut_status status = ABUT_OK;
    world->special.count = world->special_contacts.count = 0;
    for (size_t i = 0; i < world->pairs.count && world->assets.count && !status; i++) {
        const world_item *a = &items[pairs[i].a], *b = &items[pairs[i].b];
        special_try *const try = abuti_world_kept(world, i) ? NULL : way_of(world, a, b);
        if (!try)
            continue;
        if (try == try_layers && !has_layers) {
            status = find_layers(world);
            has_layers = true;
        }
        abuti_set_fraction(0.5 * (double)i / (double)world->pairs.count);
        world_special to = {.pair = i, .first = world->special_contacts.count};
        if (!status)
            status = abuti_vector_reserve(world->context, &world->special, world->special.count + 1,
                                          sizeof to);
        status = status ? status : try(world, a, b, &to);
        if (status)
            break;
        to.count = world->special_contacts.count - to.first;
        ((world_special *)world->special.data)[world->special.count++] = to;
    }
    return status;
}
