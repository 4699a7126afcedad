/* Rasterisation of solids into fragments, tile by tile.
 *
 * Triangles and edges of solids that have a window are stored as shapes, and drawn when their tile
 * is processed. So memory does not grow with the pixels of large triangles.
 */
#include "layers/layers.h"

#include <string.h>

enum { TRIANGLES_PER_TASK = 4096 };

/* Fragments of a tile. */
typedef struct fragment_writer {
    layers_fragment *to; /* the next one */
    int left, top;       /* of the tile */
    uint32_t side;
} fragment_writer;

static inline void write_fragment(fragment_writer *p, const raster_shape *s, int x, int y) {
    *p->to++ =
        (layers_fragment){layers_key(raster_depth_at(s, x, y), s->owner),
                          (uint32_t)(y - p->top) * p->side + (uint32_t)(x - p->left), s->part};
}

#include "layers/draw_shared.h"

/* ---- shapes ---- */

/* Lists the solids that are drawn, and the offsets of their triangles. */
static abut_status list_drawn(layers_pass *pass, size_t *triangles) {
    abut_layers *layers = pass->layers;
    size_t count = 0;
    for (size_t i = 0; i < layers->solids.count; i++)
        count += layers_ats(pass)[i].drawn;
    abut_status status = abuti_layers_resize(layers, &layers->drawn, count, sizeof(uint32_t));
    if (status ||
        (status = abuti_layers_resize(layers, &layers->triangle_begin, count + 1, sizeof(size_t))))
        return status;
    uint32_t *drawn = layers->drawn.data;
    size_t *begin = layers->triangle_begin.data;
    *triangles = count = 0;
    for (size_t i = 0; i < layers->solids.count; i++)
        if (layers_ats(pass)[i].drawn) {
            begin[count] = *triangles;
            drawn[count++] = (uint32_t)i;
            *triangles += layers_mesh_of(layers, &layers_solids(layers)[i])->mesh->triangle_count;
        }
    begin[count] = *triangles;
    return ABUT_OK;
}

/* The drawn solid that has a triangle. */
static size_t solid_of_triangle(const abut_layers *layers, size_t place) {
    const size_t *begin = layers->triangle_begin.data;
    size_t lo = 0, hi = layers->triangle_begin.count - 1;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        if (begin[middle] <= place)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* State while the triangles of a solid are assigned to tiles. */
typedef struct draw_work {
    layers_pass *pass;
    layers_chunk *chunk;
    uint32_t bits; /* a tile has 2^bits pixels a side */
    const layers_at *at;
} draw_work;

/* Assigns the next shape to a tile. */
static void add_place(draw_work *w, uint32_t tile) {
    layers_place *place = ABUTI_PUSH(w->pass->layers->context, &w->chunk->places, layers_place);
    if (place)
        *place = (layers_place){tile, (uint32_t)(w->chunk - w->pass->layers->chunks),
                                (uint32_t)w->chunk->shapes.count};
    else
        w->chunk->status = ABUT_ERROR_MEMORY;
}

/* Stores a shape, and assigns it to the tiles in whose windows it may have pixels, if any. */
static void store_shape(draw_work *w, const raster_shape *shape) {
    const size_t before = w->chunk->places.count;
    const raster_rect r =
        raster_rect_clip(layers_rect_of(&w->pass->view.camera.lens, shape), w->at->hull);
    const uint32_t x1 = (uint32_t)r.x1 >> w->bits, y1 = (uint32_t)r.y1 >> w->bits;
    for (uint32_t y = (uint32_t)r.y0 >> w->bits; y <= y1; y++)
        for (uint32_t x = (uint32_t)r.x0 >> w->bits; x <= x1; x++)
            if (!raster_rect_empty(raster_rect_clip(r, *layers_window(w->pass, w->at, x, y))))
                add_place(w, y * w->pass->view.columns + x);
    if (w->chunk->status || w->chunk->places.count == before)
        return;
    raster_shape *to = ABUTI_PUSH(w->pass->layers->context, &w->chunk->shapes, raster_shape);
    if (to)
        *to = *shape;
    else
        w->chunk->status = ABUT_ERROR_MEMORY;
}

/* Draws triangles [begin, end) of a solid. Vertices are projected once, unless most belong to
 * triangles of other tasks. */
static void draw_solid(draw_work *w, uint32_t id, size_t begin, size_t end) {
    layers_pass *pass = w->pass;
    abut_layers *layers = pass->layers;
    const raster_lens *lens = &pass->view.camera.lens;
    const layers_solid *solid = &layers_solids(layers)[id];
    const layers_mesh *own = layers_mesh_of(layers, solid);
    const abut_mesh *mesh = own->mesh;
    const vec3 *positions = layers_positions(layers, solid);
    const raster_frame frame = raster_frame_of(&pass->view.camera, &solid->motion, mesh->origin);
    const bool shares_vertices = mesh->vertex_count < 3 * (end - begin);
    raster_corner three[3], *corners = three;
    w->at = &layers_ats(pass)[id];
    if (shares_vertices) {
        w->chunk->status =
            abuti_layers_resize(layers, &w->chunk->corners, mesh->vertex_count, sizeof *corners);
        corners = w->chunk->corners.data;
        for (uint32_t v = 0; v < w->chunk->corners.count; v++)
            corners[v] = raster_corner_of(lens, &frame, positions[v]);
    }
    for (size_t t = begin; t < end && !w->chunk->status; t++) {
        const raster_corner *corner[3];
        vec3 place[3];
        for (size_t k = 0; k < 3; k++) {
            const uint32_t v = mesh->indices[3 * t + k];
            place[k] = positions[v];
            if (!shares_vertices)
                three[k] = raster_corner_of(lens, &frame, place[k]);
            corner[k] = &corners[shares_vertices ? v : k];
        }
        raster_shape shapes[LAYERS_SHAPES];
        const int made = layers_shapes(lens, corner, place, id, (uint32_t)t, own->inward,
                                       pass->edges, w->at->hull, shapes);
        for (int k = 0; k < made && !w->chunk->status; k++)
            store_shape(w, &shapes[k]);
    }
}

static void draw_solids_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    abut_layers *layers = pass->layers;
    const size_t *first = layers->triangle_begin.data;
    draw_work w = {.pass = pass,
                   .chunk = &layers->chunks[chunk],
                   .bits = abuti_lowest_bit(pass->view.tile)};
    for (size_t d = solid_of_triangle(layers, begin), at = begin, next;
         at < end && !w.chunk->status; d++, at = next) {
        next = end < first[d + 1] ? end : first[d + 1];
        draw_solid(&w, ABUTI_AT(&layers->drawn, uint32_t, d), at - first[d], next - first[d]);
    }
}

