/* Types that closest-point searches share. */
#ifndef ABUTI_NEAREST_H
#define ABUTI_NEAREST_H

#include "bvh/bvh.h"
#include "nearest/nearest_shared.h"

#include <abut/nearest.h>

/* The warm start of a query, kept from one point of a batch to the next. */
typedef struct bvh_hint {
    bool known;
    vec3 point; /* a point of the mesh, relative to the local origin */
} bvh_hint;

/* The closest point for validated arguments. */
void abuti_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                         abut_nearest *nearest);

#endif
