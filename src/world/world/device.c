/* Pairs of bodies on a device: uploads and launches.
 *
 * Fields have the same representation as on the host, with bricks and 16-bit values, so that
 * interpolation gives the same bits. A field that was built on the device is copied there without
 * the host. Fields and samples that items share are uploaded once, and stay when items are added or
 * removed. Each search uploads only poses; see device_pairs.c.
 */
#include "world/device.h"

#include "device/tools_shared.h"

#include <stdlib.h>

enum { FRAME_GROUP_ITEMS = 128, ENTRIES_PER_PAIR = 8 /* initial capacity of lists */ };

static const abuti_kernel_source sources[WORLD_KERNELS] = {
    [WORLD_FRAMES] = {"world", "world_frames", NULL},
    [WORLD_RETRY_FRAMES] = {"world", "world_retry_frames", NULL},
    [WORLD_SEARCH_GROUPS] = {"world", "world_groups", NULL},
    [WORLD_SEARCH_BALLS] = {"world", "world_balls", NULL},
    [WORLD_SEARCH_FEATURES] = {"world", "world_features", NULL},
    [WORLD_SEARCH_EDGES] = {"world", "world_edges", NULL},
    [WORLD_WRITE] = {"world", "world_write", NULL},
    [WORLD_SORT] = {"world", "world_sort", NULL},
    [WORLD_REDUCE] = {"world", "world_reduce", NULL},
    [WORLD_GATHER] = {"world", "world_gather", NULL},
    [WORLD_CHECK] = {"world_pairs", "world_check", NULL},
    [WORLD_UPDATE_POSES] = {"world_pairs", "world_update_poses", NULL},
    [WORLD_MAKE_BOXES] = {"world_pairs", "world_boxes", NULL},
    [WORLD_MAKE_KEYS] = {"world_pairs", "world_box_keys", NULL},
    [WORLD_FIND_PAIRS] = {"world_pairs", "world_find_pairs", NULL},
    [WORLD_PLACE] = {"world_pairs", "world_place_pairs", NULL},
    [WORLD_NAME_ITEMS] = {"world_pairs", "world_name_items", NULL}};
static const abuti_kit_table table = {sources, WORLD_KERNELS, WORLD_MEMORIES, NULL};
static const size_t shared_bytes[WORLD_SHARED] = {[WORLD_FIELDS] = sizeof(world_field),
                                                  [WORLD_FLOATS] = sizeof(float),
                                                  [WORLD_SHORTS] = sizeof(int16_t),
                                                  [WORLD_INDICES] = sizeof(uint32_t),
                                                  [WORLD_SAMPLES] = sizeof(world_samples),
                                                  [WORLD_POINTS] = sizeof(contact_point),
                                                  [WORLD_ENDS] = sizeof(vec3),
                                                  [WORLD_FEATURES] = sizeof(world_feature),
                                                  [WORLD_BALLS] = sizeof(contact_ball),
                                                  [WORLD_GROUPS] = sizeof(contact_ball)};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- create ---- */

/* Found features become contacts in another buffer. */
static void initialise_lists(world_device *d) {
    const uint64_t contacts = d->queue.device->info.buffer_bytes / sizeof(abut_contact);
    for (uint32_t i = 0; i < WORLD_LISTS; i++)
        d->lists[i] = (abuti_kit_list){.buffer = WORLD_LIST + i,
                                       .element_bytes = sizeof(world_near),
                                       .limit = WORLD_LIST_LIMIT,
                                       .what = "features that may touch"};
    abuti_kit_list *found = &d->lists[WORLD_FOUND];
    found->element_bytes = sizeof(world_found);
    found->limit = contacts < WORLD_LIST_LIMIT ? contacts : WORLD_LIST_LIMIT;
    found->what = "contacts";
    d->met = (abuti_kit_list){.buffer = WORLD_PAIR_LIST,
                              .element_bytes = sizeof(world_found_pair),
                              .limit = WORLD_LIST_LIMIT,
                              .what = "pairs"};
}

