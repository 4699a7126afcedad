/* See trimesh.h. */
#include "trimesh.h"

#include <stdlib.h>

abut_status trimesh_create(const abut_mesh *mesh, trimesh *made) {
    uint32_t vertices = abut_mesh_vertex_count(mesh);
    const abut_vec3 *from = abut_mesh_local_positions(mesh);
    abut_vec3 origin = abut_mesh_local_origin(mesh);
    made->positions = malloc(3 * (size_t)vertices * sizeof *made->positions);
    if (!made->positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < vertices; i++) {
        made->positions[3 * i] = (float)(origin.x + from[i].x);
        made->positions[3 * i + 1] = (float)(origin.y + from[i].y);
        made->positions[3 * i + 2] = (float)(origin.z + from[i].z);
    }
    made->data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(made->data, made->positions, 3 * sizeof(float), (int)vertices,
                                abut_mesh_indices(mesh), (int)(3 * abut_mesh_triangle_count(mesh)),
                                3 * sizeof(uint32_t));
    return ABUT_OK;
}

void trimesh_destroy(trimesh *made) {
    if (made->data)
        dGeomTriMeshDataDestroy(made->data);
    free(made->positions);
    *made = (trimesh){0};
}
