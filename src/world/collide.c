/* Contacts of all pairs: a table of what is tried for two kinds, and lists chunk by chunk.
 *
 * Chunks of consecutive pairs are worked on in any order, each into a list of its own that is kept
 * for the next time; one after the other they are the answer.
 */
#include "world/world.h"

enum { PAIRS_A_TASK = 8, FIRST_ROOM = 256 };

/* Tries a, a body, against b. What does not fit is counted. */
typedef abut_status collider(const abut_world *world, size_t pair, const world_item *a,
                             const world_item *b, abut_contacts *to);

/* ---- on the CPU ---- */

static abut_status cpu_nothing(abut_world *world) {
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

static abut_status cpu_records(abut_world *world, abut_world_records *records) {
    (void)world;
    (void)records;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "abut_world_records_get: the world has no device; see options->device");
}

const world_backend abuti_world_on_cpu = {.create = cpu_nothing,
                                          .destroy = cpu_destroy,
                                          .changed = cpu_changed,
                                          .prepare = cpu_nothing,
                                          .pair = cpu_pair,
                                          .records = cpu_records};

/* ---- the table ---- */

static abut_status try_bodies(const abut_world *world, size_t pair, const world_item *a,
                              const world_item *b, abut_contacts *to) {
    const contact_direction both[2] = {{&b->body, &a->body, &b->at.motion, &a->at.motion, 0},
                                       {&a->body, &b->body, &a->at.motion, &b->at.motion, 1}};
    contact_call call = {.function = "abut_world_contacts",
                         .options = world->contact,
                         .out = to,
                         .serial = true};
    abut_status status = world->backend->pair(world, pair, &call, both);
    to->count = call.count;
    return status ? status : call.count > to->capacity ? ABUT_ERROR_BUFFER : ABUT_OK;
}

static abut_status try_plane(const abut_world *world, size_t pair, const world_item *a,
                             const world_item *b, abut_contacts *to) {
    const abut_body body = {a->body.field, a->body.samples, a->at.pose};
    (void)pair;
    return abut_contact_plane(&body, &b->at.solid.plane, &world->contact, to);
}

static abut_status try_sphere(const abut_world *world, size_t pair, const world_item *a,
                              const world_item *b, abut_contacts *to) {
    const abut_body body = {a->body.field, a->body.samples, a->at.pose};
    (void)pair;
    return abut_contact_sphere(&body, &b->at.solid.sphere, &world->contact, to);
}

static abut_status try_capsule(const abut_world *world, size_t pair, const world_item *a,
                               const world_item *b, abut_contacts *to) {
    const abut_body body = {a->body.field, a->body.samples, a->at.pose};
    (void)pair;
    return abut_contact_capsule(&body, &b->at.solid.capsule, &world->contact, to);
}

static abut_status try_box(const abut_world *world, size_t pair, const world_item *a,
                           const world_item *b, abut_contacts *to) {
    const abut_body body = {a->body.field, a->body.samples, a->at.pose};
    (void)pair;
    return abut_contact_box(&body, &b->at.solid.box, &world->contact, to);
}

/* By the kinds of a and b. */
static collider *const table[ABUT_WORLD_BOX + 1][ABUT_WORLD_BOX + 1] = {
    {try_bodies, try_plane, try_sphere, try_capsule, try_box}};

static bool one_way(const world_item *a, const world_item *b) {
    if (!table[a->kind][b->kind])
        return false;
    if (b->kind == ABUT_WORLD_BODY) /* whose field and whose samples does not matter */
        return (a->body.field && b->body.samples) || (b->body.field && a->body.samples);
    return b->kind == ABUT_WORLD_PLANE ? a->body.samples != NULL : a->body.field != NULL;
}

bool abuti_world_collides(const world_item *a, const world_item *b) {
    return one_way(a, b) || one_way(b, a);
}

/* ---- a pair ---- */

static void reverse(abut_contact *list, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        abut_contact other = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = other;
    }
}

/* Contacts of b with a as those of a with b: features of a first again. */
static void swap_sides(abut_contact *list, size_t count) {
    size_t of_first = 0;
    for (size_t i = 0; i < count; i++) {
        of_first += !list[i].side;
        list[i].side = !list[i].side;
        list[i].normal = contact_back(list[i].normal);
        list[i].id = contact_id(list[i].side, list[i].kind, list[i].element, list[i].part);
    }
    reverse(list, of_first);
    reverse(list + of_first, count - of_first);
    reverse(list, count);
}