static abut_status create_on_device(abut_world *world) {
    abut_device *device = world->options.device;
    abut_status status = abuti_device_check_bits("abut_world_create", device);
    if (status)
        return status;
    world_device *d = world->device = abuti_allocate_zeroed(world->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(device, &d->queue);
    if (status || (status = abuti_tools_create(&d->queue, &d->tools)) ||
        (status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit)) ||
        (status = abut_buffer_create(device, 16, &d->pairs)) ||
        (status = abut_buffer_create(device, 16, &d->begin)) ||
        (status = abut_buffer_create(device, 16, &d->contacts)))
        return status;
    initialise_lists(d);
    abuti_kit_build(&d->kit);
    return abuti_queue_report(&d->queue);
}

static void destroy_on_device(abut_world *world) {
    world_device *d = world->device;
    if (!d)
        return;
    abuti_vector *lists[] = {&d->host_parts, &d->host_bodies, &d->host_poses,   &d->last,
                             &d->host_pairs, &d->host_begin,  &d->host_contacts};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        abuti_release(world->context, lists[i]->data);
    abut_buffer_destroy(d->pairs);
    abut_buffer_destroy(d->begin);
    abut_buffer_destroy(d->contacts);
    abuti_kit_close(&d->kit);
    abuti_tools_destroy(d->tools);
    abuti_queue_close(&d->queue);
    abuti_release(world->context, d);
    world->device = NULL;
}

static void invalidate_on_device(abut_world *world, bool items) {
    world_device *d = world->device;
    d->has_contacts = d->has_poses = false;
    d->has_data = d->has_data && !items;
}

/* ---- fields and samples ----
 *
 * If an item was on the device in the last search, its field and samples are still there. Only
 * fields and samples that no such item has are appended. Unused ones stay until they are more than
 * half of all; then everything is uploaded again.
 */

/* A field or samples that items share. */
typedef struct shared_part {
    const void *what; /* a field or samples */
    uint32_t item;
} shared_part;

static int compare_addresses(const void *x, const void *y) {
    const shared_part *a = x, *b = y;
    uintptr_t p = (uintptr_t)a->what, q = (uintptr_t)b->what;
    return p < q ? -1 : p > q ? 1 : a->item < b->item ? -1 : a->item > b->item;
}

/* Reserves `count` elements at the end of a buffer, aligned to eight. */
static size_t reserve_elements(size_t sizes[WORLD_SHARED], world_memory which, size_t count) {
    size_t at = sizes[which];
    sizes[which] += (count + 7) / 8 * 8;
    return at;
}

static size_t corner_count(const abut_field *field) {
    return ((size_t)field->bricks[0] + 1) * ((size_t)field->bricks[1] + 1) *
           ((size_t)field->bricks[2] + 1);
}

static void write_shared(world_device *d, world_memory which, size_t at, const void *data,
                         size_t count) {
    abuti_kit_write(&d->kit, which, at, data, count, shared_bytes[which]);
}

/* Reserves memory for a field; with `copy`, also uploads it. */
static void upload_field(world_device *d, const abut_field *field, size_t sizes[WORLD_SHARED],
                         bool copy) {
    const world_memory of_values = field->type == ABUT_FIELD_FLOAT ? WORLD_FLOATS : WORLD_SHORTS;
    size_t bricks = (size_t)field->bricks[0] * field->bricks[1] * field->bricks[2];
    size_t values = reserve_elements(sizes, of_values, field->value_count);
    size_t index = field->index ? reserve_elements(sizes, WORLD_INDICES, bricks) : 0;
    size_t coarse = field->index ? reserve_elements(sizes, WORLD_FLOATS, corner_count(field)) : 0;
    size_t number = sizes[WORLD_FIELDS]++;
    if (!copy)
        return;
    const field_view *view = &field->view;
    const world_field record = {contact_grid_of(field),
                                of_values == WORLD_FLOATS ? (uint32_t)(values / 8) : ABUT_NONE,
                                of_values == WORLD_SHORTS ? (uint32_t)(values / 8) : ABUT_NONE,
                                field->index ? (uint32_t)(index / 8) : ABUT_NONE,
                                field->index ? (uint32_t)(coarse / 8) : ABUT_NONE,
                                {view->count[0], view->count[1], view->count[2]},
                                {view->bricks[0], view->bricks[1], view->bricks[2]},
                                view->cell,
                                view->scale,
                                contact_band(field),
                                field->closed};
    write_shared(d, WORLD_FIELDS, number, &record, 1);
    const abuti_buffer *there = field_values_on(field, d->queue.device);
    if (there)
        abuti_kit_fail(&d->kit,
                       abuti_buffer_copy_part(&d->queue, there, 0, &d->kit.buffers[WORLD_FLOATS],
                                              values * sizeof(float),
                                              field->value_count * sizeof(float)));
    else
        write_shared(d, of_values, values, field->values, field->value_count);
    if (field->index) {
        write_shared(d, WORLD_INDICES, index, field->index, bricks);
        write_shared(d, WORLD_FLOATS, coarse, field->coarse, corner_count(field));
    }
}

