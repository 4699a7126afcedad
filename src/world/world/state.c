/* Saved states of a world: abut_world_save() and abut_world_restore().
 *
 * Cloth depends on all of its past, so that a state contains that of the cloth. The shapes of
 * sheets are therefore not the caller's: items get those of the state before contacts are
 * recomputed. Of steps, a state has only which items have a start: it is where the restored items
 * are.
 *
 * Contacts depend on the past in one respect: exact patches use a hint (collide.c) that comes from
 * the previous step, and a pair at rest keeps the contacts of the step in which it came to rest. So
 * a state contains the hint of each pair with which its contacts were computed, and restoring
 * recomputes the contacts of all pairs with these hints. The same input gives the same bits, so
 * that contacts, ids and events are those that were saved, and none of them has to be stored,
 * checked or trusted. A digest of the contacts verifies this.
 *
 * The state also has a digest of each item, so that a world with other items rejects it, and the
 * pairs of the last reported events, unless these are the pairs that touch.
 *
 * The ids of all indices, and the order in which the free ones will be used, make the ids of later
 * items equal.
 *
 * Sleeping items are awake while a state is written, and while it is restored: pairs that are set
 * aside are in the state like all others.
 *
 *     head, a digest of each item, a hint of each pair, reported pairs, ids, free indices, starts,
 *     cloth, checksum
 *
 * The checksum detects damage. Forged bytes can only choose hints, the data of events of pairs that
 * end, and a state of the cloth whose next step is tested (cloth/state.c).
 */
#include "world/world.h"

#include "base/checksum.h"
#include "cloth/state.h"

#define MAGIC "\211abutw\r\n"
enum { VERSION = 5, ORDER = 0x01020304, CHECKSUM_BYTES = sizeof(uint64_t) };

static const char restore_function[] = "abut_world_restore";

typedef struct state_head {
    unsigned char magic[8];
    uint32_t order, version;
    uint64_t options, contacts; /* digests */
    uint64_t item_count, pair_count, reported_count;
    uint64_t cloth_bytes;         /* 0 = no sheets */
    uint32_t reported_is_current; /* the reported pairs are those that touch */
    uint32_t free_count;
} state_head;

enum {
    REPORTED_SENSOR = 1,
    REPORTED_VERIFIED = 2,
    REPORTED_HAS_A = 4,
    REPORTED_HAS_B = 8,
    REPORTED_FLAGS = 15
};

/* A reported pair. */
typedef struct reported_record {
    uint32_t method, guarantee;
    uint32_t flags; /* including whether a and b still are the same items */
    uint32_t level;
    double error;
    abut_contact deepest; /* with a and b */
} reported_record;

/* Of an item. */
enum { FLAG_START = 1, FLAG_ASLEEP = 2 };

/* The parts of a state. */
typedef struct state_parts {
    state_head head;
    const unsigned char *digests, *hints, *reported, *ids, *free, *starts, *cloth;
    uint32_t *other_ids; /* by index: the ids of the state or of the world, which has the others */
    bool is_shown;       /* sheets have the shapes of the state */
} state_parts;

_Static_assert(sizeof(state_head) == 72 && sizeof(reported_record) == 112, "layout in states");

/* ---- digests ---- */

typedef struct item_record {
    uint64_t kind, group, mask, family, traits, mesh, vertices, triangles, samples, cells[3];
    abut_pose pose;
    box3 box;
    vec3 mesh_origin, grid_origin;
    double grid_cell, margin, solid[7];
} item_record;

