/* Intersections of triangles of one mesh, for C and OpenCL C.
 *
 * Problem: adjacent triangles share a corner or an edge, which does not count as an intersection.
 * Which of them intersect elsewhere?
 *
 * Method: corners that are the same vertex are known. Triangles with one common corner intersect
 * elsewhere if their intersection is more than a point. Both are cones from that corner, so the
 * signs of the other four corners relative to the planes decide; usually the first two suffice. Two
 * triangles with area and a common edge intersect elsewhere if they lie in one plane on the same
 * side of the edge; usually one orientation decides. Triangles that degenerate to a segment or a
 * point use the general function, whose kind of intersection is exact.
 *
 * Guarantee: exact, as the predicates are.
 */
#ifndef ABUTI_GEOM_NEIGHBOUR_SHARED_H
#define ABUTI_GEOM_NEIGHBOUR_SHARED_H

#include "geom/intersect_shared.h"

#ifdef ABUTI_PREDICATES

/* Bit k of in_a: corner k of a is the same vertex as a corner of b; likewise in_b. */
typedef struct common_corners {
    unsigned in_a, in_b;
} common_corners;

/* The side of a triangle's plane on which a point is. The point is the second argument of orient3d,
 * so that compilers compute the products of the triangle's edges once for many points. */
static inline int plane_side(triangle3 t, vec3 p) {
    return orient3d(t.corner[0], p, t.corner[1], t.corner[2]);
}

/* For two triangles on one line with the common points p and q: whether both extend beyond p or
 * both beyond q. Along an axis on which p and q differ, points have the order of the line. */
static inline int lines_overlap_beyond(triangle3 a, triangle3 b, vec3 p, vec3 q) {
    int axis = p.x != q.x ? 0 : p.y != q.y ? 1 : 2;
    real lo = real_min(v3_get(p, axis), v3_get(q, axis));
    real hi = real_max(v3_get(p, axis), v3_get(q, axis));
    int below_a = 0, above_a = 0, below_b = 0, above_b = 0;
    for (int k = 0; k < 3; k++) {
        below_a |= v3_get(a.corner[k], axis) < lo;
        above_a |= v3_get(a.corner[k], axis) > hi;
        below_b |= v3_get(b.corner[k], axis) < lo;
        above_b |= v3_get(b.corner[k], axis) > hi;
    }
    return (below_a && below_b) || (above_a && above_b);
}

/* The general case: triangles with some, but not all, common corners. */
ABUTI_COLD int neighbours_intersect_general(triangle3 a, triangle3 b, common_corners common) {
    abut_intersection intersection = triangle_triangle_intersect(a, b, 0);
    int first = common.in_a & 1 ? 0 : common.in_a & 2 ? 1 : 2, other = first;
    for (int k = first + 1; k < 3; k++) /* compares positions, because one vertex may occur twice */
        if (common.in_a >> k & 1 && !v3_equal(a.corner[first], a.corner[k]))
            other = k;
    if (other == first)
        return intersection >= ABUT_INTERSECTION_SEGMENT;
    if (intersection == ABUT_INTERSECTION_COPLANAR)
        return 1;
    /* A triangle with area contains of the line through one of its edges only that edge. */
    return triangle_is_degenerate(a.corner[0], a.corner[1], a.corner[2]) &&
           triangle_is_degenerate(b.corner[0], b.corner[1], b.corner[2]) &&
           lines_overlap_beyond(a, b, a.corner[first], a.corner[other]);
}

/* Whether the ray from v through p lies between the rays through q and r, inclusive, in the
 * projection along an axis. The angle from q to r is below 180 degrees. `turn` is the orientation
 * of v, q, r. */
static inline int ray_is_between(int axis, vec3 v, vec3 p, vec3 q, vec3 r, int turn) {
    return orient2d_axis(axis, v, q, p) * turn >= 0 && orient2d_axis(axis, v, p, r) * turn >= 0;
}

/* Two coplanar triangles with the common corner v. Near v, a triangle with area is the sector
 * between its two edges. Two of them overlap if an edge of one is in the sector of the other. A
 * degenerate b consists of its two edges. */
