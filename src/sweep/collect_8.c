/* The kernel of eight lanes: built for AVX2, FMA and BMI2 where the compiler can, called only
 * where the processor has it. */
#include "base/simd_lanes.h"
#include "sweep/broad.h"

#ifdef ABUTI_SIMD_8

#define LANES 8
#include "sweep/collect_lanes.h"

abuti_collect *abuti_collect_8(void) {
    return collect;
}

#else

abuti_collect *abuti_collect_8(void) {
    return NULL;
}

#endif