/* Features as kernels read them, in the order of balls. */
typedef struct feature_arrays {
    contact_point *points;
    vec3 *ends;
    world_feature *features;
} feature_arrays;

static void sort_features(const abut_samples *s, const feature_arrays *to) {
    const uint32_t count = s->view.count, all = count + s->view.edge_count;
    size_t at = 0;
    for (uint32_t i = 0; i < all; i++) {
        uint32_t number = s->order[i];
        if (number < count) {
            const abut_sample *sample = &s->samples[number];
            to->features[i] = (world_feature){sample->kind, sample->element, sample->part, number};
            to->points[at] = s->points[number];
            to->ends[at++] = sample->point;
            continue;
        }
        const abut_sample_edge *edge = &s->edges[number - count];
        to->features[i] =
            (world_feature){ABUT_CONTACT_EDGE, edge->edge, ABUT_SAMPLE_DEEPEST, number};
        for (int k = 0; k < 2; k++) {
            to->points[at] = s->points[count + 2 * (size_t)(number - count) + (size_t)k];
            to->ends[at++] = edge->end[k];
        }
    }
}

static void upload_samples(abut_context *context, world_device *d, const abut_samples *s,
                           size_t sizes[WORLD_SHARED], bool copy) {
    const uint32_t features = s->view.count + s->view.edge_count;
    const uint32_t balls = s->parts[0].balls + s->parts[1].balls;
    const uint32_t groups = s->parts[0].groups + s->parts[1].groups;
    const size_t points = (size_t)features + s->view.edge_count;
    const size_t counts[WORLD_SHARED] = {
        [WORLD_SAMPLES] = 1,         [WORLD_POINTS] = points, [WORLD_ENDS] = points,
        [WORLD_FEATURES] = features, [WORLD_BALLS] = balls,   [WORLD_GROUPS] = groups};
    size_t first[WORLD_SHARED];
    for (int i = 0; i < WORLD_SHARED; i++) {
        first[i] = sizes[i];
        sizes[i] += counts[i];
    }
    if (!copy)
        return;
    const world_samples record = {.centre = s->centre,
                                  .radius = s->radius,
                                  .parts = {s->parts[0], s->parts[1]},
                                  .first_point = (uint32_t)first[WORLD_POINTS],
                                  .first_feature = (uint32_t)first[WORLD_FEATURES],
                                  .first_ball = (uint32_t)first[WORLD_BALLS],
                                  .first_group = (uint32_t)first[WORLD_GROUPS],
                                  .count = s->view.count,
                                  .edges = s->view.edge_count,
                                  .edge_ends = !s->has_vertices};
    const feature_arrays to = {abuti_allocate(context, points, sizeof *to.points),
                               abuti_allocate(context, points, sizeof *to.ends),
                               abuti_allocate(context, features, sizeof *to.features)};
    if (to.points && to.ends && to.features) {
        sort_features(s, &to);
        const void *data[WORLD_SHARED] = {
            [WORLD_SAMPLES] = &record,      [WORLD_POINTS] = to.points, [WORLD_ENDS] = to.ends,
            [WORLD_FEATURES] = to.features, [WORLD_BALLS] = s->balls,   [WORLD_GROUPS] = s->groups};
        for (world_memory i = WORLD_SAMPLES; i < WORLD_SHARED; i++)
            write_shared(d, i, first[i], data[i], counts[i]);
    } else {
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
    }
    ABUTI_RELEASE(context, to.points, to.ends, to.features);
}

