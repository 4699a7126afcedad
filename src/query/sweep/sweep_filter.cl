/* The filter of candidates, which removes most of them: the operations of the CPU, in floats. The
 * first launch uses the direction of half the step, the second one direction per half step for the
 * remaining candidates.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "sweep/narrow_cl.h"

#include "sweep/filter_cl.h"

/* From the list whose counters are the words `from` and from + 1 to the list of `to`. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_filter(__global const uint2 *candidates, uint candidates_room, uint from, uint to,
             uint halves, __global const uint *edges, __global const uint *faces,
             __global const double *start, __global const double *end, float reach,
             __global uint2 *open, uint open_room, __global uint *counts, __local uint *room) {
    uint of_edges = counts[from], others = counts[from + 1];
    if (!fits(of_edges, others, candidates_room))
        return;
    uint tiles = count_tiles(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, candidates_room);
        bool stays = t.there;
        uint2 pair = (uint2)(0, 0);
        if (t.there) {
            vec3 begun[4], ended[4];
            uint at[4];
            pair = candidates[t.at];
            corners_of_pair(t.kind, pair, edges, faces, at);
            for (int k = 0; k < 4; k++) {
                begun[k] = position(start, at[k]);
                ended[k] = position(end, at[k]);
            }
            stays = survives(t.kind, begun, ended, reach, halves != 0);
        }
        append_pairs(stays, t.kind, pair, open, open_room, counts + to, room);
    }
}

#endif
