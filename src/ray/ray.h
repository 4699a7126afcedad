/* What the files of rays share. */
#ifndef ABUTI_RAY_H
#define ABUTI_RAY_H

#include "bvh/gather.h"

#include <abut/ray.h>

/* The first triangle that a ray passes from behind, which is where it leaves a solid that it starts
 * in or on; others are as if they were not there. For arguments that have been checked. */
abut_ray_hit abuti_ray_leave(const abut_bvh *bvh, const abut_ray *ray, double limit);

/* ---- device_ray.c: on a device; all has been checked, but rays of a buffer ---- */

/* First hits, or only whether there are any. */
abut_status abuti_ray_there(const char *function, bvh_on_device *there, abut_array rays,
                            size_t count, double limit, bool any, abut_array answers);
abut_status abuti_ray_all_there(const bvh_gather *gather, abut_array rays);

#endif
