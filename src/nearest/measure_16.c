/* The end of a search for AVX-512 where few triangles are left: four at a time, which takes less
 * time than eight, or one. */
#include "nearest/search.h"

void abuti_bvh_measure_few_16(search *s) {
    measure_all(s);
}

void abuti_bvh_measure_one_16(search *s, uint32_t triangle) {
    measure_one(s, triangle);
}
