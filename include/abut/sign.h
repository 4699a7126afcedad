/* Inside and outside of a mesh: containment, winding numbers, signed distances.
 *
 * On surfaces without border answers are exact, also where the surface cuts itself. On others they
 * come from generalised winding numbers (Barill et al. 2018), which are approximate and depend on
 * the hierarchy: those of two hierarchies of one mesh (one built on the CPU and one on a device, or
 * one built and one refitted) differ by less than 0.02. So inside and signs may differ there, at
 * points whose winding number is within 0.01 of a half. One hierarchy always gives the same answer.
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

/* How to tell inside from outside. A surface has no border where every edge is run along as often
 * one way as the other, vertices of equal coordinates counted as one. Points have a sign on every
 * surface, by winding numbers also on a sheet (ABUT_SHEET_HOLE_FRACTION); bodies, as <abut/pair.h>
 * compares them, are never inside a sheet. */
typedef enum abut_sign_method {
    ABUT_SIGN_AUTO = 0, /* our choice: winding numbers */
    ABUT_SIGN_WINDING,  /* without border: inside where the winding number is not 0, exactly, also
                         * where the surface cuts itself or faces inwards. With a border: inside
                         * where the generalised winding number is at least a half; see
                         * abut_sign_winding() */
    ABUT_SIGN_NORMAL    /* by the pseudo-normal of the nearest feature: for surfaces without border
                         * of two faces an edge, whose parts all face outwards (walls of cavities
                         * inwards), or all the other way round, and which do not touch or cut
                         * themselves. The same answers there; faster next to the surface */
} abut_sign_method;

ABUT_API const char *abut_sign_method_name(abut_sign_method method);

/* Tells what a method promises on a mesh, and why; AUTO as winding numbers. Thread-safe. */
ABUT_API abut_reliability abut_sign_reliability(const abut_mesh_report *report,
                                                abut_sign_method method);

typedef struct abut_sign_options {
    size_t size;
    abut_sign_method method;
} abut_sign_options;

ABUT_DEFAULT(abut_sign_options)

/* Makes a hierarchy ready for the questions below; to be called once. Takes no memory to speak of
 * for surfaces without border, some 40 bytes a triangle for others, and 110 for pseudo-normals; see
 * abut_sign_get_info(). A refit keeps it up to date. Called again, replaces what was; on failure
 * that stays. `options` may be null. Of one on a device the CPU gets its copy here where
 * pseudo-normals are asked for; and where there is a border with the first question that needs
 * winding numbers, which then takes the memory and may fail for want of it or by the device. Not
 * thread-safe: no one may ask the hierarchy meanwhile. */
ABUT_API abut_status abut_sign_prepare(abut_bvh *bvh, const abut_sign_options *options);

typedef struct abut_sign_info {
    size_t size;                  /* sizeof(abut_sign_info), set by the default function */
    abut_sign_method method;      /* AUTO = not prepared */
    bool is_closed;               /* the surface has no border */
    uint64_t bytes;               /* beyond the hierarchy */
    abut_reliability reliability; /* what answers about inside, windings and signs are worth:
                                   * guaranteed without border, however the surface cuts itself or
                                   * faces; limited with holes; unreliable where neighbours face
                                   * opposite ways. Its reason is null where nothing was prepared */
} abut_sign_info;

ABUT_DEFAULT(abut_sign_info)

/* Gets what abut_sign_prepare() prepared. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_sign_get_info(const abut_bvh *bvh, abut_sign_info *info);

/* Tells whether a point is inside. On the surface counts as inside, exactly. A surface with a
 * border that faces inwards on the whole (whose volume about its own centre is negative) is taken
 * as if it faced outwards. Pseudo-normals play no part. Takes no memory, but for
 * the first one of a hierarchy on a device (see above). Thread-safe. */
ABUT_API abut_status abut_sign_inside(const abut_bvh *bvh, abut_vec3 point, bool *inside);
/* The same for many points on all threads, to an array of bool. Refused before anything is written:
 * a point that is not legal. On a device a surface with a border needs one that rounds floats as
 * the CPU does, else ABUT_ERROR_DEVICE. Reports progress as stage "inside"; if that cancels, part
 * has been written. Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_sign_inside_batch(const abut_bvh *bvh, const abut_points *points,
                                            abut_array inside);

/* Gives the winding number of the surface around a point: 1 inside a solid that faces outwards, -1
 * inside one that faces inwards, 2 inside two. Without border it is whole and exact; on the surface
 * itself, where there is none, 0.5 stands for it. With a border it is the generalised one (the
 * solid angle of all triangles over 4 pi), with an error below 0.01 that depends on the hierarchy.
 * Thread-safe. */
ABUT_API abut_status abut_sign_winding(const abut_bvh *bvh, abut_vec3 point, double *winding);
/* The same for many points, as abut_sign_inside_batch(), to an array of double; stage "winding".
 * Thread-safe; on a device one batch at a time. */
ABUT_API abut_status abut_sign_winding_batch(const abut_bvh *bvh, const abut_points *points,
                                             abut_array winding);

/* abut_nearest_point() with a distance that is negative inside. 0 has no sign, nor has infinity
 * where nothing is within the radius. Without border the sign is exact by winding numbers; by
 * pseudo-normals it is left to winding numbers wherever rounding could show, that is next to the
 * surface, and where normals cancel. Takes memory as abut_sign_inside(). Thread-safe. */
ABUT_API abut_status abut_sign_nearest(const abut_bvh *bvh, abut_vec3 point, double radius,
                                       abut_nearest *nearest);
/* The same for many points, as abut_nearest_point_batch(). Thread-safe; on a device one batch at a
 * time.
 */
ABUT_API abut_status abut_sign_nearest_batch(const abut_bvh *bvh, const abut_points *points,
                                             double radius, abut_array nearest);

#ifdef __cplusplus
}
#endif

#endif
