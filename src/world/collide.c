/* Contacts of all pairs: how each is tried, and lists chunk by chunk.
 *
 * Chunks of consecutive pairs are processed in any order, each into lists of its own; these are
 * joined when all pairs have succeeded. Until then the contacts of the step before are only read. A
 * pair of which neither item has another pose (bit for bit) or shape than then keeps its contacts:
 * the bits that the same computation with the same hint gives. The pair's hint stays the same too,
 * so that a pair at rest does not change because time passes. Every change of an item gives it a
 * new number (world_item.state), so two numbers tell whether contacts are valid. The exception are
 * layers, whose images are fitted to all items: these pairs are computed in every step.
 */
#include "world/world.h"

#include "base/checksum.h"

#include <stddef.h>

enum {
    PAIRS_A_TASK = 2,
    FEW_PAIRS = 64,
    SMALL_SIZE = 16384, /* triangles or samples of few pairs */
    MANY_CONTACTS = 16384,
    FIELD_ROOM = 256,
    EXACT_ROOM = 32,
    PATCH_ROOM = 8,
    EXACT_KEEP = 8
};

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

static abut_status cpu_move(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                            size_t count) {
    (void)world;
    (void)ids;
    (void)poses;
    (void)count;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_move: the poses are in a buffer, and the "
                                           "world has no device; see options->device");
}

const world_backend abuti_world_on_cpu = {.create = cpu_nothing,
                                          .destroy = cpu_destroy,
                                          .changed = cpu_changed,
                                          .prepare = cpu_nothing,
                                          .pair = cpu_pair,
                                          .records = cpu_records,
                                          .move = cpu_move,
                                          .bring = cpu_nothing};

/* ---- by fields ---- */

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
    to->advice = abuti_contact_advice(b->body.samples ? a->body.field : NULL,
                                      a->body.samples ? b->body.field : NULL);
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

/* A body against something of each kind. */
static collider *const by_field[] = {try_bodies, try_plane, try_sphere, try_capsule, try_box};

static void reverse(abut_contact *list, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        abut_contact other = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = other;
    }
}

/* All of them: features of a first again. */
static void swap_sides(abut_contact *list, size_t count) {
    size_t of_first = 0;
    for (size_t i = 0; i < count; i++) {
        of_first += !list[i].side;
        world_swap_contact(&list[i]);
    }
    reverse(list, of_first);
    reverse(list + of_first, count - of_first);
    reverse(list, count);
}

/* Adds the contacts of a pair behind those of the list, without counting them. */
static abut_status try_fields(const abut_world *world, size_t pair, const world_item *a,
                              const world_item *b, abuti_vector *list, abut_contacts *to) {
    const bool character = ((a->filter.traits | b->filter.traits) & WORLD_IS_CHARACTER) != 0;
    const bool swapped = a->kind != (character ? ABUT_WORLD_CHARACTER : ABUT_WORLD_BODY);
    const world_item *first = swapped ? b : a, *second = swapped ? a : b;
    collider *const try = character ? abuti_world_try_character : by_field[second->kind];
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
        swap_sides(to->list, to->count);
    if (world->options.patch_contacts &&
        !(world->backend->reduces && second->kind == ABUT_WORLD_BODY && !character))
        to->count = abut_contact_reduce(to->list, to->count, world->options.patch_contacts,
                                        world->options.angle);
    return ABUT_OK;
}

/* ---- exact ---- */

static int compare_pairs(const abut_world_pair *x, const abut_world_pair *y) {
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b != y->b ? (x->b < y->b ? -1 : 1) : 0;
}

/* What is known of a pair from the last time; null: it was no candidate. Most candidates are those
 * of the last time, and in their old place. */
