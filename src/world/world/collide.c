/* Contacts of all pairs: the method of each pair, and lists by chunk.
 *
 * Chunks of consecutive pairs are processed in any order, each into its own lists, which are joined
 * when all pairs have succeeded. Until then the contacts of the previous step are only read. A pair
 * whose items have the same pose (bit for bit) and shape as before keeps its contacts: the bits
 * that the same computation with the same hint gives. Its hint is kept too, so that a pair at rest
 * does not change over time. Every change of an item gives it a new number (world_item.state), so
 * that two numbers determine whether contacts are valid. The exception are layers, whose images are
 * fitted to all items: these pairs are computed in every step.
 */
#include "world/world.h"

#include "base/checksum.h"

#include <stddef.h>

enum {
    PAIRS_PER_TASK = 2,
    FEW_PAIRS = 64,
    SMALL_SIZE = 16384, /* triangles or samples of few pairs */
    MANY_CONTACTS = 16384,
    FIELD_ROOM = 256,
    EXACT_ROOM = 32,
    PATCH_ROOM = 8,
    EXACT_CONTACTS_MAX = 8
};

/* Appends the contacts of a, a body, with b. Contacts beyond the capacity are counted. */
typedef abut_status collider(const abut_world *world, size_t pair, const world_item *a,
                             const world_item *b, abut_contacts *to);

/* ---- on the CPU ---- */

static abut_status cpu_do_nothing(abut_world *world) {
    (void)world;
    return ABUT_OK;
}

static void cpu_destroy(abut_world *world) {
    (void)world;
}

static void cpu_changed(abut_world *world, bool items) {
    (void)world;
    (void)items;
}

static abut_status cpu_pair(const abut_world *world, size_t pair, contact_call *call,
                            const contact_direction both[2]) {
    (void)world;
    (void)pair;
    return abuti_contact_pair(call, both);
}

static abut_status cpu_records(abut_world *world, abut_world_device_contacts *records) {
    (void)world;
    (void)records;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_get_device_contacts: the world has no "
                                           "device; set options->device of abut_world_create()");
}

static abut_status cpu_move(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                            size_t count) {
    (void)world;
    (void)ids;
    (void)poses;
    (void)count;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "abut_world_set_poses: poses is a device buffer, but the world has no device; "
        "set options->device of abut_world_create(), or pass poses in host memory");
}

const world_backend abuti_world_on_cpu = {.create = cpu_do_nothing,
                                          .destroy = cpu_destroy,
                                          .changed = cpu_changed,
                                          .prepare = cpu_do_nothing,
                                          .pair = cpu_pair,
                                          .records = cpu_records,
                                          .move = cpu_move,
                                          .download_poses = cpu_do_nothing};

/* ---- fields ---- */

static abut_status collide_bodies(const abut_world *world, size_t pair, const world_item *a,
                                  const world_item *b, abut_contacts *to) {
    const contact_direction both[2] = {{&b->body, &a->body, &b->at.motion, &a->at.motion, 0},
                                       {&a->body, &b->body, &a->at.motion, &b->at.motion, 1}};
    contact_call call = {.function = "abut_world_contacts",
                         .options = world_contact_options(world, a, b),
                         .out = to,
                         .serial = true};
    abut_status status = world->backend->pair(world, pair, &call, both);
    to->count = call.count;
    to->reliability = abuti_contact_reliability(b->body.samples ? a->body.field : NULL,
                                                a->body.samples ? b->body.field : NULL);
    return status ? status : call.count > to->capacity ? ABUT_ERROR_BUFFER : ABUT_OK;
}

