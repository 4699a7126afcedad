/* Distances between segments and between triangles, exactly 0 if they intersect, for C and OpenCL
 * C.
 *
 * Method: the exact intersection test runs first. Disjoint sets have their closest points at a
 * corner of one set and the other set, or on two edges with a common perpendicular. For triangles
 * these are 6 projections and 9 perpendiculars, all from one table of differences that is scaled by
 * one power of two.
 *
 * Guarantee: the distance is 0 if and only if the sets intersect; both points are then equal.
 * Otherwise it is positive (REAL_MIN replaces values that rounding would make 0) and as accurate as
 * closest_shared.h states.
 */
#ifndef ABUTI_GEOM_DISTANCE_SHARED_H
#define ABUTI_GEOM_DISTANCE_SHARED_H

#include "geom/intersect_shared.h"

#ifdef ABUTI_PREDICATES

static inline closest_pair coincident_pair(vec3 point) {
    closest_pair pair;
    pair.distance = REAL(0.0);
    pair.point_a = pair.point_b = point;
    return pair;
}

static inline closest_pair segment_segment_closest(segment3 a, segment3 b) {
    if (orient3d(a.end[0], a.end[1], b.end[0], b.end[1]) == 0) {
        triangle3 thin_a, thin_b;
        segment3 common;
        for (int i = 0; i < 3; i++) {
            thin_a.corner[i] = a.end[i > 0];
            thin_b.corner[i] = b.end[i > 0];
        }
        if (degenerate_intersect(thin_a, thin_b, &common) != ABUT_INTERSECTION_NONE)
            return coincident_pair(common.end[0]);
    }
    closest_pair closest = segment_segment_closest_rounded(a, b);
    closest.distance = real_max(closest.distance, REAL_MIN);
    return closest;
}

/* Differences of all corners and edges of both triangles, scaled. */
typedef struct triangle_table {
    vec3 gap[3][3]; /* vector from corner i of a to corner j of b */
    vec3 edge_a[3], edge_b[3];
    real scale;
} triangle_table;

static inline void fill_table(triangle_table *table, triangle3 a, triangle3 b) {
    real largest = REAL(0.0);
    for (int i = 0; i < 3; i++) {
        int next = i == 2 ? 0 : i + 1;
        table->edge_a[i] = v3_sub(a.corner[next], a.corner[i]);
        table->edge_b[i] = v3_sub(b.corner[next], b.corner[i]);
        largest =
            real_max(largest, real_max(v3_max_abs(table->edge_a[i]), v3_max_abs(table->edge_b[i])));
        for (int j = 0; j < 3; j++) {
            table->gap[i][j] = v3_sub(b.corner[j], a.corner[i]);
            largest = real_max(largest, v3_max_abs(table->gap[i][j]));
        }
    }
    table->scale = safe_scale(largest);
    if (table->scale == REAL(1.0))
        return;
    for (int i = 0; i < 3; i++) {
        table->edge_a[i] = v3_scale(table->edge_a[i], table->scale);
        table->edge_b[i] = v3_scale(table->edge_b[i], table->scale);
        for (int j = 0; j < 3; j++)
            table->gap[i][j] = v3_scale(table->gap[i][j], table->scale);
    }
}

/* The closest of the six corners to the other triangle; returns the scaled vector between the
 * points. */