/* Digest of an item. */
static uint64_t digest_item(const world_item *item) {
    item_record r;
    memset(&r, 0, sizeof r);
    r.kind = (uint64_t)item->kind + 1;
    r.group = item->filter.group;
    r.mask = item->filter.mask;
    r.family = item->filter.family;
    r.traits = item->filter.traits & ~(uint32_t)WORLD_IS_ASLEEP;
    r.pose = item->at.pose;
    r.margin = item->margin;
    const bool has_shape = !world_is_sheet(item); /* otherwise the cloth has it */
    if (item->kind != ABUT_COLLIDER_PLANE && has_shape)
        r.box = item->at.box;
    if (item->bvh && has_shape) {
        r.mesh = abuti_contact_shape_digest(item->bvh);
        r.mesh_origin = item->bvh->mesh->origin;
    }
    if (item->bvh) {
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
    memcpy(r.solid, &item->is.collider.shape, abuti_world_primitive_bytes(item->kind));
    return abuti_checksum(&r, sizeof r);
}

static uint64_t digest_of_item(const abut_world *world, uint64_t id) {
    return id < world->items.count && world_items(world)[id].used
               ? digest_item(&world_items(world)[id])
               : 0;
}

/* Digest of the options that contacts depend on, which do not include the device. */
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

/* ---- save ---- */

static bool is_same_item(const abut_world *world, uint32_t id, uint64_t serial) {
    const uint32_t at = abut_world_index(id);
    return at < world->items.count && world_items(world)[at].used &&
           world_items(world)[at].serial == serial;
}

static reported_record make_record(const abut_world *world, const world_touch *touch) {
    const abut_world_event *e = &touch->event;
    reported_record r = {.method = e->method,
                         .guarantee = e->guarantee,
                         .level = e->reliability.level,
                         .error = e->error,
                         .deepest = e->deepest};
    r.flags = (e->is_sensor ? REPORTED_SENSOR : 0u) | (e->is_verified ? REPORTED_VERIFIED : 0u) |
              (is_same_item(world, e->a, touch->serial[0]) ? REPORTED_HAS_A : 0u) |
              (is_same_item(world, e->b, touch->serial[1]) ? REPORTED_HAS_B : 0u);
    return r;
}

static void *append_bytes(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return (unsigned char *)to + bytes;
}

static size_t state_bytes(const state_head *head) {
    return sizeof *head + (size_t)head->item_count * sizeof(uint64_t) +
           (size_t)head->pair_count * sizeof(vec3) +
           (size_t)head->reported_count * sizeof(reported_record) +
           (size_t)head->item_count * sizeof(uint32_t) + head->free_count * sizeof(uint32_t) +
           (size_t)head->item_count + (size_t)head->cloth_bytes + CHECKSUM_BYTES;
}

static bool has_start(const abut_world *world, uint64_t id) {
    const world_item *item = &world_items(world)[id];
    return item->used && item->track && item->track->has_start;
}

static bool is_sleeper(const abut_world *world, uint64_t id) {
    return world_items(world)[id].used && world_items(world)[id].sleeps_later;
}

static void write_state(const abut_world *world, const state_head *head, void *state) {
    const world_pair_record *records = world->pair_records.data;
    const world_touch *reported = world->reported.data;
    void *to = append_bytes(state, head, sizeof *head);
    for (uint64_t i = 0; i < head->item_count; i++) {
        const uint64_t digest = digest_of_item(world, i);
        to = append_bytes(to, &digest, sizeof digest);
    }
    for (uint64_t i = 0; i < head->pair_count; i++)
        to = append_bytes(to, &records[i].hint, sizeof records[i].hint);
    for (uint64_t i = 0; i < head->reported_count; i++) {
        const reported_record record = make_record(world, &reported[i]);
        to = append_bytes(to, &record, sizeof record);
    }
    for (uint64_t i = 0; i < head->item_count; i++)
        to = append_bytes(to, &world_items(world)[i].id, sizeof(uint32_t));
    for (uint32_t i = world->first_free; i != ABUT_NONE; i = world_items(world)[i].next)
        to = append_bytes(to, &i, sizeof i);
    for (uint64_t i = 0; i < head->item_count; i++) {
        const unsigned char flags = (unsigned char)((has_start(world, i) ? FLAG_START : 0) |
                                                    (is_sleeper(world, i) ? FLAG_ASLEEP : 0));
        to = append_bytes(to, &flags, sizeof flags);
    }
    if (head->cloth_bytes)
        abuti_cloth_write_state(world->cloth, to);
    to = (unsigned char *)to + head->cloth_bytes;
    const uint64_t sum = abuti_checksum(state, state_bytes(head) - CHECKSUM_BYTES);
    append_bytes(to, &sum, sizeof sum);
}

/* Adds the bodies that cloth collides with, as the next step would, and measures its state. */
static abut_status measure_cloth(abut_world *world, size_t *bytes) {
    abut_context *before;
    *bytes = 0;
    abut_status status = abuti_world_enter("abut_world_save", world, &before);
    if (status)
        return status;
    if (world->sheets && !(status = world->backend->download_poses(world)) &&
        !(status = abuti_world_update_bodies(world)))
        status = abuti_cloth_measure_state(world->cloth, bytes);
    abuti_world_leave(world, before);
    return status;
}

/* Writes the state of a world whose items are all awake. */
static abut_status save_awake(abut_world *world, abut_byte_list *bytes) {
    size_t cloth_bytes;
    abut_status status = abuti_world_find_contacts("abut_world_save", world);
    if (!status)
        status = measure_cloth(world, &cloth_bytes);
    if (status)
        return status;
    state_head head = {.magic = {0},
                       .order = ORDER,
                       .version = VERSION,
                       .options = digest_options(world),
                       .contacts = abuti_world_contacts_digest(world),
                       .item_count = world->items.count,
                       .pair_count = world->pairs.count,
                       .cloth_bytes = cloth_bytes,
                       .reported_is_current = world->has_reported};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.reported_count = head.reported_is_current ? 0 : world->reported.count;
    for (uint32_t i = world->first_free; i != ABUT_NONE; i = world_items(world)[i].next)
        head.free_count++;
    status = ABUTI_LIST_COUNT("abut_world_save", "bytes", bytes, state_bytes(&head));
    if (!status)
        write_state(world, &head, bytes->list);
    return status;
}

abut_status abut_world_save(abut_world *world, abut_byte_list *bytes) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = ABUTI_LIST_CHECK(__func__, "bytes", bytes);
    if (status || (status = abuti_world_check_idle(__func__, world)) ||
        (status = world->backend->download_poses(world)))
        return status;
    abuti_world_suspend_sleep(world);
    status = save_awake(world, bytes);
    abuti_world_resume_sleep(world);
    return status;
}

