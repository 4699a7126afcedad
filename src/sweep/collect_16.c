/* The kernel of sixteen lanes: built for AVX-512 where the compiler can, called only
 * where the processor has it. */
#include "base/simd_lanes.h"
#include "sweep/broad.h"

#ifdef ABUTI_SIMD_16

#define LANES 16
#include "sweep/collect_lanes.h"

abuti_collect *abuti_collect_16(void) {
    return collect;
}

#else

abuti_collect *abuti_collect_16(void) {
    return NULL;
}

#endif
