/* Intersections of convex sets of up to three points in one plane or on one line, for C and OpenCL
 * C.
 *
 * Problem: coplanar triangles, and triangles that degenerate to a segment or a point, have no
 * common line on which intervals could be compared.
 *
 * Method: project along a coordinate axis along which the plane has a projection with area. The
 * projection is one-to-one on the plane, so exact orient2d of the projections decides. The
 * intersection of two convex polygons is the convex hull of their corners inside the other polygon
 * and of the proper crossings of their edges. These points are listed. On a line, corners are
 * sufficient.
 *
 * Guarantee: the choice of the listed points is exact. Corners are exact, crossings are rounded.
 */
#ifndef ABUTI_GEOM_FLAT_SHARED_H
#define ABUTI_GEOM_FLAT_SHARED_H

#include "geom/predicates_shared.h"
#include "geom/types_shared.h"

#ifdef ABUTI_PREDICATES

/* The convex hull of 1 to 3 points: a point, a segment of positive length, or a triangle with area.
 */
typedef struct hull3 {
    vec3 p[3];
    int count;
} hull3;

static inline int box_of_two_contains(vec3 a, vec3 b, vec3 p) {
    box3 bounds;
    bounds.lo = v3_min(a, b);
    bounds.hi = v3_max(a, b);
    return box_contains(bounds, p);
}

/* The hull of a triangle. Points on a line are ordered along every axis on which they differ. */
static inline hull3 triangle_hull(triangle3 t) {
    hull3 hull;
    hull.p[0] = t.corner[0];
    hull.p[1] = t.corner[1];
    hull.p[2] = t.corner[2];
    hull.count = 3;
    if (!triangle_is_degenerate(t.corner[0], t.corner[1], t.corner[2]))
        return hull;
    hull.count = 2;
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1;
        hull.p[0] = t.corner[i];
        hull.p[1] = t.corner[j];
        if (box_of_two_contains(hull.p[0], hull.p[1], t.corner[3 - i - j]))
            break;
    }
    if (v3_equal(hull.p[0], hull.p[1]))
        hull.count = 1;
    return hull;
}

/* The axis along which the triangle has its largest projection, approximately; -1 if no projection
 * has area. */
static inline int projection_axis(vec3 a, vec3 b, vec3 c) {
    double ux = (double)b.x - a.x, uy = (double)b.y - a.y, uz = (double)b.z - a.z;
    double vx = (double)c.x - a.x, vy = (double)c.y - a.y, vz = (double)c.z - a.z;
    double nx = fabs(uy * vz - uz * vy), ny = fabs(uz * vx - ux * vz), nz = fabs(ux * vy - uy * vx);
    int best = nx >= ny && nx >= nz ? 0 : ny >= nz ? 1 : 2;
    for (int i = 0; i < 3; i++) {
        int axis = (best + i) % 3;
        if (orient2d_axis(axis, a, b, c) != 0)
            return axis;
    }
    return -1;
}

static inline int segment_contains(vec3 a, vec3 b, vec3 p) {
    return box_of_two_contains(a, b, p) && triangle_is_degenerate(a, b, p);
}

