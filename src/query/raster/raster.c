/* The nearest surface of each pixel. On the CPU, each task draws some triangles. A pixel keeps the
 * minimum of all keys, which does not depend on the order of tasks. */
#include "raster/raster.h"

#include "device/array.h"
#include "device/device.h"

#include <math.h>
#include <stdatomic.h>

enum { TRIANGLES_PER_TASK = 256, PIXELS_PER_TASK = 1 << 15 };

typedef struct cpu_job {
    const raster_drawing *drawing;
    bool touching;
    _Atomic uint64_t *keys; /* by pixel */
} cpu_job;

/* ---- pixels ---- */

static void clear_keys(void *data, size_t chunk, size_t begin, size_t end) {
    const cpu_job *j = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        atomic_init(&j->keys[i], UINT64_MAX);
}

static void write_key(_Atomic uint64_t *nearest, uint64_t key) {
    uint64_t there = atomic_load_explicit(nearest, memory_order_relaxed);
    while (key < there &&
           !atomic_compare_exchange_weak_explicit(nearest, &there, key, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static void draw_shape(const cpu_job *j, const raster_shape *s, raster_rect image) {
    const raster_lens *lens = &j->drawing->camera.lens;
    const raster_setup pen = raster_setup_of(lens, s, image, j->touching);
    for (int y = pen.box.y0; y <= pen.box.y1; y++)
        for (int x = pen.box.x0; x <= pen.box.x1; x++)
            if (raster_covers(pen.side, x, y))
                write_key(&j->keys[(size_t)y * lens->width + (size_t)x],
                          (uint64_t)raster_draw_depth(s, x, y, j->touching) << 32 | s->part);
}

static void draw_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const cpu_job *j = data;
    const raster_drawing *d = j->drawing;
    const raster_lens *lens = &d->camera.lens;
    const raster_rect image = {0, 0, (int)lens->width - 1, (int)lens->height - 1};
    uint32_t i = raster_item_of(d->placed, d->item_count, (uint32_t)begin);
    (void)chunk;
    for (size_t at = begin; at < end; at++) {
        while (i + 1 < d->item_count && d->placed[i + 1].first <= at)
            i++;
        const abut_mesh *mesh = d->items[i].mesh;
        const uint32_t *corner = mesh->indices + 3 * (at - d->placed[i].first);
        raster_corner p[3];
        raster_shape shapes[RASTER_CORNERS];
        for (int k = 0; k < 3; k++)
            p[k] = raster_corner_of(lens, &d->placed[i].frame, mesh->positions[corner[k]]);
        const int made =
            raster_shapes(lens, &p[0], &p[1], &p[2], 0, (uint32_t)at, j->touching, image, shapes);
        for (int k = 0; k < made; k++)
            draw_shape(j, &shapes[k], image);
    }
}

static void write_images(const cpu_job *j, size_t pixels, abut_raster_image *image) {
    const raster_drawing *d = j->drawing;
    for (size_t i = 0; i < pixels; i++) {
        const uint64_t key = atomic_load_explicit(&j->keys[i], memory_order_relaxed);
        uint32_t triangle = (uint32_t)key;
        bool empty = triangle == ABUT_NONE;
        uint32_t item = empty ? ABUT_NONE : raster_item_of(d->placed, d->item_count, triangle);
        if (image->depths.host)
            ((float *)image->depths.host)[i] =
                empty ? INFINITY : (float)raster_distance(&d->camera, (double)(key >> 32));
        if (image->items.host)
            ((uint32_t *)image->items.host)[i] = item;
        if (image->triangles.host)
            ((uint32_t *)image->triangles.host)[i] =
                empty ? ABUT_NONE : triangle - d->placed[item].first;
    }
}

static abut_status cpu_draw(abut_raster *raster, const raster_drawing *d,
                            abut_raster_image *image) {
    abut_context *context = raster->context;
    const size_t pixels = (size_t)d->camera.lens.width * d->camera.lens.height;
    cpu_job j = {.drawing = d, .touching = image->conservative};
    j.keys = abuti_allocate(context, pixels, sizeof *j.keys);
    abut_status status = j.keys ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        abuti_parallel_for(context, pixels, PIXELS_PER_TASK, clear_keys, &j);
        status = abuti_parallel_try(context, "pixels", d->triangle_count, TRIANGLES_PER_TASK,
                                    draw_triangles, &j);
    }
    if (!status)
        write_images(&j, pixels, image);
    abuti_release(context, j.keys);
    return status;
}

static abut_status cpu_create(abut_raster *raster) {
    (void)raster;
    return ABUT_OK;
}
static void cpu_destroy(abut_raster *raster) {
    (void)raster;
}

static const raster_backend on_cpu = {cpu_create, cpu_destroy, cpu_draw};

/* ---- create and destroy ---- */

abut_status abut_raster_create(abut_context *context, const abut_raster_options *options,
                               abut_raster **raster) {
    abut_raster_options ours = abut_raster_options_default();
    if (!raster)
        return abuti_null(__func__, "raster");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_raster_create: options");
    if (status)
        return status;
    context = abuti_context_of(context);
    abut_raster *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->options = ours;
    made->backend = ours.device ? &abuti_raster_on_device : &on_cpu;
    if ((status = made->backend->create(made))) {
        abut_raster_destroy(made);
        return status;
    }
    *raster = made;
    return ABUT_OK;
}

void abut_raster_destroy(abut_raster *raster) {
    if (!raster)
        return;
    abut_context *context = raster->context;
    raster->backend->destroy(raster);
    abuti_release(context, raster);
    abut_context_destroy(context);
}

/* ---- draw ---- */

static box3 extend_region(box3 region, const raster_item *item) {
    abuti_motion motion = abuti_motion_of(&item->pose);
    box3 b = item->mesh->bounds;
    for (int k = 0; k < 8; k++) {
        vec3 corner = v3(k & 1 ? b.lo.x : b.hi.x, k & 2 ? b.lo.y : b.hi.y, k & 4 ? b.lo.z : b.hi.z);
        region = box_grow(region, abuti_motion_apply(&motion, corner));
    }
    return region;
}

/* Validates all items and computes their transformations. */
static abut_status place_items(const char *function, const abut_raster_view *view,
                               const abut_collider *colliders, raster_drawing *d) {
    box3 region = box_empty();
    uint64_t triangles = 0;
    for (uint32_t i = 0; i < d->item_count; i++) {
        d->items[i].pose = colliders[i].pose;
        abut_status status =
            abuti_collider_read_mesh(function, "colliders", i, &colliders[i], &d->items[i].mesh);
        status = status ? status : abuti_pose_check(function, "a pose", &d->items[i].pose);
        if (status)
            return status;
        region = extend_region(region, &d->items[i]);
        d->placed[i].first = (uint32_t)triangles;
        triangles += d->items[i].mesh->triangle_count;
        if (triangles >= UINT32_MAX)
            return abuti_fail(ABUT_ERROR_LIMIT, "%s: the colliders have %llu triangles or more",
                              function, (unsigned long long)UINT32_MAX);
    }
    d->triangle_count = (uint32_t)triangles;
    if (!d->item_count)
        region = (box3){{0, 0, 0}, {0, 0, 0}};
    abut_status status = abuti_raster_camera(function, view, region, 1024, &d->camera);
    for (uint32_t i = 0; i < d->item_count && !status; i++) {
        raster_motion motion = raster_motion_of(&d->items[i].pose);
        d->placed[i].frame = raster_frame_of(&d->camera, &motion, d->items[i].mesh->origin);
    }
    return status;
}

/* Checks one image: memory of the host or a buffer of the device, or null. */
static abut_status check_array(const char *function, const char *what, abut_device *device,
                               abut_array array, size_t pixels) {
    abut_status status = abuti_array_check_plain(function, what, array);
    if (status || !array.buffer)
        return status;
    if (array.host || !device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          array.host
                              ? "%s: %s has both a host pointer and a device buffer; set one "
                                "of them"
                              : "%s: %s is a device buffer, but the raster has no device; set "
                                "options->device of abut_raster_create()",
                          function, what);
    return abuti_buffer_check(array.buffer, function, what, device, pixels, sizeof(uint32_t));
}

static abut_status check_image(const char *function, const abut_raster *raster,
                               const abut_raster_image *image) {
    abut_device *device = raster->options.device;
    const uint64_t pixels = (uint64_t)image->width * image->height;
    if (image->capacity < pixels)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "%s: the image has %u x %u pixels, but image->capacity is %llu", function,
                          image->width, image->height, (unsigned long long)image->capacity);
    abut_status status =
        check_array(function, "image->depths", device, image->depths, (size_t)pixels);
    if (!status)
        status = check_array(function, "image->items", device, image->items, (size_t)pixels);
    return status ? status
                  : check_array(function, "image->triangles", device, image->triangles,
                                (size_t)pixels);
}