/* ---- restore ---- */

static abut_status fail_damaged(const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: the state %s", restore_function, what);
}

static abut_status read_head(const unsigned char *state, size_t bytes, state_head *head) {
    uint64_t sum;
    if (bytes < sizeof *head + CHECKSUM_BYTES || memcmp(state, MAGIC, sizeof head->magic) != 0)
        return fail_damaged("is not the state of a world, or is damaged: its header is wrong");
    memcpy(head, state, sizeof *head);
    if (head->order != ORDER)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state was saved on a machine with the other byte order",
                          restore_function);
    if (head->version != VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: the state was written by another version of abut (its format is "
                          "%u, this version reads %d)",
                          restore_function, head->version, VERSION);
    /* Each element takes bytes, so that larger counts are damage, and sums do not overflow. */
    if (head->item_count > bytes || head->pair_count > bytes || head->reported_count > bytes ||
        head->cloth_bytes > bytes || bytes > SIZE_MAX / 1024 || state_bytes(head) != bytes ||
        head->reported_is_current > 1 || (head->reported_is_current && head->reported_count) ||
        head->free_count > head->item_count || head->item_count > ABUT_WORLD_ITEMS_MAX)
        return fail_damaged("is damaged: its length is wrong");
    memcpy(&sum, state + bytes - CHECKSUM_BYTES, sizeof sum);
    if (sum != abuti_checksum(state, bytes - CHECKSUM_BYTES))
        return fail_damaged("is damaged: it fails its checksum");
    return ABUT_OK;
}

/* Whether the state belongs to this world at its current poses. */
static abut_status check_world(const abut_world *world, const state_parts *parts) {
    const state_head *head = &parts->head;
    if (head->options != digest_options(world))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the world has other options than the saved one",
                          restore_function);
    const uint64_t most =
        head->item_count > world->items.count ? head->item_count : world->items.count;
    for (uint64_t id = 0; id < most; id++) {
        uint64_t saved = 0;
        if (id < head->item_count)
            memcpy(&saved, parts->digests + id * sizeof saved, sizeof saved);
        const uint64_t now = digest_of_item(world, id);
        if (saved != now)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: item %llu %s", restore_function,
                              (unsigned long long)id,
                              !now     ? "is missing; add the items of the world that was saved"
                              : !saved ? "is not in the state; it was saved without this item"
                                       : "is not as it was saved: its kind, shape, groups or pose "
                                         "differ; restore them first");
    }
    return ABUT_OK;
}

