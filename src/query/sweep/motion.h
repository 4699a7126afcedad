/* Private types of the sweep module: the meshes of a motion as one list of vertices, edges and
 * faces, and the hits of a search. */
#ifndef ABUTI_SWEEP_MOTION_H
#define ABUTI_SWEEP_MOTION_H

#include "base/base.h"
#include "base/math_shared.h"
#include "base/sort.h"
#include "sweep/broad.h"

#include <abut/sweep.h>

struct motion_device;  /* device.c */
struct motion_backend; /* below */

/* State of the positions of a step. */
typedef struct motion_place {
    bool stepped;
    bool has_start;                  /* the step did not start where the last one ended */
    bool start_on_host, end_on_host; /* false if only the device has them */
    box3 start_box, end_box;
    box3 box;      /* of the start positions; of start and end if that has no extent */
    double extent; /* longest side of the box */
} motion_place;

/* Vertices, edges and faces of all meshes, one mesh after the other. */
struct abut_sweep {
    abut_context *context; /* reference */
    abut_sweep_options options;
    uint32_t mesh_count;
    uint32_t *vertex_begin, *edge_begin, *face_begin; /* one entry more than meshes */
    uint32_t vertex_count, edge_count, face_count;
    uint32_t *edges; /* 2 per edge: lower, higher vertex; numbered as by abut_topology */
    uint32_t *faces; /* 3 per face, as in the meshes */
    vec3 *room; /* memory of start, end and next; null with a device, which has pinned memory */
    vec3 *start, *end; /* positions; before the first step those of the meshes */
    vec3 *next[2];     /* start and end of the next step, until it is accepted */
    motion_place place, last_place;
    const struct motion_backend *backend;
    sweep_broad broad;               /* only on the CPU */
    struct motion_device *on_device; /* null on the CPU */
    uint32_t *owners; /* of each mesh; skip_self skips the pairs of meshes with the same owner */
    bool by_owner;    /* features are sorted by owner first, so that subtrees can be skipped */
};

/* A hit, with indices of the whole motion, not of a mesh. */
typedef struct motion_hit {
    double time;
    uint32_t kind;          /* abut_impact_kind */
    uint32_t first, second; /* vertex, face; or two edges, the lower one first */
    uint32_t unused;
    vec3 point, normal; /* the point is that of abut_impact */
    double weights[3];
} motion_hit;

/* The positions of a step, on the host or on the device: at most one start, exactly one end. */
typedef struct motion_step_input {
    const char *function, *start_name, *end_name; /* for error messages */
    uint32_t count;                               /* number of given vertices, from the first one */
    const vec3 *start, *end;
    const abut_buffer *start_buffer, *end_buffer;
    bool has_start; /* a start is given and differs from the last end */
    box3 boxes[2];
} motion_step_input;

/* Validates positions, copies them to `next` on host and device, and computes their bounding boxes.
 * A start that equals the last end bit for bit counts as not given. Changes nothing else. */
abut_status abuti_motion_load_step(abut_sweep *motion, motion_step_input *input);
/* Makes the loaded positions the current step. */
void abuti_motion_accept_step(abut_sweep *motion, const motion_step_input *input);
/* Undoes the last step. Valid once per step. */
void abuti_motion_undo_step(abut_sweep *motion);
/* Whether a follows b in the order of ABUT_SWEEP_ALL. */
bool abuti_motion_after(const motion_hit *a, const motion_hit *b);
/* Sorts hits in that order. */
abut_status abuti_motion_sort(abut_context *context, motion_hit *hits, size_t count);
/* The four vertices of a pair, in the order of sweep_pair(). */
void abuti_motion_corners(const abut_sweep *motion, uint32_t kind, uint32_t first, uint32_t second,
                          uint32_t corners[4]);
/* Writes sorted hits to the caller's list if its capacity suffices; otherwise `hits` is not read.
 */
abut_status abuti_motion_report(const abut_sweep *motion, const motion_hit *hits, uint64_t count,
                                abut_impact_list *impacts);

/* ---- positions.c ---- */

/* Copies positions and computes their bounding box. Rejects coordinates that are not finite or
 * exceed ABUT_COORDINATE_MAX, and a box that is too small. The message names `what` and `function`.
 */
abut_status abuti_positions_load(abut_context *context, const char *function, const char *what,
                                 const vec3 *from, uint32_t count, vec3 *to, box3 *box);
/* Rejects positions whose bounding box is too small for a mesh. */
abut_status abuti_positions_check_size(const char *function, const char *what, box3 box);
abut_status abuti_positions_fail(const char *function, const char *what, uint64_t vertex, vec3 at);

/* Options of a search, validated and with all defaults filled in. */
typedef struct motion_search_options {
    abut_sweep_mode mode;
    double separation, tolerance;
    bool exact;
    int steps;
} motion_search_options;

/* ---- back ends: CPU or device ---- */

typedef struct motion_backend {
    /* Called with edges and faces in place. Returns memory for four positions per vertex. */
    abut_status (*open)(abut_sweep *motion, vec3 **room);
    /* Called with vertices in place too. */
    abut_status (*create)(abut_sweep *motion);
    void (*destroy)(abut_sweep *motion); /* also if the other functions failed or were not called */
    /* The next five only if there is a device. Called before `next` is written. With `compares`,
     * the last end is on the host afterwards. */
    abut_status (*begin)(abut_sweep *motion, bool compares);
    /* Called after the first vertices of `next` have been written. */
    abut_status (*send)(abut_sweep *motion, int side, size_t count);
    /* abuti_motion_load_step() for positions that are on a device. */
    abut_status (*load)(abut_sweep *motion, motion_step_input *input);
    /* Exchanges the positions of `next` with those of the step, and back. */
    void (*accept)(abut_sweep *motion, bool has_start);
    void (*undo)(abut_sweep *motion, bool has_start);
    /* abuti_motion_set_sets() */
    abut_status (*set_sets)(abut_sweep *motion, const unsigned char *sets);
    /* On failure both outputs are unchanged, except that ABUT_ERROR_BUFFER sets the count of
     * impacts. */
    abut_status (*find)(abut_sweep *motion, const motion_search_options *options,
                        abut_impact_list *impacts, abut_sweep_counts *counts);
} motion_backend;

extern const motion_backend abuti_motion_on_device; /* device.c */

/* The search on the CPU; find.c. */
abut_status abuti_motion_find_on_cpu(abut_sweep *motion, const motion_search_options *options,
                                     abut_impact_list *impacts, abut_sweep_counts *counts);

/* ---- used by other modules ---- */

/* As abut_sweep_create(). With skip_self, pairs of meshes with equal owners are skipped, too; null:
 * each mesh has its own. */
abut_status abuti_motion_create(abut_mesh *const *meshes, const uint32_t *owners, size_t count,
                                const abut_sweep_options *options, abut_sweep **sweep);
/* Downloads positions that only the device has. */
abut_status abuti_motion_download(abut_sweep *motion);
/* Restricts the pairs of following searches: bits 0 and 1 are the first and the second set, all
 * others are another one. `sets` has those of all vertices, edges and faces, and must stay valid;
 * null includes all pairs again. */
abut_status abuti_motion_set_sets(abut_sweep *motion, const unsigned char *sets);

#endif