static const world_tried *find_tried(const abut_world *world, size_t pair) {
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_tried *tried = world->tried.data;
    size_t begin = 0, end = world->tried.count;
    if (pair < end && compare_pairs(&tried[pair].pair, which) == 0)
        return &tried[pair];
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (compare_pairs(&tried[middle].pair, which) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < world->tried.count && compare_pairs(&tried[begin].pair, which) == 0
               ? &tried[begin]
               : NULL;
}

const world_tried *abuti_world_kept(const abut_world *world, size_t pair) {
    const world_item *items = world_items(world);
    const world_tried *tried = world->repeated ? NULL : find_tried(world, pair);
    return tried && tried->state[0] == items[tried->pair.a].state &&
                   tried->state[1] == items[tried->pair.b].state
               ? tried
               : NULL;
}

/* Where a pair touched the last time; null: it did not. */
static const world_touch *touch_of(const abut_world *world, const world_tried *tried) {
    return tried && tried->touch != SIZE_MAX
               ? (const world_touch *)world->touches.data + tried->touch
               : NULL;
}

/* By how much an item has moved since contacts were last found. */
static vec3 motion_of(const world_item *item) {
    return item->was_seen ? v3_sub(box_centre(item->at.box), item->seen) : v3(0, 0, 0);
}

static vec3 hint_of(const abut_world *world, size_t pair, const world_item *a,
                    const world_item *b) {
    if (world->repeated)
        return world->repeated[pair];
    const world_touch *last = touch_of(world, find_tried(world, pair));
    const bool same = last && last->born[0] == a->born && last->born[1] == b->born;
    return same ? last->event.deepest.normal : v3_sub(motion_of(b), motion_of(a));
}

/* A solid that is a, against a body: asked the other way round. */
static abut_status ask_swapped(const world_item *a, const world_item *b,
                               const abut_patch_options *options, abut_patches *found) {
    const abut_posed body = {b->bvh, b->at.pose};
    const abut_solid solid = abuti_world_solid(&a->is, &a->at.pose);
    abut_patch_options ours = *options;
    ours.hint = contact_back(ours.hint);
    abut_status status = abut_contact_solid(&body, &solid, &ours, found);
    for (uint64_t i = 0; i < found->contact_count && !status; i++)
        world_swap_contact(&found->contacts[i]);
    for (uint64_t i = 0; i < found->count && !status; i++)
        found->list[i].normal = contact_back(found->list[i].normal);
    return status;
}

abut_status abuti_world_patches(const world_item *a, const world_item *b,
                                const abut_patch_options *options, abut_patches *found) {
    const bool body_a = a->kind == ABUT_WORLD_BODY, body_b = b->kind == ABUT_WORLD_BODY;
    if (!body_a && body_b)
        return ask_swapped(a, b, options, found);
    const abut_posed p = {a->bvh, a->at.pose}, q = {b->bvh, b->at.pose};
    if (body_a && body_b)
        return abut_contact_patches(&p, &q, options, found);
    const abut_solid x = abuti_world_solid(&a->is, &a->at.pose),
                     y = abuti_world_solid(&b->is, &b->at.pose);
    return body_a ? abut_contact_solid(&p, &y, options, found)
                  : abut_contact_solids(&x, &y, options, found);
}

/* As try_fields(), with patches for a moment. */
static abut_status try_exact(const abut_world *world, vec3 hint, const world_item *a,
                             const world_item *b, world_answers *answers, abut_contacts *to,
                             bool *separates) {
    const abut_world_options *o = &world->options;
    abuti_vector *list = &answers->contacts, *patches = &answers->patches;
    abut_patch_options options = abut_patch_options_default();
    options.margin = o->margin;
    options.keep = o->patch_contacts < EXACT_KEEP ? o->patch_contacts : EXACT_KEEP;
    options.hint = hint;
    options.unchecked = o->unchecked;
    abut_patches found = {.count = PATCH_ROOM, .contact_count = EXACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status =
            abuti_vector_reserve(world->context, patches, (size_t)found.count, sizeof(abut_patch));
        if (!status)
            status = abuti_vector_reserve(world->context, list,
                                          list->count + (size_t)found.contact_count,
                                          sizeof(abut_contact));
        if (status)
            return status;
        found.list = patches->data;
        found.capacity = patches->room;
        found.contacts = (abut_contact *)list->data + list->count;
        found.contact_capacity = list->room - list->count;
        status = abuti_world_patches(a, b, &options, &found);
    }
    *to =
        (abut_contacts){found.contacts, found.contact_capacity, found.contact_count, found.advice};
    *separates = found.separates;
    return status;
}

/* ---- a pair ---- */

static const abut_contact *deepest_of(const abut_contacts *found) {
    const abut_contact *deepest = found->list;
    for (uint64_t i = 1; i < found->count; i++)
        if (found->list[i].depth > deepest->depth)
            deepest = &found->list[i];
    return deepest;
}

enum { CONTACT_BYTES = offsetof(abut_contact, part) + sizeof(uint32_t) }; /* without padding */

/* Sets the number of the pair, and clears the padding, so that equal contacts are equal bytes. */
static void set_pair(abut_contact *contact, size_t pair) {
    contact->pair = (uint32_t)pair;
    memset((unsigned char *)contact + CONTACT_BYTES, 0, sizeof *contact - CONTACT_BYTES);
}

/* Adds a pair, and a touch of it if that is not null. Contacts are behind those of the list; those
 * of a sensor are not kept. */
static abut_status add_pair(const abut_world *world, const world_tried *tried,
                            const world_touch *touch, world_answers *answers) {
    abuti_vector *pairs = &answers->tried, *touches = &answers->touches;
    abut_status status =
        abuti_vector_reserve(world->context, pairs, pairs->count + 1, sizeof *tried);
    if (!status && touch)
        status = abuti_vector_reserve(world->context, touches, touches->count + 1, sizeof *touch);
    if (status)
        return status;
    world_tried *added = (world_tried *)pairs->data + pairs->count++;
    *added = *tried;
    added->touch = touch ? touches->count : SIZE_MAX;
    if (tried->advice.verdict > answers->advice.verdict)
        answers->advice = tried->advice;
    if (touch) {
        ((world_touch *)touches->data)[touches->count++] = *touch;
        answers->contacts.count += (size_t)touch->event.count;
    }
    return ABUT_OK;
}

/* Adds the contacts of the step before. Only `pair` and `first` are others. */
static abut_status keep_pair(const abut_world *world, size_t pair, const world_tried *kept,
                             world_answers *answers) {
    const world_touch *last = touch_of(world, kept);
    if (!last)
        return add_pair(world, kept, NULL, answers);
    abuti_vector *list = &answers->contacts;
    const size_t count = (size_t)last->event.count;
    abut_status status =
        abuti_vector_reserve(world->context, list, list->count + count, sizeof(abut_contact));
    if (status)
        return status;
    const abut_contact *from = (const abut_contact *)world->contacts.data + last->event.first;
    abut_contact *to = (abut_contact *)list->data + list->count;
    if (count)
        memcpy(to, from, count * sizeof *to);
    for (size_t i = 0; i < count; i++)
        to[i].pair = (uint32_t)pair;
    world_touch touch = *last;
    touch.event.first = touch.event.sensor ? 0 : list->count;
    touch.event.deepest.pair = (uint32_t)pair;
    return add_pair(world, kept, &touch, answers);
}

/* As try_fields(), of what is known already. */
static abut_status copy_special(const abut_world *world, const world_special *from,
                                abuti_vector *list, abut_contacts *to) {
    abut_status status =
        abuti_vector_reserve(world->context, list, list->count + from->count, sizeof(abut_contact));
    if (status)
        return status;
    to->list = (abut_contact *)list->data + list->count;
    to->count = from->count;
    to->advice = from->advice;
    if (from->count)
        memcpy(to->list, (const abut_contact *)world->special_contacts.data + from->first,
               from->count * sizeof *to->list);
    return ABUT_OK;
}

static abut_status try_pair(const abut_world *world, size_t pair, world_answers *answers) {
    const world_tried *kept = abuti_world_kept(world, pair);
    if (kept)
        return keep_pair(world, pair, kept, answers);
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const world_item *a = &world_items(world)[which->a], *b = &world_items(world)[which->b];
    const world_special *special = abuti_world_special(world, pair);
    abut_world_manner manner;
    abut_contacts to = {.count = 0};
    world_tried tried = {.pair = *which, .state = {a->state, b->state}};
    bool separates = false;
    abut_status status = abuti_world_manner(world, a, b, &manner);
    if (status)
        return status;
    if (manner.method == ABUT_WORLD_LAYERS)
        tried.state[0] = tried.state[1] = 0;
    /* What maps and layers do not see is asked exactly. */
    if (special && !special->count && manner.method != ABUT_WORLD_FIELD) {
        manner.method = ABUT_WORLD_EXACT;
        manner.error = manner.guarantee == ABUT_WORLD_LIMITED ? manner.error : 0;
    }
    if (manner.method == ABUT_WORLD_EXACT) {
        tried.hint = hint_of(world, pair, a, b);
        status = try_exact(world, tried.hint, a, b, answers, &to, &separates);
    } else if (special)
        status = copy_special(world, special, &answers->contacts, &to);
    else
        status = try_fields(world, pair, a, b, &answers->contacts, &to);
    if (status)
        return status;
    /* Depths below a plane are those of vertices, whatever the mesh is. */
    if (to.advice.verdict != ABUT_VERDICT_GUARANTEED && a->kind != ABUT_WORLD_PLANE &&
        b->kind != ABUT_WORLD_PLANE)
        manner.error = HUGE_VAL;
    tried.advice = to.advice;
    if (!to.count)
        return add_pair(world, &tried, NULL, answers);
    for (size_t i = 0; i < to.count; i++)
        set_pair(&to.list[i], pair);
    const bool sensor = ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
    const world_touch touch = {{a->born, b->born},
                               {.method = manner.method,
                                .guarantee = manner.guarantee,
                                .error = manner.error,
                                .a = which->a,
                                .b = which->b,
                                .sensor = sensor,
                                .separates = separates,
                                .first = sensor ? 0 : answers->contacts.count,
                                .count = sensor ? 0 : to.count,
                                .deepest = *deepest_of(&to),
                                .advice = to.advice}};
    return add_pair(world, &tried, &touch, answers);
}

/* ---- all ---- */

static void try_some(void *data, size_t chunk, size_t begin, size_t end) {
    abut_world *world = data;
    world_answers *to = &world->answers[chunk];
    to->contacts.count = to->touches.count = to->tried.count = 0;
    to->advice = abuti_contact_advice(NULL, NULL);
    to->status = ABUT_OK;
    for (size_t i = begin; i < end && !to->status; i++) {
        const double done = (double)i / (double)world->pairs.count;
        abuti_set_fraction(world->special.count ? 0.5 + 0.5 * done : done);
        to->status = try_pair(world, i, to);
    }
}

/* How much there is to try of an item, about. */
static size_t size_of(const world_item *item) {
    if (item->kind == ABUT_WORLD_CHARACTER)
        return abuti_world_character_size(item);
    return item->bvh            ? item->bvh->triangle_count
           : item->body.samples ? abut_samples_arrays_get(item->body.samples).count
                                : 1;
}

/* How many pairs make a task. Of a step that takes some 100 us all of them do: waking other threads
 * takes longer, above all where these have something else to do. */
static size_t choose_grain(const abut_world *world) {
    const size_t count = world->pairs.count;
    const abut_world_pair *pairs = world->pairs.data;
    size_t size = 0;
    for (size_t i = 0; i < count && i < FEW_PAIRS; i++)
        size += size_of(&world_items(world)[pairs[i].a]) + size_of(&world_items(world)[pairs[i].b]);
    return count < FEW_PAIRS && size < SMALL_SIZE ? (count ? count : 1)
                                                  : world_grain(count, PAIRS_A_TASK);
}

static size_t chunks_of(const abut_world *world) {
    return abuti_chunk_count(world->pairs.count, world->grain);
}

/* Copies the contacts of chunks to those of the world. */
typedef struct joining {
    const abut_world *world;
    size_t begin[WORLD_CHUNKS];
} joining;

static void join_some(void *data, size_t chunk, size_t begin, size_t end) {
    const joining *j = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const abuti_vector *list = &j->world->answers[i].contacts;
        if (list->count)
            memcpy((abut_contact *)j->world->contacts.data + j->begin[i], list->data,
                   list->count * sizeof(abut_contact));
    }
}