static abut_status check_pairs(const abut_world *world, const state_head *head) {
    return head->pair_count == world->pairs.count
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the world has %zu candidate pairs, but the state has %llu; the "
                            "ignored pairs differ",
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
            return fail_damaged("is damaged: a hint is not finite");
    return ABUT_OK;
}

static bool is_finite(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(numbers[i] >= -1e300 && numbers[i] <= 1e300))
            return false;
    return true;
}

static bool record_is_valid(const reported_record *r, const reported_record *before) {
    const abut_contact *c = &r->deepest, *last = before ? &before->deepest : NULL;
    const abut_world_pair pair = {c->a, c->b}, previous = {last ? last->a : 0, last ? last->b : 0};
    return abut_world_index(c->a) < abut_world_index(c->b) &&
           (!last || world_compare_pairs(&previous, &pair) <= 0) && r->method > ABUT_WORLD_AUTO &&
           r->method <= ABUT_WORLD_LAYERS && r->guarantee > ABUT_WORLD_GUARANTEE_NONE &&
           r->guarantee <= ABUT_WORLD_GUARANTEE_LIMITED && r->flags <= REPORTED_FLAGS &&
           r->level <= ABUT_RELIABILITY_UNRELIABLE && r->error >= 0 && is_finite(&c->point.x, 3) &&
           is_finite(&c->normal.x, 3) && is_finite(&c->depth, 1) && c->side <= 1 &&
           abut_contact_kind_name((abut_contact_kind)c->kind);
}

/* The serial number of an item, or one that no item has. */
static uint64_t find_serial(const abut_world *world, uint32_t id, bool is_same) {
    const uint32_t at = abut_world_index(id);
    return is_same && at < world->items.count && world_items(world)[at].used
               ? world_items(world)[at].serial
               : UINT64_MAX;
}

static world_touch make_touch(const abut_world *world, const reported_record *r) {
    abut_reliability reliability = abuti_contact_reliability(NULL, NULL);
    if (r->level != (uint32_t)reliability.level)
        reliability =
            (abut_reliability){(abut_reliability_level)r->level,
                               "The pair was last reported before the world was saved, and the "
                               "reason was not saved."};
    world_touch touch;
    memset(&touch, 0, sizeof touch);
    touch.serial[0] = find_serial(world, r->deepest.a, r->flags & REPORTED_HAS_A);
    touch.serial[1] = find_serial(world, r->deepest.b, r->flags & REPORTED_HAS_B);
    touch.event.method = (abut_world_method)r->method;
    touch.event.guarantee = (abut_world_guarantee)r->guarantee;
    touch.event.error = r->error;
    touch.event.a = r->deepest.a;
    touch.event.b = r->deepest.b;
    touch.event.is_sensor = r->flags & REPORTED_SENSOR;
    touch.event.is_verified = r->flags & REPORTED_VERIFIED;
    touch.event.deepest = r->deepest;
    touch.event.reliability = reliability;
    return touch;
}

/* Reads the reported pairs; `reported` has the capacity. */
static void read_reported(abut_world *world, uint64_t count, const unsigned char *from) {
    world_touch *to = world->reported.data;
    for (uint64_t i = 0; i < count; i++) {
        reported_record record;
        memcpy(&record, from + i * sizeof record, sizeof record);
        to[i] = make_touch(world, &record);
    }
    world->reported.count = (size_t)count;
    world->has_reported = false;
}

static abut_status check_reported(uint64_t count, const unsigned char *from) {
    reported_record record, before;
    for (uint64_t i = 0; i < count; i++, before = record) {
        memcpy(&record, from + i * sizeof record, sizeof record);
        if (!record_is_valid(&record, i ? &before : NULL))
            return fail_damaged("is damaged: it has an invalid pair");
    }
    return ABUT_OK;
}

