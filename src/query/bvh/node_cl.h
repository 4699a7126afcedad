/* Nodes of a BVH in kernels, and functions that every traversal needs. */
#ifndef ABUTI_BVH_NODE_CL_H
#define ABUTI_BVH_NODE_CL_H

#include "bvh/bvh_shared.h"
#include "geom/types_shared.h"

#ifndef STACK
#define STACK BVH_STACK /* the host may define less for a shallow tree */
#endif

#if ABUTI_REAL_BITS == 64
/* Transforms a point to the frame of the BVH: (point - origin) scale. */
typedef struct mesh_frame {
    double origin[3];
    double scale;
} mesh_frame;

static inline vec3 load_point(__global const double *from) {
    return v3(from[0], from[1], from[2]);
}

/* The corners of a triangle: nine doubles. */
static inline triangle3 load_triangle(__global const double *corners, uint triangle) {
    __global const double *c = corners + 9 * (size_t)triangle;
    triangle3 t;
    t.corner[0] = load_point(c);
    t.corner[1] = load_point(c + 3);
    t.corner[2] = load_point(c + 6);
    return t;
}
#endif

static inline void sort_two(uint *a, uint *b) {
    uint low = min(*a, *b), high = max(*a, *b);
    *a = low;
    *b = high;
}

/* Defines a function that calls `visit` for the four triangles of a leaf, nine floats each, with
 * their places. The last leaf repeats its last triangle. */
#define DEFINE_LEAF(name, state_type, visit)                                                      \
    static inline void name(state_type *state, __global const float4 *triangles, uint leaf) {     \
        __global const float4 *f = triangles + 9 * leaf;                                          \
        float4 f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3], f4 = f[4];                             \
        visit(state, (float4)(f0.xyz, 0.0f), (float4)(f0.w, f1.xy, 0.0f),                         \
              (float4)(f1.zw, f2.x, 0.0f), leaf *BVH_WIDTH);                                      \
        visit(state, (float4)(f2.yzw, 0.0f), (float4)(f3.xyz, 0.0f), (float4)(f3.w, f4.xy, 0.0f), \
              leaf *BVH_WIDTH + 1);                                                               \
        float4 f5 = f[5], f6 = f[6], f7 = f[7], f8 = f[8];                                        \
        visit(state, (float4)(f4.zw, f5.x, 0.0f), (float4)(f5.yzw, 0.0f), (float4)(f6.xyz, 0.0f), \
              leaf *BVH_WIDTH + 2);                                                               \
        visit(state, (float4)(f6.w, f7.xy, 0.0f), (float4)(f7.zw, f8.x, 0.0f),                    \
              (float4)(f8.yzw, 0.0f), leaf *BVH_WIDTH + 3);                                       \
    }

/* Pushes the selected children. */
static inline uint push_children(uint *stack, uint used, uint4 child, int4 is_pushed) {
    if (is_pushed.x)
        stack[used++] = child.x;
    if (is_pushed.y)
        stack[used++] = child.y;
    if (is_pushed.z)
        stack[used++] = child.z;
    if (is_pushed.w)
        stack[used++] = child.w;
    return used;
}

/* The child whose slot is in the lowest bits of a key. */
#define CHILD_OF_KEY(key) ((key)&2 ? ((key)&1 ? name.w : name.z) : ((key)&1 ? name.y : name.x))

/* ---- candidates ----
 *
Lists of candidates, one per query: the kernel that finds them runs twice, first to count and
 * then to write them. It is the same kernel, so that both runs find the same. */

typedef struct candidates {
    __global uint *to; /* the next entry of the list */
    uint count;
    uint fill;           /* 0 = only count */
    uint triangle_count; /* later places repeat the last triangle */
} candidates;

static inline candidates candidates_of(uint fill, __global const uint *begin, __global uint *places,
                                       uint query, uint triangle_count) {
    candidates c;
    c.to = fill ? places + begin[query] : places;
    c.count = 0;
    c.fill = fill;
    c.triangle_count = triangle_count;
    return c;
}

static inline void candidates_add(candidates *c, uint place) {
    if (place >= c->triangle_count)
        return;
    if (c->fill)
        c->to[c->count] = place;
    c->count++;
}

/* Adds all triangles of a leaf. */
static inline void candidates_add_leaf(candidates *c, uint leaf) {
    for (uint i = 0; i < BVH_WIDTH; i++)
        candidates_add(c, leaf * BVH_WIDTH + i);
}

static inline void candidates_end(const candidates *c, __global uint *begin, uint query) {
    if (!c->fill)
        begin[query] = c->count;
}

#endif
