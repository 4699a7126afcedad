/* Which of the candidates of pair_closest.cl is the closest: a work-group for each pose.
 *
 * Corners are transformed and distances computed in doubles, in the order of operations of the CPU,
 * so that they have the same bits. Of the pairs that tie with the nearest the lowest is the result,
 * by the triangle of a, then by that of b. The host measures it once more to get the witness
 * points.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64 /* without doubles the host measures */

#include "bvh/node_cl.h"
#include "geom/distance_shared.h"
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

ABUTI_NOINLINE double distance_of(__global const double *corners_a,
                                  __global const double *corners_b,
                                  __global const pair_motion *motions, uint2 pair) {
    abut_feature features[2];
    return triangle_triangle_closest_features(posed_triangle(corners_a, pair.x, motions),
                                              posed_triangle(corners_b, pair.y, motions + 1),
                                              features)
        .distance;
}

static inline bool is_lower_pair(uint2 pair, uint2 than) {
    return pair.x < than.x || (pair.x == than.x && pair.y < than.y);
}

#define CANDIDATES_PER_ITEM (PAIR_CANDIDATES_MAX / MEASURE_GROUP) /* of a work-item */

/* Writes the closest pair of each pose that has candidates. */
__kernel __attribute__((reqd_work_group_size(MEASURE_GROUP, 1, 1))) void
pair_measure(__global const double *corners_a, __global const double *corners_b,
             __global const pair_motion *motions, __global const uint2 *intersections,
             __global const uint2 *found, __global const uint2 *pairs, __global uint2 *winners,
             __local double *distances) {
    __local uint2 *best_pairs = (__local uint2 *)(distances + MEASURE_GROUP);
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    uint2 mine = found[pose], best_pair = (uint2)(ABUT_NONE, ABUT_NONE);
    if (intersections[pose].y == PAIR_INTERSECTS || intersections[pose].y == PAIR_OVERFLOW ||
        mine.y == PAIR_WITHIN || mine.y == PAIR_OVERFLOW)
        return;
    double best = INFINITY, mine_at[CANDIDATES_PER_ITEM];
    for (uint k = 0; k < CANDIDATES_PER_ITEM; k++) {
        uint which = item + k * MEASURE_GROUP;
        mine_at[k] = which < mine.y ? distance_of(corners_a, corners_b, motions + 2 * pose,
                                                  pairs[mine.x + which])
                                    : INFINITY;
        best = fmin(best, mine_at[k]);
    }
    distances[item] = best;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < MEASURE_GROUP; k++) /* every work-item does this: see docs/decisions.md */
        best = fmin(best, distances[k]);
    double reach = pair_tie_reach(best, motions[2 * pose].tie);
    for (uint k = 0; k < CANDIDATES_PER_ITEM; k++)
        if (item + k * MEASURE_GROUP < mine.y && mine_at[k] <= reach &&
            is_lower_pair(pairs[mine.x + item + k * MEASURE_GROUP], best_pair))
            best_pair = pairs[mine.x + item + k * MEASURE_GROUP];
    best_pairs[item] = best_pair;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < MEASURE_GROUP; k++)
        if (is_lower_pair(best_pairs[k], best_pair))
            best_pair = best_pairs[k];
    if (item == 0)
        winners[pose] = best_pair;
}

#endif