abut_status abut_raster_draw(abut_raster *raster, const abut_raster_view *view,
                             const abut_collider *colliders, size_t count,
                             abut_raster_image *image) {
    if (!raster || !image || (!colliders && count))
        return abuti_null(__func__, !raster ? "raster" : image ? "colliders" : "image");
    if (count >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: count is %zu; it must be less than 2^32 - 1",
                          __func__, count);
    abut_raster_view ours;
    abut_raster_image to = abut_raster_image_default();
    abut_status status = abuti_raster_view_read(view, "abut_raster_draw: view", &ours);
    status = status ? status : abuti_options_read(&to, sizeof to, image, "abut_raster_draw: image");
    if (status)
        return status;
    raster_drawing d = {.item_count = (uint32_t)count};
    d.placed = abuti_allocate_zeroed(raster->context, count, sizeof *d.placed);
    d.items = abuti_allocate(raster->context, count, sizeof *d.items);
    status = d.placed && d.items ? place_items(__func__, &ours, colliders, &d) : ABUT_ERROR_MEMORY;
    if (!status && (to.depths.host || to.depths.buffer))
        status = abuti_raster_check_depths(__func__, &d.camera);
    if (!status) {
        to.width = d.camera.lens.width;
        to.height = d.camera.lens.height;
        status = check_image(__func__, raster, &to);
        if (!status || status == ABUT_ERROR_BUFFER)
            (void)abuti_info_write(image, &to, sizeof to, __func__);
    }
    status = status ? status : raster->backend->draw(raster, &d, &to);
    ABUTI_RELEASE(raster->context, d.placed, d.items);
    return status;
}
