/* Which instructions this processor has, beyond those that simd.h takes for granted. */
#include "base/simd.h"

#include <stdatomic.h>
#ifdef ABUTI_WIDE_FILES
#include <cpuid.h>
#endif

static atomic_int most = 16;

void abuti_simd_at_most(int lanes) {
    atomic_store_explicit(&most, lanes, memory_order_relaxed);
}

#ifdef ABUTI_WIDE_FILES
/* Leaf 1, ecx; leaf 7, ebx; and the registers that the system saves (XCR0): Intel 64 and IA-32
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

/* The lanes that the processor has all instructions for which the wide files are compiled with.
 * By itself: __builtin_cpu_supports() needs a symbol that not every linker has for shared
 * libraries. */
static int lanes_of_processor(void) {
    unsigned a, b, c, d, first, saved, high;
    if (!__get_cpuid(1, &a, &b, &first, &d) || (first & NEEDED) != NEEDED ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 4;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if ((saved & SAVES_AVX) != SAVES_AVX || (b & (AVX2 | BMI2)) != (AVX2 | BMI2))
        return 4;
    return (saved & SAVES_AVX512) == SAVES_AVX512 && (b & AVX512) == AVX512 ? 16 : 8;
}
#endif

int abuti_simd_lanes(void) {
#ifdef ABUTI_WIDE_FILES
    static atomic_int found; /* cpuid takes some hundred cycles, and traps in virtual machines */
    int lanes = atomic_load_explicit(&found, memory_order_relaxed);
    if (!lanes) {
        lanes = lanes_of_processor();
        atomic_store_explicit(&found, lanes, memory_order_relaxed);
    }
    int allowed = atomic_load_explicit(&most, memory_order_relaxed);
    return lanes <= allowed ? lanes : allowed >= 8 ? 8 : 4;
#else
    return 4;
#endif
}
