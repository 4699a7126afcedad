/* Continuous self-collision detection with view-based culling: the first time of impact at which a
 * deforming mesh touches itself.
 *
 * Method: Cheng (2011), "View-based Continuous Self-Collision Detection with Graphics Hardware
 * Acceleration". Along a ray from a point inside a closed surface, the view-point, exits and
 * entries alternate. The first contact of a step is therefore between an exit triangle and an entry
 * triangle. Otherwise one of its triangles is neither during the whole step. Pairs of triangles
 * that are both exits during the whole step are culled. A segment, the view-line, replaces the
 * point for long objects. Ghost triangles close holes, and triangles that touch a ghost are not
 * culled.
 *
 * Guarantee, for a start without self-intersections: "free" is correct, and the reported time is
 * never later than the first impact. Both agree with abut_sweep_find() in the mode EARLIEST;
 * docs/self.md states the differences within the tolerance. If the scheme cannot be used, the
 * complete search replaces it, and the result contains the reason.
 */
#ifndef ABUT_SELF_H
#define ABUT_SELF_H

#include <abut/base.h>
#include <abut/device.h>
#include <abut/mesh.h>
#include <abut/sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A deforming mesh, with the state that is kept from step to step. */
typedef struct abut_self abut_self;

typedef enum abut_self_scheme {
    ABUT_SELF_AUTO = 0, /* point or line, whichever recently left fewer triangles in doubt; or the
                         * complete search, if that is cheaper, as always on a device: docs/self.md
                         */
    ABUT_SELF_POINT,
    ABUT_SELF_LINE,
    ABUT_SELF_COMPLETE /* all pairs, as abut_sweep_find(): for comparison */
} abut_self_scheme;

typedef struct abut_self_options {
    size_t size;
    abut_self_scheme scheme;
    bool box_boundary;   /* treat a triangle as touching a ghost if their bounds overlap: faster to
                          * compute, but more triangles are affected */
    abut_device *device; /* null = the CPU. The guarantee is the same */
} abut_self_options;

ABUT_DEFAULT(abut_self_options)

/* Creates the state for the steps of a mesh and keeps a reference to the mesh. `options` may be
 * null. Any mesh is allowed. Culling needs edges with one triangle, or with two of consistent
 * orientation. Returns ABUT_ERROR_LIMIT if triangles and ghosts are more than 2^30 - 1. Returns
 * ABUT_ERROR_DEVICE if the device lacks doubles or rounds differently from the CPU. Thread-safe. */
ABUT_API abut_status abut_self_create(abut_mesh *mesh, const abut_self_options *options,
                                      abut_self **view);
/* Destroys the state. Null is allowed. One thread at a time for each view. */
ABUT_API void abut_self_destroy(abut_self *view);

/* ---- a step ---- */

/* The view-line at the start and at the end of a step. Its ends move along straight lines. The
 * view-point is its midpoint; set both ends to the same point to choose a view-point. It may be
 * anywhere. Culling is most effective if it is deep inside. The best place is a companion that the
 * mesh does not penetrate, such as the bone of a limb. */
typedef struct abut_self_line {
    abut_vec3 start[2], end[2];
} abut_self_line;

/* Computes the view-line of a companion, such as the rod in a sleeve or the bones of a limb. It is
 * along the longest axis of the vertices at the start, through their mean, over three fifths of
 * their extent. It moves with the vertices: rigidly with a rigid companion. Returns
 * ABUT_ERROR_ARGUMENT if the count is 0, or if a coordinate is not finite or exceeds
 * ABUT_COORDINATE_MAX. Thread-safe. */
ABUT_API abut_status abut_self_fit_line(const abut_vec3 *start, const abut_vec3 *end,
                                        uint32_t count, abut_self_line *line);

typedef struct abut_self_step {
    size_t size;
    /* Absolute positions of all vertices, an abut_vec3 each, on the host or on the device of the
     * view; start and end may differ in that. They are contiguous doubles, and are copied. If
     * start is null, it is the end of the last step, or the initial mesh. */
    abut_array start, end;
    const abut_self_line *line; /* null = that of abut_self_fit_line() for the mesh */
    bool start_is_free;         /* the caller guarantees that the mesh has no self-intersection at
                                 * the start. Otherwise this is known if the last step was free and
                                 * ended here; if not, an exact test decides */
    bool partial_separation;    /* apply the separation only to pairs that are not culled. Two
                                 * triangles that are both V+, or both V-, may come nearer, but do
                                 * not touch: docs/self.md. Otherwise a step with a separation is
                                 * searched completely */
    bool complete_list;         /* abut_self_find_all(): unless the step is free, it is searched
                                 * completely. With `exact` and without partial_separation the
                                 * list is then the same with every scheme and on every device */
} abut_self_step;

ABUT_DEFAULT(abut_self_step)

/* Why the complete search was used. */
typedef enum abut_self_fallback {
    ABUT_SELF_NOT_NEEDED = 0, /* not used, or requested */
    ABUT_SELF_TOPOLOGY,       /* an edge has more than two triangles, or two with opposite
                               * orientation; or a triangle has a vertex twice */
    ABUT_SELF_START,          /* the mesh has a self-intersection at the start */
    ABUT_SELF_SEPARATION,     /* a separation was requested: triangles on the same side of a sheet
                               * can come near each other with no other triangle between */
    ABUT_SELF_BOUNDARY,       /* too many triangles are near ghosts */
    ABUT_SELF_COST,           /* AUTO: culling costs more than all pairs, in this step or in one of
                               * the last, or on a device: docs/self.md */
    ABUT_SELF_IMPACTS         /* the step has impacts, and a complete list was requested */
} abut_self_fallback;

