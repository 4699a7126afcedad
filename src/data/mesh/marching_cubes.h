/* Isosurfaces of grids of values, as meshes. */
#ifndef ABUTI_MESH_ISOSURFACE_H
#define ABUTI_MESH_ISOSURFACE_H

#include "mesh/mesh.h"

/* Values at the points origin + cell x (i, j, k), provided layer by layer. */
typedef struct abuti_isosurface_grid {
    uint32_t count[3]; /* at least 2 each */
    vec3 origin;
    double cell, level;
    /* Writes count[0] x count[1] values, x fastest; called for k = 0, 1, ... */
    abut_status (*layer)(void *data, uint32_t k, float *values);
    void *data;
} abuti_isosurface_grid;

/* Creates the surface between values below the level (inside) and the others; `name` begins error
 * messages. Every edge of the mesh has two faces with opposite directions, except where the surface
 * leaves the grid; every vertex has one fan. Vertices are on edges of the grid and, in cells with a
 * loop of more than five of them, in the middle. Fails with ABUT_ERROR_ARGUMENT if all values are
 * on one side. */
ABUTI_API abut_status abuti_isosurface_extract(abut_context *context, const char *name,
                                               const abuti_isosurface_grid *levels,
                                               abut_mesh **mesh);

#endif
