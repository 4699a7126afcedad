/* Geometric primitives: closest points, exact intersection tests, signed distances to simple
 * solids, poses, solid angles and orientation predicates.
 *
 * A triangle is the convex hull of its three corners. Degenerate triangles, which are only a
 * segment or a point, and arbitrarily thin ones are valid in every function. Sets are closed:
 * touching counts as an intersection.
 *
 * Guarantees:
 *  - Yes-or-no results are exact for coordinates that are floats, and for doubles that are 0 or
 *    between 1e-91 and 1e90 in magnitude. Floating-point filters decide most cases, exact
 *    expansions (Shewchuk 1997) the others.
 *  - Distances have an error of at most 4 ulp of the largest coordinate difference of the input,
 *    for triangles of any shape. Points are as accurate, and then rounded to their coordinates,
 *    which are coarser far from the origin.
 *
 * Every function returns ABUT_ERROR_ARGUMENT for coordinates that are not finite or beyond
 * ABUT_COORDINATE_MAX, allocates no memory, and is thread-safe.
 */
#ifndef ABUT_GEOM_H
#define ABUT_GEOM_H

#include <abut/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_triangle {
    abut_vec3 corner[3];
} abut_triangle;

typedef struct abut_segment {
    abut_vec3 end[2];
} abut_segment;

/* The feature of a triangle that contains a point. Edge k connects corners k and k+1 mod 3. */
typedef enum abut_feature {
    ABUT_FEATURE_FACE = 0,
    ABUT_FEATURE_EDGE_0,
    ABUT_FEATURE_EDGE_1,
    ABUT_FEATURE_EDGE_2,
    ABUT_FEATURE_VERTEX_0,
    ABUT_FEATURE_VERTEX_1,
    ABUT_FEATURE_VERTEX_2
} abut_feature;

/* Returns "face", "edge-0" to "edge-2" or "vertex-0" to "vertex-2". Thread-safe. */
ABUT_API const char *abut_feature_name(abut_feature feature);

/* ---- closest points ---- */

typedef struct abut_closest_on_segment {
    double distance;
    abut_vec3 point;
    double parameter; /* point = end[0] + parameter (end[1] - end[0]), from 0 to 1 */
} abut_closest_on_segment;

/* Finds the closest point of a segment to `point`. Thread-safe. */
ABUT_API abut_status abut_segment_closest_point(const abut_segment *segment, abut_vec3 point,
                                                abut_closest_on_segment *closest);

typedef struct abut_closest_on_triangle {
    double distance;
    abut_vec3 point;
    double barycentric[3]; /* weights of the corners, 0 or more, with sum 1 */
    abut_feature feature;  /* the lowest-dimensional feature that contains the point */
} abut_closest_on_triangle;

/* Finds the closest point of a triangle to `point`, and its feature. Thread-safe. */
ABUT_API abut_status abut_triangle_closest_point(const abut_triangle *triangle, abut_vec3 point,
                                                 abut_closest_on_triangle *closest);

typedef struct abut_closest_pair {
    double distance; /* 0 if the sets intersect; both points are then one common point */
    abut_vec3 point_a, point_b;
} abut_closest_pair;

/* Finds a pair of closest points of two segments. The distance is 0 if and only if they intersect.
 * Thread-safe. */
ABUT_API abut_status abut_segment_segment_closest(const abut_segment *a, const abut_segment *b,
                                                  abut_closest_pair *closest);

/* Finds a pair of closest points of two triangles. The distance is 0 if and only if they intersect.
 * Thread-safe. */
ABUT_API abut_status abut_triangle_triangle_closest(const abut_triangle *a, const abut_triangle *b,
                                                    abut_closest_pair *closest);

/* ---- intersections ---- */

typedef enum abut_intersection {
    ABUT_INTERSECTION_NONE = 0,
    ABUT_INTERSECTION_POINT,   /* one point: both ends of the segment */
    ABUT_INTERSECTION_SEGMENT, /* a segment of positive length */
    ABUT_INTERSECTION_COPLANAR /* an area; the segment is the longest one found in it */
} abut_intersection;

/* Returns "none", "point", "segment" or "coplanar". Thread-safe. */
ABUT_API const char *abut_intersection_name(abut_intersection intersection);

