/* What has become of pairs: those that touch now against those that did when events were last told,
 * two lists in one order. An item that took the id of another is another item: it was born later.
 */
#include "world/world.h"

static int compare(const world_touch *x, const world_touch *y) {
    if (x->event.a != y->event.a)
        return x->event.a < y->event.a ? -1 : 1;
    return x->event.b != y->event.b ? (x->event.b < y->event.b ? -1 : 1) : 0;
}

static abut_world_event ended(const world_touch *touch) {
    abut_world_event event = touch->event;
    event.kind = ABUT_WORLD_EVENT_END;
    event.first = event.count = 0;
    return event;
}

/* Merges both lists; writes where there is somewhere to write to, and gives how many events. */
static uint64_t merge(const abuti_vector *before, const abuti_vector *after, abut_world_event *to) {
    const world_touch *x = before->data, *y = after->data;
    uint64_t count = 0;
    for (size_t i = 0, k = 0; i < before->count || k < after->count; count++) {
        int order = i == before->count ? 1 : k == after->count ? -1 : compare(&x[i], &y[k]);
        bool same = !order && x[i].born[0] == y[k].born[0] && x[i].born[1] == y[k].born[1];
        abut_world_event event;
        if (same || order > 0) {
            event = y[k++].event;
            event.kind = same ? ABUT_WORLD_EVENT_PERSIST : ABUT_WORLD_EVENT_BEGIN;
        } else {
            event = ended(&x[i]);
        }
        i += same || order <= 0;
        if (to)
            to[count] = event;
    }
    return count;
}

void abuti_world_set_told(abut_world *world) {
    if (world->touches.count)
        memcpy(world->told.data, world->touches.data, world->touches.count * sizeof(world_touch));
    world->told.count = world->touches.count;
    world->has_told = true;
}

abut_status abut_world_events(abut_world *world, uint64_t capacity, abut_world_event *events,
                              uint64_t *count) {
    if (!world || !count || (!events && capacity))
        return abuti_null(__func__, !world ? "world" : !count ? "count" : "events");
    abut_status status = abuti_world_find_contacts("abut_world_events", world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->told, world->touches.count,
                                      sizeof(world_touch));
    if (status)
        return status;
    uint64_t found = merge(&world->told, &world->touches, NULL);
    *count = found;
    if (found > capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_world_events: there are %llu events, and room for %llu",
                          (unsigned long long)found, (unsigned long long)capacity);
    merge(&world->told, &world->touches, events);
    abuti_world_set_told(world);
    return ABUT_OK;
}
