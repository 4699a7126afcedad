/* Sleeping items. Pairs of two sleeping items, or of a sleeping and a static one, are set aside
 * with their contacts: they are no candidate pairs, and steps do not visit them. When an item
 * wakes, its pairs are merged with the others, where they are pairs at rest (collide.c) that keep
 * their contacts. So neither falling asleep nor waking computes contacts or has events.
 *
 * Both are cheap for any number of items: they only set flags, and the next computation of contacts
 * divides all pairs once.
 */
#include "world/world.h"

static bool is_asleep(const world_item *item) {
    return item->filter.traits & WORLD_IS_ASLEEP;
}

/* ---- flags ---- */

void abuti_world_wake(abut_world *world, world_item *item) {
    if (!is_asleep(item))
        return;
    item->filter.traits &= ~(uint32_t)WORLD_IS_ASLEEP;
    world->asleep_count--;
    world->has_woken = world->has_old_asleep = true;
}

static void let_sleep(abut_world *world, world_item *item) {
    if (is_asleep(item))
        return;
    item->filter.traits |= WORLD_IS_ASLEEP;
    world->asleep_count++;
    world->has_woken = world->has_old_asleep = true;
}

abut_status abut_world_set_asleep(abut_world *world, const uint32_t *ids, size_t count,
                                  bool asleep) {
    uint32_t at;
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = abuti_world_check_idle(__func__, world);
    if (!status && !ids && count > world->items.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: ids is null and count is %zu, but the world has only %zu items",
                          __func__, count, world->items.count);
    if (!status)
        status = world->backend->download_poses(world);
    for (size_t i = 0; i < count && !status; i++) {
        status = abuti_world_find_index(__func__, world, ids, i, &at);
        if (!status && asleep && world_is_sheet(&world_items(world)[at]))
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: item %u is a sheet of cloth, which cannot sleep", __func__,
                                world_items(world)[at].id);
    }
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        world_item *item = &world_items(world)[ids ? abut_world_index(ids[i]) : i];
        if (asleep)
            let_sleep(world, item);
        else
            abuti_world_wake(world, item);
    }
    if (world->has_woken)
        abuti_world_changed(world, true);
    return ABUT_OK;
}

bool abut_world_is_asleep(const abut_world *world, uint32_t id) {
    const uint32_t at = abut_world_index(id);
    return world && at < world->items.count && world_items(world)[at].used &&
           world_items(world)[at].id == id && is_asleep(&world_items(world)[at]);
}

/* ---- saved states ---- */

void abuti_world_suspend_sleep(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        item->sleeps_later = item->used && is_asleep(item);
        abuti_world_wake(world, item);
    }
    if (world->has_woken)
        abuti_world_changed(world, true);
}

void abuti_world_resume_sleep(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].used && world_items(world)[i].sleeps_later)
            let_sleep(world, &world_items(world)[i]);
    if (world->has_woken)
        abuti_world_changed(world, true);
}

/* ---- pairs ---- */

/* Whether a pair is set aside. Its items must be the ones with these serial numbers. */
static bool is_aside(const abut_world *world, const abut_world_pair *pair,
                     const world_touch *touch) {
    const uint32_t resting = WORLD_IS_STATIC | WORLD_IS_ASLEEP, a = abut_world_index(pair->a),
                   b = abut_world_index(pair->b);
    if (a >= world->items.count || b >= world->items.count)
        return false;
    const world_item *p = &world_items(world)[a], *q = &world_items(world)[b];
    return p->used && q->used && (p->filter.traits & resting) && (q->filter.traits & resting) &&
           (!touch || (touch->serial[0] == p->serial && touch->serial[1] == q->serial));
}

static abut_status reserve_set(abut_world *world, world_pair_set *to,
                               const world_pair_set from[2]) {
    abut_context *context = world->context;
    abut_status status;
    to->contacts.count = to->touches.count = to->pair_records.count = to->reported.count = 0;
    if ((status = abuti_vector_reserve(context, &to->contacts,
                                       from[0].contacts.count + from[1].contacts.count,
                                       sizeof(abut_contact))) ||
        (status = abuti_vector_reserve(context, &to->touches,
                                       from[0].touches.count + from[1].touches.count,
                                       sizeof(world_touch))) ||
        (status = abuti_vector_reserve(context, &to->pair_records,
                                       from[0].pair_records.count + from[1].pair_records.count,
                                       sizeof(world_pair_record))) ||
        (status = abuti_vector_reserve(context, &to->reported,
                                       from[0].reported.count + from[1].reported.count,
                                       sizeof(world_touch))))
        return status;
    return ABUT_OK;
}

