/* From triangles that may be answers to the answers of many questions, in order.
 *
 * Candidates stand in segments, one a question, and have been judged. These kernels leave out those
 * that were refused, sort each segment by key, then by triangle, and write the first of each. They
 * are sorted by merging runs of 1, 2, 4, ...: every item finds its place in the merged run by
 * itself, by a binary search in the other one, so that a long segment holds no one up.
 *
 * before[j] = how many of the candidates below j were accepted, also for j = the end.
 */
#include "bvh/node_cl.h"

#if ABUTI_REAL_BITS == 64

/* The accepted ones, in order. */
__kernel void gather_pick(__global const uint *before, uint total, __global uint *list) {
    uint j = (uint)get_global_id(0);
    if (j < total && before[j + 1] > before[j])
        list[before[j]] = j;
}

/* How many answers each question gets, at most `most`; and the length of the longest list. */
__kernel void gather_lengths(__global const uint *begin, __global const uint *before, uint count,
                             uint most, __global uint *lengths, volatile __global uint *longest) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint length = before[begin[i + 1]] - before[begin[i]];
    lengths[i] = min(length, most);
    if (length > *longest) /* most need not wait for their turn */
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
        uint middle = low + (high - low) / 2, rival = from[middle];
        double rival_key = keys[rival];
        if (rival_key < key || (rival_key == key && triangles[rival] < triangle))
            low = middle + 1;
        else
            high = middle;
    }
    to[first + (run & ~1u) * width + (at - run * width) + (low - other)] = item;
}

/* The first `most` of each segment, of `words` words each; an item a word. They go where
 * `out_begin` says, or where each segment has `row` places, to its own from row `first` on. */
__kernel void gather_write(__global const uint *begin, __global const uint *before,
                           __global const uint *owners, __global const uint *list, uint accepted,
                           uint most, __global const uint *out_begin, __global const uint *answers,
                           uint words, uint row, ulong first, __global uint *out) {
    size_t id = get_global_id(0);
    /* Dividing by a number that is known beforehand takes a few steps instead of a hundred. */
    size_t j = words == 16 ? id / 16 : words == 10 ? id / 10 : id / words;
    if (j >= accepted)
        return;
    uint word = (uint)(id - j * words);
    uint item = list[j], owner = owners[item], rank = (uint)j - before[begin[owner]];
    ulong at = row ? (first + owner) * row : out_begin[owner];
    if (rank < most)
        out[(at + rank) * words + word] = answers[(size_t)item * words + word];
}

#endif
