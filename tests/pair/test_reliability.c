/* The reliability of results of the CPU; see reliability.h. */
#include "reliability.h"
