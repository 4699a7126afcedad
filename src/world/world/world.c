/* Items of a world. They are validated when they are added or moved, so that later calls can only
 * run out of memory. */
#include "world/world.h"

#include "collider/collider.h"

#include "device/array.h"
#include "pair/pair.h"

#include <inttypes.h>
#include <math.h>

enum { MOVES_PER_TASK = 256 };

/* ---- create ---- */

static abut_status check_options(const abut_world_options *o) {
    abut_status status = abuti_check_length("abut_world_create", "options->margin", o->margin);
    if (!status)
        status = abuti_check_range("abut_world_create", "options->patch_angle", o->patch_angle, 0,
                                   3, "radians");
    if (status)
        return status;
    if ((uint32_t)o->method > ABUT_WORLD_FIELD)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_create: options->method is %u; it must be ABUT_WORLD_AUTO, "
                          "EXACT or FIELD, because the other methods are for items",
                          (uint32_t)o->method);
    if (o->device && o->method == ABUT_WORLD_EXACT)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_create: exact contacts are computed on the CPU; do not set "
                          "both options->device and the method exact");
    return ABUT_OK;
}

abut_status abut_world_create(abut_context *context, const abut_world_options *options,
                              abut_world **world) {
    abut_world_options ours = abut_world_options_default();
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_world_create: options");
    if (status || (status = check_options(&ours)))
        return status;
    abut_cloth_options cloth = abut_cloth_options_default();
    status =
        abuti_options_read(&cloth, sizeof cloth, ours.cloth, "abut_world_create: options->cloth");
    if (status)
        return status;
    const bool has_cloth = ours.cloth != NULL;
    ours.cloth = NULL;
    ours.pair_limit = ours.pair_limit ? ours.pair_limit : (uint64_t)1 << 24;
    context = abuti_context_of(context);
    abut_world *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->options = ours;
    made->cloth_options = cloth;
    made->contact = abut_contact_options_default();
    made->contact.skip_edges = ours.skip_edges;
    made->contact.keep_backfacing = ours.keep_backfacing;
    made->first_free = made->last_free = ABUT_NONE;
    made->backend = ours.device ? &abuti_world_on_device : &abuti_world_on_cpu;
    if (made->backend->create)
        status = made->backend->create(made);
    if (!status && has_cloth) /* also validates its options */
        status = abuti_world_create_cloth(made);
    if (status) {
        abut_world_destroy(made);
        return status;
    }
    *world = made;
    return ABUT_OK;
}

/* Adds references to the objects that a body or hull refers to. A mesh is referenced by its asset,
 * a character by its method. */
static void retain_shape(const abut_collider *c) {
    abuti_bvh_retain(c->kind == ABUT_COLLIDER_BODY   ? c->shape.body.bvh
                     : c->kind == ABUT_COLLIDER_HULL ? c->shape.hull
                                                     : NULL);
    if (c->kind == ABUT_COLLIDER_BODY) {
        abuti_field_retain(c->shape.body.field);
        abuti_samples_retain(c->shape.body.samples);
    }
}

static void release_shape(const abut_collider *c) {
    if (c->kind == ABUT_COLLIDER_BODY) {
        abut_bvh_destroy((abut_bvh *)(uintptr_t)c->shape.body.bvh);
        abut_field_destroy((abut_field *)(uintptr_t)c->shape.body.field);
        abut_samples_destroy((abut_samples *)(uintptr_t)c->shape.body.samples);
    } else if (c->kind == ABUT_COLLIDER_HULL) {
        abut_bvh_destroy((abut_bvh *)(uintptr_t)c->shape.hull);
    }
}

/* Releases all data of an item. */
static void release_item(abut_world *world, world_item *item) {
    if (item->used && !item->asset)
        release_shape(&item->is.collider);
    abuti_world_destroy_track(world, item);
    abut_bvh_destroy(item->core);
    abut_topology_destroy(item->topology);
    if (item->used && item->method && item->method->remove)
        item->method->remove(world, item);
    abuti_world_asset_release(world, item->asset);
    item->core = NULL;
    item->topology = NULL;
    item->asset = NULL;
}