/* Puts the answers of all chunks in place of those of the step before; on failure these stay. */
static abut_status join_answers(abut_world *world) {
    const size_t chunks = chunks_of(world);
    size_t contacts = 0, touches = 0;
    joining j = {.world = world};
    for (size_t i = 0; i < chunks; i++) {
        j.begin[i] = contacts;
        contacts += world->answers[i].contacts.count;
        touches += world->answers[i].touches.count;
    }
    abut_status status =
        abuti_vector_reserve(world->context, &world->contacts, contacts, sizeof(abut_contact));
    if (!status)
        status =
            abuti_vector_reserve(world->context, &world->touches, touches, sizeof(world_touch));
    if (!status)
        status = abuti_vector_reserve(world->context, &world->tried, world->pairs.count,
                                      sizeof(world_tried));
    if (status)
        return status;
    if (chunks)
        abuti_parallel_for(world->context, chunks, contacts < MANY_CONTACTS ? chunks : 1, join_some,
                           &j);
    world->contacts.count = contacts;
    world->touches.count = world->tried.count = 0;
    world->advice = abuti_contact_advice(NULL, NULL);
    for (size_t i = 0; i < chunks; i++) {
        const world_answers *from = &world->answers[i];
        const world_touch *touch = from->touches.data;
        const world_tried *tried = from->tried.data;
        world_touch *to = world->touches.data;
        for (size_t k = 0; k < from->tried.count; k++) {
            world_tried *pair = (world_tried *)world->tried.data + world->tried.count++;
            *pair = tried[k];
            pair->touch += pair->touch == SIZE_MAX ? 0 : world->touches.count;
        }
        for (size_t k = 0; k < from->touches.count; k++) {
            to[world->touches.count] = touch[k];
            to[world->touches.count++].event.first += touch[k].event.sensor ? 0 : j.begin[i];
        }
        if (from->advice.verdict > world->advice.verdict)
            world->advice = from->advice;
    }
    return ABUT_OK;
}

