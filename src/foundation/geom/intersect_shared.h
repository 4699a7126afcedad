/* Intersection of triangles with triangles and boxes, for C and OpenCL C.
 *
 * Two triangles (after Guigue & Devillers 2003, "Fast and robust triangle-triangle overlap test
 * using orientation predicates"): each must reach the plane of the other. Then each intersects the
 * common line of the planes in an interval. The ends of an interval lie on edges that cross the
 * other plane. The order of two such ends along the line is the sign of the volume of their edges.
 * All decisions are orientation predicates, so the answer is exact, as is its kind: none, point,
 * segment or area. The ends of the segment are quotients of exact determinants, rounded.
 *
 * Box and triangle (after Akenine-Moeller 2001, "Fast 3D triangle-box overlap testing"): separating
 * axes, evaluated as orientations of box corners, so that no centre or half size is rounded. The 13
 * axes are the normals of the facets of the Minkowski sum, if that has a volume. They also suffice
 * if it is flat, that is for coplanar sets and for boxes or triangles that degenerate to a segment
 * or a point: in the projection along a coordinate axis that is not parallel to the plane, the
 * normals of the triangle's edges are among the 9 cross products, and those of the box's edges are
 * coordinate axes.
 */
#ifndef ABUTI_GEOM_INTERSECT_SHARED_H
#define ABUTI_GEOM_INTERSECT_SHARED_H

#include "geom/path_shared.h"

#ifdef ABUTI_PREDICATES

/* ---- two triangles ---- */

/* An edge from above or on a plane to below or on it; not both ends are on the plane. */
typedef struct crossing_edge {
    vec3 top, bottom;
} crossing_edge;

/* The interval in which a triangle intersects the other plane: between two edges of one corner. */
typedef struct crossing_interval {
    crossing_edge low, high;
    int is_point;
} crossing_interval;

/* `sign` has the signs of the corners relative to the other plane, neither all equal nor all zero.
 * If the single corner is above and the order is counter-clockwise, the edge to the next corner
 * comes before the edge to the previous corner along the direction that the triangle induces on the
 * common line. */
static inline crossing_interval interval_of(triangle3 t, const int *sign) {
    /* The single corner has no other corner on its side. If one is above and one is below, the
     * upper one is chosen. */
    int single = 0;
    for (int i = 0; i < 3; i++) {
        int next = sign[(i + 1) % 3], previous = sign[(i + 2) % 3];
        if ((sign[i] > 0 && next <= 0 && previous <= 0) ||
            (sign[i] < 0 && next >= 0 && previous >= 0 && next + previous != 1) ||
            (sign[i] == 0 && next == previous))
            single = i;
    }
    int on_top = sign[single] > 0 || (sign[single] == 0 && sign[(single + 1) % 3] < 0);
    vec3 apex = t.corner[single], next = t.corner[(single + 1) % 3],
         previous = t.corner[(single + 2) % 3];
    crossing_interval interval;
    interval.is_point = sign[single] == 0;
    interval.low.top = on_top ? apex : previous;
    interval.low.bottom = on_top ? next : apex;
    interval.high.top = on_top ? apex : next;
    interval.high.bottom = on_top ? previous : apex;
    return interval;
}

/* +1 if b's edge crosses the common line after a's. */
static inline int crossing_order(crossing_edge a, crossing_edge b) {
    return orient3d(a.top, a.bottom, b.top, b.bottom);
}

static inline vec3 crossing_point(crossing_edge e, triangle3 plane) {
    const vec3 *c = plane.corner;
    return segment_zero_point(e.top, e.bottom, orient3d_value(c[0], c[1], c[2], e.top),
                              orient3d_value(c[0], c[1], c[2], e.bottom));
}

/* Triangles in crossing planes. Let p be the direction of the line along which the edges of b have
 * the order of interval_of(). The edges of a have the opposite order, because each triangle is seen
 * from the upper side of the other. */
static inline abut_intersection crossing_planes_intersect(triangle3 a, triangle3 b,
                                                          const int *sign_a, const int *sign_b,
                                                          segment3 *segment) {
    crossing_interval of_a = interval_of(a, sign_a), of_b = interval_of(b, sign_b);
    crossing_edge a_low = of_a.high, a_high = of_a.low;
    int gap_above = crossing_order(a_high, of_b.low);  /* b starts after a ends */
    int gap_below = -crossing_order(a_low, of_b.high); /* a starts after b ends */
    if (gap_above > 0 || gap_below > 0)
        return ABUT_INTERSECTION_NONE;
    int is_point = gap_above == 0 || gap_below == 0 || of_a.is_point || of_b.is_point;
    if (segment) {
        segment->end[0] = crossing_order(a_low, of_b.low) > 0 ? crossing_point(of_b.low, a)
                                                              : crossing_point(a_low, b);
        segment->end[1] = is_point                                ? segment->end[0]
                          : crossing_order(a_high, of_b.high) < 0 ? crossing_point(of_b.high, a)
                                                                  : crossing_point(a_high, b);
    }
    return is_point ? ABUT_INTERSECTION_POINT : ABUT_INTERSECTION_SEGMENT;
}