void abut_world_destroy(abut_world *world) {
    if (!world)
        return;
    abut_context *context = world->context;
    if (world->backend->destroy)
        world->backend->destroy(world);
    for (size_t i = 0; i < world->items.count; i++)
        release_item(world, &world_items(world)[i]);
    if (world->layers)
        abuti_world_layers.close(world);
    abut_cloth_destroy(world->cloth);
    abuti_world_destroy_queries(world);
    ABUTI_RELEASE(context, world->items.data, world->places.data, world->keys.data,
                  world->spare.data, world->tree.entries.data, world->tree.nodes.data,
                  world->pairs.data, world->ignored.data, world->contacts.data, world->touches.data,
                  world->pair_records.data, world->reported.data, world->sweeps.data,
                  world->sweep_pairs.data, world->swept.data, world->assets.data,
                  world->serial_results.data, world->serial_contacts.data,
                  world->serial_patches.data, world->layer_pairs.data, world->hints.data,
                  world->members.data, world->starts.data, world->ends.data, world->impacts.data,
                  world->self_impacts.data, world->self_contacts.data, world->step_contacts.data,
                  world->step_pairs.data);
    const world_pair_set sets[3] = {world->asleep, world->divided[0], world->divided[1]};
    for (int i = 0; i < 3; i++)
        ABUTI_RELEASE(context, sets[i].contacts.data, sets[i].touches.data,
                      sets[i].pair_records.data, sets[i].reported.data);
    for (size_t i = 0; i < WORLD_CHUNKS; i++) {
        const world_results *results = &world->results[i];
        ABUTI_RELEASE(context, world->pair_chunks[i].list.data, results->contacts.data,
                      results->touches.data, results->pair_records.data, results->patches.data);
    }
    abuti_release(context, world);
    abut_context_destroy(context);
}

abut_status abuti_world_check_idle(const char *function, const abut_world *world) {
    return world->is_in_call
               ? abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: another call of this world is in progress; a callback must not "
                            "call the world that calls it",
                            function)
               : ABUT_OK;
}

abut_status abuti_world_enter(const char *function, abut_world *world, abut_context **before) {
    abut_status status = abuti_world_check_idle(function, world);
    if (status)
        return status;
    world->is_in_call = true;
    *before = abuti_context_enter(world->context);
    return ABUT_OK;
}

void abuti_world_leave(abut_world *world, abut_context *before) {
    abuti_context_leave(before);
    world->is_in_call = false;
}

/* ---- places ---- */

static box3 box_of_body(const abuti_field_body *body, const abut_bvh *bvh) {
    box3 box = bvh ? bvh->mesh->bounds : box_empty();
    if (body->field) {
        const abut_grid *g = &body->field->grid;
        vec3 last = v3(g->count[0] - 1, g->count[1] - 1, g->count[2] - 1);
        box = box_grow(box_grow(box, g->origin), v3_along(g->origin, g->cell, last));
    }
    if (body->samples)
        box = box_join(box, body->samples->bounds);
    /* Without both, the box is a point. */
    return box.lo.x <= box.hi.x ? box : (box3){{0, 0, 0}, {0, 0, 0}};
}

abut_status abuti_world_place(const char *function, const world_item *item, const abut_pose *there,
                              world_place *to) {
    abut_status status = abuti_contact_pose(function, "a pose", there, &to->motion);
    to->pose = *there;
    if (status)
        return status;
    if (item->method->place)
        return item->method->place(function, item, to);
    if (item->bvh && (status = abuti_pair_check_pose(function, "a body", item->bvh, there)))
        return status;
    const abut_collider collider = abuti_world_collider(item, there);
    status = abuti_contact_place(function, &collider, &to->motion, &to->primitive);
    if (!status && item->kind != ABUT_COLLIDER_PLANE)
        to->box = world_box(item->local, &to->motion, item->margin);
    return status;
}

/* Whether an item already is at a pose, bit for bit, with the shape that it had there. Characters
 * do not count updates of their radial fields, so that they never are. */
