/* Surfaces where a grid of values has a level, as meshes. */
#ifndef ABUTI_MESH_ISOSURFACE_H
#define ABUTI_MESH_ISOSURFACE_H

#include "mesh/mesh.h"

/* Values at the points origin + cell x (i, j, k), given layer by layer. */
typedef struct abuti_levels {
    uint32_t count[3]; /* at least 2 each */
    vec3 origin;
    double cell, level;
    /* Fills count[0] x count[1] values, x fastest; called for k = 0, 1, ... */
    abut_status (*layer)(void *data, uint32_t k, float *values);
    void *data;
} abuti_levels;

/* Makes the surface between values below the level (inside) and the others; `name` stands first in
 * error sentences. Every edge of the mesh has two faces that agree on its direction, but where the
 * surface leaves the grid; every vertex has one fan. Vertices lie on edges of the grid and, where
 * more than five of them go round in a cell, in its middle. Refused with ABUT_ERROR_ARGUMENT:
 * values all on one side. */
abut_status abuti_surface_extract(abut_context *context, const char *name,
                                  const abuti_levels *levels, abut_mesh **mesh);

#endif
