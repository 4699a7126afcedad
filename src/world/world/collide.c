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
    SMALL_WORK = 16384, /* of few pairs */
    PATCH_ROOM = 16,
    PATCH_CONTACTS_MAX = 8
};

/* ---- pairs of the last step ---- */

/* The record of a pair from the last step, or null. Most pairs have the same index as in the last
 * step. */
static const world_pair_record *find_record(const abut_world *world, size_t pair) {
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_pair_record *record = world->pair_records.data;
    return pair < world->pair_records.count && !world_compare_pairs(which, &record[pair])
               ? &record[pair]
               : world_find(&world->pair_records, which, sizeof *record, world_compare_pairs);
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
    return item->has_last_box ? v3_sub(box_centre(item->at.box), box_centre(item->last_box))
                              : v3(0, 0, 0);
}

/* Whether two items were apart at the last search for contacts, or had no contact. Without a record
 * a pair was apart, or a filter or sleep kept it from being tested. */
static bool were_apart(const world_pair_record *record, const world_item *a, const world_item *b) {
    return record ||
           (a->has_last_box && b->has_last_box && !box_overlaps(a->last_box, b->last_box));
}

static vec3 choose_hint(const abut_world *world, size_t pair, const world_item *a,
                        const world_item *b) {
    if (world->repeated)
        return world->repeated[pair];
    const world_pair_record *record = find_record(world, pair);
    const world_touch *last = last_touch(world, record);
    if (last && last->serial[0] == a->serial && last->serial[1] == b->serial)
        return last->event.deepest.normal;
    return were_apart(record, a, b) ? v3_sub(displacement(b), displacement(a)) : v3(0, 0, 0);
}

/* ---- one pair ---- */

abut_status abuti_world_collide(const world_method *method, const world_call *call,
                                abuti_vector *contacts, abuti_vector *patches,
                                abut_patches *found) {
    abut_context *context = call->world->context;
    *found = (abut_patches){.size = sizeof(abut_patches),
                            .patches.count = PATCH_ROOM,
                            .contacts.count = method->room};
    abut_status status;
    do {
        if ((status = abuti_vector_reserve(context, patches, (size_t)found->patches.count,
                                           sizeof(abut_patch))) ||
            (status = abuti_vector_reserve(context, contacts,
                                           contacts->count + (size_t)found->contacts.count,
                                           sizeof(abut_contact))))
            return status;
        found->patches.list = patches->data;
        found->patches.capacity = patches->room;
        found->contacts.list = (abut_contact *)contacts->data + contacts->count;
        found->contacts.capacity = contacts->room - contacts->count;
        status = method->collide(call, found);
    } while (status == ABUT_ERROR_BUFFER);
    return status;
}

static world_call make_call(const abut_world *world, size_t pair) {
    const abut_world_options *o = &world->options;
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    world_call call = {.world = (abut_world *)(uintptr_t)world,
                       .pair = pair,
                       .a = &world_items(world)[which->a],
                       .b = &world_items(world)[which->b],
                       .options = abut_patch_options_default()};
    call.options.margin = world_pair_margin(call.a, call.b);
    call.options.max_contacts =
        o->max_patch_contacts < PATCH_CONTACTS_MAX ? o->max_patch_contacts : PATCH_CONTACTS_MAX;
    call.options.skip_verification = o->skip_verification;
    return call;
}

/* Equal contacts have equal bytes. */
_Static_assert(sizeof(abut_contact) == offsetof(abut_contact, part) + sizeof(uint32_t),
               "a contact has no padding");

/* Adds the record of a pair, and its touch unless that is null. The contacts follow those of the
 * list; those of a sensor are discarded. */
static abut_status add_pair(const abut_world *world, const world_pair_record *record,
                            const world_touch *touch, world_results *results) {
    world_pair_record *added =
        ABUTI_PUSH(world->context, &results->pair_records, world_pair_record);
    world_touch *to = NULL;
    if (!added || (touch && !(to = ABUTI_PUSH(world->context, &results->touches, world_touch))))
        return ABUT_ERROR_MEMORY;
    *added = *record;
    added->touch = touch ? results->touches.count - 1 : SIZE_MAX;
    if (record->reliability.level > results->reliability.level)
        results->reliability = record->reliability;
    if (touch) {
        *to = *touch;
        results->contacts.count += (size_t)touch->event.count;
    }
    return ABUT_OK;
}

/* Copies contacts to the end of a list, whose count does not change. */
static abut_status append_contacts(const abut_world *world, const abut_contact *from, size_t count,
                                   abuti_vector *list) {
    abut_status status =
        abuti_vector_reserve(world->context, list, list->count + count, sizeof *from);
    if (!status && count)
        memcpy((abut_contact *)list->data + list->count, from, count * sizeof *from);
    return status;
}

