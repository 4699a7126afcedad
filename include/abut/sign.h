/* Inside tests, winding numbers and signed distances of points to a mesh.
 *
 * In this header a surface is closed if each edge has as many triangles in one direction as in the
 * other. Vertices with equal coordinates are merged for that. Other surfaces are open.
 *
 * Method: ray crossings with exact predicates on closed surfaces; generalised winding numbers
 * (Jacobson and others 2013; Barill and others 2018) on open ones; optionally pseudo-normals
 * (Baerentzen and Aanaes 2005).
 *
 * Guarantee: results on closed surfaces are exact, also for self-intersecting ones. Winding numbers
 * of open surfaces are approximate, with an error below 0.01 (tested, not proven), and depend on
 * the tree. Those of two BVHs of one mesh differ by less than 0.02: one built on the CPU and one on
 * a device, or one built and one refitted. So inside tests and signs may differ at points whose
 * winding number is within 0.01 of one half. The same BVH always returns the same result.
 */
#ifndef ABUT_SIGN_H
#define ABUT_SIGN_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/nearest.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- inside and outside ---- */

/* How inside and outside are determined. Points have a sign on every surface, also on a sheet
 * (ABUT_SHEET_HOLE_FRACTION), by winding numbers. Bodies are never inside a sheet: <abut/pair.h>.
 */
typedef enum abut_sign_method {
    ABUT_SIGN_AUTO = 0, /* the default: winding numbers */
    ABUT_SIGN_WINDING,  /* closed surface: inside if the winding number is not 0; exact, also if the
                         * surface intersects itself or faces inwards. Open surface: inside if the
                         * generalised winding number is at least one half; see
                         * abut_sign_winding() */
    ABUT_SIGN_NORMAL    /* by the pseudo-normal of the nearest feature. For closed surfaces with two
                         * triangles per edge that do not touch or intersect themselves. All
                         * components must face outwards (walls of cavities inwards), or all the
                         * other way. Same results there, and faster near the surface */
} abut_sign_method;

/* Returns "auto", "winding" or "normal". Thread-safe. */
ABUT_API const char *abut_sign_method_name(abut_sign_method method);

/* Returns the reliability of a method on a mesh with this report. AUTO is as WINDING. Thread-safe.
 */
ABUT_API abut_reliability abut_sign_reliability(const abut_mesh_report *report,
                                                abut_sign_method method);

typedef struct abut_sign_options {
    size_t size;
    abut_sign_method method;
} abut_sign_options;

ABUT_DEFAULT(abut_sign_options)

/* Prepares a BVH for the queries below; call it once. A refit keeps the preparation up to date. A
 * second call replaces it; on failure the previous one stays. `options` may be null. Returns
 * ABUT_ERROR_ARGUMENT if ABUT_SIGN_NORMAL is requested and an edge does not have two triangles in
 * opposite directions. Reports progress as stage "signs".
 * Memory: almost none for closed surfaces, 30 to 40 bytes per triangle for open ones, 110 for
 * pseudo-normals; see abut_sign_get_info(). Surfaces that are closed only after coincident vertices
 * are merged need as much as open ones.
 * Devices: pseudo-normals download the tree here. For an open surface the first query that needs
 * winding numbers downloads the tree and allocates the memory, and may fail for either reason.
 * Not thread-safe: no other thread may use the BVH during the call. */
ABUT_API abut_status abut_sign_prepare(abut_bvh *bvh, const abut_sign_options *options);

typedef struct abut_sign_info {
    size_t size;                  /* sizeof(abut_sign_info), set by the default function */
    abut_sign_method method;      /* AUTO = not prepared */
    bool is_closed;               /* the surface is closed */
    uint64_t bytes;               /* in addition to the BVH */
    abut_reliability reliability; /* of inside tests, winding numbers and signs. Guaranteed: closed,
                                   * also if it intersects itself or faces inwards. Limited: open,
                                   * or by pseudo-normals. Unreliable: neighbours face opposite
                                   * ways. The reason is null if the BVH is not prepared */
} abut_sign_info;

ABUT_DEFAULT(abut_sign_info)

/* Stores what was prepared. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_sign_get_info(const abut_bvh *bvh, abut_sign_info *info);

/* Tests whether a point is inside, by winding numbers with any method. Points on the surface are
 * inside, exactly. An open surface that faces inwards, so that its volume about its own centre is
 * negative, counts as if it faced outwards. Returns ABUT_ERROR_ARGUMENT if the BVH is not prepared,
 * or if the point is not finite or beyond ABUT_COORDINATE_MAX. Allocates no memory, except in the
 * first query on a device: see abut_sign_prepare(). Thread-safe. */
ABUT_API abut_status abut_sign_inside(const abut_bvh *bvh, abut_vec3 point, bool *inside);
/* The same for many points on all threads: inside[i] (bool) belongs to point i. All points are
 * validated before any result is written. For an open surface on a device, returns
 * ABUT_ERROR_DEVICE if the device does not round floats as the CPU does. Reports progress as stage
 * "inside". If the callback cancels, some results have been written. Thread-safe; on a device one
 * batch at a time. */
ABUT_API abut_status abut_sign_inside_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                            abut_array inside);

/* Computes the winding number of the surface around a point: 1 inside a solid that faces outwards,
 * -1 inside one that faces inwards, 2 inside two solids. For a closed surface it is an exact
 * integer, and 0.5 for points on the surface. For an open one it is the generalised winding number
 * with an error below 0.01: the sum of the solid angles of all triangles over 4 pi. Errors are as
 * in abut_sign_inside(). Thread-safe. */
ABUT_API abut_status abut_sign_winding(const abut_bvh *bvh, abut_vec3 point, double *winding);
/* The same for many points: winding[i] (double) belongs to point i. Everything else is as in
 * abut_sign_inside_batch(), with stage "winding". Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_sign_winding_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                             abut_array winding);

/* abut_nearest_point() with a signed distance, negative inside. A distance of 0, or of infinity if
 * no triangle is within the radius, has no sign. On closed surfaces the sign is exact by winding
 * numbers. The method of pseudo-normals also uses winding numbers where rounding errors could
 * change the sign (near the surface) and where normals cancel. Errors and memory are as in
 * abut_sign_inside(). Thread-safe. */
ABUT_API abut_status abut_sign_nearest(const abut_bvh *bvh, abut_vec3 point, double radius,
                                       abut_nearest *nearest);
/* The same for many points, as abut_nearest_point_batch(). Thread-safe; on a device one batch at a
 * time. */
ABUT_API abut_status abut_sign_nearest_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                             double radius, abut_array nearest);

#ifdef __cplusplus
}
#endif

#endif
