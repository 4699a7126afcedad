/* Triangles of one mesh against each other, for C and OpenCL C alike.
 *
 * Problem: neighbours have a corner or an edge in common, and that is no intersection. Which of
 * them meet elsewhere?
 * Method: corners that are the same vertex are known. Beyond one common corner the triangles meet
 * where their intersection is more than a point; both are cones from that corner, so that the signs
 * of the other four corners against the planes decide, and mostly the first two of them. Beyond a
 * common edge two proper triangles meet where they lie in one plane on the same side of the edge:
 * one orientation for nearly all. Triangles that are only a segment or a point take the road of the
 * general function, whose kind of answer is exact.
 * Guarantee: exact, as the predicates are.
 */
#ifndef ABUTI_GEOM_NEIGHBOUR_SHARED_H
#define ABUTI_GEOM_NEIGHBOUR_SHARED_H

#include "geom/intersect_shared.h"

#ifdef ABUTI_PREDICATES

/* Bit k of in_a: corner k of a is the same vertex as some corner of b; in_b likewise. */
typedef struct common_corners {
    unsigned in_a, in_b;
} common_corners;

/* On which side of a triangle's plane a point is. The point stands first, so that a compiler needs
 * the products of the triangle's edges once for many points. */
static inline int plane_side(triangle3 t, vec3 p) {
    return orient3d(t.corner[0], p, t.corner[1], t.corner[2]);
}

/* Two triangles on one line with the common points p and q on it: whether both go on beyond the
 * same one. Along an axis on which p and q differ, points are in the order of the line. */
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

/* Any triangles with common corners, but not all of them. */
ABUTI_COLD int neighbours_meet_anyhow(triangle3 a, triangle3 b, common_corners common) {
    abut_intersection meeting = triangle_triangle_meet(a, b, 0);
    int first = common.in_a & 1 ? 0 : common.in_a & 2 ? 1 : 2, other = first;
    for (int k = first + 1; k < 3; k++) /* positions: one vertex may be named twice */
        if (common.in_a >> k & 1 && !v3_equal(a.corner[first], a.corner[k]))
            other = k;
    if (other == first)
        return meeting >= ABUT_INTERSECTION_SEGMENT;
    if (meeting == ABUT_INTERSECTION_COPLANAR)
        return 1;
    /* A proper triangle has nothing of the line through one of its edges but that edge. */
    return triangle_is_degenerate(a.corner[0], a.corner[1], a.corner[2]) &&
           triangle_is_degenerate(b.corner[0], b.corner[1], b.corner[2]) &&
           lines_overlap_beyond(a, b, a.corner[first], a.corner[other]);
}

/* Whether the ray from v through p lies between those through q and r, ends included, which is less
 * than half a turn; in the shadow along an axis. `turn` is the orientation of v, q, r. */
static inline int ray_is_between(int axis, vec3 v, vec3 p, vec3 q, vec3 r, int turn) {
    return orient2d_axis(axis, v, q, p) * turn >= 0 && orient2d_axis(axis, v, p, r) * turn >= 0;
}

/* Two triangles of one plane with the corner v in common. A proper one is, near v, all that lies
 * between its two edges there; two of them overlap where an edge of one is in the other. A b that
 * is only a segment is its two edges. */
ABUTI_COLD int flat_beyond_corner_meet(vec3 v, vec3 a1, vec3 a2, vec3 b1, vec3 b2, int axis) {
    int turn_a = orient2d_axis(axis, v, a1, a2), turn_b = orient2d_axis(axis, v, b1, b2);
    return ray_is_between(axis, v, b1, a1, a2, turn_a) ||
           ray_is_between(axis, v, b2, a1, a2, turn_a) ||
           (turn_b != 0 && ray_is_between(axis, v, a1, b1, b2, turn_b));
}

/* Corner i of a is corner j of b; no other is common. The planes of proper triangles that reach
 * each other's cross in a line through that corner, v, and each triangle goes from v along it one
 * way. With a1, a2 relative to v, normals m = a1 x a2 and n = b1 x b2, and s1 = n . a1 >= 0 >= s2 =
 * n . a2, a's way is s1 a2 - s2 a1 = n x (a2 x a1) = m x n, and with the signs the other way round
 * n x m; b's likewise with m and n exchanged, and t1 = m . b1, t2 = m . b2. They go the same way
 * where the signs fall for one and rise for the other. */
static inline int beyond_corner_meet(triangle3 a, int i, triangle3 b, int j,
                                     common_corners common) {
    vec3 v = a.corner[i], a1 = a.corner[(i + 1) % 3], a2 = a.corner[(i + 2) % 3];
    vec3 b1 = b.corner[(j + 1) % 3], b2 = b.corner[(j + 2) % 3];
    int t1 = plane_side(a, b1), t2 = plane_side(a, b2);
    if (t1 * t2 > 0)
        return 0;
    if (t1 == 0 && t2 == 0) {
        int axis = shadow_axis(v, a1, a2);
        if (axis < 0 || v3_equal(v, b1) || v3_equal(v, b2))
            return neighbours_meet_anyhow(a, b, common);
        return flat_beyond_corner_meet(v, a1, a2, b1, b2, axis);
    }
    int s1 = plane_side(b, a1), s2 = plane_side(b, a2);
    if (s1 * s2 > 0)
        return 0;
    if (s1 == 0 && s2 == 0)
        return neighbours_meet_anyhow(a, b, common);
    return (s1 > s2) != (t1 > t2);
}

/* Corner i of a and corner j of b are the only ones that are not common. */
static inline int beyond_edge_meet(triangle3 a, int i, triangle3 b, int j, common_corners common) {
    vec3 p = a.corner[(i + 1) % 3], q = a.corner[(i + 2) % 3];
    if (orient3d(p, q, a.corner[i], b.corner[j]) != 0)
        return 0;
    int axis = shadow_axis(p, q, a.corner[i]);
    if (axis < 0)
        return neighbours_meet_anyhow(a, b, common);
    /* 0 where b is degenerate: then it has nothing beyond the edge in common with a */
    return orient2d_axis(axis, p, q, a.corner[i]) == orient2d_axis(axis, p, q, b.corner[j]);
}

/* Whether two triangles have points in common beyond their common corners and the edge between
 * them. All corners in common: yes, they are duplicates. */
static inline int neighbours_meet(triangle3 a, triangle3 b, common_corners common) {
    /* by the bits of a mask: the lone corner among the common ones, and among the others */
    const int single[8] = {-1, 0, 1, -1, 2, -1, -1, -1};
    if (common.in_a == 0)
        return triangle_triangle_meet(a, b, 0) != ABUT_INTERSECTION_NONE;
    if (common.in_a == 7 && common.in_b == 7)
        return 1;
    int i = single[common.in_a], j = single[common.in_b];
    if (i >= 0 && j >= 0)
        return beyond_corner_meet(a, i, b, j, common);
    i = single[7 - common.in_a];
    j = single[7 - common.in_b];
    if (i >= 0 && j >= 0)
        return beyond_edge_meet(a, i, b, j, common);
    return neighbours_meet_anyhow(a, b, common);
}

#endif
#endif
