/* Closest points of points, segments and triangles, for C and OpenCL C alike.
 *
 * Problem: the textbook formulas solve for barycentric weights by the determinant of a Gram matrix,
 * which loses all digits on needles: the error grows with (length / height)^2.
 * Method: everything is taken relative to the query point and scaled by a power of two, so that
 * squares neither overflow nor underflow. A segment's parameter is dot / length^2, clamped: well
 * conditioned as it is. For the face of a triangle a, b, c the weights come from an orthogonal
 * frame: u = b - a, and w = (c - a) less its part along u, orthogonalised twice. Where the foot of
 * the point is outside the face, the best of the three edges is taken.
 * Guarantee: let e be the unit roundoff, L the largest coordinate difference, h the extent along w
 * and d the distance. u is good to e relative, w is off by eL in direction eL/h. A foot inside the
 * face therefore moves by m = (d + h) eL/h at most, and never further than h since weights are
 * clamped. Where d <= h that is 2eL. Where d > h the distance changes only by m^2 / 2d, and
 * m^2 <= h (2d eL/h), so by eL. A foot that lands on the wrong side of an edge does so by no more
 * than m. Hence the error is a small multiple of eL for every shape of triangle, and measured below
 * 4 ulp of L (docs/geom.md). Two segments are alike, with w the part of one direction that is
 * orthogonal to the other.
 *
 * Coordinates: any finite double up to 1e90, any float up to a quarter of FLT_MAX.
 */
#ifndef ABUTI_CLOSEST_SHARED_H
#define ABUTI_CLOSEST_SHARED_H

#include "geom/types_shared.h"

/* Lengths between these bounds can be squared, and cubed, without loss. */
#if ABUTI_REAL_BITS == 64
#define SCALE_MIN 0x1p-80
#define SCALE_MAX 0x1p100
#define SCALE_UP 0x1p180
#define SCALE_DOWN 0x1p-180
#else
#define SCALE_MIN 0x1p-10f
#define SCALE_MAX 0x1p20f
#define SCALE_UP 0x1p30f
#define SCALE_DOWN 0x1p-30f
#endif

/* A power of two that brings a length between the bounds, 1 for most. Five steps reach every
 * double; four reach every float, where a fifth would overflow the scale itself. */
static inline real safe_scale(real length) {
    real scale = REAL(1.0);
    for (int i = 0; length > SCALE_MAX && i < 5; i++) {
        scale *= SCALE_DOWN;
        length *= SCALE_DOWN;
    }
    for (int i = 0; length < SCALE_MIN && i < (ABUTI_REAL_BITS == 64 ? 5 : 4); i++) {
        scale *= SCALE_UP;
        length *= SCALE_UP;
    }
    return scale;
}

/* s a + t b */
static inline vec3 v3_blend(real s, vec3 a, real t, vec3 b) {
    return v3(s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z);
}

/* ---- point and segment ---- */

/* The parameter of the foot of the origin on the segment from a to a + edge. */
static inline real segment_foot(vec3 a, vec3 edge) {
    real length_sq = v3_length_sq(edge);
    real t = length_sq > REAL(0.0) ? -v3_dot(a, edge) / length_sq : REAL(0.0);
    return real_clamp(t, REAL(0.0), REAL(1.0));
}

/* The point at a parameter, counted from the nearer end so that both ends are met exactly. */
static inline vec3 segment_point(segment3 s, real t) {
    vec3 edge = v3_sub(s.end[1], s.end[0]);
    return t <= REAL(0.5) ? v3_along(s.end[0], t, edge) : v3_along(s.end[1], t - REAL(1.0), edge);
}

