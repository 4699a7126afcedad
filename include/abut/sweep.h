/* When do moving triangle meshes first touch? Over a time step, in which every vertex goes from its
 * start to its end along a straight line at constant speed, at times 0 to 1.
 *
 * Promise: "no" means no. A collision that exists is never missed, whatever the rounding, and a
 * time is never later than the true one. What may happen instead is a hit, or a time, that is too
 * early by no more than the tolerance; with `exact`, hits are exactly the true ones.
 *
 * Two meshes, or two parts of one, first touch where a vertex meets a face or an edge an edge. The
 * elementary functions answer for one such pair; a motion searches whole meshes for them.
 */
#ifndef ABUT_SWEEP_H
#define ABUT_SWEEP_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/device.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one pair ---- */

typedef struct abut_sweep_find_options {
    size_t size;
    double separation; /* features that come this near hit, as for cloth with a thickness; 0: that
                        * touch. Not negative */
    double tolerance;  /* a length: at the time of a hit features are nearer than separation and
                        * tolerance together, and may come no nearer later; but what is easily
                        * proven to pass without a touch is no hit. 0 = 1e-10 of the extent of the
                        * positions. What rounding leaves, some 1e-14 of the extent of the pair,
                        * comes on top */
    bool exact;        /* decide by exact arithmetic what the tolerance leaves open, so that yes
                        * and no are the truth; only without a separation */
    uint32_t steps;    /* of the search for one pair; where they are spent, the answer is a hit at
                        * the earliest time that is open. 0 = 1,000,000 */
} abut_sweep_find_options;

ABUT_DEFAULT(abut_sweep_find_options)

typedef struct abut_sweep_result {
    bool hit;
    double time;       /* 0 to 1; 1 where there is no hit */
    abut_vec3 point;   /* where, at that time: between the nearest points of the two features */
    abut_vec3 normal;  /* unit, from the second feature to the first just before; zero where the
                        * features touch from the start in a way that has no direction */
    double weights[3]; /* vertex-face: of the corners of the face; edge-edge: how far along the
                        * first and along the second edge, and 0 */
    uint32_t steps;    /* taken */
} abut_sweep_result;

/* A vertex against a face: vertex, then the three corners, at the start and at the end. Any
 * positions are legal: degenerate, coplanar, touching, not moving. A null `options` gives the
 * defaults. On failure `sweep` is untouched. Thread-safe. */
ABUT_API abut_status abut_sweep_vertex_face(const abut_vec3 start[4], const abut_vec3 end[4],
                                            const abut_sweep_find_options *options,
                                            abut_sweep_result *sweep);
/* An edge against an edge: the two ends of the first, then of the second. As above. */
ABUT_API abut_status abut_sweep_edge_edge(const abut_vec3 start[4], const abut_vec3 end[4],
                                          const abut_sweep_find_options *options,
                                          abut_sweep_result *sweep);

/* ---- whole meshes ---- */

typedef enum abut_impact_kind {
    ABUT_IMPACT_VERTEX_FACE = 0, /* elements: a vertex, a triangle */
    ABUT_IMPACT_EDGE_EDGE        /* elements: two edges, as the topologies number them */
} abut_impact_kind;

typedef struct abut_impact {
    double time;
    abut_vec3 point, normal; /* as in abut_sweep_result */
    double weights[3];
    abut_impact_kind kind;
    uint32_t mesh[2], element[2]; /* of the first and of the second feature. Of two edges the first
                                   * is that of the lower mesh and index */
} abut_impact;

/* Room for impacts of the caller's. `count` is how many there are; with more than `capacity` that
 * is told by ABUT_ERROR_BUFFER, and none is written. */
typedef struct abut_impacts {
    abut_impact *list; /* may be null with capacity 0 */
    uint64_t capacity, count;
} abut_impacts;

typedef enum abut_sweep_mode {
    ABUT_SWEEP_ANY = 0,  /* some impact, or none: the quickest. Which one it is depends neither on
                          * threads nor on SIMD, but on the device and on the steps before */
    ABUT_SWEEP_EARLIEST, /* the first of ALL; an impact that is only told since the steps were
                          * spent may be passed over for a true one */
    ABUT_SWEEP_ALL       /* all, by time, then kind, then first feature (mesh, element), then
                          * second */
} abut_sweep_mode;

/* Meshes that move, with what is kept from step to step. */
typedef struct abut_sweep abut_sweep;

typedef struct abut_sweep_options {
    size_t size;
    bool skip_self;      /* leave out pairs within a mesh */
    bool skip_pairs;     /* leave out pairs of two meshes */
    abut_device *device; /* where it is searched; null = the CPU. Impacts are the same */
} abut_sweep_options;

