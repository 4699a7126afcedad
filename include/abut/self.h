/* When does a deforming mesh first touch itself? Much faster than a complete search, since most of
 * the mesh cannot take part.
 *
 * A ray from a point inside a closed surface, the view-point, leaves it, enters it, leaves it again
 * and so on. So the first contact of a step is one of a triangle by which rays leave and one by
 * which they enter, or of one that is neither all the time; two by which they leave all the time
 * need no look at each other (Cheng, "View-based Continuous Self-Collision Detection with Graphics
 * Hardware Acceleration", 2011). A segment, the view-line, instead of the point suits long objects.
 * Holes are closed by ghost triangles, and what touches one of these is looked at in full.
 *
 * Promise: from a start without self-intersections, "free" means free, and the time of the impact
 * is never later than that of the first one. Both are those of abut_sweep_find() in the mode
 * EARLIEST, which docs/self.md says more precisely. Where the scheme cannot be used the complete
 * search takes its place, and the result says why.
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

/* A mesh that deforms, seen from inside, with what is kept from step to step. */
typedef struct abut_self abut_self;

typedef enum abut_self_scheme {
    ABUT_SELF_AUTO = 0, /* point or line, whichever left fewer triangles in doubt of late, or every
                         * triangle against every other where that takes less: docs/self.md */
    ABUT_SELF_POINT,
    ABUT_SELF_LINE,
    ABUT_SELF_COMPLETE /* every triangle against every other: for comparison */
} abut_self_scheme;

typedef enum abut_self_bounds {
    ABUT_SELF_DOP16 = 0, /* of swept triangles: 8 slabs */
    ABUT_SELF_AABB
} abut_self_bounds;

typedef struct abut_self_options {
    size_t size;
    abut_self_scheme scheme;
    abut_self_bounds bounds;
    bool box_boundary;   /* take a triangle for one that touches a ghost where their bounds overlap:
                          * quicker to find, but more of them */
    abut_device *device; /* where it is searched; null = the CPU. The promise is the same */
} abut_self_options;

ABUT_DEFAULT(abut_self_options)

/* Prepares for the steps of a mesh, which it keeps. A null `options` gives the defaults. Any mesh
 * is legal; the scheme works for those whose edges have one face, or two that run opposite ways.
 * Thread-safe. */
ABUT_API abut_status abut_self_create(abut_mesh *mesh, const abut_self_options *options,
                                      abut_self **view);
/* Null is allowed. */
ABUT_API void abut_self_destroy(abut_self *view);

/* ---- a step ---- */

/* Where the view-line is at the start and at the end of a step; its ends move along straight lines.
 * The view-point is halfway between them: give the same place twice for a point of your own. It may
 * be anywhere, at best deep inside and in a companion that the mesh does not pass through, as the
 * bone of a limb. */
typedef struct abut_self_line {
    abut_vec3 start[2], end[2];
} abut_self_line;

/* The line of a companion, such as the rod in a sleeve or the bones of a limb: along the longest
 * axis of its vertices at the start through their mean, over three fifths of their extent. It moves
 * with them: rigidly with a rigid companion. Refused: a count of 0, coordinates that are not finite
 * or beyond ABUT_COORDINATE_MAX. Thread-safe. */
ABUT_API abut_status abut_self_fit_line(const abut_vec3 *start, const abut_vec3 *end,
                                        uint32_t count, abut_self_line *line);

typedef struct abut_self_step {
    size_t size;
    /* Where all vertices are, an abut_vec3 each, absolute: here or, for a view with a device, on
     * it, each as the caller likes. They are copied; the answers are the same. No start: the end of
     * the last step, at first the mesh as it came. */
    abut_array start, end;
    const abut_self_line *line; /* null: that of abut_self_fit_line() for the mesh itself */
    bool start_is_free;         /* the caller knows that the mesh does not meet itself at the start.
                                 * Else this is known from the last step where that was free and
                                 * ended here, and looked for by an exact test otherwise */
    bool partial_separation;    /* a separation counts for the pairs that the sets let through. Two
                                 * triangles that are both V+, or both V-, may come nearer to each
                                 * other than that, but do not touch: docs/self.md. Else a step with
                                 * a separation is searched completely */
} abut_self_step;

ABUT_DEFAULT(abut_self_step)

/* Why the complete search was made. */
typedef enum abut_self_fallback {
    ABUT_SELF_NOT_NEEDED = 0, /* or it was asked for */
    ABUT_SELF_TOPOLOGY,       /* an edge has more than two faces, or two that run the same way */
    ABUT_SELF_START,          /* the mesh meets itself at the start */
    ABUT_SELF_SEPARATION,     /* a separation was asked for: triangles on the same side of a sheet
                               * come near each other without anything in between */
    ABUT_SELF_BOUNDARY,       /* too much is near ghost triangles to be worth it */
    ABUT_SELF_COST            /* AUTO: sets take more work than all pairs, now or in one of the last
                               * steps; on a device, the mesh is open and small, or much of it is in
                               * doubt: docs/self.md */
} abut_self_fallback;

