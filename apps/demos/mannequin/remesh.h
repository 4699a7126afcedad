/* Remeshing: even triangles of a given size on a given surface. */
#ifndef ABUTI_MESH_REMESH_H
#define ABUTI_MESH_REMESH_H

#include "mesh/mesh.h"

typedef struct abuti_remesh {
    /* The desired edge length at a point, up to one factor for the whole mesh; null = the same
     * everywhere. */
    double (*length)(void *data, vec3 point);
    /* Projects a point near the surface onto it; null = identity. */
    vec3 (*project)(void *data, vec3 point);
    void *data;
    uint32_t triangles, vertices; /* desired number; one of them is 0 */
    uint32_t rounds;              /* rounds of improvement; 0 = 6 */
} abuti_remesh;

/* Creates a mesh of the same topology with the desired number of triangles or vertices, which must
 * be reachable by splitting and collapsing edges: a closed surface has an even number of triangles,
 * so an odd number is increased by one. `mesh` is an oriented manifold with or without boundary, of
 * finer or coarser triangles; its boundary is preserved up to its own smoothness. If no edge can be
 * collapsed without damage, there are more triangles than desired. The result has the same bits on
 * every machine. `name` begins error messages. */
abut_status abuti_mesh_remesh(const abut_mesh *mesh, const char *name, const abuti_remesh *how,
                              abut_mesh **made);

#endif
