/* The solver of a cloth on an OpenCL device.
 *
 * The arithmetic and its order are those of the CPU (solver_shared.h), so positions are equal bit
 * for bit. Positions, velocities, patches and contacts stay on the device, and all substeps are
 * enqueued at once. Against bodies, the host downloads aims and velocities, and the impacts, whose
 * handling is cheap; the sweeps are on the device. Against radial fields it downloads sixteen
 * bytes; positions of bodies may be in a buffer of the caller, such as a skinner's. Data that a
 * step changes have two buffers each, which are exchanged on success.
 */
#include "cloth/cloth.h"
#include "device/kit.h"

enum { GROUP = CLOTH_GROUP, WIDE = VOLUME_LANES };

enum {
    INSERT,
    FIND_SELVES,
    SORT_CORNERS,
    SCALE_CONTACTS,
    FIND_TOUCHES,
    PLACE_HOLDS,
    MEASURE_SEAMS,
    VOLUMES,
    PRESSURES_OF,
    MOVE,
    SOLVE,
    CONTACTS,
    AIMS,
    APPLY_FIELDS,
    KERNELS
};
#define KERNEL(name) \
    { "cloth", "cloth_" name, NULL }
static const abuti_kernel_source sources[KERNELS] = {
    [INSERT] = KERNEL("insert"),
    [FIND_SELVES] = KERNEL("find_selves"),
    [SORT_CORNERS] = KERNEL("sort_corners"),
    [SCALE_CONTACTS] = KERNEL("scale_contacts"),
    [FIND_TOUCHES] = KERNEL("find_touches"),
    [PLACE_HOLDS] = KERNEL("place_holds"),
    [MEASURE_SEAMS] = KERNEL("measure_seams"),
    [VOLUMES] = KERNEL("volumes"),
    [PRESSURES_OF] = KERNEL("pressures"),
    [MOVE] = KERNEL("move"),
    [SOLVE] = KERNEL("solve"),
    [CONTACTS] = KERNEL("contacts"),
    [AIMS] = KERNEL("aims"),
    [APPLY_FIELDS] = KERNEL("apply_fields"),
};

enum {
    CORNERS,
    FACE_BEGIN,
    FACES,
    PART_OF,
    PARTS,
    BLOCKS,
    REST,
    INVERSE_MASS,
    PATCHES,
    LIST,
    ROUNDS,
    HINGES,
    EDGES,
    SEAMS,
    KNOT_BEGIN,
    KNOTS,
    HEADS,
    FACE_LIST,
    SELVES,
    CORNER_HEADS,
    CORNER_CHAIN,
    SHARES,
    TOUCHES,
    PUSHES,
    HOLDS,
    HELD_OF,
    GIVEN,
    BODY_CORNERS,
    BODY_END,
    SUMS,
    PRESSURES,
    NEXT,  /* positions after free motion and constraints */
    NOW_A, /* at the ends of substeps, alternately */
    NOW_B,
    VELOCITY,
    NEXT_VELOCITY,
    AIM,
    TOTALS,
    BUFFERS
};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

struct cloth_device {
    abuti_queue queue;
    abuti_kit kit;
    bool has_start, has_velocity; /* `position` and `velocity` are uploaded */
    bool has_holds;               /* and attachments */
    bool is_ahead;                /* the device has newer positions than the host */
};

_Static_assert(sizeof(abut_nearest) == 64, "as cloth_nearest");

#define DATA(which) KIT_BUFFER(&d->kit, which)
#define ARRAY(which) ABUTI_BUFFER(&c->arrays.which.buffer->memory)

/* ---- create ---- */

static abut_status create(abut_cloth *c) {
    struct cloth_device *d = c->device = abuti_allocate_zeroed(c->context, 1, sizeof *c->device);
    if (!d)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_queue_open(c->options.device, &d->queue);
    if (!status)
        status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (status)
        return status;
    abuti_kit_build(&d->kit);
    return abuti_kit_finish(&d->kit);
}

static void destroy(abut_cloth *c) {
    struct cloth_device *d = c->device;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abuti_queue_close(&d->queue);
    abuti_release(c->context, d);
    c->device = NULL;
}

static void release_arrays(abut_cloth *c) {
    struct cloth_device *d = c->device;
    abut_buffer_destroy(c->arrays.start.buffer);
    abut_buffer_destroy(c->arrays.end.buffer);
    abut_buffer_destroy(c->arrays.nearest.buffer);
    abut_buffer_destroy(c->arrays.hits.buffer);
    c->arrays = (cloth_arrays){0};
    if (d)
        d->has_start = d->has_velocity = d->has_holds = d->is_ahead = false;
}

