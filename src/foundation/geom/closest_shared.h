/* Closest points of points, segments and triangles, for C and OpenCL C.
 *
 * Problem: the textbook formulas compute barycentric weights from the determinant of a Gram matrix.
 * On nearly degenerate triangles they lose all digits: the error grows with (length / height)^2.
 *
 * Method: all coordinates are relative to the query point and scaled by a power of two, so that
 * squares neither overflow nor underflow. The parameter of a segment is dot / length^2, clamped,
 * which is well conditioned. For the face of a triangle a, b, c the weights come from a frame that
 * is orthogonal up to rounding: u = b - a, and w = (c - a) minus its component along u. The point
 * is first projected along u, and only then measured along w. The remaining component of w along u
 * is then multiplied by nearly zero. If the projection of the point is outside the face, the
 * nearest point of the three edges is the result. A second iteration from there removes rounding
 * errors.
 *
 * Guarantee: let e be the unit roundoff, L the largest coordinate difference, h the extent along w
 * and d the distance. u has a relative error of e, and the direction of w has an error of eL/h. A
 * projection inside the face therefore moves by at most m = (d + h) eL/h, and never further than h
 * because weights are clamped. If d <= h, that is 2eL. If d > h, the distance changes only by m^2 /
 * 2d, and m^2 <= h (2d eL/h), hence by eL. A projection on the wrong side of an edge is there by at
 * most m. Hence the error is a small multiple of eL for every shape of triangle; the measured error
 * is below 4 ulp of L (docs/geom.md). The same holds for two segments, with w the component of one
 * direction that is orthogonal to the other.
 *
 * Coordinates: any finite double up to 1e90, any float up to a quarter of FLT_MAX.
 */
#ifndef ABUTI_GEOM_CLOSEST_SHARED_H
#define ABUTI_GEOM_CLOSEST_SHARED_H

#include "geom/types_shared.h"

/* Lengths between these bounds can be squared and cubed without loss. */
#if ABUTI_REAL_BITS == 64
#define SCALE_MIN 0x1p-80
#define SCALE_MAX 0x1p100
#define SCALE_UP 0x1p180
#define SCALE_DOWN 0x1p-180
#define SPLITTER 0x1.0000002p27 /* 2^27 + 1 */
#else
#define SCALE_MIN 0x1p-10f
#define SCALE_MAX 0x1p20f
#define SCALE_UP 0x1p30f
#define SCALE_DOWN 0x1p-30f
#define SPLITTER 4097.0f /* 2^12 + 1 */
#endif

/* A power of two that scales a length into these bounds; 1 for most lengths. Five steps reach every
 * double. Four reach every float; a fifth would overflow the scale itself. */
