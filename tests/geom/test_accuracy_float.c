#define ABUTI_REAL_BITS 32
#include "accuracy.h"
