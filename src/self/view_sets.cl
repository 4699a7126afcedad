/* The view test on a device, and what it means for the features of sweeps. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "self/view_shared.h"

#define GROUP 256

static inline vec3 position(__global const double *p, uint i) {
    return v3(p[3 * (size_t)i], p[3 * (size_t)i + 1], p[3 * (size_t)i + 2]);
}

/* An item a vertex: where on the line it is seen from; `regions` counts. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_line(view_sight sight, uint count, __global const double *start, __global const double *end,
          __global double *along, __global uint *regions) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    double two[2];
    int region = view_along(&sight, position(start, i), position(end, i), two);
    along[2 * (size_t)i] = two[0];
    along[2 * (size_t)i + 1] = two[1];
    if (region >= 0)
        atomic_inc(&regions[region]);
}

/* An item a triangle, ghosts too. Each sees of the line what its own corners do. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_test(view_sight sight, uint count, __global const uint *corners, __global const double *start,
          __global const double *end, __global const double *along, __global uchar *sets) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    vec3 from[3], to[3];
    double lo = 1.0, hi = 0.0;
    for (int k = 0; k < 3; k++) {
        uint corner = corners[3 * (size_t)i + k];
        from[k] = position(start, corner);
        to[k] = position(end, corner);
        if (sight.by_line) {
            lo = real_min(lo, along[2 * (size_t)corner]);
            hi = real_max(hi, along[2 * (size_t)corner + 1]);
        }
    }
    view_checks checks = sight.by_line ? view_checks_of(&sight, lo, hi) : view_point_checks(&sight);
    sets[i] = (uchar)view_set_of(from, to, &checks);
}

/* An item a triangle of the mesh: its set goes to itself, its edges and its corners. `features`
 * begins with zeros. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
view_spread(uint count, __global const uint *corners, __global const uint *triangle_edges,
            __global const uchar *sets, uint edges_first, uint faces_first,
            __global uint *features) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint set = sets[i];
    features[faces_first + i] = set;
    for (int k = 0; k < 3; k++) {
        atomic_or(&features[corners[3 * (size_t)i + k]], set);
        atomic_or(&features[edges_first + triangle_edges[3 * (size_t)i + k]], set);
    }
}

#endif