static inline real safe_scale(real length) {
    real scale = REAL(1.0);
    if (length >= SCALE_MIN && length <= SCALE_MAX)
        return scale;
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

/* Returns the tail of a a = square + tail, which is exact (Dekker's split into half mantissas). */
static inline real square_tail(real a, real square) {
    real big = SPLITTER * a;
    real hi = big - (big - a), lo = a - hi;
    return ((hi * hi - square) + REAL(2.0) * hi * lo) + lo * lo;
}

/* The length with an error of about one rounding: the sum of squares is carried with its tails, and
 * one Newton step corrects the root. A plain root of rounded squares has an error of 2.5 roundings,
 * which would use up most of the error bound. */
static inline real length_precise(vec3 v) {
    real xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z;
    real xy = xx + yy, y_virtual = xy - xx;
    real sum = xy + zz, z_virtual = sum - xy;
    real tail = ((xx - (xy - y_virtual)) + (yy - y_virtual)) +
                ((xy - (sum - z_virtual)) + (zz - z_virtual));
    tail += square_tail(v.x, xx) + square_tail(v.y, yy) + square_tail(v.z, zz);
    real root = real_sqrt(sum), square = root * root, inverse = REAL(0.5) / sum;
    real rest = ((sum - square) - square_tail(root, square)) + tail;
    return sum > REAL(4.0) * REAL_MIN ? root + rest * root * inverse : root;
}

/* Whether a vector is shorter than the best so far. Rounded squares decide, unless they are so
 * close that they may be wrong. Without this, a wrong choice would cost as much as all other
 * errors. */
static inline int is_shorter(vec3 v, real square, vec3 best, real best_square) {
    real doubt = REAL(8.0) * REAL_EPSILON * best_square;
    if (real_abs(square - best_square) > doubt || v3_equal(v, best))
        return square < best_square;
    return length_precise(v) < length_precise(best);
}

/* s a + t b */
static inline vec3 v3_blend(real s, vec3 a, real t, vec3 b) {
    return v3(s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z);
}

/* ---- point and segment ---- */

/* The point of the segment from a to b at a parameter, computed from the nearer end: both ends are
 * exact, and rounding errors are proportional to the distance from the end. */
static inline vec3 segment_at(vec3 a, vec3 b, vec3 edge, real t) {
    return t <= REAL(0.5) ? v3_along(a, t, edge) : v3_along(b, t - REAL(1.0), edge);
}

/* The parameter of the point of the segment from a to b that is closest to the origin. The second
 * step removes the rounding error of the first. */
static inline real segment_foot(vec3 a, vec3 b, vec3 edge) {
    real length_sq = v3_length_sq(edge);
    if (!(length_sq > REAL(0.0)))
        return REAL(0.0);
    real inverse = REAL(1.0) / length_sq;
    real t = real_clamp(-v3_dot(a, edge) * inverse, REAL(0.0), REAL(1.0));
    t -= v3_dot(segment_at(a, b, edge, t), edge) * inverse;
    return real_clamp(t, REAL(0.0), REAL(1.0));
}

static inline vec3 segment_point(segment3 s, real t) {
    return segment_at(s.end[0], s.end[1], v3_sub(s.end[1], s.end[0]), t);
}

/* The vector from a point to the closest point of the segment, times `scale`. */
static inline vec3 segment_offset(segment3 s, vec3 point, real *parameter, real *scale) {
    vec3 a = v3_sub(s.end[0], point), b = v3_sub(s.end[1], point);
    vec3 edge = v3_sub(s.end[1], s.end[0]);
    *scale = safe_scale(real_max(v3_max_abs(a), v3_max_abs(b)));
    a = v3_scale(a, *scale);
    b = v3_scale(b, *scale);
    edge = v3_scale(edge, *scale);
    *parameter = segment_foot(a, b, edge);
    return segment_at(a, b, edge, *parameter);
}

static inline closest_on_segment segment_closest_point(segment3 s, vec3 point) {
    closest_on_segment closest;
    real scale;
    vec3 offset = segment_offset(s, point, &closest.parameter, &scale);
    closest.distance = length_precise(offset) / scale;
    closest.point = segment_point(s, closest.parameter);
    return closest;
}

/* ---- point and triangle ---- */

/* Weights of the corners, and the vector from the query point to the closest point. */
typedef struct triangle_foot {
    real weight[3];
    vec3 offset;
} triangle_foot;

/* The point with these weights, computed from the corner with the largest weight. */
static inline vec3 weights_at(const vec3 *corner, const vec3 *edge, const real *w) {
    if (w[0] >= w[1] && w[0] >= w[2])
        return v3_add(corner[0], v3_blend(w[1], edge[0], -w[2], edge[2]));
    if (w[1] >= w[2])
        return v3_add(corner[1], v3_blend(w[2], edge[1], -w[0], edge[0]));
    return v3_add(corner[2], v3_blend(w[0], edge[2], -w[1], edge[1]));
}

/* Projects the origin onto the face. Returns 0 if the projection is not inside, or if the triangle
 * has no face (its height is below an eighth of the rounding error; the edges are then accurate).
 */
static inline int face_foot(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
    vec3 a = corner[0], u = edge[0], v = v3_scale(edge[2], REAL(-1.0));
    real uu = v3_length_sq(u), vv = v3_length_sq(v);
    if (!(uu > REAL(0.0)))
        return 0;
    real per_uu = REAL(1.0) / uu;
    real k = v3_dot(u, v) * per_uu, s = -v3_dot(a, u) * per_uu;
    vec3 w = v3_along(v, -k, u), beside = v3_along(a, s, u);
    real ww = v3_length_sq(w);
    if (!(ww > vv * (REAL_EPSILON * REAL_EPSILON / REAL(256.0))))
        return 0;
    real per_ww = REAL(1.0) / ww;
    real r = -v3_dot(beside, w) * per_ww;
    s -= k * r;
    if (!(r > REAL(0.0) && s > REAL(0.0) && r + s < REAL(1.0)))
        return 0;
    /* The second iteration removes the rounding error of the first. It starts at the result of the
     * first, so that the rounding of the differences there is removed too. */
    real *weight = foot->weight;
    weight[0] = REAL(1.0) - (s + r);
    weight[1] = s;
    weight[2] = r;
    vec3 near = weights_at(corner, edge, weight);
    real more = v3_dot(near, w) * per_ww;
    weight[1] -= v3_dot(near, u) * per_uu - k * more;
    weight[2] -= more;
    weight[0] = REAL(1.0) - (weight[1] + weight[2]);
    foot->offset = weights_at(corner, edge, weight);
    return weight[0] > REAL(0.0) && weight[1] > REAL(0.0) && weight[2] > REAL(0.0);
}

/* The point of the triangle's boundary that is closest to the origin. Earlier edges win ties. */
static inline void boundary_foot(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
    real best_sq = REAL_MAX;
    foot->offset = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        real t = segment_foot(corner[i], corner[j], edge[i]);
        vec3 offset = segment_at(corner[i], corner[j], edge[i], t);
        real distance_sq = v3_length_sq(offset);
        if (is_shorter(offset, distance_sq, foot->offset, best_sq)) {
            best_sq = distance_sq;
            foot->weight[3 - i - j] = REAL(0.0);
            foot->weight[i] = REAL(1.0) - t;
            foot->weight[j] = t;
            foot->offset = offset;
        }
    }
}

/* The point of the triangle that is closest to the origin. Corners are relative to it; edge k
 * starts at corner k. */
