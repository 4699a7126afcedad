/* Private types and functions of the shape module. */
#ifndef ABUTI_SHAPE_H
#define ABUTI_SHAPE_H

#include "base/base.h"
#include "base/math_shared.h"
#include "base/turn.h"

#include <abut/shape.h>

#include <assert.h>

/* ---- counts first, then arrays of exactly that size ---- */

/* Products and sums that saturate at UINT64_MAX, so that counts can be compared with a limit after
 * any number of operations. */
static inline uint64_t abuti_multiply_saturated(uint64_t a, uint64_t b) {
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}
static inline uint64_t abuti_add_saturated(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A mesh under construction. Generators compute their counts first, so that too many elements are
 * rejected before memory is allocated, and no memory is wasted. */
typedef struct abuti_builder {
    abut_context *context;
    vec3 *positions;
    uint32_t *indices;
    size_t vertex_count, vertex_room, triangle_count, triangle_room;
} abuti_builder;

/* Returns ABUT_ERROR_LIMIT if the counts exceed 32-bit indices. */
abut_status abuti_check_counts(uint64_t vertex_count, uint64_t triangle_count);
/* Allocates arrays of exactly these counts, after the same check. On failure there is nothing to
 * release. */
abut_status abuti_builder_open(abuti_builder *builder, abut_context *context, uint64_t vertex_count,
                               uint64_t triangle_count);
/* Releases an open builder after an error. */
void abuti_builder_close(abuti_builder *builder);
/* Closes the builder and creates the mesh. Rejects degenerate triangles, which occur if sizes
 * differ too much for doubles. */
abut_status abuti_builder_finish(abuti_builder *builder, abut_mesh **mesh);

static inline uint32_t abuti_add_vertex(abuti_builder *builder, vec3 position) {
    assert(builder->vertex_count < builder->vertex_room);
    builder->positions[builder->vertex_count] = position;
    return (uint32_t)builder->vertex_count++;
}
static inline void abuti_add_triangle(abuti_builder *builder, uint32_t a, uint32_t b, uint32_t c) {
    assert(builder->triangle_count < builder->triangle_room);
    uint32_t *corner = builder->indices + 3 * builder->triangle_count++;
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
}
/* Corners in order around the quad; the diagonal is a to c. */
static inline void abuti_add_quad(abuti_builder *builder, uint32_t a, uint32_t b, uint32_t c,
                                  uint32_t d) {
    abuti_add_triangle(builder, a, b, c);
    abuti_add_triangle(builder, a, c, d);
}

/* ---- coordinates that are equal on every machine, and exactly symmetric ---- */

/* Number i of n + 1 equally spaced numbers from -extent/2 to extent/2. */
static inline double abuti_lattice(double extent, uint64_t i, uint64_t n) {
    return 0.5 * extent * ((2.0 * (double)i - (double)n) / (double)n);
}

/* ---- generators; descriptions are validated, with defaults filled in ---- */

abut_status abuti_build_box(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_icosphere(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_sheet(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
/* Sphere, torus, cone, cylinder, capsule and tube. */
abut_status abuti_build_revolved(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_stairs(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_letter(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_teapot(abut_context *context, const abut_shape *shape, abut_mesh **mesh);
abut_status abuti_build_teapot_solid(abut_context *context, const abut_shape *shape,
                                     abut_mesh **mesh);

/* Distances in a plane: to a segment, and signed to the outline of a letter of this height. */
double abuti_segment_distance(abuti_vec2 p, abuti_vec2 a, abuti_vec2 b);
double abuti_letter_distance(abut_shape_kind kind, double height, abuti_vec2 p);
/* Signed distance; the description is validated. */
double abuti_shape_signed_distance(const abut_shape *shape, vec3 point);

/* ---- monotone.c: triangulation of y-monotone polygons ---- */

/* Divides a simple polygon, both of whose chains descend (or are level) from its highest to its
 * lowest vertex, into count - 2 counter-clockwise triangles of 3 indices each. `points` has the
 * left chain from the highest vertex down, left_count points, then the right chain from below the
 * highest vertex to the lowest. */
abut_status abuti_triangulate_monotone(abut_context *context, const abuti_vec2 *points,
                                       uint32_t left_count, uint32_t count, uint32_t *indices);

/* ---- teapot.c: the surface of the teapot, which the published and the solid version share ----
 *
 * A patch side has n = segments quads. The part of revolution (lid, rim, body, bottom) has rows
 * from the top of the knob, row 0, to the middle of the bottom, row 6n + 1; the gap between lid and
 * rim is between rows 2n and 2n + 1. Each row has 4n columns, column 0 at +x. A tube (handle or
 * spout) has 2n + 1 rows of 2n columns: column 0 in the plane y = 0, then around through y < 0.
 */

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
