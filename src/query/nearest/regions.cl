/* Closest points of many points that are close together: lists of features that shrink.
 *
 * Method: 512 points that are neighbours on the curve are a block. A work-group collects the
 * features (features.h) that can be nearest to any point of the block: those of the leaves within
 * reach, of which few have a region that overlaps the block. The list is filtered for every 32
 * points, and the remaining features, some thirty on a scanned model, are tested for each point. If
 * the list does not fit, smaller blocks are tried, and points whose lists still do not fit are left
 * to nearest_find.
 *
 * No result is lost. Let m be the margin of nearest.cl, which is at least 2^-18 and bounds the
 * rounding of everything here, and T the triangle that is the result in doubles. Its nearest point
 * q is on one of its features F. If the point p is at most m outside each vector of F, F is kept,
 * and T measured. Suppose that it is outside by more.
 * - Not by the edges of a face itself, nor by the ends of an edge: then q would not be the nearest
 *   point of T.
 * - By an edge of a vertex, longer than 2^-20: moving q along it decreases the distance by 2^-20 m
 *   / |p - q|, some 2^-38, which doubles resolve. So T is not the result.
 * - By a face of an edge, at least 2^-20 high, with sines of 1/64 or more at both ends: if q is at
 *   least m from the ends, moving it into that face decreases the distance by m m / 64 / |p - q|,
 *   some 2^-44, which doubles resolve. If it is nearer to an end, that vertex replaces it: T has it
 *   too.
 * - If T has no face because its height is below 2^-20, its edges are nearer than m / 4 to q, and T
 *   itself does not limit their regions. An upper bound follows from edges and vertices directly,
 *   and from a face only if p is inside its prism by m: outside two edges at the tip of a sliver
 *   triangle the plane gives no bound. A block is a box. The vectors are units, so the smallest t
 *   in the box is t at its centre minus the extent of the box along the vector; distances change by
 *   no more than the displacement.
 */
#include "geom/closest_shared.h"
#include "nearest/feature_cl.h"

#define GROUP FIND_GROUP
#define SUBBLOCK_ITEMS 32
#define SUBBLOCKS (GROUP / SUBBLOCK_ITEMS)

#define SUBBLOCK_LIST (REGION_LEAVES / SUBBLOCKS)

/* Points further than this from the centre of the mesh are left to nearest_find. */
#define NEAR_DISTANCE_MAX 4.0f

/* ---- blocks ---- */

/* The box of each block: its lower corner with the largest margin, and its upper corner. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
regions_boxes(__global const float4 *points, uint count, uint block_points,
              __global const uchar *wanted, uint wanted_blocks, __global float4 *boxes,
              __local float4 *capacity) {
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    if (wanted_blocks && !wanted[block / wanted_blocks])
        return;
    float4 lo = INFINITY, hi = -INFINITY;
    for (uint i = block * block_points + item; i < min((block + 1) * block_points, count);
         i += GROUP) {
        float4 at = points[i];
        /* the margin of a distant point is negative */
        float4 bad = (float4)(INFINITY);
        lo = at.w < 0.0f ? lo : fmin(lo, at);
        hi = at.w < 0.0f ? bad : fmax(hi, at);
    }
    capacity[item] = lo;
    capacity[GROUP + item] = hi;
    for (uint away = GROUP / 2; away > 0; away /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < away) {
            capacity[item] = fmin(capacity[item], capacity[item + away]);
            capacity[GROUP + item] = fmax(capacity[GROUP + item], capacity[GROUP + item + away]);
        }
    }
    if (item == 0) {
        float4 least = capacity[0], greatest = capacity[GROUP];
        boxes[2 * block] = (float4)(least.xyz, greatest.w);
        boxes[2 * block + 1] = greatest;
    }
}

/* An upper bound for the centre of each block, as w of its upper corner; less than 0 if lists are
 * not used for the block. */
