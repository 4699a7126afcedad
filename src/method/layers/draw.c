/* Rasterisation of solids into fragments, tile by tile.
 *
 * Vertices of solids that have a window are projected. Triangles are stored as shapes and drawn
 * when their tile is processed. So memory does not grow with the pixels of large triangles.
 */
#include "layers/layers.h"

#include <string.h>

enum {
    TRIANGLES_PER_TASK = 1024,
    TASK_POINTS_MAX = 4096 /* vertices that a task projects in advance; of larger meshes it projects
                              the corners of each triangle */
};

/* ---- shapes ---- */

/* Lists the solids that are drawn, and the offsets of their triangles. */
static abut_status list_drawn(layers_pass *pass, size_t *triangles) {
    abut_layers *layers = pass->layers;
    size_t count = 0;
    for (size_t i = 0; i < layers->solids.count; i++)
        count += layers_ats(pass)[i].drawn;
    abut_status status = abuti_layers_reserve(pass, &layers->drawn, count, sizeof(uint32_t));
    if (status ||
        (status = abuti_layers_reserve(pass, &layers->triangle_begin, count + 1, sizeof(size_t))))
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
    uint32_t solid;
    bool inward;
    const layers_at *at;
    raster_frame frame;
    const uint32_t *indices;
    const layers_point *points; /* all projected vertices; null if there are many */
    const vec3 *positions;
} draw_work;

static layers_point project_point(const draw_work *w, uint32_t vertex) {
    const raster_lens *lens = &w->pass->view.camera.lens;
    layers_point to = {.p = raster_apply(&w->frame, w->positions[vertex])};
    if (w->pass->fitted) {
        to.p = raster_project(lens, to.p);
        to.x = raster_round(lens, to.p.x);
        to.y = raster_round(lens, to.p.y);
    }
    return to;
}

static layers_point point_of(const draw_work *w, uint32_t vertex) {
    return w->points ? w->points[vertex] : project_point(w, vertex);
}

/* Assigns the next shape to a tile. */
static void add_place(draw_work *w, uint32_t tile) {
    abuti_vector *places = &w->chunk->places;
    if (places->room == places->count &&
        (w->chunk->status = abuti_vector_reserve(w->pass->layers->context, places,
                                                 places->count + 1, sizeof(layers_place))))
        return;
    ((layers_place *)places->data)[places->count++] =
        (layers_place){tile, (uint32_t)(w->chunk - w->pass->layers->chunks),
                       (uint32_t)w->chunk->shapes.count};
}

/* The intersection of a rectangle with the window of the solid in a tile. */
static raster_rect cut_to_window(const draw_work *w, raster_rect r, uint32_t x, uint32_t y) {
    const layers_window *in = &layers_windows(
        w->pass)[w->at->windows + (size_t)(y - w->at->row) * w->at->columns + (x - w->at->column)];
    int left = (int)(x << w->bits), top = (int)(y << w->bits);
    return raster_rect_clip(r, (raster_rect){left + in->x0, top + in->y0, left + in->x1,
                                             top + in->y1});
}

/* Assigns the next shape to the tiles within `r` in whose windows it may have pixels. Returns false
 * if there are none. */
static bool place_shape(draw_work *w, raster_rect r) {
    bool placed = false;
    r = raster_rect_clip(r, w->at->hull);
    if (raster_rect_empty(r))
        return false;
    uint32_t x1 = (uint32_t)r.x1 >> w->bits, y1 = (uint32_t)r.y1 >> w->bits;
    for (uint32_t y = (uint32_t)r.y0 >> w->bits; y <= y1; y++)
        for (uint32_t x = (uint32_t)r.x0 >> w->bits; x <= x1; x++)
            if (!raster_rect_empty(cut_to_window(w, r, x, y))) {
                add_place(w, y * w->pass->view.columns + x);
                placed = true;
            }
    return placed && !w->chunk->status;
}

static bool reserve_shapes(draw_work *w, size_t more) {
    abuti_vector *shapes = &w->chunk->shapes;
    if (shapes->room - shapes->count < more)
        w->chunk->status = abuti_vector_reserve(w->pass->layers->context, shapes,
                                                shapes->count + more, sizeof(raster_shape));
    return !w->chunk->status;
}

/* Stores an unclipped triangle as a shape, if it may have pixels in the windows of the solid. */
static void draw_unclipped(draw_work *w, uint32_t triangle) {
    const raster_lens *lens = &w->pass->view.camera.lens;
    const uint32_t *corner = w->indices + 3 * (size_t)triangle;
    const layers_point a = point_of(w, corner[0]), b = point_of(w, corner[1]),
                       c = point_of(w, corner[2]);
    if (!reserve_shapes(w, 1))
        return;
    raster_shape *to = (raster_shape *)w->chunk->shapes.data + w->chunk->shapes.count;
    raster_corners_of(a.x, a.y, b.x, b.y, c.x, c.y, w->solid, triangle, to);
    if ((to->owner & 3) == RASTER_THIN)
        return;
    to->owner ^= w->inward;
    if (!place_shape(w, raster_rect_of(lens, to, false)))
        return;
    raster_depths(a.p, b.p, c.p, to);
    w->chunk->shapes.count++;
}

/* ---- triangles that may be clipped, and edges ---- */

