/* Features in floats, for kernels: the position of a point or a box relative to a face, an edge or
 * a vertex.
 *
 * features.h describes the records.
 *
 * No feature is excluded that could be nearest. Let m be the margin of nearest.cl, which is at
 * least 2^-18 and bounds the rounding of everything here, and T the triangle that is the result in
 * doubles. Its nearest point q is on one of its features F. If the point p is at most m outside
 * each vector of F, F is kept, and T measured. Suppose that it is outside by more.
 * - Not by the edges of a face itself, nor by the ends of an edge: then q would not be the nearest
 *   point of T.
 * - By an edge of a vertex, longer than 2^-20: moving q along it decreases the distance by 2^-20 m
 *   / |p - q|, some 2^-38, which doubles resolve. So T is not the result.
 * - By a face of an edge, at least 2^-20 high, with sines of 1/64 or more at both ends: if q is at
 *   least m from the ends, moving it into that face decreases the distance by m m / 64 / |p - q|,
 *   some 2^-44, which doubles resolve. If it is nearer to an end, that vertex replaces it: T has it
 *   too.
 * - If T has no face because its height is below 2^-20, its edges are nearer than m / 4 to q, and T
 *   itself does not limit their regions. An upper bound follows from edges and vertices directly,
 *   and from a face only if p is inside its prism by m: outside two edges at the tip of a sliver
 *   triangle the plane gives no bound.
 * A set of points is represented by its box. The vectors are units, so the smallest t in the box is
 * t at its centre minus the extent of the box along the vector; distances change by no more than
 * the displacement.
 */
#ifndef ABUTI_NEAREST_FEATURE_CL_H
#define ABUTI_NEAREST_FEATURE_CL_H

#include "nearest/walk_cl.h"

/* The operations of feature_lanes_shared.h, for one lane. */
typedef float wide;
typedef bool mask;
#define v_all(x) (x)
#define v_sub(a, b) ((a) - (b))
#define v_mul(a, b) ((a) * (b))
#define v_mul_add(a, b, c) fma(a, b, c)
#define v_mul_from(a, b, c) fma(-(a), b, c)
#define v_min(a, b) fmin(a, b)
#define v_max(a, b) fmax(a, b)
#define v_abs(a) fabs(a)
#define v_less(a, b) ((a) < (b))
#define v_select(m, a, b) ((m) ? (a) : (b))
#include "nearest/feature_lanes_shared.h"
#undef v_all
#undef v_sub
#undef v_mul
#undef v_mul_add
#undef v_mul_from
#undef v_min
#undef v_max
#undef v_abs
#undef v_less
#undef v_select

/* Kinds, in the lowest bits of an offset. */
#define FACE 1u

typedef struct feature {
    float place[3];
    feature_lanes is;
} feature;

typedef feature_position_lanes look;

static inline feature load_feature(__global const float4 *features, uint i) {
    __global const float4 *from = features + 4 * i;
    float4 place = from[0], first = from[1], second = from[2], fourth = from[3];
    feature f = {{place.x, place.y, place.z},
                 {{first.x, first.y, first.z},
                  {second.x, second.y, second.z},
                  {first.w, second.w, fourth.w},
                  {fourth.x, fourth.y, fourth.z},
                  place.w,
                  (as_uint(place.w) & 3u) == FACE}};
    return f;
}

/* The position of a point relative to a feature. */
static inline look look_at(const feature *f, float4 at) {
    const float r[3] = {at.x - f->place[0], at.y - f->place[1], at.z - f->place[2]};
    return feature_locate(&f->is, r);
}

typedef struct box {
    float4 middle, half_size;
    float radius, margin;
} box;

static inline box box_of(float4 lo, float4 hi, float margin) {
    box b;
    b.middle = (float4)(0.5f * (lo + hi).xyz, 0.0f);
    b.half_size = (float4)(0.5f * (hi - lo).xyz, 0.0f) + 0.25f * margin; /* and rounding errors */
    b.radius = sqrt(dot_f(b.half_size, b.half_size)) * NEAREST_SLACK;
    b.margin = margin;
    return b;
}

/* Whether a feature can be nearest to a point in the box, if all its points are at most `upper`
 * from the mesh. */
static inline bool is_needed(const feature *f, const box *b, float upper) {
    const float half_size[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    look l = look_at(f, b->middle);
    float deep = feature_extent(half_size, f->is.third);
    float reach = upper + (l.face ? deep : b->radius);
    return l.distance_sq <= reach * reach * NEAREST_SLACK &&
           feature_outside_box(&f->is, &l, half_size, deep) <= b->margin;
}

/* ---- lists in local memory ---- */

/* Indices of features; the features are read through the cache. */
typedef struct short_list {
    __local const uint *names;
    uint count;
} short_list;

/* Filters a list for a smaller box, whose points are at most `upper` from the mesh. Some work-items
 * share it: this one tests every `step`-th feature from `first` on. Work-items without work
 * (`none`) call it too, because of the barriers. `kept` is the counter of the box; `to` has a
 * capacity of `most`. */
static inline void shrink_list(__global const float4 *features, short_list from, uint first,
                               uint step, const box *b, float upper, bool none, __local uint *kept,
                               __local uint *to, uint most) {
    if (first == 0 && !none)
        *kept = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first; !none && i < from.count; i += step) {
        uint name = from.names[i];
        feature f = load_feature(features, name);
        if (!is_needed(&f, b, upper))
            continue;
        uint at = atomic_inc(kept);
        if (at < most)
            to[at] = name;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The squared distance of the centre of the box to the nearest feature, as a word; shared in the
 * same way. */
static inline uint bound_of_list(__global const float4 *features, short_list from, uint first,
                                 uint step, const box *b, bool none, __local uint *least) {
    float bound = INFINITY;
    if (first == 0 && !none)
        *least = as_uint(INFINITY);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = first; !none && i < from.count; i += step) {
        feature f = load_feature(features, from.names[i]);
        look l = look_at(&f, b->middle);
        bound = fmin(bound, feature_bound_sq(&l, b->margin));
    }
    if (!none)
        atomic_min(least, as_uint(bound));
    barrier(CLK_LOCAL_MEM_FENCE);
    return *least;
}

#endif