__kernel void regions_seed(__global const bvh_node *nodes, __global const float4 *triangles,
                           uint blocks, __global const uchar *wanted, uint wanted_blocks,
                           __global float4 *boxes) {
    uint block = (uint)get_global_id(0);
    if (block >= blocks || (wanted_blocks && !wanted[block / wanted_blocks]))
        return;
    float4 lo = boxes[2 * block], hi = boxes[2 * block + 1];
    float4 middle = (float4)(0.5f * (lo + hi).xyz, lo.w);
    float largest = fmax(fmax(fmax(-lo.x, -lo.y), -lo.z), fmax(fmax(hi.x, hi.y), hi.z));
    boxes[2 * block + 1].w = largest < NEAR_DISTANCE_MAX
                                 ? find_bound(middle, 4.0f * NEAR_DISTANCE_MAX, nodes, triangles)
                                 : -1.0f;
}

/* ---- lists ---- */

/* Adds the features of leaves that are needed for a box to a list. */
static inline void list_features(__global const float4 *features, __global const uint *leaf_begin,
                                 const box *b, float upper, __local const uint *leaves,
                                 uint leaf_count, __local uint *list, __local uint *listed) {
    for (uint i = (uint)get_local_id(0); i < leaf_count; i += GROUP) {
        uint leaf = leaves[i];
        for (uint k = leaf_begin[leaf]; k < leaf_begin[leaf + 1]; k++) {
            feature f = load_feature(features, k);
            if (!is_needed(&f, b, upper))
                continue;
            uint place = atomic_inc(listed);
            if (place < REGION_LIST)
                list[place] = k;
        }
    }
}

/* Lists all features that are needed for a box whose points are at most `upper` from the mesh.
 * Returns their number, more than REGION_LIST if they or the traversal did not fit. Nodes are on a
 * stack, of which 32 are opened at a time, with a work-item for each child. numbers: pending nodes,
 * leaves, listed features. */
static inline uint collect_features(__global const bvh_node *nodes, __global const float4 *features,
                                    __global const uint *leaf_begin, const box *b, float upper,
                                    __local uint *stack, __local uint *leaves, __local uint *list,
                                    __local uint *numbers) {
    uint item = (uint)get_local_id(0);
    float reach = upper + 2.0f * b->margin, reach_sq = reach * reach * NEAREST_SLACK;
    float4 lo = b->middle - b->half_size, hi = b->middle + b->half_size;
    if (item < 3)
        numbers[item] = item == 0;
    if (item == 0)
        stack[0] = 0;
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = numbers[0], leaf_count = numbers[1];
        uint taken = min(waiting, (uint)(GROUP / BVH_WIDTH)), child = ABUT_NONE;
        bool flush = leaf_count > REGION_LEAVES - GROUP || waiting == 0;
        if (item / BVH_WIDTH < taken) {
            __global const bvh_node *n = nodes + stack[waiting - taken + item / BVH_WIDTH];
            uint slot = item % BVH_WIDTH;
            __global const float *low = (__global const float *)n->lo + slot,
                                 *high = (__global const float *)n->hi + slot;
            float x = fmax(fmax(low[0] - hi.x, lo.x - high[0]), 0.0f),
                  y = fmax(fmax(low[4] - hi.y, lo.y - high[4]), 0.0f),
                  z = fmax(fmax(low[8] - hi.z, lo.z - high[8]), 0.0f);
            if (fma(x, x, fma(y, y, z * z)) <= reach_sq)
                child = BVH_AT(const uint, n->child, slot);
        }
        if (flush)
            list_features(features, leaf_begin, b, upper, leaves, leaf_count, list, &numbers[2]);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint listed = numbers[2];
        if (waiting == 0)
            return listed;
        if (listed > REGION_LIST || waiting - taken + GROUP > REGION_WAITING)
            return REGION_LIST + 1;
        if (item == 0) {
            numbers[0] = waiting - taken;
            if (flush)
                numbers[1] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (child == ABUT_NONE)
            continue;
        if (child & BVH_LEAF)
            leaves[atomic_inc(&numbers[1])] = child & ~BVH_LEAF;
        else
            stack[atomic_inc(&numbers[0])] = child;
    }
}

