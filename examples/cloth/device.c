/* A cloth on an OpenCL device.
 *
 * The arithmetic and its order are those of the CPU (both use dynamics_shared.h), so positions
 * are equal bit for bit. Positions stay on the device: those at the start of the step, from
 * which touches are found and sweeps begin, and those at its end. All substeps are enqueued at
 * once, without waiting in between. The host downloads aims and velocities, and the near pairs
 * and impacts, whose handling is cheap. Only this file and device_quick.c use private functions
 * of the library. With CLOTH_NO_DEVICES they do not, and return an error for every device. */
#include "parts.h"

#ifndef CLOTH_NO_DEVICES
#include "cloth_device.h"

enum { GROUP = CLOTH_GROUP, WIDE = VOLUME_LANES, TAIL_COUNT = 512 };

typedef enum kernel {
    KERNEL_VOLUMES,
    KERNEL_PRESSURE,
    KERNEL_PUSH,
    KERNEL_MOVE,
    KERNEL_EDGES, /* each followed by that of its tail */
    KERNEL_EDGES_TAIL,
    KERNEL_HINGES,
    KERNEL_HINGES_TAIL,
    KERNEL_NEARS,
    KERNEL_NEARS_TAIL,
    KERNEL_FIND_TOUCHES,
    KERNEL_PLACE_HOLDS,
    KERNEL_HOLDS,
    KERNEL_END,
    KERNEL_AIMS,
    KERNELS
} kernel;

#define KERNEL(name) \
    { "cloth", "cloth_" name, NULL }
static const abuti_kernel_source sources[KERNELS] = {
    KERNEL("volumes"), KERNEL("pressure"),   KERNEL("push"),         KERNEL("move"),
    KERNEL("edges"),   KERNEL("edges_tail"), KERNEL("hinges"),       KERNEL("hinges_tail"),
    KERNEL("nears"),   KERNEL("nears_tail"), KERNEL("find_touches"), KERNEL("place_holds"),
    KERNEL("holds"),   KERNEL("end"),        KERNEL("aims"),
};

static const abuti_kit_table table = {sources, KERNELS, MEMORIES, cloth_modules};

/* BVHs degrade as a solid deforms; a build takes as long as a few refits. */
enum { REFITS_MAX = 50 };

_Static_assert(sizeof(abut_nearest) == 64, "as vec_nearest");

/* ---- create ---- */

static void make_memory(cloth *c) {
    const struct {
        size_t count, bytes;
        const void *data;
    } list[MEMORIES] = {
        [MEMORY_CORNERS] = {c->triangles, 3 * sizeof(uint32_t), c->indices},
        [MEMORY_FACE_BEGIN] = {(size_t)c->vertices + 1, sizeof(uint32_t),
                               c->view.vertex_face_begin},
        [MEMORY_FACES] = {c->view.vertex_face_begin[c->vertices], sizeof(uint32_t),
                          c->view.vertex_faces},
        [MEMORY_INVERSE_MASS] = {c->vertices, sizeof(double), c->inverse_mass},
        [MEMORY_EDGES] = {c->edge_count, sizeof(cloth_edge), c->edges},
        [MEMORY_EDGE_COLOURS] = {1, sizeof c->edge_colours, &c->edge_colours},
        [MEMORY_HINGES] = {c->hinge_count, sizeof(cloth_hinge), c->hinges},
        [MEMORY_HINGE_COLOURS] = {1, sizeof c->hinge_colours, &c->hinge_colours},
        [MEMORY_NEAR_COLOURS] = {1, sizeof c->near_colours, NULL},
        [MEMORY_TOUCHES] = {c->vertices, sizeof(cloth_touch), NULL},
        [MEMORY_TOUCH_TOTALS] = {(c->vertices + (size_t)GROUP - 1) / GROUP, 2 * sizeof(double),
                                 NULL},
        [MEMORY_NOW] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_BEFORE] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_VELOCITY] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_PUSH] = {c->triangles, sizeof(vec), NULL},
        [MEMORY_SUMS] = {cloth_volume_blocks(c), sizeof(double), NULL},
        [MEMORY_PRESSURE] = {1, sizeof(double), NULL},
    };
    for (uint32_t i = 0; i < MEMORIES; i++)
        abuti_kit_upload(&c->device->kit, i, list[i].data, list[i].count, list[i].bytes);
}

static abut_status create(cloth *c, abut_device *device) {
    abut_status status = abuti_device_check_bits("cloth_create", device);
    if (status)
        return status;
    c->device = abut_context_allocate(c->context, 1, sizeof *c->device);
    if (!c->device)
        return ABUT_ERROR_MEMORY;
    memset(c->device, 0, sizeof *c->device);
    status = abuti_queue_open(device, &c->device->queue);
    status = status ? status : abuti_kit_open(&c->device->queue, &table, "", &c->device->kit);
    if (status)
        return status;
    abuti_kit_build(&c->device->kit);
    make_memory(c);
    return abuti_kit_finish(&c->device->kit);
}