/* Sorts all places by tile: tile_begin and tile_places. Lists the tiles that have any. */
static abut_status sort_places(layers_pass *pass, size_t chunk_count) {
    abut_layers *layers = pass->layers;
    size_t tiles = (size_t)pass->view.columns * pass->view.rows, total = 0, busy = 0;
    abut_status status =
        abuti_layers_resize(layers, &layers->tile_begin, tiles + 2, sizeof(size_t));
    if (status)
        return status;
    size_t *begin = layers->tile_begin.data;
    memset(begin, 0, (tiles + 2) * sizeof *begin);
    for (size_t c = 0; c < chunk_count; c++) {
        const abuti_vector *places = &layers->chunks[c].places;
        for (size_t i = 0; i < places->count; i++)
            begin[ABUTI_AT(places, layers_place, i).tile + 2]++;
        total += places->count;
    }
    status = abuti_layers_resize(layers, &layers->tile_places, total, sizeof(layers_place));
    for (size_t t = 2; t < tiles + 2; t++) {
        busy += begin[t] > 0;
        begin[t] += begin[t - 1];
    }
    if (status || (status = abuti_layers_resize(layers, &layers->busy, busy, sizeof(uint32_t))))
        return status;
    layers_place *to = layers->tile_places.data;
    for (size_t c = 0; c < chunk_count; c++) {
        const abuti_vector *places = &layers->chunks[c].places;
        for (size_t i = 0; i < places->count; i++) {
            layers_place place = ABUTI_AT(places, layers_place, i);
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

abut_status abuti_layers_draw(layers_pass *pass) {
    size_t triangles;
    abut_status status = list_drawn(pass, &triangles);
    if (!status)
        status = abuti_layers_run_step(pass, triangles, TRIANGLES_PER_TASK, draw_solids_task);
    return status ? status : sort_places(pass, LAYERS_CHUNKS);
}

/* ---- fragments ---- */

static void fill_shape(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in,
                       const raster_shape *s) {
    const raster_lens *lens = &pass->view.camera.lens;
    const raster_rect *window =
        layers_window(pass, &layers_ats(pass)[s->owner >> 2], (uint32_t)tile % pass->view.columns,
                      (uint32_t)tile / pass->view.columns);
    const raster_rect r = raster_rect_clip(layers_rect_of(lens, s), *window);
    abuti_vector *list = &chunk->fragments;
    if (raster_rect_empty(r))
        return;
    const size_t most = (size_t)(r.x1 - r.x0 + 1) * (size_t)(r.y1 - r.y0 + 1);
    if (list->room - list->count < most &&
        (chunk->status = abuti_vector_reserve(pass->layers->context, list, list->count + most,
                                              sizeof(layers_fragment))))
        return;
    fragment_writer writer = {(layers_fragment *)list->data + list->count, in.x0, in.y0,
                              pass->view.tile};
    layers_fill(&writer, lens, s, r);
    list->count = (size_t)(writer.to - (layers_fragment *)list->data);
}

void abuti_layers_fill_tile(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in) {
    abut_layers *layers = pass->layers;
    const size_t *begin = layers->tile_begin.data;
    const layers_place *places = layers->tile_places.data;
    chunk->fragments.count = 0;
    for (size_t i = begin[tile]; i < begin[tile + 1] && !chunk->status; i++)
        fill_shape(pass, chunk, tile, in,
                   &ABUTI_AT(&layers->chunks[places[i].chunk].shapes, raster_shape,
                             places[i].shape));
}