static bool is_at_rest(const world_item *item, const abut_pose *there) {
    return item->kind != ABUT_COLLIDER_CHARACTER && !world_is_updated(item) &&
           memcmp(&item->at.pose, there, sizeof *there) == 0;
}

/* ---- add and remove ---- */

void abuti_world_new_state(abut_world *world, world_item *item) {
    abuti_world_wake(world, item);
    item->state = ++world->changes;
    item->field_updates = item->body.field ? item->body.field->updates : 0;
}

bool abuti_world_set_place(abut_world *world, world_item *item, const world_place *to) {
    if (is_at_rest(item, &to->pose))
        return false;
    item->at = *to;
    abuti_world_new_state(world, item);
    return true;
}

void abuti_world_changed(abut_world *world, bool items) {
    world->has_pairs = world->has_contacts = false;
    world->tree.is_current = world->queries.is_listed = false;
    items |= world->has_woken;
    world->has_woken = false;
    if (items) {
        world->has_last_pairs = false;
        world->has_old_bodies = true;
        world->tree.searches = 0;
    }
    if (world->backend->changed)
        world->backend->changed(world, items);
}

abut_collider abuti_world_collider(const world_item *item, const abut_pose *at) {
    abut_collider collider = item->is.collider;
    collider.pose = *at;
    return collider;
}

static abut_status check_method(const abut_world_item *item) {
    const abut_world_method m = item->method;
    const bool is_body = item->collider.kind == ABUT_COLLIDER_BODY;
    const bool can = m == ABUT_WORLD_AUTO || item->collider.kind == ABUT_COLLIDER_MESH ||
                     (item->collider.kind == ABUT_COLLIDER_CHARACTER ? m == ABUT_WORLD_RADIAL
                      : m == ABUT_WORLD_EXACT ? !is_body || item->collider.shape.body.bvh
                      : m == ABUT_WORLD_FIELD ? is_body && (item->collider.shape.body.field ||
                                                            item->collider.shape.body.samples)
                                              : false);
    if ((uint32_t)m > ABUT_WORLD_LAYERS)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_add: item->method is %u; it must be a value of "
                          "abut_world_method",
                          (uint32_t)m);
    if (!can)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_world_add: a %s does not support the method %s: bodies need a BVH for "
            "exact, and a field or samples for field; maps and layers are made of "
            "meshes",
            abut_collider_kind_name(item->collider.kind), abut_world_method_name(m));
    return ABUT_OK;
}

static abut_status check_item(const abut_world_item *item) {
    static const char function[] = "abut_world_add";
    if ((uint32_t)item->motion > ABUT_WORLD_STATIC)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: item->motion is %u; it must be from 0 to %d (abut_world_motion)",
                          function, (uint32_t)item->motion, ABUT_WORLD_STATIC);
    abut_status status = check_method(item);
    if (!status)
        status = abuti_check_length(function, "item->margin", item->margin);
    if (status)
        return status;
    if (item->collider.kind == ABUT_COLLIDER_BODY && !item->collider.shape.body.field &&
        !item->collider.shape.body.samples && !item->collider.shape.body.bvh)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the body has neither a BVH nor a field nor samples; set at least one", function);
    if (item->collider.kind == ABUT_COLLIDER_BODY && item->collider.shape.body.bvh)
        return abuti_bvh_check(function, item->collider.shape.body.bvh, item, "item");
    if (item->collider.kind == ABUT_COLLIDER_HULL ||
        item->collider.kind == ABUT_COLLIDER_CYLINDER) {
        /* Hulls must be convex, cylinders need an axis. */
        abut_collider primitive = item->collider;
        double depth;
        vec3 normal;
        primitive.pose = abut_pose_identity();
        return abuti_world_point_in_primitive(v3(0, 0, 0), &primitive, 0, &depth, &normal);
    }
    if (item->collider.kind == ABUT_COLLIDER_CHARACTER && !item->collider.shape.character)
        return abuti_null(function, "item->collider.shape.character");
    return ABUT_OK;
}

