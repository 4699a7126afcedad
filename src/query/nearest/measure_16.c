/* The end of a search for AVX-512 with few remaining triangles: four at a time, which is faster
 * than eight, or one. */
#include "nearest/search.h"

void abuti_bvh_measure_few_16(search *s) {
    measure_candidates(s);
}

void abuti_bvh_measure_one_16(search *s, uint32_t triangle) {
    measure_one(s, triangle);
}
