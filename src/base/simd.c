/* Which instructions this processor has, beyond those that simd.h takes for granted. */
#include "base/simd.h"

#include <stdatomic.h>

static atomic_int most = 16;

void abuti_simd_at_most(int lanes) {
    atomic_store_explicit(&most, lanes, memory_order_relaxed);
}

#ifdef ABUTI_WIDE_FILES
/* All that sixteen lanes are compiled for; processors have them together but for one kind. */
static bool has_16(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

int abuti_simd_lanes(void) {
#ifdef ABUTI_WIDE_FILES
    int allowed = atomic_load_explicit(&most, memory_order_relaxed);
    if (allowed >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return allowed >= 16 && has_16() ? 16 : 8;
#endif
    return 4;
}
