/* The binary tree of a BVH on a device, from the root down, by the surface area heuristic.
 *
 * Method, as on the CPU: a segment of triangles is sorted into 32 bins on each axis by the centres
 * of their boxes, and split at the plane with the smallest area x leaves on both sides (Wald 2007,
 * "On fast construction of SAH-based bounding volume hierarchies"), moved to the next multiple of
 * four.
 *   build_start   boxes of triangles, and the bins of the whole mesh
 *   build_choose  for each level: the split of each segment, and how many triangles of each tile go
 *                 to which side
 *   build_move    moves them, keeping their order, and fills the bins of the next level
 *   build_chunks  a segment of at most 256 triangles is finished by one work-group in local memory:
 *                 all splits on all axes are tested, not only those between bins
 *   build_plan    which binary nodes become four-wide nodes (see bvh.c), above the chunks
 *   build_nodes   writes them
 * The host knows the number of levels in advance: a split that would leave a side larger than the
 * remaining levels can handle is not chosen, and if no split remains the segment is halved. So
 * nothing waits for the host, the work is O(n log n), and the depth is bounded.
 *
 * A tile is 256 positions, and an active segment is longer: so a tile overlaps at most one segment
 * that began before it (slot 0) and one that begins in it (slot 1). Segments and chunks are
 * numbered in the order in which work-groups run, but nothing in the tree depends on the numbers:
 * the index of a node follows from the positions. Comparisons use integers and floats that result
 * from +, - and x only: the tree is the same on every device.
 */
#include "bvh/build_cl.h"

DEFINE_GROUP_SCAN(uint4, scan_counts)

