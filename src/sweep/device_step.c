/* The step of a motion on a device: how positions come there.
 *
 * New positions go to memory of their own, and take the place of the last ones when all is well: a
 * step that fails changes nothing, and one that turns out to be no good can be taken back. What a
 * caller has on the device already is checked and copied by a kernel, which also finds the box; the
 * host has no copy then, and fetches one only for answers that have to be exact.
 */
#include "sweep/device.h"

enum { GROUP = 256, TAKERS = 128 }; /* groups that take positions */

_Static_assert(sizeof(sweep_taken) == 56, "as on the device");

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

static void swap(motion_device *d, motion_memory a, motion_memory b) {
    abuti_buffer other = d->memory[a];
    d->memory[a] = d->memory[b];
    d->memory[b] = other;
}

static void accept(motion_device *d, bool has_start) {
    swap(d, MOTION_START, has_start ? MOTION_NEXT_START : MOTION_END);
    swap(d, MOTION_END, MOTION_NEXT_END);
}

abut_status abuti_motion_device_step(abut_motion *motion, const vec3 *start, const vec3 *end) {
    motion_device *d = motion->on_device;
    const size_t bytes = motion->vertex_count * sizeof *end;
    abut_status status = ABUT_OK;
    if (start)
        status = abuti_buffer_upload(&d->queue, &d->memory[MOTION_NEXT_START], 0, start, bytes);
    if (!status)
        status = abuti_buffer_upload(&d->queue, &d->memory[MOTION_NEXT_END], 0, end, bytes);
    if (!status)
        accept(d, start != NULL);
    return status;
}

/* ---- from the device ---- */

static abut_status queue_take(abut_motion *motion, const abut_buffer *from, motion_memory to,
                              uint32_t first) {
    motion_device *d = motion->on_device;
    return ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_TAKE], TAKERS, GROUP,
                        ABUTI_BUFFER(&from->memory), ABUTI_VALUE(motion->vertex_count), MEMORY(to),
                        ABUTI_VALUE(first), MEMORY(MOTION_TAKEN),
                        ABUTI_LOCAL_MEMORY(GROUP * sizeof(double)));
}

/* What all groups found; refuses what no host positions may be either. */
static abut_status join(abut_motion *motion, const sweep_taken *taken, const abut_buffer *from,
                        const char *what, box3 *box) {
    uint32_t bad = ABUT_NONE;
    vec3 at = v3(0, 0, 0);
    box3 all = box_empty();
    for (int i = 0; i < TAKERS; i++) {
        const sweep_taken *t = &taken[i];
        bad = t->bad < bad ? t->bad : bad;
        box3 here = {v3(t->lo[0], t->lo[1], t->lo[2]), v3(t->hi[0], t->hi[1], t->hi[2])};
        all = box_join(all, here);
    }
    *box = all;
    if (bad == ABUT_NONE)
        return ABUT_OK;
    abut_status status = abuti_buffer_download(&motion->on_device->queue, &from->memory,
                                               bad * sizeof at, &at, sizeof at);
    return status ? status : abuti_positions_refuse("abut_motion_step_device", what, bad, at);
}

abut_status abuti_motion_device_take(abut_motion *motion, const abut_buffer *start,
                                     const abut_buffer *end, box3 boxes[2]) {
    motion_device *d = motion->on_device;
    sweep_taken taken[2][TAKERS];
    abut_status status = ABUT_OK;
    if (start)
        status = abuti_buffer_check(start, "abut_motion_step_device", "start", d->queue.device,
                                    motion->vertex_count, sizeof(vec3));
    if (!status)
        status = abuti_buffer_check(end, "abut_motion_step_device", "end", d->queue.device,
                                    motion->vertex_count, sizeof(vec3));
    if (!status)
        status = abuti_buffer_reserve(d->queue.device, 1, sizeof taken, &d->memory[MOTION_TAKEN]);
    if (!status && start)
        status = queue_take(motion, start, MOTION_NEXT_START, 0);
    if (!status)
        status = queue_take(motion, end, MOTION_NEXT_END, TAKERS);
    if (!status)
        status = abuti_buffer_download(&d->queue, &d->memory[MOTION_TAKEN], 0, taken, sizeof taken);
    if (!status && start)
        status = join(motion, taken[0], start, "start", &boxes[0]);
    status = status ? status : join(motion, taken[1], end, "end", &boxes[1]);
    if (!status)
        accept(d, start != NULL);
    return status;
}

/* ---- to the host ---- */

abut_status abuti_motion_device_fetch(abut_motion *motion) {
    motion_device *d = motion->on_device;
    const size_t bytes = motion->vertex_count * sizeof *motion->start;
    abut_status status = ABUT_OK;
    if (!motion->start_is_here)
        status =
            abuti_buffer_download(&d->queue, &d->memory[MOTION_START], 0, motion->start, bytes);
    motion->start_is_here = !status;
    if (!status && !motion->end_is_here) {
        status = abuti_buffer_download(&d->queue, &d->memory[MOTION_END], 0, motion->end, bytes);
        motion->end_is_here = !status;
    }
    return status;
}