static inline vec3 corners_closest(const triangle_table *table, triangle3 a, triangle3 b,
                                   closest_pair *closest, abut_feature *features) {
    triangle_foot best, foot;
    real best_sq = REAL_MAX;
    int best_corner = 0;
    best.offset = table->gap[0][0];
    best.weight[0] = best.weight[1] = best.weight[2] = REAL(0.0);
    for (int k = 0; k < 6; k++) {
        vec3 corner[3];
        for (int i = 0; i < 3; i++)
            corner[i] = k < 3 ? table->gap[k][i] : v3_scale(table->gap[i][k - 3], REAL(-1.0));
        triangle_foot_of(corner, k < 3 ? table->edge_b : table->edge_a, &foot);
        real distance_sq = v3_length_sq(foot.offset);
        if (is_shorter(foot.offset, distance_sq, best.offset, best_sq)) {
            best_sq = distance_sq;
            best_corner = k;
            best = foot;
        }
    }
    closest->point_a = best_corner < 3 ? a.corner[best_corner] : weights_point(a, best.weight);
    closest->point_b = best_corner < 3 ? weights_point(b, best.weight) : b.corner[best_corner - 3];
    features[best_corner < 3 ? 0 : 1] = (abut_feature)(ABUT_FEATURE_VERTEX_0 + best_corner % 3);
    features[best_corner < 3 ? 1 : 0] = weights_feature(best.weight);
    return best.offset;
}

/* The feature of a triangle at a parameter of its edge i. */
static inline abut_feature edge_feature(int i, real t) {
    int corner = t > REAL(0.0) ? i + 1 : i;
    return t > REAL(0.0) && t < REAL(1.0) ? (abut_feature)(ABUT_FEATURE_EDGE_0 + i)
                                          : (abut_feature)(ABUT_FEATURE_VERTEX_0 + corner % 3);
}

/* Edge i of a and edge j of b. */
static inline segment_pair table_edges(const triangle_table *table, int i, int j) {
    segment_pair pair;
    int next_i = i == 2 ? 0 : i + 1, next_j = j == 2 ? 0 : j + 1;
    pair.edge_a = table->edge_a[i];
    pair.edge_b = table->edge_b[j];
    pair.gap[0][0] = table->gap[i][j];
    pair.gap[0][1] = table->gap[i][next_j];
    pair.gap[1][0] = table->gap[next_i][j];
    pair.gap[1][1] = table->gap[next_i][next_j];
    return pair;
}

static inline segment3 triangle_edge(triangle3 t, int i) {
    segment3 edge;
    edge.end[0] = t.corner[i];
    edge.end[1] = t.corner[i == 2 ? 0 : i + 1];
    return edge;
}

/* Closest points of two disjoint triangles, and the features that contain them. */
static inline closest_pair triangle_triangle_closest_features(triangle3 a, triangle3 b,
                                                              abut_feature *features) {
    triangle_table table;
    closest_pair closest;
    fill_table(&table, a, b);
    vec3 best = corners_closest(&table, a, b, &closest, features), offset;
    real best_sq = v3_length_sq(best), best_s = REAL(0.0), best_t = REAL(0.0), s, t;
    int best_edges = -1;
    for (int k = 0; k < 9; k++) {
        segment_pair pair = table_edges(&table, k / 3, k % 3);
        if (!segments_perpendicular(&pair, &s, &t, &offset))
            continue;
        real distance_sq = v3_length_sq(offset);
        if (is_shorter(offset, distance_sq, best, best_sq)) {
            best = offset;
            best_sq = distance_sq;
            best_edges = k;
            best_s = s;
            best_t = t;
        }
    }
    if (best_edges >= 0) {
        closest.point_a = segment_point(triangle_edge(a, best_edges / 3), best_s);
        closest.point_b = segment_point(triangle_edge(b, best_edges % 3), best_t);
        features[0] = edge_feature(best_edges / 3, best_s);
        features[1] = edge_feature(best_edges % 3, best_t);
    }
    closest.distance = real_max(length_precise(best) / table.scale, REAL_MIN);
    return closest;
}

static inline closest_pair triangle_triangle_closest_disjoint(triangle3 a, triangle3 b) {
    abut_feature features[2];
    return triangle_triangle_closest_features(a, b, features);
}

static inline closest_pair triangle_triangle_closest(triangle3 a, triangle3 b) {
    segment3 common;
    if (triangle_triangle_intersect(a, b, &common) != ABUT_INTERSECTION_NONE)
        return coincident_pair(common.end[0]);
    return triangle_triangle_closest_disjoint(a, b);
}

#endif
#endif
