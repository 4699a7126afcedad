/* The search of nearest.c, compiled for AVX2 and FMA: two leaves at a time. */
#include "nearest/nearest_walk.h"

void abuti_bvh_search_8(search *s) {
    search_near(s);
}

void abuti_bvh_measure_8(search *s) {
    measure_all(s);
}
