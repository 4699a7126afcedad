/* Pairs of bodies on a device: what is uploaded once, what each time, and two launches.
 *
 * Fields are there as they are here, with bricks and 16 bits, so that interpolation does the same.
 * Frames are made in doubles on the host. Items share fields and samples; each is there once.
 */
#include "world/device.h"

#include <stdlib.h>

enum { GROUP = 256, ROOM = 4 * (GROUP + GROUP / 16), DIRECTIONS_A_TASK = 64 };

/* ---- create ---- */

abut_status abuti_world_device_create(abut_world *world, abut_device *device) {
    abuti_program *program = NULL;
    if (!device->info.same_bits)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "abut_world_create: %s does not round floats as this CPU does; leave "
                          "options->device null",
                          device->info.name);
    world_device *made = abuti_allocate_zeroed(world->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    world->device = made;
    abut_status status = abuti_queue_open(device, &made->queue);
    status = status ? status : abuti_tools_create(&made->queue, &made->tools);
    status = status ? status : abuti_program_get(device, "world", "", &program);
    if (!status)
        status = abuti_kernel_create(program, device, "world_count", &made->count);
    if (!status)
        status = abuti_kernel_create(program, device, "world_fill", &made->fill);
    status = status ? status : abut_buffer_create(device, 16, &made->begin);
    return status ? status : abut_buffer_create(device, 16, &made->records);
}

void abuti_world_device_destroy(abut_world *world) {
    world_device *d = world->device;
    if (!d)
        return;
    abuti_buffer *buffers[] = {&d->fields, &d->floats,     &d->shorts, &d->indices,
                               &d->points, &d->directions, &d->one_way};
    world_list *lists[] = {&d->item_fields, &d->item_points, &d->host_directions, &d->host_begin,
                           &d->host_records};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        abuti_release(world->context, lists[i]->data);
    abut_buffer_destroy(d->begin);
    abut_buffer_destroy(d->records);
    abuti_kernel_destroy(&d->count);
    abuti_kernel_destroy(&d->fill);
    abuti_tools_destroy(d->tools);
    abuti_queue_close(&d->queue);
    abuti_release(world->context, d);
    world->device = NULL;
}

/* ---- once: fields and samples ---- */

/* One of those that items share. */
typedef struct shared_part {
    const void *what; /* a field or samples */
    uint32_t item;
} shared_part;

static int by_address(const void *x, const void *y) {
    const shared_part *a = x, *b = y;
    uintptr_t p = (uintptr_t)a->what, q = (uintptr_t)b->what;
    return p < q ? -1 : p > q ? 1 : a->item < b->item ? -1 : a->item > b->item;
}

/* Sizes so far in elements of each buffer, each part from a multiple of eight on. */
typedef struct sizes {
    size_t fields, floats, shorts, indices, points;
} sizes;

static size_t take(size_t *from, size_t count) {
    size_t at = *from;
    *from += (count + 7) / 8 * 8;
    return at;
}

static size_t corner_count(const abut_field *field) {
    return ((size_t)field->bricks[0] + 1) * ((size_t)field->bricks[1] + 1) *
           ((size_t)field->bricks[2] + 1);
}

static abut_status put(world_device *d, abuti_buffer *to, size_t at, const void *data, size_t count,
                       size_t bytes) {
    return count ? abuti_buffer_upload(&d->queue, to, at * bytes, data, count * bytes) : ABUT_OK;
}

/* Takes room for a field, or copies it there too. */
static abut_status put_field(world_device *d, const abut_field *field, sizes *at, bool copy) {
    bool is_float = field->type == ABUT_FIELD_FLOAT;
    size_t bricks = (size_t)field->bricks[0] * field->bricks[1] * field->bricks[2];
    size_t values = take(is_float ? &at->floats : &at->shorts, field->value_count);
    size_t index = field->index ? take(&at->indices, bricks) : 0;
    size_t coarse = field->index ? take(&at->floats, corner_count(field)) : 0;
    size_t number = at->fields++;
    if (!copy)
        return ABUT_OK;
    const field_view *view = &field->view;
    world_field told = {is_float ? (uint32_t)(values / 8) : WORLD_NO_VALUES,
                        is_float ? WORLD_NO_VALUES : (uint32_t)(values / 8),
                        field->index ? (uint32_t)(index / 8) : WORLD_NO_VALUES,
                        field->index ? (uint32_t)(coarse / 8) : WORLD_NO_VALUES,
                        {view->count[0], view->count[1], view->count[2]},
                        {view->bricks[0], view->bricks[1], view->bricks[2]},
                        view->cell,
                        view->scale};
    abut_status status = put(d, &d->fields, number, &told, 1, sizeof told);
    if (!status)
        status = put(d, is_float ? &d->floats : &d->shorts, values, field->values,
                     field->value_count, is_float ? sizeof(float) : sizeof(int16_t));
    if (!status && field->index)
        status = put(d, &d->indices, index, field->index, bricks, sizeof *field->index);
    if (!status && field->index)
        status = put(d, &d->floats, coarse, field->coarse, corner_count(field), sizeof(float));
    return status;
}

