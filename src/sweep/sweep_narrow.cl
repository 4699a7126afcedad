/* Candidates to hits. sweep_filter takes the first look at each, as sweep_pair() does, which most
 * do not outlive. sweep_march goes on with the others for some steps; what is neither free nor hits
 * by then goes to the next round, so that a few long searches do not hold up the others of their
 * group. All in the steps of sweep_pair(), so that times, normals and weights are those of the CPU,
 * bit for bit.
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

static inline void load_frame(int kind, uint first, uint second, __global const uint *edges,
                              __global const uint *faces, __global const double *start,
                              __global const double *end, const sweep_limits *limits,
                              sweep_frame *frame) {
    uint at[4];
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

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_filter(__global const uint2 *candidates, uint candidates_room, __global const uint *edges,
             __global const uint *faces, __global const double *start, __global const double *end,
             sweep_limits limits, __global sweep_open *open, uint open_room, __global uint *counts,
             __local uint *room) {
    uint of_edges = counts[SWEEP_COUNT_EDGE_EDGE], others = counts[SWEEP_COUNT_VERTEX_FACE];
    if (!fits(of_edges, others, candidates_room))
        return;
    uint tiles = tiles_of(of_edges, others);
    limits.latest = as_float(counts[SWEEP_COUNT_LATEST]);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, candidates_room);
        bool stays = t.there;
        uint2 pair = (uint2)(0, 0);
        if (t.there) {
            sweep_frame frame;
            sweep_near near;
            pair = candidates[t.at];
            load_frame(t.kind, pair.x, pair.y, edges, faces, start, end, &limits, &frame);
            sweep_near_at(t.kind, &frame, 0.5, &near);
            stays = !(sweep_proof(t.kind, &frame, near.n, 0.0) > limits.latest);
        }
        bool front = t.kind == SWEEP_EDGE_EDGE;
        uint to = take(stays, &counts[SWEEP_COUNT_OPEN + !front], room);
        if (stays && to < open_room) {
            sweep_open o;
            o.time = o.last[0] = o.last[1] = o.last[2] = 0.0;
            o.first = pair.x;
            o.second = pair.y;
            o.step = o.unused = 0;
            open[front ? to : open_room - 1 - to] = o;
        }
    }
}

enum { GOES_ON, IS_FREE, HITS };

static int march(int kind, const sweep_frame *frame, const sweep_limits *limits, uint most,
                 sweep_open *o, sweep_near *near) {
    int state = GOES_ON;
    for (uint k = 0; k < most && state == GOES_ON; k++) {
        o->step++;
        sweep_near_at(kind, frame, o->time, near);
        real until = near->distance > frame->separation + frame->tolerance &&
                             o->step < (uint)limits->steps
                         ? sweep_proof(kind, frame, near->n, o->time)
                         : o->time;
        if (until > o->time) {
            o->last[0] = near->n.x;
            o->last[1] = near->n.y;
            o->last[2] = near->n.z;
            o->time = until;
            state = until > limits->latest ? IS_FREE : GOES_ON;
        } else {
            state = HITS;
        }
    }
    return state;
}

static sweep_hit hit_of(int kind, const sweep_open *o, const sweep_near *near) {
    vec3 last = v3(o->last[0], o->last[1], o->last[2]);
    vec3 n = v3_normalise(v3_max_abs(last) > 0.0 ? last : near->n);
    sweep_hit hit;
    hit.time = o->time;
    hit.kind = kind == SWEEP_EDGE_EDGE;
    hit.first = o->first;
    hit.second = o->second;
    hit.unused = 0;
    hit.normal[0] = n.x;
    hit.normal[1] = n.y;
    hit.normal[2] = n.z;
    for (int k = 0; k < 3; k++)
        hit.weights[k] = near->weights[k];
    return hit;
}

/* `earliest`: a hit says that later ones are of no interest. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_march(__global const sweep_open *open, __global sweep_open *left, uint open_room, uint round,
            uint most, __global const uint *edges, __global const uint *faces,
            __global const double *start, __global const double *end, sweep_limits limits,
            uint earliest, __global sweep_hit *hits, uint hits_room, __global uint *counts,
            __local uint *room) {
    __global const uint *count = counts + SWEEP_COUNT_OPEN + 2 * round;
    uint of_edges = count[0], others = count[1];
    if (!fits(of_edges, others, open_room))
        return;
    uint tiles = tiles_of(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, open_room);
        sweep_open o;
        sweep_near near;
        int state = IS_FREE;
        limits.latest = as_float(atomic_or(&counts[SWEEP_COUNT_LATEST], 0u));
        if (t.there) {
            sweep_frame frame;
            o = open[t.at];
            load_frame(t.kind, o.first, o.second, edges, faces, start, end, &limits, &frame);
            state = march(t.kind, &frame, &limits, most, &o, &near);
        }
        bool front = t.kind == SWEEP_EDGE_EDGE;
        uint to = take(state == GOES_ON, &counts[SWEEP_COUNT_OPEN + 2 * round + 2 + !front], room);
        if (state == GOES_ON && to < open_room)
            left[front ? to : open_room - 1 - to] = o;
        to = take(state == HITS, &counts[SWEEP_COUNT_HITS], room);
        if (state == HITS && to < hits_room)
            hits[to] = hit_of(t.kind, &o, &near);
        if (state == HITS && earliest)
            atomic_min(&counts[SWEEP_COUNT_LATEST], as_uint(convert_float_rtp(o.time)));
    }
}

#endif
