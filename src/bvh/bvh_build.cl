/* The tree of a hierarchy on a device, from the root down, by the surface area heuristic.
 *
 * Method, as on the CPU: a segment of triangles is sorted into 16 bins on each axis by the middles
 * of their boxes, and cut at the border of least area x leaves on both sides (Wald 2007, "On fast
 * construction of SAH-based bounding volume hierarchies"), then moved to the next multiple of four.
 *   build_start   boxes of triangles, and the bins of the whole
 *   build_choose  for each level: the cut of each segment, and how many triangles of each tile go
 *                 where
 *   build_move    moves them there, keeping their order, and fills the bins of the next level
 *   build_chunks  a segment of at most 256 triangles is finished by one group in local memory: all
 *                 cuts on all axes are tried, not only those between bins
 *   build_plan    which binary nodes become nodes of four (see bvh.c), above the chunks
 *   build_nodes   writes them
 * The host knows beforehand how many levels there are: a cut that would leave a side larger than
 * the levels to come can handle is not taken, and where none remains the segment is halved. So
 * nothing waits for the host, the work is O(n log n), and the depth is bounded.
 *
 * A tile is 256 positions, and a segment in work is longer: so a tile meets at most one that began
 * before it (slot 0) and one that begins in it (slot 1). Segments and chunks are numbered in the
 * order in which groups happen to come, but nothing in the tree depends on the numbers: where a
 * node stands follows from the positions. Comparisons are of floats that come from +, - and x
 * alone, and of whole numbers: the tree is the same on every device.
 */
#include "device/group_kernel.h"

#pragma OPENCL FP_CONTRACT OFF

DEFINE_GROUP_SCAN(uint4, scan_counts)

#define NONE 0xffffffffu
#define LEAF 0x80000000u
#define WIDTH 4
#define BINS 16
#define BIN_WORDS 7 /* least lo, complement of the greatest hi, complement of the count */
#define SEGMENT_BINS (3 * BINS * BIN_WORDS)
#define CHUNK 256
#define CHUNK_LEVELS 18 /* 12 by cost, then halves of at most 52 leaves */
#define COST_LEVELS 12
#define FLAT 0x1p-100f

/* In `counters`: segments of each level, then these. */
#define CHUNK_COUNT 32
#define NODE_COUNT 33
#define DEPTH 34

typedef struct segment {
    uint begin, end, node;    /* positions; its node of the binary tree */
    uint axis;                /* 3 = halved as it stands */
    uint low, border, high;   /* last bin with something at or before the border; first behind */
    uint cut;                 /* from the begin */
    uint start[4];            /* where the triangles of each category go, from the begin */
    uint child[2], unused[2]; /* segments of the next level, or NONE */
    float4 lo, hi;            /* range of the bins */
} segment;

/* ---- numbers ---- */

