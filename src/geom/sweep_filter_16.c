/* The filter of sweeps with 16 lanes: built where the compiler can, called only where the processor
 * has them. */
#include "base/simd_lanes.h"
#include "geom/sweep_filter.h"

#ifdef ABUTI_SIMD_16

#define LANES 16
#include "geom/sweep_filter_lanes.h"

sweep_filter_kernel *abuti_sweep_filter_16(void) {
    return filter;
}

#else

sweep_filter_kernel *abuti_sweep_filter_16(void) {
    return NULL;
}

#endif