/* Writes the contacts of a pair after those of the list, without changing its count. */
static abut_status compute_field_contacts(const abut_world *world, size_t pair, const world_item *a,
                                          const world_item *b, abuti_vector *list,
                                          abut_contacts *to) {
    const bool character = ((a->filter.traits | b->filter.traits) & WORLD_IS_CHARACTER) != 0;
    const bool swapped = a->kind != (character ? ABUT_COLLIDER_CHARACTER : ABUT_COLLIDER_BODY);
    const world_item *first = swapped ? b : a, *second = swapped ? a : b;
    collider *const try = character ? abuti_world_character_contacts : collide_bodies;
    abut_status status = ABUT_ERROR_BUFFER;
    size_t room = list->count + FIELD_ROOM;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, list, room, sizeof(abut_contact));
        if (status)
            return status;
        to->list = (abut_contact *)list->data + list->count;
        to->capacity = list->room - list->count;
        to->count = 0;
        status = try(world, pair, first, second, to);
        room = list->count + (size_t)to->count;
    }
    if (status)
        return status;
    if (swapped)
        abuti_contact_swap_sides(to->list, to->count);
    if (world->options.max_patch_contacts && !(world->backend->reduces && !character))
        to->count = abut_contact_reduce(to->list, to->count, world->options.max_patch_contacts,
                                        world->options.patch_angle);
    return ABUT_OK;
}

/* ---- exact ---- */

static int compare_pairs(const abut_world_pair *x, const abut_world_pair *y) {
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b != y->b ? (x->b < y->b ? -1 : 1) : 0;
}

/* The record of a pair from the last step, or null. Most pairs have the same index as in the last
 * step. */
