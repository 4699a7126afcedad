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

/* ---- block letters and stairs ---- */

#define ABUTI_OUTLINE_MAX 16

/* The outline of a letter of this height, counter-clockwise. Returns the number of corners. */
uint32_t abuti_letter_outline(abut_shape_kind kind, double height,
                              abuti_vec2 outline[ABUTI_OUTLINE_MAX]);

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

/* Signed distance; the description is validated. */
double abuti_shape_signed_distance(const abut_shape *shape, vec3 point);

#endif
