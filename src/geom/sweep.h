/* Elementary sweeps, private: many pairs at once. One pair: sweep_shared.h. */
#ifndef ABUTI_GEOM_SWEEP_H
#define ABUTI_GEOM_SWEEP_H

#include "base/base.h"
#include "geom/sweep_shared.h"

#include <abut/sweep.h>
#include <stddef.h>
#include <stdint.h>

/* What zeros in abut_sweep_find_options stand for; the tolerance as a part of the extent of the
 * positions. */
#define SWEEP_TOLERANCE 1e-10
#define SWEEP_STEPS 1000000

/* Reads and checks the options of a function, with lengths up to `longest`. A tolerance of 0 stays
 * for the caller, who knows the extent; `latest` is 1. */
abut_status abuti_sweep_limits(const char *function, const abut_sweep_find_options *options,
                               double longest, sweep_limits *limits, bool *exact);

/* Writes the indices (ascending) of those of `count` pairs that are not proven free over the whole
 * step by a few directions; gives how many. Pair i has the vertices four[4 i .. 4 i + 3], which
 * number `start` and `end`. */
size_t abuti_sweep_filter(int kind, const vec3 *start, const vec3 *end, const uint32_t *four,
                          size_t count, const sweep_limits *limits, uint32_t *survivors);

/* What the kernels of the filter get, one for each number of lanes. */
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
extern sweep_filter_kernel *const abuti_sweep_filter_4, *const abuti_sweep_filter_8,
                                                            *const abuti_sweep_filter_16;

/* Whether the features touch at any time of the step, by exact arithmetic. Coordinates are finite.
 * Fails only for lack of memory. */
abut_status abuti_sweep_exact(abut_context *context, int kind, const vec3 *start, const vec3 *end,
                              bool *touches);

#endif
