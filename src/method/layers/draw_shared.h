/* Rasterisation of solids into fragments, for C and OpenCL C.
 *
 * The including file defines before: fragment_writer, and write_fragment(), called for each pixel
 * of a shape.
 */
#ifndef ABUTI_LAYERS_DRAW_SHARED_H
#define ABUTI_LAYERS_DRAW_SHARED_H

#include "layers/layers_shared.h"

#define LAYERS_SHAPES (RASTER_CORNERS + 3) /* of a triangle and its edges */

static inline int layers_runs_upwards(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

/* Prepares a triangle of a solid, and its edges if requested, as far as they may have pixels in a
 * rectangle. Each edge is drawn once, by that of its two triangles in which it runs upwards.
 * Returns the number of shapes. */
static inline int layers_shapes(const raster_lens *lens, const raster_corner *const corner[3],
                                const vec3 place[3], word32 solid, word32 triangle, word32 inward,
                                int edges, raster_rect in, raster_shape shapes[LAYERS_SHAPES]) {
    int made = raster_shapes(lens, corner[0], corner[1], corner[2], solid, triangle, 0, in, shapes);
    for (int k = 0; k < made; k++)
        shapes[k].owner ^= inward;
    for (word32 k = 0; edges && k < 3; k++) {
        const word32 next = k == 2 ? 0 : k + 1;
        if (layers_runs_upwards(place[k], place[next]))
            made += raster_edges(lens, corner[k]->at, corner[next]->at, solid, triangle << 2 | k,
                                 in, &shapes[made]);
    }
    return made;
}

/* The pixels that a shape may have. */
static inline raster_rect layers_rect_of(const raster_lens *lens, const raster_shape *s) {
    return raster_rect_of(lens, s, (s->owner & 3) == RASTER_EDGE);
}

/* Writes the fragments of a shape in a rectangle. */
static inline void layers_fill(fragment_writer *p, const raster_lens *lens, const raster_shape *s,
                               raster_rect r) {
    if ((s->owner & 3) == RASTER_EDGE) {
        const raster_line line = raster_line_of(lens, s);
        const int lo = line.wide ? r.x0 : r.y0, hi = line.wide ? r.x1 : r.y1;
        for (int i = line.first > lo ? line.first : lo; i <= hi && i <= line.last; i++) {
            int x, y;
            raster_line_at(&line, i, &x, &y);
            if (x >= r.x0 && x <= r.x1 && y >= r.y0 && y <= r.y1)
                write_fragment(p, s, x, y);
        }
        return;
    }
    const raster_side a = raster_side_of(lens, s, 0), b = raster_side_of(lens, s, 1),
                      c = raster_side_of(lens, s, 2);
    for (int y = r.y0; y <= r.y1; y++) {
        int64 ea = a.at + a.dx * r.x0 + a.dy * y, eb = b.at + b.dx * r.x0 + b.dy * y,
              ec = c.at + c.dx * r.x0 + c.dy * y;
        for (int x = r.x0; x <= r.x1; x++, ea += a.dx, eb += b.dx, ec += c.dx)
            if ((ea | eb | ec) >= 0)
                write_fragment(p, s, x, y);
    }
}

#endif
