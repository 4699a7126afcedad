/* Intersection of segments and rays with triangles, for C and OpenCL C.
 *
 * Problem: does a straight path hit a triangle, and where first?
 *
 * Method: the signs of the ends of the path (or of its origin and direction) relative to the
 * triangle's plane, then of the line of the path relative to the three edges: five exact
 * determinants of degree three. Paths in the plane, and triangles that degenerate to a segment or a
 * point, use the projections of flat_shared.h.
 *
 * Guarantee: hit or miss is exact. Two triangles that share an edge evaluate the same determinant
 * for it with opposite signs, and 0 counts as a hit for both, so no path passes between them.
 * Parameter and weights are quotients of determinants with an error of about one ulp. A direction
 * that is so short that its determinants would underflow is scaled by a power of two, which does
 * not change the bits of the others. A parameter beyond the range of double is infinite.
 */
#ifndef ABUTI_GEOM_PATH_SHARED_H
#define ABUTI_GEOM_PATH_SHARED_H

#include "geom/closest_shared.h"
#include "geom/flat_shared.h"

#ifdef ABUTI_PREDICATES

/* A segment or a ray. */
typedef struct path3 {
    vec3 from, to; /* `to` is the direction of a ray */
    int is_ray;
    int scaling_count; /* how many times `to` was multiplied by PATH_LONGER */
} path3;

typedef struct path_hit {
    double parameter; /* from + parameter (to - from), or from + parameter to */
    double weight[3]; /* of the corners */
} path_hit;

static inline path3 segment_path(segment3 s) {
    path3 path;
    path.from = s.end[0];
    path.to = s.end[1];
    path.is_ray = 0;
    path.scaling_count = 0;
    return path;
}

#define PATH_LONGER 0x1p200 /* directions below 1 / PATH_LONGER are scaled; floats never are */

static inline path3 ray_path(ray3 r) {
    path3 path;
    path.from = r.origin;
    path.to = r.direction;
    path.is_ray = 1;
    path.scaling_count = 0;
#if ABUTI_REAL_BITS == 64
    double size = v3_max_abs(r.direction);
    for (; size > 0.0 && size < 1.0 / PATH_LONGER; size *= PATH_LONGER) {
        path.to = v3_scale(path.to, PATH_LONGER);
        path.scaling_count++;
    }
#endif
    return path;
}

/* Converts a parameter to the original path before scaling. */
static inline double path_unscaled_parameter(const path3 *path, double parameter) {
    for (int i = 0; i < path->scaling_count; i++)
        parameter *= PATH_LONGER;
    return parameter;
}

/* Sign of | direction, p - from, q - from |: on which side the path passes the line from p to q. */
static inline int path_side(const path3 *path, vec3 p, vec3 q) {
    return path->is_ray ? orient3d_along(path->from, path->to, p, q)
                        : orient3d(path->from, path->to, p, q);
}
static inline double path_side_value(const path3 *path, vec3 p, vec3 q) {
    return path->is_ray ? orient3d_along_value(path->from, path->to, p, q)
                        : orient3d_value(path->from, path->to, p, q);
}

/* The same in the projection along an axis: the side of the path on which a point is. */
static inline int path_side_axis(const path3 *path, int axis, vec3 p) {
    vec3 o = path->from, d = path->to;
    if (!path->is_ray)
        return orient2d_axis(axis, o, d, p);
    return axis == 0   ? orient2d_along(o.y, o.z, d.y, d.z, p.y, p.z)
           : axis == 1 ? orient2d_along(o.z, o.x, d.z, d.x, p.z, p.x)
                       : orient2d_along(o.x, o.y, d.x, d.y, p.x, p.y);
}

static inline double path_step(const path3 *path, int axis) {
    double to = v3_get(path->to, axis);
    return path->is_ray ? to : to - v3_get(path->from, axis);
}

/* Whether a point is on the path. */
static inline int path_contains(const path3 *path, vec3 p) {
    for (int axis = 0; axis < 3; axis++) {
        double ahead = (double)v3_get(p, axis) - v3_get(path->from, axis);
        if (sign_of(ahead) * sign_of(path_step(path, axis)) < 0 ||
            path_side_axis(path, axis, p) != 0)
            return 0;
    }
    return path->is_ray || box_of_two_contains(path->from, path->to, p);
}

/* The parameter of a point that is on the path. */
static inline double path_parameter(const path3 *path, vec3 p) {
    int axis = 0;
    for (int i = 1; i < 3; i++)
        axis = fabs(path_step(path, i)) > fabs(path_step(path, axis)) ? i : axis;
    double step = path_step(path, axis), ahead = (double)v3_get(p, axis) - v3_get(path->from, axis);
    return step == 0.0 ? 0.0 : ahead / step;
}

/* Tests whether the path properly crosses the coplanar edge from p to q; returns 1 with the
 * parameter. p and q are strictly on different sides of the path. With f(x) = | q-p, x-p |, the
 * parameter is the zero of f along the path. */
