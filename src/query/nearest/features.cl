/* Features of a mesh with their regions, for a BVH on the device: the same records as
 * nearest/features.c, in the same order, with the same bits.
 *
 * Problem: faces, edges and vertices are listed in the order of the leaves, each at the first leaf
 * that has a triangle of it. Each feature needs all its triangles. Method: corners are grouped by
 * vertex: counted, prefix-summed, filled in any order and sorted, since the lists are short. A side
 * of a triangle finds the other sides of its edge in the list of the end with fewer corners. Slot 3
 * i + k is corner k, and the side that begins there, of the triangle at position i of the order. An
 * edge or a vertex is numbered at its lowest slot. Numbers are prefix sums over the positions. If a
 * vertex has more than FEATURES_DEGREE corners, nothing is computed, since time grows with the
 * square of that: cells are then computed by traversal of the tree. A vertex with more
 * than 64 neighbours may get other vectors than on the host, which uses the first 64; any of them
 * are valid.
 */
#include "nearest/features_shared.h"

#if ABUTI_REAL_BITS == 64

/* Kinds, in the lowest bits of an offset; see features.h. */
#define KIND_VERTEX 0u
#define KIND_FACE 1u
#define KIND_EDGE 2u
#define KIND_PLAIN_VERTEX 3u

/* ---- the mesh ---- */

typedef struct surface {
    __global const uint *indices, *order, *place, *begin, *corners_of;
    __global const double *corners;
    vec3 origin;
    double scale;
} surface;

static inline vec3 absolute_at(const surface *s, uint corner) {
    __global const double *c = s->corners + 3 * (size_t)corner;
    return v3(c[0], c[1], c[2]);
}

/* The position in the mesh. Exact, since the subtraction reverses the addition that made the
 * corner. */
static inline vec3 position_at(const surface *s, uint corner) {
    return v3_sub(absolute_at(s, corner), s->origin);
}

static inline vec3 corner_at(const surface *s, uint corner) {
    return v3_scale(position_at(s, corner), s->scale);
}

static inline uint next_corner(uint corner) {
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}

static inline uint slot_of(const surface *s, uint corner) {
    return 3 * s->place[corner / 3] + corner % 3;
}

static inline bool is_degenerate(const surface *s, uint triangle) {
    __global const uint *v = s->indices + 3 * (size_t)triangle;
    return v[0] == v[1] || v[1] == v[2] || v[2] == v[0];
}

#define SURFACE_ARGUMENTS                                                                  \
    __global const uint *indices, __global const uint *order, __global const uint *place,  \
        __global const uint *begin, __global const uint *corners_of,                       \
        __global const double *corners, double origin_x, double origin_y, double origin_z, \
        double scale
#define SURFACE \
    { indices, order, place, begin, corners_of, corners, v3(origin_x, origin_y, origin_z), scale }

/* ---- corners of vertices ---- */

/* One work-item per position in the order. */
__kernel void features_count(__global const uint *indices, __global const uint *order,
                             __global const double *corners, double origin_x, double origin_y,
                             double origin_z, double scale, uint count, __global uint *place,
                             __global uint *has_face, volatile __global uint *degree) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint t = order[i];
    vec3 corner[3];
    for (uint k = 0; k < 3; k++) {
        __global const double *c = corners + 9 * (size_t)t + 3 * k;
        corner[k] = v3_scale(v3_sub(v3(c[0], c[1], c[2]), v3(origin_x, origin_y, origin_z)), scale);
        atomic_inc(&degree[indices[3 * (size_t)t + k]]);
    }
    place[t] = i;
    has_face[t] = face_is_high(corner);
}

/* One work-item per corner; `degree` counts down to 0. */
__kernel void features_list(__global const uint *indices, __global const uint *begin, uint count,
                            volatile __global uint *degree, __global uint *corners_of) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        corners_of[begin[indices[i]] + atomic_dec(&degree[indices[i]]) - 1] = i;
}

/* One work-item per vertex. */
__kernel void features_sort(__global const uint *begin, uint count, __global uint *corners_of,
                            volatile __global uint *longest) {
    uint v = (uint)get_global_id(0);
    if (v >= count)
        return;
    uint from = begin[v], to = begin[v + 1];
    if (to - from > *longest) /* avoids most atomic operations */
        atomic_max(longest, to - from);
    if (to - from > FEATURES_DEGREE)
        return;
    for (uint i = from + 1; i < to; i++) {
        uint corner = corners_of[i], at = i;
        for (; at > from && corners_of[at - 1] > corner; at--)
            corners_of[at] = corners_of[at - 1];
        corners_of[at] = corner;
    }
}

/* ---- numbers ---- */

/* Iterates over all sides on the same edge as the side that begins at a corner, by the corners that
 * they begin at, ascending. */
typedef struct sides {
    uint at, end; /* range of the list of corners */
    uint low, high;
    uint triangle, k; /* position of the iteration */
} sides;

