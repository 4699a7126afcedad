/* Bounding volume hierarchy of a mesh, and the questions that it answers: nearest point, rays,
 * triangles in a box, inside and outside.
 *
 * Answers are those of a search through all triangles with the functions of <abut/geom.h>, only
 * faster: yes and no are exact, distances are accurate as there, and where several triangles are
 * equally near the one of lowest index is given. They depend neither on the number of threads nor
 * on the processor. Points, rays and boxes are in absolute coordinates, as the mesh came in.
 *
 * Queries only read, so any number of threads may ask the same hierarchy at once.
 */
#ifndef ABUT_BVH_H
#define ABUT_BVH_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_bvh abut_bvh;

typedef struct abut_bvh_options {
    size_t size;
    abut_device
        *device; /* where it is built; null = the CPU. Queries run on the CPU all the same */
} abut_bvh_options;

static inline abut_bvh_options abut_bvh_options_default(void) {
    abut_bvh_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Builds the hierarchy of a mesh, which it keeps: O(n log n) for any input, at most 40 bytes a
 * triangle when done. `options` may be null. Built on a device, the tree is another one of about
 * the same quality, the same on every device, and all answers are the same; where the device fails,
 * ABUT_ERROR_DEVICE, and the CPU is still there to be asked. Uses the context of the mesh; reports
 * progress as stage "bvh". Thread-safe. */
ABUT_API abut_status abut_bvh_create(abut_mesh *mesh, const abut_bvh_options *options,
                                     abut_bvh **bvh);
/* Null is allowed. Thread-safe when no one else uses the hierarchy. */
ABUT_API void abut_bvh_destroy(abut_bvh *bvh);

/* Follows moved vertices: takes a mesh with the same triangles (same indices) and new positions,
 * and fits all boxes to it, in about a tenth of the time of a build. Answers are as exact as
 * after a build; speed suffers when triangles that were together move apart: see abut_bvh_info.
 * On failure the hierarchy is as before. Not thread-safe: no one may ask it meanwhile. */
ABUT_API abut_status abut_bvh_refit(abut_bvh *bvh, abut_mesh *mesh);

typedef struct abut_bvh_info {
    uint32_t triangle_count;
    uint32_t node_count, depth; /* nodes of four children; nodes from the root to the deepest */
    uint64_t bytes;             /* beyond the mesh */
    double cost;       /* expected work of a random ray, in visits (surface area heuristic):
                        * the sum of the areas of all boxes over that of the root */
    double built_cost; /* as it was after the build */
    bool rebuild;      /* cost has grown by more than half: building anew will pay */
} abut_bvh_info;

/* Tells size and quality. Null gives zeros. Thread-safe. */
ABUT_API abut_bvh_info abut_bvh_info_get(const abut_bvh *bvh);

/* The mesh that answers are about; null for null. It lives as long as the hierarchy keeps it.
 * Thread-safe. */
ABUT_API abut_mesh *abut_bvh_mesh(const abut_bvh *bvh);

/* ---- nearest point ---- */

typedef struct abut_nearest {
    double distance; /* infinity where nothing is within the radius */
    abut_vec3 point; /* absolute; the query itself where nothing is found */
    double barycentric[3];
    uint32_t triangle;    /* ABUT_NONE where nothing is found */
    abut_feature feature; /* of the triangle */
} abut_nearest;

/* Finds the nearest point of the mesh at a distance of at most `radius`, which may be infinite
 * (HUGE_VAL) but not negative or NaN. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_bvh_nearest(const abut_bvh *bvh, abut_vec3 point, double radius,
                                      abut_nearest *nearest);

/* Points in the caller's memory. */
typedef struct abut_points {
    size_t size;
    const void *points; /* three scalars each; any alignment */
    abut_scalar_type type;
    size_t stride; /* bytes from point to point; 0 = packed */
    size_t count;
} abut_points;

static inline abut_points abut_points_default(void) {
    abut_points points;
    memset(&points, 0, sizeof points);
    points.size = sizeof points;
    return points;
}

/* The same for many points, on all threads: nearest[i] belongs to point i. Faster than one
 * after the other, in whatever order they are: they are sorted by place first. `nearest` has room
 * for points->count; no points are fine. Refused before anything is written: a point that is not
 * finite or beyond ABUT_COORDINATE_MAX. Reports progress as stage "nearest"; if that cancels, part
 * of `nearest` has been written. Thread-safe. */
ABUT_API abut_status abut_bvh_nearest_batch(const abut_bvh *bvh, const abut_points *points,
                                            double radius, abut_nearest *nearest);

/* ---- several nearest ---- */

/* Finds the triangles nearest to a point, at most `most` of them, and only at a distance of at most
 * `radius`: sorted by distance, then by index. `nearest` has room for `most`; `count` gets how many
 * there are. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_bvh_nearest_many(const abut_bvh *bvh, abut_vec3 point, double radius,
                                           uint32_t most, abut_nearest *nearest, uint32_t *count);
/* The same for many points on all threads: those of point i begin at nearest[i x most], and
 * counts[i] tells how many they are; what is left of its places stays as it was. Refused before
 * anything is written: a point that is not legal. Reports progress as stage "nearest"; if that
 * cancels, part has been written. Thread-safe. */
ABUT_API abut_status abut_bvh_nearest_many_batch(const abut_bvh *bvh, const abut_points *points,
                                                 double radius, uint32_t most,
                                                 abut_nearest *nearest, uint32_t *counts);
/* Finds all triangles at a distance of at most `radius`, sorted as above. Writes them if there are
 * at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in either case.
 * `nearest` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_bvh_within(const abut_bvh *bvh, abut_vec3 point, double radius,
                                     uint32_t capacity, abut_nearest *nearest, uint32_t *count);

/* The same for many points on all threads: those of point i are nearest[offsets[i]] up to but not
 * including nearest[offsets[i + 1]]. `offsets` has room for points->count + 1. Fails with
 * ABUT_ERROR_BUFFER where there are more than `capacity`, and `nearest` stays as it was; `offsets`
 * is written in either case, and its last is how many there are. `nearest` may be null with a
 * capacity of 0. Refused before anything is written: a point that is not legal. Reports progress as
 * stage "nearest"; if that cancels, part has been written. Thread-safe. */
ABUT_API abut_status abut_bvh_within_batch(const abut_bvh *bvh, const abut_points *points,
                                           double radius, uint64_t capacity, uint64_t *offsets,
                                           abut_nearest *nearest);

/* ---- inside and outside ---- */

/* How to tell inside from outside. A surface has no border where every edge is run along as often
 * one way as the other, vertices of equal coordinates counted as one. */
typedef enum abut_sign_method {
    ABUT_SIGN_AUTO = 0, /* our choice: winding numbers */
    ABUT_SIGN_WINDING,  /* without border: inside where the winding number is not 0, exactly, also
                         * where the surface cuts itself or faces inwards. With a border: inside
                         * where the generalised winding number is at least a half; see
                         * abut_bvh_winding() */
    ABUT_SIGN_NORMAL    /* by the pseudo-normal of the nearest feature: for surfaces without border
                         * of two faces an edge, whose parts all face outwards (walls of cavities
                         * inwards), or all the other way round, and which do not touch or cut
                         * themselves. The same answers there; faster next to the surface */
} abut_sign_method;

typedef struct abut_sign_options {
    size_t size;
    abut_sign_method method;
} abut_sign_options;

static inline abut_sign_options abut_sign_options_default(void) {
    abut_sign_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Makes a hierarchy ready for the questions below; to be called once. Takes no memory to speak of
 * for surfaces without border, some 40 bytes a triangle for others, and 110 for pseudo-normals; see
 * abut_bvh_sign_info(). A refit keeps it up to date. Called again, replaces what was; on failure
 * that stays. `options` may be null. Not thread-safe: no one may ask the hierarchy meanwhile. */
ABUT_API abut_status abut_bvh_prepare_sign(abut_bvh *bvh, const abut_sign_options *options);

typedef struct abut_sign_info {
    abut_sign_method method; /* AUTO = not prepared */
    bool closed;             /* the surface has no border */
    uint64_t bytes;          /* beyond the hierarchy */
} abut_sign_info;

/* Tells what was prepared. Null gives zeros. Thread-safe. */
ABUT_API abut_sign_info abut_bvh_sign_info(const abut_bvh *bvh);

/* Tells whether a point is inside. On the surface counts as inside, exactly. A surface with a
 * border that faces inwards on the whole (whose volume about its own centre is negative) is taken
 * as if it faced outwards. Pseudo-normals play no part. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_bvh_inside(const abut_bvh *bvh, abut_vec3 point, bool *inside);
/* The same for many points on all threads. Refused before anything is written: a point that is not
 * legal. Reports progress as stage "inside"; if that cancels, part has been written. Thread-safe.
 */
ABUT_API abut_status abut_bvh_inside_batch(const abut_bvh *bvh, const abut_points *points,
                                           bool *inside);

/* Gives the winding number of the surface around a point: 1 inside a solid that faces outwards, -1
 * inside one that faces inwards, 2 inside two. Without border it is whole and exact; on the surface
 * itself, where there is none, 0.5 stands for it. With a border it is the generalised one (the
 * solid angle of all triangles over 4 pi), with an error below 0.01. Thread-safe. */
ABUT_API abut_status abut_bvh_winding(const abut_bvh *bvh, abut_vec3 point, double *winding);
/* The same for many points, as abut_bvh_inside_batch(); stage "winding". Thread-safe. */
ABUT_API abut_status abut_bvh_winding_batch(const abut_bvh *bvh, const abut_points *points,
                                            double *winding);

/* abut_bvh_nearest() with a distance that is negative inside. 0 has no sign, nor has infinity where
 * nothing is within the radius. Without border the sign is exact by winding numbers; by
 * pseudo-normals it is left to winding numbers wherever rounding could show, that is next to the
 * surface, and where normals cancel. Takes no memory. Thread-safe. */
ABUT_API abut_status abut_bvh_nearest_signed(const abut_bvh *bvh, abut_vec3 point, double radius,
                                             abut_nearest *nearest);
/* The same for many points, as abut_bvh_nearest_batch(). Thread-safe. */
ABUT_API abut_status abut_bvh_nearest_signed_batch(const abut_bvh *bvh, const abut_points *points,
                                                   double radius, abut_nearest *nearest);

/* ---- rays ---- */

typedef struct abut_bvh_hit {
    double parameter; /* hit = origin + parameter direction; infinity on a miss */
    double barycentric[3];
    uint32_t triangle; /* ABUT_NONE on a miss */
} abut_bvh_hit;

/* Finds the first triangle that a ray hits at a parameter of at most `most` (not negative or NaN;
 * HUGE_VAL = no limit). Whether a triangle is hit is exact, so nothing slips between neighbours.
 * Takes no memory. Thread-safe. */
ABUT_API abut_status abut_bvh_ray_first(const abut_bvh *bvh, const abut_ray *ray, double most,
                                        abut_bvh_hit *hit);
/* Tells whether a ray hits anything at a parameter of at most `most`. Thread-safe. */
ABUT_API abut_status abut_bvh_ray_any(const abut_bvh *bvh, const abut_ray *ray, double most,
                                      bool *any);
/* Finds all triangles that a ray hits, sorted by parameter, then by index. Writes them if there are
 * at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in either case.
 * `hits` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_bvh_ray_all(const abut_bvh *bvh, const abut_ray *ray, uint32_t capacity,
                                      abut_bvh_hit *hits, uint32_t *count);
/* abut_bvh_ray_first for `count` rays on all threads; hits[i] belongs to rays[i]. Refused before
 * anything is written: a ray that is not legal. Reports progress as stage "rays"; if that cancels,
 * part of `hits` has been written. Thread-safe. */
ABUT_API abut_status abut_bvh_ray_batch(const abut_bvh *bvh, const abut_ray *rays, size_t count,
                                        double most, abut_bvh_hit *hits);

/* abut_bvh_ray_all for `count` rays on all threads: the hits of rays[i] are hits[offsets[i]] up to
 * but not including hits[offsets[i + 1]]. `offsets` has room for count + 1. Fails with
 * ABUT_ERROR_BUFFER where there are more than `capacity`, and `hits` stays as it was; `offsets` is
 * written in either case, and its last is how many there are. `hits` may be null with a capacity of
 * 0. Refused before anything is written: a ray that is not legal. Reports progress as stage "rays";
 * if that cancels, part has been written. Thread-safe. */
ABUT_API abut_status abut_bvh_ray_all_batch(const abut_bvh *bvh, const abut_ray *rays, size_t count,
                                            uint64_t capacity, uint64_t *offsets,
                                            abut_bvh_hit *hits);

/* ---- boxes ---- */

/* Finds all triangles that meet a box (lo <= hi on every axis), exactly; ascending. Writes them if
 * there are at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in
 * either case. `triangles` may be null with a capacity of 0. Thread-safe. */
ABUT_API abut_status abut_bvh_box(const abut_bvh *bvh, const abut_box *box, uint32_t capacity,
                                  uint32_t *triangles, uint32_t *count);

/* The same for many boxes on all threads, with offsets and errors as those of
 * abut_bvh_ray_all_batch(): the triangles of boxes[i] begin at triangles[offsets[i]]. Reports
 * progress as stage "boxes". Thread-safe. */
ABUT_API abut_status abut_bvh_box_batch(const abut_bvh *bvh, const abut_box *boxes, size_t count,
                                        uint64_t capacity, uint64_t *offsets, uint32_t *triangles);

/* ---- a mesh against itself ---- */

/* Two triangles of one mesh that meet although they need not:
 *   without a common vertex   any common point;
 *   with one common vertex    common points other than it;
 *   with a common edge        common points beyond it: folded onto each other in one plane;
 *   with the same vertices    always.
 * Vertices are the same where their positions are equal, whatever their indices, so that seams of
 * an unwelded mesh are no intersections. Triangles that are only a segment or a point count as
 * what they are by the same rules; one that is an edge or a corner of its neighbour does not meet
 * it. */
typedef struct abut_self_pair {
    uint32_t triangle[2]; /* lower, higher */
    abut_meeting meeting; /* and segment, as abut_triangle_triangle_meet gives them */
    abut_segment segment;
} abut_self_pair;

/* The limit of 0: more than any sound mesh needs, and some seconds on a hostile one. */
#define ABUT_SELF_LIMIT(triangle_count) ((UINT64_C(1) << 26) + 256 * (uint64_t)(triangle_count))

typedef struct abut_self_options {
    size_t size;
    bool by_index;  /* vertices are the same by index only: a seam then meets its other side */
    uint64_t limit; /* pairs of triangles with overlapping boxes to look at before giving up;
                     * 0 = ABUT_SELF_LIMIT(triangle_count), UINT64_MAX = no end */
} abut_self_options;

static inline abut_self_options abut_self_options_default(void) {
    abut_self_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Finds all pairs, exactly, on all threads; sorted by lower, then by higher triangle. Writes them
 * if there are at most `capacity`, else fails with ABUT_ERROR_BUFFER; `count` gets their number in
 * either case. Where there is more to look at than options->limit allows, fails with
 * ABUT_ERROR_LIMIT, and `count` gets the number of pairs found by then, the same on any number of
 * threads. `options` may be null, and `pairs` with a capacity of 0. Takes some 50 bytes a triangle
 * and 16 a pair meanwhile. Reports progress as stage "self". Thread-safe. */
ABUT_API abut_status abut_bvh_self_all(const abut_bvh *bvh, const abut_self_options *options,
                                       uint64_t capacity, abut_self_pair *pairs, uint64_t *count);
/* Tells whether there is any such pair; ends at the first. Thread-safe. */
ABUT_API abut_status abut_bvh_self_any(const abut_bvh *bvh, const abut_self_options *options,
                                       bool *any);
/* Completes the report of abut_mesh_examine on the mesh of the hierarchy: counts the triangles that
 * meet others, and says for each method what follows. `options` as above, `report` as it was on
 * failure. Thread-safe. */
ABUT_API abut_status abut_bvh_examine(const abut_bvh *bvh, const abut_self_options *options,
                                      abut_mesh_report *report);

/* ---- on a device ---- */

/* A hierarchy on a device, with a queue and scratch memory of its own: for one user at a time. */
typedef struct abut_device_bvh abut_device_bvh;

/* Copies a hierarchy to a device. Neither the hierarchy nor the caller's hold on the device is
 * needed any longer. Fails with ABUT_ERROR_DEVICE where the device does. Thread-safe. */
ABUT_API abut_status abut_device_bvh_create(const abut_bvh *bvh, abut_device *device,
                                            abut_device_bvh **device_bvh);
/* Builds the hierarchy of a mesh on the device itself. Quality and answers are those of the CPU's
 * build; see docs/bvh.md for speed. Thread-safe. */
ABUT_API abut_status abut_device_bvh_build(abut_mesh *mesh, abut_device *device,
                                           abut_device_bvh **device_bvh);
/* Follows moved vertices, as abut_bvh_refit() does. Refused for a copy of the CPU's hierarchy:
 * refit that and copy it again. If the device fails half-way, only destroying is allowed. */
ABUT_API abut_status abut_device_bvh_refit(abut_device_bvh *device_bvh, abut_mesh *mesh);
/* Null is allowed. */
ABUT_API void abut_device_bvh_destroy(abut_device_bvh *device_bvh);

/* abut_bvh_nearest_batch() on the device, with the same answers bit for bit. If the device fails
 * half-way, part of `nearest` has been written, and the CPU's still works. */
ABUT_API abut_status abut_device_bvh_nearest(abut_device_bvh *device_bvh, const abut_points *points,
                                             double radius, abut_nearest *nearest);
/* The same for points that are on the device: three scalars each, close together, `count` of them.
 * `nearest` has room for as many abut_nearest, and gets them as the CPU would write them. Fails
 * with ABUT_ERROR_DEVICE on a device without doubles. */
ABUT_API abut_status abut_device_bvh_nearest_buffer(abut_device_bvh *device_bvh,
                                                    const abut_buffer *points,
                                                    abut_scalar_type type, size_t count,
                                                    double radius, abut_buffer *nearest);

/* abut_bvh_ray_batch() on the device, with the same answers. Needs doubles: fails with
 * ABUT_ERROR_DEVICE on a device that has none. If the device fails half-way, part of `hits` has
 * been written, and the CPU's still works. */
ABUT_API abut_status abut_device_bvh_ray_first(abut_device_bvh *device_bvh, const abut_ray *rays,
                                               size_t count, double most, abut_bvh_hit *hits);
/* The same for rays that are on the device: `count` of abut_ray to as many abut_bvh_hit, both close
 * together. */
ABUT_API abut_status abut_device_bvh_ray_first_buffer(abut_device_bvh *device_bvh,
                                                      const abut_buffer *rays, size_t count,
                                                      double most, abut_buffer *hits);
/* abut_bvh_ray_any() for many rays on the device, as above: any[i] belongs to rays[i]. */
ABUT_API abut_status abut_device_bvh_ray_any(abut_device_bvh *device_bvh, const abut_ray *rays,
                                             size_t count, double most, bool *any);

/* abut_bvh_inside_batch(), abut_bvh_winding_batch() and abut_bvh_nearest_signed_batch() on the
 * device, with the same answers bit for bit. For copies of a hierarchy that was prepared by
 * abut_bvh_prepare_sign() before. Fail with ABUT_ERROR_DEVICE on a device without doubles, and for
 * a surface with a border on one that does not round floats as the CPU does. If the device fails
 * half-way, part of the answers has been written, and the CPU's still work. */
ABUT_API abut_status abut_device_bvh_inside(abut_device_bvh *device_bvh, const abut_points *points,
                                            bool *inside);
ABUT_API abut_status abut_device_bvh_winding(abut_device_bvh *device_bvh, const abut_points *points,
                                             double *winding);
ABUT_API abut_status abut_device_bvh_nearest_signed(abut_device_bvh *device_bvh,
                                                    const abut_points *points, double radius,
                                                    abut_nearest *nearest);

/* abut_bvh_nearest_many_batch(), abut_bvh_within_batch(), abut_bvh_ray_all_batch() and
 * abut_bvh_box_batch() on the device, with the same answers bit for bit. Fail with
 * ABUT_ERROR_DEVICE on a device without doubles. If the device fails half-way, part has been
 * written, and the CPU's still work. */
ABUT_API abut_status abut_device_bvh_nearest_many(abut_device_bvh *device_bvh,
                                                  const abut_points *points, double radius,
                                                  uint32_t most, abut_nearest *nearest,
                                                  uint32_t *counts);
ABUT_API abut_status abut_device_bvh_within(abut_device_bvh *device_bvh, const abut_points *points,
                                            double radius, uint64_t capacity, uint64_t *offsets,
                                            abut_nearest *nearest);
ABUT_API abut_status abut_device_bvh_ray_all(abut_device_bvh *device_bvh, const abut_ray *rays,
                                             size_t count, uint64_t capacity, uint64_t *offsets,
                                             abut_bvh_hit *hits);
ABUT_API abut_status abut_device_bvh_box(abut_device_bvh *device_bvh, const abut_box *boxes,
                                         size_t count, uint64_t capacity, uint64_t *offsets,
                                         uint32_t *triangles);

#ifdef __cplusplus
}
#endif

#endif
