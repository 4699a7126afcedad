/* The solver of a cloth on an OpenCL device.
 *
 * The arithmetic and its order are those of the CPU (solver_shared.h), so positions are equal bit
 * for bit. Positions, velocities, patches and contacts stay on the device, and all substeps are
 * enqueued at once. Against a solid, the host downloads aims and velocities, and the impacts, whose
 * handling is cheap; the sweeps are on the device. Against radial fields it downloads sixteen
 * bytes; the solid's positions may be in a buffer of the caller, such as a skinner's. Data that a
 * step changes have two buffers each, which are exchanged on success.
 *
 * Only this file uses private functions of the library. With CLOTH_NO_DEVICES it does not, and
 * returns an error for every device. */
#include "parts.h"

#ifndef CLOTH_NO_DEVICES
#include "device/kit.h"

extern const abuti_module cloth_modules[];

enum { GROUP = CLOTH_GROUP, WIDE = VOLUME_LANES };

enum {
    INSERT,
    FIND_SELVES,
    SORT_CORNERS,
    FIND_TOUCHES,
    PLACE_HOLDS,
    VOLUMES,
    PRESSURE_OF,
    MOVE,
    SOLVE,
    CONTACTS,
    AIMS,
    SETTLE,
    KERNELS
};
#define KERNEL(name) \
    { "solver", "cloth_" name, NULL }
static const abuti_kernel_source sources[KERNELS] = {
    [INSERT] = KERNEL("insert"),
    [FIND_SELVES] = KERNEL("find_selves"),
    [SORT_CORNERS] = KERNEL("sort_corners"),
    [FIND_TOUCHES] = KERNEL("find_touches"),
    [PLACE_HOLDS] = KERNEL("place_holds"),
    [VOLUMES] = KERNEL("volumes"),
    [PRESSURE_OF] = KERNEL("pressure"),
    [MOVE] = KERNEL("move"),
    [SOLVE] = KERNEL("solve"),
    [CONTACTS] = KERNEL("contacts"),
    [AIMS] = KERNEL("aims"),
    [SETTLE] = KERNEL("settle_all"),
};

enum {
    CORNERS,
    FACE_BEGIN,
    FACES,
    REST,
    INVERSE_MASS,
    PATCHES,
    LIST,
    HINGES,
    EDGES,
    HEADS,
    CHAIN,
    SELVES,
    CORNER_HEADS,
    CORNER_CHAIN,
    TOUCHES,
    HELD,
    HELD_OF,
    GIVEN,
    SOLID_CORNERS,
    SOLID_END,
    SUMS,
    PRESSURE,
    NEXT,  /* positions after constraints */
    NOW_A, /* after free motion, then at the ends of substeps, alternately */
    NOW_B,
    VELOCITY,
    NEXT_VELOCITY,
    AIM,
    TOTALS,
    BUFFERS
};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, cloth_modules};

struct cloth_device {
    abuti_queue queue;
    abuti_kit kit;
    const abuti_buffer *solid_end; /* of this step */
    uint32_t solid_moves;
    bool has_start, has_velocity; /* `position` and `velocity` are uploaded */
    bool is_ahead;                /* the device has newer positions than the host */
};

_Static_assert(sizeof(abut_nearest) == 64, "as vec_nearest");

#define DATA(which) KIT_BUFFER(&d->kit, which)
#define ARRAY(which) ABUTI_BUFFER(&c->arrays.which.buffer->memory)

/* ---- create ---- */

static abut_status create(cloth *c) {
    abut_device *device = c->options.device;
    abut_status status = abuti_device_check_bits("cloth_create", device);
    if (status)
        return status;
    struct cloth_device *d = c->device = cloth_room(c, 1, sizeof *c->device);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(device, &d->queue);
    if (!status)
        status = abuti_kit_open(&d->queue, &table, "", &d->kit);
    if (status)
        return status;
    abuti_kit_build(&d->kit);
    return abuti_kit_finish(&d->kit);
}

static void destroy(cloth *c) {
    struct cloth_device *d = c->device;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abut_buffer_destroy(c->arrays.start.buffer);
    abut_buffer_destroy(c->arrays.end.buffer);
    abut_buffer_destroy(c->arrays.nearest.buffer);
    abut_buffer_destroy(c->arrays.hits.buffer);
    abuti_queue_close(&d->queue);
    CLOTH_FREE(c, d);
    c->device = NULL;
}

static void create_array(struct cloth_device *d, size_t count, size_t bytes, abut_array *array) {
    if (!array->buffer && !abuti_kit_failed(&d->kit))
        abuti_kit_fail(&d->kit, abut_buffer_create(d->queue.device, count * bytes, &array->buffer));
}

