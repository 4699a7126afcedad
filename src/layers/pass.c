/* One view: from solids to the sorted crossings of its rays.
 *
 *  1. Where solids are: a rectangle of pixels and a range of depths for each.
 *  2. Tiles: which solids reach into which; and of each solid in a tile a window, the smallest
 *     rectangle that holds its rectangle's overlaps with those of others that are as deep. Where a
 *     ray is inside two solids it is in the windows of both, so all other pixels are left out
 *     (unless every pixel is wanted).
 *  3. Vertices of solids that have a window somewhere go to the image, and their triangles to the
 *     tiles that they touch within a window.
 *  4. Tile by tile: fragments, sorted by pixel, then by depth, solid and kind; each ray goes to
 *     pixel.c.
 *
 * Each step is done by all threads, chunk by chunk; memory of all is kept for the next view.
 */
#include "layers/layers.h"

#include <string.h>

enum {
    SOLIDS_A_TASK = 64,
    TILES_A_TASK = 16,
    BUSY_A_TASK = 4,
    POINTS_A_TASK = 2048,
    TRIANGLES_A_TASK = 1024,
    FEW = 32 /* sorted by insertion */
};

/* Where a solid is in the view. */
typedef struct layers_at {
    raster_rect rect;
    uint32_t depth[2];
    uint32_t column, row, columns, rows; /* of tiles */
    size_t windows;                      /* its first one */
    bool drawn;
} layers_at;

/* Pixels of a tile, both ends included; empty where x0 > x1. */
typedef struct layers_window {
    uint16_t x0, y0, x1, y1;
} layers_window;

/* A vertex: on the image, with its steps, where no triangle is cut, and else before that. */
typedef struct layers_point {
    raster_point p;
    int x, y;
} layers_point;

/* A shape in a tile. */
typedef struct layers_place {
    uint32_t tile, chunk, shape;
} layers_place;

static const layers_window no_window = {1, 1, 0, 0};

#define AT(pass) ((layers_at *)(pass)->layers->at.data)
#define WINDOWS(pass) ((layers_window *)(pass)->layers->windows.data)

static abut_status reserve(layers_pass *pass, abuti_vector *list, size_t count, size_t bytes) {
    list->count = 0;
    abut_status status = abuti_vector_reserve(pass->layers->context, list, count, bytes);
    if (!status)
        list->count = count;
    return status;
}

/* ---- where solids are ---- */

static void find_rects(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const layers_solid *solid = &layers_solids(pass->layers)[i];
        layers_at *at = &AT(pass)[i];
        *at = (layers_at){.rect = {0, 0, -1, -1}};
        if (solid->used)
            at->rect = raster_bounds(&pass->view.camera, &solid->motion, solid->hull.box,
                                     solid->hull.centre, solid->hull.radius, at->depth);
        if (raster_rect_empty(at->rect))
            continue;
        uint32_t x0 = (uint32_t)at->rect.x0 / pass->view.tile,
                 x1 = (uint32_t)at->rect.x1 / pass->view.tile;
        uint32_t y0 = (uint32_t)at->rect.y0 / pass->view.tile,
                 y1 = (uint32_t)at->rect.y1 / pass->view.tile;
        at->column = x0;
        at->row = y0;
        at->columns = x1 - x0 + 1;
        at->rows = y1 - y0 + 1;
    }
}

static raster_rect tile_rect(const layers_pass *pass, size_t tile) {
    uint32_t x = (uint32_t)(tile % pass->view.columns) * pass->view.tile;
    uint32_t y = (uint32_t)(tile / pass->view.columns) * pass->view.tile;
    raster_rect r = {(int)x, (int)y, (int)(x + pass->view.tile - 1),
                     (int)(y + pass->view.tile - 1)};
    raster_rect image = {0, 0, (int)pass->view.camera.lens.width - 1,
                         (int)pass->view.camera.lens.height - 1};
    return raster_rect_cut(r, image);
}