static void create_array(struct cloth_device *d, size_t count, size_t bytes, abut_array *array) {
    if (!array->buffer && !abuti_kit_failed(&d->kit))
        abuti_kit_fail(&d->kit, abut_buffer_create(d->queue.device, count * bytes, &array->buffer));
}

static abut_status prepare(abut_cloth *c) {
    struct cloth_device *d = c->device;
    const cloth_patches *p = &c->patches;
    const cloth_group *sheets = &c->groups[SHEETS], *bodies = &c->groups[BODIES];
    const abut_topology_arrays *view = &sheets->view;
    const size_t n = c->vertices;
    const struct {
        size_t count, bytes;
        const void *data;
    } list[BUFFERS] = {
        [CORNERS] = {c->triangles, 3 * sizeof(uint32_t), sheets->indices},
        [FACE_BEGIN] = {n + 1, sizeof(uint32_t), view->vertex_face_begin},
        [FACES] = {view->vertex_face_begin[n], sizeof(uint32_t), view->vertex_faces},
        [PART_OF] = {c->all_vertices, sizeof *c->part_of, c->part_of},
        [PARTS] = {c->part_count, sizeof *c->parts, c->parts},
        [BLOCKS] = {c->block_count, sizeof *c->blocks, c->blocks},
        [REST] = {n, sizeof(vec3), sheets->mesh->positions},
        [PATCHES] = {p->patches.count, sizeof(cloth_patch), p->patches.data},
        [LIST] = {p->list.count, sizeof(uint32_t), p->list.data},
        [ROUNDS] = {p->rounds.count, sizeof(uint32_t), p->rounds.data},
        [HINGES] = {p->constraints[CLOTH_HINGES].count, sizeof(cloth_hinge),
                    p->constraints[CLOTH_HINGES].data},
        [EDGES] = {p->constraints[CLOTH_EDGES].count, sizeof(cloth_edge),
                   p->constraints[CLOTH_EDGES].data},
        [SEAMS] = {p->constraints[CLOTH_SEAMS].count, sizeof(cloth_seam),
                   p->constraints[CLOTH_SEAMS].data},
        [KNOT_BEGIN] = {c->knot_begin ? n + 1 : 0, sizeof(uint32_t), c->knot_begin},
        [KNOTS] = {c->knots.count, sizeof(cloth_knot), c->knots.data},
        [HEADS] = {(size_t)c->search.mask + 1, sizeof(uint32_t), NULL},
        [FACE_LIST] = {c->triangles, sizeof(cloth_face), NULL},
        [SELVES] = {2 * n, sizeof(cloth_self), NULL},
        [CORNER_HEADS] = {n, sizeof(uint32_t), NULL},
        [CORNER_CHAIN] = {6 * n, sizeof(uint32_t), NULL},
        [SHARES] = {n, sizeof(double), NULL},
        [TOUCHES] = {n, sizeof(cloth_touch), NULL},
        [PUSHES] = {n, sizeof(cloth_push), NULL},
        [BODY_CORNERS] = {bodies->triangles, 3 * sizeof(uint32_t), bodies->indices},
        [BODY_END] = {bodies->vertices, sizeof(vec3), c->target},
        [SUMS] = {c->block_count, sizeof(double), NULL},
        [PRESSURES] = {sheets->items.count, sizeof(double), NULL},
        [NEXT] = {n, sizeof(vec3), NULL},
        [NOW_A] = {n, sizeof(vec3), NULL},
        [NOW_B] = {n, sizeof(vec3), NULL},
        [VELOCITY] = {n, sizeof(vec3), NULL},
        [NEXT_VELOCITY] = {n, sizeof(vec3), NULL},
        [AIM] = {c->all_vertices, sizeof(vec3), NULL},
        [TOTALS] = {1, sizeof(cloth_totals), NULL},
    };
    if (p->largest > PATCH_ALL)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_cloth_step: a vertex of a sheet has too many neighbours for a "
                          "device");
    for (uint32_t i = 0; i < BUFFERS; i++)
        abuti_kit_upload(&d->kit, i, list[i].count ? list[i].data : NULL, list[i].count,
                         list[i].bytes);
    create_array(d, c->all_vertices, sizeof(vec3), &c->arrays.start);
    create_array(d, c->all_vertices, sizeof(vec3), &c->arrays.end);
    if (c->radial)
        create_array(d, n, sizeof(abut_radial_hit), &c->arrays.hits);
    else if (bodies->vertices)
        create_array(d, n, sizeof(abut_nearest), &c->arrays.nearest);
    return abuti_kit_finish(&d->kit);
}

