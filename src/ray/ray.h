/* What the files of rays share. */
#ifndef ABUTI_RAY_H
#define ABUTI_RAY_H

#include "bvh/gather.h"

#include <abut/ray.h>

/* ---- device_ray.c: rays that have been checked, on a device ---- */

abut_status abuti_ray_first_there(const char *function, bvh_on_device *there,
                                  const abut_ray *rays, size_t count, double limit,
                                  abut_ray_hit *hits);
abut_status abuti_ray_any_there(const char *function, bvh_on_device *there,
                                const abut_ray *rays, size_t count, double limit, bool *any);
abut_status abuti_ray_all_there(bvh_on_device *there, const bvh_gather *gather,
                                const abut_ray *rays, abut_ray_hit *hits);
/* The first hits of rays that are on the device, which go to a buffer there. */
abut_status abuti_ray_first_buffer(const abut_bvh *bvh, const abut_buffer *rays, size_t count,
                                   double limit, abut_buffer *hits);

#endif
