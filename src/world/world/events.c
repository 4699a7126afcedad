/* Events: compares the pairs that touch now with those that touched when events were last reported,
 * by merging two sorted lists. An item that has the index of a removed one has a different
 * serial number.
 */
#include "world/world.h"

static int compare_touches(const abut_world_event *x, const abut_world_event *y) {
    const abut_world_pair p = {x->a, x->b}, q = {y->a, y->b};
    return world_compare_pairs(&p, &q);
}

/* Merges both lists and returns the number of events; writes them if `to` is not null. */
static uint64_t merge_touches(const abuti_vector *before, const abuti_vector *after,
                              abut_world_event *to) {
    const world_touch *x = before->data, *y = after->data;
    uint64_t count = 0;
    for (size_t i = 0, k = 0; i < before->count || k < after->count; count++) {
        int order = i == before->count  ? 1
                    : k == after->count ? -1
                                        : compare_touches(&x[i].event, &y[k].event);
        bool same = !order && x[i].serial[0] == y[k].serial[0] && x[i].serial[1] == y[k].serial[1];
        abut_world_event event;
        if (same || order > 0) {
            event = y[k++].event;
            event.kind = same ? ABUT_WORLD_EVENT_PERSIST : ABUT_WORLD_EVENT_BEGIN;
        } else {
            event = x[i].event;
            event.kind = ABUT_WORLD_EVENT_END;
            event.first = event.count = 0;
        }
        i += same || order <= 0;
        if (to)
            to[count] = event;
    }
    return count;
}

void abuti_world_set_reported(abut_world *world) {
    if (world->touches.count)
        memcpy(world->reported.data, world->touches.data,
               world->touches.count * sizeof(world_touch));
    world->reported.count = world->touches.count;
    world->has_reported = true;
}

abut_status abut_world_events(abut_world *world, abut_world_event_list *events) {
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = ABUTI_LIST_CHECK(__func__, "events", events);
    if (!status)
        status = abuti_world_find_contacts("abut_world_events", world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->reported, world->touches.count,
                                      sizeof(world_touch));
    if (!status)
        status = ABUTI_LIST_COUNT(__func__, "events", events,
                                  merge_touches(&world->reported, &world->touches, NULL));
    if (status)
        return status;
    merge_touches(&world->reported, &world->touches, events->list);
    abuti_world_set_reported(world);
    return ABUT_OK;
}
