/* One view: from solids to the sorted crossings of its rays.
 *
 *   1. Positions of solids: a rectangle of pixels and a depth range for each.
 *   2. Tiles: which solids extend into which tiles. Each solid in a tile has a window, the smallest
 *      rectangle that contains all pixels where it can overlap others (layers_common_pixels()). A
 *      ray inside two solids is in the windows of both, so all other pixels are skipped (unless
 *      every pixel is requested).
 *   3. Triangles of solids that have a window are assigned to the tiles in whose windows they may
 *      have pixels: draw.c.
 *   4. In each tile, they are drawn. Fragments are sorted by pixel, then by depth, solid and kind;
 * pixel.c processes each ray.
 *
 * Each step runs on all threads, chunk by chunk. Memory is kept for the next view.
 */
#include "layers/layers.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    SOLIDS_PER_TASK = 64,
    TILES_PER_TASK = 16,
    BUSY_TILES_PER_TASK = 4,
    INSERTION_SORT_MAX = 32 /* sorted by insertion up to this length */
};

static const layers_window no_window = {1, 1, 0, 0};

abut_status abuti_layers_reserve(layers_pass *pass, abuti_vector *list, size_t count,
                                 size_t bytes) {
    list->count = 0;
    abut_status status = abuti_vector_reserve(pass->layers->context, list, count, bytes);
    if (!status)
        list->count = count;
    return status;
}

/* ---- positions of solids ---- */

static void rects_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const layers_solid *solid = &layers_solids(pass->layers)[i];
        layers_at *at = &layers_ats(pass)[i];
        *at = (layers_at){.rect = {0, 0, -1, -1}};
        if (solid->used)
            at->rect = raster_bounds(&pass->view.camera, &solid->motion, solid->hull.box,
                                     solid->hull.centre, solid->hull.radius, at->depth);
        if (raster_rect_empty(at->rect))
            continue;
        at->ball =
            layers_ball_of(&pass->view, &solid->motion, solid->hull.centre, solid->hull.radius);
    }
}

/* Finds the tiles that each solid extends into. Returns their total number. */
static size_t place_in_tiles(layers_pass *pass) {
    size_t total = 0;
    for (size_t i = 0; i < pass->layers->solids.count; i++) {
        layers_at *at = &layers_ats(pass)[i];
        if (raster_rect_empty(at->rect))
            continue;
        at->column = (uint32_t)at->rect.x0 / pass->view.tile;
        at->row = (uint32_t)at->rect.y0 / pass->view.tile;
        at->columns = (uint32_t)at->rect.x1 / pass->view.tile - at->column + 1;
        at->rows = (uint32_t)at->rect.y1 / pass->view.tile - at->row + 1;
        at->windows = total;
        total += (size_t)at->columns * at->rows;
    }
    return total;
}

static raster_rect tile_rect(const layers_pass *pass, size_t tile) {
    uint32_t x = (uint32_t)(tile % pass->view.columns) * pass->view.tile;
    uint32_t y = (uint32_t)(tile / pass->view.columns) * pass->view.tile;
    raster_rect r = {(int)x, (int)y, (int)(x + pass->view.tile - 1),
                     (int)(y + pass->view.tile - 1)};
    raster_rect image = {0, 0, (int)pass->view.camera.lens.width - 1,
                         (int)pass->view.camera.lens.height - 1};
    return raster_rect_clip(r, image);
}

layers_window *abuti_layers_window(const layers_pass *pass, uint32_t solid, size_t tile) {
    const layers_at *at = &layers_ats(pass)[solid];
    size_t column = tile % pass->view.columns - at->column,
           row = tile / pass->view.columns - at->row;
    return &layers_windows(pass)[at->windows + row * at->columns + column];
}

static void grow_window(layers_window *w, raster_rect r, raster_rect tile) {
    uint16_t x0 = (uint16_t)(r.x0 - tile.x0), x1 = (uint16_t)(r.x1 - tile.x0);
    uint16_t y0 = (uint16_t)(r.y0 - tile.y0), y1 = (uint16_t)(r.y1 - tile.y0);
    if (w->x0 > w->x1) {
        *w = (layers_window){x0, y0, x1, y1};
        return;
    }
    w->x0 = x0 < w->x0 ? x0 : w->x0;
    w->y0 = y0 < w->y0 ? y0 : w->y0;
    w->x1 = x1 > w->x1 ? x1 : w->x1;
    w->y1 = y1 > w->y1 ? y1 : w->y1;
}

