/* Triangulation of y-monotone polygons. */
#ifndef ABUTI_SHAPE_MONOTONE_H
#define ABUTI_SHAPE_MONOTONE_H

#include "shape/shape.h"

/* Cuts a simple polygon, both of whose sides run downwards (or level) from its highest vertex to
 * its lowest, into count - 2 counter-clockwise triangles: 3 indices each. `points` holds the left
 * side from the highest vertex down, left_count of them, then the right side from below the highest
 * vertex to the lowest. */
abut_status abuti_triangulate_monotone(abut_context *context, const abuti_vec2 *points,
                                       uint32_t left_count, uint32_t count, uint32_t *indices);

#endif