static const world_pair_record *find_record(const abut_world *world, size_t pair) {
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_pair_record *record = world->pair_records.data;
    size_t begin = 0, end = world->pair_records.count;
    if (pair < end && compare_pairs(&record[pair].pair, which) == 0)
        return &record[pair];
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (compare_pairs(&record[middle].pair, which) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < world->pair_records.count && compare_pairs(&record[begin].pair, which) == 0
               ? &record[begin]
               : NULL;
}

const world_pair_record *abuti_world_valid_record(const abut_world *world, size_t pair) {
    const world_item *items = world_items(world);
    const world_pair_record *record = world->repeated ? NULL : find_record(world, pair);
    return record && record->state[0] == items[record->pair.a].state &&
                   record->state[1] == items[record->pair.b].state
               ? record
               : NULL;
}

/* The touch of a pair in the last step, or null. */
static const world_touch *last_touch(const abut_world *world, const world_pair_record *record) {
    return record && record->touch != SIZE_MAX
               ? (const world_touch *)world->touches.data + record->touch
               : NULL;
}

/* The displacement of an item since the last search for contacts. */
static vec3 displacement(const world_item *item) {
    return item->has_last_centre ? v3_sub(box_centre(item->at.box), item->last_centre)
                                 : v3(0, 0, 0);
}

static vec3 choose_hint(const abut_world *world, size_t pair, const world_item *a,
                        const world_item *b) {
    if (world->repeated)
        return world->repeated[pair];
    const world_touch *last = last_touch(world, find_record(world, pair));
    const bool same = last && last->serial[0] == a->serial && last->serial[1] == b->serial;
    return same ? last->event.deepest.normal : v3_sub(displacement(b), displacement(a));
}

abut_status abuti_world_patches(const world_item *a, const world_item *b,
                                const abut_patch_options *options, abut_patches *found) {
    const abut_collider x = abuti_world_collider(a, &a->at.pose),
                        y = abuti_world_collider(b, &b->at.pose);
    return abut_contact_find(&x, &y, options, found);
}

/* Like compute_field_contacts(), with scratch memory for patches. */
static abut_status compute_exact_contacts(const abut_world *world, vec3 hint, const world_item *a,
                                          const world_item *b, world_results *results,
                                          abut_contacts *to, bool *verified) {
    const abut_world_options *o = &world->options;
    abuti_vector *list = &results->contacts, *patches = &results->patches;
    abut_patch_options options = abut_patch_options_default();
    options.margin = world_pair_margin(a, b);
    options.max_contacts =
        o->max_patch_contacts < EXACT_CONTACTS_MAX ? o->max_patch_contacts : EXACT_CONTACTS_MAX;
    options.hint = hint;
    options.skip_verification = o->skip_verification;
    abut_patches found = {.size = sizeof found,
                          .patches.count = PATCH_ROOM,
                          .contacts.count = EXACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(world->context, patches, (size_t)found.patches.count,
                                      sizeof(abut_patch));
        if (!status)
            status = abuti_vector_reserve(world->context, list,
                                          list->count + (size_t)found.contacts.count,
                                          sizeof(abut_contact));
        if (status)
            return status;
        found.patches.list = patches->data;
        found.patches.capacity = patches->room;
        found.contacts.list = (abut_contact *)list->data + list->count;
        found.contacts.capacity = list->room - list->count;
        status = abuti_world_patches(a, b, &options, &found);
    }
    *to = (abut_contacts){.size = sizeof(abut_contacts),
                          .list = found.contacts.list,
                          .capacity = found.contacts.capacity,
                          .count = found.contacts.count,
                          .reliability = found.reliability};
    *verified = found.is_verified;
    return status;
}

/* ---- one pair ---- */

static const abut_contact *find_deepest(const abut_contacts *found) {
    const abut_contact *deepest = found->list;
    for (uint64_t i = 1; i < found->count; i++)
        if (found->list[i].depth > deepest->depth)
            deepest = &found->list[i];
    return deepest;
}

/* Equal contacts have equal bytes. */
_Static_assert(sizeof(abut_contact) == offsetof(abut_contact, part) + sizeof(uint32_t),
               "a contact has no padding");

/* Adds the record of a pair, and its touch unless that is null. The contacts follow those of the
 * list; those of a sensor are discarded. */
static abut_status add_pair(const abut_world *world, const world_pair_record *record,
                            const world_touch *touch, world_results *results) {
    abuti_vector *pairs = &results->pair_records, *touches = &results->touches;
    abut_status status =
        abuti_vector_reserve(world->context, pairs, pairs->count + 1, sizeof *record);
    if (!status && touch)
        status = abuti_vector_reserve(world->context, touches, touches->count + 1, sizeof *touch);
    if (status)
        return status;
    world_pair_record *added = (world_pair_record *)pairs->data + pairs->count++;
    *added = *record;
    added->touch = touch ? touches->count : SIZE_MAX;
    if (record->reliability.level > results->reliability.level)
        results->reliability = record->reliability;
    if (touch) {
        ((world_touch *)touches->data)[touches->count++] = *touch;
        results->contacts.count += (size_t)touch->event.count;
    }
    return ABUT_OK;
}

/* Copies the contacts of the previous step. Only `first` differs. */
static abut_status copy_last_contacts(const abut_world *world, const world_pair_record *kept,
                                      world_results *results) {
    const world_touch *last = last_touch(world, kept);
    if (!last)
        return add_pair(world, kept, NULL, results);
    abuti_vector *list = &results->contacts;
    const size_t count = (size_t)last->event.count;
    abut_status status =
        abuti_vector_reserve(world->context, list, list->count + count, sizeof(abut_contact));
    if (status)
        return status;
    const abut_contact *from = (const abut_contact *)world->contacts.data + last->event.first;
    abut_contact *to = (abut_contact *)list->data + list->count;
    if (count)
        memcpy(to, from, count * sizeof *to);
    world_touch touch = *last;
    touch.event.first = touch.event.is_sensor ? 0 : list->count;
    return add_pair(world, kept, &touch, results);
}

/* Like compute_field_contacts(), from a serial result. */
static abut_status copy_serial_contacts(const abut_world *world, const world_serial_result *from,
                                        abuti_vector *list, abut_contacts *to) {
    abut_status status =
        abuti_vector_reserve(world->context, list, list->count + from->count, sizeof(abut_contact));
    if (status)
        return status;
    to->list = (abut_contact *)list->data + list->count;
    to->count = from->count;
    to->reliability = from->reliability;
    if (from->count)
        memcpy(to->list, (const abut_contact *)world->serial_contacts.data + from->first,
               from->count * sizeof *to->list);
    return ABUT_OK;
}

static abut_status compute_pair(const abut_world *world, size_t pair, world_results *results) {
    const world_pair_record *kept = abuti_world_valid_record(world, pair);
    if (kept)
        return copy_last_contacts(world, kept, results);
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_item *a = &world_items(world)[which->a], *b = &world_items(world)[which->b];
    const world_serial_result *serial_result = abuti_world_serial_result(world, pair);
    abut_world_pair_info info;
    abut_contacts to = {.size = sizeof to, .count = 0};
    world_pair_record record = {.pair = *which, .state = {a->state, b->state}};
    bool verified = false;
    abut_status status = abuti_world_describe_pair(world, a, b, &info);
    if (status)
        return status;
    if (info.method == ABUT_WORLD_LAYERS)
        record.state[0] = record.state[1] = 0;
    /* If maps or layers find nothing, the pair is computed exactly. */
    if (serial_result && !serial_result->count && info.method != ABUT_WORLD_FIELD) {
        info.method = ABUT_WORLD_EXACT;
        info.error = info.guarantee == ABUT_WORLD_GUARANTEE_LIMITED ? info.error : 0;
    }
    if (info.method == ABUT_WORLD_EXACT) {
        record.hint = choose_hint(world, pair, a, b);
        status = compute_exact_contacts(world, record.hint, a, b, results, &to, &verified);
    } else if (serial_result)
        status = copy_serial_contacts(world, serial_result, &results->contacts, &to);
    else
        status = compute_field_contacts(world, pair, a, b, &results->contacts, &to);
    if (status)
        return status;
    /* Depths below a plane are those of vertices, for any mesh. */
    if (to.reliability.level != ABUT_RELIABILITY_GUARANTEED && a->kind != ABUT_COLLIDER_PLANE &&
        b->kind != ABUT_COLLIDER_PLANE)
        info.error = HUGE_VAL;
    record.reliability = to.reliability;
    if (!to.count)
        return add_pair(world, &record, NULL, results);
    for (size_t i = 0; i < to.count; i++) {
        to.list[i].a = which->a;
        to.list[i].b = which->b;
    }
    const bool sensor = ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
    const world_touch touch = {{a->serial, b->serial},
                               {.method = info.method,
                                .guarantee = info.guarantee,
                                .error = info.error,
                                .a = which->a,
                                .b = which->b,
                                .is_sensor = sensor,
                                .is_verified = verified,
                                .first = sensor ? 0 : results->contacts.count,
                                .count = sensor ? 0 : to.count,
                                .deepest = *find_deepest(&to),
                                .reliability = to.reliability}};
    return add_pair(world, &record, &touch, results);
}

/* ---- all pairs ---- */

static void compute_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    abut_world *world = data;
    world_results *to = &world->results[chunk];
    to->contacts.count = to->touches.count = to->pair_records.count = 0;
    to->reliability = abuti_contact_reliability(NULL, NULL);
    to->status = ABUT_OK;
    for (size_t i = begin; i < end && !to->status; i++) {
        const double done = (double)i / (double)world->pairs.count;
        abuti_set_fraction(world->serial_results.count ? 0.5 + 0.5 * done : done);
        to->status = compute_pair(world, i, to);
    }
}

