/* Lists of features for blocks of cells, from large blocks to small ones.
 *
 * Method: the largest blocks walk through the hierarchy and keep the features that can be nearest
 * to a point of them (feature_kernel.h); smaller blocks filter the list of the block that they are
 * an eighth of. A list goes to a pool at a place that an atomic counter gives, so that its length
 * need not be known before. Each block also measures the middles of its eighths against its list,
 * which bounds their distance from above and below, and what those need.
 * Where the pool is full, lists are marked as missing and all lengths are still added up: the host
 * sees what is needed, makes the pool larger, and begins again.
 * Kept lists are those of regions.cl, whose proof holds for any set of points in a box.
 */
#include "field/grid_kernel.h"

/* Local memory in words; as in device_lists.c. */
#define STAGED 3072
#define LEAVES 512
#define WAITING 1024
#define NUMBERS 32

/* Entries of a pool are counted in chunks as well, so that the sum never wraps around. */
#define CHUNK 1024
#define CHUNKS_MOST (1u << 21)

/* Of the counters that field_cells.cl has too. */
#define ENTRIES 4
#define CHUNKS 5

/* ---- bounds of the largest blocks ---- */

/* A distance that the mesh is not beyond from each block's middle; less than 0 where the block is
 * too far away for lists. */
__kernel void field_seed(__global const node *nodes, __global const float4 *triangles, field_grid g,
                         uint side, uint blocks, __global float2 *bounds) {
    uint block = (uint)get_global_id(0);
    if (block >= blocks)
        return;
    block_place p = place_of(&g, block, side);
    box b = box_at(&g, p.x * side, p.y * side, p.z * side, side);
    float4 most = fabs(b.middle) + b.half_size;
    float4 at = (float4)(b.middle.xyz, g.margin);
    bounds[block] = (float2)(fmax(most.x, fmax(most.y, most.z)) < NEAR
                                 ? bound_of(at, 4.0f * NEAR, nodes, triangles)
                                 : -1.0f,
                             0.0f);
}

/* ---- keeping ---- */

typedef struct keeping {
    __local uint *staged; /* the first STAGED names */
    __local uint *kept;   /* how many there are in all */
    __global uint *pool;
    uint to; /* where they go at once, or NONE */
} keeping;

static inline void keep(const keeping *k, uint name) {
    uint place = atomic_inc(k->kept);
    if (k->to != NONE)
        k->pool[k->to + place] = name;
    else if (place < STAGED)
        k->staged[place] = name;
}

/* Room for `count` entries: its begin, or NONE. By one item. */
static inline uint reserve(uint count, uint pool_size, volatile __global uint *counters) {
    uint chunks = (count + CHUNK - 1) / CHUNK;
    if (count == 0)
        return 0;
    if (atomic_add(&counters[CHUNKS], chunks) > CHUNKS_MOST - min(chunks, CHUNKS_MOST))
        return NONE;
    uint begin = atomic_add(&counters[ENTRIES], count);
    return count > pool_size || begin > pool_size - count ? NONE : begin;
}

/* Bounds of the eight eighths, from a list that is complete. What is beyond the band is no nearer
 * than that. `least`: 16 words of local memory. */
static inline void bound_eighths(__global const float4 *features, const field_grid *g,
                                 block_place p, uint side, const keeping *k, uint begin, uint count,
                                 __global float2 *bounds, __local uint *least) {
    uint item = (uint)get_local_id(0), child = item & 7, half_side = side / 2;
    uint x = 2 * p.x + (child & 1), y = 2 * p.y + (child >> 1 & 1), z = 2 * p.z + (child >> 2);
    float4 at = middle_of(g, x * half_side, y * half_side, z * half_side, half_side);
    bool is_staged = count <= STAGED;
    float bound = INFINITY, low = INFINITY;
    if (item < 16)
        least[item] = as_uint(INFINITY);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint i = item / 8; i < count; i += GROUP / 8) {
        feature f = load_feature(features, is_staged ? k->staged[i] : k->pool[begin + i]);
        look l = look_at(&f, at);
        bound = fmin(bound, bound_sq(&l, g->margin));
        low = fmin(low, outside_of(&l) > g->margin ? INFINITY : l.distance_sq);
    }
    atomic_min(&least[child], as_uint(bound));
    atomic_min(&least[8 + child], as_uint(low));
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to = block_at(g, half_side, x, y, z);
    if (item < 8 && to != NONE)
        bounds[to] =
            (float2)(sqrt(as_float(least[item])) * SLACK,
                     fmin(sqrt(as_float(least[8 + item])), g->reach) * 0.999f - 4.0f * g->margin);
}

/* ---- walks ---- */

/* Keeps the features of the leaves that are within reach. Nodes wait on a stack, from which several
 * are taken at a time; where it fills up only one, since then it grows by no more than a walk of
 * one needs. numbers: waiting nodes, leaves. */