static void destroy(cloth *c) {
    cloth_device *d = c->device;
    if (!d)
        return;
    cloth_quick_close(c);
    abuti_kit_close(&d->kit);
    abut_buffer_destroy(d->start);
    abut_buffer_destroy(d->end);
    abut_buffer_destroy(d->nearest);
    abut_bvh_destroy(d->solid);
    abuti_queue_close(&d->queue);
    abut_context_free(c->context, d);
    c->device = NULL;
}

/* ---- a substep ---- */

void cloth_device_measure(cloth *c, const cloth_substep *s, const abuti_buffer *x) {
    cloth_device *d = c->device;
    const uint32_t blocks = cloth_volume_blocks(c);
    if (!(s->pressure > 0))
        return;
    ABUTI_KIT_RUN(&d->kit, KERNEL_VOLUMES, blocks, GROUP, ABUTI_VALUE(blocks),
                  ABUTI_VALUE(c->triangles), MEMORY(MEMORY_CORNERS), ABUTI_BUFFER(x),
                  MEMORY(MEMORY_SUMS));
    ABUTI_KIT_RUN(&d->kit, KERNEL_PRESSURE, WIDE, WIDE, ABUTI_VALUE(*s), ABUTI_VALUE(blocks),
                  MEMORY(MEMORY_SUMS), ABUTI_LOCAL_MEMORY(WIDE * sizeof(double)),
                  MEMORY(MEMORY_PRESSURE));
}

static void queue_forces(cloth *c, const cloth_substep *s) {
    cloth_device *d = c->device;
    const uint32_t triangles = c->triangles;
    cloth_device_measure(c, s, &d->kit.buffers[MEMORY_NOW]);
    if (cloth_has_air(s))
        ABUTI_KIT_RUN(&d->kit, KERNEL_PUSH, triangles, GROUP, ABUTI_VALUE(*s),
                      ABUTI_VALUE(triangles), MEMORY(MEMORY_CORNERS), MEMORY(MEMORY_PRESSURE),
                      MEMORY(MEMORY_NOW), MEMORY(MEMORY_VELOCITY), MEMORY(MEMORY_PUSH));
    ABUTI_KIT_RUN(&d->kit, KERNEL_MOVE, c->vertices, GROUP, ABUTI_VALUE(*s),
                  ABUTI_VALUE(c->vertices), MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_FACE_BEGIN),
                  MEMORY(MEMORY_FACES), MEMORY(MEMORY_PUSH), MEMORY(MEMORY_VELOCITY),
                  MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
}

/* Returns the first of the colours that are all small, or processed one after the other. */
static uint32_t tail_of(const cloth_colours *colours) {
    uint32_t k = colours->count;
    while (k > 0 && (k == COLOURS || colours->begin[k] - colours->begin[k - 1] <= TAIL_COUNT))
        k--;
    return k;
}

