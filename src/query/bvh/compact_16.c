/* Quantised boxes of the compact tree; see compact.h. For AVX-512, as everything that reads them.
 */
#include "bvh/compact.h"

#include "base/simd.h"

#include <float.h>
#include <math.h>

/* On each axis steps have the error of a difference, a quotient and a product, 3 x 2^-24 of at most
 * 65534 steps: less than 1/64. */
void abuti_bvh_wide_fit_16(bvh_wide_node *node, const bvh_wide_rows *rows) {
    const mw filled = (mw)(0xffffu >> (BVH_COMPACT_WIDTH - node->count));
    const fw none = fw_all(INFINITY), zero = fw_all(0);
    for (int axis = 0; axis < 3; axis++) {
        fw lo = fw_load(rows->lo[axis]), hi = fw_load(rows->hi[axis]);
        float low = fw_least(fw_select(filled, lo, none));
        float high = -fw_least(fw_select(filled, fw_sub(zero, hi), none));
        float step = (high - low) * ((1 + 0x1p-20f) / (BVH_STEPS - 1));
        step = step > FLT_MIN ? step : FLT_MIN;
        const fw from = fw_all(low), per_step = fw_all(1 / step);
        lo = fw_sub(fw_mul(fw_sub(lo, from), per_step), fw_all(0x1p-6f));
        hi = fw_add(fw_mul(fw_sub(hi, from), per_step), fw_all(1 + 0x1p-6f));
        fw_store_u16(node->lo[axis], fw_where(filled, fw_max(lo, zero)));
        fw_store_u16(node->hi[axis], fw_where(filled, hi));
        node->origin[axis] = low;
        node->step[axis] = step;
    }
}
