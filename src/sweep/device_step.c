/* The step of a motion on a device: how positions come there.
 *
 * New positions go to memory of their own, and take the place of the last ones when all is well: a
 * step that fails changes nothing, and one that turns out to be no good can be taken back. Those of
 * the host lie in memory that the device copies by itself while the host goes on. What a caller has
 * on the device already is checked and copied by a kernel, which also finds the box; the host has
 * no copy then, and fetches one only where something has to be decided here.
 */
#include "sweep/device.h"

_Static_assert(sizeof(sweep_taken) == 56, "as on the device");

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

abut_status abuti_motion_device_begin(abut_sweep *motion, bool compares) {
    abut_status status = motion->on_device->is_sending ? abuti_motion_device_wait(motion) : ABUT_OK;
    return status || !compares ? status : abuti_motion_device_fetch(motion);
}

abut_status abuti_motion_device_wait(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    abut_status status = abuti_kit_finish(&d->kit);
    d->is_sending = d->is_sending && status;
    return status;
}

abut_status abuti_motion_device_send(abut_sweep *motion, int side, size_t first, size_t count) {
    motion_device *d = motion->on_device;
    const vec3 *from = motion->next[side];
    d->is_sending = true;
    abuti_kit_send(&d->kit, side ? MOTION_NEXT_END : MOTION_NEXT_START, first, from + first, count,
                   sizeof *from);
    return abuti_queue_report(&d->queue);
}

void abuti_motion_device_accept(abut_sweep *motion, bool has_start) {
    motion_device *d = motion->on_device;
    abuti_kit_swap(&d->kit, MOTION_START, has_start ? MOTION_NEXT_START : MOTION_END);
    abuti_kit_swap(&d->kit, MOTION_END, MOTION_NEXT_END);
}

void abuti_motion_device_undo(abut_sweep *motion, bool has_start) {
    motion_device *d = motion->on_device;
    abuti_kit_swap(&d->kit, MOTION_END, MOTION_NEXT_END);
    abuti_kit_swap(&d->kit, MOTION_START, has_start ? MOTION_NEXT_START : MOTION_END);
}

/* ---- from the device ---- */

static uint32_t takers_of(uint32_t count) {
    uint32_t groups = count / SWEEP_ITEMS + 1;
    return groups < MOTION_TAKERS ? groups : MOTION_TAKERS;
}

static void queue_take(motion_device *d, const motion_taking *t, uint32_t side) {
    const uint32_t first = side * MOTION_TAKERS;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_TAKE, takers_of(t->count), SWEEP_ITEMS,
                     ABUTI_BUFFER(&(side ? t->end_there : t->start_there)->memory),
                     MEMORY(MOTION_END), ABUTI_VALUE(t->count),
                     MEMORY(side ? MOTION_NEXT_END : MOTION_NEXT_START), ABUTI_VALUE(first),
                     MEMORY(MOTION_TAKEN), ABUTI_LOCAL_MEMORY(SWEEP_ITEMS * sizeof(double)));
}

/* What all groups found; refuses what no positions of the host may be either. */
static abut_status join(abut_sweep *motion, motion_taking *t, int side) {
    motion_device *d = motion->on_device;
    uint32_t bad = ABUT_NONE;
    bool differs = false;
    vec3 at = v3(0, 0, 0);
    box3 all = box_empty();
    for (uint32_t i = 0; i < takers_of(t->count); i++) {
        const sweep_taken *seen = &d->report->taken[side][i];
        box3 here = {v3(seen->lo[0], seen->lo[1], seen->lo[2]),
                     v3(seen->hi[0], seen->hi[1], seen->hi[2])};
        bad = seen->bad < bad ? seen->bad : bad;
        differs |= seen->differs != 0;
        all = box_join(all, here);
    }
    t->boxes[side] = all;
    t->has_start = side ? t->has_start : differs;
    const char *name = side ? t->end_name : t->start_name;
    if (bad == ABUT_NONE)
        return abuti_positions_check_size(t->function, name, all);
    const abut_buffer *from = side ? t->end_there : t->start_there;
    abut_status status =
        abuti_buffer_download(&d->queue, &from->memory, bad * sizeof at, &at, sizeof at);
    return status ? status : abuti_positions_refuse(t->function, name, bad, at);
}

abut_status abuti_motion_device_take(abut_sweep *motion, motion_taking *taking) {
    motion_device *d = motion->on_device;
    const abut_buffer *from[2] = {taking->start_there, taking->end_there};
    abut_status status = ABUT_OK;
    for (int side = 0; side < 2 && !status; side++)
        if (from[side])
            status = abuti_buffer_check(from[side], taking->function,
                                        side ? taking->end_name : taking->start_name,
                                        d->queue.device, taking->count, sizeof(vec3));
    if (status)
        return status;
    for (uint32_t side = 0; side < 2; side++)
        if (from[side])
            queue_take(d, taking, side);
    abuti_kit_receive(&d->kit, MOTION_TAKEN, 0, d->report->taken, 1, sizeof d->report->taken);
    if (taking->also)
        abuti_kit_fail(&d->kit, taking->also(taking->user, taking));
    status = abuti_motion_device_wait(motion); /* the caller's buffers are free then */
    for (int side = 0; side < 2 && !status; side++)
        if (from[side])
            status = join(motion, taking, side);
    return status;
}

/* ---- to the host ---- */

abut_status abuti_motion_device_fetch(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    motion_place *place = &motion->place;
    abut_status status = ABUT_OK;
    if (!place->start_is_here) {
        status = abuti_kit_get(&d->kit, MOTION_START, motion->start, motion->vertex_count,
                               sizeof *motion->start);
        place->start_is_here = !status;
    }
    if (!status && !place->end_is_here) {
        status = abuti_kit_get(&d->kit, MOTION_END, motion->end, motion->vertex_count,
                               sizeof *motion->end);
        place->end_is_here = !status;
    }
    return status;
}
