/* Triangles of leaves as the search for proximity needs them: in doubles, and four at once in
 * floats, in which pairs that are too far apart or hold no local minimum are recognised. */
#ifndef ABUTI_CONTACT_PATCH_NEAR_H
#define ABUTI_CONTACT_PATCH_NEAR_H

#include "base/simd.h"
#include "contact/patch.h"
#include "pair/leaf.h"

typedef struct near_face {
    uint32_t face;
    bool two_sided; /* it is of a sheet */
    const uint32_t *corner;
    abut_triangle at;
    vec3 normal; /* unit */
} near_face;

/* Floats are relative to an origin, in units of `1 / scale`. */
typedef struct near_space {
    vec3 origin;
    double scale;
    double range;          /* pairs further apart are not wanted */
    double touch_distance; /* nor those of which one is behind the other by more */
    const bvh_interior *interior[2];
} near_space;

typedef struct near_leaf {
    uint32_t valid;   /* bit k: triangle k has an area */
    bool is_prepared; /* `four` is */
    near_face face[BVH_WIDTH];
    wide_triangle triangles;
    wide3 normal;
    wide offset;            /* normal . x, of the planes */
    wide min_height;        /* heights above the planes; what is wholly lower is not wanted */
    wide min_facing_cosine; /* the least cosine between normal and direction of a minimum */
    wide3 axis;             /* and of the cones of patch_cone */
    wide cosine;
    float max_coordinate; /* the largest coordinate */
} near_leaf;

void abuti_near_load_leaf(const patch_body *body, const near_space *space, uint32_t side,
                          uint32_t leaf, near_leaf *out);

/* What is known of one triangle and four others: by bits, and the distances of those that do not
 * intersect. */
typedef struct near_row {
    unsigned near;           /* may be within the range, if it does not intersect */
    unsigned may_intersect;  /* may intersect */
    unsigned is_certain;     /* within the range and not touching, if it does not intersect */
    unsigned may_be_minimum; /* may be a local minimum */
    double distance[BVH_WIDTH], error;
    vec3 direction[BVH_WIDTH];     /* unit, from b to a, and */
    double angle_error[BVH_WIDTH]; /* the angle by which it may be off */
} near_row;

/* Triangle i of the first leaf and those of the second whose bits are set. */
void abuti_near_test_row(const near_space *space, const near_leaf *a, uint32_t i, near_leaf *b,
                         unsigned bits, near_row *row);

#endif
