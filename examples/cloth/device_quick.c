/* Cloth against radial fields on a device: see patches_shared.h, and quick.c for the same on the
 * CPU.
 *
 * All data of a step are on the device: positions, velocities, patches; the solid's positions,
 * if the caller has them in a buffer, such as a skinner's; and the fields. The host downloads
 * sixteen bytes. Data that a step changes have two buffers each, which are exchanged on success.
 * A step waits three times: for the search, since its time is reported; for the substeps, since
 * fields have their own queue; and at the end. */
#include "patches.h"

#ifndef CLOTH_NO_DEVICES
#include "cloth_device.h"

enum { GROUP = CLOTH_GROUP };

enum { INSERT, FIND, MOVE, SOLVE, AIMS, SETTLE, KERNELS };
enum {
    PATCHES,
    LIST,
    HINGES,
    EDGES,
    REST,
    HEADS,
    CHAIN,
    SELVES,
    HELD_OF,
    NEXT,
    SPARE_VELOCITY,
    AIM,
    TOTALS,
    BUFFERS
};

#define KERNEL(name) \
    { "patches", "patches_" name, NULL }
static const abuti_kernel_source sources[KERNELS] = {
    [INSERT] = KERNEL("insert"), [FIND] = KERNEL("find"), [MOVE] = KERNEL("move"),
    [SOLVE] = KERNEL("solve"),   [AIMS] = KERNEL("aims"), [SETTLE] = KERNEL("settle"),
};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, cloth_modules};

#define QUICK(which) KIT_BUFFER(&d->quick, which)
#define BUFFER_OF(buffer) ABUTI_BUFFER(&(buffer)->memory)

/* ---- create ---- */

/* Once, in the first step. */
static abut_status make(cloth *c) {
    cloth_device *d = c->device;
    const cloth_quick *q = c->quick;
    const cloth_patches *p = q->patches;
    const size_t n = c->vertices;
    abut_status status = cloth_quick_find_held(c);
    if (status || d->hits)
        return status;
    if (!d->quick.queue)
        status = abuti_kit_open(&d->queue, &table, "", &d->quick);
    if (status)
        return status;
    abuti_kit_build(&d->quick);
    abuti_kit_upload(&d->quick, PATCHES, p->patches, p->count, sizeof *p->patches);
    abuti_kit_upload(&d->quick, LIST, p->list, p->listed, sizeof *p->list);
    abuti_kit_upload(&d->quick, HINGES, p->hinges, p->hinge_count, sizeof *p->hinges);
    abuti_kit_upload(&d->quick, EDGES, p->edges, p->edge_count, sizeof *p->edges);
    abuti_kit_upload(&d->quick, HELD_OF, q->held_of, q->held_of ? n : 1, sizeof *q->held_of);
    abuti_kit_reserve(&d->quick, NEXT, n, sizeof(vec));
    abuti_kit_reserve(&d->quick, SPARE_VELOCITY, n, sizeof(vec));
    abuti_kit_reserve(&d->quick, AIM, c->all_vertices, sizeof(vec));
    abuti_kit_reserve(&d->quick, TOTALS, 1, sizeof(cloth_totals));
    if (!c->options.no_self) {
        abuti_kit_upload(&d->quick, REST, abut_mesh_local_positions(c->rest), n, sizeof(vec));
        abuti_kit_reserve(&d->quick, HEADS, q->buckets, sizeof(uint32_t));
        abuti_kit_reserve(&d->quick, CHAIN, n, sizeof(uint32_t));
        abuti_kit_reserve(&d->quick, SELVES, n, sizeof(cloth_self));
    }
    status = abuti_kit_finish(&d->quick);
    return status ? status
                  : abut_buffer_create(d->queue.device, n * sizeof(abut_radial_hit), &d->hits);
}

void cloth_quick_close(cloth *c) {
    abuti_kit_close(&c->device->quick);
    abut_buffer_destroy(c->device->hits);
}

/* ---- a step ---- */