static bool comes_first(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

/* Creates the shapes of a triangle, unless it is drawn otherwise, and of its edges. */
static void make_triangle_shapes(draw_work *w, uint32_t triangle) {
    const layers_pass *pass = w->pass;
    const raster_lens *lens = &pass->view.camera.lens;
    const uint32_t *corner = w->indices + 3 * (size_t)triangle;
    raster_shape shapes[RASTER_CORNERS + 3];
    raster_point p[3];
    int made = 0;
    for (int k = 0; k < 3; k++)
        p[k] = point_of(w, corner[k]).p;
    if (!pass->fitted) {
        made = raster_shapes(lens, p, w->solid, triangle, false, shapes);
        for (int k = 0; w->inward && k < made; k++)
            shapes[k].owner ^= (shapes[k].owner & 2) ? 0 : 1;
    }
    /* Each edge once: by that of its two triangles in which it runs upwards. */
    for (uint32_t k = 0; pass->edges && k < 3; k++) {
        uint32_t next = k == 2 ? 0 : k + 1, part = triangle << 2 | k;
        if (!comes_first(w->positions[corner[k]], w->positions[corner[next]]))
            continue;
        if (pass->fitted)
            raster_edge(lens, p[k], p[next], w->solid, part, &shapes[made++]);
        else
            made += raster_edges(lens, p[k], p[next], w->solid, part, &shapes[made]);
    }
    if (!reserve_shapes(w, (size_t)made))
        return;
    for (int k = 0; k < made && !w->chunk->status; k++) {
        bool wide = (shapes[k].owner & 3) == RASTER_EDGE;
        if (place_shape(w, raster_rect_of(lens, &shapes[k], wide)))
            ((raster_shape *)w->chunk->shapes.data)[w->chunk->shapes.count++] = shapes[k];
    }
}

/* ---- all triangles ---- */

/* Projects all vertices of a solid, unless they are many. */
static void project_points(draw_work *w, uint32_t count) {
    abuti_vector *points = &w->chunk->points;
    w->points = NULL;
    if (count > TASK_POINTS_MAX ||
        (w->chunk->status =
             abuti_vector_reserve(w->pass->layers->context, points, count, sizeof(layers_point))))
        return;
    layers_point *to = points->data;
    for (uint32_t v = 0; v < count; v++)
        to[v] = project_point(w, v);
    w->points = to;
}

static void draw_solids_task(void *data, size_t chunk, size_t begin, size_t end) {
    layers_pass *pass = data;
    abut_layers *layers = pass->layers;
    layers_chunk *own = &layers->chunks[chunk];
    const size_t *first = layers->triangle_begin.data;
    draw_work w;
    w.pass = pass;
    w.chunk = own;
    w.bits = abuti_lowest_bit(pass->view.tile);
    for (size_t d = solid_of_triangle(layers, begin), at = begin, next; at < end && !own->status;
         d++, at = next) {
        next = end < first[d + 1] ? end : first[d + 1];
        w.solid = ((const uint32_t *)layers->drawn.data)[d];
        const layers_solid *solid = &layers_solids(layers)[w.solid];
        const layers_mesh *mesh = layers_mesh_of(layers, solid);
        w.inward = mesh->inward;
        w.at = &layers_ats(pass)[w.solid];
        w.indices = mesh->mesh->indices;
        w.positions = layers_positions(layers, solid);
        w.frame = raster_frame_of(&pass->view.camera, &solid->motion, mesh->mesh->origin);
        project_points(&w, mesh->mesh->vertex_count);
        if (own->status)
            return;
        uint32_t from = (uint32_t)(at - first[d]), to = (uint32_t)(next - first[d]);
        for (uint32_t t = from; t < to && !own->status; t++) {
            if (pass->fitted)
                draw_unclipped(&w, t);
            if ((!pass->fitted || pass->edges) && !own->status)
                make_triangle_shapes(&w, t);
        }
    }
}

/* Sorts all places by tile: tile_begin and tile_places. Lists the tiles that have any. */
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
    abut_status status =
        abuti_layers_reserve(pass, &layers->tile_places, total, sizeof(layers_place));
    for (size_t t = 2; t < tiles + 2; t++) {
        busy += begin[t] > 0;
        begin[t] += begin[t - 1];
    }
    if (status || (status = abuti_layers_reserve(pass, &layers->busy, busy, sizeof(uint32_t))))
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

abut_status abuti_layers_draw(layers_pass *pass) {
    size_t triangles;
    abut_status status = list_drawn(pass, &triangles);
    if (!status)
        status = abuti_layers_run_step(pass, triangles, TRIANGLES_PER_TASK, draw_solids_task);
    return status ? status : sort_places(pass, LAYERS_CHUNKS);
}

/* ---- fragments ---- */

/* Reserves as many fragments as a rectangle has pixels. Returns false if memory is exhausted. */
static bool reserve_fragments(layers_pass *pass, layers_chunk *chunk, raster_rect r) {
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
    if (raster_rect_empty(r) || !reserve_fragments(pass, chunk, r))
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
    if (raster_rect_empty(r) || !reserve_fragments(pass, chunk, r))
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

static void fill_shape(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in,
                       const raster_shape *s) {
    uint32_t kind = s->owner & 3;
    const layers_window *w = abuti_layers_window(pass, s->owner >> 2, tile);
    raster_rect window = {in.x0 + w->x0, in.y0 + w->y0, in.x0 + w->x1, in.y0 + w->y1};
    bool wide = kind == RASTER_EDGE;
    raster_rect r = raster_rect_clip(raster_rect_of(&pass->view.camera.lens, s, wide), window);
    if (wide)
        fill_edge(pass, chunk, s, r, in);
    else
        fill_triangle(pass, chunk, s, r, in);
}

void abuti_layers_fill_tile(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in) {
    abut_layers *layers = pass->layers;
    const size_t *begin = layers->tile_begin.data;
    const layers_place *places = layers->tile_places.data;
    chunk->fragments.count = 0;
    for (size_t i = begin[tile]; i < begin[tile + 1] && !chunk->status; i++)
        fill_shape(pass, chunk, tile, in,
                   (const raster_shape *)layers->chunks[places[i].chunk].shapes.data +
                       places[i].shape);
}
