/* The view test on a device, and the sets of the features of sweeps. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "self/view_shared.h"

static inline vec3 load_position(__global const double *p, uint i) {
    return v3(p[3 * (size_t)i], p[3 * (size_t)i + 1], p[3 * (size_t)i + 2]);
}

/* Copies the positions that the host needs: the first `count` work-items at the start, the others
 * at the end. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
view_gather(uint count, __global const uint *wanted, __global const double *start,
            __global const double *end, __global double *gathered) {
    uint i = (uint)get_global_id(0);
    if (i >= 2 * count)
        return;
    uint at = wanted[i < count ? i : i - count];
    for (int axis = 0; axis < 3; axis++)
        gathered[3 * (size_t)i + axis] = (i < count ? start : end)[3 * (size_t)at + axis];
}

static inline uint set_index(uint set) {
    return (set >> 1) - (set >> 3); /* of a bit */
}

/* One work-item per triangle, ghosts after those of the mesh, and per vertex, for the regions. Each
 * triangle uses the part of the line that its corners see. `last`: the sets of the previous step.
 * Counts are made in local memory first, since most work-items count the same. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
view_test(view_primitive primitive, uint triangles, uint all, uint vertices,
          __global const uint *corners, __global const double *start, __global const double *end,
          __global const uchar *last, __global uchar *sets, uint which, __global uint *tallies,
          __local uint *counts) {
    uint i = (uint)get_global_id(0), item = (uint)get_local_id(0);
    double along[2];
    if (item < TALLY)
        counts[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < vertices && primitive.by_line) {
        int region = view_along(&primitive, load_position(start, i), load_position(end, i), along);
        if (region >= 0)
            atomic_inc(&counts[region]);
    }
    if (i < all) {
        vec3 from[3], to[3];
        double lo = 1.0, hi = 0.0;
        for (int k = 0; k < 3; k++) {
            uint corner = corners[3 * (size_t)i + k];
            from[k] = load_position(start, corner);
            to[k] = load_position(end, corner);
            if (primitive.by_line) {
                view_along(&primitive, from[k], to[k], along);
                lo = real_min(lo, along[0]);
                hi = real_max(hi, along[1]);
            }
        }
        view_checks checks =
            primitive.by_line ? view_checks_of(&primitive, lo, hi) : view_point_checks(&primitive);
        uint set = view_set_of(from, to, &checks);
        sets[i] = (uchar)set;
        if (i >= triangles && set != SET_P)
            atomic_inc(&counts[TALLY_GHOSTS]);
        if (i < triangles) {
            uint before = last[i], number = set_index(set);
            if (number > 0)
                atomic_inc(&counts[TALLY_SETS + number]);
            if (before != set) {
                atomic_inc(&counts[TALLY_ENTERED + number]);
                atomic_inc(&counts[TALLY_LEFT + set_index(before)]);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < TALLY && counts[item] > 0)
        atomic_add(&tallies[which * TALLY + item], counts[item]);
}

/* One work-item per feature: it has the sets of all triangles around it. */
__kernel __attribute__((reqd_work_group_size(VIEW_GROUP, 1, 1))) void
view_spread(uint count, uint faces_first, __global const uint *begin, __global const uint *around,
            __global const uchar *sets, __global uint *features) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint all = i >= faces_first ? sets[i - faces_first] : 0;
    for (uint k = i >= faces_first ? 0 : begin[i]; i < faces_first && k < begin[i + 1]; k++)
        all |= sets[around[k]];
    features[i] = all;
}

#endif