/* The window of a solid in a tile that it reaches into. */
static layers_window *window_of(const layers_pass *pass, uint32_t solid, size_t tile) {
    const layers_at *at = &AT(pass)[solid];
    size_t column = tile % pass->view.columns - at->column,
           row = tile / pass->view.columns - at->row;
    return &WINDOWS(pass)[at->windows + row * at->columns + column];
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
    size_t tiles = (size_t)pass->view.columns * pass->view.rows, total = 0;
    abut_status status = reserve(pass, &layers->tile_begin, tiles + 2, sizeof(size_t));
    if (status)
        return status;
    size_t *begin = layers->tile_begin.data;
    memset(begin, 0, (tiles + 2) * sizeof *begin);
    for (size_t i = 0; i < layers->solids.count; i++) {
        layers_at *at = &AT(pass)[i];
        at->windows = total;
        total += (size_t)at->columns * at->rows;
        for (uint32_t y = 0; y < at->rows; y++)
            for (uint32_t x = 0; x < at->columns; x++)
                begin[(size_t)(at->row + y) * pass->view.columns + at->column + x + 2]++;
    }
    status = reserve(pass, &layers->windows, total, sizeof(layers_window));
    status = status ? status : reserve(pass, &layers->tile_solids, total, sizeof(uint32_t));
    if (status)
        return status;
    for (size_t t = 2; t < tiles + 2; t++)
        begin[t] += begin[t - 1];
    uint32_t *solids = layers->tile_solids.data;
    for (size_t i = 0; i < layers->solids.count; i++) {
        const layers_at *at = &AT(pass)[i];
        for (uint32_t y = 0; y < at->rows; y++)
            for (uint32_t x = 0; x < at->columns; x++)
                solids[begin[(size_t)(at->row + y) * pass->view.columns + at->column + x + 1]++] =
                    (uint32_t)i;
    }
    return ABUT_OK;
}

/* Solids of a tile in order of depth: sorts their numbers in place. */
static abut_status sort_by_depth(layers_pass *pass, layers_chunk *chunk, uint32_t *solids,
                                 size_t count) {
    const layers_at *at = AT(pass);
    if (count <= FEW) {
        for (size_t i = 1; i < count; i++) {
            uint32_t s = solids[i];
            size_t j = i;
            for (; j && at[solids[j - 1]].depth[0] > at[s].depth[0]; j--)
                solids[j] = solids[j - 1];
            solids[j] = s;
        }
        return ABUT_OK;
    }
    abut_status status = reserve(pass, &chunk->keys, 2 * count, sizeof(sort_key));
    if (status)
        return status;
    sort_key *keys = chunk->keys.data;
    for (size_t i = 0; i < count; i++)
        keys[i] = (sort_key){at[solids[i]].depth[0], solids[i]};
    const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0; i < count; i++)
        solids[i] = sorted[i].value;
    return ABUT_OK;
}

static bool is_full(const layers_window *w, raster_rect tile) {
    return w->x0 == 0 && w->y0 == 0 && w->x1 == tile.x1 - tile.x0 && w->y1 == tile.y1 - tile.y0;
}

/* The windows of solids of a tile. */
static void find_windows(layers_pass *pass, layers_chunk *chunk, size_t tile) {
    abut_layers *layers = pass->layers;
    const size_t *begin = layers->tile_begin.data;
    uint32_t *solids = (uint32_t *)layers->tile_solids.data + begin[tile];
    size_t count = begin[tile + 1] - begin[tile];
    raster_rect in = tile_rect(pass, tile);
    const layers_at *at = AT(pass);
    for (size_t i = 0; i < count; i++) {
        layers_window *w = window_of(pass, solids[i], tile);
        *w = no_window;
        if (pass->every_pixel)
            grow_window(w, raster_rect_cut(at[solids[i]].rect, in), in);
    }
    if (pass->every_pixel || count < 2 ||
        (chunk->status = sort_by_depth(pass, chunk, solids, count)))
        return;
    for (size_t i = 0; i < count; i++) {
        const layers_solid *a = &layers_solids(layers)[solids[i]];
        layers_window *wa = window_of(pass, solids[i], tile);
        for (size_t j = i + 1; j < count && at[solids[j]].depth[0] <= at[solids[i]].depth[1]; j++) {
            layers_window *wb = window_of(pass, solids[j], tile);
            if (is_full(wa, in) && is_full(wb, in) && !pass->boxes)
                continue;
            raster_rect both =
                raster_rect_cut(raster_rect_cut(at[solids[i]].rect, at[solids[j]].rect), in);
            if (raster_rect_empty(both) || !layers_tries(a, &layers_solids(layers)[solids[j]]))
                continue;
            grow_window(wa, both, in);
            grow_window(wb, both, in);
            if (pass->boxes &&
                !abuti_layers_sum(layers->context, &chunk->table, solids[i], solids[j])) {
                chunk->status = ABUT_ERROR_MEMORY;
                return;
            }
        }
    }
}

