/* Lists that kernels of a world append to, in undefined order. Their counters are pairs of words,
 * the second one for the carry. */
#ifndef ABUTI_WORLD_WORLD_CL_H
#define ABUTI_WORLD_WORLD_CL_H

#include "world/world_shared.h"

#define GROUP_OF_ITEMS __kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void

/* The length of a list, limited by its capacity. */
static inline uint list_length(__global const uint *totals, uint list, uint list_room) {
    return totals[2 * list + 1] ? list_room : min(totals[2 * list], list_room);
}

/* Reserves a list entry for every work-item for which `wants` is set; ABUT_NONE beyond the
 * capacity. All work-items of the group must call it. `room` has two words of local memory. */
static inline uint reserve_entry(bool wants, __global uint *totals, uint list, uint list_room,
                                 __local uint *room) {
    uint rank = 0, item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        room[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (wants)
        rank = atomic_inc(&room[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && room[0]) {
        uint first = atomic_add(&totals[2 * list], room[0]);
        if (first + room[0] < first)
            atomic_inc(&totals[2 * list + 1]);
        room[1] = first;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = room[1] + rank;
    return wants && place >= rank && place < list_room ? place : ABUT_NONE;
}

#endif