/* ---- targets ---- */

static abut_status set_targets(abut_cloth *c, uint32_t first, uint32_t count,
                               abut_array positions) {
    struct cloth_device *d = c->device;
    if (positions.host)
        abuti_kit_write(&d->kit, BODY_END, first, positions.host, count, sizeof(vec3));
    else
        abuti_kit_fail(&d->kit, abuti_buffer_copy_part(&d->queue, &positions.buffer->memory, 0,
                                                       &d->kit.buffers[BODY_END],
                                                       first * sizeof(vec3), count * sizeof(vec3)));
    return abuti_kit_finish(&d->kit);
}

/* Only with radial fields, the host may have older ones. */
static abut_status fetch_targets(abut_cloth *c) {
    const uint32_t bodies = c->all_vertices - c->vertices;
    return c->arrays.hits.buffer && bodies
               ? abuti_kit_download(&c->device->kit, BODY_END, c->target, bodies, sizeof(vec3))
               : ABUT_OK;
}

/* ---- a step ---- */

/* Attachments that the caller may change between steps. */
static void upload_holds(abut_cloth *c) {
    struct cloth_device *d = c->device;
    const size_t count = c->holds.count;
    if (!d->has_holds || c->holds_changed) {
        abuti_kit_upload(&d->kit, INVERSE_MASS, c->inverse_mass, c->vertices, sizeof(double));
        abuti_kit_upload(&d->kit, HELD_OF, c->held_of, c->vertices, sizeof(uint32_t));
        abuti_kit_upload(&d->kit, HOLDS, count ? c->holds.data : NULL, count, sizeof(cloth_hold));
    }
    abuti_kit_upload(&d->kit, GIVEN, count ? c->given.data : NULL, 2 * count, sizeof(vec3));
}

static abut_status begin_step(abut_cloth *c) {
    struct cloth_device *d = c->device;
    abuti_kit *kit = &d->kit;
    const uint32_t bodies = c->all_vertices - c->vertices;
    abut_status status = ABUT_OK;
    if (!d->has_start)
        status = abut_buffer_write(c->arrays.start.buffer, 0, c->position,
                                   c->all_vertices * sizeof(vec3));
    d->has_start = !status;
    abuti_kit_fail(kit, status);
    if (!c->radial)
        abuti_kit_upload(kit, BODY_END, cloth_body_end(c), bodies, sizeof(vec3));
    if (!d->has_velocity)
        abuti_kit_upload(kit, VELOCITY, c->velocity, c->vertices, sizeof(vec3));
    upload_holds(c);
    abuti_kit_upload(kit, TOTALS, &c->totals, 1, sizeof c->totals);
    status = abuti_queue_report(&d->queue);
    d->has_velocity = d->has_holds = !status;
    return status;
}

static abut_status find_contacts(abut_cloth *c) {
    struct cloth_device *d = c->device;
    const size_t group_words = GROUP * sizeof(uint32_t), per_group = GROUP / CELL_LANES;
    if (!c->options.ignore_self) {
        abuti_kit_fill(&d->kit, HEADS, ABUT_NONE, ((size_t)c->search.mask + 1) * sizeof(uint32_t));
        abuti_kit_fill(&d->kit, CORNER_HEADS, ABUT_NONE, c->vertices * sizeof(uint32_t));
        ABUTI_KIT_RUN(&d->kit, INSERT, c->triangles, GROUP, ABUTI_VALUE(c->search),
                      ABUTI_VALUE(c->triangles), DATA(CORNERS), ARRAY(start), DATA(HEADS),
                      DATA(FACE_LIST));
        ABUTI_KIT_RUN(&d->kit, FIND_SELVES, (size_t)c->vertices * CELL_LANES, GROUP,
                      ABUTI_VALUE(c->search), ABUTI_VALUE(c->vertices), DATA(HEADS),
                      DATA(FACE_LIST), DATA(CORNERS), DATA(FACE_BEGIN), DATA(FACES), DATA(PART_OF),
                      DATA(PARTS), DATA(REST), ARRAY(start), DATA(KNOT_BEGIN), DATA(KNOTS),
                      ABUTI_LOCAL_MEMORY(per_group * sizeof(uint32_t)),
                      ABUTI_LOCAL_MEMORY(per_group * LIST_FACES * sizeof(uint32_t)),
                      ABUTI_LOCAL_MEMORY(GROUP * sizeof(double)), ABUTI_LOCAL_MEMORY(group_words),
                      ABUTI_LOCAL_MEMORY(group_words), DATA(SELVES), DATA(CORNER_HEADS),
                      DATA(CORNER_CHAIN), DATA(TOTALS));
        ABUTI_KIT_RUN(&d->kit, SORT_CORNERS, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                      DATA(CORNER_HEADS), DATA(CORNER_CHAIN), DATA(SELVES), DATA(SHARES));
        ABUTI_KIT_RUN(&d->kit, SCALE_CONTACTS, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                      DATA(INVERSE_MASS), DATA(SHARES), DATA(SELVES));
    }
    if (c->all_vertices > c->vertices && !c->radial)
        ABUTI_KIT_RUN(&d->kit, FIND_TOUCHES, c->vertices, GROUP, ABUTI_VALUE(c->search),
                      ABUTI_VALUE(c->vertices), ARRAY(nearest), DATA(PART_OF), DATA(PARTS),
                      DATA(BODY_CORNERS), ARRAY(start), DATA(BODY_END), DATA(TOUCHES), DATA(PUSHES),
                      DATA(TOTALS));
    return abuti_kit_finish(&d->kit); /* its time is reported */
}

