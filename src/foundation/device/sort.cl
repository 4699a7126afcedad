/* Stable radix sort of 32-bit keys with a payload of one word, least significant digit first, 8
 * bits per pass.
 *
 * The input is split into runs of tiles, one run per group. sort_count counts the digits of each
 * run; a scan over (digit, run) gives the output range of each digit of each run; sort_scatter
 * processes its run, sorts each tile in local memory and writes it out, updating its 256 output
 * positions. Within a tile, equal digits are consecutive, so that most writes are whole cache
 * lines. No group waits for another.
 *
 * A tile is sorted by two rounds of 4 bits. In a round every work-item counts the digits of its own
 * consecutive keys, in counters that only it accesses; a scan over (digit, work-item) gives the
 * rank of every key (Satish, Harris and Garland 2009, "Designing Efficient Sorting Algorithms for
 * Manycore GPUs"; packed counters as in Merrill and Grimshaw 2011, "High Performance and Scalable
 * Radix Sorting"). Counters have 16 bits, two in a word: digits 0 to 7 in the low halves, 8 to 15
 * in the high.
 *
 * Loops over the keys of a work-item are unrolled, so that these stay in registers. Local memory:
 * 28 KiB, below the 32 KiB that OpenCL guarantees.
 */
#include "device/group_cl.h"
#include "device/tools_shared.h"

DEFINE_GROUP_SCAN(uint, scan_words)

#define LAST_KEY 0xffffffffU
#define ITEMS SORT_ITEMS
#define TILE SORT_TILE
#define WORDS SORT_WORDS
#define PAD(i) SORT_PADDED(i)

