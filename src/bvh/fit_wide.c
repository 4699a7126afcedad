/* fit.c once more, compiled for AVX2 where there are such processors. Boxes and blocks are the
 * same, since every operation is rounded once. */
#define ABUTI_FIT_WIDE
#include "bvh/fit.c"
