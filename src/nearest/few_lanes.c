/* The end of a search with few candidates. */
#include "base/simd_lanes.h"
#include "nearest/search.h"

void BY_LANES(abuti_bvh_measure)(search *s) {
    measure_all(s);
}

void BY_LANES(abuti_bvh_measure_one)(search *s, uint32_t triangle) {
    measure_one(s, triangle);
}
