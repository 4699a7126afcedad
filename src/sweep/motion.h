/* What the files of sweeps over whole meshes share: the meshes of a motion as one list of vertices,
 * edges and faces, and what a search finds. */
#ifndef ABUTI_SWEEP_MOTION_H
#define ABUTI_SWEEP_MOTION_H

#include "base/base.h"
#include "base/math_shared.h"
#include "base/sort.h"
#include "sweep/broad.h"

#include <abut/sweep.h>

struct motion_device;  /* device.c */
struct motion_backend; /* below */

/* What is known of the positions of a step. */
typedef struct motion_place {
    bool stepped;
    bool has_start;                  /* it did not begin where the last one ended */
    bool start_is_here, end_is_here; /* not where only the device has them */
    box3 start_box, end_box;
    box3 box;      /* of the starts; of all where that has no extent */
    double extent; /* its longest side */
} motion_place;

/* Vertices, edges and faces of all meshes, one mesh after the other. */
struct abut_sweep {
    abut_context *context; /* held */
    abut_sweep_options options;
    uint32_t mesh_count;
    uint32_t *vertex_begin, *edge_begin, *face_begin; /* one entry more than meshes */
    uint32_t vertex_count, edge_count, face_count;
    uint32_t *edges;   /* 2 an edge: lower, higher vertex; as topologies number them */
    uint32_t *faces;   /* 3 a face, as in the meshes */
    vec3 *room;        /* for the next four; null with a device, which has room of its own */
    vec3 *start, *end; /* where vertices are; before the first step both are the meshes' */
    vec3 *next[2];     /* the start and the end of the next step, while it is taken */
    motion_place place, last_place;
    const struct motion_backend *backend;
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

/* The positions of a step, here or on the device: of the start at most one, of the end one. */
typedef struct motion_taking {
    const char *function, *start_name, *end_name; /* for what is refused */
    uint32_t count;                               /* vertices that are given; the first ones */
    const vec3 *start, *end;
    const abut_buffer *start_there, *end_there;
    /* Queues more work for the device behind the checks of what is there; may be null. */
    abut_status (*also)(void *user, const struct motion_taking *taking);
    void *user;
    bool has_start; /* one was given, and is not where the last step ended */
    box3 boxes[2];
} motion_taking;

/* Checks and copies positions to `next`, here and there, and finds their boxes. A start that is the
 * last end, bit for bit, is none. Nothing else changes. */
abut_status abuti_motion_take(abut_sweep *motion, motion_taking *taking);
/* Makes what was taken the step. */
void abuti_motion_accept(abut_sweep *motion, const motion_taking *taking);
/* Takes the last step back; once. */
void abuti_motion_undo(abut_sweep *motion);
/* Whether a comes behind b in the order of ABUT_SWEEP_ALL. For abuti_sort_items too. */
bool abuti_motion_after(const void *a, const void *b);
/* The four vertices of a pair, as sweep_pair wants them. */
void abuti_motion_corners(const abut_sweep *motion, uint32_t kind, uint32_t first, uint32_t second,
                          uint32_t corners[4]);
/* Tells the caller how many there are, and refuses where he has no room for them. */
abut_status abuti_motion_count(uint64_t count, abut_impacts *impacts);
/* Gives hits that stand in order to the caller, where there is room for all; `hits` is not looked
 * at otherwise. */
abut_status abuti_motion_report(const abut_sweep *motion, const motion_hit *hits, uint64_t count,
                                abut_impacts *impacts);

/* ---- positions.c ---- */

/* Copies positions and finds their box; refuses coordinates that are not finite or beyond
 * ABUT_COORDINATE_MAX, and a box that is too small, with a sentence that says where: `what` of
 * `function`. */
abut_status abuti_positions_take(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box);
/* Refuses positions whose bounding box is too small for a mesh. */
abut_status abuti_positions_check_size(const char *function, const char *what, box3 box);
abut_status abuti_positions_refuse(const char *function, const char *what, uint64_t vertex,
                                   vec3 at);

/* What a search is told, checked and with no zeros left. */
typedef struct motion_search_options {
    abut_sweep_mode mode;
    double separation, tolerance;
    bool exact;
    int steps;
} motion_search_options;

/* ---- where it is searched ---- */

typedef struct motion_backend {
    /* With edges and faces in place; gives room for four positions a vertex. */
    abut_status (*open)(abut_sweep *motion, vec3 **room);
    /* With vertices too. */
    abut_status (*create)(abut_sweep *motion);
    void (*destroy)(abut_sweep *motion); /* also where the others failed or were not called */
    /* Before `next` is written; with `compares` the last end is here then. */
    abut_status (*begin)(abut_sweep *motion, bool compares);
    /* Vertices of `next` are written. */
    abut_status (*send)(abut_sweep *motion, int side, size_t first, size_t count);
    /* abuti_motion_take() for those positions that are on a device. */
    abut_status (*take)(abut_sweep *motion, motion_taking *taking);
    /* The positions of `next` change places with those of the step, there and back. */
    void (*accept)(abut_sweep *motion, bool has_start);
    void (*undo)(abut_sweep *motion, bool has_start);
    /* On failure both are untouched, but that ABUT_ERROR_BUFFER tells the count of impacts. */
    abut_status (*find)(abut_sweep *motion, const motion_search_options *options,
                        abut_impacts *impacts, abut_sweep_counts *counts);
} motion_backend;

extern const motion_backend abuti_motion_on_device; /* device.c */

/* The search on the CPU; find.c. */
abut_status abuti_motion_find_here(abut_sweep *motion, const motion_search_options *options,
                                   abut_impacts *impacts, abut_sweep_counts *counts);

/* ---- what views use of a motion on a device ---- */

/* For all that was queued. */
abut_status abuti_motion_device_wait(abut_sweep *motion);
/* Begins to send vertices of `next`. */
abut_status abuti_motion_device_send(abut_sweep *motion, int side, size_t first, size_t count);
/* Brings positions here that only the device has. */
abut_status abuti_motion_device_fetch(abut_sweep *motion);
abut_status abuti_motion_device_find(abut_sweep *motion, const motion_search_options *options,
                                     abut_impacts *impacts, abut_sweep_counts *counts);

#endif
