/* Sweeps of shapes that move rigidly: meshes, primitives by their cores, and planes. */
#ifndef ABUTI_SWEEP_RIGID_H
#define ABUTI_SWEEP_RIGID_H

#include "collider/collider.h"
#include "geom/pose.h"

#include <abut/sweep.h>

#define RIGID_TOLERANCE 1e-6   /* default, relative to the size of the smaller shape */
#define RIGID_ROUNDING 0x1p-48 /* error of positions, relative to the largest coordinate */

/* A shape as sweeps see it. */
typedef struct sweep_shape {
    const abut_collider *collider; /* without its pose */
    const abut_bvh *bvh;           /* of a mesh, or the core of a primitive; null for a plane */
    bool is_core;
    double radius; /* around the core */
    box3 bounds;   /* in local coordinates; not for planes */
} sweep_shape;

static inline double sweep_shape_size(const sweep_shape *s) {
    return v3_max_abs(v3_sub(s->bounds.hi, s->bounds.lo));
}
/* Upper bound of the distance of a shape's points from its origin. */
static inline double sweep_shape_reach(const sweep_shape *s) {
    return v3_length(v3_max(v3_abs(s->bounds.lo), v3_abs(s->bounds.hi)));
}

/* ---- rigid_core.c ---- */

/* Creates the core of a sphere, capsule, box or cylinder, and sets the radius around it. */
abut_status abuti_sweep_create_core(const char *function, abut_context *context,
                                    const abut_collider *primitive, abut_bvh **core,
                                    double *radius);

/* ---- rigid_plane.c ---- */

/* A shape and a plane that move. */
typedef struct sweep_plane {
    const sweep_shape *shape;
    const abut_plane *plane;
    abuti_path path, plane_path;
    const vec3 *points; /* relative to `origin` */
    size_t count;
    vec3 origin, few[8];
    double radius; /* around each point */
    double normal_length;
    double bend; /* max |f''| / 8 */
    double separation, tolerance;
} sweep_plane;

/* Prepares the search; false if the shape has no points, because it has no BVH. */
bool abuti_sweep_plane_init(sweep_plane *f, const sweep_shape *shape, const abuti_step *step,
                            const abut_plane *plane, const abuti_step *plane_step,
                            const abut_sweep_rigid_options *options);
/* Height of the lowest point above the plane at a time. */
double abuti_sweep_plane_height(const sweep_plane *f, double time, size_t *which);
/* Finds the first time at which a point is within the separation. Sets time, point and normal of a
 * hit; the normal points away from the plane. */
void abuti_sweep_plane_search(const sweep_plane *f, abut_sweep_rigid_result *result);

/* ---- rigid.c ---- */

/* Sweeps two shapes that are not planes, with validated options. */
abut_status abuti_sweep_shapes(const sweep_shape *a, const abuti_step *step_a, const sweep_shape *b,
                               const abuti_step *step_b, const abut_sweep_rigid_options *options,
                               abut_sweep_rigid_result *result);

#endif