/* Copies the contacts of the previous step. Only `first` differs. */
static abut_status copy_last_contacts(const abut_world *world, const world_pair_record *kept,
                                      world_results *results) {
    const world_touch *last = last_touch(world, kept);
    if (!last)
        return add_pair(world, kept, NULL, results);
    world_touch touch = *last;
    touch.event.first = touch.event.is_sensor ? 0 : results->contacts.count;
    abut_status status =
        append_contacts(world, (const abut_contact *)world->contacts.data + last->event.first,
                        (size_t)last->event.count, &results->contacts);
    return status ? status : add_pair(world, kept, &touch, results);
}

/* Like abuti_world_collide(), from a serial result. */
static abut_status copy_serial_contacts(const abut_world *world, const world_serial_result *from,
                                        abuti_vector *list, abut_patches *to) {
    abut_status status =
        append_contacts(world, (const abut_contact *)world->serial_contacts.data + from->first,
                        from->count, list);
    to->contacts.list = (abut_contact *)list->data + list->count;
    to->contacts.count = from->count;
    to->reliability = from->reliability;
    return status;
}

static int compare_indices(const void *x, const void *y) {
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    return (a > b) - (a < b);
}

static abut_status compute_pair(const abut_world *world, size_t pair, world_results *results) {
    const world_pair_record *kept = abuti_world_valid_record(world, pair);
    if (kept)
        return copy_last_contacts(world, kept, results);
    world_call call = make_call(world, pair);
    const world_item *a = call.a, *b = call.b;
    const world_method *method = abuti_world_method(world, a, b);
    const world_serial_result *serial_result =
        world_find(&world->serial_results, &pair, sizeof *serial_result, compare_indices);
    abut_world_pair_info info = {.method = method->method};
    world_pair_record record = {.pair = ((const abut_world_pair *)world->pairs.data)[pair]};
    if (!method->uses_all_items) {
        record.state[0] = a->state;
        record.state[1] = b->state;
    }
    abut_patches found = {.size = sizeof found};
    abut_status status = method->guarantee(a, b, &info);
    if (status)
        return status;
    if (serial_result && !serial_result->count && method->is_completed) {
        method = &abuti_world_exact;
        serial_result = NULL;
        info.method = ABUT_WORLD_EXACT;
        info.error = info.guarantee == ABUT_WORLD_GUARANTEE_LIMITED ? info.error : 0;
    }
    const bool sensor = ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
    bool touches = false;
    if (method == &abuti_world_exact && !sensor)
        call.options.hint = record.hint = choose_hint(world, pair, a, b);
    if (method == &abuti_world_exact && sensor)
        status = abuti_world_test_sensor(&call, &results->contacts, &results->patches, &touches,
                                         &found.reliability);
    else
        status =
            serial_result
                ? copy_serial_contacts(world, serial_result, &results->contacts, &found)
                : abuti_world_collide(method, &call, &results->contacts, &results->patches, &found);
    if (status)
        return status;
    /* Depths below a plane are those of vertices, for any mesh. */
    if (found.reliability.level != ABUT_RELIABILITY_GUARANTEED && a->kind != ABUT_COLLIDER_PLANE &&
        b->kind != ABUT_COLLIDER_PLANE)
        info.error = HUGE_VAL;
    record.reliability = found.reliability;
    touches = touches || found.contacts.count;
    if (!touches)
        return add_pair(world, &record, NULL, results);
    const abut_contact none = {.a = a->id, .b = b->id},
                       *deepest = sensor ? &none : found.contacts.list;
    for (size_t i = 0; !sensor && i < found.contacts.count; i++) {
        abut_contact *contact = &found.contacts.list[i];
        contact->a = a->id;
        contact->b = b->id;
        if (contact->depth > deepest->depth)
            deepest = contact;
    }
    const world_touch touch = {{a->serial, b->serial},
                               {.method = info.method,
                                .guarantee = info.guarantee,
                                .error = info.error,
                                .a = a->id,
                                .b = b->id,
                                .is_sensor = sensor,
                                .is_verified = found.is_verified,
                                .first = sensor ? 0 : results->contacts.count,
                                .count = sensor ? 0 : found.contacts.count,
                                .deepest = *deepest,
                                .reliability = found.reliability}};
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

/* Prepares the methods of all pairs, and tests those with serial methods. */
static abut_status prepare_pairs(abut_world *world) {
    const abut_world_pair *pairs = world->pairs.data;
    world_item *items = world_items(world);
    const size_t count = world->assets.count || world->characters ? world->pairs.count : 0;
    uint32_t prepared = 0; /* bits of methods */
    abut_status status;
    world->serial_results.count = world->serial_contacts.count = 0;
    for (size_t i = 0; i < count; i++) {
        world_item *a = &items[pairs[i].a], *b = &items[pairs[i].b];
        if (abuti_world_valid_record(world, i))
            continue;
        const world_method *method = abuti_world_method(world, a, b);
        if (method->prepare && !(prepared >> method->method & 1) &&
            (status = method->prepare(world)))
            return status;
        prepared |= 1u << method->method;
        if (method->prepare_pair && (status = method->prepare_pair(world, a, b)))
            return status;
        if (!method->is_serial)
            continue;
        abuti_set_fraction(0.5 * (double)i / (double)count);
        const world_call call = make_call(world, i);
        const size_t first = world->serial_contacts.count;
        abut_patches found;
        if ((status = abuti_world_collide(method, &call, &world->serial_contacts,
                                          &world->serial_patches, &found)))
            return status;
        world->serial_contacts.count += (size_t)found.contacts.count;
        world_serial_result *result =
            ABUTI_PUSH(world->context, &world->serial_results, world_serial_result);
        if (!result)
            return ABUT_ERROR_MEMORY;
        *result = (world_serial_result){i, first, (size_t)found.contacts.count, found.reliability};
    }
    return ABUT_OK;
}

/* The number of pairs per task. A step that takes about 100 us is one task: waking other threads
 * would take longer, especially if they are busy. */
static size_t choose_grain(const abut_world *world) {
    const size_t count = world->pairs.count;
    const abut_world_pair *pairs = world->pairs.data;
    size_t work = 0;
    for (size_t i = 0; i < count && i < FEW_PAIRS; i++)
        work += world_items(world)[pairs[i].a].work + world_items(world)[pairs[i].b].work;
    return count < FEW_PAIRS && work < SMALL_WORK ? (count ? count : 1)
                                                  : world_grain(count, PAIRS_PER_TASK);
}

static size_t count_chunks(const abut_world *world) {
    return abuti_chunk_count(world->pairs.count, world->grain);
}

/* Replaces the results of the previous step by those of all chunks; on failure nothing changes. */
static abut_status join_results(abut_world *world) {
    const size_t chunks = count_chunks(world);
    size_t contacts = 0, touches = 0;
    for (size_t i = 0; i < chunks; i++) {
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
    world->contacts.count = world->touches.count = world->pair_records.count = 0;
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
            to[world->touches.count++].event.first +=
                touch[k].event.is_sensor ? 0 : world->contacts.count;
        }
        if (from->contacts.count)
            memcpy((abut_contact *)world->contacts.data + world->contacts.count,
                   from->contacts.data, from->contacts.count * sizeof(abut_contact));
        world->contacts.count += from->contacts.count;
        if (from->reliability.level > world->reliability.level)
            world->reliability = from->reliability;
    }
    return ABUT_OK;
}