/* Updates the counts of sensors, characters and sheets; `by` is 1 or -1. */
static void count_item(abut_world *world, const world_item *item, uint32_t by) {
    const uint32_t traits = item->filter.traits & (WORLD_IS_SENSOR | WORLD_IS_DYNAMIC);
    world->resting_sensors += traits == WORLD_IS_SENSOR ? by : 0;
    world->characters += item->kind == ABUT_COLLIDER_CHARACTER ? by : 0;
    world->sheets += world_is_sheet(item) ? by : 0;
}

/* Fills a validated item, in the context of the world. A mesh becomes the body that is made from
 * it. */
static abut_status fill_item(abut_world *world, const abut_world_item *item, world_asset *mine,
                             world_item *made) {
    abut_collider *c = &made->is.collider;
    abut_mesh *posed = NULL;
    abut_status status = ABUT_OK;
    made->used = true;
    made->is = *item;
    made->is.cloth = NULL;
    retain_shape(c);
    if (item->cloth && !(status = abuti_world_add_sheet(world, item, made, &posed))) {
        *c = abut_collider_from_mesh(posed, abut_pose_identity());
        c->shape.mesh.resolution = item->collider.shape.mesh.resolution;
        c->shape.mesh.deforms = true;
        mine = NULL;
    }
    made->margin = world->options.margin + 2 * made->is.margin;
    if (!status)
        status =
            abuti_check_length("abut_world_add", "the margin of the world plus twice item->margin",
                               made->margin);
    if (!status && c->kind == ABUT_COLLIDER_MESH)
        status = abuti_world_asset_acquire(world, &made->is, posed != NULL, mine, &made->asset);
    abut_mesh_destroy(posed);
    if (!status && made->asset) {
        c->kind = ABUT_COLLIDER_BODY;
        c->shape.body.field = made->asset->field;
        c->shape.body.samples = made->asset->samples;
        c->shape.body.bvh = made->asset->bvh;
    }
    if (!status) {
        made->kind = c->kind;
        made->method =
            abuti_world_method_of_items(made->asset ? made->asset->choice.method
                                        : c->kind == ABUT_COLLIDER_CHARACTER ? ABUT_WORLD_RADIAL
                                                                             : ABUT_WORLD_EXACT);
        made->filter = abuti_world_filter(world, made);
        if (c->kind == ABUT_COLLIDER_BODY) {
            made->body.field = c->shape.body.field;
            made->body.samples = c->shape.body.samples;
            made->bvh = c->shape.body.bvh;
        } else if (c->kind == ABUT_COLLIDER_HULL) {
            made->bvh = c->shape.hull;
        }
        made->work = made->bvh            ? made->bvh->triangle_count
                     : made->body.samples ? made->body.samples->view.count
                                          : 1;
        made->local = c->kind == ABUT_COLLIDER_BODY ? box_of_body(&made->body, made->bvh)
                                                    : abuti_collider_bounds(c);
    }
    if (!status && c->kind == ABUT_COLLIDER_BOX && item->is_sensor)
        status = abuti_world_core(world->context, made);
    if (!status && made->method->add)
        status = made->method->add(world, made);
    if (!status)
        status = abuti_world_place("abut_world_add", made, &made->is.collider.pose, &made->at);
    if (status)
        release_item(world, made);
    return status;
}

/* Creates an item, which had the asset `mine`; on failure nothing remains of it. */
static abut_status make_item(const char *function, abut_world *world, const abut_world_item *item,
                             world_asset *mine, world_item *made) {
    abut_context *before;
    memset(made, 0, sizeof *made);
    made->layer = ABUT_NONE;
    abut_status status = abuti_world_enter(function, world, &before);
    if (status)
        return status;
    abut_world_item ours = abut_world_item_default();
    status = abuti_options_read(&ours, sizeof ours, item, function);
    if (!status)
        status = abuti_collider_read(function, "item->collider", &ours.collider, &ours.collider);
    if (!status)
        status = check_item(&ours);
    if (!status)
        status = world->backend->download_poses(world);
    if (!status)
        status = fill_item(world, &ours, mine, made);
    abuti_world_leave(world, before);
    return status;
}

