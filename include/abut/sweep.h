/* Continuous collision detection (CCD): the time of impact (TOI) of moving triangle meshes.
 *
 * Problem: find the first time at which two features touch during a time step. Every vertex moves
 * from its start to its end position along a straight line at constant speed, at times 0 to 1. Two
 * meshes, or two parts of one mesh, first touch where a vertex touches a face or an edge touches an
 * edge. abut_sweep_vertex_face() and abut_sweep_edge_edge() test one pair of features, an
 * abut_sweep tests whole meshes, and abut_sweep_rigid() tests two rigid bodies that also rotate.
 *
 * Guarantee: conservative. No collision is missed and no time is late, whatever the rounding
 * errors. A hit may be a false positive: features that pass each other within the tolerance. A time
 * may be early: the distance at that time is at most the separation plus the tolerance. With
 * `exact` there are no false positives.
 *
 * Method: for a fixed direction, the gap between two vertices is linear in time. So a direction
 * that separates the features proves them apart over an interval of time. The search advances from
 * interval to interval. docs/sweep.md describes it.
 */
#ifndef ABUT_SWEEP_H
#define ABUT_SWEEP_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/collider.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one pair of features ---- */

typedef struct abut_sweep_find_options {
    size_t size;
    double separation; /* a length. Features within this distance are a hit; use it for the
                        * thickness of cloth. 0 = only features that touch */
    double tolerance;  /* a length. At the time of a hit the distance is at most separation plus
                        * tolerance. Features that pass each other within the tolerance may be
                        * reported as a false positive, unless a proof of separation is found. 0 =
                        * 1e-10 of the extent of the positions. Rounding errors add about 1e-14 of
                        * the extent of the pair */
    bool exact;        /* decide hits within the tolerance by exact arithmetic, so that there are no
                        * false positives; only with a separation of 0 */
    uint32_t steps;    /* maximum number of steps of the search for one pair. If it is reached, the
                        * result is a hit at the earliest time that is undecided. 0 = 1,000,000 */
} abut_sweep_find_options;

ABUT_DEFAULT(abut_sweep_find_options)

typedef struct abut_sweep_result {
    bool hit;
    double time;      /* time of impact, 0 to 1; 1 if there is no hit */
    abut_vec3 point;  /* midpoint of the closest points of both features at that time */
    abut_vec3 normal; /* unit, from the second feature to the first, just before the impact; zero if
                       * the features touch at the start and no direction is defined */
    double weights[3]; /* vertex-face: barycentric coordinates on the face. Edge-edge: parameters
                        * along the first and the second edge, 0 to 1; the third weight is 0 */
    uint32_t steps;    /* number of steps of the search */
} abut_sweep_result;

/* Computes the time of impact of a vertex and a face. `start` and `end` have the vertex, then the
 * three corners of the face. All finite positions are valid: degenerate, coplanar, touching or at
 * rest. `options` may be null. Returns ABUT_ERROR_ARGUMENT if a coordinate is not finite; `result`
 * is then not changed. Thread-safe. */
ABUT_API abut_status abut_sweep_vertex_face(const abut_vec3 start[4], const abut_vec3 end[4],
                                            const abut_sweep_find_options *options,
                                            abut_sweep_result *result);
/* Computes the time of impact of two edges. `start` and `end` have both ends of the first edge,
 * then both ends of the second. Otherwise as abut_sweep_vertex_face(). Thread-safe. */
ABUT_API abut_status abut_sweep_edge_edge(const abut_vec3 start[4], const abut_vec3 end[4],
                                          const abut_sweep_find_options *options,
                                          abut_sweep_result *result);

/* ---- whole meshes ---- */

typedef enum abut_impact_kind {
    ABUT_IMPACT_VERTEX_FACE = 0, /* elements: a vertex and a triangle */
    ABUT_IMPACT_EDGE_EDGE        /* elements: two edges, numbered as in abut_topology */
} abut_impact_kind;

typedef struct abut_impact {
    double time;
    abut_vec3 point, normal; /* as in abut_sweep_result */
    double weights[3];
    abut_impact_kind kind;
    uint32_t mesh[2], element[2]; /* of the first and of the second feature. Of two edges, the first
                                   * is the one with the lower mesh, then with the lower index */
} abut_impact;

ABUT_LIST(abut_impact)

typedef enum abut_sweep_mode {
    ABUT_SWEEP_ANY = 0,  /* one impact, or none; the fastest mode. Which impact is found depends on
                          * the device and on previous steps, but not on threads or SIMD width */
    ABUT_SWEEP_EARLIEST, /* the first impact of ALL. If the maximum of steps leaves an impact
                          * undecided, a decided one may be reported instead */
    ABUT_SWEEP_ALL       /* all impacts, sorted by time, then kind, then first feature (mesh,
                          * element), then second feature */
} abut_sweep_mode;

/* Moving meshes, with the accelerators that are kept from step to step. */
typedef struct abut_sweep abut_sweep;

typedef struct abut_sweep_options {
    size_t size;
    bool skip_self;      /* skip pairs within one mesh */
    bool skip_pairs;     /* skip pairs of two meshes */
    abut_device *device; /* device that computes the impacts; null = the CPU. Both give equal
                          * impacts */
} abut_sweep_options;

ABUT_DEFAULT(abut_sweep_options)

/* Creates a sweep of meshes, which must have the same context. Copies their triangles. Vertices
 * that no triangle uses are ignored. `options` may be null. Returns ABUT_ERROR_DEVICE if the device
 * has no doubles or rounds differently from the CPU. Thread-safe. */
