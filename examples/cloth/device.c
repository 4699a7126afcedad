/* The substeps of a cloth on an OpenCL device.
 *
 * The same arithmetic in the same order as dynamics.c (both take it from dynamics_shared.h), so
 * that positions are those of the CPU, bit for bit. All substeps of a step are queued at once;
 * nothing is waited for in between. This file alone uses what is private to the library; with
 * CLOTH_NO_DEVICES it does not, and refuses them all.
 */
#include "parts.h"

#ifndef CLOTH_NO_DEVICES
#include "device/device.h"

enum { GROUP = 64, WIDE = VOLUME_LANES, TAIL_COUNT = 512 };

extern const abuti_module cloth_modules[];

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
    KERNEL_TOUCHES,
    KERNEL_VELOCITIES,
    KERNELS
} kernel;

typedef enum memory {
    MEMORY_CORNERS,
    MEMORY_FACE_BEGIN,
    MEMORY_FACES,
    MEMORY_INVERSE_MASS,
    MEMORY_EDGES, /* each followed by where its colours begin */
    MEMORY_EDGE_COLOURS,
    MEMORY_HINGES,
    MEMORY_HINGE_COLOURS,
    MEMORY_NEARS,
    MEMORY_NEAR_COLOURS,
    MEMORY_TOUCHES,
    MEMORY_NOW,
    MEMORY_BEFORE,
    MEMORY_VELOCITY,
    MEMORY_PUSH,
    MEMORY_SUMS,
    MEMORY_PRESSURE,
    MEMORIES
} memory;

struct cloth_device {
    abuti_queue queue;
    abuti_kernel kernels[KERNELS];
    abuti_buffer memory[MEMORIES];
};

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

static size_t groups_of(size_t count) {
    return (count + GROUP - 1) / GROUP;
}

/* ---- create ---- */

static abut_status check_device(const abut_device *device) {
    const abut_device_info *info = &device->info;
    if (info->same_bits && info->has_doubles)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_DEVICE,
                      "cloth_create: %s %s; leave options->device null to work on the CPU",
                      info->name,
                      info->has_doubles ? "does not round floats as this CPU does"
                                        : "has no doubles");
}

static abut_status make_kernels(cloth_device *d, abut_device *device) {
    static const char *const names[KERNELS] = {"cloth_volumes", "cloth_pressure",
                                               "cloth_push",    "cloth_move",
                                               "cloth_edges",   "cloth_edges_tail",
                                               "cloth_hinges",  "cloth_hinges_tail",
                                               "cloth_nears",   "cloth_nears_tail",
                                               "cloth_touches", "cloth_velocities"};
    abuti_program *program;
    abut_status status = abuti_program_make(device, &cloth_modules[0], "", &program);
    for (int i = 0; i < KERNELS && !status; i++)
        status = abuti_kernel_create(program, device, names[i], &d->kernels[i]);
    return status;
}

static abut_status make_memory(cloth *c, abut_device *device) {
    cloth_device *d = c->device;
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
        [MEMORY_NOW] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_BEFORE] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_VELOCITY] = {c->vertices, sizeof(vec), NULL},
        [MEMORY_PUSH] = {c->triangles, sizeof(vec), NULL},
        [MEMORY_SUMS] = {cloth_volume_blocks(c), sizeof(double), NULL},
        [MEMORY_PRESSURE] = {1, sizeof(double), NULL},
    };
    abut_status status = ABUT_OK;
    for (int i = 0; i < MEMORIES && !status; i++) {
        status = abuti_buffer_create(device, list[i].count, list[i].bytes, &d->memory[i]);
        if (!status && list[i].data && list[i].count)
            status = abuti_buffer_upload(&d->queue, &d->memory[i], 0, list[i].data,
                                         list[i].count * list[i].bytes);
    }
    return status;
}

abut_status cloth_device_create(cloth *c, abut_device *device) {
    abut_status status = check_device(device);
    if (status)
        return status;
    c->device = abut_context_allocate(c->context, 1, sizeof *c->device);
    if (!c->device)
        return ABUT_ERROR_MEMORY;
    memset(c->device, 0, sizeof *c->device);
    status = abuti_queue_open(device, &c->device->queue);
    status = status ? status : make_kernels(c->device, device);
    return status ? status : make_memory(c, device);
}

void cloth_device_destroy(cloth *c) {
    cloth_device *d = c->device;
    if (!d)
        return;
    for (int i = 0; i < KERNELS; i++)
        abuti_kernel_destroy(&d->kernels[i]);
    for (int i = 0; i < MEMORIES; i++)
        abuti_buffer_destroy(&d->memory[i]);
    abuti_queue_close(&d->queue);
    abut_context_release(c->context, d);
    c->device = NULL;
}

/* ---- a substep ---- */