/* An estimate of the work for an item. */
static size_t estimate_work(const world_item *item) {
    if (item->kind == ABUT_COLLIDER_CHARACTER)
        return abuti_world_character_size(item);
    return item->bvh            ? item->bvh->triangle_count
           : item->body.samples ? item->body.samples->view.count
                                : 1;
}

/* The number of pairs per task. A step that takes about 100 us is one task: waking other threads
 * would take longer, especially if they are busy. */
static size_t choose_grain(const abut_world *world) {
    const size_t count = world->pairs.count;
    const abut_world_pair *pairs = world->pairs.data;
    size_t size = 0;
    for (size_t i = 0; i < count && i < FEW_PAIRS; i++)
        size += estimate_work(&world_items(world)[pairs[i].a]) +
                estimate_work(&world_items(world)[pairs[i].b]);
    return count < FEW_PAIRS && size < SMALL_SIZE ? (count ? count : 1)
                                                  : world_grain(count, PAIRS_PER_TASK);
}

static size_t count_chunks(const abut_world *world) {
    return abuti_chunk_count(world->pairs.count, world->grain);
}

/* Copies the contacts of all chunks to the world. */
typedef struct join_task {
    const abut_world *world;
    size_t begin[WORLD_CHUNKS];
} join_task;

static void join_contacts(void *data, size_t chunk, size_t begin, size_t end) {
    const join_task *j = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const abuti_vector *list = &j->world->results[i].contacts;
        if (list->count)
            memcpy((abut_contact *)j->world->contacts.data + j->begin[i], list->data,
                   list->count * sizeof(abut_contact));
    }
}