/* Floats as whole numbers of the same order. */
static inline uint ordered(float x) {
    uint bits = as_uint(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static inline float unordered(uint bits) {
    return as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

/* 1 / x for x from FLAT to 4 within two roundings, the same on all devices, which a quotient is
 * not: Newton's steps from a guess that is good to an eighth. */
static inline float reciprocal(float x) {
    float r = as_float(0x7ef311c3u - as_uint(x));
    for (uint i = 0; i < 4; i++)
        r = r * (2.0f - x * r);
    return r;
}

/* Half the surface. */
static inline float area_of(float4 lo, float4 hi) {
    float4 d = hi - lo;
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

static inline uint leaves_of(uint count) {
    return (count + WIDTH - 1) / WIDTH;
}

/* The nearest multiple of four that leaves both sides something. */
static inline uint round_count(uint left, uint total) {
    uint most = (total - 1) / WIDTH * WIDTH, count = (left + WIDTH / 2) / WIDTH * WIDTH;
    return clamp(count, (uint)WIDTH, most);
}

static inline uint bin_of(float lo, float hi, float range_lo, float range_hi) {
    float width = range_hi - range_lo;
    if (!(width > FLAT))
        return 0;
    float at = ((lo - range_lo) + (hi - range_lo)) * (0.5f * BINS * reciprocal(width));
    return at > 0.0f ? (uint)fmin(at, BINS - 1.0f) : 0;
}

static inline float axis_of(float4 v, uint axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* ---- bins ---- */

static inline void clear_bins(__local uint *bins, uint count) {
    for (uint i = (uint)get_local_id(0); i < count; i += GROUP)
        bins[i] = NONE;
}

static inline void add_to_bins(__local uint *bins, float4 lo, float4 hi, float4 range_lo,
                               float4 range_hi) {
    for (uint axis = 0; axis < 3; axis++) {
        uint bin = bin_of(axis_of(lo, axis), axis_of(hi, axis), axis_of(range_lo, axis),
                          axis_of(range_hi, axis));
        __local uint *to = bins + (axis * BINS + bin) * BIN_WORDS;
        atomic_min(to, ordered(lo.x));
        atomic_min(to + 1, ordered(lo.y));
        atomic_min(to + 2, ordered(lo.z));
        atomic_min(to + 3, ~ordered(hi.x));
        atomic_min(to + 4, ~ordered(hi.y));
        atomic_min(to + 5, ~ordered(hi.z));
        atomic_dec(to + 6);
    }
}

/* Adds a group's bins to those of a segment. */
static inline void add_bins(__local const uint *bins, __global uint *to) {
    for (uint i = (uint)get_local_id(0); i < SEGMENT_BINS; i += GROUP) {
        uint word = bins[i];
        if (word == NONE)
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
        segment_of[i] = whole ? 0 : NONE;
        if (whole)
            add_to_bins(local_bins, lo, hi, segments->lo, segments->hi);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (whole)
        add_bins(local_bins, bins);
}

/* One item: the first segment, or the only chunk. */
__kernel void build_root(__global segment *segments, __global uint4 *chunks,
                         __global uint *counters, __global uint *parent, uint count, uint whole,
                         float4 lo, float4 hi) {
    segment root = {0};
    root.end = count;
    root.lo = lo;
    root.hi = hi;
    segments[0] = root;
    chunks[0] = (uint4)(0, count, 0, 0);
    counters[0] = whole ? 1 : 0;
    counters[CHUNK_COUNT] = whole ? 0 : 1;
    parent[0] = NONE;
}

/* ---- cuts ---- */

/* What a group finds out of a segment, in local memory. */
typedef struct choice {
    uint cost, who; /* of the best border so far */
    uint axis, low, border, high, cut;
    uint start[4];
    uint box[12]; /* lo and hi of the left side, then of the right */
} choice;

static inline void grow(float4 *lo, float4 *hi, uint *count, __local const uint *bin) {
    *lo = fmin(*lo, (float4)(unordered(bin[0]), unordered(bin[1]), unordered(bin[2]), 0.0f));
    *hi = fmax(*hi, (float4)(unordered(~bin[3]), unordered(~bin[4]), unordered(~bin[5]), 0.0f));
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

/* Item c tries border c % 16 of axis c / 16; the first of equals wins. A total of 0 is no segment.
 * All items must come here, since PoCL 3.1 does not bear barriers that stand under a condition. */
static inline void choose_cut(__global const uint *bins, uint total, uint allowed,
                              __local uint *words, __local choice *best) {
    uint item = (uint)get_local_id(0), axis = item / BINS, border = item % BINS;
    for (uint i = item; i < SEGMENT_BINS && total; i += GROUP)
        words[i] = bins[i];
    if (item == 0)
        best->cost = best->who = NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 lo[2], hi[2];
    uint count[2] = {0, 0}, low = 0, high = NONE, beyond = 0, cut = 0, cost = NONE;
    lo[0] = lo[1] = (float4)(INFINITY, INFINITY, INFINITY, 0.0f);
    hi[0] = hi[1] = -lo[0];
    if (total && axis < 3 && border < BINS - 1) {
        for (uint b = 0; b < BINS; b++) {
            __local const uint *bin = words + (axis * BINS + b) * BIN_WORDS;
            if (bin[6] == NONE)
                continue;
            if (b <= border) {
                low = b;
                grow(&lo[0], &hi[0], &count[0], bin);
            } else {
                if (high == NONE) {
                    high = b;
                    beyond = ~bin[6];
                }
                grow(&lo[1], &hi[1], &count[1], bin);
            }
        }
        cut = round_count(count[0], total);
        if (count[0] && count[1] && cut <= allowed && total - cut <= allowed) {
            cost = as_uint(area_of(lo[0], hi[0]) * (float)leaves_of(count[0]) +
                           area_of(lo[1], hi[1]) * (float)leaves_of(count[1]));
            atomic_min(&best->cost, cost);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (cost != NONE && cost == best->cost)
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
    if (item == 0 && total && best->who == NONE) {
        best->axis = 3;
        best->cut = round_count(total / 2, total);
        for (uint k = 0; k < 4; k++)
            best->start[k] = k ? best->cut : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Where a triangle goes: 0 = left, 1 = left in the last bin there, 2 = right in the first bin, 3 =
 * right. In this order those next to the border stand next to the cut. */
static inline uint category_of(uint axis, uint low, uint border, uint high, uint place, uint cut,
                               float4 lo, float4 hi, float4 range_lo, float4 range_hi) {
    if (axis == 3)
        return place < cut ? 0 : 3;
    uint bin = bin_of(axis_of(lo, axis), axis_of(hi, axis), axis_of(range_lo, axis),
                      axis_of(range_hi, axis));
    return bin < low ? 0 : bin <= border ? 1 : bin <= high ? 2 : 3;
}

static inline void make_child(uint begin, uint end, uint node, float4 lo, float4 hi,
                              __global segment *next, __global uint *next_count,
                              __global uint4 *chunks, __global uint *counters, __global uint *id) {
    if (end - begin <= CHUNK) {
        *id = NONE;
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

/* One item notes the cut, and makes the children. */
static inline void make_children(__global segment *s, __local const choice *best,
                                 __global segment *next, __global uint *counters, uint level,
                                 __global uint4 *chunks, __global uint *right,
                                 __global uint *parent, __global uint2 *ranges) {
    bool halved = best->axis == 3;
    uint begin = s->begin, end = s->end, node = s->node, middle = begin + best->cut;
    uint second = node + 2 * (best->cut / WIDTH);
    s->axis = best->axis;
    s->low = best->low;
    s->border = best->border;
    s->high = best->high;
    s->cut = best->cut;
    for (uint k = 0; k < 4; k++)
        s->start[k] = best->start[k];
    right[node] = second;
    ranges[node] = (uint2)(begin / WIDTH, leaves_of(end - begin));
    parent[node + 1] = parent[second] = node;
    make_child(begin, middle, node + 1, halved ? s->lo : load_point(best->box),
               halved ? s->hi : load_point(best->box + 3), next, &counters[level + 1], chunks,
               counters, &s->child[0]);
    make_child(middle, end, second, halved ? s->lo : load_point(best->box + 6),
               halved ? s->hi : load_point(best->box + 9), next, &counters[level + 1], chunks,
               counters, &s->child[1]);
}

/* Which segments the tile meets; see above. */
static inline uint find_slots(uint mine, uint at, __global const segment *segments,
                              __local uint *slots, uint *begin) {
    uint item = (uint)get_local_id(0), tile_begin = at - item, slot = 0;
    *begin = mine == NONE ? 0 : segments[mine].begin;
    if (item < 2)
        slots[item] = NONE;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine != NONE) {
        slot = *begin >= tile_begin;
        if (at == max(*begin, tile_begin))
            slots[slot] = mine;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return slot;
}

/* `old_bins` belong to the level before and will be those of the next: they are cleared. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_choose(__global const uint *order, __global const uint *segment_of,
             __global const float4 *boxes, __global segment *all_segments,
             __global const uint *bins, __global uint *old_bins, __global uint *tile_counts,
             __global uint *counters, __global uint4 *chunks, __global uint *right,
             __global uint *parent, __global uint2 *ranges, uint count, uint level, uint room,
             uint allowed, uint old_words, __local uint *memory) {
    __global segment *segments = all_segments + (size_t)level * room, *next = segments + room;
    __local uint *slots = memory, *counts = memory + 2, *words = memory + 10;
    __local choice *choices = (__local choice *)(words + SEGMENT_BINS);
    uint at = (uint)get_global_id(0), item = (uint)get_local_id(0), begin;
    for (uint i = at; i < old_words; i += (uint)get_global_size(0))
        old_bins[i] = NONE;
    uint mine = at < count && counters[level] ? segment_of[at] : NONE;
    if (item < 8)
        counts[item] = 0;
    uint slot = find_slots(mine, at, segments, slots, &begin);
    for (uint k = 0; k < 2; k++) {
        uint which = slots[k];
        __global segment *s = segments + (which == NONE ? 0 : which);
        choose_cut(bins + (size_t)(which == NONE ? 0 : which) * SEGMENT_BINS,
                   which == NONE ? 0 : s->end - s->begin, allowed, words, &choices[k]);
        if (k == 1 && which != NONE && item == 0)
            make_children(s, &choices[1], next, counters, level, chunks, right, parent, ranges);
    }
    if (mine != NONE) {
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

/* The triangles of each category of a segment that stand in tiles before this one. */
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
static inline uint4 one_of(uint kind) {
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
    __local uint *slots = memory, *before = memory + 2, *local_bins = memory + 6;
    uint at = (uint)get_global_id(0), begin, kind = 0;
    size_t triangle = at < count ? order[at] : 0;
    uint mine = at < count && counters[level] ? segment_of[at] : NONE;
    uint slot = find_slots(mine, at, segments, slots, &begin);
    clear_bins(local_bins, 4 * SEGMENT_BINS);
    count_before(tile_counts, slots[0] == NONE ? at : segments[slots[0]].begin, at / GROUP, before);
    float4 lo = (float4)(0.0f), hi = lo;
    if (mine != NONE) {
        __global const segment *s = &segments[mine];
        lo = boxes[2 * triangle];
        hi = boxes[2 * triangle + 1];
        kind = 4 * slot + category_of(s->axis, s->low, s->border, s->high, at - begin, s->cut, lo,
                                      hi, s->lo, s->hi);
    }
    uint4 total;
    uint4 earlier = scan_counts(mine != NONE ? one_of(kind) : (uint4)(0), scan_room, &total);
    uint to = at, child = NONE;
    if (mine != NONE) {
        __global const segment *s = &segments[mine];
        uint place = s->start[kind % 4] + (slot ? 0 : before[kind]) + get_count(earlier, kind);
        uint side = place >= s->cut;
        to = begin + place;
        child = s->child[side];
        if (child != NONE)
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
        uint to_segment = which == NONE ? NONE : segments[which].child[k % 2];
        if (to_segment != NONE)
            add_bins(local_bins + k * SEGMENT_BINS, bins + (size_t)to_segment * SEGMENT_BINS);
    }
}

/* ---- plans: from two children to four ---- */

/* As in bvh.c: what a node costs that may fill up to k + 1 slots, how many nodes of four that
 * makes, and the same for as few nodes as can be. `left`: slots of the left child, two bits each:
 * four by cost, then four by count. */
typedef struct plan {
    float cost[4];
    uint nodes[4], few[4];
    uint left, unused[3];
} plan;

static inline uint left_of(uint left, uint slots) {
    return left >> 2 * (slots - 1) & 3;
}

static inline void share_cost(const plan *a, const plan *b, uint count, float *least, uint *left) {
    *least = INFINITY;
    for (uint k = 1; k < count; k++) {
        float sum = a->cost[k - 1] + b->cost[count - k - 1];
        if (sum < *least) {
            *least = sum;
            *left = k;
        }
    }
}

static inline void share_few(const plan *a, const plan *b, uint count, uint *least, uint *left) {
    *least = NONE;
    for (uint k = 1; k < count; k++) {
        uint sum = a->few[k - 1] + b->few[count - k - 1];
        if (sum < *least) {
            *least = sum;
            *left = k;
        }
    }
}

static inline plan leaf_plan(void) {
    plan p;
    for (uint k = 0; k < 4; k++) {
        p.cost[k] = 0.0f;
        p.nodes[k] = p.few[k] = 0;
    }
    p.left = p.unused[0] = p.unused[1] = p.unused[2] = 0;
    return p;
}

static inline plan join_plans(const plan *a, const plan *b, float own_cost) {
    plan p = leaf_plan();
    uint left = 0;
    share_cost(a, b, WIDTH, &p.cost[0], &left);
    p.cost[0] += own_cost;
    p.nodes[0] = 1 + a->nodes[left - 1] + b->nodes[WIDTH - left - 1];
    p.left = left;
    share_few(a, b, WIDTH, &p.few[0], &left);
    p.few[0]++;
    p.left |= left << 8;
    for (uint k = 2; k <= WIDTH; k++) {
        share_cost(a, b, k, &p.cost[k - 1], &left);
        if (p.cost[k - 1] < p.cost[k - 2]) {
            p.left |= left << 2 * (k - 1);
            p.nodes[k - 1] = a->nodes[left - 1] + b->nodes[k - left - 1];
        } else {
            p.cost[k - 1] = p.cost[k - 2];
            p.nodes[k - 1] = p.nodes[k - 2];
        }
        share_few(a, b, k, &p.few[k - 1], &left);
        if (p.few[k - 1] < p.few[k - 2])
            p.left |= left << (2 * (k - 1) + 8);
        else
            p.few[k - 1] = p.few[k - 2];
    }
    return p;
}

/* Box and plan of a node whose children have theirs. */
static inline void join_children(uint node, __global const uint *right, __global float4 *node_boxes,
                                 __global plan *plans, float node_cost) {
    size_t a = (size_t)node + 1, b = right[node];
    float4 lo = fmin(node_boxes[2 * a], node_boxes[2 * b]);
    float4 hi = fmax(node_boxes[2 * a + 1], node_boxes[2 * b + 1]);
    plan first = plans[a], second = plans[b];
    node_boxes[2 * (size_t)node] = lo;
    node_boxes[2 * (size_t)node + 1] = hi;
    plans[node] = join_plans(&first, &second, area_of(lo, hi) + node_cost);
}

/* The nodes of segments, from level `last` up to `first`. Several levels need a single group. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_plan(__global const segment *segments, __global const uint *counters,
           __global const uint *right, __global float4 *node_boxes, __global plan *plans, uint room,
           uint first, uint last, float node_cost) {
    for (uint level = last + 1; level-- > first;) {
        uint count = counters[level];
        for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
            join_children(segments[(size_t)level * room + i].node, right, node_boxes, plans,
                          node_cost);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* ---- chunks ---- */

/* How many triangles of [begin, end) stand before mine on each axis, ten bits each. */
static inline uint rank_of(__local const float4 *los, __local const float4 *his, uint begin,
                           uint end, float4 lo, float4 hi) {
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

/* The cost of the cut before the triangle of this rank on an axis. Ranks are in los[].w. */
static inline float cost_of(__local const float4 *los, __local const float4 *his, uint begin,
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
    return area_of(lo, hi) * (float)leaves_of(rank) +
           area_of(lo_2, hi_2) * (float)leaves_of(end - begin - rank);
}

/* Sorts the triangles of all parts of more than four along the axis of their best cut; gives that
 * cut, counted from the begin, or 0. Of equal ones the most even is taken. */
static inline uint cut_chunk(__local float4 *los, __local float4 *his, __local uint *best,
                             __local uint *who, uint begin, uint end, bool by_cost) {
    uint item = (uint)get_local_id(0), place = item - begin, total = end - begin;
    uint axis = place % 4, rank = (place / WIDTH + 1) * WIDTH, cost = NONE, code = NONE;
    bool large = item < end && total > WIDTH;
    best[item] = who[item] = NONE;
    float4 lo = los[item], hi = his[item];
    uint ranks = large ? rank_of(los, his, begin, end, lo, hi) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    los[item].w = as_float(ranks);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (large && axis < 3 && rank < total) {
        cost = by_cost ? as_uint(cost_of(los, his, begin, end, axis, rank)) : 0;
        code = abs_diff(2 * rank, total) << 12 | rank << 2 | axis;
        atomic_min(&best[begin], cost);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (cost != NONE && cost == best[begin])
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

static inline void make_leaf(__local const float4 *los, __local const float4 *his, uint begin,
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

/* One chunk: parts are cut level by level until none has more than four triangles. The first item
 * of a part speaks for it. */
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
    for (uint left = total > WIDTH; left && level < CHUNK_LEVELS; level++) {
        uint cut = cut_chunk(los, his, best, who, begin, end, level < COST_LEVELS);
        made[level] = NONE;
        if (item == 0)
            *more = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (cut) {
            uint second = node + 2 * (cut / WIDTH);
            if (item == begin) {
                made[level] = node;
                right[node] = second;
                ranges[node] = (uint2)((chunk.x + begin) / WIDTH, leaves_of(end - begin));
                parent[node + 1] = parent[second] = node;
            }
            bool behind = item - begin >= cut;
            node = behind ? second : node + 1;
            end = behind ? end : begin + cut;
            begin = behind ? begin + cut : begin;
            if (end - begin > WIDTH)
                *more = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left = *more;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < total) {
        order[chunk.x + item] = as_uint(his[item].w);
        if (item == begin)
            make_leaf(los, his, begin, end, node, (chunk.x + begin) / WIDTH, right, ranges,
                      node_boxes, plans);
    }
    while (level-- > 0) {
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (made[level] != NONE)
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

/* ---- nodes ---- */

typedef struct wide_node {
    float lo[3][4], hi[3][4];
    uint child[4];
} wide_node;

/* How many slots a node really fills when it may fill `slots`; 1 = it is a node of four itself. */
static inline uint real_slots(uint left, uint slots) {
    while (slots > 1 && !left_of(left, slots))
        slots--;
    return slots;
}

static inline uint nodes_below(__global const plan *p, uint slots, bool few) {
    return few ? p->few[slots - 1] : p->nodes[slots - 1];
}

/* Walks from a binary node to the root. What the node becomes depends on how many slots it gets,
 * and that on what its parent gets; so on the way up four answers are kept, one for each number of
 * slots of the ancestor that has been reached. The root gets one. */
typedef struct walk {
    uint slots, before, depth; /* nodes of four before it, and above it */
} walk;

static inline walk walk_up(uint node, __global const uint *right, __global const uint *parent,
                           __global const plan *plans, bool few) {
    walk at[4];
    for (uint k = 0; k < 4; k++) {
        at[k].slots = k + 1;
        at[k].before = at[k].depth = 0;
    }
    for (uint up = parent[node]; up != NONE; node = up, up = parent[up]) {
        walk next[4];
        bool is_right = right[up] == node;
        uint left = plans[up].left >> (few ? 8 : 0) & 255;
        for (uint k = 0; k < 4; k++) {
            uint slots = real_slots(left, k + 1), first = left_of(left, slots);
            uint mine = is_right ? (slots == 1 ? WIDTH : slots) - first : first;
            next[k].slots = mine == 1 ? at[0].slots : mine == 2 ? at[1].slots : at[2].slots;
            next[k].before = mine == 1 ? at[0].before : mine == 2 ? at[1].before : at[2].before;
            next[k].depth = mine == 1 ? at[0].depth : mine == 2 ? at[1].depth : at[2].depth;
            next[k].before += slots == 1;
            next[k].depth += slots == 1;
            if (is_right)
                next[k].before += nodes_below(&plans[(size_t)up + 1], first, few);
        }
        for (uint k = 0; k < 4; k++)
            at[k] = next[k];
    }
    return at[0];
}

/* The children of a node of four, from left to right. */
static inline uint open_node(uint node, __global const uint *right, __global const plan *plans,
                             bool few, uint *children) {
    uint stack[WIDTH], slots[WIDTH], used = 0, count = 0, shift = few ? 8 : 0;
    uint first = left_of(plans[node].left >> shift & 255, 1);
    stack[used] = right[node];
    slots[used++] = WIDTH - first;
    stack[used] = node + 1;
    slots[used++] = first;
    while (used) {
        uint at = stack[--used], left = plans[at].left >> shift & 255;
        uint here = real_slots(left, slots[used]);
        if (here == 1) {
            children[count++] = at;
            continue;
        }
        first = left_of(left, here);
        stack[used] = right[at];
        slots[used++] = here - first;
        stack[used] = at + 1;
        slots[used++] = first;
    }
    return count;
}

static inline void write_slot(__global wide_node *to, __global uint2 *slot_ranges, uint slot,
                              float4 lo, float4 hi, uint child, uint2 range) {
    to->lo[0][slot] = lo.x;
    to->lo[1][slot] = lo.y;
    to->lo[2][slot] = lo.z;
    to->hi[0][slot] = hi.x;
    to->hi[1][slot] = hi.y;
    to->hi[2][slot] = hi.z;
    to->child[slot] = child;
    slot_ranges[slot] = range;
}

static inline void write_node(uint node, uint number, __global const uint *right,
                              __global const uint2 *ranges, __global const float4 *node_boxes,
                              __global const plan *plans, bool few, __global wide_node *to,
                              __global uint2 *slot_ranges) {
    uint children[WIDTH], count = 1, next = number + 1;
    children[0] = node; /* the whole tree is a leaf */
    if (right[node])
        count = open_node(node, right, plans, few, children);
    for (uint slot = 0; slot < WIDTH; slot++) {
        if (slot >= count) {
            float4 none = (float4)(INFINITY);
            write_slot(to, slot_ranges, slot, none, -none, NONE, (uint2)(0, 0));
            continue;
        }
        size_t child = children[slot];
        bool leaf = right[child] == 0;
        write_slot(to, slot_ranges, slot, node_boxes[2 * child], node_boxes[2 * child + 1],
                   leaf ? LEAF | ranges[child].x : next, ranges[child]);
        next += leaf ? 0 : nodes_below(&plans[child], 1, few);
    }
}

/* One item a binary node. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
build_nodes(__global const uint *right, __global const uint *parent, __global const uint2 *ranges,
            __global const float4 *node_boxes, __global const plan *plans,
            __global wide_node *nodes, __global uint2 *slot_ranges, __global uint *counters,
            uint count, uint room, __local uint *deepest) {
    uint node = (uint)get_global_id(0);
    bool few = plans[0].nodes[0] > room; /* hostile: as few as can be */
    if (get_local_id(0) == 0)
        *deepest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (node < count && (right[node] || count == 1)) {
        walk at = walk_up(node, right, parent, plans, few);
        uint left = plans[node].left >> (few ? 8 : 0) & 255;
        if (real_slots(left, at.slots) == 1 && at.before < room) {
            write_node(node, at.before, right, ranges, node_boxes, plans, few, nodes + at.before,
                       slot_ranges + (size_t)at.before * WIDTH);
            atomic_max(deepest, at.depth + 1);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_max(&counters[DEPTH], *deepest);
    if (node == 0)
        counters[NODE_COUNT] = count == 1 ? 1 : few ? plans[0].few[0] : plans[0].nodes[0];
}
