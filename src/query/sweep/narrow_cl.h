/* Lists of pairs that the stages of the narrow phase exchange: pairs of edges from the front, pairs
 * of vertices and faces from the end, so that each work-group has one kind only. Pairs beyond the
 * capacity are counted but not written, and the host repeats the stage. */
#ifndef ABUTI_SWEEP_NARROW_CL_H
#define ABUTI_SWEEP_NARROW_CL_H

#include "geom/sweep_shared.h"
#include "sweep/device_shared.h"

#define GROUP SWEEP_NARROW_GROUP

/* The four vertices of a pair, in the order of sweep_pair(). */
static inline void corners_of_pair(int kind, uint2 pair, __global const uint *edges,
                                   __global const uint *faces, uint *at) {
    bool of_edges = kind == SWEEP_EDGE_EDGE;
    size_t first = pair.x, second = pair.y;
    at[0] = of_edges ? edges[2 * first] : pair.x;
    at[1] = of_edges ? edges[2 * first + 1] : faces[3 * second];
    at[2] = of_edges ? edges[2 * second] : faces[3 * second + 1];
    at[3] = of_edges ? edges[2 * second + 1] : faces[3 * second + 2];
}

static inline vec3 position(__global const double *from, uint vertex) {
    __global const double *p = from + 3 * (size_t)vertex;
    return v3(p[0], p[1], p[2]);
}

/* Reserves list entries for the work-items for which `yes` is set; returns the first index plus the
 * rank of this item. All work-items of the group must call it. */
static inline uint reserve_entries(bool yes, __global uint *count, __local uint *room) {
    uint mine = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        room[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (yes)
        mine = atomic_inc(&room[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && room[0] > 0)
        room[1] = atomic_add(count, room[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    return room[1] + mine;
}

/* The entry of a list that a work-item processes. */
typedef struct tile {
    int kind;
    uint at;    /* index in the list */
    bool there; /* false behind the end of the list */
} tile;

static inline uint count_tiles(uint of_edges, uint others) {
    return (of_edges + GROUP - 1) / GROUP + (others + GROUP - 1) / GROUP;
}

static inline tile tile_at(uint number, uint of_edges, uint others, uint room) {
    uint first = (of_edges + GROUP - 1) / GROUP, item = (uint)get_local_id(0);
    tile t;
    t.kind = number < first ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
    uint i = (number < first ? number : number - first) * GROUP + item;
    t.there = i < (number < first ? of_edges : others);
    t.at = number < first ? i : room - 1 - i;
    return t;
}

static inline bool fits(uint of_edges, uint others, uint room) {
    return (ulong)of_edges + others <= room;
}

/* Appends the pairs of the group for which `stays` is set to a list. */
static inline void append_pairs(bool stays, int kind, uint2 pair, __global uint2 *list,
                                uint list_room, __global uint *count, __local uint *room) {
    bool front = kind == SWEEP_EDGE_EDGE;
    uint to = reserve_entries(stays, &count[!front], room);
    if (stays && to < list_room)
        list[front ? to : list_room - 1 - to] = pair;
}

#endif
