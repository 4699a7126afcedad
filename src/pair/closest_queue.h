/* What searches for closest triangles share: pairs of boxes that wait, and bounds of their
 * distances.
 */
#ifndef ABUTI_PAIR_CLOSEST_QUEUE_H
#define ABUTI_PAIR_CLOSEST_QUEUE_H

#include "geom/types_shared.h"
#include "pair/leaf.h"

typedef struct pending {
    float lower_sq;
    float size[2]; /* of both boxes */
    uint32_t place[2];
} pending;

/* Squared lower bounds of the distances of a view to the children of a node: the largest of three.
 * Boxes along the axes of either side, and the gap along the line between the middles, which is a
 * direction like any other: of length d, with the middles d apart, the shadows reach
 * sum |d_i| h_i / |d| for a box of half sizes h, d_i along its own axes. Better directions for
 * another tenth of the cost saved 3% of the steps. */
static inline f4 boxes_lower_sq(const pair_side *side, const pair_view *view, const bvh_node *node,
                                float pad, f4 offset[3], f4 half[3]) {
    pair_gaps gaps;
    f4 zero = f4_all(0), own = zero, other = zero, sum = zero, length_sq = zero;
    pair_gaps_own(side, view, node, &gaps, offset, half);
    pair_gaps_other(side, view, &gaps, offset, half);
    for (int i = 0; i < 3; i++) {
        f4 g = f4_max(gaps.own[i], zero), h = f4_max(gaps.other[i], zero);
        own = f4_add(own, f4_mul(g, g));
        other = f4_add(other, f4_mul(h, h));
        length_sq = f4_add(length_sq, f4_mul(offset[i], offset[i]));
        sum = f4_add(sum, f4_mul(f4_abs(offset[i]), half[i]));
        sum = f4_add(sum, f4_mul(gaps.along[i], f4_all(view->half[i])));
    }
    f4 length = f4_sqrt(length_sq);
    f4 between = f4_sub(length, f4_div(sum, f4_max(length, f4_all(TINY))));
    between = f4_max(f4_sub(between, f4_all(pad)), zero);
    return f4_max(f4_mul(between, between), f4_max(own, other));
}

/* The gap between shadows of two triangles on a direction; negative where they overlap. */
static inline double gap_of(const double a[3], const double b[3]) {
    double lo_a = real_min(a[0], real_min(a[1], a[2])), hi_a = real_max(a[0], real_max(a[1], a[2]));
    double lo_b = real_min(b[0], real_min(b[1], b[2])), hi_b = real_max(b[0], real_max(b[1], b[2]));
    return real_max(lo_b - hi_a, lo_a - hi_b);
}

/* Whether two triangles are further apart than `most` by their shadows on the line of a closest
 * pair, and across it, every 45 degrees: for a tenth of what it takes to measure them. Where two
 * ridges cross all pairs around are as near along the line, and only across it are they not. */
static inline bool pair_shadows_beyond(const closest_pair *line, const abut_triangle *a,
                                       const abut_triangle *b, double most, double doubt) {
    vec3 p = line->point_a, n = v3_sub(line->point_b, p);
    double at[2][3], along[2][3], across[2][3], sum[2][3], rest[2][3];
    for (int k = 0; k < 3; k++) {
        at[0][k] = v3_dot(n, v3_sub(a->corner[k], p)) / line->distance;
        at[1][k] = v3_dot(n, v3_sub(b->corner[k], p)) / line->distance;
    }
    double gap = gap_of(at[0], at[1]);
    if (!(gap > 0) || gap > most)
        return gap > most;
    n = v3_scale(n, 1 / line->distance);
    vec3 u = v3_cross(n, fabs(n.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    u = v3_scale(u, 1 / v3_length(u));
    vec3 v = v3_cross(n, u);
    for (int k = 0; k < 6; k++) {
        vec3 from = v3_sub(k < 3 ? a->corner[k] : b->corner[k - 3], p);
        along[k / 3][k % 3] = v3_dot(u, from);
        across[k / 3][k % 3] = v3_dot(v, from);
        sum[k / 3][k % 3] = along[k / 3][k % 3] + across[k / 3][k % 3];
        rest[k / 3][k % 3] = along[k / 3][k % 3] - across[k / 3][k % 3];
    }
    double beside = real_max(gap_of(along[0], along[1]), gap_of(across[0], across[1]));
    double aslant = real_max(gap_of(sum[0], sum[1]), gap_of(rest[0], rest[1]));
    beside = real_max(beside, aslant * 0.7071067811865475) - doubt;
    gap /= most; /* squares of lengths may underflow */
    beside /= most;
    return beside > 0 && gap * gap + beside * beside > 1;
}

/* The unit normal of a triangle, in the sense of a way; zero where it has none. */
static inline vec3 pair_normal_along(const abut_triangle *t, vec3 way) {
    vec3 n = v3_normalise(
        v3_cross(v3_sub(t->corner[1], t->corner[0]), v3_sub(t->corner[2], t->corner[0])));
    return v3_dot(n, way) < 0 ? v3_scale(n, -1) : n;
}

/* The same by their shadows on their normals, and half-way between: where faces are nearly
 * parallel, far from the closest pair. */
static inline bool pair_faces_beyond(const abut_triangle *a, const abut_triangle *b, double most) {
    vec3 p = a->corner[0], way = v3_sub(b->corner[0], p);
    vec3 n[3] = {pair_normal_along(a, way), pair_normal_along(b, way)};
    n[2] = v3_normalise(v3_add(n[0], n[1]));
    for (int i = 3; i-- > 0;) {
        double at[2][3];
        for (int k = 0; k < 3; k++) {
            at[0][k] = v3_dot(n[i], v3_sub(a->corner[k], p));
            at[1][k] = v3_dot(n[i], v3_sub(b->corner[k], p));
        }
        if (gap_of(at[0], at[1]) > most)
            return true;
    }
    return false;
}

/* By the triangle of a, then by that of b. */
static inline bool is_lower(const uint32_t pair[2], const uint32_t than[2]) {
    return pair[0] < than[0] || (pair[0] == than[0] && pair[1] < than[1]);
}

#endif
