/* What a world remembers between steps, as bytes: abut_world_save() and abut_world_restore().
 *
 * Contacts depend on more than poses and shapes in one respect: exact patches get a hint
 * (collide.c) that comes from the step before, and a pair at rest keeps the contacts of the step in
 * which it came to rest. So a state has the hint of each pair with which its contacts were
 * computed, and restoring computes the contacts of all pairs again with these hints. The same input
 * gives the same bits, so contacts, ids and events are then those that were saved, and nothing of
 * them has to be stored, checked or believed. A digest of the contacts proves it.
 *
 * The state also has a digest of each item, so that it is refused in a world of other items, and
 * the pairs that events were last reported for, unless these are the pairs that touch.
 *
 *     head, a digest of each item, a hint of each pair, pairs that were reported, checksum
 *
 * The checksum detects damage. Bytes that were forged can only choose hints, and what an event
 * reports of a pair that ends.
 */
#include "world/world.h"

#include "base/checksum.h"

#define MAGIC "\211abutw\r\n"
enum { VERSION = 1, ORDER = 0x01020304, CHECKSUM_BYTES = sizeof(uint64_t) };

static const char restore_function[] = "abut_world_restore";

typedef struct state_head {
    unsigned char magic[8];
    uint32_t order, version;
    uint64_t options, contacts; /* digests */
    uint64_t item_count, pair_count, told_count;
    uint32_t told_is_current; /* the pairs that were reported are those that touch */
    uint32_t zero;
} state_head;

enum { TOLD_SENSOR = 1, TOLD_SEPARATES = 2, TOLD_HAS_A = 4, TOLD_HAS_B = 8, TOLD_FLAGS = 15 };

/* A pair that was reported. */
typedef struct told_record {
    uint32_t a, b, method, guarantee;
    uint32_t flags; /* also whether a and b are the same items still */
    uint32_t level;
    double error;
    double point[3], normal[3], depth;
    uint64_t id;
    uint32_t pair, side, kind, element, part, zero;
} told_record;

_Static_assert(sizeof(state_head) == 64 && sizeof(told_record) == 120, "as in states");

/* ---- what the world is ---- */

typedef struct item_record {
    uint64_t kind, group, mask, traits, mesh, vertices, triangles, samples, cells[3];
    abut_pose pose;
    box3 box;
    vec3 mesh_origin, grid_origin;
    double grid_cell, solid[7];
} item_record;

/* Zero for an id that is free. */
static uint64_t digest_item(const world_item *item) {
    item_record r;
    memset(&r, 0, sizeof r);
    r.kind = (uint64_t)item->kind + 1;
    r.group = item->filter.group;
    r.mask = item->filter.mask;
    r.traits = item->filter.traits;
    r.pose = item->at.pose;
    if (item->kind != ABUT_WORLD_PLANE)
        r.box = item->at.box;
    if (item->bvh) {
        r.mesh = abuti_contact_shape_digest(item->bvh);
        r.mesh_origin = item->bvh->mesh->origin;
        r.vertices = item->bvh->mesh->vertex_count;
        r.triangles = item->bvh->mesh->triangle_count;
    }
    if (item->body.field) {
        const abut_grid *grid = &item->body.field->grid;
        for (int k = 0; k < 3; k++)
            r.cells[k] = grid->count[k];
        r.grid_origin = grid->origin;
        r.grid_cell = grid->cell;
    }
    if (item->body.samples)
        r.samples = item->body.samples->view.count;
    const abut_world_item *is = &item->is;
    const struct {
        const void *shape;
        size_t bytes;
    } solids[] = {[ABUT_WORLD_BODY] = {NULL, 0},
                  [ABUT_WORLD_PLANE] = {&is->shape.plane, sizeof(abut_plane)},
                  [ABUT_WORLD_SPHERE] = {&is->shape.sphere, sizeof(abut_sphere)},
                  [ABUT_WORLD_CAPSULE] = {&is->shape.capsule, sizeof(abut_capsule)},
                  [ABUT_WORLD_BOX] = {&is->shape.half, sizeof(abut_vec3)},
                  [ABUT_WORLD_CYLINDER] = {&is->shape.cylinder, sizeof(abut_cylinder)},
                  [ABUT_WORLD_HULL] = {NULL, 0},
                  [ABUT_WORLD_CHARACTER] = {NULL, 0}};
    if (solids[item->kind].shape)
        memcpy(r.solid, solids[item->kind].shape, solids[item->kind].bytes);
    return abuti_checksum(&r, sizeof r);
}