/* ---- tiles ---- */

/* Lists the solids of each tile: tile_begin and tile_solids. */
static abut_status list_tiles(layers_pass *pass) {
    abut_layers *layers = pass->layers;
    size_t total = place_in_tiles(pass);
    /* Bounding boxes are compared in tiles so large that solids are in four of them on average. */
    while (pass->boxes && pass->view.columns * pass->view.rows > 1 &&
           total > 4 * layers->solids.count) {
        abuti_layers_set_tile(&pass->view, 2 * pass->view.tile);
        total = place_in_tiles(pass);
    }
    size_t tiles = (size_t)pass->view.columns * pass->view.rows;
    abut_status status = abuti_layers_reserve(pass, &layers->tile_begin, tiles + 2, sizeof(size_t));
    if (status)
        return status;
    size_t *begin = layers->tile_begin.data;
    memset(begin, 0, (tiles + 2) * sizeof *begin);
    for (size_t i = 0; i < layers->solids.count; i++) {
        const layers_at *at = &layers_ats(pass)[i];
        for (uint32_t y = 0; y < at->rows; y++)
            for (uint32_t x = 0; x < at->columns; x++)
                begin[(size_t)(at->row + y) * pass->view.columns + at->column + x + 2]++;
    }
    status = abuti_layers_reserve(pass, &layers->windows, total, sizeof(layers_window));
    if (status ||
        (status = abuti_layers_reserve(pass, &layers->tile_solids, total, sizeof(uint32_t))))
        return status;
    for (size_t t = 2; t < tiles + 2; t++)
        begin[t] += begin[t - 1];
    uint32_t *solids = layers->tile_solids.data;
    for (size_t i = 0; i < layers->solids.count; i++) {
        const layers_at *at = &layers_ats(pass)[i];
        for (uint32_t y = 0; y < at->rows; y++)
            for (uint32_t x = 0; x < at->columns; x++)
                solids[begin[(size_t)(at->row + y) * pass->view.columns + at->column + x + 1]++] =
                    (uint32_t)i;
    }
    return ABUT_OK;
}

/* ---- sweep and prune in a tile ----
 *
 * Solids of a tile are sorted along one axis, and each is compared with those that begin before it
 * ends. Of the three axes of the view the one with the fewest overlapping intervals is used, so
 * that thousands of solids in one tile are not all compared with each other. */

enum { SWEEP_X = 0, SWEEP_Y, SWEEP_DEPTH };

typedef struct sweep_interval {
    uint64_t lo, hi;
} sweep_interval;

/* Across the rays: the interval of the ball, in steps of 2^-16 pixels, rounded outwards by one
 * step. So balls with disjoint intervals do not overlap in layers_common_pixels() either. */
static sweep_interval sweep_interval_of(const layers_at *at, int axis) {
    const double step = 0x1p-16, offset = 0x1p31; /* integers below 2^48 */
    const layers_ball *b = &at->ball;
    if (axis == SWEEP_DEPTH)
        return (sweep_interval){at->depth[0], at->depth[1]};
    double middle = axis == SWEEP_X ? b->x : b->y;
    if (!(b->radius >= 0 && fabs(b->x) + fabs(b->y) + fabs(b->z) + b->radius < 0x1p30))
        return (sweep_interval){0, UINT64_MAX};
    return (sweep_interval){(uint64_t)((middle - b->radius + offset) / step) - 1,
                            (uint64_t)((middle + b->radius + offset) / step) + 2};
}

/* The number of overlapping intervals of sorted items, which is the number of pairs that the sweep
 * compares. */
static uint64_t count_sweep_pairs(const layers_at *at, const sort_key *sorted, size_t count,
                                  int axis) {
    uint64_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = sweep_interval_of(&at[sorted[i].value], axis).hi;
        size_t lo = i + 1, hi = count;
        while (lo < hi) {
            size_t middle = lo + (hi - lo) / 2;
            if (sorted[middle].key <= end)
                lo = middle + 1;
            else
                hi = middle;
        }
        pairs += lo - i - 1;
    }
    return pairs;
}

/* Sorts the solids of a tile along the axis with the fewest pairs. A few solids are sorted by
 * depth. */
