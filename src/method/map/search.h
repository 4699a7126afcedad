/* BVH traversal for points of the own surface, shared by self_distance.c and thickness.c.
 *
 * Both traverse depth first, nearest child first. Distances to boxes are computed in floats, four
 * at once, rounded down; distances to triangles by triangle_closest_point().
 */
#ifndef ABUTI_MAP_SEARCH_H
#define ABUTI_MAP_SEARCH_H

#include "map/map.h"

#include "base/simd.h"
#include "geom/closest_shared.h"

#include <float.h>

/* The result of a search. */
typedef struct map_found {
    closest_on_triangle closest;
    uint32_t triangle; /* ABUT_NONE = nothing found, distance infinite */
} map_found;

static inline map_found map_found_nothing(void) {
    map_found none = {.triangle = ABUT_NONE};
    none.closest.distance = INFINITY;
    return none;
}

static inline abut_map_texel map_found_texel(const map_found *found, vec3 from) {
    if (found->triangle == ABUT_NONE)
        return map_no_result();
    vec3 way = v3_sub(found->closest.point, from);
    return (abut_map_texel){(float)found->closest.distance,
                            {(float)way.x, (float)way.y, (float)way.z},
                            0,
                            found->triangle,
                            (uint32_t)found->closest.feature};
}

/* A point in the scaled frame of the BVH, rounded down and up. */
typedef struct map_interval {
    float lo[3], hi[3];
} map_interval;

static inline map_interval map_interval_of(const abut_bvh *bvh, vec3 point) {
    map_interval p;
    vec3 at = v3_scale(v3_sub(point, bvh->mesh->origin), bvh->scale);
    for (int axis = 0; axis < 3; axis++) {
        float nearest = (float)v3_get(at, axis), rounding = fabsf(nearest) * FLT_EPSILON + FLT_MIN;
        p.lo[axis] = nearest - rounding;
        p.hi[axis] = nearest + rounding;
    }
    return p;
}

/* The square of a distance in the scaled frame, enlarged by more than the rounding errors of
 * squares in floats and of the distance in doubles. */
static inline float map_reach_sq(const abut_bvh *bvh, double distance) {
    float reach = bvh_float_above(real_min(distance * bvh->scale, 0x1p40));
    return reach * reach * (1 + 0x1p-18f) + FLT_MIN;
}

/* Squared distances to four boxes. */
static inline f4 map_boxes(const map_interval *p, const bvh_node *node) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 below = f4_sub(f4_load(node->lo[axis]), f4_all(p->hi[axis]));
        f4 above = f4_sub(f4_all(p->lo[axis]), f4_load(node->hi[axis]));
        f4 d = f4_max(f4_max(below, above), f4_all(0));
        sum = f4_mul_add(d, d, sum);
    }
    return sum;
}

#endif