ABUTI_COLD int coplanar_intersect_beyond_corner(vec3 v, vec3 a1, vec3 a2, vec3 b1, vec3 b2,
                                                int axis) {
    int turn_a = orient2d_axis(axis, v, a1, a2), turn_b = orient2d_axis(axis, v, b1, b2);
    return ray_is_between(axis, v, b1, a1, a2, turn_a) ||
           ray_is_between(axis, v, b2, a1, a2, turn_a) ||
           (turn_b != 0 && ray_is_between(axis, v, a1, b1, b2, turn_b));
}

/* Corner i of a is corner j of b; no other corner is common. If triangles with area reach each
 * other's planes, the planes intersect in a line through that corner v, and each triangle contains
 * a ray of that line from v. With a1, a2 relative to v, normals m = a1 x a2 and n = b1 x b2, and s1
 * = n . a1 >= 0 >= s2 = n . a2, the ray of a is s1 a2 - s2 a1 = n x (a2 x a1) = m x n, and n x m
 * for opposite signs. Likewise for b, with m and n exchanged and t1 = m . b1, t2 = m . b2. The rays
 * have the same direction if the signs fall for one triangle and rise for the other. */
static inline int intersect_beyond_corner(triangle3 a, int i, triangle3 b, int j,
                                          common_corners common) {
    vec3 v = a.corner[i], a1 = a.corner[(i + 1) % 3], a2 = a.corner[(i + 2) % 3];
    vec3 b1 = b.corner[(j + 1) % 3], b2 = b.corner[(j + 2) % 3];
    int t1 = plane_side(a, b1), t2 = plane_side(a, b2);
    if (t1 * t2 > 0)
        return 0;
    if (t1 == 0 && t2 == 0) {
        int axis = projection_axis(v, a1, a2);
        if (axis < 0 || v3_equal(v, b1) || v3_equal(v, b2))
            return neighbours_intersect_general(a, b, common);
        return coplanar_intersect_beyond_corner(v, a1, a2, b1, b2, axis);
    }
    int s1 = plane_side(b, a1), s2 = plane_side(b, a2);
    if (s1 * s2 > 0)
        return 0;
    if (s1 == 0 && s2 == 0)
        return neighbours_intersect_general(a, b, common);
    return (s1 > s2) != (t1 > t2);
}

/* Corner i of a and corner j of b are the only ones that are not common. */
static inline int intersect_beyond_edge(triangle3 a, int i, triangle3 b, int j,
                                        common_corners common) {
    vec3 p = a.corner[(i + 1) % 3], q = a.corner[(i + 2) % 3];
    if (orient3d(p, q, a.corner[i], b.corner[j]) != 0)
        return 0;
    int axis = projection_axis(p, q, a.corner[i]);
    if (axis < 0)
        return neighbours_intersect_general(a, b, common);
    /* 0 if b is degenerate: then it has no point in common with a beyond the edge */
    return orient2d_axis(axis, p, q, a.corner[i]) == orient2d_axis(axis, p, q, b.corner[j]);
}

/* Whether two triangles have points in common beyond their common corners and the edge between
 * them. True if all corners are common: they are duplicates. */
static inline int neighbours_intersect(triangle3 a, triangle3 b, common_corners common) {
    /* index of the only set bit of a mask of corners, or -1 */
    const int single[8] = {-1, 0, 1, -1, 2, -1, -1, -1};
    if (common.in_a == 0)
        return triangle_triangle_intersect(a, b, 0) != ABUT_INTERSECTION_NONE;
    if (common.in_a == 7 && common.in_b == 7)
        return 1;
    int i = single[common.in_a], j = single[common.in_b];
    if (i >= 0 && j >= 0)
        return intersect_beyond_corner(a, i, b, j, common);
    i = single[7 - common.in_a];
    j = single[7 - common.in_b];
    if (i >= 0 && j >= 0)
        return intersect_beyond_edge(a, i, b, j, common);
    return neighbours_intersect_general(a, b, common);
}

#endif
#endif
