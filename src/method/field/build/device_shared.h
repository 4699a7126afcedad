/* Constants and structs that the host and the field kernels share: group sizes, local memory,
 * counters, and the grid. */
#ifndef ABUTI_FIELD_BUILD_DEVICE_SHARED_H
#define ABUTI_FIELD_BUILD_DEVICE_SHARED_H

#include "base/math_shared.h"

/* ---- sizes ---- */

#define FIELD_GROUP 128    /* work-items of most kernels */
#define FIELD_ROW_GROUP 64 /* of field_sum() */
#define FIELD_EACH 32      /* work-items per triangle, of field_cross() */
#define FIELD_BLOCK 8      /* side of the blocks that a group measures, the smallest with lists */
#define FIELD_COARSE 32    /* side of the blocks for which signs are computed first */
#define FIELD_LEVELS 32

/* Entries of a pool are counted in chunks as well, so that the sum never wraps around. */
#define FIELD_CHUNK 1024
#define FIELD_CHUNKS_MAX (1u << 21)

/* Capacities of feature lists in local memory: of one slice; of a block of 8^3 cells, of 4^3 and of
 * 2^3 cells that are measured (eight times that if there are only eight); and of 2^3 cells with
 * long lists. */
#define FIELD_STAGED 3072
#define FIELD_LIST 384
#define FIELD_LIST_4 128
#define FIELD_LIST_2 32
#define FIELD_FEW 1024

/* Local memory in bytes, as kernels divide it. */
#define FIELD_NUMBERS 16 /* words before the entries of a slice */
#define FIELD_SEED_BYTES 4
#define FIELD_LISTS_BYTES (4 * (FIELD_NUMBERS + FIELD_STAGED))
#define FIELD_SUMS_BYTES (4 * FIELD_ROW_GROUP)
#define FIELD_CELLS_BYTES (4 * (FIELD_LIST + 8 * FIELD_LIST_4 + 64 * FIELD_LIST_2 + 8 + 64 + 64))
#define FIELD_FEW_BYTES (8 * FIELD_GROUP + 4 * (2 * 8 + FIELD_FEW))
#define FIELD_EXTREMES_BYTES 8
#define FIELD_RESOLVE_BYTES (8 * FIELD_GROUP + FIELD_EXTREMES_BYTES)

/* ---- counters ---- */

enum {
    FIELD_COUNT_DOUBTFUL,
    FIELD_COUNT_LOWEST, /* of values, as words that sort like floats; complemented */
    FIELD_COUNT_HIGHEST,
    FIELD_COUNT_CHUNKS,
    FIELD_COUNT_LONG_8,
    FIELD_COUNT_LONG_4,
    FIELD_COUNT_UNDECIDED,
    FIELD_COUNT_MIXED,
    FIELD_COUNT_ROWS,
    FIELD_COUNT_LEFT,
    FIELD_COUNT_ENTRIES, /* for each level, and for subdivided blocks */
    FIELD_COUNTS = FIELD_COUNT_ENTRIES + FIELD_LEVELS + 1
};

/* ---- the grid ---- */

typedef struct field_grid {
    double origin[3], cell;                  /* absolute */
    double mesh_origin[3], scale, per_scale; /* a power of two, and its inverse */
    double band;
    float base[3], step;       /* first centre of the window and cell size, in the scaled frame */
    float margin;              /* of nearest.cl, for the whole grid */
    float reach;               /* the band in the scaled frame; infinite if unlimited */
    word32 count[3], first[3]; /* a window of the grid: number of cells and first cell */
} field_grid;

#endif