static inline int path_crosses(const path3 *path, int axis, vec3 p, vec3 q, double *parameter) {
    int side_p = path_side_axis(path, axis, p), side_q = path_side_axis(path, axis, q);
    int at_from = orient2d_axis(axis, p, q, path->from);
    if (side_p * side_q >= 0 || at_from == 0)
        return 0; /* callers test the ends of the path against the hull */
    double from_value = orient2d_axis_value(axis, p, q, path->from), step;
    if (path->is_ray) {
        /* f grows by | q-p, direction | = - (side of q - side of p) */
        if (at_from * side_q <= 0)
            return 0;
        vec3 d = path->to;
        step = -(axis == 0   ? orient2d_along_value(p.y, p.z, d.y, d.z, q.y, q.z)
                 : axis == 1 ? orient2d_along_value(p.z, p.x, d.z, d.x, q.z, q.x)
                             : orient2d_along_value(p.x, p.y, d.x, d.y, q.x, q.y));
    } else {
        if (at_from * orient2d_axis(axis, p, q, path->to) >= 0)
            return 0;
        step = orient2d_axis_value(axis, p, q, path->to) - from_value;
    }
    *parameter = -from_value / step;
    return 1;
}

/* First common point of a path and a hull in one plane (projected along `axis`) or on one line
 * (-1). */
static inline int path_hull_flat(const path3 *path, const hull3 *hull, int axis, double *first) {
    if (hull_contains(hull, axis, path->from)) {
        *first = 0.0;
        return 1;
    }
    int found = 0;
    double parameter;
    if (!path->is_ray && hull_contains(hull, axis, path->to)) {
        *first = 1.0;
        found = 1;
    }
    for (int i = 0; i < hull->count; i++) {
        if (!path_contains(path, hull->p[i]))
            continue;
        parameter = path_parameter(path, hull->p[i]);
        *first = found && *first <= parameter ? *first : parameter;
        found = 1;
    }
    for (int i = 0; axis >= 0 && i < hull_edge_count(hull); i++) {
        if (!path_crosses(path, axis, hull->p[i], hull->p[i == 2 ? 0 : i + 1], &parameter))
            continue;
        *first = found && *first <= parameter ? *first : parameter;
        found = 1;
    }
    return found;
}

static inline vec3 path_point(const path3 *path, double t) {
    if (!path->is_ray)
        return segment_zero_point(path->from, path->to, -t, 1.0 - t);
    return v3((real)(path->from.x + t * path->to.x), (real)(path->from.y + t * path->to.y),
              (real)(path->from.z + t * path->to.z));
}

/* The path lies in the triangle's plane, or the triangle is degenerate. */
ABUTI_COLD int path_triangle_flat(const path3 *path, triangle3 t, path_hit *hit) {
    hull3 hull = triangle_hull(t);
    int axis = -1;
    if (hull.count == 3) {
        axis = projection_axis(hull.p[0], hull.p[1], hull.p[2]);
    } else if (hull.count == 2) {
        if (path_side(path, hull.p[0], hull.p[1]) != 0)
            return 0;
        for (int i = 0; i < 3 && axis < 0; i++)
            if (path_side_axis(path, i, hull.p[0]) != 0 || path_side_axis(path, i, hull.p[1]) != 0)
                axis = i;
    }
    double parameter;
    if (!path_hull_flat(path, &hull, axis, &parameter))
        return 0;
    if (hit) {
        closest_on_triangle closest = triangle_closest_point(t, path_point(path, parameter));
        hit->parameter = path_unscaled_parameter(path, parameter);
        for (int i = 0; i < 3; i++)
            hit->weight[i] = closest.barycentric[i];
    }
    return 1;
}

/* Parameter and weights of the point where the line of the path crosses the triangle. */
static inline void path_pierce(const path3 *path, triangle3 t, path_hit *hit) {
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2];
    double at_from = orient3d_value(a, b, c, path->from);
    double change = path->is_ray ? orient3d_along_value(a, path->to, b, c)
                                 : orient3d_value(a, b, c, path->to) - at_from;
    hit->parameter = at_from == 0.0 ? 0.0 : path_unscaled_parameter(path, -at_from / change);
    hit->weight[0] = path_side_value(path, b, c);
    hit->weight[1] = path_side_value(path, c, a);
    hit->weight[2] = path_side_value(path, a, b);
    double sum = hit->weight[0] + hit->weight[1] + hit->weight[2];
    for (int i = 0; i < 3; i++)
        hit->weight[i] = hit->weight[i] == 0.0 ? 0.0 : hit->weight[i] / sum;
}

/* Whether a path hits a triangle, and where first; `hit` may be null. */
static inline int path_triangle_intersect(const path3 *path, triangle3 t, path_hit *hit) {
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2];
    int at_from = orient3d(a, b, c, path->from);
    int onward = path->is_ray ? orient3d_along(a, path->to, b, c) : orient3d(a, b, c, path->to);
    if (at_from * onward > 0)
        return 0; /* both ends on one side, or a ray that moves away */
    if (onward == 0 && at_from == 0)
        return path_triangle_flat(path, t, hit);
    if (onward == 0 && path->is_ray)
        return 0; /* parallel */
    int s0 = path_side(path, a, b), s1 = path_side(path, b, c), s2 = path_side(path, c, a);
    if ((s0 < 0 || s1 < 0 || s2 < 0) && (s0 > 0 || s1 > 0 || s2 > 0))
        return 0;
    if (hit)
        path_pierce(path, t, hit);
    return 1;
}

#endif
#endif
