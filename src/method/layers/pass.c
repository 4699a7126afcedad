/* One view: from solids to the sorted crossings of its rays.
 *
 *   1. Positions of solids: a rectangle of pixels and a depth range for each.
 *   2. Each solid has a window in each tile that it extends into: the smallest rectangle that
 *      contains all pixels where it can overlap a candidate (layers_common_pixels()). A ray inside
 *      two solids is in the windows of both, so all other pixels are skipped (unless every pixel is
 *      requested).
 *   3. Triangles of solids that have a window are assigned to the tiles in whose windows they may
 *      have pixels: draw.c.
 *   4. In each tile, they are drawn. Fragments are sorted by pixel; pixel.c processes each ray.
 *
 * Each step runs on all threads, chunk by chunk. Memory is kept for the next view.
 */
#include "layers/layers.h"

#include <math.h>
#include <string.h>

enum { SOLIDS_PER_TASK = 64, BUSY_TILES_PER_TASK = 4 };

static const raster_rect no_pixels = {0, 0, -1, -1};

/* ---- positions of solids ---- */

/* The box of a solid in the view: pixels, and depths in units of a similar size. If boxes do not
 * overlap, layers_common_pixels() is empty. */
static box3 box_in_view(const layers_at *at) {
    const double depth_unit = 0x1p-22, more = 0x1p-16; /* for rounding errors */
    const layers_ball *b = &at->ball;
    box3 box = {{at->rect.x0, at->rect.y0, depth_unit * at->depth[0]},
                {at->rect.x1 + 1, at->rect.y1 + 1, depth_unit * at->depth[1]}};
    if (b->radius >= 0 && fabs(b->x) + fabs(b->y) + fabs(b->z) + b->radius < 0x1p30) {
        const double reach = b->radius + more;
        box.lo.x = real_max(box.lo.x, b->x - reach);
        box.lo.y = real_max(box.lo.y, b->y - reach);
        box.hi.x = real_min(box.hi.x, b->x + reach);
        box.hi.y = real_min(box.hi.y, b->y + reach);
    }
    return box;
}

/* Projects the bounding volumes of all solids, and finds the tiles that each extends into. Returns
 * the total number of windows. */
static size_t place_solids(layers_pass *pass) {
    box3 *boxes = pass->layers->boxes.data;
    size_t total = 0;
    for (size_t i = 0; i < pass->layers->solids.count; i++) {
        const layers_solid *solid = &layers_solids(pass->layers)[i];
        const layers_hull *hull = &solid->hull;
        layers_at *at = &layers_ats(pass)[i];
        *at = (layers_at){.rect = no_pixels};
        boxes[i] = box_empty();
        if (solid->used)
            at->rect = raster_bounds(&pass->view.camera, &solid->motion, hull->box, hull->centre,
                                     hull->radius, at->depth);
        if (raster_rect_empty(at->rect))
            continue;
        at->ball = layers_ball_of(&pass->view, &solid->motion, hull->centre, hull->radius);
        at->column = (uint32_t)at->rect.x0 / pass->view.tile;
        at->row = (uint32_t)at->rect.y0 / pass->view.tile;
        at->columns = (uint32_t)at->rect.x1 / pass->view.tile - at->column + 1;
        at->rows = (uint32_t)at->rect.y1 / pass->view.tile - at->row + 1;
        at->windows = total;
        total += (size_t)at->columns * at->rows;
        boxes[i] = box_in_view(at);
    }
    return total;
}

/* ---- windows ---- */

/* The pixels of a solid in a tile. */
static raster_rect pixels_in_tile(const layers_pass *pass, raster_rect r, uint32_t column,
                                  uint32_t row) {
    return raster_rect_clip(r, layers_tile(&pass->view.camera.lens, pass->view.tile, column, row));
}

/* Extends the windows of a solid by the pixels where it may overlap another one. */
static void extend_windows(const layers_pass *pass, const layers_at *own, const layers_at *other) {
    const uint32_t tile = pass->view.tile;
    const uint32_t near = own->depth[0] > other->depth[0] ? own->depth[0] : other->depth[0];
    const uint32_t far = own->depth[1] < other->depth[1] ? own->depth[1] : other->depth[1];
    const raster_rect both = raster_rect_clip(own->rect, other->rect);
    if (near > far || raster_rect_empty(both))
        return;
    for (uint32_t row = (uint32_t)both.y0 / tile; row <= (uint32_t)both.y1 / tile; row++)
        for (uint32_t column = (uint32_t)both.x0 / tile; column <= (uint32_t)both.x1 / tile;
             column++) {
            const raster_rect in =
                layers_common_pixels(&pass->view, &own->ball, &other->ball, near, far,
                                     pixels_in_tile(pass, both, column, row));
            if (!raster_rect_empty(in))
                layers_extend_window(layers_window(pass, own, column, row), in);
        }
}

/* Computes the windows of solids, and their bounding rectangles. */
static void windows_task(void *data, size_t chunk, size_t begin, size_t end) {
    const layers_pass *pass = data;
    const size_t *first = pass->layers->near_begin.data;
    const uint32_t *near = pass->layers->near.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        layers_at *at = &layers_ats(pass)[i];
        const uint32_t right = at->column + at->columns, bottom = at->row + at->rows;
        for (uint32_t row = at->row; row < bottom; row++)
            for (uint32_t column = at->column; column < right; column++)
                *layers_window(pass, at, column, row) =
                    pass->every_pixel ? pixels_in_tile(pass, at->rect, column, row) : no_pixels;
        if (!pass->every_pixel)
            for (size_t k = first[i]; k < first[i + 1]; k++)
                extend_windows(pass, at, &layers_ats(pass)[near[k]]);
        at->hull = no_pixels;
        for (uint32_t row = at->row; row < bottom; row++)
            for (uint32_t column = at->column; column < right; column++) {
                const raster_rect *window = layers_window(pass, at, column, row);
                if (!raster_rect_empty(*window))
                    layers_extend_window(&at->hull, *window);
            }
        at->drawn = !raster_rect_empty(at->hull);
    }
}

