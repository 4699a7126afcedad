/* Geometric primitives: closest points, intersections, solid angles.
 *
 * A triangle is the point set spanned by its three corners, in any shape: needles, slivers, and
 * triangles that are only a segment or a point are legal everywhere and answer for the set that
 * they are. Sets are closed: touching counts.
 *
 * Yes/no answers are exact for coordinates that are floats, and for doubles that are 0 or between
 * 1e-91 and 1e90 in magnitude: floating-point filters first, exact expansions (Shewchuk 1997) when
 * a filter cannot tell.
 * Distances are accurate to 4 units in the last place of the largest coordinate difference of the
 * input, for every shape of triangle. Points are as accurate, but no more than their own
 * coordinates can express: far from the origin those are coarser than the differences.
 *
 * Every function refuses coordinates that are not finite or beyond ABUT_COORDINATE_MAX with
 * ABUT_ERROR_ARGUMENT, takes no memory, and is thread-safe.
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

/* The part of a triangle that a point lies on. Edge k joins corners k and k+1 mod 3. */
typedef enum abut_feature {
    ABUT_FEATURE_FACE = 0,
    ABUT_FEATURE_EDGE_0,
    ABUT_FEATURE_EDGE_1,
    ABUT_FEATURE_EDGE_2,
    ABUT_FEATURE_VERTEX_0,
    ABUT_FEATURE_VERTEX_1,
    ABUT_FEATURE_VERTEX_2
} abut_feature;

/* "face", "edge-0", "vertex-2". */
ABUT_API const char *abut_feature_name(abut_feature feature);

typedef struct abut_closest_on_segment {
    double distance;
    abut_vec3 point;
    double parameter; /* point = end[0] + parameter (end[1] - end[0]), from 0 to 1 */
} abut_closest_on_segment;

/* Finds the point of a segment closest to `point`. */
ABUT_API abut_status abut_segment_closest_point(const abut_segment *segment, abut_vec3 point,
                                                abut_closest_on_segment *closest);

typedef struct abut_closest_on_triangle {
    double distance;
    abut_vec3 point;
    double barycentric[3]; /* weights of the corners, none negative, sum 1 */
    abut_feature feature;  /* the lowest-dimensional part that holds the point */
} abut_closest_on_triangle;

/* Finds the point of a triangle closest to `point`, with its region (7 of them). */
ABUT_API abut_status abut_triangle_closest_point(const abut_triangle *triangle, abut_vec3 point,
                                                 abut_closest_on_triangle *closest);

typedef struct abut_closest_pair {
    double distance; /* 0 where the sets meet, and then both points are one common point */
    abut_vec3 point_a, point_b;
} abut_closest_pair;

/* Finds closest points of two segments; one pair of them where there are many. Distance 0 exactly
 * when they intersect. */
ABUT_API abut_status abut_segment_segment_closest(const abut_segment *a, const abut_segment *b,
                                                  abut_closest_pair *closest);

/* Finds closest points of two triangles; distance 0 exactly when they intersect. */
ABUT_API abut_status abut_triangle_triangle_closest(const abut_triangle *a, const abut_triangle *b,
                                                    abut_closest_pair *closest);

typedef enum abut_intersection {
    ABUT_INTERSECTION_NONE = 0,
    ABUT_INTERSECTION_POINT,   /* one point; both ends of the segment are it */
    ABUT_INTERSECTION_SEGMENT, /* a segment of positive length */
    ABUT_INTERSECTION_COPLANAR /* an area; the segment is the longest extent found in it */
} abut_intersection;

ABUT_API const char *abut_intersection_name(abut_intersection meeting);

/* Tells whether two triangles intersect, and along which segment. `segment` may be null, and is
 * left alone where they do not meet. The answer is exact, the segment rounded. */
ABUT_API abut_status abut_triangle_triangle_intersect(const abut_triangle *a,
                                                      const abut_triangle *b,
                                                      abut_intersection *meeting,
                                                      abut_segment *segment);

/* Tells whether a segment and a triangle intersect (exact), and a common point: the one nearest to
 * end[0]. `point` may be null, and is left alone where they do not meet. */
ABUT_API abut_status abut_segment_triangle_intersect(const abut_segment *segment,
                                                     const abut_triangle *triangle, bool *meet,
                                                     abut_vec3 *point);

typedef struct abut_ray {
    abut_vec3 origin, direction; /* direction of any length but 0 */
} abut_ray;

typedef struct abut_ray_triangle_hit {
    double parameter; /* hit = origin + parameter direction, from 0 on */
    double barycentric[3];
} abut_ray_triangle_hit;

/* Tells whether a ray hits a triangle (exact, hence watertight: a ray through a shared edge or
 * vertex hits at least one of the triangles around it) and where first. A ray inside the
 * triangle's plane hits where it enters. `hit` may be null, and is left alone on a miss. */
ABUT_API abut_status abut_ray_triangle_intersect(const abut_ray *ray, const abut_triangle *triangle,
                                                 bool *meet, abut_ray_triangle_hit *hit);

/* Tells whether a box (lo <= hi on every axis) and a triangle intersect; exact. */
ABUT_API abut_status abut_box_triangle_intersect(const abut_box *box, const abut_triangle *triangle,
                                                 bool *meet);