/* Replaces the results of the previous step by those of all chunks; on failure nothing changes. */
static abut_status join_results(abut_world *world) {
    const size_t chunks = count_chunks(world);
    size_t contacts = 0, touches = 0;
    join_task j = {.world = world};
    for (size_t i = 0; i < chunks; i++) {
        j.begin[i] = contacts;
        contacts += world->results[i].contacts.count;
        touches += world->results[i].touches.count;
    }
    abut_status status =
        abuti_vector_reserve(world->context, &world->contacts, contacts, sizeof(abut_contact));
    if (!status)
        status =
            abuti_vector_reserve(world->context, &world->touches, touches, sizeof(world_touch));
    if (!status)
        status = abuti_vector_reserve(world->context, &world->pair_records, world->pairs.count,
                                      sizeof(world_pair_record));
    if (status)
        return status;
    if (chunks)
        abuti_parallel_for(world->context, chunks, contacts < MANY_CONTACTS ? chunks : 1,
                           join_contacts, &j);
    world->contacts.count = contacts;
    world->touches.count = world->pair_records.count = 0;
    world->reliability = abuti_contact_reliability(NULL, NULL);
    for (size_t i = 0; i < chunks; i++) {
        const world_results *from = &world->results[i];
        const world_touch *touch = from->touches.data;
        const world_pair_record *record = from->pair_records.data;
        world_touch *to = world->touches.data;
        for (size_t k = 0; k < from->pair_records.count; k++) {
            world_pair_record *pair =
                (world_pair_record *)world->pair_records.data + world->pair_records.count++;
            *pair = record[k];
            pair->touch += pair->touch == SIZE_MAX ? 0 : world->touches.count;
        }
        for (size_t k = 0; k < from->touches.count; k++) {
            to[world->touches.count] = touch[k];
            to[world->touches.count++].event.first += touch[k].event.is_sensor ? 0 : j.begin[i];
        }
        if (from->reliability.level > world->reliability.level)
            world->reliability = from->reliability;
    }
    return ABUT_OK;
}

/* Stores the centres of items for the next search. */
static void store_centres(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        item->last_centre = box_centre(item->at.box);
        item->has_last_centre = item->used && item->kind != ABUT_COLLIDER_PLANE;
    }
    world->has_contacts = true;
}

/* Invalidates contacts with fields that were updated. */
static void invalidate_updated(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        if (item->used && world_is_updated(item))
            abuti_world_new_state(world, item);
    }
}

