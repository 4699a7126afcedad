/* Poses and pairs of a world on a device: poses that are passed in buffers, bounding boxes of
 * bodies, and a tree that finds the pairs that are tested there; see world_pairs.cl.
 *
 * The order of bodies along a curve is kept from step to step. It is rebuilt when items are added
 * or removed, or when the traversal has become twice as slow.
 */
#include "world/device.h"

#include "device/tools_shared.h"

enum {
    POSES_PER_TASK = 1024,
    REORDER_FACTOR = 2,  /* factor of visits that triggers a new order */
    PAIRS_PER_ITEM = 4,  /* initial capacity of lists; */
    VISITS_PER_ITEM = 32 /* and of visits */
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
        uint32_t id = ids ? ids[i] : (uint32_t)i;
        status = abuti_world_check_id("abut_world_set_poses", world, id);
        if (!status) {
            last[id] = (uint32_t)i;
            *bodies = *bodies && world_items(world)[id].kind == ABUT_COLLIDER_BODY;
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
    if (!bodies)
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

/* Sorts bodies along a curve. */
static void sort_bodies(abut_world *world) {
    world_device *d = world->device;
    const uint32_t count = (uint32_t)world->items.count;
    abuti_kit_reserve(&d->kit, WORLD_CURVE, count, sizeof(uint32_t));
    abuti_kit_reserve(&d->kit, WORLD_ORDER, count, sizeof(uint32_t));
    ABUTI_KIT_RUN(&d->kit, WORLD_CURVES, count, WORLD_ITEMS, MEMORY(WORLD_BOXES),
                  MEMORY(WORLD_CURVE), MEMORY(WORLD_ORDER), ABUTI_VALUE(count),
                  ABUTI_LOCAL_MEMORY(2 * WORLD_ITEMS * sizeof(double)));
    abuti_tools_sort(d->tools, 32, &d->kit.buffers[WORLD_CURVE], &d->kit.buffers[WORLD_ORDER],
                     count, 0, 32);
}

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

/* Levels of the tree in one buffer, items first; the last level has at most WORLD_CHILDREN
 * nodes. */
typedef struct levels {
    uint32_t top; /* 0: only items */
    uint32_t first[WORLD_LEVELS], count[WORLD_LEVELS];
} levels;

static levels queue_tree(abut_world *world) {
    world_device *d = world->device;
    levels l = {.count = {(uint32_t)world->items.count}};
    abuti_kit_reserve(&d->kit, WORLD_NODES, l.count[0] + l.count[0] / 8 + WORLD_LEVELS,
                      sizeof(world_node));
    ABUTI_KIT_RUN(&d->kit, WORLD_LEAVES, l.count[0], WORLD_ITEMS, MEMORY(WORLD_BOXES),
                  MEMORY(WORLD_ORDER), MEMORY(WORLD_NODES), ABUTI_VALUE(l.count[0]));
    for (; l.count[l.top] > WORLD_CHILDREN; l.top++) {
        uint32_t from = l.first[l.top], count = l.count[l.top], to = from + count;
        l.first[l.top + 1] = to;
        l.count[l.top + 1] = (uint32_t)abuti_chunk_count(count, WORLD_CHILDREN);
        ABUTI_KIT_RUN(&d->kit, WORLD_PARENTS, l.count[l.top + 1], WORLD_ITEMS, MEMORY(WORLD_NODES),
                      ABUTI_VALUE(from), ABUTI_VALUE(to), ABUTI_VALUE(count));
    }
    return l;
}

/* Traverses the tree level by level from the top; the visits of consecutive levels alternate
 * between two lists. */
static void queue_traversal(abut_world *world, const levels *l) {
    world_device *d = world->device;
    const size_t groups = world_groups(d);
    const uint32_t slots = world->ignored.count ? (uint32_t)world->ignored.room : 0;
    int32_t at_top = 1;
    for (uint32_t level = l->top; level > 0; level--, at_top = 0) {
        const abuti_kit_list *from = &d->visits[(level + 1) % 2], *to = &d->visits[level % 2];
        ABUTI_KIT_GROUPS(&d->kit, WORLD_VISIT, groups, WORLD_ITEMS, MEMORY(WORLD_NODES),
                         MEMORY(from->buffer), ABUTI_VALUE(from->room), MEMORY(WORLD_PAIR_COUNTERS),
                         ABUTI_VALUE(level), ABUTI_VALUE(l->first[level]),
                         ABUTI_VALUE(l->count[level]), ABUTI_VALUE(l->count[0]),
                         ABUTI_VALUE(at_top), MEMORY(to->buffer), ABUTI_VALUE(to->room), PLACES);
    }
    ABUTI_KIT_GROUPS(&d->kit, WORLD_FIND_PAIRS, groups, WORLD_ITEMS, MEMORY(WORLD_BODIES),
                     MEMORY(WORLD_BOXES), MEMORY(WORLD_ORDER), MEMORY(WORLD_NODES),
                     MEMORY(WORLD_IGNORED), ABUTI_VALUE(slots), MEMORY(d->visits[1].buffer),
                     ABUTI_VALUE(d->visits[1].room), MEMORY(WORLD_PAIR_COUNTERS),
                     ABUTI_VALUE(l->count[0]), ABUTI_VALUE(at_top), MEMORY(WORLD_PARTNERS),
                     MEMORY(WORLD_PAIR_LIST), ABUTI_VALUE(d->met.room), PLACES);
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

static uint64_t read_count(const uint32_t totals[WORLD_PAIR_TOTALS], uint32_t which) {
    return (uint64_t)totals[2 * which + 1] << 32 | totals[2 * which];
}

/* Grows the lists that were too small; returns whether there were any. */
static bool grow_lists(world_device *d, const uint32_t totals[WORLD_PAIR_TOTALS]) {
    bool grew = abuti_kit_grow(&d->kit, &d->met, read_count(totals, WORLD_PAIR_COUNT));
    for (uint32_t level = 1; level < WORLD_LEVELS; level++)
        grew = abuti_kit_grow(&d->kit, &d->visits[level % 2], read_count(totals, level)) || grew;
    return grew;
}

abut_status abuti_world_device_pairs(abut_world *world) {
    world_device *d = world->device;
    uint32_t totals[WORLD_PAIR_TOTALS] = {0};
    const uint64_t items = world->items.count;
    uint64_t visits = 0;
    bool sorted;
    d->pair_count = 0;
    if (!items)
        return ABUT_OK;
    if (items > WORLD_LIST_LIMIT)
        return abuti_fail(ABUT_ERROR_LIMIT, "abut_world: %llu items exceed the limit of the device",
                          (unsigned long long)items);
    upload_poses(world);
    const uint64_t least[] = {items * PAIRS_PER_ITEM, items * VISITS_PER_ITEM,
                              items * VISITS_PER_ITEM};
    abuti_kit_list *const lists[] = {&d->met, &d->visits[0], &d->visits[1]};
    for (int i = 0; i < 3; i++)
        if (!lists[i]->room)
            abuti_kit_grow(&d->kit, lists[i],
                           least[i] < WORLD_LIST_LIMIT / 2 ? least[i] : WORLD_LIST_LIMIT / 2);
    do {
        queue_boxes(world);
        sorted = !d->has_order;
        if (sorted)
            sort_bodies(world);
        const levels l = queue_tree(world);
        queue_traversal(world, &l);
        abut_status status = abuti_kit_download(&d->kit, WORLD_PAIR_COUNTERS, totals,
                                                WORLD_PAIR_TOTALS, sizeof *totals);
        if (status)
            return status;
        d->has_order = true;
        if (read_count(totals, WORLD_PAIR_COUNT) > world->options.pair_limit)
            return abuti_fail(ABUT_ERROR_LIMIT,
                              "abut_world: more than %llu pairs of bounding boxes overlap; raise "
                              "options->pair_limit",
                              (unsigned long long)world->options.pair_limit);
    } while (grow_lists(d, totals));
    d->pair_count = read_count(totals, WORLD_PAIR_COUNT);
    for (uint32_t level = 1; level < WORLD_LEVELS; level++)
        visits += read_count(totals, level);
    if (sorted)
        d->visit_count = visits;
    else if (visits / REORDER_FACTOR > d->visit_count)
        d->has_order = false;
    if (d->pair_count)
        sort_pairs(world);
    return abuti_queue_report(&d->queue);
}