/* Removes the first free index from the list, and returns the id of its next item. */
static uint32_t take_free_index(abut_world *world) {
    const world_item *item = &world_items(world)[world->first_free];
    world->first_free = item->next;
    if (world->first_free == ABUT_NONE)
        world->last_free = ABUT_NONE;
    return item->id;
}

void abuti_world_free_index(abut_world *world, uint32_t index) {
    world_item *items = world_items(world);
    items[index].next = ABUT_NONE;
    if (world->last_free == ABUT_NONE)
        world->first_free = index;
    else
        items[world->last_free].next = index;
    world->last_free = index;
}

abut_status abut_world_add(abut_world *world, const abut_world_item *item, uint32_t *id) {
    world_item made;
    if (!world || !item || !id)
        return abuti_null(__func__, !world ? "world" : !item ? "item" : "id");
    abut_status status = make_item("abut_world_add", world, item, NULL, &made);
    if (status)
        return status;
    const uint32_t at =
        world->first_free != ABUT_NONE ? world->first_free : (uint32_t)world->items.count;
    made.id = at;
    if (at >= ABUT_WORLD_ITEMS_MAX)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_world_add: the world has %" PRIu32 " items, which is the limit",
                            ABUT_WORLD_ITEMS_MAX);
    else if (at < world->items.count)
        made.id = take_free_index(world);
    else if (!ABUTI_PUSH(world->context, &world->items, world_item))
        status = ABUT_ERROR_MEMORY;
    if (status) {
        release_item(world, &made);
        return status;
    }
    made.serial = world->serial_count++;
    abuti_world_new_state(world, &made);
    world_items(world)[at] = made;
    count_item(world, &made, 1);
    abuti_world_changed(world, true);
    *id = made.id;
    return ABUT_OK;
}

size_t abuti_world_primitive_bytes(abut_collider_kind kind) {
    static const size_t bytes[] = {[ABUT_COLLIDER_PLANE] = sizeof(abut_plane),
                                   [ABUT_COLLIDER_SPHERE] = sizeof(abut_sphere),
                                   [ABUT_COLLIDER_CAPSULE] = sizeof(abut_capsule),
                                   [ABUT_COLLIDER_BOX] = sizeof(abut_vec3),
                                   [ABUT_COLLIDER_CYLINDER] = sizeof(abut_cylinder)};
    return (size_t)kind < sizeof bytes / sizeof *bytes ? bytes[kind] : 0;
}

/* Whether two items have the same shape, in local coordinates. */
static bool same_shape(const world_item *a, const world_item *b) {
    const abut_collider *p = &a->is.collider, *q = &b->is.collider;
    const size_t bytes = a->kind == ABUT_COLLIDER_BODY   ? sizeof p->shape.body
                         : a->kind == ABUT_COLLIDER_HULL ? sizeof p->shape.hull
                         : a->kind == ABUT_COLLIDER_CHARACTER
                             ? sizeof p->shape.character
                             : abuti_world_primitive_bytes(a->kind);
    return a->kind == b->kind && memcmp(&p->shape, &q->shape, bytes) == 0;
}

abut_status abut_world_replace(abut_world *world, uint32_t id, const abut_world_item *item) {
    world_item made;
    if (!world || !item)
        return abuti_null(__func__, world ? "item" : "world");
    const uint32_t at = abut_world_index(id);
    abut_status status = abuti_world_check_id("abut_world_replace", world, id);
    if (!status)
        status = make_item("abut_world_replace", world, item, world_items(world)[at].asset, &made);
    if (status)
        return status;
    world_item *old = &world_items(world)[at];
    made.id = id;
    made.ignored = old->ignored;
    if (same_shape(old, &made)) {
        made.serial = old->serial;
        made.has_last_box = old->has_last_box;
        made.last_box = old->last_box;
    } else {
        made.serial = world->serial_count++;
    }
    abuti_world_wake(world, old);
    abuti_world_new_state(world, &made);
    count_item(world, old, UINT32_MAX);
    release_item(world, old);
    *old = made;
    count_item(world, old, 1);
    abuti_world_changed(world, true);
    return ABUT_OK;
}

