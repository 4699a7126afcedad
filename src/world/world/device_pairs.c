/* Poses and pairs of a world on a device: poses that are passed in buffers, bounding boxes of
 * bodies, and the pairs that are tested there, by sort and sweep; see world_pairs.cl.
 */
#include "world/device.h"

#include "device/tools_shared.h"

enum {
    POSES_PER_TASK = 1024,
    PAIRS_PER_ITEM = 4 /* initial capacity of the list */
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- poses ---- */

static void copy_poses(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_world *world = data;
    abut_pose *to = world->device->host_poses.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        to[i] = world_items(world)[i].at.pose;
}

/* Uploads the poses of the host. */
static void upload_poses(abut_world *world) {
    world_device *d = world->device;
    size_t count = world->items.count;
    if (d->has_poses)
        return;
    abuti_kit_fail(&d->kit,
                   abuti_vector_reserve(world->context, &d->host_poses, count, sizeof(abut_pose)));
    if (!abuti_kit_failed(&d->kit))
        abuti_parallel_for(world->context, count, POSES_PER_TASK, copy_poses, world);
    abuti_kit_upload(&d->kit, WORLD_POSES, d->host_poses.data, count, sizeof(abut_pose));
    d->has_poses = !abuti_kit_failed(&d->kit);
}

abut_status abuti_world_device_download_poses(abut_world *world) {
    world_device *d = world->device;
    const size_t count = world->items.count;
    if (!d->is_ahead)
        return ABUT_OK;
    abut_status status =
        abuti_vector_reserve(world->context, &d->host_poses, count, sizeof(abut_pose));
    if (!status)
        status =
            abuti_kit_download(&d->kit, WORLD_POSES, d->host_poses.data, count, sizeof(abut_pose));
    const abut_pose *poses = d->host_poses.data;
    for (size_t i = 0; i < count && !status; i++) {
        world_item *item = &world_items(world)[i];
        world_place to;
        if (!item->used || item->kind != ABUT_COLLIDER_BODY)
            continue;
        status = abuti_world_place("abut_world_set_poses", item, &poses[i], &to);
        if (!status)
            abuti_world_set_place(world, item, &to);
    }
    d->is_ahead = status != ABUT_OK;
    return status;
}

/* Whether all moved items are bodies; stores the last pose for each item. */
static abut_status find_last_poses(abut_world *world, const uint32_t *ids, size_t count,
                                   bool *bodies) {
    world_device *d = world->device;
    const size_t items = world->items.count;
    *bodies = true;
    if (!ids && d->has_data && d->only_bodies)
        return ABUT_OK;
    abut_status status = abuti_vector_reserve(world->context, &d->last, items, sizeof(uint32_t));
    uint32_t *last = d->last.data;
    if (!status && items)
        memset(last, 0xff, items * sizeof *last);
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t index;
        status = abuti_world_find_index("abut_world_set_poses", world, ids, i, &index);
        if (!status) {
            last[index] = (uint32_t)i;
            *bodies = *bodies && world_items(world)[index].kind == ABUT_COLLIDER_BODY;
        }
    }
    return status;
}

/* Moves items on the host, because primitives are only there. */
static abut_status move_on_host(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                                size_t count) {
    abut_pose *list = abuti_allocate(world->context, count, sizeof *list);
    abut_status status = list ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_download(&world->device->queue, &poses->memory, 0, list,
                                       count * sizeof *list);
    if (!status)
        status = abuti_world_move(world, ids, list, count);
    abuti_release(world->context, list);
    return status;
}

