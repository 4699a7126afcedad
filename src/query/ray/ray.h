/* Functions that the files of ray queries share. */
#ifndef ABUTI_RAY_H
#define ABUTI_RAY_H

#include "bvh/gather.h"

#include <abut/ray.h>

/* The first triangle that a ray passes from behind: where it leaves a solid that it starts in or
 * on; other triangles are ignored. For validated arguments. */
abut_ray_hit abuti_ray_find_exit(const abut_bvh *bvh, const abut_ray *ray, double limit);
/* The wall thickness at a point of the surface, as the parameter of the hit: the distance along the
 * unit vector `inwards` to where the ray leaves the solid. The ray starts at the distance `start`,
 * so that a touching surface is not hit. The triangle is ABUT_NONE if there is no wall within the
 * limit. */
abut_ray_hit abuti_ray_chord(const abut_bvh *bvh, vec3 point, vec3 inwards, double start,
                             double limit);

/* Builds the tree for batches of rays on the CPU, if there is none; see wide.h. Thread-safe. */
abut_status abuti_ray_prepare(const abut_bvh *bvh);

/* ---- device_ray.c: on a device; arguments have been validated, except for rays in a buffer ----
 */

/* First hits, or only whether there are any. */
abut_status abuti_ray_on_device(const char *function, bvh_on_device *there, abut_array rays,
                                size_t count, double limit, bool any, abut_array results);
abut_status abuti_ray_all_on_device(const bvh_gather *gather, abut_array rays);

#endif
