/* Closest points of points, segments and triangles, for C and OpenCL C alike.
 *
 * Problem: the textbook formulas solve for barycentric weights by the determinant of a Gram matrix,
 * which loses all digits on needles: the error grows with (length / height)^2.
 * Method: everything is taken relative to the query point and scaled by a power of two, so that
 * squares neither overflow nor underflow. A segment's parameter is dot / length^2, clamped: well
 * conditioned as it is. For the face of a triangle a, b, c the weights come from a frame that is
 * orthogonal but for rounding: u = b - a, and w = (c - a) less its part along u. The point is first
 * brought beside a along u, and only then measured along w, so that what w still has of u meets
 * nothing of it. Where the foot of the point is outside the face, the best of the three edges is
 * taken. A second round from there takes out rounding.
 * Guarantee: let e be the unit roundoff, L the largest coordinate difference, h the extent along w
 * and d the distance. u is good to e relative, w is off by eL/h in direction. A foot inside the
 * face therefore moves by m = (d + h) eL/h at most, and never further than h since weights are
 * clamped. Where d <= h that is 2eL. Where d > h the distance changes only by m^2 / 2d, and m^2 <=
 * h (2d eL/h), so by eL. A foot that lands on the wrong side of an edge does so by no more than m.
 * Hence the error is a small multiple of eL for every shape of triangle, and measured below 4 ulp
 * of L (docs/geom.md). Two segments are alike, with w the part of one direction that is orthogonal
 * to the other.
 *
 * Coordinates: any finite double up to 1e90, any float up to a quarter of FLT_MAX.
 */
#ifndef ABUTI_GEOM_CLOSEST_SHARED_H
#define ABUTI_GEOM_CLOSEST_SHARED_H

#include "geom/types_shared.h"

/* Lengths between these bounds can be squared, and cubed, without loss. */
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

/* A power of two that brings a length between the bounds, 1 for most. Five steps reach every
 * double; four reach every float, where a fifth would overflow the scale itself. */
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

/* a a = square + tail exactly: returns the tail (Dekker's split into half mantissas). */
static inline real square_tail(real a, real square) {
    real big = SPLITTER * a;
    real hi = big - (big - a), lo = a - hi;
    return ((hi * hi - square) + REAL(2.0) * hi * lo) + lo * lo;
}

/* The length within a rounding or so: the sum of squares is carried with its tails, and one step of
 * Newton corrects the root. A plain root of rounded squares is off by 2.5 roundings, which alone
 * would eat most of the error that we allow. */
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

/* Whether a vector is shorter than the best so far. Rounded squares decide unless they are so close
 * that they might be wrong: without this the choice would cost as much as all other errors. */
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

/* The point of a segment from a to b at a parameter, counted from the nearer end: both ends are met
 * exactly, and rounding errors stay in proportion to the step. */
static inline vec3 segment_at(vec3 a, vec3 b, vec3 edge, real t) {
    return t <= REAL(0.5) ? v3_along(a, t, edge) : v3_along(b, t - REAL(1.0), edge);
}

/* The parameter of the foot of the origin on the segment from a to b. The second step takes out
 * what the first one lost to rounding. */
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

/* The vector from a point to the closest one of the segment, times `scale`. */
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

/* Weights of the corners, and the vector from the query point to the closest one. */
typedef struct triangle_foot {
    real weight[3];
    vec3 offset;
} triangle_foot;

/* The point with these weights, counted from the corner with the largest. */
static inline vec3 weights_at(const vec3 *corner, const vec3 *edge, const real *w) {
    if (w[0] >= w[1] && w[0] >= w[2])
        return v3_add(corner[0], v3_blend(w[1], edge[0], -w[2], edge[2]));
    if (w[1] >= w[2])
        return v3_add(corner[1], v3_blend(w[2], edge[1], -w[0], edge[0]));
    return v3_add(corner[2], v3_blend(w[0], edge[2], -w[1], edge[1]));
}

/* The foot of the origin on the face. Gives 0 where it is not inside, or the triangle has no face
 * (height below an eighth of the rounding error; the edges then are near enough). */
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
    /* The second round takes out what the first one lost to rounding. It starts where it will end,
     * so that the rounding of the differences there is taken out as well. */
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

/* The foot of the origin on the triangle's border. Earlier edges win ties. */
static inline void border_foot(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
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

/* The foot of the origin on the triangle: corners relative to it, edge k from corner k on. */
static inline void triangle_foot_of(const vec3 *corner, const vec3 *edge, triangle_foot *foot) {
    if (!face_foot(corner, edge, foot))
        border_foot(corner, edge, foot);
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
    vec3 gap[2][2]; /* end j of b from end i of a */
} segment_pair;

/* The vector between points of both, counted from the nearer ends. */
static inline vec3 pair_offset(const segment_pair *pair, real s, real t) {
    int i = s > REAL(0.5), j = t > REAL(0.5);
    return v3_add(pair->gap[i][j], v3_blend(i ? REAL(1.0) - s : -s, pair->edge_a,
                                            j ? t - REAL(1.0) : t, pair->edge_b));
}

/* Where the common perpendicular of both lines has its feet inside both segments: gives 1 with
 * their parameters and the vector from the first foot to the second. */
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
    vec3 near = pair_offset(pair, *s, *t); /* the second round, as for a face */
    real more = v3_dot(near, w) * per_ww;
    *t -= more;
    *s += v3_dot(near, edge_a) * per_aa - k * more;
    *offset = pair_offset(pair, *s, *t);
    return *t >= REAL(0.0) && *t <= REAL(1.0) && *s >= REAL(0.0) && *s <= REAL(1.0);
}

/* Closest points by rounded arithmetic alone: a distance of 0 is no proof that they meet (see
 * distance_shared.h). */
static inline closest_pair segment_segment_near(segment3 a, segment3 b) {
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
