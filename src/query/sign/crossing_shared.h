/* Crossings of a triangle and a ray along an axis, for C and OpenCL C. winding_exact.c describes
 * the method; all results are exact. */
#ifndef ABUTI_SIGN_CROSSING_SHARED_H
#define ABUTI_SIGN_CROSSING_SHARED_H

#include "geom/flat_shared.h"

#ifdef ABUTI_PREDICATES

/* From a point along sense (1 or -1) x axis. */
typedef struct axis_ray {
    vec3 from;
    int axis, sense;
} axis_ray;

/* Points the ray along x, as the rows of cells of fields: towards lower x, or away from the box if
 * its origin is beyond. Returns whether the origin is in the box; otherwise the ray misses it. */
static inline int axis_ray_along_x(axis_ray *ray, vec3 lo, vec3 hi) {
    box3 box;
    box.lo = lo;
    box.hi = hi;
    ray->axis = 0;
    ray->sense = ray->from.x > hi.x ? 1 : -1;
    return box_contains(box, ray->from);
}

/* The side of the projection of a directed edge on which that of the ray is, shifted symbolically
 * by (e, e^2): 0 only if the edge is parallel to the ray. */
static inline int side_of_edge(int axis, vec3 a, vec3 b, vec3 p) {
    int sign = orient2d_axis(axis, a, b, p);
    if (sign != 0)
        return sign;
    int first = (axis + 1) % 3, second = (axis + 2) % 3;
    sign = sign_of(v3_get(a, second) - v3_get(b, second));
    return sign != 0 ? sign : sign_of(v3_get(b, first) - v3_get(a, first));
}

ABUTI_COLD int triangle_holds(triangle3 t, vec3 p) {
    hull3 hull = triangle_hull(t);
    if (hull.count < 3)
        return hull_contains(&hull, 0, p);
    return orient3d(t.corner[0], t.corner[1], t.corner[2], p) == 0 &&
           hull_contains(&hull, projection_axis(t.corner[0], t.corner[1], t.corner[2]), p);
}

/* The contribution of a triangle to the winding number around the origin of the ray: -1, 0 or 1.
 * Also writes whether the origin is on the triangle; the contribution is 0 then. */
static inline int triangle_cross(const axis_ray *ray, triangle3 t, int *on_surface) {
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2], p = ray->from;
    box3 box;
    box.lo = v3_min(a, v3_min(b, c));
    box.hi = v3_max(a, v3_max(b, c));
    if (box_contains(box, p) && triangle_holds(t, p)) {
        *on_surface = 1;
        return 0;
    }
    int axis = ray->axis, first = (axis + 1) % 3, second = (axis + 2) % 3;
    double at = v3_get(p, axis), lo = v3_get(box.lo, axis), hi = v3_get(box.hi, axis);
    if (ray->sense > 0 ? hi < at : lo > at)
        return 0;
    if (v3_get(p, first) < v3_get(box.lo, first) || v3_get(p, first) > v3_get(box.hi, first) ||
        v3_get(p, second) < v3_get(box.lo, second) || v3_get(p, second) > v3_get(box.hi, second))
        return 0;
    int side = side_of_edge(axis, a, b, p);
    if (side == 0 || side_of_edge(axis, b, c, p) != side || side_of_edge(axis, c, a, p) != side)
        return 0;
    /* The normal points along the axis if side > 0. The point is on the plane only if it is on the
     * triangle. */
    int ahead = ray->sense > 0 ? lo > at : hi < at;
    return ahead || orient3d(a, b, c, p) == -side * ray->sense ? side * ray->sense : 0;
}

/* Whether the point at x of a row is beyond a triangle that extends from lo to hi. */
static inline int row_is_beyond(triangle3 t, int side, vec3 p, double x, double lo, double hi) {
    p.x = x;
    return hi < x || (lo <= x && orient3d(t.corner[0], t.corner[1], t.corner[2], p) == side);
}

/* Where the row along x at p passes a triangle that it crosses on this side: the first place i from
 * `begin` on for which origin + cell i is beyond the triangle, or `end`. Exact. */
static inline word32 triangle_first_beyond(triangle3 t, int side, vec3 p, double origin,
                                           double cell, word32 begin, word32 end) {
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2];
    double lo = real_min(a.x, real_min(b.x, c.x)), hi = real_max(a.x, real_max(b.x, c.x));
    double ay = a.y - p.y, az = a.z - p.z, by = b.y - p.y, bz = b.z - p.z, cy = c.y - p.y,
           cz = c.z - p.z;
    double u = by * cz - bz * cy, v = cy * az - cz * ay, w = ay * bz - az * by;
    double x = lo + (u * (a.x - lo) + v * (b.x - lo) + w * (c.x - lo)) / (u + v + w);
    double guess = ceil(((x >= lo && x <= hi ? x : lo) - origin) / cell); /* false for NaN */
    word32 i = guess > begin ? guess < end ? (word32)guess : end : begin;
    while (i > begin && row_is_beyond(t, side, p, origin + cell * (i - 1), lo, hi))
        i--;
    while (i < end && !row_is_beyond(t, side, p, origin + cell * i, lo, hi))
        i++;
    return i;
}

#endif
#endif
