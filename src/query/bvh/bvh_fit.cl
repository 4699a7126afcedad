/* Boxes of a BVH on a device, for changed positions.
 *
 * Every slot of a node contains the leaves of a range, so its box does not depend on the order of
 * nodes. The boxes of leaves are joined into a pyramid (level h + 1 has the pairs of level h, all
 * levels in one array), and the box of each slot is joined from the few entries that cover its
 * range. This needs a launch for each level of the pyramid, at most 28.
 *
 * Boxes have the same bits as those of refit_lanes.c, since a corner is stored as floats rounded
 * down and up, and rounding commutes with minima.
 */
#include "bvh/build_cl.h"

/* One work-item per leaf. `vertices`: six floats each, rounded down and up. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
fit_leaves(__global const float *vertices, __global const uint *indices, __global uint *order,
           __global float4 *pyramid, uint triangle_count, uint leaf_count) {
    uint leaf = (uint)get_global_id(0);
    if (leaf >= leaf_count)
        return;
    float4 lo = (float4)(INFINITY, INFINITY, INFINITY, 0.0f), hi = -lo;
    size_t first = (size_t)leaf * BVH_WIDTH;
    for (uint i = 0; i < 3 * BVH_WIDTH; i++) {
        size_t place = first + i / 3;
        if (place >= triangle_count) { /* the last leaf is filled up with its last triangle */
            if (i % 3 == 0)
                order[place] = order[triangle_count - 1];
            continue;
        }
        __global const float *v = vertices + 6 * (size_t)indices[3 * (size_t)order[place] + i % 3];
        lo = fmin(lo, (float4)(v[0], v[1], v[2], 0.0f));
        hi = fmax(hi, (float4)(v[3], v[4], v[5], 0.0f));
    }
    pyramid[2 * (size_t)leaf] = lo;
    pyramid[2 * (size_t)leaf + 1] = hi;
}

/* One work-item per place of the order: its corners, rounded down. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
fit_triangles(__global const float *vertices, __global const uint *indices,
              __global const uint *order, __global float *triangles, uint count) {
    size_t i = get_global_id(0);
    if (i >= count)
        return;
    for (uint k = 0; k < 9; k++)
        triangles[9 * i + k] = vertices[6 * (size_t)indices[3 * (size_t)order[i] + k / 3] + k % 3];
}

/* Joins the pairs of a level of `count` entries, which begins at `from` and ends where the next one
 * begins. One work-item per entry of that. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
fit_pyramid(__global float4 *pyramid, uint from, uint count) {
    uint at = (uint)get_global_id(0);
    if (at >= (count + 1) / 2)
        return;
    size_t first = (size_t)from + 2 * at, second = (size_t)from + min(2 * at + 1, count - 1),
           to = (size_t)from + count + at;
    pyramid[2 * to] = fmin(pyramid[2 * first], pyramid[2 * second]);
    pyramid[2 * to + 1] = fmax(pyramid[2 * first + 1], pyramid[2 * second + 1]);
}

/* One work-item per slot. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
fit_nodes(__global const float4 *pyramid, __global const uint2 *slot_ranges,
          __global bvh_node *nodes, uint leaf_count, uint slot_count) {
    uint at = (uint)get_global_id(0);
    if (at >= slot_count)
        return;
    uint2 range = slot_ranges[at];
    uint begin = range.x, end = range.x + range.y, from = 0, count = leaf_count;
    float4 lo = (float4)(INFINITY), hi = -lo;
    while (begin < end) {
        if (begin & 1) {
            lo = fmin(lo, pyramid[2 * (size_t)(from + begin)]);
            hi = fmax(hi, pyramid[2 * (size_t)(from + begin) + 1]);
            begin++;
        }
        if (end & 1) {
            end--;
            lo = fmin(lo, pyramid[2 * (size_t)(from + end)]);
            hi = fmax(hi, pyramid[2 * (size_t)(from + end) + 1]);
        }
        from += count;
        count = (count + 1) / 2;
        begin /= 2;
        end /= 2;
    }
    write_box(nodes + at / BVH_WIDTH, at % BVH_WIDTH, lo, hi);
}

/* ---- positions in doubles ----
 *
 * For devices with doubles. The host converts for the others, with the same bits. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

/* Rounds positions down and up to floats in the frame of a BVH. One work-item per coordinate. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_positions(__global const double *positions, __global float *vertices, double scale,
                uint count) {
    size_t i = get_global_id(0);
    if (i >= (size_t)count * 3)
        return;
    double x = positions[i] * scale;
    size_t to = i / 3 * 6 + i % 3;
    vertices[to] = convert_float_rtn(x);
    vertices[to + 3] = convert_float_rtp(x);
}

/* Corners of triangles in absolute coordinates: the bits of the input (see bvh_triangle()). One
 * work-item per corner. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
round_corners(__global const double *positions, __global const uint *indices, double origin_x,
              double origin_y, double origin_z, uint count, __global double *corners) {
    size_t i = get_global_id(0);
    if (i >= (size_t)count * 3)
        return;
    __global const double *p = positions + 3 * (size_t)indices[i];
    corners[3 * i] = origin_x + p[0];
    corners[3 * i + 1] = origin_y + p[1];
    corners[3 * i + 2] = origin_z + p[2];
}

#endif
