/* Many pairs at once: those that one direction proves free for all the step, or one for each half
 * of it, are left out. In floats; see sweep_lanes_shared.h for the proof. */
#include "geom/sweep_filter.h"

#include "base/simd.h"

#include <float.h>

float abuti_sweep_filter_reach(const sweep_limits *limits) {
    double reach = limits->separation + limits->tolerance;
    /* beyond, nothing is proven */
    return reach < 1e30 ? (float)(reach * (1 + 1e-6)) + FLT_MIN : FLT_MAX;
}

size_t abuti_sweep_filter(int kind, const vec3 *start, const vec3 *end, const uint32_t *four,
                          size_t count, const sweep_limits *limits, uint32_t *survivors) {
    sweep_filter_kernel *run = ABUTI_BY_LANES(abuti_sweep_filter);
    sweep_batch batch = {kind, start, end, four, abuti_sweep_filter_reach(limits)};
    count = run(&batch, NULL, count, false, survivors);
    return run(&batch, survivors, count, true, survivors);
}