/* View sets of triangles. */
typedef enum abut_self_set {
    ABUT_SELF_POSITIVE = 0, /* V+: rays from the view primitive exit through it during the whole
                             * step */
    ABUT_SELF_NEGATIVE,     /* V-: they enter through it during the whole step */
    ABUT_SELF_GRAZING,      /* V0: neither */
    ABUT_SELF_VIOLATED      /* Vv: touches a ghost, or may be beyond one */
} abut_self_set;

typedef struct abut_self_times { /* in seconds */
    double bounds;               /* of triangles and ghosts */
    double start;                /* test of the start for self-intersections */
    double view;                 /* view tests, and fitting the view-line if none is given */
    double boundary, marks;      /* marks: counts of sets and of changes */
    double search;
} abut_self_times;

typedef struct abut_self_result {
    size_t size; /* sizeof(abut_self_result), set by the default function */
    bool hit;
    abut_impact impact;              /* valid if `hit` */
    abut_self_scheme scheme;         /* scheme that was used: POINT, LINE or COMPLETE */
    abut_self_fallback reason;       /* for COMPLETE */
    uint32_t sets[4];                /* number of triangles in each abut_self_set; zeros for
                                      * COMPLETE */
    uint32_t entered[4], left[4];    /* triangles that entered and that left each set in this step
                                      */
    uint32_t regions[5];             /* LINE: vertices that stay before, beyond and beside the line;
                                      * that change between before and beside, and between beyond
                                      * and beside */
    uint64_t vertex_face, edge_edge; /* pairs of features that are not culled and whose boxes
                                      * overlap */
    abut_self_times times;
} abut_self_result;

ABUT_DEFAULT(abut_self_result)

/* Finds the first impact of the mesh with itself in the next step. Of `options`, separation,
 * tolerance, exact and steps apply as in abut_sweep_find(); null gives the defaults. `result->size`
 * must be set.
 *
 * Returns ABUT_ERROR_ARGUMENT if the step has no end, or if a coordinate is not finite or exceeds
 * ABUT_COORDINATE_MAX. Also returns it if the longest side of the bounding box is below
 * ABUT_MESH_SIZE_MIN and not 0. The same holds if a buffer is not on the device of the view.
 * Returns ABUT_ERROR_BUFFER if a buffer is too small.
 *
 * On failure `result` does not change, and the view keeps its state, except that abut_self_sets()
 * returns null. Reports progress as stage "sweep". One thread at a time for each view. */
ABUT_API abut_status abut_self_find(abut_self *view, const abut_self_step *step,
                                    const abut_sweep_find_options *options,
                                    abut_self_result *result);

/* Finds impacts as abut_self_find() does, and lists all impacts among the pairs of features that
 * are not culled. Order and bits are those of abut_sweep_find() in the mode ALL. If result->scheme
 * is COMPLETE, the list contains all impacts of the step. Otherwise it contains the first impact,
 * and is empty only if the step is free; step->complete_list excludes this case unless the list is
 * empty. A solver that moves vertices until the list is empty therefore ends with a mesh without
 * self-intersections. The impact of `result` is the first.
 *
 * Returns ABUT_ERROR_BUFFER and impacts->count if the list is too short. On failure the other
 * contents of `impacts` are undefined, and the view keeps its state, so that the step can be
 * repeated. One thread at a time for each view. */
ABUT_API abut_status abut_self_find_all(abut_self *view, const abut_self_step *step,
                                        const abut_sweep_find_options *options,
                                        abut_impact_list *impacts, abut_self_result *result);

/* Returns the abut_self_set of each triangle in the last step, or null if there was no step or it
 * was searched completely. Valid until the next step. One thread at a time for each view. */
ABUT_API const unsigned char *abut_self_sets(const abut_self *view);

/* Creates a mesh of the ghost triangles at the end of the last step, or of the mesh itself before
 * the first one: hole after hole, each a fan around its last vertex. Null if the mesh has no holes,
 * or if all searches of the view are complete. Destroy it with abut_mesh_destroy(). One thread at a
 * time for each view. */
ABUT_API abut_status abut_self_get_ghosts(const abut_self *view, abut_mesh **ghosts);

typedef struct abut_self_info {
    size_t size; /* sizeof(abut_self_info), set by the default function */
    uint32_t triangle_count, vertex_count, edge_count;
    uint32_t hole_count, ghost_count; /* boundary loops, and ghost triangles that close them */
    uint32_t part_count;              /* components that are connected through edges */
    bool usable;                      /* the topology allows culling */
    uint64_t bytes;                   /* approximate host memory, without the mesh */
} abut_self_info;

ABUT_DEFAULT(abut_self_info)

/* Stores the properties of a view. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_self_get_info(const abut_self *view, abut_self_info *info);

/* ---- names ---- */

/* Return the name of a value, such as "line" or "violated", or null if the enum lacks it.
 * Thread-safe. */
ABUT_API const char *abut_self_scheme_name(abut_self_scheme scheme);
ABUT_API const char *abut_self_fallback_name(abut_self_fallback reason);
ABUT_API const char *abut_self_set_name(abut_self_set set);

/* Returns the reliability of view-based culling on a mesh, with a reason. Thread-safe. */
ABUT_API abut_reliability abut_self_reliability(const abut_mesh_report *report);

#ifdef __cplusplus
}
#endif

#endif