/* Signed distances from a point; negative inside, with the closest surface point. */
typedef struct abut_signed_closest {
    double distance;
    abut_vec3 point;
} abut_signed_closest;

/* The half-space normal . x <= offset; the normal may have any length but 0, and offset counts in
 * that length. The plane must pass the origin within ABUT_COORDINATE_MAX. */
typedef struct abut_plane {
    abut_vec3 normal;
    double offset;
} abut_plane;

/* A ball; radius >= 0. */
typedef struct abut_sphere {
    abut_vec3 centre;
    double radius;
} abut_sphere;

/* All within `radius` (>= 0) of a segment, which may be a point. */
typedef struct abut_capsule {
    abut_vec3 end[2];
    double radius;
} abut_capsule;

/* All within `radius` (>= 0) of the axis between two different ends, which are flat. */
typedef struct abut_cylinder {
    abut_vec3 end[2];
    double radius;
} abut_cylinder;

/* A box about the origin of its pose. */
typedef struct abut_oriented_box {
    abut_vec3 half; /* sizes, none of them negative */
    abut_pose pose;
} abut_oriented_box;

ABUT_API abut_status abut_plane_closest_point(const abut_plane *plane, abut_vec3 point,
                                              abut_signed_closest *closest);
/* At the centre the surface point is the one in +x. */
ABUT_API abut_status abut_sphere_closest_point(const abut_sphere *sphere, abut_vec3 point,
                                               abut_signed_closest *closest);
/* On the axis the surface point is one beside it. */
ABUT_API abut_status abut_capsule_closest_point(const abut_capsule *capsule, abut_vec3 point,
                                                abut_signed_closest *closest);
/* lo <= hi on every axis. Inside, the surface point is on the nearest face. */
ABUT_API abut_status abut_box_closest_point(const abut_box *box, abut_vec3 point,
                                            abut_signed_closest *closest);

/* ---- poses ---- */

/* Makes the pose of a matrix of three rows of four numbers, row after row: the rotation and, last
 * in each row, the translation. A matrix of four rows begins with the same twelve. Refused: rows of
 * the rotation that are not unit and perpendicular within 1e-5, which leaves room for matrices of
 * floats (their scale belongs into abut_mesh_transform), and mirrors. Entries of the
 * rotation are off by at most four times what those of the matrix are, and 8e-16. */
ABUT_API abut_status abut_pose_from_matrix(const double matrix[12], abut_pose *pose);
/* The same for `count` matrices, `stride` numbers from one to the next, at least 12. With a stride
 * of 16 matrices have four rows, and the last must be 0 0 0 1 within 1e-9. Returns
 * ABUT_ERROR_ARGUMENT before anything is written if a matrix is refused; the message names the
 * first. `poses` may not overlap `matrices`. Thread-safe. */
ABUT_API abut_status abut_pose_from_matrices(const double *matrices, size_t stride, size_t count,
                                             abut_pose *poses);
/* The other way, within 2e-15. */
ABUT_API abut_status abut_pose_to_matrix(const abut_pose *pose, double matrix[12]);
/* Makes the rotation by `angle` radians about an axis through the origin, of any length but 0,
 * counterclockwise for who looks against it, and then the translation; within 8e-16. */
ABUT_API abut_status abut_pose_from_axis_angle(abut_vec3 axis, double angle, abut_vec3 translation,
                                               abut_pose *pose);
/* Makes the pose that moves first by `inner`, then by `outer`: that of a part in the world from the
 * part in its body (inner) and the body in the world (outer). The result may be one of them. */
ABUT_API abut_status abut_pose_compose(const abut_pose *outer, const abut_pose *inner,
                                       abut_pose *composed);
/* Makes the pose that moves back. Moving there and back ends within 2e-15 of the largest coordinate
 * on the way, as does composing against moving twice. */
ABUT_API abut_status abut_pose_invert(const abut_pose *pose, abut_pose *inverse);
/* Moves a point, rounded as abut_mesh_transform() and all questions about posed meshes do. */
ABUT_API abut_status abut_pose_apply(const abut_pose *pose, abut_vec3 point, abut_vec3 *moved);

/* From one pose to the other at constant speed, at times 0 to 1: the origin of the body's
 * coordinates along a straight line, with a rotation about a fixed axis the short way round. */
typedef struct abut_path {
    abut_pose from, to;
} abut_path;

/* Gives the pose at a time from 0 to 1. */
ABUT_API abut_status abut_path_at(const abut_path *path, double time, abut_pose *pose);

/* ---- angles and orientations ---- */

/* Gives the signed solid angle of a triangle seen from `point`, from -2 pi to 2 pi, positive where
 * the point lies behind the face (inside, for outward triangles: the angles of a closed mesh sum
 * to 4 pi inside and 0 outside). In the triangle's own plane, so on the triangle too, and for
 * degenerate ones, 0; the sign is exact (Van Oosterom & Strackee 1983). */
ABUT_API abut_status abut_triangle_solid_angle(const abut_triangle *triangle, abut_vec3 point,
                                               double *angle);

/* Exact sign of the volume spanned by b-a, c-a, d-a: +1, 0 or -1. */
ABUT_API abut_status abut_orient3d(abut_vec3 a, abut_vec3 b, abut_vec3 c, abut_vec3 d, int *sign);

#ifdef __cplusplus
}
#endif

#endif
