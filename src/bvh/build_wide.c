/* build.c once more, compiled for AVX2 where there are such processors: a box is one register
 * there. The tree is the same, since minima and single roundings are. */
#define ABUTI_BUILD_WIDE
#include "bvh/build.c"
