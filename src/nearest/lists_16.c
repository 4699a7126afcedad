/* The kernel of sixteen lanes: built for AVX-512 where the compiler can, called only where the
 * processor has it. */
#include "nearest/lists.h"

#include "base/simd_lanes.h"

#include <math.h>

#ifdef ABUTI_SIMD_16

#define LANES 16
#include "nearest/lists_exact_lanes.h"
#include "nearest/lists_lanes.h"

const lists_kernel *abuti_lists_16(void) {
    static const lists_kernel kernel = {gather, filter, measure, exact};
    return &kernel;
}

#else

const lists_kernel *abuti_lists_16(void) {
    return NULL;
}

#endif
