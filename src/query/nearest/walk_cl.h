/* The closest-point search in floats, for kernels: triangles, candidates, and the traversal of the
 * tree. nearest.cl describes the method and the margin. */
#ifndef ABUTI_NEAREST_WALK_CL_H
#define ABUTI_NEAREST_WALK_CL_H

#include "bvh/node_cl.h"
#include "nearest/nearest_shared.h"

#define LENGTH_SQ_MIN 1e-30f

/* ---- triangles in floats ---- */

static inline float dot_f(float4 a, float4 b) {
    return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z));
}

/* Accurate to a few roundings if native_recip() is accurate to about a thousandth. */
static inline float reciprocal(float x) {
    float r = native_recip(x);
    return r * fma(-x, r, 2.0f);
}

/* The squared distance of the origin to the segment from a along u, at this parameter. */
static inline float segment_sq(float4 a, float4 u, float foot) {
    float t = clamp(foot, 0.0f, 1.0f);
    float4 p = (float4)(fma(t, u.x, a.x), fma(t, u.y, a.y), fma(t, u.z, a.z), 0.0f);
    return dot_f(p, p);
}

/* The squared distance of the origin to a triangle; the method is that of closest_shared.h. */
static inline float triangle_sq(float4 a, float4 b, float4 c) {
    float4 u = b - a, v = c - a, e = c - b;
    float uu = dot_f(u, u), vv = dot_f(v, v), ee = dot_f(e, e);
    float per_uu = reciprocal(fmax(uu, LENGTH_SQ_MIN));
    float s = -dot_f(a, u) * per_uu, k = dot_f(u, v) * per_uu;
    float4 w = (float4)(fma(-k, u.x, v.x), fma(-k, u.y, v.y), fma(-k, u.z, v.z), 0.0f);
    float4 beside = (float4)(fma(s, u.x, a.x), fma(s, u.y, a.y), fma(s, u.z, a.z), 0.0f);
    float ww = dot_f(w, w);
    float r = -dot_f(beside, w) * reciprocal(fmax(ww, LENGTH_SQ_MIN)), s_face = fma(-k, r, s);
    if (r > 0.0f && s_face > 0.0f && r + s_face < 1.0f && uu > LENGTH_SQ_MIN &&
        ww > LENGTH_SQ_MIN) {
        float4 face =
            (float4)(fma(r, w.x, beside.x), fma(r, w.y, beside.y), fma(r, w.z, beside.z), 0.0f);
        return dot_f(face, face);
    }
    float border = segment_sq(a, u, s);
    border = fmin(border, segment_sq(a, v, -dot_f(a, v) * reciprocal(fmax(vv, LENGTH_SQ_MIN))));
    return fmin(border, segment_sq(b, e, -dot_f(b, e) * reciprocal(fmax(ee, LENGTH_SQ_MIN))));
}

/* ---- the search in floats ---- */

typedef struct search {
    float4 at;            /* the point; w is the margin */
    float best, reach_sq; /* smallest distance so far; squares beyond reach_sq are pruned */
    uint count;           /* of candidates, or COMPLETE */
    float distance_sq[CANDIDATES];
    uint place[CANDIDATES];
} search;

static inline void set_best(search *s, float best) {
    float reach = best + 2.0f * s->at.w;
    s->best = best;
    s->reach_sq = reach * reach * NEAREST_SLACK;
}

static inline void add_candidate(search *s, float distance_sq, uint place) {
    if (s->count == CANDIDATES) {
        uint kept = 0;
        for (uint i = 0; i < CANDIDATES; i++)
            if (s->distance_sq[i] <= s->reach_sq) {
                s->distance_sq[kept] = s->distance_sq[i];
                s->place[kept++] = s->place[i];
            }
        s->count = kept == CANDIDATES ? COMPLETE : kept;
    }
    if (s->count == COMPLETE)
        return;
    s->distance_sq[s->count] = distance_sq;
    s->place[s->count++] = place;
}

