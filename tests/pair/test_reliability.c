/* What answers of the CPU say of their own worth; see reliability.h. */
#include "reliability.h"