static bool is_valid_id(const abut_world *world, uint32_t id) {
    const uint32_t at = abut_world_index(id);
    return at < world->items.count && world_items(world)[at].used &&
           world_items(world)[at].id == id;
}

abut_status abuti_world_check_id(const char *function, const abut_world *world, uint32_t id) {
    const uint32_t at = abut_world_index(id);
    if (is_valid_id(world, id))
        return ABUT_OK;
    if (at < world->items.count && world_items(world)[at].used)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: there is no item %u in the world; if it was an item, it was removed, "
            "and its index %u now belongs to item %u",
            function, id, at, world_items(world)[at].id);
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no item %u in the world", function, id);
}

abut_status abuti_world_find_index(const char *function, const abut_world *world,
                                   const uint32_t *ids, size_t i, uint32_t *index) {
    *index = ids ? abut_world_index(ids[i]) : (uint32_t)i;
    if (ids)
        return abuti_world_check_id(function, world, ids[i]);
    return world_items(world)[i].used
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: ids is null, but there is no item with the index %zu", function,
                            i);
}

abut_status abuti_world_check_pair(const char *function, const abut_world *world, uint32_t a,
                                   uint32_t b) {
    abut_status status;
    if ((status = abuti_world_check_idle(function, world)) ||
        (status = abuti_world_check_id(function, world, a)) ||
        (status = abuti_world_check_id(function, world, b)))
        return status;
    return a != b ? ABUT_OK
                  : abuti_fail(ABUT_ERROR_ARGUMENT,
                               "%s: a and b are both %u; they must be two items", function, a);
}

abut_status abut_world_remove(abut_world *world, uint32_t id) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = abuti_world_check_idle(__func__, world);
    if (status || (status = abuti_world_check_id(__func__, world, id)) ||
        (status = world->backend->download_poses(world)))
        return status;
    const uint32_t at = abut_world_index(id);
    world_item *item = &world_items(world)[at];
    abuti_world_clear_ignored(world, at);
    abuti_world_wake(world, item);
    world->has_old_asleep |= world->asleep_count > 0; /* a static item may have pairs set aside */
    count_item(world, item, UINT32_MAX);
    release_item(world, item);
    item->used = false;
    item->id += (uint32_t)1 << ABUT_WORLD_INDEX_BITS;
    abuti_world_free_index(world, at);
    abuti_world_changed(world, true);
    return ABUT_OK;
}

void *abut_world_get_user(const abut_world *world, uint32_t id) {
    return world && is_valid_id(world, id) ? world_items(world)[abut_world_index(id)].is.user
                                           : NULL;
}

abut_status abut_world_ids(const abut_world *world, abut_index_list *ids) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = ABUTI_LIST_CHECK(__func__, "ids", ids);
    if (status || (status = abuti_world_check_idle(__func__, world)) ||
        (status = ABUTI_LIST_COUNT(__func__, "ids", ids, world->items.count)))
        return status;
    for (size_t i = 0; i < world->items.count; i++)
        ids->list[i] = world_items(world)[i].used ? world_items(world)[i].id : ABUT_NONE;
    return ABUT_OK;
}

/* ---- move ---- */

typedef struct move_task {
    const abut_world *world;
    const uint32_t *ids;
    const abut_pose *poses;
    abut_status chunks[WORLD_CHUNKS];
} move_task;

static abut_status place_moved_item(const move_task *m, size_t i) {
    world_place *to = (world_place *)m->world->places.data + i;
    uint32_t index;
    abut_status status =
        abuti_world_find_index("abut_world_set_poses", m->world, m->ids, i, &index);
    if (status)
        return status;
    const world_item *item = &world_items(m->world)[index];
    if (!world_is_sheet(item) && !is_at_rest(item, &m->poses[i]))
        return abuti_world_place("abut_world_set_poses", item, &m->poses[i], to);
    *to = item->at;
    return ABUT_OK;
}