static abut_status check_starts(const state_parts *parts) {
    for (uint64_t i = 0; i < parts->head.item_count; i++)
        if (parts->starts[i] > (FLAG_START | FLAG_ASLEEP))
            return fail_damaged("is damaged: it has an invalid start");
    return ABUT_OK;
}

static void find_parts(const unsigned char *state, state_parts *parts) {
    const state_head *head = &parts->head;
    parts->digests = state + sizeof *head;
    parts->hints = parts->digests + head->item_count * sizeof(uint64_t);
    parts->reported = parts->hints + head->pair_count * sizeof(vec3);
    parts->ids = parts->reported + head->reported_count * sizeof(reported_record);
    parts->free = parts->ids + head->item_count * sizeof(uint32_t);
    parts->starts = parts->free + head->free_count * sizeof(uint32_t);
    parts->cloth = parts->starts + head->item_count;
}

/* ---- ids ---- */

static uint32_t read_number(const unsigned char *from, uint64_t i) {
    uint32_t number;
    memcpy(&number, from + i * sizeof number, sizeof number);
    return number;
}

static bool is_free_in_state(const state_parts *parts, uint64_t index) {
    uint64_t digest;
    memcpy(&digest, parts->digests + index * sizeof digest, sizeof digest);
    return digest == 0;
}

/* Reads and checks the ids. All indices of items without a digest must be free, each once. */
static abut_status read_ids(abut_world *world, state_parts *parts) {
    const uint64_t count = parts->head.item_count;
    uint64_t free_count = 0;
    bool is_valid = true;
    uint32_t *ids = parts->other_ids =
        abuti_allocate(world->context, (size_t)count + 1, sizeof *ids);
    if (!ids)
        return ABUT_ERROR_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        ids[i] = ABUT_NONE;
        free_count += is_free_in_state(parts, i);
    }
    for (uint32_t i = 0; i < parts->head.free_count && is_valid; i++) {
        const uint32_t at = read_number(parts->free, i);
        is_valid = at < count && is_free_in_state(parts, at) && ids[at] == ABUT_NONE;
        if (is_valid)
            ids[at] = 0;
    }
    for (uint64_t i = 0; i < count && is_valid; i++) {
        ids[i] = read_number(parts->ids, i);
        is_valid = abut_world_index(ids[i]) == i;
    }
    return is_valid && free_count == parts->head.free_count
               ? abuti_vector_reserve(world->context, &world->items, (size_t)count,
                                      sizeof(world_item))
               : fail_damaged("is damaged: it has an invalid id");
}

/* Exchanges the ids of the world with the other ones. */
static void exchange_ids(abut_world *world, const state_parts *parts) {
    world_item *items = world_items(world);
    for (size_t i = 0; i < world->items.count && i < parts->head.item_count; i++) {
        const uint32_t id = items[i].id;
        items[i].id = parts->other_ids[i];
        parts->other_ids[i] = id;
    }
}

/* Makes the free indices those of the state. Items with their ids are in the world. */
static void set_free_indices(abut_world *world, const state_parts *parts) {
    const size_t count = (size_t)parts->head.item_count;
    for (size_t i = world->items.count; i < count; i++) {
        memset(&world_items(world)[i], 0, sizeof(world_item));
        world_items(world)[i].id = parts->other_ids[i];
    }
    world->items.count = count; /* others are not used */
    world->first_free = world->last_free = ABUT_NONE;
    for (uint32_t i = 0; i < parts->head.free_count; i++)
        abuti_world_free_index(world, read_number(parts->free, i));
    if (world->backend->changed)
        world->backend->changed(world, true);
}

/* Reads the state of the cloth, and gives the sheets their shapes. */
static abut_status read_cloth(abut_world *world, state_parts *parts, cloth_saved_state *cloth) {
    if (!world->sheets && !parts->head.cloth_bytes)
        return ABUT_OK;
    if (!world->sheets || !parts->head.cloth_bytes)
        return fail_damaged("is damaged: its items have sheets, but it has no cloth, or the "
                            "reverse");
    abut_status status = abuti_world_update_bodies(world);
    if (!status)
        status = abuti_cloth_read_state(restore_function, world->cloth, parts->cloth,
                                        (size_t)parts->head.cloth_bytes, cloth);
    if (status)
        return status;
    parts->is_shown = true;
    return abuti_world_preview_sheets(world, cloth);
}