static abut_status queue_forces(cloth *c, const cloth_substep *s) {
    cloth_device *d = c->device;
    const uint32_t blocks = cloth_volume_blocks(c), triangles = c->triangles;
    abut_status status = ABUT_OK;
    if (s->pressure > 0) {
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_VOLUMES], groups_of(blocks), GROUP,
                              ABUTI_VALUE(blocks), ABUTI_VALUE(triangles), MEMORY(MEMORY_CORNERS),
                              MEMORY(MEMORY_NOW), MEMORY(MEMORY_SUMS));
        if (!status)
            status =
                ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_PRESSURE], 1, WIDE, ABUTI_VALUE(*s),
                             ABUTI_VALUE(blocks), MEMORY(MEMORY_SUMS),
                             ABUTI_LOCAL_MEMORY(WIDE * sizeof(double)), MEMORY(MEMORY_PRESSURE));
    }
    if (!status && cloth_has_air(s))
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_PUSH], groups_of(triangles), GROUP,
                              ABUTI_VALUE(*s), ABUTI_VALUE(triangles), MEMORY(MEMORY_CORNERS),
                              MEMORY(MEMORY_PRESSURE), MEMORY(MEMORY_NOW), MEMORY(MEMORY_VELOCITY),
                              MEMORY(MEMORY_PUSH));
    if (!status)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_MOVE], groups_of(c->vertices), GROUP,
                         ABUTI_VALUE(*s), ABUTI_VALUE(c->vertices), MEMORY(MEMORY_INVERSE_MASS),
                         MEMORY(MEMORY_FACE_BEGIN), MEMORY(MEMORY_FACES), MEMORY(MEMORY_PUSH),
                         MEMORY(MEMORY_VELOCITY), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
    return status;
}

/* The colours from which on all are small, or done one after the other. */
static uint32_t tail_of(const cloth_colours *colours) {
    uint32_t k = colours->count;
    while (k > 0 && (k == COLOURS || colours->begin[k] - colours->begin[k - 1] <= TAIL_COUNT))
        k--;
    return k;
}

static abut_status queue_colours(cloth_device *d, const cloth_substep *s,
                                 const cloth_colours *colours, kernel which, memory list) {
    const uint32_t tail = tail_of(colours), count = colours->count;
    abut_status status = ABUT_OK;
    for (uint32_t k = 0; k < tail && !status; k++)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[which],
                         groups_of(colours->begin[k + 1] - colours->begin[k]), GROUP,
                         ABUTI_VALUE(*s), ABUTI_VALUE(colours->begin[k]),
                         ABUTI_VALUE(colours->begin[k + 1]), MEMORY(list),
                         MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
    if (!status && tail < count)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[which + 1], 1, WIDE, ABUTI_VALUE(*s),
                         ABUTI_VALUE(tail), ABUTI_VALUE(count), MEMORY(list + 1), MEMORY(list),
                         MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
    return status;
}

static abut_status queue_substep(cloth *c, const cloth_substep *s) {
    cloth_device *d = c->device;
    const uint32_t touches = (uint32_t)c->touch_count;
    abut_status status = queue_forces(c, s);
    if (!status)
        status = queue_colours(d, s, &c->hinge_colours, KERNEL_HINGES, MEMORY_HINGES);
    if (!status)
        status = queue_colours(d, s, &c->edge_colours, KERNEL_EDGES, MEMORY_EDGES);
    if (!status)
        status = queue_colours(d, s, &c->near_colours, KERNEL_NEARS, MEMORY_NEARS);
    if (!status)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_TOUCHES], groups_of(touches), GROUP,
                         ABUTI_VALUE(*s), ABUTI_VALUE(touches), MEMORY(MEMORY_TOUCHES),
                         MEMORY(MEMORY_INVERSE_MASS), MEMORY(MEMORY_NOW), MEMORY(MEMORY_BEFORE));
    if (!status)
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[KERNEL_VELOCITIES], groups_of(c->vertices),
                              GROUP, ABUTI_VALUE(*s), ABUTI_VALUE(c->vertices), MEMORY(MEMORY_NOW),
                              MEMORY(MEMORY_BEFORE), MEMORY(MEMORY_VELOCITY));
    return status;
}

/* ---- a step ---- */

static abut_status send(cloth_device *d, memory which, const void *data, size_t count,
                        size_t bytes) {
    abut_status status = abuti_buffer_reserve(d->queue.device, count, bytes, &d->memory[which]);
    if (!status && count)
        status = abuti_buffer_upload(&d->queue, &d->memory[which], 0, data, count * bytes);
    return status;
}

abut_status cloth_device_advance(cloth *c, double seconds) {
    cloth_device *d = c->device;
    size_t bytes = c->vertices * sizeof(vec);
    abut_status status = send(d, MEMORY_NOW, c->position, c->vertices, sizeof(vec));
    status = status ? status : send(d, MEMORY_VELOCITY, c->velocity, c->vertices, sizeof(vec));
    status =
        status ? status : send(d, MEMORY_TOUCHES, c->touches, c->touch_count, sizeof *c->touches);
    status = status ? status : send(d, MEMORY_NEARS, c->nears, c->near_count, sizeof *c->nears);
    status =
        status ? status : send(d, MEMORY_NEAR_COLOURS, &c->near_colours, 1, sizeof c->near_colours);
    for (uint32_t i = 0; i < c->options.substeps && !status; i++) {
        const cloth_substep s = cloth_substep_of(c, seconds, i);
        status = queue_substep(c, &s);
    }
    if (!status)
        status = abuti_buffer_download(&d->queue, &d->memory[MEMORY_NOW], 0, c->now, bytes);
    if (!status)
        status =
            abuti_buffer_download(&d->queue, &d->memory[MEMORY_VELOCITY], 0, c->velocity, bytes);
    return status;
}
#else
abut_status cloth_device_create(cloth *c, abut_device *device) {
    (void)c;
    (void)device;
    return abut_fail(ABUT_ERROR_DEVICE,
                     "cloth_create: this build of the cloth works on the CPU only");
}
void cloth_device_destroy(cloth *c) {
    (void)c;
}
abut_status cloth_device_advance(cloth *c, double seconds) {
    (void)c;
    (void)seconds;
    return ABUT_ERROR_DEVICE;
}
#endif