static void search(cloth *c) {
    cloth_device *d = c->device;
    const cloth_quick *q = c->quick;
    if (c->options.no_self)
        return;
    abuti_kit_fill(&d->quick, HEADS, VEC_NONE, q->buckets * sizeof(uint32_t));
    ABUTI_KIT_RUN(&d->quick, INSERT, c->vertices, GROUP, ABUTI_VALUE(q->search),
                  ABUTI_VALUE(c->vertices), BUFFER_OF(d->start), QUICK(HEADS), QUICK(CHAIN));
    ABUTI_KIT_RUN(&d->quick, FIND, (size_t)c->vertices * CELL_LANES, GROUP, ABUTI_VALUE(q->search),
                  ABUTI_VALUE(c->vertices), QUICK(HEADS), QUICK(CHAIN), MEMORY(MEMORY_CORNERS),
                  MEMORY(MEMORY_FACE_BEGIN), MEMORY(MEMORY_FACES), QUICK(REST), BUFFER_OF(d->start),
                  ABUTI_LOCAL_MEMORY(GROUP * sizeof(double)),
                  ABUTI_LOCAL_MEMORY(GROUP * sizeof(uint32_t)),
                  ABUTI_LOCAL_MEMORY(GROUP * sizeof(uint32_t)), QUICK(SELVES), QUICK(TOTALS));
}

/* From `start` to NEXT and NOW alternately; velocities are written to spare buffers. Returns the
 * buffer of the final positions. */
static const abuti_buffer *advance(cloth *c, double seconds) {
    cloth_device *d = c->device;
    const cloth_patches *p = c->quick->patches;
    const uint32_t has_selves = !c->options.no_self, has_held = c->held_count > 0;
    const abuti_buffer *x = &d->start->memory, *velocity = &d->kit.buffers[MEMORY_VELOCITY];
    const abuti_buffer *const moved = &d->kit.buffers[MEMORY_BEFORE],
                              *const spare = &d->quick.buffers[SPARE_VELOCITY];
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        const cloth_substep s = cloth_substep_of(c, seconds, i);
        const abuti_buffer *next = &d->quick.buffers[NEXT];
        next = x == next ? &d->kit.buffers[MEMORY_NOW] : next;
        cloth_device_measure(c, &s, x);
        ABUTI_KIT_RUN(&d->quick, MOVE, c->vertices, GROUP, ABUTI_VALUE(s), ABUTI_VALUE(c->vertices),
                      MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_CORNERS),
                      MEMORY(MEMORY_FACE_BEGIN), MEMORY(MEMORY_FACES), MEMORY(MEMORY_PRESSURE),
                      QUICK(HELD_OF), MEMORY(MEMORY_HELD), ABUTI_VALUE(has_held),
                      ABUTI_BUFFER(velocity), ABUTI_BUFFER(x), ABUTI_BUFFER(moved));
        ABUTI_KIT_RUN(&d->quick, SOLVE, (size_t)p->count * PATCH_LANES, PATCH_LANES, ABUTI_VALUE(s),
                      ABUTI_VALUE(has_selves), QUICK(PATCHES), QUICK(LIST), QUICK(HINGES),
                      QUICK(EDGES), MEMORY(MEMORY_INVERSE_MASS), QUICK(SELVES), ABUTI_BUFFER(x),
                      ABUTI_BUFFER(moved), ABUTI_LOCAL_MEMORY(p->largest * sizeof(vec)),
                      ABUTI_LOCAL_MEMORY(p->largest * sizeof(double)), ABUTI_BUFFER(next),
                      ABUTI_BUFFER(spare));
        x = next;
        velocity = spare;
    }
    return x;
}

/* Vertices leave the fields, which waits for the device, and get their final positions. */
static abut_status leave_fields(cloth *c, double seconds, cloth_totals *totals,
                                cloth_report *report) {
    cloth_device *d = c->device;
    abut_radial_particles particles = cloth_quick_particles(c);
    particles.from = abut_array_buffer(d->start);
    particles.to = abut_array_buffer(d->end);
    particles.hits = abut_array_buffer(d->hits);
    abut_status status = abut_radial_collide(c->quick->radial, &particles);
    if (status)
        return status;
    report->impacts = (uint32_t)particles.hit_count;
    ABUTI_KIT_RUN(&d->quick, SETTLE, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                  ABUTI_VALUE(seconds), MEMORY(MEMORY_INVERSE_MASS), BUFFER_OF(d->start),
                  QUICK(AIM), BUFFER_OF(d->hits), BUFFER_OF(d->end), QUICK(SPARE_VELOCITY),
                  QUICK(TOTALS));
    return abuti_kit_download(&d->quick, TOTALS, totals, 1, sizeof *totals);
}

