/* What the files of rays share. */
#ifndef ABUTI_RAY_H
#define ABUTI_RAY_H

#include "bvh/bvh.h"

#include <abut/ray.h>

/* Refuses the first ray that is not legal. */
abut_status abuti_bvh_check_rays(const char *function, abut_context *context, const abut_ray *rays,
                                 size_t count);

#endif