static inline closest_on_segment segment_closest_point(segment3 s, vec3 point) {
    vec3 a = v3_sub(s.end[0], point), b = v3_sub(s.end[1], point);
    vec3 edge = v3_sub(s.end[1], s.end[0]);
    real scale = safe_scale(real_max(v3_max_abs(a), v3_max_abs(b)));
    a = v3_scale(a, scale);
    b = v3_scale(b, scale);
    closest_on_segment closest;
    closest.parameter = segment_foot(a, v3_scale(edge, scale));
    vec3 offset = v3_blend(REAL(1.0) - closest.parameter, a, closest.parameter, b);
    closest.distance = v3_length(offset) / scale;
    closest.point = segment_point(s, closest.parameter);
    return closest;
}

/* ---- point and triangle ---- */

/* Weights of the corners, and the vector from the query point to the closest one. */
typedef struct triangle_foot {
    real weight[3];
    vec3 offset;
} triangle_foot;

/* The foot of the origin on the face. Gives 0 where it is not inside, or the triangle has no face
 * (height below an eighth of the rounding error; the edges then are near enough). */
static inline int face_foot(vec3 a, vec3 b, vec3 c, vec3 u, vec3 v, triangle_foot *foot) {
    real uu = v3_length_sq(u), vv = v3_length_sq(v);
    if (!(uu > REAL(0.0)))
        return 0;
    real k = v3_dot(u, v) / uu;
    vec3 w = v3_along(v, -k, u);
    real again = v3_dot(u, w) / uu; /* "twice is enough" (Kahan, in Parlett 1980) */
    w = v3_along(w, -again, u);
    k += again;
    real ww = v3_length_sq(w);
    if (!(ww > vv * (REAL_EPSILON * REAL_EPSILON / REAL(256.0))))
        return 0;
    real r = -v3_dot(a, w) / ww;
    real s = -v3_dot(a, u) / uu - k * r;
    real rest = REAL(1.0) - (s + r);
    if (!(r > REAL(0.0) && s > REAL(0.0) && rest > REAL(0.0)))
        return 0;
    foot->weight[0] = rest;
    foot->weight[1] = s;
    foot->weight[2] = r;
    foot->offset = v3_along(v3_blend(rest, a, s, b), r, c);
    return 1;
}

/* The foot of the origin on the triangle's border. Earlier edges win ties. */
static inline void border_foot(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
    real best_sq = REAL_MAX;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        real t = segment_foot(corner[i], edge[i]);
        vec3 offset = v3_blend(REAL(1.0) - t, corner[i], t, corner[j]);
        real distance_sq = v3_length_sq(offset);
        if (distance_sq < best_sq) {
            best_sq = distance_sq;
            foot->weight[3 - i - j] = REAL(0.0);
            foot->weight[i] = REAL(1.0) - t;
            foot->weight[j] = t;
            foot->offset = offset;
        }
    }
}

/* The part of the triangle where exactly these weights are positive. */
static inline abut_feature weights_feature(const real *w) {
    if (w[2] == REAL(0.0))
        return w[1] == REAL(0.0)   ? ABUT_FEATURE_VERTEX_0
               : w[0] == REAL(0.0) ? ABUT_FEATURE_VERTEX_1
                                   : ABUT_FEATURE_EDGE_0;
    if (w[0] == REAL(0.0))
        return w[1] == REAL(0.0) ? ABUT_FEATURE_VERTEX_2 : ABUT_FEATURE_EDGE_1;
    return w[1] == REAL(0.0) ? ABUT_FEATURE_EDGE_2 : ABUT_FEATURE_FACE;
}

/* The point with these weights, counted from the corner with the largest so that corners are met
 * exactly. */
static inline vec3 weights_point(const vec3 *corner, const real *w) {
    int i = w[1] > w[0] ? 1 : 0;
    i = w[2] > w[i] ? 2 : i;
    int j = i == 2 ? 0 : i + 1, k = 3 - i - j;
    vec3 point = v3_blend(w[j], v3_sub(corner[j], corner[i]), w[k], v3_sub(corner[k], corner[i]));
    return v3_add(corner[i], point);
}

