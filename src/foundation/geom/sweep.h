/* Elementary sweeps, private: many pairs at once. For one pair: sweep_shared.h. */
#ifndef ABUTI_GEOM_SWEEP_H
#define ABUTI_GEOM_SWEEP_H

#include "base/base.h"
#include "geom/sweep_shared.h"

#include <abut/sweep.h>
#include <stddef.h>
#include <stdint.h>

/* Defaults for zeros in abut_sweep_find_options; the tolerance is a fraction of the extent of the
 * positions. */
#define SWEEP_TOLERANCE 1e-10
#define SWEEP_STEPS 1000000

/* Reads and validates the options of a function, with lengths up to `longest`. Sets `latest` to 1.
 * A tolerance of 0 stays 0: the caller replaces it, because the extent is known there. */
abut_status abuti_sweep_limits(const char *function, const abut_sweep_find_options *options,
                               double longest, sweep_limits *limits, bool *exact);

/* Writes the indices, ascending, of those of `count` pairs that a few directions do not prove free
 * during the whole step; returns their number. Pair i has the vertices four[4 i .. 4 i + 3],
 * indices into `start` and `end`. */
size_t abuti_sweep_filter(int kind, const vec3 *start, const vec3 *end, const uint32_t *four,
                          size_t count, const sweep_limits *limits, uint32_t *survivors);

/* Arguments of the filter functions, of which there is one for each number of lanes. */
typedef struct sweep_batch {
    int kind;
    const vec3 *start, *end;
    const uint32_t *four;
    float reach; /* separation plus tolerance, rounded up */
} sweep_batch;

/* Separation plus tolerance, rounded up. */
float abuti_sweep_filter_reach(const sweep_limits *limits);

/* Writes those of the pairs in `list` (null: 0 to count) that are not proven free by the direction
 * at the middle of the step or, with `halves`, by one direction for each half of it. `survivors`
 * may be `list`. */
typedef size_t sweep_filter_kernel(const sweep_batch *batch, const uint32_t *list, size_t count,
                                   bool halves, uint32_t *survivors);
/* sweep_filter_lanes.c, by number of lanes. */
extern sweep_filter_kernel *const abuti_sweep_filter_4, *const abuti_sweep_filter_8,
                                                            *const abuti_sweep_filter_16;

/* Determines by exact arithmetic whether the features touch at any time of the step. Coordinates
 * are finite. Fails only if out of memory. */
abut_status abuti_sweep_exact(abut_context *context, int kind, const vec3 *start, const vec3 *end,
                              bool *touches);

#endif
