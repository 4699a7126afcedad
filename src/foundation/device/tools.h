/* Data-parallel primitives on a device: scan, owners of items, sort. Buffers stay on the device;
 * calls only queue work. No call waits, and no kernel assumes that work-groups run concurrently.
 *
 * Errors are sticky, as those of the kit: the next abuti_kit_download(), abuti_kit_finish(),
 * abuti_buffer_download() or abuti_queue_finish() returns them. Callers need not check anything
 * after a call.
 *
 * One set of tools belongs to one queue and has one user at a time. Scratch memory grows as needed
 * and is kept. Counts go up to ABUTI_TOOLS_MAX; more fails with ABUT_ERROR_LIMIT, a buffer that is
 * too small for its count with ABUT_ERROR_ARGUMENT.
 */
#ifndef ABUTI_DEVICE_TOOLS_H
#define ABUTI_DEVICE_TOOLS_H

#include "device/kit.h"

#define ABUTI_TOOLS_MAX ((size_t)1 << 31)

typedef struct abuti_tools abuti_tools;

/* The plan of the scan, for callers that compile programs in advance. */
abuti_kit_plan abuti_tools_plan(void);
/* The queue must outlive the tools. */
abut_status abuti_tools_create(abuti_queue *queue, abuti_tools **tools);
void abuti_tools_destroy(abuti_tools *tools);

/* Exclusive scan: out[i] = in[0] + ... + in[i-1], at most 2^32 - 1; `in` and `out` may be the same
 * buffer. The sum of all words is written to total[total_at] if `total` is not null; `total` may be
 * `out`, with capacity for one more word. */
void abuti_tools_scan(abuti_tools *tools, const abuti_buffer *in, abuti_buffer *out, size_t count,
                      abuti_buffer *total, size_t total_at);

/* Segment i has the items from begin[i] up to, but not including, begin[i + 1]; the last of the
 * count + 1 words is `total`. owners[k] = the segment that contains item k, for kernels that fill
 * by item and not by segment: a long segment then delays no work-item. */
void abuti_tools_owners(abuti_tools *tools, const abuti_buffer *begin, size_t count, size_t total,
                        abuti_buffer *owners);

/* Stable sort of words, each with a word as payload, by the bits from `bit_first` up to, but not
 * including, `bit_last`. Eight bits per pass. */
void abuti_tools_sort(abuti_tools *tools, abuti_buffer *keys, abuti_buffer *values, size_t count,
                      uint32_t bit_first, uint32_t bit_last);

#endif
