/* The kernel of eight lanes: built for AVX2 and FMA where the compiler can, called only where the
 * processor has them. */
#include "bvh/lists.h"

#include "base/simd.h"

#ifdef ABUTI_SIMD_EIGHT

#define LANES 8
#include "bvh/lists_kernel.h"

const lists_kernel *abuti_lists_wide(void) {
    static const lists_kernel kernel = {gather, filter, measure};
    return &kernel;
}

#else

const lists_kernel *abuti_lists_wide(void) {
    return NULL;
}

#endif
