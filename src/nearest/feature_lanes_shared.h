/* The position of a point or a box relative to features, in floats, for C with any number of lanes
 * and for OpenCL C.
 *
 * features.h describes the records. field/build/cells.h and regions.cl prove that no feature is
 * excluded that could be nearest. `wide`, `mask` and their operations are those of simd_lanes.h, or
 * those of one float in feature_cl.h.
 */
#ifndef ABUTI_NEAREST_FEATURE_LANES_SHARED_H
#define ABUTI_NEAREST_FEATURE_LANES_SHARED_H

/* Features without their places. */
typedef struct feature_lanes {
    wide first[3], second[3], third[3], fourth[3];
    wide length; /* the offset of the record */
    mask face;
} feature_lanes;

/* How far a point is beyond the limits of regions; the third of a face is its plane. */
typedef struct feature_position_lanes {
    wide t[4];
    wide offset[3];   /* to the point, from the nearest point of an edge or from a vertex */
    wide distance_sq; /* from that, or from the plane of a face */
    mask face;
} feature_position_lanes;

static inline wide feature_dot(const wide *a, const wide *b) {
    return fused(a[0], b[0], fused(a[1], b[1], mul(a[2], b[2])));
}

/* How far a box extends along a unit vector from its centre. */
static inline wide feature_extent(const wide *half_size, const wide *v) {
    const wide size[3] = {magnitude(v[0]), magnitude(v[1]), magnitude(v[2])};
    return feature_dot(half_size, size);
}

/* For a point at r relative to the place of the feature. */
static inline feature_position_lanes feature_locate(const feature_lanes *f, const wide *r) {
    feature_position_lanes l;
    wide along = feature_dot(f->fourth, r), s = least(most(along, all(0)), f->length);
    for (int k = 0; k < 3; k++)
        l.offset[k] = fused_less(s, f->fourth[k], r[k]);
    l.t[0] = feature_dot(f->first, r);
    l.t[1] = feature_dot(f->second, r);
    l.t[2] = feature_dot(f->third, r);
    l.t[3] = sub(along, f->length);
    l.distance_sq = choose(f->face, mul(l.t[2], l.t[2]), feature_dot(l.offset, l.offset));
    l.face = f->face;
    return l;
}

static inline wide feature_outside(const feature_position_lanes *l) {
    wide outside_edges = most(most(l->t[0], l->t[1]), l->t[3]);
    return choose(l->face, outside_edges, most(outside_edges, l->t[2]));
}

/* The same for the point of a box that is least outside. extent_third is how far the box extends
 * along the third vector. */
static inline wide feature_outside_box(const feature_lanes *f, const feature_position_lanes *l,
                                       const wide *half_size, wide extent_third) {
    wide outside_edges = most(most(sub(l->t[0], feature_extent(half_size, f->first)),
                                   sub(l->t[1], feature_extent(half_size, f->second))),
                              sub(l->t[3], feature_extent(half_size, f->fourth)));
    return choose(l->face, outside_edges, most(outside_edges, sub(l->t[2], extent_third)));
}

/* A squared upper bound of the distance to the mesh; infinite if there is none. */
static inline wide feature_bound_sq(const feature_position_lanes *l, wide margin) {
    wide outside_edges = choose(l->face, most(most(l->t[0], l->t[1]), l->t[3]), all(-INFINITY));
    return choose(is_less(sub(all(0), margin), outside_edges), all(INFINITY), l->distance_sq);
}

#endif
