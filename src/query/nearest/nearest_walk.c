/* The search of nearest.c, compiled for four lanes and for eight: one leaf or two at a time. */
#include "nearest/nearest_walk.h"

#include "base/simd_lanes.h"

void BY_LANES(abuti_bvh_search)(search *s) {
    search_in_floats(s);
}
