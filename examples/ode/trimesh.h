/* What the scenes of ODE share: meshes as bodies and for ODE's own colliders, poses, a clock. */
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

/* Scales a mesh to a size, its longest side, unless that is 0, moves its centroid to the origin,
 * and computes the mass of its volume. */
abut_status body_mesh_create(abut_mesh *raw, double size, abut_mesh **mesh, dMass *mass);
/* The pose of a body. */
abut_pose body_pose(dBodyID body);
/* Sets a random rotation; `random` returns numbers from -1 to 1. */
void body_turn(dBodyID body, double (*random)(void *state), void *state);
/* Seconds. */
double clock_now(void);

#endif
