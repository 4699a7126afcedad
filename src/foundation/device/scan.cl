/* Exclusive scan; with COMPACT stream compaction, with REDUCE reduction and segments. Separate
 * programs, because compilation is slow and few callers need all.
 *
 * Reduce, then scan: the input is split into as many runs of tiles as the device processes
 * concurrently. The first kernel sums each run. In the second, each group sums the runs before its
 * own (at most 2048) and processes its run with the running sum in a register. Memory is read twice
 * and written once, and no group waits for another. The first kernel goes backwards, so that the
 * beginning of each run is still in the cache for the second.
 *
 * A tile is 4 rows of 256 x 4 words: every work-item accesses 16 bytes, and accesses are
 * consecutive. The sums of the four rows of a work-item are scanned together as one vector.
 */
#include "device/group_cl.h"
#include "device/tools_shared.h"

#ifndef REDUCE

DEFINE_GROUP_SCAN(uint, scan_words)
DEFINE_GROUP_SCAN(uint4, scan_rows)

#define ROWS SCAN_ROWS
#define ROW SCAN_ROW
#define TILE SCAN_TILE

/* Four words, or zeros beyond the end. */
static inline uint4 load_words(__global const uint *in, uint at, uint count) {
    uint4 x = (uint4)(0);
    if (count >= 4 && at <= count - 4)
        return ((__global const uint4 *)in)[at / 4];
    if (at < count)
        x.x = in[at];
    if (at + 1 < count)
        x.y = in[at + 1];
    if (at + 2 < count)
        x.z = in[at + 2];
    return x;
}

static inline void store_words(__global uint *out, uint at, uint count, uint4 x) {
    if (count >= 4 && at <= count - 4) {
        ((__global uint4 *)out)[at / 4] = x;
        return;
    }
    if (at < count)
        out[at] = x.x;
    if (at + 1 < count)
        out[at + 1] = x.y;
    if (at + 2 < count)
        out[at + 2] = x.z;
}

/* Every nonzero flag counts as one. */
static inline uint4 ones_of(uint4 x) {
    return min(x, (uint4)(1));
}

static inline uint4 load_row(__global const uint *in, uint at, uint count, bool flags) {
    uint4 x = load_words(in, at, count);
    return flags ? ones_of(x) : x;
}

static inline uint add_words(uint4 x) {
    return x.x + x.y + x.z + x.w;
}

static inline void sum_run(__global const uint *in, __global uint *sums, uint count, uint run_tiles,
                           bool flags, __local uint *room) {
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0), total;
    uint tiles = count / TILE + (count % TILE != 0);
    uint first = group * run_tiles, last = min(first + run_tiles, tiles);
    uint4 sum = (uint4)(0);
    for (uint tile = last; tile-- > first;)
        for (uint row = 0; row < ROWS; row++)
            sum += load_row(in, tile * TILE + row * ROW + 4 * item, count, flags);
    scan_words(add_words(sum), room, &total);
    if (item == 0)
        sums[group] = total;
}

#ifndef COMPACT
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_sums(__global const uint *in, __global uint *sums, uint count, uint run_tiles,
          __local uint *room) {
    sum_run(in, sums, count, run_tiles, false, room);
}
#else
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
compact_sums(__global const uint *in, __global uint *sums, uint count, uint run_tiles,
             __local uint *room) {
    sum_run(in, sums, count, run_tiles, true, room);
}
#endif

/* The sum of all runs before this group's. */
static inline uint sum_before(__global const uint *sums, __local uint *room) {
    uint sum = 0, total, group = (uint)get_group_id(0);
    for (uint i = (uint)get_local_id(0); i < group; i += GROUP)
        sum += sums[i];
    scan_words(sum, room, &total);
    return total;
}

/* Writes the sum before each word, or the indices of the nonzero flags. */
static inline void write_row(__global uint *out, uint at, uint count, uint4 x, uint before,
                             bool flags) {
    uint4 sums;
    sums.x = before;
    sums.y = sums.x + x.x;
    sums.z = sums.y + x.y;
    sums.w = sums.z + x.z;
    if (!flags) {
        store_words(out, at, count, sums);
        return;
    }
    if (x.x)
        out[sums.x] = at;
    if (x.y)
        out[sums.y] = at + 1;
    if (x.z)
        out[sums.z] = at + 2;
    if (x.w)
        out[sums.w] = at + 3;
}

