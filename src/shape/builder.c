/* Arrays for a mesh in the making, and points on the circle.
 *
 * Sine and cosine differ between C libraries in the last bit. Meshes should not, so the circle is
 * computed here with additions and multiplications alone, which IEEE 754 fixes. Only the first
 * eighth of a turn is computed; the rest are its mirror images, so that meshes are symmetric to
 * the bit. */
#include "shape/shape.h"

#include "mesh/mesh.h"

abut_status abuti_check_counts(uint64_t vertex_count, uint64_t triangle_count) {
    const uint64_t most_vertices = ABUT_NONE - 1, most_triangles = ABUT_NONE / 3 - 1;
    if (vertex_count > most_vertices || triangle_count > most_triangles)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_shape_create: segments and rings ask for %s%llu triangles; a mesh "
                          "has at most %llu, so ask for fewer",
                          triangle_count == UINT64_MAX ? "more than " : "",
                          (unsigned long long)triangle_count, (unsigned long long)most_triangles);
    return ABUT_OK;
}

abut_status abuti_builder_open(abuti_builder *builder, abut_context *context, uint64_t vertex_count,
                               uint64_t triangle_count) {
    abut_status status = abuti_check_counts(vertex_count, triangle_count);
    if (status)
        return status;
    *builder = (abuti_builder){.context = context,
                               .vertex_room = (size_t)vertex_count,
                               .triangle_room = (size_t)triangle_count};
    builder->positions = abuti_allocate(context, builder->vertex_room, sizeof(vec3));
    builder->indices = abuti_allocate(context, builder->triangle_room, 3 * sizeof(uint32_t));
    if (builder->positions && builder->indices)
        return ABUT_OK;
    abuti_builder_close(builder);
    return ABUT_ERROR_MEMORY;
}

void abuti_builder_close(abuti_builder *builder) {
    ABUTI_RELEASE(builder->context, builder->positions, builder->indices);
}

/* The first triangle without area, or the count where there is none. Sizes are bounded, so that
 * products of two coordinate differences cannot underflow. */
static size_t find_collapsed(const abuti_builder *builder) {
    for (size_t i = 0; i < builder->triangle_count; i++) {
        if (i % 65536 == 0 && abuti_stop(builder->context, "mesh"))
            return i;
        const uint32_t *corner = builder->indices + 3 * i;
        vec3 a = builder->positions[corner[0]];
        vec3 normal = v3_cross(v3_sub(builder->positions[corner[1]], a),
                               v3_sub(builder->positions[corner[2]], a));
        if (!(v3_max_abs(normal) > 0))
            return i;
    }
    return builder->triangle_count;
}

abut_status abuti_builder_finish(abuti_builder *builder, abut_mesh **mesh) {
    assert(builder->vertex_count == builder->vertex_room);
    assert(builder->triangle_count == builder->triangle_room);
    size_t collapsed = find_collapsed(builder);
    abut_status status = abuti_stop_status("mesh");
    if (status) {
        abuti_builder_close(builder);
        return status;
    }
    if (collapsed < builder->triangle_count) {
        abuti_builder_close(builder);
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_shape_create: triangle %zu would have no area, since sizes of this "
                          "shape are too far apart for double precision; choose closer ones",
                          collapsed);
    }
    return abuti_mesh_adopt(builder->context, "abut_shape_create", builder->positions,
                            builder->vertex_count, builder->indices, builder->triangle_count, mesh);
}

/* Taylor series; for 0 <= x <= pi/4 the first term left out is below 2^-62 of the sum. */
static double sine(double x) {
    double y = x * x, sum = 1.0;
    for (int k = 16; k > 0; k -= 2)
        sum = 1.0 - sum * (y / (double)(k * (k + 1)));
    return x * sum;
}
static double cosine(double x) {
    double y = x * x, sum = 1.0;
    for (int k = 17; k > 0; k -= 2)
        sum = 1.0 - sum * (y / (double)(k * (k + 1)));
    return sum;
}

abuti_vec2 abuti_turn(uint64_t part, uint64_t whole) {
    const double quarter_turn = 1.57079632679489661923;
    assert(part < whole);
    uint64_t quarter = 4 * part / whole, rest = 4 * part % whole;
    bool beyond_eighth = 2 * rest > whole;
    double angle = quarter_turn * ((double)(beyond_eighth ? whole - rest : rest) / (double)whole);
    double c = cosine(angle), s = sine(angle);
    abuti_vec2 turn = {beyond_eighth ? s : c, beyond_eighth ? c : s};
    for (; quarter > 0; quarter--)
        turn = (abuti_vec2){0.0 - turn.y, turn.x};
    return turn;
}