/* The pressures of a substep from positions x. */
static void find_pressures(abut_cloth *c, const abuti_buffer *x) {
    struct cloth_device *d = c->device;
    ABUTI_KIT_RUN(&d->kit, VOLUMES, c->block_count, GROUP, ABUTI_VALUE(c->block_count),
                  DATA(BLOCKS), DATA(CORNERS), ABUTI_BUFFER(x), DATA(SUMS));
    ABUTI_KIT_GROUPS(&d->kit, PRESSURES_OF, c->groups[SHEETS].items.count, WIDE, DATA(PARTS),
                     DATA(SUMS), ABUTI_LOCAL_MEMORY(WIDE * sizeof(double)), DATA(PRESSURES));
}

static abut_status advance(abut_cloth *c, double seconds) {
    struct cloth_device *d = c->device;
    const cloth_patches *p = &c->patches;
    const abuti_buffer *x = &c->arrays.start.buffer->memory, *velocity = &d->kit.buffers[VELOCITY];
    const uint32_t holds = (uint32_t)c->holds.count, seams = (uint32_t)c->seams.count;
    ABUTI_KIT_RUN(&d->kit, PLACE_HOLDS, holds, GROUP, ABUTI_VALUE(holds), ABUTI_VALUE(c->vertices),
                  DATA(BODY_CORNERS), ARRAY(start), DATA(BODY_END), DATA(GIVEN), DATA(HOLDS));
    ABUTI_KIT_RUN(&d->kit, MEASURE_SEAMS, seams, GROUP, ABUTI_VALUE(seams), ARRAY(start),
                  DATA(SEAMS), DATA(TOTALS));
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        const cloth_substep s = abuti_cloth_substep(c, seconds, i);
        const abuti_buffer *now = &d->kit.buffers[i & 1 ? NOW_B : NOW_A],
                           *next = &d->kit.buffers[NEXT];
        if (s.has_pressure)
            find_pressures(c, x);
        ABUTI_KIT_RUN(&d->kit, MOVE, c->vertices, GROUP, ABUTI_VALUE(s), ABUTI_VALUE(c->vertices),
                      DATA(INVERSE_MASS), DATA(CORNERS), DATA(FACE_BEGIN), DATA(FACES),
                      DATA(PART_OF), DATA(PARTS), DATA(PRESSURES), DATA(HELD_OF), DATA(HOLDS),
                      ABUTI_BUFFER(velocity), ABUTI_BUFFER(x), ABUTI_BUFFER(next));
        for (uint32_t phase = 0; phase < CLOTH_PHASES; phase++) {
            const uint32_t begin = cloth_first_patch(p, phase);
            ABUTI_KIT_GROUPS(&d->kit, SOLVE, cloth_patch_count(p, phase), PATCH_LANES,
                             ABUTI_VALUE(s), ABUTI_VALUE(begin), DATA(PATCHES), DATA(LIST),
                             DATA(ROUNDS), DATA(HINGES), DATA(EDGES), DATA(SEAMS),
                             DATA(INVERSE_MASS), DATA(HELD_OF), DATA(HOLDS),
                             ABUTI_LOCAL_MEMORY(p->largest * sizeof(vec3)),
                             ABUTI_LOCAL_MEMORY(p->largest * sizeof(double)), ABUTI_BUFFER(next));
        }
        ABUTI_KIT_RUN(&d->kit, CONTACTS, c->vertices, GROUP, ABUTI_VALUE(s),
                      ABUTI_VALUE(c->vertices), DATA(INVERSE_MASS), DATA(SELVES),
                      DATA(CORNER_HEADS), DATA(CORNER_CHAIN), DATA(TOUCHES), DATA(PUSHES),
                      DATA(HELD_OF), DATA(HOLDS), ABUTI_BUFFER(x), ABUTI_BUFFER(next),
                      ABUTI_BUFFER(now), DATA(NEXT_VELOCITY));
        x = now;
        velocity = &d->kit.buffers[NEXT_VELOCITY];
    }
    ABUTI_KIT_RUN(&d->kit, AIMS, c->all_vertices, GROUP, ABUTI_VALUE(c->all_vertices),
                  ABUTI_VALUE(c->vertices), ABUTI_BUFFER(x), DATA(BODY_END), DATA(AIM), ARRAY(end),
                  DATA(TOTALS));
    if (c->radial)
        return abuti_kit_finish(&d->kit);
    abut_status status = abuti_kit_download(&d->kit, TOTALS, &c->totals, 1, sizeof c->totals);
    if (!status)
        status = abuti_kit_download(&d->kit, AIM, c->aim, c->all_vertices, sizeof(vec3));
    if (!status)
        status =
            abuti_kit_download(&d->kit, NEXT_VELOCITY, c->next_velocity, c->vertices, sizeof(vec3));
    if (!status && c->pushes)
        status = abuti_kit_download(&d->kit, PUSHES, c->pushes, c->vertices, sizeof *c->pushes);
    if (!status && holds)
        status = abuti_kit_download(&d->kit, HOLDS, c->holds.data, holds, sizeof(cloth_hold));
    if (!status)
        memcpy(c->end, c->aim, c->all_vertices * sizeof *c->end);
    return status;
}

