/* Which pairs of items are tested: motion, groups, masks and families, a method for their data,
 * ignored pairs, and the filter of the caller.
 *
 * Ignored pairs are in a hash table with linear probing. The key is (lower id, higher id); 0 marks
 * an empty slot, because no pair has two ids of 0. Only pairs of items that have ignored pairs are
 * looked up.
 */
#include "world/world.h"

enum { FIRST_SLOTS = 64 };

/* ---- ignored pairs ---- */

/* The slot with the key, or an empty one. */
static size_t find_slot(const uint64_t *table, size_t slots, uint64_t key) {
    size_t slot = world_ignored_slot(key, slots);
    while (table[slot] && table[slot] != key)
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static bool is_ignored(const abut_world *world, uint64_t key) {
    const abuti_vector *list = &world->ignored;
    const uint64_t *table = list->data;
    return list->count && table[find_slot(table, list->room, key)] == key;
}

/* At least half of the slots stay empty. */
static abut_status insert_ignored(abut_world *world, uint64_t key) {
    abuti_vector *list = &world->ignored;
    uint64_t *table = list->data;
    if (2 * (list->count + 1) > list->room) {
        const size_t slots = list->room ? 2 * list->room : FIRST_SLOTS;
        const uint64_t *old = list->data;
        table = abuti_allocate_zeroed(world->context, slots, sizeof *table);
        if (!table)
            return ABUT_ERROR_MEMORY;
        for (size_t i = 0; i < list->room; i++)
            if (old[i])
                table[find_slot(table, slots, old[i])] = old[i];
        abuti_release(world->context, list->data);
        list->data = table;
        list->room = slots;
    }
    table[find_slot(table, list->room, key)] = key;
    list->count++;
    return ABUT_OK;
}

/* Empties a slot, and moves later entries that would become unreachable. */
static void erase_ignored(abut_world *world, size_t slot) {
    abuti_vector *list = &world->ignored;
    uint64_t *table = list->data;
    const size_t last = list->room - 1;
    for (size_t next = (slot + 1) & last; table[next]; next = (next + 1) & last)
        if (((next - world_ignored_slot(table[next], list->room)) & last) >=
            ((next - slot) & last)) {
            table[slot] = table[next];
            slot = next;
        }
    table[slot] = 0;
    list->count--;
}

void abuti_world_clear_ignored(abut_world *world, uint32_t id) {
    world_item *items = world_items(world);
    const uint64_t *table = world->ignored.data;
    for (size_t i = 0; i < world->ignored.room && items[id].ignored;) {
        uint32_t a = (uint32_t)(table[i] >> 32), b = (uint32_t)table[i];
        if (!table[i] || (a != id && b != id)) {
            i++;
            continue;
        }
        items[a].ignored--;
        items[b].ignored--;
        erase_ignored(world, i); /* another entry may have moved here */
    }
}

abut_status abut_world_ignore(abut_world *world, uint32_t a, uint32_t b, bool ignore) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = abuti_world_check_pair(__func__, world, a, b);
    a = abut_world_index(a);
    b = abut_world_index(b);
    if (status || (status = world->backend->download_poses(world)) ||
        is_ignored(world, world_ignored_key(a, b)) == ignore)
        return status;
    if (ignore && (status = insert_ignored(world, world_ignored_key(a, b))))
        return status;
    if (!ignore)
        erase_ignored(world,
                      find_slot(world->ignored.data, world->ignored.room, world_ignored_key(a, b)));
    world_item *items = world_items(world);
    items[a].ignored += ignore ? 1 : UINT32_MAX;
    items[b].ignored += ignore ? 1 : UINT32_MAX;
    abuti_world_changed(world, true);
    return ABUT_OK;
}

/* ---- all conditions ---- */

bool abuti_world_should_test(const abut_world *world, uint32_t a, uint32_t b) {
    const world_item *p = &world_items(world)[a], *q = &world_items(world)[b];
    const world_filter *f = &p->filter, *g = &q->filter;
    return world_may_collide(f, g) && abuti_world_method(world, p, q) &&
           !(p->ignored && q->ignored && is_ignored(world, world_ignored_key(a, b)));
}

bool abuti_world_accepts(const abut_world *world, uint32_t a, uint32_t b) {
    const abut_world_options *options = &world->options;
    const world_item *items = world_items(world);
    bool *is_in_call = &((abut_world *)(uintptr_t)world)->is_in_call;
    const bool before = *is_in_call;
    if (!options->accept)
        return true;
    *is_in_call = true; /* the filter must not change the world */
    const bool accepted = options->accept(options->accept_user, items[a].id, items[b].id);
    *is_in_call = before;
    return accepted;
}
