/* Sizes that the tools and their kernels share: work-items per work-group, and local memory of a
 * work-group in words. */
#ifndef ABUTI_DEVICE_TOOLS_SHARED_H
#define ABUTI_DEVICE_TOOLS_SHARED_H

/* DEFINE_GROUP_SCAN() of group_cl.h: work-items of a work-group, in segments, and the local memory
 * that it needs. */
#define GROUP_ITEMS 256
#define GROUP_SEGMENT 16
#define GROUP_ROOM (GROUP_ITEMS + GROUP_ITEMS / GROUP_SEGMENT)

/* Scan: rows of four words for each work-item. */
#define SCAN_ROWS 4
#define SCAN_ROW (4 * GROUP_ITEMS)
#define SCAN_TILE (SCAN_ROWS * SCAN_ROW)

/* Sort: keys of each work-item, and digits of a pass, one for each work-item. */
#define SORT_DIGIT_BITS 8
#define SORT_DIGITS GROUP_ITEMS
#define SORT_ITEMS 16
#define SORT_TILE (GROUP_ITEMS * SORT_ITEMS)
#define SORT_WORDS 8 /* words of counters for each work-item */
/* Pads every 32 words by one, so that strides of 8 and 16 words use all banks of local memory. */
#define SORT_PADDED(count) ((count) + (count) / 32)
#define SORT_COUNTERS SORT_PADDED(SORT_WORDS *GROUP_ITEMS)
/* Counters, local memory of a scan, two words for each digit; then 16 KiB of keys that are
 * exchanged. */
#define SORT_EXCHANGE (SORT_COUNTERS + GROUP_ROOM + 2 * SORT_DIGITS)
#define SORT_ROOM (SORT_EXCHANGE + SORT_PADDED(SORT_TILE))

/* The self-test: words that a work-item writes, floats first. */
#define CHECK_WORDS 5

#endif