static void find_all_windows(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    layers_chunk *own = &pass->layers->chunks[chunk];
    for (size_t t = begin; t < end && !own->status; t++)
        find_windows(pass, own, t);
}

static void find_drawn(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        layers_at *at = &AT(pass)[i];
        const layers_window *w = &WINDOWS(pass)[at->windows];
        for (size_t k = 0; k < (size_t)at->columns * at->rows && !at->drawn; k++)
            at->drawn = w[k].x0 <= w[k].x1;
    }
}

/* ---- shapes ---- */

/* Which solids are drawn, and where their vertices and triangles begin among all of them. */
static abut_status list_drawn(layers_pass *pass, size_t *points, size_t *triangles) {
    abut_layers *layers = pass->layers;
    size_t count = 0;
    for (size_t i = 0; i < layers->solids.count; i++)
        count += AT(pass)[i].drawn;
    abut_status status = reserve(pass, &layers->drawn, count, sizeof(uint32_t));
    status = status ? status : reserve(pass, &layers->point_begin, count + 1, sizeof(size_t));
    status = status ? status : reserve(pass, &layers->triangle_begin, count + 1, sizeof(size_t));
    if (status)
        return status;
    uint32_t *drawn = layers->drawn.data;
    size_t *point_begin = layers->point_begin.data, *triangle_begin = layers->triangle_begin.data;
    *points = *triangles = count = 0;
    for (size_t i = 0; i < layers->solids.count; i++)
        if (AT(pass)[i].drawn) {
            const abut_mesh *mesh = layers_mesh_of(layers, &layers_solids(layers)[i])->mesh;
            point_begin[count] = *points;
            triangle_begin[count] = *triangles;
            drawn[count++] = (uint32_t)i;
            *points += mesh->vertex_count;
            *triangles += mesh->triangle_count;
        }
    point_begin[count] = *points;
    triangle_begin[count] = *triangles;
    return reserve(pass, &layers->points, *points, sizeof(layers_point));
}

