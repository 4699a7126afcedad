/* One set of names for vectors of 4, 8 or 16 floats, for files *_lanes.c, which the build compiles
 * once for each number of LANES. What they export is BY_LANES(name). */
#include "base/simd_lanes.h"

#define BY_LANES_(name, lanes) name##_##lanes
#define BY_LANES__(name, lanes) BY_LANES_(name, lanes)
#define BY_LANES(name) BY_LANES__(name, LANES)

#if LANES == 16
#define LANED(name) f16_##name
typedef f16 wide;
typedef m16 mask;
#define mask_bits m16_bits
#elif LANES == 8
#define LANED(name) f8_##name
typedef f8 wide;
typedef m8 mask;
#define mask_bits m8_bits
#else
#define LANED(name) f4_##name
typedef f4 wide;
typedef m4 mask;
#define mask_bits m4_bits
#endif
#define all LANED(all)
#define load LANED(load)
#define store LANED(store)
#define add LANED(add)
#define sub LANED(sub)
#define mul LANED(mul)
#define fused LANED(fused)
#define fused_less LANED(fused_less)
#define least LANED(min)
#define most LANED(max)
#define magnitude LANED(abs)
#define is_less LANED(less)
#define is_less_equal LANED(less_equal)
#define choose LANED(select)
#define where LANED(where)
