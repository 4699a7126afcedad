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

#endif
#endif