static inline void walk_block(__global const node *nodes, __global const float4 *features,
                              __global const uint *leaf_begin, const box *b, float upper,
                              const keeping *k, __local uint *stack, __local uint *leaves,
                              __local uint *numbers) {
    uint item = (uint)get_local_id(0);
    float reach = upper + 2.0f * b->margin, reach_sq = reach * reach * SLACK;
    float4 lo = b->middle - b->half_size, hi = b->middle + b->half_size;
    if (item < 2)
        numbers[item] = item == 0;
    if (item == 0)
        stack[0] = 0;
    for (;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = numbers[0], leaf_count = numbers[1];
        uint taken = waiting > WAITING - STACK - GROUP ? 1 : min(waiting, (uint)(GROUP / WIDTH));
        uint child = NONE;
        bool flush = leaf_count > LEAVES - GROUP || waiting == 0;
        if (item / WIDTH < taken) {
            __global const node *n = nodes + stack[waiting - taken + item / WIDTH];
            uint slot = item % WIDTH;
            __global const float *low = (__global const float *)n->lo + slot,
                                 *high = (__global const float *)n->hi + slot;
            float x = fmax(fmax(low[0] - hi.x, lo.x - high[0]), 0.0f),
                  y = fmax(fmax(low[4] - hi.y, lo.y - high[4]), 0.0f),
                  z = fmax(fmax(low[8] - hi.z, lo.z - high[8]), 0.0f);
            if (fma(x, x, fma(y, y, z * z)) <= reach_sq)
                child = ((__global const uint *)&n->child)[slot];
        }
        for (uint i = item; flush && i < leaf_count; i += GROUP)
            for (uint f = leaf_begin[leaves[i]]; f < leaf_begin[leaves[i] + 1]; f++) {
                feature from = load_feature(features, f);
                if (is_needed(&from, b, upper))
                    keep(k, f);
            }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (waiting == 0)
            return;
        if (item == 0) {
            numbers[0] = waiting - taken;
            if (flush)
                numbers[1] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (child == NONE)
            continue;
        if (child & LEAF)
            leaves[atomic_inc(&numbers[1])] = child & ~LEAF;
        else
            stack[atomic_inc(&numbers[0])] = child;
    }
}

/* The lists of the largest blocks: begin and length in the pool each, a length of NONE where there
 * is none. A group a block. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_walk(__global const node *nodes, __global const float4 *features,
           __global const uint *leaf_begin, field_grid g, uint side, __global const float2 *bounds,
           __global uint *pool, uint pool_size, volatile __global uint *counters,
           __global uint2 *lists, __global float2 *eighths, __local uint *room) {
    __local uint *stack = room, *leaves = stack + WAITING, *numbers = leaves + LEAVES;
    __local uint *kept = numbers + 2, *begin = numbers + 3, *least = numbers + 8;
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    float distance = bounds[block].x;
    if (distance < 0.0f) {
        if (item == 0)
            lists[block] = (uint2)(0, NONE);
        return;
    }
    block_place p = place_of(&g, block, side);
    box b = box_at(&g, p.x * side, p.y * side, p.z * side, side);
    float upper = upper_of(&g, &b, distance);
    keeping k = {numbers + NUMBERS, kept, pool, NONE};
    uint count = 0;
    for (uint round = 0; round < 2; round++) {
        if (item == 0)
            *kept = 0;
        walk_block(nodes, features, leaf_begin, &b, upper, &k, stack, leaves, numbers);
        count = *kept;
        if (round == 1)
            break;
        if (item == 0)
            *begin = reserve(count, pool_size, counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (*begin == NONE || count <= STAGED)
            break;
        k.to = *begin;
    }
    if (item == 0)
        lists[block] = (uint2)(*begin, *begin == NONE ? NONE : count);
    if (*begin == NONE)
        return;
    for (uint i = item; k.to == NONE && i < count; i += GROUP)
        pool[*begin + i] = k.staged[i];
    bound_eighths(features, &g, p, side, &k, *begin, count, eighths, least);
}

/* ---- filters ---- */

/* The same for blocks whose parents have lists. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_filter(__global const float4 *features, field_grid g, uint side,
             __global const uint2 *parents, __global const float2 *bounds, __global uint *pool,
             uint pool_size, volatile __global uint *counters, __global uint2 *lists,
             __global float2 *eighths, __local uint *room) {
    __local uint *kept = room, *begin = room + 1, *least = room + 8;
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    block_place p = place_of(&g, block, side);
    uint2 from = parents[block_at(&g, 2 * side, p.x / 2, p.y / 2, p.z / 2)];
    if (from.y == NONE) {
        if (item == 0)
            lists[block] = from;
        return;
    }
    box b = box_at(&g, p.x * side, p.y * side, p.z * side, side);
    float upper = upper_of(&g, &b, bounds[block].x);
    keeping k = {room + NUMBERS, kept, pool, NONE};
    uint count = 0;
    for (uint round = 0; round < 2; round++) {
        if (item == 0)
            *kept = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = item; i < from.y; i += GROUP) {
            uint name = pool[from.x + i];
            feature f = load_feature(features, name);
            if (is_needed(&f, &b, upper))
                keep(&k, name);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        count = *kept;
        if (round == 1)
            break;
        if (item == 0)
            *begin = reserve(count, pool_size, counters);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (*begin == NONE || count <= STAGED)
            break;
        k.to = *begin;
    }
    if (item == 0)
        lists[block] = (uint2)(*begin, *begin == NONE ? NONE : count);
    if (*begin == NONE)
        return;
    for (uint i = item; k.to == NONE && i < count; i += GROUP)
        pool[*begin + i] = k.staged[i];
    bound_eighths(features, &g, p, side, &k, *begin, count, eighths, least);
}