/* Appends the fields or samples of all items that are not on the device yet, each once. With
 * `copy`, uploads them and sets the indices of items. Returns how many are in use. */
static size_t upload_shared(abut_world *world, const shared_part *parts, size_t count, bool samples,
                            size_t sizes[WORLD_SHARED], bool copy) {
    world_item *items = world_items(world);
    size_t used = 0, end;
    for (size_t i = 0; i < count; i = end, used++) {
        uint32_t number = ABUT_NONE;
        for (end = i; end < count && parts[end].what == parts[i].what; end++) {
            const world_item *item = &items[parts[end].item];
            if (item->is_on_device)
                number = samples ? item->device_parts.samples : item->device_parts.field;
        }
        if (number == ABUT_NONE) {
            number = (uint32_t)sizes[samples ? WORLD_SAMPLES : WORLD_FIELDS];
            if (samples)
                upload_samples(world->context, world->device, parts[i].what, sizes, copy);
            else
                upload_field(world->device, parts[i].what, sizes, copy);
        }
        for (size_t k = i; k < end && copy; k++)
            *(samples ? &items[parts[k].item].device_parts.samples
                      : &items[parts[k].item].device_parts.field) = number;
    }
    return used;
}

/* Reserves memory and uploads all fields and samples. */
static void upload_all(abut_world *world, const shared_part *const parts[2],
                       const size_t counts[2]) {
    world_device *d = world->device;
    size_t sizes[WORLD_SHARED], used = 0;
    for (int again = 0; again < 2; again++) {
        memcpy(sizes, d->sizes, sizeof sizes);
        used = upload_shared(world, parts[0], counts[0], false, sizes, false);
        used += upload_shared(world, parts[1], counts[1], true, sizes, false);
        if (sizes[WORLD_FIELDS] + sizes[WORLD_SAMPLES] <= 2 * used)
            break;
        memset(d->sizes, 0, sizeof d->sizes);
        for (size_t i = 0; i < world->items.count; i++)
            world_items(world)[i].is_on_device = false;
    }
    if (sizes[WORLD_FLOATS] / 8 >= UINT32_MAX || sizes[WORLD_SHORTS] / 8 >= UINT32_MAX ||
        sizes[WORLD_POINTS] >= UINT32_MAX)
        abuti_kit_fail(&d->kit, abuti_fail(ABUT_ERROR_LIMIT,
                                           "abut_world: the fields and samples of all items "
                                           "exceed what the device can index"));
    for (uint32_t i = 0; i < WORLD_SHARED; i++)
        abuti_kit_enlarge(&d->kit, i, sizes[i] + 1, shared_bytes[i], d->sizes[i]);
    memcpy(sizes, d->sizes, sizeof sizes);
    upload_shared(world, parts[0], counts[0], false, sizes, true);
    upload_shared(world, parts[1], counts[1], true, sizes, true);
    memcpy(d->sizes, sizes, sizeof sizes);
}

/* Values on this device are used there; others are uploaded from the host. */
static abut_status prepare_field(const world_device *d, const abut_field *field) {
    return field_values_on(field, d->queue.device) ? abuti_field_check_valid(field)
                                                   : abuti_field_host(field);
}

/* Uploads data of items, and the ignored pairs. */
static void upload_bodies(abut_world *world) {
    world_device *d = world->device;
    const size_t count = world->items.count;
    abuti_kit_fail(&d->kit, abuti_vector_reserve(world->context, &d->host_bodies, count,
                                                 sizeof(world_body)));
    world_body *bodies = d->host_bodies.data;
    d->only_bodies = true;
    d->has_reused_indices = false;
    for (size_t i = 0; i < count && !abuti_kit_failed(&d->kit); i++) {
        const world_item *item = &world_items(world)[i];
        const uint32_t has = item->filter.traits & (WORLD_HAS_FIELD | WORLD_HAS_SAMPLES);
        bodies[i] = (world_body){item->local, item->margin, item->filter, item->ignored, item->id};
        d->has_reused_indices |= item->id != i;
        d->only_bodies = d->only_bodies && item->used && item->kind == ABUT_COLLIDER_BODY;
        if (!item->used || !has)
            bodies[i].filter = (world_filter){0, 0, 0, 0};
    }
    abuti_kit_upload(&d->kit, WORLD_BODIES, bodies, count, sizeof(world_body));
    abuti_kit_upload(&d->kit, WORLD_IGNORED, world->ignored.data, world->ignored.room,
                     sizeof(uint64_t));
    abuti_kit_reserve(&d->kit, WORLD_IGNORED, 1, sizeof(uint64_t));
}

