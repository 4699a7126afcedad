/* Closest points of many points on a device, with the same bits as search_lanes.c.
 *
 * Method: as there, floats decide what can be pruned and doubles measure the rest. Points are
 * transformed to the frame of the BVH (nearest_frame) and sorted along a Morton curve, so that the
 * work-items of a group traverse the same nodes. nearest_find traverses the tree in floats and
 * leaves the few candidate triangles; nearest_measure measures these in doubles. If there are too
 * many candidates, or a point is too far away for floats, nearest_complete traverses the tree in
 * doubles.
 *
 * The margin m bounds the error of a distance in floats; it is derived as in search_lanes.c, with
 * corners rounded to floats instead of quantised. Let b be the smallest distance found. The true
 * one is at most b + m, so triangles with a computed distance of more than b + 2 m cannot be
 * nearest. Boxes are measured from the rounded point and have errors below m too.
 */
#include "geom/closest_shared.h"
#include "nearest/walk_cl.h"

#if ABUTI_REAL_BITS == 64
#include "nearest/complete_cl.h"

/* ---- order ---- */

/* Two zeros between each of the lowest ten bits. */
static inline uint spread_bits(uint x) {
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

/* The mesh is within 2 of 0; coordinates are clamped to 4. */
static inline uint spread_cell(float x) {
    return spread_bits((uint)clamp((x + 4.0f) * 128.0f, 0.0f, 1023.0f));
}

/* The index on a Morton curve. */
static inline uint order_key(float4 at) {
    return at.w < 0.0f ? (1u << KEY_BITS) - 1
                       : spread_cell(at.x) << 2 | spread_cell(at.y) << 1 | spread_cell(at.z);
}

/* The points in order. */
__kernel void nearest_gather(__global const float4 *points, __global const uint *order, uint count,
                             __global float4 *sorted) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        sorted[i] = points[order[i]];
}

/* ---- search ---- */

/* The candidate triangles of point i: places[k count + i] for k below counts[i]. If there are too
 * many, places[i] has the bits of the bound that was found. The w of a point is its margin, or less
 * than 0 if it is far away. */
__kernel void nearest_find(__global const bvh_node *nodes, __global const float4 *triangles,
                           __global const float4 *points, uint count, float radius,
                           __global uchar *counts, __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    search s;
    s.at = points[i];
    s.count = 0;
    if (s.at.w < 0.0f) {
        counts[i] = COMPLETE;
        return;
    }
    set_best(&s, radius);
    walk(&s, nodes, triangles);
    store_candidates(&s, i, count, counts, places);
}

/* ---- points ---- */

static inline vec3 load_query_point(__global const float *floats, __global const double *doubles,
                                    uint is_float, size_t i) {
    return is_float ? v3(floats[3 * i], floats[3 * i + 1], floats[3 * i + 2])
                    : load_point(doubles + 3 * i);
}

/* Writes the first invalid point. Points are floats or doubles; the other array is not read. */
__kernel void nearest_check(__global const float *floats, __global const double *doubles,
                            uint is_float, uint count, double coordinate_max,
                            __global uint *invalid) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    vec3 p = load_query_point(floats, doubles, is_float, i);
    if (!(fabs(p.x) <= coordinate_max && fabs(p.y) <= coordinate_max &&
          fabs(p.z) <= coordinate_max))
        atomic_min(invalid, i);
}

/* `count` points from `first` on as doubles, and in the frame, in their order; and their keys. */
__kernel void nearest_frame(__global const float *floats, __global const double *doubles,
                            uint is_float, uint first, uint count, mesh_frame frame,
                            __global double *exact, __global float4 *points, __global uint *keys,
                            __global uint *order) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    order[i] = i;
    vec3 p = load_query_point(floats, doubles, is_float, (size_t)first + i);
    size_t to = 3 * (size_t)i;
    exact[to] = p.x;
    exact[to + 1] = p.y;
    exact[to + 2] = p.z;
    p = v3_scale(v3_sub(p, v3(frame.origin[0], frame.origin[1], frame.origin[2])), frame.scale);
    double largest = v3_max_abs(p);
    points[i] = (float4)((float)p.x, (float)p.y, (float)p.z,
                         largest < NEAREST_FAR ? NEAREST_MARGIN * ((float)largest + 2.0f) : -1.0f);
    keys[i] = order_key(points[i]);
}

__kernel void nearest_measure(__global const double *corners, __global const uint *tree_order,
                              __global const double *exact, __global const uint *order, uint count,
                              double radius, __global const uchar *counts,
                              __global const uint *places, uint first,
                              __global nearest_result *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] == COMPLETE)
        return;
    uint point = order[i];
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)point), radius);
    for (uint k = 0; k < counts[i]; k++)
        measure(&m, corners, tree_order[places[(size_t)k * count + i]]);
    store(&m, answers + first + point);
}

/* Points with too many candidates, and distant points. */
__kernel void nearest_complete(__global const bvh_node *nodes, __global const float4 *triangles,
                               __global const uint *tree_order, __global const double *corners,
                               __global const float4 *points, __global const double *exact,
                               __global const uint *order, uint count, double radius,
                               mesh_frame frame, __global const uchar *counts,
                               __global const uint *places, uint first,
                               __global nearest_result *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] != COMPLETE)
        return;
    uint point = order[i];
    measuring_search to;
    start_measure(&to.m, load_point(exact + 3 * (size_t)point), radius);
    if (points[i].w < 0.0f) {
        walk_complete(&to.m, nodes, tree_order, corners, frame);
    } else {
        to.corners = corners;
        to.tree_order = tree_order;
        to.scale = frame.scale;
        to.s.at = points[i];
        to.s.count = 0;
        set_best(&to.s, as_float(places[i]));
        walk_measuring(&to, nodes, triangles);
        measure_list(&to);
    }
    store(&to.m, answers + first + point);
}

#endif
