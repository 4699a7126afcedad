/* The surface of the teapot, which the published and the solid version share.
 *
 * A patch side has n = segments quads. The part of revolution (lid, rim, body, bottom) has rows
 * from the top of the knob, row 0, to the middle of the bottom, row 6n + 1; the gap between lid and
 * rim is between rows 2n and 2n + 1. Each row has 4n columns, column 0 at +x. A tube (handle or
 * spout) has 2n + 1 rows of 2n columns: column 0 in the plane y = 0, then around through y < 0.
 */
#ifndef ABUTI_SHAPE_TEAPOT_H
#define ABUTI_SHAPE_TEAPOT_H

#include "shape/shape.h"

typedef enum abuti_tube_kind { ABUTI_HANDLE, ABUTI_SPOUT } abuti_tube_kind;

/* A row of the part of revolution: radius, its control point, height. */
typedef struct abuti_profile {
    double r, h, z;
} abuti_profile;

abuti_profile abuti_teapot_row(uint32_t row, uint32_t n);
/* The body between the rim (v = 0) and the bottom (v = 2). */
abuti_profile abuti_teapot_body(double v);

/* The point at a row and a column. */
vec3 abuti_teapot_point(abuti_profile row, uint32_t column, uint32_t n);
/* The same in the first quarter, u from 0 to 1. */
abuti_vec2 abuti_teapot_quarter(abuti_profile row, double u);

/* A point of a tube at a column; v along it, from 0 to 2. */
vec3 abuti_tube_point(abuti_tube_kind tube, double v, uint32_t column, uint32_t n);

/* Adds the cell between two rows of the part of revolution and two columns. If a row is a pole,
 * both of its vertices are equal and the cell is a triangle. */
void abuti_add_revolved_cell(abuti_builder *builder, uint32_t upper, uint32_t upper_next,
                             uint32_t lower, uint32_t lower_next);
/* Adds the quads of a tube whose vertices begin at `first`. */
void abuti_add_tube_quads(abuti_builder *builder, uint32_t first, uint32_t n);

#endif
