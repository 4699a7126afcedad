/* Models of the scenes in ODE: meshes with masses, for contacts of abut and for ODE's own
 * colliders. */
#ifndef ABUT_MODEL_H
#define ABUT_MODEL_H

#include <abut/abut.h>

#include <ode/ode.h>

typedef struct model {
    abut_mesh *mesh;
    abut_bvh *bvh;
    dMass mass;
    double radius;     /* upper bound of the distances of its vertices from the origin */
    double size;       /* longest side of its bounding box */
    abut_field *field; /* if contacts come from fields */
    abut_samples *samples;
    dTriMeshDataID data; /* for ODE's own colliders */
    float *positions;
} model;

/* Takes ownership of the mesh. Unless it is fixed, it is scaled so that its longest side is `size`
 * (0 = not scaled), its centroid moves to the origin, and it gets the mass of its volume. */
abut_status model_create(abut_mesh *raw, double size, bool is_fixed, model *made);
/* Adds a distance field, built on the device unless that is null, and, unless the model is fixed,
 * samples of vertices, edges and flat regions. Does nothing if there is a field already. */
abut_status model_add_field(model *m, uint32_t cells, abut_device *device);
/* Adds the data of ODE's own colliders, if there are none yet. */
abut_status model_add_trimesh(model *m);
void model_destroy(model *m);

#endif