static abut_status prepare(cloth *c) {
    struct cloth_device *d = c->device;
    const cloth_patches *p = &c->patches;
    const size_t n = c->vertices;
    const struct {
        size_t count, bytes;
        const void *data;
    } list[BUFFERS] = {
        [CORNERS] = {c->triangles, 3 * sizeof(uint32_t), c->indices},
        [FACE_BEGIN] = {n + 1, sizeof(uint32_t), c->view.vertex_face_begin},
        [FACES] = {c->view.vertex_face_begin[n], sizeof(uint32_t), c->view.vertex_faces},
        [REST] = {n, sizeof(vec), abut_mesh_local_positions(c->rest)},
        [INVERSE_MASS] = {n, sizeof(double), c->inverse_mass},
        [PATCHES] = {p->count, sizeof *p->patches, p->patches},
        [LIST] = {p->listed, sizeof *p->list, p->list},
        [HINGES] = {p->slot_count[0], sizeof(cloth_hinge), p->slots[0]},
        [EDGES] = {p->slot_count[1], sizeof(cloth_edge), p->slots[1]},
        [HEADS] = {(size_t)c->search.mask + 1, sizeof(uint32_t), NULL},
        [CHAIN] = {n, sizeof(uint32_t), NULL},
        [SELVES] = {n, sizeof(cloth_self), NULL},
        [CORNER_HEADS] = {n, sizeof(uint32_t), NULL},
        [CORNER_CHAIN] = {3 * n, sizeof(uint32_t), NULL},
        [TOUCHES] = {n, sizeof(cloth_touch), NULL},
        [HELD] = {c->held_count, sizeof *c->held, c->held},
        [HELD_OF] = {c->held_of ? n : 0, sizeof *c->held_of, c->held_of},
        [SUMS] = {cloth_volume_blocks(c), sizeof(double), NULL},
        [PRESSURE] = {1, sizeof(double), NULL},
        [NEXT] = {n, sizeof(vec), NULL},
        [NOW_A] = {n, sizeof(vec), NULL},
        [NOW_B] = {n, sizeof(vec), NULL},
        [VELOCITY] = {n, sizeof(vec), NULL},
        [NEXT_VELOCITY] = {n, sizeof(vec), NULL},
        [AIM] = {c->all_vertices, sizeof(vec), NULL},
        [TOTALS] = {1, sizeof(cloth_totals), NULL},
    };
    if (p->largest > PATCH_ALL)
        return abut_set_error(ABUT_ERROR_LIMIT,
                              "cloth_step: a vertex of the cloth has too many neighbours for a "
                              "device");
    for (uint32_t i = 0; i < BUFFERS; i++)
        abuti_kit_upload(&d->kit, i, list[i].count ? list[i].data : NULL, list[i].count,
                         list[i].bytes);
    if (c->solid)
        abuti_kit_upload(&d->kit, SOLID_CORNERS, abut_mesh_indices(c->solid),
                         abut_mesh_triangle_count(c->solid), 3 * sizeof(uint32_t));
    create_array(d, c->all_vertices, sizeof(vec), &c->arrays.start);
    create_array(d, c->all_vertices, sizeof(vec), &c->arrays.end);
    if (c->radial)
        create_array(d, n, sizeof(abut_radial_hit), &c->arrays.hits);
    else if (c->solid)
        create_array(d, n, sizeof(abut_nearest), &c->arrays.nearest);
    return abuti_kit_finish(&d->kit);
}

/* ---- a step ---- */

static abut_status begin_step(cloth *c, abut_array solid_end) {
    struct cloth_device *d = c->device;
    abuti_kit *kit = &d->kit;
    const uint32_t count = c->all_vertices - c->vertices;
    abut_status status = ABUT_OK;
    if (!d->has_start)
        status = abut_buffer_write(c->arrays.start.buffer, 0, c->position,
                                   c->all_vertices * sizeof(vec));
    d->has_start = !status;
    d->solid_moves = solid_end.host || solid_end.buffer;
    d->solid_end = solid_end.buffer ? &solid_end.buffer->memory : &kit->buffers[SOLID_END];
    if (!status && solid_end.buffer)
        status = abuti_buffer_check(solid_end.buffer, "cloth_step_from", "solid_end",
                                    d->queue.device, count, sizeof(vec));
    abuti_kit_fail(kit, status);
    if (solid_end.host)
        abuti_kit_upload(kit, SOLID_END, solid_end.host, count, sizeof(vec));
    if (!d->has_velocity)
        abuti_kit_upload(kit, VELOCITY, c->velocity, c->vertices, sizeof(vec));
    if (c->held_count)
        abuti_kit_upload(kit, GIVEN, c->given, 2 * (size_t)c->held_count, sizeof(vec));
    abuti_kit_upload(kit, TOTALS, &c->totals, 1, sizeof c->totals);
    status = abuti_queue_report(&d->queue);
    d->has_velocity = !status;
    return status;
}