/* Computes the kind of the intersection of two triangles, exactly, and its segment, rounded.
 * `segment` may be null, and is unchanged if the triangles do not intersect. Thread-safe. */
ABUT_API abut_status abut_triangle_triangle_intersect(const abut_triangle *a,
                                                      const abut_triangle *b,
                                                      abut_intersection *intersection,
                                                      abut_segment *segment);

/* Tests exactly whether a segment and a triangle intersect. `point` gets the common point nearest
 * to end[0]. It may be null, and is unchanged if they do not intersect. Thread-safe. */
ABUT_API abut_status abut_segment_triangle_intersect(const abut_segment *segment,
                                                     const abut_triangle *triangle,
                                                     bool *intersects, abut_vec3 *point);

typedef struct abut_ray {
    abut_vec3 origin, direction; /* the direction has any length except 0 */
} abut_ray;

typedef struct abut_ray_triangle_hit {
    double parameter; /* hit = origin + parameter direction; 0 or more */
    double barycentric[3];
} abut_ray_triangle_hit;

/* Tests exactly whether a ray hits a triangle, and computes the first hit. The test is watertight:
 * a ray through a shared edge or vertex hits at least one of the triangles around it. A ray in the
 * plane of the triangle hits where it enters. `hit` may be null, and is unchanged on a miss.
 * Returns ABUT_ERROR_ARGUMENT if the direction is zero. Thread-safe. */
ABUT_API abut_status abut_ray_triangle_intersect(const abut_ray *ray, const abut_triangle *triangle,
                                                 bool *intersects, abut_ray_triangle_hit *hit);

/* Tests exactly whether a box and a triangle intersect. Returns ABUT_ERROR_ARGUMENT if lo exceeds
 * hi on an axis. Thread-safe. */
ABUT_API abut_status abut_box_triangle_intersect(const abut_box *box, const abut_triangle *triangle,
                                                 bool *intersects);

/* ---- solids ---- */

/* A signed distance, negative inside, and the closest point of the surface. */
typedef struct abut_signed_closest {
    double distance;
    abut_vec3 point;
} abut_signed_closest;

/* The half-space normal . x <= offset. The normal has any length except 0, and the offset is a
 * multiple of that length. The offset divided by the largest component of the normal must not
 * exceed ABUT_COORDINATE_MAX in magnitude. */
typedef struct abut_plane {
    abut_vec3 normal;
    double offset;
} abut_plane;

/* A ball; the radius is 0 or more. */
typedef struct abut_sphere {
    abut_vec3 centre;
    double radius;
} abut_sphere;

/* All points within `radius` (0 or more) of a segment, which may be a point. */
typedef struct abut_capsule {
    abut_vec3 end[2];
    double radius;
} abut_capsule;

/* A circular cylinder with flat ends: all points within `radius` (0 or more) of the axis between
 * two different points. */
typedef struct abut_cylinder {
    abut_vec3 end[2];
    double radius;
} abut_cylinder;

/* A box centred at the origin of its pose. */
typedef struct abut_oriented_box {
    abut_vec3 half; /* half extents, 0 or more */
    abut_pose pose;
} abut_oriented_box;

/* Computes the signed distance to a plane. Returns ABUT_ERROR_ARGUMENT if the normal is zero.
 * Thread-safe. */
ABUT_API abut_status abut_plane_closest_point(const abut_plane *plane, abut_vec3 point,
                                              abut_signed_closest *closest);
/* Computes the signed distance to a sphere. At the centre the closest point is the one in direction
 * +x. Thread-safe. */
ABUT_API abut_status abut_sphere_closest_point(const abut_sphere *sphere, abut_vec3 point,
                                               abut_signed_closest *closest);
/* Computes the signed distance to a capsule. On the axis the closest point is in a direction
 * perpendicular to the axis. Thread-safe. */
ABUT_API abut_status abut_capsule_closest_point(const abut_capsule *capsule, abut_vec3 point,
                                                abut_signed_closest *closest);
/* Computes the signed distance to a box. Inside, the closest point is on the nearest face; among
 * equally near faces it is on the first of low x, high x, low y, high y, low z, high z. Returns
 * ABUT_ERROR_ARGUMENT if lo exceeds hi on an axis. Thread-safe. */
