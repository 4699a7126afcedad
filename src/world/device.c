/* Pairs of bodies on a device: what is uploaded once, what each time, and three launches.
 *
 * Fields are there as they are here, with bricks and 16 bits, so that interpolation does the same.
 * Items share fields and samples; each is there once. Each time only motions and pairs go there.
 */
#include "world/device.h"

#include <stdlib.h>

enum { GROUP = 256, ROOM = 4 * (GROUP + GROUP / 16), MOTIONS_A_TASK = 1024 };

/* ---- create ---- */

abut_status abuti_world_device_create(abut_world *world, abut_device *device) {
    abuti_program *program = NULL;
    abut_status status = abuti_device_check_bits("abut_world_create", device);
    if (status)
        return status;
    world_device *made = abuti_allocate_zeroed(world->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    world->device = made;
    status = abuti_queue_open(device, &made->queue);
    status = status ? status : abuti_tools_create(&made->queue, &made->tools);
    status = status ? status : abuti_program_get(device, "world", "-DABUTI_REAL_BITS=64", &program);
    if (!status)
        status = abuti_kernel_create(program, device, "world_frames", &made->frames);
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
    abuti_buffer *buffers[] = {&d->fields,  &d->floats,     &d->shorts, &d->indices,
                               &d->samples, &d->points,     &d->parts,  &d->motions,
                               &d->pairs,   &d->directions, &d->one_way};
    world_list *lists[] = {&d->host_parts, &d->host_motions, &d->host_begin, &d->host_records};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        abuti_release(world->context, lists[i]->data);
    abut_buffer_destroy(d->begin);
    abut_buffer_destroy(d->records);
    abuti_kernel_destroy(&d->frames);
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
    size_t fields, floats, shorts, indices, samples, points;
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
    abut_status status = abuti_field_host(field);
    const field_view *view = &field->view;
    world_field told = {contact_grid_of(field),
                        is_float ? (uint32_t)(values / 8) : WORLD_NONE,
                        is_float ? WORLD_NONE : (uint32_t)(values / 8),
                        field->index ? (uint32_t)(index / 8) : WORLD_NONE,
                        field->index ? (uint32_t)(coarse / 8) : WORLD_NONE,
                        {view->count[0], view->count[1], view->count[2]},
                        {view->bricks[0], view->bricks[1], view->bricks[2]},
                        view->cell,
                        view->scale,
                        contact_band(field),
                        0};
    status = status ? status : put(d, &d->fields, number, &told, 1, sizeof told);
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
    size_t number = at->samples++;
    at->points += count;
    if (!copy)
        return ABUT_OK;
    const world_samples told = {s->centre,     s->radius,          (uint32_t)first,
                                s->view.count, s->view.edge_count, !s->has_vertices};
    abut_status status = put(d, &d->samples, number, &told, 1, sizeof told);
    return status ? status : put(d, &d->points, first, s->points, count, sizeof *s->points);
}

/* All fields, then all samples, each that items share once. Tells items which are theirs. */
static abut_status put_all(abut_world *world, const shared_part *parts, size_t fields,
                           size_t samples, sizes *at, bool copy) {
    world_device *d = world->device;
    world_parts *items = d->host_parts.data;
    abut_status status = ABUT_OK;
    memset(at, 0, sizeof *at);
    for (size_t i = 0; i < fields && !status; i++) {
        if (!i || parts[i].what != parts[i - 1].what)
            status = put_field(d, parts[i].what, at, copy);
        items[parts[i].item].field = (uint32_t)(at->fields - 1);
    }
    for (size_t i = fields; i < fields + samples && !status; i++) {
        if (i == fields || parts[i].what != parts[i - 1].what)
            status = put_samples(d, parts[i].what, at, copy);
        items[parts[i].item].samples = (uint32_t)(at->samples - 1);
    }
    return status;
}

static abut_status reserve_data(world_device *d, const sizes *at, size_t items) {
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
                 {&d->samples, at->samples, sizeof(world_samples)},
                 {&d->points, at->points, sizeof(contact_point)},
                 {&d->parts, items, sizeof(world_parts)}};
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
        status = abuti_world_reserve(world->context, &d->host_parts, count, sizeof(world_parts));
    if (!status) {
        memset(d->host_parts.data, 0xff, count * sizeof(world_parts)); /* WORLD_NONE */
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
    status = status ? status : reserve_data(d, &at, count);
    status = status ? status : put_all(world, parts, fields, samples, &at, true);
    if (!status)
        status = put(d, &d->parts, 0, d->host_parts.data, count, sizeof(world_parts));
    abuti_release(world->context, parts);
    d->has_data = !status;
    return status;
}

/* ---- each time: frames, and what they find ---- */

static void copy_motions(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_world *world = data;
    const world_item *items = world_items(world);
    contact_motion *to = world->device->host_motions.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        to[i] = items[i].at.motion;
}

/* Poses and pairs to the device, and the frames of all directions. */
static abut_status make_frames(abut_world *world) {
    world_device *d = world->device;
    size_t items = world->items.count, pairs = world->pairs.count;
    const struct {
        abuti_buffer *buffer;
        size_t count, bytes;
    } needs[] = {{&d->motions, items, sizeof(contact_motion)},
                 {&d->pairs, pairs, sizeof(world_two)},
                 {&d->directions, 2 * pairs, sizeof(world_direction)},
                 {&d->one_way, pairs, sizeof(uint32_t)}};
    abut_status status =
        abuti_world_reserve(world->context, &d->host_motions, items, sizeof(contact_motion));
    for (size_t i = 0; i < sizeof needs / sizeof *needs && !status; i++)
        status =
            abuti_buffer_reserve(d->queue.device, needs[i].count, needs[i].bytes, needs[i].buffer);
    if (status || !pairs)
        return status;
    abuti_parallel_for(world->context, items, MOTIONS_A_TASK, copy_motions, world);
    status = put(d, &d->motions, 0, d->host_motions.data, items, sizeof(contact_motion));
    status = status ? status : put(d, &d->pairs, 0, world->pairs.data, pairs, sizeof(world_two));
    uint32_t count = 2 * (uint32_t)pairs;
    double margin = world->contact.margin;
    int32_t any_normal = world->contact.any_normal, only_samples = world->contact.samples;
    if (!status)
        status = ABUTI_LAUNCH(&d->queue, &d->frames, (count + GROUP - 1) / GROUP, GROUP,
                              ABUTI_BUFFER(&d->fields), ABUTI_BUFFER(&d->floats),
                              ABUTI_BUFFER(&d->shorts), ABUTI_BUFFER(&d->indices),
                              ABUTI_BUFFER(&d->samples), ABUTI_BUFFER(&d->parts),
                              ABUTI_BUFFER(&d->motions), ABUTI_BUFFER(&d->pairs),
                              ABUTI_BUFFER(&d->directions), ABUTI_VALUE(count), ABUTI_VALUE(margin),
                              ABUTI_VALUE(any_normal), ABUTI_VALUE(only_samples));
    return status;
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
    if (world->pairs.count > ABUTI_TOOLS_MOST / 2)
        return abuti_fail(ABUT_ERROR_LIMIT, "abut_world: %zu pairs are too many for the device",
                          world->pairs.count);
    status = upload_data(world);
    status = status ? status : make_frames(world);
    const abuti_segments segments = {.count = world->pairs.count,
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
