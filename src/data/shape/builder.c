/* Arrays of a mesh under construction. */
#include "shape/shape.h"

#include "mesh/mesh.h"

abut_status abuti_check_counts(uint64_t vertex_count, uint64_t triangle_count) {
    const uint64_t most_vertices = ABUT_NONE - 1, most_triangles = ABUT_NONE / 3 - 1;
    if (vertex_count > most_vertices || triangle_count > most_triangles)
        return abuti_fail(
            ABUT_ERROR_LIMIT,
            "abut_shape_create: segments and rings result in %s%llu triangles; a mesh "
            "has at most %llu, so reduce them",
            triangle_count == UINT64_MAX ? "more than " : "", (unsigned long long)triangle_count,
            (unsigned long long)most_triangles);
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
    return ABUTI_ALLOCATE(context, ABUTI_ARRAY(builder->positions, builder->vertex_room),
                          ABUTI_ARRAY(builder->indices, 3 * builder->triangle_room));
}

void abuti_builder_close(abuti_builder *builder) {
    ABUTI_RELEASE(builder->context, builder->positions, builder->indices);
}

/* The first triangle without area, or the count. Sizes are bounded, so that products of two
 * coordinate differences do not underflow. */
static size_t find_degenerate_triangle(const abuti_builder *builder) {
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
    size_t degenerate = find_degenerate_triangle(builder);
    abut_status status = abuti_stop_status("mesh");
    if (status) {
        abuti_builder_close(builder);
        return status;
    }
    if (degenerate < builder->triangle_count) {
        abuti_builder_close(builder);
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_shape_create: triangle %zu would have no area, because the sizes of "
            "this shape differ too much for double precision; choose closer ones",
            degenerate);
    }
    return abuti_mesh_adopt(builder->context, "abut_shape_create", builder->positions,
                            builder->vertex_count, builder->indices, builder->triangle_count, mesh);
}