static abut_status upload_data(abut_world *world) {
    world_device *d = world->device;
    const size_t count = world->items.count;
    world_item *items = world_items(world);
    size_t counts[2] = {0, 0};
    if (d->has_data)
        return ABUT_OK;
    shared_part *parts = abuti_allocate(world->context, 2 * count, sizeof *parts);
    abut_status status = parts ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_vector_reserve(world->context, &d->host_parts, count, sizeof(world_parts));
    if (!status) {
        shared_part *lists[2] = {parts, parts + count};
        for (uint32_t i = 0; i < count; i++) {
            if (!items[i].is_on_device)
                items[i].device_parts = (world_parts){.field = ABUT_NONE, .samples = ABUT_NONE};
            if (items[i].used && items[i].body.field) {
                lists[0][counts[0]++] = (shared_part){items[i].body.field, i};
                abuti_kit_fail(&d->kit, prepare_field(d, items[i].body.field));
            }
            if (items[i].used && items[i].body.samples)
                lists[1][counts[1]++] = (shared_part){items[i].body.samples, i};
        }
        for (int k = 0; k < 2; k++)
            qsort(lists[k], counts[k], sizeof *parts, compare_addresses);
        if (!abuti_kit_failed(&d->kit))
            upload_all(world, (const shared_part *const *)lists, counts);
        for (size_t i = 0; i < count; i++)
            ((world_parts *)d->host_parts.data)[i] =
                (world_parts){items[i].device_parts.field, items[i].device_parts.samples,
                              items[i].margin};
        abuti_kit_upload(&d->kit, WORLD_PARTS, d->host_parts.data, count, sizeof(world_parts));
        upload_bodies(world);
        status = abuti_queue_report(&d->queue);
    }
    abuti_release(world->context, parts);
    for (size_t i = 0; i < count; i++)
        items[i].is_on_device = !status && items[i].used;
    if (status)
        memset(d->sizes, 0, sizeof d->sizes);
    d->has_data = !status;
    return status;
}

/* ---- one search ---- */

/* The first arguments of search kernels. */
#define BODIES                                                                               \
    MEMORY(WORLD_FIELDS), MEMORY(WORLD_FLOATS), MEMORY(WORLD_SHORTS), MEMORY(WORLD_INDICES), \
        MEMORY(WORLD_SAMPLES), MEMORY(WORLD_DIRECTIONS), MEMORY(WORLD_TOTAL)
#define LIST(which) MEMORY(WORLD_LIST + (which)), ABUTI_VALUE(d->lists[which].room)

static void queue_frames(const abut_world *world) {
    world_device *d = world->device;
    uint32_t count = 2 * (uint32_t)d->pair_count;
    int32_t keep_backfacing = world->contact.keep_backfacing;
    ABUTI_KIT_RUN(&d->kit, WORLD_FRAMES, count < WORLD_TOTALS ? WORLD_TOTALS : count,
                  FRAME_GROUP_ITEMS, MEMORY(WORLD_FIELDS), MEMORY(WORLD_FLOATS),
                  MEMORY(WORLD_SHORTS), MEMORY(WORLD_INDICES), MEMORY(WORLD_SAMPLES),
                  MEMORY(WORLD_PARTS), MEMORY(WORLD_MOTIONS), ABUTI_BUFFER(&d->pairs->memory),
                  MEMORY(WORLD_DIRECTIONS), MEMORY(WORLD_COUNTS), MEMORY(WORLD_BACKFACING),
                  MEMORY(WORLD_TOTAL), ABUTI_VALUE(count), ABUTI_VALUE(keep_backfacing));
}