static inline sides sides_of(const surface *s, uint corner) {
    uint a = s->indices[corner], b = s->indices[next_corner(corner)];
    uint n_a = s->begin[a + 1] - s->begin[a], n_b = s->begin[b + 1] - s->begin[b];
    uint shorter = n_b < n_a ? b : a;
    sides all = {s->begin[shorter], s->begin[shorter + 1], min(a, b), max(a, b), ABUT_NONE, 3};
    return all;
}

/* Returns ABUT_NONE after the last side. */
static inline uint next_side(const surface *s, sides *all) {
    for (;;) {
        for (; all->k < 3; all->k++) {
            uint corner = 3 * all->triangle + all->k;
            uint a = s->indices[corner], b = s->indices[next_corner(corner)];
            if (min(a, b) == all->low && max(a, b) == all->high) {
                all->k++;
                return corner;
            }
        }
        if (all->at == all->end)
            return ABUT_NONE;
        uint triangle = s->corners_of[all->at++] / 3;
        if (triangle == all->triangle)
            continue; /* degenerate: it has this vertex twice */
        all->triangle = triangle;
        all->k = 0;
    }
}

static inline bool is_first_of_edge(const surface *s, uint corner) {
    uint slot = slot_of(s, corner), side;
    if (s->indices[corner] == s->indices[next_corner(corner)])
        return false; /* an edge of two equal vertices does not count */
    sides all = sides_of(s, corner);
    while ((side = next_side(s, &all)) != ABUT_NONE)
        if (slot_of(s, side) < slot)
            return false;
    return true;
}

static inline bool is_first_of_vertex(const surface *s, uint corner) {
    uint slot = slot_of(s, corner), v = s->indices[corner];
    for (uint i = s->begin[v]; i < s->begin[v + 1]; i++)
        if (slot_of(s, s->corners_of[i]) < slot)
            return false;
    return true;
}

/* The features that are numbered at each position, one bit each: the face, and for each corner the
 * side that begins there and the vertex. One work-item per position. */
__kernel void features_first(SURFACE_ARGUMENTS, uint count, __global const uint *has_face,
                             __global const uint *longest, __global uint *bits,
                             __global uint *sums) {
    const surface s = SURFACE;
    uint i = (uint)get_global_id(0);
    if (i >= count || *longest > FEATURES_DEGREE)
        return;
    uint t = order[i], found = has_face[t];
    ABUTI_ROLLED
    for (uint k = 0; k < 3; k++) {
        found |= is_first_of_edge(&s, 3 * t + k) ? 2u << 2 * k : 0;
        found |= is_first_of_vertex(&s, 3 * t + k) ? 4u << 2 * k : 0;
    }
    bits[i] = found;
    sums[i] = popcount(found);
}

/* The source of each feature: eight times its position, plus its bit there. */
__kernel void features_number(__global const uint *bits, __global const uint *sums, uint count,
                              __global uint *sources) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint feature = sums[i];
    for (uint bit = 0; bit < 7; bit++)
        if (bits[i] >> bit & 1)
            sources[feature++] = 8 * i + bit;
}

/* ---- records ---- */

static inline void store_record(__global float4 *to, const feature_parts *p, uint kind) {
    float offset = as_float((as_uint((float)p->offset) & ~3u) | kind);
    to[0] = (float4)((float)p->place.x, (float)p->place.y, (float)p->place.z, offset);
    to[1] = (float4)((float)p->vector[0].x, (float)p->vector[0].y, (float)p->vector[0].z,
                     (float)p->vector[2].x);
    to[2] = (float4)((float)p->vector[1].x, (float)p->vector[1].y, (float)p->vector[1].z,
                     (float)p->vector[2].y);
    to[3] = (float4)((float)p->vector[3].x, (float)p->vector[3].y, (float)p->vector[3].z,
                     (float)p->vector[2].z);
}

/* Stores a feature_exact. */
static inline void store_exact(__global double2 *to, vec3 place, vec3 direction, double length,
                               uint triangle, uint is) {
    to[0] = (double2)(place.x, place.y);
    to[1] = (double2)(place.z, length);
    to[2] = (double2)(direction.x, direction.y);
    to[3] = (double2)(direction.z, as_double((uint2)(triangle, is)));
}

static void make_face(const surface *s, uint triangle, __global float4 *record,
                      __global double2 *exact) {
    vec3 corner[3];
    for (uint k = 0; k < 3; k++)
        corner[k] = corner_at(s, 3 * triangle + k);
    feature_parts p = feature_of_face(corner);
    store_record(record, &p, KIND_FACE);
    store_exact(exact, absolute_at(s, 3 * triangle), face_normal_of(corner), 0.0, triangle,
                FEATURE_IS_FACE);
}