/* Computes the results of all pairs, by chunk. */
static abut_status compute_results(abut_world *world) {
    size_t count = world->pairs.count, grain = world->grain = choose_grain(world);
    for (size_t i = 0; i < world->items.count; i++) { /* contacts with updated fields are invalid */
        world_item *item = &world_items(world)[i];
        if (item->used && world_is_updated(item))
            abuti_world_new_state(world, item);
    }
    abut_status status = world->backend->prepare ? world->backend->prepare(world) : ABUT_OK;
    if (status || (status = prepare_pairs(world)))
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

/* Makes the results of all chunks those of the world, and stores centres for the next search. */
static abut_status finish_contacts(abut_world *world) {
    abut_status status = join_results(world);
    if (status)
        return status;
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        item->last_box = item->at.box;
        item->has_last_box = item->used && item->kind != ABUT_COLLIDER_PLANE;
    }
    world->has_contacts = true;
    world->has_reported = false;
    return ABUT_OK;
}

abut_status abuti_world_find_contacts(const char *function, abut_world *world) {
    abut_context *before;
    abut_status status = abuti_world_enter(function, world, &before);
    if (status)
        return status;
    status = abuti_world_find_pairs(world);
    if (!status && !world->has_contacts) {
        status = abuti_world_divide_pairs(world);
        if (!status)
            status = compute_results(world);
        abuti_set_fraction(0);
        if (!status)
            status = finish_contacts(world);
    }
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
    if (status || (status = ABUTI_LIST_CHECK_MEMBERS(__func__, "contacts", &ours)) ||
        (status = abuti_world_find_contacts(__func__, world)))
        return status;
    status =
        ABUTI_LIST_WRITE(__func__, "contacts", &ours, world->contacts.data, world->contacts.count);
    if (!status)
        ours.reliability = world->reliability;
    return abuti_result_write(contacts, &ours, status);
}