ABUT_API abut_status abut_sweep_create(abut_mesh *const *meshes, size_t count,
                                       const abut_sweep_options *options, abut_sweep **sweep);
/* Destroys a sweep. Null is allowed. Thread-safe if no other thread uses the sweep. */
ABUT_API void abut_sweep_destroy(abut_sweep *sweep);

/* Sets the positions of the next step: one abut_vec3 for each vertex, mesh after mesh, in the
 * coordinates of abut_mesh_create(). If `start` is empty, the step starts at the end of the
 * previous step; the first step starts at the positions of the meshes. The arrays are copied. Each
 * array may be on the host. For a sweep with a device it may also be in a buffer of that device.
 * The device then validates and copies it, with equal results.
 *
 * Returns ABUT_ERROR_ARGUMENT for coordinates that are not finite or beyond ABUT_COORDINATE_MAX,
 * and for arrays on another device. Also returns it if the longest side of the bounding box of all
 * vertices is below ABUT_MESH_SIZE_MIN but not 0. Returns ABUT_ERROR_BUFFER if a buffer is too
 * small. On failure nothing changes. Only one thread at a time may use a sweep. */
ABUT_API abut_status abut_sweep_set_positions(abut_sweep *sweep, abut_array start, abut_array end);

typedef struct abut_sweep_counts {
    size_t size;                     /* sizeof(abut_sweep_counts), set by the default function */
    uint64_t vertex_face, edge_edge; /* candidate pairs: pairs whose swept bounding boxes overlap
                                      * and that share no vertex. The boxes are enlarged by half the
                                      * separation and rounded outwards */
} abut_sweep_counts;

ABUT_DEFAULT(abut_sweep_counts)

/* Finds the impacts of the step. Pairs of features that share a vertex are skipped, since they
 * always touch. A tolerance of 0 is 1e-10 of the longest side of the bounding box of all start
 * positions. If that side is 0, the bounding box of start and end positions is used instead.
 * `options` may be null. `counts` may be null, otherwise its size must be set. It receives the
 * number of tested pairs: all candidate pairs for ALL, fewer for the other modes.
 *
 * On the CPU memory grows with the capacity, not with the number of impacts. A device stores all
 * impacts of ALL, and returns ABUT_ERROR_LIMIT if they exceed an eighth of its memory. Reports
 * progress as stage "sweep". Only one thread at a time may use a sweep. */
ABUT_API abut_status abut_sweep_find(abut_sweep *sweep, abut_sweep_mode mode,
                                     const abut_sweep_find_options *options,
                                     abut_impact_list *impacts, abut_sweep_counts *counts);

/* ---- names ---- */

/* Return a name such as "edge-edge" or "earliest", or null if there is no such value. Thread-safe.
 */
ABUT_API const char *abut_impact_kind_name(abut_impact_kind kind);
ABUT_API const char *abut_sweep_mode_name(abut_sweep_mode mode);

/* ---- two rigid bodies ---- */

typedef struct abut_sweep_rigid_options {
    size_t size;
    double separation; /* a length. Bodies within this distance count as touching */
    double tolerance;  /* a length. At the time of impact the distance is at most separation plus
                        * tolerance. 0 = 1e-6 of the size of the smaller body */
} abut_sweep_rigid_options;

ABUT_DEFAULT(abut_sweep_rigid_options)

typedef struct abut_sweep_rigid_result {
    bool hit;
    double time;             /* time of impact, 0 to 1; 1 if there is no hit */
    abut_vec3 point, normal; /* as in abut_sweep_result, from b to a. The normal is zero if the
                              * bodies touch, or one contains the other, at the start */
    abut_impact_kind kind;
    uint32_t triangle[2];         /* the triangles of a and of b that touch. ABUT_NONE if one body
                                   * contains the other, if b or a is a plane, and for primitives
                                   * other than hulls */
    abut_reliability reliability; /* guaranteed, unless containment at the start decides; then as in
                                   * <abut/pair.h> */
} abut_sweep_rigid_result;

/* Computes the time of impact of two rigid bodies, by conservative advancement. Each body moves
 * from the pose of its collider to its end pose, see abut_pose_interpolate(). A body whose end is
 * null stays at its pose.
 *
 * Accepts bodies with a BVH, and primitives. Two planes are rejected.
 *
 * Guarantee: no impact is missed and no time is late, however fast and thin the bodies are. The
 * time may be early, but the distance at that time is at most separation plus tolerance. For
 * spheres, capsules and cylinders, 0.003 of the radii is added. The time is 0 if the bodies touch
 * at the start or one contains the other. A sheet (ABUT_SHEET_HOLE_FRACTION) contains nothing. If
 * separation or tolerance exceeds the size of the bodies, the distance at the time of impact may be
 * larger by 4e-4 of the size of the larger body.
 *
 * Bodies rotate about the origin of their local coordinates. A body far from its origin, or with a
 * large rotation, needs more intervals of time. `options` may be null. Allocates memory as
 * abut_pair_overlap() does. For each primitive except planes and hulls, it also allocates a mesh of
 * at most 252 triangles. Worlds keep these meshes. The progress callback can cancel it as
 * abut_pair_overlap(). Returns ABUT_ERROR_ARGUMENT for other kinds of colliders. Thread-safe. */
ABUT_API abut_status abut_sweep_rigid(const abut_collider *a, const abut_pose *end_a,
                                      const abut_collider *b, const abut_pose *end_b,
                                      const abut_sweep_rigid_options *options,
                                      abut_sweep_rigid_result *result);

#ifdef __cplusplus
}
#endif

#endif
