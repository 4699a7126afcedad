/* The position of a point or a box relative to features, in floats, for C with any number of lanes
 * and for OpenCL C.
 *
 * features.h describes the records. field/build/cells.h and feature_cl.h prove that no feature is
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
    return v_mul_add(a[0], b[0], v_mul_add(a[1], b[1], v_mul(a[2], b[2])));
}

/* How far a box extends along a unit vector from its centre. */
static inline wide feature_extent(const wide *half_size, const wide *v) {
    const wide size[3] = {v_abs(v[0]), v_abs(v[1]), v_abs(v[2])};
    return feature_dot(half_size, size);
}

/* For a point at r relative to the place of the feature. */
static inline feature_position_lanes feature_locate(const feature_lanes *f, const wide *r) {
    feature_position_lanes l;
    wide along = feature_dot(f->fourth, r), s = v_min(v_max(along, v_all(0)), f->length);
    for (int k = 0; k < 3; k++)
        l.offset[k] = v_mul_from(s, f->fourth[k], r[k]);
    l.t[0] = feature_dot(f->first, r);
    l.t[1] = feature_dot(f->second, r);
    l.t[2] = feature_dot(f->third, r);
    l.t[3] = v_sub(along, f->length);
    l.distance_sq = v_select(f->face, v_mul(l.t[2], l.t[2]), feature_dot(l.offset, l.offset));
    l.face = f->face;
    return l;
}

static inline wide feature_outside(const feature_position_lanes *l) {
    wide outside_edges = v_max(v_max(l->t[0], l->t[1]), l->t[3]);
    return v_select(l->face, outside_edges, v_max(outside_edges, l->t[2]));
}

/* The same for the point of a box that is least outside. extent_third is how far the box extends
 * along the third vector. */
static inline wide feature_outside_box(const feature_lanes *f, const feature_position_lanes *l,
                                       const wide *half_size, wide extent_third) {
    wide outside_edges = v_max(v_max(v_sub(l->t[0], feature_extent(half_size, f->first)),
                                     v_sub(l->t[1], feature_extent(half_size, f->second))),
                               v_sub(l->t[3], feature_extent(half_size, f->fourth)));
    return v_select(l->face, outside_edges, v_max(outside_edges, v_sub(l->t[2], extent_third)));
}

/* A squared upper bound of the distance to the mesh; infinite if there is none. */
static inline wide feature_bound_sq(const feature_position_lanes *l, wide margin) {
    wide outside_edges =
        v_select(l->face, v_max(v_max(l->t[0], l->t[1]), l->t[3]), v_all(-INFINITY));
    return v_select(v_less(v_sub(v_all(0), margin), outside_edges), v_all(INFINITY),
                    l->distance_sq);
}

#endif
