/* abut fields as a geometry class of the Open Dynamics Engine.
 *
 * A geom of this class is a mesh with its BVH, distance field and samples. It collides with its own
 * kind by fields, and with ODE's planes, spheres, capsules and boxes exactly, through dCollide()
 * and dSpaceCollide() like any other. These objects may serve any number of geoms, and must outlive
 * them.
 */
#ifndef ABUT_ODE_H
#define ABUT_ODE_H

#include <abut/abut.h>

#include <ode/ode.h>

/* Creates a geom, in a space unless that is null. The coordinates of the mesh are those of the
 * geom, so a body needs a mesh whose centroid is at the origin. Returns null if ODE has no more
 * classes. */
dGeomID abut_ode_create(dSpaceID space, const abut_bvh *bvh, const abut_field *field,
                        const abut_samples *samples);

/* Sets the largest number of contacts per patch that ODE receives; the default is 4. */
void abut_ode_set_patch(dGeomID geom, size_t most);

#endif