static abut_status set_end(abut_cloth *c) {
    return abut_buffer_write(c->arrays.end.buffer, 0, c->end, c->all_vertices * sizeof(vec3));
}

static abut_status apply_fields(abut_cloth *c, double seconds) {
    struct cloth_device *d = c->device;
    ABUTI_KIT_RUN(&d->kit, APPLY_FIELDS, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                  ABUTI_VALUE(seconds), DATA(INVERSE_MASS), ARRAY(start), DATA(AIM), ARRAY(hits),
                  ARRAY(end), DATA(NEXT_VELOCITY), DATA(TOTALS));
    return abuti_kit_download(&d->kit, TOTALS, &c->totals, 1, sizeof c->totals);
}

/* Without fields the host has everything too. */
static void finish(abut_cloth *c, bool velocities_changed) {
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

static abut_status fetch(abut_cloth *c) {
    struct cloth_device *d = c->device;
    if (!d || !d->is_ahead)
        return ABUT_OK;
    abut_status status = abuti_kit_download(&d->kit, AIM, c->aim, c->all_vertices, sizeof(vec3));
    if (!status)
        status = abuti_kit_download(&d->kit, VELOCITY, c->velocity, c->vertices, sizeof(vec3));
    if (!status)
        status = abuti_buffer_download(&d->queue, &c->arrays.start.buffer->memory, 0, c->position,
                                       c->all_vertices * sizeof(vec3));
    d->is_ahead = status != ABUT_OK;
    return status;
}

static abut_status copy_positions(abut_cloth *c, uint32_t first, uint32_t count, abut_buffer *to) {
    struct cloth_device *d = c->device;
    if (!d->has_start) /* the host has newer ones */
        return abut_buffer_write(to, 0, c->position + first, count * sizeof(vec3));
    abuti_kit_fail(&d->kit, abuti_buffer_copy_part(&d->queue, &c->arrays.start.buffer->memory,
                                                   first * sizeof(vec3), &to->memory, 0,
                                                   count * sizeof(vec3)));
    return abuti_kit_finish(&d->kit);
}

static void changed(abut_cloth *c) {
    c->device->has_start = c->device->has_velocity = false;
}

const cloth_backend abuti_cloth_on_device = {.create = create,
                                             .destroy = destroy,
                                             .prepare = prepare,
                                             .release = release_arrays,
                                             .set_targets = set_targets,
                                             .fetch_targets = fetch_targets,
                                             .begin = begin_step,
                                             .find_contacts = find_contacts,
                                             .advance = advance,
                                             .set_end = set_end,
                                             .apply_fields = apply_fields,
                                             .finish = finish,
                                             .fetch = fetch,
                                             .copy = copy_positions,
                                             .changed = changed};
