/* Exclusive scan, and the owners of the items of segments. Sums saturate at 2^32 - 1, so that the
 * total shows an overflow.
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

static inline uint add_words(uint4 x) {
    return add_sat(add_sat(x.x, x.y), add_sat(x.z, x.w));
}

/* Sums each run. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_sums(__global const uint *in, __global uint *sums, uint count, uint run_tiles,
          __local uint *room) {
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0), total;
    uint tiles = count / TILE + (count % TILE != 0);
    uint first = group * run_tiles, last = min(first + run_tiles, tiles);
    uint4 sum = (uint4)(0);
    for (uint tile = last; tile-- > first;)
        for (uint row = 0; row < ROWS; row++)
            sum = add_sat(sum, load_words(in, tile * TILE + row * ROW + 4 * item, count));
    scan_words(add_words(sum), room, &total);
    if (item == 0)
        sums[group] = total;
}

/* The sum of all runs before this group's. */
static inline uint sum_before(__global const uint *sums, __local uint *room) {
    uint sum = 0, total, group = (uint)get_group_id(0);
    for (uint i = (uint)get_local_id(0); i < group; i += GROUP)
        sum = add_sat(sum, sums[i]);
    scan_words(sum, room, &total);
    return total;
}

/* Writes the sum before each word. */
static inline void write_row(__global uint *out, uint at, uint count, uint4 x, uint before) {
    uint4 sums;
    sums.x = before;
    sums.y = add_sat(sums.x, x.x);
    sums.z = add_sat(sums.y, x.y);
    sums.w = add_sat(sums.z, x.z);
    store_words(out, at, count, sums);
}

/* in and out may be the same. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
scan_runs(__global const uint *in, __global uint *out, __global const uint *sums,
          __global uint *total, uint total_at, uint count, uint run_tiles, __local uint4 *room) {
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0);
    uint tiles = count / TILE + (count % TILE != 0);
    uint first = group * run_tiles, last = min(first + run_tiles, tiles);
    uint sum = sum_before(sums, (__local uint *)room);
    for (uint tile = first; tile < last; tile++) {
        uint at = tile * TILE + 4 * item;
        uint4 x0 = load_words(in, at, count);
        uint4 x1 = load_words(in, at + ROW, count);
        uint4 x2 = load_words(in, at + 2 * ROW, count);
        uint4 x3 = load_words(in, at + 3 * ROW, count);
        uint4 own = (uint4)(add_words(x0), add_words(x1), add_words(x2), add_words(x3)), rows;
        uint4 before = scan_rows(own, room, &rows);
        write_row(out, at, count, x0, add_sat(sum, before.x));
        sum = add_sat(sum, rows.x);
        write_row(out, at + ROW, count, x1, add_sat(sum, before.y));
        sum = add_sat(sum, rows.y);
        write_row(out, at + 2 * ROW, count, x2, add_sat(sum, before.z));
        sum = add_sat(sum, rows.z);
        write_row(out, at + 3 * ROW, count, x3, add_sat(sum, before.w));
        sum = add_sat(sum, rows.w);
    }
    if (item == 0 && group + 1 == get_num_groups(0))
        total[total_at] = sum;
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