/* Adds the contacts of a pair to a list. */
static abut_status try_pair(const abut_world *world, size_t pair, world_list *list) {
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_item *a = &world_items(world)[which->a], *b = &world_items(world)[which->b];
    bool swapped = !one_way(a, b);
    if (swapped && !one_way(b, a))
        return ABUT_OK;
    const world_item *first = swapped ? b : a, *second = swapped ? a : b;
    abut_contacts to = {.count = 0};
    abut_status status = ABUT_ERROR_BUFFER;
    size_t room = list->count + FIRST_ROOM;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_world_reserve(world->context, list, room, sizeof(abut_contact));
        if (status)
            return status;
        to.list = (abut_contact *)list->data + list->count;
        to.capacity = list->room - list->count;
        to.count = 0;
        status = table[first->kind][second->kind](world, pair, first, second, &to);
        room = list->count + to.count;
    }
    if (status)
        return status;
    if (swapped)
        swap_sides(to.list, to.count);
    if (world->options.patch_contacts)
        to.count = abut_contact_reduce(to.list, to.count, world->options.patch_contacts,
                                       world->options.angle);
    for (size_t i = 0; i < to.count; i++)
        to.list[i].pair = (uint32_t)pair;
    list->count += to.count;
    return ABUT_OK;
}

/* ---- all ---- */

static void try_some(void *data, size_t chunk, size_t begin, size_t end) {
    abut_world *world = data;
    world_chunk *to = &world->contact_chunks[chunk];
    to->list.count = 0;
    to->status = ABUT_OK;
    for (size_t i = begin; i < end && !to->status; i++)
        to->status = try_pair(world, i, &to->list);
}

/* Finds the contacts unless they are known. */
static abut_status find_contacts(abut_world *world) {
    abut_status status = abuti_world_find_pairs(world);
    if (status || world->has_contacts)
        return status;
    size_t count = world->pairs.count, grain = world_grain(count, PAIRS_A_TASK);
    world->contact_count = 0;
    status = world->backend->prepare(world);
    if (status)
        return status;
    if (count)
        abuti_parallel_for(world->context, count, grain, try_some, world);
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++) {
        if (world->contact_chunks[i].status)
            return abuti_fail(world->contact_chunks[i].status,
                              "abut_world_contacts: no memory for contacts");
        world->contact_count += world->contact_chunks[i].list.count;
    }
    world->has_contacts = true;
    return ABUT_OK;
}

typedef struct copies {
    const abut_world *world;
    abut_contacts *to;
    size_t begin[WORLD_CHUNKS];
} copies;

static void copy_some(void *data, size_t chunk, size_t begin, size_t end) {
    const copies *c = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const world_list *list = &c->world->contact_chunks[i].list;
        if (list->count)
            memcpy(c->to->list + c->begin[i], list->data, list->count * sizeof *c->to->list);
    }
}

/* The worst that the fields of bodies say of their signs. */
static abut_advice worst_advice(const abut_world *world) {
    abut_advice worst = abuti_contact_advice(NULL, NULL);
    for (size_t i = 0; i < world->items.count; i++) {
        const world_item *item = &world_items(world)[i];
        bool is_body = item->used && item->kind == ABUT_WORLD_BODY;
        abut_advice own = abuti_contact_advice(is_body ? item->body.field : NULL, NULL);
        worst = own.verdict > worst.verdict ? own : worst;
    }
    return worst;
}

abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts) {
    if (!world || !contacts || (!contacts->list && contacts->capacity))
        return abuti_null(__func__, !world ? "world" : !contacts ? "contacts" : "contacts->list");
    abut_status status = find_contacts(world);
    if (status)
        return status;
    size_t count = world->pairs.count, at = 0;
    size_t chunks = abuti_chunk_count(count, world_grain(count, PAIRS_A_TASK));
    copies c = {.world = world, .to = contacts};
    contacts->count = world->contact_count;
    if (world->contact_count > contacts->capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_world_contacts: there are %zu contacts, and room for %llu",
                          world->contact_count, (unsigned long long)contacts->capacity);
    contacts->advice = worst_advice(world);
    for (size_t i = 0; i < chunks; i++) {
        c.begin[i] = at;
        at += world->contact_chunks[i].list.count;
    }
    if (chunks)
        abuti_parallel_for(world->context, chunks, 1, copy_some, &c);
    return ABUT_OK;
}