/* Sets of triangles. */
typedef enum abut_self_set {
    ABUT_SELF_POSITIVE = 0, /* V+: rays from the view primitive leave by it during all the step */
    ABUT_SELF_NEGATIVE,     /* V-: they enter by it during all the step */
    ABUT_SELF_GRAZING,      /* V0: neither */
    ABUT_SELF_VIOLATED      /* Vv: touches a ghost, or may be beyond one */
} abut_self_set;

typedef struct abut_self_times { /* in seconds */
    double bounds;               /* of the hierarchy */
    double start;                /* whether the start is free */
    double view;                 /* tests, and finding the view-line where none was given */
    double boundary, marks, traversal, elementary;
} abut_self_times;

typedef struct abut_self_result {
    bool hit;
    abut_impact impact;              /* where hit */
    abut_self_scheme scheme;         /* what was used: POINT, LINE or COMPLETE */
    abut_self_fallback reason;       /* for COMPLETE */
    uint32_t sets[4];                /* triangles in each abut_self_set; zeros for COMPLETE */
    uint32_t entered[4], left[4];    /* triangles that came into and that left each since the step
                                      * before */
    uint32_t regions[5];             /* LINE: vertices that stay before, beyond and beside the line,
                                      * that pass between before and beside, and between beyond and
                                      * beside */
    uint64_t node_pairs;             /* pairs of bounds that were compared */
    uint64_t triangle_pairs;         /* whose bounds overlap and that the sets let through */
    uint64_t vertex_face, edge_edge; /* pairs of features that were swept */
    abut_self_times times;
} abut_self_result;

/* Looks for the first impact of the mesh with itself in the next step. Of `options` separation,
 * tolerance, exact and steps count as for abut_sweep_find(); null gives the defaults. Refused: a
 * step without an end, coordinates that are not finite or beyond ABUT_COORDINATE_MAX, positions
 * whose bounding box has a longest side below ABUT_MESH_SIZE_MIN that is not 0, buffers that are
 * too small (ABUT_ERROR_BUFFER), of another device or without one. On failure `result` is
 * untouched and the view as before, but that abut_self_sets() gives null. Reports progress as stage
 * "view". One thread at a time may use a view. */
ABUT_API abut_status abut_self_find(abut_self *view, const abut_self_step *step,
                                    const abut_sweep_find_options *options,
                                    abut_self_result *result);

/* The same, and gives all impacts among the pairs of features that are looked at, as
 * abut_sweep_find() does in the mode ALL, in its order, bit for bit. They are all impacts of the
 * step where result->scheme is COMPLETE; else the first is among them, and there is none only where
 * the step is free. So whoever moves vertices until none is left ends with a mesh that does not
 * meet itself. The impact of `result` is the first. With too little room ABUT_ERROR_BUFFER, which
 * tells impacts->count; on failure what else is in `impacts` means nothing, and the view is as
 * before, so that the step can be made again. One thread at a time may use a view. */
ABUT_API abut_status abut_self_find_all(abut_self *view, const abut_self_step *step,
                                        const abut_sweep_find_options *options,
                                        abut_impacts *impacts, abut_self_result *result);

/* The set of each triangle in the last step, as abut_self_set; null where there is none, or it was
 * searched completely. A device is asked for them now; null where that fails too. Valid until the
 * next step. One thread at a time. */
ABUT_API const unsigned char *abut_self_sets(const abut_self *view);

typedef struct abut_self_info {
    size_t size; /* sizeof(abut_self_info), set by the default function */
    uint32_t triangle_count, vertex_count, edge_count;
    uint32_t hole_count, ghost_count; /* ghost triangles */
    uint32_t part_count;              /* connected through edges */
    bool usable;                      /* the topology allows the scheme */
    uint64_t bytes;                   /* about, beyond the mesh; on the host */
} abut_self_info;

ABUT_DEFAULT(abut_self_info)

/* Gets the counts of a view and whether the scheme can be used. `info->size` must be set.
 * Thread-safe. */
ABUT_API abut_status abut_self_get_info(const abut_self *view, abut_self_info *info);

/* ---- names ---- */

/* Names for people and programs, such as "line" or "violated"; null beyond the last. Thread-safe.
 */
ABUT_API const char *abut_self_scheme_name(abut_self_scheme scheme);
ABUT_API const char *abut_self_bounds_name(abut_self_bounds bounds);
ABUT_API const char *abut_self_fallback_name(abut_self_fallback reason);
ABUT_API const char *abut_self_set_name(abut_self_set set);

/* Tells what the view test promises on a mesh, and why. Thread-safe. */
ABUT_API abut_reliability abut_self_reliability(const abut_mesh_report *report);

#ifdef __cplusplus
}
#endif

#endif