static abut_status find_contacts(cloth *c) {
    struct cloth_device *d = c->device;
    const size_t group_words = GROUP * sizeof(uint32_t);
    if (!c->options.no_self) {
        abuti_kit_fill(&d->kit, HEADS, VEC_NONE, ((size_t)c->search.mask + 1) * sizeof(uint32_t));
        abuti_kit_fill(&d->kit, CORNER_HEADS, VEC_NONE, c->vertices * sizeof(uint32_t));
        ABUTI_KIT_RUN(&d->kit, INSERT, c->vertices, GROUP, ABUTI_VALUE(c->search),
                      ABUTI_VALUE(c->vertices), ARRAY(start), DATA(HEADS), DATA(CHAIN));
        ABUTI_KIT_RUN(&d->kit, FIND_SELVES, (size_t)c->vertices * CELL_LANES, GROUP,
                      ABUTI_VALUE(c->search), ABUTI_VALUE(c->vertices), DATA(HEADS), DATA(CHAIN),
                      DATA(CORNERS), DATA(FACE_BEGIN), DATA(FACES), DATA(REST), ARRAY(start),
                      ABUTI_LOCAL_MEMORY(GROUP * sizeof(double)), ABUTI_LOCAL_MEMORY(group_words),
                      ABUTI_LOCAL_MEMORY(group_words), DATA(SELVES), DATA(CORNER_HEADS),
                      DATA(CORNER_CHAIN), DATA(TOTALS));
        ABUTI_KIT_RUN(&d->kit, SORT_CORNERS, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                      DATA(CORNER_HEADS), DATA(CORNER_CHAIN));
    }
    if (c->solid && !c->radial)
        ABUTI_KIT_RUN(&d->kit, FIND_TOUCHES, c->vertices, GROUP, ABUTI_VALUE(c->search),
                      ABUTI_VALUE(c->vertices), ARRAY(nearest), DATA(SOLID_CORNERS), ARRAY(start),
                      ABUTI_BUFFER(d->solid_end), ABUTI_VALUE(d->solid_moves), DATA(TOUCHES),
                      DATA(TOTALS));
    return abuti_kit_finish(&d->kit); /* its time is reported */
}

/* The pressure of a substep from positions x. */
static void find_pressure(cloth *c, const cloth_substep *s, const abuti_buffer *x) {
    struct cloth_device *d = c->device;
    const uint32_t blocks = cloth_volume_blocks(c);
    if (!(s->pressure > 0))
        return;
    ABUTI_KIT_RUN(&d->kit, VOLUMES, blocks, GROUP, ABUTI_VALUE(blocks), ABUTI_VALUE(c->triangles),
                  DATA(CORNERS), ABUTI_BUFFER(x), DATA(SUMS));
    ABUTI_KIT_RUN(&d->kit, PRESSURE_OF, WIDE, WIDE, ABUTI_VALUE(*s), ABUTI_VALUE(blocks),
                  DATA(SUMS), ABUTI_LOCAL_MEMORY(WIDE * sizeof(double)), DATA(PRESSURE));
}