/* Prepares the directions that are searched again. */
static void queue_retry_frames(const abut_world *world) {
    world_device *d = world->device;
    uint32_t count = 2 * (uint32_t)d->pair_count;
    ABUTI_KIT_RUN(&d->kit, WORLD_RETRY_FRAMES, count < WORLD_TOTALS ? WORLD_TOTALS : count,
                  FRAME_GROUP_ITEMS, MEMORY(WORLD_FIELDS), MEMORY(WORLD_FLOATS),
                  MEMORY(WORLD_SHORTS), MEMORY(WORLD_INDICES), MEMORY(WORLD_COUNTS),
                  MEMORY(WORLD_BACKFACING), MEMORY(WORLD_DIRECTIONS), MEMORY(WORLD_TOTAL),
                  ABUTI_VALUE(count));
}

/* Finds the features of all pairs that touch. */
static void queue_search(const abut_world *world) {
    world_device *d = world->device;
    const size_t groups = world_groups(d);
    int32_t only_samples = world->contact.skip_edges;
    ABUTI_KIT_GROUPS(&d->kit, WORLD_SEARCH_GROUPS, d->pair_count, WORLD_ITEMS, BODIES,
                     MEMORY(WORLD_GROUPS), LIST(WORLD_NEAR_GROUPS), ABUTI_VALUE(only_samples),
                     PLACES);
    ABUTI_KIT_GROUPS(&d->kit, WORLD_SEARCH_BALLS, groups, WORLD_ITEMS, BODIES, MEMORY(WORLD_GROUPS),
                     MEMORY(WORLD_BALLS), LIST(WORLD_NEAR_GROUPS), LIST(WORLD_NEAR_BALLS), PLACES);
    ABUTI_KIT_GROUPS(&d->kit, WORLD_SEARCH_FEATURES, groups, WORLD_ITEMS, BODIES,
                     MEMORY(WORLD_BALLS), MEMORY(WORLD_POINTS), LIST(WORLD_NEAR_BALLS),
                     LIST(WORLD_NEAR_EDGES), MEMORY(WORLD_COUNTS), MEMORY(WORLD_BACKFACING),
                     LIST(WORLD_FOUND), PLACES);
    if (!only_samples)
        ABUTI_KIT_GROUPS(&d->kit, WORLD_SEARCH_EDGES, groups, WORLD_ITEMS, BODIES,
                         MEMORY(WORLD_POINTS), LIST(WORLD_NEAR_EDGES), MEMORY(WORLD_COUNTS),
                         MEMORY(WORLD_BACKFACING), LIST(WORLD_FOUND), PLACES);
}

/* Writes contacts, then reduces or sorts them. */
static void queue_contacts(const abut_world *world) {
    world_device *d = world->device;
    const size_t pairs = (size_t)d->pair_count;
    const size_t groups = world_groups(d);
    const uint32_t room = d->lists[WORLD_FOUND].room;
    abuti_buffer *begin = &d->begin->memory;
    uint32_t keep = world->options.max_patch_contacts;
    abuti_tools_scan(d->tools, &d->kit.buffers[WORLD_COUNTS], &d->kit.buffers[WORLD_FIRST], pairs,
                     NULL, 0);
    ABUTI_KIT_GROUPS(&d->kit, WORLD_WRITE, groups, WORLD_ITEMS, BODIES, MEMORY(WORLD_POINTS),
                     MEMORY(WORLD_ENDS), MEMORY(WORLD_FEATURES), MEMORY(WORLD_MOTIONS),
                     ABUTI_BUFFER(&d->pairs->memory), MEMORY(WORLD_LIST + WORLD_FOUND),
                     MEMORY(WORLD_FIRST), MEMORY(WORLD_CONTACTS), MEMORY(WORLD_KEYS),
                     ABUTI_VALUE(room));
    if (keep) {
        double cosine = abuti_contact_reduction(world->options.patch_angle, &keep);
        ABUTI_KIT_GROUPS(&d->kit, WORLD_REDUCE, pairs, WORLD_REDUCE_ITEMS, MEMORY(WORLD_CONTACTS),
                         MEMORY(WORLD_FIRST), MEMORY(WORLD_COUNTS), MEMORY(WORLD_TOTAL),
                         MEMORY(WORLD_KEYS), MEMORY(WORLD_FAR), ABUTI_BUFFER(begin),
                         ABUTI_VALUE(room), ABUTI_VALUE(keep), ABUTI_VALUE(cosine),
                         ABUTI_LOCAL_MEMORY(8 * WORLD_REDUCE_ROOM));
    } else {
        const uint32_t list = WORLD_FOUND;
        ABUTI_KIT_GROUPS(&d->kit, WORLD_SORT, pairs, WORLD_ITEMS, MEMORY(WORLD_FIRST),
                         MEMORY(WORLD_COUNTS), MEMORY(WORLD_TOTAL), ABUTI_VALUE(list),
                         MEMORY(WORLD_KEYS), ABUTI_VALUE(room));
    }
    abuti_tools_scan(d->tools, keep ? begin : &d->kit.buffers[WORLD_COUNTS], begin, pairs, begin,
                     pairs);
    ABUTI_KIT_GROUPS(&d->kit, WORLD_GATHER, pairs, WORLD_ITEMS, MEMORY(WORLD_CONTACTS),
                     MEMORY(WORLD_FIRST), MEMORY(WORLD_COUNTS), MEMORY(WORLD_BACKFACING),
                     MEMORY(WORLD_KEYS), ABUTI_BUFFER(begin), MEMORY(WORLD_TOTAL),
                     ABUTI_BUFFER(&d->contacts->memory), ABUTI_VALUE(room));
}