/* Maps floats to integers of the same order. */
static inline uint ordered_bits(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static inline float float_of_ordered_bits(uint bits) {
    return as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

/* The nearest multiple of four that leaves both sides non-empty. */
static inline uint round_to_leaves(uint left, uint total) {
    uint count_max = (total - 1) / BVH_WIDTH * BVH_WIDTH,
         count = (left + BVH_WIDTH / 2) / BVH_WIDTH * BVH_WIDTH;
    return clamp(count, (uint)BVH_WIDTH, count_max);
}

static inline uint bin_index(float lo, float hi, float range_lo, float range_hi) {
    float width = range_hi - range_lo;
    if (!(width > FLAT))
        return 0;
    float at = ((lo - range_lo) + (hi - range_lo)) * (0.5f * BINS * reciprocal(width));
    return at > 0.0f ? (uint)fmin(at, BINS - 1.0f) : 0;
}

/* ---- bins ---- */

static inline void clear_bins(__local uint *bins, uint count) {
    for (uint i = (uint)get_local_id(0); i < count; i += GROUP)
        bins[i] = ABUT_NONE;
}

static inline void add_to_bins(__local uint *bins, float4 lo, float4 hi, float4 range_lo,
                               float4 range_hi) {
    for (uint axis = 0; axis < 3; axis++) {
        uint bin = bin_index(component_of(lo, axis), component_of(hi, axis),
                             component_of(range_lo, axis), component_of(range_hi, axis));
        __local uint *to = bins + (axis * BINS + bin) * BIN_WORDS;
        atomic_min(to, ordered_bits(lo.x));
        atomic_min(to + 1, ordered_bits(lo.y));
        atomic_min(to + 2, ordered_bits(lo.z));
        atomic_min(to + 3, ~ordered_bits(hi.x));
        atomic_min(to + 4, ~ordered_bits(hi.y));
        atomic_min(to + 5, ~ordered_bits(hi.z));
        atomic_dec(to + 6);
    }
}

/* Adds the bins of a work-group to those of a segment. */
static inline void add_bins(__local const uint *bins, __global uint *to) {
    for (uint i = (uint)get_local_id(0); i < SEGMENT_BINS; i += GROUP) {
        uint word = bins[i];
        if (word == ABUT_NONE)
            continue;
        if (i % BIN_WORDS == BIN_WORDS - 1)
            atomic_sub(to + i, ~word);
        else
            atomic_min(to + i, word);
    }
}

/* ---- start ---- */

/* `vertices`: six floats each, rounded down and up. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_start(__global const float *vertices, __global const uint *indices, __global float4 *boxes,
            __global uint *order, __global uint *segment_of, __global const segment *segments,
            __global uint *bins, uint count, uint whole, __local uint *local_bins) {
    uint i = (uint)get_global_id(0);
    if (whole)
        clear_bins(local_bins, SEGMENT_BINS);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < count) {
        float4 lo = (float4)(INFINITY, INFINITY, INFINITY, 0.0f), hi = -lo;
        for (uint k = 0; k < 3; k++) {
            __global const float *v = vertices + 6 * (size_t)indices[3 * (size_t)i + k];
            lo = fmin(lo, (float4)(v[0], v[1], v[2], 0.0f));
            hi = fmax(hi, (float4)(v[3], v[4], v[5], 0.0f));
        }
        boxes[2 * (size_t)i] = lo;
        boxes[2 * (size_t)i + 1] = hi;
        order[i] = i;
        segment_of[i] = whole ? 0 : ABUT_NONE;
        if (whole)
            add_to_bins(local_bins, lo, hi, segments->lo, segments->hi);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (whole)
        add_bins(local_bins, bins);
}

/* One work-group: clears counters and bins; writes the first segment, or the only chunk. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_root(__global segment *segments, __global uint *bins, __global uint4 *chunks,
           __global uint *counters, __global uint *parent, uint count, uint whole, float4 lo,
           float4 hi) {
    uint item = (uint)get_local_id(0);
    for (uint i = item; i < SEGMENT_BINS; i += GROUP)
        bins[i] = ABUT_NONE;
    if (item < COUNTERS)
        counters[item] = item == 0 ? whole : item == CHUNK_COUNT ? !whole : 0;
    if (item > 0)
        return;
    segment root = {0};
    root.end = count;
    root.lo = lo;
    root.hi = hi;
    segments[0] = root;
    chunks[0] = (uint4)(0, count, 0, 0);
    parent[0] = ABUT_NONE;
}

/* ---- splits ---- */

static inline void join_bin(float4 *lo, float4 *hi, uint *count, __local const uint *bin) {
    *lo = fmin(*lo, (float4)(float_of_ordered_bits(bin[0]), float_of_ordered_bits(bin[1]),
                             float_of_ordered_bits(bin[2]), 0.0f));
    *hi = fmax(*hi, (float4)(float_of_ordered_bits(~bin[3]), float_of_ordered_bits(~bin[4]),
                             float_of_ordered_bits(~bin[5]), 0.0f));
    *count += ~bin[6];
}

static inline void store_box(__local uint *to, float4 lo, float4 hi) {
    to[0] = as_uint(lo.x);
    to[1] = as_uint(lo.y);
    to[2] = as_uint(lo.z);
    to[3] = as_uint(hi.x);
    to[4] = as_uint(hi.y);
    to[5] = as_uint(hi.z);
}

/* Work-item c tests plane c % 32 of axis c / 32; the first one of equals is chosen. A total of 0
 * means no segment. All work-items must call this, since PoCL 3.1 does not support barriers under a
 * condition. */
static inline void choose_cut(__global const uint *bins, uint total, uint allowed,
                              __local uint *words, __local choice *best) {
    uint item = (uint)get_local_id(0), axis = item / BINS, border = item % BINS;
    for (uint i = item; i < SEGMENT_BINS && total; i += GROUP)
        words[i] = bins[i];
    if (item == 0)
        best->cost = best->who = ABUT_NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 lo[2], hi[2];
    uint count[2] = {0, 0}, low = 0, high = ABUT_NONE, beyond = 0, cut = 0, cost = ABUT_NONE;
    lo[0] = lo[1] = (float4)(INFINITY, INFINITY, INFINITY, 0.0f);
    hi[0] = hi[1] = -lo[0];
    if (total && axis < 3 && border < BINS - 1) {
        for (uint b = 0; b < BINS; b++) {
            __local const uint *bin = words + (axis * BINS + b) * BIN_WORDS;
            if (bin[6] == ABUT_NONE)
                continue;
            if (b <= border) {
                low = b;
                join_bin(&lo[0], &hi[0], &count[0], bin);
            } else {
                if (high == ABUT_NONE) {
                    high = b;
                    beyond = ~bin[6];
                }
                join_bin(&lo[1], &hi[1], &count[1], bin);
            }
        }
        cut = round_to_leaves(count[0], total);
        if (count[0] && count[1] && cut <= allowed && total - cut <= allowed) {
            cost = as_uint(half_area(lo[0], hi[0]) * (float)leaf_count_of(count[0]) +
                           half_area(lo[1], hi[1]) * (float)leaf_count_of(count[1]));
            atomic_min(&best->cost, cost);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (cost != ABUT_NONE && cost == best->cost)
        atomic_min(&best->who, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == best->who) {
        best->axis = axis;
        best->low = low;
        best->border = border;
        best->high = high;
        best->cut = cut;
        best->start[0] = 0;
        best->start[1] = count[0] - ~words[(axis * BINS + low) * BIN_WORDS + 6];
        best->start[2] = count[0];
        best->start[3] = count[0] + beyond;
        store_box(best->box, lo[0], hi[0]);
        store_box(best->box + 6, lo[1], hi[1]);
    }
    if (item == 0 && total && best->who == ABUT_NONE) {
        best->axis = 3;
        best->cut = round_to_leaves(total / 2, total);
        for (uint k = 0; k < 4; k++)
            best->start[k] = k ? best->cut : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The category of a triangle: 0 = left, 1 = left in the last bin there, 2 = right in the first bin,
 * 3 = right. In this order those next to the plane are next to the split. */
static inline uint category_of(uint axis, uint low, uint border, uint high, uint place, uint cut,
                               float4 lo, float4 hi, float4 range_lo, float4 range_hi) {
    if (axis == 3)
        return place < cut ? 0 : 3;
    uint bin = bin_index(component_of(lo, axis), component_of(hi, axis),
                         component_of(range_lo, axis), component_of(range_hi, axis));
    return bin < low ? 0 : bin <= border ? 1 : bin <= high ? 2 : 3;
}

static inline void add_child_segment(uint begin, uint end, uint node, float4 lo, float4 hi,
                                     __global segment *next, __global uint *next_count,
                                     __global uint4 *chunks, __global uint *counters,
                                     __global uint *id) {
    if (end - begin <= CHUNK) {
        *id = ABUT_NONE;
        chunks[atomic_inc(&counters[CHUNK_COUNT])] = (uint4)(begin, end, node, 0);
        return;
    }
    *id = atomic_inc(next_count);
    next[*id].begin = begin;
    next[*id].end = end;
    next[*id].node = node;
    next[*id].lo = lo;
    next[*id].hi = hi;
}

static inline float4 load_point(__local const uint *from) {
    return (float4)(as_float(from[0]), as_float(from[1]), as_float(from[2]), 0.0f);
}

/* One work-item writes the split and creates the children. */
static inline void add_children(__global segment *s, __local const choice *best,
                                __global segment *next, __global uint *counters, uint level,
                                __global uint4 *chunks, __global uint *right, __global uint *parent,
                                __global uint2 *ranges) {
    bool halved = best->axis == 3;
    uint begin = s->begin, end = s->end, node = s->node, middle = begin + best->cut;
    uint second = node + 2 * (best->cut / BVH_WIDTH);
    s->axis = best->axis;
    s->low = best->low;
    s->border = best->border;
    s->high = best->high;
    s->cut = best->cut;
    for (uint k = 0; k < 4; k++)
        s->start[k] = best->start[k];
    right[node] = second;
    ranges[node] = (uint2)(begin / BVH_WIDTH, leaf_count_of(end - begin));
    parent[node + 1] = parent[second] = node;
    add_child_segment(begin, middle, node + 1, halved ? s->lo : load_point(best->box),
                      halved ? s->hi : load_point(best->box + 3), next, &counters[level + 1],
                      chunks, counters, &s->child[0]);
    add_child_segment(middle, end, second, halved ? s->lo : load_point(best->box + 6),
                      halved ? s->hi : load_point(best->box + 9), next, &counters[level + 1],
                      chunks, counters, &s->child[1]);
}

/* Finds the segments that the tile overlaps; see above. */
static inline uint find_tile_segments(uint mine, uint at, __global const segment *segments,
                                      __local uint *slots, uint *begin) {
    uint item = (uint)get_local_id(0), tile_begin = at - item, slot = 0;
    *begin = mine == ABUT_NONE ? 0 : segments[mine].begin;
    if (item < 2)
        slots[item] = ABUT_NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine != ABUT_NONE) {
        slot = *begin >= tile_begin;
        if (at == max(*begin, tile_begin))
            slots[slot] = mine;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return slot;
}

/* `old_bins` belong to the level before and become those of the next: they are cleared. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_choose(__global const uint *order, __global const uint *segment_of,
             __global const float4 *boxes, __global segment *all_segments,
             __global const uint *bins, __global uint *old_bins, __global uint *tile_counts,
             __global uint *counters, __global uint4 *chunks, __global uint *right,
             __global uint *parent, __global uint2 *ranges, uint count, uint level, uint room,
             uint allowed, uint old_words, __local uint *memory) {
    __global segment *segments = all_segments + (size_t)level * room, *next = segments + room;
    __local uint *slots = memory, *counts = memory + 2, *words = memory + CHOOSE_WORDS;
    __local choice *choices = (__local choice *)(words + SEGMENT_BINS);
    uint at = (uint)get_global_id(0), item = (uint)get_local_id(0), begin;
    for (uint i = at; i < old_words; i += (uint)get_global_size(0))
        old_bins[i] = ABUT_NONE;
    uint mine = at < count && counters[level] ? segment_of[at] : ABUT_NONE;
    if (item < 8)
        counts[item] = 0;
    uint slot = find_tile_segments(mine, at, segments, slots, &begin);
    for (uint k = 0; k < 2; k++) {
        uint which = slots[k];
        __global segment *s = segments + (which == ABUT_NONE ? 0 : which);
        choose_cut(bins + (size_t)(which == ABUT_NONE ? 0 : which) * SEGMENT_BINS,
                   which == ABUT_NONE ? 0 : s->end - s->begin, allowed, words, &choices[k]);
        if (k == 1 && which != ABUT_NONE && item == 0)
            add_children(s, &choices[1], next, counters, level, chunks, right, parent, ranges);
    }
    if (mine != ABUT_NONE) {
        __local const choice *c = &choices[slot];
        size_t triangle = order[at];
        uint category = category_of(c->axis, c->low, c->border, c->high, at - begin, c->cut,
                                    boxes[2 * triangle], boxes[2 * triangle + 1], segments[mine].lo,
                                    segments[mine].hi);
        atomic_inc(&counts[4 * slot + category]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 8)
        tile_counts[(at / GROUP) * 8 + item] = counts[item];
}

/* ---- moves ---- */

/* The number of triangles of each category of a segment in tiles before this one. */
static inline void count_before(__global const uint *tile_counts, uint begin, uint tile,
                                __local uint *before) {
    uint item = (uint)get_local_id(0), category = item % 4, sum = 0, first = begin / GROUP;
    if (item < 4)
        before[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint t = first + item / 4; t < tile; t += GROUP / 4)
        sum += tile_counts[(size_t)t * 8 + (t == first ? 4 : 0) + category];
    if (sum)
        atomic_add(&before[category], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Counters of eight kinds, 16 bits each. */
static inline uint4 unit_count(uint kind) {
    uint word = 1u << (kind % 2 * 16);
    return (uint4)(kind / 2 == 0 ? word : 0, kind / 2 == 1 ? word : 0, kind / 2 == 2 ? word : 0,
                   kind / 2 == 3 ? word : 0);
}
static inline uint get_count(uint4 counts, uint kind) {
    uint word = kind / 2 == 0   ? counts.x
                : kind / 2 == 1 ? counts.y
                : kind / 2 == 2 ? counts.z
                                : counts.w;
    return word >> (kind % 2 * 16) & 0xffff;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_move(__global const uint *order, __global const uint *segment_of, __global uint *order_out,
           __global uint *segment_out, __global const float4 *boxes,
           __global const segment *all_segments, __global uint *bins,
           __global const uint *tile_counts, __global const uint *counters, uint count, uint level,
           uint room, __local uint4 *scan_room, __local uint *memory) {
    __global const segment *segments = all_segments + (size_t)level * room, *next = segments + room;
    __local uint *slots = memory, *before = memory + 2, *local_bins = memory + MOVE_WORDS;
    uint at = (uint)get_global_id(0), begin, kind = 0;
    size_t triangle = at < count ? order[at] : 0;
    uint mine = at < count && counters[level] ? segment_of[at] : ABUT_NONE;
    uint slot = find_tile_segments(mine, at, segments, slots, &begin);
    clear_bins(local_bins, 4 * SEGMENT_BINS);
    count_before(tile_counts, slots[0] == ABUT_NONE ? at : segments[slots[0]].begin, at / GROUP,
                 before);
    float4 lo = (float4)(0.0f), hi = lo;
    if (mine != ABUT_NONE) {
        __global const segment *s = &segments[mine];
        lo = boxes[2 * triangle];
        hi = boxes[2 * triangle + 1];
        kind = 4 * slot + category_of(s->axis, s->low, s->border, s->high, at - begin, s->cut, lo,
                                      hi, s->lo, s->hi);
    }
    uint4 total;
    uint4 earlier =
        scan_counts(mine != ABUT_NONE ? unit_count(kind) : (uint4)(0), scan_room, &total);
    uint to = at, child = ABUT_NONE;
    if (mine != ABUT_NONE) {
        __global const segment *s = &segments[mine];
        uint place = s->start[kind % 4] + (slot ? 0 : before[kind]) + get_count(earlier, kind);
        uint side = place >= s->cut;
        to = begin + place;
        child = s->child[side];
        if (child != ABUT_NONE)
            add_to_bins(local_bins + (2 * slot + side) * SEGMENT_BINS, lo, hi, next[child].lo,
                        next[child].hi);
    }
    if (at < count) {
        order_out[to] = (uint)triangle;
        segment_out[to] = child;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 4; k++) {
        uint which = slots[k / 2];
        uint to_segment = which == ABUT_NONE ? ABUT_NONE : segments[which].child[k % 2];
        if (to_segment != ABUT_NONE)
            add_bins(local_bins + k * SEGMENT_BINS, bins + (size_t)to_segment * SEGMENT_BINS);
    }
}