static inline void triangle_foot_of(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
    if (!face_foot(corner, edge, foot))
        boundary_foot(corner, edge, foot);
}

/* The feature of the triangle on which exactly these weights are positive. */
static inline abut_feature weights_feature(const real *w) {
    if (w[2] == REAL(0.0))
        return w[1] == REAL(0.0)   ? ABUT_FEATURE_VERTEX_0
               : w[0] == REAL(0.0) ? ABUT_FEATURE_VERTEX_1
                                   : ABUT_FEATURE_EDGE_0;
    if (w[0] == REAL(0.0))
        return w[1] == REAL(0.0) ? ABUT_FEATURE_VERTEX_2 : ABUT_FEATURE_EDGE_1;
    return w[1] == REAL(0.0) ? ABUT_FEATURE_EDGE_2 : ABUT_FEATURE_FACE;
}

static inline vec3 weights_point(triangle3 t, const real *w) {
    vec3 edge[3];
    for (int i = 0; i < 3; i++)
        edge[i] = v3_sub(t.corner[i == 2 ? 0 : i + 1], t.corner[i]);
    return weights_at(t.corner, edge, w);
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
    for (int i = 0; i < 3 && scale != REAL(1.0); i++) {
        corner[i] = v3_scale(corner[i], scale);
        edge[i] = v3_scale(edge[i], scale);
    }
    triangle_foot foot;
    triangle_foot_of(corner, edge, &foot);
    closest_on_triangle closest;
    closest.distance = length_precise(foot.offset) / scale;
    for (int i = 0; i < 3; i++)
        closest.barycentric[i] = foot.weight[i];
    closest.feature = weights_feature(foot.weight);
    closest.point = weights_point(t, foot.weight);
    return closest;
}

/* ---- two segments ---- */

/* Two segments, scaled. */
typedef struct segment_pair {
    vec3 edge_a, edge_b;
    vec3 gap[2][2]; /* vector from end i of a to end j of b */
} segment_pair;

/* The vector between a point of each segment, computed from the nearer ends. */
static inline vec3 pair_offset(const segment_pair *pair, real s, real t) {
    int i = s > REAL(0.5), j = t > REAL(0.5);
    return v3_add(pair->gap[i][j], v3_blend(i ? REAL(1.0) - s : -s, pair->edge_a,
                                            j ? t - REAL(1.0) : t, pair->edge_b));
}

/* Finds the common perpendicular of both lines. Returns 1 if its feet are inside both segments,
 * with their parameters and the vector from the first foot to the second. */
static inline int segments_perpendicular(const segment_pair *pair, real *s, real *t, vec3 *offset) {
    vec3 edge_a = pair->edge_a, edge_b = pair->edge_b;
    real aa = v3_length_sq(edge_a), bb = v3_length_sq(edge_b);
    if (!(aa > REAL(0.0)))
        return 0;
    real per_aa = REAL(1.0) / aa;
    real k = v3_dot(edge_a, edge_b) * per_aa, foot = v3_dot(pair->gap[0][0], edge_a) * per_aa;
    vec3 w = v3_along(edge_b, -k, edge_a), beside = v3_along(pair->gap[0][0], -foot, edge_a);
    real ww = v3_length_sq(w);
    if (!(ww > bb * (REAL_EPSILON * REAL_EPSILON / REAL(256.0))))
        return 0;
    real per_ww = REAL(1.0) / ww;
    *t = -v3_dot(beside, w) * per_ww;
    *s = foot + k * *t;
    if (!(*t >= REAL(0.0) && *t <= REAL(1.0) && *s >= REAL(0.0) && *s <= REAL(1.0)))
        return 0;
    vec3 near = pair_offset(pair, *s, *t); /* second iteration, as for a face */
    real more = v3_dot(near, w) * per_ww;
    *t -= more;
    *s += v3_dot(near, edge_a) * per_aa - k * more;
    *offset = pair_offset(pair, *s, *t);
    return *t >= REAL(0.0) && *t <= REAL(1.0) && *s >= REAL(0.0) && *s <= REAL(1.0);
}

/* Closest points by rounded arithmetic only: a distance of 0 does not prove an intersection (see
 * distance_shared.h). */
static inline closest_pair segment_segment_closest_rounded(segment3 a, segment3 b) {
    segment_pair pair;
    real largest = REAL(0.0), s, t;
    for (int i = 0; i < 4; i++) {
        pair.gap[i / 2][i % 2] = v3_sub(b.end[i % 2], a.end[i / 2]);
        largest = real_max(largest, v3_max_abs(pair.gap[i / 2][i % 2]));
    }
    real scale = safe_scale(largest);
    for (int i = 0; i < 4; i++)
        pair.gap[i / 2][i % 2] = v3_scale(pair.gap[i / 2][i % 2], scale);
    pair.edge_a = v3_scale(v3_sub(a.end[1], a.end[0]), scale);
    pair.edge_b = v3_scale(v3_sub(b.end[1], b.end[0]), scale);
    vec3 offset;
    closest_pair closest;
    if (segments_perpendicular(&pair, &s, &t, &offset)) {
        closest.distance = length_precise(offset) / scale;
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