/* Reserves memory for the results of all pairs, as far as their number is known. */
static void reserve_results(const abut_world *world) {
    world_device *d = world->device;
    abut_device *device = d->queue.device;
    const size_t pairs = (size_t)d->pair_count;
    for (int i = 0; i < WORLD_LISTS; i++) {
        const uint64_t some = (uint64_t)pairs * ENTRIES_PER_PAIR, half = d->lists[i].limit / 2;
        if (!d->lists[i].room)
            abuti_kit_grow(&d->kit, &d->lists[i], some < half ? some : half);
    }
    const size_t room = d->lists[WORLD_FOUND].room;
    abuti_kit_reserve(&d->kit, WORLD_DIRECTIONS, 2 * pairs, sizeof(world_direction));
    abuti_kit_reserve(&d->kit, WORLD_COUNTS, pairs, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_BACKFACING, pairs, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_FIRST, pairs, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_TOTAL, WORLD_TOTALS, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_CONTACTS, room, sizeof(abut_contact));
    abuti_kit_reserve(&d->kit, WORLD_KEYS, room, sizeof(uint64_t));
    abuti_kit_reserve(&d->kit, WORLD_FAR, world->options.max_patch_contacts ? room : 0,
                      sizeof(double));
    abuti_kit_fail(&d->kit,
                   abuti_buffer_reserve(device, pairs + 1, sizeof(uint32_t), &d->begin->memory));
    abuti_kit_fail(&d->kit,
                   abuti_buffer_reserve(device, room, sizeof(abut_contact), &d->contacts->memory));
}

/* Grows the lists that were too small; returns whether there were any. */
static bool grow_lists(world_device *d, const uint32_t totals[WORLD_TOTALS]) {
    bool grew = false;
    for (int i = 0; i < WORLD_LISTS; i++) {
        uint64_t count = (uint64_t)totals[2 * i + 1] << 32 | totals[2 * i];
        grew = abuti_kit_grow(&d->kit, &d->lists[i], count) || grew;
    }
    return grew;
}

/* Replaces the indices in pairs and contacts by ids. */
static void queue_names(const abut_world *world) {
    world_device *d = world->device;
    const uint32_t pairs = (uint32_t)d->pair_count, contacts = (uint32_t)d->contact_count,
                   count = pairs > contacts ? pairs : contacts;
    ABUTI_KIT_RUN(&d->kit, WORLD_NAME_ITEMS, count, WORLD_ITEMS, MEMORY(WORLD_BODIES),
                  ABUTI_BUFFER(&d->pairs->memory), ABUTI_VALUE(pairs),
                  ABUTI_BUFFER(&d->contacts->memory), ABUTI_VALUE(contacts));
}