static abut_status sort_for_sweep(layers_pass *pass, layers_chunk *chunk, uint32_t *solids,
                                  size_t count, int *axis) {
    const layers_at *at = layers_ats(pass);
    *axis = SWEEP_DEPTH;
    if (count <= INSERTION_SORT_MAX) {
        for (size_t i = 1; i < count; i++) {
            uint32_t s = solids[i];
            size_t j = i;
            for (; j && at[solids[j - 1]].depth[0] > at[s].depth[0]; j--)
                solids[j] = solids[j - 1];
            solids[j] = s;
        }
        return ABUT_OK;
    }
    abut_status status = abuti_layers_reserve(pass, &chunk->keys, 2 * count, sizeof(sort_key));
    if (status)
        return status;
    sort_key *keys = chunk->keys.data;
    uint64_t fewest = UINT64_MAX;
    for (int k = SWEEP_DEPTH; k >= SWEEP_X && fewest > 4 * count; k--) {
        for (size_t i = 0; i < count; i++)
            keys[i] = (sort_key){sweep_interval_of(&at[solids[i]], k).lo, solids[i]};
        const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
        uint64_t pairs = count_sweep_pairs(at, sorted, count, k);
        if (pairs >= fewest)
            continue;
        fewest = pairs;
        *axis = k;
        for (size_t i = 0; i < count; i++)
            solids[i] = sorted[i].value;
    }
    return ABUT_OK;
}

static bool is_full(const layers_window *w, raster_rect tile) {
    return w->x0 == 0 && w->y0 == 0 && w->x1 == tile.x1 - tile.x0 && w->y1 == tile.y1 - tile.y0;
}

/* The pixels of a tile where two solids may overlap. */
static raster_rect common_pixels_of(const layers_pass *pass, const layers_at *a, const layers_at *b,
                                    raster_rect in) {
    uint32_t near = a->depth[0] > b->depth[0] ? a->depth[0] : b->depth[0];
    uint32_t far = a->depth[1] < b->depth[1] ? a->depth[1] : b->depth[1];
    return layers_common_pixels(&pass->view, &a->ball, &b->ball, near, far, pass->boxes,
                                raster_rect_clip(raster_rect_clip(a->rect, b->rect), in));
}

/* Computes the windows of the solids of a tile. */
static void compute_windows(layers_pass *pass, layers_chunk *chunk, size_t tile) {
    abut_layers *layers = pass->layers;
    const size_t *begin = layers->tile_begin.data;
    uint32_t *solids = (uint32_t *)layers->tile_solids.data + begin[tile];
    size_t count = begin[tile + 1] - begin[tile];
    raster_rect in = tile_rect(pass, tile);
    const layers_at *at = layers_ats(pass);
    for (size_t i = 0; i < count; i++) {
        layers_window *w = abuti_layers_window(pass, solids[i], tile);
        *w = no_window;
        if (pass->every_pixel)
            grow_window(w, raster_rect_clip(at[solids[i]].rect, in), in);
    }
    int axis;
    if (pass->every_pixel || count < 2 ||
        (chunk->status = sort_for_sweep(pass, chunk, solids, count, &axis)))
        return;
    for (size_t i = 0; i < count; i++) {
        const layers_solid *a = &layers_solids(layers)[solids[i]];
        layers_window *wa = abuti_layers_window(pass, solids[i], tile);
        uint64_t end = sweep_interval_of(&at[solids[i]], axis).hi;
        for (size_t j = i + 1; j < count && sweep_interval_of(&at[solids[j]], axis).lo <= end;
             j++) {
            layers_window *wb = abuti_layers_window(pass, solids[j], tile);
            if (is_full(wa, in) && is_full(wb, in))
                continue;
            if (!layers_may_collide(a, &layers_solids(layers)[solids[j]]))
                continue;
            raster_rect both = common_pixels_of(pass, &at[solids[i]], &at[solids[j]], in);
            if (raster_rect_empty(both))
                continue;
            if (!pass->boxes) {
                grow_window(wa, both, in);
                grow_window(wb, both, in);
            } else if (!abuti_layers_find_sum(layers->context, &chunk->table, solids[i],
                                              solids[j])) {
                chunk->status = ABUT_ERROR_MEMORY;
                return;
            }
        }
    }
}