/* Computes the results of all pairs, by chunk. */
static abut_status compute_results(abut_world *world) {
    size_t count = world->pairs.count, grain = world->grain = choose_grain(world);
    invalidate_updated(world);
    abut_status status = world->backend->prepare(world);
    status = status ? status : abuti_world_download_characters(world);
    status = status ? status : abuti_world_prepare_characters(world);
    status = status ? status : abuti_world_find_serial(world);
    if (status)
        return status;
    if (count)
        status = abuti_parallel_try(world->context, "world", count, grain, compute_chunk, world);
    if (status)
        return status;
    for (size_t i = 0; i < count_chunks(world); i++) {
        status = world->results[i].status;
        if (status == ABUT_ERROR_MEMORY)
            return abuti_fail(status, "abut_world_contacts: out of memory for contacts");
        if (status) { /* repeated on this thread for the error message */
            compute_chunk(world, i, i * grain, (i + 1) * grain < count ? (i + 1) * grain : count);
            if (world->results[i].status)
                return world->results[i].status;
        }
    }
    return ABUT_OK;
}

static abut_status finish_contacts(abut_world *world) {
    abut_status status = join_results(world);
    if (status)
        return status;
    store_centres(world);
    world->has_reported = false;
    return ABUT_OK;
}

static abut_status find_contacts(abut_world *world) {
    abut_status status = abuti_world_find_pairs(world);
    if (status || world->has_contacts)
        return status;
    status = compute_results(world);
    abuti_set_fraction(0);
    return status ? status : finish_contacts(world);
}

abut_status abuti_world_find_contacts(const char *function, abut_world *world) {
    abut_context *before;
    abut_status status = abuti_world_enter(function, world, &before);
    if (status)
        return status;
    status = find_contacts(world);
    abuti_world_leave(world, before);
    return status;
}

/* ---- recomputation from a saved state ---- */

static uint64_t mix(uint64_t before, const void *data, size_t bytes) {
    const uint64_t both[2] = {before, abuti_checksum(data, bytes)};
    return abuti_checksum(both, sizeof both);
}

static void digest_results(uint64_t to[2], const abuti_vector *contacts,
                           const abuti_vector *touches) {
    const abut_contact *contact = contacts->data;
    const world_touch *touch = touches->data;
    for (size_t i = 0; i < contacts->count; i++)
        to[0] = mix(to[0], &contact[i], sizeof contact[i]);
    for (size_t i = 0; i < touches->count; i++) {
        const abut_world_event *e = &touch[i].event;
        const uint64_t facts[] = {e->a,         e->b,         (uint64_t)e->method,
                                  e->guarantee, e->is_sensor, e->is_verified,
                                  e->count};
        to[1] = mix(to[1], facts, sizeof facts);
        to[1] = mix(to[1], &e->deepest, sizeof e->deepest);
    }
}

uint64_t abuti_world_contacts_digest(const abut_world *world) {
    uint64_t parts[2] = {0, 0};
    digest_results(parts, &world->contacts, &world->touches);
    return abuti_checksum(parts, sizeof parts);
}

abut_status abuti_world_repeat_contacts(abut_world *world, const vec3 *hints, uint64_t digest) {
    uint64_t parts[2] = {0, 0};
    world->repeated = hints;
    abut_status status = compute_results(world);
    abuti_set_fraction(0);
    world->repeated = NULL;
    if (status)
        return status;
    for (size_t i = 0; i < count_chunks(world); i++)
        digest_results(parts, &world->results[i].contacts, &world->results[i].touches);
    if (abuti_checksum(parts, sizeof parts) != digest)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_restore: the contacts of this world are not those that were "
                          "saved: a field, samples or a character of an item differ, or the state "
                          "was saved by another version of abut");
    return finish_contacts(world);
}

abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts) {
    abut_contacts ours = abut_contacts_default();
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = abuti_result_read(&ours, sizeof ours, contacts, __func__, "contacts");
    status = status ? status : ABUTI_LIST_CHECK_MEMBERS(__func__, "contacts", &ours);
    status = status ? status : abuti_world_find_contacts("abut_world_contacts", world);
    if (status)
        return status;
    status =
        ABUTI_LIST_WRITE(__func__, "contacts", &ours, world->contacts.data, world->contacts.count);
    if (!status)
        ours.reliability = world->reliability;
    return abuti_result_write(contacts, &ours, status);
}
