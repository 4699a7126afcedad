/* Data-parallel tools on a device: reduce, scan, compact, sort. Buffers stay on the device; calls
 * only queue work. No tool waits, and none assumes that work-groups run at the same time.
 *
 * One set of tools belongs to one queue and one user at a time. Scratch memory grows as needed and
 * is kept. Counts go up to ABUTI_TOOLS_MOST; more fails with ABUT_ERROR_LIMIT, a buffer that is too
 * small for its count with ABUT_ERROR_ARGUMENT.
 */
#ifndef ABUTI_TOOLS_H
#define ABUTI_TOOLS_H

#include "device/device.h"

#define ABUTI_TOOLS_MOST ((size_t)1 << 31)

typedef struct abuti_tools abuti_tools;

/* The queue must outlive the tools. */
abut_status abuti_tools_create(abuti_queue *queue, abuti_tools **tools);
void abuti_tools_destroy(abuti_tools *tools);

typedef enum abuti_reduction {
    ABUTI_REDUCE_SUM = 0,
    ABUTI_REDUCE_MIN,
    ABUTI_REDUCE_MAX
} abuti_reduction;

/* Combines `count` words into one 64-bit word at the begin of `out`. Of no words the sum and the
 * maximum are 0 and the minimum is 2^32 - 1. */
abut_status abuti_tools_reduce(abuti_tools *tools, abuti_reduction how, const abuti_buffer *in,
                               size_t count, abuti_buffer *out);

/* out[i] = in[0] + ... + in[i-1], modulo 2^32; `in` and `out` may be the same buffer. The sum of
 * all goes to total[total_at] where `total` is not null; it may be `out` too, with room for one
 * more. */
abut_status abuti_tools_scan(abuti_tools *tools, const abuti_buffer *in, abuti_buffer *out,
                             size_t count, abuti_buffer *total, size_t total_at);

/* The places of the words that are not 0, in ascending order; how many there are goes to the first
 * word of `total`. `out` needs room for as many as there can be: `count`. */
abut_status abuti_tools_compact(abuti_tools *tools, const abuti_buffer *flags, abuti_buffer *out,
                                size_t count, abuti_buffer *total);

/* Sorts keys of 32 or 64 bits, with a word each that goes along, by their bits from `bit_first` up
 * to but not including `bit_last`; equal ones stay in order. Eight bits a pass. */
abut_status abuti_tools_sort(abuti_tools *tools, uint32_t key_bits, abuti_buffer *keys,
                             abuti_buffer *values, size_t count, uint32_t bit_first,
                             uint32_t bit_last);

#endif
