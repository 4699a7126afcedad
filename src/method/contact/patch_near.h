/* Triangles of BVH leaves for the search for gaps: in doubles, and four at a time in floats. Tests
 * in floats reject pairs that are too far apart or contain no local minimum of the distance. */
#ifndef ABUTI_CONTACT_PATCH_NEAR_H
#define ABUTI_CONTACT_PATCH_NEAR_H

#include "base/simd.h"
#include "contact/patch.h"
#include "pair/leaf.h"

typedef struct near_face {
    uint32_t face;
    bool two_sided; /* belongs to a sheet */
    const uint32_t *corner;
    abut_triangle at;
    vec3 normal; /* unit */
} near_face;

/* Float coordinates are relative to an origin, in units of `1 / scale`. */
typedef struct near_space {
    vec3 origin;
    double scale;
    double range;          /* pairs with a larger distance are rejected */
    double touch_distance; /* pairs of which one is behind the other by more are rejected */
    const bvh_interior *interior[2];
} near_space;

typedef struct near_leaf {
    uint32_t valid;   /* bit k: triangle k has an area */
    bool is_prepared; /* triangle_prepare() has been called for `triangles` */
    near_face face[BVH_WIDTH];
    wide_triangle triangles;
    wide3 normal;
    wide offset;     /* normal . x, for points x of the planes */
    wide min_height; /* above the planes: triangles that are completely below it are rejected */
    wide min_facing_cosine; /* smallest cosine between the normal and the direction of a minimum */
    wide3 axis;             /* axes and cosines of patch_cone */
    wide cosine;
    float max_coordinate; /* largest absolute coordinate */
} near_leaf;

void abuti_near_load_leaf(const patch_body *body, const near_space *space, uint32_t side,
                          uint32_t leaf, near_leaf *out);

/* Results for one triangle and four others: a bit set for each property, and the distances of those
 * that do not intersect. */
typedef struct near_row {
    unsigned near; /* may be within the range, if it does not intersect */
    unsigned may_intersect;
    unsigned is_certain;     /* within the range and not touching, if it does not intersect */
    unsigned may_be_minimum; /* may contain a local minimum of the distance */
    double distance[BVH_WIDTH], error;
    vec3 direction[BVH_WIDTH];     /* unit, from b to a */
    double angle_error[BVH_WIDTH]; /* bound of the error of `direction`, radians */
} near_row;

/* Tests triangle i of leaf a against the triangles of leaf b whose bits are set. */
void abuti_near_test_row(const near_space *space, const near_leaf *a, uint32_t i, near_leaf *b,
                         unsigned bits, near_row *row);

#endif
