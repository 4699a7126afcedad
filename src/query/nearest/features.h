/* Faces, edges and vertices of a mesh with the regions in which each can be nearest.
 *
 * The closest point of a mesh to a point is on a face, an edge or a vertex, and the point is in the
 * region of that feature: above a face, between the ends of an edge and outside its two faces, or
 * behind all edges of a vertex. Few regions overlap a small block of points, so after tests of
 * distances and regions hardly anything remains to be measured.
 *
 * A record is a place a, four vectors and an offset, all floats in the frame of the BVH. With r = p
 * - a and t[i] = vector[i] . r, where t[3] is reduced by the offset:
 *   face     t[2] is the distance to the plane; outside its prism if one of t[0], t[1], t[3] > 0
 *   edge     vector[3] is its direction, the offset its length; vector[0] is the reverse direction;
 *            vectors 1 and 2 point into its faces. Outside if any t > 0
 *   vertex   vectors are directions of up to four of its edges, the offset is 0. Outside if any
 *            t > 0
 * Vectors are units or zero; a zero vector excludes nothing. The distance to an edge or a vertex is
 * that of r to the segment from 0 along vector[3] with the length of the offset.
 *
 * Exceptions (feature_cl.h proves that no feature is lost that could be nearest): a face lower than
 * FEATURE_HEIGHT is no feature; the faces of an edge limit its region only if they are higher than
 * that above the edge and do not lean over it (sine of the angles 1/64 or more); edges of a vertex
 * limit its region only if they are longer than FEATURE_HEIGHT.
 */
#ifndef ABUTI_NEAREST_FEATURES_H
#define ABUTI_NEAREST_FEATURES_H

#include "bvh/bvh.h"
#include "nearest/features_shared.h"

/* A plain vertex has no triangle lower than FEATURE_HEIGHT. */
typedef enum feature_kind {
    FEATURE_VERTEX = 0,
    FEATURE_FACE = 1,
    FEATURE_EDGE = 2,
    FEATURE_PLAIN_VERTEX = 3
} feature_kind;

/* Four groups of four floats, as kernels load them. The kind is in the lowest bits of the offset.
 */
typedef struct feature_record {
    float place[3], offset;
    float first[3], third_x;
    float second[3], third_y;
    float fourth[3], third_z;
} feature_record;

_Static_assert(sizeof(feature_record) == 64, "the layout that devices read");

/* Optional arrays. */
enum {
    FEATURES_INCIDENTS = 1,
    FEATURES_WELDED = 2 /* vertices with equal coordinates are merged into the lowest one */
};

typedef struct abuti_features {
    abut_context *context; /* holds a reference; null = none */
    uint32_t count;
    /* In the order of the leaves: a feature is with the first leaf that has a triangle of it. */
    feature_record *records;
    uint32_t *leaf_begin; /* leaf_count + 1 */
    /* If requested: all triangles of a feature, ascending. */
    uint32_t *incident_begin; /* count + 1 */
    uint32_t *incidents;
    uint32_t *source; /* feature_source() */
} abuti_features;

/* The highest bit of a source: an edge or a vertex of a triangle lower than FEATURE_HEIGHT. */
#define FEATURE_MARK 0x80000000u

static inline bool feature_is_marked(const abuti_features *features, uint32_t feature) {
    return features->source[feature] & FEATURE_MARK;
}

/* The source of a feature: a triangle; a vertex; or the corner of a triangle that the edge begins
 * at, three times the triangle plus 0, 1 or 2. */
static inline uint32_t feature_source(const abuti_features *features, uint32_t feature) {
    return features->source[feature] & ~FEATURE_MARK;
}

/* The vertices of an edge, the lower one first. */
static inline void feature_ends(const uint32_t *indices, uint32_t corner, uint32_t ends[2]) {
    const uint32_t a = indices[corner], b = indices[corner % 3 == 2 ? corner - 2 : corner + 1];
    ends[0] = a < b ? a : b;
    ends[1] = a < b ? b : a;
}

static inline feature_kind feature_kind_of(const feature_record *r) {
    uint32_t bits;
    memcpy(&bits, &r->offset, sizeof bits);
    return (feature_kind)(bits & 3);
}

/* Computes the features of the mesh of a BVH with this order of triangles, four per leaf. They need
 * about 205 bytes per triangle, 40 more for incidents, and 60 more during the construction. */
abut_status abuti_features_create(abut_mesh *mesh, double scale, const uint32_t *order,
                                  uint32_t leaf_count, unsigned wanted, abuti_features *features);
void abuti_features_destroy(abuti_features *features);

#endif
