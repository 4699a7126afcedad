/* Traces one ray through its crossings, for C and OpenCL C.
 *
 * Crossings are sorted by depth. A solid is open while the ray is inside it, that is, has entered
 * it more often than left it. When a solid closes, its overlaps with all other open solids are
 * known. Each pair of intervals is processed once, at the first of its two ends. In perspective
 * views rays begin at the near plane, possibly inside a solid. A closed surface is crossed equally
 * often inwards and outwards, so a surplus of exits gives the number of solids in which the ray
 * began. Thus solids are capped where rays begin.
 *
 * The including file defines before: ray_work with count, eye, own and edges; ray_key(), the depth,
 * solid and kind of a crossing; ray_overlap(), called for two solids that are open from one depth
 * to another, with the solids whose surfaces are at the ends; and ray_touch(), called for an edge
 * within an open solid.
 */
#ifndef ABUTI_LAYERS_TRACE_SHARED_H
#define ABUTI_LAYERS_TRACE_SHARED_H

#include "layers/layers_shared.h"

/* State of a solid along a ray. */
typedef struct layers_open {
    word32 solid;
    int count;          /* number of entries minus exits */
    word32 since, deep; /* depths at which it became 1 and 2 */
    word32 place;       /* index of the crossing at which it became 1 */
} layers_open;

static inline layers_open *layers_find_open(layers_open *open, size_t *count, word32 solid) {
    for (size_t i = 0; i < *count; i++)
        if (open[i].solid == solid)
            return &open[i];
    layers_open *made = &open[(*count)++];
    made->solid = solid;
    made->count = 0;
    made->since = made->deep = made->place = 0;
    return made;
}

/* In perspective views: lists the solids in which the ray begins. */
static inline size_t layers_begin_inside(const ray_work *w, layers_open *open) {
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        word64 key = ray_key(w, i);
        if (layers_kind(key) < RASTER_EDGE)
            layers_find_open(open, &count, layers_solid_of(key))->count +=
                layers_kind(key) == RASTER_ENTERS ? -1 : 1;
    }
    for (size_t i = 0; i < count; i++)
        if (open[i].count)
            open[kept++] = open[i];
    return kept;
}

/* Processes a solid that was open from e->since up to the crossing at `place`. */
static inline void layers_close(ray_work *w, const layers_open *open, size_t open_count,
                                const layers_open *e, word32 to, size_t place) {
    for (size_t i = 0; i < open_count; i++) {
        const layers_open *o = &open[i];
        if (o == e || o->count <= 0)
            continue;
        int last = e->since > o->since || (e->since == o->since && e->solid > o->solid);
        ray_overlap(w, e->solid, o->solid, last ? e->since : o->since, to,
                    last ? e->solid : o->solid, e->solid);
    }
    for (size_t i = e->place; w->edges && i < place; i++) {
        word64 key = ray_key(w, i);
        if (layers_kind(key) == RASTER_EDGE && layers_solid_of(key) != e->solid)
            ray_touch(w, i, e->solid, e->since, to);
    }
}

/* Traces the ray. `open` has space for as many elements as there are crossings. */
static inline void layers_trace(ray_work *w, layers_open *open) {
    size_t open_count = w->eye ? layers_begin_inside(w, open) : 0;
    for (size_t i = 0; i < w->count; i++) {
        word64 key = ray_key(w, i);
        word32 z = layers_depth(key);
        if (layers_kind(key) >= RASTER_EDGE)
            continue;
        layers_open *e = layers_find_open(open, &open_count, layers_solid_of(key));
        if (layers_kind(key) == RASTER_ENTERS) {
            e->count++;
            if (e->count == 1) {
                e->since = z;
                e->place = (word32)i;
            } else if (e->count == 2) {
                e->deep = z;
            }
        } else {
            e->count--;
            if (e->count == 0)
                layers_close(w, open, open_count, e, z, i);
            else if (e->count == 1 && w->own)
                ray_overlap(w, e->solid, e->solid, e->deep, z, ABUT_NONE, ABUT_NONE);
        }
        if (!e->count)
            *e = open[--open_count];
    }
}

#endif