static abut_status prepare_starts(abut_world *world, const state_parts *parts) {
    abut_status status = ABUT_OK;
    for (uint64_t i = 0; i < parts->head.item_count && !status; i++)
        if ((parts->starts[i] & FLAG_START) && world_items(world)[i].used)
            status = abuti_world_update_track(world, &world_items(world)[i]);
    return status;
}

/* Items start the next step where they are. */
static void set_starts(abut_world *world, const state_parts *parts) {
    for (uint64_t i = 0; i < parts->head.item_count; i++) {
        world_item *item = &world_items(world)[i];
        if (!item->used || !item->track)
            continue;
        item->track->has_start = item->track->is_free = false;
        if (parts->starts[i] & FLAG_START)
            abuti_world_finish_track(item);
        world->has_steps |= item->track->has_start;
    }
}

/* Chooses the items that sleep after the call. No pairs are set aside yet. */
static void set_sleepers(abut_world *world, const state_parts *parts) {
    for (uint64_t i = 0; i < parts->head.item_count; i++) {
        world_item *item = &world_items(world)[i];
        item->sleeps_later = (parts->starts[i] & FLAG_ASLEEP) && !world_is_sheet(item);
    }
    world->asleep.contacts.count = world->asleep.touches.count = 0;
    world->asleep.pair_records.count = world->asleep.reported.count = 0;
    world->has_old_asleep = false;
}

/* All that can fail. Of the world, only the shapes of sheets change. */
static abut_status read_state(abut_world *world, state_parts *parts, cloth_saved_state *cloth) {
    const state_head *head = &parts->head;
    abut_status status;
    if ((status = check_reported(head->reported_count, parts->reported)) ||
        (status = check_starts(parts)) || (status = world->backend->download_poses(world)) ||
        (status = abuti_world_fetch_sheets(world)) || (status = check_world(world, parts)) ||
        (status = read_cloth(world, parts, cloth)) || (status = abuti_world_find_pairs(world)) ||
        (status = check_pairs(world, head)) ||
        (status = read_hints(world, head->pair_count, parts->hints)) ||
        (status = prepare_starts(world, parts)) || (status = read_ids(world, parts)) ||
        (status = abuti_vector_reserve(world->context, &world->reported,
                                       head->reported_is_current ? world->pairs.count
                                                                 : (size_t)head->reported_count,
                                       sizeof(world_touch))))
        return status;
    exchange_ids(world, parts);
    status = abuti_world_repeat_contacts(world, world->hints.data, head->contacts);
    if (status)
        exchange_ids(world, parts);
    return status;
}

static abut_status restore_state(abut_world *world, const unsigned char *state, size_t bytes) {
    state_parts parts = {.is_shown = false};
    cloth_saved_state cloth;
    abut_status status = read_head(state, bytes, &parts.head);
    if (status)
        return status;
    find_parts(state, &parts);
    status = read_state(world, &parts, &cloth);
    if (status) {
        abuti_release(world->context, parts.other_ids);
        world->has_old_sheets |= parts.is_shown; /* they get their shapes back */
        return status;
    }
    set_free_indices(world, &parts);
    abuti_release(world->context, parts.other_ids);
    set_sleepers(world, &parts);
    if (parts.head.cloth_bytes)
        abuti_cloth_set_state(world->cloth, &cloth);
    set_starts(world, &parts);
    if (parts.head.reported_is_current)
        abuti_world_set_reported(world);
    else
        read_reported(world, parts.head.reported_count, parts.reported);
    return ABUT_OK;
}

abut_status abut_world_restore(abut_world *world, const void *state, size_t bytes) {
    if (!world || !state)
        return abuti_null(restore_function, world ? "state" : "world");
    abut_context *before;
    abut_status status = abuti_world_enter(restore_function, world, &before);
    if (status)
        return status;
    status = world->backend->download_poses(world);
    if (!status) {
        abuti_world_suspend_sleep(world);
        status = restore_state(world, state, bytes);
        abuti_world_resume_sleep(world);
    }
    abuti_world_leave(world, before);
    return status;
}
