/* Even triangles of a wanted size on a surface that is known otherwise. */
#ifndef ABUTI_MESH_REMESH_H
#define ABUTI_MESH_REMESH_H

#include "mesh/mesh.h"

typedef struct abuti_remesh {
    /* The length of edges at a point, up to one factor for the whole mesh; null = the same
     * everywhere. */
    double (*length)(void *data, vec3 point);
    /* Puts a point that is near the surface on it; null = it stays. */
    vec3 (*project)(void *data, vec3 point);
    void *data;
    uint32_t triangles, vertices; /* how many there shall be; one of them is 0 */
    uint32_t rounds;              /* of improvement; 0 = 6 */
} abuti_remesh;

/* Makes a mesh of the same topology with the wanted number of triangles or vertices, which must be
 * one that edges can be split and collapsed to: a closed surface has an even number of triangles,
 * and one more is made of an odd one. `mesh` is a manifold with or without borders, wound alike, of
 * any finer or coarser triangles; borders stay where they are up to their own smoothness. Where no
 * edge can be collapsed without harm there are more triangles than wanted. The same bits on every
 * machine. `name` stands first in error sentences. */
abut_status abuti_mesh_remesh(const abut_mesh *mesh, const char *name, const abuti_remesh *how,
                              abut_mesh **made);

#endif
