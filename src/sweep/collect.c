/* The walk of groups through a tree: which kernel, and the one that runs anywhere. */
#include "base/simd.h"

#define LANES 4
#include "sweep/collect_lanes.h"

void abuti_broad_collect(const sweep_sides *sides, sweep_cursor *cursor,
                         sweep_candidates *candidates) {
    const int lanes = abuti_simd_lanes();
    abuti_collect *wider = lanes == 16 ? abuti_collect_16() : lanes == 8 ? abuti_collect_8() : NULL;
    (wider ? wider : collect)(sides, cursor, candidates);
}