abut_status abuti_world_device_move(abut_world *world, const uint32_t *ids,
                                    const abut_buffer *poses, size_t count) {
    world_device *d = world->device;
    uint32_t bad = ABUT_NONE, poses_count = (uint32_t)count;
    const uint32_t items = (uint32_t)world->items.count;
    const double most = ABUT_COORDINATE_MAX;
    bool bodies;
    abut_status status = abuti_buffer_check(poses, "abut_world_set_poses", "poses", d->queue.device,
                                            count, sizeof(abut_pose));
    if (!status && count > INT32_MAX)
        status =
            abuti_fail(ABUT_ERROR_LIMIT,
                       "abut_world_set_poses: count is %zu; it must be at most 2^31 - 1", count);
    if (!status)
        status = find_last_poses(world, ids, count, &bodies);
    if (status || !count)
        return status;
    if (!bodies || world->asleep_count) /* sleeping items may wake */
        return move_on_host(world, ids, poses, count);
    upload_poses(world); /* for items that are not moved */
    abuti_kit_reserve(&d->kit, WORLD_BAD, 1, sizeof bad);
    abuti_kit_fill(&d->kit, WORLD_BAD, bad, sizeof bad);
    ABUTI_KIT_RUN(&d->kit, WORLD_CHECK, count, WORLD_ITEMS, ABUTI_BUFFER(&poses->memory),
                  MEMORY(WORLD_BAD), ABUTI_VALUE(poses_count), ABUTI_VALUE(most));
    /* To a second buffer, so that the old poses remain if one is invalid. */
    abuti_kit_reserve(&d->kit, WORLD_POSES_NEXT, items, sizeof(abut_pose));
    if (ids || count < items)
        abuti_kit_copy(&d->kit, &d->kit.buffers[WORLD_POSES], &d->kit.buffers[WORLD_POSES_NEXT],
                       items * sizeof(abut_pose));
    if (ids) {
        abuti_kit_upload(&d->kit, WORLD_LAST, d->last.data, items, sizeof(uint32_t));
        ABUTI_KIT_RUN(&d->kit, WORLD_UPDATE_POSES, items, WORLD_ITEMS, ABUTI_BUFFER(&poses->memory),
                      MEMORY(WORLD_LAST), MEMORY(WORLD_POSES_NEXT), ABUTI_VALUE(items));
    } else {
        abuti_kit_copy(&d->kit, &poses->memory, &d->kit.buffers[WORLD_POSES_NEXT],
                       count * sizeof(abut_pose));
    }
    status = abuti_kit_download(&d->kit, WORLD_BAD, &bad, 1, sizeof bad);
    if (!status && bad != ABUT_NONE)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_world_set_poses: pose %u of the buffer is not finite, or its "
                            "translation exceeds %g",
                            bad, most);
    if (status)
        return status;
    abuti_kit_swap(&d->kit, WORLD_POSES, WORLD_POSES_NEXT);
    abuti_world_changed(world, false);
    d->has_poses = d->is_ahead = true;
    return ABUT_OK;
}

/* ---- pairs ---- */

static void queue_boxes(abut_world *world) {
    world_device *d = world->device;
    const uint32_t count = (uint32_t)world->items.count;
    abuti_kit_reserve(&d->kit, WORLD_MOTIONS, count, sizeof(contact_motion));
    abuti_kit_reserve(&d->kit, WORLD_BOXES, count, sizeof(box3));
    abuti_kit_reserve(&d->kit, WORLD_PARTNERS, count, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_PARTNERS_FIRST, count, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_PAIR_COUNTERS, WORLD_PAIR_TOTALS, sizeof(uint32_t));
    ABUTI_KIT_RUN(&d->kit, WORLD_MAKE_BOXES, count < WORLD_ITEMS ? WORLD_ITEMS : count, WORLD_ITEMS,
                  MEMORY(WORLD_BODIES), MEMORY(WORLD_POSES), MEMORY(WORLD_MOTIONS),
                  MEMORY(WORLD_BOXES), MEMORY(WORLD_PARTNERS), MEMORY(WORLD_PAIR_COUNTERS),
                  ABUTI_VALUE(count));
}

