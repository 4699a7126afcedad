/* Candidates to hits: sweep_filter takes the first look of sweep_pair() at each, which most do not
 * outlive, and sweep_settle makes the search. It gives up after some steps, so that a few long
 * searches do not hold up the others of their group, and is launched again for those. What hits is
 * held against the other directions of abuti_sweep_filter(). So times, normals and weights are
 * those of the CPU, bit for bit.
 *
 * Lists have pairs of edges at the front and pairs of vertices and faces at the end, and groups
 * have one kind only. What does not fit is counted, and the host comes again.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "geom/sweep_shared.h"
#include "sweep/device_shared.h"

#define GROUP 128

static inline vec3 position(__global const double *from, uint vertex) {
    __global const double *p = from + 3 * (size_t)vertex;
    return v3(p[0], p[1], p[2]);
}

static inline void load_frame(int kind, uint2 pair, __global const uint *edges,
                              __global const uint *faces, __global const double *start,
                              __global const double *end, const sweep_limits *limits,
                              sweep_frame *frame) {
    uint at[4], first = pair.x, second = pair.y;
    vec3 from[4], to[4];
    bool of_edges = kind == SWEEP_EDGE_EDGE;
    at[0] = of_edges ? edges[2 * (size_t)first] : first;
    at[1] = of_edges ? edges[2 * (size_t)first + 1] : faces[3 * (size_t)second];
    at[2] = of_edges ? edges[2 * (size_t)second] : faces[3 * (size_t)second + 1];
    at[3] = of_edges ? edges[2 * (size_t)second + 1] : faces[3 * (size_t)second + 2];
    for (int k = 0; k < 4; k++) {
        from[k] = position(start, at[k]);
        to[k] = position(end, at[k]);
    }
    sweep_frame_of(kind, from, to, limits, frame);
}

/* Places in a list for the items of the group that say yes. All items call it. */
static inline uint take(bool yes, __global uint *count, __local uint *room) {
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

/* Which part of a list a group looks at. */
typedef struct tile {
    int kind;
    uint at;    /* of this item in the list */
    bool there; /* it may be behind the end */
} tile;

static inline uint tiles_of(uint of_edges, uint others) {
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

/* Puts pairs of the group that stay at the end of a list. */
static inline void pass_on(bool stays, int kind, uint2 pair, __global uint2 *list, uint list_room,
                           __global uint *count, __local uint *room) {
    bool front = kind == SWEEP_EDGE_EDGE;
    uint to = take(stays, &count[!front], room);
    if (stays && to < list_room)
        list[front ? to : list_room - 1 - to] = pair;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_filter(__global const uint2 *candidates, uint candidates_room, __global const uint *edges,
             __global const uint *faces, __global const double *start, __global const double *end,
             sweep_limits limits, __global uint2 *open, uint open_room, __global uint *counts,
             __local uint *room) {
    uint of_edges = counts[SWEEP_COUNT_EDGE_EDGE], others = counts[SWEEP_COUNT_VERTEX_FACE];
    if (!fits(of_edges, others, candidates_room))
        return;
    uint tiles = tiles_of(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, candidates_room);
        bool stays = t.there;
        uint2 pair = (uint2)(0, 0);
        if (t.there) {
            sweep_frame frame;
            pair = candidates[t.at];
            load_frame(t.kind, pair, edges, faces, start, end, &limits, &frame);
            stays = !sweep_proven_by(t.kind, &frame, 0.5);
        }
        pass_on(stays, t.kind, pair, open, open_room, counts + SWEEP_COUNT_OPEN, room);
    }
}

static sweep_hit hit_of(int kind, uint2 pair, const sweep_answer *answer) {
    sweep_hit hit;
    hit.time = answer->time;
    hit.kind = kind == SWEEP_EDGE_EDGE;
    hit.first = pair.x;
    hit.second = pair.y;
    hit.unused = 0;
    hit.normal[0] = answer->normal.x;
    hit.normal[1] = answer->normal.y;
    hit.normal[2] = answer->normal.z;
    for (int k = 0; k < 3; k++)
        hit.weights[k] = answer->weights[k];
    return hit;
}

enum { IS_FREE, HITS, GOES_ON };

static int settle(int kind, const sweep_frame *frame, const sweep_limits *limits, int most,
                  sweep_answer *answer) {
    sweep_limits now = *limits;
    now.steps = min(most, limits->steps);
    int hit = sweep_march(kind, frame, &now, answer);
    if (hit && answer->steps >= now.steps && now.steps < limits->steps)
        return GOES_ON;
    for (int k = 0; k < 2 && hit; k++)
        hit = !sweep_proven_by(kind, frame, (real)k);
    return hit ? HITS : IS_FREE;
}

/* Searches of at most `most` steps; longer ones are left for the next round. `earliest`: a hit says
 * that later ones are of no interest. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_settle(__global const uint2 *open, __global uint2 *left, uint open_room, uint round, int most,
             __global const uint *edges, __global const uint *faces, __global const double *start,
             __global const double *end, sweep_limits limits, uint earliest,
             __global sweep_hit *hits, uint hits_room, __global uint *counts, __local uint *room) {
    __global uint *count = counts + SWEEP_COUNT_OPEN + 2 * round;
    uint of_edges = count[0], others = count[1];
    if (!fits(of_edges, others, open_room))
        return;
    uint tiles = tiles_of(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, open_room);
        sweep_answer answer;
        int state = IS_FREE;
        uint2 pair = (uint2)(0, 0);
        limits.latest = as_float(atomic_or(&counts[SWEEP_COUNT_LATEST], 0u));
        if (t.there) {
            sweep_frame frame;
            pair = open[t.at];
            load_frame(t.kind, pair, edges, faces, start, end, &limits, &frame);
            state = settle(t.kind, &frame, &limits, most, &answer);
        }
        pass_on(state == GOES_ON, t.kind, pair, left, open_room, count + 2, room);
        uint to = take(state == HITS, &counts[SWEEP_COUNT_HITS], room);
        if (state == HITS && to < hits_room)
            hits[to] = hit_of(t.kind, pair, &answer);
        if (state == HITS && earliest)
            atomic_min(&counts[SWEEP_COUNT_LATEST], as_uint(convert_float_rtp(answer.time)));
    }
}

#endif
