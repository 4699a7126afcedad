/* Images on a device. Meshes stay on the device from draw to draw, items are uploaded for each
 * draw. An image is drawn at once, or in ranges of rows if memory is too small. */
#include "raster/raster.h"

#include "device/kit.h"

enum { DRAW_SMALL, DRAW_LARGE, FINISH, KERNELS };
enum {
    JOB,
    ITEMS,
    VERTICES,
    INDICES,
    KEYS,
    LARGES,
    LARGE_COUNT,
    OUT_DEPTHS,
    OUT_ITEMS,
    OUT_TRIANGLES,
    BUFFERS
};

static const abuti_kernel_source sources[KERNELS] = {[DRAW_SMALL] = {"raster", "raster_small",
                                                                     NULL},
                                                     [DRAW_LARGE] = {"raster", "raster_large_parts",
                                                                     NULL},
                                                     [FINISH] = {"raster", "raster_finish", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

/* A mesh on the device. */
typedef struct device_mesh {
    abut_mesh *mesh; /* reference */
    uint32_t first_vertex, first_triangle;
} device_mesh;

struct raster_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_kit_list large;
    device_mesh *meshes; /* sorted by address */
    size_t mesh_count;
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)
#define PIXEL_BYTES 20 /* key, depth, item, triangle */
#define TRIANGLES_MAX (1u << 29)

/* ---- create ---- */

static abut_status create_on_device(abut_raster *raster) {
    abut_device *device = raster->options.device;
    abut_status status = abuti_device_check_bits("abut_raster_create", device);
    if (status)
        return status;
    struct raster_device *d = raster->device = abuti_allocate_zeroed(raster->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(device, &d->queue);
    status = status ? status : abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (status)
        return status;
    d->large = (abuti_kit_list){.buffer = LARGES,
                                .element_bytes = sizeof(raster_large),
                                .what = "parts of large triangles"};
    const abut_device_info *info = &device->info;
    raster->part_pixels = info->memory_bytes / 4 / PIXEL_BYTES;
    if (raster->part_pixels > info->buffer_bytes / sizeof(uint64_t))
        raster->part_pixels = info->buffer_bytes / sizeof(uint64_t);
    abuti_kit_build(&d->kit);
    abuti_kit_grow(&d->kit, &d->large, 1 << 12);
    abuti_kit_reserve(&d->kit, LARGE_COUNT, 1, sizeof(uint32_t));
    return abuti_queue_report(&d->queue);
}

static void release_meshes(abut_raster *raster) {
    struct raster_device *d = raster->device;
    for (size_t i = 0; i < d->mesh_count; i++)
        abut_mesh_destroy(d->meshes[i].mesh);
    abuti_release(raster->context, d->meshes);
    d->meshes = NULL;
    d->mesh_count = 0;
}

static void destroy_on_device(abut_raster *raster) {
    struct raster_device *d = raster->device;
    if (!d)
        return;
    release_meshes(raster);
    abuti_kit_close(&d->kit);
    abuti_queue_close(&d->queue);
    abuti_release(raster->context, d);
}

/* ---- meshes ---- */

static uint64_t address_of(const abut_mesh *mesh) {
    return (uint64_t)(uintptr_t)mesh;
}

/* Null if it is not on the device. */
static const device_mesh *find_mesh(const struct raster_device *d, const abut_mesh *mesh) {
    size_t lo = 0, hi = d->mesh_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (address_of(d->meshes[middle].mesh) < address_of(mesh))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < d->mesh_count && d->meshes[lo].mesh == mesh ? &d->meshes[lo] : NULL;
}

/* Uploads all meshes of the items, each once. */
static abut_status upload_meshes(abut_raster *raster, const raster_drawing *drawing) {
    struct raster_device *d = raster->device;
    const size_t count = drawing->item_count;
    sort_key *keys = abuti_allocate(raster->context, count, 2 * sizeof *keys);
    d->meshes = abuti_allocate(raster->context, count, sizeof *d->meshes);
    if (!keys || !d->meshes) {
        abuti_release(raster->context, keys);
        return ABUT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        keys[i] = (sort_key){address_of(drawing->items[i].mesh), (uint32_t)i};
    const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
    uint64_t vertices = 0, triangles = 0;
    for (size_t i = 0; i < count && vertices < UINT32_MAX; i++)
        if (!i || sorted[i].key != sorted[i - 1].key) {
            const abut_mesh *mesh = drawing->items[sorted[i].value].mesh;
            d->meshes[d->mesh_count++] =
                (device_mesh){abut_mesh_retain((abut_mesh *)(uintptr_t)mesh), (uint32_t)vertices,
                              (uint32_t)triangles};
            vertices += mesh->vertex_count;
            triangles += mesh->triangle_count;
        }
    abuti_release(raster->context, keys);
    if (vertices >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_raster_draw: the colliders have more than 2^32 - 2 "
                          "vertices, which a device cannot index");
    abuti_kit_reserve(&d->kit, VERTICES, (size_t)vertices, sizeof(vec3));
    abuti_kit_reserve(&d->kit, INDICES, (size_t)triangles, 3 * sizeof(uint32_t));
    for (size_t i = 0; i < d->mesh_count; i++) {
        const device_mesh *m = &d->meshes[i];
        abuti_kit_write(&d->kit, VERTICES, m->first_vertex, m->mesh->positions,
                        m->mesh->vertex_count, sizeof(vec3));
        abuti_kit_write(&d->kit, INDICES, m->first_triangle, m->mesh->indices,
                        m->mesh->triangle_count, 3 * sizeof(uint32_t));
    }
    return abuti_kit_finish(&d->kit);
}

/* Sets where the meshes of the items are. Uploads all meshes if one is missing. */
static abut_status upload_items(abut_raster *raster, const raster_drawing *drawing) {
    struct raster_device *d = raster->device;
    bool missing = false;
    for (uint32_t i = 0; i < drawing->item_count && !missing; i++)
        missing = !find_mesh(d, drawing->items[i].mesh);
    if (missing) {
        release_meshes(raster);
        abut_status status = upload_meshes(raster, drawing);
        if (status) {
            release_meshes(raster);
            return status;
        }
    }
    for (uint32_t i = 0; i < drawing->item_count; i++) {
        const device_mesh *m = find_mesh(d, drawing->items[i].mesh);
        drawing->placed[i].first_vertex = m->first_vertex;
        drawing->placed[i].first_triangle = m->first_triangle;
    }
    abuti_kit_upload(&d->kit, ITEMS, drawing->placed, drawing->item_count, sizeof *drawing->placed);
    return ABUT_OK;
}

/* ---- launches ---- */

/* Where a result is written: to a buffer of the caller, or to an internal one. */
typedef struct target {
    abut_array to;
    uint32_t buffer, want;
    const abuti_buffer *memory;
} target;
enum { TARGETS = 3 };

static void launch(abut_raster *raster, const raster_job *job, const target *targets) {
    struct raster_device *d = raster->device;
    const size_t groups = 8 * (size_t)d->queue.device->info.compute_units;
    const uint64_t width = job->camera.lens.width, first = width * (uint64_t)job->in.y0;
    const size_t pixels = (size_t)width * (size_t)(job->in.y1 - job->in.y0 + 1);
    uint32_t wanted = 0;
    for (int k = 0; k < TARGETS; k++)
        wanted |= targets[k].want;
    abuti_kit_upload(&d->kit, JOB, job, 1, sizeof *job);
    abuti_kit_fill(&d->kit, KEYS, UINT32_MAX, pixels * sizeof(uint64_t));
    abuti_kit_fill(&d->kit, LARGE_COUNT, 0, sizeof(uint32_t));
    for (uint32_t how = RASTER_PASS_DEPTHS; how <= RASTER_PASS_TRIANGLES; how++) {
        ABUTI_KIT_RUN(&d->kit, DRAW_SMALL, job->triangles, RASTER_ITEMS, MEMORY(JOB), MEMORY(ITEMS),
                      MEMORY(VERTICES), MEMORY(INDICES), MEMORY(KEYS), MEMORY(LARGES),
                      MEMORY(LARGE_COUNT), ABUTI_VALUE(how));
        ABUTI_KIT_GROUPS(&d->kit, DRAW_LARGE, groups, RASTER_ITEMS, MEMORY(JOB), MEMORY(LARGES),
                         MEMORY(LARGE_COUNT), MEMORY(KEYS), ABUTI_VALUE(how));
    }
    uint64_t at[TARGETS];
    for (int k = 0; k < TARGETS; k++)
        at[k] = targets[k].to.buffer ? first : 0;
    ABUTI_KIT_RUN(&d->kit, FINISH, pixels, RASTER_ITEMS, MEMORY(JOB), MEMORY(ITEMS), MEMORY(KEYS),
                  ABUTI_VALUE(wanted), ABUTI_BUFFER(targets[0].memory), ABUTI_VALUE(at[0]),
                  ABUTI_BUFFER(targets[1].memory), ABUTI_VALUE(at[1]),
                  ABUTI_BUFFER(targets[2].memory), ABUTI_VALUE(at[2]));
}

/* Draws some rows; repeats that if the list of large shapes was too small. */
static abut_status draw_rows(abut_raster *raster, raster_job *job, const target *targets) {
    struct raster_device *d = raster->device;
    const size_t width = job->camera.lens.width, first = width * (size_t)job->in.y0;
    const size_t pixels = width * (size_t)(job->in.y1 - job->in.y0 + 1);
    uint32_t large;
    do {
        job->room = d->large.room;
        launch(raster, job, targets);
        abut_status status = abuti_kit_download(&d->kit, LARGE_COUNT, &large, 1, sizeof large);
        if (status)
            return status;
    } while (abuti_kit_grow(&d->kit, &d->large, large));
    abut_status status = abuti_queue_report(&d->queue);
    for (int k = 0; k < TARGETS && !status; k++)
        if (targets[k].to.host)
            status = abuti_kit_download(&d->kit, targets[k].buffer,
                                        (uint32_t *)targets[k].to.host + first, pixels,
                                        sizeof(uint32_t));
    return status;
}

static abut_status draw_on_device(abut_raster *raster, const raster_drawing *drawing,
                                  abut_raster_image *image) {
    struct raster_device *d = raster->device;
    const raster_lens *l = &drawing->camera.lens;
    if (drawing->triangle_count >= TRIANGLES_MAX)
        return abuti_fail(
            ABUT_ERROR_LIMIT,
            "abut_raster_draw: the colliders have %u triangles; a device draws at most %u",
            drawing->triangle_count, TRIANGLES_MAX - 1);
    abut_status status = upload_items(raster, drawing);
    if (status)
        return status;
    uint64_t rows = raster->part_pixels / l->width;
    abuti_parts parts = abuti_parts_by(l->height, (size_t)rows);
    abuti_kit_reserve(&d->kit, KEYS, parts.most * l->width, sizeof(uint64_t));
    target targets[TARGETS] = {{image->depths, OUT_DEPTHS, RASTER_WANT_DEPTHS, NULL},
                               {image->items, OUT_ITEMS, RASTER_WANT_ITEMS, NULL},
                               {image->triangles, OUT_TRIANGLES, RASTER_WANT_TRIANGLES, NULL}};
    for (int k = 0; k < TARGETS; k++) {
        target *t = &targets[k];
        abuti_kit_reserve(&d->kit, t->buffer, t->to.host ? parts.most * l->width : 1,
                          sizeof(uint32_t));
        t->memory = t->to.buffer ? &t->to.buffer->memory : &d->kit.buffers[t->buffer];
        t->want = t->to.buffer || t->to.host ? t->want : 0;
    }
    /* A triangle becomes at most six shapes, and all parts are counted with 32 bits. */
    uint32_t most = UINT32_MAX / (RASTER_CORNERS - 2) / (drawing->triangle_count + 1);
    raster_job job = {.camera = drawing->camera,
                      .items = drawing->item_count,
                      .triangles = drawing->triangle_count,
                      .touching = image->conservative,
                      .parts = most < RASTER_PARTS ? most : RASTER_PARTS};
    while (abuti_parts_next(&parts) && !status) {
        job.in = (raster_rect){0, (int)parts.begin, (int)l->width - 1,
                               (int)(parts.begin + parts.count) - 1};
        abuti_kit_progress(&d->kit, raster->context, "pixels",
                           (double)parts.begin / (double)l->height);
        status = draw_rows(raster, &job, targets);
    }
    return status;
}

const raster_backend abuti_raster_on_device = {create_on_device, destroy_on_device, draw_on_device};