/* Sets where items were when contacts were last found. */
static void remember(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        item->seen = box_centre(item->at.box);
        item->was_seen = item->used && item->kind != ABUT_WORLD_PLANE;
    }
    world->has_contacts = true;
}

/* Contacts with fields that were updated are not valid any more. */
static void check_updates(abut_world *world) {
    for (size_t i = 0; i < world->items.count; i++) {
        world_item *item = &world_items(world)[i];
        if (item->used && world_is_updated(item))
            abuti_world_new_state(world, item);
    }
}

/* Computes the answers of all pairs, chunk by chunk. */
static abut_status compute_answers(abut_world *world) {
    size_t count = world->pairs.count, grain = world->grain = choose_grain(world);
    check_updates(world);
    abut_status status = world->backend->prepare(world);
    status = status ? status : abuti_world_bring_characters(world);
    status = status ? status : abuti_world_prepare_characters(world);
    status = status ? status : abuti_world_find_special(world);
    if (status)
        return status;
    if (count)
        status = abuti_parallel_try(world->context, "world", count, grain, try_some, world);
    if (status)
        return status;
    for (size_t i = 0; i < chunks_of(world); i++) {
        status = world->answers[i].status;
        if (status == ABUT_ERROR_MEMORY)
            return abuti_fail(status, "abut_world_contacts: no memory for contacts");
        if (status) { /* again, on this thread, for the sentence */
            try_some(world, i, i * grain, (i + 1) * grain < count ? (i + 1) * grain : count);
            if (world->answers[i].status)
                return world->answers[i].status;
        }
    }
    return ABUT_OK;
}

