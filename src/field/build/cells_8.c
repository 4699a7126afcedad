/* The kernel of eight lanes: built for AVX2, FMA and BMI2 where the compiler can, called only where
 * the processor has it. */
#include "field/build/cells.h"

#include "base/simd_lanes.h"

#include <math.h>

#ifdef ABUTI_SIMD_8

#define LANES 8
#include "field/build/cells_lanes.h"

const cells_kernel *abuti_cells_8(void) {
    static const cells_kernel kernel = {gather, take, filter, measure};
    return &kernel;
}

#else

const cells_kernel *abuti_cells_8(void) {
    return NULL;
}

#endif
