/* base/math_shared.h in float, as a device uses it. */
#define ABUTI_REAL_BITS 32
#include "base/math_body.h"
