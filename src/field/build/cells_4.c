/* The kernel of four lanes, which runs anywhere, and the choice of the quickest. */
#include "field/build/cells.h"

#include <math.h>

#define LANES 4
#include "field/build/cells_lanes.h"

const cells_kernel *abuti_cells_kernel(void) {
    static const cells_kernel four = {gather, take, filter, measure};
    int lanes = abuti_simd_lanes();
    const cells_kernel *more = lanes >= 16 ? abuti_cells_16() : NULL;
    more = !more && lanes >= 8 ? abuti_cells_8() : more;
    return more ? more : &four;
}