static inline closest_on_triangle triangle_closest_point(triangle3 t, vec3 point) {
    vec3 corner[3], edge[3];
    real largest = REAL(0.0);
    for (int i = 0; i < 3; i++) {
        corner[i] = v3_sub(t.corner[i], point);
        edge[i] = v3_sub(t.corner[i == 2 ? 0 : i + 1], t.corner[i]);
        largest = real_max(largest, v3_max_abs(corner[i]));
    }
    real scale = safe_scale(largest);
    for (int i = 0; i < 3; i++) {
        corner[i] = v3_scale(corner[i], scale);
        edge[i] = v3_scale(edge[i], scale);
    }
    triangle_foot foot;
    vec3 v = v3_scale(edge[2], REAL(-1.0));
    if (!face_foot(corner[0], corner[1], corner[2], edge[0], v, &foot))
        border_foot(corner, edge, &foot);
    closest_on_triangle closest;
    closest.distance = v3_length(foot.offset) / scale;
    for (int i = 0; i < 3; i++)
        closest.barycentric[i] = foot.weight[i];
    closest.feature = weights_feature(foot.weight);
    closest.point = weights_point(t.corner, foot.weight);
    return closest;
}

/* ---- two segments ---- */

/* Where the common perpendicular of two lines has both feet inside the segments: gives 1 with their
 * parameters and the vector from the first foot to the second. All scaled; from_a = b0 - a0. */
static inline int segments_perpendicular(vec3 edge_a, vec3 edge_b, vec3 from_a, real *s, real *t,
                                         vec3 *offset) {
    real aa = v3_length_sq(edge_a), bb = v3_length_sq(edge_b);
    if (!(aa > REAL(0.0)))
        return 0;
    real k = v3_dot(edge_a, edge_b) / aa;
    vec3 w = v3_along(edge_b, -k, edge_a);
    real again = v3_dot(edge_a, w) / aa;
    w = v3_along(w, -again, edge_a);
    k += again;
    real ww = v3_length_sq(w);
    if (!(ww > bb * (REAL_EPSILON * REAL_EPSILON / REAL(256.0))))
        return 0;
    *t = -v3_dot(from_a, w) / ww;
    *s = v3_dot(from_a, edge_a) / aa + k * *t;
    if (!(*t >= REAL(0.0) && *t <= REAL(1.0) && *s >= REAL(0.0) && *s <= REAL(1.0)))
        return 0;
    *offset = v3_along(v3_along(from_a, -*s, edge_a), *t, edge_b);
    return 1;
}

/* Closest points by rounded arithmetic alone: a distance of 0 is no proof that they meet (see
 * distance_shared.h). */
static inline closest_pair segment_segment_near(segment3 a, segment3 b) {
    vec3 edge_a = v3_sub(a.end[1], a.end[0]), edge_b = v3_sub(b.end[1], b.end[0]);
    vec3 from_a = v3_sub(b.end[0], a.end[0]);
    real scale =
        safe_scale(real_max(v3_max_abs(edge_a), real_max(v3_max_abs(edge_b), v3_max_abs(from_a))));
    real s = REAL(0.0), t = REAL(0.0);
    vec3 offset;
    closest_pair closest;
    if (segments_perpendicular(v3_scale(edge_a, scale), v3_scale(edge_b, scale),
                               v3_scale(from_a, scale), &s, &t, &offset)) {
        closest.distance = v3_length(offset) / scale;
        closest.point_a = segment_point(a, s);
        closest.point_b = segment_point(b, t);
        return closest;
    }
    closest.distance = REAL_MAX;
    closest.point_a = closest.point_b = a.end[0];
    for (int i = 0; i < 4; i++) {
        vec3 end = i < 2 ? a.end[i] : b.end[i - 2];
        closest_on_segment other = segment_closest_point(i < 2 ? b : a, end);
        if (other.distance < closest.distance) {
            closest.distance = other.distance;
            closest.point_a = i < 2 ? end : other.point;
            closest.point_b = i < 2 ? other.point : end;
        }
    }
    return closest;
}

#endif