/* Tests all pairs of bodies, unless the contacts are valid; results stay on the device. */
static abut_status find_device_contacts(abut_world *world) {
    world_device *d = world->device;
    uint32_t totals[WORLD_TOTALS];
    bool again = true;
    if (d->has_contacts)
        return ABUT_OK;
    abut_status status = upload_data(world);
    if (status || (status = abuti_world_device_pairs(world)))
        return status;
    while (again) {
        reserve_results(world);
        queue_frames(world);
        again = false;
        for (int common_normal = 0; common_normal < 2 && !again; common_normal++) {
            if (common_normal && !totals[WORLD_AGAIN])
                break;
            if (common_normal)
                queue_retry_frames(world);
            queue_search(world);
            queue_contacts(world);
            status = abuti_kit_download(&d->kit, WORLD_TOTAL, totals, WORLD_TOTALS, sizeof *totals);
            if (status)
                return status;
            again = grow_lists(d, totals);
        }
    }
    d->contact_count = totals[WORLD_LEFT];
    if (d->has_reused_indices && d->pair_count)
        queue_names(world);
    status = abuti_queue_report(&d->queue);
    d->has_contacts = !status;
    return status;
}

static abut_status get_device_records(abut_world *world, abut_world_device_contacts *to) {
    if (world->options.accept)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "abut_world_get_device_contacts: the world has a filter `accept`, which "
                          "cannot be called on a device; call abut_world_contacts()");
    abut_status status = find_device_contacts(world);
    const world_device *d = world->device;
    if (!status)
        *to = (abut_world_device_contacts){.size = sizeof(abut_world_device_contacts),
                                           .pairs = d->pairs,
                                           .begin = d->begin,
                                           .contacts = d->contacts,
                                           .pair_count = d->pair_count,
                                           .contact_count = d->contact_count};
    return status;
}

/* Computes all contacts and downloads them. */
static abut_status download_contacts(abut_world *world) {
    world_device *d = world->device;
    abut_status status = find_device_contacts(world);
    size_t pairs = (size_t)d->pair_count, count = (size_t)d->contact_count;
    const struct {
        abuti_vector *to;
        const abut_buffer *from;
        size_t count, bytes;
    } lists[] = {{&d->host_pairs, d->pairs, pairs, sizeof(world_two)},
                 {&d->host_begin, d->begin, pairs + 1, sizeof(uint32_t)},
                 {&d->host_contacts, d->contacts, count, sizeof(abut_contact)}};
    for (size_t i = 0; i < 3 && !status; i++) {
        lists[i].to->count = 0;
        status = abuti_vector_reserve(world->context, lists[i].to, lists[i].count, lists[i].bytes);
        if (!status && lists[i].count)
            status = abuti_buffer_download(&d->queue, &lists[i].from->memory, 0, lists[i].to->data,
                                           lists[i].count * lists[i].bytes);
        lists[i].to->count = status ? 0 : lists[i].count;
    }
    return status;
}

/* Appends the contacts that the device found for a pair. */
static abut_status append_pair_contacts(const abut_world *world, size_t pair, contact_call *call,
                                        const contact_direction both[2]) {
    const world_device *d = world->device;
    const abut_world_pair *which = (const abut_world_pair *)world->pairs.data + pair;
    const abut_world_pair *pairs = d->host_pairs.data;
    const uint32_t *begin = d->host_begin.data;
    const abut_contact *found = d->host_contacts.data;
    (void)both;
    const abut_world_pair *here =
        world_find(&d->host_pairs, which, sizeof *which, world_compare_pairs);
    if (here)
        for (uint32_t i = begin[here - pairs]; i < begin[here - pairs + 1]; i++)
            abuti_contact_add(call, &found[i]);
    return ABUT_OK;
}

const world_backend abuti_world_on_device = {.create = create_on_device,
                                             .destroy = destroy_on_device,
                                             .changed = invalidate_on_device,
                                             .prepare = download_contacts,
                                             .pair = append_pair_contacts,
                                             .records = get_device_records,
                                             .move = abuti_world_device_move,
                                             .download_poses = abuti_world_device_download_poses,
                                             .reduces = true};