/* Writes the remaining candidates to places[k count + i] for k below counts[i]. */
static inline void store_candidates(const search *s, uint i, uint count, __global uchar *counts,
                                    __global uint *places) {
    if (s->count == COMPLETE) {
        counts[i] = COMPLETE;
        places[i] = as_uint(s->best);
        return;
    }
    uint kept = 0;
    for (uint k = 0; k < s->count; k++)
        if (s->distance_sq[k] <= s->reach_sq)
            places[(size_t)kept++ * count + i] = s->place[k];
    counts[i] = (uchar)kept;
}

static inline void visit_triangle(search *s, float4 a, float4 b, float4 c, uint place) {
    float distance_sq = triangle_sq(a - s->at, b - s->at, c - s->at);
    if (distance_sq > s->reach_sq)
        return;
    add_candidate(s, distance_sq, place);
    if (distance_sq < s->best * s->best)
        set_best(s, sqrt(distance_sq));
}

/* The repeated triangle of the last leaf does not matter. */
DEFINE_LEAF(visit_leaf, search, visit_triangle)

static inline float4 box_distance(float4 lo, float4 hi, float x) {
    return fmax(fmax(lo - x, x - hi), 0.0f);
}

/* Squared distances to the boxes of four children as integers of the same order, rounded down, with
 * the slot of the child in the lowest bits. */
static inline uint4 child_keys(__global const bvh_node *n, float4 at) {
    float4 x = box_distance(n->lo[0], n->hi[0], at.x), y = box_distance(n->lo[1], n->hi[1], at.y),
           z = box_distance(n->lo[2], n->hi[2], at.z);
    float4 sum = fma(x, x, fma(y, y, z * z)); /* of an empty slot: infinity */
    return (as_uint4(sum) & ~3u) | (uint4)(0, 1, 2, 3);
}

/* Defines a traversal of the tree from the bound of the search, nearest children first. `visit` is
 * called for the leaves. */
#define DEFINE_WALK(walk, state_type, search_of, visit)                 \
    static void walk(state_type *state, __global const bvh_node *nodes, \
                     __global const float4 *triangles) {                \
        search *s = search_of;                                          \
        uint keys[STACK], children[STACK], used = 0, child = 0;         \
        for (;;) {                                                      \
            uint next = ABUT_NONE;                                      \
            if (child & BVH_LEAF) {                                     \
                visit(state, triangles, child & ~BVH_LEAF);             \
            } else {                                                    \
                __global const bvh_node *n = nodes + child;             \
                uint4 key = child_keys(n, s->at), name = n->child;      \
                uint k0 = key.x, k1 = key.y, k2 = key.z, k3 = key.w;    \
                uint limit = as_uint(s->reach_sq);                      \
                sort_two(&k0, &k1);                                     \
                sort_two(&k2, &k3);                                     \
                sort_two(&k0, &k2);                                     \
                sort_two(&k1, &k3);                                     \
                sort_two(&k1, &k2);                                     \
                if (k3 <= limit) {                                      \
                    keys[used] = k3;                                    \
                    children[used++] = CHILD_OF_KEY(k3);                \
                }                                                       \
                if (k2 <= limit) {                                      \
                    keys[used] = k2;                                    \
                    children[used++] = CHILD_OF_KEY(k2);                \
                }                                                       \
                if (k1 <= limit) {                                      \
                    keys[used] = k1;                                    \
                    children[used++] = CHILD_OF_KEY(k1);                \
                }                                                       \
                if (k0 <= limit)                                        \
                    next = CHILD_OF_KEY(k0);                            \
            }                                                           \
            while (next == ABUT_NONE && used) {                         \
                used--;                                                 \
                if (keys[used] <= as_uint(s->reach_sq))                 \
                    next = children[used];                              \
            }                                                           \
            if (next == ABUT_NONE)                                      \
                return;                                                 \
            child = next;                                               \
        }                                                               \
    }

DEFINE_WALK(walk, search, state, visit_leaf)

#endif
