/* What the kernels of the filter share, one for each number of lanes. */
#ifndef ABUTI_GEOM_SWEEP_FILTER_H
#define ABUTI_GEOM_SWEEP_FILTER_H

#include "geom/sweep.h"

typedef struct sweep_batch {
    int kind;
    const vec3 *start, *end;
    const uint32_t *four;
    float reach; /* separation and tolerance, rounded up */
} sweep_batch;

/* Separation and tolerance, rounded up. */
float abuti_sweep_filter_reach(const sweep_limits *limits);

/* Of the pairs in `list` (null: 0 to count) writes those that are not proven free by the direction
 * halfway through the step or, with `halves`, by one direction for each half of it. `survivors` may
 * be `list`. */
typedef size_t sweep_filter_kernel(const sweep_batch *batch, const uint32_t *list, size_t count,
                                   bool halves, uint32_t *survivors);
/* sweep_filter_lanes.c, by lanes. */
sweep_filter_kernel abuti_sweep_filter_4, abuti_sweep_filter_8, abuti_sweep_filter_16;

#endif
