/* The first look at candidates, which most do not outlive: the filter of the CPU, in floats, with
 * the same operations. Once by the direction halfway through the step, then, for what that leaves,
 * by one direction for each half.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "sweep/narrow_kernel.h"

/* The names of simd_laned.h, for one lane. */
typedef float wide;
typedef bool mask;
#define all(x) ((float)(x))
#define add(a, b) ((a) + (b))
#define sub(a, b) ((a) - (b))
#define mul(a, b) ((a) * (b))
#define quotient(a, b) ((a) / (b))
#define root(a) sqrt(a)
#define magnitude(a) fabs(a)
#define is_less(a, b) ((a) < (b))
#define choose(m, a, b) ((m) ? (a) : (b))
#define mask_bits(m) ((m) ? 1u : 0u)
static inline float least(float a, float b) {
    return a < b ? a : b;
}
static inline float most(float a, float b) {
    return a > b ? a : b;
}

#include "geom/sweep_lanes_shared.h"

static inline wide3 difference(vec3 a, vec3 b) {
    wide3 d;
    d.x = (float)(a.x - b.x);
    d.y = (float)(a.y - b.y);
    d.z = (float)(a.z - b.z);
    return d;
}

static inline float extent_of(wide3 q) {
    return most(fabs(q.x), most(fabs(q.y), fabs(q.z)));
}

/* As survivors_of() in sweep_filter_kernel.h. */
static bool survives(int kind, const wide_frame *ends, float reach, bool halves) {
    float extent = 0.0f;
    for (int end = 0; end < 2; end++)
        for (int k = 0; k < 3; k++)
            extent = most(extent, extent_of(ends[end].q[k]));
    bool is_free = extent < EXTENT_MAX && EXTENT_MIN < extent;
    for (int k = 0; k <= halves && is_free; k++) {
        float time = !halves ? 0.5f : k ? 0.75f : 0.25f;
        is_free = proven(kind, ends, extent, reach, direction(kind, ends, time),
                         !halves ? WHOLE
                         : k     ? SECOND
                                 : FIRST);
    }
    return !is_free;
}

/* From the list whose counts are the words `from` and from + 1 to the one of `to`. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_filter(__global const uint2 *candidates, uint candidates_room, uint from, uint to,
             uint halves, __global const uint *edges, __global const uint *faces,
             __global const double *start, __global const double *end, float reach,
             __global uint2 *open, uint open_room, __global uint *counts, __local uint *room) {
    uint of_edges = counts[from], others = counts[from + 1];
    if (!fits(of_edges, others, candidates_room))
        return;
    uint tiles = tiles_of(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, candidates_room);
        bool stays = t.there;
        uint2 pair = (uint2)(0, 0);
        if (t.there) {
            wide_frame ends[2];
            uint at[4];
            pair = candidates[t.at];
            corners_of_pair(t.kind, pair, edges, faces, at);
            for (int k = 0; k < 2; k++) {
                __global const double *p = k ? end : start;
                vec3 r = position(p, at[t.kind]);
                ends[k].q[0] = difference(position(p, at[0]), r);
                ends[k].q[1] = difference(position(p, at[t.kind == SWEEP_EDGE_EDGE ? 1 : 2]), r);
                ends[k].q[2] = difference(position(p, at[3]), r);
            }
            stays = survives(t.kind, ends, reach, halves != 0);
        }
        pass_on(stays, t.kind, pair, open, open_room, counts + to, room);
    }
}

#endif
