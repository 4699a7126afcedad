/* Motions on a device: types that the device files of the module share. */
#ifndef ABUTI_SWEEP_DEVICE_H
#define ABUTI_SWEEP_DEVICE_H

#include "device/kit.h"
#include "device/tools.h"
#include "sweep/device_shared.h"
#include "sweep/motion.h"

typedef enum motion_kernel {
    MOTION_CHECK_POSITIONS,
    MOTION_KEYS,
    MOTION_BLOCKS,
    MOTION_LEVEL,
    MOTION_BLOCK_PAIRS,
    MOTION_CANDIDATES,
    MOTION_FILTER,
    MOTION_MARCH,
    MOTION_KERNELS
} motion_kernel;

typedef enum motion_memory {
    /* once */
    MOTION_LAYOUT,
    MOTION_EDGES,
    MOTION_FACES,
    MOTION_POINTS, /* vertices that a face has */
    MOTION_OWNERS, /* of each vertex; only if skip_self or skip_pairs is set */
    MOTION_SETS,   /* sets of vertices, edges and faces; see abuti_motion_set_sets() */
    /* each step */
    MOTION_START,
    MOTION_END,
    MOTION_NEXT_START, /* of the next step, until it is accepted */
    MOTION_NEXT_END,
    MOTION_POSITION_CHECKS, /* sweep_position_check, of start and end */
    /* each search */
    MOTION_KEY,
    MOTION_ORDER,
    MOTION_BOXES,
    MOTION_NODES,
    MOTION_PAIRS_BEGIN, /* first pair of each block */
    MOTION_PAIRS,       /* pairs of blocks */
    MOTION_TRIED,       /* candidates */
    MOTION_OPEN,        /* candidates that the filter keeps; used in turns with MOTION_OPEN_NEXT */
    MOTION_OPEN_NEXT,
    MOTION_HITS,
    MOTION_COUNTS,
    MOTION_MEMORIES
} motion_memory;

/* Rounds of sweeps that are queued before the host reads how many pairs remain. */
enum { MOTION_ROUNDS = 2 };

/* Work-groups that check positions. */
enum { MOTION_CHECK_GROUPS = 128 };

/* Pinned memory for transfers from and to the device. */
typedef struct motion_report {
    uint32_t counts[2][SWEEP_COUNTS];                             /* uploaded; downloaded */
    sweep_position_check position_checks[2][MOTION_CHECK_GROUPS]; /* of start and end */
} motion_report;

typedef struct motion_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_buffer *memory; /* buffers of the kit, by motion_memory */
    abuti_tools *tools;
    abuti_staging positions, reports;
    motion_report *report; /* in `reports` */
    bool is_sending;       /* a transfer from `positions` is in progress */
    sweep_layout layout;
    uint32_t walkers, levels, wide_groups, narrow_groups;
    uint32_t flags;         /* SWEEP_NO_SELF, SWEEP_NO_OTHERS */
    uint32_t owner_bits;    /* of sort keys */
    sweep_sets sets;        /* where each kind begins in MOTION_SETS */
    bool ordered;           /* the order of the last search can be kept */
    uint32_t ordered_pairs; /* pairs of blocks when the order was made */
    int32_t
        round_steps[MOTION_ROUNDS]; /* limit per round; longer sweeps restart in the next round */
    abuti_kit_list pairs, tried, hits;
    abuti_kit_list open; /* MOTION_OPEN_NEXT has the same capacity */
} motion_device;

/* ---- device_step.c: steps, see motion_backend ---- */

abut_status abuti_motion_device_begin(abut_sweep *motion, bool compares);
abut_status abuti_motion_device_send(abut_sweep *motion, int side, size_t count);
abut_status abuti_motion_device_load(abut_sweep *motion, motion_step_input *taking);
void abuti_motion_device_accept(abut_sweep *motion, bool has_start);
void abuti_motion_device_undo(abut_sweep *motion, bool has_start);

/* ---- device_search.c ---- */

/* Writes hits to MOTION_HITS, unsorted, and returns their number; adds up candidates. In the modes
 * ANY and EARLIEST there is at most one. Failures are kept by the kit. */
uint32_t abuti_motion_device_search(abut_sweep *motion, const motion_search_options *options,
                                    abut_sweep_counts *counts);

#endif