static uint64_t digest_of_item(const abut_world *world, uint64_t id) {
    return id < world->items.count && world_items(world)[id].used
               ? digest_item(&world_items(world)[id])
               : 0;
}

/* Of what contacts depend on. Where they are computed is not part of it. */
static uint64_t digest_options(const abut_world *world) {
    const abut_world_options *o = &world->options;
    const double numbers[] = {o->margin,
                              o->patch_angle,
                              (double)o->max_patch_contacts,
                              (double)o->skip_edges,
                              (double)o->method,
                              (double)o->keep_backfacing,
                              (double)o->skip_verification};
    return abuti_checksum(numbers, sizeof numbers);
}

/* ---- out ---- */

static bool is_same_item(const abut_world *world, uint32_t id, uint64_t born) {
    return id < world->items.count && world_items(world)[id].used &&
           world_items(world)[id].born == born;
}

static told_record make_record(const abut_world *world, const world_touch *touch) {
    const abut_world_event *e = &touch->event;
    const abut_contact *c = &e->deepest;
    told_record r = {.a = e->a,
                     .b = e->b,
                     .method = e->method,
                     .guarantee = e->guarantee,
                     .level = e->reliability.level,
                     .error = e->error,
                     .point = {c->point.x, c->point.y, c->point.z},
                     .normal = {c->normal.x, c->normal.y, c->normal.z},
                     .depth = c->depth,
                     .id = c->id,
                     .pair = c->pair,
                     .side = c->side,
                     .kind = c->kind,
                     .element = c->element,
                     .part = c->part};
    r.flags = (e->is_sensor ? TOLD_SENSOR : 0u) | (e->is_verified ? TOLD_SEPARATES : 0u) |
              (is_same_item(world, e->a, touch->born[0]) ? TOLD_HAS_A : 0u) |
              (is_same_item(world, e->b, touch->born[1]) ? TOLD_HAS_B : 0u);
    return r;
}

static void *append_bytes(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return (unsigned char *)to + bytes;
}

static size_t state_bytes(const state_head *head) {
    return sizeof *head + (size_t)head->item_count * sizeof(uint64_t) +
           (size_t)head->pair_count * sizeof(vec3) +
           (size_t)head->told_count * sizeof(told_record) + CHECKSUM_BYTES;
}

static void write_state(const abut_world *world, const state_head *head, void *state) {
    const world_tried *tried = world->tried.data;
    const world_touch *told = world->told.data;
    void *to = append_bytes(state, head, sizeof *head);
    for (uint64_t i = 0; i < head->item_count; i++) {
        const uint64_t digest = digest_of_item(world, i);
        to = append_bytes(to, &digest, sizeof digest);
    }
    for (uint64_t i = 0; i < head->pair_count; i++)
        to = append_bytes(to, &tried[i].hint, sizeof tried[i].hint);
    for (uint64_t i = 0; i < head->told_count; i++) {
        const told_record record = make_record(world, &told[i]);
        to = append_bytes(to, &record, sizeof record);
    }
    const uint64_t sum = abuti_checksum(state, state_bytes(head) - CHECKSUM_BYTES);
    append_bytes(to, &sum, sizeof sum);
}

abut_status abut_world_save(abut_world *world, size_t capacity, void *state, size_t *bytes) {
    if (!world || !bytes || (!state && capacity))
        return abuti_null(__func__, !world ? "world" : !bytes ? "bytes" : "state");
    abut_status status = abuti_world_find_contacts("abut_world_save", world);
    if (status)
        return status;
    state_head head = {.magic = {0},
                       .order = ORDER,
                       .version = VERSION,
                       .options = digest_options(world),
                       .contacts = abuti_world_contacts_digest(world),
                       .item_count = world->items.count,
                       .pair_count = world->pairs.count,
                       .told_is_current = world->has_told};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.told_count = head.told_is_current ? 0 : world->told.count;
    *bytes = state_bytes(&head);
    if (*bytes > capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_world_save: the state has %zu bytes, and room for %zu", *bytes,
                          capacity);
    write_state(world, &head, state);
    return ABUT_OK;
}

