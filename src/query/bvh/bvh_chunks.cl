/* The lower part of a tree: a segment of at most 256 triangles is finished by one work-group in
 * local memory. bvh_levels.cl describes the whole build.
 *
 * Each work-item has one triangle. On each axis it counts the triangles of its part that precede
 * it; then it tests one split, with a pass over the part for the boxes of both sides. That is
 * quadratic, in at most 256 triangles, but all work-items read the same word at the same time, and
 * no step waits for another.
 */
#include "bvh/build_cl.h"

/* The number of triangles of [begin, end) that precede the own one on each axis, ten bits each. */
static inline uint count_before_item(__local const float4 *los, __local const float4 *his,
                                     uint begin, uint end, float4 lo, float4 hi) {
    float4 mine = lo + hi;
    uint id = as_uint(hi.w), x = 0, y = 0, z = 0;
    for (uint j = begin; j < end; j++) {
        float4 other_hi = his[j], other = los[j] + other_hi;
        bool lower = as_uint(other_hi.w) < id;
        x += other.x < mine.x || (other.x == mine.x && lower);
        y += other.y < mine.y || (other.y == mine.y && lower);
        z += other.z < mine.z || (other.z == mine.z && lower);
    }
    return x | y << 10 | z << 20;
}

/* The cost of the split before the triangle of this rank on an axis. Ranks are in los[].w. */
static inline float split_cost(__local const float4 *los, __local const float4 *his, uint begin,
                               uint end, uint axis, uint rank) {
    float4 lo = (float4)(INFINITY, INFINITY, INFINITY, 0.0f), hi = -lo, lo_2 = lo, hi_2 = hi;
    for (uint j = begin; j < end; j++) {
        float4 other_lo = los[j], other_hi = his[j];
        if ((as_uint(other_lo.w) >> 10 * axis & 1023) < rank) {
            lo = fmin(lo, other_lo);
            hi = fmax(hi, other_hi);
        } else {
            lo_2 = fmin(lo_2, other_lo);
            hi_2 = fmax(hi_2, other_hi);
        }
    }
    return half_area(lo, hi) * (float)leaf_count_of(rank) +
           half_area(lo_2, hi_2) * (float)leaf_count_of(end - begin - rank);
}

/* Sorts the triangles of all parts of more than four along the axis of their best split. Returns
 * that split, relative to the beginning, or 0. Of equal ones the most even is chosen. */
static inline uint split_chunk(__local float4 *los, __local float4 *his, __local uint *best,
                               __local uint *who, uint begin, uint end, bool by_cost) {
    uint item = (uint)get_local_id(0), place = item - begin, total = end - begin;
    uint axis = place % 4, rank = (place / BVH_WIDTH + 1) * BVH_WIDTH, cost = ABUT_NONE,
         code = ABUT_NONE;
    bool large = item < end && total > BVH_WIDTH;
    best[item] = who[item] = ABUT_NONE;
    float4 lo = los[item], hi = his[item];
    uint ranks = large ? count_before_item(los, his, begin, end, lo, hi) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    los[item].w = as_float(ranks);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (large && axis < 3 && rank < total) {
        cost = by_cost ? as_uint(split_cost(los, his, begin, end, axis, rank)) : 0;
        code = abs_diff(2 * rank, total) << 12 | rank << 2 | axis;
        atomic_min(&best[begin], cost);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (cost != ABUT_NONE && cost == best[begin])
        atomic_min(&who[begin], code);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!large)
        return 0;
    code = who[begin];
    uint to = begin + (ranks >> 10 * (code & 3) & 1023);
    los[to] = lo;
    his[to] = hi;
    return code >> 2 & 1023;
}

static inline void write_leaf(__local const float4 *los, __local const float4 *his, uint begin,
                              uint end, size_t node, uint leaf, __global uint *right,
                              __global uint2 *ranges, __global float4 *node_boxes,
                              __global plan *plans) {
    float4 lo = los[begin], hi = his[begin];
    for (uint i = begin + 1; i < end; i++) {
        lo = fmin(lo, los[i]);
        hi = fmax(hi, his[i]);
    }
    right[node] = 0;
    ranges[node] = (uint2)(leaf, 1);
    node_boxes[2 * node] = lo;
    node_boxes[2 * node + 1] = hi;
    plans[node] = leaf_plan();
}

/* Builds one chunk: parts are split level by level until none has more than four triangles. The
 * first work-item of a part writes its results. */
static inline void build_chunk(uint4 chunk, __global const float4 *boxes, __global uint *order,
                               __global const uint *order_in, __global uint *right,
                               __global uint *parent, __global uint2 *ranges,
                               __global float4 *node_boxes, __global plan *plans, float node_cost,
                               __local float4 *los, __local float4 *his, __local uint *best,
                               __local uint *who, __local uint *more) {
    uint item = (uint)get_local_id(0), total = chunk.y - chunk.x, made[CHUNK_LEVELS], level = 0;
    uint begin = item < total ? 0 : item, end = item < total ? total : item, node = chunk.z;
    if (item < total) {
        size_t triangle = order_in[chunk.x + item];
        los[item] = boxes[2 * triangle];
        float4 hi = boxes[2 * triangle + 1];
        hi.w = as_float((uint)triangle);
        his[item] = hi;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint left = total > BVH_WIDTH; left && level < CHUNK_LEVELS; level++) {
        uint cut = split_chunk(los, his, best, who, begin, end, level < CHUNK_COST_LEVELS);
        made[level] = ABUT_NONE;
        if (item == 0)
            *more = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (cut) {
            uint second = node + 2 * (cut / BVH_WIDTH);
            if (item == begin) {
                made[level] = node;
                right[node] = second;
                ranges[node] = (uint2)((chunk.x + begin) / BVH_WIDTH, leaf_count_of(end - begin));
                parent[node + 1] = parent[second] = node;
            }
            bool behind = item - begin >= cut;
            node = behind ? second : node + 1;
            end = behind ? end : begin + cut;
            begin = behind ? begin + cut : begin;
            if (end - begin > BVH_WIDTH)
                *more = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = *more;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < total) {
        order[chunk.x + item] = as_uint(his[item].w);
        if (item == begin)
            write_leaf(los, his, begin, end, node, (chunk.x + begin) / BVH_WIDTH, right, ranges,
                       node_boxes, plans);
    }
    while (level-- > 0) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (made[level] != ABUT_NONE)
            join_children(made[level], right, node_boxes, plans, node_cost);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_chunks(__global const uint4 *chunks, __global const uint *counters,
             __global const float4 *boxes, __global uint *order, __global const uint *order_in,
             __global uint *right, __global uint *parent, __global uint2 *ranges,
             __global float4 *node_boxes, __global plan *plans, float node_cost,
             __local float4 *memory) {
    __local uint *words = (__local uint *)(memory + 2 * CHUNK);
    uint count = counters[CHUNK_COUNT];
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0))
        build_chunk(chunks[i], boxes, order, order_in, right, parent, ranges, node_boxes, plans,
                    node_cost, memory, memory + CHUNK, words, words + CHUNK, words + 2 * CHUNK);
}
