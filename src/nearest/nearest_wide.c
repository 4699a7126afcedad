/* The search of nearest.c, compiled for AVX2 and FMA where there are such processors: two leaves at
 * a time. Elsewhere it is the same once more, and abuti_simd_wide() sees to it that nobody calls
 * it.
 */
#include "nearest/nearest_walk.h"

void abuti_bvh_search_wide(search *s) {
    search_near(s);
}

void abuti_bvh_measure_wide(search *s) {
    measure_all(s);
}
