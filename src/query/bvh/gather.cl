/* From candidate triangles to the sorted results of many queries.
 *
 * Candidates are in segments, one per query, and have been decided. These kernels remove the
 * rejected ones, sort each segment by key, then by triangle, and write the first ones of each.
 * Sorting merges runs of 1, 2, 4, ...: every work-item finds its position in the merged run by a
 * binary search in the other run, so a long segment delays nothing.
 *
 * before[j] is the number of accepted candidates below j, also for j = the end.
 */
#include "bvh/node_cl.h"

#if ABUTI_REAL_BITS == 64

/* The accepted candidates, in order. */
__kernel void gather_pick(__global const uint *before, uint total, __global uint *list) {
    uint j = (uint)get_global_id(0);
    if (j < total && before[j + 1] > before[j])
        list[before[j]] = j;
}

/* The number of results of each query, at most results_max; and the length of the longest list. */
__kernel void gather_lengths(__global const uint *begin, __global const uint *before, uint count,
                             uint results_max, __global uint *lengths,
                             volatile __global uint *longest) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint length = before[begin[i + 1]] - before[begin[i]];
    lengths[i] = min(length, results_max);
    if (length > *longest) /* most need no atomic operation */
        atomic_max(longest, length);
}

/* Merges sorted runs of `width` with their neighbours. */
__kernel void gather_merge(__global const uint *begin, __global const uint *before,
                           __global const uint *owners, __global const double *keys,
                           __global const uint *triangles, uint accepted, uint width,
                           __global const uint *from, __global uint *to) {
    uint j = (uint)get_global_id(0);
    if (j >= accepted)
        return;
    uint item = from[j], owner = owners[item];
    uint first = before[begin[owner]], last = before[begin[owner + 1]];
    uint at = j - first, run = at / width;
    uint low = min(first + (run ^ 1) * width, last), high = min(low + width, last), other = low;
    double key = keys[item];
    uint triangle = triangles[item];
    while (low < high) {
        uint mid = low + (high - low) / 2, other_item = from[mid];
        double rival_key = keys[other_item];
        if (rival_key < key || (rival_key == key && triangles[other_item] < triangle))
            low = mid + 1;
        else
            high = mid;
    }
    to[first + (run & ~1u) * width + (at - run * width) + (low - other)] = item;
}

/* Writes the first results_max of each segment, of `words` words each, with a work-item per word.
 * They are written at `out_begin`, or if each segment has `row` entries, at its own row from row
 * `first` on. */
__kernel void gather_write(__global const uint *begin, __global const uint *before,
                           __global const uint *owners, __global const uint *list, uint accepted,
                           uint results_max, __global const uint *out_begin,
                           __global const uint *answers, uint words, uint row, ulong first,
                           __global uint *out) {
    size_t id = get_global_id(0);
    /* Division by a constant needs a few instructions instead of a hundred. */
    size_t j = words == 16 ? id / 16 : words == 10 ? id / 10 : id / words;
    if (j >= accepted)
        return;
    uint word = (uint)(id - j * words);
    uint item = list[j], owner = owners[item], rank = (uint)j - before[begin[owner]];
    ulong at = row ? (first + owner) * row : out_begin[owner];
    if (rank < results_max)
        out[(at + rank) * words + word] = answers[(size_t)item * words + word];
}

#endif
