/* Measures a region of the overlap along a normal: penetration depth and candidate points. */
#ifndef ABUTI_CONTACT_PATCH_MEASURE_H
#define ABUTI_CONTACT_PATCH_MEASURE_H

#include "contact/patch.h"

#define PATCH_SAME_COSINE 0.9999995 /* a milliradian: normals of parallel faces */
#define PATCH_THROUGH_RATIO 0.35    /* patch_area_ratio() of bodies that have passed through */

/* Candidate contact points of a region, measured along a normal. */
typedef struct patch_measurement {
    patch_work *work;
    const patch_region *region;
    vec3 normal, tangent[2];
    vec3 centre;  /* of the contour; of a wall, mean of its crossings */
    bool is_wall; /* only triangles of the wall count */
    bool uses_rays;
    bool only_deeper;    /* a candidate is added only if it is deeper than all others */
    uint32_t max_points; /* 0 = compute the depth only */
    uint32_t count, plain_count;
    patch_candidate found[PATCH_CANDIDATES];
    double deepest;        /* largest depth of all candidates */
    double plain_deepest;  /* the same, without the candidate that was added only for its depth */
    double merge_distance; /* nearer points count as equal, and so do depths */
} patch_measurement;

static inline vec3 patch_corner(const patch_body *body, uint32_t face, int k) {
    return patch_position(body, body->skin->corner[3 * (size_t)face + (size_t)k]);
}

static inline vec3 patch_face_centroid(const patch_body *body, uint32_t face) {
    vec3 sum = v3_add(patch_corner(body, face, 0), patch_corner(body, face, 1));
    return v3_scale(v3_add(sum, patch_corner(body, face, 2)), 1.0 / 3);
}

static inline vec3 patch_face_normal(const patch_body *body, uint32_t face) {
    return abuti_unit_normal(patch_corner(body, face, 0), patch_corner(body, face, 1),
                             patch_corner(body, face, 2));
}

/* Returns |S| divided by the projected inside area of a body, the larger of both. It is 1 for a
 * plain contact, and near 0 if the bodies have passed through each other. */
static inline double patch_area_ratio(const patch_work *work, const patch_region *r, vec3 normal) {
    double sum[2] = {0, 0};
    for (uint32_t i = r->facets.begin; i < r->facets.end; i++)
        sum[work->facets[i].side] += fabs(v3_dot(work->facets[i].area, normal));
    double largest = real_max(sum[0], sum[1]);
    return largest > 0 ? real_min(1, patch_area_length(r->area) / largest) : 1;
}

/* Computes the distance from a point along a direction of the frame to the surface where the body
 * ends. If the point is outside the body, the search first finds where the body begins: ahead, then
 * behind. Returns false if the line does not pass through the body. */
bool abuti_measure_exit_distance(const patch_body *body, vec3 from, vec3 direction,
                                 double *distance);
void abuti_measure_init(patch_measurement *m, patch_work *work, const patch_region *r, vec3 normal,
                        uint32_t max_points);
/* Chooses which triangles count: those of the region, or all of both bodies if they have passed
 * through each other. */
patch_scope abuti_measure_choose_scope(const patch_work *work, const patch_region *r, vec3 normal);
/* Measures a region along a normal; stops early once the depth exceeds `limit`. */
void abuti_measure_along(patch_measurement *m, patch_work *work, const patch_region *r, vec3 normal,
                         uint32_t max_points, patch_scope scope, double limit);
/* The same for the triangles of the current projection. */
void abuti_measure_projected(patch_measurement *m, patch_scope scope, double limit);
/* Chooses at most `max_points` of the candidates for the patch. */
void abuti_measure_choose(const patch_measurement *m, uint32_t max_points, double max_gap,
                          patch_answer *answer);

#endif