ABUT_API abut_status abut_box_closest_point(const abut_box *box, abut_vec3 point,
                                            abut_signed_closest *closest);

/* ---- poses ---- */

/* Converts a row-major matrix of three rows and four columns to a pose. The first three columns are
 * the rotation, the last is the translation. A matrix of four rows begins with the same twelve
 * numbers. Returns ABUT_ERROR_ARGUMENT if the matrix is a reflection, or if the rows of the
 * rotation are not orthonormal within 1e-5. That tolerance allows matrices of floats. A scale
 * belongs in abut_mesh_transform(). The error of the rotation is at most four times that of the
 * matrix, plus 8e-16. Thread-safe. */
ABUT_API abut_status abut_pose_from_matrix(const double matrix[12], abut_pose *pose);
/* The same for `count` matrices. `stride` is the number of doubles from one to the next, at least
 * 12. With a stride of 16 the matrices have four rows, and the last row must be 0 0 0 1 within
 * 1e-9. All matrices are validated before any pose is written; the message names the first invalid
 * one. `poses` must not overlap `matrices`. Thread-safe. */
ABUT_API abut_status abut_pose_from_matrices(const double *matrices, size_t stride, size_t count,
                                             abut_pose *poses);
/* Converts a pose to a row-major matrix of three rows and four columns, with an error of at most
 * 2e-15. Thread-safe. */
ABUT_API abut_status abut_pose_to_matrix(const abut_pose *pose, double matrix[12]);
/* Creates the pose that rotates by `angle` radians about an axis through the origin, then
 * translates. The rotation is counterclockwise if the axis points towards the viewer (right-hand
 * rule). Returns ABUT_ERROR_ARGUMENT if the axis is zero; it may have any other length. The error
 * of the rotation is at most 8e-16. Thread-safe. */
ABUT_API abut_status abut_pose_from_axis_angle(abut_vec3 axis, double angle, abut_vec3 translation,
                                               abut_pose *pose);
/* Computes the pose that applies `inner` first, then `outer`. Example: `inner` is a part in its
 * body, `outer` the body in the world; the result is the part in the world. `composed` may be one
 * of the inputs. Thread-safe. */
ABUT_API abut_status abut_pose_compose(const abut_pose *outer, const abut_pose *inner,
                                       abut_pose *composed);
/* Computes the inverse of a pose. A point that is moved by a pose and by its inverse returns within
 * 2e-15 of the largest coordinate on the way. Moving by a composed pose and moving twice differ by
 * at most as much. Thread-safe. */
ABUT_API abut_status abut_pose_invert(const abut_pose *pose, abut_pose *inverse);
/* Moves a point by a pose. It rounds as abut_mesh_transform() and all queries on posed meshes do.
 * Thread-safe. */
ABUT_API abut_status abut_pose_apply(const abut_pose *pose, abut_vec3 point, abut_vec3 *moved);

/* Computes the pose at a time from 0 to 1 of a motion with constant velocity from one pose to
 * another. The origin of the body moves along a straight line. The rotation has a fixed axis and
 * takes the shorter way. Returns ABUT_ERROR_ARGUMENT for other times. Thread-safe. */
ABUT_API abut_status abut_pose_interpolate(const abut_pose *from, const abut_pose *to, double time,
                                           abut_pose *pose);

/* ---- angles and orientations ---- */

/* Computes the signed solid angle of a triangle from `point`, from -2 pi to 2 pi (Van Oosterom and
 * Strackee 1983). It is positive if the point is behind the triangle. So the angles of a closed,
 * outward-facing mesh sum to 4 pi inside and to 0 outside. It is 0 in the plane of the triangle,
 * also on the triangle itself, and for degenerate triangles. The sign is exact. Thread-safe. */
ABUT_API abut_status abut_triangle_solid_angle(const abut_triangle *triangle, abut_vec3 point,
                                               double *angle);

/* Computes the exact sign of the determinant of b-a, c-a, d-a: +1, 0 or -1. Thread-safe. */
ABUT_API abut_status abut_orient3d(abut_vec3 a, abut_vec3 b, abut_vec3 c, abut_vec3 d, int *sign);

#ifdef __cplusplus
}
#endif

#endif
