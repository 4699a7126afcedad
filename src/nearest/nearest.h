/* What the searches for nearest points share. */
#ifndef ABUTI_NEAREST_H
#define ABUTI_NEAREST_H

#include "bvh/bvh.h"
#include "nearest/nearest_shared.h"

#include <abut/nearest.h>

/* What a query keeps from one point to the next of a batch: a bound to start from. */
typedef struct bvh_hint {
    bool known;
    vec3 point; /* some point of the mesh, relative to its origin */
} bvh_hint;

/* The nearest point for arguments that have been checked. */
void abuti_nearest_point(const abut_bvh *bvh, abut_vec3 point, double radius, bvh_hint *hint,
                         abut_nearest *nearest);

#endif
