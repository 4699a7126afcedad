/* One ray: overlaps, edges inside solids and image values from its crossings. See trace_shared.h.
 */
#include "layers/layers.h"

#include <math.h>

/* State of one ray. */
typedef struct ray_work {
    const layers_pass *pass;
    layers_chunk *chunk;
    uint32_t x, y;
    const layers_fragment *list;
    size_t count;
    bool eye, own, edges;
    double total;        /* overlaps of all pairs */
    uint32_t pairs;      /* number of overlaps */
    uint32_t first[2];   /* solids of the nearest overlap */
    uint32_t first_from; /* its begin */
} ray_work;

static uint32_t depth_of(const layers_fragment *f) {
    return layers_depth(f->key);
}
static uint32_t solid_of(const layers_fragment *f) {
    return layers_solid_of(f->key);
}
static uint32_t kind_of(const layers_fragment *f) {
    return layers_kind(f->key);
}

/* Adds an overlap of two solids from `from` to `to`; `begins` and `ends` are the solids whose
 * surfaces are there. */
static void ray_overlap(ray_work *w, uint32_t a, uint32_t b, uint32_t from, uint32_t to,
                        uint32_t begins, uint32_t ends) {
    const layers_pass *pass = w->pass;
    const layers_solid *solids = layers_solids(pass->layers);
    uint32_t length, volume;
    layers_measure(&pass->view, w->x, w->y, from, to, &length, &volume);
    if (length <= pass->view.tolerance || (a != b && !layers_may_collide(&solids[a], &solids[b])))
        return;
    if (pass->pixels) {
        if (a == b)
            return;
        w->total += length * pass->view.length_unit;
        w->pairs++;
        if (from < w->first_from) {
            w->first_from = from;
            w->first[0] = a < b ? a : b;
            w->first[1] = a < b ? b : a;
        }
        return;
    }
    layers_sum *s = abuti_layers_find_sum(pass->layers->context, &w->chunk->table, a, b);
    if (!s) {
        w->chunk->status = ABUT_ERROR_MEMORY;
        return;
    }
    uint64_t pixel = (uint64_t)w->y << 32 | w->x;
    s->pixels += s->last_pixel != pixel;
    s->last_pixel = pixel;
    s->enters_a += begins == s->a;
    s->leaves_a += ends == s->a;
    layers_add_overlap(s, w->x, w->y, from, to, length, volume);
}

/* Adds an edge of one solid inside another, which is open from `since` to `to`. */
static void ray_touch(ray_work *w, size_t place, uint32_t around, uint32_t since, uint32_t to) {
    const layers_pass *pass = w->pass;
    const layers_solid *solids = layers_solids(pass->layers);
    const layers_fragment *edge = &w->list[place];
    uint32_t of = solid_of(edge), before, behind, volume;
    layers_measure(&pass->view, w->x, w->y, since, depth_of(edge), &before, &volume);
    layers_measure(&pass->view, w->x, w->y, depth_of(edge), to, &behind, &volume);
    if (before <= pass->view.tolerance || behind <= pass->view.tolerance || pass->pixels ||
        !layers_may_collide(&solids[of], &solids[around]))
        return;
    layers_sum *s = abuti_layers_find_sum(pass->layers->context, &w->chunk->table, of, around);
    if (!s) {
        w->chunk->status = ABUT_ERROR_MEMORY;
        return;
    }
    s->edges_a += s->a == of;
    s->edges_b += s->b == of;
    if (!pass->hits)
        return;
    layers_touch *touch = ABUTI_PUSH(pass->layers->context, &w->chunk->touches, layers_touch);
    if (touch)
        *touch = (layers_touch){of, around, edge->part, w->x, w->y, depth_of(edge), pass->number};
    else
        w->chunk->status = ABUT_ERROR_MEMORY;
}

static uint64_t ray_key(const ray_work *w, size_t i) {
    return w->list[i].key;
}

#include "layers/trace_shared.h"

/* ---- images ---- */

/* The number of other solids around an edge; the maximum over all edges. */
static float inside_of_edges(const ray_work *w, layers_open *open) {
    size_t count = w->eye ? layers_begin_inside(w, open) : 0;
    uint32_t most = 0;
    for (size_t i = 0; i < w->count; i++) {
        uint32_t solid = solid_of(&w->list[i]), kind = kind_of(&w->list[i]), inside = 0;
        if (kind < RASTER_EDGE)
            layers_find_open(open, &count, solid)->count += kind == RASTER_ENTERS ? 1 : -1;
        for (size_t k = 0; kind == RASTER_EDGE && k < count; k++)
            inside += open[k].count > 0 && open[k].solid != solid;
        most = inside > most ? inside : most;
    }
    return (float)most;
}

static float pixel_value(const ray_work *w, layers_open *open) {
    size_t surfaces = 0, first[2] = {w->count, w->count}; /* first surface and first edge */
    for (size_t i = w->count; i-- > 0;) {
        bool edge = kind_of(&w->list[i]) == RASTER_EDGE;
        surfaces += !edge;
        first[edge] = i;
    }
    size_t shown = first[w->pass->show == ABUT_LAYERS_EDGES];
    switch (w->pass->show) {
    case ABUT_LAYERS_NEAREST:
    case ABUT_LAYERS_EDGES:
        return shown == w->count
                   ? INFINITY
                   : (float)raster_distance(&w->pass->view.camera, depth_of(&w->list[shown]));
    case ABUT_LAYERS_INSIDE:
        return inside_of_edges(w, open);
    case ABUT_LAYERS_LENGTH:
        return (float)w->total;
    case ABUT_LAYERS_PAIRS:
        return (float)w->pairs;
    case ABUT_LAYERS_FIRST:
        return w->pairs ? (float)w->first[0] : -1;
    case ABUT_LAYERS_SECOND:
        return w->pairs ? (float)w->first[1] : -1;
    default:
        return (float)surfaces;
    }
}

enum { INSERTION_SORT_MAX = 32 /* sorted by insertion up to this length */ };

static bool comes_after(const void *a, const void *b) {
    return ((const layers_fragment *)a)->key > ((const layers_fragment *)b)->key;
}

/* Crossings with equal keys are of the same solid and kind, so their order does not matter. */
static void sort_crossings(layers_fragment *list, size_t count) {
    if (count > INSERTION_SORT_MAX) {
        abuti_sort_items(list, count, sizeof *list, comes_after);
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

void abuti_layers_trace_ray(const layers_pass *pass, layers_chunk *chunk, uint32_t x, uint32_t y,
                            layers_fragment *list, size_t count) {
    ray_work w = {.pass = pass,
                  .chunk = chunk,
                  .x = x,
                  .y = y,
                  .list = list,
                  .count = count,
                  .eye = pass->view.camera.lens.near > 0,
                  .own = pass->own,
                  .edges = pass->edges,
                  .first_from = UINT32_MAX};
    chunk->status = abuti_layers_resize(pass->layers, &chunk->open, count, sizeof(layers_open));
    if (chunk->status)
        return;
    sort_crossings(list, count);
    layers_trace(&w, chunk->open.data);
    if (pass->pixels)
        pass->pixels[(size_t)y * pass->view.camera.lens.width + x] =
            pixel_value(&w, chunk->open.data);
}
