/* Operations on vectors of LANES floats under names without the width, for the files *_lanes.c,
 * which the build compiles once for each number of LANES: 4, 8 and 16. They export BY_LANES(name).
 */
#include "base/simd.h"

#define BY_LANES_(name, lanes) name##_##lanes
#define BY_LANES__(name, lanes) BY_LANES_(name, lanes)
#define BY_LANES(name) BY_LANES__(name, LANES)

typedef fw wide;
typedef mw mask;
#define v_mask_bits mw_bits
#define v_all fw_all
#define v_load fw_load
#define v_store fw_store
#define v_add fw_add
#define v_sub fw_sub
#define v_mul fw_mul
#define v_mul_add fw_mul_add
#define v_mul_from fw_mul_from
#define v_min fw_min
#define v_max fw_max
#define v_abs fw_abs
#define v_less fw_less
#define v_less_equal fw_less_equal
#define v_select fw_select
