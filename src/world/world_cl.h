/* Lists that kernels of a world append to, in no order; their counters are pairs of words, the
 * second for the carry. */
#ifndef ABUTI_WORLD_WORLD_CL_H
#define ABUTI_WORLD_WORLD_CL_H

#include "world/world_shared.h"

#define GROUP_OF_ITEMS __kernel __attribute__((reqd_work_group_size(WORLD_ITEMS, 1, 1))) void

/* The length of a list, as far as it has room. */
static inline uint list_length(__global const uint *totals, uint list, uint list_room) {
    return totals[2 * list + 1] ? list_room : min(totals[2 * list], list_room);
}

/* A place in a list for every item of the group that wants one, as far as there is room; else
 * ABUT_NONE. For all items of the group; `room` are two words of local memory. */
static inline uint take_place(bool wants, __global uint *totals, uint list, uint list_room,
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
