/* Pairs of triangles within the margin, and the local minima of the distance among them.
 * patch_proximity_pairs.c finds them, patch_proximity.c divides them into walls. */
#ifndef ABUTI_CONTACT_PATCH_PROXIMITY_H
#define ABUTI_CONTACT_PATCH_PROXIMITY_H

#include "contact/patch.h"

#define NEAR_FACING_COSINE 0.5 /* of triangles that face each other: 60 degrees */

enum { NEAR_CACHED_FACES = 64 }; /* of each body */

typedef struct near_face {
    uint32_t face;
    bool two_sided; /* belongs to a sheet */
    const uint32_t *corner;
    abut_triangle at;
    vec3 normal; /* unit; zero if the triangle has no area */
} near_face;

/* Two triangles that face each other or contain a local minimum. */
typedef struct near_pair {
    uint32_t face[2];
    bool is_facing;
    bool has_wall;     /* a wall of its component faces both triangles */
    bool two_sided[2]; /* set only if is_facing, and so are the normals */
    vec3 normal[2];
    double distance; /* 0 if they intersect */
} near_pair;

typedef struct near_minimum {
    uint32_t pair;
    uint32_t face[2];
    abut_feature feature[2];
    double distance;
    vec3 at[2];
    vec3 normal; /* unit, from b to a */
} near_minimum;

/* A wall within the range, with its nearest point and its outermost points. */
typedef struct near_wall {
    vec3 normal, tangent[2];
    uint32_t component; /* of its pairs */
    size_t answer;      /* index of the patch of the overlap that it belongs to; SIZE_MAX = none */
    patch_candidate nearest;
    double deepest; /* of all points */
    patch_outermost outermost;
} near_wall;

typedef struct proximity_query {
    patch_work *work;
    double range; /* walls further away are not searched */
    /* Directions between nearer points are inaccurate. Pairs of which one is behind the other by
     * more are rejected, except those of sheets. */
    double touch_distance;
    double rounding_error; /* directions between nearer points are rounding errors */
    double merge_distance; /* nearer points are merged */
    bool overlaps;         /* the bodies overlap somewhere */
    const bvh_interior *interior[2];
    near_pair *pairs;
    size_t pair_count, pair_capacity;
    near_minimum *minima;
    size_t minimum_count, minimum_capacity;
    near_minimum nearest; /* nearest pair of triangles; face[0] = ABUT_NONE if there is none yet */
    patch_table index;    /* index of a pair, by near_pair_key() */
    uint32_t *parent;     /* union-find forest of pairs; the component, once all are joined */
    near_wall *walls;
    size_t wall_count, wall_capacity;
    /* Direct-mapped cache by the index of a triangle in the leaves. */
    uint32_t cached[2][NEAR_CACHED_FACES];
    near_face faces[2][NEAR_CACHED_FACES];
} proximity_query;

/* Returns the key of two triangles in `index`. */
static inline uint64_t near_pair_key(uint32_t f, uint32_t g) {
    return ((uint64_t)f << 32 | g) + 1;
}

void abuti_proximity_add_minimum(proximity_query *p, const near_minimum *minimum);
/* Order of minima: by distance, then by their triangles. */
bool abuti_proximity_is_nearer(const near_minimum *a, const near_minimum *b);
/* Finds all pairs within the range, their local minima, and the nearest pair. */
void abuti_proximity_find_pairs(proximity_query *p, const pair_frame *frame);
/* Joins pairs over shared edges into components. Returns false after an error. */
bool abuti_proximity_join_pairs(proximity_query *p);

#endif
