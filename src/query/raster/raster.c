/* The nearest surface of each pixel. On the CPU, shapes of all triangles are computed first and
 * sorted into bands of rows; each band is drawn by one task. */
#include "raster/raster.h"

#include "device/array.h"
#include "device/device.h"

#include <math.h>

enum { TRIANGLES_PER_TASK = 4096, BAND_ROWS = 32 /* rows */ };

/* ---- shapes ---- */

/* The shapes of a range of triangles. */
typedef struct shape_list {
    raster_shape *list;
    size_t count, room;
    uint32_t *begin, *order; /* shapes of band b: list[order[begin[b]]] to begin[b + 1] */
    abut_status status;
} shape_list;

typedef struct cpu_job {
    abut_context *context;
    const raster_drawing *drawing;
    bool touching;
    shape_list *chunks;
    size_t chunk_count;
    uint64_t *keys; /* by pixel */
} cpu_job;

/* The pixels of the image that a shape may cover. */
static raster_rect covered_rect(const cpu_job *j, const raster_shape *s) {
    const raster_lens *l = &j->drawing->camera.lens;
    raster_rect image = {0, 0, (int)l->width - 1, (int)l->height - 1};
    return raster_rect_clip(raster_rect_of(l, s, j->touching), image);
}

/* Adds the shapes of a triangle that may cover pixels. */
static void add_shapes(const cpu_job *j, shape_list *to, uint32_t triangle, const raster_point *p) {
    if (to->room < to->count + RASTER_CORNERS)
        to->status = abuti_grow(j->context, &to->list, to->count, to->count + RASTER_CORNERS,
                                sizeof *to->list, &to->room);
    if (to->status)
        return;
    raster_shape *shapes = to->list + to->count;
    int made = raster_shapes(&j->drawing->camera.lens, p, 0, triangle, j->touching, shapes);
    for (int k = 0; k < made; k++)
        if (!raster_rect_empty(covered_rect(j, &shapes[k])))
            to->list[to->count++] = shapes[k];
}

/* Counting sort by band. */
static abut_status sort_shapes(const cpu_job *j, shape_list *to) {
    const size_t bands = abuti_chunk_count(j->drawing->camera.lens.height, BAND_ROWS);
    to->begin = abuti_allocate_zeroed(j->context, bands + 2, sizeof *to->begin);
    if (!to->begin)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < to->count; i++) {
        raster_rect r = covered_rect(j, &to->list[i]);
        for (int b = r.y0 / BAND_ROWS; b <= r.y1 / BAND_ROWS; b++)
            to->begin[b + 2]++;
    }
    for (size_t b = 0; b < bands; b++)
        to->begin[b + 2] += to->begin[b + 1];
    to->order = abuti_allocate(j->context, to->begin[bands + 1], sizeof *to->order);
    if (!to->order)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < to->count; i++) {
        raster_rect r = covered_rect(j, &to->list[i]);
        for (int b = r.y0 / BAND_ROWS; b <= r.y1 / BAND_ROWS; b++)
            to->order[to->begin[b + 1]++] = (uint32_t)i;
    }
    return ABUT_OK;
}

static void make_shapes(void *data, size_t chunk, size_t begin, size_t end) {
    const cpu_job *j = data;
    const raster_drawing *d = j->drawing;
    shape_list *to = &j->chunks[chunk];
    uint32_t i = raster_item_of(d->placed, d->item_count, (uint32_t)begin);
    for (size_t at = begin; at < end && !to->status; at++) {
        while (i + 1 < d->item_count && d->placed[i + 1].first <= at)
            i++;
        const abut_mesh *mesh = d->items[i].mesh;
        const uint32_t *corner = mesh->indices + 3 * (at - d->placed[i].first);
        raster_point p[3];
        for (int k = 0; k < 3; k++)
            p[k] = raster_apply(&d->placed[i].frame, mesh->positions[corner[k]]);
        add_shapes(j, to, (uint32_t)at, p);
    }
    if (!to->status)
        to->status = sort_shapes(j, to);
}

/* ---- pixels ---- */

static void draw_shape(const cpu_job *j, const raster_shape *s, raster_rect in) {
    const raster_lens *lens = &j->drawing->camera.lens;
    raster_setup pen = raster_setup_of(lens, s, in, j->touching);
    for (int y = pen.box.y0; y <= pen.box.y1; y++)
        for (int x = pen.box.x0; x <= pen.box.x1; x++)
            if (raster_covers(pen.side, x, y)) {
                uint64_t key = (uint64_t)raster_draw_depth(s, x, y, j->touching) << 32 | s->part,
                         *nearest = &j->keys[(size_t)y * lens->width + (size_t)x];
                *nearest = key < *nearest ? key : *nearest;
            }
}

static void draw_rows(void *data, size_t band, size_t begin, size_t end) {
    const cpu_job *j = data;
    const size_t width = j->drawing->camera.lens.width;
    raster_rect in = {0, (int)begin, (int)width - 1, (int)end - 1};
    for (size_t i = begin * width; i < end * width; i++)
        j->keys[i] = UINT64_MAX;
    for (size_t c = 0; c < j->chunk_count; c++) {
        const shape_list *from = &j->chunks[c];
        for (size_t i = from->begin[band]; i < from->begin[band + 1]; i++)
            draw_shape(j, &from->list[from->order[i]], in);
    }
}

static void write_images(const cpu_job *j, size_t pixels, abut_raster_image *image) {
    const raster_drawing *d = j->drawing;
    for (size_t i = 0; i < pixels; i++) {
        uint32_t triangle = (uint32_t)j->keys[i];
        bool empty = triangle == ABUT_NONE;
        uint32_t item = empty ? ABUT_NONE : raster_item_of(d->placed, d->item_count, triangle);
        if (image->depths.host)
            ((float *)image->depths.host)[i] =
                empty ? INFINITY : (float)raster_distance(&d->camera, (double)(j->keys[i] >> 32));
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
    const raster_lens *l = &d->camera.lens;
    const size_t pixels = (size_t)l->width * l->height;
    cpu_job j = {.context = context, .drawing = d, .touching = image->conservative};
    j.chunk_count = abuti_chunk_count(d->triangle_count, TRIANGLES_PER_TASK);
    j.chunks = abuti_allocate_zeroed(context, j.chunk_count, sizeof *j.chunks);
    j.keys = abuti_allocate(context, pixels, sizeof *j.keys);
    abut_status status = j.chunks && j.keys ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_parallel_try(context, "pixels", d->triangle_count, TRIANGLES_PER_TASK,
                                    make_shapes, &j);
    for (size_t c = 0; !status && c < j.chunk_count; c++)
        if (j.chunks[c].status) /* the message is on the worker thread */
            status = abuti_fail(j.chunks[c].status, "abut_raster_draw: out of memory for shapes");
    if (!status)
        status = abuti_parallel_try(context, "pixels", l->height, BAND_ROWS, draw_rows, &j);
    if (!status)
        write_images(&j, pixels, image);
    for (size_t c = 0; j.chunks && c < j.chunk_count; c++)
        ABUTI_RELEASE(context, j.chunks[c].list, j.chunks[c].begin, j.chunks[c].order);
    ABUTI_RELEASE(context, j.chunks, j.keys);
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
