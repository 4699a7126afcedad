/* The nearest surface of each pixel: shapes of all triangles first, then bands of rows, each by one
 * task that goes through all shapes. */
#include "raster/raster.h"

#include <math.h>

enum { TRIANGLES_A_TASK = 4096, ROWS_A_TASK = 32 };

typedef struct shape_list {
    raster_shape *list;
    size_t count, room;
    abut_status status;
} shape_list;

typedef struct drawing {
    abut_context *context;
    raster_camera camera;
    const abut_raster_item *items;
    const size_t *begin; /* of the triangles of an item, among all */
    size_t item_count;
    shape_list *chunks;
    size_t chunk_count;
    uint32_t *nearest, *owner, *part; /* of each pixel */
} drawing;

/* ---- shapes ---- */

static size_t item_of(const drawing *d, size_t triangle) {
    size_t lo = 0, hi = d->item_count;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        if (d->begin[middle] <= triangle)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static void make_shapes(void *data, size_t chunk, size_t begin, size_t end) {
    drawing *d = data;
    shape_list *to = &d->chunks[chunk];
    size_t i = item_of(d, begin);
    for (size_t at = begin; at < end && !to->status; i++) {
        const abut_mesh *mesh = d->items[i].mesh;
        raster_motion motion = raster_motion_of(&d->items[i].pose);
        raster_frame frame = raster_frame_of(&d->camera, &motion, mesh->origin);
        for (; at < end && at < d->begin[i + 1] && !to->status; at++) {
            const uint32_t t = (uint32_t)(at - d->begin[i]),
                           *corner = mesh->indices + 3 * (size_t)t;
            raster_point p[3];
            for (int k = 0; k < 3; k++)
                p[k] = raster_apply(&frame, mesh->positions[corner[k]]);
            if (to->room < to->count + RASTER_CORNERS)
                to->status = abuti_grow(d->context, &to->list, to->count,
                                        to->count + RASTER_CORNERS, sizeof *to->list, &to->room);
            if (!to->status)
                to->count += (size_t)raster_shapes(&d->camera.lens, p, (uint32_t)i, t, false,
                                                   to->list + to->count);
        }
    }
}

/* ---- pixels ---- */

static bool is_before(const drawing *d, size_t pixel, uint32_t z, const raster_shape *s) {
    uint32_t item = s->owner >> 2;
    if (z != d->nearest[pixel])
        return z < d->nearest[pixel];
    if (d->owner[pixel] == ABUT_NONE || item != d->owner[pixel])
        return d->owner[pixel] == ABUT_NONE || item < d->owner[pixel];
    return s->part < d->part[pixel];
}

static void draw_shape(drawing *d, const raster_shape *s, raster_rect in) {
    raster_rect r = raster_rect_cut(raster_rect_of(&d->camera.lens, s, 0), in);
    raster_side side[3] = {raster_side_of(&d->camera.lens, s, 0),
                           raster_side_of(&d->camera.lens, s, 1),
                           raster_side_of(&d->camera.lens, s, 2)};
    for (int y = r.y0; y <= r.y1; y++)
        for (int x = r.x0; x <= r.x1; x++) {
            if (!raster_covers(side, x, y))
                continue;
            size_t pixel = (size_t)y * d->camera.lens.width + (size_t)x;
            uint32_t z = raster_depth_at(s, x, y);
            if (is_before(d, pixel, z, s)) {
                d->nearest[pixel] = z;
                d->owner[pixel] = s->owner >> 2;
                d->part[pixel] = s->part;
            }
        }
}

static void draw_rows(void *data, size_t chunk, size_t begin, size_t end) {
    drawing *d = data;
    const raster_lens *l = &d->camera.lens;
    raster_rect in = {0, (int)begin, (int)l->width - 1, (int)end - 1};
    (void)chunk;
    for (size_t i = begin * l->width; i < end * l->width; i++) {
        d->nearest[i] = UINT32_MAX;
        d->owner[i] = d->part[i] = ABUT_NONE;
    }
    for (size_t c = 0; c < d->chunk_count; c++)
        for (size_t i = 0; i < d->chunks[c].count; i++)
            draw_shape(d, &d->chunks[c].list[i], in);
}

static abut_status draw(drawing *d, size_t triangles, abut_raster_image *image) {
    const raster_lens *l = &d->camera.lens;
    size_t pixels = (size_t)l->width * l->height;
    d->chunk_count = abuti_chunk_count(triangles, TRIANGLES_A_TASK);
    d->chunks = abuti_allocate_zeroed(d->context, d->chunk_count, sizeof *d->chunks);
    d->nearest = abuti_allocate(d->context, pixels, sizeof *d->nearest);
    d->owner = abuti_allocate(d->context, pixels, sizeof *d->owner);
    d->part = abuti_allocate(d->context, pixels, sizeof *d->part);
    abut_status status =
        d->chunks && d->nearest && d->owner && d->part ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status =
            abuti_parallel_try(d->context, "shapes", triangles, TRIANGLES_A_TASK, make_shapes, d);
    for (size_t c = 0; !status && c < d->chunk_count; c++)
        status = d->chunks[c].status;
    if (!status)
        status = abuti_parallel_try(d->context, "pixels", l->height, ROWS_A_TASK, draw_rows, d);
    for (size_t i = 0; !status && i < pixels; i++) {
        if (image->depths)
            image->depths[i] =
                d->owner[i] == ABUT_NONE ? INFINITY : (float)raster_way(&d->camera, d->nearest[i]);
        if (image->items)
            image->items[i] = d->owner[i];
        if (image->triangles)
            image->triangles[i] = d->part[i];
    }
    for (size_t c = 0; d->chunks && c < d->chunk_count; c++)
        abuti_release(d->context, d->chunks[c].list);
    ABUTI_RELEASE(d->context, d->chunks, d->nearest, d->owner, d->part);
    return status;
}

abut_status abut_raster_draw(abut_context *context, const abut_raster_view *view,
                             const abut_raster_item *items, size_t count,
                             abut_raster_image *image) {
    if (!image || (!items && count))
        return abuti_null(__func__, image ? "items" : "image");
    abut_raster_view ours;
    abut_status status = abuti_raster_view_read(view, "abut_raster_draw: view", &ours);
    context = abuti_context_of(context);
    drawing d = {.context = context, .items = items, .item_count = count};
    size_t *begin = status ? NULL : abuti_allocate(context, count + 1, sizeof *begin);
    if (!status && !begin)
        status = ABUT_ERROR_MEMORY;
    size_t triangles = 0;
    box3 region = box_empty();
    for (size_t i = 0; !status && i < count; i++) {
        if (!items[i].mesh)
            status = abuti_null(__func__, "items[i].mesh");
        else if (!(status = abuti_pose_check(__func__, "a pose", &items[i].pose))) {
            const abut_mesh *mesh = items[i].mesh;
            abuti_motion motion = abuti_motion_of(&items[i].pose);
            for (int k = 0; k < 8; k++) {
                box3 b = mesh->bounds;
                vec3 corner =
                    v3(k & 1 ? b.lo.x : b.hi.x, k & 2 ? b.lo.y : b.hi.y, k & 4 ? b.lo.z : b.hi.z);
                region = box_grow(region, abuti_motion_apply(&motion, corner));
            }
            begin[i] = triangles;
            triangles += mesh->triangle_count;
        }
    }
    if (!status) {
        begin[count] = triangles;
        d.begin = begin;
        if (!count)
            region = (box3){{0, 0, 0}, {0, 0, 0}};
        status = abuti_raster_camera(__func__, &ours, region, 1024, &d.camera);
    }
    if (!status) {
        const raster_lens *l = &d.camera.lens;
        image->width = l->width;
        image->height = l->height;
        if (image->capacity < (uint64_t)l->width * l->height)
            status = abuti_fail(ABUT_ERROR_BUFFER,
                                "%s: the image has %u x %u pixels, and there is "
                                "room for %llu",
                                __func__, l->width, l->height, (unsigned long long)image->capacity);
    }
    if (!status)
        status = draw(&d, triangles, image);
    abuti_release(context, begin);
    return status;
}
