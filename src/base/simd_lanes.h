/* Short names for vectors of LANES floats, for the files *_lanes.c, which the build compiles once
 * for each number of LANES: 4, 8 and 16. They export BY_LANES(name). */
#include "base/simd.h"

#define BY_LANES_(name, lanes) name##_##lanes
#define BY_LANES__(name, lanes) BY_LANES_(name, lanes)
#define BY_LANES(name) BY_LANES__(name, LANES)

typedef fw wide;
typedef mw mask;
#define mask_bits mw_bits
#define all fw_all
#define load fw_load
#define store fw_store
#define add fw_add
#define sub fw_sub
#define mul fw_mul
#define fused fw_mul_add
#define fused_less fw_mul_from
#define least fw_min
#define most fw_max
#define magnitude fw_abs
#define is_less fw_less
#define is_less_equal fw_less_equal
#define choose fw_select
#define where fw_where