static inline uint digit_of(uint key, uint shift, uint mask) {
    return (uint)(key >> shift) & mask;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sort_count(__global const uint *keys, __global uint *counts, uint count, uint run_tiles, uint shift,
           uint mask, __local uint *bins) {
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0);
    uint first = group * run_tiles * TILE, last = min(count, first + run_tiles * TILE);
    bins[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint at = first + 4 * item; at < last; at += 4 * GROUP) {
        if (last - at >= 4) {
            uint4 key = ((__global const uint4 *)keys)[at / 4];
            atomic_inc(&bins[digit_of(key.x, shift, mask)]);
            atomic_inc(&bins[digit_of(key.y, shift, mask)]);
            atomic_inc(&bins[digit_of(key.z, shift, mask)]);
            atomic_inc(&bins[digit_of(key.w, shift, mask)]);
        } else
            for (uint i = at; i < last; i++)
                atomic_inc(&bins[digit_of(keys[i], shift, mask)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    counts[item * (uint)get_num_groups(0) + group] = bins[item];
}

/* The consecutive keys of a work-item in a tile. Beyond the end they are the largest key, so that a
 * stable sort puts them after all others. */
static inline void load_items(__global const uint *keys, __global const uint *values, uint at,
                              uint count, uint *key, uint *value) {
    if (count >= ITEMS && at <= count - ITEMS) {
#pragma unroll
        for (uint i = 0; i < ITEMS; i += 4) {
            uint4 k = ((__global const uint4 *)keys)[(at + i) / 4];
            uint4 v = ((__global const uint4 *)values)[(at + i) / 4];
            key[i] = k.x;
            key[i + 1] = k.y;
            key[i + 2] = k.z;
            key[i + 3] = k.w;
            value[i] = v.x;
            value[i + 1] = v.y;
            value[i + 2] = v.z;
            value[i + 3] = v.w;
        }
        return;
    }
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        bool there = at + i < count;
        key[i] = there ? keys[at + i] : LAST_KEY;
        value[i] = there ? values[at + i] : 0;
    }
}

/* The position of each key in the tile after sorting by these (at most 4) bits. */
static inline void rank_items(const uint *key, uint *rank, uint shift, uint mask,
                              __local uint *counters, __local uint *room) {
    uint item = (uint)get_local_id(0), sum = 0, total;
    for (uint w = 0; w < WORDS; w++)
        counters[PAD(w * GROUP + item)] = 0;
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        uint digit = digit_of(key[i], shift, mask), half_shift = digit / WORDS * 16;
        uint at = PAD(digit % WORDS * GROUP + item), old = counters[at];
        rank[i] = old >> half_shift & 0xffff;
        counters[at] = old + (1u << half_shift);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint w = 0; w < WORDS; w++)
        sum += counters[PAD(item * WORDS + w)];
    uint before = scan_words(sum, room, &total);
    before += total << 16; /* the high halves come after all low ones */
    for (uint w = 0; w < WORDS; w++) {
        uint at = PAD(item * WORDS + w), here = counters[at];
        counters[at] = before;
        before += here;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        uint digit = digit_of(key[i], shift, mask);
        rank[i] += counters[PAD(digit % WORDS * GROUP + item)] >> digit / WORDS * 16 & 0xffff;
    }
}

/* Moves keys and values to their ranks; each work-item gets the consecutive ones at its position.
 */
static inline void exchange_items(uint *key, uint *value, const uint *rank,
                                  __local uint *exchange) {
    uint item = (uint)get_local_id(0);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        exchange[PAD(rank[i])] = key[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        key[i] = exchange[PAD(item * ITEMS + i)];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        exchange[PAD(rank[i])] = value[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        value[i] = exchange[PAD(item * ITEMS + i)];
}

/* Writes a tile whose ranks by the whole digit are known. `places` has the output index of the next
 * key of each digit; `starts` is scratch memory for the output index of a digit's keys minus their
 * position in the tile. */
static inline void write_tile(uint *key, const uint *value, const uint *rank, uint here, uint shift,
                              uint mask, __local uint *exchange, __local uint *places,
                              __local uint *starts, __global uint *keys_out,
                              __global uint *values_out) {
    uint item = (uint)get_local_id(0), to[ITEMS];
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        exchange[PAD(rank[i])] = key[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        uint at = i * GROUP + item;
        key[i] = exchange[PAD(at)];
        uint digit = digit_of(key[i], shift, mask);
        if (at < here && (at == 0 || digit_of(exchange[PAD(at - 1)], shift, mask) != digit))
            starts[digit] = places[digit] - at;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        uint at = i * GROUP + item, digit = digit_of(key[i], shift, mask);
        to[i] = starts[digit] + at;
        if (at >= here)
            continue;
        keys_out[to[i]] = key[i];
        if (at + 1 == here || digit_of(exchange[PAD(at + 1)], shift, mask) != digit)
            places[digit] = to[i] + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++)
        exchange[PAD(rank[i])] = value[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ITEMS; i++) {
        uint at = i * GROUP + item;
        if (at < here)
            values_out[to[i]] = exchange[PAD(at)];
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sort_scatter(__global const uint *keys, __global const uint *values, __global uint *keys_out,
             __global uint *values_out, __global const uint *offsets, uint count, uint run_tiles,
             uint shift, uint mask, __local uint *counters) {
    __local uint *room = counters + SORT_COUNTERS, *places = room + GROUP_ROOM,
                 *starts = places + SORT_DIGITS;
    __local uint *exchange = counters + SORT_EXCHANGE;
    uint item = (uint)get_local_id(0), group = (uint)get_group_id(0);
    uint tiles = count / TILE + (count % TILE != 0);
    uint first = group * run_tiles, last = min(first + run_tiles, tiles);
    places[item] = offsets[item * (uint)get_num_groups(0) + group];
    for (uint tile = first; tile < last; tile++) {
        uint key[ITEMS];
        uint value[ITEMS], rank[ITEMS], at = tile * TILE;
        load_items(keys, values, at + item * ITEMS, count, key, value);
        rank_items(key, rank, shift, mask & 15, counters, room);
        exchange_items(key, value, rank, exchange);
        rank_items(key, rank, shift + 4, mask >> 4, counters, room);
        write_tile(key, value, rank, min(count - at, (uint)TILE), shift, mask, exchange, places,
                   starts, keys_out, values_out);
    }
}
