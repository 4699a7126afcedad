/* Sorting of hits, and conversion to impacts. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "geom/sweep_point_shared.h"
#include "sweep/device_shared.h"

#define GROUP SWEEP_ITEMS
#define RANK_CHUNK SWEEP_RANK_CHUNK

/* Sort key of kind, first and second. Feature indices have `bits` bits. */
static inline ulong feature_key(__global const sweep_hit *hit, uint bits) {
    return ((ulong)hit->kind << 2 * bits | (ulong)hit->first << bits) | hit->second;
}

/* Keys of the sort: time, or kind, first and second. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_hit_keys(__global const sweep_hit *hits, uint count, uint by_time, uint bits,
               __global ulong *keys, __global uint *order) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint at = by_time ? order[i] : i;
    /* Times are from 0 to 1, so that their bits compare like their values. */
    keys[i] = by_time ? as_ulong(hits[at].time) : feature_key(&hits[at], bits);
    order[i] = at;
}

/* The same for few hits: each counts the hits before it. A group handles GROUP hits and compares
 * them with RANK_CHUNK of all. Its counts are added to `ranks`. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_rank(__global const sweep_hit *hits, uint count, uint bits, __global uint *ranks,
           __local ulong *room) {
    __local ulong *times = room, *feature_keys = room + GROUP;
    uint chunks = (count + RANK_CHUNK - 1) / RANK_CHUNK, group = (uint)get_group_id(0);
    uint item = (uint)get_local_id(0), i = group / chunks * GROUP + item, before = 0;
    uint begin = group % chunks * RANK_CHUNK, end = min(begin + RANK_CHUNK, count);
    ulong time = i < count ? as_ulong(hits[i].time) : 0;
    ulong key = i < count ? feature_key(&hits[i], bits) : 0;
    for (uint first = begin; first < end; first += GROUP) {
        uint here = min(end - first, (uint)GROUP);
        if (item < here) {
            times[item] = as_ulong(hits[first + item].time);
            feature_keys[item] = feature_key(&hits[first + item], bits);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < here; k++)
            before += times[k] < time || (times[k] == time && feature_keys[k] < key);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < count && before > 0)
        atomic_add(&ranks[i], before);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_place(__global const uint *ranks, uint count, __global uint *order) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        order[ranks[i]] = i;
}

static inline bool is_before(double time, uint at, double other, uint other_at,
                             __global const sweep_hit *hits) {
    if (time != other || other_at == at)
        return time < other;
    sweep_hit a = hits[at], b = hits[other_at];
    if (a.kind != b.kind)
        return a.kind < b.kind;
    return a.first != b.first ? a.first < b.first : a.second < b.second;
}

/* Moves the first hit in order to index 0. Runs as one group. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_earliest(__global sweep_hit *hits, uint count, __global uint *order, __local double *times) {
    __local uint *places = (__local uint *)(times + GROUP);
    uint item = (uint)get_local_id(0), best_at = 0;
    double best = INFINITY;
    for (uint i = item; i < count; i += GROUP) {
        double time = hits[i].time;
        if (is_before(time, i, best, best_at, hits)) {
            best = time;
            best_at = i;
        }
    }
    times[item] = best;
    places[item] = best_at;
    for (uint step = GROUP / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < step &&
            is_before(times[item + step], places[item + step], times[item], places[item], hits)) {
            times[item] = times[item + step];
            places[item] = places[item + step];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        hits[0] = hits[places[0]];
        order[0] = 0;
    }
}

static inline vec3 position_of(__global const double *at, uint vertex) {
    __global const double *p = at + 3 * (size_t)vertex;
    return v3(p[0], p[1], p[2]);
}

/* The last mesh that begins at the element or before it. */
static inline uint find_mesh(__global const uint *begin, uint meshes, uint element) {
    uint low = 0, high = meshes;
    while (high - low > 1) {
        uint middle = low + (high - low) / 2;
        if (begin[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* `begin`: first vertices, edges and faces of meshes, meshes + 1 entries each. Same as impact_of()
 * in motion.c. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
sweep_impacts(__global const sweep_hit *hits, __global const uint *order, uint count,
              __global const uint *edges, __global const uint *faces, __global const double *start,
              __global const double *end, __global const uint *begin, uint meshes,
              __global sweep_impact *impacts) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    sweep_hit hit = hits[order[i]];
    sweep_impact to;
    vec3 from[4], at[4];
    uint corners[4];
    if (hit.kind == 0) {
        corners[0] = hit.first;
        for (int k = 0; k < 3; k++)
            corners[1 + k] = faces[3 * (size_t)hit.second + k];
    } else {
        for (int k = 0; k < 2; k++) {
            corners[k] = edges[2 * (size_t)hit.first + k];
            corners[2 + k] = edges[2 * (size_t)hit.second + k];
        }
    }
    for (int k = 0; k < 4; k++) {
        from[k] = position_of(start, corners[k]);
        at[k] = position_of(end, corners[k]);
    }
    vec3 point = sweep_point(hit.kind != 0, from, at, hit.time, hit.weights);
    to.point[0] = point.x;
    to.point[1] = point.y;
    to.point[2] = point.z;
    to.time = hit.time;
    for (int k = 0; k < 3; k++) {
        to.normal[k] = hit.normal[k];
        to.weights[k] = hit.weights[k];
    }
    to.kind = hit.kind;
    for (int k = 0; k < 2; k++) {
        __global const uint *first = begin + (hit.kind ? SWEEP_EDGES
                                              : k      ? SWEEP_FACES
                                                       : 0) *
                                                 ((size_t)meshes + 1);
        uint element = k ? hit.second : hit.first;
        to.mesh[k] = find_mesh(first, meshes, element);
        to.element[k] = element - first[to.mesh[k]];
    }
    to.unused = 0;
    impacts[i] = to;
}

#endif
