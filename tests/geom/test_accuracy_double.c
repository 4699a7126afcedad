#define ABUTI_REAL_BITS 64
#include "accuracy.h"
