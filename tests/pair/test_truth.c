/* What answers of the CPU say of their own worth; see truth.h. */
#include "truth.h"
