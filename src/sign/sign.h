/* What inside and outside need beyond a hierarchy; see sign.c. */
#ifndef ABUTI_SIGN_H
#define ABUTI_SIGN_H

#include "nearest/batch.h"
#include "sign/sign_shared.h"

#include <abut/sign.h>

/* A part of a hierarchy on the CPU; see bvh_sign_of(). */
struct bvh_sign {
    bvh_attachment part;
    abut_bvh *bvh;
    abut_sign_method method; /* never AUTO */
    bool closed;             /* no border */
    bool flipped;            /* neighbours face opposite ways */
    double facing;           /* -1 where a surface with a border, or whose normals are asked, faces
                              * inwards on the whole */
    uint32_t *names;         /* the lowest vertex in the place of each, where the surface is closed
                              * only if those count as one; else null */
    /* one a node; null where closed for good, and of a hierarchy on a device until it is wanted */
    _Atomic(bvh_far_node *) far;
    /* Of pseudo-normals only. */
    abut_topology *topology;
    vec3 *faces;    /* unit, or zero */
    vec3 *vertices; /* sums of the normals around, each times its angle */
    double *angles; /* around each vertex, in all */
};

extern const bvh_attachment_kind abuti_sign_kind;

/* What signs by a method are worth on a surface: see abut_sign_info. */
abut_reliability abuti_sign_promise(abut_sign_method method, bool closed, bool flipped);

/* What abut_sign_prepare() has made, or null. */
static inline const struct bvh_sign *bvh_sign_of(const abut_bvh *bvh) {
    return (const struct bvh_sign *)(const void *)
        abuti_bvh_find_attachment(&(bvh->base ? bvh->base : bvh)->parts, &abuti_sign_kind);
}

/* ---- signed.c ---- */

/* How far from the surface fast winding numbers are right at least: solid angles in doubles lose
 * their digits with the square of the distance. */
static inline double sign_near(const abut_bvh *bvh) {
    return 0x1p-20 * v3_max_abs(v3_sub(bvh->mesh->bounds.hi, bvh->mesh->bounds.lo));
}

/* Whether a point is inside a surface with a border, by its fast winding number: where that is too
 * near to 1/2, or the surface too near, by strips, unless there are too many. Depends on no
 * hierarchy then. */
bool abuti_sign_open_inside(const abut_bvh *bvh, const bvh_solid *solid, double fast,
                            abut_vec3 point, double distance);

/* Sets the sign of a distance that was found for a point: what completes answers of batches.
 * `known` is what is kept from one point to the next, or null: a ball that holds no surface, and
 * whether it is inside. abuti_sign_far() has been called. */
void abuti_sign_set(const abut_bvh *bvh, vec3 point, nearest_ball *known, abut_nearest *nearest);

/* ---- device_sign.c: on a device; all has been checked but whether it can, and points of a buffer
 * ---- */

/* Whether it can. */
abut_status abuti_sign_check_there(const char *function, const bvh_on_device *there,
                                   const struct bvh_sign *from);
abut_status abuti_sign_inside_there(const char *function, bvh_on_device *there,
                                    const bvh_points *points, abut_array inside);
abut_status abuti_sign_winding_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, abut_array winding);
abut_status abuti_sign_nearest_there(const char *function, bvh_on_device *there,
                                     const bvh_points *points, double radius, abut_array nearest);
/* Signs have been prepared anew. */
void abuti_sign_there_forget(bvh_on_device *there);

/* ---- crossing.c: inside and outside, exactly ---- */

/* How often a mesh without border (every directed edge is balanced by opposite ones) winds around a
 * point: 0 outside, 1 inside a solid that faces outwards, and so on; or that the point is on its
 * surface, where the number is given as 0. Exact. With a pose, which must be finite and leave the
 * vertices within ABUT_COORDINATE_MAX, the mesh is meant that abut_mesh_transform() makes of it. A
 * mesh with a border gets an answer that depends on a direction of our choice; whether the point is
 * on the surface is exact there too. */
void abuti_sign_crossing(const abut_bvh *bvh, const abut_pose *pose_or_null, abut_vec3 point,
                         int64_t *winding, bool *on_surface);
/* Whether a point is on the surface; exact for any mesh. */
bool abuti_sign_touches(const abut_bvh *bvh, abut_vec3 point);

/* The generalised winding number of the parts of a mesh that are no sheets around a point: the
 * solid angle of their triangles over 4 pi, within a rounding error for each edge of their border;
 * without border exact. Outside the box of the mesh 0 is given. On one of these parts it says so,
 * and the number means nothing. A null pose means none. */
double abuti_sign_crossing_solids(const abut_bvh *bvh, const bvh_interior *interior,
                                  const abut_pose *pose_or_null, abut_vec3 point, bool *on_surface);

/* The generalised winding number of a mesh with a border, given as directed edges, where it is,
 * anywhere and with the rounding of strips_shared.h, which is the same on devices. */
double abuti_sign_strips(const abut_bvh *bvh, abut_vec3 point, const uint32_t (*border)[2],
                         uint32_t border_count);

/* ---- winding.c: winding numbers of any surface ---- */

/* Makes what these need of a surface with a border, if it is not there. Thread-safe. */
abut_status abuti_sign_far(const abut_bvh *bvh);

void abuti_sign_winding_fit(const abut_bvh *bvh, bvh_far_node *far);
double abuti_sign_winding(const abut_bvh *bvh, const bvh_far_node *far, vec3 point);
struct half_angles;
/* Adds the triangles of a leaf, given as child of its node; `at` is the point in the frame. */
void abuti_sign_add_leaf(struct half_angles *sum, const abut_bvh *bvh, const bvh_node *node,
                         uint32_t slot, bool apart, vec3 point, const float at[3]);

/* winding_lanes.c: the same for points next to each other, with other rounding: take
 * ABUTI_BY_LANES(abuti_sign_windings). */
typedef void sign_windings(const abut_bvh *bvh, const bvh_far_node *far, const vec3 *points,
                           uint32_t count, double *windings);
sign_windings abuti_sign_windings_4, abuti_sign_windings_8, abuti_sign_windings_16;

/* ---- normals.c: signs by pseudo-normals ---- */

/* Fits faces, vertices and angles to the mesh of the hierarchy. */
void abuti_sign_normals_fit(const abut_bvh *bvh, struct bvh_sign *sign);
/* The normal of a triangle's feature, not of unit length, and the sum of the weights in it. */
vec3 abuti_sign_feature_normal(const struct bvh_sign *sign, uint32_t triangle, abut_feature feature,
                               double *weight);
/* 1 outside, -1 inside, 0 where rounding does not allow to tell. */
int abuti_sign_normals_side(const struct bvh_sign *sign, vec3 point, const abut_nearest *nearest);

#endif
