/* Fields on a device among their own files: what a hierarchy keeps for them, and how they are made.
 *
 * The method stands at the head of field_lists.cl, field_rows.cl, field_sides.cl, field_cells.cl
 * and field_settle.cl. Every value is the one that the search of the hierarchy gives.
 */
#ifndef ABUTI_FIELD_BUILD_DEVICE_H
#define ABUTI_FIELD_BUILD_DEVICE_H

#include "device/kit.h"
#include "field/build/device_shared.h"
#include "field/field.h"
#include "nearest/features.h"
#include "sign/device.h"

/* Where the time goes, on the device; the last one as the host sees it. */
typedef enum field_stage {
    FIELD_STAGE_CLEAR = 0,
    FIELD_STAGE_CROSS, /* what rows cross */
    FIELD_STAGE_SUM,   /* and sums along them */
    FIELD_STAGE_SIDES, /* of surfaces with a border */
    FIELD_STAGE_TOP,   /* lists of the largest blocks */
    FIELD_STAGE_FILTER,
    FIELD_STAGE_CELLS,
    FIELD_STAGE_CUT, /* blocks with long lists */
    FIELD_STAGE_PARTS,
    FIELD_STAGE_FEW,
    FIELD_STAGE_SETTLE, /* cells in doubt */
    FIELD_STAGE_SIGNS,  /* of cells whose signs are not known */
    FIELD_STAGE_SEARCH, /* all cells, as the host sees it */
    FIELD_STAGES
} field_stage;

/* What a build did, for benchmarks and tests. */
typedef struct field_account {
    double stage_ms[FIELD_STAGES];
    uint64_t doubtful; /* cells that were measured again as the search does it */
    uint64_t unsure;   /* cells whose signs floats did not tell */
    uint64_t cut;      /* blocks whose lists were too long */
    uint64_t cut_again;
    uint64_t unsettled; /* large blocks whose signs are not all the same */
    uint64_t entries;   /* of the lists of two levels, at most */
    bool searched;      /* the whole field was left */
} field_account;

/* A feature in doubles. Of an edge and a vertex: a place, a unit vector and a length, both 0 for a
 * vertex; of a face a place and its unit normal. */
typedef struct feature_exact {
    double place[2];        /* x, y: absolute */
    double place_z, length; /* the length in the frame */
    double direction[2];    /* x, y */
    double direction_z;     /* z */
    uint32_t triangle, is;  /* of a face; FIELD_IS_FACE, FIELD_IS_LOW */
} feature_exact;

_Static_assert(sizeof(feature_exact) == 64, "the layout that field_cells.cl reads");

_Static_assert(sizeof(field_grid) == 128, "the layout that kernels read");

typedef enum field_kernel {
    FIELD_SEED,
    FIELD_TOP,
    FIELD_FILTER,
    FIELD_SIBLINGS,
    FIELD_CUT,
    FIELD_CELLS,
    FIELD_FEW_CELLS,
    FIELD_PUT,
    FIELD_CROSS,
    FIELD_SUM,
    FIELD_UNSURE_CELLS,
    FIELD_SHIFTS,
    FIELD_SIDES,
    FIELD_REST,
    FIELD_SETTLE,
    FIELD_BRICKS,
    FIELD_FEATURES_COUNT,
    FIELD_FEATURES_LIST,
    FIELD_FEATURES_SORT,
    FIELD_FEATURES_FIRST,
    FIELD_FEATURES_NUMBER,
    FIELD_FEATURES_MAKE,
    FIELD_FEATURES_INCIDENTS,
    FIELD_KERNELS
} field_kernel;

typedef enum field_memory {
    /* once */
    FIELD_RECORDS, /* of features */
    FIELD_EXACT,
    FIELD_INCIDENT_BEGIN,
    FIELD_INCIDENTS,
    FIELD_BORDER,       /* two ends an edge, four floats each */
    FIELD_BORDER_EXACT, /* the same, three doubles each */
    /* of field_features.cl */
    FIELD_INDICES, /* where the hierarchy has none */
    FIELD_PLACES,
    FIELD_HAS_FACE,
    FIELD_DEGREES,
    FIELD_CORNER_BEGIN,
    FIELD_CORNERS_OF,
    FIELD_FIRST_BITS,
    FIELD_FIRST_SUMS,
    FIELD_FOUND,
    FIELD_SOURCES,
    /* each build */
    FIELD_LISTS, /* of all levels */
    FIELD_BOUNDS,
    FIELD_POOL,
    FIELD_COUNTERS,
    FIELD_DOUBTS,
    FIELD_SETTLED,
    FIELD_LONG,
    FIELD_LONGER,
    FIELD_CUT_LISTS,
    FIELD_CUT_BOUNDS,
    FIELD_COARSE_SHIFTS, /* signs */
    FIELD_FINE_SHIFTS,
    FIELD_UNSETTLED,
    FIELD_MIXED,
    FIELD_ROWS,
    FIELD_UNSURE,
    /* of sparse fields: a part of the grid, and bricks that are copied out of it */
    FIELD_WINDOW,
    FIELD_BRICK_CELLS,
    FIELD_BRICK_VALUES,
    FIELD_MEMORIES
} field_memory;

/* What a hierarchy keeps for fields; scratch memory grows as needed. */
typedef struct field_parts {
    bvh_attachment part;
    const sign_attachment *sign;
    bool closed;        /* as it was when the border was found */
    abuti_kit kit;      /* on the queue of the hierarchy */
    abuti_queue beside; /* for signs, while lists are made */
    abuti_kit aside;    /* on that queue; its memory is that of `kit` */
    uint32_t feature_count, border_count;
    bool is_ready;
    double cells_least;   /* a triangle; grids of fewer cells are left to the search, all of them */
    double short_share;   /* lists are called short with fewer features than this a small block */
    uint32_t slices_most; /* of a list */
    uint32_t degree_most; /* corners of a vertex; with more the host makes the features */
    size_t pool_count;
    bool pool_fixed;        /* for tests: begins with what it has */
    field_account *account; /* null unless someone wants to know */
} field_parts;

/* The parts of a hierarchy, made if there are none. */
abut_status abuti_field_parts(bvh_on_device *bvh, field_parts **parts);

/* Builds the programs that a field of a mesh needs on a device, several at a time. */
void abuti_field_prepare(abut_device *device, uint32_t triangle_count);

/* From now on builds for this hierarchy are accounted for here, and wait after each stage; null
 * ends that. */
abut_status abuti_device_field_account(bvh_on_device *bvh, field_account *account);

/* Fills a buffer with the values of a grid, x fastest, and finds the lowest and the highest; of a
 * part of it, whose size `grid` has, where `first` is not null: its first cell. Waits. */
abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *lowest, double *highest);

/* ---- device_features.c ---- */

/* Makes the features of the hierarchy. Failures stick to its queue. */
void abuti_field_features(bvh_on_device *bvh, field_parts *parts);

/* ---- device_layout.c ---- */

/* Whether a hierarchy that is ready for signs is on a device that can give the CPU's values. */
bool abuti_field_fits_there(const abut_bvh *bvh);

#endif
