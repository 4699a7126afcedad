/* What the host and the kernels of fields tell each other: sizes of groups and of their local
 * memory, what is counted, and the grid. */
#ifndef ABUTI_FIELD_BUILD_DEVICE_SHARED_H
#define ABUTI_FIELD_BUILD_DEVICE_SHARED_H

#include "base/math_shared.h"

/* ---- sizes ---- */

#define FIELD_GROUP 128    /* items of most kernels */
#define FIELD_ROW_GROUP 64 /* of field_sum() */
#define FIELD_EACH 32      /* items a triangle, of field_cross() */
#define FIELD_BLOCK 8      /* side of the blocks that a group measures, the last with lists */
#define FIELD_COARSE 32    /* side of the blocks for which signs are found first */
#define FIELD_LEVELS 32
#define FEATURES_DEGREE 256 /* corners of a vertex for which features are made on the device */

/* Entries of a pool are counted in chunks as well, so that the sum never wraps around. */
#define FIELD_CHUNK 1024
#define FIELD_CHUNKS_MAX (1u << 21)

/* Names of lists in local memory: of a slice that is made, and of one of eight that are; of a
 * block, of 4^3 and of 2^3 cells that are measured, eight times that where there are only eight;
 * and of 2^3 cells whose lists are long. */
#define FIELD_STAGED 3072
#define FIELD_SIBLING_STAGED 384
#define FIELD_LIST 384
#define FIELD_LIST_4 128
#define FIELD_LIST_2 32
#define FIELD_FEW 1024

/* Local memory in bytes, as kernels divide it among what they keep. */
#define FIELD_NUMBERS 16 /* words before the names of a slice */
#define FIELD_SEED_BYTES 4
#define FIELD_LISTS_BYTES (4 * (FIELD_NUMBERS + FIELD_STAGED))
#define FIELD_SIBLINGS_BYTES (4 * (3 * 8 + 64 + 8 * FIELD_SIBLING_STAGED))
#define FIELD_SUMS_BYTES (4 * FIELD_ROW_GROUP)
#define FIELD_SIDES_BYTES (4 * 3 * FIELD_GROUP)
#define FIELD_CELLS_BYTES (4 * (FIELD_LIST + 8 * FIELD_LIST_4 + 64 * FIELD_LIST_2 + 8 + 64 + 64))
#define FIELD_FEW_BYTES (8 * FIELD_GROUP + 4 * (2 * 8 + FIELD_FEW))
#define FIELD_EXTREMES_BYTES 8
#define FIELD_SETTLE_BYTES (8 * FIELD_GROUP + FIELD_EXTREMES_BYTES)

/* ---- what is counted ---- */

enum {
    FIELD_COUNT_DOUBTFUL,
    FIELD_COUNT_LOWEST, /* of values, as words that sort alike; complemented */
    FIELD_COUNT_HIGHEST,
    FIELD_COUNT_CHUNKS,
    FIELD_COUNT_LONG_8,
    FIELD_COUNT_LONG_4,
    FIELD_COUNT_UNSETTLED,
    FIELD_COUNT_MIXED,
    FIELD_COUNT_ROWS,
    FIELD_COUNT_UNSURE,
    FIELD_COUNT_LEFT,
    FIELD_COUNT_ENTRIES, /* of each level, and of what is cut */
    FIELD_COUNTS = FIELD_COUNT_ENTRIES + FIELD_LEVELS + 1
};

/* What a feature in doubles is; see feature_exact. */
enum {
    FIELD_IS_FACE = 1,
    FIELD_IS_LOW = 2 /* beside a triangle that is too low to be a feature */
};

/* ---- the grid ---- */

typedef struct field_grid {
    double origin[3], cell;                  /* absolute */
    double mesh_origin[3], scale, per_scale; /* a power of two, and its inverse */
    double band;
    float base[3], step;       /* of the first of these centres and a cell, in the frame */
    float margin;              /* of nearest.cl, for the whole grid */
    float reach;               /* the band in the frame; infinite without */
    word32 count[3], first[3]; /* a part of a grid: so many cells, from this one on */
} field_grid;

#endif
