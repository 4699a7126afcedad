/* The kernel of sixteen lanes: built for AVX-512 where the compiler can, called only where the
 * processor has it. */
#include "bvh/lists.h"

#include "base/simd_lanes.h"

#include <math.h>

#ifdef ABUTI_SIMD_16

#define LANES 16
#include "bvh/lists_exact.h"
#include "bvh/lists_kernel.h"

const lists_kernel *abuti_lists_16(void) {
    static const lists_kernel kernel = {gather, filter, measure, exact};
    return &kernel;
}

#else

const lists_kernel *abuti_lists_16(void) {
    return NULL;
}

#endif
