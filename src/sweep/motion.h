/* What the files of sweeps over whole meshes share: the meshes of a motion as one list of vertices,
 * edges and faces, and what a search finds. */
#ifndef ABUTI_MOTION_H
#define ABUTI_MOTION_H

#include "base/base.h"
#include "base/math_shared.h"
#include "sweep/broad.h"

#include <abut/sweep.h>

struct motion_device; /* device.c */

/* Vertices, edges and faces of all meshes, one mesh after the other. */
struct abut_motion {
    abut_context *context; /* held */
    abut_motion_options options;
    uint32_t mesh_count;
    uint32_t *vertex_begin, *edge_begin, *face_begin; /* one entry more than meshes */
    uint32_t vertex_count, edge_count, face_count;
    uint32_t *edges; /* 2 an edge: lower, higher vertex; as topologies number them */
    uint32_t *faces; /* 3 a face, as in the meshes */
    bool stepped;
    vec3 *start, *end; /* where vertices are; before the first step both are the meshes' */
    bool start_is_here, end_is_here; /* not where only the device has them */
    bool borrows;                    /* these are someone else's */
    vec3 *next[2];                   /* room for the start and the end of the next step */
    box3 start_box, end_box;
    box3 box;                        /* of the starts; of all where that has no extent */
    double extent;                   /* its longest side */
    sweep_broad broad;               /* of the CPU; empty with a device */
    struct motion_device *on_device; /* null on the CPU */
};

/* What a search found: numbers of the whole motion, not of a mesh. */
typedef struct motion_hit {
    double time;
    uint32_t kind;          /* abut_impact_kind */
    uint32_t first, second; /* vertex, face; or two edges, the lower first */
    vec3 normal;
    double weights[3];
} motion_hit;

/* abut_motion_step() on a device, without checks and copies: from now on both stay the caller's,
 * who keeps them as they are until the search is done. `follows`: the start is where the device has
 * the last end; `box`: of the start. After a failure there is nothing to search. */
abut_status abuti_motion_borrow(abut_motion *motion, vec3 *start, vec3 *end, bool follows,
                                box3 box);
/* Whether a comes behind b in the order of ABUT_MOTION_ALL. For abuti_bvh_sort too. */
bool abuti_motion_after(const void *a, const void *b);
/* The four vertices of a pair, as sweep_pair wants them. */
void abuti_motion_corners(const abut_motion *motion, uint32_t kind, uint32_t first, uint32_t second,
                          uint32_t corners[4]);
/* What the caller is told. */
abut_impact abuti_motion_impact(const abut_motion *motion, const motion_hit *hit);
/* Gives hits that stand in order to the caller: as many as there is room for. `count`: of all that
 * were found, also those that are not here. */
abut_status abuti_motion_report(const abut_motion *motion, const motion_hit *hits, uint64_t count,
                                abut_impacts *impacts);

/* ---- positions.c ---- */

/* Copies positions and finds their box; refuses coordinates that are not finite or beyond
 * ABUT_COORDINATE_MAX, with a sentence that says where: `what` of `function`. */
abut_status abuti_positions_take(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box);
abut_status abuti_positions_refuse(const char *function, const char *what, uint64_t vertex,
                                   vec3 at);

/* What a search is told, checked and with no zeros left. */
typedef struct motion_search_options {
    abut_motion_mode mode;
    double separation, tolerance;
    bool exact;
    int steps;
} motion_search_options;

/* The search on the CPU; find.c. On failure but ABUT_ERROR_BUFFER both are untouched. */
abut_status abuti_motion_find_here(abut_motion *motion, const motion_search_options *options,
                                   abut_impacts *impacts, abut_motion_counts *counts);

/* ---- device.c: the same on a device ---- */

/* Refuses a device that a search cannot give the CPU's answers on. */
abut_status abuti_motion_device_check(const char *function, const abut_device *device);
/* With vertices, edges and faces in place. */
abut_status abuti_motion_device_create(abut_motion *motion, abut_device *device);
/* Nothing where there is none. */
void abuti_motion_device_destroy(abut_motion *motion);
/* Takes positions there, before they are taken here; a null `start` means the last end. On failure
 * the last ones stay. */
abut_status abuti_motion_device_step(abut_motion *motion, const vec3 *start, const vec3 *end);
/* The same for positions that are there, which are checked; stores the boxes of what was given. */
abut_status abuti_motion_device_take(abut_motion *motion, const abut_buffer *start,
                                     const abut_buffer *end, box3 boxes[2]);
/* Brings positions here that only the device has. */
abut_status abuti_motion_device_fetch(abut_motion *motion);
abut_status abuti_motion_device_find(abut_motion *motion, const motion_search_options *options,
                                     abut_impacts *impacts, abut_motion_counts *counts);

#endif
