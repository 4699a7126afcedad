/* Signed distances to simple solids, and the solid angle of a triangle, for C and OpenCL C.
 *
 * Distances are negative inside. The closest point is always on the surface, even if many points
 * are equally near (the centre of a sphere, the axis of a capsule): see each function.
 */
#ifndef ABUTI_GEOM_SOLID_SHARED_H
#define ABUTI_GEOM_SOLID_SHARED_H

#include "geom/closest_shared.h"
#include "geom/predicates_shared.h"

/* The half-space normal . x <= offset; the normal has any length except zero. */
static inline signed_closest plane_closest_point(vec3 normal, real offset, vec3 point) {
    real scale = safe_scale(v3_max_abs(normal));
    normal = v3_scale(normal, scale);
    real length = v3_length(normal);
    signed_closest closest;
    closest.distance = (v3_dot(normal, point) - offset * scale) / length;
    closest.point = v3_along(point, -closest.distance / length, normal);
    return closest;
}

/* A ball around `centre`; `offset` / `scale` is the vector from the query point to the centre. If
 * that is zero, the closest point is in the unit direction `fallback`. */
static inline signed_closest ball_closest(vec3 centre, real radius, vec3 offset, real scale,
                                          vec3 fallback) {
    signed_closest closest;
    vec3 out = v3_normalise(v3_scale(offset, REAL(-1.0)));
    if (v3_max_abs(out) == REAL(0.0))
        out = fallback;
    closest.distance = v3_length(offset) / scale - radius;
    closest.point = v3_along(centre, radius, out);
    return closest;
}

static inline signed_closest sphere_closest_point(vec3 centre, real radius, vec3 point) {
    vec3 offset = v3_sub(centre, point);
    real scale = safe_scale(v3_max_abs(offset));
    return ball_closest(centre, radius, v3_scale(offset, scale), scale,
                        v3(REAL(1.0), REAL(0.0), REAL(0.0)));
}

/* A unit vector orthogonal to v: its cross product with the coordinate axis along which it is
 * smallest. +x for zero. */
static inline vec3 v3_orthogonal(vec3 v) {
    real x = real_abs(v.x), y = real_abs(v.y), z = real_abs(v.z);
    vec3 axis = x <= y && x <= z ? v3(REAL(1.0), REAL(0.0), REAL(0.0))
                : y <= z         ? v3(REAL(0.0), REAL(1.0), REAL(0.0))
                                 : v3(REAL(0.0), REAL(0.0), REAL(1.0));
    vec3 fallback = v3_normalise(v3_cross(v, axis));
    return v3_max_abs(fallback) > REAL(0.0) ? fallback : v3(REAL(1.0), REAL(0.0), REAL(0.0));
}

/* For a point on the axis, the closest point is orthogonal to the axis. */
static inline signed_closest capsule_closest_point(segment3 axis, real radius, vec3 point) {
    real parameter, scale;
    vec3 offset = segment_offset(axis, point, &parameter, &scale);
    return ball_closest(segment_point(axis, parameter), radius, offset, scale,
                        v3_orthogonal(v3_sub(axis.end[1], axis.end[0])));
}

/* Inside, the nearest face; among equal ones the first of low x, high x, low y and so on. */
static inline signed_closest box_closest_point(box3 box, vec3 point) {
    signed_closest closest;
    closest.point = v3_max(box.lo, v3_min(box.hi, point));
    if (!box_contains(box, point)) {
        vec3 offset = v3_sub(point, closest.point);
        real scale = safe_scale(v3_max_abs(offset));
        closest.distance = v3_length(v3_scale(offset, scale)) / scale;
        return closest;
    }
    real depth[6];
    depth[0] = point.x - box.lo.x;
    depth[1] = box.hi.x - point.x;
    depth[2] = point.y - box.lo.y;
    depth[3] = box.hi.y - point.y;
    depth[4] = point.z - box.lo.z;
    depth[5] = box.hi.z - point.z;
    int nearest = 0;
    for (int i = 1; i < 6; i++)
        nearest = depth[i] < depth[nearest] ? i : nearest;
    closest.distance = REAL(0.0) - depth[nearest];
    vec3 face = nearest % 2 ? box.hi : box.lo;
    closest.point.x = nearest < 2 ? face.x : point.x;
    closest.point.y = nearest / 2 == 1 ? face.y : point.y;
    closest.point.z = nearest >= 4 ? face.z : point.z;
    return closest;
}

/* Half the solid angle of a triangle as a vector (x, y) in the plane, with an angle from -pi to pi
 * (Van Oosterom & Strackee 1983, "The solid angle of a plane triangle", equation 8):
 *      tan(angle / 2) = y / x = |a b c| / (abc + (a.b) c + (b.c) a + (c.a) b)
 * Returns 0 for a point in the plane of the triangle, hence also on the triangle. The sign is exact
 * if there are predicates: next to the face it decides between pi and -pi. */
static inline int triangle_solid_angle_vector(triangle3 t, vec3 point, real *x, real *y) {
    vec3 a = v3_sub(t.corner[0], point), b = v3_sub(t.corner[1], point);
    vec3 c = v3_sub(t.corner[2], point);
    real scale = safe_scale(real_max(v3_max_abs(a), real_max(v3_max_abs(b), v3_max_abs(c))));
    a = v3_scale(a, scale);
    b = v3_scale(b, scale);
    c = v3_scale(c, scale);
    real volume = v3_dot(a, v3_cross(b, c));
#ifdef ABUTI_PREDICATES
    int sign = orient3d(point, t.corner[0], t.corner[1], t.corner[2]);
    if (sign == 0)
        return 0;
    if (sign > 0 ? !(volume > REAL(0.0)) : !(volume < REAL(0.0)))
        volume = sign > 0 ? REAL_MIN : -REAL_MIN;
#else
    if (volume == REAL(0.0))
        return 0;
#endif
    real la = v3_length(a), lb = v3_length(b), lc = v3_length(c);
    *x = la * lb * lc + v3_dot(a, b) * lc + v3_dot(b, c) * la + v3_dot(c, a) * lb;
    *y = volume;
    return 1;
}

/* The solid angle of a triangle from -2 pi to 2 pi, positive if the point is behind it. */
static inline real triangle_solid_angle(triangle3 t, vec3 point) {
    real x, y;
    return triangle_solid_angle_vector(t, point, &x, &y) ? REAL(2.0) * real_atan2(y, x) : REAL(0.0);
}

#endif
