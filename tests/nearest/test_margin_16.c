/* The margin of the nearest-point search, with AVX-512 where it can be compiled. */
#define ABUTI_FOUR_GROUPS
#include "margin_body.h"