static abut_status finish_contacts(abut_world *world) {
    abut_status status = join_answers(world);
    if (status)
        return status;
    remember(world);
    world->has_told = false;
    return ABUT_OK;
}

static abut_status find_contacts(abut_world *world) {
    abut_status status = abuti_world_find_pairs(world);
    if (status || world->has_contacts)
        return status;
    status = compute_answers(world);
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

/* ---- again, from a saved state ---- */

static uint64_t mix(uint64_t before, const void *data, size_t bytes) {
    const uint64_t both[2] = {before, abuti_checksum(data, bytes)};
    return abuti_checksum(both, sizeof both);
}

static void digest_answers(uint64_t to[2], const abuti_vector *contacts,
                           const abuti_vector *touches) {
    const abut_contact *contact = contacts->data;
    const world_touch *touch = touches->data;
    for (size_t i = 0; i < contacts->count; i++)
        to[0] = mix(to[0], &contact[i], CONTACT_BYTES);
    for (size_t i = 0; i < touches->count; i++) {
        const abut_world_event *e = &touch[i].event;
        const uint64_t facts[] = {e->a,         e->b,      (uint64_t)e->method,
                                  e->guarantee, e->sensor, e->separates,
                                  e->count};
        to[1] = mix(to[1], facts, sizeof facts);
        to[1] = mix(to[1], &e->deepest, CONTACT_BYTES);
    }
}

uint64_t abuti_world_contacts_digest(const abut_world *world) {
    uint64_t parts[2] = {0, 0};
    digest_answers(parts, &world->contacts, &world->touches);
    return abuti_checksum(parts, sizeof parts);
}

abut_status abuti_world_repeat_contacts(abut_world *world, const vec3 *hints, uint64_t digest) {
    uint64_t parts[2] = {0, 0};
    world->repeated = hints;
    abut_status status = compute_answers(world);
    abuti_set_fraction(0);
    world->repeated = NULL;
    if (status)
        return status;
    for (size_t i = 0; i < chunks_of(world); i++)
        digest_answers(parts, &world->answers[i].contacts, &world->answers[i].touches);
    if (abuti_checksum(parts, sizeof parts) != digest)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_restore: the contacts of this world are not those that were "
                          "saved: a field, samples or a character of an item differ, or the state "
                          "was saved by another version of abut");
    return finish_contacts(world);
}

abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts) {
    if (!world || !contacts || (!contacts->list && contacts->capacity))
        return abuti_null(__func__, !world ? "world" : !contacts ? "contacts" : "contacts->list");
    abut_status status = abuti_world_find_contacts("abut_world_contacts", world);
    if (status)
        return status;
    contacts->count = world->contacts.count;
    if (world->contacts.count > contacts->capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_world_contacts: there are %zu contacts, and room for %llu",
                          world->contacts.count, (unsigned long long)contacts->capacity);
    contacts->advice = world->advice;
    if (world->contacts.count)
        memcpy(contacts->list, world->contacts.data,
               world->contacts.count * sizeof *contacts->list);
    return ABUT_OK;
}
