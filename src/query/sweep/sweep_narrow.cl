/* The narrow phase: from remaining candidates to hits. Uses the search of sweep_pair(), so that
 * times, normals and weights equal those of the CPU bit for bit. A launch ends each search after a
 * number of steps, so that a few long ones do not delay their work-group, and another launch
 * repeats these.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "geom/sweep_point_shared.h"
#include "sweep/boxes_cl.h"
#include "sweep/narrow_cl.h"

static sweep_hit make_hit(int kind, uint2 pair, const vec3 *start, const vec3 *end,
                          const sweep_answer *answer) {
    sweep_hit hit;
    hit.time = answer->time;
    hit.kind = kind == SWEEP_EDGE_EDGE;
    hit.first = pair.x;
    hit.second = pair.y;
    hit.unused = 0;
    hit.normal = answer->normal;
    for (int k = 0; k < 3; k++)
        hit.weights[k] = answer->weights[k];
    hit.point = sweep_point(kind == SWEEP_EDGE_EDGE, start, end, hit.time, hit.weights);
    return hit;
}

enum { IS_FREE, IS_HIT, UNFINISHED };

static int march_pair(int kind, const vec3 *start, const vec3 *end, const sweep_frame *frame,
                      const sweep_limits *limits, int max_steps, sweep_answer *answer) {
    sweep_limits now = *limits;
    now.steps = min(max_steps, limits->steps);
    int hit = sweep_search(kind, frame, &now, answer);
    if (hit && answer->steps >= now.steps && now.steps < limits->steps)
        return UNFINISHED;
    /* The first test of sweep_pair() comes last here: few pairs still need it. */
    return hit && !sweep_proven_by(kind, frame, 0.5) &&
                   !sweep_is_refuted(kind, start, end, frame, answer)
               ? IS_HIT
               : IS_FREE;
}

/* Boxes of the beginning of the step have a larger margin, and may overlap although those of the
 * whole step do not. */
static bool is_candidate(int kind, uint2 pair, __global const uint *edges,
                         __global const uint *faces, __global const double *start,
                         __global const double *end, const sweep_scene *scene) {
    bool of_edges = kind == SWEEP_EDGE_EDGE;
    sweep_corners a = corners_of(of_edges ? SWEEP_EDGES : SWEEP_VERTICES, pair.x, edges, faces);
    sweep_corners b = corners_of(of_edges ? SWEEP_EDGES : SWEEP_FACES, pair.y, edges, faces);
    return exact_overlap(&a, &b, start, end, scene);
}

/* Searches of at most `max_steps` steps; longer ones remain for the next round. `earliest`: a
 * hit discards later ones. `scene`: the whole step. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_march_pairs(__global const uint2 *open, __global uint2 *left, uint open_room, uint round,
                  int max_steps, __global const uint *edges, __global const uint *faces,
                  __global const double *start, __global const double *end, sweep_limits limits,
                  sweep_scene scene, uint earliest, __global sweep_hit *hits, uint hits_room,
                  __global uint *counts, __local uint *room) {
    __global uint *count = counts + SWEEP_COUNT_OPEN + 2 * round;
    uint of_edges = count[0], others = count[1];
    if (!fits(of_edges, others, open_room))
        return;
    uint tiles = count_tiles(of_edges, others);
    for (uint number = (uint)get_group_id(0); number < tiles; number += (uint)get_num_groups(0)) {
        tile t = tile_at(number, of_edges, others, open_room);
        sweep_answer answer;
        int state = IS_FREE;
        uint2 pair = (uint2)(0, 0);
        vec3 from[4], to[4];
        limits.latest = as_float(atomic_or(&counts[SWEEP_COUNT_LATEST], 0u));
        if (t.there) {
            sweep_frame frame;
            uint at[4];
            pair = open[t.at];
            corners_of_pair(t.kind, pair, edges, faces, at);
            for (int k = 0; k < 4; k++) {
                from[k] = position(start, at[k]);
                to[k] = position(end, at[k]);
            }
            sweep_frame_of(t.kind, from, to, &limits, &frame);
            state = march_pair(t.kind, from, to, &frame, &limits, max_steps, &answer);
            if (state == IS_HIT && earliest &&
                !is_candidate(t.kind, pair, edges, faces, start, end, &scene))
                state = IS_FREE;
        }
        append_pairs(state == UNFINISHED, t.kind, pair, left, open_room, count + 2, room);
        uint place = reserve_entries(state == IS_HIT, &counts[SWEEP_COUNT_HITS], room);
        if (state == IS_HIT && place < hits_room)
            hits[place] = make_hit(t.kind, pair, from, to, &answer);
        if (state == IS_HIT && earliest)
            atomic_min(&counts[SWEEP_COUNT_LATEST], as_uint(convert_float_rtp(answer.time)));
    }
}

#endif