/* The candidates of each point of a block, as in nearest_find but features instead of triangles.
 * Blocks whose list does not fit are marked in `left`. On a second attempt with smaller blocks only
 * the `wanted` ones of the first are processed, each of which has wanted_blocks. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
regions_find(__global const bvh_node *nodes, __global const float4 *features,
             __global const uint *leaf_begin, __global const float4 *points, uint count,
             float radius, __global const float4 *boxes, uint block_points,
             __global const uchar *wanted, uint wanted_blocks, __global uchar *left,
             __global uchar *counts, __global uint *places, __local float4 *capacity) {
    __local uint *waiting = (__local uint *)capacity, *leaves = waiting + REGION_WAITING,
                 *numbers = leaves + REGION_LEAVES, *list = numbers + 16;
    __local float4 *spots = (__local float4 *)waiting;
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    if (wanted_blocks && !wanted[block / wanted_blocks]) {
        if (item == 0)
            left[block] = 0;
        return;
    }
    float4 lo = boxes[2 * block], hi = boxes[2 * block + 1];
    float margin = lo.w, distance = hi.w;
    if (distance < 0.0f) {
        if (item == 0)
            left[block] = 1;
        return;
    }
    box whole = box_of(lo, hi, margin);
    float upper = fmin(distance + whole.radius, radius) + 4.0f * margin;
    uint listed = collect_features(nodes, features, leaf_begin, &whole, upper, waiting, leaves,
                                   list, numbers);
    bool fits = listed <= REGION_LIST;
    if (item == 0)
        left[block] = !fits;
    if (!fits)
        return;
    uint part = item / SUBBLOCK_ITEMS, lane = item % SUBBLOCK_ITEMS;
    __local uint *least = numbers + 3 + part, *kept = numbers + 3 + SUBBLOCKS + part,
                 *names = leaves + SUBBLOCK_LIST * part;
    uint end = min((block + 1) * block_points, count);
    for (uint first = block * block_points; first < end; first += GROUP) {
        uint i = first + item;
        float4 at = points[min(i, end - 1)];
        barrier(CLK_LOCAL_MEM_FENCE);
        spots[item] = at;
        barrier(CLK_LOCAL_MEM_FENCE);
        float4 low = at, high = at;
        for (uint j = 0; j < SUBBLOCK_ITEMS; j++) {
            low = fmin(low, spots[part * SUBBLOCK_ITEMS + j]);
            high = fmax(high, spots[part * SUBBLOCK_ITEMS + j]);
        }
        box b = box_of(low, high, margin);
        const short_list all = {list, listed};
        uint bound = bound_of_list(features, all, lane, SUBBLOCK_ITEMS, &b, false, least);
        float part_upper =
            fmin(upper, sqrt(as_float(bound)) * NEAREST_SLACK + b.radius + 4.0f * margin);
        shrink_list(features, all, lane, SUBBLOCK_ITEMS, &b, part_upper, false, kept, names,
                    SUBBLOCK_LIST);
        const bool is_short = *kept <= SUBBLOCK_LIST;
        const short_list from = {is_short ? names : list, is_short ? *kept : listed};
        search s;
        s.at = (float4)(at.xyz, margin);
        s.count = 0;
        set_best(&s, radius);
        for (uint k = 0; k < from.count; k++) {
            uint name = from.names[k];
            feature f = load_feature(features, name);
            look l = look_at(&f, at);
            if (l.distance_sq > s.reach_sq || outside_of(&l) > margin)
                continue;
            add_candidate(&s, l.distance_sq, name);
            if (l.distance_sq < s.best * s.best && bound_sq(&l, margin) < INFINITY)
                set_best(&s, sqrt(l.distance_sq));
        }
        if (i < end)
            store_candidates(&s, i, count, counts, places);
    }
}

/* ---- doubles ---- */