/* ---- in ---- */

static abut_status damaged(const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: the state %s", restore_function, what);
}

static abut_status read_head(const unsigned char *state, size_t bytes, state_head *head) {
    uint64_t sum;
    if (bytes < sizeof *head + CHECKSUM_BYTES || memcmp(state, MAGIC, sizeof head->magic) != 0)
        return damaged("is none of a world, or is damaged: it does not begin like one");
    memcpy(head, state, sizeof *head);
    if (head->order != ORDER)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state comes from a machine of the other byte order",
                          restore_function);
    if (head->version != VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state was written by another version of abut (its format is "
                          "%u, this version reads %d)",
                          restore_function, head->version, VERSION);
    /* Each of them takes bytes, so that larger numbers are damage; then sums do not overflow. */
    if (head->item_count > bytes || head->pair_count > bytes || head->told_count > bytes ||
        bytes > SIZE_MAX / 1024 || state_bytes(head) != bytes || head->told_is_current > 1 ||
        (head->told_is_current && head->told_count) || head->zero)
        return damaged("is damaged: its length is not as it was written");
    memcpy(&sum, state + bytes - CHECKSUM_BYTES, sizeof sum);
    if (sum != abuti_checksum(state, bytes - CHECKSUM_BYTES))
        return damaged("is damaged: its checksum is not as it was written");
    return ABUT_OK;
}

/* Whether the state is one of this world, at these poses. */
static abut_status check_world(const abut_world *world, const state_head *head,
                               const unsigned char *digests) {
    if (head->options != digest_options(world))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the world has other options than the one that was saved",
                          restore_function);
    const uint64_t most =
        head->item_count > world->items.count ? head->item_count : world->items.count;
    for (uint64_t id = 0; id < most; id++) {
        uint64_t saved = 0;
        if (id < head->item_count)
            memcpy(&saved, digests + id * sizeof saved, sizeof saved);
        const uint64_t now = digest_of_item(world, id);
        if (saved != now)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: item %llu %s", restore_function,
                              (unsigned long long)id,
                              !now     ? "is missing; add the items of the world that was saved"
                              : !saved ? "is not in the state; it was saved without this item"
                                       : "is not as it was saved: its kind, shape, groups or pose "
                                         "differ; move all items to where they were");
    }
    return head->pair_count == world->pairs.count
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the world has %zu candidate pairs, and the state %llu: other "
                            "pairs are ignored",
                            restore_function, world->pairs.count,
                            (unsigned long long)head->pair_count);
}

static abut_status read_hints(abut_world *world, uint64_t count, const unsigned char *from) {
    abut_status status =
        abuti_vector_reserve(world->context, &world->hints, (size_t)count, sizeof(vec3));
    if (status || !count)
        return status;
    memcpy(world->hints.data, from, (size_t)count * sizeof(vec3));
    const vec3 *hints = world->hints.data;
    for (uint64_t i = 0; i < count; i++)
        if (!(v3_max_abs(hints[i]) <= 4 * ABUT_COORDINATE_MAX))
            return damaged("is damaged: a hint is not finite");
    return ABUT_OK;
}

static bool is_finite(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(numbers[i] >= -1e300 && numbers[i] <= 1e300))
            return false;
    return true;
}

static bool record_is_possible(const told_record *r, const told_record *before) {
    return r->a < r->b &&
           (!before || before->a < r->a || (before->a == r->a && before->b < r->b)) &&
           r->method > ABUT_WORLD_AUTO && r->method <= ABUT_WORLD_LAYERS &&
           r->guarantee > ABUT_WORLD_GUARANTEE_NONE &&
           r->guarantee <= ABUT_WORLD_GUARANTEE_LIMITED && r->flags <= TOLD_FLAGS &&
           r->level <= ABUT_RELIABILITY_UNRELIABLE && r->error >= 0 && is_finite(r->point, 3) &&
           is_finite(r->normal, 3) && is_finite(&r->depth, 1) && r->side <= 1 &&
           abut_contact_kind_name((abut_contact_kind)r->kind) && !r->zero;
}

