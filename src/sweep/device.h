/* Motions on a device, among their own files. */
#ifndef ABUTI_SWEEP_DEVICE_H
#define ABUTI_SWEEP_DEVICE_H

#include "device/kit.h"
#include "device/tools.h"
#include "sweep/device_shared.h"
#include "sweep/motion.h"

typedef enum motion_kernel {
    MOTION_TAKE,
    MOTION_KEYS,
    MOTION_BLOCKS,
    MOTION_LEVEL,
    MOTION_WALK,
    MOTION_CANDIDATES,
    MOTION_FILTER,
    MOTION_SETTLE,
    MOTION_HIT_KEYS,
    MOTION_RANK,
    MOTION_PLACE,
    MOTION_EARLIEST_OF,
    MOTION_IMPACTS,
    MOTION_KERNELS
} motion_kernel;

typedef enum motion_memory {
    /* once */
    MOTION_LAYOUT,
    MOTION_EDGES,
    MOTION_FACES,
    MOTION_POINTS,  /* vertices that a face has */
    MOTION_MESH_OF, /* of each vertex; only where not all pairs of meshes are wanted */
    MOTION_BEGIN,   /* of the meshes' vertices, edges and faces */
    MOTION_SETS,    /* of vertices, edges and faces; see abuti_motion_device_sets() */
    /* each step */
    MOTION_START,
    MOTION_END,
    MOTION_NEXT_START, /* those of the next step, until all is well */
    MOTION_NEXT_END,
    MOTION_TAKEN, /* sweep_taken, of the start and of the end */
    /* each search */
    MOTION_KEY,
    MOTION_ORDER,
    MOTION_BOXES,
    MOTION_NODES,
    MOTION_PAIRS_BEGIN, /* of the pairs of each block */
    MOTION_PAIRS,       /* of blocks */
    MOTION_TRIED,       /* candidates */
    MOTION_OPEN,        /* candidates that are not free at once; ping and pong */
    MOTION_LEFT,
    MOTION_HITS,
    MOTION_COUNTS,
    MOTION_HIT_KEY,
    MOTION_HIT_ORDER,
    MOTION_FOUND, /* impacts */
    MOTION_MEMORIES
} motion_memory;

/* Stages whose time can be told. */
typedef enum motion_stage {
    MOTION_STAGE_BOXES,  /* with their order */
    MOTION_STAGE_BLOCKS, /* pairs of blocks */
    MOTION_STAGE_CANDIDATES,
    MOTION_STAGE_FILTER,
    MOTION_STAGE_SETTLE,
    MOTION_STAGE_ORDER,
    MOTION_STAGES
} motion_stage;

/* Rounds of sweeps that are queued without a look at what is left. */
enum { MOTION_ROUNDS = 2 };

/* Groups that check positions. */
enum { MOTION_TAKERS = 128 };

/* What comes back from the device and goes there, in memory that it copies by itself. */
typedef struct motion_report {
    uint32_t counts[2][SWEEP_COUNTS];    /* there and back */
    sweep_taken taken[2][MOTION_TAKERS]; /* of the start and of the end */
} motion_report;

typedef struct motion_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_buffer *memory; /* that of the kit, by motion_memory */
    abuti_tools *tools;
    abuti_staging positions, reports;
    motion_report *report; /* in `reports` */
    bool is_sending;       /* from `positions` */
    sweep_layout layout;
    uint32_t walkers, levels, wide_groups, narrow_groups;
    uint32_t flags;                     /* SWEEP_NO_SELF, SWEEP_NO_OTHERS */
    sweep_sets sets;                    /* where they begin in MOTION_SETS */
    bool ordered;                       /* the order of the last search will do */
    uint32_t ordered_pairs;             /* of blocks, when the order was made */
    double *stage_ms;                   /* null = nobody asks */
    int32_t round_steps[MOTION_ROUNDS]; /* of a sweep; a longer one starts anew in the next */
    abuti_kit_list pairs, tried, hits;
    abuti_kit_list open; /* MOTION_LEFT has as much room */
} motion_device;

/* Between calls of a search, how long its stages take on the device, in ms; null = no longer. Costs
 * time. */
void abuti_motion_device_time(abut_sweep *motion, double stage_ms[MOTION_STAGES]);

/* Room for sets of all features. Whoever asks writes them, vertices, edges and faces one after the
 * other, and sets `sets.used` for the searches from then on. */
abut_status abuti_motion_device_sets(abut_sweep *motion);
/* From now on all pairs are looked at. */
void abuti_motion_device_no_sets(abut_sweep *motion);

/* ---- device_step.c: steps, as motion_backend has them ---- */

abut_status abuti_motion_device_begin(abut_sweep *motion, bool compares);
abut_status abuti_motion_device_take(abut_sweep *motion, motion_taking *taking);
void abuti_motion_device_accept(abut_sweep *motion, bool has_start);
void abuti_motion_device_undo(abut_sweep *motion, bool has_start);

/* ---- device_search.c ---- */

/* Finds hits into MOTION_HITS, in no order, and gives their number; counts what was tried. For ANY
 * and EARLIEST at most one, with MOTION_HIT_ORDER. What fails sticks. */
uint32_t abuti_motion_device_search(abut_sweep *motion, const motion_search_options *options,
                                    abut_sweep_counts *counts);

#endif