ABUT_DEFAULT(abut_sweep_options)

/* Prepares for the steps of some meshes, of which it keeps the triangles; all have the same
 * context. A null `options` gives the defaults. Vertices that no triangle has take no part.
 * Thread-safe; a motion itself belongs to one thread at a time. */
ABUT_API abut_status abut_sweep_create(abut_mesh *const *meshes, size_t count,
                                       const abut_sweep_options *options, abut_sweep **motion);
/* Null is allowed. */
ABUT_API void abut_sweep_destroy(abut_sweep *motion);

/* Takes the next step: where all vertices are at its start and at its end, in absolute
 * coordinates, an abut_vec3 a vertex, mesh after mesh. No `start` means the end of the last step,
 * or at first the meshes as they came. Copies what it is given. Arrays are here or, for a motion
 * with a device, on it, each as the caller likes; what is there is checked and copied there, and
 * the answers are the same. Refused: coordinates that are not finite or beyond ABUT_COORDINATE_MAX,
 * a bounding box of all vertices whose longest side is below ABUT_MESH_SIZE_MIN and not 0, arrays
 * on a device that is not the motion's, and those that are too small (ABUT_ERROR_BUFFER). On
 * failure the motion is as before. */
ABUT_API abut_status abut_sweep_set_positions(abut_sweep *motion, abut_array start, abut_array end);

typedef struct abut_sweep_counts {
    uint64_t vertex_face, edge_edge; /* candidates: pairs whose swept boxes, grown by half the
                                      * separation each and then rounded outwards, overlap, and
                                      * that share no vertex */
} abut_sweep_counts;

/* Searches the step. Pairs that share a vertex touch all the time and are left out. A tolerance of
 * 0 is 1e-10 of the longest side of the box of all starts (of starts and ends where that is 0).
 * `counts` may be null, and counts what was tried: all candidates for ALL, fewer for the other
 * modes. On failure both are untouched, but that ABUT_ERROR_BUFFER tells impacts->count. Reports
 * progress as stage "sweep". On the CPU memory grows with the capacity, not with what is found; a
 * device keeps all impacts of ALL, and fails with ABUT_ERROR_LIMIT where an eighth of its memory
 * cannot hold them.
 */
ABUT_API abut_status abut_sweep_find(abut_sweep *motion, abut_sweep_mode mode,
                                     const abut_sweep_find_options *options, abut_impacts *impacts,
                                     abut_sweep_counts *counts);

/* ---- names ---- */

/* Names for people and programs, such as "edge-edge" or "earliest"; null beyond the last.
 * Thread-safe. */
ABUT_API const char *abut_impact_kind_name(abut_impact_kind kind);
ABUT_API const char *abut_sweep_mode_name(abut_sweep_mode mode);

/* ---- two rigid bodies ---- */

typedef struct abut_sweep_rigid_options {
    size_t size;
    double separation; /* bodies that come this near touch */
    double tolerance;  /* at the time of a touch they are no further apart than separation and
                        * tolerance; 0 = 1e-6 of the smaller body */
} abut_sweep_rigid_options;

ABUT_DEFAULT(abut_sweep_rigid_options)

typedef struct abut_sweep_rigid_result {
    bool hit;
    double time;             /* 0 to 1; 1 where there is no hit */
    abut_vec3 point, normal; /* as in abut_sweep_result: from b to a. No normal where they touch or
                              * contain each other from the start */
    abut_impact_kind kind;
    uint32_t triangle[2]; /* of a and of b, that touch; ABUT_NONE for one around the other */
    abut_reliability reliability; /* reliability: not guaranteed only where containment at the start
                                   * decides, as in <abut/pair.h> */
} abut_sweep_rigid_result;

/* Finds when two rigid bodies first touch, each along its own path, however fast and thin they are.
 * **"No" means no**, and a time is never late; it is early by no more than the tolerance allows.
 * Bodies that touch or contain each other at the start do so at time 0; a sheet
 * (ABUT_SHEET_HOLE_FRACTION) contains nothing. Paths turn about the origin
 * of the mesh's coordinates: far from it, or turning by much, they take more pieces. Where
 * separation or tolerance are larger than the bodies, it may be early by 4e-4 of the larger body's
 * size. `options` may be null. Takes no memory but what abut_pair_overlap does, and can be
 * cancelled as that. Thread-safe. */
ABUT_API abut_status abut_sweep_rigid(const abut_bvh *a, const abut_path *path_a, const abut_bvh *b,
                                      const abut_path *path_b,
                                      const abut_sweep_rigid_options *options,
                                      abut_sweep_rigid_result *touch);

#ifdef __cplusplus
}
#endif

#endif
