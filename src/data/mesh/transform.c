/* Transforming and joining meshes. Each vertex is computed from its absolute position in the order
 * scale, rotate, translate; the new mesh then chooses its own origin. */
#include "mesh/mesh.h"

#include <string.h>

#define GRAIN 16384

typedef struct transformation {
    const abut_mesh *mesh;
    abuti_motion motion;
    double scale;
    vec3 *positions;
} transformation;

static void transform_task(void *data, size_t chunk, size_t begin, size_t end) {
    transformation *m = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        vec3 p = v3_scale(abuti_mesh_position(m->mesh, (uint32_t)v), m->scale);
        m->positions[v] = abuti_motion_apply(&m->motion, p);
    }
}

/* Swaps two corners, so that the triangle is reversed and keeps its first corner. */
static void reverse_triangle(uint32_t *corner) {
    uint32_t swap = corner[1];
    corner[1] = corner[2];
    corner[2] = swap;
}

abut_status abut_mesh_transform(const abut_mesh *mesh, double scale, abut_pose motion,
                                abut_mesh **moved) {
    if (!mesh || !moved)
        return abuti_null(__func__, mesh ? "moved" : "mesh");
    if (!(fabs(scale) > 0 && fabs(scale) <= DBL_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_mesh_transform: scale is %g; it must be finite and not 0", scale);
    abut_status status = abuti_pose_check("abut_mesh_transform", "the pose", &motion);
    if (status)
        return status;
    abut_context *context = mesh->context;
    transformation m = {.mesh = mesh, .motion = abuti_motion_of(&motion), .scale = scale};
    uint32_t *indices;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(m.positions, mesh->vertex_count),
                                 ABUTI_ARRAY(indices, 3 * (size_t)mesh->triangle_count))))
        return status;
    abuti_parallel_for(context, mesh->vertex_count, GRAIN, transform_task, &m);
    memcpy(indices, mesh->indices, 3 * (size_t)mesh->triangle_count * sizeof *indices);
    for (size_t t = 0; scale < 0 && t < mesh->triangle_count; t++)
        reverse_triangle(indices + 3 * t);
    /* a rotation may make the bounding box smaller, but not the mesh */
    status = (fabs(scale) < 1 ? abuti_mesh_adopt
                              : abuti_mesh_derive)(context, "abut_mesh_transform", m.positions,
                                                   mesh->vertex_count, indices,
                                                   mesh->triangle_count, moved);
    if (!status)
        (*moved)->up = m3_apply(&m.motion.rotation, v3_scale(mesh->up, scale < 0 ? -1 : 1));
    return status;
}

static abut_status count_elements(abut_mesh *const *meshes, uint32_t count, size_t *vertex_count,
                                  size_t *triangle_count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!meshes[i])
            return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_mesh_join: mesh %u is null", i);
        if (abuti_add_overflows(*vertex_count, meshes[i]->vertex_count, vertex_count) ||
            abuti_add_overflows(*triangle_count, meshes[i]->triangle_count, triangle_count))
            *vertex_count = SIZE_MAX; /* only if size_t has 32 bits */
        if (*vertex_count >= ABUT_NONE || *triangle_count >= ABUT_NONE / 3)
            return abuti_fail(ABUT_ERROR_LIMIT,
                              "abut_mesh_join: the meshes up to number %u have more than %u "
                              "vertices or %u triangles together",
                              i, ABUT_NONE - 1, ABUT_NONE / 3 - 1);
    }
    return ABUT_OK;
}

abut_status abut_mesh_join(abut_mesh *const *meshes, uint32_t count, abut_mesh **joined) {
    size_t vertex_count = 0, triangle_count = 0;
    if (!meshes || !joined || !count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_mesh_join: %s",
                          !meshes   ? "meshes is null"
                          : !joined ? "joined is null"
                                    : "there are no meshes");
    abut_status status = count_elements(meshes, count, &vertex_count, &triangle_count);
    if (status)
        return status;
    abut_context *context = meshes[0]->context;
    vec3 *positions;
    uint32_t *indices;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(positions, vertex_count),
                                 ABUTI_ARRAY(indices, 3 * triangle_count))))
        return status;
    uint32_t base = 0;
    size_t corner = 0;
    for (uint32_t i = 0; i < count; i++) {
        const abut_mesh *mesh = meshes[i];
        for (uint32_t v = 0; v < mesh->vertex_count; v++)
            positions[base + v] = abuti_mesh_position(mesh, v);
        for (size_t k = 0; k < 3 * (size_t)mesh->triangle_count; k++)
            indices[corner++] = base + mesh->indices[k];
        base += mesh->vertex_count;
    }
    vec3 up = meshes[0]->up;
    for (uint32_t i = 1; i < count; i++)
        if (v3_max_abs(v3_sub(meshes[i]->up, up)) > 0)
            up = v3(0, 0, 0);
    status = abuti_mesh_adopt(context, "abut_mesh_join", positions, vertex_count, indices,
                              triangle_count, joined);
    if (!status)
        (*joined)->up = up;
    return status;
}