static void place_moved_items(void *data, size_t chunk, size_t begin, size_t end) {
    move_task *m = data;
    m->chunks[chunk] = ABUT_OK;
    for (size_t i = begin; i < end && !m->chunks[chunk]; i++)
        m->chunks[chunk] = place_moved_item(m, i);
}

abut_status abuti_world_move(abut_world *world, const uint32_t *ids, const abut_pose *poses,
                             size_t count) {
    move_task m = {.world = world, .ids = ids, .poses = poses};
    size_t grain = world_grain(count, MOVES_PER_TASK);
    abut_status status = world->backend->download_poses(world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->places, count, sizeof(world_place));
    if (status || (status = abuti_world_download_characters(world)) || !count)
        return status;
    abuti_parallel_for(world->context, count, grain, place_moved_items, &m);
    for (size_t chunk = 0; chunk < abuti_chunk_count(count, grain); chunk++)
        if (m.chunks[chunk]) /* repeated on this thread for the error message */
            for (size_t i = chunk * grain; !status; i++)
                status = place_moved_item(&m, i);
    if (status)
        return status;
    bool moved = false;
    for (size_t i = 0; i < count; i++)
        moved |=
            abuti_world_set_place(world,
                                  &world_items(world)[ids ? abut_world_index(ids[i]) : (uint32_t)i],
                                  (const world_place *)world->places.data + i);
    if (moved)
        abuti_world_changed(world, false);
    return ABUT_OK;
}

abut_status abut_world_set_poses(abut_world *world, const uint32_t *ids, abut_array poses,
                                 size_t count) {
    if (!world || (!poses.host && !poses.buffer && count))
        return abuti_null(__func__, world ? "poses" : "world");
    if (!ids && count > world->items.count)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_world_set_poses: there are %zu poses, but the world has only %zu items", count,
            world->items.count);
    abut_context *before;
    abut_status status = abuti_world_enter("abut_world_set_poses", world, &before);
    if (status)
        return status;
    void *copy;
    status = abuti_array_convert("abut_world_set_poses", "poses", world->context, &poses, count,
                                 POSE_NUMBERS, &copy);
    if (!status)
        status = poses.buffer ? world->backend->move(world, ids, poses.buffer, count)
                              : abuti_world_move(world, ids, poses.host, count);
    abuti_release(world->context, copy);
    abuti_world_leave(world, before);
    return status;
}

/* ---- deform ---- */

abut_status abuti_world_deform(const char *function, world_item *item, const vec3 *positions) {
    world_item next = *item;
    const uint32_t count = item->asset->mesh->vertex_count;
    box3 box = box_empty();
    for (uint32_t i = 0; i < count; i++)
        box = box_grow(box, positions[i]);
    next.local = box;
    next.bvh = NULL; /* it is checked below, with its new vertices */
    abut_status status = abuti_world_place(function, &next, &item->at.pose, &next.at);
    if (!status)
        status =
            abuti_check_numbers(function, "the mesh at its pose", (const double *)&next.at.box, 6);
    if (status || (status = abuti_world_asset_deform(item->asset, positions)))
        return status;
    item->bvh = item->is.collider.shape.body.bvh = item->asset->bvh;
    item->local = item->bvh->mesh->bounds;
    item->layer_is_old = true;
    return abuti_world_place(function, item, &item->at.pose, &item->at);
}

static abut_status deform_mesh(const char *function, world_item *item, abut_array positions) {
    abut_context *context = item->asset->mesh->context;
    const uint32_t count = item->asset->mesh->vertex_count;
    vec3 *read = NULL;
    abut_status status = ABUT_OK;
    if (!positions.host && !positions.buffer)
        return abuti_null(function, "positions");
    if (positions.buffer) {
        status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(read, count));
        if (!status)
            status = abut_buffer_read(positions.buffer, 0, read, count * sizeof *read);
    }
    if (!status)
        status = abuti_world_deform(function, item, read ? read : positions.host);
    abuti_release(context, read);
    return status;
}

