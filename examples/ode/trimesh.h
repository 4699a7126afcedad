/* Triangle meshes for ODE's own colliders. */
#ifndef ABUT_TRIMESH_H
#define ABUT_TRIMESH_H

#include <abut/abut.h>

#include <ode/ode.h>

/* All zero: none. */
typedef struct trimesh {
    dTriMeshDataID data;
    float *positions;
} trimesh;

/* The mesh must outlive it: its indices are not copied. */
abut_status trimesh_create(const abut_mesh *mesh, trimesh *made);
void trimesh_destroy(trimesh *made);

#endif