static inline void scan_run(__global const uint *in, __global uint *out, __global const uint *sums,
                            __global uint *total, uint total_at, uint count, uint run_tiles,
                            bool flags, __local uint4 *room) {
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0);
    uint tiles = count / TILE + (count % TILE != 0);
    uint first = group * run_tiles, last = min(first + run_tiles, tiles);
    uint sum = sum_before(sums, (__local uint *)room);
    for (uint tile = first; tile < last; tile++) {
        uint at = tile * TILE + 4 * item;
        uint4 x0 = load_row(in, at, count, flags);
        uint4 x1 = load_row(in, at + ROW, count, flags);
        uint4 x2 = load_row(in, at + 2 * ROW, count, flags);
        uint4 x3 = load_row(in, at + 3 * ROW, count, flags);
        uint4 own = (uint4)(add_words(x0), add_words(x1), add_words(x2), add_words(x3)), rows;
        uint4 before = scan_rows(own, room, &rows);
        write_row(out, at, count, x0, sum + before.x, flags);
        sum += rows.x;
        write_row(out, at + ROW, count, x1, sum + before.y, flags);
        sum += rows.y;
        write_row(out, at + 2 * ROW, count, x2, sum + before.z, flags);
        sum += rows.z;
        write_row(out, at + 3 * ROW, count, x3, sum + before.w, flags);
        sum += rows.w;
    }
    if (item == 0 && group + 1 == get_num_groups(0))
        total[total_at] = sum;
}

#ifndef COMPACT
/* in and out may be the same. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_runs(__global const uint *in, __global uint *out, __global const uint *sums,
          __global uint *total, uint total_at, uint count, uint run_tiles, __local uint4 *room) {
    scan_run(in, out, sums, total, total_at, count, run_tiles, false, room);
}
#else
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
compact_runs(__global const uint *in, __global uint *out, __global const uint *sums,
             __global uint *total, uint total_at, uint count, uint run_tiles, __local uint4 *room) {
    scan_run(in, out, sums, total, total_at, count, run_tiles, true, room);
}
#endif

#else

/* ---- reduction ---- */

static inline ulong combine(ulong a, ulong b, uint how) {
    return how == REDUCE_SUM ? a + b : how == REDUCE_MIN ? min(a, b) : max(a, b);
}

/* A tree reduction in local memory; work-item 0 has the result. */
static inline ulong combine_group(ulong value, uint how, __local ulong *room) {
    uint item = (uint)get_local_id(0);
    room[item] = value;
    for (uint half_count = GROUP / 2; half_count > 0; half_count /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_count)
            room[item] = combine(room[item], room[item + half_count], how);
    }
    return room[0];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_words(__global const uint *in, __global ulong *parts, uint count, uint how, ulong empty,
             __local ulong *room) {
    ulong value = empty;
    uint step = (uint)get_num_groups(0) * GROUP, quads = count / 4;
    for (uint i = (uint)get_global_id(0); i < quads; i += step) {
        uint4 x = ((__global const uint4 *)in)[i];
        value = combine(value, combine(combine(x.x, x.y, how), combine(x.z, x.w, how), how), how);
    }
    uint rest = quads * 4 + (uint)get_global_id(0);
    if (rest < count)
        value = combine(value, in[rest], how);
    value = combine_group(value, how, room);
    if (get_local_id(0) == 0)
        parts[get_group_id(0)] = value;
}

/* One group. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce_parts(__global const ulong *parts, __global ulong *out, uint count, uint how, ulong empty,
             __local ulong *room) {
    ulong value = empty;
    for (uint i = (uint)get_local_id(0); i < count; i += GROUP)
        value = combine(value, parts[i], how);
    value = combine_group(value, how, room);
    if (get_local_id(0) == 0)
        *out = value;
}

/* ---- segments ---- */

/* begin has count + 1 words, ascending from 0 to total; empty segments are skipped. The owner of an
 * item is the last segment that begins at or before it. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
segment_owners(__global const uint *begin, __global uint *owners, uint count, uint total) {
    uint item = (uint)get_global_id(0);
    if (item >= total)
        return;
    uint lo = 0, hi = count; /* begin[lo] <= item < begin[hi] */
    while (hi - lo > 1) {
        uint middle = lo + (hi - lo) / 2;
        if (begin[middle] <= item)
            lo = middle;
        else
            hi = middle;
    }
    owners[item] = lo;
}

#endif
