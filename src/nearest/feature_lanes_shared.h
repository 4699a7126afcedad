/* What a place or a box is to features, in floats, for C with any number of lanes and for OpenCL C.
 *
 * See features.h for the records. That nothing which could win is left out is proven in
 * field/build/cells.h and regions.cl. `wide`, `mask` and the operations on them are those of
 * simd_lanes.h, or those of one float in feature_cl.h.
 */
#ifndef ABUTI_NEAREST_FEATURE_LANES_SHARED_H
#define ABUTI_NEAREST_FEATURE_LANES_SHARED_H

/* Features but for their places. */
typedef struct feature_lanes {
    wide first[3], second[3], third[3], fourth[3];
    wide length; /* the offset */
    mask face;
} feature_lanes;

/* How far a place is beyond the borders of regions, the third of faces being their plane. */
typedef struct feature_look {
    wide t[4];
    wide way[3];      /* to the place, from the nearest point of an edge or from a vertex */
    wide distance_sq; /* from that, or from the plane of a face */
    mask face;
} feature_look;

static inline wide feature_dot(const wide *a, const wide *b) {
    return fused(a[0], b[0], fused(a[1], b[1], mul(a[2], b[2])));
}

/* How far a box reaches along a unit vector, from its middle. */
static inline wide feature_extent(const wide *half_size, const wide *v) {
    const wide size[3] = {magnitude(v[0]), magnitude(v[1]), magnitude(v[2])};
    return feature_dot(half_size, size);
}

/* From a place, which is r from that of the feature. */
static inline feature_look feature_look_at(const feature_lanes *f, const wide *r) {
    feature_look l;
    wide along = feature_dot(f->fourth, r), s = least(most(along, all(0)), f->length);
    for (int k = 0; k < 3; k++)
        l.way[k] = fused_less(s, f->fourth[k], r[k]);
    l.t[0] = feature_dot(f->first, r);
    l.t[1] = feature_dot(f->second, r);
    l.t[2] = feature_dot(f->third, r);
    l.t[3] = sub(along, f->length);
    l.distance_sq = choose(f->face, mul(l.t[2], l.t[2]), feature_dot(l.way, l.way));
    l.face = f->face;
    return l;
}

static inline wide feature_outside(const feature_look *l) {
    wide beside = most(most(l->t[0], l->t[1]), l->t[3]);
    return choose(l->face, beside, most(beside, l->t[2]));
}

/* The same for the point of a box around the place that is outside least. `deep` is how far the box
 * reaches along the third. */
static inline wide feature_outside_box(const feature_lanes *f, const feature_look *l,
                                       const wide *half_size, wide deep) {
    wide beside = most(most(sub(l->t[0], feature_extent(half_size, f->first)),
                            sub(l->t[1], feature_extent(half_size, f->second))),
                       sub(l->t[3], feature_extent(half_size, f->fourth)));
    return choose(l->face, beside, most(beside, sub(l->t[2], deep)));
}

/* A distance that the mesh is not beyond, squared; infinite where it may be. */
static inline wide feature_bound_sq(const feature_look *l, wide margin) {
    wide beside = choose(l->face, most(most(l->t[0], l->t[1]), l->t[3]), all(-INFINITY));
    return choose(is_less(sub(all(0), margin), beside), all(INFINITY), l->distance_sq);
}

#endif
