/* The SIMD width of this processor, beyond the instructions that simd.h always uses. */
#include "base/simd.h"

#include <stdatomic.h>
#ifdef ABUTI_WIDE_LANES
#include <cpuid.h>
#endif

static atomic_int lanes_max = 16;

void abuti_simd_limit_lanes(int lanes) {
    atomic_store_explicit(&lanes_max, lanes, memory_order_relaxed);
}

#ifdef ABUTI_WIDE_LANES
/* CPUID leaf 1, ecx; leaf 7, ebx; and XCR0, the registers that the system saves: Intel 64 and IA-32
 * Architectures Software Developer's Manual, volume 1, sections 14.3 and 15.2. */
enum {
    FMA = 1 << 12,
    POPCNT = 1 << 23,
    OSXSAVE = 1 << 27,
    AVX = 1 << 28,
    AVX2 = 1 << 5,
    BMI2 = 1 << 8
};
#define NEEDED (FMA | POPCNT | OSXSAVE | AVX)
#define AVX512 (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31) /* F, DQ, BW, VL */
enum { SAVES_AVX = 0x06, SAVES_AVX512 = 0xe6 };

/* The largest number of lanes for which the processor has all instructions that the *_lanes.c files
 * are compiled with. Does not use __builtin_cpu_supports(), which needs a symbol that not every
 * linker provides for shared libraries. */
static int query_processor_lanes(void) {
    unsigned a, b, c, d, first, saved, high;
    if (!__get_cpuid(1, &a, &b, &first, &d) || (first & NEEDED) != NEEDED ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 4;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & SAVES_AVX) != SAVES_AVX || (b & (AVX2 | BMI2)) != (AVX2 | BMI2))
        return 4;
    return (saved & SAVES_AVX512) == SAVES_AVX512 && (b & AVX512) == AVX512 ? ABUTI_WIDE_LANES : 8;
}
#endif

int abuti_simd_lanes(void) {
#ifdef ABUTI_WIDE_LANES
    static atomic_int found; /* cpuid takes several hundred cycles, and traps in virtual machines */
    int lanes = atomic_load_explicit(&found, memory_order_relaxed);
    if (!lanes) {
        lanes = query_processor_lanes();
        atomic_store_explicit(&found, lanes, memory_order_relaxed);
    }
    int allowed = atomic_load_explicit(&lanes_max, memory_order_relaxed);
    return lanes <= allowed ? lanes : allowed >= 8 ? 8 : 4;
#else
    return 4;
#endif
}