/* Sorts bodies by the lower ends of their boxes, and finds those that overlap. */
static void queue_sweep(abut_world *world) {
    world_device *d = world->device;
    const uint32_t count = (uint32_t)world->items.count;
    const uint32_t slots = world->ignored.count ? (uint32_t)world->ignored.room : 0;
    abuti_kit_reserve(&d->kit, WORLD_BOX_KEYS, count, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_ORDER, count, sizeof(uint32_t));
    ABUTI_KIT_RUN(&d->kit, WORLD_MAKE_KEYS, count, WORLD_ITEMS, MEMORY(WORLD_BOXES),
                  MEMORY(WORLD_BOX_KEYS), MEMORY(WORLD_ORDER), MEMORY(WORLD_PAIR_COUNTERS),
                  ABUTI_VALUE(count), ABUTI_LOCAL_MEMORY(WORLD_ITEMS * sizeof(double)));
    abuti_tools_sort(d->tools, &d->kit.buffers[WORLD_BOX_KEYS], &d->kit.buffers[WORLD_ORDER], count,
                     0, 32);
    ABUTI_KIT_GROUPS(&d->kit, WORLD_FIND_PAIRS, count, WORLD_ITEMS, MEMORY(WORLD_BODIES),
                     MEMORY(WORLD_BOXES), MEMORY(WORLD_BOX_KEYS), MEMORY(WORLD_ORDER),
                     MEMORY(WORLD_IGNORED), ABUTI_VALUE(slots), ABUTI_VALUE(count),
                     MEMORY(WORLD_PAIR_COUNTERS), MEMORY(WORLD_PARTNERS), MEMORY(WORLD_PAIR_LIST),
                     ABUTI_VALUE(d->met.room), PLACES);
}

/* Sorts pairs by a, then b. */
static void sort_pairs(abut_world *world) {
    world_device *d = world->device;
    const uint32_t count = (uint32_t)d->pair_count, list = 0;
    abuti_buffer *first = &d->kit.buffers[WORLD_PARTNERS_FIRST], *pairs = &d->pairs->memory;
    abuti_kit_fail(&d->kit, abuti_buffer_reserve(d->queue.device, count, sizeof(world_two), pairs));
    abuti_tools_scan(d->tools, &d->kit.buffers[WORLD_PARTNERS], first, world->items.count, NULL, 0);
    ABUTI_KIT_RUN(&d->kit, WORLD_PLACE, count, WORLD_ITEMS, MEMORY(WORLD_PAIR_LIST),
                  ABUTI_BUFFER(first), ABUTI_BUFFER(pairs), ABUTI_VALUE(count));
    ABUTI_KIT_GROUPS(&d->kit, WORLD_SORT, world->items.count, WORLD_ITEMS, ABUTI_BUFFER(first),
                     MEMORY(WORLD_PARTNERS), MEMORY(WORLD_PAIR_COUNTERS), ABUTI_VALUE(list),
                     ABUTI_BUFFER(pairs), ABUTI_VALUE(d->met.room));
}

abut_status abuti_world_device_pairs(abut_world *world) {
    world_device *d = world->device;
    uint32_t totals[WORLD_PAIR_TOTALS] = {0};
    const uint64_t items = world->items.count, most = world->options.pair_limit;
    d->pair_count = 0;
    if (!items)
        return ABUT_OK;
    if (items > WORLD_LIST_LIMIT)
        return abuti_fail(ABUT_ERROR_LIMIT, "abut_world: %llu items exceed the limit of the device",
                          (unsigned long long)items);
    upload_poses(world);
    const uint64_t first = items * PAIRS_PER_ITEM;
    if (!d->met.room)
        abuti_kit_grow(&d->kit, &d->met,
                       first < WORLD_LIST_LIMIT / 2 ? first : WORLD_LIST_LIMIT / 2);
    do {
        queue_boxes(world);
        queue_sweep(world);
        abut_status status = abuti_kit_download(&d->kit, WORLD_PAIR_COUNTERS, totals,
                                                WORLD_PAIR_TOTALS, sizeof *totals);
        if (status)
            return status;
        d->pair_count = (uint64_t)totals[WORLD_PAIR_COUNT + 1] << 32 | totals[WORLD_PAIR_COUNT];
        if (d->pair_count > most)
            return abuti_fail(ABUT_ERROR_LIMIT,
                              "abut_world: more than %llu pairs of bounding boxes overlap; raise "
                              "options->pair_limit",
                              (unsigned long long)most);
    } while (abuti_kit_grow(&d->kit, &d->met, d->pair_count));
    if (d->pair_count)
        sort_pairs(world);
    return abuti_queue_report(&d->queue);
}