/* Whether a hull contains a point. If it has three points, p is in their plane. */
static inline int hull_contains(const hull3 *hull, int axis, vec3 p) {
    if (hull->count < 3)
        return segment_contains(hull->p[0], hull->p[hull->count - 1], p);
    int s0 = orient2d_axis(axis, hull->p[0], hull->p[1], p);
    int s1 = orient2d_axis(axis, hull->p[1], hull->p[2], p);
    int s2 = orient2d_axis(axis, hull->p[2], hull->p[0], p);
    return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

static inline double orient2d_axis_value(int axis, vec3 a, vec3 b, vec3 c) {
    return axis == 0   ? orient2d_value(a.y, a.z, b.y, b.z, c.y, c.z)
           : axis == 1 ? orient2d_value(a.z, a.x, b.z, b.x, c.z, c.x)
                       : orient2d_value(a.x, a.y, b.x, b.y, c.x, c.y);
}

/* The point of a segment where a linear function with these values at its ends vanishes. The values
 * have opposite signs, or one of them is 0. Computed from the nearer end. */
static inline vec3 segment_zero_point(vec3 a, vec3 b, double at_a, double at_b) {
    double t = at_a / (at_a - at_b), rest = at_b / (at_b - at_a);
    vec3 near = t <= 0.5 ? a : b;
    double step = t <= 0.5 ? t : -rest;
    return v3((real)(near.x + step * ((double)b.x - a.x)),
              (real)(near.y + step * ((double)b.y - a.y)),
              (real)(near.z + step * ((double)b.z - a.z)));
}

/* Whether two coplanar segments cross at an interior point of both. */
static inline int edges_cross(int axis, vec3 a, vec3 b, vec3 c, vec3 d) {
    return orient2d_axis(axis, a, b, c) * orient2d_axis(axis, a, b, d) < 0 &&
           orient2d_axis(axis, c, d, a) * orient2d_axis(axis, c, d, b) < 0;
}

/* Points whose hull is the intersection: at most 6 corners and 6 crossings. */
typedef struct intersection_points {
    vec3 p[12];
    int count, crossing_count;
} intersection_points;

static inline int hull_edge_count(const hull3 *hull) {
    return hull->count == 3 ? 3 : hull->count - 1;
}

static inline void list_corners(const hull3 *a, const hull3 *b, int axis,
                                intersection_points *list) {
    for (int i = 0; i < a->count; i++)
        if (hull_contains(b, axis, a->p[i]))
            list->p[list->count++] = a->p[i];
}

static inline void list_crossings(const hull3 *a, const hull3 *b, int axis,
                                  intersection_points *list) {
    for (int i = 0; i < hull_edge_count(a); i++)
        for (int j = 0; j < hull_edge_count(b); j++) {
            vec3 p = a->p[i], q = a->p[i == 2 ? 0 : i + 1];
            vec3 r = b->p[j], s = b->p[j == 2 ? 0 : j + 1];
            if (!edges_cross(axis, p, q, r, s))
                continue;
            list->p[list->count++] = segment_zero_point(p, q, orient2d_axis_value(axis, r, s, p),
                                                        orient2d_axis_value(axis, r, s, q));
            list->crossing_count++;
        }
}

/* Whether b is entirely on or beyond the line of one edge of a, opposite to a. */
static inline int edge_separates(const hull3 *a, const hull3 *b, int axis) {
    for (int i = 0; i < 3; i++) {
        int j = i == 2 ? 0 : i + 1, far_count = 0;
        int inner = orient2d_axis(axis, a->p[i], a->p[j], a->p[3 - i - j]);
        for (int k = 0; k < 3; k++)
            far_count += inner * orient2d_axis(axis, a->p[i], a->p[j], b->p[k]) <= 0;
        if (far_count == 3)
            return 1;
    }
    return 0;
}

/* The two points of the list that are farthest apart. */
static inline segment3 longest_extent(const intersection_points *list) {
    segment3 longest;
    double longest_sq = -1.0;
    longest.end[0] = longest.end[1] = list->p[0];
    for (int i = 0; i < list->count; i++)
        for (int j = i + 1; j < list->count; j++) {
            double x = (double)list->p[j].x - list->p[i].x, y = (double)list->p[j].y - list->p[i].y;
            double z = (double)list->p[j].z - list->p[i].z, length_sq = x * x + y * y + z * z;
            if (length_sq > longest_sq) {
                longest_sq = length_sq;
                longest.end[0] = list->p[i];
                longest.end[1] = list->p[j];
            }
        }
    return longest;
}

/* Intersects two hulls in one plane (projected along `axis`) or on one line (-1). */
ABUTI_COLD abut_intersection coplanar_hulls_intersect(const hull3 *a, const hull3 *b, int axis,
                                                      segment3 *segment) {
    intersection_points list;
    list.count = list.crossing_count = 0;
    list_corners(a, b, axis, &list);
    list_corners(b, a, axis, &list);
    if (axis >= 0)
        list_crossings(a, b, axis, &list);
    if (list.count == 0)
        return ABUT_INTERSECTION_NONE;
    if (segment)
        *segment = longest_extent(&list);
    int triangle_count = (a->count == 3) + (b->count == 3);
    if (triangle_count == 2 && !edge_separates(a, b, axis) && !edge_separates(b, a, axis))
        return ABUT_INTERSECTION_COPLANAR;
    /* Two segments cross in a point; a segment that crosses an edge of a triangle continues inside
     * it. Sets that only touch have only corners in the list, and corners are exact. */
    if (list.crossing_count > 0)
        return triangle_count > 0 ? ABUT_INTERSECTION_SEGMENT : ABUT_INTERSECTION_POINT;
    for (int i = 1; i < list.count; i++)
        if (!v3_equal(list.p[0], list.p[i]))
            return ABUT_INTERSECTION_SEGMENT;
    return ABUT_INTERSECTION_POINT;
}

#endif
#endif