static abut_status advance(cloth *c, double seconds) {
    struct cloth_device *d = c->device;
    const cloth_patches *p = &c->patches;
    const abuti_buffer *x = &c->arrays.start.buffer->memory, *velocity = &d->kit.buffers[VELOCITY];
    if (c->held_count)
        ABUTI_KIT_RUN(&d->kit, PLACE_HOLDS, c->held_count, GROUP, ABUTI_VALUE(c->held_count),
                      ABUTI_VALUE(c->vertices), DATA(SOLID_CORNERS), ARRAY(start),
                      ABUTI_BUFFER(d->solid_end), ABUTI_VALUE(d->solid_moves), DATA(GIVEN),
                      DATA(HELD));
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        const cloth_substep s = cloth_substep_of(c, seconds, i);
        const abuti_buffer *now = &d->kit.buffers[i & 1 ? NOW_B : NOW_A],
                           *next = &d->kit.buffers[NEXT];
        find_pressure(c, &s, x);
        ABUTI_KIT_RUN(&d->kit, MOVE, c->vertices, GROUP, ABUTI_VALUE(s), ABUTI_VALUE(c->vertices),
                      DATA(INVERSE_MASS), DATA(CORNERS), DATA(FACE_BEGIN), DATA(FACES),
                      DATA(PRESSURE), DATA(HELD_OF), DATA(HELD), ABUTI_BUFFER(velocity),
                      ABUTI_BUFFER(x), ABUTI_BUFFER(now));
        ABUTI_KIT_GROUPS(&d->kit, SOLVE, p->count, PATCH_LANES, ABUTI_VALUE(s), DATA(PATCHES),
                         DATA(LIST), DATA(HINGES), DATA(EDGES), DATA(INVERSE_MASS),
                         ABUTI_BUFFER(now), ABUTI_LOCAL_MEMORY(p->largest * sizeof(vec)),
                         ABUTI_LOCAL_MEMORY(p->largest * sizeof(double)), DATA(NEXT));
        for (uint32_t pass = 0; pass < s.passes; pass++)
            ABUTI_KIT_RUN(&d->kit, CONTACTS, c->vertices, GROUP, ABUTI_VALUE(s),
                          ABUTI_VALUE(c->vertices), DATA(INVERSE_MASS), DATA(SELVES),
                          DATA(CORNER_HEADS), DATA(CORNER_CHAIN), DATA(TOUCHES), ABUTI_BUFFER(x),
                          ABUTI_BUFFER(pass & 1 ? now : next), ABUTI_BUFFER(pass & 1 ? next : now),
                          DATA(NEXT_VELOCITY));
        x = now;
        velocity = &d->kit.buffers[NEXT_VELOCITY];
    }
    ABUTI_KIT_RUN(&d->kit, AIMS, c->all_vertices, GROUP, ABUTI_VALUE(c->all_vertices),
                  ABUTI_VALUE(c->vertices), ABUTI_BUFFER(x), ARRAY(start),
                  ABUTI_BUFFER(d->solid_end), ABUTI_VALUE(d->solid_moves), DATA(AIM), ARRAY(end),
                  DATA(TOTALS));
    if (c->radial)
        return abuti_kit_finish(&d->kit);
    abut_status status = abuti_kit_download(&d->kit, TOTALS, &c->totals, 1, sizeof c->totals);
    if (!status)
        status = abuti_kit_download(&d->kit, AIM, c->aim, c->all_vertices, sizeof(vec));
    if (!status)
        status =
            abuti_kit_download(&d->kit, NEXT_VELOCITY, c->next_velocity, c->vertices, sizeof(vec));
    if (!status)
        memcpy(c->end, c->aim, c->all_vertices * sizeof *c->end);
    return status;
}

static abut_status set_end(cloth *c) {
    return abut_buffer_write(c->arrays.end.buffer, 0, c->end, c->all_vertices * sizeof(vec));
}

static abut_status settle_vertices(cloth *c, double seconds) {
    struct cloth_device *d = c->device;
    ABUTI_KIT_RUN(&d->kit, SETTLE, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                  ABUTI_VALUE(seconds), DATA(INVERSE_MASS), ARRAY(start), DATA(AIM), ARRAY(hits),
                  ARRAY(end), DATA(NEXT_VELOCITY), DATA(TOTALS));
    return abuti_kit_download(&d->kit, TOTALS, &c->totals, 1, sizeof c->totals);
}

/* Against a solid the host has everything too. */
static void finish(cloth *c, bool velocities_changed) {
    struct cloth_device *d = c->device;
    const abut_array start = c->arrays.start;
    c->arrays.start = c->arrays.end;
    c->arrays.end = start;
    abuti_kit_swap(&d->kit, VELOCITY, NEXT_VELOCITY);
    d->has_velocity = !velocities_changed;
    d->is_ahead = c->radial != NULL;
    if (!c->radial)
        memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
}

static abut_status fetch(cloth *c) {
    struct cloth_device *d = c->device;
    if (!d || !d->is_ahead)
        return ABUT_OK;
    abut_status status = abuti_kit_download(&d->kit, AIM, c->aim, c->all_vertices, sizeof(vec));
    if (!status)
        status = abuti_kit_download(&d->kit, VELOCITY, c->velocity, c->vertices, sizeof(vec));
    if (!status)
        status = abuti_buffer_download(&d->queue, &c->arrays.start.buffer->memory, 0, c->position,
                                       c->all_vertices * sizeof(vec));
    d->is_ahead = status != ABUT_OK;
    return status;
}

static void changed(cloth *c) {
    c->device->has_start = c->device->has_velocity = false;
}

const cloth_backend cloth_on_device = {.create = create,
                                       .destroy = destroy,
                                       .prepare = prepare,
                                       .begin = begin_step,
                                       .find_contacts = find_contacts,
                                       .advance = advance,
                                       .set_end = set_end,
                                       .settle = settle_vertices,
                                       .finish = finish,
                                       .fetch = fetch,
                                       .changed = changed};
#else
static abut_status create(cloth *c) {
    (void)c;
    return abut_set_error(ABUT_ERROR_DEVICE,
                          "cloth_create: this build of the cloth works on the CPU only");
}

static void destroy(cloth *c) {
    (void)c;
}

const cloth_backend cloth_on_device = {.create = create, .destroy = destroy};
#endif
