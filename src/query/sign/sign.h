/* Data for queries about inside and outside; see sign.c. */
#ifndef ABUTI_SIGN_H
#define ABUTI_SIGN_H

#include "nearest/batch.h"
#include "sign/boundary_shared.h"
#include "sign/sign_shared.h"

#include <abut/sign.h>

/* The tree over the boundary of a surface; see boundary_shared.h. */
typedef struct boundary_tree {
    boundary_node *nodes;
    vec3 *vertices;
    uint32_t node_count, vertex_count;
} boundary_tree;

/* An attachment of a BVH on the CPU; see bvh_sign_of(). */
struct bvh_sign {
    bvh_attachment attachment;
    abut_bvh *bvh;
    abut_sign_method method; /* never AUTO */
    bool closed;             /* no boundary */
    bool flipped;            /* neighbours face opposite ways */
    double
        facing; /* -1 if a surface with a boundary, or one with normals, faces inwards as a whole */
    uint32_t *names; /* the lowest vertex with equal coordinates, if the surface is closed only
                        after merging; otherwise null */
    /* one per node; null if always closed, and for a BVH on a device until the first use */
    _Atomic(bvh_far_node *) far;
    _Atomic(boundary_tree *) boundary; /* null until abuti_sign_boundary() */
    /* Of pseudo-normals only. */
    abut_topology *topology;
    vec3 *faces;    /* unit, or zero */
    vec3 *vertices; /* sums of the normals around, each times its angle */
    double *angles; /* around each vertex, in total */
};

extern const bvh_attachment_kind abuti_sign_kind;

/* The reliability of signs by a method on a surface: see abut_sign_info. */
abut_reliability abuti_sign_method_reliability(abut_sign_method method, bool closed, bool flipped);

/* The data of abut_sign_prepare(), or null. */
static inline const struct bvh_sign *bvh_sign_of(const abut_bvh *bvh) {
    return (const struct bvh_sign *)(const void *)
        abuti_bvh_find_attachment(&(bvh->base ? bvh->base : bvh)->parts, &abuti_sign_kind);
}

/* ---- signed.c ---- */

/* The smallest distance from the surface at which fast winding numbers are accurate: solid angles
 * in doubles lose digits with the square of the distance. */
static inline double sign_near(const abut_bvh *bvh) {
    return 0x1p-20 * v3_max_abs(v3_sub(bvh->mesh->bounds.hi, bvh->mesh->bounds.lo));
}

/* Whether a point is inside a surface with a boundary, by its fast winding number, or by the
 * boundary tree if that is too near to 1/2, or the surface too near. The result does not depend on
 * the BVH then. abuti_sign_boundary() has been called. */
bool abuti_sign_open_inside(const abut_bvh *bvh, double fast, abut_vec3 point, double distance);

/* Sets the sign of a distance that was computed for a point; completes results of batches.
 * abuti_sign_far() has been called. */
void abuti_sign_set(const abut_bvh *bvh, vec3 point, abut_nearest *nearest);

/* ---- device_sign.c: on a device; arguments have been validated, except for the device and points
 * in a buffer ---- */

/* Whether the device can compute signs. */
abut_status abuti_sign_check_on_device(const char *function, const bvh_on_device *there,
                                       const struct bvh_sign *from);
/* QUEST_SIGN and so on; `radius` is that of QUEST_SIGN. */
abut_status abuti_sign_query_on_device(const char *function, bvh_on_device *there,
                                       const bvh_points *points, uint32_t what, double radius,
                                       abut_array results);
/* Invalidates the data on the device, because signs have been prepared again. */
void abuti_sign_invalidate_on_device(bvh_on_device *there);

/* ---- winding_exact.c: inside and outside, exactly ---- */

/* The winding number of a mesh without boundary (every directed edge is balanced by opposite ones)
 * around a point: 0 outside, 1 inside a solid that faces outwards, and so on; or whether the point
 * is on its surface, where the number is 0. Exact. With a pose, which must be finite and keep the
 * vertices within ABUT_COORDINATE_MAX, the mesh is that of abut_mesh_transform(). For a mesh with a
 * boundary the result depends on an arbitrary direction; whether the point is on the surface is
 * exact there too. */
void abuti_sign_crossing(const abut_bvh *bvh, const abut_pose *pose_or_null, abut_vec3 point,
                         int64_t *winding, bool *on_surface);
/* Whether a point is on the surface; exact for any mesh. */
bool abuti_sign_touches(const abut_bvh *bvh, abut_vec3 point);

/* The generalised winding number of the components of a mesh that are not sheets, around a point:
 * the solid angle of their triangles over 4 pi, within a rounding error for each of their boundary
 * edges; exact without boundary. 0 outside the box of the mesh. On one of these components
 * on_surface is set, and the number is undefined. A null pose means none. */
double abuti_sign_crossing_solids(const abut_bvh *bvh, const bvh_interior *interior,
                                  const abut_pose *pose_or_null, abut_vec3 point, bool *on_surface);

/* Whether a point is inside a surface with boundary at rest, by boundary_inside(): the winding
 * number times `facing` is at least 1/2, up to 2^-40. For points on the surface the result for one
 * side. abuti_sign_boundary() has been called. */
bool abuti_sign_boundary_inside(const abut_bvh *bvh, vec3 point);

/* ---- boundary_tree.c: the tree over the boundary ---- */

/* Creates the tree over the boundary of an open surface, if there is none. Thread-safe. */
abut_status abuti_sign_boundary(const abut_bvh *bvh);
/* The tree; abuti_sign_boundary() has been called. */
boundary_view abuti_sign_boundary_view(const abut_bvh *bvh);

/* ---- winding.c: winding numbers of any surface ---- */

/* Computes the expansions of a surface with a boundary, if there are none. Thread-safe. */
abut_status abuti_sign_far(const abut_bvh *bvh);

void abuti_sign_winding_fit(const abut_bvh *bvh, bvh_far_node *far);
double abuti_sign_winding(const abut_bvh *bvh, const bvh_far_node *far, vec3 point);

/* ---- normals.c: signs by pseudo-normals ---- */

/* Fits faces, vertices and angles to the mesh of the BVH. */
void abuti_sign_normals_fit(const abut_bvh *bvh, struct bvh_sign *sign);
/* The normal of a feature of a triangle, not of unit length, and the sum of the weights in it. */
vec3 abuti_sign_feature_normal(const struct bvh_sign *sign, uint32_t triangle, abut_feature feature,
                               double *weight);
/* 1 outside, -1 inside, 0 if rounding errors do not decide. */
int abuti_sign_normals_side(const struct bvh_sign *sign, vec3 point, const abut_nearest *nearest);

#endif
