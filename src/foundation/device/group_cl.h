/* Exclusive prefix sum over a work-group, shared by the kernels of this module.
 *
 * OpenCL 1.2 without sub-groups. 256 work-items are 16 segments of 16: each work-item adds those
 * before it in its segment, then the segments before its own. That is 30 reads of local memory,
 * most of them broadcasts, and three barriers, while a tree would need eight.
 *
 * Local memory is always an argument of the kernel. PoCL 3.1 placed two __local variables of the
 * sort in static memory that all its threads shared; see docs/decisions.md.
 */
#ifndef ABUTI_DEVICE_GROUP_CL_H
#define ABUTI_DEVICE_GROUP_CL_H

#include "device/tools_shared.h"

#define GROUP GROUP_ITEMS
#define SEGMENT GROUP_SEGMENT

/* type name(value, room, total): `room` is local memory of GROUP_ROOM elements, unused when it is
 * called. Sums saturate. */
#define DEFINE_GROUP_SCAN(type, name)                                      \
    static inline type name(type value, __local type *room, type *total) { \
        uint item = (uint)get_local_id(0), segment = item / SEGMENT;       \
        type within = 0, before = 0, all = 0;                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                      \
        room[item] = value;                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                      \
        for (uint j = 0; j < SEGMENT - 1; j++)                             \
            if (j < item % SEGMENT)                                        \
                within = add_sat(within, room[segment * SEGMENT + j]);     \
        if (item % SEGMENT == SEGMENT - 1)                                 \
            room[GROUP + segment] = add_sat(within, value);                \
        barrier(CLK_LOCAL_MEM_FENCE);                                      \
        for (uint j = 0; j < GROUP / SEGMENT; j++) {                       \
            type sum = room[GROUP + j];                                    \
            if (j < segment)                                               \
                before = add_sat(before, sum);                             \
            all = add_sat(all, sum);                                       \
        }                                                                  \
        *total = all;                                                      \
        return add_sat(before, within);                                    \
    }

#endif
