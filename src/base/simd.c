/* Which instructions this processor has, beyond those that simd.h takes for granted. */
#include "base/simd.h"

#include <stdatomic.h>

static atomic_bool narrow;

void abuti_simd_narrow(bool only) {
    atomic_store_explicit(&narrow, only, memory_order_relaxed);
}

bool abuti_simd_wide(void) {
#ifdef ABUTI_WIDE_FILES
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           !atomic_load_explicit(&narrow, memory_order_relaxed);
#else
    return false;
#endif
}

int abuti_simd_lanes(void) {
#ifdef ABUTI_WIDE_FILES
    if (abuti_simd_wide() && __builtin_cpu_supports("bmi2"))
        return __builtin_cpu_supports("avx512f") ? 16 : 8;
#endif
    return 4;
}