/* Which range of a list of begins a place is in. */
static size_t range_of(const abuti_vector *begins, size_t place) {
    const size_t *begin = begins->data;
    size_t lo = 0, hi = begins->count - 1;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        if (begin[middle] <= place)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static void find_points(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    abut_layers *layers = pass->layers;
    const raster_lens *lens = &pass->view.camera.lens;
    const size_t *first = layers->point_begin.data;
    layers_point *points = layers->points.data;
    (void)chunk;
    for (size_t d = range_of(&layers->point_begin, begin), at = begin; at < end; d++) {
        const layers_solid *solid =
            &layers_solids(layers)[((const uint32_t *)layers->drawn.data)[d]];
        const vec3 *positions = layers_positions(layers, solid);
        raster_frame frame = raster_frame_of(&pass->view.camera, &solid->motion,
                                             layers_mesh_of(layers, solid)->mesh->origin);
        for (; at < end && at < first[d + 1]; at++) {
            points[at].p = raster_apply(&frame, positions[at - first[d]]);
            if (!pass->fitted)
                continue;
            points[at].p = raster_project(lens, points[at].p);
            points[at].x = raster_round(lens, points[at].p.x);
            points[at].y = raster_round(lens, points[at].p.y);
        }
    }
}

/* Puts the shape that comes next into the tiles in whose windows it may have pixels, which are
 * within `r`. False: it has none. */
static bool place_shape(layers_pass *pass, layers_chunk *chunk, raster_rect r, uint32_t solid) {
    const layers_at *at = &AT(pass)[solid];
    const uint32_t side = pass->view.tile;
    bool placed = false;
    r = raster_rect_cut(r, at->rect);
    if (raster_rect_empty(r))
        return false;
    uint32_t x1 = (uint32_t)r.x1 / side, y1 = (uint32_t)r.y1 / side;
    for (uint32_t y = (uint32_t)r.y0 / side; y <= y1; y++)
        for (uint32_t x = (uint32_t)r.x0 / side; x <= x1; x++) {
            const layers_window *w = &WINDOWS(
                pass)[at->windows + (size_t)(y - at->row) * at->columns + (x - at->column)];
            int left = (int)(x * side), top = (int)(y * side);
            raster_rect in = {left + w->x0, top + w->y0, left + w->x1, top + w->y1};
            if (raster_rect_empty(raster_rect_cut(r, in)))
                continue;
            if (chunk->places.room == chunk->places.count &&
                (chunk->status =
                     abuti_vector_reserve(pass->layers->context, &chunk->places,
                                          chunk->places.count + 1, sizeof(layers_place))))
                return false;
            ((layers_place *)chunk->places.data)[chunk->places.count++] =
                (layers_place){(uint32_t)((size_t)y * pass->view.columns + x),
                               (uint32_t)(chunk - pass->layers->chunks),
                               (uint32_t)chunk->shapes.count};
            placed = true;
        }
    return placed;
}

static bool comes_first(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

/* Makes ready the shapes of a triangle that may be cut, and of its edges. */
static void shape_any(layers_pass *pass, layers_chunk *chunk, uint32_t solid, bool inward,
                      const uint32_t *corner, uint32_t triangle, const layers_point *points,
                      const vec3 *positions) {
    const raster_lens *lens = &pass->view.camera.lens;
    raster_shape shapes[RASTER_CORNERS + 3];
    raster_point p[3] = {points[corner[0]].p, points[corner[1]].p, points[corner[2]].p};
    int made = 0;
    if (!pass->fitted) {
        made = raster_shapes(lens, p, solid, triangle, pass->touching, shapes);
        for (int k = 0; inward && k < made; k++)
            shapes[k].owner ^= (shapes[k].owner & 2) ? 0 : 1;
    }
    /* Each edge once: of its two triangles the one that runs along it upwards. */
    for (uint32_t k = 0; pass->edges && k < 3; k++) {
        uint32_t next = k == 2 ? 0 : k + 1, part = triangle << 2 | k;
        if (!comes_first(positions[corner[k]], positions[corner[next]]))
            continue;
        if (pass->fitted)
            raster_edge(lens, p[k], p[next], solid, part, &shapes[made++]);
        else
            made += raster_edges(lens, p[k], p[next], solid, part, &shapes[made]);
    }
    for (int k = 0; k < made && !chunk->status; k++) {
        bool wide = pass->touching || (shapes[k].owner & 3) == RASTER_EDGE;
        if (place_shape(pass, chunk, raster_rect_of(lens, &shapes[k], wide), solid))
            ((raster_shape *)chunk->shapes.data)[chunk->shapes.count++] = shapes[k];
    }
}

/* Makes ready a triangle that is not cut, if it has pixels that are wanted: most have none. */
static void shape_whole(layers_pass *pass, layers_chunk *chunk, uint32_t solid, bool inward,
                        const uint32_t *corner, uint32_t triangle, const layers_point *points) {
    const raster_lens *lens = &pass->view.camera.lens;
    const layers_point *a = &points[corner[0]], *b = &points[corner[1]], *c = &points[corner[2]];
    raster_shape *to = (raster_shape *)chunk->shapes.data + chunk->shapes.count;
    raster_rect r =
        raster_rect_of_corners(lens, a->x, a->y, b->x, b->y, c->x, c->y, pass->touching);
    if (raster_rect_empty(r))
        return;
    raster_corners_of(a->x, a->y, b->x, b->y, c->x, c->y, solid, triangle, to);
    bool thin = (to->owner & 3) == RASTER_THIN;
    if ((thin && !pass->touching) || !place_shape(pass, chunk, r, solid))
        return;
    to->owner ^= inward && !thin;
    raster_depths(a->p, b->p, c->p, to);
    chunk->shapes.count++;
}

static void find_shapes(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    abut_layers *layers = pass->layers;
    layers_chunk *own = &layers->chunks[chunk];
    const size_t *first = layers->triangle_begin.data, *point = layers->point_begin.data;
    for (size_t d = range_of(&layers->triangle_begin, begin), at = begin; at < end && !own->status;
         d++) {
        uint32_t id = ((const uint32_t *)layers->drawn.data)[d];
        const layers_solid *solid = &layers_solids(layers)[id];
        const layers_mesh *mesh = layers_mesh_of(layers, solid);
        const layers_point *points = (const layers_point *)layers->points.data + point[d];
        for (; at < end && at < first[d + 1] && !own->status; at++) {
            const uint32_t t = (uint32_t)(at - first[d]),
                           *corner = mesh->mesh->indices + 3 * (size_t)t;
            if (own->shapes.room < own->shapes.count + RASTER_CORNERS + 4 &&
                (own->status = abuti_vector_reserve(layers->context, &own->shapes,
                                                    own->shapes.count + RASTER_CORNERS + 4,
                                                    sizeof(raster_shape))))
                break;
            if (pass->fitted)
                shape_whole(pass, own, id, mesh->inward, corner, t, points);
            if (!pass->fitted || pass->edges)
                shape_any(pass, own, id, mesh->inward, corner, t, points,
                          layers_positions(layers, solid));
        }
    }
}

/* Brings the places of shapes into the order of tiles: tile_begin and tile_places, and lists the
 * tiles that have any. */
static abut_status sort_places(layers_pass *pass, size_t chunk_count) {
    abut_layers *layers = pass->layers;
    size_t tiles = (size_t)pass->view.columns * pass->view.rows, total = 0, busy = 0;
    size_t *begin = layers->tile_begin.data;
    memset(begin, 0, (tiles + 2) * sizeof *begin);
    for (size_t c = 0; c < chunk_count; c++) {
        const abuti_vector *places = &layers->chunks[c].places;
        for (size_t i = 0; i < places->count; i++)
            begin[((const layers_place *)places->data)[i].tile + 2]++;
        total += places->count;
    }
    abut_status status = reserve(pass, &layers->tile_places, total, sizeof(layers_place));
    for (size_t t = 2; t < tiles + 2; t++) {
        busy += begin[t] > 0;
        begin[t] += begin[t - 1];
    }
    status = status ? status : reserve(pass, &layers->busy, busy, sizeof(uint32_t));
    if (status)
        return status;
    layers_place *to = layers->tile_places.data;
    for (size_t c = 0; c < chunk_count; c++) {
        const abuti_vector *places = &layers->chunks[c].places;
        for (size_t i = 0; i < places->count; i++) {
            layers_place place = ((const layers_place *)places->data)[i];
            to[begin[place.tile + 1]++] = place;
        }
    }
    uint32_t *list = layers->busy.data;
    busy = 0;
    for (size_t t = 0; t < tiles; t++)
        if (begin[t + 1] > begin[t])
            list[busy++] = (uint32_t)t;
    return ABUT_OK;
}

/* ---- fragments ---- */

/* Makes room for as many fragments as a rectangle has pixels. False: no memory. */
static bool make_room(layers_pass *pass, layers_chunk *chunk, raster_rect r) {
    abuti_vector *list = &chunk->fragments;
    size_t most = (size_t)(r.x1 - r.x0 + 1) * (size_t)(r.y1 - r.y0 + 1);
    if (list->room - list->count < most)
        chunk->status = abuti_vector_reserve(pass->layers->context, list, list->count + most,
                                             sizeof(layers_fragment));
    return !chunk->status;
}

static void fill_triangle(layers_pass *pass, layers_chunk *chunk, const raster_shape *s,
                          raster_rect r, raster_rect tile) {
    const raster_lens *lens = &pass->view.camera.lens;
    const raster_side a = raster_side_of(lens, s, 0), b = raster_side_of(lens, s, 1),
                      c = raster_side_of(lens, s, 2);
    const uint32_t side = pass->view.tile, part = s->part;
    if (raster_rect_empty(r) || !make_room(pass, chunk, r))
        return;
    layers_fragment *to = (layers_fragment *)chunk->fragments.data + chunk->fragments.count;
    for (int y = r.y0; y <= r.y1; y++) {
        int64_t ea = a.at + a.dx * r.x0 + a.dy * y, eb = b.at + b.dx * r.x0 + b.dy * y,
                ec = c.at + c.dx * r.x0 + c.dy * y;
        uint32_t row = (uint32_t)(y - tile.y0) * side - (uint32_t)tile.x0;
        for (int x = r.x0; x <= r.x1; x++, ea += a.dx, eb += b.dx, ec += c.dx)
            if ((ea | eb | ec) >= 0)
                *to++ = (layers_fragment){layers_key(raster_depth_at(s, x, y), s->owner),
                                          row + (uint32_t)x, part};
    }
    chunk->fragments.count = (size_t)(to - (layers_fragment *)chunk->fragments.data);
}

static void fill_edge(layers_pass *pass, layers_chunk *chunk, const raster_shape *s, raster_rect r,
                      raster_rect tile) {
    raster_line line = raster_line_of(&pass->view.camera.lens, s);
    int lo = line.wide ? r.x0 : r.y0, hi = line.wide ? r.x1 : r.y1;
    lo = line.first > lo ? line.first : lo;
    hi = line.last < hi ? line.last : hi;
    if (raster_rect_empty(r) || !make_room(pass, chunk, r))
        return;
    layers_fragment *list = chunk->fragments.data;
    for (int i = lo; i <= hi; i++) {
        int x, y;
        raster_line_at(&line, i, &x, &y);
        if (x >= r.x0 && x <= r.x1 && y >= r.y0 && y <= r.y1)
            list[chunk->fragments.count++] =
                (layers_fragment){layers_key(raster_depth_at(s, x, y), s->owner),
                                  (uint32_t)(y - tile.y0) * pass->view.tile +
                                      (uint32_t)(x - tile.x0),
                                  s->part};
    }
}

/* What a shape may touch: pixels whose widened squares it meets. */
static void reach_triangle(layers_pass *pass, layers_chunk *chunk, const raster_shape *s,
                           raster_rect r, raster_rect tile) {
    raster_side wide[3], side[3];
    for (int k = 0; k < 3; k++) {
        wide[k] = raster_wide_side_of(&pass->view.camera.lens, s, k);
        side[k] = raster_side_of(&pass->view.camera.lens, s, k);
    }
    for (int y = r.y0; y <= r.y1; y++)
        for (int x = r.x0; x <= r.x1; x++) {
            bool touches = true, covers = (s->owner & 3) != RASTER_THIN;
            for (int k = 0; k < 3 && touches; k++) {
                touches = wide[k].at + wide[k].dx * x + wide[k].dy * y >= 0;
                covers = covers && side[k].at + side[k].dx * x + side[k].dy * y >= 0;
            }
            if (!touches)
                continue;
            abuti_vector *list = &chunk->reaches;
            if (list->count == list->room &&
                (chunk->status = abuti_vector_reserve(pass->layers->context, list, list->count + 1,
                                                      sizeof(layers_reach))))
                return;
            layers_reach *to = (layers_reach *)list->data + list->count++;
            to->pixel = (uint32_t)(y - tile.y0) * pass->view.tile + (uint32_t)(x - tile.x0);
            to->solid = s->owner >> 2;
            to->kind = covers ? s->owner & 3 : RASTER_THIN;
            raster_depth_range(s, x, y, &to->lo, &to->hi);
        }
}

/* All fragments of a tile, in the order of shapes. */
static void fill_tile(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in) {
    abut_layers *layers = pass->layers;
    const size_t *begin = layers->tile_begin.data;
    const layers_place *places = layers->tile_places.data;
    chunk->fragments.count = chunk->reaches.count = 0;
    for (size_t i = begin[tile]; i < begin[tile + 1] && !chunk->status; i++) {
        const raster_shape *s =
            (const raster_shape *)layers->chunks[places[i].chunk].shapes.data + places[i].shape;
        uint32_t kind = s->owner & 3;
        const layers_window *w = window_of(pass, s->owner >> 2, tile);
        raster_rect window = {in.x0 + w->x0, in.y0 + w->y0, in.x0 + w->x1, in.y0 + w->y1};
        bool wide = pass->touching || kind == RASTER_EDGE;
        raster_rect r = raster_rect_cut(raster_rect_of(&pass->view.camera.lens, s, wide), window);
        if (pass->touching)
            reach_triangle(pass, chunk, s, r, in);
        else if (kind == RASTER_EDGE)
            fill_edge(pass, chunk, s, r, in);
        else
            fill_triangle(pass, chunk, s, r, in);
    }
    chunk->fragment_count += chunk->fragments.count + chunk->reaches.count;
}

/* ---- rays ---- */

static abut_status sort_long(const layers_pass *pass, layers_chunk *chunk, layers_fragment *list,
                             size_t count) {
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

void abuti_layers_sort(const layers_pass *pass, layers_chunk *chunk, layers_fragment *list,
                       size_t count) {
    if (count > FEW) {
        chunk->status = sort_long(pass, chunk, list, count);
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

static bool is_of_one(const layers_fragment *list, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (layers_solid_of(list[i].key) != layers_solid_of(list[0].key))
            return false;
    return true;
}

static void trace_tile(layers_pass *pass, layers_chunk *chunk, raster_rect in) {
    size_t pixels = (size_t)pass->view.tile * pass->view.tile, count = chunk->fragments.count;
    if ((chunk->status = reserve(pass, &chunk->begin, pixels + 1, sizeof(size_t))) ||
        (chunk->status = reserve(pass, &chunk->sorted, count, sizeof(layers_fragment))))
        return;
    size_t *begin = chunk->begin.data;
    const layers_fragment *from = chunk->fragments.data;
    layers_fragment *to = chunk->sorted.data;
    memset(begin, 0, (pixels + 1) * sizeof *begin);
    for (size_t i = 0; i < count; i++)
        begin[from[i].pixel + 1]++;
    for (size_t p = 0; p < pixels; p++)
        begin[p + 1] += begin[p];
    for (size_t i = 0; i < count; i++)
        to[begin[from[i].pixel]++] = from[i];
    size_t first = 0; /* begin[p] is the end of pixel p now */
    for (size_t p = 0; p < pixels && !chunk->status; first = begin[p++]) {
        size_t length = begin[p] - first;
        if (!length || (!pass->own && !pass->pixels && is_of_one(to + first, length)))
            continue;
        abuti_layers_sort(pass, chunk, to + first, length);
        if (!chunk->status)
            abuti_layers_ray(pass, chunk, (uint32_t)in.x0 + (uint32_t)(p % pass->view.tile),
                             (uint32_t)in.y0 + (uint32_t)(p / pass->view.tile), to + first, length);
    }
}

/* Sorts reaches by pixel and solid: their numbers. */
static const sort_key *sort_reaches(layers_pass *pass, layers_chunk *chunk) {
    const layers_reach *list = chunk->reaches.data;
    size_t count = chunk->reaches.count;
    if ((chunk->status = reserve(pass, &chunk->keys, 2 * count, sizeof(sort_key))))
        return NULL;
    sort_key *keys = chunk->keys.data;
    for (size_t i = 0; i < count; i++)
        keys[i] = (sort_key){(uint64_t)list[i].pixel << 32 | list[i].solid, (uint32_t)i};
    return abuti_sort_by_key(keys, keys + count, count);
}

/* Puts a reach where it belongs among those before it of the same solid. */
static void insert_reach(layers_reach *list, size_t at) {
    layers_reach r = list[at];
    for (; at && list[at - 1].solid == r.solid && list[at - 1].lo > r.lo; at--)
        list[at] = list[at - 1];
    list[at] = r;
}

static bool reach_after(const void *a, const void *b) {
    const layers_reach *s = a, *t = b;
    return s->solid != t->solid ? s->solid > t->solid : s->lo > t->lo;
}

static void trace_reaches(layers_pass *pass, layers_chunk *chunk) {
    const layers_reach *list = chunk->reaches.data;
    size_t count = chunk->reaches.count;
    const sort_key *keys = count ? sort_reaches(pass, chunk) : NULL;
    for (size_t i = 0, next; i < count && !chunk->status; i = next) {
        for (next = i + 1; next < count && keys[next].key >> 32 == keys[i].key >> 32;)
            next++;
        if (keys[i].key == keys[next - 1].key) /* one solid */
            continue;
        if ((chunk->status = reserve(pass, &chunk->column, next - i, sizeof(layers_reach))))
            return;
        layers_reach *column = chunk->column.data;
        for (size_t k = i; k < next; k++) {
            column[k - i] = list[keys[k].value];
            if (next - i <= FEW)
                insert_reach(column, k - i);
        }
        if (next - i > FEW)
            abuti_sort_items(column, next - i, sizeof *column, reach_after);
        abuti_layers_column(pass, chunk, column, next - i);
    }
}

static void trace_tiles(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    layers_chunk *own = &pass->layers->chunks[chunk];
    const uint32_t *busy = pass->layers->busy.data;
    for (size_t i = begin; i < end && !own->status; i++) {
        raster_rect in = tile_rect(pass, busy[i]);
        fill_tile(pass, own, busy[i], in);
        if (own->status)
            return;
        if (pass->touching)
            trace_reaches(pass, own);
        else
            trace_tile(pass, own, in);
    }
}

/* ---- all of it ---- */

static void begin_chunks(layers_pass *pass) {
    for (size_t c = 0; c < LAYERS_CHUNKS; c++) {
        layers_chunk *chunk = &pass->layers->chunks[c];
        chunk->shapes.count = chunk->places.count = chunk->touches.count = 0;
        chunk->fragment_count = 0;
        chunk->status = ABUT_OK;
        abuti_layers_table_clear(&chunk->table);
    }
}

/* Runs a step, and gives the first failure of its chunks. */
static abut_status step(layers_pass *pass, const char *stage, size_t count, size_t least,
                        void (*body)(void *data, size_t chunk, size_t begin, size_t end)) {
    abut_status status = abuti_parallel_try(pass->layers->context, stage, count,
                                            layers_grain(count, least), body, pass);
    for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++)
        status = pass->layers->chunks[c].status;
    return status;
}

abut_status abuti_layers_pass(layers_pass *pass) {
    abut_layers *layers = pass->layers;
    size_t solids = layers->solids.count, points, triangles;
    begin_chunks(pass);
    abut_status status = reserve(pass, &layers->at, solids, sizeof(layers_at));
    if (!status)
        status = step(pass, "layers", solids, SOLIDS_A_TASK, find_rects);
    status = status ? status : list_tiles(pass);
    if (!status)
        status = step(pass, "layers", (size_t)pass->view.columns * pass->view.rows, TILES_A_TASK,
                      find_all_windows);
    if (status || pass->boxes)
        return status;
    status = step(pass, "layers", solids, SOLIDS_A_TASK, find_drawn);
    status = status ? status : list_drawn(pass, &points, &triangles);
    if (!status)
        status = step(pass, "layers", points, POINTS_A_TASK, find_points);
    if (!status)
        status = step(pass, "layers", triangles, TRIANGLES_A_TASK, find_shapes);
    status = status ? status : sort_places(pass, LAYERS_CHUNKS);
    if (!status)
        status = step(pass, "layers", layers->busy.count, BUSY_A_TASK, trace_tiles);
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
                           layers_answer *answer) {
    abut_status status = ABUT_OK;
    for (uint32_t v = 0; v < count && !status; v++) {
        status = abuti_layers_pass(&passes[v]);
        status = status ? status : abuti_layers_gather(layers, v, &answer->memory);
        for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++) {
            const abuti_vector *from = &layers->chunks[c].touches;
            abuti_vector *to = &answer->touches;
            status = abuti_vector_reserve(layers->context, to, to->count + from->count,
                                          sizeof(layers_touch));
            if (!status && from->count)
                memcpy((layers_touch *)to->data + to->count, from->data,
                       from->count * sizeof(layers_touch));
            to->count += status ? 0 : from->count;
        }
    }
    answer->sums = answer->memory.data;
    answer->sum_count = answer->memory.count;
    return status;
}

const layers_backend abuti_layers_on_cpu = {.create = cpu_create,
                                            .destroy = cpu_destroy,
                                            .run = cpu_run};
