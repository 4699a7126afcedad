/* A step of a motion on a device: transfer of positions.
 *
 * New positions go to their own buffers, which are exchanged with those of the last step once all
 * checks have passed. So a step that fails changes nothing, and an accepted step can be undone.
 * Positions of the host lie in pinned memory, from which the device copies while the host
 * continues. Positions that are already on the device are checked and copied by a kernel, which
 * also computes their bounding box. The host then has no copy, and downloads one only if a
 * computation on the host needs it.
 */
#include "sweep/device.h"

_Static_assert(sizeof(sweep_position_check) == 56, "layout on the device");

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* Waits for all queued work. */
static abut_status finish_queue(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    abut_status status = abuti_kit_finish(&d->kit);
    d->is_sending = d->is_sending && status;
    return status;
}

abut_status abuti_motion_device_begin(abut_sweep *motion, bool compares) {
    abut_status status = motion->on_device->is_sending ? finish_queue(motion) : ABUT_OK;
    return status || !compares ? status : abuti_motion_download(motion);
}

abut_status abuti_motion_device_send(abut_sweep *motion, int side, size_t count) {
    motion_device *d = motion->on_device;
    const vec3 *from = motion->next[side];
    d->is_sending = true;
    abuti_kit_send(&d->kit, side ? MOTION_NEXT_END : MOTION_NEXT_START, 0, from, count,
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

/* ---- positions on the device ---- */

static uint32_t check_group_count(uint32_t count) {
    uint32_t groups = count / SWEEP_ITEMS + 1;
    return groups < MOTION_CHECK_GROUPS ? groups : MOTION_CHECK_GROUPS;
}

static void queue_position_check(motion_device *d, const motion_step_input *t, uint32_t side) {
    const uint32_t first = side * MOTION_CHECK_GROUPS;
    ABUTI_KIT_GROUPS(&d->kit, MOTION_CHECK_POSITIONS, check_group_count(t->count), SWEEP_ITEMS,
                     ABUTI_BUFFER(&(side ? t->end_buffer : t->start_buffer)->memory),
                     MEMORY(MOTION_END), ABUTI_VALUE(t->count),
                     MEMORY(side ? MOTION_NEXT_END : MOTION_NEXT_START), ABUTI_VALUE(first),
                     MEMORY(MOTION_POSITION_CHECKS),
                     ABUTI_LOCAL_MEMORY(SWEEP_ITEMS * sizeof(double)));
}

/* Joins the results of all work-groups. Rejects the same positions as on the host. */
static abut_status join_position_checks(abut_sweep *motion, motion_step_input *t, int side) {
    motion_device *d = motion->on_device;
    uint32_t bad = ABUT_NONE;
    bool differs = false;
    vec3 at = v3(0, 0, 0);
    box3 all = box_empty();
    for (uint32_t i = 0; i < check_group_count(t->count); i++) {
        const sweep_position_check *seen = &d->report->position_checks[side][i];
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
    const abut_buffer *from = side ? t->end_buffer : t->start_buffer;
    abut_status status =
        abuti_buffer_download(&d->queue, &from->memory, bad * sizeof at, &at, sizeof at);
    return status ? status : abuti_positions_fail(t->function, name, bad, at);
}

abut_status abuti_motion_device_load(abut_sweep *motion, motion_step_input *input) {
    motion_device *d = motion->on_device;
    const abut_buffer *from[2] = {input->start_buffer, input->end_buffer};
    abut_status status = ABUT_OK;
    for (int side = 0; side < 2 && !status; side++)
        if (from[side])
            status = abuti_buffer_check(from[side], input->function,
                                        side ? input->end_name : input->start_name, d->queue.device,
                                        input->count, sizeof(vec3));
    if (status)
        return status;
    for (uint32_t side = 0; side < 2; side++)
        if (from[side])
            queue_position_check(d, input, side);
    abuti_kit_receive(&d->kit, MOTION_POSITION_CHECKS, 0, d->report->position_checks, 1,
                      sizeof d->report->position_checks);
    status = finish_queue(motion); /* the caller may change its buffers afterwards */
    for (int side = 0; side < 2 && !status; side++)
        if (from[side])
            status = join_position_checks(motion, input, side);
    return status;
}

/* ---- download ---- */

abut_status abuti_motion_download(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    motion_place *place = &motion->place;
    abut_status status = ABUT_OK;
    if (!place->start_on_host) {
        status = abuti_kit_download(&d->kit, MOTION_START, motion->start, motion->vertex_count,
                                    sizeof *motion->start);
        place->start_on_host = !status;
    }
    if (!status && !place->end_on_host) {
        status = abuti_kit_download(&d->kit, MOTION_END, motion->end, motion->vertex_count,
                                    sizeof *motion->end);
        place->end_on_host = !status;
    }
    return status;
}
