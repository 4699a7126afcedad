/* Which pairs of triangles are equally near, in C and OpenCL C. */
#ifndef ABUTI_PAIR_CLOSEST_TIE_SHARED_H
#define ABUTI_PAIR_CLOSEST_TIE_SHARED_H

#include "base/math_shared.h"

/* The largest distance of a pair that ties with the nearest: `tie` more, and at most 1/1024 of the
 * distance more. */
static inline real pair_tie_reach(real nearest, real tie) {
    return nearest + real_min(tie, nearest * REAL(0.0009765625));
}

#endif
