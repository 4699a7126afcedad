/* base/math_shared.h in double, as the library uses it. */
#define ABUTI_REAL_BITS 64
#include "base/math_body.h"
