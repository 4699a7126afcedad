/* Data-parallel tools on a device: reduce, scan, compact, lists in segments, sort. Buffers stay on
 * the device; calls only queue work. No tool waits (but abuti_tools_segments, once), and none
 * assumes that work-groups run at the same time.
 *
 * Their failures stick to the queue, as those of the kit: the next abuti_kit_get(),
 * abuti_kit_finish(), abuti_buffer_download() or abuti_queue_finish() reports them. So there is
 * nothing to look at after a call.
 *
 * One set of tools belongs to one queue and one user at a time. Scratch memory grows as needed and
 * is kept. Counts go up to ABUTI_TOOLS_MAX; more fails with ABUT_ERROR_LIMIT, a buffer that is too
 * small for its count with ABUT_ERROR_ARGUMENT.
 */
#ifndef ABUTI_DEVICE_TOOLS_H
#define ABUTI_DEVICE_TOOLS_H

#include "device/kit.h"

#define ABUTI_TOOLS_MAX ((size_t)1 << 31)

typedef struct abuti_tools abuti_tools;

/* The scan, for those who want its program before they need it. */
abuti_kit_plan abuti_tools_plan(void);
/* The queue must outlive the tools. */
abut_status abuti_tools_create(abuti_queue *queue, abuti_tools **tools);
void abuti_tools_destroy(abuti_tools *tools);

typedef enum abuti_reduction {
    ABUTI_REDUCE_SUM = 0, /* as in tools_shared.h */
    ABUTI_REDUCE_MIN,
    ABUTI_REDUCE_MAX
} abuti_reduction;

/* Combines `count` words into one 64-bit word at the begin of `out`. Of no words the sum and the
 * maximum are 0 and the minimum is 2^32 - 1. */
void abuti_tools_reduce(abuti_tools *tools, abuti_reduction how, const abuti_buffer *in,
                        size_t count, abuti_buffer *out);

/* out[i] = in[0] + ... + in[i-1], modulo 2^32; `in` and `out` may be the same buffer. The sum of
 * all goes to total[total_at] where `total` is not null; it may be `out` too, with room for one
 * more. */
void abuti_tools_scan(abuti_tools *tools, const abuti_buffer *in, abuti_buffer *out, size_t count,
                      abuti_buffer *total, size_t total_at);

/* The places of the words that are not 0, in ascending order; how many there are goes to the first
 * word of `total`. `out` needs room for as many as there can be: `count`. */
void abuti_tools_compact(abuti_tools *tools, const abuti_buffer *flags, abuti_buffer *out,
                         size_t count, abuti_buffer *total);

/* Lists of unknown length, one a segment, side by side in one buffer: made in two passes. The first
 * counts, then it is known where each segment begins and how much there is in all, and the second
 * fills. Both only queue work. */
typedef struct abuti_segments {
    size_t count;      /* segments */
    size_t item_bytes; /* of what is listed */
    uint64_t most;     /* items in all; more fails with ABUT_ERROR_LIMIT. 0 = 2^31 */
    void *user;
    /* Failures of both stick. */
    /* Writes how many items each segment will have to the first `count` words of `begin`. */
    void (*measure)(void *user, abuti_buffer *begin);
    /* Writes the items of segment i to [begin[i], begin[i + 1]). Not called where there are none.
     */
    void (*fill)(void *user, const abuti_buffer *begin, abuti_buffer *items, uint32_t total);
} abuti_segments;

/* Runs both passes, and waits between them: reports what sticks. `begin` and `items` grow as
 * needed; begin[count] becomes the total. `total` (may be null) is also set with
 * ABUT_ERROR_LIMIT. */
abut_status abuti_tools_segments(abuti_tools *tools, const abuti_segments *segments,
                                 abuti_buffer *begin, abuti_buffer *items, uint64_t *total);

/* owners[k] = the segment that item k is in, for those who fill by item and not by segment: then a
 * long segment holds no one up. */
void abuti_tools_owners(abuti_tools *tools, const abuti_buffer *begin, size_t count, size_t total,
                        abuti_buffer *owners);

/* Sorts keys of 32 or 64 bits, with a word each that goes along, by their bits from `bit_first` up
 * to but not including `bit_last`; equal ones stay in order. Eight bits a pass. */
void abuti_tools_sort(abuti_tools *tools, uint32_t key_bits, abuti_buffer *keys,
                      abuti_buffer *values, size_t count, uint32_t bit_first, uint32_t bit_last);

#endif