/* Appends a record, with its touch and contacts, to a set that has the capacity. */
static void append_record(world_pair_set *to, const world_pair_set *from,
                          const world_pair_record *record) {
    world_pair_record *added =
        &ABUTI_AT(&to->pair_records, world_pair_record, to->pair_records.count++);
    *added = *record;
    if (record->touch == SIZE_MAX)
        return;
    const world_touch *touch = &ABUTI_AT(&from->touches, const world_touch, record->touch);
    world_touch *copy = &ABUTI_AT(&to->touches, world_touch, to->touches.count);
    added->touch = to->touches.count++;
    *copy = *touch;
    if (!touch->event.count)
        return;
    copy->event.first = to->contacts.count;
    memcpy((abut_contact *)to->contacts.data + to->contacts.count,
           (const abut_contact *)from->contacts.data + touch->event.first,
           (size_t)touch->event.count * sizeof(abut_contact));
    to->contacts.count += (size_t)touch->event.count;
}

/* Merges the records of two sets and divides them. If a removed item had the index of a new one,
 * only the record of the first set is kept. */
static void divide_records(const abut_world *world, const world_pair_set from[2],
                           world_pair_set to[2]) {
    const world_pair_record *x = from[0].pair_records.data, *y = from[1].pair_records.data;
    for (size_t i = 0, k = 0; i < from[0].pair_records.count || k < from[1].pair_records.count;) {
        const int order = i == from[0].pair_records.count   ? 1
                          : k == from[1].pair_records.count ? -1
                                                            : world_compare_pairs(&x[i], &y[k]);
        const world_pair_record *record = order > 0 ? &y[k] : &x[i];
        const world_pair_set *of = &from[order > 0];
        const world_touch *touch = record->touch == SIZE_MAX
                                       ? NULL
                                       : &ABUTI_AT(&of->touches, const world_touch, record->touch);
        append_record(&to[is_aside(world, &record->pair, touch)], of, record);
        i += order <= 0;
        k += order >= 0;
    }
}

/* Does the same with the pairs of the last events. Those of removed items come first. */
static void divide_reported(const abut_world *world, const world_pair_set from[2],
                            world_pair_set to[2]) {
    const world_touch *x = from[0].reported.data, *y = from[1].reported.data;
    for (size_t i = 0, k = 0; i < from[0].reported.count || k < from[1].reported.count;) {
        const abut_world_pair p = i < from[0].reported.count
                                      ? (abut_world_pair){x[i].event.a, x[i].event.b}
                                      : (abut_world_pair){ABUT_NONE, ABUT_NONE},
                              q = k < from[1].reported.count
                                      ? (abut_world_pair){y[k].event.a, y[k].event.b}
                                      : (abut_world_pair){ABUT_NONE, ABUT_NONE};
        const bool second = world_compare_pairs(&p, &q) >= 0 && k < from[1].reported.count;
        const world_touch *touch = second ? &y[k++] : &x[i++];
        world_pair_set *set = &to[is_aside(world, second ? &q : &p, touch)];
        ABUTI_AT(&set->reported, world_touch, set->reported.count++) = *touch;
    }
}

abut_status abuti_world_divide_pairs(abut_world *world) {
    const world_pair_set from[2] = {{world->contacts, world->touches, world->pair_records,
                                     world->reported},
                                    world->asleep};
    abut_status status;
    if (!world->has_old_asleep)
        return ABUT_OK;
    if ((status = reserve_set(world, &world->divided[0], from)) ||
        (status = reserve_set(world, &world->divided[1], from)))
        return status;
    divide_records(world, from, world->divided);
    divide_reported(world, from, world->divided);
    world->contacts = world->divided[0].contacts;
    world->touches = world->divided[0].touches;
    world->pair_records = world->divided[0].pair_records;
    world->reported = world->divided[0].reported;
    world->asleep = world->divided[1];
    memcpy(world->divided, from, sizeof from); /* their memory is used next time */
    world->has_old_asleep = false;
    return ABUT_OK;
}