/* Returns the number of sides of the edge. */
static uint make_edge(const surface *s, __global const uint *has_face, uint corner,
                      __global float4 *record, __global double2 *exact) {
    uint other = next_corner(corner), count = 0, used = 0, is = 0, side;
    uint low = s->indices[corner] < s->indices[other] ? corner : other;
    uint high = low == corner ? other : corner;
    feature_parts p = feature_of_edge(corner_at(s, low), corner_at(s, high));
    sides all = sides_of(s, corner);
    while ((side = next_side(s, &all)) != ABUT_NONE) {
        uint triangle = side / 3;
        vec3 into;
        count++;
        is |= has_face[triangle] ? 0 : FEATURE_IS_LOW;
        if (used == 2 || !(p.offset > 0) || is_degenerate(s, triangle))
            continue;
        if (edge_face_excludes(&p, corner_at(s, next_corner(next_corner(side))), &into))
            p.vector[++used] = into;
    }
    store_record(record, &p, KIND_EDGE);
    vec3 way = v3_scale(v3_sub(position_at(s, high), position_at(s, low)), s->scale);
    double length = v3_length(way);
    store_exact(exact, absolute_at(s, low), length > 0 ? v3_normalise(way) : v3(0, 0, 0), length, 0,
                is);
    return count;
}

/* The direction from a vertex to another corner of one of its triangles. Returns false if that
 * corner is too near or is the vertex. */
static inline bool direction_to(const surface *s, uint vertex, vec3 at, uint corner, vec3 *u) {
    if (s->indices[corner] == vertex)
        return false;
    vec3 way = v3_sub(corner_at(s, corner), at);
    double length = v3_length(way);
    *u = v3_scale(way, 1 / length);
    return length >= FEATURE_HEIGHT;
}

static uint make_vertex(const surface *s, __global const uint *has_face, uint corner,
                        __global float4 *record, __global double2 *exact) {
    uint vertex = s->indices[corner], from = s->begin[vertex], to = s->begin[vertex + 1];
    feature_parts p;
    bool plain = true;
    p.place = corner_at(s, corner);
    p.offset = 0;
    for (uint i = from; i < to; i++)
        plain = plain && has_face[s->corners_of[i] / 3];
    ABUTI_ROLLED
    for (int n = 0; n < 4; n++) { /* spread as far as possible; see features.c */
        double least = n ? 0.99 : 2;
        p.vector[n] = v3(0, 0, 0);
        ABUTI_ROLLED
        for (uint which = 0; which < 3 * (to - from); which++) {
            uint i = from + which / 3, k = which % 3;
            double cosine = -1;
            vec3 u;
            if (!direction_to(s, vertex, p.place, s->corners_of[i] / 3 * 3 + k, &u))
                continue;
            ABUTI_ROLLED
            for (int j = 0; j < n; j++)
                cosine = real_max(cosine, v3_dot(u, p.vector[j]));
            if (cosine < least) {
                least = cosine;
                p.vector[n] = u;
            }
        }
    }
    store_record(record, &p, plain ? KIND_PLAIN_VERTEX : KIND_VERTEX);
    store_exact(exact, absolute_at(s, corner), v3(0, 0, 0), 0.0, 0, plain ? 0 : FEATURE_IS_LOW);
    return to - from;
}

/* The corner where a feature begins. */
static inline uint corner_of(const surface *s, uint source) {
    return 3 * s->order[source / 8] + (source % 8 + 5) / 2 % 3;
}

/* One work-item per feature. */
__kernel void features_make(SURFACE_ARGUMENTS, uint count, __global const uint *has_face,
                            __global const uint *sources, __global float4 *records,
                            __global double2 *exact, __global uint *incident_counts) {
    const surface s = SURFACE;
    uint f = (uint)get_global_id(0), incident = 1;
    if (f >= count)
        return;
    uint source = sources[f], what = source % 8;
    __global float4 *record = records + 4 * (size_t)f;
    __global double2 *to = exact + 4 * (size_t)f;
    if (what == 0)
        make_face(&s, order[source / 8], record, to);
    else if (what & 1)
        incident = make_edge(&s, has_face, corner_of(&s, source), record, to);
    else
        incident = make_vertex(&s, has_face, corner_of(&s, source), record, to);
    incident_counts[f] = incident;
}

/* The positions of the triangles of each feature. One work-item per feature. */
__kernel void features_incidents(SURFACE_ARGUMENTS, uint count, __global const uint *sources,
                                 __global const uint *incident_begin, __global uint *incidents) {
    const surface s = SURFACE;
    uint f = (uint)get_global_id(0);
    if (f >= count)
        return;
    uint source = sources[f], what = source % 8, corner = corner_of(&s, source), side;
    __global uint *to = incidents + incident_begin[f];
    if (what == 0) {
        *to = source / 8;
    } else if (what & 1) {
        sides all = sides_of(&s, corner);
        while ((side = next_side(&s, &all)) != ABUT_NONE)
            *to++ = place[side / 3];
    } else {
        uint v = indices[corner];
        for (uint i = begin[v]; i < begin[v + 1]; i++)
            *to++ = place[corners_of[i] / 3];
    }
}

#endif