static void queue_colours(cloth_device *d, const cloth_substep *s, const cloth_colours *colours,
                          kernel which, memory list) {
    const uint32_t tail = tail_of(colours), count = colours->count;
    for (uint32_t k = 0; k < tail; k++)
        ABUTI_KIT_RUN(&d->kit, which, colours->begin[k + 1] - colours->begin[k], GROUP,
                      ABUTI_VALUE(*s), ABUTI_VALUE(colours->begin[k]),
                      ABUTI_VALUE(colours->begin[k + 1]), MEMORY(list), MEMORY(MEMORY_INVERSE_MASS),
                      MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
    if (tail < count)
        ABUTI_KIT_RUN(&d->kit, which + 1, WIDE, WIDE, ABUTI_VALUE(*s), ABUTI_VALUE(tail),
                      ABUTI_VALUE(count), MEMORY(list + 1), MEMORY(list),
                      MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
}

static void queue_substep(cloth *c, const cloth_substep *s) {
    cloth_device *d = c->device;
    const uint32_t touches = c->touch_count > 0;
    queue_forces(c, s);
    if (c->held_count)
        ABUTI_KIT_RUN(&d->kit, KERNEL_HOLDS, c->held_count, GROUP, ABUTI_VALUE(*s),
                      ABUTI_VALUE(c->held_count), MEMORY(MEMORY_HELD), MEMORY(MEMORY_INVERSE_MASS),
                      MEMORY(MEMORY_NOW));
    queue_colours(d, s, &c->hinge_colours, KERNEL_HINGES, MEMORY_HINGES);
    queue_colours(d, s, &c->edge_colours, KERNEL_EDGES, MEMORY_EDGES);
    queue_colours(d, s, &c->near_colours, KERNEL_NEARS, MEMORY_NEARS);
    ABUTI_KIT_RUN(&d->kit, KERNEL_END, c->vertices, GROUP, ABUTI_VALUE(*s),
                  ABUTI_VALUE(c->vertices), ABUTI_VALUE(touches), MEMORY(MEMORY_TOUCHES),
                  MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE),
                  MEMORY(MEMORY_VELOCITY));
}

/* ---- a step ---- */

static abut_status make_positions(cloth *c) {
    cloth_device *d = c->device;
    abut_device *device = d->queue.device;
    size_t bytes = c->all_vertices * sizeof(vec);
    abut_status status = d->start ? ABUT_OK : abut_buffer_create(device, bytes, &d->start);
    if (!status && !d->end)
        status = abut_buffer_create(device, bytes, &d->end);
    if (!status && c->solid && !d->nearest) {
        abuti_kit_upload(&d->kit, MEMORY_SOLID_CORNERS, abut_mesh_indices(c->solid),
                         abut_mesh_triangle_count(c->solid), 3 * sizeof(uint32_t));
        status = abut_buffer_create(device, c->vertices * sizeof(abut_nearest), &d->nearest);
    }
    return status;
}

/* Uploads holds. They may be added after the cloth is created, and make masses infinite. */
static void put_holds(cloth *c) {
    cloth_device *d = c->device;
    if (!c->held_count)
        return;
    if (!d->has_held) {
        abuti_kit_upload(&d->kit, MEMORY_INVERSE_MASS, c->inverse_mass, c->vertices,
                         sizeof(double));
        abuti_kit_upload(&d->kit, MEMORY_HELD, c->held, c->held_count, sizeof *c->held);
    }
    abuti_kit_upload(&d->kit, MEMORY_GIVEN, c->given, 2 * (size_t)c->held_count, sizeof(vec));
    d->has_held = !abuti_kit_failed(&d->kit);
}

void cloth_device_begin(cloth *c) {
    cloth_device *d = c->device;
    abut_status status = make_positions(c);
    if (!status && !d->has_start)
        status = abut_buffer_write(d->start, 0, c->position, c->all_vertices * sizeof(vec));
    d->has_start = !status;
    abuti_kit_fail(&d->kit, status);
    put_holds(c);
}

static abut_status begin(cloth *c, const vec *solid_end) {
    cloth_device *d = c->device;
    cloth_device_begin(c);
    d->solid_moves = solid_end != NULL;
    if (solid_end)
        abuti_kit_upload(&d->kit, MEMORY_SOLID_END, solid_end, c->all_vertices - c->vertices,
                         sizeof(vec));
    return abuti_queue_report(&d->queue);
}

void cloth_device_place_holds(cloth *c, const abuti_buffer *solid_end, uint32_t solid_moves) {
    cloth_device *d = c->device;
    if (c->held_count)
        ABUTI_KIT_RUN(&d->kit, KERNEL_PLACE_HOLDS, c->held_count, GROUP, ABUTI_VALUE(c->held_count),
                      ABUTI_VALUE(c->vertices), MEMORY(MEMORY_SOLID_CORNERS),
                      ABUTI_BUFFER(&d->start->memory), ABUTI_BUFFER(solid_end),
                      ABUTI_VALUE(solid_moves), MEMORY(MEMORY_GIVEN), MEMORY(MEMORY_HELD));
}

/* Refits the solid's BVH. It is destroyed if that fails. */
static abut_status fit_solid(cloth *c) {
    cloth_device *d = c->device;
    abut_mesh *mesh = NULL;
    if (d->solid && d->solid_fit == c->solid_moved)
        return ABUT_OK;
    abut_status status = cloth_mesh(c, 1, &mesh);
    abut_bvh_options options = abut_bvh_options_default();
    options.device = d->queue.device;
    bool fresh = !d->solid || d->refits >= REFITS_MAX;
    if (!status && !fresh)
        status = abut_bvh_set_mesh(d->solid, mesh);
    if (!status)
        d->refits = fresh ? 0 : d->refits + 1;
    if (status || fresh) {
        abut_bvh_destroy(d->solid);
        d->solid = NULL;
    }
    if (!status && fresh)
        status = abut_bvh_create(mesh, &options, &d->solid);
    if (!status)
        d->solid_fit = c->solid_moved;
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status find_touches(cloth *c, double radius, const vec *solid_end) {
    cloth_device *d = c->device;
    const size_t groups = d->kit.buffers[MEMORY_TOUCH_TOTALS].bytes / (2 * sizeof(double));
    double *totals = abut_context_allocate(c->context, groups, 2 * sizeof *totals);
    abut_status status = totals ? fit_solid(c) : ABUT_ERROR_MEMORY;
    (void)solid_end; /* already uploaded */
    if (!status)
        status = abut_nearest_point_batch(d->solid, abut_array_buffer(d->start), c->vertices,
                                          radius, abut_array_buffer(d->nearest));
    if (!status) {
        ABUTI_KIT_RUN(&d->kit, KERNEL_FIND_TOUCHES, c->vertices, GROUP, ABUTI_VALUE(c->vertices),
                      ABUTI_VALUE(c->options.thickness), ABUTI_VALUE(c->touch_gap),
                      ABUTI_BUFFER(&d->nearest->memory), MEMORY(MEMORY_SOLID_CORNERS),
                      ABUTI_BUFFER(&d->start->memory), MEMORY(MEMORY_SOLID_END),
                      ABUTI_VALUE(d->solid_moves), MEMORY(MEMORY_TOUCHES),
                      ABUTI_LOCAL_MEMORY(GROUP * sizeof(double)),
                      ABUTI_LOCAL_MEMORY(GROUP * sizeof(uint32_t)), MEMORY(MEMORY_TOUCH_TOTALS));
        status =
            abuti_kit_download(&d->kit, MEMORY_TOUCH_TOTALS, totals, groups, 2 * sizeof *totals);
    }
    for (size_t i = 0; i < groups && !status; i++) { /* results of the work-groups */
        c->touch_gap = fmin(c->touch_gap, totals[2 * i]);
        c->touch_count += (size_t)totals[2 * i + 1];
    }
    abut_context_free(c->context, totals);
    return status;
}

/* On the device, the end of the step is the aim. */
static abut_status plan(cloth *c, double seconds, const vec *solid_end) {
    cloth_device *d = c->device;
    size_t bytes = c->vertices * sizeof(vec);
    (void)solid_end; /* already uploaded */
    abuti_kit_copy(&d->kit, &d->start->memory, &d->kit.buffers[MEMORY_NOW], bytes);
    if (!d->has_velocity)
        abuti_kit_upload(&d->kit, MEMORY_VELOCITY, c->velocity, c->vertices, sizeof(vec));
    d->has_velocity = false; /* until the step is accepted */
    abuti_kit_upload(&d->kit, MEMORY_NEARS, c->nears, c->near_count, sizeof *c->nears);
    abuti_kit_upload(&d->kit, MEMORY_NEAR_COLOURS, &c->near_colours, 1, sizeof c->near_colours);
    cloth_device_place_holds(c, &d->kit.buffers[MEMORY_SOLID_END], d->solid_moves);
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        const cloth_substep s = cloth_substep_of(c, seconds, i);
        queue_substep(c, &s);
    }
    ABUTI_KIT_RUN(&d->kit, KERNEL_AIMS, c->all_vertices, GROUP, ABUTI_VALUE(c->all_vertices),
                  ABUTI_VALUE(c->vertices), MEMORY(MEMORY_NOW), ABUTI_BUFFER(&d->start->memory),
                  MEMORY(MEMORY_SOLID_END), ABUTI_VALUE(d->solid_moves),
                  ABUTI_BUFFER(&d->end->memory));
    abut_status status =
        abuti_buffer_download(&d->queue, &d->end->memory, 0, c->aim, c->all_vertices * sizeof(vec));
    return status ? status
                  : abuti_kit_download(&d->kit, MEMORY_VELOCITY, c->velocity, c->vertices,
                                       sizeof(vec));
}

static abut_status set_end(cloth *c) {
    return abut_buffer_write(c->device->end, 0, c->end, c->all_vertices * sizeof(vec));
}

static abut_status step(cloth *c, int motion, bool still) {
    cloth_device *d = c->device;
    return abut_sweep_set_positions(c->motions[motion], abut_array_buffer(d->start),
                                    abut_array_buffer(still ? d->start : d->end));
}

static void finish(cloth *c, bool velocities_changed) {
    cloth_device *d = c->device;
    abut_buffer *start = d->start;
    d->start = d->end;
    d->end = start;
    d->has_velocity = !velocities_changed;
}

static void changed(cloth *c) {
    c->device->has_start = c->device->has_velocity = false;
}

static const cloth_backend on_device = {destroy,
                                        begin,
                                        find_touches,
                                        plan,
                                        set_end,
                                        step,
                                        finish,
                                        cloth_quick_on_device,
                                        cloth_fetch_from_device,
                                        changed};

abut_status cloth_device_create(cloth *c, abut_device *device) {
    c->backend = &on_device;
    return create(c, device);
}
#else
abut_status cloth_device_create(cloth *c, abut_device *device) {
    (void)c;
    (void)device;
    return abut_set_error(ABUT_ERROR_DEVICE,
                          "cloth_create: this build of the cloth works on the CPU only");
}
#endif