abut_status abut_world_set_positions(abut_world *world, uint32_t id,
                                     const abut_character_matrix *bones, abut_array positions) {
    static const char function[] = "abut_world_set_positions";
    if (!world)
        return abuti_null(function, "world");
    abut_status status;
    if ((status = abuti_world_check_idle(function, world)) ||
        (status = abuti_world_check_id(function, world, id)) ||
        (status = world->backend->download_poses(world)))
        return status;
    world_item *item = &world_items(world)[abut_world_index(id)];
    const bool character = item->method->deform != NULL;
    if (!character && !(item->asset && item->asset->deforms))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: item %u is rigid; only characters, and meshes with "
                          "shape.mesh.deforms, change their shape",
                          function, id);
    if (world_is_sheet(item))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: item %u is a sheet of cloth, which abut_world_step() moves",
                          function, id);
    if (character && !bones)
        return abuti_null(function, "bones");
    if (!character && bones)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: item %u is a mesh, which has no bones; pass null for bones",
                          function, id);
    abut_context *before;
    status = abuti_world_enter(function, world, &before);
    if (status)
        return status;
    if (character) {
        vec3 *copy = NULL;
        status = abuti_world_copy_positions(world, item, positions, &copy);
        if (!status)
            status = item->method->deform(item, bones, positions);
        if (status)
            abuti_release(world->context, copy);
        else
            abuti_world_keep_positions(world, item, copy);
        if (!status)
            status = abuti_world_place(function, item, &item->at.pose, &item->at);
    } else {
        void *copy;
        status = abuti_array_convert(function, "positions", world->context, &positions,
                                     item->asset->mesh->vertex_count, 3, &copy);
        if (!status)
            status = deform_mesh(function, item, positions);
        abuti_release(world->context, copy);
    }
    abuti_world_leave(world, before);
    abuti_world_new_state(world, item);
    if (!status)
        abuti_world_changed(world, false);
    return status;
}

/* ---- results ---- */

abut_status abut_world_pairs(abut_world *world, abut_world_pair_list *pairs) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_context *before;
    abut_status status = ABUTI_LIST_CHECK(__func__, "pairs", pairs);
    if (!status)
        status = abuti_world_enter("abut_world_pairs", world, &before);
    if (status)
        return status;
    status = abuti_world_find_pairs(world);
    abuti_world_leave(world, before);
    if (status)
        return status;
    status = ABUTI_LIST_COUNT(__func__, "pairs", pairs, world->pairs.count);
    if (status)
        return status;
    const world_item *items = world_items(world);
    for (size_t i = 0; i < world->pairs.count; i++) {
        const abut_world_pair *pair = (const abut_world_pair *)world->pairs.data + i;
        pairs->list[i] = (abut_world_pair){items[pair->a].id, items[pair->b].id};
    }
    return ABUT_OK;
}

abut_status abut_world_get_device_contacts(abut_world *world,
                                           abut_world_device_contacts *contacts) {
    if (!world || !contacts)
        return abuti_null(__func__, world ? "contacts" : "world");
    abut_context *before;
    abut_world_device_contacts found = abut_world_device_contacts_default();
    abut_status status = abuti_info_check(contacts, sizeof *contacts, __func__);
    if (status || (status = abuti_world_enter(__func__, world, &before)))
        return status;
    status = world->backend->records(world, &found);
    abuti_world_leave(world, before);
    return status ? status : abuti_info_write(contacts, &found, sizeof found, __func__);
}

const char *abut_world_motion_name(abut_world_motion motion) {
    static const char *const names[] = {"dynamic", "kinematic", "static"};
    return ABUTI_NAME(names, motion);
}

const char *abut_world_method_name(abut_world_method method) {
    static const char *const names[] = {"auto", "exact", "field", "map", "radial", "layers"};
    return ABUTI_NAME(names, method);
}

const char *abut_world_guarantee_name(abut_world_guarantee guarantee) {
    static const char *const names[] = {"none", "sampled", "complete", "limited"};
    return ABUTI_NAME(names, guarantee);
}

const char *abut_world_event_kind_name(abut_world_event_kind change) {
    static const char *const names[] = {"begin", "persist", "end"};
    return ABUTI_NAME(names, change);
}