static abut_status put_samples(world_device *d, const abut_samples *s, sizes *at, bool copy) {
    size_t count = s->view.count + 2 * (size_t)s->view.edge_count, first = at->points;
    at->points += count;
    return copy ? put(d, &d->points, first, s->points, count, sizeof *s->points) : ABUT_OK;
}

/* All fields, then all samples, each that items share once. Tells items where theirs are. */
static abut_status put_all(abut_world *world, const shared_part *parts, size_t fields,
                           size_t samples, sizes *at, bool copy) {
    world_device *d = world->device;
    abut_status status = ABUT_OK;
    uint32_t *item_fields = d->item_fields.data, *item_points = d->item_points.data;
    memset(at, 0, sizeof *at);
    for (size_t i = 0; i < fields && !status; i++) {
        if (!i || parts[i].what != parts[i - 1].what)
            status = put_field(d, parts[i].what, at, copy);
        item_fields[parts[i].item] = (uint32_t)(at->fields - 1);
    }
    size_t last = 0;
    for (size_t i = fields; i < fields + samples && !status; i++) {
        if (i == fields || parts[i].what != parts[i - 1].what) {
            last = at->points;
            status = put_samples(d, parts[i].what, at, copy);
        }
        item_points[parts[i].item] = (uint32_t)last;
    }
    return status;
}

static abut_status reserve_data(world_device *d, const sizes *at) {
    abut_device *device = d->queue.device;
    if (at->floats / 8 >= UINT32_MAX || at->shorts / 8 >= UINT32_MAX || at->points >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "abut_world: fields and samples of all items are too "
                                            "many for the device");
    const struct {
        abuti_buffer *buffer;
        size_t count, bytes;
    } needs[] = {{&d->fields, at->fields, sizeof(world_field)},
                 {&d->floats, at->floats, sizeof(float)},
                 {&d->shorts, at->shorts, sizeof(int16_t)},
                 {&d->indices, at->indices, sizeof(uint32_t)},
                 {&d->points, at->points, sizeof(contact_point)}};
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof needs / sizeof *needs && !status; i++)
        status = abuti_buffer_reserve(device, needs[i].count + 1, needs[i].bytes, needs[i].buffer);
    return status;
}

static abut_status upload_data(abut_world *world) {
    world_device *d = world->device;
    size_t count = world->items.count, fields = 0, samples = 0;
    const world_item *items = world_items(world);
    sizes at;
    if (d->has_data)
        return ABUT_OK;
    shared_part *parts = abuti_allocate(world->context, 2 * count, sizeof *parts);
    abut_status status = parts ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_world_reserve(world->context, &d->item_fields, count, sizeof(uint32_t));
    if (!status)
        status = abuti_world_reserve(world->context, &d->item_points, count, sizeof(uint32_t));
    if (!status) {
        for (uint32_t i = 0; i < count; i++)
            if (items[i].used && items[i].body.field)
                parts[fields++] = (shared_part){items[i].body.field, i};
        for (uint32_t i = 0; i < count; i++)
            if (items[i].used && items[i].body.samples)
                parts[fields + samples++] = (shared_part){items[i].body.samples, i};
        qsort(parts, fields, sizeof *parts, by_address);
        qsort(parts + fields, samples, sizeof *parts, by_address);
        status = put_all(world, parts, fields, samples, &at, false);
    }
    status = status ? status : reserve_data(d, &at);
    status = status ? status : put_all(world, parts, fields, samples, &at, true);
    abuti_release(world->context, parts);
    d->has_data = !status;
    return status;
}

/* ---- each time: frames, and what they find ---- */

static world_direction direction_of(const abut_world *world, uint32_t at, uint32_t of,
                                    uint32_t side) {
    const world_device *device = world->device;
    const world_item *field = &world_items(world)[at], *points = &world_items(world)[of];
    const contact_direction d = {&field->body, &points->body, &field->at.motion, &points->at.motion,
                                 side};
    world_direction told;
    memset(&told, 0, sizeof told);
    if (!field->body.field || !points->body.samples || abuti_contact_far(&d, world->contact.margin))
        return told;
    const abut_samples_view *view = &points->body.samples->view;
    told.frame = abuti_contact_frame_of(&d, &world->contact);
    told.field = ((const uint32_t *)device->item_fields.data)[at];
    told.first = ((const uint32_t *)device->item_points.data)[of];
    told.count = view->count;
    told.edges = world->contact.samples ? 0 : view->edge_count;
    return told;
}