#if ABUTI_REAL_BITS == 64
#include "nearest/measure_cl.h"

#define CANDIDATES_CACHED 8
#define PLAIN_VERTEX 3u
#define BEHIND_MARGIN 0x1p-16f /* more than the margin of any point here */

/* Whether all edges of a plain vertex lead away from the point by more than the margin. Then the
 * vertex is exactly the nearest point of every triangle there: the foot on its plane is as far
 * outside, parameters along edges are clamped to the end, and the opposite edge is further by 2^-40
 * of the square. All triangles give the same bits, and the first of them is the result. */
static bool is_behind_vertex(float4 at, uint begin, uint end, __global const uint *incidents,
                             __global const float *triangles) {
    float4 vertex;
    for (uint j = begin; j < end; j++) {
        __global const float *c = triangles + 9 * (size_t)incidents[j];
        float4 r[3];
        float length_sq[3];
        for (int k = 0; k < 3; k++) {
            r[k] = (float4)(c[3 * k], c[3 * k + 1], c[3 * k + 2], at.w) - at;
            length_sq[k] = dot_f(r[k], r[k]);
        }
        /* rotated so that the nearest corner is the first; it must be the same for all */
        bool second = length_sq[1] < length_sq[0] && length_sq[1] <= length_sq[2];
        bool third = !second && length_sq[2] < length_sq[0];
        float4 v = second ? r[1] : third ? r[2] : r[0];
        float4 edge_a = (second ? r[2] : third ? r[0] : r[1]) - v;
        float4 edge_b = (second ? r[0] : third ? r[1] : r[2]) - v;
        float along_a = dot_f(v, edge_a), along_b = dot_f(v, edge_b);
        vertex = j == begin ? v : vertex;
        if (!(v.x == vertex.x && v.y == vertex.y && v.z == vertex.z && along_a > 0.0f &&
              along_b > 0.0f &&
              along_a * along_a > BEHIND_MARGIN * BEHIND_MARGIN * dot_f(edge_a, edge_a) &&
              along_b * along_b > BEHIND_MARGIN * BEHIND_MARGIN * dot_f(edge_b, edge_b)))
            return false;
    }
    return true;
}

/* As nearest_measure, for features. */
__kernel void regions_measure(__global const double *corners, __global const float *triangles,
                              __global const uint *tree_order, __global const float4 *features,
                              __global const uint *incident_begin, __global const uint *incidents,
                              __global const float4 *points, __global const double *exact,
                              __global const uint *order, uint count, double radius,
                              __global const uchar *left, uint block_points,
                              __global const uchar *counts, __global const uint *places, uint first,
                              __global nearest_result *answers) {
    uint i = (uint)get_global_id(0);
    if (i >= count || counts[i] == COMPLETE || left[i / block_points])
        return;
    uint point = order[i], seen[CANDIDATES_CACHED], seen_count = 0;
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)point), radius);
    for (uint k = 0; k < counts[i]; k++) {
        uint f = places[(size_t)k * count + i];
        uint begin = incident_begin[f], end = incident_begin[f + 1];
        if (counts[i] == 1 && (as_uint(features[4 * f].w) & 3u) == PLAIN_VERTEX &&
            is_behind_vertex(points[i], begin, end, incidents, triangles))
            end = begin + 1;
        for (uint j = begin; j < end; j++) {
            uint triangle = tree_order[incidents[j]];
            bool known = false;
            for (uint n = 0; n < seen_count; n++)
                known = known || seen[n] == triangle;
            if (known)
                continue;
            if (seen_count < CANDIDATES_CACHED && counts[i] > 1)
                seen[seen_count++] = triangle;
            measure(&m, corners, triangle);
        }
    }
    store(&m, answers + first + point);
}

#endif
