/* The kernel of sixteen lanes: built for AVX-512 where the compiler can, called only where
 * the processor has it. */
#include "field/build/cells.h"

#include "base/simd_lanes.h"

#include <math.h>

#ifdef ABUTI_SIMD_16

#define LANES 16
#include "field/build/cells_lanes.h"

const cells_kernel *abuti_cells_16(void) {
    static const cells_kernel kernel = {gather, take, filter, measure};
    return &kernel;
}

#else

const cells_kernel *abuti_cells_16(void) {
    return NULL;
}

#endif
