/* Which of the candidates of pair_closest.cl is the closest: a group for each pose.
 *
 * Corners are posed and distances taken in doubles, in the order of operations of the CPU, so that
 * they are the same bits. Of those that are as near as the nearest, but for a tie, the lowest pair
 * wins, by the triangle of a, then by that of b. The host measures the winner once more, for its
 * points.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64 /* else there is nothing to measure with */

#include "bvh/node_cl.h"
#include "geom/distance_shared.h"
#include "pair/closest_tie_shared.h"
#include "pair/pair_shared.h"

static inline triangle3 posed_triangle(__global const double *corners, uint which,
                                       __global const pair_motion *motion) {
    pair_motion m = *motion;
    triangle3 t = load_triangle(corners, which);
    for (int k = 0; k < 3; k++)
        t.corner[k] =
            v3_add(m.rotates ? m3_apply(&m.rotation, t.corner[k]) : t.corner[k], m.translation);
    return t;
}

ABUTI_APART double distance_of(__global const double *corners_a, __global const double *corners_b,
                               __global const pair_motion *motions, uint2 pair) {
    abut_feature features[2];
    return triangle_triangle_closest_features(posed_triangle(corners_a, pair.x, motions),
                                              posed_triangle(corners_b, pair.y, motions + 1),
                                              features)
        .distance;
}

static inline bool is_lower(uint2 pair, uint2 than) {
    return pair.x < than.x || (pair.x == than.x && pair.y < than.y);
}

#define SHARE (PAIR_CANDIDATES / MEASURE_GROUP) /* of an item */

/* Poses without candidates get none. */
__kernel __attribute__((reqd_work_group_size(MEASURE_GROUP, 1, 1))) void
pair_measure(__global const double *corners_a, __global const double *corners_b,
             __global const pair_motion *motions, __global const uint2 *meetings,
             __global const uint2 *found, __global const uint2 *pairs, __global uint2 *winners,
             __local double *distances) {
    __local uint2 *best_pairs = (__local uint2 *)(distances + MEASURE_GROUP);
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    uint2 mine = found[pose], best_pair = (uint2)(ABUT_NONE, ABUT_NONE);
    if (meetings[pose].y == PAIR_MEETS || meetings[pose].y == PAIR_TOO_MUCH ||
        mine.y == PAIR_WITHIN || mine.y == PAIR_TOO_MUCH)
        return;
    double best = INFINITY, mine_at[SHARE];
    for (uint k = 0; k < SHARE; k++) {
        uint which = item + k * MEASURE_GROUP;
        mine_at[k] = which < mine.y ? distance_of(corners_a, corners_b, motions + 2 * pose,
                                                  pairs[mine.x + which])
                                    : INFINITY;
        best = fmin(best, mine_at[k]);
    }
    distances[item] = best;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < MEASURE_GROUP; k++) /* by all items: see docs/decisions.md */
        best = fmin(best, distances[k]);
    double reach = pair_tie_reach(best, motions[2 * pose].tie);
    for (uint k = 0; k < SHARE; k++)
        if (item + k * MEASURE_GROUP < mine.y && mine_at[k] <= reach &&
            is_lower(pairs[mine.x + item + k * MEASURE_GROUP], best_pair))
            best_pair = pairs[mine.x + item + k * MEASURE_GROUP];
    best_pairs[item] = best_pair;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < MEASURE_GROUP; k++)
        if (is_lower(best_pairs[k], best_pair))
            best_pair = best_pairs[k];
    if (item == 0)
        winners[pose] = best_pair;
}

#endif