/* Coplanar triangles, and triangles that degenerate to a segment or a point. */
ABUTI_COLD abut_intersection degenerate_intersect(triangle3 ta, triangle3 tb, segment3 *segment) {
    hull3 a = triangle_hull(ta), b = triangle_hull(tb);
    int axis = -1;
    if (a.count < b.count) {
        hull3 swap = a;
        a = b;
        b = swap;
        ta = tb;
    }
    if (a.count == 3) {
        int off_count = 0;
        for (int i = 0; i < b.count; i++)
            off_count += orient3d(a.p[0], a.p[1], a.p[2], b.p[i]) != 0;
        if (off_count > 0) {
            segment3 s;
            path_hit hit;
            s.end[0] = b.p[0];
            s.end[1] = b.p[b.count - 1];
            path3 path = segment_path(s);
            if (!path_triangle_intersect(&path, ta, segment ? &hit : 0))
                return ABUT_INTERSECTION_NONE;
            if (segment)
                segment->end[0] = segment->end[1] = path_point(&path, hit.parameter);
            return ABUT_INTERSECTION_POINT;
        }
        axis = projection_axis(a.p[0], a.p[1], a.p[2]);
    } else if (b.count == 2) {
        if (orient3d(a.p[0], a.p[1], b.p[0], b.p[1]) != 0)
            return ABUT_INTERSECTION_NONE;
        axis = projection_axis(a.p[0], a.p[1], b.p[0]);
        axis = axis >= 0 ? axis : projection_axis(a.p[0], a.p[1], b.p[1]);
    }
    return coplanar_hulls_intersect(&a, &b, axis, segment);
}

/* The common sign if all three signs are equal, otherwise 2. */
static inline int common_sign(const int *sign) {
    return sign[0] == sign[1] && sign[1] == sign[2] ? sign[0] : 2;
}

/* Computes the kind of the intersection of two triangles; `segment` may be null. */
static inline abut_intersection triangle_triangle_intersect(triangle3 a, triangle3 b,
                                                            segment3 *segment) {
    int sign_a[3], sign_b[3];
    for (int i = 0; i < 3; i++)
        sign_b[i] = orient3d(a.corner[0], a.corner[1], a.corner[2], b.corner[i]);
    int side_b = common_sign(sign_b);
    if (side_b == 1 || side_b == -1)
        return ABUT_INTERSECTION_NONE;
    for (int i = 0; i < 3; i++)
        sign_a[i] = orient3d(b.corner[0], b.corner[1], b.corner[2], a.corner[i]);
    int side_a = common_sign(sign_a);
    if (side_a == 1 || side_a == -1)
        return ABUT_INTERSECTION_NONE;
    if (side_a == 0 || side_b == 0)
        return degenerate_intersect(a, b, segment);
    return crossing_planes_intersect(a, b, sign_a, sign_b, segment);
}

/* ---- box and triangle ---- */

static inline vec3 box_corner(box3 box, int x_high, int y_high, int z_high) {
    return v3(x_high ? box.hi.x : box.lo.x, y_high ? box.hi.y : box.lo.y,
              z_high ? box.hi.z : box.lo.z);
}

/* Whether the whole box is strictly on one side of the triangle's plane. The extreme corners along
 * the normal decide. */
static inline int plane_separates_box(box3 box, vec3 a, vec3 b, vec3 c) {
    int x = orient2d_axis(0, a, b, c) > 0, y = orient2d_axis(1, a, b, c) > 0,
        z = orient2d_axis(2, a, b, c) > 0;
    return orient3d(a, b, c, box_corner(box, x, y, z)) < 0 ||
           orient3d(a, b, c, box_corner(box, !x, !y, !z)) > 0;
}

/* Whether, in the projection along an axis, the whole box is strictly on the side of the line
 * through p and q that does not contain r. The leftmost corner has the larger height if the edge
 * goes right, and the smaller width if it goes up. */
static inline int edge_separates_box(box3 box, int axis, vec3 p, vec3 q, vec3 r) {
    int x = q.x > p.x, y = q.y > p.y, z = q.z > p.z;
    vec3 left = axis == 0   ? box_corner(box, 0, !z, y)
                : axis == 1 ? box_corner(box, z, 0, !x)
                            : box_corner(box, !y, x, 0);
    vec3 right = axis == 0   ? box_corner(box, 0, z, !y)
                 : axis == 1 ? box_corner(box, !z, 0, x)
                             : box_corner(box, y, !x, 0);
    int side = orient2d_axis(axis, p, q, r);
    return (side >= 0 && orient2d_axis(axis, p, q, left) < 0) ||
           (side <= 0 && orient2d_axis(axis, p, q, right) > 0);
}

/* Whether a box (lo <= hi) and a triangle intersect. */
static inline int box_triangle_intersect(box3 box, triangle3 t) {
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2];
    box3 bounds;
    bounds.lo = v3_min(a, v3_min(b, c));
    bounds.hi = v3_max(a, v3_max(b, c));
    if (!box_overlaps(box, bounds))
        return 0;
    if (box_contains(box, a) || box_contains(box, b) || box_contains(box, c))
        return 1;
    if (plane_separates_box(box, a, b, c))
        return 0;
    for (int axis = 0; axis < 3; axis++)
        if (edge_separates_box(box, axis, a, b, c) || edge_separates_box(box, axis, b, c, a) ||
            edge_separates_box(box, axis, c, a, b))
            return 0;
    return 1;
}

#endif
#endif
