/* Which pairs of items are tested, and with which method: motion, groups and masks, the data of the
 * items, and ignored pairs.
 *
 * Ignored pairs are in a hash table with linear probing. The key is (lower id, higher id); 0 marks
 * an empty slot, because no pair has two ids of 0. Only pairs of items that have ignored pairs are
 * looked up.
 */
#include "world/world.h"

enum { FIRST_SLOTS = 64, CELLS_PER_EDGE = 2 };

world_filter abuti_world_filter(const abut_world *world, const world_item *made) {
    const abut_world_item *item = &made->is;
    const world_asset *asset = made->asset;
    world_filter f = {item->group ? item->group : 1, item->mask ? item->mask : UINT32_MAX, 0};
    const bool is_body = item->collider.kind == ABUT_COLLIDER_BODY;
    const bool is_character = item->collider.kind == ABUT_COLLIDER_CHARACTER;
    const bool is_open = world->options.method == ABUT_WORLD_AUTO; /* all methods are allowed */
    const bool exact_alone = is_body && item->method == ABUT_WORLD_EXACT;
    const abut_world_method chosen = asset ? asset->choice.method : item->method;
    const struct {
        bool is;
        uint32_t trait;
    } traits[] = {{item->motion == ABUT_WORLD_DYNAMIC, WORLD_IS_DYNAMIC},
                  {item->motion == ABUT_WORLD_STATIC, WORLD_IS_STATIC},
                  {item->is_sensor, WORLD_IS_SENSOR},
                  {!is_body && !is_character, WORLD_IS_SOLID},
                  {item->collider.kind == ABUT_COLLIDER_PLANE, WORLD_IS_PLANE},
                  {is_character, WORLD_IS_CHARACTER},
                  {is_body && item->collider.shape.body.bvh, WORLD_HAS_BVH},
                  {is_body && item->collider.shape.body.field && !exact_alone, WORLD_HAS_FIELD},
                  {is_body && item->collider.shape.body.samples && !exact_alone, WORLD_HAS_SAMPLES},
                  {is_open && asset && asset->map, WORLD_HAS_MAP},
                  {is_open && asset && chosen == ABUT_WORLD_LAYERS, WORLD_HAS_LAYERS},
                  {is_open && is_body && chosen == ABUT_WORLD_FIELD, WORLD_PREFERS_FIELD},
                  {asset && !asset->field && asset->asked == ABUT_WORLD_AUTO &&
                       (asset->sheet || !is_open),
                   WORLD_HAS_VERTICES}};
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        f.traits |= traits[i].is ? traits[i].trait : 0;
    return f;
}

/* ---- method ---- */

static bool can_use_exact(uint32_t a, uint32_t b) {
    const uint32_t fit = WORLD_HAS_BVH | WORLD_IS_SOLID;
    return (a & fit) && (b & fit) && !(a & b & WORLD_IS_PLANE);
}

/* Vertices and edges of a mesh against a field: if triangles are not larger than cells, so that the
 * field cannot represent what passes between vertices; or if there is no other method. */
bool abuti_world_by_vertices(const abut_world *world, const world_item *a, const world_item *b) {
    const uint32_t p = a->filter.traits, q = b->filter.traits;
    const bool first = (p & WORLD_HAS_VERTICES) != 0;
    const world_item *mesh = first ? a : b, *field = first ? b : a;
    if (!(mesh->filter.traits & WORLD_HAS_VERTICES) || !(field->filter.traits & WORLD_HAS_FIELD) ||
        world_has_fields(p, q))
        return false;
    return world->options.method == ABUT_WORLD_FIELD ||
           mesh->asset->longest_edge <= CELLS_PER_EDGE * field->body.field->grid.cell;
}

abut_world_method abuti_world_method(const abut_world *world, const world_item *a,
                                     const world_item *b) {
    const abut_world_method wanted = world->options.method;
    const uint32_t p = a->filter.traits, q = b->filter.traits;
    if ((p | q) & WORLD_IS_CHARACTER)
        return wanted == ABUT_WORLD_EXACT ? ABUT_WORLD_AUTO : ABUT_WORLD_RADIAL;
    if (p & q & WORLD_HAS_LAYERS)
        return ABUT_WORLD_LAYERS;
    /* Primitives have no field: their pairs are always exact. */
    bool exact = (wanted != ABUT_WORLD_FIELD || ((p | q) & WORLD_IS_SOLID)) && can_use_exact(p, q);
    bool field = wanted != ABUT_WORLD_EXACT &&
                 (world_has_fields(p, q) || abuti_world_by_vertices(world, a, b));
    if (exact && ((p | q) & WORLD_HAS_MAP) && (p & q & WORLD_HAS_BVH))
        return field ? ABUT_WORLD_FIELD : ABUT_WORLD_MAP;
    if (exact && field)
        return world->options.device || ((p | q) & WORLD_PREFERS_FIELD) ? ABUT_WORLD_FIELD
                                                                        : ABUT_WORLD_EXACT;
    return exact ? ABUT_WORLD_EXACT : field ? ABUT_WORLD_FIELD : ABUT_WORLD_AUTO;
}

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
    const uint64_t *old = list->data;
    if (2 * (list->count + 1) > list->room) {
        size_t slots = list->room ? 2 * list->room : FIRST_SLOTS;
        uint64_t *table = abuti_allocate_zeroed(world->context, slots, sizeof *table);
        if (!table)
            return ABUT_ERROR_MEMORY;
        for (size_t i = 0; i < list->room; i++)
            if (old[i])
                table[find_slot(table, slots, old[i])] = old[i];
        abuti_release(world->context, list->data);
        list->data = table;
        list->room = slots;
    }
    uint64_t *table = list->data;
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
    abut_status status = abuti_world_check_idle("abut_world_ignore", world);
    status = status ? status : world->backend->download_poses(world);
    status = status ? status : abuti_world_check_id("abut_world_ignore", world, a);
    status = status ? status : abuti_world_check_id("abut_world_ignore", world, b);
    if (!status && a == b)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_world_ignore: a and b are both %u; they must be two items", a);
    if (status || is_ignored(world, world_ignored_key(a, b)) == ignore)
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
    return world_may_collide(f, g) && abuti_world_method(world, p, q) != ABUT_WORLD_AUTO &&
           !(p->ignored && q->ignored && is_ignored(world, world_ignored_key(a, b)));
}