static void direct_some(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_world *world = data;
    const abut_world_pair *pairs = world->pairs.data;
    world_direction *to = world->device->host_directions.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        to[2 * i] = direction_of(world, pairs[i].b, pairs[i].a, 0);
        to[2 * i + 1] = direction_of(world, pairs[i].a, pairs[i].b, 1);
    }
}

static abut_status measure(void *user, abuti_buffer *begin) {
    const abut_world *world = user;
    world_device *d = world->device;
    return ABUTI_LAUNCH(&d->queue, &d->count, world->pairs.count, GROUP, ABUTI_BUFFER(&d->fields),
                        ABUTI_BUFFER(&d->floats), ABUTI_BUFFER(&d->shorts),
                        ABUTI_BUFFER(&d->indices), ABUTI_BUFFER(&d->points),
                        ABUTI_BUFFER(&d->directions), ABUTI_BUFFER(begin),
                        ABUTI_BUFFER(&d->one_way), ABUTI_LOCAL_MEMORY(ROOM));
}

static abut_status fill(void *user, const abuti_buffer *begin, abuti_buffer *items,
                        uint32_t total) {
    const abut_world *world = user;
    world_device *d = world->device;
    (void)total;
    return ABUTI_LAUNCH(&d->queue, &d->fill, world->pairs.count, GROUP, ABUTI_BUFFER(&d->fields),
                        ABUTI_BUFFER(&d->floats), ABUTI_BUFFER(&d->shorts),
                        ABUTI_BUFFER(&d->indices), ABUTI_BUFFER(&d->points),
                        ABUTI_BUFFER(&d->directions), ABUTI_BUFFER(begin),
                        ABUTI_BUFFER(&d->one_way), ABUTI_BUFFER(items), ABUTI_LOCAL_MEMORY(ROOM));
}

abut_status abuti_world_device_find(abut_world *world) {
    world_device *d = world->device;
    abut_status status = abuti_world_find_pairs(world);
    if (status || d->has_records)
        return status;
    size_t pairs = world->pairs.count;
    status = upload_data(world);
    if (!status)
        status = abuti_world_reserve(world->context, &d->host_directions, 2 * pairs,
                                     sizeof(world_direction));
    abut_device *device = d->queue.device;
    if (!status)
        status =
            abuti_buffer_reserve(device, 2 * pairs + 1, sizeof(world_direction), &d->directions);
    if (!status)
        status = abuti_buffer_reserve(device, pairs + 1, sizeof(uint32_t), &d->one_way);
    if (status)
        return status;
    if (pairs) {
        abuti_parallel_for(world->context, pairs, DIRECTIONS_A_TASK, direct_some, world);
        status = abuti_buffer_upload(&d->queue, &d->directions, 0, d->host_directions.data,
                                     2 * pairs * sizeof(world_direction));
    }
    const abuti_segments segments = {.count = pairs,
                                     .item_bytes = sizeof(world_record),
                                     .user = world,
                                     .measure = measure,
                                     .fill = fill};
    if (!status)
        status = abuti_tools_segments(d->tools, &segments, &d->begin->memory, &d->records->memory,
                                      &d->record_count);
    status = status ? status : abuti_queue_finish(&d->queue);
    d->has_records = !status;
    return status;
}

abut_status abuti_world_device_fetch(abut_world *world) {
    world_device *d = world->device;
    size_t pairs = world->pairs.count, records = (size_t)d->record_count;
    abut_status status =
        abuti_world_reserve(world->context, &d->host_begin, pairs + 1, sizeof(uint32_t));
    if (!status)
        status =
            abuti_world_reserve(world->context, &d->host_records, records, sizeof(world_record));
    if (!status)
        status = abuti_buffer_download(&d->queue, &d->begin->memory, 0, d->host_begin.data,
                                       (pairs + 1) * sizeof(uint32_t));
    if (!status && records)
        status = abuti_buffer_download(&d->queue, &d->records->memory, 0, d->host_records.data,
                                       records * sizeof(world_record));
    return status;
}

abut_status abut_world_records_get(abut_world *world, abut_world_records *records) {
    if (!world || !records)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_records_get: %s is null",
                          world ? "records" : "world");
    if (!world->device)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_records_get: the world has no device; "
                                               "see options->device");
    abut_status status = abuti_world_device_find(world);
    if (!status)
        *records = (abut_world_records){world->device->begin, world->device->records,
                                        world->pairs.count, world->device->record_count};
    return status;
}
