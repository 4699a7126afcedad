/* Features in floats, for kernels: what a place or a box is to a face, an edge or a vertex.
 *
 * See features.h for the records, and regions.cl for the proof that nothing which could win is left
 * out. */
#ifndef ABUTI_NEAREST_FEATURE_CL_H
#define ABUTI_NEAREST_FEATURE_CL_H

#include "nearest/walk_cl.h"

/* Kinds, in the lowest bits of an offset. */
#define FACE 1u

typedef struct feature {
    float4 place, first, second, fourth; /* the third is in their w, the offset in place.w */
} feature;

static inline feature load_feature(__global const float4 *features, uint i) {
    __global const float4 *from = features + 4 * i;
    feature f = {from[0], from[1], from[2], from[3]};
    return f;
}

static inline bool is_face(const feature *f) {
    return (as_uint(f->place.w) & 3u) == FACE;
}

/* What a place is to a feature. */
typedef struct look {
    float t[4];
    float distance_sq; /* to the plane of a face, to an edge, to a vertex */
    bool face;
} look;

static inline look look_at(const feature *f, float4 at) {
    look l;
    float4 r = at - f->place;
    l.face = is_face(f);
    l.t[0] = dot_f(f->first, r);
    l.t[1] = dot_f(f->second, r);
    l.t[2] = fma(f->first.w, r.x, fma(f->second.w, r.y, f->fourth.w * r.z));
    float along = dot_f(f->fourth, r), offset = f->place.w;
    l.t[3] = along - offset;
    float s = clamp(along, 0.0f, offset);
    float x = fma(-s, f->fourth.x, r.x), y = fma(-s, f->fourth.y, r.y),
          z = fma(-s, f->fourth.z, r.z);
    l.distance_sq = l.face ? l.t[2] * l.t[2] : fma(x, x, fma(y, y, z * z));
    return l;
}

static inline float outside_of(const look *l) {
    float most = fmax(fmax(l->t[0], l->t[1]), l->t[3]);
    return l->face ? most : fmax(most, l->t[2]);
}

/* A distance that the mesh is not beyond, squared. */
static inline float bound_sq(const look *l, float margin) {
    return l->face && outside_of(l) > -margin ? INFINITY : l->distance_sq;
}

typedef struct box {
    float4 middle, half_size;
    float radius, margin;
} box;

static inline box box_of(float4 lo, float4 hi, float margin) {
    box b;
    b.middle = (float4)(0.5f * (lo + hi).xyz, 0.0f);
    b.half_size = (float4)(0.5f * (hi - lo).xyz, 0.0f) + 0.25f * margin; /* and rounding */
    b.radius = sqrt(dot_f(b.half_size, b.half_size)) * SLACK;
    b.margin = margin;
    return b;
}

/* Whether a feature can be nearest to a point in the box, where all points are at most `upper` away
 * from the mesh. */
static inline bool is_needed(const feature *f, const box *b, float upper) {
    look l = look_at(f, b->middle);
    float4 e = b->half_size;
    float third = fma(fabs(f->first.w), e.x, fma(fabs(f->second.w), e.y, fabs(f->fourth.w) * e.z));
    l.t[0] -= dot_f(fabs(f->first), e);
    l.t[1] -= dot_f(fabs(f->second), e);
    l.t[3] -= dot_f(fabs(f->fourth), e);
    float reach = upper + (l.face ? third : b->radius);
    l.t[2] -= third;
    return l.distance_sq <= reach * reach * SLACK && outside_of(&l) <= b->margin;
}

#endif