/* ---- rays ---- */

static bool is_of_one_solid(const layers_fragment *list, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (layers_solid_of(list[i].key) != layers_solid_of(list[0].key))
            return false;
    return true;
}

/* Sorts the fragments of a tile by pixel. Returns the end of each pixel. */
static const uint32_t *sort_by_pixel(layers_pass *pass, layers_chunk *chunk) {
    const layers_fragment *list = chunk->fragments.data;
    const size_t pixels = (size_t)pass->view.tile * pass->view.tile, count = chunk->fragments.count;
    if (count > UINT32_MAX) {
        chunk->status = ABUT_ERROR_MEMORY;
        return NULL;
    }
    const abut_layers *layers = pass->layers;
    if ((chunk->status =
             abuti_layers_resize(layers, &chunk->begin, pixels + 1, sizeof(uint32_t))) ||
        (chunk->status =
             abuti_layers_resize(layers, &chunk->sorted, count, sizeof(layers_fragment))))
        return NULL;
    chunk->fragment_count += count;
    uint32_t *begin = chunk->begin.data;
    layers_fragment *to = chunk->sorted.data;
    memset(begin, 0, (pixels + 1) * sizeof *begin);
    for (size_t i = 0; i < count; i++)
        begin[list[i].pixel + 1]++;
    for (size_t p = 0; p < pixels; p++)
        begin[p + 1] += begin[p];
    for (size_t i = 0; i < count; i++)
        to[begin[list[i].pixel]++] = list[i];
    return begin;
}

static void trace_tile(layers_pass *pass, layers_chunk *chunk, raster_rect in) {
    size_t pixels = (size_t)pass->view.tile * pass->view.tile;
    const uint32_t *end = sort_by_pixel(pass, chunk);
    layers_fragment *list = chunk->sorted.data;
    for (size_t p = 0, first = 0; p < pixels && !chunk->status; first = end[p++]) {
        size_t length = end[p] - first;
        if (!length || (!pass->own && !pass->pixels && is_of_one_solid(list + first, length)))
            continue;
        abuti_layers_trace_ray(pass, chunk, (uint32_t)in.x0 + (uint32_t)(p % pass->view.tile),
                               (uint32_t)in.y0 + (uint32_t)(p / pass->view.tile), list + first,
                               length);
    }
}

static void trace_tiles_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    layers_chunk *own = &pass->layers->chunks[chunk];
    const uint32_t *busy = pass->layers->busy.data;
    for (size_t i = begin; i < end && !own->status; i++) {
        const raster_rect in =
            layers_tile(&pass->view.camera.lens, pass->view.tile, busy[i] % pass->view.columns,
                        busy[i] / pass->view.columns);
        abuti_layers_fill_tile(pass, own, busy[i], in);
        if (own->status)
            return;
        trace_tile(pass, own, in);
    }
}

/* ---- whole pass ---- */

static void begin_chunks(layers_pass *pass) {
    for (size_t c = 0; c < LAYERS_CHUNKS; c++) {
        layers_chunk *chunk = &pass->layers->chunks[c];
        chunk->shapes.count = chunk->places.count = chunk->touches.count = 0;
        chunk->fragment_count = 0;
        chunk->status = ABUT_OK;
        abuti_layers_table_clear(&chunk->table);
    }
}

abut_status abuti_layers_run_step(layers_pass *pass, size_t count, size_t least,
                                  void (*body)(void *data, size_t chunk, size_t begin,
                                               size_t end)) {
    abut_status status = abuti_parallel_try(pass->layers->context, "layers", count,
                                            layers_grain(count, least), body, pass);
    for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++)
        status = pass->layers->chunks[c].status;
    return status;
}

abut_status abuti_layers_pass(layers_pass *pass) {
    abut_layers *layers = pass->layers;
    size_t solids = layers->solids.count;
    begin_chunks(pass);
    abut_status status = abuti_layers_resize(layers, &layers->at, solids, sizeof(layers_at));
    if (!status)
        status = abuti_layers_resize(layers, &layers->boxes, solids, sizeof(box3));
    if (!status)
        status =
            abuti_layers_resize(layers, &layers->windows, place_solids(pass), sizeof(raster_rect));
    if (!status && !pass->every_pixel)
        status = abuti_layers_sweep(layers);
    if (!status)
        status = abuti_layers_run_step(pass, solids, SOLIDS_PER_TASK, windows_task);
    if (!status)
        status = abuti_layers_draw(pass);
    if (!status)
        status =
            abuti_layers_run_step(pass, layers->busy.count, BUSY_TILES_PER_TASK, trace_tiles_task);
    for (size_t c = 0; c < LAYERS_CHUNKS; c++)
        pass->fragments += layers->chunks[c].fragment_count;
    return status;
}

static abut_status cpu_create(abut_layers *layers) {
    (void)layers;
    return ABUT_OK;
}

static void cpu_destroy(abut_layers *layers) {
    (void)layers;
}

static abut_status cpu_run(abut_layers *layers, layers_pass *passes, uint32_t count,
                           layers_output *output) {
    abut_status status = ABUT_OK;
    for (uint32_t v = 0; v < count && !status; v++) {
        status = abuti_layers_pass(&passes[v]);
        if (!status)
            status = abuti_layers_collect(layers, v, output);
    }
    return status;
}

const layers_backend abuti_layers_on_cpu = {.create = cpu_create,
                                            .destroy = cpu_destroy,
                                            .run = cpu_run};
