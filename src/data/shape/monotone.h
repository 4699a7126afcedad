/* Triangulation of y-monotone polygons. */
#ifndef ABUTI_SHAPE_MONOTONE_H
#define ABUTI_SHAPE_MONOTONE_H

#include "shape/shape.h"

/* Divides a simple polygon, both of whose chains descend (or are level) from its highest to its
 * lowest vertex, into count - 2 counter-clockwise triangles of 3 indices each. `points` has the
 * left chain from the highest vertex down, left_count points, then the right chain from below the
 * highest vertex to the lowest. */
abut_status abuti_triangulate_monotone(abut_context *context, const abuti_vec2 *points,
                                       uint32_t left_count, uint32_t count, uint32_t *indices);

#endif
