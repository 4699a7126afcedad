/* The filter of sweeps with 8 lanes: built where the compiler can, called only where the processor
 * has them. */
#include "base/simd_lanes.h"
#include "geom/sweep_filter.h"

#ifdef ABUTI_SIMD_8

#define LANES 8
#include "geom/sweep_filter_lanes.h"

sweep_filter_kernel *abuti_sweep_filter_8(void) {
    return filter;
}

#else

sweep_filter_kernel *abuti_sweep_filter_8(void) {
    return NULL;
}

#endif