/* Uploads the solid's target positions if necessary. */
static abut_status solid_there(cloth *c, abut_array solid_end, const abuti_buffer **there) {
    cloth_device *d = c->device;
    const uint32_t count = c->all_vertices - c->vertices;
    *there = &d->kit.buffers[MEMORY_SOLID_END];
    if (solid_end.host)
        abuti_kit_upload(&d->kit, MEMORY_SOLID_END, solid_end.host, count, sizeof(vec));
    if (!solid_end.buffer)
        return ABUT_OK;
    *there = &solid_end.buffer->memory;
    return abuti_buffer_check(solid_end.buffer, "cloth_step_from", "solid_end", d->queue.device,
                              count, sizeof(vec));
}

abut_status cloth_quick_on_device(cloth *c, double seconds, abut_array solid_end,
                                  cloth_report *report) {
    cloth_device *d = c->device;
    const double start = cloth_clock();
    const uint32_t moves = solid_end.host || solid_end.buffer;
    const abuti_buffer *solid = NULL;
    cloth_totals totals = cloth_quick_begin(c);
    abut_status status = make(c);
    status = status ? status : solid_there(c, solid_end, &solid);
    if (status) {
        abuti_kit_fail(&d->kit, status);
        return abuti_kit_finish(&d->kit);
    }
    cloth_device_begin(c);
    if (!d->has_velocity)
        abuti_kit_upload(&d->kit, MEMORY_VELOCITY, c->velocity, c->vertices, sizeof(vec));
    abuti_kit_upload(&d->quick, TOTALS, &totals, 1, sizeof totals);
    search(c);
    status = abuti_kit_finish(&d->quick);
    d->has_velocity = !status;
    if (status)
        return status;
    const double found = cloth_clock();
    cloth_device_place_holds(c, solid, moves);
    const abuti_buffer *x = advance(c, seconds);
    ABUTI_KIT_RUN(&d->quick, AIMS, c->all_vertices, GROUP, ABUTI_VALUE(c->all_vertices),
                  ABUTI_VALUE(c->vertices), ABUTI_BUFFER(x), BUFFER_OF(d->start),
                  ABUTI_BUFFER(solid), ABUTI_VALUE(moves), QUICK(AIM), BUFFER_OF(d->end),
                  QUICK(TOTALS));
    status = abuti_kit_finish(&d->quick);
    const double planned = cloth_clock();
    status = status ? status : leave_fields(c, seconds, &totals, report);
    status = status ? status : cloth_quick_fill_report(c, &totals, report);
    if (status)
        return status;
    abut_buffer *before = d->start;
    d->start = d->end;
    d->end = before;
    abuti_buffer velocity = d->kit.buffers[MEMORY_VELOCITY];
    d->kit.buffers[MEMORY_VELOCITY] = d->quick.buffers[SPARE_VELOCITY];
    d->quick.buffers[SPARE_VELOCITY] = velocity;
    d->is_ahead = true;
    report->search = found - start;
    report->dynamics = planned - found;
    report->sweep = cloth_clock() - planned;
    return ABUT_OK;
}

/* ---- download ---- */

abut_status cloth_fetch_from_device(cloth *c) {
    cloth_device *d = c->device;
    if (!d || !d->is_ahead)
        return ABUT_OK;
    abut_status status = abuti_kit_download(&d->quick, AIM, c->aim, c->all_vertices, sizeof(vec));
    if (!status)
        status =
            abuti_kit_download(&d->kit, MEMORY_VELOCITY, c->velocity, c->vertices, sizeof(vec));
    if (!status)
        status = abuti_buffer_download(&d->queue, &d->start->memory, 0, c->position,
                                       c->all_vertices * sizeof(vec));
    d->is_ahead = status != ABUT_OK;
    return status;
}
#endif