/* The number of the item, or one that no item has. */
static uint64_t born_of(const abut_world *world, uint32_t id, bool is_same) {
    return is_same && id < world->items.count && world_items(world)[id].used
               ? world_items(world)[id].born
               : UINT64_MAX;
}

static world_touch touch_of(const abut_world *world, const told_record *r) {
    abut_reliability reliability = abuti_contact_reliability(NULL, NULL);
    if (r->level != (uint32_t)reliability.level)
        reliability =
            (abut_reliability){(abut_reliability_level)r->level,
                               "The pair was last reported before the world was saved, and the "
                               "reason was not saved."};
    world_touch touch;
    memset(&touch, 0, sizeof touch);
    touch.born[0] = born_of(world, r->a, r->flags & TOLD_HAS_A);
    touch.born[1] = born_of(world, r->b, r->flags & TOLD_HAS_B);
    touch.event.method = (abut_world_method)r->method;
    touch.event.guarantee = (abut_world_guarantee)r->guarantee;
    touch.event.error = r->error;
    touch.event.a = r->a;
    touch.event.b = r->b;
    touch.event.is_sensor = r->flags & TOLD_SENSOR;
    touch.event.is_verified = r->flags & TOLD_SEPARATES;
    touch.event.deepest = (abut_contact){.point = {r->point[0], r->point[1], r->point[2]},
                                         .normal = {r->normal[0], r->normal[1], r->normal[2]},
                                         .depth = r->depth,
                                         .id = r->id,
                                         .pair = r->pair,
                                         .side = r->side,
                                         .kind = (abut_contact_kind)r->kind,
                                         .element = r->element,
                                         .part = r->part};
    touch.event.reliability = reliability;
    return touch;
}

/* Reads the pairs that were reported; there is room. */
static void read_told(abut_world *world, uint64_t count, const unsigned char *from) {
    world_touch *to = world->told.data;
    for (uint64_t i = 0; i < count; i++) {
        told_record record;
        memcpy(&record, from + i * sizeof record, sizeof record);
        to[i] = touch_of(world, &record);
    }
    world->told.count = (size_t)count;
    world->has_told = false;
}

static abut_status check_told(uint64_t count, const unsigned char *from) {
    told_record record, before;
    for (uint64_t i = 0; i < count; i++, before = record) {
        memcpy(&record, from + i * sizeof record, sizeof record);
        if (!record_is_possible(&record, i ? &before : NULL))
            return damaged("is damaged: it has a pair that cannot be");
    }
    return ABUT_OK;
}

static abut_status restore(abut_world *world, const unsigned char *state, size_t bytes) {
    state_head head;
    abut_status status = read_head(state, bytes, &head);
    if (status)
        return status;
    const unsigned char *digests = state + sizeof head,
                        *hints = digests + head.item_count * sizeof(uint64_t),
                        *told = hints + head.pair_count * sizeof(vec3);
    status = check_told(head.told_count, told);
    status = status ? status : abuti_world_find_pairs(world);
    status = status ? status : check_world(world, &head, digests);
    status = status ? status : read_hints(world, head.pair_count, hints);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->told,
                                      head.told_is_current ? world->pairs.count
                                                           : (size_t)head.told_count,
                                      sizeof(world_touch));
    if (!status)
        status = abuti_world_repeat_contacts(world, world->hints.data, head.contacts);
    if (status)
        return status;
    if (head.told_is_current)
        abuti_world_set_told(world);
    else
        read_told(world, head.told_count, told);
    return ABUT_OK;
}

abut_status abut_world_restore(abut_world *world, const void *state, size_t bytes) {
    if (!world || !state)
        return abuti_null(restore_function, world ? "state" : "world");
    abut_context *before;
    abut_status status = abuti_world_enter(restore_function, world, &before);
    if (status)
        return status;
    status = restore(world, state, bytes);
    abuti_world_leave(world, before);
    return status;
}
