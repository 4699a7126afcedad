/* The margin of the nearest-point search, with wide instructions where they can be compiled. */
#include "margin_body.h"