static void windows_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    layers_chunk *own = &pass->layers->chunks[chunk];
    for (size_t t = begin; t < end && !own->status; t++)
        compute_windows(pass, own, t);
}

/* Finds the solids that have a window, and the bounding rectangle of their windows. */
static void drawn_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        layers_at *at = &layers_ats(pass)[i];
        const layers_window *w = &layers_windows(pass)[at->windows];
        raster_rect hull = {INT_MAX, INT_MAX, -1, -1};
        for (uint32_t row = 0; row < at->rows; row++)
            for (uint32_t column = 0; column < at->columns; column++, w++) {
                int x = (int)((at->column + column) * pass->view.tile);
                int y = (int)((at->row + row) * pass->view.tile);
                if (w->x0 > w->x1)
                    continue;
                hull.x0 = x + w->x0 < hull.x0 ? x + w->x0 : hull.x0;
                hull.y0 = y + w->y0 < hull.y0 ? y + w->y0 : hull.y0;
                hull.x1 = x + w->x1 > hull.x1 ? x + w->x1 : hull.x1;
                hull.y1 = y + w->y1 > hull.y1 ? y + w->y1 : hull.y1;
            }
        at->hull = hull;
        at->drawn = !raster_rect_empty(hull);
    }
}

/* ---- rays ---- */

static abut_status sort_long_ray(const layers_pass *pass, layers_chunk *chunk,
                                 layers_fragment *list, size_t count) {
    abut_context *context = pass->layers->context;
    chunk->keys.count = 0;
    abut_status status =
        abuti_vector_reserve(context, &chunk->keys,
                             2 * count + (count * sizeof *list) / sizeof(sort_key) + 1,
                             sizeof(sort_key));
    if (status)
        return status;
    sort_key *keys = chunk->keys.data;
    layers_fragment *copy = (layers_fragment *)(void *)(keys + 2 * count);
    for (size_t i = 0; i < count; i++)
        keys[i] = (sort_key){list[i].key, (uint32_t)i};
    memcpy(copy, list, count * sizeof *list);
    const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0; i < count; i++)
        list[i] = copy[sorted[i].value];
    return ABUT_OK;
}

void abuti_layers_sort_crossings(const layers_pass *pass, layers_chunk *chunk,
                                 layers_fragment *list, size_t count) {
    if (count > INSERTION_SORT_MAX) {
        chunk->status = sort_long_ray(pass, chunk, list, count);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        layers_fragment f = list[i];
        size_t j = i;
        for (; j && list[j - 1].key > f.key; j--)
            list[j] = list[j - 1];
        list[j] = f;
    }
}

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
    if ((chunk->status = abuti_layers_reserve(pass, &chunk->begin, pixels + 1, sizeof(uint32_t))) ||
        (chunk->status =
             abuti_layers_reserve(pass, &chunk->sorted, count, sizeof(layers_fragment))))
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
        abuti_layers_sort_crossings(pass, chunk, list + first, length);
        if (!chunk->status)
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
        raster_rect in = tile_rect(pass, busy[i]);
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
    abut_status status = abuti_layers_reserve(pass, &layers->at, solids, sizeof(layers_at));
    if (!status)
        status = abuti_layers_run_step(pass, solids, SOLIDS_PER_TASK, rects_task);
    if (!status)
        status = list_tiles(pass);
    if (!status)
        status = abuti_layers_run_step(pass, (size_t)pass->view.columns * pass->view.rows,
                                       TILES_PER_TASK, windows_task);
    if (status || pass->boxes)
        return status;
    status = abuti_layers_run_step(pass, solids, SOLIDS_PER_TASK, drawn_task);
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
            status = abuti_layers_collect_sums(layers, v, &output->more);
        for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++) {
            const abuti_vector *from = &layers->chunks[c].touches;
            abuti_vector *to = &output->touches;
            status = abuti_vector_reserve(layers->context, to, to->count + from->count,
                                          sizeof(layers_touch));
            if (!status && from->count)
                memcpy((layers_touch *)to->data + to->count, from->data,
                       from->count * sizeof(layers_touch));
            to->count += status ? 0 : from->count;
        }
    }
    return status;
}

const layers_backend abuti_layers_on_cpu = {.create = cpu_create,
                                            .destroy = cpu_destroy,
                                            .run = cpu_run};
