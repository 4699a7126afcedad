/* Which pairs of triangles are equally near, on hosts and devices alike. */
#ifndef ABUTI_PAIR_CLOSEST_TIE_SHARED_H
#define ABUTI_PAIR_CLOSEST_TIE_SHARED_H

#include "base/math_shared.h"

/* How far a pair may be that is as near as the nearest: but for what coordinates are off by, and a
 * thousandth of the distance where that is less. */
static inline real pair_tie_reach(real nearest, real tie) {
    return nearest + real_min(tie, nearest * REAL(0.0009765625));
}

#endif
